"""The blog of tests/clients/matrix/mod.rs, with the drivers of Python's DB-API.

    blog.py DRIVER HOST PORT USER PASSWORD SCHEMA

DRIVER is `PyMySQL`, `mysqlclient`, `connector` (mysql-connector-python, its C extension), `connector-pure`, `aiomysql`,
`asyncmy`, or `mariadb` (MariaDB Connector/Python). `mysqlclient`, `connector` and `connector-pure` ask for compression with
`-compressed` behind their names. With DRIVER alone it prints the library's version.
"""

import asyncio
import hashlib
import importlib
import importlib.metadata
import inspect
import logging
import sys
import threading
import warnings

ALL_BYTES = bytes(range(256)) * 12288
LONG_TEXT = "Zeile 漢字 😀\n" * 50000


class PyMySQL:
    def __init__(self):
        import pymysql
        import pymysql.cursors
        from pymysql.constants import CLIENT, FIELD_TYPE

        self.module = pymysql
        self.version = importlib.metadata.version("PyMySQL")
        self.streaming = pymysql.cursors.SSCursor
        self.flags = CLIENT.MULTI_STATEMENTS
        self.types = {value: name for name, value in vars(FIELD_TYPE).items() if isinstance(value, int)}

    def connect(self, host, port, user, password, schema):
        return self.module.connect(
            host=host, port=port, user=user, password=password, database=schema, charset="utf8mb4",
            autocommit=True, client_flag=self.flags, **OPTIONS,
        )

    def close(self, connection):
        connection.close()

    def prepared(self, connection):
        return connection.cursor()

    def unbuffered(self, connection):
        return connection.cursor(self.streaming)

    def set_autocommit(self, connection, on):
        connection.autocommit(on)

    def several(self, connection, text):
        """The first row, or the affected rows, of each of several statements in one packet."""
        cursor = connection.cursor()
        cursor.execute(text)
        found = []
        while True:
            found.append(cursor.fetchone() if cursor.description else cursor.rowcount)
            if not cursor.nextset():
                return found

    def warnings(self, _connection, cursor):
        return cursor.warning_count

    def code_and_state(self, error):
        return error.args[0], None

    def type_name(self, column):
        return self.types[column[1]]

    def start_afresh(self, connection):
        connection.ping()
        return "ping"


class Mysqlclient(PyMySQL):
    def __init__(self):
        import MySQLdb
        import MySQLdb.cursors
        from MySQLdb.constants import CLIENT, FIELD_TYPE

        self.module = MySQLdb
        self.version = f"{importlib.metadata.version('mysqlclient')}, libmariadb {MySQLdb.get_client_info()}"
        self.streaming = MySQLdb.cursors.SSCursor
        self.flags = CLIENT.MULTI_STATEMENTS
        self.types = {value: name for name, value in vars(FIELD_TYPE).items() if isinstance(value, int)}

    def warnings(self, connection, _cursor):
        return connection.warning_count()

    def start_afresh(self, connection):
        connection.change_user(*ACCOUNT)
        connection.autocommit(True)
        return "change_user"


class Mariadb(PyMySQL):
    def __init__(self):
        import mariadb

        self.module = mariadb
        self.version = f"{importlib.metadata.version('mariadb')}, libmariadb {mariadb.mariadbapi_version}"
        types = vars(mariadb.constants.FIELD_TYPE).items()
        self.types = {value: name for name, value in types if isinstance(value, int)}

    def connect(self, host, port, user, password, schema):
        return self.module.connect(
            host=host, port=port, user=user, password=password, database=schema, autocommit=True,
        )

    def prepared(self, connection):
        return connection.cursor(prepared=True)

    def unbuffered(self, connection):
        return connection.cursor(buffered=False)

    def set_autocommit(self, connection, on):
        connection.autocommit = on

    def several(self, _connection, _text):
        return ["no"]

    def warnings(self, _connection, cursor):
        return cursor.warnings

    def code_and_state(self, error):
        return error.errno, error.sqlstate

    def start_afresh(self, connection):
        connection.reset()
        connection.autocommit = True
        return "reset"


class Connector(PyMySQL):
    pure = False

    def __init__(self):
        import mysql.connector

        self.module = mysql.connector
        self.version = mysql.connector.__version__
        self.types = {value: name for name, value in vars(mysql.connector.FieldType).items() if isinstance(value, int)}

    def connect(self, host, port, user, password, schema):
        return self.module.connect(
            host=host, port=port, user=user, password=password, database=schema, charset="utf8mb4",
            autocommit=True, use_pure=self.pure, **OPTIONS,
        )

    def prepared(self, connection):
        return connection.cursor(prepared=True)

    def unbuffered(self, connection):
        return connection.cursor(buffered=False)

    def set_autocommit(self, connection, on):
        connection.autocommit = on

    def several(self, connection, text):
        cursor = connection.cursor()
        cursor.execute(text)
        found = []
        while True:
            found.append(cursor.fetchall()[0] if cursor.with_rows else cursor.rowcount)
            if not cursor.nextset():
                return found

    def warnings(self, _connection, cursor):
        return cursor.warning_count

    def code_and_state(self, error):
        return error.errno, error.sqlstate

    def start_afresh(self, connection):
        connection.reset_session()
        connection.autocommit = True
        return "reset_session"


class PureConnector(Connector):
    pure = True


class Awaited:
    """A connection or cursor of an asynchronous driver, whose every call is awaited in a loop of its own."""

    def __init__(self, loop, thing):
        self._loop = loop
        self._thing = thing

    def __getattr__(self, name):
        found = getattr(self._thing, name)
        return (lambda *given: self._finish(found(*given))) if callable(found) else found

    def _finish(self, found):
        async def finished():
            return await found

        found = self._loop.run_until_complete(finished()) if inspect.isawaitable(found) else found
        return Awaited(self._loop, found) if hasattr(found, "execute") else found


class Asynchronous(PyMySQL):
    name = None

    def __init__(self):
        super().__init__()
        self.module = importlib.import_module(self.name)
        # They say the server's warnings to whoever looks at standard error.
        logging.getLogger(self.name).setLevel(logging.ERROR)
        warnings.simplefilter("ignore")
        self.version = importlib.metadata.version(self.name)
        self.streaming = importlib.import_module(self.name + ".cursors").SSCursor

    def connect(self, host, port, user, password, schema):
        loop = asyncio.new_event_loop()

        async def connect():
            return await self.module.connect(
                host=host, port=port, user=user, password=password, db=schema, charset="utf8mb4", autocommit=True,
                client_flag=self.flags,
            )

        return Awaited(loop, loop.run_until_complete(connect()))

    def warnings(self, _connection, _cursor):
        return None

    def close(self, connection):
        connection.ensure_closed()
        connection._loop.close()


class Aiomysql(Asynchronous):
    name = "aiomysql"


class Asyncmy(Asynchronous):
    name = "asyncmy"

    def __init__(self):
        super().__init__()
        self.module.Error = importlib.import_module("asyncmy.errors").Error


DRIVERS = {
    "PyMySQL": PyMySQL, "mysqlclient": Mysqlclient, "connector": Connector, "connector-pure": PureConnector,
    "aiomysql": Aiomysql, "asyncmy": Asyncmy, "mariadb": Mariadb,
}
ACCOUNT = None  # user, password, schema
OPTIONS = {}


def text_of(value):
    if value is None:
        return "NULL"
    return value.decode() if isinstance(value, (bytes, bytearray)) else str(value)


def say(step, *values):
    print(f"{step}:", " ".join(text_of(value) for value in values), flush=True)


def row_of(values):
    return "|".join(text_of(value) for value in values)


class Blog:
    def __init__(self, driver, address):
        self.driver = driver
        self.address = address
        self.connection = driver.connect(*address)

    def run(self, statement, parameters=(), cursor=None):
        """Runs a statement that has no rows; how many it affected."""
        cursor = cursor or self.connection.cursor()
        cursor.execute(statement.replace("?", "%s"), parameters)
        return cursor.rowcount

    def rows(self, statement, parameters=(), cursor=None):
        cursor = cursor or self.connection.cursor()
        cursor.execute(statement.replace("?", "%s"), parameters)
        return cursor.fetchall()

    def row(self, statement, parameters=()):
        return self.rows(statement, parameters)[0]

    def increments(self):
        say("text", *[self.run("UPDATE posts SET views = views + 1 WHERE id = 1") for _ in range(10)])
        cursor = self.driver.prepared(self.connection)
        say("prepared", *[self.run("UPDATE posts SET views = views + 1 WHERE id = ?", (1,), cursor) for _ in range(5)])
        cursor = self.driver.prepared(self.connection)
        say("bound", *[self.run("UPDATE posts SET likes = likes + ? WHERE id = ?", (2, 1), cursor) for _ in range(3)])
        cursor = self.connection.cursor()
        cursor.executemany("UPDATE posts SET views = views + %s WHERE id = %s", [(1, 5), (2, 6), (3, 5)])
        say("bulk", row_of(self.row("SELECT SUM(views) FROM posts WHERE id IN (5, 6)")))

    def transactions(self):
        self.driver.set_autocommit(self.connection, False)
        committed = self.run("UPDATE posts SET likes = likes + 10 WHERE id = 1")
        self.connection.commit()
        rolled_back = self.run("UPDATE posts SET likes = likes + 100 WHERE id = 1")
        self.connection.rollback()
        say("transactions", committed, rolled_back, row_of(self.row("SELECT likes FROM posts WHERE id = 1")))
        self.connection.commit()
        self.run("UPDATE posts SET views = views + 1 WHERE id = 4")
        within = row_of(self.row("SELECT views FROM posts WHERE id = 4"))
        self.connection.rollback()
        say("within", within, row_of(self.row("SELECT views FROM posts WHERE id = 4")))
        self.connection.commit()
        self.driver.set_autocommit(self.connection, True)

    def other_writes(self):
        cursor = self.driver.prepared(self.connection)
        guarded = "UPDATE posts SET stock = stock - 1 WHERE id = ? AND stock >= 1"
        say("guarded", *[self.run(guarded, (1,), cursor) for _ in range(8)])
        cursor = self.driver.prepared(self.connection)
        upsert = "INSERT INTO sign_ups (day, hits) VALUES (?, 1) ON DUPLICATE KEY UPDATE hits = hits + 1"
        days = ["2026-11-22"] * 3 + ["2026-11-23"] * 2
        say("upserts", *[self.run(upsert, (day,), cursor) for day in days])
        added = self.run("UPDATE posts SET views = views + 1 WHERE id = 8")
        # What a driver puts before a NULL and before a key is read with care.
        cursor = self.driver.prepared(self.connection)
        changed = self.run("UPDATE posts SET body = ?, views = 5 WHERE id = ?", (None, 8), cursor)
        say("set", added, changed, row_of(self.row("SELECT views FROM posts WHERE id = 8")))
        numbers = []
        for _ in range(3):
            cursor = self.connection.cursor()
            self.run("UPDATE seq SET id = LAST_INSERT_ID(id + 1)", (), cursor)
            numbers.append(cursor.lastrowid)
        say("sequence", *numbers)

    def reads(self):
        statement = "SELECT id, title, body, views, likes, stock, price FROM posts WHERE id = ?"
        say("row", row_of(self.row(statement, (1,))))
        [row] = self.rows(statement, (1,), self.driver.prepared(self.connection))
        say("prepared row", row_of(row))
        listed = self.rows("SELECT id, title, views FROM posts WHERE id <= 5 ORDER BY views DESC, id")
        say("list", *[row_of(row) for row in listed])
        say("sum", row_of(self.row("SELECT COUNT(*), SUM(views), MAX(likes) FROM posts")))
        say("days", *[row_of(row) for row in self.rows("SELECT CAST(day AS CHAR), hits FROM sign_ups ORDER BY day")])
        cursor = self.connection.cursor()
        cursor.execute("SELECT * FROM posts WHERE id = 1")
        columns = [f"{column[0]}={self.driver.type_name(column)}" for column in cursor.description]
        say("columns", *columns)
        say("values", *[repr(value) for value in cursor.fetchall()[0]])

    def unicode(self):
        title = "Ångström’s 😀"
        inserted = self.run("INSERT INTO posts (id, title, body) VALUES (20001, ?, ?)", (title, None))
        row = self.row("SELECT id, title, body, views FROM posts WHERE title = ?", (title,))
        say("unicode", inserted, row_of(row), self.run("DELETE FROM posts WHERE id = ?", (20001,)))

    def large(self):
        self.run("UPDATE posts SET picture = ?, body = ? WHERE id = 2", (ALL_BYTES, LONG_TEXT))
        picture, body, views = self.row("SELECT picture, body, views FROM posts WHERE id = 2")
        there = self.row("SELECT SHA2(picture, 256), SHA2(body, 256) FROM posts WHERE id = 2")
        here = (hashlib.sha256(picture).hexdigest(), hashlib.sha256(body.encode()).hexdigest())
        say("large", len(picture), len(body.encode()), views, *there)
        say("came back", *here)

    def stream(self):
        statement = "SELECT id, title, views FROM posts WHERE id > 10 ORDER BY id"
        cursor = self.driver.unbuffered(self.connection)
        cursor.execute(statement)
        count = total = letters = 0
        for number, title, views in iter(cursor.fetchone, None):
            count, total, letters = count + 1, total + number * views, letters + len(title)
        cursor.close()
        say("stream", count, total, letters)

    def errors(self):
        codes = []
        for statement in [
            "INSERT INTO posts (id, title) VALUES (1, 'again')",
            "UPDATE posts SET views = views + WHERE id = 1",
            "UPDATE posts SET views = views + 1, nothing = 1 WHERE id = 1",
            "SELECT views, nothing FROM posts",
            "UPDATE posts SET stock = stock - 1 WHERE id = 1",
        ]:
            try:
                self.run(statement)
            except self.driver.module.Error as error:
                code, state = self.driver.code_and_state(error)
                codes.append(code)
                say("error", type(error).__name__, code, state, error.args[-1])
        say("errors", *codes)

    def warnings(self):
        cursor = self.connection.cursor()
        cursor.execute("SELECT CAST('12abc' AS SIGNED), views FROM posts WHERE id = 1")
        row = cursor.fetchall()[0]
        say("warned", self.driver.warnings(self.connection, cursor), row_of(row))
        [(_, code, message)] = self.rows("SHOW WARNINGS")
        say("warning", code)
        say("message", message)

    def several(self):
        found = self.driver.several(
            self.connection,
            "SELECT views FROM posts WHERE id = 1; DO 0; SELECT title FROM posts WHERE id = 5; SELECT COUNT(*) FROM seq",
        )
        say("several", *[row_of(value) if isinstance(value, tuple) else value for value in found])

    def again(self):
        self.run("SET @mine = 1")
        self.driver.close(self.connection)
        self.connection = self.driver.connect(*self.address)
        say("again", row_of(self.row("SELECT views, @mine FROM posts WHERE id = 1")))
        self.run("SET @mine = 2")
        how = self.driver.start_afresh(self.connection)
        say("afresh", how, row_of(self.row("SELECT views, @mine, DATABASE() FROM posts WHERE id = 1")))

    def together(self, statement, times):
        """How many of the rows were affected when four connections run a statement so often each."""
        blogs = [Blog(self.driver, self.address) for _ in range(4)]
        affected = []

        def crowd(blog):
            cursor = self.driver.prepared(blog.connection)
            affected.extend(blog.run(statement, (3,), cursor) for _ in range(times))

        threads = [threading.Thread(target=crowd, args=(blog,)) for blog in blogs]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for blog in blogs:
            self.driver.close(blog.connection)
        return f"{sum(affected)} of {len(affected)}"

    def crowd(self):
        crowd = self.together("UPDATE posts SET views = views + 1 WHERE id = ?", 10)
        sold = self.together("UPDATE posts SET stock = stock - 1 WHERE id = ? AND stock >= 1", 5)
        say("crowd", crowd, "and", sold, "leave", row_of(self.row("SELECT views, stock FROM posts WHERE id = 3")))


def main(driver, *address):
    global ACCOUNT
    name = driver.removesuffix("-compressed")
    if name != driver:
        OPTIONS["compress"] = True
    driver = DRIVERS[name]()
    if not address:
        print(driver.version)
        return
    host, port, *ACCOUNT = address
    blog = Blog(driver, (host, int(port), *ACCOUNT))
    for step in [
        blog.increments, blog.transactions, blog.other_writes, blog.reads, blog.unicode, blog.large, blog.stream,
        blog.errors, blog.warnings, blog.several, blog.again, blog.crowd,
    ]:
        step()
    driver.close(blog.connection)
    print("finished")


main(*sys.argv[1:])
