#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""make_model.py - checkpoints to measure with.

    make_model.py moe DIR     4.2 GiB in 3 shards: 10 layers of 64 experts, an
                              expert is three adjacent matrices, 6 MiB in all
    make_model.py many DIR    163 shards, 91,991 tensors with the names and
                              dtypes of DeepSeek-V3, every side 16 times shorter:
                              headers of 9 MB before 2.7 GB

Laid out as the official writer does: in a shard the wide dtypes first, then by
name. Bytes are random and differ from place to place. Standard library only.
"""
import json
import os
import struct
import sys

BYTES = {"F8_E4M3": 1, "BF16": 2, "F32": 4}
BLOCK = 16 << 20
STEP = 4099  # of the window on the random block, from piece to piece


def moe():
    """One shard's tensors after the other's: (name, dtype, shape)."""
    hidden, ffn, vocab = 2048, 512, 32768

    def layer(number):
        at = f"model.layers.{number}."
        for name, rows in (("q", 2048), ("k", 512), ("v", 512), ("o", 2048)):
            yield f"{at}self_attn.{name}_proj.weight", "BF16", [rows, hidden]
        yield at + "input_layernorm.weight", "BF16", [hidden]
        yield at + "post_attention_layernorm.weight", "BF16", [hidden]
        yield at + "mlp.gate.weight", "BF16", [64, hidden]
        yield at + "mlp.gate.e_score_correction_bias", "F32", [64]
        for expert in range(64):
            to = f"{at}mlp.experts.{expert}."
            yield to + "gate_proj.weight", "BF16", [ffn, hidden]
            yield to + "up_proj.weight", "BF16", [ffn, hidden]
            yield to + "down_proj.weight", "BF16", [hidden, ffn]

    layers = [list(layer(number)) for number in range(10)]
    embed = ("model.embed_tokens.weight", "BF16", [vocab, hidden])
    head = ("lm_head.weight", "BF16", [vocab, hidden])
    norm = ("model.norm.weight", "BF16", [hidden])
    return [[embed] + sum(layers[:3], []), sum(layers[3:7], []),
            sum(layers[7:], [norm, head])]


def many():
    def matrix(name, rows, columns):
        yield name + ".weight", "F8_E4M3", [rows // 16, columns // 16]
        yield (name + ".weight_scale_inv", "F32",
               [-(-rows // 2048), -(-columns // 2048)])

    def mlp(at, width):
        yield from matrix(at + "gate_proj", width, 7168)
        yield from matrix(at + "up_proj", width, 7168)
        yield from matrix(at + "down_proj", 7168, width)

    def layer(number):
        at = f"model.layers.{number}."
        for name, rows, columns in (
                ("q_a_proj", 1536, 7168), ("q_b_proj", 24576, 1536),
                ("kv_a_proj_with_mqa", 576, 7168), ("kv_b_proj", 32768, 512),
                ("o_proj", 7168, 16384)):
            yield from matrix(f"{at}self_attn.{name}", rows, columns)
        yield at + "self_attn.q_a_layernorm.weight", "BF16", [96]
        yield at + "self_attn.kv_a_layernorm.weight", "BF16", [32]
        yield at + "input_layernorm.weight", "BF16", [448]
        yield at + "post_attention_layernorm.weight", "BF16", [448]
        if number < 3:
            yield from mlp(at + "mlp.", 18432)
            return
        yield at + "mlp.gate.weight", "BF16", [256, 448]
        yield at + "mlp.gate.e_score_correction_bias", "F32", [256]
        yield from mlp(at + "mlp.shared_experts.", 2048)
        for expert in range(256):
            yield from mlp(f"{at}mlp.experts.{expert}.", 2048)

    tensors = [("model.embed_tokens.weight", "BF16", [8080, 448]),
               ("lm_head.weight", "BF16", [8080, 448])]
    number = 0
    while len(tensors) < 91991:
        tensors.extend(layer(number))
        number += 1
    del tensors[91991:]
    per_shard = -(-len(tensors) // 163)
    return [tensors[i:i + per_shard] for i in range(0, len(tensors), per_shard)]


def size(tensor):
    count = BYTES[tensor[1]]
    for dim in tensor[2]:
        count *= dim
    return count


def write_shard(path, tensors, block, start):
    header, at = {}, 0
    for tensor in sorted(tensors, key=lambda t: (-BYTES[t[1]], t[0])):
        end = at + size(tensor)
        header[tensor[0]] = {"dtype": tensor[1], "shape": tensor[2],
                             "data_offsets": [at, end]}
        at = end
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as out:
        out.write(struct.pack("<Q", len(text)) + text)
        while at:
            piece = min(at, BLOCK)
            out.write(block[start:start + piece])
            start = (start + STEP) % BLOCK
            at -= piece
    return start


def main():
    if len(sys.argv) != 3 or sys.argv[1] not in ("moe", "many"):
        sys.exit(__doc__)
    shards = {"moe": moe, "many": many}[sys.argv[1]]()
    folder = sys.argv[2]
    os.makedirs(folder)
    block = memoryview(os.urandom(2 * BLOCK))
    weight_map, start = {}, 0
    for number, tensors in enumerate(shards, 1):
        name = f"model-{number:05}-of-{len(shards):05}.safetensors"
        start = write_shard(os.path.join(folder, name), tensors, block, start)
        weight_map.update((tensor[0], name) for tensor in tensors)
    total = sum(size(tensor) for tensors in shards for tensor in tensors)
    with open(os.path.join(folder, "model.safetensors.index.json"), "w") as out:
        json.dump({"metadata": {"total_size": total},
                   "weight_map": weight_map}, out)


if __name__ == "__main__":
    main()
