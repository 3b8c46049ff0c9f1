/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_shim_cuda.c - CUDA memory, on a model of CUDA or on a GPU.
 *
 * Without either, it checks that the missing GPU is said clearly.
 */
#include "support/test.h"

#include <cuda_runtime.h>
#include <pthread.h>
#include <time.h>

#include "ugds_st_cuda.h"
#include "shim/shim.h"

#define GPU_PAGE ((size_t)65536)

static const struct ugds_st_memory_ops *cuda;

static bool has_gpu(void)
{
	int count = 0;

	return cudaGetDeviceCount(&count) == cudaSuccess && count > 0;
}

static int open_cuda(void **state)
{
	struct ugds_st_error err;

	(void)state;
	if (has_gpu())
		assert_ok(ugds_st_memory_cuda_open(0, &cuda, &err), err);
	return 0;
}

static int close_cuda(void **state)
{
	struct ugds_st_error err;

	(void)state;
	assert_ok(ugds_st_memory_cuda_close(cuda, &err), err);
	return 0;
}

static void test_no_gpu(void **state)
{
	const struct ugds_st_memory_ops *none = NULL;
	struct ugds_st_error err;

	(void)state;
	if (has_gpu())
		skip();
	assert_fails(ugds_st_memory_cuda_open(0, &none, &err),
	             UGDS_ST_UNSUPPORTED, err);
	assert_non_null(strstr(err.text, "expected"));
	assert_non_null(strstr(err.text, "found none"));
	assert_null(none);
}

static void test_arguments(void **state)
{
	const struct ugds_st_memory_ops *none = NULL;
	struct ugds_st_error err;

	(void)state;
	assert_ok(ugds_st_memory_cuda_close(NULL, &err), err);
	assert_fails(ugds_st_memory_cuda_open(0, NULL, &err),
	             UGDS_ST_INVALID_ARG, err);
	assert_fails(ugds_st_memory_cuda_check(NULL, &err, GPU_PAGE, &err),
	             UGDS_ST_INVALID_ARG, err);
	if (!cuda)
		skip();
	assert_fails(ugds_st_memory_cuda_open(4711, &none, &err),
	             UGDS_ST_INVALID_ARG, err);
	assert_non_null(strstr(err.text, "4711"));
	assert_null(none);
	/* the last error is as it was */
	assert_int_equal(cudaPeekAtLastError(), cudaSuccess);
	assert_ok(ugds_st_memory_cuda_open(UGDS_ST_CUDA_CURRENT, &none, &err),
	          err);
	assert_ok(ugds_st_memory_cuda_close(none, &err), err);
}

/* Blocks of every size are aligned as asked, and those for uGDS touch no GPU
 * page of another. */
static void test_alignment(void **state)
{
	static const size_t sizes[] = {1,     4096,    65535,   65536,
	                               65537, 1 << 20, 3 << 20, 0};
	static const size_t aligns[] = {1, 256, 4096, 65536};
	void *blocks[UGST_COUNT(sizes) * UGST_COUNT(aligns)];
	struct ugds_st_error err;
	size_t count = 0;

	(void)state;
	if (!cuda)
		skip();
	for (size_t s = 0; s < UGST_COUNT(sizes); s++) {
		for (size_t a = 0; a < UGST_COUNT(aligns); a++) {
			void *at;

			assert_int_equal(cuda->alloc(cuda->ctx, sizes[s],
			                             aligns[a], &at),
			                 0);
			assert_int_equal((uintptr_t)at % aligns[a], 0);
			blocks[count++] = at;
			if (aligns[a] < GPU_PAGE || sizes[s] == 0)
				continue;
			/* all GPU pages that it touches are its own */
			assert_ok(ugds_st_memory_cuda_check(
					  cuda, at,
					  (sizes[s] + GPU_PAGE - 1) / GPU_PAGE *
						  GPU_PAGE,
					  &err),
			          err);
		}
	}
	assert_fails(ugds_st_memory_cuda_close(cuda, &err), UGDS_ST_BUSY, err);
	for (size_t i = 0; i < count; i++)
		cuda->free(cuda->ctx, blocks[i], sizes[i / UGST_COUNT(aligns)]);
	cuda->free(cuda->ctx, NULL, 0);
}

static void copy_and_wait(void *dst, const void *src, size_t bytes,
                          void *stream)
{
	uint64_t token;

	assert_int_equal(cuda->copy(cuda->ctx, dst, src, bytes, stream, &token),
	                 0);
	assert_int_equal(cuda->done(cuda->ctx, token, 1), 1);
}

static void test_copies(void **state)
{
	enum {
		BYTES = 300001
	};
	char *from = malloc(BYTES);
	char *back = calloc(1, BYTES);
	cudaStream_t stream;
	void *a;
	void *b;

	(void)state;
	if (!cuda)
		skip();
	for (size_t i = 0; i < BYTES; i++)
		from[i] = (char)(i * 7 + i / 251);
	assert_int_equal(cuda->alloc(cuda->ctx, BYTES, 256, &a), 0);
	assert_int_equal(cuda->alloc(cuda->ctx, BYTES, 65536, &b), 0);
	assert_int_equal(cudaStreamCreate(&stream), cudaSuccess);
	copy_and_wait(a, from, BYTES, NULL);
	copy_and_wait((char *)b + 1, (char *)a + 1, BYTES - 1, stream);
	copy_and_wait(b, a, 1, stream);
	copy_and_wait(back, b, BYTES, NULL);
	assert_memory_equal(back, from, BYTES);
	copy_and_wait(back, b, 0, NULL); /* nothing is a copy, too */
	assert_int_equal(cudaStreamDestroy(stream), cudaSuccess);
	cuda->free(cuda->ctx, a, BYTES);
	cuda->free(cuda->ctx, b, BYTES);
	free(from);
	free(back);
}

static void sleep_100ms(void *ctx)
{
	struct timespec nap = {.tv_nsec = 100000000};

	(void)ctx;
	(void)nanosleep(&nap, NULL);
}

/* A token is the copy's: not yet while its stream is held up, done after, and
 * never held up by what another stream does or by what comes later. */
static void test_tokens(void **state)
{
	char bytes[4096] = "tokens";
	char back[4096] = "";
	cudaStream_t stream;
	struct ugds_st_error err;
	uint64_t late;
	uint64_t early;
	void *a;

	(void)state;
	if (!cuda)
		skip();
	assert_int_equal(
		cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking),
		cudaSuccess);
	assert_int_equal(cuda->alloc(cuda->ctx, sizeof(bytes), 256, &a), 0);
	copy_and_wait(a, bytes, sizeof(bytes), NULL);
	assert_int_equal(cudaLaunchHostFunc(stream, sleep_100ms, NULL),
	                 cudaSuccess);
	assert_int_equal(cuda->copy(cuda->ctx, a, a, 1, stream, &late), 0);
	assert_int_equal(cuda->done(cuda->ctx, late, 0), 0);
	/* not ready is no error for the caller to find */
	assert_int_equal(cudaPeekAtLastError(), cudaSuccess);
	assert_int_equal(cuda->copy(cuda->ctx, a, a, 1, NULL, &early), 0);
	assert_int_not_equal(early, late);
	assert_int_equal(cuda->done(cuda->ctx, early, 1), 1);
	assert_int_equal(cuda->done(cuda->ctx, late, 0), 0);
	assert_fails(ugds_st_memory_cuda_close(cuda, &err), UGDS_ST_BUSY, err);
	assert_int_equal(cudaLaunchHostFunc(stream, sleep_100ms, NULL),
	                 cudaSuccess);
	assert_int_equal(cuda->done(cuda->ctx, late, 1), 1);
	assert_int_equal(cudaStreamQuery(stream), cudaErrorNotReady);
	(void)cudaGetLastError();
	assert_int_equal(cudaStreamSynchronize(stream), cudaSuccess);
	copy_and_wait(back, a, sizeof(back), NULL);
	assert_memory_equal(back, bytes, sizeof(bytes));
	cuda->free(cuda->ctx, a, sizeof(bytes));
	assert_int_equal(cudaStreamDestroy(stream), cudaSuccess);
}

static void *copy_often(void *ctx)
{
	char from[1024];
	char back[1024];
	unsigned seed = (unsigned)(uintptr_t)ctx;
	void *a;

	if (cuda->alloc(cuda->ctx, sizeof(from), 4096, &a))
		return "alloc";
	for (int i = 0; i < 200; i++) {
		uint64_t tokens[2];

		memset(from, rand_r(&seed), sizeof(from));
		if (cuda->copy(cuda->ctx, a, from, sizeof(from), NULL,
		               &tokens[0]) ||
		    cuda->copy(cuda->ctx, back, a, sizeof(back), NULL,
		               &tokens[1]))
			return "copy";
		while (cuda->done(cuda->ctx, tokens[1], i % 2) == 0)
			;
		if (cuda->done(cuda->ctx, tokens[0], 0) != 1)
			return "order of a stream";
		if (memcmp(from, back, sizeof(from)) != 0)
			return "bytes";
	}
	cuda->free(cuda->ctx, a, sizeof(from));
	return NULL;
}

static void test_threads(void **state)
{
	pthread_t threads[8];

	(void)state;
	if (!cuda)
		skip();
	for (size_t i = 0; i < UGST_COUNT(threads); i++)
		assert_int_equal(pthread_create(&threads[i], NULL, copy_often,
		                                (void *)(i + 1)),
		                 0);
	for (size_t i = 0; i < UGST_COUNT(threads); i++) {
		void *what;

		assert_int_equal(pthread_join(threads[i], &what), 0);
		assert_null(what);
	}
}

static void test_registrable(void **state)
{
	struct ugds_st_error err;
	void *device;
	void *pinned;
	void *managed;
	void *host = aligned_alloc(GPU_PAGE, GPU_PAGE);

	(void)state;
	if (!cuda)
		skip();
	assert_int_equal(
		cuda->alloc(cuda->ctx, 2 * GPU_PAGE, GPU_PAGE, &device), 0);
	assert_ok(cuda->registrable(cuda->ctx, device, 2 * GPU_PAGE, &err),
	          err);
	assert_fails(ugds_st_memory_cuda_check(cuda, NULL, GPU_PAGE, &err),
	             UGDS_ST_INVALID_ARG, err);
	assert_fails(ugds_st_memory_cuda_check(cuda, device, 0, &err),
	             UGDS_ST_INVALID_ARG, err);
	assert_fails(ugds_st_memory_cuda_check(cuda, device, 4096, &err),
	             UGDS_ST_INVALID_ARG, err);
	assert_fails(ugds_st_memory_cuda_check(cuda, (char *)device + 4096,
	                                       GPU_PAGE, &err),
	             UGDS_ST_INVALID_ARG, err);
	assert_fails(ugds_st_memory_cuda_check(cuda, host, GPU_PAGE, &err),
	             UGDS_ST_UNSUPPORTED, err);
	assert_non_null(strstr(err.text, "host memory"));
	assert_int_equal(cudaMallocHost(&pinned, 2 * GPU_PAGE), cudaSuccess);
	assert_fails(ugds_st_memory_cuda_check(
			     cuda,
			     (char *)pinned + (-(uintptr_t)pinned & 65535),
			     GPU_PAGE, &err),
	             UGDS_ST_UNSUPPORTED, err);
	assert_non_null(strstr(err.text, "pinned host memory"));
	assert_int_equal(
		cudaMallocManaged(&managed, 2 * GPU_PAGE, cudaMemAttachGlobal),
		cudaSuccess);
	assert_fails(ugds_st_memory_cuda_check(
			     cuda,
			     (char *)managed + (-(uintptr_t)managed & 65535),
			     GPU_PAGE, &err),
	             UGDS_ST_UNSUPPORTED, err);
	assert_non_null(strstr(err.text, "managed memory"));
	assert_int_equal(cudaPeekAtLastError(), cudaSuccess);
	assert_int_equal(cudaFree(managed), cudaSuccess);
	assert_int_equal(cudaFreeHost(pinned), cudaSuccess);
	cuda->free(cuda->ctx, device, 2 * GPU_PAGE);
	free(host);
}

static void test_staging(void **state)
{
	const struct ugds_st_memory_ops *staging;
	char back[5] = "";
	void *pinned;
	void *device;

	(void)state;
	if (!cuda)
		skip();
	staging = cuda->staging;
	assert_int_equal(staging->ugds_register_flags, -1);
	assert_int_equal(staging->alloc(staging->ctx, 1 << 20, 65536, &pinned),
	                 0);
	assert_int_equal((uintptr_t)pinned % 65536, 0);
	memcpy(pinned, "bytes", 5); /* the CPU reaches it */
	assert_int_equal(cuda->alloc(cuda->ctx, 5, 256, &device), 0);
	copy_and_wait(device, pinned, 5, NULL);
	copy_and_wait(back, device, 5, NULL);
	assert_memory_equal(back, "bytes", 5);
	cuda->free(cuda->ctx, device, 5);
	staging->free(staging->ctx, pinned, 1 << 20);
	staging->free(staging->ctx, NULL, 0);
}

static void test_errors(void **state)
{
	size_t too_much = (size_t)1 << 60;
	void *at = &at;
	int code;

	(void)state;
	if (!cuda)
		skip();
	code = cuda->alloc(cuda->ctx, too_much, 65536, &at);
	assert_int_equal(code, cudaErrorMemoryAllocation);
	assert_string_equal(cuda->error_text(cuda->ctx, code),
	                    cudaGetErrorString(cudaErrorMemoryAllocation));
	assert_string_equal(cuda->error_text(cuda->ctx, -code),
	                    cudaGetErrorString(cudaErrorMemoryAllocation));
	assert_int_equal(cudaPeekAtLastError(), cudaSuccess);
	code = cuda->alloc(cuda->ctx, SIZE_MAX, 65536, &at);
	assert_int_equal(code, cudaErrorMemoryAllocation);
	if (cuda->fence)
		assert_int_equal(cuda->fence(cuda->ctx), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_no_gpu),
		cmocka_unit_test(test_arguments),
		cmocka_unit_test(test_alignment),
		cmocka_unit_test(test_copies),
		cmocka_unit_test(test_tokens),
		cmocka_unit_test(test_threads),
		cmocka_unit_test(test_registrable),
		cmocka_unit_test(test_staging),
		cmocka_unit_test(test_errors),
	};

	return cmocka_run_group_tests(tests, open_cuda, close_cuda);
}
