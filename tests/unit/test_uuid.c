/* SPDX-License-Identifier: BSD-3-Clause */
/* test_uuid.c - UUID texts as RFC 9562 has them. */
#include "base/common.h"

#include "pure/uuid.h"
#include "support/check.h"

/* RFC 9562, appendix A.3: a version 4 example. */
static const char text_v4[] = "919108f7-52d1-4320-9bac-f847db4148a8";
static const uint8_t bytes_v4[16] = {0x91, 0x91, 0x08, 0xf7, 0x52, 0xd1,
                                     0x43, 0x20, 0x9b, 0xac, 0xf8, 0x47,
                                     0xdb, 0x41, 0x48, 0xa8};

static void text_both_ways(void **state)
{
	char text[UGST_UUID_TEXT_BYTES];
	struct ugst_uuid uuid;

	(void)state;
	assert_true(ugst_uuid_from_text(text_v4, &uuid));
	assert_memory_equal(uuid.bytes, bytes_v4, 16);
	assert_string_equal(ugst_uuid_text(&uuid, text), text_v4);
	assert_true(ugst_uuid_from_text("919108F7-52D1-4320-9BAC-F847DB4148A8",
	                                &uuid));
	assert_memory_equal(uuid.bytes, bytes_v4, 16);
}

static void bad_texts(void **state)
{
	static const char *const bad[] = {
		"",
		"9",
		"919108f7-52d1-4320-9bac-f847db4148a",
		"919108f7-52d1-4320-9bac-f847db4148a80",
		"919108f7-52d1-4320-9bac-f847db4148ag",
		"919108f752d143209bacf847db4148a8",
		"919108f7 52d1-4320-9bac-f847db4148a8",
		"{919108f7-52d1-4320-9bac-f847db4148a8}",
		" 919108f7-52d1-4320-9bac-f847db4148a8",
		"919108f-752d1-4320-9bac-f847db4148a8",
	};
	struct ugst_uuid uuid;

	(void)state;
	for (size_t i = 0; i < UGST_COUNT(bad); i++)
		if (ugst_uuid_from_text(bad[i], &uuid))
			fail_msg("taken: \"%s\"", bad[i]);
}

static void order_and_nil(void **state)
{
	struct ugst_uuid low = {{0}};
	struct ugst_uuid high = {{0}};

	(void)state;
	assert_true(ugst_uuid_is_nil(&low));
	high.bytes[15] = 1;
	assert_false(ugst_uuid_is_nil(&high));
	assert_true(ugst_uuid_compare(&low, &high) < 0);
	assert_true(ugst_uuid_compare(&high, &low) > 0);
	/* Bytes are unsigned, and the first one counts most. */
	low.bytes[0] = 0x80;
	assert_true(ugst_uuid_compare(&low, &high) > 0);
	assert_false(ugst_uuid_equal(&low, &high));
	assert_true(ugst_uuid_equal(&low, &low));
}

/* RFC 9562, section 5.4: version 0b0100 in the high bits of byte 6, variant
 * 0b10 in those of byte 8. */
static void from_random(void **state)
{
	uint8_t random[16];
	struct ugst_uuid uuid;

	(void)state;
	memset(random, 0xff, sizeof(random));
	uuid = ugst_uuid_from_random(random);
	assert_int_equal(uuid.bytes[6], 0x4f);
	assert_int_equal(uuid.bytes[8], 0xbf);
	memset(random, 0, sizeof(random));
	uuid = ugst_uuid_from_random(random);
	assert_int_equal(uuid.bytes[6], 0x40);
	assert_int_equal(uuid.bytes[8], 0x80);
	assert_int_equal(uuid.bytes[15], 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(text_both_ways),
		cmocka_unit_test(bad_texts),
		cmocka_unit_test(order_and_nil),
		cmocka_unit_test(from_random),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
