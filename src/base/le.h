/* SPDX-License-Identifier: BSD-3-Clause */
/* le.h - little-endian integers in bytes, at any alignment. */
#ifndef UGST_LE_H
#define UGST_LE_H

#include "base/common.h"

static inline uint32_t ugst_get_le32(const void *bytes)
{
	const uint8_t *b = bytes;

	return (uint32_t)b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 |
	       (uint32_t)b[3] << 24;
}

static inline uint64_t ugst_get_le64(const void *bytes)
{
	const uint8_t *b = bytes;

	return (uint64_t)ugst_get_le32(b) | (uint64_t)ugst_get_le32(b + 4)
	                                            << 32;
}

static inline void ugst_put_le32(void *bytes, uint32_t value)
{
	uint8_t *b = bytes;

	for (int i = 0; i < 4; i++)
		b[i] = (uint8_t)(value >> (8 * i));
}

static inline void ugst_put_le64(void *bytes, uint64_t value)
{
	uint8_t *b = bytes;

	for (int i = 0; i < 8; i++)
		b[i] = (uint8_t)(value >> (8 * i));
}

#endif /* UGST_LE_H */
