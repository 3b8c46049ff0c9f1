#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""ugds-st-cat --json over every file and directory of the two packs: the
official verdict, the official table, and one printable line where it refuses.
"""
import json
import os
import subprocess
import sys
import tempfile

TOP = os.path.dirname(os.path.dirname(os.path.dirname(
    os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(TOP, "tests", "data"))
import pack  # noqa: E402  pylint: disable=wrong-import-position

CAT = os.path.join(os.environ["UGDS_ST_TOOLS"], "ugds-st-cat")


def check(case, directory):
    """What is wrong with the answer; None: nothing."""
    path = os.path.join(directory, case["id"], case["path"])
    done = subprocess.run([CAT, "--json", path], capture_output=True,
                          check=False)
    if done.returncode not in (0, 1):
        return "exit %d: %s" % (done.returncode, done.stderr[:200])
    if (done.returncode == 0) != bool(case["ok"]) and not case["either"]:
        return "expected %s, found exit %d: %s" % (
            "accepted" if case["ok"] else "refused", done.returncode,
            done.stderr.decode())
    if done.returncode == 1:
        lines = done.stderr.decode().split("\n")
        if len(lines) != 2 or not lines[0].isprintable() or done.stdout:
            return "expected one printable line, found %r" % done.stderr
        return None
    found = sorted((t["name"].encode(), t["dtype"], t["shard"], t["shape"],
                    t["file_offset"], t["nbytes"])
                   for t in json.loads(done.stdout))
    wanted = sorted(case["tensors"])
    if found != wanted:
        return "expected %s, found %s" % (wanted, found)
    return None


def main():
    failures = count = 0
    for name in ("headers.pack", "cases.pack"):
        source = os.path.join(TOP, "tests", "data", name)
        with tempfile.TemporaryDirectory() as directory:
            pack.unpack(source, directory)
            with open(source, "rb") as stream:
                cases = list(pack.decode(stream.read()))
            for case in cases:
                fault = check(case, directory)
                count += 1
                if fault:
                    failures += 1
                    print("FAIL: %s: %s" % (case["id"], fault))
    print("%d verdicts, %d failed" % (count, failures))
    return 1 if failures or count < 700 else 0


if __name__ == "__main__":
    sys.exit(main())
