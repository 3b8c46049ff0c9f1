/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * units.h - the only place where a block size divides, or two offsets add.
 *
 * Every alignment is a power of two. Functions that can overflow say so and
 * leave *out alone; the others have callers that bound their input first.
 */
#ifndef UGST_UNITS_H
#define UGST_UNITS_H

#include <assert.h>

#include "base/common.h"

static inline bool ugst_is_pow2(uint64_t value)
{
	return value != 0 && (value & (value - 1)) == 0;
}

static inline bool ugst_is_aligned(uint64_t value, uint64_t align)
{
	return (value & (align - 1)) == 0;
}

static inline uint64_t ugst_align_down(uint64_t value, uint64_t align)
{
	return value & ~(align - 1);
}

/* value <= UINT64_MAX - align + 1 */
static inline uint64_t ugst_align_up(uint64_t value, uint64_t align)
{
	return (value + align - 1) & ~(align - 1);
}

/* false: the sum does not fit. */
static inline bool ugst_add(uint64_t a, uint64_t b, uint64_t *out)
{
	return !__builtin_add_overflow(a, b, out);
}

/* false: the product does not fit. */
static inline bool ugst_mul(uint64_t a, uint64_t b, uint64_t *out)
{
	return !__builtin_mul_overflow(a, b, out);
}

/* Units of unit_bytes (any size, not 0) that hold bytes. */
static inline uint64_t ugst_div_up(uint64_t bytes, uint64_t unit_bytes)
{
	return bytes / unit_bytes + (bytes % unit_bytes != 0);
}

/* A byte offset that is a multiple of the LBA size, as an LBA. */
static inline uint64_t ugst_bytes_to_lba(uint64_t off, uint32_t lba_bytes)
{
	assert(off % lba_bytes == 0);
	return off / lba_bytes;
}

/* false: the byte offset does not fit. */
static inline bool ugst_lba_to_bytes(uint64_t lba, uint32_t lba_bytes,
                                     uint64_t *off_out)
{
	return ugst_mul(lba, lba_bytes, off_out);
}

static inline uint64_t ugst_min(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static inline uint64_t ugst_max(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

#endif /* UGST_UNITS_H */
