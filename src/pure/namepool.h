/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * namepool.h - names one behind the other, each ended by a NUL that is not
 * counted.
 *
 * The pool may move while it grows. Who fills it keeps lengths, and walks over
 * the names in their order once the pool has stopped moving.
 */
#ifndef UGST_NAMEPOOL_H
#define UGST_NAMEPOOL_H

#include "base/common.h"
#include "pure/scan.h"

struct ugst_namepool {
	char *names; /* free() it */
	size_t bytes;
	size_t capacity;
	bool moved; /* since there was a first name */
};

/* Room for bytes in all. false: out of memory, the pool is as before. */
bool ugst_namepool_reserve(struct ugst_namepool *pool, size_t bytes);

/* Give back the room that is not used. */
void ugst_namepool_settle(struct ugst_namepool *pool);

/*
 * ugst_namepool_add() - put a string, unescaped, behind the last name.
 *
 * Return: it, until the next call; NULL: out of memory.
 */
const char *ugst_namepool_add(struct ugst_namepool *pool,
                              const struct ugst_string *string,
                              uint32_t *bytes_out);

#endif /* UGST_NAMEPOOL_H */
