/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * bench_read.c - read a whole imported checkpoint.
 *
 *	bench_read MODE MANIFEST
 *
 *	whole    every tensor into one registered arena, one list
 *	staged   the same, not registered: through the store's arena
 *	get      every tensor into one array of the library's
 *	each     tensor after tensor into an array of its own
 *	into     tensor after tensor into memory of the caller's, not registered
 *
 * Prints one line of JSON: seconds from before the open to the last byte, and
 * what came of it. Freeing is not counted.
 */
#include "base/common.h"

#include <err.h>
#include <stdlib.h>

#include "base/mem.h"
#include "support/bench.h"

static void read_list(struct bench *bench, bool registered)
{
	struct bench_arena arena;
	uint64_t *offs = bench_must_have(
		ugst_calloc(bench->tensor_count, sizeof(*offs)));
	uint64_t bytes;

	if (ugds_st_layout(bench->tensors, bench->tensor_count, BENCH_ALIGN,
	                   offs, &bytes))
		errx(1, "no layout");
	free(offs);
	bench_arena_open(&arena, bench->store, bytes, bench->tensor_count,
	                 registered);
	bench->bytes = bench_arena_read(&arena, bench->store, bench->tensors,
	                                bench->tensor_count);
	bench_stop_clock(bench);
	bench_arena_close(&arena);
}

static void read_whole(struct bench *bench)
{
	read_list(bench, true);
}

static void read_staged(struct bench *bench)
{
	read_list(bench, false);
}

static void read_get(struct bench *bench)
{
	struct ugds_st_error error;
	ugds_st_array *array;

	bench_must(ugds_st_get_tensors(bench->store, bench->tensors,
	                               bench->tensor_count, BENCH_ALIGN, NULL,
	                               &array, &error),
	           &error);
	for (size_t i = 0; i < bench->tensor_count; i++)
		bench->bytes += ugds_st_array_info(array, i)->payload_bytes;
	bench_stop_clock(bench);
	ugds_st_array_free(array);
}

/* All tensors stay in memory until the end, as a model does. */
static void read_into(struct bench *bench)
{
	void **memory = bench_must_have(
		ugst_calloc(bench->tensor_count, sizeof(*memory)));
	struct ugds_st_error error;

	for (size_t i = 0; i < bench->tensor_count; i++) {
		struct ugds_st_info info = bench_info_of(bench->tensors[i]);

		memory[i] = bench_must_have(malloc(info.payload_bytes + 1));
		bench_must(ugds_st_read_into(bench->store, info.name, memory[i],
		                             info.payload_bytes, &error),
		           &error);
		bench->bytes += info.payload_bytes;
	}
	bench_stop_clock(bench);
	for (size_t i = 0; i < bench->tensor_count; i++)
		free(memory[i]);
	free(memory);
}

static void read_each(struct bench *bench)
{
	ugds_st_array **arrays = bench_must_have(
		ugst_calloc(bench->tensor_count, sizeof(*arrays)));
	struct ugds_st_error error;

	for (size_t i = 0; i < bench->tensor_count; i++) {
		struct ugds_st_info info = bench_info_of(bench->tensors[i]);

		bench_must(ugds_st_get_tensor(bench->store, info.name,
		                              &arrays[i], &error),
		           &error);
		bench->bytes += info.payload_bytes;
	}
	bench_stop_clock(bench);
	for (size_t i = 0; i < bench->tensor_count; i++)
		ugds_st_array_free(arrays[i]);
	free(arrays);
}

int main(int argc, char **argv)
{
	static const struct bench_mode modes[] = {
		{"whole", read_whole}, {"staged", read_staged},
		{"get", read_get},     {"each", read_each},
		{"into", read_into},
	};

	return bench_main(argc, argv, modes, sizeof(modes) / sizeof(modes[0]));
}
