"""Django, on mysqlclient (its own choice) or, with the argument `pymysql`, on PyMySQL."""

import sys
from importlib import metadata

import django
from django.conf import settings

from talk import introduce, run

if "pymysql" in sys.argv:
    import pymysql

    pymysql.install_as_MySQLdb()
    # Django asks for the version of the driver whose name this one has taken.
    pymysql.version_info = (2, 2, 8, "final", 0)
    driver = "PyMySQL " + metadata.version("PyMySQL")
else:
    import MySQLdb

    driver = f"mysqlclient {'.'.join(map(str, MySQLdb.version_info[:3]))}"

to = introduce("Django", django.get_version(), driver, """
    CREATE TABLE posts (id bigint AUTO_INCREMENT NOT NULL PRIMARY KEY, title varchar(100) NOT NULL,
    views integer UNSIGNED NOT NULL, likes bigint NOT NULL, updated_at datetime(6) NOT NULL)
    """, ["views", "likes"], ["updated_at"])

settings.configure(USE_TZ=True, TIME_ZONE="Europe/Berlin", DATABASES={"default": {
    "ENGINE": "django.db.backends.mysql", "HOST": to["host"], "PORT": to["port"], "USER": to["user"],
    "PASSWORD": to["password"], "NAME": to["schema"]}})
django.setup()

from django.db import models, transaction  # noqa: E402
from django.db.models import F  # noqa: E402
from django.db.models.functions import Now  # noqa: E402
from django.utils import timezone  # noqa: E402


class Post(models.Model):
    title = models.CharField(max_length=100)
    views = models.PositiveIntegerField(default=0)
    likes = models.BigIntegerField(default=0)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        app_label = "blog"
        db_table = "posts"


run([
    'Post.objects.filter(pk=1).update(views=F("views") + 1)',
    'Post.objects.filter(pk__in=[1, 2]).update(views=F("views") + 1, likes=F("likes") - 2)',
    'Post.objects.filter(title="post 3").update(likes=F("likes") + 5)',
    'Post.objects.filter(pk=1).update(views=F("views") + 1, updated_at=timezone.now())',
    'Post.objects.filter(pk=1).update(views=F("views") + 1, updated_at=Now())',
    '''
    post = Post.objects.get(pk=2)
    post.views = F("views") + 1
    post.save(update_fields=["views"])
    ''',
    '''
    post = Post.objects.get(pk=2)
    post.views = F("views") + 1
    post.save(update_fields=["views", "updated_at"])
    ''',
    '''
    post = Post.objects.get(pk=3)
    post.likes = F("likes") + 1
    post.save()
    ''',
], globals())
