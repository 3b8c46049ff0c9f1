/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * bench_compat.c - how fast compatibility mode reads, through its table.
 *
 *	bench_compat [-d depth] [-e entry_bytes] [-r] [-n] FILE
 *
 * Reads the whole file in entries of -e bytes (1 MiB), -d (32) of them in
 * flight, in order or at random (-r), into one registered buffer, and prints
 * seconds, MiB/s and CPU seconds. -n: memory as malloc gives it, instead of
 * the library's. No checkpoint, no plan: the ceiling for everything above.
 */
#include "base/common.h"

#include <err.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/units.h"
#include "devices/ugds.h"

struct bench {
	const struct ugst_ugds *ugds;
	void *batch;
	uint8_t *buf;
	uint64_t entry_bytes;
	uint64_t entry_count;
	uint64_t *order;
	unsigned depth;
};

static void must(struct ugst_ugds_error error, const char *what)
{
	if (error.code)
		errx(1, "%s: code %d", what, error.code);
}

static double now_s(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void submit(const struct bench *b, uint64_t number, uintptr_t slot)
{
	struct ugst_ugds_params entry = {
		.base = b->buf,
		.device_off = (off_t)(b->order[number] * b->entry_bytes),
		.buffer_off = (off_t)(slot * b->entry_bytes),
		.bytes = b->entry_bytes,
		.opcode = UGST_UGDS_READ,
		.cookie = (void *)slot,
	};

	must(b->ugds->batch_submit(b->batch, 1, &entry, 0), "submit");
}

/* Entries until the batch is full, then none until it is empty: the capacity
 * rule of uGDS. */
static void read_all(const struct bench *b)
{
	uint64_t submitted = 0;
	uint64_t ended = 0;
	unsigned used = 0;

	while (ended < b->entry_count) {
		struct ugst_ugds_event events[UGST_UGDS_BATCH_ENTRIES];
		unsigned count = UGST_UGDS_BATCH_ENTRIES;

		if (ended == submitted)
			for (used = 0;
			     used < b->depth && submitted < b->entry_count;
			     used++)
				submit(b, submitted++, used);
		must(b->ugds->batch_status(b->batch, 1, &count, events, NULL),
		     "status");
		for (unsigned i = 0; i < count; i++) {
			if (events[i].status != UGST_UGDS_COMPLETE)
				errx(1, "an entry failed");
			ended++;
			if (submitted == b->entry_count ||
			    used == UGST_UGDS_BATCH_ENTRIES)
				continue;
			submit(b, submitted++, (uintptr_t)events[i].cookie);
			used++;
		}
	}
}

static void shuffle(struct bench *b, bool random)
{
	uint64_t seed = 88172645463325252u;

	b->order = calloc(b->entry_count, sizeof(*b->order));
	if (!b->order)
		err(1, "order");
	for (uint64_t i = 0; i < b->entry_count; i++) {
		uint64_t j;

		b->order[i] = i;
		if (!random)
			continue;
		seed ^= seed << 13;
		seed ^= seed >> 7;
		seed ^= seed << 17;
		j = seed % (i + 1);
		b->order[i] = b->order[j];
		b->order[j] = i;
	}
}

static void run(struct bench *b, const char *path, bool random, bool plain)
{
	const struct ugds_st_memory_ops *memory = ugds_st_memory_host();
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_DIRECT);
	struct ugst_ugds_descr descr = {UGST_UGDS_HANDLE_TYPE_FD, {fd}};
	uint64_t buf_bytes = ugst_align_up(b->depth * b->entry_bytes, 65536);
	uint64_t bytes;
	void *handle;
	void *ptr;
	double wall = now_s(CLOCK_MONOTONIC);
	double cpu = now_s(CLOCK_PROCESS_CPUTIME_ID);

	if (fd < 0)
		err(1, "%s", path);
	if (plain ? posix_memalign(&ptr, 65536, buf_bytes)
	          : memory->alloc(memory->ctx, buf_bytes, 65536, &ptr))
		errx(1, "out of memory");
	b->buf = ptr;
	must(b->ugds->driver_open(), "driver");
	must(b->ugds->handle_register(&handle, &descr), "handle");
	must(b->ugds->device_capacity(handle, &bytes), "capacity");
	must(b->ugds->buf_register(b->buf, buf_bytes, 0), "buffer");
	must(b->ugds->batch_setup(&b->batch, handle, 128), "batch");
	b->entry_count = bytes / b->entry_bytes;
	shuffle(b, random);
	read_all(b);
	b->ugds->batch_destroy(b->batch);
	must(b->ugds->buf_deregister(b->buf), "buffer");
	must(b->ugds->handle_deregister(handle, -1), "handle");
	wall = now_s(CLOCK_MONOTONIC) - wall;
	cpu = now_s(CLOCK_PROCESS_CPUTIME_ID) - cpu;
	printf("%.3f s  %.0f MiB/s  %.3f s CPU\n", wall,
	       (double)(b->entry_count * b->entry_bytes) / wall /
	               (double)UGST_MIB,
	       cpu);
	free(b->order);
	free(ptr);
	close(fd);
}

int main(int argc, char **argv)
{
	struct bench b = {
		.ugds = ugst_ugds_compat(),
		.entry_bytes = UGST_MIB,
		.depth = 32,
	};
	bool random = false;
	bool plain = false;
	int option;

	while ((option = getopt(argc, argv, "d:e:rn")) != -1) {
		if (option == 'd')
			b.depth = (unsigned)strtoul(optarg, NULL, 0);
		else if (option == 'e')
			b.entry_bytes = strtoull(optarg, NULL, 0);
		else if (option == 'r')
			random = true;
		else if (option == 'n')
			plain = true;
		else
			errx(2, "usage: %s [-d N] [-e N] [-r] [-n] FILE",
			     argv[0]);
	}
	if (optind != argc - 1 || !b.depth || b.depth > 128 ||
	    b.entry_bytes == 0 || b.entry_bytes % 4096)
		errx(2, "one FILE, depth 1 to 128, entries of 4096s");
	run(&b, argv[optind], random, plain);
	return 0;
}
