/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * arena.h - a registered piece of memory, cut into slots for staging.
 *
 * A slot holds one batch entry. It is taken when an entry is submitted; whoever
 * copies out of it holds it too, and with the last who gives it back it is
 * free. Until its event has come the device may write to it. The lock is the
 * queue's.
 */
#ifndef UGST_ARENA_H
#define UGST_ARENA_H

#include "base/common.h"

#define UGST_NO_SLOT UINT32_MAX

struct ugst_arena {
	char *base;          /* of the registration */
	uint64_t off;        /* of slot 0 within it */
	uint64_t slot_bytes; /* a multiple of 4096 */
	uint32_t slot_count;
	uint32_t free_count;
	uint32_t *free_slots;
	uint32_t *holds; /* of each slot; 0: free */
};

/*
 * ugst_arena_init() - slots of slot_bytes in [base + off, + bytes).
 *
 * Return: OK; INVALID_ARG (fewer than two slots); NO_MEMORY.
 */
int ugst_arena_init(struct ugst_arena *arena, char *base, uint64_t off,
                    uint64_t bytes, uint64_t slot_bytes,
                    struct ugds_st_error *err);

void ugst_arena_free(struct ugst_arena *arena);

/* A free slot, held once, leaving at least reserve_count for others;
 * UGST_NO_SLOT: none. */
uint32_t ugst_arena_take(struct ugst_arena *arena, uint32_t reserve_count);

/* Hold a slot once more. */
void ugst_arena_hold(struct ugst_arena *arena, uint32_t slot);

/* Let go of a slot; the last time frees it. */
void ugst_arena_give(struct ugst_arena *arena, uint32_t slot);

/* Offset of a slot within the registration. */
uint64_t ugst_arena_slot_off(const struct ugst_arena *arena, uint32_t slot);

#endif /* UGST_ARENA_H */
