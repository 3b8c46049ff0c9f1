/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_gpu.c - tensors from volume files into the memory of a real GPU.
 *
 * Compatibility mode and CUDA: what a machine with a GPU and no uGDS drive can
 * prove. Checks bytes for every placement, and says what it measured.
 * UGDS_ST_GPU_MIB sets the size of the checkpoint, UGDS_ST_GPU_ARENA_MIB that
 * of the arena which it fills again and again.
 */
#include "support/reading.h"

#include <cuda_runtime.h>
#include <pthread.h>
#include <stdatomic.h>

#include "base/clock.h"
#include "base/units.h"
#include "ugds_st_cuda.h"

#define FILL 0x5a
#define TENSOR_COUNT 200u
#define THREAD_COUNT 8u

static struct volumes *volumes;
static const struct ugds_st_memory_ops *cuda;

static uint64_t setting_mib(const char *name, uint64_t unset)
{
	const char *text = getenv(name);

	return (text ? strtoull(text, NULL, 10) : unset) * UGST_MIB;
}

static double gib_per_s(uint64_t bytes, uint64_t begin_ns)
{
	return (double)bytes / (double)UGST_GIB /
	       ((double)(ugst_now_ns() - begin_ns) / 1e9);
}

static int set_up(void **state)
{
	uint64_t bytes = setting_mib("UGDS_ST_GPU_MIB", 2048);
	struct volumes_shape shape = {
		.seed = 11,
		.volume_count = 1,
		.shard_count = 1,
		.tensor_count = TENSOR_COUNT,
		/* a third is small, the rest half of this on average */
		.max_tensor_bytes = 3 * bytes / TENSOR_COUNT,
		.lead = true,
	};
	struct ugds_st_error err;

	(void)state;
	assert_ok(ugds_st_memory_cuda_open(0, &cuda, &err), err);
	volumes = volumes_new(&shape);
	print_message("fence after DMA by others: %s\n",
	              cuda->fence ? "needed" : "not needed");
	return 0;
}

static int tear_down(void **state)
{
	struct ugds_st_error err;

	(void)state;
	volumes_free(volumes);
	assert_ok(ugds_st_memory_cuda_close(cuda, &err), err);
	return 0;
}

static ugds_st_store *open_store(void)
{
	struct ugds_st_open_opts opts = UGDS_ST_OPEN_OPTS_INIT;

	opts.memory = cuda;
	opts.arena_bytes = 64 * UGST_MIB;
	return reading_open(volumes, &opts);
}

static char *alloc(size_t bytes)
{
	void *memory;

	assert_int_equal(cuda->alloc(cuda->ctx, bytes, 65536, &memory), 0);
	assert_int_equal(cudaMemset(memory, FILL, bytes), cudaSuccess);
	return memory;
}

/* room must hold what is compared */
static bool equal(const void *device, const void *expected, size_t bytes,
                  char *room)
{
	return bytes == 0 ||
	       (cudaMemcpy(room, device, bytes, cudaMemcpyDeviceToHost) ==
	                cudaSuccess &&
	        memcmp(room, expected, bytes) == 0);
}

static uint64_t largest_bytes(const ugds_st_store *store)
{
	uint64_t largest = 1;

	for (size_t i = 0; i < ugds_st_count(store); i++)
		largest = ugst_max(
			largest,
			reading_info(ugds_st_at(store, i)).payload_bytes);
	return largest;
}

/* At every odd place, and nothing beside it. */
static void placements(void **state)
{
	ugds_st_store *store = open_store();
	size_t room_bytes = largest_bytes(store) + 8192;
	char *memory = alloc(room_bytes);
	char *room = malloc(room_bytes);
	struct ugds_st_error err;

	(void)state;
	for (size_t i = 0; i < ugds_st_count(store); i += 3) {
		const ugds_st_tensor *tensor = ugds_st_at(store, i);
		struct ugds_st_info info = reading_info(tensor);
		size_t before = 4000 + i % 96;

		assert_ok(ugds_st_read_into(store, info.name, memory + before,
		                            info.payload_bytes, &err),
		          err);
		assert_int_equal(cudaMemcpy(room, memory,
		                            before + info.payload_bytes + 96,
		                            cudaMemcpyDeviceToHost),
		                 cudaSuccess);
		reading_expect(volumes, tensor, room + before);
		for (size_t k = 0; k < before; k++)
			assert_int_equal(room[k], FILL);
		for (size_t k = 0; k < 96; k++)
			assert_int_equal(room[before + info.payload_bytes + k],
			                 FILL);
		/* into host memory, by way of the same store */
		assert_ok(ugds_st_read_into(store, info.name, room,
		                            info.payload_bytes, &err),
		          err);
		reading_expect(volumes, tensor, room);
		assert_int_equal(cudaMemset(memory, FILL, room_bytes),
		                 cudaSuccess);
	}
	free(room);
	cuda->free(cuda->ctx, memory, room_bytes);
	reading_close(store);
}

static void arrays(void **state)
{
	ugds_st_store *store = open_store();
	const ugds_st_tensor *tensors[TENSOR_COUNT];
	struct ugds_st_error err;
	ugds_st_array *array;
	char *room = malloc(largest_bytes(store));

	(void)state;
	for (size_t i = 0; i < TENSOR_COUNT; i++)
		tensors[i] = ugds_st_at(store, i);
	assert_ok(ugds_st_get_tensors(store, tensors, TENSOR_COUNT, 0, NULL,
	                              &array, &err),
	          err);
	for (size_t i = 0; i < TENSOR_COUNT; i++)
		assert_true(equal(ugds_st_array_data(array, i),
		                  volumes_expected(volumes, tensors[i]),
		                  reading_info(tensors[i]).payload_bytes,
		                  room));
	reading_close(store);
	ugds_st_array_free(array);
	free(room);
}

/* -------------------------------------------------------------- threads */

static atomic_uint next_thread;

static void *read_on_a_stream(void *ctx)
{
	ugds_st_store *store = ctx;
	struct ugds_st_read_opts opts = UGDS_ST_READ_OPTS_INIT;
	struct ugds_st_read read = UGDS_ST_READ_INIT;
	unsigned mine = atomic_fetch_add(&next_thread, 1);
	uint64_t largest = largest_bytes(store);
	char *room = malloc(largest);
	cudaStream_t stream;
	const char *what = NULL;
	void *memory;

	if (cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) ||
	    cuda->alloc(cuda->ctx, largest, 256, &memory))
		return "stream and memory";
	opts.stream = stream;
	read.dst = memory;
	read.dst_bytes = largest;
	for (size_t i = mine; i < TENSOR_COUNT && !what; i += 5) {
		read.tensor = ugds_st_at(store, i);
		if (ugds_st_read_many(store, &read, 1, &opts, NULL) ||
		    cudaStreamSynchronize(stream))
			what = "read";
		else if (!equal(memory, volumes_expected(volumes, read.tensor),
		                reading_info(read.tensor).payload_bytes, room))
			what = "bytes";
	}
	cuda->free(cuda->ctx, memory, largest);
	(void)cudaStreamDestroy(stream);
	free(room);
	return (void *)(uintptr_t)what;
}

static void threads(void **state)
{
	ugds_st_store *store = open_store();
	pthread_t ids[THREAD_COUNT];

	(void)state;
	for (size_t i = 0; i < THREAD_COUNT; i++)
		assert_int_equal(
			pthread_create(&ids[i], NULL, read_on_a_stream, store),
			0);
	for (size_t i = 0; i < THREAD_COUNT; i++) {
		void *what;

		assert_int_equal(pthread_join(ids[i], &what), 0);
		if (what)
			fail_msg("a thread: %s", (char *)what);
	}
	reading_close(store);
}

/* ---------------------------------------------------------------- arena */

static uint64_t arena_bytes(void)
{
	uint64_t wanted = setting_mib("UGDS_ST_GPU_ARENA_MIB", 32768);
	size_t free_bytes;
	size_t all_bytes;

	assert_int_equal(cudaMemGetInfo(&free_bytes, &all_bytes), cudaSuccess);
	return ugst_min(wanted, free_bytes / 10 * 6);
}

/* The checkpoint, again and again, side by side into one allocation. */
static void large_arena(void **state)
{
	ugds_st_store *store = open_store();
	const ugds_st_tensor *tensors[TENSOR_COUNT];
	struct ugds_st_read reads[TENSOR_COUNT];
	uint64_t offs[TENSOR_COUNT];
	uint64_t all_bytes = arena_bytes();
	char *room = malloc(largest_bytes(store));
	struct ugds_st_error err;
	uint64_t each_bytes;
	uint64_t begin_ns;
	uint64_t payload_bytes = 0;
	uint64_t copies;
	char *memory;

	(void)state;
	for (size_t i = 0; i < TENSOR_COUNT; i++)
		tensors[i] = ugds_st_at(store, i);
	assert_int_equal(
		ugds_st_layout(tensors, TENSOR_COUNT, 0, offs, &each_bytes),
		UGDS_ST_OK);
	copies = all_bytes / each_bytes;
	assert_true(copies > 0);
	memory = alloc(copies * each_bytes);
	begin_ns = ugst_now_ns();
	for (uint64_t copy = 0; copy < copies; copy++) {
		for (size_t i = 0; i < TENSOR_COUNT; i++) {
			uint64_t bytes = reading_info(tensors[i]).payload_bytes;

			reads[i] = (struct ugds_st_read){
				.struct_size = sizeof(reads[i]),
				.tensor = tensors[i],
				.dst = memory + copy * each_bytes + offs[i],
				.dst_bytes = bytes,
			};
			payload_bytes += bytes;
		}
		assert_ok(ugds_st_read_many(store, reads, TENSOR_COUNT, NULL,
		                            &err),
		          err);
	}
	print_message("file to GPU: %.2f GiB/s, %.1f GiB in %llu passes\n",
	              gib_per_s(payload_bytes, begin_ns),
	              (double)payload_bytes / (double)UGST_GIB,
	              (unsigned long long)copies);
	for (uint64_t copy = 0; copy < copies; copy++)
		for (size_t i = 0; i < TENSOR_COUNT; i++)
			assert_true(equal(memory + copy * each_bytes + offs[i],
			                  volumes_expected(volumes, tensors[i]),
			                  reads[i].dst_bytes, room));
	cuda->free(cuda->ctx, memory, copies * each_bytes);
	free(room);
	reading_close(store);
}

/* ---------------------------------------------------------------- rates */

static void rate(const char *what, char *dst, const char *src, size_t piece,
                 size_t bytes)
{
	uint64_t tokens[64];
	size_t count = bytes / piece;
	uint64_t begin_ns = ugst_now_ns();

	for (size_t i = 0; i < count + UGST_COUNT(tokens); i++) {
		uint64_t *token = &tokens[i % UGST_COUNT(tokens)];

		if (i >= UGST_COUNT(tokens) && i - UGST_COUNT(tokens) < count)
			assert_int_equal(cuda->done(cuda->ctx, *token, 1), 1);
		if (i < count)
			assert_int_equal(cuda->copy(cuda->ctx, dst + i * piece,
			                            src + i * piece, piece,
			                            NULL, token),
			                 0);
	}
	print_message("%s, pieces of %zu KiB: %.2f GiB/s\n", what, piece / 1024,
	              gib_per_s(count * piece, begin_ns));
}

static void copy_rates(void **state)
{
	size_t bytes = setting_mib("UGDS_ST_GPU_MIB", 2048) / 2;
	const struct ugds_st_memory_ops *pinned = cuda->staging;
	char *a = alloc(bytes);
	char *b = alloc(bytes);
	void *host;
	char *pageable = malloc(bytes);

	(void)state;
	assert_int_equal(pinned->alloc(pinned->ctx, bytes, 65536, &host), 0);
	memset(host, 1, bytes);
	memset(pageable, 1, bytes);
	for (size_t piece = 65536; piece <= bytes && piece <= 16 << 20;
	     piece *= 16) {
		rate("pinned to GPU", a, host, piece, bytes);
		rate("pageable to GPU", a, pageable, piece, bytes);
		rate("GPU to pinned", host, a, piece, bytes);
		rate("GPU to GPU", b, a, piece, bytes);
	}
	pinned->free(pinned->ctx, host, bytes);
	free(pageable);
	cuda->free(cuda->ctx, a, bytes);
	cuda->free(cuda->ctx, b, bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(placements), cmocka_unit_test(arrays),
		cmocka_unit_test(threads),    cmocka_unit_test(large_arena),
		cmocka_unit_test(copy_rates),
	};
	int count = 0;

	if (cudaGetDeviceCount(&count) || count == 0) {
		print_message("no GPU: skipped\n");
		return 77;
	}
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
