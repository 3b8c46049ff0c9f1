/* SPDX-License-Identifier: BSD-3-Clause */
/* random.h - numbers that a seed repeats: xorshift64* (Vigna, 2016). */
#ifndef TEST_RANDOM_H
#define TEST_RANDOM_H

#include <stdint.h>

static inline uint64_t random_next(uint64_t *state)
{
	*state ^= *state >> 12;
	*state ^= *state << 25;
	*state ^= *state >> 27;
	return *state * 0x2545f4914f6cdd1dULL;
}

/* 0 to limit - 1 */
static inline uint64_t random_below(uint64_t *state, uint64_t limit)
{
	return random_next(state) % limit;
}

#endif /* TEST_RANDOM_H */
