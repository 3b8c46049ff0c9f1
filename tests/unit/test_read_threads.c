/* SPDX-License-Identifier: BSD-3-Clause */
/* test_read_threads.c - many threads on one store. */
#include "support/reading.h"

#include <pthread.h>

#include "devices/ugds_compat_script.h"
#include "support/random.h"

#define THREADS 8

static const struct volumes_shape small = {
	.seed = 5,
	.volume_count = 2,
	.shard_count = 4,
	.tensor_count = 30,
	.max_tensor_bytes = 500000,
};

struct reader {
	pthread_t thread;
	const struct volumes *volumes;
	ugds_st_store *store;
	uint64_t seed;
	char *memory; /* registered */
	ugds_st_buffer *buffer;
	unsigned wrong;
};

/* Threads count what is wrong: CMocka's assertions belong to the main one. */
static bool is_right(const struct reader *reader, const ugds_st_tensor *tensor,
                     const void *found, uint64_t bytes)
{
	return memcmp(found, volumes_expected(reader->volumes, tensor),
	              bytes) == 0;
}

static void read_one(struct reader *reader, const ugds_st_tensor *tensor)
{
	struct ugds_st_read_opts opts = UGDS_ST_READ_OPTS_INIT;
	struct ugds_st_read read = UGDS_ST_READ_INIT;
	struct ugds_st_info info = {.struct_size = sizeof(info)};

	(void)ugds_st_info(tensor, &info);
	opts.priority = (uint32_t)random_below(&reader->seed, 2);
	read.tensor = tensor;
	read.dst = reader->memory + info.skew_bytes;
	read.dst_bytes = info.payload_bytes;
	if (random_below(&reader->seed, 2))
		read.buf = reader->buffer;
	if (ugds_st_read_many(reader->store, &read, 1, &opts, NULL) ||
	    !is_right(reader, tensor, read.dst, info.payload_bytes))
		reader->wrong++;
}

static void read_some(struct reader *reader)
{
	const ugds_st_tensor *tensors[10];
	ugds_st_array *array;

	for (int i = 0; i < 10; i++)
		tensors[i] = ugds_st_at(reader->store,
		                        random_below(&reader->seed, 120));
	if (ugds_st_get_tensors(reader->store, tensors, 10, 0, NULL, &array,
	                        NULL)) {
		reader->wrong++;
		return;
	}
	for (size_t i = 0; i < 10; i++)
		if (!is_right(reader, tensors[i], ugds_st_array_data(array, i),
		              ugds_st_array_info(array, i)->payload_bytes))
			reader->wrong++;
	ugds_st_array_free(array);
}

static void *read_much(void *arg)
{
	struct reader *reader = arg;

	for (int i = 0; i < 60; i++) {
		const ugds_st_tensor *tensor = ugds_st_at(
			reader->store, random_below(&reader->seed, 120));

		if (random_below(&reader->seed, 5))
			read_one(reader, tensor);
		else
			read_some(reader);
	}
	return NULL;
}

static void many_readers(const struct ugst_compat_script *script)
{
	struct reader readers[THREADS];
	struct volumes *volumes;
	ugds_st_store *store;
	struct ugst_compat_counts counts;
	struct ugds_st_error err;

	ugst_compat_script_begin(script);
	volumes = volumes_new(&small);
	store = reading_open(volumes, NULL);
	for (unsigned i = 0; i < THREADS; i++) {
		readers[i] = (struct reader){
			.volumes = volumes, .store = store, .seed = i + 1};
		readers[i].memory = ugst_alloc_aligned(1 << 20, 65536);
		assert_ok(ugds_st_register(store, readers[i].memory, 1 << 20, 0,
		                           &readers[i].buffer, &err),
		          err);
		assert_int_equal(pthread_create(&readers[i].thread, NULL,
		                                read_much, &readers[i]),
		                 0);
	}
	for (unsigned i = 0; i < THREADS; i++) {
		assert_int_equal(pthread_join(readers[i].thread, NULL), 0);
		assert_int_equal(readers[i].wrong, 0);
		assert_ok(ugds_st_unregister(readers[i].buffer, &err), err);
		free(readers[i].memory);
	}
	reading_close(store);
	counts = ugst_compat_script_counts();
	assert_int_equal(counts.violations, 0);
	assert_int_equal(counts.bufs, 0);
	ugst_compat_script_end();
	volumes_free(volumes);
}

static void many_readers_plain(void **state)
{
	(void)state;
	many_readers(&(struct ugst_compat_script){0});
}

static void many_readers_of_a_drive(void **state)
{
	(void)state;
	many_readers(&(struct ugst_compat_script){.lba_bytes = 512,
	                                          .command_bytes = 65536,
	                                          .window_commands = 63});
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(many_readers_plain),
		cmocka_unit_test(many_readers_of_a_drive),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
