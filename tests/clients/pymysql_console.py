"""Asks the SQL console with PyMySQL.

    pymysql_console.py HOST PORT USER PASSWORD SCHEMA STATEMENT..

Prints one line of JSON: {"ok": true, "rows": [[..], ..]} with a list of rows for each statement, or
{"ok": false, "code": .., "message": ..}. Values keep the types that the driver gives them.
"""

import json
import sys

import pymysql


def main(host, port, user, password, schema, *statements):
    try:
        connection = pymysql.connect(
            host=host, port=int(port), user=user, password=password, database=schema, charset="utf8mb4"
        )
        rows = []
        with connection.cursor() as cursor:
            for statement in statements:
                cursor.execute(statement)
                rows.append([list(row) for row in cursor.fetchall()])
        connection.commit()
        connection.ping(reconnect=False)
        connection.close()
        result = {"ok": True, "rows": rows}
    except Exception as error:  # whatever the driver raises is the result
        code = error.args[0] if error.args and isinstance(error.args[0], int) else None
        result = {"ok": False, "code": code, "message": str(error)}
    print(json.dumps(result))


main(*sys.argv[1:])
