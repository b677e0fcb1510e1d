"""Logs in with PyMySQL and runs an ordinary session.

    pymysql_session.py HOST PORT USER PASSWORD TLS [SCHEMA]

TLS is `off` or `on` (the certificate is not checked). Without SCHEMA it only logs in.
Prints one line of JSON: {"ok": true, ...} or {"ok": false, "code": .., "message": ..}.

Without arguments each line of standard input is a login, its arguments parted by tabs.
"""

import json
import ssl
import sys

import pymysql
from pymysql.constants import CLIENT


def login(host, port, user, password, tls, schema):
    context = None
    if tls == "on":
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return pymysql.connect(
        host=host, port=int(port), user=user, password=password, database=schema,
        ssl=context, ssl_disabled=tls != "on", client_flag=CLIENT.MULTI_STATEMENTS, autocommit=True,
    )


def one(cursor, statement, *arguments):
    cursor.execute(statement, *arguments)
    return cursor.fetchone()


def identity(cursor):
    user, version, connection = one(cursor, "SELECT CURRENT_USER(), @@version, CONNECTION_ID()")
    cipher = one(cursor, "SHOW SESSION STATUS LIKE 'Ssl_cipher'")[1]
    return {"current_user": user, "version": version, "connection_id": connection, "upstream_cipher": cipher}


def session(connection, cursor):
    """What an application does in a day; every value is the same on MySQL and MariaDB."""
    found = {}
    table = "`t_%s`" % found.setdefault("id", connection.thread_id())
    cursor.execute(f"DROP TABLE IF EXISTS {table}")
    cursor.execute(f"CREATE TABLE {table} (id INT PRIMARY KEY, v VARCHAR(20))")
    found["inserted"] = cursor.execute(f"INSERT INTO {table} VALUES (1, 'one'), (2, 'two')")
    cursor.execute(f"PREPARE s FROM 'SELECT v FROM {table} WHERE id = ?'")
    cursor.execute("SET @id = 2")
    found["prepared"] = one(cursor, "EXECUTE s USING @id")[0]
    cursor.execute("DEALLOCATE PREPARE s")
    connection.begin()
    cursor.execute(f"UPDATE {table} SET v = 'gone' WHERE id = 1")
    connection.rollback()
    found["rolled_back"] = one(cursor, f"SELECT v FROM {table} WHERE id = 1")[0]
    connection.begin()
    cursor.execute(f"UPDATE {table} SET v = 'kept' WHERE id = 1")
    connection.commit()
    found["committed"] = one(cursor, f"SELECT v FROM {table} WHERE id = 1")[0]
    try:
        cursor.execute(f"INSERT INTO {table} VALUES (1, 'again')")
    except pymysql.err.IntegrityError as error:
        found["duplicate"] = error.args[0]
    found["multi"] = []
    cursor.execute("SELECT 1; SELECT 2, 3; DO 0")
    while True:
        if cursor.description:
            found["multi"].append(list(cursor.fetchone()))
        if not cursor.nextset():
            break
    found["large"] = len(one(cursor, "SELECT REPEAT('x', 200000)")[0])
    cursor.execute(f"DROP TABLE {table}")
    connection.ping(reconnect=False)
    return found


def main(host, port, user, password, tls, schema=None, *_other):
    try:
        connection = login(host, port, user, password, tls, schema)
        with connection.cursor() as cursor:
            result = {"ok": True, "client": f"PyMySQL {pymysql.__version__}", **identity(cursor)}
            result["client_tls"] = tls == "on"
            result["thread_id"] = connection.thread_id()
            if schema:
                result["session"] = session(connection, cursor)
        connection.close()
    except Exception as error:  # whatever the driver raises is the result
        code = error.args[0] if error.args and isinstance(error.args[0], int) else None
        message = error.args[-1] if error.args else ""
        result = {"ok": False, "code": code, "message": str(message), "kind": type(error).__name__}
    print(json.dumps(result), flush=True)
    return 0 if result["ok"] else 1


if __name__ == "__main__":
    if len(sys.argv) > 1:
        sys.exit(main(*sys.argv[1:]))
    for line in sys.stdin:
        main(*line.rstrip("\n").split("\t"))
