/* SPDX-License-Identifier: BSD-3-Clause */
/* copies.c - enqueued copies in order; see copies.h. */
#include "base/common.h"

#include "base/mem.h"
#include "verbs/copies.h"

bool ugst_copies_push(struct ugst_copies *copies, const struct ugst_copy *copy)
{
	struct ugst_copy *grown;

	/* Only when half of it is free: one move for as many pushes. */
	if (copies->first && copies->first >= copies->count &&
	    copies->first + copies->count == copies->capacity) {
		memmove(copies->items, copies->items + copies->first,
		        copies->count * sizeof(*copies->items));
		copies->first = 0;
	}
	grown = ugst_grow(copies->items, copies->first + copies->count,
	                  &copies->capacity, sizeof(*copies->items));
	if (!grown)
		return false;
	copies->items = grown;
	copies->items[copies->first + copies->count++] = *copy;
	return true;
}

const struct ugst_copy *ugst_copies_first(const struct ugst_copies *copies)
{
	return copies->count ? &copies->items[copies->first] : NULL;
}

void ugst_copies_pop(struct ugst_copies *copies)
{
	copies->first++;
	if (--copies->count == 0)
		copies->first = 0;
}

void ugst_copies_free(struct ugst_copies *copies)
{
	free(copies->items);
	memset(copies, 0, sizeof(*copies));
}
