"""Tortoise ORM, on asyncmy, or on aiomysql with the argument `aiomysql`."""

import asyncio
import sys
from importlib import metadata

if "aiomysql" in sys.argv:
    sys.modules["asyncmy"] = None  # Tortoise takes asyncmy where it is installed
    import aiomysql

    driver = "aiomysql " + metadata.version("aiomysql")
else:
    import asyncmy

    driver = "asyncmy " + metadata.version("asyncmy")

import tortoise
from tortoise import Tortoise, fields
from tortoise.expressions import F
from tortoise.models import Model

from talk import introduce, run_async


class Post(Model):
    id = fields.IntField(primary_key=True)
    title = fields.CharField(max_length=100)
    views = fields.IntField(default=0)
    likes = fields.BigIntField(default=0)
    updated_at = fields.DatetimeField(auto_now=True)

    class Meta:
        table = "posts"


to = introduce("Tortoise ORM", tortoise.__version__, driver, """
    CREATE TABLE `posts` (`id` INT NOT NULL PRIMARY KEY AUTO_INCREMENT, `title` VARCHAR(100) NOT NULL,
    `views` INT NOT NULL DEFAULT 0, `likes` BIGINT NOT NULL DEFAULT 0, `updated_at` DATETIME(6) NOT NULL
    DEFAULT CURRENT_TIMESTAMP(6) ON UPDATE CURRENT_TIMESTAMP(6)) CHARACTER SET utf8mb4
    """, ["views", "likes"], ["updated_at"])


async def main():
    await Tortoise.init(
        db_url=f"mysql://{to['user']}:{to['password']}@{to['host']}:{to['port']}/{to['schema']}",
        modules={"models": ["__main__"]}, use_tz=True, timezone="Europe/Berlin")
    await run_async([
        'await Post.filter(id=1).update(views=F("views") + 1)',
        'await Post.filter(id__in=[1, 2]).update(likes=F("likes") - 1)',
        '''
        post = await Post.get(id=2)
        post.views = F("views") + 1
        await post.save(update_fields=["views"])
        ''',
        '''
        post = await Post.get(id=3)
        post.views = F("views") + 1
        await post.save(update_fields=["views", "updated_at"])
        ''',
    ], globals())
    await Tortoise.close_connections()


asyncio.run(main())
