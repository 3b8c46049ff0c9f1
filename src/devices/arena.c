/* SPDX-License-Identifier: BSD-3-Clause */
/* arena.c - slots for staging; see arena.h. */
#include "base/common.h"

#include <assert.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/units.h"
#include "devices/arena.h"

#define MIN_SLOTS 2u

int ugst_arena_init(struct ugst_arena *arena, char *base, uint64_t off,
                    uint64_t bytes, uint64_t slot_bytes,
                    struct ugds_st_error *err)
{
	uint64_t slot_count = bytes / slot_bytes;

	if (slot_count < MIN_SLOTS)
		return ugst_fail(err, UGDS_ST_INVALID_ARG,
		                 "arena: expected at least %llu bytes a "
		                 "volume, found %llu",
		                 (unsigned long long)(MIN_SLOTS * slot_bytes),
		                 (unsigned long long)bytes);
	*arena = (struct ugst_arena){
		.base = base,
		.off = off,
		.slot_bytes = slot_bytes,
		.slot_count = (uint32_t)ugst_min(slot_count, UINT32_MAX - 1),
	};
	arena->free_slots =
		ugst_calloc(arena->slot_count, sizeof(*arena->free_slots));
	arena->holds = ugst_calloc(arena->slot_count, sizeof(*arena->holds));
	if (!arena->free_slots || !arena->holds) {
		ugst_arena_free(arena);
		return ugst_fail_memory(err);
	}
	/* Slot 0 on top: a light load keeps to few pages. */
	for (uint32_t slot = arena->slot_count; slot-- > 0;)
		arena->free_slots[arena->free_count++] = slot;
	return UGDS_ST_OK;
}

void ugst_arena_free(struct ugst_arena *arena)
{
	free(arena->free_slots);
	free(arena->holds);
	arena->free_slots = NULL;
	arena->holds = NULL;
}

uint32_t ugst_arena_take(struct ugst_arena *arena, uint32_t reserve_count)
{
	uint32_t slot;

	if (arena->free_count <= reserve_count)
		return UGST_NO_SLOT;
	slot = arena->free_slots[--arena->free_count];
	arena->holds[slot] = 1;
	return slot;
}

void ugst_arena_hold(struct ugst_arena *arena, uint32_t slot)
{
	assert(arena->holds[slot] > 0);
	arena->holds[slot]++;
}

void ugst_arena_give(struct ugst_arena *arena, uint32_t slot)
{
	assert(arena->holds[slot] > 0);
	if (--arena->holds[slot] == 0)
		arena->free_slots[arena->free_count++] = slot;
}

uint64_t ugst_arena_slot_off(const struct ugst_arena *arena, uint32_t slot)
{
	return arena->off + slot * arena->slot_bytes;
}
