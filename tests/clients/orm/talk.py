"""How a Python program talks to tests/clients/orm/capture.rs: it runs each increment when it is told to."""

import asyncio
import json
import platform
import sys
import textwrap


def say(**what):
    print(json.dumps(what), flush=True)


def introduce(library, version, driver, table, counters, touch):
    """Says who we are; host, port, user, password and schema come back."""
    say(library=library, version=version, language=f"Python {platform.python_version()}", driver=driver,
        table=" ".join(table.split()), counters=counters, touch=touch)
    host, port, user, password, schema = sys.stdin.readline().rstrip("\n").split("\t")
    return dict(host=host, port=int(port), user=user, password=password, schema=schema)


def code_lines(increments):
    return [textwrap.dedent(code).strip() for code in increments]


def run(increments, names):
    """Runs lines of code, with these names."""
    for code in code_lines(increments):
        say(next=code)
        sys.stdin.readline()
        exec(code, names)
        say(done=True)


async def run_async(increments, names):
    """Runs lines of code that may await."""
    for code in code_lines(increments):
        say(next=code)
        sys.stdin.readline()
        exec("async def increment():\n" + textwrap.indent(code, "    "), names)
        await names["increment"]()
        say(done=True)
