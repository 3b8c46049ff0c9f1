/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * device_cuda.h - the inside of a CUDA memory, and its device made current.
 *
 * The one file that includes CUDA's headers.
 */
#ifndef UGST_DEVICE_CUDA_H
#define UGST_DEVICE_CUDA_H

#include <cuda.h>
#include <cuda_runtime.h>
#include <pthread.h>

#include "base/common.h"

typedef CUresult ugst_pointer_attribute_fn(void *data,
                                           CUpointer_attribute attribute,
                                           CUdeviceptr pointer);

struct ugst_cuda_shifted;

struct ugst_cuda {
	struct ugds_st_memory_ops ops;     /* first: the caller's pointer */
	struct ugds_st_memory_ops staging; /* pinned host memory */
	int device;
	cudaStream_t stream;
	ugst_pointer_attribute_fn
		*pointer_attribute; /* NULL: cannot be asked */

	pthread_mutex_t lock; /* never held over a CUDA call that waits */
	size_t block_count;
	struct ugst_cuda_shifted *shifted;
	cudaEvent_t *events; /* token - 1 is an index */
	size_t event_count;
	size_t event_capacity;
	size_t *idle; /* indexes of events that are not in use */
	size_t idle_count;
};

/* Make device current; *before_out is for ugst_cuda_leave(). */
static inline cudaError_t ugst_cuda_enter(const struct ugst_cuda *cuda,
                                          int *before_out)
{
	cudaError_t error;

	*before_out = cuda->device; /* nothing to restore, should this fail */
	error = cudaGetDevice(before_out);
	if (error == cudaSuccess && *before_out != cuda->device)
		error = cudaSetDevice(cuda->device);
	return error;
}

/* Restore, and take our own error out of the caller's sight: it is reported
 * by us. A sticky one stays, as it must. */
static inline cudaError_t ugst_cuda_leave(const struct ugst_cuda *cuda,
                                          int before, cudaError_t error)
{
	if (error != cudaSuccess)
		(void)cudaGetLastError();
	if (before != cuda->device)
		(void)cudaSetDevice(before);
	return error;
}

/* The driver's answers about a pointer, without linking the driver; NULL:
 * it cannot be asked. */
ugst_pointer_attribute_fn *ugst_cuda_pointer_attribute(void);

/* ugds_st_memory_ops.registrable */
int ugst_cuda_registrable(void *ctx, const void *base, size_t bytes,
                          struct ugds_st_error *err);

#endif /* UGST_DEVICE_CUDA_H */
