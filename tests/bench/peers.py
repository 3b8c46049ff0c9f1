#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""peers.py - one measurement of another loader, on a CPU.

    peers.py LOADER CHECKPOINT      one of: mmap, pread, fastsafetensors,
                                    streamer, tensorizer
    peers.py convert CHECKPOINT     write what tensorizer reads beside it

Every tensor of every shard into host memory, all of them held until the end.
The clock starts when the package has been imported and stops when the last
byte is in memory, opening and parsing headers included. Prints one line of
JSON. With a package that is missing or refuses the reason is in "skipped".
"""
import glob
import importlib.metadata
import json
import os
import subprocess
import sys
import time

PAGE = 4096
THREADS = 16


def safetensors(backend):
    """safetensors: the official loader, shard after shard."""
    import torch
    from safetensors.torch import load_file

    def load(files, _):
        tensors = {}
        for path in files:
            tensors.update(load_file(path, backend=backend))
        if backend == "mmap":
            # Nothing has been read yet: touch every page.
            for tensor in tensors.values():
                tensor.view(-1).view(torch.uint8)[::PAGE].sum()
        return tensors
    return load


def fastsafetensors():
    """fastsafetensors, nogds: threads with pread into one buffer a shard."""
    from fastsafetensors import SafeTensorsFileLoader, SingleGroup

    def load(files, _):
        loader = SafeTensorsFileLoader(SingleGroup(), "cpu", nogds=True,
                                       max_threads=THREADS)
        loader.add_filenames({0: files})
        buffers = loader.copy_files_to_device()
        tensors = {name: buffers.get_tensor(name)
                   for name in loader.get_keys()}
        tensors[""] = (loader, buffers)
        return tensors
    return load


def streamer():
    """runai-model-streamer: its own threads, tensors handed out as they come;
    all memory at once, so that none has to be copied to be kept."""
    os.environ["RUNAI_STREAMER_CONCURRENCY"] = str(THREADS)
    os.environ["RUNAI_STREAMER_MEMORY_LIMIT"] = "-1"
    from runai_model_streamer import SafetensorsStreamer

    def load(files, _):
        with SafetensorsStreamer() as stream:
            stream.stream_files(files)
            return dict(stream.get_tensors())
    return load


def tensorizer():
    """tensorizer: a format of its own, converted beforehand."""
    from tensorizer import TensorDeserializer

    def load(_, folder):
        source = TensorDeserializer(os.path.join(folder, "tensorizer"),
                                    device="cpu", num_readers=THREADS)
        return {name: source[name] for name in source.keys()}
    return load


def convert(folder):
    from safetensors import safe_open
    from tensorizer import TensorSerializer

    path = os.path.join(folder, "tensorizer")
    if os.path.exists(path):
        return
    writer = TensorSerializer(path + ".part")
    for shard in sorted(glob.glob(os.path.join(folder, "*.safetensors"))):
        with safe_open(shard, framework="pt") as source:
            writer.write_state_dict(source.get_tensors())
    writer.close()
    os.rename(path + ".part", path)


LOADERS = {
    "mmap": ("safetensors", lambda: safetensors("mmap")),
    "pread": ("safetensors", lambda: safetensors("pread")),
    "fastsafetensors": ("fastsafetensors", fastsafetensors),
    "streamer": ("runai-model-streamer", streamer),
    "tensorizer": ("tensorizer", tensorizer),
}


def peak_kib():
    with open("/proc/self/status") as status:
        for line in status:
            if line.startswith("VmHWM:"):
                return int(line.split()[1])
    return 0


def resident_pages(folder):
    """Pages of the checkpoint that are left in the page cache."""
    listed = subprocess.run(
        ["fincore", "--noheadings", "--output", "PAGES",
         *glob.glob(os.path.join(folder, "*"))],
        capture_output=True, text=True, check=True)
    return sum(map(int, listed.stdout.split()))


def measure(name, folder):
    package, make = LOADERS[name]
    load = make()
    files = sorted(glob.glob(os.path.join(folder, "*.safetensors")))
    start, cpu = time.monotonic(), time.process_time()
    tensors = load(files, folder)
    seconds, cpu = time.monotonic() - start, time.process_time() - cpu
    return {"mode": name, "version": importlib.metadata.version(package),
            "seconds": seconds, "cpu_s": cpu,
            "bytes": sum(t.nbytes for t in tensors.values()
                         if hasattr(t, "nbytes")),
            "peak_kib": peak_kib(), "resident_pages": resident_pages(folder)}


def main():
    if len(sys.argv) != 3 or sys.argv[1] not in [*LOADERS, "convert"]:
        sys.exit(__doc__)
    try:
        if sys.argv[1] == "convert":
            convert(sys.argv[2])
            return
        line = measure(sys.argv[1], sys.argv[2])
    except Exception as why:  # whatever a stranger's package throws
        line = {"mode": sys.argv[1],
                "skipped": f"{type(why).__name__}: {why}".splitlines()[0]}
    print(json.dumps(line), flush=True)
    os._exit(0)  # some wait for threads of theirs


if __name__ == "__main__":
    main()
