#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""links.py - what README.md and docs/ point at is there.

    links.py TOP
"""
import glob
import os
import re
import sys


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
    print("%d links in %d pages" % (count, len(pages)))
    sys.exit(bad)


if __name__ == "__main__":
    main()
