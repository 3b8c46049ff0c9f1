/* SPDX-License-Identifier: BSD-3-Clause */
/* memory_host.c - host memory as ugds_st_memory_ops. */
#include "base/common.h"

#include <sys/mman.h>

#include "base/mem.h"

#define HUGE_PAGE_BYTES (2 * UGST_MIB)

enum {
	HOST_OK,
	HOST_NO_MEMORY
};

static int host_alloc(void *ctx, size_t bytes, size_t align, void **ptr_out)
{
	bool huge = bytes >= HUGE_PAGE_BYTES;

	(void)ctx;
	if (huge && align < HUGE_PAGE_BYTES)
		align = HUGE_PAGE_BYTES;
	*ptr_out = ugst_alloc_aligned(bytes, align);
	if (!*ptr_out)
		return HOST_NO_MEMORY;
	/* A direct read pins its pages: 512 times fewer to fault in and to
	 * look up. Advice only; kernels without huge pages say no. */
	if (huge)
		(void)madvise(*ptr_out, bytes, MADV_HUGEPAGE);
	return HOST_OK;
}

static void host_free(void *ctx, void *ptr, size_t bytes)
{
	(void)ctx;
	(void)bytes;
	free(ptr);
}

static int host_copy(void *ctx, void *dst, const void *src, size_t bytes,
                     void *stream, uint64_t *token_out)
{
	(void)ctx;
	(void)stream;
	if (bytes)
		memcpy(dst, src, bytes);
	*token_out = 0;
	return HOST_OK;
}

static int host_done(void *ctx, uint64_t token, int wait)
{
	(void)ctx;
	(void)token;
	(void)wait;
	return 1;
}

static const char *host_error_text(void *ctx, int code)
{
	(void)ctx;
	return code == HOST_NO_MEMORY ? "out of host memory" : "no error";
}

UGST_API const struct ugds_st_memory_ops *ugds_st_memory_host(void)
{
	static const struct ugds_st_memory_ops ops = {
		.struct_size = sizeof(ops),
		.ugds_register_flags = -1,
		.alloc = host_alloc,
		.free = host_free,
		.copy = host_copy,
		.done = host_done,
		.error_text = host_error_text,
	};

	return &ops;
}
