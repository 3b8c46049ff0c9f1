#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""exports.py - what the libraries export, say and declare is the same.

For each library: the symbols of `nm -D`, the names in its map, and the
prototypes of its header. In the archives, every global symbol is ours by its
name: ugds_st_* or ugst_*.

    exports.py TOP LIBRARY_FOLDER
"""
import os
import re
import subprocess
import sys

LIBRARIES = ("ugds_st", "ugds_st_import", "ugds_st_cuda")


def nm(*args):
    text = subprocess.run(["nm", "--defined-only", *args], check=True,
                          stdout=subprocess.PIPE, text=True).stdout
    for line in text.splitlines():
        fields = line.split()
        if len(fields) == 3 and fields[1] in "TDBRVWi":
            yield fields[2].split("@")[0]


def mapped(path):
    with open(path) as source:
        text = re.sub(r"/\*.*?\*/", "", source.read(), flags=re.S)
    return set(re.findall(r"^\s*([a-z]\w*);", text.split("local:")[0], re.M))


def declared(path):
    with open(path) as source:
        text = re.sub(r"/\*.*?\*/", "", source.read(), flags=re.S)
    text = re.sub(r"^#.*(\\\n.*)*", "", text, flags=re.M)
    # A prototype's name follows its type and starts no member: members of
    # structs that are functions are written (*name)(...).
    return set(re.findall(r"[\w*]\s*\b(ugds_st_\w+)\s*\(", text))


def main():
    top, folder = sys.argv[1:]
    bad = 0
    for library in LIBRARIES:
        shared = os.path.join(folder, "lib%s.so" % library)
        if not os.path.exists(shared):
            if library == "ugds_st":
                sys.exit("%s: not found" % shared)
            continue
        exported = {name for name in nm("-D", shared)
                    if not name.startswith("UGDS_ST_")}  # version nodes
        expected = declared(os.path.join(top, "include", library + ".h"))
        if library != "ugds_st":
            expected -= declared(os.path.join(top, "include", "ugds_st.h"))
        listed = mapped(os.path.join(top, "src", "lib%s.map" % library))
        for what, found in (("exports", exported), ("map", listed)):
            if found != expected:
                bad = 1
                print("%s: header and %s differ: %s" %
                      (library, what, sorted(found ^ expected)))
        print("%s: %d functions" % (library, len(expected)))
        archive = os.path.join(folder, "lib%s.a" % library)
        if os.path.exists(archive):
            for name in sorted(set(nm("-g", archive))):
                if not name.startswith(("ugds_st_", "ugst_")):
                    bad = 1
                    print("%s.a: a foreign name: %s" % (library, name))
    sys.exit(bad)


if __name__ == "__main__":
    main()
