/* SPDX-License-Identifier: BSD-3-Clause */
/* hash.c - XXH3 behind our own names; see hash.h. */
#include "base/common.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <sys/random.h>
#include <time.h>

#include <xxhash.h>

#include "pure/hash.h"

static struct ugst_hash canonical(XXH128_hash_t value)
{
	XXH128_canonical_t bytes;
	struct ugst_hash hash;

	_Static_assert(sizeof(bytes) == sizeof(hash), "XXH3-128 is 16 bytes");
	XXH128_canonicalFromHash(&bytes, value);
	memcpy(&hash, &bytes, sizeof(hash));
	return hash;
}

struct ugst_hash ugst_hash(const void *data, size_t bytes)
{
	return canonical(XXH3_128bits(data, bytes));
}

/* The state has a type of its own only by name: xxhash.h stays in here. */
struct ugst_hasher {
	XXH3_state_t *state;
};

struct ugst_hasher *ugst_hasher_new(void)
{
	struct ugst_hasher *hasher = malloc(sizeof(*hasher));

	if (!hasher)
		return NULL;
	hasher->state = XXH3_createState();
	if (!hasher->state) {
		free(hasher);
		return NULL;
	}
	ugst_hasher_reset(hasher);
	return hasher;
}

void ugst_hasher_reset(struct ugst_hasher *hasher)
{
	(void)XXH3_128bits_reset(hasher->state);
}

void ugst_hasher_add(struct ugst_hasher *hasher, const void *data, size_t bytes)
{
	if (bytes)
		(void)XXH3_128bits_update(hasher->state, data, bytes);
}

struct ugst_hash ugst_hasher_result(const struct ugst_hasher *hasher)
{
	return canonical(XXH3_128bits_digest(hasher->state));
}

void ugst_hasher_free(struct ugst_hasher *hasher)
{
	if (!hasher)
		return;
	(void)XXH3_freeState(hasher->state);
	free(hasher);
}

uint64_t ugst_hash_name(const char *name, size_t name_bytes, uint64_t seed)
{
	return XXH3_64bits_withSeed(name, name_bytes, seed);
}

/* Where the kernel has no entropy to give (an old kernel, a sandbox), time and
 * the places where the loader put us are what an outsider does not know. */
static uint64_t draw_seed(void)
{
	uint64_t seed = 0;
	struct {
		struct timespec now;
		struct timespec cpu;
		const void *stack;
		uint64_t (*code)(void);
	} guess;

	if (getrandom(&seed, sizeof(seed), GRND_NONBLOCK) !=
	    (ssize_t)sizeof(seed)) {
		memset(&guess, 0, sizeof(guess));
		(void)clock_gettime(CLOCK_REALTIME, &guess.now);
		(void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &guess.cpu);
		guess.stack = &guess;
		guess.code = ugst_hash_seed;
		seed = XXH3_64bits(&guess, sizeof(guess));
	}
	return seed ? seed : 1;
}

uint64_t ugst_hash_seed(void)
{
	static _Atomic uint64_t process_seed;
	uint64_t seed = atomic_load(&process_seed);
	uint64_t drawn;

	if (seed)
		return seed;
	/* Of two threads that draw at once, one wins for both. */
	drawn = draw_seed();
	if (atomic_compare_exchange_strong(&process_seed, &seed, drawn))
		return drawn;
	return seed;
}

bool ugst_hash_equal(const struct ugst_hash *a, const struct ugst_hash *b)
{
	return memcmp(a->bytes, b->bytes, sizeof(a->bytes)) == 0;
}

char *ugst_hash_text(const struct ugst_hash *hash,
                     char text[UGST_HASH_TEXT_BYTES])
{
	static const char digits[] = "0123456789abcdef";

	for (size_t i = 0; i < UGST_HASH_BYTES; i++) {
		text[2 * i] = digits[hash->bytes[i] >> 4];
		text[2 * i + 1] = digits[hash->bytes[i] & 15];
	}
	text[UGST_HASH_TEXT_BYTES - 1] = '\0';
	return text;
}

static int digit_value(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return -1;
}

bool ugst_hash_from_text(const char *text, struct ugst_hash *hash_out)
{
	struct ugst_hash hash;

	for (size_t i = 0; i < UGST_HASH_BYTES; i++) {
		int high = digit_value(text[2 * i]);
		int low = high < 0 ? -1 : digit_value(text[2 * i + 1]);

		if (low < 0)
			return false;
		hash.bytes[i] = (uint8_t)(high << 4 | low);
	}
	if (text[UGST_HASH_TEXT_BYTES - 1] != '\0')
		return false;
	*hash_out = hash;
	return true;
}
