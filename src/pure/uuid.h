/* SPDX-License-Identifier: BSD-3-Clause */
/* uuid.h - RFC 9562 UUIDs, as bytes and as text. */
#ifndef UGST_UUID_H
#define UGST_UUID_H

#include "base/common.h"

/* 8-4-4-4-12 lower-case hex digits and the ending NUL. */
#define UGST_UUID_TEXT_BYTES 37u

struct ugst_uuid {
	uint8_t bytes[16];
};

bool ugst_uuid_equal(const struct ugst_uuid *a, const struct ugst_uuid *b);

/* < 0, 0, > 0, as memcmp: the order in which volumes are locked. */
int ugst_uuid_compare(const struct ugst_uuid *a, const struct ugst_uuid *b);

/* The UUID of nothing: all zeros. */
bool ugst_uuid_is_nil(const struct ugst_uuid *uuid);

/* Return: text. */
char *ugst_uuid_text(const struct ugst_uuid *uuid,
                     char text[UGST_UUID_TEXT_BYTES]);

/* false: not the text form (either case is taken). */
bool ugst_uuid_from_text(const char *text, struct ugst_uuid *uuid_out);

/* 16 random bytes made a version 4 UUID (RFC 9562, section 5.4). */
struct ugst_uuid ugst_uuid_from_random(const uint8_t random[16]);

#endif /* UGST_UUID_H */
