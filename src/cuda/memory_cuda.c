/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * memory_cuda.c - CUDA device memory as ugds_st_memory_ops.
 *
 * Codes of these functions are cudaError_t; done() negates them.
 */
#include "base/common.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/units.h"
#include "cuda/device_cuda.h"
#include "ugds_st_cuda.h"

/* cudaMalloc promises 256 bytes only: where more is asked, a larger block may
 * have to be allocated and its start remembered. */
struct ugst_cuda_shifted {
	void *ptr;
	void *block;
	struct ugst_cuda_shifted *next;
};

/* ---------------------------------------------------------------- memory */

static bool is_aligned(const void *ptr, size_t align)
{
	return ugst_is_aligned((uintptr_t)ptr, align);
}

/* A block in which bytes at a multiple of align fit, wherever it begins. */
static cudaError_t alloc_shifted(struct ugst_cuda_shifted *shifted,
                                 size_t bytes, size_t align)
{
	cudaError_t error = cudaMalloc(&shifted->block, bytes + align);
	uintptr_t start;

	if (error != cudaSuccess)
		return error;
	start = (uintptr_t)shifted->block;
	shifted->ptr =
		(char *)shifted->block + (ugst_align_up(start, align) - start);
	return cudaSuccess;
}

static cudaError_t alloc_aligned(struct ugst_cuda *cuda, size_t bytes,
                                 size_t align, void **ptr_out)
{
	struct ugst_cuda_shifted *shifted;
	cudaError_t error = cudaMalloc(ptr_out, bytes);

	if (error != cudaSuccess || is_aligned(*ptr_out, align))
		return error;
	/* Freed first: two of them may not fit. */
	(void)cudaFree(*ptr_out);
	shifted = ugst_calloc(1, sizeof(*shifted));
	if (!shifted)
		return cudaErrorMemoryAllocation;
	error = alloc_shifted(shifted, bytes, align);
	if (error != cudaSuccess) {
		free(shifted);
		return error;
	}
	*ptr_out = shifted->ptr;
	(void)pthread_mutex_lock(&cuda->lock);
	shifted->next = cuda->shifted;
	cuda->shifted = shifted;
	(void)pthread_mutex_unlock(&cuda->lock);
	return cudaSuccess;
}

static void count_block(struct ugst_cuda *cuda, bool more)
{
	(void)pthread_mutex_lock(&cuda->lock);
	if (more)
		cuda->block_count++;
	else
		cuda->block_count--;
	(void)pthread_mutex_unlock(&cuda->lock);
}

static int cuda_alloc(void *ctx, size_t bytes, size_t align, void **ptr_out)
{
	struct ugst_cuda *cuda = ctx;
	cudaError_t error;
	uint64_t all_bytes;
	int before;

	/* What is registered may not share a GPU page with anything else. */
	if (align >= UGST_GPU_PAGE_BYTES) {
		if (!ugst_add(bytes, UGST_GPU_PAGE_BYTES + align, &all_bytes))
			return cudaErrorMemoryAllocation;
		bytes = ugst_align_up(bytes, UGST_GPU_PAGE_BYTES);
	}
	error = ugst_cuda_enter(cuda, &before);
	if (error == cudaSuccess)
		error = alloc_aligned(cuda, bytes ? bytes : 1, align, ptr_out);
	error = ugst_cuda_leave(cuda, before, error);
	if (error == cudaSuccess)
		count_block(cuda, true);
	return (int)error;
}

/* The block that ptr lies in: ptr itself, as a rule. */
static void *take_block(struct ugst_cuda *cuda, void *ptr)
{
	struct ugst_cuda_shifted **at;
	struct ugst_cuda_shifted *found;
	void *block = ptr;

	(void)pthread_mutex_lock(&cuda->lock);
	for (at = &cuda->shifted; *at && (*at)->ptr != ptr;)
		at = &(*at)->next;
	found = *at;
	if (found) {
		*at = found->next;
		block = found->block;
	}
	cuda->block_count--;
	(void)pthread_mutex_unlock(&cuda->lock);
	free(found);
	return block;
}

static void cuda_free(void *ctx, void *ptr, size_t bytes)
{
	struct ugst_cuda *cuda = ctx;
	cudaError_t error;
	void *block;
	int before;

	(void)bytes;
	if (!ptr)
		return;
	block = take_block(cuda, ptr);
	error = ugst_cuda_enter(cuda, &before);
	if (error == cudaSuccess)
		error = cudaFree(block);
	(void)ugst_cuda_leave(cuda, before, error);
}

static int staging_alloc(void *ctx, size_t bytes, size_t align, void **ptr_out)
{
	struct ugst_cuda *cuda = ctx;
	cudaError_t error;
	int before;

	*ptr_out = ugst_alloc_aligned(bytes, align);
	if (!*ptr_out)
		return cudaErrorMemoryAllocation;
	error = ugst_cuda_enter(cuda, &before);
	if (error == cudaSuccess)
		error = cudaHostRegister(*ptr_out, bytes,
		                         cudaHostRegisterPortable);
	error = ugst_cuda_leave(cuda, before, error);
	if (error != cudaSuccess) {
		free(*ptr_out);
		return (int)error;
	}
	count_block(cuda, true);
	return cudaSuccess;
}

static void staging_free(void *ctx, void *ptr, size_t bytes)
{
	struct ugst_cuda *cuda = ctx;
	cudaError_t error;
	int before;

	(void)bytes;
	if (!ptr)
		return;
	error = ugst_cuda_enter(cuda, &before);
	if (error == cudaSuccess)
		error = cudaHostUnregister(ptr);
	(void)ugst_cuda_leave(cuda, before, error);
	free(ptr);
	count_block(cuda, false);
}

/* ---------------------------------------------------------------- copies */

/* Room for one more event and its place among the idle. Lock held. */
static cudaError_t add_event(struct ugst_cuda *cuda)
{
	/* A wait sleeps, as another thread's copy may need the CPU. */
	unsigned flags = cudaEventDisableTiming | cudaEventBlockingSync;
	cudaEvent_t *events;
	size_t *idle;
	cudaError_t error;

	idle = ugst_reallocarray(cuda->idle, cuda->event_count + 1,
	                         sizeof(*idle));
	if (!idle)
		return cudaErrorMemoryAllocation;
	cuda->idle = idle;
	events = ugst_grow(cuda->events, cuda->event_count,
	                   &cuda->event_capacity, sizeof(cudaEvent_t));
	if (!events)
		return cudaErrorMemoryAllocation;
	cuda->events = events;
	error = cudaEventCreateWithFlags(&events[cuda->event_count], flags);
	if (error == cudaSuccess)
		idle[cuda->idle_count++] = cuda->event_count++;
	return error;
}

static cudaError_t take_event(struct ugst_cuda *cuda, uint64_t *token_out,
                              cudaEvent_t *event_out)
{
	cudaError_t error = cudaSuccess;

	(void)pthread_mutex_lock(&cuda->lock);
	if (cuda->idle_count == 0)
		error = add_event(cuda);
	if (error == cudaSuccess) {
		size_t index = cuda->idle[--cuda->idle_count];

		*token_out = index + 1;
		*event_out = cuda->events[index];
	}
	(void)pthread_mutex_unlock(&cuda->lock);
	return error;
}

static void give_event(struct ugst_cuda *cuda, uint64_t token)
{
	(void)pthread_mutex_lock(&cuda->lock);
	cuda->idle[cuda->idle_count++] = (size_t)token - 1;
	(void)pthread_mutex_unlock(&cuda->lock);
}

static int cuda_copy(void *ctx, void *dst, const void *src, size_t bytes,
                     void *stream, uint64_t *token_out)
{
	struct ugst_cuda *cuda = ctx;
	cudaStream_t on = stream ? (cudaStream_t)stream : cuda->stream;
	cudaEvent_t event;
	cudaError_t error;
	uint64_t token;
	int before;

	error = ugst_cuda_enter(cuda, &before);
	if (error == cudaSuccess)
		error = take_event(cuda, &token, &event);
	if (error != cudaSuccess)
		return (int)ugst_cuda_leave(cuda, before, error);
	if (bytes)
		error = cudaMemcpyAsync(dst, src, bytes, cudaMemcpyDefault, on);
	if (error == cudaSuccess)
		error = cudaEventRecord(event, on);
	if (error == cudaSuccess)
		*token_out = token;
	else
		give_event(cuda, token);
	return (int)ugst_cuda_leave(cuda, before, error);
}

static int cuda_done(void *ctx, uint64_t token, int wait)
{
	struct ugst_cuda *cuda = ctx;
	cudaEvent_t event;
	cudaError_t error;
	int before;

	(void)pthread_mutex_lock(&cuda->lock);
	event = cuda->events[token - 1]; /* the array may move */
	(void)pthread_mutex_unlock(&cuda->lock);
	error = ugst_cuda_enter(cuda, &before);
	if (error == cudaSuccess)
		error = wait ? cudaEventSynchronize(event)
		             : cudaEventQuery(event);
	error = ugst_cuda_leave(cuda, before, error);
	if (error == cudaErrorNotReady)
		return 0;
	give_event(cuda, token);
	return error == cudaSuccess ? 1 : -(int)error;
}

static int cuda_fence(void *ctx)
{
	struct ugst_cuda *cuda = ctx;
	cudaError_t error;
	int before;

	error = ugst_cuda_enter(cuda, &before);
	if (error == cudaSuccess)
		error = cudaDeviceFlushGPUDirectRDMAWrites(
			cudaFlushGPUDirectRDMAWritesTargetCurrentDevice,
			cudaFlushGPUDirectRDMAWritesToOwner);
	return (int)ugst_cuda_leave(cuda, before, error);
}

static const char *cuda_error_text(void *ctx, int code)
{
	(void)ctx;
	return cudaGetErrorString((cudaError_t)(code < 0 ? -code : code));
}

/* -------------------------------------------------------- open and close */

static int no_gpu(cudaError_t error, struct ugds_st_error *err)
{
	int driver = 0;
	int runtime = 0;

	(void)cudaDriverGetVersion(&driver);
	(void)cudaRuntimeGetVersion(&runtime);
	(void)cudaGetLastError();
	if (driver == 0)
		return ugst_fail(err, UGDS_ST_UNSUPPORTED,
		                 "CUDA: expected an NVIDIA driver for CUDA "
		                 "%d.%d, found none (%s)",
		                 runtime / 1000, runtime % 1000 / 10,
		                 cudaGetErrorString(error));
	return ugst_fail(err, UGDS_ST_UNSUPPORTED,
	                 "CUDA: expected a GPU, found none (%s; driver for "
	                 "CUDA %d.%d, runtime %d.%d)",
	                 cudaGetErrorString(error), driver / 1000,
	                 driver % 1000 / 10, runtime / 1000,
	                 runtime % 1000 / 10);
}

static int find_device(int wanted, int *device_out, struct ugds_st_error *err)
{
	int count = 0;
	cudaError_t error = cudaGetDeviceCount(&count);

	if (error != cudaSuccess || count == 0)
		return no_gpu(error == cudaSuccess ? cudaErrorNoDevice : error,
		              err);
	*device_out = wanted;
	if (wanted == UGDS_ST_CUDA_CURRENT &&
	    cudaGetDevice(device_out) != cudaSuccess)
		return no_gpu(cudaGetLastError(), err);
	if (*device_out < 0 || *device_out >= count)
		return ugst_fail(err, UGDS_ST_INVALID_ARG,
		                 "CUDA device: expected 0 to %d, found %d",
		                 count - 1, wanted);
	return UGDS_ST_OK;
}

/* Does this device need a flush before it sees what a drive has written, and
 * can the host ask for one? Without one, work that is enqueued after the read
 * sees the bytes, as CUDA orders it; that is what every reader here does. */
static bool needs_fence(int device)
{
	int ordering = cudaGPUDirectRDMAWritesOrderingNone;
	int options = 0;

	if (cudaDeviceGetAttribute(&ordering,
	                           cudaDevAttrGPUDirectRDMAWritesOrdering,
	                           device) != cudaSuccess ||
	    cudaDeviceGetAttribute(&options,
	                           cudaDevAttrGPUDirectRDMAFlushWritesOptions,
	                           device) != cudaSuccess)
		return false;
	return ordering < cudaGPUDirectRDMAWritesOrderingOwner &&
	       (options & cudaFlushGPUDirectRDMAWritesOptionHost);
}

static void fill_ops(struct ugst_cuda *cuda)
{
	cuda->ops = (struct ugds_st_memory_ops){
		.struct_size = sizeof(cuda->ops),
		.ctx = cuda,
		.ugds_register_flags = 0,
		.alloc = cuda_alloc,
		.free = cuda_free,
		.copy = cuda_copy,
		.done = cuda_done,
		.fence = needs_fence(cuda->device) ? cuda_fence : NULL,
		.error_text = cuda_error_text,
		.registrable = ugst_cuda_registrable,
		.staging = &cuda->staging,
	};
	cuda->staging = (struct ugds_st_memory_ops){
		.struct_size = sizeof(cuda->staging),
		.ctx = cuda,
		.ugds_register_flags = -1,
		.alloc = staging_alloc,
		.free = staging_free,
		.copy = cuda_copy,
		.done = cuda_done,
		.error_text = cuda_error_text,
	};
}

UGST_API int
ugds_st_memory_cuda_open(int device,
                         const struct ugds_st_memory_ops **memory_out,
                         struct ugds_st_error *err)
{
	struct ugst_cuda *cuda;
	cudaError_t error;
	int before;
	int found;
	int status;

	if (!memory_out)
		return ugst_fail(err, UGDS_ST_INVALID_ARG,
		                 "CUDA memory: no place for the result");
	status = find_device(device, &found, err);
	if (status != UGDS_ST_OK)
		return status;
	cuda = ugst_calloc(1, sizeof(*cuda));
	if (!cuda)
		return ugst_fail_memory(err);
	cuda->device = found;
	error = ugst_cuda_enter(cuda, &before);
	if (error == cudaSuccess)
		error = cudaStreamCreateWithFlags(&cuda->stream,
		                                  cudaStreamNonBlocking);
	if (error == cudaSuccess)
		cuda->pointer_attribute = ugst_cuda_pointer_attribute();
	error = ugst_cuda_leave(cuda, before, error);
	if (error != cudaSuccess) {
		free(cuda);
		return ugst_fail(err,
		                 error == cudaErrorMemoryAllocation
		                         ? UGDS_ST_NO_MEMORY
		                         : UGDS_ST_UNSUPPORTED,
		                 "CUDA device %d: %s", found,
		                 cudaGetErrorString(error));
	}
	(void)pthread_mutex_init(&cuda->lock, NULL);
	fill_ops(cuda);
	*memory_out = &cuda->ops;
	return UGDS_ST_OK;
}

UGST_API int ugds_st_memory_cuda_close(const struct ugds_st_memory_ops *memory,
                                       struct ugds_st_error *err)
{
	struct ugst_cuda *cuda;
	int before;

	if (!memory)
		return UGDS_ST_OK;
	cuda = memory->ctx;
	if (cuda->block_count || cuda->idle_count != cuda->event_count)
		return ugst_fail(err, UGDS_ST_BUSY,
		                 "memory of CUDA device %d: %zu allocations "
		                 "and %zu copies are in use",
		                 cuda->device, cuda->block_count,
		                 cuda->event_count - cuda->idle_count);
	if (ugst_cuda_enter(cuda, &before) == cudaSuccess) {
		for (size_t i = 0; i < cuda->event_count; i++)
			(void)cudaEventDestroy(cuda->events[i]);
		(void)cudaStreamDestroy(cuda->stream);
	}
	(void)ugst_cuda_leave(cuda, before, cudaSuccess);
	(void)pthread_mutex_destroy(&cuda->lock);
	free(cuda->events);
	free(cuda->idle);
	free(cuda);
	return UGDS_ST_OK;
}

UGST_API int ugds_st_memory_cuda_check(const struct ugds_st_memory_ops *memory,
                                       const void *base, size_t bytes,
                                       struct ugds_st_error *err)
{
	if (!memory)
		return ugst_fail(err, UGDS_ST_INVALID_ARG,
		                 "CUDA memory to check with: NULL");
	return ugst_cuda_registrable(memory->ctx, base, bytes, err);
}
