/* SPDX-License-Identifier: BSD-3-Clause */
/* transfer.c - lanes side by side until every want is over; see transfer.h. */
#include "base/common.h"

#include "base/clock.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/units.h"
#include "verbs/lane.h"

/* The longest wait in one step: loss and deadlines are looked at between. */
#define STEP_NS (100 * UGST_NS_PER_MS)
/* With several sources, the wait for one of them: the others' events lie
 * meanwhile, with full windows. */
#define TURN_NS (200 * UGST_NS_PER_US)

struct transfer {
	struct ugst_lane **lanes;
	size_t lane_count;
	size_t open_count;
	size_t turn;
	struct ugst_want *wants;
	const struct ugst_transfer_opts *opts;
};

static int open_lane(struct transfer *transfer, const struct ugst_path *path,
                     size_t source, struct ugst_segments *segments,
                     struct ugds_st_error *err)
{
	struct ugst_lane *lane = ugst_calloc(1, sizeof(*lane));

	if (!lane)
		return ugst_fail_memory(err);
	transfer->lanes[transfer->lane_count++] = lane;
	transfer->open_count++;
	lane->path = path;
	lane->source = &path->sources[source];
	lane->source_index = (uint32_t)source;
	lane->wants = transfer->wants;
	lane->opts = transfer->opts;
	return ugst_lane_open(lane, segments, err);
}

/* Wants of a lane that will not be fulfilled. */
static void fail_wants(struct ugst_lane *lane, int status)
{
	for (size_t i = 0; i < lane->plan.segment_count; i++) {
		size_t want = lane->plan.segments[i].request;

		lane->wants[want].source = lane->source_index;
		ugst_lane_fail(lane, want, status);
	}
}

static bool lane_is_idle(struct ugst_lane *lane)
{
	struct ugst_entry entry;
	bool idle;

	ugst_queue_lock(lane->job.queue);
	idle = lane->job.in_flight == 0 && lane->job.done_count == 0 &&
	       !lane->job.peek(&lane->job, &entry);
	ugst_queue_unlock(lane->job.queue);
	/* On a caller's stream, enqueued is enough. */
	return idle && (lane->opts->stream || lane->copies.count == 0);
}

/* Is there anything left to do on this lane? */
static void settle_lane(struct transfer *transfer, struct ugst_lane *lane)
{
	int status = ugst_queue_check(lane->source->queue, NULL);

	if (status)
		fail_wants(lane, status);
	else if (!lane_is_idle(lane))
		return;
	else /* repairs that found no memory leave wants behind */
		fail_wants(lane, UGDS_ST_NO_MEMORY);
	lane->over = true;
	transfer->open_count--;
}

static uint64_t wait_for(const struct transfer *transfer)
{
	uint64_t deadline_ns = transfer->opts->deadline_ns;
	uint64_t now_ns;

	if (transfer->open_count > 1)
		return TURN_NS;
	if (deadline_ns == 0)
		return STEP_NS;
	now_ns = ugst_now_ns();
	return now_ns < deadline_ns ? ugst_min(deadline_ns - now_ns, STEP_NS)
	                            : 0;
}

static bool too_late(const struct transfer *transfer)
{
	return transfer->opts->deadline_ns &&
	       ugst_now_ns() >= transfer->opts->deadline_ns;
}

/* One round over all lanes; only one of them is waited for, and only if the
 * round before moved nothing. */
static bool step_all(struct transfer *transfer, bool wait)
{
	bool moved = false;

	transfer->turn++;
	for (size_t i = 0; i < transfer->lane_count; i++) {
		struct ugst_lane *lane = transfer->lanes[(transfer->turn + i) %
		                                         transfer->lane_count];
		uint64_t wait_ns = wait ? wait_for(transfer) : 0;

		if (lane->over)
			continue;
		moved |= ugst_lane_step(lane, wait_ns);
		settle_lane(transfer, lane);
		wait = false;
	}
	return moved;
}

static void run(struct transfer *transfer)
{
	bool moved = transfer->open_count > 1;

	while (transfer->open_count) {
		if (too_late(transfer)) {
			for (size_t i = 0; i < transfer->lane_count; i++)
				fail_wants(transfer->lanes[i], UGDS_ST_TIMEOUT);
			return;
		}
		moved = step_all(transfer, !moved);
		if (transfer->open_count == 1)
			moved = false;
	}
}

int ugst_transfer(const struct ugst_path *path, struct ugst_segments *lists,
                  struct ugst_want *wants,
                  const struct ugst_transfer_opts *opts,
                  struct ugds_st_error *err)
{
	struct transfer transfer = {
		.wants = wants,
		.opts = opts,
	};
	int status = UGDS_ST_OK;

	transfer.lanes =
		ugst_calloc(path->source_count, sizeof(*transfer.lanes));
	if (!transfer.lanes)
		status = ugst_fail_memory(err);
	for (size_t i = 0; i < path->source_count && !status; i++)
		if (lists[i].count)
			status = open_lane(&transfer, path, i, &lists[i], err);
	if (status == UGDS_ST_OK)
		run(&transfer);
	for (size_t i = 0; i < transfer.lane_count; i++) {
		ugst_lane_close(transfer.lanes[i]);
		/* Then even what was not wanted any more may still land. */
		if (status &&
		    ugst_queue_check(transfer.lanes[i]->source->queue, err))
			status = UGDS_ST_DEVICE_LOST;
		free(transfer.lanes[i]);
	}
	free(transfer.lanes);
	for (size_t i = 0; i < path->source_count; i++) {
		free(lists[i].items);
		lists[i] = (struct ugst_segments){0};
	}
	return status;
}

int ugst_source_settle(const struct ugst_path *path, struct ugst_source *source,
                       struct ugds_st_error *err)
{
	ugst_late_wait(path, source);
	ugst_copies_free(&source->late.copies);
	return ugst_queue_drain_arena(source->queue, &source->arena, err);
}
