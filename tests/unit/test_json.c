/* SPDX-License-Identifier: BSD-3-Clause */
/* test_json.c - documents: what is refused before and after cJSON. */
#include "base/common.h"

#include <stdio.h>
#include <stdlib.h>

#include "pure/json.h"
#include "support/check.h"

static struct ugst_json *parse(const char *text)
{
	struct ugds_st_error err;
	struct ugst_json *root = NULL;

	assert_ok(ugst_json_parse(text, strlen(text), &root, &err), err);
	return root;
}

/* What cJSON alone would take. */
static void refused_documents(void **state)
{
	static const char *const bad[] = {
		"",
		"{} x",
		"{}{}",
		"{\"a\":01}",
		"{\"a\":+1}",
		"{\"a\":1,\"a\":2}",
		"{\"a\":\"\\u0000\"}",
		"{\"a\":\"\x01\"}",
		"{\"a\":\"\xff\"}",
		"\xef\xbb\xbf{}",
		"[]",
		"3",
		"null",
	};
	struct ugds_st_error err;
	struct ugst_json *root;

	(void)state;
	for (size_t i = 0; i < UGST_COUNT(bad); i++)
		if (ugst_json_parse(bad[i], strlen(bad[i]), &root, &err) !=
		    UGDS_ST_FORMAT)
			fail_msg("not FORMAT: %s", bad[i]);
}

/* cJSON reads 63 characters of a number and would fail at the 64th. */
static void long_numbers(void **state)
{
	char text[128];
	struct ugds_st_error err;
	struct ugst_json *root;

	(void)state;
	snprintf(text, sizeof(text), "{\"a\":1%061d}", 0);
	assert_ok(ugst_json_parse(text, strlen(text), &root, &err), err);
	ugst_json_free(root);
	snprintf(text, sizeof(text), "{\"a\":1%063d}", 0);
	check_fails(ugst_json_parse(text, strlen(text), &root, &err),
	            UGDS_ST_FORMAT, err, "number");
	/* Digits in a string, and an escaped quote before them, are none. */
	snprintf(text, sizeof(text), "{\"a\":\"\\\"1%080d\"}", 0);
	assert_ok(ugst_json_parse(text, strlen(text), &root, &err), err);
	ugst_json_free(root);
}

static void u64_spellings(void **state)
{
	struct ugst_json *root =
		parse("{\"max\":\"18446744073709551615\",\"zero\":\"0\","
	              "\"over\":\"18446744073709551616\",\"lead\":\"01\","
	              "\"sign\":\"+1\",\"empty\":\"\",\"space\":\" 1\","
	              "\"frac\":\"1.0\",\"number\":1}");
	static const char *const bad[] = {"over",  "lead", "sign",   "empty",
	                                  "space", "frac", "number", "absent"};
	struct ugds_st_error err;
	uint64_t value = 7;

	(void)state;
	assert_ok(ugst_json_get_u64(root, "max", 0, UINT64_MAX, &value, &err),
	          err);
	assert_true(value == UINT64_MAX);
	assert_ok(ugst_json_get_u64(root, "zero", 0, 0, &value, &err), err);
	assert_true(value == 0);
	for (size_t i = 0; i < UGST_COUNT(bad); i++)
		check_fails(ugst_json_get_u64(root, bad[i], 0, UINT64_MAX,
		                              &value, &err),
		            UGDS_ST_FORMAT, err, bad[i]);
	check_fails(ugst_json_get_u64(root, "zero", 1, 2, &value, &err),
	            UGDS_ST_FORMAT, err, "from 1 to 2, found \"0\"");
	check_fails(ugst_json_get_u64(root, "max", 0, 5, &value, &err),
	            UGDS_ST_FORMAT, err, "18446744073709551615");
	ugst_json_free(root);
}

static void whole_numbers(void **state)
{
	struct ugst_json *root = parse("{\"max\":4294967295,\"over\":"
	                               "4294967296,\"half\":0.5,\"minus\":-1,"
	                               "\"text\":\"1\",\"huge\":1e300}");
	static const char *const bad[] = {"over", "half", "minus",
	                                  "text", "huge", "absent"};
	struct ugds_st_error err;
	uint32_t value;

	(void)state;
	assert_ok(ugst_json_get_u32(root, "max", 0, UINT32_MAX, &value, &err),
	          err);
	assert_true(value == UINT32_MAX);
	for (size_t i = 0; i < UGST_COUNT(bad); i++)
		check_fails(ugst_json_get_u32(root, bad[i], 0, UINT32_MAX,
		                              &value, &err),
		            UGDS_ST_FORMAT, err, bad[i]);
	ugst_json_free(root);
}

static void hex_members(void **state)
{
	struct ugst_json *root = parse("{\"ok\":\"00ff\",\"upper\":\"00FF\","
	                               "\"short\":\"00f\",\"long\":\"00ff0\","
	                               "\"other\":\"00fg\",\"type\":0}");
	static const char *const bad[] = {"upper", "short", "long",
	                                  "other", "type",  "absent"};
	struct ugds_st_error err;
	uint8_t bytes[2];

	(void)state;
	assert_ok(ugst_json_get_hex(root, "ok", bytes, 2, &err), err);
	assert_int_equal(bytes[0], 0);
	assert_int_equal(bytes[1], 0xff);
	for (size_t i = 0; i < UGST_COUNT(bad); i++)
		check_fails(ugst_json_get_hex(root, bad[i], bytes, 2, &err),
		            UGDS_ST_FORMAT, err, "4 lower-case hex digits");
	ugst_json_free(root);
}

static void members(void **state)
{
	static const char *const known[] = {"a", "b", "c", NULL};
	struct ugst_json *root =
		parse("{\"a\":{},\"b\":[1,2,3],\"c\":\"t\",\"A\":0}");
	const struct ugst_json *value;
	struct ugds_st_error err;
	const char *text;
	size_t count;

	(void)state;
	assert_true(ugst_json_has(root, "a"));
	assert_false(ugst_json_has(root, "d"));
	/* Names are told apart by case. */
	assert_string_equal(ugst_json_unknown(root, known), "A");
	assert_ok(ugst_json_get_object(root, "a", &value, &err), err);
	assert_null(ugst_json_unknown(value, known));
	assert_ok(ugst_json_get_array(root, "b", &value, &count, &err), err);
	assert_int_equal(count, 3);
	assert_ok(ugst_json_get_string(root, "c", &text, &err), err);
	assert_string_equal(text, "t");
	check_fails(ugst_json_get_object(root, "b", &value, &err),
	            UGDS_ST_FORMAT, err, "expected an object, found an array");
	check_fails(ugst_json_get_array(root, "a", &value, &count, &err),
	            UGDS_ST_FORMAT, err, "expected an array, found an object");
	check_fails(ugst_json_get_string(root, "A", &text, &err),
	            UGDS_ST_FORMAT, err, "expected a string, found 0");
	check_fails(ugst_json_get_string(root, "d", &text, &err),
	            UGDS_ST_FORMAT, err, "found nothing");
	ugst_json_free(root);
}

static void written(void **state)
{
	static const uint8_t bytes[] = {0xde, 0xad};
	struct ugst_json *root = ugst_json_new();
	struct ugst_json *array;
	struct ugds_st_error err;
	char *text;
	size_t text_bytes;

	(void)state;
	assert_true(ugst_json_add_u64(root, "u", UINT64_MAX));
	assert_true(ugst_json_add_u32(root, "m", UINT32_MAX));
	assert_true(ugst_json_add_hex(root, "h", bytes, 2));
	array = ugst_json_add_array(root, "l");
	assert_true(ugst_json_add_string(array, NULL, "a\"\n"));
	assert_non_null(ugst_json_add_object(array, NULL));
	/* A parent that could not be made is passed on without harm. */
	assert_null(ugst_json_add_object(NULL, "x"));
	assert_false(ugst_json_add_string(NULL, "x", "y"));
	assert_ok(ugst_json_print(root, false, &text, &text_bytes, &err), err);
	assert_string_equal(text, "{\"u\":\"18446744073709551615\","
	                          "\"m\":4294967295,"
	                          "\"h\":\"dead\",\"l\":[\"a\\\"\\n\",{}]}");
	assert_int_equal(text_bytes, strlen(text));
	free(text);
	ugst_json_free(root);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(refused_documents),
		cmocka_unit_test(long_numbers),
		cmocka_unit_test(u64_spellings),
		cmocka_unit_test(whole_numbers),
		cmocka_unit_test(hex_members),
		cmocka_unit_test(members),
		cmocka_unit_test(written),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
