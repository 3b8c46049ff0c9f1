/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_read_calls.c - what calls promise: a status for each request and one
 * for the list, an end that is told once, BUSY beside a call, nothing left
 * behind by a store that is given up.
 */
#include "support/reading.h"

#include <unistd.h>

#include "base/units.h"
#include "devices/ugds_compat_script.h"
#include "support/async_memory.h"

static const struct volumes_shape small = {
	.seed = 21,
	.volume_count = 1,
	.shard_count = 1,
	.tensor_count = 30,
	.max_tensor_bytes = 30000,
};

struct told {
	unsigned times[64];
	int status[64];
};

static void tell(void *ctx, size_t index, int status)
{
	struct told *told = ctx;

	told->times[index]++;
	told->status[index] = status;
}

static int read_told(ugds_st_store *store, struct ugds_st_read *reads,
                     size_t count, struct ugds_st_error *err)
{
	struct ugds_st_read_opts opts = UGDS_ST_READ_OPTS_INIT;
	struct told told = {0};
	int status;

	opts.ready = tell;
	opts.ctx = &told;
	for (size_t i = 0; i < count; i++) {
		reads[i].status = 99;
		reads[i].placement = 99;
	}
	status = ugds_st_read_many(store, reads, count, &opts, err);
	for (size_t i = 0; i < count; i++) {
		assert_int_equal(told.times[i], 1);
		assert_int_equal(told.status[i], reads[i].status);
		assert_int_not_equal(reads[i].placement, 99);
	}
	return status;
}

/* Requests that cannot be carried out fail alone; the text is that of the
 * first in the list. */
static void refused_alone(void **state)
{
	struct volumes *volumes = volumes_new(&small);
	ugds_st_store *store = reading_open(volumes, NULL);
	ugds_st_store *other = reading_open(volumes, NULL);
	size_t count = ugds_st_count(store);
	struct ugds_st_read *reads = reading_list(store);
	struct ugds_st_error err;

	(void)state;
	reads[7].tensor = NULL;
	reads[9].tensor = ugds_st_at(other, 9);
	free(reads[11].dst);
	reads[11].dst = NULL;
	reads[11].dst_bytes = 1 << 20;
	assert_fails(read_told(store, reads, count, &err), UGDS_ST_INVALID_ARG,
	             err);
	assert_non_null(strstr(err.text, "NULL"));
	for (size_t i = 0; i < count; i++) {
		if (reads[i].status) {
			assert_int_equal(reads[i].status, UGDS_ST_INVALID_ARG);
			assert_true(i == 7 || i == 9 || i == 11);
			continue;
		}
		reading_expect(volumes, reads[i].tensor, reads[i].dst);
	}
	reading_free(reads, count);
	reading_close(other);
	reading_close(store);
	volumes_free(volumes);
}

/* The first in the list that fails is the last in time; and a request that
 * was refused comes before or after it. */
static void first_in_list_order(void **state)
{
	struct volumes *volumes = volumes_new(&small);
	ugds_st_store *store = reading_open(volumes, NULL);
	size_t count = ugds_st_count(store);
	struct ugds_st_read *reads = reading_list(store);
	struct ugds_st_error err;
	size_t first = 0;
	size_t last = 0;
	const char *name;

	(void)state;
	reading_close(store);
	ugst_compat_script_begin(&(struct ugst_compat_script){
		.lba_bytes = 512, .command_bytes = 4096});
	store = reading_open(volumes, NULL);
	/* Against the order on the device. */
	for (size_t i = 0; i < count; i++) {
		reads[i].tensor = ugds_st_at(store, count - 1 - i);
		reads[i].dst_bytes = 1 << 20;
		reads[i].dst = realloc(reads[i].dst, reads[i].dst_bytes);
	}
	for (size_t i = 0; i < count && last <= first; i++) {
		struct ugds_st_info info = reading_info(reads[i].tensor);

		if (i < 2 || i == 10 || info.payload_bytes < 2048)
			continue;
		ugst_compat_script_fault(&(struct ugst_compat_fault){
			.kind = UGST_COMPAT_FAIL,
			.device_off = info.device_off + 1024,
			.device_bytes = 1});
		last = i;
		first = first ? first : i;
	}
	assert_true(first < 10 && first < last);
	name = reading_info(reads[first].tensor).name;
	assert_fails(read_told(store, reads, count, &err), UGDS_ST_IO, err);
	assert_int_equal(reads[first].status, UGDS_ST_IO);
	assert_int_equal(reads[last].status, UGDS_ST_IO);
	assert_non_null(strstr(err.text, name));
	reads[10].row_first = 1;
	assert_fails(read_told(store, reads, count, &err), UGDS_ST_IO, err);
	assert_non_null(strstr(err.text, name));
	assert_int_equal(reads[10].status, UGDS_ST_INVALID_ARG);
	reads[1].row_first = 1;
	assert_fails(read_told(store, reads, count, &err), UGDS_ST_INVALID_ARG,
	             err);
	assert_non_null(strstr(err.text, reading_info(reads[1].tensor).name));
	reading_close(store);
	ugst_compat_script_end();
	reading_free(reads, count);
	volumes_free(volumes);
}

/* A checkpoint that is not imported has nothing to read: each request says
 * so. */
static void nothing_to_read(void **state)
{
	struct volumes *volumes = volumes_new(&small);
	char *path = ugst_printf("%s/model.safetensors", volumes->dir);
	ugds_st_store *store;
	struct ugds_st_read *reads;
	struct ugds_st_error err;
	FILE *file = fopen(path, "w");

	(void)state;
	assert_non_null(file);
	assert_int_equal(fwrite(volumes->shards[0].bytes, 1,
	                        volumes->document.shards[0].bytes, file),
	                 volumes->document.shards[0].bytes);
	assert_int_equal(fclose(file), 0);
	assert_ok(ugds_st_inspect(path, &store, &err), err);
	reads = reading_list(store);
	assert_fails(read_told(store, reads, 3, &err), UGDS_ST_UNSUPPORTED,
	             err);
	for (size_t i = 0; i < 3; i++)
		assert_int_equal(reads[i].status, UGDS_ST_UNSUPPORTED);
	reading_free(reads, ugds_st_count(store));
	reading_close(store);
	(void)unlink(path);
	free(path);
	volumes_free(volumes);
}

static void close_it(void *store)
{
	struct ugds_st_error err;

	assert_fails(ugds_st_close(store, 0, &err), UGDS_ST_BUSY, err);
	assert_fails(ugds_st_close(store, UGDS_ST_CLOSE_ABANDON, &err),
	             UGDS_ST_BUSY, err);
}

static void close_when_ready(void *store, size_t index, int status)
{
	(void)index;
	(void)status;
	close_it(store);
}

/* Another thread closes the store while a call is anywhere in it. */
static void close_beside_calls(void **state)
{
	struct volumes *volumes = volumes_new(&small);
	struct ugds_st_open_opts opts = UGDS_ST_OPEN_OPTS_INIT;
	struct ugds_st_read_opts read_opts = UGDS_ST_READ_OPTS_INIT;
	const ugds_st_tensor *tensor;
	struct async_memory memory;
	struct ugds_st_error err;
	ugds_st_store *store;
	ugds_st_array *array;

	(void)state;
	async_memory_init(&memory, 0);
	opts.memory = &memory.ops;
	store = reading_open(volumes, &opts);
	memory.on_alloc = close_it;
	memory.on_alloc_ctx = store;
	assert_ok(ugds_st_get_tensor(store, "s0.t1", &array, &err), err);
	memory.on_alloc = NULL;
	ugds_st_array_free(array);
	read_opts.ready = close_when_ready;
	read_opts.ctx = store;
	tensor = ugds_st_at(store, 1);
	assert_ok(ugds_st_get_tensors(store, &tensor, 1, 0, &read_opts, &array,
	                              &err),
	          err);
	ugds_st_array_free(array);
	reading_close(store);
	async_memory_end(&memory);
	volumes_free(volumes);
}

/* What a store is given up with is free to be used by the next one: memory
 * that was registered with it and that no command can write to any more. */
static void abandoned_buffer_is_free(void **state)
{
	struct volumes *volumes = volumes_new(&small);
	struct ugds_st_open_opts opts = UGDS_ST_OPEN_OPTS_INIT;
	char *memory = ugst_alloc_aligned(1 << 20, 65536);
	struct ugds_st_error err;
	ugds_st_store *store;
	ugds_st_buffer *buffer;
	ugds_st_array *array;

	(void)state;
	for (int lost = 0; lost < 2; lost++) {
		ugst_compat_script_begin(&(struct ugst_compat_script){0});
		opts.silence_ms = 1000; /* longer than a busy machine stalls */
		store = reading_open(volumes, &opts);
		assert_ok(ugds_st_register(store, memory, 1 << 20, 0, &buffer,
		                           &err),
		          err);
		if (lost) {
			ugst_compat_script_remove(0);
			assert_fails(ugds_st_get_tensor(store, "s0.t1", &array,
			                                &err),
			             UGDS_ST_DEVICE_LOST, err);
		}
		assert_ok(ugds_st_close(store, UGDS_ST_CLOSE_ABANDON, &err),
		          err);
		assert_int_equal(ugst_compat_script_counts().handles, 0);
		/* Nothing was lost, nothing is kept. */
		if (!lost)
			assert_int_equal(ugst_compat_script_counts().bufs, 0);
		store = reading_open(volumes, &opts);
		assert_ok(ugds_st_register(store, memory, 1 << 20, 0, &buffer,
		                           &err),
		          err);
		assert_ok(ugds_st_unregister(buffer, &err), err);
		reading_close(store);
		assert_int_equal(ugst_compat_script_counts().violations, 0);
		ugst_compat_script_end();
	}
	free(memory);
	volumes_free(volumes);
}

/* A lost device keeps the buffer that it was reading into, and no other. */
static void unregister_after_loss(void **state)
{
	static const struct volumes_shape large = {.seed = 22,
	                                           .volume_count = 1,
	                                           .shard_count = 1,
	                                           .tensor_count = 6,
	                                           .max_tensor_bytes = 900000,
	                                           .lead = true};
	struct volumes *volumes = volumes_new(&large);
	struct ugds_st_open_opts opts = UGDS_ST_OPEN_OPTS_INIT;
	struct ugds_st_read read = UGDS_ST_READ_INIT;
	char *memory = ugst_alloc_aligned(2 << 20, 65536);
	ugds_st_buffer *buffers[2];
	struct ugds_st_error err;
	struct ugds_st_info info;
	ugds_st_store *store;
	size_t i = 0;

	(void)state;
	ugst_compat_script_begin(&(struct ugst_compat_script){0});
	opts.silence_ms = 1000; /* longer than a busy machine stalls */
	store = reading_open(volumes, &opts);
	for (size_t k = 0; k < 2; k++)
		assert_ok(ugds_st_register(store, memory + (k << 20), 1 << 20,
		                           0, &buffers[k], &err),
		          err);
	do {
		read.tensor = ugds_st_at(store, i++);
		assert_non_null(read.tensor);
		info = reading_info(read.tensor);
	} while (info.payload_bytes < 400000);
	read.dst = memory + info.skew_bytes;
	read.dst_bytes = info.payload_bytes;
	read.buf = buffers[0];
	assert_ok(ugds_st_read_many(store, &read, 1, NULL, &err), err);
	assert_int_not_equal(read.placement, UGDS_ST_PLACED_STAGED);
	ugst_compat_script_remove(0);
	assert_fails(ugds_st_read_many(store, &read, 1, NULL, &err),
	             UGDS_ST_DEVICE_LOST, err);
	assert_true(ugst_compat_script_memory_busy(memory, 1 << 20));
	assert_fails(ugds_st_unregister(buffers[0], &err), UGDS_ST_DEVICE_LOST,
	             err);
	assert_ok(ugds_st_unregister(buffers[1], &err), err);
	assert_fails(ugds_st_close(store, 0, &err), UGDS_ST_BUSY, err);
	assert_ok(ugds_st_close(store, UGDS_ST_CLOSE_ABANDON, &err), err);
	/* It asked for one buffer that was in use, and was told so. */
	assert_int_equal(
		ugst_compat_script_counts().broken[UGST_COMPAT_RULE_DEREGISTER],
		ugst_compat_script_counts().violations);
	ugst_compat_script_end();
	free(memory);
	volumes_free(volumes);
}

/* The structs of other callers: older, newer, never set. */
static void structs_of_other_sizes(void **state)
{
	struct volumes *volumes = volumes_new(&small);
	struct ugds_st_open_opts opts = UGDS_ST_OPEN_OPTS_INIT;
	struct async_memory memory;
	struct ugds_st_memory_ops *ops = &memory.ops;
	struct ugds_st_error err;
	ugds_st_store *store;

	(void)state;
	async_memory_init(&memory, 0);
	opts.memory = ops;
	ops->struct_size = 0;
	assert_fails(ugds_st_open(volumes->manifest, &opts, &store, &err),
	             UGDS_ST_INVALID_ARG, err);
	/* Stack garbage: not followed to the end of memory. */
	opts.struct_size = SIZE_MAX / 3;
	assert_fails(ugds_st_open(volumes->manifest, &opts, &store, &err),
	             UGDS_ST_INVALID_ARG, err);
	opts.struct_size = sizeof(opts);
	/* Built when there was no more than what is needed; what follows in
	 * memory is something else. */
	ops->struct_size = offsetof(struct ugds_st_memory_ops, registrable);
	memset((char *)ops + ops->struct_size, 0x5a,
	       sizeof(*ops) - ops->struct_size);
	assert_ok(ugds_st_open(volumes->manifest, &opts, &store, &err), err);
	reading_close(store);
	ops->done = NULL;
	assert_fails(ugds_st_open(volumes->manifest, &opts, &store, &err),
	             UGDS_ST_INVALID_ARG, err);
	assert_non_null(strstr(err.text, "done"));
	async_memory_end(&memory);
	volumes_free(volumes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(refused_alone),
		cmocka_unit_test(first_in_list_order),
		cmocka_unit_test(nothing_to_read),
		cmocka_unit_test(close_beside_calls),
		cmocka_unit_test(abandoned_buffer_is_free),
		cmocka_unit_test(unregister_after_loss),
		cmocka_unit_test(structs_of_other_sizes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
