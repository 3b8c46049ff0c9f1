/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * hash.h - XXH3, the only includer of xxhash.h.
 *
 * Hashes find damage, not malice: 128-bit XXH3 collisions can be made.
 */
#ifndef UGST_HASH_H
#define UGST_HASH_H

#include "base/common.h"

#define UGST_HASH_BYTES 16u
/* Hex digits of a hash and the ending NUL. */
#define UGST_HASH_TEXT_BYTES 33u

/* XXH3-128 in canonical (big-endian) byte order, as `xxh128sum` prints. */
struct ugst_hash {
	uint8_t bytes[UGST_HASH_BYTES];
};

struct ugst_hash ugst_hash(const void *data, size_t bytes);

/* A hash over pieces. NULL: out of memory. */
struct ugst_hasher *ugst_hasher_new(void);
void ugst_hasher_reset(struct ugst_hasher *hasher);
void ugst_hasher_add(struct ugst_hasher *hasher, const void *data,
                     size_t bytes);
struct ugst_hash ugst_hasher_result(const struct ugst_hasher *hasher);
/* NULL is fine. */
void ugst_hasher_free(struct ugst_hasher *hasher);

/* 64 bits, seeded: for hash tables over names that strangers choose. */
uint64_t ugst_hash_name(const char *name, size_t name_bytes, uint64_t seed);

/*
 * ugst_hash_seed() - the seed of this process for ugst_hash_name().
 *
 * Drawn from the system's entropy at the first call, the same ever after, so
 * that a hash made by one part can be used by another.
 */
uint64_t ugst_hash_seed(void);

bool ugst_hash_equal(const struct ugst_hash *a, const struct ugst_hash *b);

/* 32 lower-case hex digits and NUL. Return: text. */
char *ugst_hash_text(const struct ugst_hash *hash,
                     char text[UGST_HASH_TEXT_BYTES]);

/* false: not 32 lower-case hex digits. */
bool ugst_hash_from_text(const char *text, struct ugst_hash *hash_out);

#endif /* UGST_HASH_H */
