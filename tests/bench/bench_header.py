#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Headers: our time beside that of the official loader, on the same files.

  bench_header.py BENCH_HEADER [DIR]

Makes sparse files of real size in DIR (default: a temporary folder) and runs,
in turn, safetensors.safe_open() over them and the program BENCH_HEADER.

safe_open() opens and maps the file, parses and validates the header and builds
its hash map of names: the same work as ours, plus open and mmap, which are
some 20 us a file. Ours is measured on headers in memory: length, parse, every
check, and one table over all files. Times are of the processor, so that a busy
machine does not count.
"""
import gc
import json
import os
import re
import struct
import subprocess
import sys
import tempfile
import time

RUNS = 9


def tensors(count):
    """Names, dtypes and shapes as in a mixture of experts."""
    made = 0
    layer = 0
    while True:
        base = "model.layers.%d" % layer
        for expert in range(256):
            for part, shape in (("gate_proj", [2048, 7168]),
                                ("up_proj", [2048, 7168]),
                                ("down_proj", [7168, 2048])):
                name = "%s.mlp.experts.%d.%s.weight" % (base, expert, part)
                for entry in ((name, "F8_E4M3", shape, 1),
                              (name + "_scale_inv", "F32",
                               [d // 128 for d in shape], 4)):
                    yield entry
                    made += 1
                    if made == count:
                        return
        layer += 1


def write(path, entries):
    """A sparse file: header as the official writer has it, then a hole."""
    header = {}
    off = 0
    for name, dtype, shape, size in entries:
        for dim in shape:
            size *= dim
        header[name] = {"dtype": dtype, "shape": shape,
                        "data_offsets": [off, off + size]}
        off += size
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as out:
        out.write(struct.pack("<Q", len(text)) + text)
        out.truncate(8 + len(text) + off)


def make(directory, shards, count):
    entries = list(tensors(count))
    paths = []
    for shard in range(shards):
        path = os.path.join(directory, "%d-%05d-of-%05d.safetensors"
                            % (count, shard + 1, shards))
        write(path, entries[count * shard // shards:
                            count * (shard + 1) // shards])
        paths.append(path)
    return paths


def official(paths):
    from safetensors import safe_open
    times = []
    for _ in range(RUNS):
        gc.collect()
        start = time.process_time()
        opened = [safe_open(path, framework="np") for path in paths]
        times.append((time.process_time() - start) * 1e3)
        del opened
    return times


def ours(bench, paths):
    text = subprocess.run([bench] + paths, capture_output=True, check=True,
                          text=True).stdout
    return text, [float(n) for n in
                  re.search(r"first ([\d.]+) ms, best ([\d.]+) ms, "
                            r"median ([\d.]+) ms",
                            text).groups()]


def main(argv):
    if len(argv) < 2:
        sys.exit(__doc__)
    import safetensors
    print("safetensors %s, best (median) of %d runs, ms" % (
        safetensors.__version__, RUNS))
    with tempfile.TemporaryDirectory(
            dir=argv[2] if len(argv) > 2 else None) as directory:
        for shards, count in ((1, 600), (1, 100000), (163, 91991)):
            paths = make(directory, shards, count)
            first, *times = official(paths)
            text, mine = ours(argv[1], paths)
            times = sorted(times + official(paths)[1:])
            median = times[len(times) // 2]
            print("%d tensors in %d files: official %.3f (%.3f, first %.3f), "
                  "ours %.3f (%.3f, first %.3f), ratio %.1f" % (
                      count, shards, times[0], median, first, mine[1],
                      mine[2], mine[0], median / mine[2]))
            print("  " + text.splitlines()[-1])
            for path in paths:
                os.unlink(path)
    for count in (1000, 10000, 100000, 1000000):
        # A header holds 100,000,000 bytes at most: more take several.
        print(subprocess.run([argv[1], "-n", str(count)], check=True,
                             capture_output=True, text=True).stdout, end="")


if __name__ == "__main__":
    main(sys.argv)
