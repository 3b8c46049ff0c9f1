/* SPDX-License-Identifier: BSD-3-Clause */
/* bench.c - a run of a benchmark; see bench.h. */
#include "base/common.h"

#include <err.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/mem.h"
#include "support/bench.h"
#include "support/random.h"

double bench_now_s(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

void bench_start_clock(struct bench *bench)
{
	bench->start_s = bench_now_s(CLOCK_MONOTONIC);
	bench->start_cpu_s = bench_now_s(CLOCK_PROCESS_CPUTIME_ID);
}

void bench_stop_clock(struct bench *bench)
{
	bench->seconds = bench_now_s(CLOCK_MONOTONIC) - bench->start_s;
	bench->cpu_s =
		bench_now_s(CLOCK_PROCESS_CPUTIME_ID) - bench->start_cpu_s;
}

void bench_must(int status, const struct ugds_st_error *error)
{
	if (status)
		errx(1, "%s: %s", ugds_st_status_name(status), error->text);
}

void *bench_must_have(void *memory)
{
	if (!memory)
		errx(1, "out of memory");
	return memory;
}

struct ugds_st_info bench_info_of(const ugds_st_tensor *tensor)
{
	struct ugds_st_info info = {.struct_size = sizeof(info)};

	if (ugds_st_info(tensor, &info))
		errx(1, "no info");
	return info;
}

static struct ugds_st_stats stats_of(const ugds_st_store *store)
{
	struct ugds_st_stats stats = {.struct_size = sizeof(stats)};

	(void)ugds_st_get_stats(store, &stats);
	return stats;
}

/* High-water mark of resident memory. getrusage() would count the parent's. */
static uint64_t peak_kib(void)
{
	static const char key[] = "VmHWM:";
	FILE *status = fopen("/proc/self/status", "re");
	uint64_t kib = 0;
	char line[256];

	while (status && fgets(line, sizeof(line), status))
		if (strncmp(line, key, sizeof(key) - 1) == 0)
			kib = strtoull(line + sizeof(key) - 1, NULL, 10);
	if (status)
		(void)fclose(status);
	return kib;
}

/* Pages of a volume that are in the page cache. */
static uint64_t resident_pages(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	off_t bytes = fd < 0 ? -1 : lseek(fd, 0, SEEK_END);
	size_t pages = bytes < 0 ? 0 : (size_t)bytes / UGST_PAGE_BYTES;
	unsigned char *map = bench_must_have(malloc(pages + 1));
	uint64_t resident = 0;
	void *memory;

	if (bytes <= 0)
		err(1, "%s", path);
	memory = mmap(NULL, (size_t)bytes, PROT_READ, MAP_SHARED, fd, 0);
	if (memory == MAP_FAILED || mincore(memory, (size_t)bytes, map))
		err(1, "%s", path);
	for (size_t i = 0; i < pages; i++)
		resident += map[i] & 1;
	(void)munmap(memory, (size_t)bytes);
	(void)close(fd);
	free(map);
	return resident;
}

static void list_tensors(struct bench *bench)
{
	bench->tensor_count = ugds_st_count(bench->store);
	bench->tensors = bench_must_have(ugst_calloc(
		bench->tensor_count, sizeof(const ugds_st_tensor *)));
	for (size_t i = 0; i < bench->tensor_count; i++)
		bench->tensors[i] = ugds_st_at(bench->store, i);
}

static void print(const char *mode, const struct bench *bench,
                  const struct ugds_st_stats *before,
                  const struct ugds_st_stats *after)
{
	printf("{\"mode\": \"%s\", \"seconds\": %.6f, \"open_s\": %.6f, "
	       "\"cpu_s\": %.6f, \"bytes\": %llu, ",
	       mode, bench->seconds, bench->open_s, bench->cpu_s,
	       (unsigned long long)bench->bytes);
	printf("\"header_bytes\": %llu, \"device_bytes\": %llu, "
	       "\"entries\": %llu, \"commands\": %llu, \"direct\": %llu, "
	       "\"staged\": %llu, \"waits\": %llu, ",
	       (unsigned long long)before->device_bytes,
	       (unsigned long long)(after->device_bytes - before->device_bytes),
	       (unsigned long long)(after->entries - before->entries),
	       (unsigned long long)(after->commands - before->commands),
	       (unsigned long long)(after->direct_bytes - before->direct_bytes),
	       (unsigned long long)(after->staged_bytes - before->staged_bytes),
	       (unsigned long long)(after->waits - before->waits));
	printf("\"find_ns\": %.1f, \"absent_ns\": %.1f, "
	       "\"peak_kib\": %llu, \"resident_pages\": %llu}\n",
	       bench->find_ns, bench->absent_ns, (unsigned long long)peak_kib(),
	       (unsigned long long)resident_pages(
		       bench_info_of(bench->tensors[0]).device));
}

size_t *bench_shuffle(const size_t *things, size_t thing_count, size_t count,
                      uint64_t seed)
{
	size_t *order = bench_must_have(ugst_calloc(count, sizeof(*order)));
	size_t *deck = bench_must_have(ugst_calloc(thing_count, sizeof(*deck)));

	memcpy(deck, things, thing_count * sizeof(*deck));
	for (size_t i = 0; i < count; i++) {
		size_t at = i % thing_count;
		size_t other = at + random_below(&seed, thing_count - at);

		order[i] = deck[other];
		deck[other] = deck[at];
		deck[at] = order[i];
	}
	free(deck);
	return order;
}

static void measure(const struct bench_mode *mode, const char *manifest,
                    struct bench *bench)
{
	struct ugds_st_error error;
	struct ugds_st_stats before;
	struct ugds_st_stats after;

	bench_start_clock(bench);
	bench_must(ugds_st_open(manifest, NULL, &bench->store, &error), &error);
	bench->open_s = bench_now_s(CLOCK_MONOTONIC) - bench->start_s;
	before = stats_of(bench->store);
	list_tensors(bench);
	mode->run(bench);
	if (bench->seconds == 0)
		bench_stop_clock(bench);
	after = stats_of(bench->store);
	print(mode->name, bench, &before, &after);
	free(bench->tensors);
	bench_must(ugds_st_close(bench->store, 0, &error), &error);
}

int bench_main(int argc, char **argv, const struct bench_mode *modes,
               size_t mode_count)
{
	struct bench bench = {
		.options = {.list = 1, .threads = 1, .count = 1, .seed = 1},
	};
	int option;

	while ((option = getopt(argc, argv, "l:t:n:s:")) != -1) {
		unsigned long value =
			option == '?' ? 0 : strtoul(optarg, NULL, 0);

		if (value == 0)
			errx(2, "the head of the source says how to use this");
		if (option == 'l')
			bench.options.list = value;
		else if (option == 't')
			bench.options.threads = value;
		else if (option == 'n')
			bench.options.count = value;
		else
			bench.options.seed = value;
	}
	for (size_t i = 0; i < mode_count; i++) {
		if (optind + 2 != argc || strcmp(argv[optind], modes[i].name))
			continue;
		measure(&modes[i], argv[optind + 1], &bench);
		return 0;
	}
	errx(2, "expected a mode and a manifest");
}

/* ------------------------------------------------------------------ arenas */

static void *arena_alloc(size_t bytes)
{
	const struct ugds_st_memory_ops *memory = ugds_st_memory_host();
	void *data;

	if (memory->alloc(memory->ctx, bytes, UGST_GPU_PAGE_BYTES, &data))
		errx(1, "out of memory");
	return data;
}

void bench_arena_open(struct bench_arena *arena, ugds_st_store *store,
                      size_t bytes, size_t count, bool registered)
{
	struct ugds_st_error error;

	memset(arena, 0, sizeof(*arena));
	arena->bytes = bytes;
	arena->data = arena_alloc(bytes);
	arena->offs = bench_must_have(ugst_calloc(count, sizeof(*arena->offs)));
	arena->reads =
		bench_must_have(ugst_calloc(count, sizeof(*arena->reads)));
	if (registered)
		bench_must(ugds_st_register(store, arena->data, bytes, 0,
		                            &arena->buffer, &error),
		           &error);
}

void bench_arena_close(struct bench_arena *arena)
{
	struct ugds_st_error error;

	bench_must(ugds_st_unregister(arena->buffer, &error), &error);
	free(arena->data);
	free(arena->offs);
	free(arena->reads);
}

uint64_t bench_arena_read(struct bench_arena *arena, ugds_st_store *store,
                          const ugds_st_tensor *const *tensors, size_t count)
{
	struct ugds_st_error error;
	uint64_t layout_bytes;
	uint64_t bytes = 0;

	if (ugds_st_layout(tensors, count, BENCH_ALIGN, arena->offs,
	                   &layout_bytes) ||
	    layout_bytes > arena->bytes)
		errx(1, "no layout");
	for (size_t i = 0; i < count; i++) {
		uint64_t tensor_bytes = bench_info_of(tensors[i]).payload_bytes;

		bytes += tensor_bytes;
		arena->reads[i] = (struct ugds_st_read){
			.struct_size = sizeof(arena->reads[i]),
			.tensor = tensors[i],
			.dst = arena->data + arena->offs[i],
			.dst_bytes = tensor_bytes,
			.buf = arena->buffer,
		};
	}
	bench_must(ugds_st_read_many(store, arena->reads, count, NULL, &error),
	           &error);
	return bytes;
}
