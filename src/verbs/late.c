/* SPDX-License-Identifier: BSD-3-Clause */
/* late.c - copies that outlived their call; see late.h. */
#include "base/common.h"

#include "base/clock.h"
#include "verbs/late.h"
#include "verbs/transfer.h"

#define NAP_NS (100 * UGST_NS_PER_US)

bool ugst_late_add(struct ugst_source *source, struct ugst_copies *copies)
{
	struct ugst_late *late = &source->late;
	const struct ugst_copy *first;

	ugst_queue_lock(source->queue);
	late->run_count++;
	while ((first = ugst_copies_first(copies)) != NULL) {
		struct ugst_copy copy = *first;

		copy.run = late->run_count;
		if (!ugst_copies_push(&late->copies, &copy))
			break;
		ugst_copies_pop(copies);
	}
	ugst_queue_unlock(source->queue);
	return copies->count == 0;
}

/* Ask the tokens, with the lock let go, and keep what is not done. A run is
 * one stream's, where copies end in order: its first that is not done speaks
 * for the rest. Another run may be on a stream that is not held up. */
static void ask_all(const struct ugst_path *path, struct ugst_source *source,
                    bool wait)
{
	const struct ugds_st_memory_ops *memory = path->memory;
	struct ugst_copies *copies = &source->late.copies;
	uint64_t held_run = 0;
	size_t kept = 0;
	size_t i;

	for (i = 0; i < copies->count; i++) {
		struct ugst_copy copy = copies->items[copies->first + i];
		int result = 0;

		if (copy.run != held_run) {
			ugst_queue_unlock(source->queue);
			result = memory->done(memory->ctx, copy.token, wait);
			ugst_queue_lock(source->queue);
		}
		if (result == 0) {
			held_run = copy.run;
			copies->items[copies->first + kept++] = copy;
		} else {
			ugst_arena_give(&source->arena, copy.slot);
		}
	}
	copies->count = kept;
	if (kept == 0)
		copies->first = 0;
}

static bool reap(const struct ugst_path *path, struct ugst_source *source,
                 bool wait)
{
	struct ugst_late *late = &source->late;
	bool left;

	ugst_queue_lock(source->queue);
	if (!late->asking && late->copies.count) {
		late->asking = true;
		ask_all(path, source, wait);
		late->asking = false;
	}
	left = late->copies.count > 0;
	ugst_queue_unlock(source->queue);
	return left;
}

bool ugst_late_reap(const struct ugst_path *path, struct ugst_source *source)
{
	return reap(path, source, false);
}

void ugst_late_wait(const struct ugst_path *path, struct ugst_source *source)
{
	struct timespec nap = ugst_timespec(NAP_NS);

	/* Somebody else may be asking. */
	while (reap(path, source, true))
		(void)nanosleep(&nap, NULL);
}
