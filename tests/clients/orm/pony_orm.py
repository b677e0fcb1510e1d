"""Pony, on PyMySQL. It has no expression for an increment: it writes the new value, and the old one into WHERE."""

from importlib import metadata

import pony
from pony.orm import Database, PrimaryKey, Required, commit, db_session

from talk import introduce, run

to = introduce("Pony", pony.__version__, "PyMySQL " + metadata.version("PyMySQL"), """
    CREATE TABLE `posts` (`id` INTEGER PRIMARY KEY AUTO_INCREMENT, `title` VARCHAR(100) NOT NULL,
    `views` INTEGER NOT NULL, `likes` BIGINT NOT NULL)
    """, ["views", "likes"], [])

db = Database()


class Post(db.Entity):
    _table_ = "posts"
    id = PrimaryKey(int, auto=True)
    title = Required(str, 100)
    views = Required(int, default=0)
    likes = Required(int, size=64, default=0)


db.bind("mysql", host=to["host"], port=to["port"], user=to["user"], passwd=to["password"], db=to["schema"])
db.generate_mapping()

run([
    '''
    with db_session:
        db.execute("UPDATE posts SET views = views + $(1) WHERE id = $(1)")
    ''',
    '''
    with db_session:
        Post[2].views += 1
    ''',
], globals())
