/* SPDX-License-Identifier: BSD-3-Clause */
/* test_manifest.c - a good manifest, spoiled in one place at a time. */
#include "base/common.h"

#include <stdlib.h>

#include "pure/manifest.h"
#include "support/check.h"
#include "support/text.h"

#define HASH_A "00112233445566778899aabbccddeeff"
#define HASH_B "ffeeddccbbaa99887766554433221100"

static const char good[] =
	"{\"format\":\"ugds-st-manifest\",\"version\":1,"
	"\"checkpoint\":\"119108f7-52d1-4320-9bac-f847db4148a8\","
	"\"model\":\"org/name\",\"generation\":\"3\","
	"\"created\":\"2025-01-02T03:04:05Z\",\"tool\":\"ugds-st-import "
        "0.1.0\","
	"\"volumes\":[{\"uuid\":\"919108f7-52d1-4320-9bac-f847db4148a8\","
	"\"lba_bytes\":4096,\"bytes\":\"67108864\",\"start_bytes\":\"0\","
	"\"label_sequence\":\"9\",\"path\":\"/dev/nvme0n1\"},"
	"{\"uuid\":\"919108f7-52d1-4320-9bac-f847db4148a9\","
	"\"lba_bytes\":512,\"bytes\":\"67108864\",\"start_bytes\":\"1048576\","
	"\"identity\":{\"nsid\":1,\"serial\":\"S1\"},"
	"\"label_sequence\":\"2\",\"path\":\"v\"}],"
	"\"shards\":[{\"name\":\"a.safetensors\",\"bytes\":\"18400\","
	"\"json_bytes\":\"1992\",\"header_hash\":\"" HASH_A
	"\",\"hash\":\"" HASH_B "\",\"left_out\":[0,4,99999999],"
	"\"copies\":[{\"volume\":0,\"object_id\":\"4\",\"base_lba\":\"2304\","
	"\"lba_bytes\":4096,\"lead_bytes\":2096},{\"volume\":1,"
	"\"object_id\":\"1\",\"base_lba\":\"18432\",\"lba_bytes\":512,"
	"\"lead_bytes\":0}]}]}";

static void good_is_read(void **state)
{
	struct ugst_manifest manifest;
	struct ugds_st_error err;
	const struct ugst_manifest_shard *shard;

	(void)state;
	assert_ok(ugst_manifest_parse(good, strlen(good), &manifest, &err),
	          err);
	assert_int_equal(manifest.checkpoint.bytes[0], 0x11);
	assert_string_equal(manifest.model, "org/name");
	assert_int_equal(manifest.generation, 3);
	assert_string_equal(manifest.created, "2025-01-02T03:04:05Z");
	assert_string_equal(manifest.tool, "ugds-st-import 0.1.0");
	assert_int_equal(manifest.volume_count, 2);
	assert_int_equal(manifest.volumes[0].label_sequence, 9);
	assert_string_equal(manifest.volumes[0].path, "/dev/nvme0n1");
	assert_false(manifest.volumes[0].record.identity.known);
	assert_int_equal(manifest.volumes[1].record.start_bytes, 1048576);
	assert_string_equal(manifest.volumes[1].record.identity.serial, "S1");
	assert_int_equal(manifest.shard_count, 1);
	shard = &manifest.shards[0];
	assert_string_equal(shard->name, "a.safetensors");
	assert_int_equal(shard->bytes, 18400);
	assert_int_equal(shard->json_bytes, 1992);
	assert_int_equal(shard->left_out_count, 3);
	assert_int_equal(shard->left_out[2], 99999999);
	assert_int_equal(shard->copy_count, 2);
	assert_int_equal(shard->copies[1].volume, 1);
	assert_int_equal(shard->copies[0].object_id, 4);
	assert_int_equal(shard->copies[0].base_lba, 2304);
	assert_int_equal(shard->copies[0].lead_bytes, 2096);
	assert_int_equal(shard->copies[1].lba_bytes, 512);
	ugst_manifest_free(&manifest);
}

/* Printed, read and printed again: the same text; and the good one, spaces
 * left aside. */
static void round_trip(void **state)
{
	struct ugst_manifest manifest;
	struct ugds_st_error err;
	char *text;
	char *again;
	size_t bytes;
	size_t used = 0;

	(void)state;
	assert_ok(ugst_manifest_parse(good, strlen(good), &manifest, &err),
	          err);
	assert_ok(ugst_manifest_print(&manifest, &text, &bytes, &err), err);
	ugst_manifest_free(&manifest);
	assert_int_equal(bytes, strlen(text));
	assert_ok(ugst_manifest_parse(text, bytes, &manifest, &err), err);
	assert_ok(ugst_manifest_print(&manifest, &again, &bytes, &err), err);
	ugst_manifest_free(&manifest);
	assert_string_equal(text, again);
	free(again);
	for (size_t i = 0; text[i]; i++)
		if (!strchr(" \t\n", text[i]) ||
		    (i && !strncmp(&text[i - 1], "t 0", 3)))
			text[used++] = text[i];
	text[used] = '\0';
	assert_string_equal(text, good);
	free(text);
}

static const struct spoiled spoiled[] = {
	{"ugds-st-manifest", "other", UGDS_ST_FORMAT, "\"other\""},
	{"{\"format\"", "{\"f\"", UGDS_ST_FORMAT, "format"},
	{"\"version\":1", "\"version\":2", UGDS_ST_UNSUPPORTED, "found 2"},
	{"\"version\":1", "\"version\":\"1\"", UGDS_ST_FORMAT, "version"},
	{"\"checkpoint\":\"1", "\"checkpoint\":\"x", UGDS_ST_FORMAT,
         "checkpoint"},
	{"\"model\":\"org/name\"", "\"model\":0", UGDS_ST_FORMAT, "model"},
	{"\"generation\":\"3\"", "\"generation\":\"0\"", UGDS_ST_FORMAT,
         "generation"},
	{"\"created\":", "\"x\":", UGDS_ST_FORMAT, "created"},
	{"\"tool\":", "\"x\":", UGDS_ST_FORMAT, "tool"},
	{"\"volumes\":", "\"x\":", UGDS_ST_FORMAT, "volumes"},
	{"4148a9", "4148a8", UGDS_ST_FORMAT,
         "volumes[1]: expected each volume"},
	{"\"label_sequence\":\"9\"", "\"label_sequence\":\"0\"", UGDS_ST_FORMAT,
         "volumes[0]: member \"label_sequence\""},
	{"\"path\":\"v\"", "\"path\":0", UGDS_ST_FORMAT, "volumes[1]"},
	{"\"lba_bytes\":4096", "\"lba_bytes\":65536", UGDS_ST_UNSUPPORTED,
         "65536"},
	{"\"shards\":", "\"x\":", UGDS_ST_FORMAT, "shards"},
	{"\"name\":\"a.safetensors\"", "\"name\":[]", UGDS_ST_FORMAT,
         "shards[0]"},
	{"\"bytes\":\"18400\"", "\"bytes\":\"1999\"", UGDS_ST_FORMAT,
         "json_bytes"},
	{"\"bytes\":\"18400\"", "\"bytes\":\"7\"", UGDS_ST_FORMAT, "from 8"},
	{"\"bytes\":\"18400\"", "\"bytes\":\"67108864\"", UGDS_ST_FORMAT,
         "outside"},
	{"\"json_bytes\":\"1992\"", "\"json_bytes\":\"100000001\"",
         UGDS_ST_FORMAT, "json_bytes"},
	{"\"header_hash\":\"0", "\"header_hash\":\"", UGDS_ST_FORMAT,
         "header_hash"},
	{"\"hash\":\"ff", "\"hash\":\"f", UGDS_ST_FORMAT, "\"hash\""},
	{"[0,4,99999999]", "[0,4,100000000]", UGDS_ST_FORMAT, "left_out"},
	{"[0,4,99999999]", "[4,4]", UGDS_ST_FORMAT, "left_out"},
	{"[0,4,99999999]", "[4,0]", UGDS_ST_FORMAT, "left_out"},
	{"[0,4,99999999]", "[0.5]", UGDS_ST_FORMAT, "left_out"},
	{"[0,4,99999999]", "7", UGDS_ST_FORMAT, "left_out"},
	{"\"copies\":[{", "\"copies\":[],\"x\":[{", UGDS_ST_FORMAT, "copies"},
	{"\"volume\":1", "\"volume\":2", UGDS_ST_FORMAT, "copies[1]"},
	{"\"object_id\":\"4\"", "\"object_id\":\"0\"", UGDS_ST_FORMAT,
         "copies[0]"},
	{"\"base_lba\":\"2304\"", "\"base_lba\":\"2303\"", UGDS_ST_FORMAT,
         "1 MiB"},
	{"\"base_lba\":\"2304\"", "\"base_lba\":\"16128\"", UGDS_ST_FORMAT,
         "outside"},
	{"\"lead_bytes\":2096", "\"lead_bytes\":4096", UGDS_ST_FORMAT,
         "lead_bytes"},
	{"\"lba_bytes\":512,\"lead", "\"lba_bytes\":8192,\"lead",
         UGDS_ST_UNSUPPORTED, "8192"},
};

static void spoiled_is_refused(void **state)
{
	(void)state;
	for (size_t i = 0; i < UGST_COUNT(spoiled); i++) {
		const struct spoiled *c = &spoiled[i];
		struct ugst_manifest manifest;
		struct ugds_st_error err;
		char *text = spoil(good, c->from, c->to);

		check_fails(ugst_manifest_parse(text, strlen(text), &manifest,
		                                &err),
		            c->status, err, c->says);
		free(text);
	}
}

static void unknown_members_are_ignored(void **state)
{
	static const char *const places[][2] = {
		{"{\"format\"", "{\"x\":1,\"format\""},
		{"{\"volume\":1", "{\"weight\":3,\"volume\":1"},
		{"{\"name\"", "{\"x\":{},\"name\""},
		{"\"path\":\"v\"", "\"path\":\"v\",\"x\":[]"},
	};

	(void)state;
	for (size_t i = 0; i < UGST_COUNT(places); i++) {
		struct ugst_manifest manifest;
		struct ugds_st_error err;
		char *text = spoil(good, places[i][0], places[i][1]);

		assert_ok(ugst_manifest_parse(text, strlen(text), &manifest,
		                              &err),
		          err);
		ugst_manifest_free(&manifest);
		free(text);
	}
}

/* Cut anywhere, it is refused and nothing leaks. */
static void cut_is_refused(void **state)
{
	(void)state;
	for (size_t i = 0; i + 1 < sizeof(good); i++) {
		struct ugst_manifest manifest;
		struct ugds_st_error err;

		check_fails(ugst_manifest_parse(good, i, &manifest, &err),
		            UGDS_ST_FORMAT, err, "");
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(good_is_read),
		cmocka_unit_test(round_trip),
		cmocka_unit_test(spoiled_is_refused),
		cmocka_unit_test(unknown_members_are_ignored),
		cmocka_unit_test(cut_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
