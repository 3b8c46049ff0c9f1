/* SPDX-License-Identifier: BSD-3-Clause */
/* test_table.c - look-up, order, left-out tensors and twins over shards. */
#include "support/test.h"

#include <malloc.h>

#include "pure/header.h"
#include "pure/nameset.h"
#include "pure/table.h"

/* A header of tensors t<first>... of one byte each. */
static struct ugst_header make(size_t first, size_t count)
{
	char *json = malloc(count * 64 + 16);
	size_t used = 1;
	struct ugds_st_error err = {0};
	struct ugst_header header;

	json[0] = '{';
	for (size_t i = 0; i < count; i++)
		used += (size_t)sprintf(json + used,
		                        "%s\"t%zu\":[\"U8\",[1],[%zu,%zu]]",
		                        i ? "," : "", first + i, i, i + 1);
	json[used++] = '}';
	assert_ok(
		ugst_header_parse(json, used, 8 + used + count, &header, &err),
		err);
	free(json);
	return header;
}

static void test_shards(void **state)
{
	struct ugst_table *table = ugst_table_new();
	struct ugst_header one = make(0, 3);
	struct ugst_header two = make(3, 2);
	uint64_t data_off = one.data_off;
	struct ugds_st_error err = {0};
	const struct ugds_st_tensor *tensor;

	(void)state;
	assert_null(ugst_table_find(table, "t0", 2));
	assert_ok(ugst_table_add_shard(table, &one, 0, NULL, 0, &err), err);
	assert_null(one.tensors);
	assert_null(one.names);
	assert_ok(ugst_table_add_shard(table, &two, 1, NULL, 0, &err), err);
	ugst_table_set_owner(table, state);
	assert_int_equal(ugst_table_count(table), 5);
	for (size_t i = 0; i < 5; i++) {
		char name[8];

		(void)snprintf(name, sizeof(name), "t%zu", i);
		tensor = ugst_table_at(table, i);
		assert_string_equal(tensor->name, name);
		assert_int_equal(tensor->shard, i < 3 ? 0 : 1);
		assert_ptr_equal(tensor->owner, state);
		assert_ptr_equal(ugst_table_find(table, name, 2), tensor);
	}
	assert_int_equal(ugst_table_at(table, 2)->file_off, data_off + 2);
	assert_int_equal(ugst_table_at(table, 2)->payload_bytes, 1);
	assert_null(ugst_table_at(table, 5));
	assert_null(ugst_table_find(table, "t0", 1));
	assert_null(ugst_table_find(table, "t0\0", 3));
	assert_null(ugst_table_find(table, "", 0));
	ugst_table_free(table);
	ugst_table_free(NULL);
}

static void test_left_out(void **state)
{
	static const uint64_t left_out[] = {0, 2, 4};
	struct ugst_table *table = ugst_table_new();
	struct ugst_header one = make(0, 5);
	struct ugst_header two = make(0, 3);
	struct ugds_st_error err = {0};

	(void)state;
	assert_ok(ugst_table_add_shard(table, &one, 0, left_out, 3, &err), err);
	assert_int_equal(ugst_table_count(table), 2);
	assert_string_equal(ugst_table_at(table, 0)->name, "t1");
	assert_string_equal(ugst_table_at(table, 1)->name, "t3");
	assert_null(ugst_table_find(table, "t2", 2));
	/* What was left out of one shard may come from another. */
	assert_ok(ugst_table_add_shard(table, &two, 1, (const uint64_t[]){0, 1},
	                               2, &err),
	          err);
	assert_int_equal(ugst_table_find(table, "t2", 2)->shard, 1);
	ugst_table_free(table);
}

static void test_twins(void **state)
{
	static const char *const names[] = {"one.safetensors",
	                                    "two\x1b.safetensors"};

	(void)state;
	for (int named = 0; named < 2; named++) {
		struct ugst_table *table = ugst_table_new();
		struct ugst_header one = make(0, 4);
		struct ugst_header two = make(3, 2);
		struct ugds_st_error err = {0};

		if (named)
			ugst_table_name_shards(table, names);
		assert_ok(ugst_table_add_shard(table, &one, 0, NULL, 0, &err),
		          err);
		assert_fails(
			ugst_table_add_shard(table, &two, 1, NULL, 0, &err),
			UGDS_ST_FORMAT, err);
		assert_string_equal(
			err.text,
			named ? "duplicate name: tensor \"t3\" is in "
				"one.safetensors and in two\\x1b.safetensors, "
				"expected in one shard"
			      : "duplicate name: tensor \"t3\" is in shard 0 "
				"and "
				"in shard 1, expected in one shard");
		ugst_header_free(&two);
		ugst_table_free(table);
	}
}

/* A million tensors; and no more than 160 bytes for each beside its name and
 * shape, as the allocator counts them. */
static void test_million(void **state)
{
	struct ugst_table *table = ugst_table_new();
	struct ugds_st_error err = {0};
	size_t count = 1000000;
	size_t before = mallinfo2().uordblks + mallinfo2().hblkhd;
	size_t used;

	(void)state;
	for (size_t i = 0; i < 10; i++) {
		struct ugst_header header = make(i * count / 10, count / 10);

		assert_ok(ugst_table_add_shard(table, &header, (uint32_t)i,
		                               NULL, 0, &err),
		          err);
	}
	ugst_table_set_owner(table, NULL);
	used = mallinfo2().uordblks + mallinfo2().hblkhd - before;
	/* Names of 7 bytes and a NUL, one dim of 8. A sanitizer's allocator
	 * does not count. */
	assert_true(used < count * (160 + 16));
	assert_int_equal(ugst_table_count(table), count);
	for (size_t i = 0; i < count; i += 997) {
		char name[16];
		int bytes = snprintf(name, sizeof(name), "t%zu", i);

		assert_ptr_equal(ugst_table_find(table, name, (size_t)bytes),
		                 ugst_table_at(table, i));
		name[0] = 'x';
		assert_null(ugst_table_find(table, name, (size_t)bytes));
	}
	ugst_table_free(table);
}

static bool equal_text(const void *owner, uint32_t number, const char *name,
                       size_t name_bytes)
{
	const char *const *names = owner;

	return strlen(names[number]) == name_bytes &&
	       memcmp(names[number], name, name_bytes) == 0;
}

/* Half of the slots stay free: an absent name must come to one. */
static void test_room(void **state)
{
	struct ugst_nameset set = {0};

	(void)state;
	for (size_t count = 1; count < 5000; count++) {
		assert_true(ugst_nameset_reserve(&set, count));
		assert_true(set.slot_count >= 2 * count);
	}
	assert_true(set.slot_count <= 4 * 5000);
	assert_false(ugst_nameset_reserve(&set, (size_t)UINT32_MAX));
	ugst_nameset_free(&set);
}

/* Names with one and the same hash are told apart all the same. */
static void test_collisions(void **state)
{
	static const char *const names[] = {"a", "b", "c", "d", "e"};
	struct ugst_nameset set = {0};

	(void)state;
	for (size_t i = 0; i < UGST_COUNT(names); i++) {
		struct ugst_name_slot *slot;

		assert_true(ugst_nameset_reserve(&set, 20 * (i + 1)));
		slot = ugst_nameset_find(&set, 15, names[i], 1, equal_text,
		                         names);
		assert_int_equal(slot->number, 0);
		slot->hash = 15;
		slot->number = (uint32_t)i + 1;
		set.count = i + 1;
	}
	for (size_t i = 0; i < UGST_COUNT(names); i++)
		assert_int_equal(ugst_nameset_find(&set, 15, names[i], 1,
		                                   equal_text, names)
		                         ->number,
		                 i + 1);
	assert_int_equal(
		ugst_nameset_find(&set, 15, "f", 1, equal_text, names)->number,
		0);
	ugst_nameset_free(&set);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_shards),
		cmocka_unit_test(test_left_out),
		cmocka_unit_test(test_twins),
		cmocka_unit_test(test_million),
		cmocka_unit_test(test_room),
		cmocka_unit_test(test_collisions),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
