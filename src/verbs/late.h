/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * late.h - copies on callers' streams that outlived the call that enqueued
 * them, and the slots of the arena that they still read.
 */
#ifndef UGST_LATE_H
#define UGST_LATE_H

#include "base/common.h"
#include "verbs/copies.h"

struct ugst_path;
struct ugst_source;

/* Late copies of one source; the queue's lock guards it. */
struct ugst_late {
	struct ugst_copies copies;
	uint64_t run_count; /* calls that left some */
	bool asking; /* somebody asks tokens, without the lock: none is removed
	                and none is asked by others */
};

/*
 * ugst_late_add() - take what is left of a call's copies.
 *
 * false: out of memory, @copies has the rest.
 */
bool ugst_late_add(struct ugst_source *source, struct ugst_copies *copies);

/*
 * ugst_late_reap() - free the slots of late copies that are done.
 *
 * Return: whether there are late copies left.
 */
bool ugst_late_reap(const struct ugst_path *path, struct ugst_source *source);

/* Wait until none is left, also of other calls. */
void ugst_late_wait(const struct ugst_path *path, struct ugst_source *source);

#endif /* UGST_LATE_H */
