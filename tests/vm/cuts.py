#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""cuts.py - cut the power of a drive everywhere in a log of its writes.

    cuts.py [--count N] [--seed N] [--broken] TOOLS SOURCES FOLDER...

FOLDER has volume.log, which QEMU's blklogwrites wrote (the format of Linux'
dm-log-writes) while scenarios/cuts.sh ran; SOURCES has the checkpoints. A cut
behind any entry of the log leaves what was written before the last flush, and
of each write after it all, nothing, the beginning, or some sectors of 512
bytes. From that the volume and the file system of the manifest are put
together again, and then must hold:

  - the volume has a label, and every object that it lists has its bytes;
  - the manifest is the old one or the new one, and the new one if the program
    had said so; what it names is whole, as ugds-st-cat --verify reads it;
  - the program that was cut runs again: it copies what is not there, nothing
    else, and leaves what it would have left.

States are told apart by their bytes: none is looked at twice. N of them are,
over all folders. --broken: the logs are those of programs that forget a flush,
and a failure must be found in each.
"""
import argparse
import collections
import functools
import hashlib
import json
import multiprocessing
import os
import random
import shutil
import struct
import subprocess
import sys

SECTOR = 512
HOME_GRAIN = 4096 // SECTOR
LOG_MAGIC = 0x6A736677736872
LOG_FLUSH, LOG_FUA, LOG_DISCARD, LOG_MARK = 1, 2, 4, 8
VOLUME, HOME, MARKS = range(3)  # the partitions, see guest/cuts.sh

SOURCE_OF = {"import": "one", "reimport": "two"}

Write = collections.namedtuple("Write", "sector data digests")
Mark = collections.namedtuple("Mark", "verb step")
Flush = collections.namedtuple("Flush", "")


class Broken(Exception):
    """What must hold does not."""


# ------------------------------------------------------------------------ log


def digest(sector, data):
    """Of a sector with these bytes; zeros count as never written."""
    if not any(data):
        return 0
    text = sector.to_bytes(8, "little") + data
    return int.from_bytes(hashlib.blake2b(text, digest_size=16).digest(), "big")


def read_log(path):
    """Yield (flags, first sector, bytes)."""
    with open(path, "rb") as log:
        magic, version, count, unit = struct.unpack("<QQQI", log.read(28))
        if (magic, version, unit) != (LOG_MAGIC, 1, SECTOR):
            raise SystemExit("cuts.py: %s: expected a log of writes in sectors "
                             "of 512 bytes, found %x %d %d" %
                             (path, magic, version, unit))
        at = unit
        for _ in range(count):
            log.seek(at)
            sector, sectors, flags, _ = struct.unpack("<QQQQ", log.read(32))
            log.seek(at + unit)
            at += unit
            data = b""
            if not flags & LOG_DISCARD:
                data = log.read(sectors * unit)
                at += len(data)
            if flags & (LOG_DISCARD | LOG_MARK | LOG_FUA):
                raise SystemExit("cuts.py: %s: flags %d are not understood" %
                                 (path, flags))
            yield flags, sector, data


def partitions(first):
    """Extents of the partitions that the first sector's table has."""
    table = [struct.unpack_from("<II", first, 446 + 16 * i + 8)
             for i in range(3)]
    # In blocks of the drive; the first partition starts at 1 MiB.
    scale = (1 << 20) // SECTOR // table[0][0]
    return [range(start * scale, (start + count) * scale)
            for start, count in table]


class Log:
    def __init__(self, path):
        raw = list(read_log(path))
        first = [data for _, sector, data in raw if sector == 0 and data]
        self.parts = partitions(first[-1])
        self.entries = []
        for flags, sector, data in raw:
            if data and sector == self.parts[MARKS].start:
                self.entries.append(Mark(*data[:64].decode().split()))
            elif data and sector not in self.parts[MARKS]:
                self.entries.append(Write(sector, data, [
                    digest(sector + i, data[SECTOR * i:SECTOR * (i + 1)])
                    for i in range(len(data) // SECTOR)]))
            if flags & LOG_FLUSH:
                self.entries.append(Flush())
        self.sectors = self.parts[MARKS].stop


class Disk:
    """What would be there after a cut: what is durable, and what may be."""

    def __init__(self, log):
        self.log = log
        self.durable = bytearray(log.sectors * SECTOR)
        self.digests = {}
        self.totals = [0, 0]
        self.pending = []

    def part_of(self, sector):
        for part in (VOLUME, HOME):
            if sector in self.log.parts[part]:
                return part
        return None

    def add(self, entry):
        if isinstance(entry, Write):
            self.pending.append(entry)
        elif isinstance(entry, Flush):
            overlay = self.overlay(self.pending, None)
            self.totals = self.totals_with(overlay)
            for sector, (data, value) in overlay.items():
                self.durable[SECTOR * sector:SECTOR * (sector + 1)] = data
                self.digests[sector] = value
            self.pending = []

    def overlay(self, writes, rng):
        """Sectors that reach the disk of these writes: all without rng."""
        sectors = {}
        for write in writes:
            count = len(write.digests)
            # What ext4 makes of a block that is half written is not ours.
            grain = 1 if self.part_of(write.sector) == VOLUME else HOME_GRAIN
            fate = rng.choice(("all", "none", "start", "some")) if rng \
                else "all"
            end = {"none": 0, "start": rng and rng.randrange(count + 1)}.get(
                fate, count)
            for start in range(0, end, grain):
                if fate == "some" and rng.getrandbits(1):
                    continue
                for i in range(start, min(start + grain, count)):
                    sectors[write.sector + i] = (
                        write.data[SECTOR * i:SECTOR * (i + 1)],
                        write.digests[i])
        return sectors

    def totals_with(self, overlay):
        totals = list(self.totals)
        for sector, (_, value) in overlay.items():
            part = self.part_of(sector)
            if part is not None:
                totals[part] ^= self.digests.get(sector, 0) ^ value
        return totals

    def image(self, part, overlay):
        extent = self.log.parts[part]
        image = bytearray(self.durable[SECTOR * extent.start:
                                       SECTOR * extent.stop])
        for sector, (data, _) in overlay.items():
            if sector in extent:
                at = SECTOR * (sector - extent.start)
                image[at:at + SECTOR] = data
        return image


# --------------------------------------------------------------------- checks


class Checker:
    """Puts a state into files, and asks the tools."""

    def __init__(self, folder, tools, sources):
        self.folder = folder
        self.home = os.path.join(folder, "home")
        self.manifest = os.path.join(self.home, "m.json")
        self.volume = os.path.join(folder, "volume.img")
        self.sources = sources
        self.tools = tools
        self.env = dict(os.environ, LD_PRELOAD=os.path.join(
            os.path.dirname(sources), "skip_flush.so"), SKIP_FDATASYNC="0",
            SKIP_FSYNC="0", SKIP_DIRECT="1")
        self.homes = {}
        self.shards = {}  # bytes by hash

    def run(self, *command):
        done = subprocess.run(command, capture_output=True, env=self.env,
                              stdin=subprocess.DEVNULL, check=False)
        return done.returncode, done.stdout.decode(), done.stderr.decode()

    def tool(self, name, *words):
        """Standard output of a tool that must succeed."""
        status, out, err = self.run(os.path.join(self.tools, name), *words)
        if status:
            raise Broken("%s %s: exit %d: %s" %
                         (name, " ".join(words), status, err.strip()))
        return out

    # -- state

    def read_home(self, disk, overlay):
        """Files by name after the journal was replayed, as a mount does."""
        key = disk.totals_with(overlay)[HOME]
        if key not in self.homes:
            image = os.path.join(self.folder, "home.img")
            files = os.path.join(self.folder, "files")
            with open(image, "wb") as out:
                out.write(disk.image(HOME, overlay))
            status, out, err = self.run("e2fsck", "-fy", image)
            if status > 1:
                raise Broken("e2fsck: exit %d: %s%s" % (status, out, err))
            shutil.rmtree(files, ignore_errors=True)
            os.mkdir(files)
            self.run("debugfs", "-R", "rdump / " + files, image)
            self.homes[key] = {}
            for entry in os.scandir(files):
                if entry.is_file():
                    with open(entry.path, "rb") as file:
                        self.homes[key][entry.name] = file.read()
        return self.homes[key]

    def put(self, volume, home):
        with open(self.volume, "r+b" if os.path.exists(self.volume)
                  else "wb") as out:
            out.write(volume)
        shutil.rmtree(self.home, ignore_errors=True)
        os.mkdir(self.home)
        for name, data in home.items():
            with open(os.path.join(self.home, name), "wb") as out:
                out.write(data)

    def learn(self, manifest, source):
        """Which bytes a hash stands for."""
        for shard in json.loads(manifest)["shards"]:
            path = os.path.join(self.sources, source, shard["name"])
            with open(path, "rb") as file:
                self.shards[shard["hash"]] = file.read()

    # -- what must hold

    def listed(self):
        return json.loads(self.tool("ugds-st-import", "--list", "--json",
                                    self.volume))

    def check_objects(self, label):
        for item in label["objects"]:
            shard = self.shards.get(item["hash"])
            if shard is None:
                raise Broken("object %s: of unknown bytes" % item["id"])
            at = int(item["base_lba"]) * item["lba_bytes"]
            run = bytes(item["lead_bytes"]) + shard
            run += bytes(-len(run) % 4096)
            with open(self.volume, "rb") as file:
                file.seek(at)
                found = file.read(len(run))
            if found != run:
                raise Broken("object %s is listed, and has not its bytes" %
                             item["id"])

    def check_manifest(self, label):
        with open(self.manifest, "rb") as file:
            manifest = json.load(file)
        records = [record for record in label["checkpoints"]
                   if record["uuid"] == manifest["checkpoint"] and
                   record["generation"] == manifest["generation"]]
        if [record["state"] for record in records] != ["committed"]:
            raise Broken("the manifest has a generation that the volume has "
                         "not: %s" % label["checkpoints"])
        self.tool("ugds-st-cat", "--verify", "--device", self.volume,
                  self.manifest)
        return manifest

    def settled(self, records, objects):
        """The label, which must hold this, and nothing that is pending."""
        label = self.listed()
        self.check_objects(label)
        if [record["state"] for record in label["checkpoints"]] != \
                ["committed"] * records or len(label["objects"]) != objects:
            raise Broken("expected %d records and %d objects, found %s" %
                         (records, objects, label))
        return label

    def import_again(self, source, generation, records, objects, there,
                     done=False):
        """there: hashes of the objects that need no copy."""
        path = os.path.join(self.sources, source)
        result = json.loads(self.tool(
            "ugds-st-import", "--json", "--device", self.volume,
            "--manifest", self.manifest, path))
        manifest = self.check_manifest(self.settled(records, objects))
        missing = [shard for shard in manifest["shards"]
                   if shard["hash"] not in there]
        if result["copied"] != len(missing):
            raise Broken("expected %d shards to be copied, found %d" %
                         (len(missing), result["copied"]))
        if manifest["generation"] != generation:
            raise Broken("expected generation %s, found %s" %
                         (generation, manifest["generation"]))
        if done and result["published"]:
            raise Broken("published again what was published")

    def again(self, step, done, label):
        there = {item["hash"] for item in label["objects"]}
        if step == "import":
            self.import_again("one", "1", 1, 2, there, done)
        elif step == "reimport":
            self.import_again("two", "2", 2, 3, there, done)
        elif step == "prune":
            self.tool("ugds-st-import", "--prune", "--device", self.volume,
                      "--manifest", self.manifest)
            self.check_manifest(self.settled(1, 2))
        elif step == "remove":
            if os.path.exists(self.manifest):
                self.tool("ugds-st-import", "--remove", "--device",
                          self.volume, "--manifest", self.manifest)
            elif label["checkpoints"]:
                self.tool("ugds-st-import", "--remove", "--checkpoint",
                          label["checkpoints"][0]["uuid"], self.volume)
            self.settled(0, 0)
            self.import_again("one", "1", 1, 2, set())

    def check(self, step, done, allowed):
        """The state that was put. allowed: manifests, None for none."""
        label = self.listed()
        self.check_objects(label)
        found = None
        if os.path.exists(self.manifest):
            with open(self.manifest, "rb") as file:
                found = file.read()
        if found not in allowed:
            raise Broken("the manifest is %s" %
                         ("missing" if found is None else
                          "neither the old nor the new one"
                          if len(allowed) > 1 else "not the new one"))
        if found is not None:
            self.check_manifest(label)
        self.again(step, done, label)


# ----------------------------------------------------------------------- cuts


class Cuts:
    def __init__(self, folder, tools, sources, seed):
        self.name = os.path.basename(folder)
        self.folder = folder
        self.seed = seed
        self.log = Log(os.path.join(folder, "volume.log"))
        self.checker = Checker(folder, tools, sources)
        self.seen = set()
        self.checked = set()
        self.places = 0
        self.manifests = {}  # after a step

    def learn_ends(self):
        """The manifest that each step has left, all writes kept."""
        disk = Disk(self.log)
        for entry in self.log.entries:
            disk.add(entry)
            if isinstance(entry, Mark) and entry.verb == "end":
                overlay = disk.overlay(disk.pending, None)
                manifest = self.checker.read_home(disk, overlay).get("m.json")
                self.manifests[entry.step] = manifest
                if entry.step in SOURCE_OF:
                    if not manifest:
                        raise Broken("%s: %s has left %s" % (
                            self.name, entry.step, "no manifest" if manifest
                            is None else "an empty manifest"))
                    self.checker.learn(manifest, SOURCE_OF[entry.step])

    def look(self, disk, overlay, step, done, old):
        totals = tuple(disk.totals_with(overlay))
        if (step, done) + totals in self.seen:
            return
        self.seen.add((step, done) + totals)
        home = self.checker.read_home(disk, overlay)
        key = (step, done, totals[VOLUME], tuple(sorted(home.items())))
        if key in self.checked:
            return
        self.checked.add(key)
        new = self.manifests[step]
        self.checker.put(disk.image(VOLUME, overlay), home)
        self.checker.check(step, done, {new} if done else {old, new})

    def round(self, number, enough):
        """A cut behind each entry, with what the round's number decides."""
        disk = Disk(self.log)
        step, done, old, last, first = None, False, None, None, None
        for place, entry in enumerate(self.log.entries):
            disk.add(entry)
            if isinstance(entry, Mark):
                if entry.verb == "begin":
                    step, done, old = entry.step, False, last
                elif entry.verb == "over":
                    break
                else:
                    done, last = True, self.manifests[step]
            if step is None:
                continue
            first = place if first is None else first
            self.places = max(self.places, place - first + 1)
            # The file system's own order is ext4's affair: fewer of those.
            if number > 2 and number % 4 and not any(
                    disk.part_of(write.sector) == VOLUME
                    for write in disk.pending):
                continue
            if number == 0:
                overlay = {}
            elif number == 1 or not disk.pending:
                overlay = disk.overlay(disk.pending, None)
            else:
                overlay = disk.overlay(disk.pending, random.Random(
                    "%d %d %d" % (self.seed, place, number)))
            try:
                self.look(disk, overlay, step, done, old)
            except Broken as error:
                raise Broken("%s: cut behind entry %d, %s%s, round %d, seed "
                             "%d: %s" % (self.name, place, step,
                                         " done" if done else "", number,
                                         self.seed, error)) from error
            if len(self.seen) >= enough:
                return

    def run(self, count):
        """Return what was found, or None."""
        try:
            self.learn_ends()
            for number in range(count + 2):
                self.round(number, count)
                if len(self.seen) >= count:
                    break
        except Broken as error:
            return str(error)
        return None


def cut(folder, tools, sources, seed, count):
    cuts = Cuts(folder, tools, sources, seed)
    found = cuts.run(count)
    return (cuts.name, found, cuts.places, len(cuts.seen), len(cuts.checked))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--count", type=int, default=3000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--broken", action="store_true")
    parser.add_argument("tools")
    parser.add_argument("sources")
    parser.add_argument("folders", nargs="+")
    args = parser.parse_args()
    each = -(-args.count // len(args.folders))
    failed = False
    work = functools.partial(cut, tools=args.tools, sources=args.sources,
                             seed=args.seed, count=each)
    with multiprocessing.Pool(min(2, len(args.folders))) as pool:
        for name, found, places, states, checked in pool.imap(
                work, map(os.path.abspath, args.folders), chunksize=1):
            print("%s: power cut at %d places, %d states, %d of them looked "
                  "at with the tools" % (name, places, states, checked))
            if args.broken:
                print("%s: found: %s" % (name, found) if found else
                      "FAIL: %s: a missing flush was not found" % name)
                failed |= not found
            elif found:
                print("FAIL: " + found)
                failed = True
            sys.stdout.flush()
    sys.exit(failed)


if __name__ == "__main__":
    main()
