#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""make_checkpoint.py - write a small checkpoint of two shards and an index.

Every dtype is in it, and what makes readers stumble: a scalar, tensors of no
bytes, names beyond ASCII, offsets and lengths that are multiples of nothing.
Standard library only, so that it shares no code with what it tests.

    make_checkpoint.py [--seed N] DIR       write one
    make_checkpoint.py --vary SOURCE DIR    another generation of SOURCE: links
                                            to its files, but the smallest
                                            shard is a copy with one byte
                                            changed
"""
import argparse
import json
import os
import random
import shutil
import struct
import sys

# Bits of an element.
DTYPES = {
    "BOOL": 8, "U8": 8, "I8": 8, "U16": 16, "I16": 16, "U32": 32, "I32": 32,
    "U64": 64, "I64": 64, "F16": 16, "BF16": 16, "F32": 32, "F64": 64,
    "C64": 64, "F8_E4M3": 8, "F8_E5M2": 8, "F8_E8M0": 8, "F8_E4M3FNUZ": 8,
    "F8_E5M2FNUZ": 8, "F4": 4, "F6_E2M3": 6, "F6_E3M2": 6,
}

# Name, dtype, shape, in the order of their bytes.
SHARD_1 = [
    ("model.embed_tokens.weight", "BF16", [1024, 256]),
    ("model.layers.0.flags", "BOOL", [3]),
    ("model.layers.0.self_attn.q_proj.weight", "F16", [256, 257]),
    ("model.layers.0.position", "U8", [13]),
    ("model.layers.0.offsets", "I8", [1, 5]),
    ("model.layers.0.mlp.gate_proj.weight", "F32", [64, 129]),
    ("model.layers.0.scale", "F32", []),
    ("model.layers.0.empty", "F64", [0, 4096]),
    ("model.layers.0.\u5c42\u7684\u540d\u5b57 \u00e9\U0001f9e9", "I16", [7]),
    ("model.layers.0.counts", "U16", [11]),
    ("model.layers.0.ids", "U32", [5]),
    ("model.layers.0.deltas", "I32", [5]),
]
SHARD_2 = [
    ("model.layers.1.mlp.experts.0.down_proj.weight", "F8_E4M3", [300, 301]),
    ("model.layers.1.mlp.experts.1.down_proj.weight", "F8_E5M2", [300, 301]),
    ("model.layers.1.mlp.scales", "F8_E8M0", [301]),
    ("model.layers.1.fnuz.a", "F8_E4M3FNUZ", [17]),
    ("model.layers.1.fnuz.b", "F8_E5M2FNUZ", [19]),
    ("model.layers.1.packed.f4", "F4", [3, 64]),
    ("model.layers.1.packed.f6a", "F6_E2M3", [4, 5]),
    ("model.layers.1.packed.f6b", "F6_E3M2", [4, 3]),
    ("model.layers.1.rotary", "C64", [33]),
    ("model.layers.1.statistics", "F64", [9]),
    ("model.layers.1.hashes", "U64", [3]),
    ("model.layers.1.steps", "I64", [1]),
    ("model.layers.1.empty", "U8", [0]),
    ("lm_head.weight", "BF16", [1024, 255]),
]


def payload(rng, dtype, shape):
    """Bytes of a tensor: numbers that look like weights where that is easy."""
    count = 1
    for dim in shape:
        count *= dim
    nbytes = count * DTYPES[dtype] // 8
    if dtype == "BOOL":
        return bytes(rng.getrandbits(1) for _ in range(count))
    if dtype in ("F16", "F32", "F64"):
        code = {"F16": "e", "F32": "f", "F64": "d"}[dtype]
        return struct.pack("<%d%s" % (count, code),
                           *(rng.gauss(0, 0.02) for _ in range(count)))
    if dtype == "BF16":
        return b"".join(struct.pack("<f", rng.gauss(0, 0.02))[2:]
                        for _ in range(count))
    if dtype == "C64":
        return struct.pack("<%df" % (2 * count),
                           *(rng.gauss(0, 1) for _ in range(2 * count)))
    return rng.getrandbits(8 * nbytes).to_bytes(nbytes, "little") \
        if nbytes else b""


def write_shard(path, tensors, rng, padded):
    header = {"__metadata__": {"format": "pt"}}
    parts = []
    at = 0
    for name, dtype, shape in tensors:
        data = payload(rng, dtype, shape)
        header[name] = {"dtype": dtype, "shape": shape,
                        "data_offsets": [at, at + len(data)]}
        parts.append(data)
        at += len(data)
    text = json.dumps(header, ensure_ascii=False).encode()
    if padded:  # as the official writer does
        text += b" " * (-len(text) % 8)
    elif len(text) % 2 == 0:  # every offset in the file is odd or even at will
        text += b" "
    with open(path, "wb") as out:
        out.write(struct.pack("<Q", len(text)))
        out.write(text)
        for part in parts:
            out.write(part)
    return at


def make(directory, seed):
    os.makedirs(directory, exist_ok=True)
    total = 0
    weight_map = {}
    for number, tensors in enumerate((SHARD_1, SHARD_2), 1):
        name = "model-%05d-of-00002.safetensors" % number
        # Seeded by shard: another seed changes the second shard only, as an
        # update of a model often leaves shards as they were.
        rng = random.Random(number if number == 1 else 1000 + seed)
        total += write_shard(os.path.join(directory, name), tensors, rng,
                             padded=number == 1)
        for tensor in tensors:
            weight_map[tensor[0]] = name
    index = {"metadata": {"total_size": total}, "weight_map": weight_map}
    path = os.path.join(directory, "model.safetensors.index.json")
    with open(path, "w", encoding="utf-8") as out:
        json.dump(index, out, ensure_ascii=False, indent=2, sort_keys=True)
        out.write("\n")


def vary(source, directory):
    os.makedirs(directory, exist_ok=True)
    if os.path.isdir(source):
        names = [n for n in sorted(os.listdir(source))
                 if n.endswith((".safetensors", ".safetensors.index.json"))]
        base = source
    else:
        base, name = os.path.split(source)
        names = [name]
        if name.endswith(".json"):
            names += [n for n in sorted(os.listdir(base or "."))
                      if n.endswith(".safetensors")]
    base = os.path.abspath(base)
    shards = [n for n in names if n.endswith(".safetensors")]
    if not shards:
        sys.exit("make_checkpoint.py: %s: no .safetensors file" % source)
    smallest = min(shards, key=lambda n: os.path.getsize(os.path.join(base, n)))
    for name in names:
        target = os.path.join(directory, name)
        if os.path.lexists(target):
            os.unlink(target)
        if name != smallest:
            os.symlink(os.path.join(base, name), target)
            continue
        shutil.copyfile(os.path.join(base, name), target)
        with open(target, "r+b") as out:
            out.seek(-1, os.SEEK_END)
            last = out.read(1)[0]
            out.seek(-1, os.SEEK_END)
            out.write(bytes([last ^ 1]))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--vary", metavar="SOURCE")
    parser.add_argument("directory", metavar="DIR")
    args = parser.parse_args()
    if args.vary:
        vary(args.vary, args.directory)
    else:
        make(args.directory, args.seed)


if __name__ == "__main__":
    main()
