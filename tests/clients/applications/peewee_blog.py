"""Peewee on PyMySQL: autocommit, and `atomic` where it is asked for."""

from datetime import datetime, timezone
from importlib import metadata

import peewee
from peewee import BigIntegerField, CharField, DateField, DateTimeField, ForeignKeyField, IntegerField, Model
from peewee import JOIN, MySQLDatabase, fn

from stage import DAYS, POSTS, asked, in_crowd, play, refused, say

task, place = asked(f"{peewee.__version__}, PyMySQL {metadata.version('PyMySQL')}")
database = MySQLDatabase(
    place.schema, host=place.host, port=place.port, user=place.user, password=place.password, charset="utf8mb4")


def now():
    return datetime.now(timezone.utc).replace(tzinfo=None)


class UnsignedField(IntegerField):
    field_type = "INTEGER UNSIGNED"


class Base(Model):
    class Meta:
        database = database


class Post(Base):
    title = CharField(max_length=100)
    views = IntegerField(default=0)
    likes = BigIntegerField(default=0)
    stock = UnsignedField(default=0)
    updated_at = DateTimeField(default=now)

    class Meta:
        table_name = "posts"


class Comment(Base):
    post = ForeignKeyField(Post, backref="comments")
    text = CharField(max_length=100)

    class Meta:
        table_name = "comments"


class SignUp(Base):
    day = DateField(primary_key=True)
    hits = IntegerField(default=0)

    class Meta:
        table_name = "sign_ups"


def make():
    database.create_tables([Post, Comment, SignUp])
    Post.insert_many(POSTS).execute()


def add_view(post=1):
    return Post.update(views=Post.views + 1).where(Post.id == post).execute()


def sell(post=1):
    return Post.update(stock=Post.stock - 1).where((Post.id == post) & (Post.stock >= 1)).execute()


def views():
    say(*[add_view() for _ in range(6)])


def likes():
    for _ in range(3):
        say(Post.update(likes=Post.likes + 2, updated_at=now()).where(Post.id == 2).execute())


def transactions():
    for number in range(2):
        with database.atomic():
            Comment.create(post=3, text=f"comment {number}")
            Post.update(likes=Post.likes + 10).where(Post.id == 3).execute()
    with database.atomic() as transaction:
        Post.update(likes=Post.likes + 100).where(Post.id == 3).execute()
        say(Post.get_by_id(3).likes)
        transaction.rollback()
    with database.atomic():
        with database.savepoint() as savepoint:
            Post.update(likes=Post.likes + 1000).where(Post.id == 3).execute()
            savepoint.rollback()
    post = Post.get_by_id(3)
    say(post.likes, [comment.text for comment in post.comments.order_by(Comment.id)])


def stock():
    say(*[sell() for _ in range(8)])


def sign_ups():
    for day in DAYS:
        say(SignUp.insert(day=day, hits=1).on_conflict(update={SignUp.hits: SignUp.hits + 1}).as_rowcount().execute())


def sequence():
    for _ in range(3):
        say(database.execute_sql("UPDATE seq SET id = LAST_INSERT_ID(id + 1)").lastrowid)


def edit():
    post = Post.get_by_id(4)
    post.title = "Grüße, 漢字 😀"
    # The columns of what has changed, which a field of Peewee knows.
    post.save(only=post.dirty_fields)


def reads():
    popular = Post.select().order_by(Post.views.desc(), Post.id).limit(3)
    say(*[(post.id, post.title, post.views, post.likes, post.stock) for post in popular])
    say(*Post.select(fn.COUNT(Post.id), fn.SUM(Post.views), fn.MAX(Post.likes)).tuples().get())
    say(*[post.id for post in Post.select(Post.id).where(Post.likes > 1).order_by(Post.id)])
    counted = Post.select(Post.id, Post.views, fn.COUNT(Comment.id)).join(Comment, JOIN.LEFT_OUTER)
    say(*counted.group_by(Post.id, Post.views).order_by(Post.id).tuples())
    say(*SignUp.select(SignUp.day, SignUp.hits).order_by(SignUp.day).tuples())


def errors():
    refused(lambda: Post.insert(id=1, title="again").execute(), peewee.DatabaseError)
    refused(lambda: Post.update(stock=Post.stock - 1).where(Post.id == 2).execute(), peewee.DatabaseError)
    refused(lambda: database.execute_sql("SELECT views, nothing FROM posts"), peewee.DatabaseError)


def reconnect():
    database.execute_sql("SET @mine = 1")
    database.close()
    say(*database.execute_sql("SELECT @mine, views FROM posts WHERE id = 1").fetchone())


def crowd():
    # Each thread has a connection of its own.
    say(in_crowd(lambda: add_view(3), 10), in_crowd(lambda: sell(3), 5))


if task == "make":
    make()
else:
    play(views, likes, transactions, stock, sign_ups, sequence, edit, reads, errors, reconnect, crowd)
