/* SPDX-License-Identifier: BSD-3-Clause */
/* test_allocate.c - free space against a map of every MiB. */
#include "support/check.h"

#include "import/allocate.h"
#include "import/edit.h"
#include "pure/label.h"
#include "support/random.h"

#define MIBS 40u

static char no_name[] = "";

/* A volume of 40 MiB: the object area is MiB 8 to 38. */
static struct ugst_catalog empty(void)
{
	return (struct ugst_catalog){
		.volume = {.lba_bytes = 4096, .bytes = MIBS * UGST_MIB},
		.next_object_id = 1};
}

static void add(struct ugst_catalog *catalog, uint64_t mib, uint64_t bytes)
{
	struct ugst_object object = {.base_lba = mib * 256,
	                             .lba_bytes = 4096,
	                             .bytes = bytes,
	                             .name = no_name};
	struct ugds_st_error err;
	uint64_t id;

	assert_ok(ugst_catalog_add_object(catalog, &object, &id, &err), err);
}

static void by_hand(void **state)
{
	struct ugst_catalog catalog = empty();
	struct ugst_space space;
	struct ugds_st_error err;
	uint64_t off;

	(void)state;
	assert_ok(ugst_space_count(&catalog, &space, &err), err);
	assert_int_equal(space.free_bytes, 31 * UGST_MIB);
	assert_int_equal(space.largest_bytes, 31 * UGST_MIB);
	assert_ok(ugst_space_find(&catalog, 31 * UGST_MIB, &off, &err), err);
	assert_int_equal(off, 8 * UGST_MIB);
	check_fails(ugst_space_find(&catalog, 31 * UGST_MIB + 4096, &off, &err),
	            UGDS_ST_NO_SPACE, err,
	            "wanted 32509952 bytes, free 32505856, largest gap "
	            "32505856");
	/* A byte takes its whole MiB; gaps of 2 and 27 are left. */
	add(&catalog, 10, 1);
	add(&catalog, 11, UGST_MIB);
	assert_ok(ugst_space_count(&catalog, &space, &err), err);
	assert_int_equal(space.free_bytes, 29 * UGST_MIB);
	assert_int_equal(space.largest_bytes, 27 * UGST_MIB);
	assert_ok(ugst_space_find(&catalog, 2 * UGST_MIB, &off, &err), err);
	assert_int_equal(off, 8 * UGST_MIB);
	assert_ok(ugst_space_find(&catalog, 2 * UGST_MIB + 4096, &off, &err),
	          err);
	assert_int_equal(off, 12 * UGST_MIB);
	ugst_catalog_free(&catalog);
}

/* First fit, as a map of MiBs has it. */
static void random_maps(void **state)
{
	uint64_t random = 1;

	(void)state;
	for (unsigned round = 0; round < 3000; round++) {
		struct ugst_catalog catalog = empty();
		bool used[MIBS] = {false};
		uint64_t wanted = 1 + random_below(&random, 12);
		uint64_t free_mibs = 0;
		uint64_t largest = 0;
		uint64_t gap = 0;
		uint64_t first = 0;
		struct ugst_space space;
		struct ugds_st_error err;
		uint64_t off;

		for (uint64_t mib = 8; mib < MIBS - 1; mib++) {
			uint64_t size = 1 + random_below(&random, 4);

			if (random_below(&random, 3) || mib + size > MIBS - 1)
				continue;
			add(&catalog, mib,
			    (size - 1) * UGST_MIB + 1 +
			            random_below(&random, UGST_MIB));
			while (size--)
				used[mib + size] = true;
			while (mib + 1 < MIBS - 1 && used[mib + 1])
				mib++;
		}
		for (uint64_t mib = 8; mib < MIBS - 1; mib++) {
			gap = used[mib] ? 0 : gap + 1;
			free_mibs += !used[mib];
			largest = gap > largest ? gap : largest;
			if (gap == wanted && !first)
				first = mib + 1 - wanted;
		}
		assert_ok(ugst_space_count(&catalog, &space, &err), err);
		assert_int_equal(space.free_bytes, free_mibs * UGST_MIB);
		assert_int_equal(space.largest_bytes, largest * UGST_MIB);
		if (first) {
			assert_ok(ugst_space_find(&catalog, wanted * UGST_MIB,
			                          &off, &err),
			          err);
			assert_int_equal(off, first * UGST_MIB);
		} else {
			assert_fails(ugst_space_find(&catalog,
			                             wanted * UGST_MIB, &off,
			                             &err),
			             UGDS_ST_NO_SPACE, err);
		}
		ugst_catalog_free(&catalog);
	}
}

/* An object is free when no record lists it, and for no other reason. */
static void what_is_free(void **state)
{
	struct ugst_catalog catalog = empty();
	struct ugst_uuid uuid = {{1}};
	struct ugst_record *record;
	struct ugds_st_error err;

	(void)state;
	for (uint64_t i = 0; i < 4; i++)
		add(&catalog, 10 + i, 100);
	assert_ok(ugst_catalog_add_record(&catalog, &uuid, "m", "p", 1, &record,
	                                  &err),
	          err);
	assert_false(record->committed);
	assert_ok(ugst_record_add(record, 4, &err), err);
	assert_ok(ugst_record_add(record, 2, &err), err);
	assert_ok(ugst_record_add(record, 4, &err), err);
	assert_int_equal(record->object_count, 2);
	assert_int_equal(record->object_ids[0], 2);
	assert_int_equal(record->object_ids[1], 4);
	assert_ok(ugst_catalog_add_record(&catalog, &uuid, "m", "p", 2, &record,
	                                  &err),
	          err);
	assert_ok(ugst_record_add(record, 3, &err), err);
	ugst_catalog_drop_free(&catalog);
	assert_int_equal(catalog.object_count, 3);
	assert_null(ugst_catalog_object(&catalog, 1));
	ugst_catalog_drop_record(&catalog, 0);
	assert_int_equal(catalog.record_count, 1);
	assert_int_equal(catalog.records[0].generation, 2);
	ugst_catalog_drop_free(&catalog);
	assert_int_equal(catalog.object_count, 1);
	assert_non_null(ugst_catalog_object(&catalog, 3));
	/* Ids are not used again. */
	add(&catalog, 20, 1);
	assert_non_null(ugst_catalog_object(&catalog, 5));
	ugst_catalog_free(&catalog);
}

static void text_for_json(void **state)
{
	char *text;

	(void)state;
	text = ugst_json_text("plain \xc3\xa9 \"quoted\"");
	assert_string_equal(text, "plain \xc3\xa9 \"quoted\"");
	free(text);
	text = ugst_json_text("bad \xff byte");
	assert_string_equal(text, "bad \\xff byte");
	free(text);
	text = ugst_json_text("");
	assert_string_equal(text, "");
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(by_hand),
		cmocka_unit_test(random_maps),
		cmocka_unit_test(what_is_free),
		cmocka_unit_test(text_for_json),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
