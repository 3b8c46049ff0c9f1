/* SPDX-License-Identifier: BSD-3-Clause */
/* requests.c - a list of checked requests, carried out; see read.h. */
#include "base/common.h"

#include <stdio.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/mem.h"
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
			/* What is beside it came from the first copy, and may
		         * be published. */
			.slack = request->slack && request->turn == 0,
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
