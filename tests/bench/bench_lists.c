/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * bench_lists.c - read lists of tensors that lie far apart, in many threads.
 *
 *	bench_lists [-l LIST] [-t THREADS] [-n COUNT] [-s SEED] MODE MANIFEST
 *
 *	experts  COUNT experts at random; an expert is three tensors
 *	small    COUNT tensors of 32 to 64 KiB at random, none beside another
 *
 * Each of THREADS threads reads its share in lists of LIST, each list into the
 * same registered memory, which has been written to before. Prints one line of
 * JSON; the clock starts when all threads are ready.
 */
#include "base/common.h"

#include <err.h>
#include <pthread.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/units.h"
#include "support/bench.h"

#define EXPERT_TENSORS 3
#define SMALL_BYTES (64 * UGST_KIB)
/* One small tensor in so many is taken. */
#define SMALL_STRIDE 6

/* Things to read: a number of tensors that follow one another in the file. */
struct things {
	size_t *firsts; /* of their first tensor */
	size_t count;
	size_t tensors_each;
};

static void add_thing(struct things *things, size_t first)
{
	things->firsts[things->count++] = first;
}

static void find_experts(const struct bench *bench, struct things *things)
{
	things->tensors_each = EXPERT_TENSORS;
	for (size_t i = 0; i + EXPERT_TENSORS <= bench->tensor_count;) {
		if (strstr(bench_info_of(bench->tensors[i]).name,
		           ".mlp.experts.")) {
			add_thing(things, i);
			i += EXPERT_TENSORS;
		} else {
			i++;
		}
	}
}

static void find_small(const struct bench *bench, struct things *things)
{
	size_t seen = 0;

	things->tensors_each = 1;
	for (size_t i = 0; i < bench->tensor_count; i++) {
		uint64_t bytes = bench_info_of(bench->tensors[i]).payload_bytes;

		if (bytes > SMALL_BYTES / 2 && bytes <= SMALL_BYTES &&
		    seen++ % SMALL_STRIDE == 0)
			add_thing(things, i);
	}
}

struct reader {
	pthread_t thread;
	const struct bench *bench;
	const struct things *things;
	size_t *order;
	size_t count; /* of order */
	pthread_barrier_t *barrier;
	uint64_t bytes;
};

static void *read_lists(void *arg)
{
	struct reader *reader = arg;
	const struct bench *bench = reader->bench;
	size_t each = reader->things->tensors_each;
	size_t list = bench->options.list;
	const ugds_st_tensor **tensors =
		bench_must_have(ugst_calloc(list * each, sizeof(*tensors)));
	uint64_t room = 0;
	struct bench_arena arena;

	for (size_t i = 0; i < each; i++)
		room += bench_info_of(bench->tensors[reader->order[0] + i])
		                .payload_bytes;
	room = list * (room + 2 * UGST_PAGE_BYTES * each);
	bench_arena_open(&arena, bench->store,
	                 ugst_align_up(room, UGST_GPU_PAGE_BYTES), list * each,
	                 true);
	/* A cache of experts has been written to before. */
	memset(arena.data, 0, arena.bytes);
	(void)pthread_barrier_wait(reader->barrier);
	for (size_t at = 0; at < reader->count;) {
		size_t count = 0;

		for (; count < list * each && at < reader->count; at++)
			for (size_t i = 0; i < each; i++)
				tensors[count++] =
					bench->tensors[reader->order[at] + i];
		reader->bytes +=
			bench_arena_read(&arena, bench->store, tensors, count);
	}
	(void)pthread_barrier_wait(reader->barrier);
	bench_arena_close(&arena);
	free(tensors);
	return NULL;
}

static void read_things(struct bench *bench, const struct things *things)
{
	const struct bench_options *options = &bench->options;
	size_t *order = bench_shuffle(things->firsts, things->count,
	                              options->count, options->seed);
	size_t share = options->count / options->threads;
	struct reader *readers = bench_must_have(
		ugst_calloc(options->threads, sizeof(*readers)));
	pthread_barrier_t barrier;

	(void)pthread_barrier_init(&barrier, NULL,
	                           (unsigned)options->threads + 1);
	for (size_t i = 0; i < options->threads; i++) {
		readers[i] = (struct reader){
			.bench = bench,
			.things = things,
			.order = order + i * share,
			.count = share,
			.barrier = &barrier,
		};
		if (pthread_create(&readers[i].thread, NULL, read_lists,
		                   &readers[i]))
			errx(1, "no thread");
	}
	(void)pthread_barrier_wait(&barrier);
	bench_start_clock(bench);
	(void)pthread_barrier_wait(&barrier);
	bench_stop_clock(bench);
	for (size_t i = 0; i < options->threads; i++) {
		(void)pthread_join(readers[i].thread, NULL);
		bench->bytes += readers[i].bytes;
	}
	(void)pthread_barrier_destroy(&barrier);
	free(readers);
	free(order);
}

static void read_random(struct bench *bench,
                        void (*find)(const struct bench *, struct things *))
{
	struct things things = {
		.firsts = bench_must_have(ugst_calloc(bench->tensor_count,
	                                              sizeof(*things.firsts))),
	};

	find(bench, &things);
	if (things.count == 0)
		errx(1, "the checkpoint has none of these");
	read_things(bench, &things);
	free(things.firsts);
}

static void read_experts(struct bench *bench)
{
	read_random(bench, find_experts);
}

static void read_small(struct bench *bench)
{
	read_random(bench, find_small);
}

int main(int argc, char **argv)
{
	static const struct bench_mode modes[] = {
		{"experts", read_experts},
		{"small", read_small},
	};

	return bench_main(argc, argv, modes, sizeof(modes) / sizeof(modes[0]));
}
