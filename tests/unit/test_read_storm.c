/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_read_storm.c - many threads at once, each with lists, arrays, deadlines,
 * priorities and a stream of its own, while commands fail, are overtaken and
 * are late. Meant for the thread sanitizer.
 */
#include "support/reading.h"

#include <pthread.h>
#include <stdatomic.h>

#include "base/clock.h"
#include "base/units.h"
#include "devices/ugds_compat_script.h"
#include "support/async_memory.h"
#include "support/random.h"

#define THREADS 6
#define CALLS 40
#define LIST 12u
#define ROOM ((size_t)1 << 20)
#define CANARY 0x5a

static const struct volumes_shape shape = {
	.seed = 91,
	.volume_count = 2,
	.shard_count = 4,
	.tensor_count = 30,
	.max_tensor_bytes = 60000,
};

struct reader {
	pthread_t thread;
	const struct volumes *volumes;
	ugds_st_store *store;
	uint64_t seed;
	char *bytes;
	ugds_st_buffer *buffer;
	const char *wrong; /* CMocka's assertions are the main thread's */
};

static void note(struct reader *reader, bool good, const char *what)
{
	if (!good && !reader->wrong)
		reader->wrong = what;
}

static const ugds_st_tensor *any_tensor(struct reader *reader)
{
	return ugds_st_at(
		reader->store,
		random_below(&reader->seed, ugds_st_count(reader->store)));
}

static bool is_right(const struct reader *reader, const ugds_st_tensor *tensor,
                     const void *found)
{
	struct ugds_st_info info = {.struct_size = sizeof(info)};

	(void)ugds_st_info(tensor, &info);
	return memcmp(found, volumes_expected(reader->volumes, tensor),
	              info.payload_bytes) == 0;
}

static struct ugds_st_read_opts any_opts(struct reader *reader)
{
	struct ugds_st_read_opts opts = UGDS_ST_READ_OPTS_INIT;

	opts.priority = (uint32_t)random_below(&reader->seed, 2);
	if (random_below(&reader->seed, 4) == 0)
		opts.deadline_ms = 1 + (uint32_t)random_below(&reader->seed, 9);
	return opts;
}

static bool is_fair(int status, const struct ugds_st_read_opts *opts)
{
	return status == UGDS_ST_OK || status == UGDS_ST_IO ||
	       (status == UGDS_ST_TIMEOUT && opts->deadline_ms);
}

static void read_list(struct reader *reader)
{
	struct ugds_st_read_opts opts = any_opts(reader);
	struct ugds_st_read reads[LIST];
	size_t count = 1 + random_below(&reader->seed, LIST);
	char *at = reader->bytes;
	char *end = reader->bytes + ROOM;

	memset(reader->bytes, CANARY, ROOM);
	for (size_t i = 0; i < count; i++) {
		struct ugds_st_info info = {.struct_size = sizeof(info)};

		reads[i] = (struct ugds_st_read)UGDS_ST_READ_INIT;
		reads[i].tensor = any_tensor(reader);
		(void)ugds_st_info(reads[i].tensor, &info);
		at += random_below(&reader->seed, 3000);
		reads[i].dst = at;
		reads[i].dst_bytes = info.payload_bytes;
		if (random_below(&reader->seed, 2))
			reads[i].buf = reader->buffer;
		at += info.payload_bytes;
	}
	(void)ugds_st_read_many(reader->store, reads, count, &opts, NULL);
	at = reader->bytes;
	for (size_t i = 0; i < count; i++) {
		for (; at < (char *)reads[i].dst; at++)
			note(reader, *at == CANARY, "a byte beside");
		note(reader, is_fair(reads[i].status, &opts), "a status");
		if (reads[i].status == UGDS_ST_OK)
			note(reader,
			     is_right(reader, reads[i].tensor, reads[i].dst),
			     "a tensor");
		at += reads[i].dst_bytes;
	}
	for (; at < end; at++)
		note(reader, *at == CANARY, "a byte behind");
}

static void get_some(struct reader *reader)
{
	struct ugds_st_read_opts opts = any_opts(reader);
	const ugds_st_tensor *tensors[LIST];
	size_t count = 1 + random_below(&reader->seed, LIST);
	ugds_st_array *array;
	int status;

	for (size_t i = 0; i < count; i++)
		tensors[i] = any_tensor(reader);
	status = ugds_st_get_tensors(reader->store, tensors, count, 0, &opts,
	                             &array, NULL);
	note(reader, is_fair(status, &opts), "the status of an array");
	if (status)
		return;
	for (size_t i = 0; i < count; i++)
		note(reader,
		     is_right(reader, tensors[i], ugds_st_array_data(array, i)),
		     "a tensor of an array");
	ugds_st_array_free(array);
}

static void *read_much(void *arg)
{
	struct reader *reader = arg;

	for (int i = 0; i < CALLS; i++) {
		if (random_below(&reader->seed, 3))
			read_list(reader);
		else
			get_some(reader);
	}
	return NULL;
}

static atomic_bool over;

static void *release_now_and_then(void *arg)
{
	struct timespec nap = ugst_timespec(3 * UGST_NS_PER_MS);

	while (!atomic_load(&over)) {
		(void)nanosleep(&nap, NULL);
		(void)ugst_compat_script_release(0);
	}
	return arg;
}

static void make_trouble(void)
{
	static const int kinds[] = {UGST_COMPAT_FAIL, UGST_COMPAT_SHORT,
	                            UGST_COMPAT_AFTER, UGST_COMPAT_LATE,
	                            UGST_COMPAT_LATE_EVENT};

	for (uint64_t i = 0; i < 30; i++)
		ugst_compat_script_fault(&(struct ugst_compat_fault){
			.kind = kinds[i % UGST_COUNT(kinds)],
			.skip = 37 * i,
			.count = 1 + i % 3,
			.after = 5 * (uint32_t)i % 40});
}

static void storm(int register_flags, unsigned max_asks)
{
	struct ugds_st_open_opts opts = UGDS_ST_OPEN_OPTS_INIT;
	struct reader readers[THREADS];
	struct async_memory memory;
	struct volumes *volumes;
	struct ugds_st_error err;
	ugds_st_store *store;
	pthread_t releaser;

	ugst_compat_script_begin(
		&(struct ugst_compat_script){.lba_bytes = 512,
	                                     .command_bytes = 8192,
	                                     .window_commands = 63});
	async_memory_init(&memory, register_flags);
	memory.max_asks = max_asks;
	volumes = volumes_new(&shape);
	opts.memory = &memory.ops;
	opts.arena_bytes = 2 * 8 * 9 * 8192; /* few slots, much used */
	store = reading_open(volumes, &opts);
	make_trouble();
	atomic_store(&over, false);
	assert_int_equal(
		pthread_create(&releaser, NULL, release_now_and_then, NULL), 0);
	for (unsigned i = 0; i < THREADS; i++) {
		readers[i] = (struct reader){
			.volumes = volumes, .store = store, .seed = i + 1};
		readers[i].bytes = ugst_alloc_aligned(ROOM, 65536);
		if (register_flags < 0)
			assert_ok(ugds_st_register(store, readers[i].bytes,
			                           ROOM, 0, &readers[i].buffer,
			                           &err),
			          err);
		assert_int_equal(pthread_create(&readers[i].thread, NULL,
		                                read_much, &readers[i]),
		                 0);
	}
	for (unsigned i = 0; i < THREADS; i++) {
		assert_int_equal(pthread_join(readers[i].thread, NULL), 0);
		if (readers[i].wrong)
			fail_msg("%s is wrong", readers[i].wrong);
		assert_ok(ugds_st_unregister(readers[i].buffer, &err), err);
		free(readers[i].bytes);
	}
	ugst_compat_script_heal();
	reading_close(store);
	atomic_store(&over, true);
	assert_int_equal(pthread_join(releaser, NULL), 0);
	for (size_t i = 0; i < UGST_COMPAT_RULE_COUNT; i++)
		if (ugst_compat_script_counts().broken[i])
			fail_msg("rule %zu was broken", i);
	assert_int_equal(ugst_compat_script_counts().bufs, 0);
	ugst_compat_script_end();
	async_memory_end(&memory);
	volumes_free(volumes);
}

static void storm_in_host_memory(void **state)
{
	(void)state;
	storm(-1, 0);
}

static void storm_in_slow_memory(void **state)
{
	(void)state;
	storm(0, 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(storm_in_host_memory),
		cmocka_unit_test(storm_in_slow_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
