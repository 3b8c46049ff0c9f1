/* SPDX-License-Identifier: BSD-3-Clause */
/* uuid.c - UUIDs as bytes and as text; see uuid.h. */
#include "base/common.h"

#include "pure/uuid.h"

/* A dash follows byte 3, 5, 7 and 9 (RFC 9562, section 4). */
static bool dash_after(size_t byte)
{
	return byte == 3 || byte == 5 || byte == 7 || byte == 9;
}

static int hex_value(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

bool ugst_uuid_equal(const struct ugst_uuid *a, const struct ugst_uuid *b)
{
	return ugst_uuid_compare(a, b) == 0;
}

int ugst_uuid_compare(const struct ugst_uuid *a, const struct ugst_uuid *b)
{
	return memcmp(a->bytes, b->bytes, sizeof(a->bytes));
}

bool ugst_uuid_is_nil(const struct ugst_uuid *uuid)
{
	const struct ugst_uuid nil = {0};

	return ugst_uuid_equal(uuid, &nil);
}

char *ugst_uuid_text(const struct ugst_uuid *uuid,
                     char text[UGST_UUID_TEXT_BYTES])
{
	static const char digits[] = "0123456789abcdef";
	char *at = text;

	for (size_t i = 0; i < sizeof(uuid->bytes); i++) {
		*at++ = digits[uuid->bytes[i] >> 4];
		*at++ = digits[uuid->bytes[i] & 15];
		if (dash_after(i))
			*at++ = '-';
	}
	*at = '\0';
	return text;
}

bool ugst_uuid_from_text(const char *text, struct ugst_uuid *uuid_out)
{
	struct ugst_uuid uuid;

	for (size_t i = 0; i < sizeof(uuid.bytes); i++) {
		int high = hex_value(text[0]);
		int low = high < 0 ? -1 : hex_value(text[1]);

		if (low < 0)
			return false;
		uuid.bytes[i] = (uint8_t)(high << 4 | low);
		text += 2;
		if (dash_after(i) && *text++ != '-')
			return false;
	}
	if (*text != '\0')
		return false;
	*uuid_out = uuid;
	return true;
}

struct ugst_uuid ugst_uuid_from_random(const uint8_t random[16])
{
	struct ugst_uuid uuid;

	memcpy(uuid.bytes, random, sizeof(uuid.bytes));
	uuid.bytes[6] = (uint8_t)((uuid.bytes[6] & 0x0f) | 0x40);
	uuid.bytes[8] = (uint8_t)((uuid.bytes[8] & 0x3f) | 0x80);
	return uuid;
}
