/* SPDX-License-Identifier: BSD-3-Clause */
/* test_label.c - slots: bytes on disk, damage, and which of two counts. */
#include "base/common.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/le.h"
#include "pure/hash.h"
#include "pure/label.h"
#include "support/check.h"

/* The example of docs/format.md: an empty volume of 64 MiB. */
static struct ugst_label example(void)
{
	struct ugst_label label = {
		.sequence = 1,
		.catalog = {
			.volume = {.lba_bytes = 4096, .bytes = 64 * UGST_MIB},
			.next_object_id = 1}};

	assert_true(ugst_uuid_from_text("919108f7-52d1-4320-9bac-f847db4148a8",
	                                &label.catalog.volume.uuid));
	return label;
}

static const char example_catalog[] =
	"{\"volume\":{\"uuid\":\"919108f7-52d1-4320-9bac-f847db4148a8\","
	"\"lba_bytes\":4096,\"bytes\":\"67108864\",\"start_bytes\":\"0\"},"
	"\"next_object_id\":\"1\",\"objects\":[],\"checkpoints\":[]}";

static uint8_t *encode(const struct ugst_label *label, size_t *bytes_out)
{
	struct ugds_st_error err;
	void *slot = NULL;

	assert_ok(ugst_slot_encode(label, &slot, bytes_out, &err), err);
	return slot;
}

/* Signs a slot that a test has changed, as another writer would have. */
static void sign(uint8_t *slot)
{
	size_t catalog_bytes = ugst_slot_catalog_bytes(slot);
	struct ugst_hash hash;

	memset(slot + 56, 0, 16);
	hash = ugst_hash(slot, 4096 + catalog_bytes);
	memcpy(slot + 56, hash.bytes, 16);
}

/* Offsets and values as docs/format.md prints them. */
static void bytes_on_disk(void **state)
{
	struct ugst_label label = example();
	size_t catalog_bytes = sizeof(example_catalog) - 1;
	size_t bytes;
	uint8_t *slot = encode(&label, &bytes);
	uint8_t hash[16];

	(void)state;
	assert_int_equal(bytes, 8192);
	assert_memory_equal(slot, "ugds_st volume\r\n", 16);
	assert_int_equal(ugst_get_le32(slot + 16), 1);
	assert_int_equal(ugst_get_le32(slot + 20), 0);
	assert_int_equal(ugst_get_le64(slot + 24), 0);
	assert_int_equal(ugst_get_le64(slot + 32), 0);
	assert_int_equal(ugst_get_le64(slot + 40), 1);
	assert_int_equal(ugst_get_le64(slot + 48), catalog_bytes);
	for (size_t i = 72; i < 4096; i++)
		assert_int_equal(slot[i], 0);
	assert_memory_equal(slot + 4096, example_catalog, catalog_bytes);
	for (size_t i = 4096 + catalog_bytes; i < bytes; i++)
		assert_int_equal(slot[i], 0);
	/* Of docs/format.md, found with the Python binding of xxHash. */
	assert_memory_equal(slot + 56,
	                    "\x41\x50\xec\x2d\x5d\x32\x97\x9d"
	                    "\x6b\xef\x5c\x5d\xbf\x93\xd9\xf0",
	                    16);
	memcpy(hash, slot + 56, 16);
	sign(slot);
	assert_memory_equal(hash, slot + 56, 16);
	free(slot);
}

static void round_trip(void **state)
{
	struct ugst_label label = example();
	struct ugst_label read = {0};
	struct ugds_st_error err;
	size_t bytes;
	uint8_t *slot;

	(void)state;
	label.sequence = UINT64_MAX;
	slot = encode(&label, &bytes);
	assert_int_equal(ugst_slot_decode(slot, bytes, &read, &err),
	                 UGST_SLOT_VALID);
	assert_true(read.sequence == UINT64_MAX);
	assert_false(read.read_only);
	assert_int_equal(read.catalog.volume.bytes, 64 * UGST_MIB);
	ugst_label_free(&read);
	free(slot);
}

/* Every bit of header and catalog counts: each byte flipped is seen. */
static void every_byte_counts(void **state)
{
	struct ugst_label label = example();
	struct ugst_label read;
	struct ugds_st_error err;
	size_t bytes;
	uint8_t *slot = encode(&label, &bytes);

	(void)state;
	for (size_t i = 0; i < 4096 + sizeof(example_catalog) - 1; i++) {
		enum ugst_slot_state found;

		slot[i] ^= 0x10;
		found = ugst_slot_decode(slot, bytes, &read, &err);
		if (found != (i < 16 ? UGST_SLOT_BLANK : UGST_SLOT_DAMAGED))
			fail_msg("byte %zu: state %d", i, (int)found);
		slot[i] ^= 0x10;
	}
	free(slot);
}

/* A good slot, changed and signed again. */
static void signed_but_wrong(void **state)
{
	static const struct {
		size_t off;
		uint8_t value;
		enum ugst_slot_state state;
		int status;
		const char *says;
	} cases[] = {
		{16, 2, UGST_SLOT_UNSUPPORTED, UGDS_ST_UNSUPPORTED, "version"},
		{31, 1, UGST_SLOT_UNSUPPORTED, UGDS_ST_UNSUPPORTED, "flags"},
		{40, 0, UGST_SLOT_DAMAGED, UGDS_ST_CORRUPT, "sequence"},
		{4096, '[', UGST_SLOT_DAMAGED, UGDS_ST_FORMAT, "catalog"},
		{48, 0, UGST_SLOT_DAMAGED, UGDS_ST_CORRUPT, "catalog of 1"},
		{55, 1, UGST_SLOT_DAMAGED, UGDS_ST_CORRUPT, "catalog of 1"},
	};

	(void)state;
	for (size_t i = 0; i < UGST_COUNT(cases); i++) {
		struct ugst_label label = example();
		struct ugst_label read;
		struct ugds_st_error err = {0};
		size_t bytes;
		uint8_t *slot = encode(&label, &bytes);

		slot[cases[i].off] = cases[i].value;
		if (cases[i].off != 55)
			sign(slot);
		assert_int_equal(ugst_slot_decode(slot, bytes, &read, &err),
		                 cases[i].state);
		assert_int_equal(err.status, cases[i].status);
		if (!strstr(err.text, cases[i].says))
			fail_msg("\"%s\" in \"%s\"", cases[i].says, err.text);
		free(slot);
	}
}

/* Flags that only a writer must know leave a reader alone. */
static void read_only_flags(void **state)
{
	struct ugst_label label = example();
	struct ugst_label read = {0};
	struct ugds_st_error err;
	size_t bytes;
	uint8_t *slot = encode(&label, &bytes);

	(void)state;
	slot[39] = 0x80;
	sign(slot);
	assert_int_equal(ugst_slot_decode(slot, bytes, &read, &err),
	                 UGST_SLOT_VALID);
	assert_true(read.read_only);
	ugst_label_free(&read);
	free(slot);
}

static void short_slots(void **state)
{
	struct ugst_label label = example();
	struct ugst_label read;
	struct ugds_st_error err;
	size_t bytes;
	uint8_t *slot = encode(&label, &bytes);

	(void)state;
	assert_int_equal(ugst_slot_decode(slot, 4095, &read, &err),
	                 UGST_SLOT_BLANK);
	assert_int_equal(ugst_slot_decode(slot, 4096, &read, &err),
	                 UGST_SLOT_DAMAGED);
	assert_int_equal(ugst_slot_decode(slot,
	                                  4096 + sizeof(example_catalog) - 2,
	                                  &read, &err),
	                 UGST_SLOT_DAMAGED);
	memset(slot, 0, 4096);
	assert_int_equal(ugst_slot_catalog_bytes(slot), 0);
	free(slot);
}

#define B UGST_SLOT_BLANK
#define D UGST_SLOT_DAMAGED
#define U UGST_SLOT_UNSUPPORTED
#define V UGST_SLOT_VALID

static void choice(void **state)
{
	static const struct {
		enum ugst_slot_state states[2];
		uint64_t sequences[2];
		int status;
		unsigned slot;
	} cases[] = {
		{{V, V}, {5, 5}, UGDS_ST_OK, 0},
		{{V, V}, {5, 6}, UGDS_ST_OK, 1},
		{{V, V}, {6, 5}, UGDS_ST_OK, 0},
		{{V, D}, {1, 9}, UGDS_ST_OK, 0},
		{{B, V}, {9, 1}, UGDS_ST_OK, 1},
		{{V, U}, {1, 0}, UGDS_ST_OK, 0},
		{{D, D}, {0, 0}, UGDS_ST_CORRUPT, 0},
		{{B, D}, {0, 0}, UGDS_ST_CORRUPT, 0},
		{{D, B}, {0, 0}, UGDS_ST_CORRUPT, 0},
		{{U, D}, {0, 0}, UGDS_ST_UNSUPPORTED, 0},
		{{B, U}, {0, 0}, UGDS_ST_UNSUPPORTED, 0},
		{{B, B}, {0, 0}, UGDS_ST_NOT_FOUND, 0},
	};

	(void)state;
	for (size_t i = 0; i < UGST_COUNT(cases); i++) {
		struct ugst_label labels[2] = {
			{.sequence = cases[i].sequences[0]},
			{.sequence = cases[i].sequences[1]}};
		struct ugds_st_error err;
		unsigned slot = 9;
		int status =
			ugst_label_choose(cases[i].states, labels, &slot, &err);

		assert_int_equal(status, cases[i].status);
		if (status == UGDS_ST_OK)
			assert_int_equal(slot, cases[i].slot);
	}
}

static void too_large(void **state)
{
	struct ugst_label label = example();
	struct ugds_st_error err;
	char *name = malloc(UGST_SLOT_BYTES);
	struct ugst_object object = {.id = 1, .lba_bytes = 512, .name = name};
	void *slot;
	size_t bytes;

	(void)state;
	memset(name, 'n', UGST_SLOT_BYTES - 1);
	name[UGST_SLOT_BYTES - 1] = '\0';
	label.catalog.objects = &object;
	label.catalog.object_count = 1;
	check_fails(ugst_slot_encode(&label, &slot, &bytes, &err),
	            UGDS_ST_NO_SPACE, err, "4190208");
	free(name);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bytes_on_disk),
		cmocka_unit_test(round_trip),
		cmocka_unit_test(every_byte_counts),
		cmocka_unit_test(signed_but_wrong),
		cmocka_unit_test(read_only_flags),
		cmocka_unit_test(short_slots),
		cmocka_unit_test(choice),
		cmocka_unit_test(too_large),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
