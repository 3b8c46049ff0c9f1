/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * transfer.h - payloads from devices to destinations: the one data path.
 *
 * Everything that a store reads passes here: tensors, rows of them, headers,
 * labels, whole shards to verify. Plans one list of segments a source, keeps
 * every source busy, copies what is staged, repairs what failed, and says of
 * each want when all of its bytes are there.
 */
#ifndef UGST_TRANSFER_H
#define UGST_TRANSFER_H

#include <stdatomic.h>

#include "base/common.h"
#include "devices/queue.h"
#include "pure/plan.h"
#include "verbs/late.h"

/* One device of a store. */
struct ugst_source {
	struct ugst_queue *queue;
	struct ugst_arena arena;
	struct ugst_late late;
};

/* Counters of a store; see struct ugds_st_stats. */
struct ugst_counters {
	_Atomic uint64_t payload_bytes;
	_Atomic uint64_t device_bytes;
	_Atomic uint64_t entries;
	_Atomic uint64_t commands;
	_Atomic uint64_t merges;
	_Atomic uint64_t direct_bytes;
	_Atomic uint64_t staged_bytes;
	_Atomic uint64_t retries;
	_Atomic uint64_t fallbacks;
	_Atomic uint64_t waits;
};

/* What transfers of one store have in common. */
struct ugst_path {
	const struct ugds_st_memory_ops *memory;
	struct ugst_source *sources;
	size_t source_count;
	struct ugst_counters *counters;
};

/* One thing wanted: over when all its bytes are there, or it failed. */
struct ugst_want {
	uint64_t left_bytes; /* set to its size by the caller */
	uint64_t direct_bytes;
	uint64_t staged_bytes;
	int status; /* of what is over */
	bool over;
	/* Where it failed, for the text. */
	uint32_t source;
	uint64_t failed_off; /* device offset of the block */
	int copy_code;       /* of the memory's ops; 0: not a copy */
	int fence_code;      /* likewise */
};

struct ugst_transfer_opts {
	uint64_t deadline_ns; /* monotonic; 0: none. All must be staged. */
	uint32_t priority;
	void *stream;
	/* A want is fulfilled. Those that fail are the caller's to tell of:
	 * until ugst_transfer() returns something may still be under way to
	 * their destinations. */
	void (*ready)(void *ctx, size_t want);
	void *ctx;
};

/* Segments of one source; their request is the index of a want. */
struct ugst_segments {
	struct ugst_segment *items; /* malloc'ed; becomes the transfer's */
	size_t count;
};

/*
 * ugst_transfer() - carry out lists of segments, one a source.
 *
 * Returns when, but for a lost device and copies on a caller's stream, nothing
 * can write to a destination any more.
 *
 * @lists: path->source_count of them; taken and emptied, also on failure.
 * Return: OK: every want is over, look at each; NO_MEMORY, BUSY, DEVICE_LOST:
 * those that are not over have failed with it.
 */
int ugst_transfer(const struct ugst_path *path, struct ugst_segments *lists,
                  struct ugst_want *wants,
                  const struct ugst_transfer_opts *opts,
                  struct ugds_st_error *err);

/*
 * ugst_source_settle() - wait until nothing uses a source's arena.
 *
 * Return: OK; DEVICE_LOST.
 */
int ugst_source_settle(const struct ugst_path *path, struct ugst_source *source,
                       struct ugds_st_error *err);

#endif /* UGST_TRANSFER_H */
