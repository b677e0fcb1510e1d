"""SQLAlchemy 2: Core and ORM, on PyMySQL; with the argument `asyncmy` on asyncmy, by asyncio."""

import asyncio
import sys
from datetime import datetime, timezone
from importlib import metadata

import sqlalchemy
from sqlalchemy import BigInteger, String, create_engine, func, update
from sqlalchemy.dialects.mysql import DATETIME
from sqlalchemy.ext.asyncio import AsyncSession, create_async_engine
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column

from talk import introduce, run, run_async


class Base(DeclarativeBase):
    pass


class Post(Base):
    __tablename__ = "posts"
    id: Mapped[int] = mapped_column(primary_key=True)
    title: Mapped[str] = mapped_column(String(100))
    views: Mapped[int]
    likes: Mapped[int] = mapped_column(BigInteger)
    updated_at: Mapped[datetime] = mapped_column(
        DATETIME(fsp=6), onupdate=lambda: datetime.now(timezone.utc).replace(tzinfo=None))


def url(driver):
    return f"mysql+{driver}://{to['user']}:{to['password']}@{to['host']}:{to['port']}/{to['schema']}"


is_async = "asyncmy" in sys.argv
version = "asyncmy " + metadata.version("asyncmy") if is_async else "PyMySQL " + metadata.version("PyMySQL")
to = introduce("SQLAlchemy", sqlalchemy.__version__, version, """
    CREATE TABLE posts (id INTEGER NOT NULL AUTO_INCREMENT, title VARCHAR(100) NOT NULL, views INTEGER NOT NULL,
    likes BIGINT NOT NULL, updated_at DATETIME(6) NOT NULL, PRIMARY KEY (id))
    """, ["views", "likes"], ["updated_at"])

if is_async:
    engine = create_async_engine(url("asyncmy"))
    asyncio.run(run_async([
        '''
        async with AsyncSession(engine) as session, session.begin():
            await session.execute(update(Post).where(Post.id == 1).values(views=Post.views + 1))
        ''',
        '''
        async with AsyncSession(engine) as session, session.begin():
            post = await session.get(Post, 2)
            post.views = Post.views + 1
        ''',
    ], globals()))
else:
    engine = create_engine(url("pymysql"))
    run([
        '''
        with Session(engine) as session, session.begin():
            session.execute(update(Post).where(Post.id == 1).values(views=Post.views + 1))
        ''',
        '''
        with Session(engine) as session, session.begin():
            session.query(Post).filter(Post.id.in_([1, 2])).update({Post.likes: Post.likes - 1})
        ''',
        '''
        with Session(engine) as session, session.begin():
            post = session.get(Post, 2)
            post.views = Post.views + 1
        ''',
        '''
        with Session(engine) as session, session.begin():
            session.execute(update(Post).where(Post.id == 3).values(views=Post.views + 1, updated_at=func.now()))
        ''',
        '''
        with engine.begin() as connection:
            connection.execute(update(Post.__table__).where(Post.id == 3).values(likes=func.coalesce(Post.likes, 0) + 1))
        ''',
    ], globals())
