/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * plan.h - from payloads and destinations to batch entries, on one device.
 *
 * Pure: sorts, merges neighbours, decides what the device writes straight to
 * its destination and what passes the arena, and cuts entries one by one as
 * they are asked for, so that a plan stays small whatever it reads. No block
 * is read twice, and no entry writes a byte that is not its own to write.
 */
#ifndef UGST_PLAN_H
#define UGST_PLAN_H

#include "base/common.h"
#include "pure/ugds_limits.h"

/* A middle smaller than this is staged with its ends. */
#define UGST_DIRECT_MIN_BYTES (256 * UGST_KIB)

/* One payload, or rows of one, and where it goes. */
struct ugst_segment {
	uint64_t device_off; /* of the payload's first byte */
	uint64_t bytes;      /* > 0 */
	char *dst;
	char *base;       /* registration that holds dst; NULL: staged */
	uint32_t request; /* the caller's number for it */
	bool slack;       /* memory around dst, up to whole blocks, is ours to
	                     overwrite: our own arrays */
	bool shared; /* set by the plan: overlaps another segment's payload */
	uint64_t reach; /* set by the plan: largest end up to here */
};

/* A run of blocks with one destination; base NULL: staged. */
struct ugst_range {
	uint64_t device_off;
	uint64_t bytes;
	char *base;
	uint64_t buffer_off;
};

/* One batch entry. */
struct ugst_entry {
	uint64_t device_off;
	uint64_t bytes;
	char *base; /* NULL: staged, the slot decides */
	uint64_t buffer_off;
	uint32_t commands;
	bool again; /* not of the plan: read once more after a failure */
};

struct ugst_plan {
	uint32_t lba_bytes;
	uint32_t command_bytes;
	uint64_t entry_bytes;
	uint64_t slot_bytes;           /* the same of staged entries */
	struct ugst_segment *segments; /* sorted by device_off; owned */
	size_t segment_count;
	struct ugst_range *ranges; /* sorted, disjoint; owned */
	size_t range_count;
	size_t merge_count; /* segments read together with the one before */
	size_t range_at;    /* cursor */
	uint64_t range_off; /* bytes of ranges[range_at] that are cut */
};

/*
 * ugst_plan_entry_bytes() - the size of a full entry.
 *
 * Whole commands: about 1 MiB of them, at least one, at most nine, so that
 * several entries fit a window of 63 commands.
 */
uint64_t ugst_plan_entry_bytes(uint32_t command_bytes);

/*
 * ugst_plan_slot_bytes() - the size of a full entry that is staged.
 *
 * The same, but never more than 1 MiB: where commands are larger, an arena has
 * better many slots than full commands.
 */
uint64_t ugst_plan_slot_bytes(uint32_t command_bytes);

/*
 * ugst_plan_build() - plan a list of segments.
 *
 * @segments: malloc'ed, becomes the plan's, also on failure; sorted in place.
 * Return: OK; NO_MEMORY.
 */
int ugst_plan_build(struct ugst_plan *plan, struct ugst_segment *segments,
                    size_t segment_count, const struct ugst_ugds_limits *limits,
                    struct ugds_st_error *err);

/* A zeroed plan is fine. */
void ugst_plan_free(struct ugst_plan *plan);

/* Look at the next entry. false: there is none. */
bool ugst_plan_peek(const struct ugst_plan *plan, struct ugst_entry *entry_out);

/* Past the entry that ugst_plan_peek() showed. */
void ugst_plan_advance(struct ugst_plan *plan, const struct ugst_entry *entry);

/*
 * ugst_plan_segments() - the segments that a device range may touch.
 *
 * Those at [*first_out, *end_out) include all that overlap it; where segments
 * share bytes, some of them may not.
 */
void ugst_plan_segments(const struct ugst_plan *plan, uint64_t device_off,
                        uint64_t bytes, size_t *first_out, size_t *end_out);

#endif /* UGST_PLAN_H */
