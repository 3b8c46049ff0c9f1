/* SPDX-License-Identifier: BSD-3-Clause */
/* read.c - what callers ask to read, checked and answered. */
#include "base/common.h"

#include "base/err.h"
#include "base/mem.h"
#include "base/opts.h"
#include "verbs/read.h"

int ugst_read_opts(const struct ugds_st_read_opts *opts,
                   struct ugds_st_read_opts *opts_out,
                   struct ugds_st_error *err)
{
	int status = ugst_opts_read(opts_out, sizeof(*opts_out), opts,
	                            "struct ugds_st_read_opts", err);

	if (status)
		return status;
	if (opts_out->priority > UGDS_ST_BACKGROUND)
		return ugst_fail(err, UGDS_ST_INVALID_ARG,
		                 "read: unknown priority %u",
		                 opts_out->priority);
	return UGDS_ST_OK;
}

int ugst_read_find(const ugds_st_store *store, const char *name,
                   const ugds_st_tensor **tensor_out, struct ugds_st_error *err)
{
	char escaped[UGST_ESCAPED_BYTES];
	size_t name_bytes = strlen(name);

	*tensor_out = ugst_table_find(store->table, name, name_bytes);
	if (*tensor_out)
		return UGDS_ST_OK;
	return ugst_fail(
		err, UGDS_ST_NOT_FOUND, "tensor %s: is not in checkpoint %s",
		ugst_escape(name, name_bytes, escaped, sizeof(escaped)),
		store->model);
}

/* Rows along dimension 0 as bytes of the payload. */
static int check_rows(const struct ugds_st_read *read, const char *name,
                      uint64_t *off_out, uint64_t *bytes_out,
                      struct ugds_st_error *err)
{
	const ugds_st_tensor *tensor = read->tensor;
	uint64_t rows = tensor->rank ? tensor->dims[0] : 1;
	uint64_t row_bytes;

	*off_out = 0;
	*bytes_out = tensor->payload_bytes;
	if (read->row_count == 0 && read->row_first == 0)
		return UGDS_ST_OK;
	if (read->row_first > rows || read->row_count > rows - read->row_first)
		return ugst_fail(err, UGDS_ST_INVALID_ARG,
		                 "tensor %s: expected rows below %llu, found "
		                 "%llu from %llu",
		                 name, (unsigned long long)rows,
		                 (unsigned long long)read->row_count,
		                 (unsigned long long)read->row_first);
	if (read->row_count == 0)
		return ugst_fail(err, UGDS_ST_INVALID_ARG,
		                 "tensor %s: row_first %llu, but row_count 0",
		                 name, (unsigned long long)read->row_first);
	row_bytes = tensor->payload_bytes / rows;
	if (row_bytes * rows != tensor->payload_bytes)
		return ugst_fail(err, UGDS_ST_INVALID_ARG,
		                 "tensor %s: a row is no whole number of bytes "
		                 "(%llu bytes in %llu rows of %s)",
		                 name,
		                 (unsigned long long)tensor->payload_bytes,
		                 (unsigned long long)rows,
		                 ugds_st_dtype_name(tensor->dtype));
	*off_out = read->row_first * row_bytes;
	*bytes_out = read->row_count * row_bytes;
	return UGDS_ST_OK;
}

static int check_buffer(const ugds_st_store *store,
                        const struct ugds_st_read *read, const char *name,
                        uint64_t bytes, struct ugds_st_error *err)
{
	const ugds_st_buffer *buffer = read->buf;
	uintptr_t base;
	uintptr_t dst = (uintptr_t)read->dst;

	if (!buffer)
		return UGDS_ST_OK;
	if (buffer->store != store)
		return ugst_fail(err, UGDS_ST_INVALID_ARG,
		                 "tensor %s: buffer at %p is registered with "
		                 "another store",
		                 name, (void *)buffer->base);
	base = (uintptr_t)buffer->base;
	if (dst < base || dst - base > buffer->bytes ||
	    buffer->bytes - (dst - base) < bytes)
		return ugst_fail(err, UGDS_ST_INVALID_ARG,
		                 "tensor %s: expected a destination inside "
		                 "the buffer, %llu bytes at %p, found %llu at "
		                 "%p",
		                 name, (unsigned long long)buffer->bytes,
		                 (void *)buffer->base,
		                 (unsigned long long)bytes, read->dst);
	return UGDS_ST_OK;
}

/* A caller's request, checked; filled only if it is good. */
static int check_request(const ugds_st_store *store,
                         const struct ugds_st_read *read,
                         struct ugst_request *request,
                         struct ugds_st_error *err)
{
	const ugds_st_tensor *tensor = read->tensor;
	char name[UGST_ESCAPED_BYTES];
	uint64_t off;
	uint64_t bytes;
	int status;

	if (!tensor || ugst_tensor_store(tensor) != store)
		return ugst_fail(err, UGDS_ST_INVALID_ARG,
		                 "read: a tensor is %s",
		                 tensor ? "of another store" : "NULL");
	(void)ugst_escape(tensor->name, tensor->name_bytes, name, sizeof(name));
	status = check_rows(read, name, &off, &bytes, err);
	if (status)
		return status;
	if (read->dst_bytes < bytes || (!read->dst && bytes))
		return ugst_fail(err, UGDS_ST_INVALID_ARG,
		                 "tensor %s: expected room for %llu bytes, "
		                 "found %llu at %p",
		                 name, (unsigned long long)bytes,
		                 (unsigned long long)read->dst_bytes,
		                 read->dst);
	status = check_buffer(store, read, name, bytes, err);
	if (status)
		return status;
	request->tensor = tensor;
	request->shard_off = tensor->file_off + off;
	request->bytes = bytes;
	request->dst = read->dst;
	request->base = read->buf ? read->buf->base : NULL;
	request->buffer = read->buf;
	return UGDS_ST_OK;
}

/* Request index of a list whose structs may be of another size than ours. */
static void *read_at(struct ugds_st_read *reads, size_t index)
{
	return (char *)reads + index * reads->struct_size;
}

/* Is it a list? */
static int check_list(struct ugds_st_read *reads, size_t count,
                      struct ugds_st_error *err)
{
	for (size_t i = 0; i < count; i++) {
		struct ugds_st_read read;
		int status =
			ugst_opts_read(&read, sizeof(read), read_at(reads, i),
		                       "struct ugds_st_read", err);

		if (status)
			return status;
		if (read.struct_size != reads->struct_size)
			return ugst_fail(err, UGDS_ST_INVALID_ARG,
			                 "read %zu: expected struct_size %zu "
			                 "as the first has, found %zu",
			                 i, reads->struct_size,
			                 read.struct_size);
	}
	return UGDS_ST_OK;
}

/* Copy a list in. Refused requests get a status, and the first its text.
 * Buffers are held until put_results(). */
static void take_requests(const ugds_st_store *store,
                          struct ugds_st_read *reads, size_t count,
                          struct ugst_request *requests,
                          struct ugds_st_error *err)
{
	for (size_t i = 0; i < count; i++) {
		struct ugst_request *request = &requests[i];
		struct ugds_st_read read;

		(void)ugst_opts_read(&read, sizeof(read), read_at(reads, i), "",
		                     NULL);
		request->status = check_request(store, &read, request, err);
		if (request->status)
			err = NULL;
		else if (request->buffer)
			atomic_fetch_add(&request->buffer->users, 1);
	}
}

static void put_result(struct ugds_st_read *out, int status, int placement)
{
	struct ugds_st_read read;

	(void)ugst_opts_read(&read, sizeof(read), out, "", NULL);
	read.status = status;
	read.placement = placement;
	(void)ugst_opts_write(out, &read, sizeof(read));
}

static void put_results(struct ugds_st_read *reads, size_t count,
                        const struct ugst_request *requests)
{
	for (size_t i = 0; i < count; i++) {
		if (requests[i].buffer)
			atomic_fetch_sub(&requests[i].buffer->users, 1);
		put_result(read_at(reads, i), requests[i].status,
		           requests[i].placement);
	}
}

/* None could be looked at. Return: status. */
static int fail_list(struct ugds_st_read *reads, size_t count,
                     const struct ugds_st_read_opts *opts, int status)
{
	for (size_t i = 0; i < count; i++) {
		put_result(read_at(reads, i), status, UGDS_ST_PLACED_NONE);
		if (opts->ready)
			opts->ready(opts->ctx, i, status);
	}
	return status;
}

static int read_list(ugds_st_store *store, struct ugds_st_read *reads,
                     size_t count, const struct ugds_st_read_opts *opts,
                     struct ugds_st_error *err)
{
	struct ugst_request *requests;
	int status = ugst_store_check_readable(store, err);

	if (status)
		return fail_list(reads, count, opts, status);
	requests = ugst_calloc(count, sizeof(*requests));
	if (!requests)
		return fail_list(reads, count, opts, ugst_fail_memory(err));
	take_requests(store, reads, count, requests, err);
	status = ugst_read_requests(store, requests, count, opts, err);
	put_results(reads, count, requests);
	free(requests);
	return status;
}

UGST_API int ugds_st_read_many(ugds_st_store *store, struct ugds_st_read *reads,
                               size_t count,
                               const struct ugds_st_read_opts *caller_opts,
                               struct ugds_st_error *err)
{
	struct ugds_st_read_opts opts;
	int status;

	if (!store || (!reads && count) || count > UINT32_MAX)
		return ugst_fail(err, UGDS_ST_INVALID_ARG,
		                 "read: a store and a list of up to 2^32 - 1 "
		                 "requests are needed, found %zu",
		                 count);
	status = ugst_read_opts(caller_opts, &opts, err);
	if (status == UGDS_ST_OK)
		status = check_list(reads, count, err);
	if (status || count == 0)
		return status;
	ugst_store_enter(store);
	status = read_list(store, reads, count, &opts, err);
	ugst_store_leave(store);
	return status;
}

UGST_API int ugds_st_read_into(ugds_st_store *store, const char *name,
                               void *dst, uint64_t dst_bytes,
                               struct ugds_st_error *err)
{
	struct ugds_st_read read = UGDS_ST_READ_INIT;
	int status;

	if (!store || !name)
		return ugst_fail(err, UGDS_ST_INVALID_ARG,
		                 "read: store and name are needed");
	status = ugst_read_find(store, name, &read.tensor, err);
	if (status)
		return status;
	read.dst = dst;
	read.dst_bytes = dst_bytes;
	return ugds_st_read_many(store, &read, 1, NULL, err);
}
