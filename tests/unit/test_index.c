/* SPDX-License-Identifier: BSD-3-Clause */
/* test_index.c - the rules for an index document, one by one. */
#include "support/test.h"

#include "pure/hash.h"
#include "pure/index.h"

static int parse(const char *json, size_t bytes, struct ugst_index *index,
                 struct ugds_st_error *err)
{
	char *exact = malloc(bytes ? bytes : 1);
	int status;

	memcpy(exact, json, bytes);
	status = ugst_index_parse(exact, bytes, index, err);
	free(exact);
	return status;
}

static void accept(const char *json)
{
	struct ugds_st_error err = {0};
	struct ugst_index index;

	if (parse(json, strlen(json), &index, &err))
		fail_msg("%s: %s", json, err.text);
	ugst_index_free(&index);
}

static void refuse(const char *json, uint64_t offset, const char *says)
{
	struct ugds_st_error err = {0};
	struct ugst_index index = {0};

	assert_int_equal(parse(json, strlen(json), &index, &err),
	                 UGDS_ST_FORMAT);
	assert_null(index.entries);
	if (err.offset != offset || !strstr(err.text, says))
		fail_msg("%s: at %llu: %s", json,
		         (unsigned long long)err.offset, err.text);
}

static uint32_t hash(const char *name, size_t bytes)
{
	return ugst_name_hash(name, bytes, ugst_hash_seed());
}

static void test_entries(void **state)
{
	static const char json[] =
		"{\"metadata\":{\"total_size\":1},\"weight_map\":{"
		"\"b\":\"z.safetensors\",\"a\\u0000c\":\"sub/a.safetensors\","
		"\"c\":\"z.safetensors\",\"d\":\"\\u007a.safetensors\"}}";
	struct ugds_st_error err = {0};
	struct ugst_index index;
	const struct ugst_index_entry *entry;

	(void)state;
	assert_ok(parse(json, sizeof(json) - 1, &index, &err), err);
	assert_int_equal(index.shard_count, 2);
	assert_string_equal(index.shards[0], "sub/a.safetensors");
	assert_string_equal(index.shards[1], "z.safetensors");
	assert_int_equal(index.entry_count, 4);
	entry = ugst_index_find(&index, "a\0c", 3, hash("a\0c", 3));
	assert_non_null(entry);
	assert_int_equal(entry->shard, 0);
	assert_int_equal(entry->name_bytes, 3);
	entry = ugst_index_find(&index, "d", 1, hash("d", 1));
	assert_int_equal(entry->shard, 1);
	assert_null(ugst_index_find(&index, "a", 1, hash("a", 1)));
	assert_null(ugst_index_find(&index, "e", 1, hash("e", 1)));
	ugst_index_free(&index);
}

/* Only weight_map counts: total_size is advice, the rest is anybody's. */
static void test_other_members(void **state)
{
	(void)state;
	accept("{\"weight_map\":{\"a\":\"b\"}}");
	accept("{\"metadata\":{},\"weight_map\":{\"a\":\"b\"}}");
	accept("{\"metadata\":null,\"weight_map\":{\"a\":\"b\"}}");
	accept("{\"metadata\":{\"total_size\":1.5e3},\"weight_map\":{\"a\":"
	       "\"b\"}}");
	accept("{\"metadata\":{\"total_size\":\"12\"},\"weight_map\":{\"a\":"
	       "\"b\"}}");
	accept("{\"metadata\":{\"total_size\":-1,\"x\":[{}]},\"weight_map\":{"
	       "\"a\":\"b\"},\"other\":[1,{\"weight_map\":2}]}");
	accept(" {\"weight\\u005fmap\" : { \"a\" : \"b\" } } \n");
}

static void test_refusals(void **state)
{
	(void)state;
	refuse("", 0, "bad index at byte 0: expected '{', found the end");
	refuse("[]", 0, "expected '{', found '['");
	refuse("version https://git-lfs.github.com/spec/v1", 0, "git-lfs");
	refuse("{}", 1, "no weight_map");
	refuse("{\"weight_map\":{}}", 15, "weight_map is empty");
	refuse("{\"weight_map\":[]}", 14, "weight_map as an object");
	refuse("{\"weight_map\":{\"a\":1}}", 19, "the name of a shard");
	refuse("{\"weight_map\":{\"a\":null}}", 19, "the name of a shard");
	refuse("{\"weight_map\":{\"a\":\"b\"}", 23, "found the end");
	refuse("{\"weight_map\":{\"a\":\"b\"}} x", 25, "expected the end");
	refuse("{\"weight_map\":{\"a\":\"b\"},\"weight_map\":{\"a\":\"b\"}}",
	       24, "weight_map twice");
	refuse("{\"weight_map\":{\"a\":\"b\",\"a\":\"c\"}}", 23,
	       "the index maps tensor \"a\" to b at byte 15 and to c at byte "
	       "23");
	refuse("{\"weight_map\":{\"a\":\"b\",\"\\u0061\":\"b\"}}", 23,
	       "duplicate name");
	refuse("{\"weight_map\":{\"a\":\"b\xff\"}}", 21, "not UTF-8");
	refuse("{\"weight_map\":{\"a\":\"b\"},\"x\":01}", 28, "leading zero");
}

static void test_shard_names(void **state)
{
	static const struct {
		const char *json; /* as it stands in the index */
		const char *says;
	} names[] = {
		{"", "found empty"},
		{"/a", "an absolute path"},
		{"..", "\"..\""},
		{"../a", "\"..\""},
		{"a/../b", "\"..\""},
		{"a/..", "\"..\""},
		{".", "\".\""},
		{"./a", "\".\""},
		{"a/./b", "\".\""},
		{"a//b", "an empty part"},
		{"a/", "an empty part"},
		{"a\\\\b", "a backslash"},
		{"a\\u0000b", "a NUL"},
		{"\\u0000", "a NUL"},
		{"a\\nb", "a control character"},
		{"a\\u007f", "a control character"},
		{"\\u002e\\u002e/a", "\"..\""},
	};
	char json[128];

	(void)state;
	for (size_t i = 0; i < UGST_COUNT(names); i++) {
		(void)snprintf(json, sizeof(json),
		               "{\"weight_map\":{\"a\":\"%s\"}}",
		               names[i].json);
		refuse(json, 19, names[i].says);
	}
	accept("{\"weight_map\":{\"a\":\"...\"}}");
	accept("{\"weight_map\":{\"a\":\"..a/b..\"}}");
	accept("{\"weight_map\":{\"a\":\"a/b/c.safetensors\"}}");
	accept("{\"weight_map\":{\"a\":\"\xe6\x9d\x83 -rf.safetensors\"}}");
}

static void test_name_check(void **state)
{
	struct ugds_st_error err = {0};

	(void)state;
	assert_ok(ugst_shard_name_check("a/b.safetensors", &err), err);
	assert_fails(ugst_shard_name_check("", &err), UGDS_ST_FORMAT, err);
	assert_fails(ugst_shard_name_check("a/../b", &err), UGDS_ST_FORMAT,
	             err);
	assert_non_null(strstr(err.text, "\"a/../b\""));
}

/* An index of 24 MiB and more, with many shards. */
static void test_large(void **state)
{
	size_t count = 250000;
	char *json = malloc(count * 160);
	size_t used = (size_t)sprintf(json, "{\"weight_map\":{");
	struct ugds_st_error err = {0};
	struct ugst_index index;

	(void)state;
	for (size_t i = 0; i < count; i++)
		used += (size_t)sprintf(
			json + used,
			"%s\"model.layers.%zu.mlp.experts.%zu.down_proj.weight_"
			"scale_inv\": \"model-%05zu-of-01000.safetensors\"",
			i ? ", " : "", i / 256, i, i % 1000);
	used += (size_t)sprintf(json + used, "}}");
	assert_true(used > 24 * UGST_MIB);
	assert_ok(ugst_index_parse(json, used, &index, &err), err);
	assert_int_equal(index.entry_count, count);
	assert_int_equal(index.shard_count, 1000);
	for (size_t i = 0; i < count; i++)
		assert_int_equal(index.entries[i].shard, i % 1000);
	ugst_index_free(&index);
	free(json);
}

static void test_cuts(void **state)
{
	static const char json[] = "{\"metadata\":{\"total_size\":12},\"weight_"
				   "map\":{\"a\\u0000\":"
				   "\"b\\u00e9\",\"c\":\"d/e\"}}";
	struct ugst_index index;

	(void)state;
	accept(json);
	for (size_t bytes = 0; bytes < sizeof(json) - 1; bytes++) {
		struct ugds_st_error err = {0};

		assert_int_equal(parse(json, bytes, &index, &err),
		                 UGDS_ST_FORMAT);
		assert_true(err.offset <= bytes);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_entries),
		cmocka_unit_test(test_other_members),
		cmocka_unit_test(test_refusals),
		cmocka_unit_test(test_shard_names),
		cmocka_unit_test(test_name_check),
		cmocka_unit_test(test_large),
		cmocka_unit_test(test_cuts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
