/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_header.c - header rules as literals: each refusal with its byte, each
 * oddity that the official loader takes.
 */
#include "support/test.h"

#include <inttypes.h>

#include "base/le.h"
#include "pure/header.h"

static int parse(const char *json, size_t json_bytes, uint64_t data_bytes,
                 struct ugst_header *header, struct ugds_st_error *err)
{
	/* A copy of exact size lets the sanitizer see one byte too many. */
	char *exact = malloc(json_bytes ? json_bytes : 1);
	int status;

	memcpy(exact, json, json_bytes);
	status = ugst_header_parse(exact, json_bytes,
	                           8 + json_bytes + data_bytes, header, err);
	free(exact);
	return status;
}

static void accept(const char *json, uint64_t data_bytes)
{
	struct ugds_st_error err = {0};
	struct ugst_header header;

	if (parse(json, strlen(json), data_bytes, &header, &err))
		fail_msg("%s: %s", json, err.text);
	ugst_header_free(&header);
}

static void refuse(const char *json, uint64_t data_bytes, uint64_t offset,
                   const char *says)
{
	struct ugds_st_error err = {0};
	struct ugst_header header = {0};

	assert_int_equal(parse(json, strlen(json), data_bytes, &header, &err),
	                 UGDS_ST_FORMAT);
	assert_null(header.tensors);
	if (err.offset != offset || !strstr(err.text, says))
		fail_msg("%s: at %" PRIu64 ": %s", json, err.offset, err.text);
}

#define NOWHERE UGDS_ST_NO_OFFSET

static void test_table(void **state)
{
	static const char json[] =
		"{\"b\":{\"dtype\":\"F32\",\"shape\":[2,3],\"data_offsets\":[2,"
		"26]},"
		"\"__metadata__\":{\"format\":\"pt\"},"
		"\"z\":{\"dtype\":\"BF16\",\"shape\":[4,0],\"data_offsets\":[2,"
		"2]},"
		"\"a\\u0000\\u00e9\":{\"shape\":[],\"data_offsets\":[0,2],"
		"\"dtype\":\"I16\"}}  ";
	struct ugds_st_error err = {0};
	struct ugst_header header;
	const struct ugst_header_tensor *tensors;

	(void)state;
	assert_ok(parse(json, sizeof(json) - 1, 26, &header, &err), err);
	tensors = header.tensors;
	assert_int_equal(header.tensor_count, 3);
	assert_int_equal(header.data_off, 8 + sizeof(json) - 1);
	assert_int_equal(header.data_bytes, 26);

	assert_int_equal(tensors[0].name_bytes, 4);
	assert_memory_equal(tensors[0].name, "a\0\xc3\xa9", 5);
	assert_int_equal(tensors[0].dtype, UGDS_ST_DTYPE_I16);
	assert_int_equal(tensors[0].rank, 0);

	/* Zero bytes at 2 come before the bytes at 2. */
	assert_string_equal(tensors[1].name, "z");
	assert_int_equal(tensors[1].rank, 2);
	assert_int_equal(tensors[1].dims[0], 4);
	assert_int_equal(tensors[1].dims[1], 0);
	assert_int_equal(tensors[1].begin, 2);
	assert_int_equal(tensors[1].end, 2);

	assert_string_equal(tensors[2].name, "b");
	assert_int_equal(tensors[2].dtype, UGDS_ST_DTYPE_F32);
	assert_int_equal(tensors[2].dims[0], 2);
	assert_int_equal(tensors[2].dims[1], 3);
	assert_int_equal(tensors[2].json_off, 1);
	assert_int_equal(tensors[2].begin, 2);
	assert_int_equal(tensors[2].end, 26);
	ugst_header_free(&header);
}

/* What serde makes of the official loader's types. */
static void test_oddities(void **state)
{
	(void)state;
	accept("{}", 0);
	accept(" \n\t\r{ } ", 0);
	accept("{\"__metadata__\":null}", 0);
	accept("{\"__metadata__\":{}}", 0);
	accept("{\"__metadata__\":{\"a\":\"1\",\"a\":\"2\"}}", 0);
	accept("{\"a\":[\"U8\",[4],[0,4]]}", 4);
	accept("{\"a\":{\"dtype\":{\"U8\":null},\"shape\":[4],"
	       "\"data_offsets\":[0,4]}}",
	       4);
	accept("{\"a\":{\"dtyp\\u0065\":\"\\u00558\",\"shape\":[4],"
	       "\"data_offsets\":[0,4]}}",
	       4);
	accept("{\"a\":{\"x\":{\"y\":[1e308,null]},\"x\":2,\"dtype\":\"U8\","
	       "\"shape\":[4],\"data_offsets\":[0,4]}}",
	       4);
	accept("{\"\":[\"U8\",[],[0,1]]}", 1);
	accept("{\"a\":[\"F4\",[2],[0,1]]}", 1);
	accept("{\"a\":[\"F6_E2M3\",[4],[0,3]]}", 3);
	accept("{\"a\":[\"U8\",[0,9223372036854775808,4],[0,0]]}", 0);
	accept("{\"a\":[\"U8\",[18446744073709551615,0],[0,0]]}", 0);
	/* Elements are multiplied first, then by the size of one. */
	accept("{\"a\":[\"F32\",[4611686018427387904,0],[0,0]]}", 0);
}

static void test_syntax(void **state)
{
	(void)state;
	refuse("", 0, 0, "bad header at byte 0: expected '{', found the end");
	refuse("[]", 0, 0, "expected '{', found '['");
	refuse("{", 0, 1, "expected a tensor name, found the end");
	refuse("{}x", 0, 2, "expected the end, found 'x'");
	refuse("{\"a\":1}", 0, 5,
	       "expected an object that describes a tensor, found '1', in "
	       "tensor \"a\"");
	refuse("{\"a\":{}}", 0, 6, "entry without dtype");
	refuse("{\"a\":{\"dtype\":\"U8\"}}", 0, 18, "entry without shape");
	refuse("{\"a\":{\"dtype\":\"U8\",\"shape\":[]}}", 1, 29,
	       "entry without data_offsets");
	refuse("{\"a\":{\"dtype\":\"U8\",\"dtype\":\"U8\"}}", 0, 19,
	       "dtype twice");
	refuse("{\"a\":{\"shape\":[1],\"sh\\u0061pe\":[1]}}", 0, 18,
	       "shape twice");
	refuse("{\"a\":{\"data_offsets\":[0,1],\"data_offsets\":[0,1]}}", 0, 27,
	       "data_offsets twice");
	refuse("{\"a\":[\"U8\",[4],[0,4],1]}", 4, 20, "expected ']'");
	refuse("{\"a\":[\"U8\",[4]]}", 4, 14, "',' and data_offsets");
	refuse("{\"a\":{\"dtype\":{\"U8\":0}}}", 0, 20, "expected null");
	refuse("{\"a\":{\"dtype\":{\"U8\":null,\"F4\":null}}}", 0, 24,
	       "'}' after a dtype");
	refuse("{\"a\":[\"u8\",[4],[0,4]]}", 4, 6, "unknown dtype \"u8\"");
	refuse("{\"a\":[\"U8\",[4.0],[0,4]]}", 4, 12, "fraction or exponent");
	refuse("{\"a\":[\"U8\",[-4],[0,4]]}", 4, 12, "found '-'");
	refuse("{\"a\":[\"U8\",[4,],[0,4]]}", 4, 14, "a dimension");
	refuse("{\"a\":[\"U8\",[4],[0]]}", 4, 17, "the second data offset");
	refuse("{\"a\":[\"U8\",[4],[0,4,4]]}", 4, 19, "after two");
	refuse("{\"a\":[\"U8\",[4],[0,18446744073709551616]]}", 4, 18,
	       "18446744073709551616");
	refuse("{\"__metadata__\":{\"a\":1}}", 0, 21, "expected a string");
	refuse("{\"__metadata__\":[]}", 0, 16, "as an object");
	refuse("{\"__metadata__\":{},\"__metadata__\":{}}", 0, 19, "twice");
	refuse("{\"a\":\"\xff\"}", 0, 6, "header is not UTF-8 at byte 6");
	/* The encoding is looked at first, wherever the other fault is. */
	refuse("{,\"\xff\"}", 0, 3, "header is not UTF-8 at byte 3");
}

static void test_ranges(void **state)
{
	(void)state;
	refuse("{\"a\":[\"U8\",[4],[0,4]],\"a\":[\"U8\",[4],[4,8]]}", 8, 22,
	       "duplicate name: tensor \"a\" at header byte 22, first at "
	       "byte 1");
	refuse("{\"a\":[\"U8\",[4],[0,4]],\"\\u0061\":[\"U8\",[4],[0,4]]}", 4,
	       22, "duplicate name");
	refuse("{\"a\":[\"U8\",[4],[1,5]]}", 5, 1, "leaves a hole before it");
	refuse("{\"a\":[\"U8\",[4],[0,4]],\"b\":[\"U8\",[4],[3,7]]}", 7, 22,
	       "tensor \"b\" at header byte 22 overlaps the tensor before "
	       "it, expected begin 4 (the end of \"a\"), found data_offsets "
	       "[3,7]");
	refuse("{\"b\":[\"U8\",[4],[8,12]],\"a\":[\"U8\",[4],[0,4]]}", 12, 1,
	       "leaves a hole before it, expected begin 4");
	refuse("{\"a\":[\"U8\",[4],[4,0]]}", 4, 1, "ends before it begins");
	refuse("{\"a\":[\"BF16\",[2,3],[0,4]]}", 4, 1,
	       "wrong size: tensor \"a\" at header byte 1, BF16 [2,3] needs "
	       "12 bytes, found data_offsets [0,4] with 4");
	refuse("{\"a\":[\"F4\",[3],[0,1]]}", 1, 1, "has 12 bits");
	refuse("{\"a\":[\"U8\",[9223372036854775808,4,0],[0,0]]}", 0, 1,
	       "size overflow");
	/* 2^61 bytes are 2^64 bits. */
	refuse("{\"a\":[\"U8\",[2305843009213693952],"
	       "[0,2305843009213693952]]}",
	       0, 1, "size overflow");
	refuse("{\"a\":[\"U8\",[4],[0,4]]}", 3, NOWHERE,
	       "file too short: the header describes 4 bytes of data, found "
	       "3 (1 are missing");
	refuse("{\"a\":[\"U8\",[4],[0,4]]}", 6, NOWHERE, "2 trailing bytes");
	refuse("{}", 1, NOWHERE, "file too long");
}

/* What a stranger wrote is never printed raw. */
static void test_printed_names(void **state)
{
	(void)state;
	refuse("{\"\\u001b[31m\\u0000\\n\\\"\":1}", 0, 24,
	       "in tensor \"\\x1b[31m\\x00\\x0a\\\"\"");
	refuse("{\"\x7f\":[\"U8\",[4],[1,5]]}", 5, 1, "\"\\x7f\"");
}

static void test_length(void **state)
{
	struct ugds_st_error err;
	uint64_t json_bytes = 7;
	uint8_t prefix[64] = {0};

	(void)state;
	ugst_put_le64(prefix, 2);
	assert_ok(ugst_header_length(prefix, 10, 10, &json_bytes, &err), err);
	assert_int_equal(json_bytes, 2);
	assert_ok(ugst_header_length(prefix, 8, 10, &json_bytes, &err), err);
	json_bytes = 7;
	assert_fails(ugst_header_length(prefix, 9, 9, &json_bytes, &err),
	             UGDS_ST_FORMAT, err);
	assert_string_equal(err.text,
	                    "header cut short: the file says 2 bytes, found 1 "
	                    "in a file of 9 (an incomplete download?)");
	for (size_t bytes = 0; bytes < 8; bytes++)
		assert_fails(ugst_header_length(prefix, bytes, bytes,
		                                &json_bytes, &err),
		             UGDS_ST_FORMAT, err);
	ugst_put_le64(prefix, UGST_HEADER_MAX_BYTES);
	assert_ok(ugst_header_length(prefix, 64, 8 + UGST_HEADER_MAX_BYTES,
	                             &json_bytes, &err),
	          err);
	assert_int_equal(json_bytes, UGST_HEADER_MAX_BYTES);
	json_bytes = 7;
	ugst_put_le64(prefix, UGST_HEADER_MAX_BYTES + 1);
	assert_fails(
		ugst_header_length(prefix, 64, UINT64_MAX, &json_bytes, &err),
		UGDS_ST_FORMAT, err);
	assert_non_null(strstr(err.text, "100000001 bytes, expected at most "
	                                 "100000000"));
	/* N + 8 would wrap to 0 and to 7. */
	ugst_put_le64(prefix, UINT64_MAX - 7);
	assert_fails(ugst_header_length(prefix, 64, 64, &json_bytes, &err),
	             UGDS_ST_FORMAT, err);
	ugst_put_le64(prefix, UINT64_MAX);
	assert_fails(ugst_header_length(prefix, 64, 64, &json_bytes, &err),
	             UGDS_ST_FORMAT, err);
	assert_int_equal(json_bytes, 7);
}

static void test_kinds(void **state)
{
	static const struct {
		const char *prefix;
		size_t bytes;
		const char *kind;
	} kinds[] = {
		{"version https://git-lfs.github.com/spec/v1\noid", 46,
	         "git-lfs"},
		{"<!DOCTYPE html>", 15, "HTML"},
		{"\n <html lang=\"en\">", 18, "HTML"},
		{"\xef\xbb\xbf<?xml version=\"1.0\"?>", 24, "XML"},
		{"PK\3\4\0\0\0\0\0\0", 10, "zip archive"},
		{"\x80\2}q\0X\1\0\0\0", 10, "Python pickle"},
		{"GGUF\3\0\0\0\1\0", 10, "GGUF"},
		{"\x89HDF\r\n\x1a\n\0\0", 10, "HDF5"},
		{"{\"weight_map\":{}}", 17, "JSON"},
		{"../../blobs/abc", 15, "symbolic link"},
		{"GGUF", 4, "GGUF"},
	};

	(void)state;
	for (size_t i = 0; i < UGST_COUNT(kinds); i++) {
		struct ugds_st_error err;
		uint64_t json_bytes = 0;

		assert_fails(ugst_header_length(kinds[i].prefix, kinds[i].bytes,
		                                kinds[i].bytes, &json_bytes,
		                                &err),
		             UGDS_ST_FORMAT, err);
		if (strncmp(err.text, "not a safetensors file", 22) != 0 ||
		    !strstr(err.text, kinds[i].kind))
			fail_msg("%s: %s", kinds[i].kind, err.text);
	}
}

/* Exactly 100,000,000 bytes of header are accepted, one more is not. */
static void test_largest(void **state)
{
	static const char entry[] = "{\"a\":[\"U8\",[4],[0,4]]";
	size_t bytes = UGST_HEADER_MAX_BYTES;
	char *json = malloc(bytes + 1);
	struct ugds_st_error err = {0};
	struct ugst_header header;

	(void)state;
	assert_non_null(json);
	memset(json, ' ', bytes + 1);
	memcpy(json, entry, sizeof(entry) - 1);
	json[bytes - 1] = '}';
	assert_ok(ugst_header_parse(json, bytes, 8 + bytes + 4, &header, &err),
	          err);
	assert_int_equal(header.data_off, 100000008);
	ugst_header_free(&header);
	assert_fails(ugst_header_parse(json, bytes + 1, 8 + bytes + 5, &header,
	                               &err),
	             UGDS_ST_FORMAT, err);
	free(json);
}

/* Names, dims and entries each in a number that makes every pool move. */
static void test_many(void **state)
{
	size_t count = 200000;
	char *json = malloc(count * 80);
	size_t used = 0;
	struct ugds_st_error err = {0};
	struct ugst_header header;

	(void)state;
	json[used++] = '{';
	for (size_t i = count; i-- > 0;)
		used += (size_t)sprintf(json + used,
		                        "\"t\\u00e9%zu\":[\"U8\",[2,1,1],"
		                        "[%zu,%zu]]%c",
		                        i, 2 * i, 2 * i + 2, i ? ',' : '}');
	assert_ok(parse(json, used, 2 * count, &header, &err), err);
	assert_int_equal(header.tensor_count, count);
	for (size_t i = 0; i < count; i++) {
		const struct ugst_header_tensor *tensor = &header.tensors[i];
		char name[32];
		int bytes = snprintf(name, sizeof(name), "t\xc3\xa9%zu", i);

		assert_int_equal(tensor->name_bytes, bytes);
		assert_string_equal(tensor->name, name);
		assert_int_equal(tensor->rank, 3);
		assert_int_equal(tensor->dims[0], 2);
		assert_int_equal(tensor->begin, 2 * i);
	}
	ugst_header_free(&header);
	free(json);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_table),
		cmocka_unit_test(test_oddities),
		cmocka_unit_test(test_syntax),
		cmocka_unit_test(test_ranges),
		cmocka_unit_test(test_printed_names),
		cmocka_unit_test(test_length),
		cmocka_unit_test(test_kinds),
		cmocka_unit_test(test_largest),
		cmocka_unit_test(test_many),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
