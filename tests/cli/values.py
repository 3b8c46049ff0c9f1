#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""values.py - smallest, largest, mean and first values, for every dtype.

The bytes are written by hand and the values are worked out by hand, from
IEEE 754 and from the OCP 8-bit and MX formats; nothing here decodes.

    values.py CAT IMPORT FOLDER
"""
import json
import os
import struct
import subprocess
import sys

NAN, INF = "NaN", "Infinity"

# dtype: bytes, shape, first, min, max, mean, NaNs
CASES = {
    "BOOL": ("00 01 01 00", [4], [False, True, True, False],
             False, True, 0.5, 0),
    "U8": ("00 ff 80 01", [4], [0, 255, 128, 1], 0, 255, 96, 0),
    "I8": ("00 ff 80 7f", [2, 2], [0, -1, -128, 127], -128, 127, -0.5, 0),
    "U16": ("01 00 ff ff", [2], [1, 65535], 1, 65535, 32768, 0),
    "I16": ("01 00 ff ff 00 80", [3], [1, -1, -32768], -32768, 1,
            -32768 / 3, 0),
    "U32": ("ff ff ff ff 01 00 00 00", [2], [4294967295, 1], 1, 4294967295,
            2147483648, 0),
    "I32": ("00 00 00 80 00 00 00 00", [2], [-2147483648, 0], -2147483648, 0,
            -1073741824, 0),
    # Beyond what a double holds: 2^64 - 1 and 2^63 + 1.
    "U64": ("ff ff ff ff ff ff ff ff 01 00 00 00 00 00 00 80", [2],
            [18446744073709551615, 9223372036854775809],
            9223372036854775809, 18446744073709551615, 1.3835058055282164e19,
            0),
    "I64": ("ff ff ff ff ff ff ff ff 00 00 00 00 00 00 00 80", [2],
            [-1, -9223372036854775808], -9223372036854775808, -1,
            -4.611686018427388e18, 0),
    # 1, -2, smallest subnormal 2^-24, largest 65504, infinity, NaN.
    "F16": ("00 3c 00 c0 01 00 ff 7b 00 7c 00 7e", [6],
            [1, -2, 5.9604644775390625e-08, 65504, INF, NAN], -2, INF, INF, 1),
    # 1, -0.5, 3.140625, NaN.
    "BF16": ("80 3f 00 bf 49 40 c0 7f", [4], [1, -0.5, 3.140625, NAN], -0.5,
             3.140625, 3.640625 / 3, 1),
    "F32": ("00 00 80 3f 00 00 20 c1 00 00 00 3e", [3], [1, -10, 0.125],
            -10, 1, -8.875 / 3, 0),
    # 0.1 and -infinity.
    "F64": ("9a 99 99 99 99 99 b9 3f 00 00 00 00 00 00 f0 ff", [2],
            [0.1, "-Infinity"], "-Infinity", 0.1, "-Infinity", 0),
    "C64": ("00 00 80 3f 00 00 00 40 00 00 40 40 00 00 80 c0", [2],
            [[1, 2], [3, -4]], None, None, [2, -1], 0),
    # OCP E4M3: 1, largest 448, smallest 2^-9, NaN, -1.5.
    "F8_E4M3": ("38 7e 01 7f bc", [5], [1, 448, 0.001953125, NAN, -1.5],
                -1.5, 448, (1 + 448 + 0.001953125 - 1.5) / 4, 1),
    # OCP E5M2: 1, largest 57344, smallest 2^-16, infinity, NaN.
    "F8_E5M2": ("3c 7b 01 fc 7d", [5],
                [1, 57344, 1.52587890625e-05, "-Infinity", NAN],
                "-Infinity", 57344, "-Infinity", 1),
    # 2^0, 2^-127, 2^127, NaN.
    "F8_E8M0": ("7f 00 fe ff", [4], [1, 2.0 ** -127, 2.0 ** 127, NAN],
                2.0 ** -127, 2.0 ** 127, 2.0 ** 127 / 3, 1),
    # One exponent lower than E4M3, no negative zero: 0x80 is NaN; 240 largest.
    "F8_E4M3FNUZ": ("40 7f 80 01", [4], [1, 240, NAN, 0.0009765625],
                    0.0009765625, 240, (1 + 240 + 0.0009765625) / 3, 1),
    "F8_E5M2FNUZ": ("40 7f 80 01", [4], [1, 57344, NAN, 7.62939453125e-06],
                    7.62939453125e-06, 57344,
                    (1 + 57344 + 7.62939453125e-06) / 3, 1),
    "F4": ("12 ab", [4], ["12", "ab"], None, None, None, 0),
    "F6_E2M3": ("01 02 03", [4], ["01", "02", "03"], None, None, None, 0),
    "F6_E3M2": ("fe dc ba", [2, 2], ["fe", "dc", "ba"], None, None, None, 0),
}


def close(found, expected):
    if isinstance(expected, list):
        return len(found) == len(expected) and \
            all(close(f, e) for f, e in zip(found, expected))
    if isinstance(expected, float):
        # What is not exact in binary32 is printed with the digits it needs.
        return abs(found - expected) <= abs(expected) * 1e-7
    return type(found) in (type(expected), float) and found == expected


def main():
    cat, importer, folder = sys.argv[1:]
    os.chdir(folder)
    header, data = {}, b""
    for dtype, case in CASES.items():
        part = bytes.fromhex(case[0])
        header[dtype] = {"dtype": dtype, "shape": case[1],
                         "data_offsets": [len(data), len(data) + len(part)]}
        data += part
    text = json.dumps(header).encode()
    with open("values.safetensors", "wb") as out:
        out.write(struct.pack("<Q", len(text)) + text + data)
    subprocess.run([importer, "--format", "--size", "16M", "volume"],
                   check=True)
    subprocess.run([importer, "--quiet", "--device", "volume", "--manifest",
                    "values.json", "values.safetensors"], check=True)
    found = json.loads(subprocess.run(
        [cat, "--json", "values.json", *CASES], check=True,
        stdout=subprocess.PIPE).stdout)
    bad = 0
    for tensor in found:
        _, shape, first, least, most, mean, nan = CASES[tensor["dtype"]]
        key = "first_bytes" if "first_bytes" in tensor else "first"
        for what, value, wanted in (
                ("shape", tensor["shape"], shape),
                (key, tensor[key], first), ("min", tensor["min"], least),
                ("max", tensor["max"], most), ("mean", tensor["mean"], mean),
                ("nan", tensor["nan"], nan)):
            if not close(value, wanted):
                bad = 1
                print("%s: %s: expected %r, found %r"
                      % (tensor["dtype"], what, wanted, value))
    if len(found) != len(CASES):
        sys.exit("expected %d tensors, found %d" % (len(CASES), len(found)))
    sys.exit(bad)


if __name__ == "__main__":
    main()
