#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Packs: files with the verdict of the official loader, in one file each.

  pack.py headers VERDICTS.json OUT    VERDICTS.json names files beside it
  pack.py cases EXPECTED.json OUT      EXPECTED.json names paths beside it
  pack.py list PACK
  pack.py unpack PACK DIR              DIR/<id>/<file>...

headers.pack was made from 685 single files, each with what the official crate
(safetensors 0.8.0-dev, read_metadata and deserialize) says of it: accepted
with a tensor table, or the variant of its error. cases.pack was made from
files and model directories that were rebuilt from public reports. Before
anything is written, the SHA-256 of every tensor's bytes is compared with the
official one: a range of the file in a pack therefore stands for these bytes.

A pack is little-endian: "UGSTPACK", then one record after another up to the
end of the file; s means u32 length and bytes.

  s    id
  s    path to open, within the record's files
  u8   1: the official loader accepts
  u8   1: the opposite verdict is right for us, too
  s    class of the official error ("" where accepted or unknown), or several
       with | between them where the order of a hash map decides
  u32  tensors, of each: s name, s dtype, s shard, u32 rank, u64 dims...,
       u64 offset in the shard's file, u64 bytes
  u32  files, of each: s path, u8 kind ('f' file, 'l' link), s content
"""
import hashlib
import json
import os
import struct
import sys

MAGIC = b"UGSTPACK"


def s(data):
    data = data.encode() if isinstance(data, str) else data
    return struct.pack("<I", len(data)) + data


def encode(case):
    out = [s(case["id"]), s(case["path"]),
           struct.pack("<BB", case["ok"], case["either"]), s(case["error"]),
           struct.pack("<I", len(case["tensors"]))]
    for name, dtype, shard, dims, off, size in case["tensors"]:
        out += [s(name), s(dtype), s(shard),
                struct.pack("<I%dQ" % len(dims), len(dims), *dims),
                struct.pack("<QQ", off, size)]
    out.append(struct.pack("<I", len(case["files"])))
    for path, kind, data in case["files"]:
        out += [s(path), kind.encode(), s(data)]
    return b"".join(out)


class Reader:
    def __init__(self, data):
        self.data = data
        self.at = 0

    def take(self, form):
        values = struct.unpack_from("<" + form, self.data, self.at)
        self.at += struct.calcsize("<" + form)
        return values

    def s(self):
        size, = self.take("I")
        self.at += size
        return self.data[self.at - size:self.at]


def decode(data):
    """Yield the records of a pack."""
    assert data[:8] == MAGIC
    r = Reader(data)
    r.at = 8
    while r.at < len(data):
        case = {"id": r.s().decode(), "path": r.s().decode()}
        case["ok"], case["either"] = r.take("BB")
        case["error"] = r.s().decode()
        case["tensors"] = []
        for _ in range(r.take("I")[0]):
            name, dtype, shard = r.s(), r.s().decode(), r.s().decode()
            rank, = r.take("I")
            dims = list(r.take("%dQ" % rank))
            off, size = r.take("QQ")
            case["tensors"].append((name, dtype, shard, dims, off, size))
        case["files"] = []
        for _ in range(r.take("I")[0]):
            path = r.s().decode()
            kind = r.take("c")[0].decode()
            case["files"].append((path, kind, r.s()))
        yield case


def header_cases(verdicts):
    base = os.path.dirname(verdicts)
    for v in json.load(open(verdicts))["cases"]:
        data = open(os.path.join(base, v["file"]), "rb").read()
        assert hashlib.sha256(data).hexdigest() == v["file_sha256"], v["id"]
        tensors = []
        for name, dtype, dims, begin, end, sha in v.get("tensors", []):
            off = 8 + v["header_len"] + begin
            part = data[off:off + end - begin]
            assert hashlib.sha256(part).hexdigest() == sha, v["id"]
            tensors.append((name, dtype, "model.safetensors", dims, off,
                            end - begin))
        yield {"id": v["id"], "path": "model.safetensors", "ok": v["ok"],
               # Twin names: the official loader takes the last, we take none.
               "either": v["ok"] and v["id"].startswith("dup."),
               "error": "|".join(v.get("error_any_of", []))
               or v.get("error", ""),
               "tensors": tensors,
               "files": [("model.safetensors", "f", data)]}


def find_tensors(files, wanted):
    """Where the wanted tensors lie: by their name, dtype, shape and bytes."""
    found = {}
    for path, kind, data in files:
        if not path.endswith(".safetensors") and "/blobs/" not in path:
            continue
        if kind == "l":
            target = os.path.normpath(
                os.path.join(os.path.dirname(path), data.decode()))
            data = next((d for p, _, d in files if p == target), b"")
        if len(data) < 8 or "/blobs/" in path:
            continue
        n = int.from_bytes(data[:8], "little")
        try:
            header = json.loads(data[8:8 + n])
        except ValueError:
            continue
        if not isinstance(header, dict):
            continue
        for name, entry in header.items():
            if name not in wanted:
                continue
            begin, end = entry["data_offsets"]
            off = 8 + n + begin
            part = data[off:off + end - begin]
            if (entry["dtype"] == wanted[name]["dtype"]
                    and entry["shape"] == wanted[name]["shape"]
                    and hashlib.sha256(part).hexdigest()
                    == wanted[name]["sha256"]):
                found.setdefault(name, []).append(
                    (name, entry["dtype"], os.path.basename(path),
                     entry["shape"], off, end - begin))
    return found


def case_files(base, folder):
    files = []
    for top, _, names in os.walk(os.path.join(base, folder)):
        for name in names:
            full = os.path.join(top, name)
            path = os.path.relpath(full, os.path.join(base, folder))
            if os.path.islink(full):
                files.append((path, "l", os.readlink(full).encode()))
                continue
            data = open(full, "rb").read()
            # A copy may have turned the links of a hub cache into text.
            kind = "l" if data.startswith(b"../../blobs/") else "f"
            files.append((path, kind, data))
    return sorted(files)


def mapped(files, path):
    """What the index that is meant says: tensor to shard."""
    name = path if path.endswith(".json") else os.path.normpath(
        os.path.join(path, "model.safetensors.index.json"))
    contents = {p: d for p, kind, d in files if kind == "f"}
    try:
        return json.loads(contents[name])["weight_map"]
    except (KeyError, TypeError, ValueError):
        return {}


def directory_cases(expected):
    base = os.path.dirname(expected)
    for c in json.load(open(expected)):
        folder, _, path = c["path"].partition("/")
        files = case_files(base, folder)
        wanted = c.get("tensors", {})
        found = find_tensors(files, wanted)
        assert set(found) == set(wanted), c["id"]
        if sum(len(d) for _, _, d in files) > 100000:
            print("left out, too large: %s" % c["id"])
            continue
        yield {"id": c["id"], "path": path or ".",
               "ok": c["verdict"] == "accept", "either": "also_ok" in c,
               "error": "",
               "tensors": [
                   # Of two files with these bytes, the index decides.
                   next((t for t in found[name]
                         if t[2] == mapped(files, path).get(name)),
                        found[name][0]) for name in wanted],
               "files": files}


def write(path, cases):
    cases = [encode(case) for case in cases]
    with open(path, "wb") as out:
        out.write(MAGIC + b"".join(cases))
    print("%s: %d records" % (path, len(cases)))


def unpack(pack, directory):
    for case in decode(open(pack, "rb").read()):
        for path, kind, data in case["files"]:
            full = os.path.join(directory, case["id"], path)
            os.makedirs(os.path.dirname(full), exist_ok=True)
            if kind == "l":
                os.symlink(data, full)
            else:
                with open(full, "wb") as out:
                    out.write(data)


def main(argv):
    if len(argv) == 4 and argv[1] == "headers":
        write(argv[3], header_cases(argv[2]))
    elif len(argv) == 4 and argv[1] == "cases":
        write(argv[3], directory_cases(argv[2]))
    elif len(argv) == 4 and argv[1] == "unpack":
        unpack(argv[2], argv[3])
    elif len(argv) == 3 and argv[1] == "list":
        for case in decode(open(argv[2], "rb").read()):
            print(case["id"], "accept" if case["ok"] else "refuse",
                  case["error"])
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main(sys.argv)
