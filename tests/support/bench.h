/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * bench.h - what the benchmarks of reading share: a store and its tensors, the
 * clock, and one line of JSON about a run.
 *
 * A process is one run, so that memory is as fresh as an engine's at its
 * start; tools/bench.sh drops caches, repeats and compares.
 */
#ifndef TEST_BENCH_H
#define TEST_BENCH_H

#include "base/common.h"

#include <time.h>

/* Of every tensor's first byte. */
#define BENCH_ALIGN 256

struct bench_options {
	size_t list;
	size_t threads;
	size_t count;
	uint64_t seed;
};

struct bench {
	struct bench_options options;
	ugds_st_store *store;
	size_t tensor_count;
	const ugds_st_tensor **tensors; /* all, in file order */
	double open_s;
	double start_s; /* of the open, or later if the mode prepares */
	double start_cpu_s;
	double seconds; /* 0: the clock still runs */
	double cpu_s;
	uint64_t bytes; /* payload that was read */
	double find_ns;
	double absent_ns;
};

/* A way to measure. */
struct bench_mode {
	const char *name;
	void (*run)(struct bench *bench);
};

/*
 * bench_main() - carry out [-l LIST] [-t THREADS] [-n COUNT] [-s SEED] MODE
 * MANIFEST and print what came of it.
 *
 * Return: exit status.
 */
int bench_main(int argc, char **argv, const struct bench_mode *modes,
               size_t mode_count);

/* The clock starts before the open and stops behind the mode, unless that
 * starts and stops it. */
void bench_start_clock(struct bench *bench);
void bench_stop_clock(struct bench *bench);
double bench_now_s(clockid_t clock);

/* Or the program ends, saying why. */
void bench_must(int status, const struct ugds_st_error *error);
void *bench_must_have(void *memory);
struct ugds_st_info bench_info_of(const ugds_st_tensor *tensor);

/* The order in which to go through things: at random, all before any again. */
size_t *bench_shuffle(const size_t *things, size_t thing_count, size_t count,
                      uint64_t seed);

/* Memory for a list of tensors, and requests that fill it. */
struct bench_arena {
	char *data;
	size_t bytes;
	ugds_st_buffer *buffer;
	struct ugds_st_read *reads;
	uint64_t *offs;
};

void bench_arena_open(struct bench_arena *arena, ugds_st_store *store,
                      size_t bytes, size_t count, bool registered);
void bench_arena_close(struct bench_arena *arena);

/* Read a list into the arena. Return: payload bytes. */
uint64_t bench_arena_read(struct bench_arena *arena, ugds_st_store *store,
                          const ugds_st_tensor *const *tensors, size_t count);

#endif /* TEST_BENCH_H */
