/* SPDX-License-Identifier: BSD-3-Clause */
/* nameset.c - growth of a set of names; see nameset.h. */
#include "base/common.h"

#include "base/mem.h"
#include "pure/nameset.h"

static void move_slot(struct ugst_nameset *set, struct ugst_name_slot slot)
{
	size_t at = slot.hash & (set->slot_count - 1);

	while (set->slots[at].number)
		at = (at + 1) & (set->slot_count - 1);
	set->slots[at] = slot;
}

bool ugst_nameset_reserve(struct ugst_nameset *set, size_t count)
{
	struct ugst_nameset grown = {.slot_count = 16, .count = set->count};

	if (count > UINT32_MAX / 2)
		return false;
	while (grown.slot_count < 2 * count)
		grown.slot_count *= 2;
	if (grown.slot_count <= set->slot_count)
		return true;
	grown.slots = ugst_calloc(grown.slot_count, sizeof(*grown.slots));
	if (!grown.slots)
		return false;
	/* In order of their slots the old ones go to two rising places of the
	 * new array: no cache misses to speak of. */
	for (size_t i = 0; i < set->slot_count; i++)
		if (set->slots[i].number)
			move_slot(&grown, set->slots[i]);
	free(set->slots);
	*set = grown;
	return true;
}

void ugst_nameset_free(struct ugst_nameset *set)
{
	free(set->slots);
	memset(set, 0, sizeof(*set));
}
