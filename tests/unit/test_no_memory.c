/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_no_memory.c - every allocation of parsing and opening a checkpoint
 * fails in turn: NO_MEMORY, nothing half made, nothing leaked.
 *
 * The program brings its own copy of mem.c, whose allocations it can refuse;
 * the address sanitizer finds what is not freed.
 */
#include "support/test.h"

#include <sys/stat.h>
#include <unistd.h>

/* Allocations until one is refused; 0: none will be. */
static size_t countdown;
static bool all_after; /* refuse those behind it, too */
static bool refused;

static bool refuse(void)
{
	if (refused && all_after)
		return true;
	if (countdown == 0 || --countdown > 0)
		return false;
	refused = true;
	return true;
}

static void *failing_calloc(size_t count, size_t bytes)
{
	return refuse() ? NULL : calloc(count, bytes);
}

static void *failing_reallocarray(void *array, size_t count, size_t bytes)
{
	return refuse() ? NULL : reallocarray(array, count, bytes);
}

static void *failing_malloc(size_t bytes)
{
	return refuse() ? NULL : malloc(bytes);
}

static int failing_vasprintf(char **text, const char *fmt, va_list args)
{
	return refuse() ? -1 : vasprintf(text, fmt, args);
}

#undef calloc
#undef malloc
#define calloc failing_calloc
#define reallocarray failing_reallocarray
#define malloc failing_malloc
#define vasprintf failing_vasprintf
#include "../../src/base/mem.c"
#undef calloc
#undef reallocarray
#undef malloc
#undef vasprintf

#include "base/err.h"
#include "base/le.h"
#include "pure/header.h"
#include "pure/index.h"
#include "pure/scan.h"
#include "pure/table.h"
#include "support/pack.h"
#include "verbs/checkpoint.h"

static int scan_document(struct ugds_st_error *err)
{
	static const char text[] =
		"{\"a\":{\"b\":1,\"\\u0063\":[{\"d\":2,\"e\":3}]},\"f\":\"g\"}";

	return ugst_scan_document(text, sizeof(text) - 1, err);
}

/* Long enough that every pool moves. */
static int parse_header(struct ugds_st_error *err)
{
	char json[8192];
	size_t used = 1;
	struct ugst_header header = {0};
	struct ugst_table *table = NULL;
	int status;

	json[0] = '{';
	for (size_t i = 0; i < 60; i++)
		used += (size_t)sprintf(json + used,
		                        "%s\"%zu\":[\"U8\",[1,1,1,1,1,1,1,1,1,"
		                        "1,1,1,1],[%zu,%zu]]",
		                        i ? "," : "", i, i, i + 1);
	json[used++] = '}';
	status = ugst_header_parse(json, used, 8 + used + 60, &header, err);
	if (!status) {
		table = ugst_table_new();
		status = table ? ugst_table_add_shard(table, &header, 0, NULL,
		                                      0, err)
		               : ugst_fail_memory(err);
	}
	if (!status)
		ugst_table_set_owner(table, table);
	ugst_header_free(&header);
	ugst_table_free(table);
	return status;
}

static int parse_index(struct ugds_st_error *err)
{
	char json[8192];
	size_t used = (size_t)sprintf(json, "{\"weight_map\":{");
	struct ugst_index index = {0};
	int status;

	for (size_t i = 0; i < 40; i++)
		used += (size_t)sprintf(json + used, "%s\"%zu\":\"s%zu\"",
		                        i ? "," : "", i, i % 20);
	used += (size_t)sprintf(json + used, "}}");
	status = ugst_index_parse(json, used, &index, err);
	assert_true(status == UGDS_ST_OK || !index.entries);
	ugst_index_free(&index);
	return status;
}

static int open_checkpoint(struct ugds_st_error *err)
{
	struct ugst_checkpoint checkpoint = {0};
	int status = ugst_checkpoint_open("m", &checkpoint, err);

	assert_true(status == UGDS_ST_OK || !checkpoint.shards);
	ugst_checkpoint_free(&checkpoint);
	return status;
}

/* Refuse the first allocation, then the second, until none is refused. */
static void sweep(int (*call)(struct ugds_st_error *err))
{
	for (int after = 0; after < 2; after++) {
		size_t nth = 0;

		all_after = after;
		do {
			struct ugds_st_error err = {0};
			int status;

			refused = false;
			countdown = ++nth;
			status = call(&err);
			countdown = 0;
			if (status == UGDS_ST_OK)
				continue; /* what only sheds room may fail */
			assert_true(refused);
			assert_int_equal(status, UGDS_ST_NO_MEMORY);
			assert_string_equal(err.text, "out of memory");
		} while (refused);
		assert_true(nth > 1);
		refused = false;
	}
}

static void put(const char *path, const char *json, size_t data_bytes)
{
	FILE *file = fopen(path, "wb");
	uint8_t length[8];

	assert_non_null(file);
	ugst_put_le64(length, strlen(json));
	if (data_bytes)
		assert_int_equal(fwrite(length, 1, 8, file), 8);
	assert_true(fputs(json, file) >= 0);
	for (size_t i = 0; i < data_bytes; i++)
		assert_int_equal(fputc('d', file), 'd');
	assert_int_equal(fclose(file), 0);
}

static void test_pure(void **state)
{
	(void)state;
	sweep(scan_document);
	sweep(parse_header);
	sweep(parse_index);
}

static void test_checkpoint(void **state)
{
	char dir[] = "/tmp/ugst_no_memory.XXXXXX";

	(void)state;
	assert_non_null(mkdtemp(dir));
	assert_int_equal(chdir(dir), 0);
	assert_int_equal(mkdir("m", 0777), 0);
	put("m/x-00001-of-00002.safetensors",
	    "{\"a\":[\"U8\",[1],[0,1]],\"b\":[\"U8\",[1],[1,2]]}", 2);
	put("m/x-00002-of-00002.safetensors", "{\"c\":[\"U8\",[1],[0,1]]}", 1);
	sweep(open_checkpoint);
	put("m/model.safetensors.index.json",
	    "{\"weight_map\":{\"a\":\"x-00001-of-00002.safetensors\","
	    "\"c\":\"x-00002-of-00002.safetensors\"}}",
	    0);
	sweep(open_checkpoint);
	assert_int_equal(chdir("/"), 0);
	pack_remove(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pure),
		cmocka_unit_test(test_checkpoint),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
