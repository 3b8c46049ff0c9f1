/* SPDX-License-Identifier: BSD-3-Clause */
/* catalog.c - what lies on a volume, as JSON; see catalog.h. */
#include "base/common.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/units.h"
#include "pure/catalog.h"
#include "pure/json.h"
#include "pure/volume_record.h"

#define STATE_PENDING "pending"
#define STATE_COMMITTED "committed"

uint64_t ugst_object_run_bytes(const struct ugst_object *object)
{
	return ugst_align_up(object->lead_bytes + object->bytes,
	                     UGST_OBJECT_PAGE_BYTES);
}

/* -------------------------------------------------------------- objects */

static int parse_object(const struct ugst_json *json,
                        struct ugst_catalog *catalog,
                        struct ugst_object *object, struct ugds_st_error *err)
{
	static const char *const known[] = {
		"id",          "base_lba", "lba_bytes", "lead_bytes", "bytes",
		"header_hash", "hash",     "name",      NULL};
	struct ugst_place place = {0};
	const char *name;
	uint64_t min_id = object == catalog->objects ? 1 : object[-1].id + 1;
	int status;

	/* Growing, so that each is there once and is found by bisection. */
	status = ugst_json_get_u64(json, "id", min_id,
	                           catalog->next_object_id - 1, &object->id,
	                           err);
	if (status == UGDS_ST_OK)
		status = ugst_json_get_u64(json, "bytes", 8, UGST_OFF_MAX,
		                           &object->bytes, err);
	if (status == UGDS_ST_OK)
		status = ugst_place_parse(json, &catalog->volume, object->bytes,
		                          &place, err);
	if (status == UGDS_ST_OK)
		status = ugst_json_get_hex(json, "header_hash",
		                           object->header_hash.bytes,
		                           UGST_HASH_BYTES, err);
	if (status == UGDS_ST_OK)
		status = ugst_json_get_hex(json, "hash", object->hash.bytes,
		                           UGST_HASH_BYTES, err);
	if (status == UGDS_ST_OK)
		status = ugst_json_get_string(json, "name", &name, err);
	if (status != UGDS_ST_OK)
		return status;
	object->base_lba = place.base_lba;
	object->lba_bytes = place.lba_bytes;
	object->lead_bytes = place.lead_bytes;
	object->name = ugst_strdup(name);
	if (!object->name)
		return ugst_fail_memory(err);
	if (ugst_json_unknown(json, known))
		catalog->has_unknown = true;
	return UGDS_ST_OK;
}

static uint64_t base_off(const struct ugst_object *object)
{
	return object->base_lba * object->lba_bytes;
}

static int by_base(const void *a, const void *b)
{
	const struct ugst_object *x = *(const struct ugst_object *const *)a;
	const struct ugst_object *y = *(const struct ugst_object *const *)b;

	return (base_off(x) > base_off(y)) - (base_off(x) < base_off(y));
}

/* No block in two objects. */
static int check_overlap(const struct ugst_catalog *catalog,
                         struct ugds_st_error *err)
{
	size_t count = catalog->object_count;
	const struct ugst_object **sorted = ugst_calloc(count, sizeof(*sorted));
	int status = UGDS_ST_OK;

	if (!sorted)
		return ugst_fail_memory(err);
	for (size_t i = 0; i < count; i++)
		sorted[i] = &catalog->objects[i];
	qsort(sorted, count, sizeof(*sorted), by_base);
	for (size_t i = 1; i < count && status == UGDS_ST_OK; i++) {
		const struct ugst_object *low = sorted[i - 1];
		uint64_t end = base_off(low) + ugst_object_run_bytes(low);

		if (end > base_off(sorted[i]))
			status = ugst_fail(
				err, UGDS_ST_FORMAT,
				"objects %" PRIu64 " and %" PRIu64
				": expected the second from byte %" PRIu64
				", found it from byte %" PRIu64,
				low->id, sorted[i]->id, end,
				base_off(sorted[i]));
	}
	free(sorted);
	return status;
}

static int parse_objects(const struct ugst_json *root,
                         struct ugst_catalog *catalog,
                         struct ugds_st_error *err)
{
	const struct ugst_json *array;
	size_t count;
	int status = ugst_json_get_array(root, "objects", &array, &count, err);

	if (status != UGDS_ST_OK)
		return status;
	catalog->objects = ugst_calloc(count, sizeof(*catalog->objects));
	if (!catalog->objects)
		return ugst_fail_memory(err);
	for (const struct ugst_json *json = ugst_json_first(array); json;
	     json = ugst_json_next(json)) {
		size_t at = catalog->object_count++;
		char place[40];

		status =
			parse_object(json, catalog, &catalog->objects[at], err);
		if (status != UGDS_ST_OK) {
			(void)snprintf(place, sizeof(place), "objects[%zu]",
			               at);
			ugst_err_prefix(err, place);
			return status;
		}
	}
	return check_overlap(catalog, err);
}

static int by_id(const void *key, const void *element)
{
	uint64_t id = *(const uint64_t *)key;
	const struct ugst_object *object = element;

	return (id > object->id) - (id < object->id);
}

const struct ugst_object *
ugst_catalog_object(const struct ugst_catalog *catalog, uint64_t id)
{
	if (catalog->object_count == 0)
		return NULL;
	return bsearch(&id, catalog->objects, catalog->object_count,
	               sizeof(*catalog->objects), by_id);
}

/* -------------------------------------------------------------- records */

static int parse_record_ids(const struct ugst_json *json,
                            const struct ugst_catalog *catalog,
                            struct ugst_record *record,
                            struct ugds_st_error *err)
{
	const struct ugst_json *array;
	size_t count;
	int status = ugst_json_get_array(json, "objects", &array, &count, err);

	if (status != UGDS_ST_OK)
		return status;
	record->object_ids = ugst_calloc(count, sizeof(uint64_t));
	if (!record->object_ids)
		return ugst_fail_memory(err);
	for (const struct ugst_json *id = ugst_json_first(array); id;
	     id = ugst_json_next(id)) {
		size_t at = record->object_count;
		uint64_t value;

		if (!ugst_json_u64(id, &value) ||
		    !ugst_catalog_object(catalog, value) ||
		    (at && value <= record->object_ids[at - 1]))
			return ugst_fail(err, UGDS_ST_FORMAT,
			                 "member \"objects\": expected "
			                 "growing ids of objects, found "
			                 "something else at [%zu]",
			                 at);
		record->object_ids[record->object_count++] = value;
	}
	return UGDS_ST_OK;
}

bool ugst_record_lists(const struct ugst_record *record, uint64_t id)
{
	for (size_t i = 0; i < record->object_count; i++)
		if (record->object_ids[i] == id)
			return true;
	return false;
}

static int parse_state(const struct ugst_json *json, struct ugst_record *record,
                       struct ugds_st_error *err)
{
	char shown[UGST_ESCAPED_BYTES];
	const char *state;
	int status = ugst_json_get_string(json, "state", &state, err);

	if (status != UGDS_ST_OK)
		return status;
	record->committed = !strcmp(state, STATE_COMMITTED);
	if (!record->committed && strcmp(state, STATE_PENDING))
		return ugst_fail(err, UGDS_ST_FORMAT,
		                 "member \"state\": expected \"pending\" or "
		                 "\"committed\", found \"%s\"",
		                 ugst_escape(state, strlen(state), shown,
		                             sizeof(shown)));
	return UGDS_ST_OK;
}

static int parse_record(const struct ugst_json *json,
                        struct ugst_catalog *catalog,
                        struct ugst_record *record, struct ugds_st_error *err)
{
	static const char *const known[] = {"uuid",       "model", "manifest",
	                                    "generation", "state", "objects",
	                                    NULL};
	const char *model = "";
	const char *manifest = "";
	int status;

	status = ugst_json_get_uuid(json, "uuid", &record->checkpoint, err);
	if (status == UGDS_ST_OK)
		status = ugst_json_get_string(json, "model", &model, err);
	if (status == UGDS_ST_OK)
		status = ugst_json_get_string(json, "manifest", &manifest, err);
	if (status == UGDS_ST_OK)
		status = ugst_json_get_u64(json, "generation", 1, UGST_OFF_MAX,
		                           &record->generation, err);
	if (status == UGDS_ST_OK)
		status = parse_state(json, record, err);
	if (status == UGDS_ST_OK)
		status = parse_record_ids(json, catalog, record, err);
	if (status != UGDS_ST_OK)
		return status;
	record->model = ugst_strdup(model);
	record->manifest = ugst_strdup(manifest);
	if (!record->model || !record->manifest)
		return ugst_fail_memory(err);
	if (ugst_json_unknown(json, known))
		catalog->has_unknown = true;
	return UGDS_ST_OK;
}

static int parse_records(const struct ugst_json *root,
                         struct ugst_catalog *catalog,
                         struct ugds_st_error *err)
{
	const struct ugst_json *array;
	size_t count;
	int status =
		ugst_json_get_array(root, "checkpoints", &array, &count, err);

	if (status != UGDS_ST_OK)
		return status;
	catalog->records = ugst_calloc(count, sizeof(*catalog->records));
	if (!catalog->records)
		return ugst_fail_memory(err);
	for (const struct ugst_json *json = ugst_json_first(array); json;
	     json = ugst_json_next(json)) {
		struct ugst_record *record =
			&catalog->records[catalog->record_count];
		char place[40];

		status = parse_record(json, catalog, record, err);
		if (status == UGDS_ST_OK &&
		    ugst_catalog_record(catalog, &record->checkpoint,
		                        record->generation))
			status = ugst_fail(err, UGDS_ST_FORMAT,
			                   "expected each generation of a "
			                   "checkpoint once, found %" PRIu64
			                   " twice",
			                   record->generation);
		catalog->record_count++;
		if (status != UGDS_ST_OK) {
			(void)snprintf(place, sizeof(place), "checkpoints[%zu]",
			               catalog->record_count - 1);
			ugst_err_prefix(err, place);
			return status;
		}
	}
	return UGDS_ST_OK;
}

struct ugst_record *ugst_catalog_record(const struct ugst_catalog *catalog,
                                        const struct ugst_uuid *checkpoint,
                                        uint64_t generation)
{
	for (size_t i = 0; i < catalog->record_count; i++) {
		struct ugst_record *record = &catalog->records[i];

		if (record->generation == generation &&
		    ugst_uuid_equal(&record->checkpoint, checkpoint))
			return record;
	}
	return NULL;
}

/* -------------------------------------------------------------- catalog */

static int parse_volume(const struct ugst_json *root,
                        struct ugst_catalog *catalog, struct ugds_st_error *err)
{
	static const char *const none[] = {NULL};
	const struct ugst_json *volume;
	int status = ugst_json_get_object(root, "volume", &volume, err);

	if (status != UGDS_ST_OK)
		return status;
	status = ugst_volume_record_parse(volume, none, &catalog->volume,
	                                  &catalog->has_unknown, err);
	if (status != UGDS_ST_OK)
		ugst_err_prefix(err, "volume");
	return status;
}

int ugst_catalog_parse(const char *json, size_t json_bytes,
                       struct ugst_catalog *catalog_out,
                       struct ugds_st_error *err)
{
	static const char *const known[] = {"volume", "next_object_id",
	                                    "objects", "checkpoints", NULL};
	struct ugst_catalog catalog = {0};
	struct ugst_json *root = NULL;
	int status;

	status = ugst_json_parse(json, json_bytes, &root, err);
	if (status != UGDS_ST_OK)
		return status;
	if (ugst_json_unknown(root, known))
		catalog.has_unknown = true;
	status = parse_volume(root, &catalog, err);
	if (status == UGDS_ST_OK)
		status = ugst_json_get_u64(root, "next_object_id", 1,
		                           UGST_OFF_MAX,
		                           &catalog.next_object_id, err);
	if (status == UGDS_ST_OK)
		status = parse_objects(root, &catalog, err);
	if (status == UGDS_ST_OK)
		status = parse_records(root, &catalog, err);
	ugst_json_free(root);
	if (status == UGDS_ST_OK)
		*catalog_out = catalog;
	else
		ugst_catalog_free(&catalog);
	return status;
}

static bool add_object(const struct ugst_object *object,
                       struct ugst_json *array)
{
	struct ugst_json *json = ugst_json_add_object(array, NULL);
	bool ok = ugst_json_add_u64(json, "id", object->id);

	ok &= ugst_json_add_u64(json, "base_lba", object->base_lba);
	ok &= ugst_json_add_u32(json, "lba_bytes", object->lba_bytes);
	ok &= ugst_json_add_u32(json, "lead_bytes", object->lead_bytes);
	ok &= ugst_json_add_u64(json, "bytes", object->bytes);
	ok &= ugst_json_add_hex(json, "header_hash", object->header_hash.bytes,
	                        UGST_HASH_BYTES);
	ok &= ugst_json_add_hex(json, "hash", object->hash.bytes,
	                        UGST_HASH_BYTES);
	ok &= ugst_json_add_string(json, "name", object->name);
	return ok;
}

static bool add_record(const struct ugst_record *record,
                       struct ugst_json *array)
{
	struct ugst_json *json = ugst_json_add_object(array, NULL);
	bool ok = ugst_json_add_uuid(json, "uuid", &record->checkpoint);
	struct ugst_json *ids;

	ok &= ugst_json_add_string(json, "model", record->model);
	ok &= ugst_json_add_string(json, "manifest", record->manifest);
	ok &= ugst_json_add_u64(json, "generation", record->generation);
	ok &= ugst_json_add_string(json, "state",
	                           record->committed ? STATE_COMMITTED
	                                             : STATE_PENDING);
	ids = ugst_json_add_array(json, "objects");
	ok &= ids != NULL;
	for (size_t i = 0; ok && i < record->object_count; i++)
		ok = ugst_json_add_u64(ids, NULL, record->object_ids[i]);
	return ok;
}

int ugst_catalog_print(const struct ugst_catalog *catalog, char **json_out,
                       size_t *bytes_out, struct ugds_st_error *err)
{
	struct ugst_json *root = ugst_json_new();
	struct ugst_json *volume = ugst_json_add_object(root, "volume");
	struct ugst_json *array;
	bool ok = ugst_volume_record_print(&catalog->volume, volume);
	int status;

	ok &= ugst_json_add_u64(root, "next_object_id",
	                        catalog->next_object_id);
	array = ugst_json_add_array(root, "objects");
	ok &= array != NULL;
	for (size_t i = 0; ok && i < catalog->object_count; i++)
		ok = add_object(&catalog->objects[i], array);
	array = ugst_json_add_array(root, "checkpoints");
	ok &= array != NULL;
	for (size_t i = 0; ok && i < catalog->record_count; i++)
		ok = add_record(&catalog->records[i], array);
	status = ok ? ugst_json_print(root, false, json_out, bytes_out, err)
	            : ugst_fail_memory(err);
	ugst_json_free(root);
	return status;
}

void ugst_record_free(struct ugst_record *record)
{
	free(record->model);
	free(record->manifest);
	free(record->object_ids);
	memset(record, 0, sizeof(*record));
}

void ugst_catalog_free(struct ugst_catalog *catalog)
{
	for (size_t i = 0; i < catalog->object_count; i++)
		free(catalog->objects[i].name);
	for (size_t i = 0; i < catalog->record_count; i++)
		ugst_record_free(&catalog->records[i]);
	free(catalog->objects);
	free(catalog->records);
	memset(catalog, 0, sizeof(*catalog));
}
