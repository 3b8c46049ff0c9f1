#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""layers.py - who may include whom.

A file includes headers of its own layer or a lower one; tools include public
headers only; each foreign header has one file that includes it; a source file
begins with its licence, and src/ with base/common.h.

    layers.py TOP
"""
import os
import re
import sys

LAYERS = {"base": 0, "pure": 1, "devices": 2, "verbs": 3, "import": 4,
          "cuda": 4}

# Foreign header -> the file that may include it.
FOREIGN = {
    r"xxhash\.h": "src/pure/hash.c",
    r"(cjson/)?cJSON\.h": "src/pure/json.c",
    r"libnvme\.h|nvme/.*": "src/import/identity.c",
    r"blkid/blkid\.h": "src/import/signatures.c",
    r"cuda(_runtime)?(_api)?\.h": "src/cuda/device_cuda.h",
    r"dlfcn\.h": "src/devices/ugds_real.c",
}

# pure/ does no I/O: these headers would be how.
IO_HEADERS = {"fcntl.h", "unistd.h", "sys/stat.h", "sys/ioctl.h", "pthread.h",
              "sys/mman.h", "dirent.h"}


def sources(top, folder):
    for root, _, names in os.walk(os.path.join(top, folder)):
        for name in sorted(names):
            if name.endswith((".c", ".h")):
                yield os.path.relpath(os.path.join(root, name), top)


def check(top, path, say):
    with open(os.path.join(top, path), encoding="utf-8") as source:
        lines = source.read().splitlines()
    if "SPDX-License-Identifier: BSD-3-Clause" not in (lines or [""])[0]:
        say(path, 1, "no licence in the first line")
    parts = path.split(os.sep)
    layer = LAYERS.get(parts[1]) if parts[0] == "src" else None
    first = True
    for number, line in enumerate(lines, 1):
        found = re.match(r'\s*#\s*include\s+(["<])([^">]+)[">]', line)
        if not found:
            continue
        quoted, name = found.group(1) == '"', found.group(2)
        if layer is not None and first and path.endswith(".c") \
                and name != "base/common.h":
            say(path, number, "the first include is not base/common.h")
        first = False
        for pattern, owner in FOREIGN.items():
            if re.fullmatch(pattern, name) and path != owner:
                say(path, number, "%s is included by %s only" % (name, owner))
        if layer is None:
            if quoted and "/" in name:
                say(path, number, "tools see public headers only")
            continue
        if parts[1] == "pure" and name in IO_HEADERS:
            say(path, number, "pure/ does no I/O: %s" % name)
        room = name.split("/")[0]
        if quoted and room in LAYERS:
            if LAYERS[room] > layer or \
                    (LAYERS[room] == layer and room != parts[1]):
                say(path, number, "%s/ includes %s" % (parts[1], name))
        elif quoted and not name.startswith("ugds_st"):
            say(path, number, "no layer in \"%s\"" % name)


def main():
    top = sys.argv[1]
    bad = []

    def say(path, number, text):
        bad.append(path)
        print("%s:%d: %s" % (path, number, text))

    count = 0
    for folder in ("src", "tools", "include"):
        for path in sources(top, folder):
            check(top, path, say)
            count += 1
    print("%d files" % count)
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
