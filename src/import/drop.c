/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * drop.c - prune and remove: records go, and with them the objects that no
 * other record lists.
 *
 * Blocks become free, so nobody may be reading: a reader that has them open
 * would be served the next import's bytes.
 */
#include "base/common.h"

#include <inttypes.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/opts.h"
#include "import/edit.h"
#include "import/import.h"
#include "import/publish.h"
#include "import/volume_set.h"

struct drop {
	struct ugst_import_env env;
	const struct ugds_st_import_drop_opts *opts;
	bool remove;
	struct ugst_publication publication;
	struct ugst_volume_set set;
	struct ugst_uuid uuid;
	uint64_t kept_generation; /* 0: none, all go */
	struct ugds_st_import_drop_result result;
};

static int open_set(struct drop *drop, struct ugds_st_error *err)
{
	const struct ugst_manifest *manifest = &drop->publication.manifest;
	struct ugst_volume_set_opts opts = {
		.paths = drop->opts->devices,
		.path_count = drop->opts->device_count,
		.manifest = manifest,
		.manifest_path = drop->publication.path,
		.alone = true};
	const char **hints = NULL;
	int status;

	if (opts.path_count == 0) {
		hints = ugst_calloc(manifest->volume_count, sizeof(*hints));
		if (!hints)
			return ugst_fail_memory(err);
		for (size_t i = 0; i < manifest->volume_count; i++)
			hints[i] = manifest->volumes[i].path;
		opts.paths = hints;
		opts.path_count = manifest->volume_count;
	}
	status = ugst_volume_set_open(&drop->env, &opts, &drop->set, err);
	free(hints);
	return status;
}

static const struct ugst_volume *find_volume(const struct drop *drop,
                                             const struct ugst_uuid *uuid)
{
	for (size_t i = 0; i < drop->set.count; i++) {
		const struct ugst_volume *volume = drop->set.members[i].volume;

		if (ugst_uuid_equal(&volume->label.catalog.volume.uuid, uuid))
			return volume;
	}
	return NULL;
}

/* Every volume of the manifest has to be there: what is left elsewhere would
 * be found by nobody. */
static int check_set(const struct drop *drop, struct ugds_st_error *err)
{
	const struct ugst_manifest *manifest = &drop->publication.manifest;
	char text[UGST_UUID_TEXT_BYTES];

	for (size_t i = 0; i < manifest->volume_count; i++) {
		const struct ugst_manifest_volume *known =
			&manifest->volumes[i];

		if (!find_volume(drop, &known->record.uuid))
			return ugst_fail(
				err, UGDS_ST_NOT_FOUND,
				"%s: expected volume %s (last seen as %s) "
				"among "
				"the devices, found it on none",
				drop->publication.path,
				ugst_uuid_text(&known->record.uuid, text),
				known->path);
	}
	return UGDS_ST_OK;
}

/*
 * A committed record that is newer than the manifest is either what a cut
 * import left of this manifest, or the manifest is an old copy: the path under
 * which the record was to be published tells.
 */
static int check_newer(const struct drop *drop,
                       const struct ugst_volume *volume,
                       struct ugds_st_error *err)
{
	const struct ugst_catalog *catalog = &volume->label.catalog;
	char *own = ugst_json_text(drop->publication.path);
	int status = own ? UGDS_ST_OK : ugst_fail_memory(err);

	for (size_t i = 0; i < catalog->record_count && status == UGDS_ST_OK;
	     i++) {
		const struct ugst_record *record = &catalog->records[i];

		if (!ugst_uuid_equal(&record->checkpoint, &drop->uuid) ||
		    !record->committed ||
		    record->generation <= drop->kept_generation ||
		    !strcmp(record->manifest, own))
			continue;
		status = ugst_fail(err, UGDS_ST_MISMATCH,
		                   "%s: an old manifest: expected generation "
		                   "%" PRIu64
		                   ", published at %s, found %" PRIu64,
		                   drop->publication.path, record->generation,
		                   record->manifest, drop->kept_generation);
	}
	free(own);
	return status;
}

/* Drop and count what no record lists any more; true: there was some. */
static bool drop_free(struct drop *drop, struct ugst_catalog *catalog)
{
	uint64_t before = 0;
	uint64_t after = 0;
	size_t count = catalog->object_count;

	for (size_t i = 0; i < count; i++)
		before += ugst_object_run_bytes(&catalog->objects[i]);
	ugst_catalog_drop_free(catalog);
	for (size_t i = 0; i < catalog->object_count; i++)
		after += ugst_object_run_bytes(&catalog->objects[i]);
	drop->result.object_count += count - catalog->object_count;
	drop->result.freed_bytes += before - after;
	return count != catalog->object_count;
}

/* Drop this checkpoint's records of one volume. One commit: before it the
 * volume is as it was, after it as it will be. */
static int drop_records(struct drop *drop, struct ugst_volume *volume,
                        struct ugds_st_error *err)
{
	struct ugst_catalog catalog = {0};
	bool changed = false;
	int status = ugst_catalog_copy(&volume->label.catalog, &catalog, err);

	if (status != UGDS_ST_OK)
		return status;
	for (size_t i = catalog.record_count; i-- > 0;) {
		const struct ugst_record *record = &catalog.records[i];

		if (!ugst_uuid_equal(&record->checkpoint, &drop->uuid) ||
		    (drop->kept_generation &&
		     record->generation == drop->kept_generation))
			continue;
		ugst_catalog_drop_record(&catalog, i);
		drop->result.record_count++;
		changed = true;
	}
	changed |= drop_free(drop, &catalog);
	if (changed)
		status = ugst_volume_commit(volume, &catalog, err);
	ugst_catalog_free(&catalog);
	return status;
}

static bool has_records(const struct drop *drop)
{
	for (size_t i = 0; i < drop->set.count; i++) {
		const struct ugst_catalog *catalog =
			&drop->set.members[i].volume->label.catalog;

		for (size_t k = 0; k < catalog->record_count; k++)
			if (ugst_uuid_equal(&catalog->records[k].checkpoint,
			                    &drop->uuid))
				return true;
	}
	return false;
}

/*
 * Without a manifest: one may have been unlinked just now by a run that was
 * killed before that was durable, and would come back to find its objects gone.
 * The records say in which folder. Best effort: it may be another machine's.
 */
static void sync_hints(const struct drop *drop)
{
	for (size_t i = 0; i < drop->set.count; i++) {
		const struct ugst_catalog *catalog =
			&drop->set.members[i].volume->label.catalog;

		for (size_t k = 0; k < catalog->record_count; k++) {
			const struct ugst_record *record = &catalog->records[k];

			if (ugst_uuid_equal(&record->checkpoint, &drop->uuid))
				ugst_publication_sync_folder(&drop->env,
				                             record->manifest);
		}
	}
}

/* All that can be refused, before anything changes. */
static int prepare(struct drop *drop, struct ugds_st_error *err)
{
	int status = UGDS_ST_OK;

	if (drop->opts->manifest) {
		status = ugst_publication_begin(drop->opts->manifest,
		                                &drop->publication, err);
		if (status == UGDS_ST_OK && !drop->publication.exists)
			status = ugst_fail(err, UGDS_ST_NOT_FOUND,
			                   "%s: expected a manifest, found "
			                   "nothing",
			                   drop->publication.path);
		drop->uuid = drop->publication.manifest.checkpoint;
		if (!drop->remove)
			drop->kept_generation =
				drop->publication.manifest.generation;
	} else {
		memcpy(drop->uuid.bytes, drop->opts->checkpoint_uuid,
		       sizeof(drop->uuid.bytes));
	}
	if (status == UGDS_ST_OK)
		status = open_set(drop, err);
	if (status == UGDS_ST_OK)
		status = check_set(drop, err);
	for (size_t i = 0; i < drop->set.count && status == UGDS_ST_OK; i++)
		if (drop->opts->manifest)
			status = check_newer(drop, drop->set.members[i].volume,
			                     err);
	return status;
}

static int drop_in_order(struct drop *drop, struct ugds_st_error *err)
{
	char text[UGST_UUID_TEXT_BYTES];

	/* 1. Locks: the manifest's folder, then the volumes by UUID, each
	 * without readers. Nothing is written yet. */
	int status = prepare(drop, err);

	/* 2. What the labels say becomes durable; slots that a cut commit
	 * left unequal become equal. */
	for (size_t i = 0; i < drop->set.count && status == UGDS_ST_OK; i++)
		status = ugst_volume_begin(drop->set.members[i].volume, err);
	if (status == UGDS_ST_OK && !drop->opts->manifest && !has_records(drop))
		status = ugst_fail(err, UGDS_ST_NOT_FOUND,
		                   "%s: expected records of checkpoint %s, "
		                   "found none",
		                   drop->set.members[0].volume->dev->path,
		                   ugst_uuid_text(&drop->uuid, text));

	/* 3. What refers to the objects goes first, durably: the manifest that
	 * is removed; or, for prune, an older one that the disk may still
	 * have where the rename was not flushed. */
	if (status == UGDS_ST_OK && drop->opts->manifest)
		status = drop->remove
		                 ? ugst_publication_remove(
					   &drop->env, &drop->publication, err)
		                 : ugst_publication_sync(
					   &drop->env, &drop->publication, err);

	if (status == UGDS_ST_OK && !drop->opts->manifest)
		sync_hints(drop);

	/* 4. The records, volume by volume. A run that is cut here leaves
	 * records that the next one drops. */
	for (size_t i = 0; i < drop->set.count && status == UGDS_ST_OK; i++)
		status = drop_records(drop, drop->set.members[i].volume, err);
	return status;
}

static int check_opts(const struct ugds_st_import_drop_opts *opts, bool remove,
                      struct ugds_st_error *err)
{
	static const uint8_t none[16];
	bool uuid = memcmp(opts->checkpoint_uuid, none, sizeof(none)) != 0;

	if (opts->manifest ? uuid : !uuid || !remove)
		return ugst_fail(err, UGDS_ST_INVALID_ARG,
		                 "options: expected a manifest%s",
		                 remove ? " or the UUID of a checkpoint" : "");
	if (!opts->manifest && opts->device_count == 0)
		return ugst_fail(err, UGDS_ST_INVALID_ARG,
		                 "options: expected at least one device, "
		                 "found none");
	for (size_t i = 0; i < opts->device_count; i++)
		if (!opts->devices || !opts->devices[i])
			return ugst_fail(err, UGDS_ST_INVALID_ARG,
			                 "options: expected a path, found NULL "
			                 "in devices[%zu]",
			                 i);
	return UGDS_ST_OK;
}

int ugst_drop(const struct ugst_import_env *env, bool remove,
              const struct ugds_st_import_drop_opts *opts,
              struct ugds_st_import_drop_result *result_out,
              struct ugds_st_error *err)
{
	struct ugds_st_import_drop_opts own = {0};
	struct drop drop = {.env = *env,
	                    .opts = &own,
	                    .remove = remove,
	                    .publication = {.folder_fd = -1}};
	int status = ugst_opts_read(&own, sizeof(own), opts, "opts", err);

	if (status == UGDS_ST_OK)
		status = check_opts(&own, remove, err);
	if (status != UGDS_ST_OK)
		return status;
	drop.env.note = own.note;
	drop.env.ctx = own.ctx;
	status = drop_in_order(&drop, err);
	if (status == UGDS_ST_OK && result_out) {
		memcpy(drop.result.checkpoint_uuid, drop.uuid.bytes,
		       sizeof(drop.result.checkpoint_uuid));
		status = ugst_opts_write(result_out, &drop.result,
		                         sizeof(drop.result));
	}
	ugst_volume_set_close(&drop.set);
	ugst_publication_end(&drop.publication);
	return status;
}

UGST_API int ugds_st_import_prune(const struct ugds_st_import_drop_opts *opts,
                                  struct ugds_st_import_drop_result *result_out,
                                  struct ugds_st_error *err)
{
	struct ugst_import_env env;

	ugst_env_init(&env);
	return ugst_drop(&env, false, opts, result_out, err);
}

UGST_API int
ugds_st_import_remove(const struct ugds_st_import_drop_opts *opts,
                      struct ugds_st_import_drop_result *result_out,
                      struct ugds_st_error *err)
{
	struct ugst_import_env env;

	ugst_env_init(&env);
	return ugst_drop(&env, true, opts, result_out, err);
}
