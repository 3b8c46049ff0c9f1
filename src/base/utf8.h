/* SPDX-License-Identifier: BSD-3-Clause */
/* utf8.h - well-formed UTF-8, as Unicode 15 table 3-7 and RFC 3629 have it. */
#ifndef UGST_UTF8_H
#define UGST_UTF8_H

#include "base/common.h"

/*
 * ugst_utf8_char_bytes() - length of the character at text.
 *
 * Return: 1 to 4; 0 where the bytes are not well-formed UTF-8 (overlong,
 * surrogate, above U+10FFFF, cut short) or bytes is 0.
 */
static inline size_t ugst_utf8_char_bytes(const char *text, size_t bytes)
{
	const unsigned char *c = (const unsigned char *)text;
	unsigned char low = 0x80;
	unsigned char high = 0xbf;
	size_t char_bytes;

	if (bytes == 0)
		return 0;
	if (c[0] < 0x80)
		return 1;
	if (c[0] < 0xc2 || c[0] > 0xf4)
		return 0;
	char_bytes = c[0] < 0xe0 ? 2 : c[0] < 0xf0 ? 3 : 4;
	if (char_bytes > bytes)
		return 0;
	/* The second byte is where overlong forms, surrogates and values past
	 * U+10FFFF show. */
	if (c[0] == 0xe0)
		low = 0xa0;
	else if (c[0] == 0xed)
		high = 0x9f;
	else if (c[0] == 0xf0)
		low = 0x90;
	else if (c[0] == 0xf4)
		high = 0x8f;
	if (c[1] < low || c[1] > high)
		return 0;
	for (size_t i = 2; i < char_bytes; i++)
		if (c[i] < 0x80 || c[i] > 0xbf)
			return 0;
	return char_bytes;
}

#endif /* UGST_UTF8_H */
