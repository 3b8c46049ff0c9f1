/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_scan.c - what the scanner takes and refuses, byte by byte.
 *
 * Expected verdicts are RFC 8259's and serde_json's; each refusal is asserted
 * with the byte at which it is found.
 */
#include "base/common.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <cmocka.h>

#include "pure/scan.h"

static void accept(const char *text, size_t bytes)
{
	struct ugds_st_error err = {0};
	char *exact = malloc(bytes ? bytes : 1);

	/* A copy of exact size lets the sanitizer see one byte too many. */
	memcpy(exact, text, bytes);
	if (ugst_scan_document(exact, bytes, &err))
		fail_msg("%.*s: %s", (int)bytes, text, err.text);
	free(exact);
}

static void refuse(const char *text, size_t bytes, uint64_t offset,
                   const char *part)
{
	struct ugds_st_error err = {0};
	char *exact = malloc(bytes ? bytes : 1);

	memcpy(exact, text, bytes);
	assert_int_equal(ugst_scan_document(exact, bytes, &err),
	                 UGDS_ST_FORMAT);
	free(exact);
	if (err.offset != offset || !strstr(err.text, part))
		fail_msg("%.*s: at %llu: %s", (int)bytes, text,
		         (unsigned long long)err.offset, err.text);
	assert_null(strchr(err.text, '\n'));
}

#define ACCEPT(text) accept(text, sizeof(text) - 1)
#define REFUSE(text, offset, part) refuse(text, sizeof(text) - 1, offset, part)

static void test_values(void **state)
{
	(void)state;
	ACCEPT("{}");
	ACCEPT(" [ ] ");
	ACCEPT("\t\r\n null \t\r\n");
	ACCEPT("true");
	ACCEPT("[true,false,null,{\"a\":[{}]},\"\",0,-0,1.5e-3]");
	REFUSE("", 0, "expected a value, found the end");
	REFUSE("   ", 3, "expected a value, found the end");
	REFUSE("nul", 0, "expected a value, found 'n'");
	REFUSE("True", 0, "expected a value, found 'T'");
	REFUSE("{} {}", 3, "expected the end, found '{'");
	REFUSE("{}\0", 2, "found byte 0x00");
	REFUSE("\xef\xbb\xbf{}", 0, "found byte 0xef");
	REFUSE("[1,]", 3, "expected a value, found ']'");
	REFUSE("[1 2]", 3, "expected ',' or ']', found '2'");
	REFUSE("[1}", 2, "expected ',' or ']', found '}'");
	REFUSE("{\"a\":1,}", 7, "expected a name, found '}'");
	REFUSE("{\"a\" 1}", 5, "expected ':' after a name, found '1'");
	REFUSE("{\"a\":1", 6, "expected ',' or '}', found the end");
	REFUSE("{a:1}", 1, "expected a name or '}', found 'a'");
	REFUSE("{'a':1}", 1, "found \"'\"");
	REFUSE("[\v1]", 1, "found byte 0x0b");
}

static void test_numbers(void **state)
{
	(void)state;
	ACCEPT("0");
	ACCEPT("-0.0E+00");
	ACCEPT("18446744073709551616");
	ACCEPT("1e308");
	ACCEPT("0e99999999999999999999");
	ACCEPT("1e-99999999999999999999");
	ACCEPT("0.00000000000000000000000000000000000000001e348");
	REFUSE("01", 0, "leading zero");
	REFUSE("-01", 1, "leading zero");
	REFUSE("+1", 0, "found '+'");
	REFUSE(".5", 0, "found '.'");
	REFUSE("1.", 2, "expected a digit, found the end");
	REFUSE("1.e5", 2, "expected a digit, found 'e'");
	REFUSE("1e", 2, "expected a digit, found the end");
	REFUSE("1e+", 3, "expected a digit, found the end");
	REFUSE("-", 1, "expected a digit, found the end");
	REFUSE("0x10", 1, "expected the end, found 'x'");
	REFUSE("NaN", 0, "found 'N'");
	REFUSE("[Infinity]", 1, "found 'I'");
	REFUSE("[1e309]", 1, "too large");
	REFUSE("[1e99999999999999999999]", 1, "too large");
	REFUSE("[0.00000000000000000000000000000000000000001e350]", 1,
	       "too large");
}

static void test_strings(void **state)
{
	(void)state;
	ACCEPT("\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u00e9\\uD83D\\ude00\"");
	ACCEPT("\"caf\xc3\xa9 \xe6\x9d\x83 \xf0\x9f\x98\x80 \x7f\"");
	REFUSE("\"abc", 4, "begins at byte 0, found the end");
	REFUSE("\"abcdefghijk", 12, "found the end");
	REFUSE("\"a\tb\"", 2, "control character 0x09");
	REFUSE("\"a\x1f\"", 2, "control character 0x1f");
	REFUSE("\"\\x41\"", 1, "no such escape");
	REFUSE("\"\\", 1, "no such escape");
	REFUSE("\"\\u12\"", 1, "four hex digits");
	REFUSE("\"\\u12g4\"", 1, "four hex digits");
	REFUSE("\"\\ud83d\"", 1, "\\ud83d is half of a surrogate pair");
	REFUSE("\"\\ud83dx\"", 1, "half of a surrogate pair");
	REFUSE("\"\\ud83d\\u0041\"", 1, "half of a surrogate pair");
	REFUSE("\"\\ude00\"", 1, "half of a surrogate pair");
	REFUSE("\"a\\u0000\"", 2, "NUL");
	REFUSE("{\"a\\u0000\":1}", 3, "NUL");
	ACCEPT("\"\\\\u0000\"");
}

static void test_utf8(void **state)
{
	(void)state;
	REFUSE("\"\xff\"", 1, "not UTF-8 at byte 1: expected");
	REFUSE("\"\xc0\x80\"", 1, "not UTF-8"); /* overlong */
	REFUSE("\"\xe0\x80\x80\"", 1, "not UTF-8");
	REFUSE("\"\xed\xa0\x80\"", 1, "not UTF-8");     /* surrogate */
	REFUSE("\"\xf4\x90\x80\x80\"", 1, "not UTF-8"); /* past U+10FFFF */
	REFUSE("\"\xe6\x9d\"", 1, "not UTF-8");
	REFUSE("\"\xe6\x9d", 1, "not UTF-8");
	REFUSE("\"1234567\x80\"", 8, "not UTF-8");
}

static void test_twins(void **state)
{
	(void)state;
	ACCEPT("{\"a\":{\"a\":1,\"b\":2},\"b\":{\"a\":1,\"b\":2}}");
	ACCEPT("[{\"a\":1},{\"a\":1}]");
	ACCEPT("{\"a\":1,\"A\":1,\"\":1,\"aa\":1}");
	REFUSE("{\"a\":1,\"a\":1}", 7,
	       "\"a\" twice in one object, first at "
	       "byte 1");
	REFUSE("{\"a\":1,\"b\":{\"c\":1,\"\\u0063\":2}}", 18,
	       "\"c\" twice in one object, first at byte 12");
	REFUSE("{\"x\":{\"a\":1},\"b\":0,\"x\":{}}", 19, "first at byte 1");
	REFUSE("{\"\":1,\"\":1}", 6, "\"\" twice");
	REFUSE("{\"\\u001b\":1,\"\\u001b\":1}", 12, "\"\\x1b\" twice");
}

static void test_depth(void **state)
{
	char text[200];

	(void)state;
	memset(text, '[', 64);
	memset(text + 64, ']', 64);
	accept(text, 128);
	memset(text, '[', 65);
	memset(text + 65, ']', 65);
	refuse(text, 130, 64, "nested too deep, expected at most 64");
}

/* Cut anywhere, a document is refused, at a byte that is in it. */
static void test_cuts(void **state)
{
	static const char text[] =
		"{\"a\\u00e9\":[1.5e3,\"caf\xc3\xa9\\ud83d\\ude00\",true],"
		"\"b\":{\"c\":null,\"d\":{}}}";

	(void)state;
	ACCEPT(text);
	for (size_t bytes = 0; bytes < sizeof(text) - 1; bytes++) {
		struct ugds_st_error err = {0};
		char *exact = malloc(bytes ? bytes : 1);

		memcpy(exact, text, bytes);
		assert_int_equal(ugst_scan_document(exact, bytes, &err),
		                 UGDS_ST_FORMAT);
		assert_true(err.offset <= bytes);
		free(exact);
	}
}

/* Twins among very many names are found without comparing all with all. */
static void test_many_members(void **state)
{
	size_t count = 300000;
	char *text = malloc(count * 16 + 64);
	size_t used = 1;
	struct ugds_st_error err = {0};
	clock_t start = clock();

	(void)state;
	text[0] = '{';
	for (size_t i = 0; i < count; i++)
		used += (size_t)sprintf(text + used, "\"n%zu\":1,", i);
	memcpy(text + used, "\"n7\":1}", 7);
	assert_int_equal(ugst_scan_document(text, used + 7, &err),
	                 UGDS_ST_FORMAT);
	assert_int_equal(err.offset, used);
	assert_non_null(strstr(err.text, "\"n7\" twice"));
	memcpy(text + used, "\"m7\":1}", 7);
	assert_int_equal(ugst_scan_document(text, used + 7, &err), UGDS_ST_OK);
	/* All with all would be 45,000,000,000 comparisons: minutes. */
	assert_true(clock() - start < 20 * CLOCKS_PER_SEC);
	free(text);
}

/* What serde_json allows: 127 open objects and arrays, and names twice. */
static void test_skip(void **state)
{
	char text[300];
	struct ugds_st_error err = {0};
	struct ugst_scan scan;

	(void)state;
	memset(text, '[', 125);
	memset(text + 125, ']', 125);
	scan = ugst_scan_over(text, 250, "header", &err);
	assert_int_equal(ugst_scan_skip(&scan, 2), UGDS_ST_OK);
	assert_ptr_equal(scan.at, scan.end);
	scan = ugst_scan_over(text, 250, "header", &err);
	assert_int_equal(ugst_scan_skip(&scan, 3), UGDS_ST_FORMAT);
	assert_string_equal(err.text, "bad header at byte 124: nested too "
	                              "deep, expected at most 127 open "
	                              "objects and arrays");
	scan = ugst_scan_over("{\"a\":1,\"a\":\"\\u0000\"} x", 22, "header",
	                      &err);
	assert_int_equal(ugst_scan_skip(&scan, 0), UGDS_ST_OK);
	assert_int_equal(scan.at - scan.text, 20);
	assert_int_equal(ugst_scan_finish(&scan), UGDS_ST_FORMAT);
}

static void test_uint(void **state)
{
	static const struct {
		const char *text;
		uint64_t value;
		const char *part; /* NULL: taken */
	} cases[] = {
		{"0", 0, NULL},
		{" 7,", 7, NULL},
		{"18446744073709551615]", UINT64_MAX, NULL},
		{"18446744073709551616", 0, "at most 18446744073709551615"},
		{"99999999999999999999999", 0, "found 99999999999999999999999"},
		{"00", 0, "leading zero"},
		{"01", 0, "leading zero"},
		{"1.0", 0, "fraction or exponent"},
		{"1e2", 0, "fraction or exponent"},
		{"-1", 0, "expected a size, found '-'"},
		{"", 0, "found the end"},
		{"\"1\"", 0, "found '\"'"},
	};

	(void)state;
	for (size_t i = 0; i < UGST_COUNT(cases); i++) {
		struct ugds_st_error err = {0};
		struct ugst_scan scan = ugst_scan_over(
			cases[i].text, strlen(cases[i].text), "header", &err);
		uint64_t value = 0;
		int status = ugst_scan_uint(&scan, "a size", &value);

		if (cases[i].part) {
			assert_int_equal(status, UGDS_ST_FORMAT);
			assert_non_null(strstr(err.text, cases[i].part));
		} else {
			assert_int_equal(status, UGDS_ST_OK);
			assert_int_equal(value, cases[i].value);
		}
	}
}

static void test_unescape(void **state)
{
	static const char text[] =
		"\"\\\"\\\\\\/"
		"\\b\\f\\n\\r\\t\\u0041\\u00e9\\u6743\\ud83d\\ude00"
		"\\u0000z\"";
	static const char wanted[] =
		"\"\\/\b\f\n\r\tA\xc3\xa9\xe6\x9d\x83\xf0\x9f\x98\x80\0z";
	struct ugst_scan scan =
		ugst_scan_over(text, sizeof(text) - 1, "header", NULL);
	struct ugst_string string;
	char out[sizeof(text)];

	(void)state;
	assert_int_equal(ugst_scan_string(&scan, "a name", &string),
	                 UGDS_ST_OK);
	assert_int_equal(ugst_scan_unescape(&string, out), sizeof(wanted) - 1);
	assert_memory_equal(out, wanted, sizeof(wanted) - 1);
	assert_false(UGST_SCAN_IS(&string, "x"));

	scan = ugst_scan_over("\"d\\u0074ype\"", 12, "header", NULL);
	assert_int_equal(ugst_scan_string(&scan, "a name", &string),
	                 UGDS_ST_OK);
	assert_true(UGST_SCAN_IS(&string, "dtype"));
	assert_false(UGST_SCAN_IS(&string, "dtypes"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_values),
		cmocka_unit_test(test_numbers),
		cmocka_unit_test(test_strings),
		cmocka_unit_test(test_utf8),
		cmocka_unit_test(test_twins),
		cmocka_unit_test(test_depth),
		cmocka_unit_test(test_cuts),
		cmocka_unit_test(test_many_members),
		cmocka_unit_test(test_skip),
		cmocka_unit_test(test_uint),
		cmocka_unit_test(test_unescape),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
