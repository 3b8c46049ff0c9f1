/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_read_random.c - lists of anything, into anywhere, from drives of any
 * kind that fail at any command: what is OK is right, and no byte beside a
 * destination is touched, then or later.
 *
 * A seed names a round. READ_RANDOM_ROUNDS in the environment: more of them.
 */
#include "support/reading.h"

#include <pthread.h>
#include <stdatomic.h>

#include "base/clock.h"
#include "base/units.h"
#include "devices/ugds_compat_script.h"
#include "support/async_memory.h"
#include "support/random.h"

#define MEMORY_BYTES ((size_t)8 << 20)
#define MAX_REQUESTS 60u
#define CANARY 0x5a
#define ROUNDS 8

/* Without and with mirrors. */
static const struct volumes_shape shapes[] = {
	{.seed = 77,
         .volume_count = 2,
         .shard_count = 3,
         .tensor_count = 40,
         .max_tensor_bytes = 700000},
	{.seed = 78,
         .volume_count = 3,
         .copy_count = 2,
         .shard_count = 3,
         .tensor_count = 30,
         .max_tensor_bytes = 700000},
};

struct round {
	uint64_t seed;
	struct volumes *volumes;
	struct async_memory memory;
	ugds_st_store *store;
	char *bytes; /* registered, filled with canaries */
	ugds_st_buffer *buffer;
	struct ugds_st_read reads[MAX_REQUESTS];
	const char *expected[MAX_REQUESTS];
	uint64_t wanted[MAX_REQUESTS];
	size_t count;
	unsigned told;
	atomic_bool over;
};

static uint64_t below(struct round *round, uint64_t limit)
{
	return random_below(&round->seed, limit);
}

static bool once_in(struct round *round, uint64_t times)
{
	return below(round, times) == 0;
}

/* Rows of it, or all. */
static void choose_rows(struct round *round, size_t index,
                        const struct ugds_st_info *info)
{
	struct ugds_st_read *read = &round->reads[index];
	uint64_t row_bytes;

	round->wanted[index] = info->payload_bytes;
	round->expected[index] = volumes_expected(round->volumes, read->tensor);
	if (info->payload_bytes == 0 || once_in(round, 2))
		return;
	row_bytes = info->payload_bytes / info->dims[0];
	read->row_first = below(round, info->dims[0]);
	read->row_count = 1 + below(round, info->dims[0] - read->row_first);
	round->wanted[index] = read->row_count * row_bytes;
	round->expected[index] += read->row_first * row_bytes;
}

/* Anywhere behind the one before; often where it can be read directly. */
static void choose_requests(struct round *round)
{
	size_t end = below(round, 9000);

	round->count = 0;
	for (size_t i = 0; i < 1 + below(round, MAX_REQUESTS); i++) {
		struct ugds_st_read *read = &round->reads[i];
		struct ugds_st_info info;

		*read = (struct ugds_st_read)UGDS_ST_READ_INIT;
		read->tensor = ugds_st_at(
			round->store,
			i && once_in(round, 3)
				? (size_t)(i % 3)
				: below(round, ugds_st_count(round->store)));
		info = reading_info(read->tensor);
		choose_rows(round, i, &info);
		if (once_in(round, 2))
			end = ugst_align_up(end, 4096) + info.skew_bytes;
		else
			end += once_in(round, 2) ? 0 : below(round, 5000);
		if (end + round->wanted[i] > MEMORY_BYTES - 4096)
			break;
		read->dst = round->bytes + end;
		read->dst_bytes = round->wanted[i];
		read->buf = once_in(round, 4) ? NULL : round->buffer;
		end += round->wanted[i];
		round->count = i + 1;
	}
}

static void choose_faults(struct round *round)
{
	static const int kinds[] = {UGST_COMPAT_FAIL, UGST_COMPAT_SHORT,
	                            UGST_COMPAT_AFTER, UGST_COMPAT_AFTER};

	for (uint64_t i = below(round, 5); i > 0; i--) {
		struct ugst_compat_fault fault = {
			.kind = kinds[below(round, UGST_COUNT(kinds))],
			.skip = below(round, 60),
			.count = 1 + below(round, 3),
			.after = (uint32_t)below(round, 40),
		};

		ugst_compat_script_fault(&fault);
	}
}

static void count_told(void *ctx, size_t index, int status)
{
	struct round *round = ctx;
	const struct ugds_st_read *read = &round->reads[index];

	round->told++;
	if (status == UGDS_ST_OK)
		assert_memory_equal(read->dst, round->expected[index],
		                    round->wanted[index]);
}

static void expect_canaries(const char *from, const char *to)
{
	for (; from < to; from++)
		if (*from != CANARY)
			fail_msg("a byte beside a destination was written");
}

/* What is between destinations, and what was given back and filled again. */
static void check_memory(const struct round *round)
{
	const char *at = round->bytes;

	for (size_t i = 0; i < round->count; i++) {
		const struct ugds_st_read *read = &round->reads[i];
		const char *dst = read->dst;

		expect_canaries(at, dst);
		if (read->status == UGDS_ST_OK)
			assert_memory_equal(dst, round->expected[i],
			                    round->wanted[i]);
		else if (read->status == UGDS_ST_TIMEOUT)
			expect_canaries(dst, dst + round->wanted[i]);
		at = dst + round->wanted[i];
	}
	expect_canaries(at, round->bytes + MEMORY_BYTES);
}

static void read_once(struct round *round)
{
	struct ugds_st_read_opts opts = UGDS_ST_READ_OPTS_INIT;
	bool late = once_in(round, 5);
	struct ugds_st_error err = {0};
	int first = UGDS_ST_OK;
	int status;

	memset(round->bytes, CANARY, MEMORY_BYTES);
	choose_requests(round);
	opts.priority = (uint32_t)below(round, 2);
	opts.ready = count_told;
	opts.ctx = round;
	round->told = 0;
	if (late) {
		opts.deadline_ms = 5 + (uint32_t)below(round, 20);
		ugst_compat_script_fault(&(struct ugst_compat_fault){
			.kind = once_in(round, 2) ? UGST_COMPAT_LATE
		                                  : UGST_COMPAT_LATE_EVENT,
			.skip = below(round, 20),
			.count = 1 + below(round, 3)});
	}
	status = ugds_st_read_many(round->store, round->reads, round->count,
	                           &opts, &err);
	assert_int_equal(round->told, round->count);
	for (size_t i = 0; i < round->count; i++) {
		struct ugds_st_read *read = &round->reads[i];

		if (!first)
			first = read->status;
		assert_true(read->status == UGDS_ST_OK ||
		            read->status == UGDS_ST_IO ||
		            (late && read->status == UGDS_ST_TIMEOUT));
		if (read->status == UGDS_ST_TIMEOUT)
			memset(read->dst, CANARY, round->wanted[i]);
	}
	assert_int_equal(status, first);
	if (status)
		assert_true(err.text[0] != '\0');
	check_memory(round);
	/* What was late has landed when more was read. */
	assert_int_not_equal(ugds_st_verify(round->store, NULL, NULL, NULL),
	                     UGDS_ST_DEVICE_LOST);
	check_memory(round);
}

/* What is late is so by about this. */
static void *release_now_and_then(void *arg)
{
	struct round *round = arg;
	struct timespec nap = ugst_timespec(15 * UGST_NS_PER_MS);

	while (!atomic_load(&round->over)) {
		(void)nanosleep(&nap, NULL);
		(void)ugst_compat_script_release(0);
	}
	return NULL;
}

static void one_round(struct round *round)
{
	static const uint32_t commands[] = {4096, 12288, 131072, 1048576,
	                                    4194304};
	struct ugst_compat_script drive = {
		.lba_bytes = once_in(round, 2) ? 512 : 4096,
		.command_bytes = commands[below(round, UGST_COUNT(commands))],
		.window_commands = 63,
	};
	struct ugds_st_open_opts opts = UGDS_ST_OPEN_OPTS_INIT;
	bool async = once_in(round, 2);
	struct ugds_st_error err;
	pthread_t thread;

	ugst_compat_script_begin(&drive);
	async_memory_init(&round->memory, -1);
	round->memory.max_asks = (unsigned)below(round, 4);
	if (async)
		opts.memory = &round->memory.ops;
	opts.arena_bytes = once_in(round, 2) ? 6 * UGST_MIB : 0;
	round->store = reading_open(round->volumes, &opts);
	assert_ok(ugds_st_register(round->store, round->bytes, MEMORY_BYTES, 0,
	                           &round->buffer, &err),
	          err);
	choose_faults(round);
	atomic_store(&round->over, false);
	assert_int_equal(
		pthread_create(&thread, NULL, release_now_and_then, round), 0);
	for (int i = 0; i < 4; i++)
		read_once(round);
	assert_ok(ugds_st_unregister(round->buffer, &err), err);
	reading_close(round->store);
	atomic_store(&round->over, true);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_int_equal(ugst_compat_script_counts().violations, 0);
	assert_int_equal(ugst_compat_script_counts().bufs, 0);
	ugst_compat_script_end();
	async_memory_end(&round->memory);
}

static void rounds(void **state)
{
	const char *wanted = getenv("READ_RANDOM_ROUNDS");
	const char *from = getenv("READ_RANDOM_FROM");
	int first = from ? atoi(from) : 0;
	int count = wanted ? atoi(wanted) : ROUNDS;
	struct round *round = ugst_calloc(1, sizeof(*round));
	struct volumes *volumes[UGST_COUNT(shapes)];

	(void)state;
	for (size_t i = 0; i < UGST_COUNT(shapes); i++)
		volumes[i] = volumes_new(&shapes[i]);
	round->bytes = ugst_alloc_aligned(MEMORY_BYTES, 65536);
	assert_non_null(round->bytes);
	for (int i = first; i < first + count; i++) {
		round->seed = (uint64_t)i * 7919 + 1;
		if (wanted)
			fprintf(stderr, "round %d\n", i);
		round->volumes = volumes[i % 2];
		one_round(round);
	}
	free(round->bytes);
	for (size_t i = 0; i < UGST_COUNT(shapes); i++)
		volumes_free(volumes[i]);
	free(round);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rounds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
