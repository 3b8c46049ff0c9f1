/* SPDX-License-Identifier: BSD-3-Clause */
/* numbered.h - shard names of the form <stem>-00001-of-00163.safetensors. */
#ifndef UGST_NUMBERED_H
#define UGST_NUMBERED_H

#include "base/common.h"

struct ugst_numbered {
	size_t stem_bytes;   /* of the name's start */
	size_t digits_bytes; /* of the number, zeros included */
	uint64_t number;
	uint64_t of;
};

/* Is this the name of a numbered shard? */
bool ugst_numbered(const char *name, struct ugst_numbered *number_out);

/* Are these sorted names all of one set, whole or not? */
bool ugst_numbered_set(char *const *names, size_t count);

/*
 * ugst_numbered_missing() - is the set whole, counted from 1 or from 0?
 *
 * Return: OK; NOT_FOUND: err->text has the names that are missing.
 */
int ugst_numbered_missing(char *const *names, size_t count,
                          struct ugds_st_error *err);

/* Does b follow a in the numbering of one set? */
bool ugst_numbered_next(const char *a, const char *b);

#endif /* UGST_NUMBERED_H */
