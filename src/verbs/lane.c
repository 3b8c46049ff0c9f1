/* SPDX-License-Identifier: BSD-3-Clause */
/* lane.c - one transfer's part on one source; see lane.h. */
#include "base/common.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/units.h"
#include "verbs/lane.h"

/* Entries looked at in one round. What is staged is copied here, and the slots
 * that this frees are submitted in the next: were there many, the device would
 * run dry meanwhile. */
#define STEP_ENTRIES 2u
/* How often copies on callers' streams are asked. */
#define ASK_NS (200 * UGST_NS_PER_US)

static void count_up(_Atomic uint64_t *counter, uint64_t by)
{
	atomic_fetch_add_explicit(counter, by, memory_order_relaxed);
}

static const struct ugst_ugds_limits *limits_of(const struct ugst_lane *lane)
{
	return &ugst_queue_device(lane->source->queue)->limits;
}

/* ------------------------------------------- what the queue takes from us */

static bool peek(struct ugst_job *job, struct ugst_entry *entry_out)
{
	struct ugst_lane *lane = (struct ugst_lane *)job;
	const struct ugst_repair *repair;

	if (lane->repair_count == 0)
		return ugst_plan_peek(&lane->plan, entry_out);
	repair = &lane->repairs[lane->repair_count - 1];
	*entry_out = (struct ugst_entry){
		.device_off = repair->device_off,
		.bytes = repair->bytes,
		.commands = 1,
		.again = true,
	};
	return true;
}

static void take(struct ugst_job *job, const struct ugst_entry *entry)
{
	struct ugst_lane *lane = (struct ugst_lane *)job;

	if (entry->again)
		lane->repair_count--;
	else
		ugst_plan_advance(&lane->plan, entry);
}

/* ------------------------------------------------------- wants that are over
 */

static void want_over(struct ugst_lane *lane, size_t index, int status)
{
	struct ugst_want *want = &lane->wants[index];

	want->status = status;
	want->over = true;
	if (status == UGDS_ST_OK && lane->opts->ready)
		lane->opts->ready(lane->opts->ctx, index);
}

void ugst_lane_fail(struct ugst_lane *lane, size_t want, int status)
{
	if (!lane->wants[want].over)
		want_over(lane, want, status);
}

static void arrived(struct ugst_lane *lane, size_t index, uint64_t bytes)
{
	struct ugst_want *want = &lane->wants[index];

	want->left_bytes -= bytes;
	if (want->left_bytes == 0 && !want->over) {
		count_up(&lane->path->counters->payload_bytes,
		         want->direct_bytes + want->staged_bytes);
		want_over(lane, index, UGDS_ST_OK);
	}
}

/* ------------------------------------------------------------------- copies */

static void give_slot(struct ugst_lane *lane, uint32_t slot)
{
	if (slot != UGST_NO_SLOT)
		ugst_queue_give_slot(lane->source->queue, &lane->source->arena,
		                     slot);
}

static void copy_failed(struct ugst_lane *lane, size_t index, int code)
{
	struct ugst_want *want = &lane->wants[index];

	if (want->over)
		return;
	want->copy_code = code;
	want->source = lane->source_index;
	want_over(lane, index, UGDS_ST_IO);
}

/* A copy is done (1), or failed (< 0). */
static void copy_over(struct ugst_lane *lane, const struct ugst_copy *copy,
                      int result)
{
	if (result < 0)
		copy_failed(lane, copy->want, result);
	else
		arrived(lane, copy->want, copy->bytes);
}

/* Copies that are done; with wait, at least the oldest. */
static bool reap(struct ugst_lane *lane, bool wait)
{
	const struct ugds_st_memory_ops *memory = lane->path->memory;
	const struct ugst_copy *first;
	bool moved = false;

	while ((first = ugst_copies_first(&lane->copies)) != NULL) {
		struct ugst_copy copy = *first;
		int result =
			memory->done(memory->ctx, copy.token, wait && !moved);

		if (result == 0)
			break;
		ugst_copies_pop(&lane->copies);
		copy_over(lane, &copy, result);
		give_slot(lane, copy.slot);
		moved = true;
	}
	return moved;
}

/* Keep a copy until it is done. On a caller's stream what is enqueued counts
 * as there: later work on that stream comes after it. */
static void copy_enqueued(struct ugst_lane *lane, struct ugst_copy copy)
{
	const struct ugds_st_memory_ops *memory = lane->path->memory;
	int result = 0;

	if (lane->copies.count == 0)
		result = memory->done(memory->ctx, copy.token, 0);
	if (result == 0 && lane->opts->stream) {
		arrived(lane, copy.want, copy.bytes);
		copy.bytes = 0;
	}
	if (result == 0 && ugst_copies_push(&lane->copies, &copy)) {
		ugst_queue_hold_slot(lane->source->queue, &lane->source->arena,
		                     copy.slot);
		return;
	}
	if (result == 0) /* no memory to keep it */
		result = memory->done(memory->ctx, copy.token, 1);
	copy_over(lane, &copy, result);
}

/* ------------------------------------------------------- entries that are over
 */

/* What an entry has of a segment. */
struct part {
	const struct ugst_segment *segment;
	uint64_t device_off;
	uint64_t bytes;
};

/* The parts of an entry whose wants are not over. */
struct parts {
	const struct ugst_lane *lane;
	const struct ugst_entry *entry;
	size_t next;
	size_t end;
};

static struct parts parts_of(const struct ugst_lane *lane,
                             const struct ugst_entry *entry)
{
	struct parts parts = {.lane = lane, .entry = entry};

	ugst_plan_segments(&lane->plan, entry->device_off, entry->bytes,
	                   &parts.next, &parts.end);
	return parts;
}

static bool next_part(struct parts *parts, struct part *part_out)
{
	const struct ugst_lane *lane = parts->lane;
	const struct ugst_entry *entry = parts->entry;

	while (parts->next < parts->end) {
		const struct ugst_segment *segment =
			&lane->plan.segments[parts->next++];
		uint64_t from =
			ugst_max(segment->device_off, entry->device_off);
		uint64_t to = ugst_min(segment->device_off + segment->bytes,
		                       entry->device_off + entry->bytes);

		if (from >= to || lane->wants[segment->request].over)
			continue;
		*part_out = (struct part){segment, from, to - from};
		return true;
	}
	return false;
}

/* Copy a part out of a slot to where it goes. */
static void copy_out(struct ugst_lane *lane, const struct ugst_done *done,
                     struct part part)
{
	const struct ugds_st_memory_ops *memory = lane->path->memory;
	const struct ugst_segment *segment = part.segment;
	const struct ugst_arena *arena = &lane->source->arena;
	const char *from = arena->base +
	                   ugst_arena_slot_off(arena, done->slot) +
	                   (part.device_off - done->entry.device_off);
	char *to = segment->dst + (part.device_off - segment->device_off);
	struct ugst_copy copy = {
		.bytes = part.bytes,
		.want = segment->request,
		.slot = done->slot,
	};
	int code = memory->copy(memory->ctx, to, from, part.bytes,
	                        lane->opts->stream, &copy.token);

	lane->wants[segment->request].staged_bytes += part.bytes;
	if (code) {
		copy_failed(lane, segment->request, code);
		return;
	}
	copy_enqueued(lane, copy);
}

static void unload(struct ugst_lane *lane, const struct ugst_done *done)
{
	struct parts parts = parts_of(lane, &done->entry);
	struct part part;

	while (next_part(&parts, &part))
		copy_out(lane, done, part);
}

static void landed(struct ugst_lane *lane, const struct ugst_entry *entry)
{
	struct parts parts = parts_of(lane, entry);
	struct part part;

	while (next_part(&parts, &part)) {
		size_t want = part.segment->request;

		lane->wants[want].direct_bytes += part.bytes;
		arrived(lane, want, part.bytes);
	}
}

static bool is_wanted(const struct ugst_lane *lane,
                      const struct ugst_entry *entry)
{
	struct parts parts = parts_of(lane, entry);
	struct part part;

	return next_part(&parts, &part);
}

/* A block cannot be read, or the device has written what the memory cannot make
 * visible (a code of its fence): those fail whose it is. */
static void fail_entry(struct ugst_lane *lane, const struct ugst_entry *entry,
                       int fence_code)
{
	struct parts parts = parts_of(lane, entry);
	struct part part;

	while (next_part(&parts, &part)) {
		struct ugst_want *want = &lane->wants[part.segment->request];

		want->source = lane->source_index;
		want->failed_off = entry->device_off;
		want->fence_code = fence_code;
		want_over(lane, part.segment->request, UGDS_ST_IO);
	}
}

/* Read an entry again in pieces, the first one first. */
static void add_repairs(struct ugst_lane *lane, const struct ugst_entry *entry,
                        uint64_t piece_bytes)
{
	uint64_t end = entry->device_off + entry->bytes;

	ugst_queue_lock(lane->source->queue);
	while (end > entry->device_off) {
		uint64_t bytes = (end - entry->device_off) % piece_bytes;
		struct ugst_repair *grown;

		if (bytes == 0)
			bytes = piece_bytes;
		grown = ugst_grow(lane->repairs, lane->repair_count,
		                  &lane->repair_capacity, sizeof(*grown));
		if (!grown)
			break; /* wants stay unfulfilled, and fail */
		lane->repairs = grown;
		end -= bytes;
		grown[lane->repair_count++] = (struct ugst_repair){end, bytes};
	}
	ugst_queue_unlock(lane->source->queue);
}

/* An entry failed. If it was as planned, it is read again one command at a
 * time; what fails then is halved until one block is left. */
static void entry_failed(struct ugst_lane *lane, const struct ugst_entry *entry)
{
	const struct ugst_ugds_limits *limits = limits_of(lane);
	uint64_t half_bytes =
		ugst_align_up(ugst_div_up(entry->bytes, 2), limits->lba_bytes);

	if (!is_wanted(lane, entry))
		return;
	if (!entry->again)
		add_repairs(
			lane, entry,
			ugst_min(limits->command_bytes, lane->plan.slot_bytes));
	else if (entry->bytes > limits->lba_bytes)
		add_repairs(lane, entry, half_bytes);
	else
		fail_entry(lane, entry, 0);
}

/* @fence_code: of the fence after it; 0: good. */
static void entry_over(struct ugst_lane *lane, const struct ugst_done *done,
                       int fence_code)
{
	struct ugst_counters *counters = lane->path->counters;

	count_up(&counters->entries, 1);
	count_up(&counters->commands, done->entry.commands);
	count_up(&counters->device_bytes, done->entry.bytes);
	if (done->entry.again)
		count_up(&counters->retries, 1);
	if (done->status) {
		entry_failed(lane, &done->entry);
	} else if (fence_code) {
		fail_entry(lane, &done->entry, fence_code);
	} else if (done->entry.base) {
		count_up(&counters->direct_bytes, done->entry.bytes);
		landed(lane, &done->entry);
	} else {
		count_up(&counters->staged_bytes, done->entry.bytes);
		unload(lane, done);
	}
	give_slot(lane, done->slot);
}

/* ------------------------------------------------------------------ the lane
 */

int ugst_lane_open(struct ugst_lane *lane, struct ugst_segments *segments,
                   struct ugds_st_error *err)
{
	struct ugst_segment *items = segments->items;
	int status;

	segments->items = NULL;
	status = ugst_plan_build(&lane->plan, items, segments->count,
	                         limits_of(lane), err);
	if (status)
		return status;
	count_up(&lane->path->counters->merges, lane->plan.merge_count);
	lane->job.arena = &lane->source->arena;
	lane->job.priority = lane->opts->priority;
	lane->job.until_ns = lane->opts->deadline_ns;
	lane->job.peek = peek;
	lane->job.take = take;
	status = ugst_queue_join(lane->source->queue, &lane->job, err);
	lane->joined = status == UGDS_ST_OK;
	return status;
}

/* How long to wait for entries. While copies are under way, they are what there
 * is to wait for; those on a caller's stream end when the caller lets them, so
 * that they can only be asked again and again. */
static uint64_t patience(const struct ugst_lane *lane, bool late,
                         uint64_t wait_ns)
{
	if (lane->copies.count && !lane->opts->stream)
		return 0;
	return lane->copies.count || late ? ugst_min(wait_ns, ASK_NS) : wait_ns;
}

bool ugst_lane_step(struct ugst_lane *lane, uint64_t wait_ns)
{
	const struct ugds_st_memory_ops *memory = lane->path->memory;
	struct ugst_done done[STEP_ENTRIES];
	bool late = ugst_late_reap(lane->path, lane->source);
	bool moved;
	unsigned count;
	int code = 0;

	count = ugst_queue_wait(&lane->job, done, STEP_ENTRIES,
	                        patience(lane, late, wait_ns));
	if (count && memory->fence)
		code = memory->fence(memory->ctx);
	for (unsigned i = 0; i < count; i++)
		entry_over(lane, &done[i], code);
	moved = reap(lane, count == 0 && wait_ns > 0 && !lane->opts->stream);
	return count > 0 || moved;
}

void ugst_lane_close(struct ugst_lane *lane)
{
	if (!lane->source)
		return;
	if (lane->opts->stream)
		(void)ugst_late_add(lane->source, &lane->copies);
	while (reap(lane, true))
		;
	if (lane->joined) {
		count_up(&lane->path->counters->waits, lane->job.waits);
		ugst_queue_leave(&lane->job);
	}
	ugst_copies_free(&lane->copies);
	ugst_plan_free(&lane->plan);
	free(lane->repairs);
}
