#!/usr/bin/env python3
"""Prints the licences of the libraries that the program contains: docker/packages/licences.py > THIRD-PARTY-LICENSES

Most of them ask for their text to go with the program. A text that several libraries have alike is printed once.
"""

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
NAMES = ("license", "licence", "copying", "notice", "unlicense", "copyright")
# Texts of C libraries lie deeper in the packages that contain them.
DEEPEST = 4


def cargo(*arguments):
    return subprocess.run(["cargo", *arguments], cwd=ROOT, check=True, capture_output=True, text=True).stdout


def contained():
    """Name and version of each library in the program."""
    lines = cargo("tree", "--locked", "--package", "countersink", "--edges", "normal", "--prefix", "none",
                  "--format", "{p}").splitlines()
    return {tuple(line.split(" ")[:2]) for line in lines if line}


def texts(folder):
    """The texts of a package."""
    for path in sorted(folder.rglob("*")):
        depth = len(path.relative_to(folder).parts)
        if depth <= DEEPEST and path.is_file() and path.name.lower().startswith(NAMES):
            if path.suffix in ("", ".md", ".txt") or path.stem.isupper():
                yield path.read_text(errors="replace").strip()


def main():
    names = contained()
    packages = json.loads(cargo("metadata", "--locked", "--format-version", "1"))["packages"]
    bearers = {}
    without = []
    for package in sorted(packages, key=lambda package: (package["name"], package["version"])):
        # Those of this workspace have no source.
        if (package["name"], "v" + package["version"]) not in names or package["source"] is None:
            continue
        title = f"{package['name']} {package['version']} ({package['license']})"
        found = list(texts(Path(package["manifest_path"]).parent))
        for text in dict.fromkeys(found):
            bearers.setdefault(text, []).append(title)
        if not found:
            without.append(title)
    if not bearers:
        sys.exit("no library has a licence, so they were not looked for where they are")
    print("Countersink contains these libraries. Where one offers several licences, each of them may be chosen.")
    if without:
        print("\nThese say which licence they have, without its text:\n")
        print("\n".join(f"  {title}" for title in without))
    for text, titles in bearers.items():
        print("\n" + "=" * 100 + "\n")
        print("\n".join(titles) + "\n")
        print(text)


if __name__ == "__main__":
    main()
