#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""table.py - what bench.sh measured, as Markdown tables.

    table.py RESULTS

RESULTS has one line a run, in the order of the runs: a name, a tab, and the
JSON that bench_read, peers.py or fio printed. Figures are medians, with the
smallest and largest in brackets. A ratio to fio is the median of the ratios
within a round: both then had the same weather.
"""
import json
import statistics
import sys

WHOLE = [
    ("fio", "fio, 1 MiB, 16 in flight", None),
    ("fio-4m", "fio, 4 MiB, 16 in flight", None),
    ("fio-4k", "fio, 1 MiB, 16 in flight, small pages", None),
    ("whole", "one list into a registered arena", ["fio", "fio-4m"]),
    ("staged", "one list into memory that is not registered",
     ["fio", "fio-4m"]),
    ("get", "`ugds_st_get_tensors` of all", ["fio", "fio-4m"]),
    ("each", "`ugds_st_get_tensor`, one after the other", ["fio", "fio-4m"]),
    ("into", "`ugds_st_read_into`, one after the other", ["fio", "fio-4m"]),
    ("mmap", "safetensors {}, mmap", ["fio", "fio-4m"]),
    ("pread", "safetensors {}, pread", ["fio", "fio-4m"]),
    ("fastsafetensors", "fastsafetensors {}, nogds", ["fio", "fio-4m"]),
    ("streamer", "runai-model-streamer {}", ["fio", "fio-4m"]),
    ("tensorizer", "tensorizer {}", ["fio", "fio-4m"]),
]
EXPERTS = [
    ("fio-1", "fio, 1 in flight", None),
    ("fio-8", "fio, 8 in flight", None),
    ("fio-8-batch", "fio, 8 at once, then the next 8", None),
    ("fio-32", "fio, 32 in flight", None),
    ("fio-32-batch", "fio, 32 at once, then the next 32", None),
    ("experts-1x1", "1 thread, lists of 1", ["fio-1"]),
    ("experts-8x1", "1 thread, lists of 8", ["fio-8-batch"]),
    ("experts-32x1", "1 thread, lists of 32", ["fio-32-batch"]),
    ("experts-1x8", "8 threads, lists of 1", ["fio-8"]),
    ("experts-8x8", "8 threads, lists of 8", ["fio-32"]),
    ("experts-32x8", "8 threads, lists of 32", ["fio-32"]),
]
SMALL = [
    ("fio-small-1", "fio, 56 KiB, 1 in flight", None),
    ("fio-small-8", "fio, 56 KiB, 8 in flight", None),
    ("fio-small-16", "fio, 56 KiB, 16 in flight", None),
    ("small-1x1", "1 thread, a call for each tensor", ["fio-small-1"]),
    ("small-8x1", "1 thread, lists of 8", ["fio-small-8"]),
    ("small-1x8", "8 threads, a call for each tensor", ["fio-small-8"]),
    ("small-7168x1", "1 thread, one list of all", ["fio-small-16"]),
    ("small-896x8", "8 threads, one list each", ["fio-small-16"]),
]


def read(path):
    """Runs by name, each as a dict with at least gbps or skipped."""
    runs = {}
    with open(path) as lines:
        for line in lines:
            name, text = line.split("\t", 1)
            run = json.loads(text)
            if "jobs" in run:
                job = run["jobs"][0]
                seconds = job["read"]["runtime"] / 1e3
                cpu = job["usr_cpu"] + job["sys_cpu"]
                run = {"bytes": job["read"]["io_bytes"], "seconds": seconds,
                       "cpu_s": cpu / 100 * job["job_runtime"] / 1e3}
            if "seconds" in run and run["bytes"]:
                run["gbps"] = run["bytes"] / run["seconds"] / 1e9
            runs.setdefault(name, []).append(run)
    return runs


def spread(values, form="{:.2f}"):
    return "{} ({} to {})".format(*(
        form.format(value) for value in
        (statistics.median(values), min(values), max(values))))


def median(runs, key, scale=1.0):
    return statistics.median(run[key] for run in runs) * scale


def ratio(runs, name, limits):
    """Median over rounds of the rate as a part of the best limit's."""
    known = [runs[limit] for limit in limits or () if limit in runs]
    if not known:
        return ""
    return "{:.2f}".format(statistics.median(
        run["gbps"] / max(limit["gbps"] for limit in round_)
        for run, *round_ in zip(runs[name], *known)))


def print_table(title, rows, runs, extra):
    names = [row[0] for row in rows if row[0] in runs]
    if not names:
        return
    print(f"\n### {title}\n")
    heads = [head for head, _ in extra]
    print("| what | GB/s | of fio | CPU s a GB |", *(f"{h} |" for h in heads))
    print("|---|---|---|---|" + "---|" * len(heads))
    for name, text, limits in rows:
        if name not in runs:
            continue
        mine = runs[name]
        skipped = [run["skipped"] for run in mine if "skipped" in run]
        if skipped:
            print(f"| {text.format('')} | did not run: {skipped[0]} | | |",
                  " |" * len(heads))
            continue
        cells = [text.format(mine[0].get("version")),
                 spread([run["gbps"] for run in mine]),
                 ratio(runs, name, limits),
                 "{:.2f}".format(statistics.median(
                     run["cpu_s"] / run["bytes"] * 1e9 for run in mine))]
        cells += [cell(mine) for _, cell in extra]
        print("| " + " | ".join(cells) + " |")


def memory(runs):
    if "peak_kib" not in runs[0]:
        return ""
    return "{:.0f}".format(statistics.median(
        run["peak_kib"] / 1024 - run["bytes"] / (1 << 20) for run in runs))


def device_bytes(runs):
    if "device_bytes" not in runs[0]:
        return ""
    return "{:.6f}".format(statistics.median(
        run["device_bytes"] / run["bytes"] for run in runs))


def residue(runs):
    if "resident_pages" not in runs[0]:
        return ""
    return "{:,}".format(max(run["resident_pages"] for run in runs))


def entries(runs):
    if "entries" not in runs[0]:
        return ""
    return "{:.0f}".format(median(runs, "entries"))


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    runs = read(sys.argv[1])
    print_table("Whole checkpoint", WHOLE, runs,
                [("memory beside the tensors, MiB", memory),
                 ("bytes read / wanted", device_bytes),
                 ("pages left in the cache", residue)])
    print_table("Experts", EXPERTS, runs,
                [("entries", entries), ("bytes read / wanted", device_bytes)])
    print_table("Small tensors", SMALL, runs, [("entries", entries)])
    if "open" in runs:
        print("\n### Open and look up\n")
        print("| what | figure |\n|---|---|")
        print("| open, headers of {:.1f} MB, cold | {} ms, {:.0f} ms CPU |"
              .format(median(runs["open"], "header_bytes", 1e-6),
                      spread([run["open_s"] * 1e3 for run in runs["open"]],
                             "{:.1f}"),
                      median(runs["open"], "cpu_s", 1e3)))
        for name, text in (("find-many", "91,991"), ("find-moe", "2,013")):
            for key, kind in (("find_ns", "present"), ("absent_ns", "absent")):
                print("| look-up among {}, names in random order, {} | {} ns |"
                      .format(text, kind,
                              spread([run[key] for run in runs[name]],
                                     "{:.0f}")))


if __name__ == "__main__":
    main()
