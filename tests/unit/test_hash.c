/* SPDX-License-Identifier: BSD-3-Clause */
/* test_hash.c - XXH3 and its text; expected values are xxh128sum's. */
#include "base/common.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "pure/hash.h"

static void assert_hash(struct ugst_hash hash, const char *wanted)
{
	char text[UGST_HASH_TEXT_BYTES];

	assert_string_equal(ugst_hash_text(&hash, text), wanted);
}

static void test_known_values(void **state)
{
	(void)state;
	assert_hash(ugst_hash("", 0), "99aa06d3014798d86001c324468d497f");
	assert_hash(ugst_hash("abc", 3), "06b05ab6733a618578af5f94892f3950");
}

static void test_pieces(void **state)
{
	static const char text[] = "the bytes of a shard, in pieces";
	struct ugst_hasher *hasher = ugst_hasher_new();
	struct ugst_hash whole = ugst_hash(text, sizeof(text));
	struct ugst_hash pieces;

	(void)state;
	assert_non_null(hasher);
	for (size_t cut = 0; cut <= sizeof(text); cut++) {
		ugst_hasher_reset(hasher);
		ugst_hasher_add(hasher, text, cut);
		ugst_hasher_add(hasher, text + cut, sizeof(text) - cut);
		pieces = ugst_hasher_result(hasher);
		assert_true(ugst_hash_equal(&whole, &pieces));
	}
	ugst_hasher_free(hasher);
	ugst_hasher_free(NULL);
}

static void test_text(void **state)
{
	struct ugst_hash hash = {{0}};

	(void)state;
	assert_true(
		ugst_hash_from_text("99aa06d3014798d86001c324468d497f", &hash));
	assert_int_equal(hash.bytes[0], 0x99);
	assert_int_equal(hash.bytes[15], 0x7f);
	assert_false(ugst_hash_from_text("", &hash));
	assert_false(
		ugst_hash_from_text("99aa06d3014798d86001c324468d497", &hash));
	assert_false(ugst_hash_from_text("99aa06d3014798d86001c324468d497f0",
	                                 &hash));
	assert_false(
		ugst_hash_from_text("99AA06D3014798D86001C324468D497F", &hash));
	assert_false(
		ugst_hash_from_text("g9aa06d3014798d86001c324468d497f", &hash));
	assert_int_equal(hash.bytes[0], 0x99);
}

static void test_names(void **state)
{
	uint64_t seed = ugst_hash_seed();

	(void)state;
	assert_true(seed != 0);
	assert_int_equal(ugst_hash_seed(), seed);
	assert_int_equal(ugst_hash_name("a\0b", 3, seed),
	                 ugst_hash_name("a\0b", 3, seed));
	assert_true(ugst_hash_name("a\0b", 3, seed) !=
	            ugst_hash_name("a\0c", 3, seed));
	assert_true(ugst_hash_name("a", 1, seed) !=
	            ugst_hash_name("a", 1, seed + 1));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_known_values),
		cmocka_unit_test(test_pieces),
		cmocka_unit_test(test_text),
		cmocka_unit_test(test_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
