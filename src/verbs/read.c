/* SPDX-License-Identifier: BSD-3-Clause */
/* read.c - requests for tensors, or rows of them, into memory. */
#include "base/common.h"

#include <stdio.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/opts.h"
#include "base/units.h"
#include "verbs/read.h"

/* ---------------------------------------------------- requests to segments */

/* What one call keeps besides its requests. */
struct call {
	ugds_st_store *store;
	struct ugst_request *requests;
	size_t count;
	struct ugst_want *wants;
	struct ugst_segments *lists;
	const struct ugds_st_read_opts *opts;
};

static void tell_ready(void *ctx, size_t want, int status)
{
	const struct call *call = ctx;

	call->opts->ready(call->opts->ctx, want, status);
}

static int list_segments(struct call *call, struct ugds_st_error *err)
{
	const ugds_st_store *store = call->store;
	size_t *counts = ugst_calloc(store->path.source_count, sizeof(*counts));
	int status = UGDS_ST_OK;

	if (!counts)
		return ugst_fail_memory(err);
	for (size_t i = 0; i < call->count; i++)
		counts[store->shards[call->requests[i].tensor->shard].source]++;
	for (size_t i = 0; i < store->path.source_count && !status; i++) {
		call->lists[i].items =
			ugst_calloc(counts[i], sizeof(struct ugst_segment));
		if (!call->lists[i].items)
			status = ugst_fail_memory(err);
	}
	free(counts);
	return status;
}

static void add_segments(struct call *call)
{
	for (size_t i = 0; i < call->count; i++) {
		const struct ugst_request *request = &call->requests[i];
		uint32_t source =
			call->store->shards[request->tensor->shard].source;
		struct ugst_segments *list = &call->lists[source];
		struct ugst_want *want = &call->wants[i];

		want->source = source;
		want->left_bytes = request->bytes;
		if (request->status || request->bytes == 0) {
			want->status = request->status;
			want->over = true;
			if (call->opts->ready)
				tell_ready(call, i, want->status);
			continue;
		}
		list->items[list->count++] = (struct ugst_segment){
			.device_off = request->device_off,
			.bytes = request->bytes,
			.dst = request->dst,
			/* A deadline must be able to give dst back at once,
		         * whatever the device still does. */
			.base = call->opts->deadline_ms ? NULL : request->base,
			.slack = request->slack,
			.request = (uint32_t)i,
		};
	}
}

/* --------------------------------------------------------- wants to results */

static int placement_of(const struct ugst_want *want)
{
	if (want->direct_bytes == 0)
		return want->staged_bytes ? UGDS_ST_PLACED_STAGED
		                          : UGDS_ST_PLACED_NONE;
	return want->staged_bytes ? UGDS_ST_PLACED_EDGES
	                          : UGDS_ST_PLACED_DIRECT;
}

/* Text for the first request that failed here. */
static int say_failed(const struct call *call, size_t index,
                      struct ugds_st_error *err)
{
	const ugds_st_tensor *tensor = call->requests[index].tensor;
	char name[UGST_ESCAPED_BYTES];
	char what[2 * UGST_ESCAPED_BYTES];

	(void)snprintf(what, sizeof(what), "tensor %s: shard %.100s",
	               ugst_escape(tensor->name, tensor->name_bytes, name,
	                           sizeof(name)),
	               call->store->shards[tensor->shard].name);
	return ugst_store_say(call->store, &call->wants[index], what, err);
}

static int collect_results(const struct call *call, struct ugds_st_error *err)
{
	int status = UGDS_ST_OK;

	for (size_t i = 0; i < call->count; i++) {
		struct ugst_request *request = &call->requests[i];

		/* A request that was refused beforehand has its text. */
		if (call->wants[i].status && !status && !request->status)
			(void)say_failed(call, i, err);
		if (call->wants[i].status && !status)
			status = call->wants[i].status;
		request->status = call->wants[i].status;
		request->placement = placement_of(&call->wants[i]);
	}
	return status;
}

static int run_call(struct call *call, struct ugds_st_error *err)
{
	const struct ugds_st_read_opts *opts = call->opts;
	struct ugst_transfer_opts transfer_opts = {
		.deadline_ns = opts->deadline_ms
	                               ? ugst_now_ns() + opts->deadline_ms *
	                                                         UGST_NS_PER_MS
	                               : 0,
		.priority = opts->priority,
		.stream = opts->stream,
		.ready = opts->ready ? tell_ready : NULL,
		.ctx = call,
	};
	int status = list_segments(call, err);

	if (status) {
		for (size_t i = 0; i < call->store->path.source_count; i++)
			free(call->lists[i].items);
		return status;
	}
	add_segments(call);
	return ugst_transfer(&call->store->path, call->lists, call->wants,
	                     call->count, &transfer_opts, err);
}

int ugst_read_requests(ugds_st_store *store, struct ugst_request *requests,
                       size_t count, const struct ugds_st_read_opts *opts,
                       struct ugds_st_error *err)
{
	struct call call = {
		.store = store,
		.requests = requests,
		.count = count,
		.opts = opts,
	};
	int status;

	atomic_fetch_add(&store->calls, 1);
	call.wants = ugst_calloc(count, sizeof(*call.wants));
	call.lists = ugst_calloc(store->path.source_count, sizeof(*call.lists));
	if (call.wants && call.lists)
		status = run_call(&call, err);
	else
		status = ugst_fail_memory(err);
	if (status == UGDS_ST_OK)
		status = collect_results(&call, err);
	else
		for (size_t i = 0; i < count; i++)
			if (requests[i].status == UGDS_ST_OK)
				requests[i].status = status;
	free(call.wants);
	free(call.lists);
	atomic_fetch_sub(&store->calls, 1);
	return status;
}

/* --------------------------------------------------------- what callers ask */

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

/* A caller's request, checked. Fills request->status too. */
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
	request->tensor = tensor;
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
	request->device_off = ugst_store_device_off(store, tensor) + off;
	request->bytes = bytes;
	request->dst = read->dst;
	request->base = read->buf ? read->buf->base : NULL;
	return UGDS_ST_OK;
}

/* Request index of a list whose structs may be of another size than ours. */
static void *read_at(struct ugds_st_read *reads, size_t index)
{
	return (char *)reads + index * reads->struct_size;
}

/* Copy a list in. Refused requests get a status, and the first its text;
 * false: the list itself is not one. */
static int take_requests(const ugds_st_store *store, struct ugds_st_read *reads,
                         size_t count, struct ugst_request *requests,
                         struct ugds_st_error *err)
{
	struct ugds_st_error *first_err = err;

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
		requests[i].status =
			check_request(store, &read, &requests[i], first_err);
		if (requests[i].status)
			first_err = NULL;
		if (requests[i].status && !requests[i].tensor)
			return requests[i].status;
	}
	return UGDS_ST_OK;
}

static void hold_buffers(struct ugds_st_read *reads, size_t count, bool hold)
{
	for (size_t i = 0; i < count; i++) {
		struct ugds_st_read read;

		(void)ugst_opts_read(&read, sizeof(read), read_at(reads, i), "",
		                     NULL);
		if (!read.buf)
			continue;
		if (hold)
			atomic_fetch_add(&read.buf->users, 1);
		else
			atomic_fetch_sub(&read.buf->users, 1);
	}
}

static void put_results(struct ugds_st_read *reads, size_t count,
                        const struct ugst_request *requests)
{
	for (size_t i = 0; i < count; i++) {
		struct ugds_st_read *out = read_at(reads, i);
		struct ugds_st_read read;

		(void)ugst_opts_read(&read, sizeof(read), out, "", NULL);
		read.status = requests[i].status;
		read.placement = requests[i].placement;
		(void)ugst_opts_write(out, &read, sizeof(read));
	}
}

UGST_API int ugds_st_read_many(ugds_st_store *store, struct ugds_st_read *reads,
                               size_t count,
                               const struct ugds_st_read_opts *caller_opts,
                               struct ugds_st_error *err)
{
	struct ugds_st_read_opts opts;
	struct ugst_request *requests;
	int status;

	if (!store || (!reads && count) || count > UINT32_MAX)
		return ugst_fail(err, UGDS_ST_INVALID_ARG,
		                 "read: a store and a list of up to 2^32 - 1 "
		                 "requests are needed, found %zu",
		                 count);
	status = ugst_read_opts(caller_opts, &opts, err);
	if (status == UGDS_ST_OK)
		status = ugst_store_check_readable(store, err);
	if (status || count == 0)
		return status;
	requests = ugst_calloc(count, sizeof(*requests));
	if (!requests)
		return ugst_fail_memory(err);
	status = take_requests(store, reads, count, requests, err);
	if (status == UGDS_ST_OK) {
		hold_buffers(reads, count, true);
		status = ugst_read_requests(store, requests, count, &opts, err);
		hold_buffers(reads, count, false);
		put_results(reads, count, requests);
	}
	free(requests);
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
