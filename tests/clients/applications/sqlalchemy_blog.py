"""SQLAlchemy on PyMySQL: sessions with transactions; with the word `autocommit` an engine of isolation level AUTOCOMMIT."""

import sys
from datetime import datetime, timezone
from importlib import metadata

import sqlalchemy
from sqlalchemy import BigInteger, Date, ForeignKey, String, create_engine, func, select, text, update
from sqlalchemy.dialects.mysql import DATETIME, INTEGER, insert
from sqlalchemy.exc import DBAPIError
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, joinedload, mapped_column, relationship

from stage import DAYS, POSTS, asked, in_crowd, play, refused, say

task, place = asked(f"{sqlalchemy.__version__}, PyMySQL {metadata.version('PyMySQL')}")
options = dict(isolation_level="AUTOCOMMIT") if "autocommit" in sys.argv else {}
engine = create_engine(
    f"mysql+pymysql://{place.user}:{place.password}@{place.host}:{place.port}/{place.schema}?charset=utf8mb4", **options)


def now():
    return datetime.now(timezone.utc).replace(tzinfo=None)


class Base(DeclarativeBase):
    pass


class Post(Base):
    __tablename__ = "posts"
    id: Mapped[int] = mapped_column(primary_key=True)
    title: Mapped[str] = mapped_column(String(100))
    views: Mapped[int] = mapped_column(default=0)
    likes: Mapped[int] = mapped_column(BigInteger, default=0)
    stock: Mapped[int] = mapped_column(INTEGER(unsigned=True), default=0)
    updated_at: Mapped[datetime] = mapped_column(DATETIME(fsp=6), default=now, onupdate=now)
    comments: Mapped[list["Comment"]] = relationship(order_by="Comment.id")


class Comment(Base):
    __tablename__ = "comments"
    id: Mapped[int] = mapped_column(primary_key=True)
    post_id: Mapped[int] = mapped_column(ForeignKey("posts.id"))
    text: Mapped[str] = mapped_column(String(100))


class SignUp(Base):
    __tablename__ = "sign_ups"
    day: Mapped[str] = mapped_column(Date, primary_key=True)
    hits: Mapped[int] = mapped_column(default=0)


def make():
    Base.metadata.create_all(engine)
    with Session(engine) as session, session.begin():
        session.add_all(Post(**post) for post in POSTS)


def add_view(post=1):
    with Session(engine) as session, session.begin():
        return session.execute(update(Post).where(Post.id == post).values(views=Post.views + 1)).rowcount


def sell(post=1):
    statement = update(Post).where(Post.id == post, Post.stock >= 1).values(stock=Post.stock - 1)
    with Session(engine) as session, session.begin():
        return session.execute(statement).rowcount


def views():
    say(*[add_view() for _ in range(6)])


def likes():
    for _ in range(3):
        with Session(engine) as session, session.begin():
            post = session.get(Post, 2)
            post.likes = Post.likes + 2
    with Session(engine) as session:
        say(session.get(Post, 2).likes)


def transactions():
    for number in range(2):
        with Session(engine) as session, session.begin():
            session.add(Comment(post_id=3, text=f"comment {number}"))
            session.execute(update(Post).where(Post.id == 3).values(likes=Post.likes + 10))
    if not options:
        with Session(engine) as session:
            session.execute(update(Post).where(Post.id == 3).values(likes=Post.likes + 100))
            say(session.scalar(select(Post.likes).where(Post.id == 3)))
            session.rollback()
    with Session(engine) as session:
        post = session.scalars(select(Post).where(Post.id == 3).options(joinedload(Post.comments))).unique().one()
        say(post.likes, [comment.text for comment in post.comments])


def stock():
    say(*[sell() for _ in range(8)])


def sign_ups():
    upsert = insert(SignUp).on_duplicate_key_update(hits=SignUp.hits + 1)
    for day in DAYS:
        with Session(engine) as session, session.begin():
            say(session.execute(upsert.values(day=day, hits=1)).rowcount)


def sequence():
    for _ in range(3):
        with engine.begin() as connection:
            say(connection.execute(text("UPDATE seq SET id = LAST_INSERT_ID(id + 1)")).lastrowid)


def edit():
    with Session(engine) as session, session.begin():
        session.get(Post, 4).title = "Grüße, 漢字 😀"


def reads():
    with Session(engine) as session:
        popular = select(Post).order_by(Post.views.desc(), Post.id).limit(3)
        say(*[(post.id, post.title, post.views, post.likes, post.stock) for post in session.scalars(popular)])
        say(*session.execute(select(func.count(), func.sum(Post.views), func.max(Post.likes)).select_from(Post)).one())
        say(*session.scalars(select(Post.id).where(Post.likes > 1).order_by(Post.id)))
        counted = select(Post.id, Post.views, func.count(Comment.id)).outerjoin(Post.comments)
        say(*map(tuple, session.execute(counted.group_by(Post.id, Post.views).order_by(Post.id))))
        say(*map(tuple, session.execute(select(SignUp.day, SignUp.hits).order_by(SignUp.day))))


def errors():
    def attempt(*statements):
        def attempted():
            with Session(engine) as session, session.begin():
                for statement in statements:
                    session.execute(statement)
        return attempted

    refused(attempt(insert(Post).values(id=1, title="again")), DBAPIError)
    refused(attempt(update(Post).where(Post.id == 2).values(stock=Post.stock - 1)), DBAPIError)
    refused(attempt(text("SELECT views, nothing FROM posts")), DBAPIError)


def reconnect():
    with engine.connect() as connection:
        connection.execute(text("SET @mine = 1"))
    engine.dispose()
    with engine.connect() as connection:
        say(*connection.execute(text("SELECT @mine, views FROM posts WHERE id = 1")).one())


def crowd():
    say(in_crowd(lambda: add_view(3), 10), in_crowd(lambda: sell(3), 5))


if task == "make":
    make()
else:
    play(views, likes, transactions, stock, sign_ups, sequence, edit, reads, errors, reconnect, crowd)
