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

/* A request is over. */
static void tell(struct call *call, size_t index, int status)
{
	struct ugst_request *request = &call->requests[index];

	if (call->opts->ready && !request->told)
		call->opts->ready(call->opts->ctx, index, status);
	request->told = true;
}

static void tell_ready(void *call, size_t want)
{
	tell(call, want, UGDS_ST_OK);
}

static const struct ugst_store_copy *copy_of(const struct call *call,
                                             size_t index)
{
	const struct ugst_request *request = &call->requests[index];

	return ugst_store_copy(call->store, request->tensor, request->turn);
}

static int list_segments(struct call *call, struct ugds_st_error *err)
{
	const ugds_st_store *store = call->store;
	size_t *counts = ugst_calloc(store->path.source_count, sizeof(*counts));
	int status = UGDS_ST_OK;

	if (!counts)
		return ugst_fail_memory(err);
	for (size_t i = 0; i < call->count; i++)
		if (!call->requests[i].status && !call->wants[i].over)
			counts[copy_of(call, i)->source]++;
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
		struct ugst_want *want = &call->wants[i];
		const struct ugst_store_copy *copy;
		struct ugst_segments *list;

		if (want->over)
			continue;
		if (request->status || request->bytes == 0) {
			want->status = request->status;
			want->over = true;
			tell(call, i, request->status);
			continue;
		}
		copy = copy_of(call, i);
		want->source = copy->source;
		want->left_bytes = request->bytes;
		list = &call->lists[want->source];
		list->items[list->count++] = (struct ugst_segment){
			.device_off = copy->device_off + request->shard_off,
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

/* What became of each, and the first that failed, in list order.
 * @status, @why: of those that were not carried out. */
static int collect_results(struct call *call, int status,
                           const struct ugds_st_error *why,
                           struct ugds_st_error *err)
{
	int first = UGDS_ST_OK;

	for (size_t i = 0; i < call->count; i++) {
		struct ugst_request *request = &call->requests[i];
		const struct ugst_want *want =
			call->wants ? &call->wants[i] : NULL;
		bool refused = request->status != UGDS_ST_OK;
		bool over = want && want->over;

		if (!refused)
			request->status = over ? want->status : status;
		request->placement =
			want ? placement_of(want) : UGDS_ST_PLACED_NONE;
		if (request->status && !first) {
			first = request->status;
			if (!refused && over)
				(void)say_failed(call, i, err);
			else if (!refused && err)
				*err = *why;
		}
		tell(call, i, request->status);
	}
	return first;
}

/* Requests that failed here and have another copy: look for them there. A lost
 * device may still write to what it was to fill directly, so only what was
 * staged is taken from it. */
static bool fall_back(struct call *call)
{
	bool again = false;

	for (size_t i = 0; i < call->count; i++) {
		struct ugst_request *request = &call->requests[i];
		struct ugst_want *want = &call->wants[i];
		bool staged = !request->base || call->opts->deadline_ms;

		if ((want->status != UGDS_ST_IO || want->copy_code) &&
		    (want->status != UGDS_ST_DEVICE_LOST || !staged))
			continue;
		if (request->status ||
		    !ugst_store_copy(call->store, request->tensor,
		                     request->turn + 1))
			continue;
		request->turn++;
		*want = (struct ugst_want){0};
		atomic_fetch_add(&call->store->counters.fallbacks, 1);
		again = true;
	}
	return again;
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
	int status;

	do {
		status = list_segments(call, err);
		if (status) {
			for (size_t i = 0; i < call->store->path.source_count;
			     i++)
				free(call->lists[i].items);
			return status;
		}
		add_segments(call);
		status = ugst_transfer(&call->store->path, call->lists,
		                       call->wants, &transfer_opts, err);
	} while (status == UGDS_ST_OK && fall_back(call));
	return status;
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
	struct ugds_st_error why = {0};
	int status;

	call.wants = ugst_calloc(count, sizeof(*call.wants));
	call.lists = ugst_calloc(store->path.source_count, sizeof(*call.lists));
	if (call.wants && call.lists)
		status = run_call(&call, &why);
	else
		status = ugst_fail_memory(&why);
	status = collect_results(&call, status, &why, err);
	free(call.wants);
	free(call.lists);
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
