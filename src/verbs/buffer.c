/* SPDX-License-Identifier: BSD-3-Clause */
/* buffer.c - caller memory that reads go into directly. */
#include "base/common.h"

#include "base/err.h"
#include "base/mem.h"
#include "verbs/store.h"

static int check_register(const ugds_st_store *store, const void *base,
                          size_t bytes, unsigned flags,
                          struct ugds_st_error *err)
{
	if (flags & ~UGDS_ST_REGISTERED)
		return ugst_fail(err, UGDS_ST_INVALID_ARG,
		                 "register: unknown flags 0x%x", flags);
	if (ugst_store_check_pages(base, bytes, err))
		return UGDS_ST_INVALID_ARG;
	return ugst_store_check_readable(store, err);
}

UGST_API int ugds_st_register(ugds_st_store *store, void *base, size_t bytes,
                              unsigned flags, ugds_st_buffer **buf_out,
                              struct ugds_st_error *err)
{
	ugds_st_buffer *buffer;
	int status;

	if (!store || !buf_out)
		return ugst_fail(err, UGDS_ST_INVALID_ARG,
		                 "register: store and buf_out are needed");
	status = check_register(store, base, bytes, flags, err);
	if (status)
		return status;
	buffer = ugst_calloc(1, sizeof(*buffer));
	if (!buffer)
		return ugst_fail_memory(err);
	buffer->store = store;
	buffer->base = base;
	buffer->bytes = bytes;
	buffer->ours = !(flags & UGDS_ST_REGISTERED);
	ugst_store_enter(store);
	if (buffer->ours)
		status = ugst_store_register(store, store->path.memory, base,
		                             bytes, err);
	if (status) {
		free(buffer);
	} else {
		(void)pthread_mutex_lock(&store->lock);
		buffer->next = store->buffers;
		store->buffers = buffer;
		(void)pthread_mutex_unlock(&store->lock);
		*buf_out = buffer;
	}
	ugst_store_leave(store);
	return status;
}

UGST_API int ugds_st_unregister(ugds_st_buffer *buf, struct ugds_st_error *err)
{
	ugds_st_store *store;
	ugds_st_buffer **link;
	unsigned users;
	int status = UGDS_ST_OK;

	if (!buf)
		return UGDS_ST_OK;
	store = buf->store;
	users = atomic_load(&buf->users);
	if (users)
		return ugst_fail(err, UGDS_ST_BUSY,
		                 "buffer at %p: %u reads use it",
		                 (void *)buf->base, users);
	if (buf->ours)
		status = ugst_store_deregister(store, buf->base, err);
	if (status)
		return status;
	(void)pthread_mutex_lock(&store->lock);
	link = &store->buffers;
	while (*link != buf)
		link = &(*link)->next;
	*link = buf->next;
	(void)pthread_mutex_unlock(&store->lock);
	free(buf);
	return UGDS_ST_OK;
}
