/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_verdicts.c - the official loader's verdict, table and class of error
 * for every header in tests/data/headers.pack.
 */
#include "support/test.h"

#include "pure/dtype.h"
#include "pure/header.h"
#include "support/pack.h"

/* Our classes, which begin a text, and the official variants. */
static const struct {
	const char *ours;
	const char *official;
} classes[] = {
	{"file too small", "HeaderTooSmall"},
	{"header too large", "HeaderTooLarge"},
	{"not a safetensors file", "HeaderTooLarge|InvalidHeaderLength"},
	{"header cut short", "InvalidHeaderLength"},
	{"header is not UTF-8", "InvalidHeader"},
	{"bad header", "InvalidHeaderDeserialization"},
	{"bad offsets", "InvalidOffset"},
	{"wrong size", "TensorInvalidInfo"},
	{"size overflow", "ValidationOverflow"},
	{"not whole bytes", "MisalignedSlice"},
	{"file too short", "MetadataIncompleteBuffer"},
	{"file too long", "MetadataIncompleteBuffer"},
	/* Found before the official loader finds anything else. */
	{"duplicate name", ""},
};

/* Is one of the names in both lists? */
static bool share_name(const char *list, const char *other)
{
	for (const char *at = list; *at;) {
		size_t bytes = strcspn(at, "|");

		for (const char *found = other; *found;) {
			size_t found_bytes = strcspn(found, "|");

			if (bytes == found_bytes &&
			    memcmp(at, found, bytes) == 0)
				return true;
			found += found_bytes + (found[found_bytes] == '|');
		}
		at += bytes + (at[bytes] == '|');
	}
	return false;
}

static void check_error(const struct pack_case *one,
                        const struct ugds_st_error *err, size_t bytes)
{
	for (const char *at = err->text; *at; at++)
		assert_true((unsigned char)*at >= 0x20 && *at != 0x7f);
	assert_true(err->offset == UGDS_ST_NO_OFFSET || err->offset <= bytes);
	for (size_t i = 0; i < UGST_COUNT(classes); i++) {
		if (strncmp(err->text, classes[i].ours,
		            strlen(classes[i].ours)) != 0)
			continue;
		if (classes[i].official[0] &&
		    !share_name(classes[i].official, one->error))
			fail_msg("%s: %s where the official loader says %s",
			         one->id, err->text, one->error);
		return;
	}
	fail_msg("%s: a text without a class: %s", one->id, err->text);
}

static const struct pack_tensor *find(const struct pack_case *one,
                                      const struct ugst_header_tensor *tensor)
{
	for (uint32_t i = 0; i < one->tensor_count; i++)
		if (one->tensors[i].name_bytes == tensor->name_bytes &&
		    memcmp(one->tensors[i].name, tensor->name,
		           tensor->name_bytes) == 0)
			return &one->tensors[i];
	fail_msg("%s: a tensor that is not in the official table", one->id);
	return NULL;
}

static void check_table(const struct pack_case *one,
                        const struct ugst_header *header)
{
	assert_int_equal(header->tensor_count, one->tensor_count);
	for (size_t i = 0; i < header->tensor_count; i++) {
		const struct ugst_header_tensor *tensor = &header->tensors[i];
		const struct pack_tensor *wanted = find(one, tensor);

		assert_string_equal(ugds_st_dtype_name(tensor->dtype),
		                    wanted->dtype);
		assert_int_equal(tensor->rank, wanted->rank);
		for (uint32_t k = 0; k < tensor->rank; k++)
			assert_true(tensor->dims[k] == wanted->dims[k]);
		assert_true(header->data_off + tensor->begin == wanted->off);
		assert_true(tensor->end - tensor->begin == wanted->bytes);
	}
}

/* Return: accepted. */
static bool check_case(const struct pack_case *one)
{
	const char *file = one->files[0].data;
	size_t bytes = one->files[0].bytes;
	struct ugds_st_error err = {0};
	struct ugst_header header;
	uint64_t json_bytes = 0;
	int status = ugst_header_length(file, bytes, bytes, &json_bytes, &err);

	if (!status)
		status = ugst_header_parse(file + 8, (size_t)json_bytes, bytes,
		                           &header, &err);
	if ((status == UGDS_ST_OK) != one->ok && !one->either)
		fail_msg("%s: wanted %s, found %d: %s", one->id,
		         one->ok ? "accepted" : one->error, status, err.text);
	if (status) {
		assert_int_equal(status, UGDS_ST_FORMAT);
		check_error(one, &err, bytes);
		return false;
	}
	check_table(one, &header);
	ugst_header_free(&header);
	return true;
}

static void test_headers(void **state)
{
	struct pack pack;
	struct pack_case one;
	size_t accepted = 0;
	size_t refused = 0;
	size_t twins = 0;

	(void)state;
	pack_open(&pack, "tests/data/headers.pack");
	while (pack_next(&pack, &one)) {
		bool ok = check_case(&one);

		accepted += ok;
		refused += !ok;
		/* Refused as twins, although the official loader would take
		 * the last of them. */
		twins += !ok && one.either;
		pack_case_free(&one);
	}
	pack_close(&pack);
	assert_int_equal(accepted + refused, 685);
	assert_int_equal(accepted, 191);
	assert_int_equal(twins, 8);
}

/* Cut anywhere, an accepted file is refused; so is one with a byte more. */
static void test_cuts(void **state)
{
	struct pack pack;
	struct pack_case one;

	(void)state;
	pack_open(&pack, "tests/data/headers.pack");
	while (pack_next(&pack, &one)) {
		size_t whole = one.files[0].bytes;

		for (size_t bytes = 0; one.ok && whole < 300 && bytes <= whole;
		     bytes++) {
			struct ugds_st_error err = {0};
			struct ugst_header header;
			uint64_t json_bytes = 0;
			char *file = malloc(whole + 1);
			size_t length = bytes < whole ? bytes : whole + 1;
			int status;

			memcpy(file, one.files[0].data, whole);
			file[whole] = 0;
			status = ugst_header_length(file, length, length,
			                            &json_bytes, &err);
			if (!status)
				status = ugst_header_parse(
					file + 8, (size_t)json_bytes, length,
					&header, &err);
			if (status != UGDS_ST_FORMAT)
				fail_msg("%s: taken with %zu of %zu bytes",
				         one.id, length, whole);
			free(file);
		}
		pack_case_free(&one);
	}
	pack_close(&pack);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_headers),
		cmocka_unit_test(test_cuts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
