/* SPDX-License-Identifier: BSD-3-Clause */
/* test_catalog.c - a good catalog, spoiled in one place at a time. */
#include "base/common.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/units.h"
#include "pure/catalog.h"
#include "pure/label.h"
#include "support/check.h"
#include "support/text.h"

#define HASH_A "00112233445566778899aabbccddeeff"
#define HASH_B "ffeeddccbbaa99887766554433221100"

/* A volume of 64 MiB; object 3 from 9 MiB in 4096-byte blocks, 1 MiB long
 * with its lead, object 5 from 10 MiB in 512-byte blocks. */
static const char good[] =
	"{\"volume\":{\"uuid\":\"919108f7-52d1-4320-9bac-f847db4148a8\","
	"\"lba_bytes\":4096,\"bytes\":\"67108864\",\"start_bytes\":\"1048576\","
	"\"identity\":{\"nsid\":1,\"serial\":\"S1\",\"model\":\"M1\","
	"\"nguid\":\"" HASH_A "\",\"eui64\":\"0011223344556677\","
	"\"uuid\":\"919108f7-52d1-4320-9bac-f847db4148a9\"}},"
	"\"next_object_id\":\"6\","
	"\"objects\":[{\"id\":\"3\",\"base_lba\":\"2304\",\"lba_bytes\":4096,"
	"\"lead_bytes\":2096,\"bytes\":\"1046480\",\"header_hash\":\"" HASH_A
	"\",\"hash\":\"" HASH_B "\",\"name\":\"a.safetensors\"},"
	"{\"id\":\"5\",\"base_lba\":\"20480\",\"lba_bytes\":512,"
	"\"lead_bytes\":0,\"bytes\":\"100\",\"header_hash\":\"" HASH_B
	"\",\"hash\":\"" HASH_A "\",\"name\":\"b\"}],"
	"\"checkpoints\":[{\"uuid\":\"119108f7-52d1-4320-9bac-f847db4148a8\","
	"\"model\":\"org/name\",\"manifest\":\"/srv/m.json\","
	"\"generation\":\"1\",\"state\":\"committed\",\"objects\":[\"3\","
	"\"5\"]},{\"uuid\":\"119108f7-52d1-4320-9bac-f847db4148a8\","
	"\"model\":\"org/name\",\"manifest\":\"/srv/m.json\","
	"\"generation\":\"2\",\"state\":\"pending\",\"objects\":[]}]}";

static void good_is_read(void **state)
{
	struct ugst_catalog catalog;
	struct ugds_st_error err;
	const struct ugst_object *object;
	char text[UGST_HASH_TEXT_BYTES];

	(void)state;
	assert_ok(ugst_catalog_parse(good, strlen(good), &catalog, &err), err);
	assert_false(catalog.has_unknown);
	assert_int_equal(catalog.volume.lba_bytes, 4096);
	assert_int_equal(catalog.volume.bytes, 67108864);
	assert_int_equal(catalog.volume.start_bytes, 1048576);
	assert_true(catalog.volume.identity.known);
	assert_int_equal(catalog.volume.identity.nsid, 1);
	assert_string_equal(catalog.volume.identity.serial, "S1");
	assert_string_equal(catalog.volume.identity.model, "M1");
	assert_int_equal(catalog.volume.identity.nguid[15], 0xff);
	assert_int_equal(catalog.volume.identity.eui64[7], 0x77);
	assert_int_equal(catalog.volume.identity.uuid.bytes[15], 0xa9);
	assert_int_equal(catalog.next_object_id, 6);
	assert_int_equal(catalog.object_count, 2);
	object = ugst_catalog_object(&catalog, 3);
	assert_non_null(object);
	assert_int_equal(object->base_lba, 2304);
	assert_int_equal(object->lead_bytes, 2096);
	assert_int_equal(object->bytes, 1046480);
	assert_string_equal(ugst_hash_text(&object->hash, text), HASH_B);
	assert_string_equal(object->name, "a.safetensors");
	/* 2096 + 1046480 = 1 MiB, which is whole; 100 bytes take a page. */
	assert_int_equal(ugst_object_run_bytes(object), 1048576);
	assert_int_equal(
		ugst_object_run_bytes(ugst_catalog_object(&catalog, 5)), 4096);
	assert_null(ugst_catalog_object(&catalog, 4));
	assert_int_equal(catalog.record_count, 2);
	assert_true(catalog.records[0].committed);
	assert_false(catalog.records[1].committed);
	assert_int_equal(catalog.records[0].object_count, 2);
	assert_true(ugst_record_lists(&catalog.records[0], 5));
	assert_false(ugst_record_lists(&catalog.records[1], 5));
	assert_ptr_equal(ugst_catalog_record(&catalog,
	                                     &catalog.records[0].checkpoint, 2),
	                 &catalog.records[1]);
	assert_null(ugst_catalog_record(&catalog,
	                                &catalog.records[0].checkpoint, 3));
	ugst_catalog_free(&catalog);
}

/* What is printed is what was read, byte for byte. */
static void round_trip(void **state)
{
	struct ugst_catalog catalog;
	struct ugds_st_error err;
	char *text;
	size_t bytes;

	(void)state;
	assert_ok(ugst_catalog_parse(good, strlen(good), &catalog, &err), err);
	assert_ok(ugst_catalog_print(&catalog, &text, &bytes, &err), err);
	assert_string_equal(text, good);
	free(text);
	ugst_catalog_free(&catalog);
}

static const struct spoiled spoiled[] = {
	{"\"volume\":", "\"volum\":", UGDS_ST_FORMAT, "\"volume\""},
	{"\"uuid\":\"9", "\"uuid\":\"g", UGDS_ST_FORMAT,
         "volume: member \"uuid\""},
	{"919108f7-52d1-4320-9bac-f847db4148a8",
         "00000000-0000-0000-0000-000000000000", UGDS_ST_FORMAT, "UUID"},
	{"\"lba_bytes\":4096", "\"lba_bytes\":\"4096\"", UGDS_ST_FORMAT,
         "lba_bytes"},
	{"\"lba_bytes\":4096", "\"lba_bytes\":4095", UGDS_ST_FORMAT,
         "power of"},
	{"\"lba_bytes\":4096", "\"lba_bytes\":256", UGDS_ST_FORMAT, "512"},
	{"\"lba_bytes\":4096", "\"lba_bytes\":8192", UGDS_ST_UNSUPPORTED,
         "8192"},
	{"\"67108864\"", "67108864", UGDS_ST_FORMAT, "decimal string"},
	{"\"67108864\"", "\"67108865\"", UGDS_ST_FORMAT, "multiple of 1 MiB"},
	{"\"67108864\"", "\"10485759\"", UGDS_ST_FORMAT, "10485760"},
	{"\"67108864\"", "\"9223372036854775808\"", UGDS_ST_FORMAT, "bytes"},
	{"\"67108864\"", "\"11534336\"", UGDS_ST_FORMAT, NULL},
	{"\"start_bytes\":\"1048576\"", "\"start_bytes\":\"1048577\"",
         UGDS_ST_FORMAT, "multiple of 512"},
	{"\"start_bytes\":\"1048576\"",
         "\"start_bytes\":\"9223372036787666944\"", UGDS_ST_FORMAT,
         "start_bytes"},
	{"\"nsid\":1", "\"nsid\":0", UGDS_ST_FORMAT, "nsid"},
	{"\"serial\":\"S1\"", "\"serial\":\"123456789012345678901\"",
         UGDS_ST_FORMAT, "at most 20 bytes"},
	{"\"eui64\":\"0011", "\"eui64\":\"00", UGDS_ST_FORMAT, "eui64"},
	{"\"next_object_id\":\"6\"", "\"next_object_id\":\"5\"", UGDS_ST_FORMAT,
         "objects[1]: member \"id\""},
	{"\"next_object_id\":\"6\"", "\"next_object_id\":\"0\"", UGDS_ST_FORMAT,
         "next_object_id"},
	{"\"id\":\"3\"", "\"id\":\"0\"", UGDS_ST_FORMAT, "objects[0]"},
	{"\"id\":\"5\"", "\"id\":\"3\"", UGDS_ST_FORMAT, "objects[1]"},
	{"\"id\":\"5\"", "\"id\":\"2\"", UGDS_ST_FORMAT, "objects[1]"},
	{"\"2304\"", "\"2303\"", UGDS_ST_FORMAT, "multiple of 1 MiB"},
	{"\"2304\"", "\"1792\"", UGDS_ST_FORMAT, "outside"},
	{"\"2304\"", "\"16128\"", UGDS_ST_FORMAT, "outside"},
	{"\"2304\"", "\"4503599627370496\"", UGDS_ST_FORMAT, "outside"},
	{"\"2304\"", "\"2560\"", UGDS_ST_FORMAT, "objects 3 and 5"},
	{"\"lead_bytes\":2096", "\"lead_bytes\":4096", UGDS_ST_FORMAT,
         "lead_bytes"},
	{"\"lead_bytes\":2096", "\"lead_bytes\":2097", UGDS_ST_FORMAT,
         "objects 3 and 5"},
	{"\"1046480\"", "\"7\"", UGDS_ST_FORMAT, "bytes"},
	{"\"1046480\"", "\"9223372036854775807\"", UGDS_ST_FORMAT, "outside"},
	{"\"header_hash\":\"00", "\"header_hash\":\"0", UGDS_ST_FORMAT,
         "header_hash"},
	{"\"hash\":\"ff", "\"hash\":\"FF", UGDS_ST_FORMAT, "hash"},
	{"\"name\":\"b\"", "\"name\":1", UGDS_ST_FORMAT, "objects[1]"},
	{"\"model\":\"org/name\"", "\"model\":null", UGDS_ST_FORMAT,
         "checkpoints[0]"},
	{"\"manifest\":\"/srv/m.json\"", "\"m\":\"\"", UGDS_ST_FORMAT,
         "manifest"},
	{"\"generation\":\"2\"", "\"generation\":\"1\"", UGDS_ST_FORMAT,
         "checkpoints[1]"},
	{"\"generation\":\"1\"", "\"generation\":\"0\"", UGDS_ST_FORMAT,
         "generation"},
	{"\"committed\"", "\"done\"", UGDS_ST_FORMAT, "\"done\""},
	{"[\"3\",\"5\"]", "[\"3\",\"4\"]", UGDS_ST_FORMAT, "[1]"},
	{"[\"3\",\"5\"]", "[\"3\",\"3\"]", UGDS_ST_FORMAT, "[1]"},
	{"[\"3\",\"5\"]", "[\"5\",\"3\"]", UGDS_ST_FORMAT, "[1]"},
	{"[\"3\",\"5\"]", "[3]", UGDS_ST_FORMAT, "[0]"},
	{"[\"3\",\"5\"]", "{}", UGDS_ST_FORMAT, "an array"},
};

static void spoiled_is_refused(void **state)
{
	(void)state;
	for (size_t i = 0; i < UGST_COUNT(spoiled); i++) {
		const struct spoiled *c = &spoiled[i];
		struct ugst_catalog catalog;
		struct ugds_st_error err;
		char *text = spoil(good, c->from, c->to);

		check_fails(
			ugst_catalog_parse(text, strlen(text), &catalog, &err),
			c->status, err, c->says);
		free(text);
	}
}

/* A reader goes on; a writer sees that it would drop something. */
static void unknown_members(void **state)
{
	static const char *const places[][2] = {
		{"{\"volume\"", "{\"x\":1,\"volume\""},
		{"\"volume\":{", "\"volume\":{\"x\":1,"},
		{"\"identity\":{", "\"identity\":{\"x\":1,"},
		{"{\"id\":\"5\"", "{\"x\":[],\"id\":\"5\""},
		{"\"state\":\"pending\"", "\"state\":\"pending\",\"x\":{}"},
	};

	(void)state;
	for (size_t i = 0; i < UGST_COUNT(places); i++) {
		struct ugst_catalog catalog;
		struct ugds_st_error err;
		char *text = spoil(good, places[i][0], places[i][1]);

		assert_ok(
			ugst_catalog_parse(text, strlen(text), &catalog, &err),
			err);
		if (!catalog.has_unknown)
			fail_msg("not seen: %s", places[i][1]);
		ugst_catalog_free(&catalog);
		free(text);
	}
}

static void no_identity(void **state)
{
	static const char bare[] =
		"{\"volume\":{\"uuid\":\"919108f7-52d1-4320-9bac-"
	        "f847db4148a8\","
		"\"lba_bytes\":512,\"bytes\":\"10485760\",\"start_bytes\":"
	        "\"0\"},"
		"\"next_object_id\":\"1\",\"objects\":[],\"checkpoints\":[]}";
	struct ugst_catalog catalog;
	struct ugds_st_error err;
	char *text;
	size_t bytes;

	(void)state;
	assert_ok(ugst_catalog_parse(bare, strlen(bare), &catalog, &err), err);
	assert_false(catalog.volume.identity.known);
	assert_int_equal(catalog.object_count, 0);
	assert_ok(ugst_catalog_print(&catalog, &text, &bytes, &err), err);
	assert_string_equal(text, bare);
	free(text);
	ugst_catalog_free(&catalog);
}

/* One identifier, the best that both have. */
static void identities(void **state)
{
	struct ugst_identity a = {.known = true, .nsid = 1, .serial = "S1"};
	struct ugst_identity b = a;
	const char *what = NULL;
	char expected[64];
	char found[64];

	(void)state;
	assert_int_equal(ugst_identity_compare(&a, &b, &what, expected, found),
	                 1);
	b.nsid = 2;
	assert_int_equal(ugst_identity_compare(&a, &b, &what, expected, found),
	                 0);
	assert_string_equal(expected, "S1 namespace 1");
	assert_string_equal(found, "S1 namespace 2");
	/* A better identifier on one side only does not count. */
	a.nguid[0] = 1;
	b.eui64[0] = 1;
	assert_int_equal(ugst_identity_compare(&a, &b, &what, expected, found),
	                 0);
	/* The same UUID outweighs another serial number. */
	a.uuid.bytes[0] = 7;
	b.uuid.bytes[0] = 7;
	assert_int_equal(ugst_identity_compare(&a, &b, &what, expected, found),
	                 1);
	a.eui64[0] = 2;
	assert_int_equal(ugst_identity_compare(&a, &b, &what, expected, found),
	                 0);
	assert_string_equal(what, "EUI-64");
	assert_string_equal(expected, "0200000000000000");
	assert_string_equal(found, "0100000000000000");
	b.nguid[0] = 1;
	assert_int_equal(ugst_identity_compare(&a, &b, &what, expected, found),
	                 1);
	b.known = false;
	assert_int_equal(ugst_identity_compare(&a, &b, &what, expected, found),
	                 -1);
	memset(&b, 0, sizeof(b));
	b.known = true;
	assert_int_equal(ugst_identity_compare(&a, &b, &what, expected, found),
	                 -1);
}

/* 2,500 objects with names as long as a file name may be fit a slot. */
static void capacity(void **state)
{
	struct ugst_catalog catalog = {.volume = {.uuid = {{1}},
	                                          .lba_bytes = 512,
	                                          .bytes = UGST_OFF_MAX},
	                               .next_object_id = UGST_OFF_MAX};
	uint64_t ids[2500];
	struct ugst_record record = {.checkpoint = {{1}},
	                             .generation = UGST_OFF_MAX,
	                             .object_ids = ids,
	                             .object_count = 2500};
	struct ugds_st_error err;
	char name[256];
	char *text;
	size_t bytes;

	(void)state;
	memset(name, 'x', 255);
	name[255] = '\0';
	record.model = name;
	record.manifest = name;
	catalog.records = &record;
	catalog.record_count = 1;
	catalog.objects = calloc(2500, sizeof(*catalog.objects));
	catalog.object_count = 2500;
	for (size_t i = 0; i < 2500; i++) {
		ids[i] = UGST_OFF_MAX - 2500 + i;
		catalog.objects[i] =
			(struct ugst_object){.id = ids[i],
		                             .base_lba = UGST_OFF_MAX / 512,
		                             .lba_bytes = 4096,
		                             .lead_bytes = 4095,
		                             .bytes = UGST_OFF_MAX,
		                             .name = name};
	}
	assert_ok(ugst_catalog_print(&catalog, &text, &bytes, &err), err);
	if (bytes > UGST_CATALOG_MAX_BYTES)
		fail_msg("%zu bytes", bytes);
	free(text);
	free(catalog.objects);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(good_is_read),
		cmocka_unit_test(round_trip),
		cmocka_unit_test(spoiled_is_refused),
		cmocka_unit_test(unknown_members),
		cmocka_unit_test(no_identity),
		cmocka_unit_test(identities),
		cmocka_unit_test(capacity),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
