#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""links.py - what README.md and docs/ point at is there: files, and the
functions and tests that docs/ugds-rules.md names.

    links.py TOP
"""
import glob
import os
import re
import sys


def check_names(top):
    """Return: names that stand in no source."""
    with open(os.path.join(top, "docs", "ugds-rules.md"),
              encoding="utf-8") as source:
        tables = source.read().split("\n## ", 1)[1]
    names = set(re.findall(r"(?<![*`])[*`]([a-z_0-9]+_[a-z_0-9]+)[*`]", tables))
    words = set()
    for path in glob.glob(os.path.join(top, "src", "**", "*.[ch]"),
                          recursive=True) + \
            glob.glob(os.path.join(top, "tests", "**", "*.[ch]"),
                      recursive=True):
        with open(path, encoding="utf-8") as source:
            words.update(re.findall(r"\w+", source.read()))
    return sorted(names - words), len(names)


def main():
    top = sys.argv[1]
    bad = count = 0
    pages = [os.path.join(top, "README.md")] + \
        sorted(glob.glob(os.path.join(top, "docs", "*.md")))
    for page in pages:
        with open(page, encoding="utf-8") as source:
            text = source.read()
        for target in re.findall(r"\]\(([^)#\s]+)", text):
            if re.match(r"[a-z]+:", target):
                continue
            count += 1
            if not os.path.exists(os.path.join(os.path.dirname(page), target)):
                bad = 1
                print("%s: no such file: %s" % (page, target))
    unknown, name_count = check_names(top)
    for name in unknown:
        bad = 1
        print("docs/ugds-rules.md: no such function or test: %s" % name)
    print("%d links in %d pages, %d names" % (count, len(pages), name_count))
    sys.exit(bad)


if __name__ == "__main__":
    main()
