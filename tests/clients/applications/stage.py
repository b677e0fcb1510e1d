"""How a Python application talks to tests/clients/applications/played.rs.

    APPLICATION.py [make|play HOST PORT USER PASSWORD SCHEMA]

`make` makes the tables and their first rows, `play` plays the blog step by step. Before a step it says `> STEP` and
waits for a line, so that the test can look at what the proxy has counted. Without arguments it says its versions.
"""

import sys
import threading

WORKERS = 4
DAYS = ["2026-11-22"] * 3 + ["2026-11-23"] * 2
POSTS = [dict(id=number, title=f"post {number}", stock={1: 5, 3: 12}.get(number, 0)) for number in range(1, 6)]


class Place:
    def __init__(self, host, port, user, password, schema):
        self.host, self.port, self.user, self.password, self.schema = host, int(port), user, password, schema


def asked(version):
    """What to do, and where."""
    if len(sys.argv) < 3:
        print(version)
        sys.exit()
    return sys.argv[-6], Place(*sys.argv[-5:])


def text_of(value):
    if isinstance(value, (tuple, list)):
        return "|".join(map(text_of, value))
    return "NULL" if value is None else str(value)


def say(*values):
    print("  ", *map(text_of, values), flush=True)


def begin(name):
    print(">", name, flush=True)
    sys.stdin.readline()


def play(*steps):
    for step in steps:
        begin(step.__name__)
        step()
    print("finished", flush=True)


def refused(attempt, *classes):
    """Says how the database refuses it: the class of the library's error, and what the driver said."""
    try:
        attempt()
    except classes as error:
        driver_said = getattr(error, "orig", None) or error
        say(type(error).__name__, *driver_said.args)
    else:
        say("not refused")


def in_crowd(work, times):
    """How much `work` has done when four threads run it so often each."""
    done = []

    def worker():
        done.extend(work() for _ in range(times))

    threads = [threading.Thread(target=worker) for _ in range(WORKERS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return f"{sum(done)} of {len(done)}"
