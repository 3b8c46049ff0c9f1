/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ugds_compat_judge.c - compatibility mode that watches its client.
 *
 * Counts what a scripted run did, and which of the rules were broken that the
 * real library does not check and that end in wrong data there.
 */
#include "base/common.h"

#include "base/units.h"
#include "devices/ugds_compat.h"
#include "devices/ugds_compat_script.h"

struct ugst_compat_counts ugst_compat_counted;

void ugst_compat_broke(int rule)
{
	ugst_compat_counted.broken[rule]++;
	ugst_compat_counted.violations++;
}

static bool overlaps(const struct ugst_compat_slot *slot, uintptr_t begin,
                     size_t bytes)
{
	uintptr_t other = (uintptr_t)slot->memory;

	return slot->memory && begin < other + slot->bytes &&
	       other < begin + bytes;
}

/* May a command of this list of handles still write there, or is there one
 * whose end the client was not told? */
static bool list_writes(const struct ugst_compat_handle *handle,
                        const struct ugst_compat_slot *except, uintptr_t begin,
                        size_t bytes, bool told)
{
	for (; handle; handle = handle->next) {
		const struct ugst_compat_batch *batch = handle->batch;

		for (unsigned i = 0; batch && i < batch->used; i++) {
			const struct ugst_compat_slot *slot = &batch->slots[i];

			if (slot != except && !handle->reset &&
			    (slot->unfinished || (!told && !slot->reported)) &&
			    overlaps(slot, begin, bytes))
				return true;
		}
	}
	return false;
}

static bool is_busy(const void *memory, size_t bytes)
{
	uintptr_t begin = (uintptr_t)memory;

	return list_writes(ugst_compat.handles, NULL, begin, bytes, true) ||
	       list_writes(ugst_compat.dead, NULL, begin, bytes, true);
}

void ugst_compat_judge(struct ugst_compat_slot *slot)
{
	const struct ugst_compat_batch *batch = slot->batch;
	uint32_t window = batch->handle->limits.window_commands;
	uint64_t oldest = batch->next_number;
	uint64_t in_flight = 0;
	struct ugst_compat_counts *counts = &ugst_compat_counted;

	if (!slot->command_count) {
		counts->invalid++;
		return;
	}
	for (unsigned i = 0; i < batch->used; i++) {
		const struct ugst_compat_slot *other = &batch->slots[i];

		in_flight += other->unfinished;
		if (!other->reported && other->command_count)
			oldest = ugst_min(oldest, other->first_number);
	}
	counts->entries++;
	counts->commands += slot->command_count;
	counts->in_flight_max = ugst_max(counts->in_flight_max, in_flight);
	counts->distance_max =
		ugst_max(counts->distance_max, batch->next_number - oldest);
	if (in_flight > window)
		ugst_compat_broke(UGST_COMPAT_RULE_IN_FLIGHT);
	if (batch->next_number - oldest > window)
		ugst_compat_broke(UGST_COMPAT_RULE_WINDOW);
	if (list_writes(ugst_compat.handles, slot, (uintptr_t)slot->memory,
	                slot->bytes, false) ||
	    list_writes(ugst_compat.dead, slot, (uintptr_t)slot->memory,
	                slot->bytes, true))
		ugst_compat_broke(UGST_COMPAT_RULE_OVERLAP);
}

bool ugst_compat_script_memory_busy(const void *memory, size_t bytes)
{
	bool busy;

	pthread_mutex_lock(&ugst_compat.lock);
	busy = is_busy(memory, bytes);
	pthread_mutex_unlock(&ugst_compat.lock);
	return busy;
}

void ugst_compat_script_given_back(const void *memory, size_t bytes)
{
	pthread_mutex_lock(&ugst_compat.lock);
	if (is_busy(memory, bytes))
		ugst_compat_broke(UGST_COMPAT_RULE_GIVEN_BACK);
	pthread_mutex_unlock(&ugst_compat.lock);
}

struct ugst_compat_counts ugst_compat_script_counts(void)
{
	struct ugst_compat_counts counts;
	const struct ugst_compat_handle *handle;
	const struct ugst_compat_buf *buf;

	pthread_mutex_lock(&ugst_compat.lock);
	counts = ugst_compat_counted;
	counts.held = ugst_compat_held();
	for (handle = ugst_compat.handles; handle; handle = handle->next)
		counts.handles++;
	for (buf = ugst_compat.bufs; buf; buf = buf->next) {
		counts.bufs++;
		counts.bufs_busy += buf->refs != 0;
	}
	pthread_mutex_unlock(&ugst_compat.lock);
	return counts;
}
