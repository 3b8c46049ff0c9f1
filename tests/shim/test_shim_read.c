/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_shim_read.c - every way to read, with the real uGDS and GPU memory.
 *
 * run.sh repeats this over block sizes, command sizes, queue depths and bus
 * addresses.
 */
#include "shim/rig.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#include "devices/ugds.h"

#define FILL 0x5a

static const struct volumes_shape shape = {
	.seed = 6,
	.volume_count = 1,
	.shard_count = 2,
	.tensor_count = 50,
	.max_tensor_bytes = 1500000,
};

/* --------------------------------------------------------------- places */

static void staged_to_host(void **state)
{
	ugds_st_store *store = rig_open(NULL);
	size_t room = shape.max_tensor_bytes + 8192;
	char *memory = malloc(room);
	struct ugds_st_error err;

	(void)state;
	for (size_t i = 0; i < ugds_st_count(store); i++) {
		struct ugds_st_info info = reading_info(ugds_st_at(store, i));
		char *dst = memory + 100 + i % 17;

		memset(memory, FILL, room);
		assert_ok(ugds_st_read_into(store, info.name, dst,
		                            info.payload_bytes, &err),
		          err);
		reading_expect(rig_volumes, ugds_st_at(store, i), dst);
		for (char *at = memory; at < memory + room; at++)
			if (at < dst || at >= dst + info.payload_bytes)
				assert_int_equal(*at, FILL);
	}
	free(memory);
	reading_close(store);
}

static void staged_to_device(void **state)
{
	ugds_st_store *store = rig_open(NULL);
	size_t room = shape.max_tensor_bytes + 8192;
	char *memory = rig_alloc(room, FILL);
	struct ugds_st_error err;

	(void)state;
	for (size_t i = 0; i < ugds_st_count(store); i++) {
		const ugds_st_tensor *tensor = ugds_st_at(store, i);
		struct ugds_st_info info = reading_info(tensor);
		char *dst = memory + 4000 + i % 299;

		assert_ok(ugds_st_read_into(store, info.name, dst,
		                            info.payload_bytes, &err),
		          err);
		rig_expect(tensor, dst);
		rig_expect_fill(memory, dst, FILL);
		rig_expect_fill(dst + info.payload_bytes, memory + room, FILL);
		assert_int_equal(cudaMemset(memory, FILL, room), cudaSuccess);
	}
	rig_free(memory, room);
	reading_close(store);
}

/* Requests for all tensors into one arena as ugds_st_layout() says; at any
 * byte, so that all can be read directly wherever they lie on the drive. */
struct arena {
	size_t count;
	const ugds_st_tensor **tensors;
	uint64_t *offs;
	uint64_t bytes;
	char *memory;
	struct ugds_st_read *reads;
};

static void arena_new(struct arena *arena, ugds_st_store *store)
{
	arena->count = ugds_st_count(store);
	arena->tensors = ugst_calloc(arena->count, sizeof(*arena->tensors));
	arena->offs = ugst_calloc(arena->count, sizeof(*arena->offs));
	arena->reads = ugst_calloc(arena->count, sizeof(*arena->reads));
	for (size_t i = 0; i < arena->count; i++)
		arena->tensors[i] = ugds_st_at(store, i);
	assert_int_equal(ugds_st_layout(arena->tensors, arena->count, 1,
	                                arena->offs, &arena->bytes),
	                 UGDS_ST_OK);
	arena->memory = rig_alloc(arena->bytes, FILL);
}

static void arena_fill_reads(struct arena *arena, ugds_st_buffer *buffer)
{
	for (size_t i = 0; i < arena->count; i++)
		arena->reads[i] = (struct ugds_st_read){
			.struct_size = sizeof(struct ugds_st_read),
			.tensor = arena->tensors[i],
			.dst = arena->memory + arena->offs[i],
			.dst_bytes =
				reading_info(arena->tensors[i]).payload_bytes,
			.buf = buffer,
		};
}

/* Every tensor is there, and nothing between them was touched. */
static void arena_expect(const struct arena *arena)
{
	char *copy = malloc(arena->bytes);

	for (size_t i = 0; i < arena->count; i++)
		rig_expect(arena->tensors[i], arena->memory + arena->offs[i]);
	assert_int_equal(cudaMemcpy(copy, arena->memory, arena->bytes,
	                            cudaMemcpyDeviceToHost),
	                 cudaSuccess);
	for (size_t i = 0; i < arena->count; i++)
		memset(copy + arena->offs[i], FILL, arena->reads[i].dst_bytes);
	for (size_t i = 0; i < arena->bytes; i++)
		assert_int_equal(copy[i], FILL);
	free(copy);
}

static void arena_free(struct arena *arena)
{
	rig_free(arena->memory, arena->bytes);
	free(arena->tensors);
	free(arena->offs);
	free(arena->reads);
}

static void direct(void **state)
{
	ugds_st_store *store = rig_open(NULL);
	struct ugds_st_stats stats = {.struct_size = sizeof(stats)};
	struct ugds_st_error err;
	struct arena arena;
	ugds_st_buffer *buffer;

	(void)state;
	arena_new(&arena, store);
	assert_ok(ugds_st_register(store, arena.memory, arena.bytes, 0, &buffer,
	                           &err),
	          err);
	arena_fill_reads(&arena, buffer);
	assert_ok(
		ugds_st_read_many(store, arena.reads, arena.count, NULL, &err),
		err);
	arena_expect(&arena);
	for (size_t i = 0; i < arena.count; i++) {
		assert_int_equal(arena.reads[i].status, UGDS_ST_OK);
		if (arena.reads[i].dst_bytes > 600000)
			assert_int_not_equal(arena.reads[i].placement,
			                     UGDS_ST_PLACED_STAGED);
	}
	assert_int_equal(ugds_st_get_stats(store, &stats), UGDS_ST_OK);
	assert_true(stats.direct_bytes > stats.staged_bytes);
	assert_fails(ugds_st_close(store, 0, &err), UGDS_ST_BUSY, err);
	assert_ok(ugds_st_unregister(buffer, &err), err);
	arena_free(&arena);
	reading_close(store);
}

/* Memory that cannot be registered is refused before uGDS rounds it. */
static void bad_buffers(void **state)
{
	ugds_st_store *store = rig_open(NULL);
	char *memory = rig_alloc(4 * RIG_GPU_PAGE, FILL);
	void *host = aligned_alloc(RIG_GPU_PAGE, RIG_GPU_PAGE);
	uint64_t maps = shim_sum("maps_dev");
	uint64_t map_errors = shim_sum("map_errors");
	ugds_st_buffer *buffer = NULL;
	struct ugds_st_error err;

	(void)state;
	assert_fails(ugds_st_register(store, memory + 4096, RIG_GPU_PAGE, 0,
	                              &buffer, &err),
	             UGDS_ST_INVALID_ARG, err);
	assert_fails(ugds_st_register(store, memory, 4096, 0, &buffer, &err),
	             UGDS_ST_INVALID_ARG, err);
	assert_fails(
		ugds_st_register(store, host, RIG_GPU_PAGE, 0, &buffer, &err),
		UGDS_ST_UNSUPPORTED, err);
	assert_null(buffer);
	assert_int_equal(shim_sum("maps_dev"), maps);
	assert_int_equal(shim_sum("map_errors"), map_errors);
	/* twice the same */
	assert_ok(ugds_st_register(store, memory, 2 * RIG_GPU_PAGE, 0, &buffer,
	                           &err),
	          err);
	assert_fails(ugds_st_register(store, memory, 2 * RIG_GPU_PAGE, 0,
	                              &buffer, &err),
	             UGDS_ST_INVALID_ARG, err);
	assert_ok(ugds_st_unregister(buffer, &err), err);
	rig_free(memory, 4 * RIG_GPU_PAGE);
	free(host);
	reading_close(store);
}

static void arrays(void **state)
{
	ugds_st_store *store = rig_open(NULL);
	const ugds_st_tensor *tensors[100];
	ugds_st_array *array;
	struct ugds_st_error err;
	size_t count = ugds_st_count(store);

	(void)state;
	assert_int_equal(count, 100);
	for (size_t i = 0; i < count; i++)
		tensors[i] = ugds_st_at(store, (i * 7) % count);
	assert_ok(ugds_st_get_tensors(store, tensors, count, 0, NULL, &array,
	                              &err),
	          err);
	for (size_t i = 0; i < count; i++)
		rig_expect(tensors[i], ugds_st_array_data(array, i));
	reading_close(store);
	/* outlives the store, and the drive is given back */
	assert_int_equal(shim_sum("live_maps"), 0);
	assert_memory_equal(ugds_st_array_info(array, 0)->name, "s0.t0", 5);
	ugds_st_array_free(array);
}

/* Copies on the caller's stream: the call returns when they are enqueued. */
static void on_a_stream(void **state)
{
	ugds_st_store *store = rig_open(NULL);
	struct ugds_st_read_opts opts = UGDS_ST_READ_OPTS_INIT;
	struct ugds_st_error err;
	struct arena arena;
	cudaStream_t stream;

	(void)state;
	assert_int_equal(
		cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking),
		cudaSuccess);
	opts.stream = stream;
	arena_new(&arena, store);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(cudaMemsetAsync(arena.memory, FILL,
		                                 arena.bytes, stream),
		                 cudaSuccess);
		arena_fill_reads(&arena, NULL);
		assert_ok(ugds_st_read_many(store, arena.reads, arena.count,
		                            &opts, &err),
		          err);
	}
	assert_int_equal(cudaStreamSynchronize(stream), cudaSuccess);
	arena_expect(&arena);
	arena_free(&arena);
	assert_int_equal(cudaStreamDestroy(stream), cudaSuccess);
	reading_close(store);
}

static void verify(void **state)
{
	ugds_st_store *store = rig_open(NULL);
	struct ugds_st_error err;

	(void)state;
	assert_ok(ugds_st_verify(store, NULL, NULL, &err), err);
	reading_close(store);
}

/* -------------------------------------------------------------- threads */

static void *read_some(void *ctx)
{
	static atomic_uint next;
	ugds_st_store *store = ctx;
	unsigned mine = atomic_fetch_add(&next, 1);
	size_t count = ugds_st_count(store);
	struct ugds_st_error err;
	char *memory = malloc(shape.max_tensor_bytes);

	for (size_t i = 0; i < count; i++) {
		const ugds_st_tensor *tensor =
			ugds_st_at(store, (i * 3 + mine * 11) % count);
		struct ugds_st_info info = {.struct_size = sizeof(info)};

		(void)ugds_st_info(tensor, &info);
		if (ugds_st_read_into(store, info.name, memory,
		                      info.payload_bytes, &err))
			return "read";
		if (memcmp(memory, volumes_expected(rig_volumes, tensor),
		           info.payload_bytes) != 0)
			return "bytes";
	}
	free(memory);
	return NULL;
}

static void threads(void **state)
{
	ugds_st_store *stores[2] = {rig_open(NULL), rig_open(NULL)};
	pthread_t ids[4];

	(void)state;
	/* two stores, one device, one batch */
	for (size_t i = 0; i < UGST_COUNT(ids); i++)
		assert_int_equal(
			pthread_create(&ids[i], NULL, read_some, stores[i % 2]),
			0);
	for (size_t i = 0; i < UGST_COUNT(ids); i++) {
		void *what;

		assert_int_equal(pthread_join(ids[i], &what), 0);
		assert_null(what);
	}
	reading_close(stores[0]);
	assert_null(read_some(stores[1]));
	reading_close(stores[1]);
}

/* ---------------------------------------------------------------- guest */

static void lent_handle(void **state)
{
	const char *const devices[] = {RIG_DEVICE};
	struct ugds_st_open_opts opts = UGDS_ST_OPEN_OPTS_INIT;
	struct ugst_ugds_descr descr = {.type = UGST_UGDS_HANDLE_TYPE_FD};
	const struct ugst_ugds *ugds;
	struct ugds_st_error err;
	ugds_st_store *store;
	void *handle;
	void *batch;
	uint64_t resets;
	uint64_t bytes;

	(void)state;
	assert_ok(ugst_ugds_load(NULL, NULL, &ugds, &err), err);
	assert_int_equal(ugds->driver_open().code, 0);
	descr.u.fd = open(RIG_DEVICE, O_RDWR | O_CLOEXEC);
	assert_int_equal(ugds->handle_register(&handle, &descr).code, 0);
	resets = ugds_shim_stat(0, "resets");
	opts.devices = devices;
	opts.device_count = 1;
	opts.ugds_handle = handle;
	store = rig_open(&opts);
	for (size_t i = 0; i < 10; i++) {
		const ugds_st_tensor *tensor = ugds_st_at(store, i);
		struct ugds_st_info info = reading_info(tensor);
		char *memory = malloc(info.payload_bytes + 1);

		/* between our calls the handle's batch is the engine's */
		assert_int_equal(ugds->batch_setup(&batch, handle, 8).code, 0);
		ugds->batch_destroy(batch);
		assert_ok(ugds_st_read_into(store, info.name, memory,
		                            info.payload_bytes, &err),
		          err);
		reading_expect(rig_volumes, tensor, memory);
		free(memory);
	}
	reading_close(store);
	assert_int_equal(ugds_shim_stat(0, "resets"), resets);
	assert_int_equal(ugds->device_capacity(handle, &bytes).code, 0);
	assert_int_equal(ugds->handle_deregister(handle, 0).code, 0);
	(void)close(descr.u.fd);
}

static void engines_registration(void **state)
{
	ugds_st_store *store = rig_open(NULL);
	const struct ugst_ugds *ugds;
	struct ugds_st_error err;
	struct arena arena;
	ugds_st_buffer *buffer;

	(void)state;
	assert_ok(ugst_ugds_load(NULL, NULL, &ugds, &err), err);
	arena_new(&arena, store);
	assert_int_equal(ugds->buf_register(arena.memory, arena.bytes, 0).code,
	                 0);
	assert_ok(ugds_st_register(store, arena.memory, arena.bytes,
	                           UGDS_ST_REGISTERED, &buffer, &err),
	          err);
	arena_fill_reads(&arena, buffer);
	assert_ok(
		ugds_st_read_many(store, arena.reads, arena.count, NULL, &err),
		err);
	arena_expect(&arena);
	assert_ok(ugds_st_unregister(buffer, &err), err);
	assert_int_equal(ugds->buf_deregister(arena.memory).code, 0);
	arena_free(&arena);
	reading_close(store);
}

static void refusals(void **state)
{
	const char *const devices[] = {RIG_DEVICE};
	struct ugds_st_open_opts opts = UGDS_ST_OPEN_OPTS_INIT;
	ugds_st_store *store = NULL;
	struct ugds_st_error err;

	(void)state;
	opts.devices = devices;
	opts.device_count = 1;
	assert_fails(ugds_st_open(rig_volumes->manifest, &opts, &store, &err),
	             UGDS_ST_UNSUPPORTED, err);
	assert_non_null(strstr(err.text, "host memory"));
	opts.memory = rig_cuda;
	opts.provider = UGDS_ST_PROVIDER_COMPAT;
	assert_fails(ugds_st_open(rig_volumes->manifest, &opts, &store, &err),
	             UGDS_ST_UNSUPPORTED, err);
	opts.provider = UGDS_ST_PROVIDER_AUTO;
	opts.libugds_path = "/nowhere/libugds.so";
	assert_fails(ugds_st_open(rig_volumes->manifest, &opts, &store, &err),
	             UGDS_ST_MISMATCH, err);
	assert_null(store);
}

/* Compatibility mode with GPU memory: files, a pinned arena and one copy. */
static void files_to_device(void **state)
{
	struct ugds_st_open_opts opts = UGDS_ST_OPEN_OPTS_INIT;
	ugds_st_buffer *buffer = NULL;
	ugds_st_store *store = NULL;
	struct ugds_st_error err;
	struct arena arena;

	(void)state;
	opts.memory = rig_cuda;
	assert_ok(ugds_st_open(rig_volumes->manifest, &opts, &store, &err),
	          err);
	arena_new(&arena, store);
	assert_fails(ugds_st_register(store, arena.memory, arena.bytes, 0,
	                              &buffer, &err),
	             UGDS_ST_UNSUPPORTED, err);
	arena_fill_reads(&arena, NULL);
	assert_ok(
		ugds_st_read_many(store, arena.reads, arena.count, NULL, &err),
		err);
	arena_expect(&arena);
	arena_free(&arena);
	reading_close(store);
}

static int run(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(staged_to_host, rig_check_clean),
		cmocka_unit_test_teardown(staged_to_device, rig_check_clean),
		cmocka_unit_test_teardown(direct, rig_check_clean),
		cmocka_unit_test_teardown(bad_buffers, rig_check_clean),
		cmocka_unit_test_teardown(arrays, rig_check_clean),
		cmocka_unit_test_teardown(on_a_stream, rig_check_clean),
		cmocka_unit_test_teardown(verify, rig_check_clean),
		cmocka_unit_test_teardown(threads, rig_check_clean),
		cmocka_unit_test_teardown(lent_handle, rig_check_clean),
		cmocka_unit_test_teardown(engines_registration,
	                                  rig_check_clean),
		cmocka_unit_test_teardown(refusals, rig_check_clean),
		cmocka_unit_test_teardown(files_to_device, rig_check_clean),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

int main(void)
{
	return rig_main(&shape, run);
}
