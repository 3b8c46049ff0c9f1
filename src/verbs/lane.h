/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * lane.h - what one transfer reads from one source: its plan, the entries
 * that must be read again, and the copies on their way.
 */
#ifndef UGST_LANE_H
#define UGST_LANE_H

#include "base/common.h"
#include "verbs/transfer.h"

/* Blocks that are read again, staged. */
struct ugst_repair {
	uint64_t device_off;
	uint64_t bytes;
};

struct ugst_lane {
	struct ugst_job job; /* first: the queue's view of a lane */
	const struct ugst_path *path;
	struct ugst_source *source;
	uint32_t source_index;
	struct ugst_want *wants;
	const struct ugst_transfer_opts *opts;
	struct ugst_plan plan;
	/* The last is the next; changed under the queue's lock. */
	struct ugst_repair *repairs;
	size_t repair_count;
	size_t repair_capacity;
	struct ugst_copies copies;
	bool joined;
	bool over;
};

/*
 * ugst_lane_open() - plan segments and join the source's queue.
 *
 * The lane's path, source, wants and opts are set. @segments becomes the
 * lane's, also on failure.
 * Return: OK; NO_MEMORY; BUSY; DEVICE_LOST.
 */
int ugst_lane_open(struct ugst_lane *lane, struct ugst_segments *segments,
                   struct ugds_st_error *err);

/*
 * ugst_lane_step() - one round: entries that are over, and copies.
 *
 * Waits up to wait_ns for the first entry.
 * Return: whether anything moved.
 */
bool ugst_lane_step(struct ugst_lane *lane, uint64_t wait_ns);

/*
 * ugst_lane_close() - leave the queue, wait for copies.
 *
 * Staged entries in flight become nobody's. Copies on a caller's stream are
 * left to the source. A zeroed lane is fine.
 */
void ugst_lane_close(struct ugst_lane *lane);

/* A want has failed, if it is not over: tell, and count it. */
void ugst_lane_fail(struct ugst_lane *lane, size_t want, int status);

#endif /* UGST_LANE_H */
