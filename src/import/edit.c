/* SPDX-License-Identifier: BSD-3-Clause */
/* edit.c - changes to a catalog in memory; see edit.h. */
#include "base/common.h"

#include "base/err.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "import/edit.h"

static int copy_objects(const struct ugst_catalog *from,
                        struct ugst_catalog *to, struct ugds_st_error *err)
{
	to->objects = ugst_calloc(from->object_count, sizeof(*to->objects));
	if (!to->objects)
		return ugst_fail_memory(err);
	for (size_t i = 0; i < from->object_count; i++) {
		to->objects[i] = from->objects[i];
		to->object_count++;
		to->objects[i].name = ugst_strdup(from->objects[i].name);
		if (!to->objects[i].name)
			return ugst_fail_memory(err);
	}
	return UGDS_ST_OK;
}

static int copy_records(const struct ugst_catalog *from,
                        struct ugst_catalog *to, struct ugds_st_error *err)
{
	to->records = ugst_calloc(from->record_count, sizeof(*to->records));
	if (!to->records)
		return ugst_fail_memory(err);
	for (size_t i = 0; i < from->record_count; i++) {
		const struct ugst_record *in = &from->records[i];
		struct ugst_record *out = &to->records[i];

		*out = *in;
		to->record_count++;
		out->model = ugst_strdup(in->model);
		out->manifest = ugst_strdup(in->manifest);
		out->object_ids =
			ugst_calloc(in->object_count, sizeof(uint64_t));
		if (!out->model || !out->manifest || !out->object_ids)
			return ugst_fail_memory(err);
		memcpy(out->object_ids, in->object_ids,
		       in->object_count * sizeof(uint64_t));
	}
	return UGDS_ST_OK;
}

int ugst_catalog_copy(const struct ugst_catalog *catalog,
                      struct ugst_catalog *catalog_out,
                      struct ugds_st_error *err)
{
	struct ugst_catalog copy = {.volume = catalog->volume,
	                            .next_object_id = catalog->next_object_id,
	                            .has_unknown = catalog->has_unknown};
	int status = copy_objects(catalog, &copy, err);

	if (status == UGDS_ST_OK)
		status = copy_records(catalog, &copy, err);
	if (status == UGDS_ST_OK)
		*catalog_out = copy;
	else
		ugst_catalog_free(&copy);
	return status;
}

int ugst_catalog_add_object(struct ugst_catalog *catalog,
                            const struct ugst_object *object, uint64_t *id_out,
                            struct ugds_st_error *err)
{
	struct ugst_object *objects = ugst_reallocarray(
		catalog->objects, catalog->object_count + 1, sizeof(*objects));
	char *name = ugst_strdup(object->name);

	if (objects)
		catalog->objects = objects;
	if (!objects || !name) {
		free(name);
		return ugst_fail_memory(err);
	}
	objects += catalog->object_count++;
	*objects = *object;
	objects->name = name;
	objects->id = catalog->next_object_id++;
	*id_out = objects->id;
	return UGDS_ST_OK;
}

int ugst_catalog_add_record(struct ugst_catalog *catalog,
                            const struct ugst_uuid *checkpoint,
                            const char *model, const char *manifest,
                            uint64_t generation,
                            struct ugst_record **record_out,
                            struct ugds_st_error *err)
{
	struct ugst_record *records = ugst_reallocarray(
		catalog->records, catalog->record_count + 1, sizeof(*records));
	struct ugst_record record = {.checkpoint = *checkpoint,
	                             .generation = generation,
	                             .model = ugst_strdup(model),
	                             .manifest = ugst_strdup(manifest)};

	if (records)
		catalog->records = records;
	if (!records || !record.model || !record.manifest) {
		ugst_record_free(&record);
		return ugst_fail_memory(err);
	}
	records += catalog->record_count++;
	*records = record;
	*record_out = records;
	return UGDS_ST_OK;
}

int ugst_record_add(struct ugst_record *record, uint64_t id,
                    struct ugds_st_error *err)
{
	size_t at = record->object_count;
	uint64_t *ids;

	if (ugst_record_lists(record, id))
		return UGDS_ST_OK;
	ids = ugst_reallocarray(record->object_ids, at + 1, sizeof(*ids));
	if (!ids)
		return ugst_fail_memory(err);
	for (; at > 0 && ids[at - 1] > id; at--)
		ids[at] = ids[at - 1];
	ids[at] = id;
	record->object_ids = ids;
	record->object_count++;
	return UGDS_ST_OK;
}

void ugst_catalog_drop_record(struct ugst_catalog *catalog, size_t index)
{
	struct ugst_record *record = &catalog->records[index];

	ugst_record_free(record);
	memmove(record, record + 1,
	        (catalog->record_count - index - 1) * sizeof(*record));
	catalog->record_count--;
}

static bool is_listed(const struct ugst_catalog *catalog, uint64_t id)
{
	for (size_t i = 0; i < catalog->record_count; i++)
		if (ugst_record_lists(&catalog->records[i], id))
			return true;
	return false;
}

void ugst_catalog_drop_free(struct ugst_catalog *catalog)
{
	size_t kept = 0;

	for (size_t i = 0; i < catalog->object_count; i++) {
		if (is_listed(catalog, catalog->objects[i].id))
			catalog->objects[kept++] = catalog->objects[i];
		else
			free(catalog->objects[i].name);
	}
	catalog->object_count = kept;
}

char *ugst_json_text(const char *text)
{
	size_t bytes = strlen(text);
	size_t at = 0;
	char *out;

	while (at < bytes) {
		size_t char_bytes = ugst_utf8_char_bytes(text + at, bytes - at);

		if (char_bytes == 0)
			break;
		at += char_bytes;
	}
	if (at == bytes)
		return ugst_strdup(text);
	/* Four for one at most, and room for the end. */
	out = ugst_calloc(4 * bytes + 8, 1);
	return out ? ugst_escape(text, bytes, out, 4 * bytes + 8) : NULL;
}
