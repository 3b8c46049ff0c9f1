#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""official_writer.py - files that the official safetensors package writes.

numpy.safetensors holds every dtype that numpy has, raw.safetensors the dtypes
that numpy lacks, handed over as bytes.

    official_writer.py FOLDER
"""
import os
import sys

import numpy
import safetensors
from safetensors.numpy import save_file

NUMPY = ("bool", "uint8", "int8", "uint16", "int16", "float16", "uint32",
         "int32", "float32", "uint64", "int64", "float64", "complex64")
# As the writer spells them, and the bytes of 24 elements.
RAW = {"bfloat16": 48, "float8_e4m3fn": 24, "float8_e5m2": 24,
       "float8_e8m0fnu": 24, "float4_e2m1fn_x2": 24}


def main():
    folder = sys.argv[1]
    os.makedirs(folder, exist_ok=True)
    rng = numpy.random.default_rng(7)
    tensors = {}
    for dtype in NUMPY:
        for shape in ((), (0,), (1,), (3, 5), (17, 1, 7), (129, 511)):
            count = int(numpy.prod(shape))
            data = rng.integers(0, 2 if dtype == "bool" else 127, count)
            tensors["%s.%s" % (dtype, "x".join(map(str, shape)) or "scalar")] \
                = data.astype(dtype).reshape(shape)
    save_file(tensors, os.path.join(folder, "numpy.safetensors"),
              metadata={"made": "by the official writer"})
    raw, alive = {}, []
    for dtype, nbytes in RAW.items():
        data = numpy.frombuffer(rng.bytes(nbytes), numpy.uint8)
        alive.append(data)
        # Two four-bit elements to a byte: the writer doubles the last one.
        raw[dtype] = safetensors.TensorSpec(dtype=dtype, shape=[4, 6],
                                            data_ptr=data.ctypes.data,
                                            data_len=nbytes)
    safetensors.serialize_file(raw, os.path.join(folder, "raw.safetensors"))


if __name__ == "__main__":
    main()
