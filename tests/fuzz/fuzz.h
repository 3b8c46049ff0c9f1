/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fuzz.h - what fuzz targets share: one entry, and properties that trap.
 *
 * A target is fuzz_<what>.c with LLVMFuzzerTestOneInput(). clang links it with
 * libFuzzer; any compiler links it with replay.c to run a corpus.
 */
#ifndef UGST_FUZZ_H
#define UGST_FUZZ_H

#include <stdio.h>
#include <stdlib.h>

#include "base/common.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

/* A property that must hold for every input. */
#define FUZZ_CHECK(condition)                                         \
	do {                                                          \
		if (!(condition)) {                                   \
			fprintf(stderr, "%s:%d: does not hold: %s\n", \
			        __FILE__, __LINE__, #condition);      \
			abort();                                      \
		}                                                     \
	} while (0)

/* What every refusal owes its reader: a status, one printable line of text,
 * a byte offset (if any) inside the input. */
static inline void fuzz_check_error(const struct ugds_st_error *err, int status,
                                    size_t bytes)
{
	FUZZ_CHECK(err->status == status);
	FUZZ_CHECK(err->text[0] != '\0');
	FUZZ_CHECK(strnlen(err->text, sizeof(err->text)) < sizeof(err->text));
	for (const char *at = err->text; *at; at++)
		FUZZ_CHECK((unsigned char)*at >= 0x20 && *at != 0x7f);
	FUZZ_CHECK(err->offset == UGDS_ST_NO_OFFSET || err->offset <= bytes);
}

#endif /* UGST_FUZZ_H */
