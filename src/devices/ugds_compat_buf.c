/* SPDX-License-Identifier: BSD-3-Clause */
/* ugds_compat_buf.c - compatibility mode: registered buffers. */
#include "base/common.h"

#include <stdlib.h>

#include "base/mem.h"
#include "base/units.h"
#include "devices/ugds_compat.h"

/* What ugds_st_memory_ops calls host memory, which uGDS itself cannot take. */
#define HOST_MEMORY_FLAGS (-1)
/* uGDS's UGDS_REGISTER_DMABUF. */
#define DMABUF_FLAG 1

struct ugst_compat_buf *ugst_compat_buf_find(const void *base)
{
	struct ugst_compat_buf *buf = ugst_compat.bufs;

	while (buf && buf->base != base)
		buf = buf->next;
	return buf;
}

static bool overlaps(const struct ugst_compat_buf *buf, uintptr_t begin,
                     size_t bytes)
{
	uintptr_t other = (uintptr_t)buf->base;

	return begin < other + buf->bytes && other < begin + bytes;
}

/* A code, without the question whether somebody has this memory already. */
static int check_buffer(const void *base, size_t bytes, int flags)
{
	uint64_t end;

	if (!ugst_compat.driver_open || !ugst_compat.handles)
		return UGST_UGDS_DRIVER_NOT_INITIALIZED;
	if (!base || bytes == 0)
		return UGST_UGDS_INVALID_VALUE;
	if (flags == DMABUF_FLAG)
		return UGST_UGDS_IO_NOT_SUPPORTED;
	if (flags != 0 && flags != HOST_MEMORY_FLAGS)
		return UGST_UGDS_PINNING_FAILED;
	/*
	 * uGDS looks at neither: its driver rounds the base down to the GPU
	 * page, and data then land below the buffer without a word; and it
	 * maps whole pages, so that I/O past an odd length succeeds. A client
	 * must find both here.
	 */
	if (!ugst_is_aligned((uintptr_t)base, UGST_GPU_PAGE_BYTES) ||
	    !ugst_is_aligned(bytes, UGST_GPU_PAGE_BYTES))
		return UGST_UGDS_INVALID_VALUE;
	if (!ugst_add((uintptr_t)base, bytes, &end))
		return UGST_UGDS_INVALID_VALUE;
	return UGST_UGDS_OK;
}

static int add_buffer(const void *base, size_t bytes)
{
	struct ugst_compat_buf *buf;

	if (ugst_compat_buf_find(base))
		return UGST_UGDS_ALREADY_REGISTERED;
	for (buf = ugst_compat.bufs; buf; buf = buf->next)
		if (overlaps(buf, (uintptr_t)base, bytes))
			return UGST_UGDS_PINNING_FAILED;
	buf = ugst_calloc(1, sizeof(*buf));
	if (!buf)
		return UGST_UGDS_OUT_OF_MEMORY;
	/* uGDS's signature says const of memory that reads write to. */
	buf->base = (uint8_t *)(uintptr_t)base;
	buf->bytes = bytes;
	buf->next = ugst_compat.bufs;
	ugst_compat.bufs = buf;
	return UGST_UGDS_OK;
}

struct ugst_ugds_error ugst_compat_buf_register(const void *base, size_t bytes,
                                                int flags)
{
	int code;

	pthread_mutex_lock(&ugst_compat.lock);
	code = check_buffer(base, bytes, flags);
	if (code == UGST_UGDS_OK)
		code = add_buffer(base, bytes);
	pthread_mutex_unlock(&ugst_compat.lock);
	return ugst_compat_code(code);
}

static int remove_buffer(const void *base)
{
	struct ugst_compat_buf **link = &ugst_compat.bufs;
	struct ugst_compat_buf *buf = ugst_compat_buf_find(base);

	if (!ugst_compat.driver_open)
		return UGST_UGDS_DRIVER_NOT_INITIALIZED;
	if (!buf)
		return UGST_UGDS_NOT_REGISTERED;
	if (buf->refs) {
		if (ugst_compat.hooks)
			ugst_compat.hooks->broke(UGST_COMPAT_RULE_DEREGISTER);
		return UGST_UGDS_BUSY;
	}
	while (*link != buf)
		link = &(*link)->next;
	*link = buf->next;
	free(buf);
	return UGST_UGDS_OK;
}

struct ugst_ugds_error ugst_compat_buf_deregister(const void *base)
{
	int code;

	pthread_mutex_lock(&ugst_compat.lock);
	code = remove_buffer(base);
	pthread_mutex_unlock(&ugst_compat.lock);
	return ugst_compat_code(code);
}
