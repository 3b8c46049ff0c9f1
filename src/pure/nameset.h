/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * nameset.h - numbers of names, found again by name: the open addressing
 * under header.c, index.c and table.c.
 *
 * A slot is a 32-bit hash of a name and the name's number; the names
 * themselves stay with the owner, who is asked only when hashes are equal. So
 * an absent name costs no more than a present one, and the set can grow
 * without looking at a name.
 */
#ifndef UGST_NAMESET_H
#define UGST_NAMESET_H

#include "base/common.h"
#include "pure/hash.h"

struct ugst_name_slot {
	uint32_t hash;
	uint32_t number; /* of the name, plus 1; 0: the slot is free */
};

struct ugst_nameset {
	struct ugst_name_slot *slots;
	size_t slot_count; /* a power of two, at least twice count; or 0 */
	size_t count;
};

/* Is the owner's name of this number the name asked for? */
typedef bool (*ugst_name_equal_fn)(const void *owner, uint32_t number,
                                   const char *name, size_t name_bytes);

static inline uint32_t ugst_name_hash(const char *name, size_t name_bytes,
                                      uint64_t seed)
{
	return (uint32_t)ugst_hash_name(name, name_bytes, seed);
}

/* Room for count names in all. false: out of memory, the set is as before. */
bool ugst_nameset_reserve(struct ugst_nameset *set, size_t count);

/* A zeroed set is fine. */
void ugst_nameset_free(struct ugst_nameset *set);

/* The slot of a hash will be looked at soon. */
static inline void ugst_nameset_prefetch(const struct ugst_nameset *set,
                                         uint32_t hash)
{
	__builtin_prefetch(&set->slots[hash & (set->slot_count - 1)]);
}

/*
 * ugst_nameset_find() - the slot that holds a name, or the free one where it
 * would go.
 *
 * The set must have a free slot. Inline, so that equal can be, too.
 */
static inline struct ugst_name_slot *
ugst_nameset_find(const struct ugst_nameset *set, uint32_t hash,
                  const char *name, size_t name_bytes, ugst_name_equal_fn equal,
                  const void *owner)
{
	size_t at = hash & (set->slot_count - 1);

	for (;; at = (at + 1) & (set->slot_count - 1)) {
		struct ugst_name_slot *slot = &set->slots[at];

		if (slot->number == 0)
			return slot;
		if (slot->hash == hash &&
		    equal(owner, slot->number - 1, name, name_bytes))
			return slot;
	}
}

#endif /* UGST_NAMESET_H */
