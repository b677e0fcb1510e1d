"""Peewee, on PyMySQL."""

from datetime import datetime, timezone
from importlib import metadata

import peewee
from peewee import BigIntegerField, CharField, DateTimeField, IntegerField, Model, MySQLDatabase, fn

from talk import introduce, run

to = introduce("Peewee", peewee.__version__, "PyMySQL " + metadata.version("PyMySQL"), """
    CREATE TABLE `posts` (`id` INTEGER AUTO_INCREMENT NOT NULL PRIMARY KEY, `title` VARCHAR(100) NOT NULL,
    `views` INTEGER NOT NULL, `likes` BIGINT NOT NULL, `updated_at` DATETIME NOT NULL)
    """, ["views", "likes"], ["updated_at"])

database = MySQLDatabase(to["schema"], host=to["host"], port=to["port"], user=to["user"], password=to["password"])


class Post(Model):
    title = CharField(max_length=100)
    views = IntegerField(default=0)
    likes = BigIntegerField(default=0)
    updated_at = DateTimeField()

    class Meta:
        database = database
        table_name = "posts"


def utc_now():
    return datetime.now(timezone.utc).replace(tzinfo=None)


run([
    'Post.update(views=Post.views + 1).where(Post.id == 1).execute()',
    'Post.update({Post.likes: Post.likes - 3}).where(Post.id << [1, 2]).execute()',
    'Post.update(views=Post.views + 1, updated_at=utc_now()).where(Post.id == 2).execute()',
    'Post.update(views=Post.views + 1, updated_at=fn.NOW()).where(Post.id == 2).execute()',
    '''
    post = Post.get_by_id(3)
    post.views = Post.views + 1
    post.save(only=[Post.views])
    ''',
], globals())
