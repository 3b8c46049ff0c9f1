/* SPDX-License-Identifier: BSD-3-Clause */
/* text.h - good documents, spoiled in one place at a time. */
#ifndef UGST_TEST_TEXT_H
#define UGST_TEST_TEXT_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* One place of a good document, what to put there, and the verdict. */
struct spoiled {
	const char *from;
	const char *to;
	int status;
	const char *says; /* must be in the error text; NULL: whatever */
};

/* A copy of text with the first from replaced; aborts where there is none,
 * since the test would then test nothing. free() it. */
static inline char *spoil(const char *text, const char *from, const char *to)
{
	const char *at = strstr(text, from);
	size_t room = strlen(text) + strlen(to) + 1;
	char *out = malloc(room);

	if (!at || !out) {
		fprintf(stderr, "nothing to spoil: %s\n", from);
		abort();
	}
	snprintf(out, room, "%.*s%s%s", (int)(at - text), text, to,
	         at + strlen(from));
	return out;
}

#endif /* UGST_TEST_TEXT_H */
