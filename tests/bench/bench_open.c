/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * bench_open.c - open an imported checkpoint, and look names up in it.
 *
 *	bench_open [-n COUNT] [-s SEED] MODE MANIFEST
 *
 *	open     open the store, nothing else
 *	find     look COUNT names up, present and absent
 *
 * Prints one line of JSON. Look-ups are in random order, and their time is the
 * thread's: they wait for nothing.
 */
#include "base/common.h"

#include <err.h>
#include <stdlib.h>

#include "base/mem.h"
#include "support/bench.h"

static double time_finds(const struct bench *bench, char *const *names,
                         const size_t *name_bytes, bool present)
{
	double start_s = bench_now_s(CLOCK_THREAD_CPUTIME_ID);
	size_t at = 0;

	for (size_t i = 0; i < bench->options.count; i++) {
		if (present !=
		    !!ugds_st_find(bench->store, names[at], name_bytes[at]))
			errx(1, "look-up of %s is wrong", names[at]);
		at = at + 1 < bench->tensor_count ? at + 1 : 0;
	}
	return (bench_now_s(CLOCK_THREAD_CPUTIME_ID) - start_s) * 1e9 /
	       (double)bench->options.count;
}

/* Names in random order, in memory of their own, one behind the other: the
 * caller has just made his, and what is measured is the table. */
static void find_names(struct bench *bench)
{
	char **names = bench_must_have(
		ugst_calloc(bench->tensor_count, sizeof(*names)));
	size_t *name_bytes = bench_must_have(
		ugst_calloc(bench->tensor_count, sizeof(*name_bytes)));
	size_t *all =
		bench_must_have(ugst_calloc(bench->tensor_count, sizeof(*all)));
	size_t *order;
	char *pool;
	char *at;
	size_t pool_bytes = 0;

	for (size_t i = 0; i < bench->tensor_count; i++) {
		all[i] = i;
		pool_bytes += bench_info_of(bench->tensors[i]).name_bytes + 1;
	}
	order = bench_shuffle(all, bench->tensor_count, bench->tensor_count,
	                      bench->options.seed);
	at = pool = bench_must_have(malloc(pool_bytes + 1));
	for (size_t i = 0; i < bench->tensor_count; i++) {
		struct ugds_st_info info =
			bench_info_of(bench->tensors[order[i]]);

		names[i] = memcpy(at, info.name, info.name_bytes + 1);
		name_bytes[i] = info.name_bytes;
		at += info.name_bytes + 1;
	}
	bench->find_ns = time_finds(bench, names, name_bytes, true);
	for (size_t i = 0; i < bench->tensor_count; i++)
		names[i][name_bytes[i] - 1] ^= 1;
	bench->absent_ns = time_finds(bench, names, name_bytes, false);
	free(pool);
	free(order);
	free(all);
	free(name_bytes);
	free(names);
}

static void nothing_more(struct bench *bench)
{
	(void)bench;
}

int main(int argc, char **argv)
{
	static const struct bench_mode modes[] = {
		{"open", nothing_more},
		{"find", find_names},
	};

	return bench_main(argc, argv, modes, sizeof(modes) / sizeof(modes[0]));
}
