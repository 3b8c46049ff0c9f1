#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""compare_checkpoint.py - does an imported checkpoint equal its source?

Reads the source's shards itself, or with the official loader, and every tensor
of the manifest with `ugds-st-cat --raw`: names, dtypes, shapes and bytes must
be the same.

    compare_checkpoint.py [--official] [--limit N] [--degraded]
                          [--device DEVICE]... CAT MANIFEST CHECKPOINT
"""
import argparse
import json
import os
import struct
import subprocess
import sys

PIECE = 1 << 24


class Difference(Exception):
    pass


def shards_of(checkpoint):
    """Paths of the shards by name, and the names that the index lists."""
    if os.path.isdir(checkpoint):
        index = os.path.join(checkpoint, "model.safetensors.index.json")
        if os.path.exists(index):
            checkpoint = index
        else:
            files = [n for n in os.listdir(checkpoint)
                     if n.endswith(".safetensors")]
            if len(files) != 1:
                raise Difference("%s: expected one shard or an index, found %d"
                                 % (checkpoint, len(files)))
            checkpoint = os.path.join(checkpoint, files[0])
    base, name = os.path.split(checkpoint)
    if not name.endswith(".json"):
        return {name: checkpoint}, None
    with open(checkpoint, encoding="utf-8") as source:
        weight_map = json.load(source)["weight_map"]
    return ({shard: os.path.join(base, shard)
             for shard in weight_map.values()}, weight_map)


def plain_tensors(path):
    """name -> (dtype, shape, file offset, nbytes), by the format's text."""
    with open(path, "rb") as shard:
        (length,) = struct.unpack("<Q", shard.read(8))
        header = json.loads(shard.read(length).decode())
    header.pop("__metadata__", None)
    return {name: (t["dtype"], t["shape"], 8 + length + t["data_offsets"][0],
                   t["data_offsets"][1] - t["data_offsets"][0])
            for name, t in header.items()}


def official_tensors(path):
    """name -> (dtype, shape, bytes), as the official loader gives them."""
    import safetensors

    with open(path, "rb") as shard:
        data = shard.read()
    return {name: (t["dtype"], list(t["shape"]), bytes(t["data"]))
            for name, t in safetensors.deserialize(data)}


def cat_command(args, *options):
    command = [args.cat] + (["--degraded"] if args.degraded else [])
    for device in args.device:
        command += ["--device", device]
    return command + list(options) + ["--", args.manifest]


def raw(args, name):
    """`ugds-st-cat --raw` of one tensor, in pieces."""
    command = cat_command(args, "--raw") + [name]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        while True:
            piece = process.stdout.read(PIECE)
            if not piece:
                break
            yield piece
    if process.returncode != 0:
        raise Difference("%r: ugds-st-cat exits %d"
                         % (name, process.returncode))


def compare_bytes(args, name, expected):
    """expected(offset, nbytes) gives the source's bytes."""
    at = 0
    for piece in raw(args, name):
        if piece != expected(at, len(piece)):
            raise Difference("%r: bytes differ between %d and %d"
                             % (name, at, at + len(piece)))
        at += len(piece)
    return at


def compare_shard(args, path, listed, wanted):
    official = official_tensors(path) if args.official else None
    plain = plain_tensors(path)
    with open(path, "rb") as shard:
        for name in wanted:
            entry = listed[name]
            dtype, shape, offset, nbytes = plain[name]
            if official:
                dtype, shape, data = official[name]
                nbytes = len(data)
            found = (entry["dtype"], entry["shape"], entry["nbytes"])
            if found != (dtype, shape, nbytes):
                raise Difference("%r: expected %s, found %s"
                                 % (name, (dtype, shape, nbytes), found))
            if entry["file_offset"] != offset:
                raise Difference("%r: expected offset %d, found %d"
                                 % (name, offset, entry["file_offset"]))

            def from_file(at, count, offset=offset):
                shard.seek(offset + at)
                return shard.read(count)

            def from_loader(at, count):
                return data[at:at + count]

            done = compare_bytes(args, name,
                                 from_loader if official else from_file)
            if done != nbytes:
                raise Difference("%r: expected %d bytes, found %d"
                                 % (name, nbytes, done))


def compare(args):
    paths, weight_map = shards_of(args.checkpoint)
    text = subprocess.run(cat_command(args, "--json"), check=True,
                          stdout=subprocess.PIPE).stdout
    listed = {t["name"]: t for t in json.loads(text)}
    source = {}
    for shard, path in paths.items():
        for name in plain_tensors(path):
            if weight_map is None or weight_map.get(name) == shard:
                source[name] = shard
    if set(source) != set(listed):
        raise Difference("names differ: %s"
                         % sorted(set(source) ^ set(listed))[:4])
    names = sorted(source)
    if args.limit and len(names) > args.limit:
        names = names[::-(-len(names) // args.limit)]
    for shard, path in sorted(paths.items()):
        compare_shard(args, path, listed,
                      [n for n in names if source[n] == shard])
    print("%d of %d tensors: dtype, shape and every byte are as in %s%s"
          % (len(names), len(source), args.checkpoint,
             ", by the official loader" if args.official else ""))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--official", action="store_true")
    parser.add_argument("--limit", type=int, default=0)
    parser.add_argument("--degraded", action="store_true")
    parser.add_argument("--device", action="append", default=[])
    parser.add_argument("cat", metavar="CAT")
    parser.add_argument("manifest", metavar="MANIFEST")
    parser.add_argument("checkpoint", metavar="CHECKPOINT")
    try:
        compare(parser.parse_args())
    except (Difference, subprocess.CalledProcessError, OSError) as what:
        sys.exit("compare_checkpoint.py: %s" % what)


if __name__ == "__main__":
    main()
