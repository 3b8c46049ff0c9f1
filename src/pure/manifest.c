/* SPDX-License-Identifier: BSD-3-Clause */
/* manifest.c - a published generation, as JSON; see manifest.h. */
#include "base/common.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/err.h"
#include "base/mem.h"
#include "pure/header.h"
#include "pure/json.h"
#include "pure/manifest.h"
#include "pure/volume_record.h"

/* Puts "<member>[<index>]: " in front of what went wrong there. */
static int fail_in(struct ugds_st_error *err, int status, const char *member,
                   size_t index)
{
	char place[40];

	(void)snprintf(place, sizeof(place), "%s[%zu]", member, index);
	ugst_err_prefix(err, place);
	return status;
}

/* A string member as a copy of its own. */
static int get_copy(const struct ugst_json *json, const char *member,
                    char **text_out, struct ugds_st_error *err)
{
	const char *text;
	int status = ugst_json_get_string(json, member, &text, err);

	if (status != UGDS_ST_OK)
		return status;
	*text_out = ugst_strdup(text);
	return *text_out ? UGDS_ST_OK : ugst_fail_memory(err);
}

/* -------------------------------------------------------------- volumes */

static int parse_volume(const struct ugst_json *json,
                        struct ugst_manifest *manifest,
                        struct ugst_manifest_volume *volume,
                        struct ugds_st_error *err)
{
	static const char *const also[] = {"label_sequence", "path", NULL};
	char text[UGST_UUID_TEXT_BYTES];
	bool unknown = false; /* ignored in a manifest */
	int status;

	status = ugst_volume_record_parse(json, also, &volume->record, &unknown,
	                                  err);
	if (status == UGDS_ST_OK)
		status = ugst_json_get_u64(json, "label_sequence", 1,
		                           UGST_OFF_MAX,
		                           &volume->label_sequence, err);
	if (status == UGDS_ST_OK)
		status = get_copy(json, "path", &volume->path, err);
	if (status != UGDS_ST_OK)
		return status;
	for (size_t i = 0; i + 1 < manifest->volume_count; i++)
		if (ugst_uuid_equal(&manifest->volumes[i].record.uuid,
		                    &volume->record.uuid))
			return ugst_fail(
				err, UGDS_ST_FORMAT,
				"expected each volume once, found %s "
				"twice",
				ugst_uuid_text(&volume->record.uuid, text));
	return UGDS_ST_OK;
}

static int parse_volumes(const struct ugst_json *root,
                         struct ugst_manifest *manifest,
                         struct ugds_st_error *err)
{
	const struct ugst_json *array;
	size_t count;
	int status = ugst_json_get_array(root, "volumes", &array, &count, err);

	if (status != UGDS_ST_OK)
		return status;
	manifest->volumes = ugst_calloc(count, sizeof(*manifest->volumes));
	if (!manifest->volumes)
		return ugst_fail_memory(err);
	for (const struct ugst_json *json = ugst_json_first(array); json;
	     json = ugst_json_next(json)) {
		size_t at = manifest->volume_count++;

		status = parse_volume(json, manifest, &manifest->volumes[at],
		                      err);
		if (status != UGDS_ST_OK)
			return fail_in(err, status, "volumes", at);
	}
	return UGDS_ST_OK;
}

/* --------------------------------------------------------------- shards */

static int parse_copy(const struct ugst_json *json,
                      const struct ugst_manifest *manifest,
                      uint64_t shard_bytes, struct ugst_manifest_copy *copy,
                      struct ugds_st_error *err)
{
	struct ugst_place place = {0};
	int status;

	if (manifest->volume_count == 0)
		return ugst_fail(err, UGDS_ST_FORMAT,
		                 "expected the number of a volume, found a "
		                 "manifest without volumes");
	status = ugst_json_get_u32(json, "volume", 0,
	                           (uint32_t)manifest->volume_count - 1,
	                           &copy->volume, err);
	if (status == UGDS_ST_OK)
		status = ugst_json_get_u64(json, "object_id", 1, UGST_OFF_MAX,
		                           &copy->object_id, err);
	if (status == UGDS_ST_OK)
		status = ugst_place_parse(
			json, &manifest->volumes[copy->volume].record,
			shard_bytes, &place, err);
	if (status != UGDS_ST_OK)
		return status;
	copy->base_lba = place.base_lba;
	copy->lba_bytes = place.lba_bytes;
	copy->lead_bytes = place.lead_bytes;
	return UGDS_ST_OK;
}

static int parse_copies(const struct ugst_json *json,
                        const struct ugst_manifest *manifest,
                        struct ugst_manifest_shard *shard,
                        struct ugds_st_error *err)
{
	const struct ugst_json *array;
	size_t count;
	int status = ugst_json_get_array(json, "copies", &array, &count, err);

	if (status != UGDS_ST_OK)
		return status;
	if (count == 0)
		return ugst_fail(err, UGDS_ST_FORMAT,
		                 "member \"copies\": expected at least one, "
		                 "found none");
	shard->copies = ugst_calloc(count, sizeof(*shard->copies));
	if (!shard->copies)
		return ugst_fail_memory(err);
	for (const struct ugst_json *copy = ugst_json_first(array); copy;
	     copy = ugst_json_next(copy)) {
		size_t at = shard->copy_count++;

		status = parse_copy(copy, manifest, shard->bytes,
		                    &shard->copies[at], err);
		if (status != UGDS_ST_OK)
			return fail_in(err, status, "copies", at);
	}
	return UGDS_ST_OK;
}

/* Optional: whole numbers that grow. */
static int parse_left_out(const struct ugst_json *json,
                          struct ugst_manifest_shard *shard,
                          struct ugds_st_error *err)
{
	const struct ugst_json *array;
	size_t count;
	int status;

	if (!ugst_json_has(json, "left_out"))
		return UGDS_ST_OK;
	status = ugst_json_get_array(json, "left_out", &array, &count, err);
	if (status != UGDS_ST_OK)
		return status;
	shard->left_out = ugst_calloc(count, sizeof(*shard->left_out));
	if (!shard->left_out)
		return ugst_fail_memory(err);
	for (const struct ugst_json *index = ugst_json_first(array); index;
	     index = ugst_json_next(index)) {
		size_t at = shard->left_out_count;
		uint32_t value;

		/* A tensor takes more than one byte of header. */
		if (!ugst_json_u32(index, &value) ||
		    value >= UGST_HEADER_MAX_BYTES ||
		    (at && value <= shard->left_out[at - 1]))
			return ugst_fail(err, UGDS_ST_FORMAT,
			                 "member \"left_out\": expected "
			                 "growing tensor numbers, found "
			                 "something else at [%zu]",
			                 at);
		shard->left_out[shard->left_out_count++] = value;
	}
	return UGDS_ST_OK;
}

static int parse_shard(const struct ugst_json *json,
                       const struct ugst_manifest *manifest,
                       struct ugst_manifest_shard *shard,
                       struct ugds_st_error *err)
{
	int status;

	status = get_copy(json, "name", &shard->name, err);
	if (status == UGDS_ST_OK)
		status = ugst_json_get_u64(json, "bytes",
		                           UGST_HEADER_PREFIX_BYTES,
		                           UGST_OFF_MAX, &shard->bytes, err);
	if (status == UGDS_ST_OK)
		status = ugst_json_get_u64(json, "json_bytes", 0,
		                           UGST_HEADER_MAX_BYTES,
		                           &shard->json_bytes, err);
	if (status == UGDS_ST_OK)
		status = ugst_json_get_hex(json, "header_hash",
		                           shard->header_hash.bytes,
		                           UGST_HASH_BYTES, err);
	if (status == UGDS_ST_OK)
		status = ugst_json_get_hex(json, "hash", shard->hash.bytes,
		                           UGST_HASH_BYTES, err);
	if (status == UGDS_ST_OK)
		status = parse_left_out(json, shard, err);
	if (status != UGDS_ST_OK)
		return status;
	if (shard->json_bytes > shard->bytes - UGST_HEADER_PREFIX_BYTES)
		return ugst_fail(err, UGDS_ST_FORMAT,
		                 "member \"json_bytes\": expected at most "
		                 "%" PRIu64 ", found %" PRIu64,
		                 shard->bytes - UGST_HEADER_PREFIX_BYTES,
		                 shard->json_bytes);
	return parse_copies(json, manifest, shard, err);
}

static int parse_shards(const struct ugst_json *root,
                        struct ugst_manifest *manifest,
                        struct ugds_st_error *err)
{
	const struct ugst_json *array;
	size_t count;
	int status = ugst_json_get_array(root, "shards", &array, &count, err);

	if (status != UGDS_ST_OK)
		return status;
	manifest->shards = ugst_calloc(count, sizeof(*manifest->shards));
	if (!manifest->shards)
		return ugst_fail_memory(err);
	for (const struct ugst_json *json = ugst_json_first(array); json;
	     json = ugst_json_next(json)) {
		size_t at = manifest->shard_count++;

		status =
			parse_shard(json, manifest, &manifest->shards[at], err);
		if (status != UGDS_ST_OK)
			return fail_in(err, status, "shards", at);
	}
	return UGDS_ST_OK;
}

/* ------------------------------------------------------------- manifest */

static int check_format(const struct ugst_json *root, struct ugds_st_error *err)
{
	char shown[UGST_ESCAPED_BYTES];
	const char *format;
	uint32_t version;
	int status = ugst_json_get_string(root, "format", &format, err);

	if (status != UGDS_ST_OK)
		return status;
	if (strcmp(format, UGST_MANIFEST_FORMAT))
		return ugst_fail(err, UGDS_ST_FORMAT,
		                 "member \"format\": expected \"%s\", found "
		                 "\"%s\"",
		                 UGST_MANIFEST_FORMAT,
		                 ugst_escape(format, strlen(format), shown,
		                             sizeof(shown)));
	status = ugst_json_get_u32(root, "version", 1, UINT32_MAX, &version,
	                           err);
	if (status != UGDS_ST_OK)
		return status;
	if (version != UGST_MANIFEST_VERSION)
		return ugst_fail(err, UGDS_ST_UNSUPPORTED,
		                 "member \"version\": expected %u, found "
		                 "%" PRIu32 ", of a newer library",
		                 UGST_MANIFEST_VERSION, version);
	return UGDS_ST_OK;
}

static int parse_root(const struct ugst_json *root,
                      struct ugst_manifest *manifest, struct ugds_st_error *err)
{
	int status = check_format(root, err);

	if (status == UGDS_ST_OK)
		status = ugst_json_get_uuid(root, "checkpoint",
		                            &manifest->checkpoint, err);
	if (status == UGDS_ST_OK)
		status = get_copy(root, "model", &manifest->model, err);
	if (status == UGDS_ST_OK)
		status = ugst_json_get_u64(root, "generation", 1, UGST_OFF_MAX,
		                           &manifest->generation, err);
	if (status == UGDS_ST_OK)
		status = get_copy(root, "created", &manifest->created, err);
	if (status == UGDS_ST_OK)
		status = get_copy(root, "tool", &manifest->tool, err);
	if (status == UGDS_ST_OK)
		status = parse_volumes(root, manifest, err);
	if (status == UGDS_ST_OK)
		status = parse_shards(root, manifest, err);
	return status;
}

int ugst_manifest_parse(const char *json, size_t json_bytes,
                        struct ugst_manifest *manifest_out,
                        struct ugds_st_error *err)
{
	struct ugst_manifest manifest = {0};
	struct ugst_json *root = NULL;
	int status = ugst_json_parse(json, json_bytes, &root, err);

	if (status != UGDS_ST_OK)
		return status;
	status = parse_root(root, &manifest, err);
	ugst_json_free(root);
	if (status == UGDS_ST_OK)
		*manifest_out = manifest;
	else
		ugst_manifest_free(&manifest);
	return status;
}

static bool add_copy(const struct ugst_manifest_copy *copy,
                     struct ugst_json *array)
{
	struct ugst_json *json = ugst_json_add_object(array, NULL);
	bool ok = ugst_json_add_u32(json, "volume", copy->volume);

	ok &= ugst_json_add_u64(json, "object_id", copy->object_id);
	ok &= ugst_json_add_u64(json, "base_lba", copy->base_lba);
	ok &= ugst_json_add_u32(json, "lba_bytes", copy->lba_bytes);
	ok &= ugst_json_add_u32(json, "lead_bytes", copy->lead_bytes);
	return ok;
}

static bool add_shard(const struct ugst_manifest_shard *shard,
                      struct ugst_json *shards)
{
	struct ugst_json *json = ugst_json_add_object(shards, NULL);
	struct ugst_json *array;
	bool ok = ugst_json_add_string(json, "name", shard->name);

	ok &= ugst_json_add_u64(json, "bytes", shard->bytes);
	ok &= ugst_json_add_u64(json, "json_bytes", shard->json_bytes);
	ok &= ugst_json_add_hex(json, "header_hash", shard->header_hash.bytes,
	                        UGST_HASH_BYTES);
	ok &= ugst_json_add_hex(json, "hash", shard->hash.bytes,
	                        UGST_HASH_BYTES);
	if (shard->left_out_count) {
		array = ugst_json_add_array(json, "left_out");
		ok &= array != NULL;
		for (size_t i = 0; ok && i < shard->left_out_count; i++)
			ok = ugst_json_add_u32(array, NULL,
			                       (uint32_t)shard->left_out[i]);
	}
	array = ugst_json_add_array(json, "copies");
	ok &= array != NULL;
	for (size_t i = 0; ok && i < shard->copy_count; i++)
		ok = add_copy(&shard->copies[i], array);
	return ok;
}

static bool add_volume(const struct ugst_manifest_volume *volume,
                       struct ugst_json *volumes)
{
	struct ugst_json *json = ugst_json_add_object(volumes, NULL);
	bool ok = ugst_volume_record_print(&volume->record, json);

	ok &= ugst_json_add_u64(json, "label_sequence", volume->label_sequence);
	ok &= ugst_json_add_string(json, "path", volume->path);
	return ok;
}

int ugst_manifest_print(const struct ugst_manifest *manifest, char **json_out,
                        size_t *bytes_out, struct ugds_st_error *err)
{
	struct ugst_json *root = ugst_json_new();
	struct ugst_json *array;
	bool ok = ugst_json_add_string(root, "format", UGST_MANIFEST_FORMAT);
	int status;

	ok &= ugst_json_add_u32(root, "version", UGST_MANIFEST_VERSION);
	ok &= ugst_json_add_uuid(root, "checkpoint", &manifest->checkpoint);
	ok &= ugst_json_add_string(root, "model", manifest->model);
	ok &= ugst_json_add_u64(root, "generation", manifest->generation);
	ok &= ugst_json_add_string(root, "created", manifest->created);
	ok &= ugst_json_add_string(root, "tool", manifest->tool);
	array = ugst_json_add_array(root, "volumes");
	ok &= array != NULL;
	for (size_t i = 0; ok && i < manifest->volume_count; i++)
		ok = add_volume(&manifest->volumes[i], array);
	array = ugst_json_add_array(root, "shards");
	ok &= array != NULL;
	for (size_t i = 0; ok && i < manifest->shard_count; i++)
		ok = add_shard(&manifest->shards[i], array);
	status = ok ? ugst_json_print(root, true, json_out, bytes_out, err)
	            : ugst_fail_memory(err);
	ugst_json_free(root);
	return status;
}

static void free_shard(struct ugst_manifest_shard *shard)
{
	free(shard->name);
	free(shard->left_out);
	free(shard->copies);
}

void ugst_manifest_free(struct ugst_manifest *manifest)
{
	for (size_t i = 0; i < manifest->volume_count; i++)
		free(manifest->volumes[i].path);
	for (size_t i = 0; i < manifest->shard_count; i++)
		free_shard(&manifest->shards[i]);
	free(manifest->volumes);
	free(manifest->shards);
	free(manifest->model);
	free(manifest->created);
	free(manifest->tool);
	memset(manifest, 0, sizeof(*manifest));
}
