/* SPDX-License-Identifier: BSD-3-Clause */
/* copies.h - a first-in, first-out list of enqueued copies. */
#ifndef UGST_COPIES_H
#define UGST_COPIES_H

#include "base/common.h"

/* A copy that was enqueued; in a list it holds the slot that it reads. */
struct ugst_copy {
	uint64_t token;
	uint64_t bytes;
	size_t want;
	uint64_t run; /* of a late one: its call */
	uint32_t slot;
};

/* Copies in the order in which they were enqueued. */
struct ugst_copies {
	struct ugst_copy *items;
	size_t first;
	size_t count;
	size_t capacity;
};

/* false: out of memory. */
bool ugst_copies_push(struct ugst_copies *copies, const struct ugst_copy *copy);

/* The oldest; NULL: none. */
const struct ugst_copy *ugst_copies_first(const struct ugst_copies *copies);

void ugst_copies_pop(struct ugst_copies *copies);

void ugst_copies_free(struct ugst_copies *copies);

#endif /* UGST_COPIES_H */
