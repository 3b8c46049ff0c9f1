/* SPDX-License-Identifier: BSD-3-Clause */
/* pointer_cuda.c - can this memory be registered with uGDS? */
#include "base/common.h"

#include <inttypes.h>

#include "base/err.h"
#include "base/units.h"
#include "cuda/device_cuda.h"

/* The version that introduced cuPointerGetAttribute, as the look-up wants
 * it. */
#define POINTER_ATTRIBUTE_VERSION 4000

ugst_pointer_attribute_fn *ugst_cuda_pointer_attribute(void)
{
	ugst_pointer_attribute_fn *found = NULL;
	void *symbol = NULL;
	enum cudaDriverEntryPointQueryResult result;
	cudaError_t error;

#if CUDART_VERSION >= 12050
	error = cudaGetDriverEntryPointByVersion(
		"cuPointerGetAttribute", &symbol, POINTER_ATTRIBUTE_VERSION,
		cudaEnableDefault, &result);
#else
	error = cudaGetDriverEntryPoint("cuPointerGetAttribute", &symbol,
	                                cudaEnableDefault, &result);
#endif
	if (error == cudaSuccess && result == cudaDriverEntryPointSuccess)
		memcpy(&found, &symbol, sizeof(found));
	return found;
}

static const char *memory_type_name(enum cudaMemoryType type)
{
	switch (type) {
	case cudaMemoryTypeHost:
		return "pinned host memory";
	case cudaMemoryTypeManaged:
		return "managed memory";
	case cudaMemoryTypeDevice:
		return "device memory";
	default:
		return "host memory that CUDA does not know";
	}
}

/* Memory of pools and of virtual memory calls says no here. Drivers that do
 * not know the question leave the answer to uGDS. */
static bool is_pinnable(const struct ugst_cuda *cuda, const void *base)
{
	int capable = 0;

	if (!cuda->pointer_attribute)
		return true;
	return cuda->pointer_attribute(
		       &capable,
		       CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE,
		       (CUdeviceptr)(uintptr_t)base) != CUDA_SUCCESS ||
	       capable;
}

static int check_range(const struct ugst_cuda *cuda, const void *base,
                       size_t bytes, struct ugds_st_error *err)
{
	CUdeviceptr start;
	CUdeviceptr at = (CUdeviceptr)(uintptr_t)base;
	size_t all_bytes;

	if (!cuda->pointer_attribute ||
	    cuda->pointer_attribute(&start,
	                            CU_POINTER_ATTRIBUTE_RANGE_START_ADDR,
	                            at) != CUDA_SUCCESS ||
	    cuda->pointer_attribute(&all_bytes, CU_POINTER_ATTRIBUTE_RANGE_SIZE,
	                            at) != CUDA_SUCCESS)
		return UGDS_ST_OK;
	if (bytes <= all_bytes - (at - start))
		return UGDS_ST_OK;
	return ugst_fail(err, UGDS_ST_INVALID_ARG,
	                 "device memory at %p, expected %zu bytes in one "
	                 "allocation, found %zu",
	                 base, bytes, all_bytes - (size_t)(at - start));
}

static int check_attributes(const struct ugst_cuda *cuda, const void *base,
                            size_t bytes, struct ugds_st_error *err)
{
	struct cudaPointerAttributes attributes;
	cudaError_t error = cudaPointerGetAttributes(&attributes, base);

	if (error != cudaSuccess)
		return ugst_fail(err, UGDS_ST_UNSUPPORTED,
		                 "memory at %p, to be registered: %s", base,
		                 cudaGetErrorString(error));
	if (attributes.type != cudaMemoryTypeDevice)
		return ugst_fail(err, UGDS_ST_UNSUPPORTED,
		                 "memory at %p, to be registered: expected "
		                 "device memory, found %s",
		                 base, memory_type_name(attributes.type));
	if (attributes.device != cuda->device)
		return ugst_fail(err, UGDS_ST_UNSUPPORTED,
		                 "device memory at %p, expected on CUDA device "
		                 "%d, found on %d",
		                 base, cuda->device, attributes.device);
	if (!is_pinnable(cuda, base))
		return ugst_fail(err, UGDS_ST_UNSUPPORTED,
		                 "device memory at %p cannot be a target of "
		                 "DMA: expected it from cudaMalloc, found it "
		                 "from a pool or mapped",
		                 base);
	return check_range(cuda, base, bytes, err);
}

int ugst_cuda_registrable(void *ctx, const void *base, size_t bytes,
                          struct ugds_st_error *err)
{
	const struct ugst_cuda *cuda = ctx;
	int before;
	int status;

	if (!base || bytes == 0 ||
	    !ugst_is_aligned((uintptr_t)base, UGST_GPU_PAGE_BYTES) ||
	    !ugst_is_aligned(bytes, UGST_GPU_PAGE_BYTES))
		return ugst_fail(err, UGDS_ST_INVALID_ARG,
		                 "memory to be registered: expected multiples "
		                 "of %" PRIu64 ", found base %p, %zu bytes",
		                 UGST_GPU_PAGE_BYTES, base, bytes);
	if (ugst_cuda_enter(cuda, &before) != cudaSuccess)
		return ugst_fail(err, UGDS_ST_UNSUPPORTED,
		                 "CUDA device %d cannot be selected",
		                 cuda->device);
	status = check_attributes(cuda, base, bytes, err);
	(void)ugst_cuda_leave(cuda, before,
	                      status == UGDS_ST_OK ? cudaSuccess
	                                           : cudaErrorInvalidValue);
	return status;
}
