"""Django on mysqlclient's stand-in PyMySQL: autocommit, and `transaction.atomic` where it is asked for."""

from importlib import metadata

import django
import pymysql
from django.conf import settings

from stage import DAYS, POSTS, asked, in_crowd, play, refused, say

task, place = asked(f"{django.get_version()}, PyMySQL {metadata.version('PyMySQL')}")
pymysql.install_as_MySQLdb()
# Django asks for the version of the driver whose name this one has taken.
pymysql.version_info = (2, 2, 8, "final", 0)
settings.configure(USE_TZ=True, TIME_ZONE="UTC", INSTALLED_APPS=[__name__], DATABASES={"default": {
    "ENGINE": "django.db.backends.mysql", "HOST": place.host, "PORT": place.port, "USER": place.user,
    "PASSWORD": place.password, "NAME": place.schema}})
django.setup()

from django.db import connection, models, transaction  # noqa: E402
from django.db.models import Count, F, Max, Sum  # noqa: E402
from django.db.utils import Error  # noqa: E402


class Post(models.Model):
    title = models.CharField(max_length=100)
    views = models.IntegerField(default=0)
    likes = models.BigIntegerField(default=0)
    stock = models.PositiveIntegerField(default=0)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        app_label = __name__
        db_table = "posts"


class Comment(models.Model):
    post = models.ForeignKey(Post, models.CASCADE)
    text = models.CharField(max_length=100)

    class Meta:
        app_label = __name__
        db_table = "comments"


class SignUp(models.Model):
    day = models.DateField(primary_key=True)
    hits = models.IntegerField(default=0)

    class Meta:
        app_label = __name__
        db_table = "sign_ups"


def make():
    with connection.schema_editor() as editor:
        for model in [Post, Comment, SignUp]:
            editor.create_model(model)
    Post.objects.bulk_create(Post(**post) for post in POSTS)


def add_view(post=1):
    return Post.objects.filter(pk=post).update(views=F("views") + 1)


def sell(post=1):
    return Post.objects.filter(pk=post, stock__gte=1).update(stock=F("stock") - 1)


def views():
    say(*[add_view() for _ in range(6)])


def likes():
    for _ in range(3):
        post = Post.objects.get(pk=2)
        post.likes = F("likes") + 2
        post.save(update_fields=["likes", "updated_at"])
        post.refresh_from_db()
        say(post.likes)


def transactions():
    for number in range(2):
        with transaction.atomic():
            Comment.objects.create(post_id=3, text=f"comment {number}")
            Post.objects.filter(pk=3).update(likes=F("likes") + 10)
    with transaction.atomic():
        Post.objects.filter(pk=3).update(likes=F("likes") + 100)
        say(Post.objects.values_list("likes", flat=True).get(pk=3))
        transaction.set_rollback(True)
    with transaction.atomic():
        # A SAVEPOINT within.
        with transaction.atomic():
            Post.objects.filter(pk=3).update(likes=F("likes") + 1000)
            transaction.set_rollback(True)
    post = Post.objects.prefetch_related("comment_set").get(pk=3)
    say(post.likes, [comment.text for comment in post.comment_set.all()])


def stock():
    say(*[sell() for _ in range(8)])


def sign_ups():
    for day in DAYS:
        signed, is_new = SignUp.objects.update_or_create(
            day=day, defaults={"hits": F("hits") + 1}, create_defaults={"hits": 1})
        signed.refresh_from_db()
        say(is_new, signed.hits)


def sequence():
    for _ in range(3):
        with connection.cursor() as cursor:
            cursor.execute("UPDATE seq SET id = LAST_INSERT_ID(id + 1)")
            say(cursor.lastrowid)


def edit():
    post = Post.objects.get(pk=4)
    post.title = "Grüße, 漢字 😀"
    post.save()


def reads():
    popular = Post.objects.order_by("-views", "id")[:3]
    say(*[(post.id, post.title, post.views, post.likes, post.stock) for post in popular])
    say(*Post.objects.aggregate(count=Count("*"), views=Sum("views"), likes=Max("likes")).values())
    say(*Post.objects.filter(likes__gt=1).order_by("id").values_list("id", flat=True))
    say(*Post.objects.annotate(comments=Count("comment")).order_by("id").values_list("id", "views", "comments"))
    say(*SignUp.objects.order_by("day").values_list("day", "hits"))


def errors():
    def unknown():
        with connection.cursor() as cursor:
            cursor.execute("SELECT views, nothing FROM posts")

    refused(lambda: Post.objects.create(id=1, title="again"), Error)
    refused(lambda: Post.objects.filter(pk=2).update(stock=F("stock") - 1), Error)
    refused(unknown, Error)


def reconnect():
    with connection.cursor() as cursor:
        cursor.execute("SET @mine = 1")
    connection.close()
    with connection.cursor() as cursor:
        cursor.execute("SELECT @mine, views FROM posts WHERE id = 1")
        say(*cursor.fetchone())


def crowd():
    # Each thread has a connection of its own.
    say(in_crowd(lambda: add_view(3), 10), in_crowd(lambda: sell(3), 5))


if task == "make":
    make()
else:
    play(views, likes, transactions, stock, sign_ups, sequence, edit, reads, errors, reconnect, crowd)
