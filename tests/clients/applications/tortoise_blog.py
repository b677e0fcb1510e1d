"""Tortoise ORM on asyncmy: autocommit, and `in_transaction` where it is asked for."""

import asyncio
from importlib import metadata

import tortoise
from tortoise import Tortoise, fields
from tortoise.exceptions import BaseORMException
from tortoise.expressions import F
from tortoise.functions import Count, Max, Sum
from tortoise.models import Model
from tortoise.transactions import in_transaction

from stage import DAYS, POSTS, WORKERS, asked, begin, say

task, place = asked(f"{tortoise.__version__}, asyncmy {metadata.version('asyncmy')}")


class UnsignedField(fields.IntField):
    SQL_TYPE = "INT UNSIGNED"


class Post(Model):
    id = fields.IntField(primary_key=True)
    title = fields.CharField(max_length=100)
    views = fields.IntField(default=0)
    likes = fields.BigIntField(default=0)
    stock = UnsignedField(default=0)
    updated_at = fields.DatetimeField(auto_now=True)
    comments: fields.ReverseRelation["Comment"]

    class Meta:
        table = "posts"


class Comment(Model):
    id = fields.IntField(primary_key=True)
    post = fields.ForeignKeyField("models.Post", related_name="comments")
    text = fields.CharField(max_length=100)

    class Meta:
        table = "comments"


class SignUp(Model):
    day = fields.DateField(primary_key=True)
    hits = fields.IntField(default=0)

    class Meta:
        table = "sign_ups"


async def connect():
    await Tortoise.init(
        db_url=f"mysql://{place.user}:{place.password}@{place.host}:{place.port}/{place.schema}?maxsize={WORKERS}",
        modules={"models": ["__main__"]}, use_tz=True, timezone="UTC")


async def make():
    await Tortoise.generate_schemas()
    await Post.bulk_create([Post(**post) for post in POSTS])


async def add_view(post=1):
    return await Post.filter(id=post).update(views=F("views") + 1)


async def sell(post=1):
    return await Post.filter(id=post, stock__gte=1).update(stock=F("stock") - 1)


async def views():
    say(*[await add_view() for _ in range(6)])


async def likes():
    for _ in range(3):
        post = await Post.get(id=2)
        post.likes = F("likes") + 2
        await post.save(update_fields=["likes", "updated_at"])
        await post.refresh_from_db()
        say(post.likes)


async def transactions():
    for number in range(2):
        async with in_transaction():
            await Comment.create(post_id=3, text=f"comment {number}")
            await Post.filter(id=3).update(likes=F("likes") + 10)
    try:
        async with in_transaction():
            await Post.filter(id=3).update(likes=F("likes") + 100)
            say((await Post.get(id=3)).likes)
            raise InterruptedError
    except InterruptedError:
        pass
    post = await Post.get(id=3).prefetch_related("comments")
    say(post.likes, sorted(comment.text for comment in post.comments))


async def stock():
    say(*[await sell() for _ in range(8)])


async def sign_ups():
    for day in DAYS:
        signed, is_new = await SignUp.get_or_create(day=day, defaults={"hits": 1})
        if not is_new:
            await SignUp.filter(day=day).update(hits=F("hits") + 1)
        await signed.refresh_from_db()
        say(is_new, signed.hits)


async def sequence():
    for _ in range(3):
        async with in_transaction() as connection:
            await connection.execute_query("UPDATE seq SET id = LAST_INSERT_ID(id + 1)")
            _, [row] = await connection.execute_query("SELECT LAST_INSERT_ID() AS id")
            say(row["id"])


async def edit():
    post = await Post.get(id=4)
    post.title = "Grüße, 漢字 😀"
    await post.save()


async def reads():
    popular = await Post.all().order_by("-views", "id").limit(3)
    say(*[(post.id, post.title, post.views, post.likes, post.stock) for post in popular])
    say(await Post.all().count(), *await Post.annotate(views_=Sum("views"), likes_=Max("likes")).values_list("views_", "likes_"))
    say(*await Post.filter(likes__gt=1).order_by("id").values_list("id", flat=True))
    say(*await Post.annotate(count=Count("comments")).order_by("id").values_list("id", "views", "count"))
    say(*await SignUp.all().order_by("day").values_list("day", "hits"))


async def errors():
    connection = Tortoise.get_connection("default")
    for attempt in [
        Post.create(id=1, title="again"),
        Post.filter(id=2).update(stock=F("stock") - 1),
        connection.execute_query("SELECT views, nothing FROM posts"),
    ]:
        try:
            await attempt
        except BaseORMException as error:
            say(type(error).__name__, error)
        else:
            say("not refused")


async def reconnect():
    connection = Tortoise.get_connection("default")
    await connection.execute_query("SET @mine = 1")
    await Tortoise.close_connections()
    await connect()
    _, [row] = await Tortoise.get_connection("default").execute_query("SELECT @mine AS mine, views FROM posts WHERE id = 1")
    say(row["mine"], row["views"])


async def crowd():
    async def together(work, times):
        async def worker():
            return sum([await work() for _ in range(times)])

        return sum(await asyncio.gather(*[worker() for _ in range(WORKERS)]))

    say(await together(lambda: add_view(3), 10), await together(lambda: sell(3), 5))


async def main():
    await connect()
    if task == "make":
        await make()
    else:
        for step in [views, likes, transactions, stock, sign_ups, sequence, edit, reads, errors, reconnect, crowd]:
            begin(step.__name__)
            await step()
        print("finished", flush=True)
    await Tortoise.close_connections()


asyncio.run(main())
