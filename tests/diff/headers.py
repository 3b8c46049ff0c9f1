#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Compare our verdicts on made files with those of the official loader.

  headers.py HELPER [COUNT [SEED]]

HELPER is the program built from headers.c. COUNT files (default 4,000) are
made from SEED (default: 1): half of them well-formed in all the ways that the
format allows, the rest spoiled by one to four changes. Each goes to the
official loader (the safetensors package, through its deserialize()) and to
HELPER; verdict, names, dtypes, shapes and the bytes of every tensor must be
equal. The only difference that is allowed is the one that is documented: a
name that comes twice is refused.

Exit 0: no difference; 1: differences, the first of them kept as files in the
current directory; 77: the safetensors package is not there.
"""
import random
import re
import struct
import subprocess
import sys

try:
    import safetensors
except ImportError:
    print("headers.py: no safetensors package, skipped", file=sys.stderr)
    sys.exit(77)

BITS = {
    "BOOL": 8, "F4": 4, "F6_E2M3": 6, "F6_E3M2": 6, "U8": 8, "I8": 8,
    "F8_E5M2": 8, "F8_E4M3": 8, "F8_E8M0": 8, "F8_E4M3FNUZ": 8,
    "F8_E5M2FNUZ": 8, "I16": 16, "U16": 16, "F16": 16, "BF16": 16, "I32": 32,
    "U32": 32, "F32": 32, "C64": 64, "F64": 64, "I64": 64, "U64": 64,
}
DTYPES = list(BITS)
# What a mutation may put anywhere.
TOKENS = [b"{", b"}", b"[", b"]", b",", b":", b'"', b"\\", b"0", b"1", b"-",
          b"9", b".", b"e", b"E", b"+", b" ", b"\n", b"\t", b"\r", b"\0",
          b"\x0b", b"\x7f", b"\xff", b"\xc3", b"\xc3\xa9", b"\xed\xa0\x80",
          b"null", b"true", b"false", b"NaN", b"Infinity", b"01", b"-0",
          b"1.0", b"1e1", b"1e308", b"1e309", b"18446744073709551615",
          b"18446744073709551616", b"4294967296", b"9223372036854775808",
          b"\\u0000", b"\\ud83d\\ude00", b"\\ud800", b"\\u00e9", b"\\x",
          b'"dtype"', b'"shape"', b'"data_offsets"', b'"__metadata__"',
          b'"F32"', b'{"F32":null}', b"//", b"/**/", b"'", b"\xef\xbb\xbf",
          b'"a":1,', b"[[[[[[[[", b"]]]]]]]]", b"," * 2, b'"x":{"y":[1,2]},']
ALPHABET = ["a", "b", "weight", ".", "_", "0", "é", "权", "\U0001f600", "\0",
            '"', "\\", "/", "\n", "\x1f", "\x7f", "\u2028", " ", "model",
            "\ud7ff", "\ue000", "\U0010ffff"]


def string(rng, text):
    """JSON text of a string, escaped here more and there less."""
    out = ['"']
    short = {"\b": "b", "\f": "f", "\n": "n", "\r": "r", "\t": "t",
             '"': '"', "\\": "\\", "/": "/"}
    for c in text:
        point = ord(c)
        must = point < 0x20 or c in '"\\'
        if must or rng.random() < 0.05:
            if c in short and rng.random() < 0.5:
                out.append("\\" + short[c])
            elif point < 0x10000:
                out.append(rng.choice(["\\u%04x", "\\u%04X"]) % point)
            else:
                point -= 0x10000
                out.append("\\u%04x\\u%04x" % (0xd800 + (point >> 10),
                                               0xdc00 + (point & 0x3ff)))
        else:
            out.append(c)
    return "".join(out) + '"'


def space(rng):
    return rng.choice(["", "", "", "", " ", "\n", "\t ", "\r\n  "])


def value(rng, depth=0):
    """Any JSON value, for members that nobody knows."""
    kind = rng.randrange(8 if depth < 4 else 5)
    if kind == 0:
        return rng.choice(["null", "true", "false"])
    if kind == 1:
        return str(rng.choice([0, 1, -1, 7, 2**63, 2**64 - 1, -2**63]))
    if kind == 2:
        return rng.choice(["1.5", "-0.0", "1e5", "2E-3", "0e0", "1e308",
                           "123456789012345678901234567890", "-0",
                           "0." + "0" * rng.randrange(60) + "1e%d"
                           % rng.randrange(-400, 340)])
    if kind in (3, 4):
        return string(rng, name(rng))
    if kind == 5:
        return "[" + ",".join(value(rng, depth + 1)
                              for _ in range(rng.randrange(4))) + "]"
    if kind == 6:
        return "{" + ",".join(string(rng, name(rng)) + ":"
                              + value(rng, depth + 1)
                              for _ in range(rng.randrange(4))) + "}"
    deep = rng.choice([1, 5, 60, 100, 118, 119, 120, 121, 122, 123, 124, 125])
    deep = max(1, min(deep, 124 - depth))
    return "[" * deep + "]" * deep


def name(rng):
    return "".join(rng.choice(ALPHABET) for _ in range(rng.randrange(5)))


def shape(rng, dtype):
    while True:
        rank = rng.choice([0, 1, 1, 2, 2, 2, 3, 4, 8])
        dims = [rng.choice([0, 1, 1, 2, 2, 3, 4, 5]) for _ in range(rank)]
        bits = BITS[dtype]
        for dim in dims:
            bits *= dim
        if bits % 8 == 0 and bits <= 8 * 4096:
            return dims, bits // 8


def entry(rng, dtype, dims, begin, end):
    numbers = ("[" + ",".join(space(rng) + str(d) for d in dims)
               + space(rng) + "]")
    offsets = "[%s%d%s,%s%d]" % (space(rng), begin, space(rng), space(rng),
                                 end)
    kind = '"%s"' % dtype
    if rng.random() < 0.02:
        kind = '{"%s":null}' % dtype
    if rng.random() < 0.02:
        return "[%s,%s,%s]" % (kind, numbers, offsets)
    members = ['"dtype":' + space(rng) + kind, '"shape":' + numbers,
               '"data_offsets":' + space(rng) + offsets]
    while rng.random() < 0.08:
        members.append(string(rng, "x" + name(rng)) + ":" + value(rng))
    if rng.random() < 0.3:
        rng.shuffle(members)
    return ("{" + space(rng) + (space(rng) + ",").join(members)
            + space(rng) + "}")


def make(rng):
    """A well-formed file: length, header, data."""
    members = []
    names = set()
    off = 0
    for _ in range(rng.choice([0, 1, 1, 2, 3, 5, 9])):
        text = name(rng)
        while text in names or text == "__metadata__":
            text += "x"
        names.add(text)
        dtype = rng.choice(DTYPES)
        dims, size = shape(rng, dtype)
        members.append(string(rng, text) + space(rng) + ":" + space(rng)
                       + entry(rng, dtype, dims, off, off + size))
        off += size
    if rng.random() < 0.4:
        meta = ",".join(string(rng, name(rng)) + ":" + string(rng, name(rng))
                        for _ in range(rng.randrange(4)))
        members.append('"__metadata__":' + rng.choice(["{%s}" % meta, "null"]))
    if members and rng.random() < 0.02:
        members.append(rng.choice(members))
    if rng.random() < 0.5:
        rng.shuffle(members)
    text = (space(rng) + "{" + space(rng)
            + (space(rng) + "," + space(rng)).join(members) + space(rng)
            + "}" + " " * rng.choice([0, 0, 1, 7]))
    header = text.encode()
    return struct.pack("<Q", len(header)) + header + rng.randbytes(off)


def spoil_header(rng, header):
    """One change of the text."""
    at = rng.randrange(len(header) + 1)
    kind = rng.randrange(7)
    token = rng.choice(TOKENS)
    if kind == 0:
        return header[:at] + token + header[at:]
    if kind == 1:
        return header[:at] + header[at + rng.choice([1, 1, 2, 5]):]
    if kind == 2:
        return header[:at] + token + header[at + len(token):]
    if kind == 3 and at < len(header):
        return (header[:at] + bytes([header[at] ^ 1 << rng.randrange(8)])
                + header[at + 1:])
    if kind == 4:
        end = min(len(header), at + rng.randrange(60))
        return header[:end] + header[at:end] + header[end:]
    if kind == 5:
        numbers = list(re.finditer(rb"\d+", header))
        if numbers:
            m = rng.choice(numbers)
            new = int(m[0]) + rng.choice([-1, 1, 2, 8, 2**32, 2**61, 2**63])
            return (header[:m.start()] + str(new).encode()
                    + header[m.end():])
    if kind == 6:
        words = list(re.finditer(rb'"[^"]*"', header))
        if len(words) > 1:
            a, b = rng.sample(words, 2)
            return header[:a.start()] + b[0] + header[a.end():]
    return header + token


def spoil(rng, data):
    n = int.from_bytes(data[:8], "little")
    header, rest = data[8:8 + n], data[8 + n:]
    for _ in range(rng.choice([1, 1, 1, 2, 4])):
        header = spoil_header(rng, header)
    kind = rng.random()
    n = len(header)
    if kind < 0.05:
        n = rng.choice([n + 1, n - 1, 0, 2**63, 2**64 - 8, 2**64 - 1,
                        100000000, 100000001]) % 2**64
    data = struct.pack("<Q", n) + header + rest
    if 0.05 < kind < 0.1:
        data = data[:rng.randrange(len(data) + 1)]
    elif 0.1 < kind < 0.15:
        data += rng.randbytes(rng.choice([1, 8]))
    return data


def official(data):
    """The table as the official loader has it, or its error."""
    try:
        found = safetensors.deserialize(data)
    except Exception as error:          # pylint: disable=broad-except
        return None, str(error)
    return sorted((n.encode("utf-8", "surrogatepass"), t["dtype"],
                   tuple(t["shape"]), bytes(t["data"]))
                  for n, t in found), ""


def ours(lines, data):
    line = next(lines)
    if line.startswith("! "):
        return None, line[2:]
    table = []
    for _ in range(int(line[2:])):
        parts = next(lines).split(" ")
        table.append((bytes.fromhex(parts[0]), parts[1],
                      tuple(int(d) for d in parts[4:]),
                      data[int(parts[2]):int(parts[3])]))
    return sorted(table), ""


def run_helper(helper, files):
    stream = b"".join(struct.pack("<Q", len(f)) + f for f in files)
    done = subprocess.run([helper], input=stream, capture_output=True,
                          check=True)
    return iter(done.stdout.decode().split("\n"))


def main(argv):
    if len(argv) < 2:
        sys.exit(__doc__)
    count = int(argv[2]) if len(argv) > 2 else 4000
    seed = int(argv[3]) if len(argv) > 3 else 1
    accepted = twins = differences = 0
    done = 0
    while done < count:
        rng = random.Random("%d/%d" % (seed, done))
        files = []
        for _ in range(min(500, count - done)):
            data = make(rng)
            files.append(data if rng.random() < 0.5 else spoil(rng, data))
        lines = run_helper(argv[1], files)
        for number, data in enumerate(files, done):
            theirs, why = official(data)
            table, text = ours(lines, data)
            accepted += table is not None
            if theirs == table:
                continue
            if table is None and text.startswith("duplicate name"):
                twins += 1
                continue
            differences += 1
            print("file %d: official %s %s, ours %s %s" % (
                number, "refused" if theirs is None else "accepted", why,
                "refused" if table is None else "accepted", text))
            if differences <= 10:
                with open("differs-%d.safetensors" % number, "wb") as out:
                    out.write(data)
        done += len(files)
    print("%d files, seed %d, safetensors %s: %d accepted, %d refused for a "
          "name that comes twice, %d differences" % (
              done, seed, safetensors.__version__, accepted, twins,
              differences))
    return 1 if differences else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
