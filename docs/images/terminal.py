#!/usr/bin/env python3
"""Draws what a command leaves on a terminal, as SVG.

    pip install pyte
    cargo build --profile dist
    docs/images/terminal.py target/dist/countersink demo > docs/images/demo.svg
"""

import os
import pty
import re
import sys
from itertools import groupby
from pathlib import Path
from xml.sax.saxutils import escape

import pyte

COLUMNS, LINES = 88, 60
CELL, LINE, MARGIN = 8.0, 18, 16
GROUND, TEXT = "#14171a", "#d8dde2"
COLORS = {
    "black": "#5b636b", "red": "#ff8a80", "green": "#3ecfb4", "brown": "#e0a040",
    "blue": "#6b9bf2", "magenta": "#c792ea", "cyan": "#62c6d8", "white": "#d8dde2",
}


def run(command):
    """Runs the command on a terminal of this size and gives the screen that it leaves."""
    screen = pyte.Screen(COLUMNS, LINES)
    stream = pyte.ByteStream(screen)

    def read(terminal):
        data = os.read(terminal, 65536)
        # Hiding the cursor by a number that pyte does not know would leave marks.
        stream.feed(re.sub(rb"\x1b\[\?\d+[hl]", b"", data))
        os.write(sys.stderr.fileno(), data)
        return data

    os.environ.update(TERM="xterm-256color", COLUMNS=str(COLUMNS), LINES=str(LINES))
    out, sys.stdout = sys.stdout, sys.stderr
    keep = os.dup(1)
    os.dup2(2, 1)
    status = pty.spawn(["sh", "-c", f'stty cols {COLUMNS} rows {LINES}; exec "$@"', "sh", *command], read)
    os.dup2(keep, 1)
    sys.stdout = out
    if status:
        sys.exit(f"{' '.join(command)}: exit status {os.waitstatus_to_exitcode(status)}")
    return screen


def color(cell):
    name = cell.fg.removeprefix("bright")
    if name == "default":
        return TEXT
    return COLORS.get(name) or f"#{name}"


def drawing(screen, command):
    """The screen without its empty lines at the end."""
    rows = [[screen.buffer[y][x] for x in range(COLUMNS)] for y in range(LINES)]
    while rows and not "".join(cell.data for cell in rows[-1]).strip():
        rows.pop()
    yield row([(f"$ {command}", color(screen.default_char), True)], 0)
    for number, cells in enumerate(rows, 2):
        looks = groupby(cells, lambda cell: (color(cell), cell.bold))
        yield row([("".join(cell.data for cell in run), *look) for look, run in looks], number)


def row(runs, number):
    x, texts = 0, []
    for text, fill, bold in runs:
        weight = ' font-weight="bold"' if bold else ""
        # Drawings do not keep spaces apart: what they part is placed by itself.
        for part in re.finditer(r"\S+(?: \S+)*", text):
            left = MARGIN + (x + part.start()) * CELL
            texts.append(
                f'<text x="{left:g}" y="{MARGIN + 13 + number * LINE}" fill="{fill}"{weight} '
                f'textLength="{len(part[0]) * CELL:g}" lengthAdjust="spacingAndGlyphs">{escape(part[0])}</text>'
            )
        x += len(text)
    return "\n".join(texts), number


def main():
    command = sys.argv[1:]
    if not command:
        sys.exit(__doc__)
    lines = list(drawing(run(command), " ".join([Path(command[0]).name, *command[1:]])))
    width = COLUMNS * CELL + 2 * MARGIN
    height = (lines[-1][1] + 1) * LINE + 2 * MARGIN
    print(
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:g}" height="{height:g}" '
        f'viewBox="0 0 {width:g} {height:g}" font-family="ui-monospace, Menlo, Consolas, \'DejaVu Sans Mono\', monospace" '
        f'font-size="13">'
    )
    print(f'<rect width="100%" height="100%" rx="6" fill="{GROUND}"/>')
    print("\n".join(text for text, _ in lines if text))
    print("</svg>")


main()
