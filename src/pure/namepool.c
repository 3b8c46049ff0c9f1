/* SPDX-License-Identifier: BSD-3-Clause */
/* namepool.c - names one behind the other; see namepool.h. */
#include "base/common.h"

#include "base/mem.h"
#include "pure/namepool.h"

bool ugst_namepool_reserve(struct ugst_namepool *pool, size_t bytes)
{
	char *names = ugst_reallocarray(pool->names, bytes, 1);

	if (!names)
		return false;
	pool->moved |= pool->bytes && names != pool->names;
	pool->names = names;
	pool->capacity = bytes;
	return true;
}

void ugst_namepool_settle(struct ugst_namepool *pool)
{
	(void)ugst_namepool_reserve(pool, pool->bytes);
}

const char *ugst_namepool_add(struct ugst_namepool *pool,
                              const struct ugst_string *string,
                              uint32_t *bytes_out)
{
	/* Unescaped it is no longer than as it stands. */
	size_t room = pool->bytes + string->raw_bytes + 1;
	size_t bytes;
	char *name;

	if (room > pool->capacity && !ugst_namepool_reserve(pool, 2 * room))
		return NULL;
	name = pool->names + pool->bytes;
	bytes = ugst_scan_unescape(string, name);
	name[bytes] = '\0';
	pool->bytes += bytes + 1;
	*bytes_out = (uint32_t)bytes;
	return name;
}
