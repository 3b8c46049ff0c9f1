/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fuzz_catalog.c - a catalog that is accepted keeps what it says, also through
 * a label slot.
 *
 * Properties of every accepted catalog: objects lie in the object area without
 * overlap, by growing id; records list objects that there are; what it prints
 * is read back as itself, from text and from a slot.
 */
#include "fuzz.h"

#include "pure/label.h"

static void check_objects(const struct ugst_catalog *catalog)
{
	for (size_t i = 0; i < catalog->object_count; i++) {
		const struct ugst_object *a = &catalog->objects[i];
		uint64_t start = a->base_lba * a->lba_bytes;
		uint64_t end = start + ugst_object_run_bytes(a);

		FUZZ_CHECK(!i || catalog->objects[i - 1].id < a->id);
		FUZZ_CHECK(a->id < catalog->next_object_id);
		FUZZ_CHECK(ugst_catalog_object(catalog, a->id) == a);
		FUZZ_CHECK(start >= UGST_OBJECTS_OFF && end > start);
		FUZZ_CHECK(end <=
		           catalog->volume.bytes - UGST_VOLUME_TAIL_BYTES);
		for (size_t k = 0; k < i; k++) {
			const struct ugst_object *b = &catalog->objects[k];
			uint64_t other = b->base_lba * b->lba_bytes;

			FUZZ_CHECK(other >= end ||
			           other + ugst_object_run_bytes(b) <= start);
		}
	}
}

static void check_records(const struct ugst_catalog *catalog)
{
	for (size_t i = 0; i < catalog->record_count; i++) {
		const struct ugst_record *record = &catalog->records[i];

		FUZZ_CHECK(ugst_catalog_record(catalog, &record->checkpoint,
		                               record->generation) == record);
		for (size_t k = 0; k < record->object_count; k++)
			FUZZ_CHECK(ugst_catalog_object(catalog,
			                               record->object_ids[k]));
	}
}

/* text: what label->catalog prints. */
static void check_slot(const struct ugst_label *label, const char *text)
{
	struct ugst_label again = {0};
	void *slot;
	size_t slot_bytes;
	char *printed;
	size_t printed_bytes;

	FUZZ_CHECK(ugst_slot_encode(label, &slot, &slot_bytes, NULL) ==
	           UGDS_ST_OK);
	FUZZ_CHECK(ugst_slot_decode(slot, slot_bytes, &again, NULL) ==
	           UGST_SLOT_VALID);
	FUZZ_CHECK(again.sequence == label->sequence);
	FUZZ_CHECK(ugst_catalog_print(&again.catalog, &printed, &printed_bytes,
	                              NULL) == UGDS_ST_OK);
	FUZZ_CHECK(strcmp(printed, text) == 0);
	free(printed);
	ugst_label_free(&again);
	free(slot);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	struct ugds_st_error err = {0};
	struct ugst_label label = {.sequence = 1};
	char *text;
	size_t text_bytes;
	int status = ugst_catalog_parse((const char *)data, bytes,
	                                &label.catalog, &err);

	if (status) {
		FUZZ_CHECK(status == UGDS_ST_FORMAT ||
		           status == UGDS_ST_UNSUPPORTED);
		fuzz_check_error(&err, status, bytes);
		FUZZ_CHECK(!label.catalog.objects && !label.catalog.records);
		return 0;
	}
	check_objects(&label.catalog);
	check_records(&label.catalog);
	FUZZ_CHECK(ugst_catalog_print(&label.catalog, &text, &text_bytes,
	                              NULL) == UGDS_ST_OK);
	check_slot(&label, text);
	free(text);
	ugst_catalog_free(&label.catalog);
	return 0;
}
