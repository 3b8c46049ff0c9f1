/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * import.c - what is written when: the order is the safety.
 *
 * import_in_order() is the one place that decides when something becomes
 * durable, and when it becomes visible.
 */
#include "base/common.h"

#include <inttypes.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/opts.h"
#include "import/copy.h"
#include "import/edit.h"
#include "import/import.h"
#include "import/job.h"

/* ---------------------------------------------------------------- steps */

/* The catalog of a volume as far as it is true: objects that are still to be
 * copied are left out. They are the last of plan, and so are their ids. */
static int commit_so_far(struct ugst_job *job, struct ugst_job_volume *volume,
                         bool committed, struct ugds_st_error *err)
{
	struct ugst_catalog catalog = {0};
	struct ugst_record *record;
	int status = ugst_catalog_copy(&volume->plan, &catalog, err);

	if (status != UGDS_ST_OK)
		return status;
	while (catalog.object_count > volume->kept_count + volume->copied_count)
		free(catalog.objects[--catalog.object_count].name);
	record = ugst_job_record(job, &catalog);
	if (record) {
		record->object_count = volume->kept_ids + volume->copied_count;
		record->committed |= committed;
	}
	status = ugst_volume_commit(volume->volume, &catalog, err);
	ugst_catalog_free(&catalog);
	return status;
}

/* The copies of a shard are written from its file, or compared with it, one by
 * one, those before this one are done: all must have had the same bytes. */
static int check_alike(const struct ugst_job *job,
                       const struct ugst_job_copy *copy,
                       struct ugds_st_error *err)
{
	const struct ugst_hash *expected =
		&ugst_job_copies(job, copy->shard)->hash;
	char expected_text[UGST_HASH_TEXT_BYTES];
	char found_text[UGST_HASH_TEXT_BYTES];

	if (ugst_hash_equal(expected, &copy->hash))
		return UGDS_ST_OK;
	return ugst_fail(err, UGDS_ST_MISMATCH,
	                 "%s: changed while it was imported: expected the hash "
	                 "of the first copy, %s, found %s",
	                 copy->source->path,
	                 ugst_hash_text(expected, expected_text),
	                 ugst_hash_text(&copy->hash, found_text));
}

static int copy_one(struct ugst_job *job, struct ugst_job_copy *copy,
                    struct ugds_st_error *err)
{
	struct ugst_job_volume *volume = &job->volumes[copy->volume];
	struct ugst_object *object = ugst_job_object(job, copy);
	struct ugst_shard_file file;
	int status = ugst_shard_file_open(copy->source, &file, err);

	if (status != UGDS_ST_OK)
		return status;
	status = ugst_copy_shard(&job->env, &file, volume->volume->dev,
	                         object->base_lba * object->lba_bytes,
	                         object->lead_bytes, &copy->hash, err);
	/* Step 3: what was copied is what was validated. */
	if (status == UGDS_ST_OK)
		status = ugst_shard_file_check(&file, err);
	ugst_shard_file_close(&file);
	if (status == UGDS_ST_OK)
		status = check_alike(job, copy, err);
	if (status == UGDS_ST_OK)
		status = ugst_blockdev_flush(volume->volume->dev, err);
	if (status != UGDS_ST_OK)
		return status;
	object->hash = copy->hash;
	volume->copied_count++;
	return commit_so_far(job, volume, false, err);
}

static int verify_all(struct ugst_job *job, struct ugds_st_error *err)
{
	for (size_t i = 0; i < job->copy_count; i++) {
		struct ugst_job_copy *copy = &job->copies[i];
		int status = ugst_verify_object(
			&job->env, job->volumes[copy->volume].volume->dev,
			ugst_job_object(job, copy), err);

		if (status != UGDS_ST_OK) {
			ugst_err_prefix(err, copy->source->name);
			return status;
		}
	}
	return UGDS_ST_OK;
}

static int publish(struct ugst_job *job, struct ugds_st_error *err)
{
	struct ugst_manifest manifest = {0};
	int status = ugst_job_manifest(job, &manifest, err);

	if (status == UGDS_ST_OK)
		status = ugst_publication_replace(&job->env, &job->publication,
		                                  &manifest, err);
	ugst_manifest_free(&manifest);
	return status;
}

/* What the checkpoint is called in records. */
static int name_job(struct ugst_job *job, struct ugds_st_error *err)
{
	const char *model = job->opts->model;

	if (!model && job->publication.exists)
		model = job->publication.manifest.model;
	if (!model)
		model = job->checkpoint.model;
	job->model = ugst_json_text(model);
	job->manifest = ugst_json_text(job->publication.path);
	if (!job->model || !job->manifest)
		return ugst_fail_memory(err);
	return UGDS_ST_OK;
}

static int list_copies(struct ugst_job *job, struct ugds_st_error *err)
{
	job->copies_per_shard = job->opts->copies;
	job->copy_count = job->checkpoint.shard_count * job->copies_per_shard;
	job->copies = ugst_calloc(job->copy_count, sizeof(*job->copies));
	if (!job->copies)
		return ugst_fail_memory(err);
	for (size_t i = 0; i < job->copy_count; i++) {
		struct ugst_job_copy *copy = &job->copies[i];

		copy->shard = i / job->copies_per_shard;
		copy->source = &job->checkpoint.shards[copy->shard];
		job->env.all_bytes += copy->source->stamp.bytes;
	}
	if (job->opts->flags & UGDS_ST_IMPORT_VERIFY)
		job->env.all_bytes *= 2;
	return UGDS_ST_OK;
}

static int open_volumes(struct ugst_job *job, struct ugds_st_error *err)
{
	const struct ugst_volume_set_opts opts = {
		.paths = job->opts->devices,
		.path_count = job->opts->device_count,
		.manifest = &job->publication.manifest,
		.manifest_path = job->publication.path};
	int status = ugst_volume_set_open(&job->env, &opts, &job->set, err);

	if (status != UGDS_ST_OK)
		return status;
	job->volumes = ugst_calloc(job->set.count, sizeof(*job->volumes));
	if (!job->volumes)
		return ugst_fail_memory(err);
	job->volume_count = job->set.count;
	for (size_t i = 0; i < job->volume_count; i++) {
		job->volumes[i].volume = job->set.members[i].volume;
		job->volumes[i].path = job->set.members[i].path;
	}
	return UGDS_ST_OK;
}

/* Step 1: all that can be known without writing. */
static int prepare(struct ugst_job *job, struct ugds_st_error *err)
{
	int status = ugst_checkpoint_open(job->opts->checkpoint,
	                                  &job->checkpoint, err);

	/* Locks: the manifest's folder, then the volumes by UUID. */
	if (status == UGDS_ST_OK)
		status = ugst_publication_begin(job->opts->manifest,
		                                &job->publication, err);
	if (status == UGDS_ST_OK)
		status = name_job(job, err);
	if (status == UGDS_ST_OK)
		status = list_copies(job, err);
	if (status == UGDS_ST_OK)
		status = open_volumes(job, err);
	if (status != UGDS_ST_OK)
		return status;
	ugst_job_guess_uuid(job);
	status = ugst_job_find_reusable(job, err);
	if (status == UGDS_ST_OK)
		status = ugst_job_choose_generation(job, err);
	if (status == UGDS_ST_OK && !job->unchanged)
		status = ugst_job_place(job, err);
	return status;
}

static int begin_all(struct ugst_job *job, struct ugds_st_error *err)
{
	int status = UGDS_ST_OK;

	for (size_t i = 0; i < job->volume_count && status == UGDS_ST_OK; i++) {
		struct ugst_job_volume *volume = &job->volumes[i];

		if (!volume->used && !volume->behind)
			continue;
		status = ugst_volume_begin(volume->volume, err);
		if (status == UGDS_ST_OK && volume->behind)
			status = commit_so_far(job, volume, false, err);
	}
	return status;
}

static int import_in_order(struct ugst_job *job, struct ugds_st_error *err)
{
	/* 1. Validate the checkpoint, lock, compare what is there already,
	 * find a place for the rest. Nothing is written, so whatever is wrong
	 * with checkpoint, volumes or space leaves everything as it was. */
	int status = prepare(job, err);

	if (status != UGDS_ST_OK)
		return status;
	/* Whoever published this may have been killed before it was durable,
	 * and success is to mean that it is. */
	if (job->unchanged)
		return ugst_publication_sync(&job->env, &job->publication, err);

	/* 2a. What the labels say becomes durable, and their slots equal. Then
	 * say which objects are in use, and that those of cut imports are not,
	 * before any block of theirs is written. */
	status = begin_all(job, err);
	if (status != UGDS_ST_OK)
		return status;

	/* 2b. Each copy: write it, (3.) see that the source has not changed,
	 * flush, commit a label that lists it in the pending record. A run
	 * that is cut here resumes at this copy: the others compare equal. */
	for (size_t i = 0; i < job->copy_count; i++) {
		struct ugst_job_copy *copy = &job->copies[i];

		status = copy->reused ? check_alike(job, copy, err)
		                      : copy_one(job, copy, err);
		if (status != UGDS_ST_OK)
			return status;
	}

	/* 4. Read everything back, reused objects too, where that is asked
	 * for. */
	if (job->opts->flags & UGDS_ST_IMPORT_VERIFY) {
		status = verify_all(job, err);
		if (status != UGDS_ST_OK)
			return status;
	}

	/* 5. The record becomes committed, on every volume: prune and other
	 * imports now keep it. Readers still see the old manifest. */
	for (size_t i = 0; i < job->volume_count; i++) {
		struct ugst_job_volume *volume = &job->volumes[i];
		const struct ugst_record *record =
			ugst_job_record(job, &volume->volume->label.catalog);

		if (!volume->used || (record && record->committed))
			continue;
		status = commit_so_far(job, volume, true, err);
		if (status != UGDS_ST_OK)
			return status;
	}

	/* 6. The rename of the manifest is the switch. */
	return publish(job, err);
}

/* ------------------------------------------------------------------ job */

static void free_job(struct ugst_job *job)
{
	for (size_t i = 0; i < job->volume_count; i++)
		ugst_catalog_free(&job->volumes[i].plan);
	free(job->volumes);
	/* Locks go in the reverse order: volumes, then the folder. */
	ugst_volume_set_close(&job->set);
	free(job->copies);
	free(job->model);
	free(job->manifest);
	ugst_publication_end(&job->publication);
	ugst_checkpoint_free(&job->checkpoint);
}

static void fill_result(const struct ugst_job *job,
                        struct ugds_st_import_result *result)
{
	memcpy(result->checkpoint_uuid, job->uuid.bytes,
	       sizeof(result->checkpoint_uuid));
	result->generation = job->generation;
	result->shard_count = job->checkpoint.shard_count;
	result->published = !job->unchanged;
	for (size_t i = 0; i < job->copy_count; i++) {
		uint64_t bytes = job->copies[i].source->stamp.bytes;

		if (job->copies[i].reused) {
			result->reused_count++;
			result->reused_bytes += bytes;
		} else {
			result->copied_count++;
			result->copied_bytes += bytes;
		}
	}
}

static int check_opts(const struct ugds_st_import_opts *opts,
                      struct ugds_st_error *err)
{
	if (!opts->checkpoint || !opts->manifest)
		return ugst_fail(err, UGDS_ST_INVALID_ARG,
		                 "options: expected a checkpoint and a "
		                 "manifest, found NULL");
	if (!opts->devices || opts->device_count == 0)
		return ugst_fail(err, UGDS_ST_INVALID_ARG,
		                 "options: expected at least one device, "
		                 "found none");
	for (size_t i = 0; i < opts->device_count; i++)
		if (!opts->devices[i])
			return ugst_fail(err, UGDS_ST_INVALID_ARG,
			                 "options: expected a path, found NULL "
			                 "in devices[%zu]",
			                 i);
	if (opts->copies > opts->device_count)
		return ugst_fail(err, UGDS_ST_INVALID_ARG,
		                 "options: expected a device for each copy of "
		                 "a shard, found %zu for %" PRIu32 " copies",
		                 opts->device_count, opts->copies);
	if (opts->flags & ~UGDS_ST_IMPORT_VERIFY)
		return ugst_fail(err, UGDS_ST_INVALID_ARG,
		                 "options: expected known flags, found "
		                 "0x%" PRIx32,
		                 opts->flags);
	return UGDS_ST_OK;
}

int ugst_import(const struct ugst_import_env *env,
                const struct ugds_st_import_opts *opts,
                struct ugds_st_import_result *result_out,
                struct ugds_st_error *err)
{
	struct ugds_st_import_opts own = {0};
	struct ugds_st_import_result result = {0};
	struct ugst_job job = {
		.env = *env, .opts = &own, .publication = {.folder_fd = -1}};
	int status;

	if (!opts)
		return ugst_fail(err, UGDS_ST_INVALID_ARG,
		                 "options: expected some, found NULL");
	status = ugst_opts_read(&own, sizeof(own), opts, "opts", err);
	if (status == UGDS_ST_OK)
		status = check_opts(&own, err);
	if (status != UGDS_ST_OK)
		return status;
	if (own.copies == 0)
		own.copies = 1;
	job.env.note = own.note;
	job.env.progress = own.progress;
	job.env.ctx = own.ctx;
	status = import_in_order(&job, err);
	if (status == UGDS_ST_OK && result_out) {
		fill_result(&job, &result);
		status = ugst_opts_write(result_out, &result, sizeof(result));
		if (status != UGDS_ST_OK)
			(void)ugst_fail(err, status,
			                "result: expected struct_size to be "
			                "set, found it too small");
	}
	free_job(&job);
	return status;
}

UGST_API int ugds_st_import(const struct ugds_st_import_opts *opts,
                            struct ugds_st_import_result *result_out,
                            struct ugds_st_error *err)
{
	struct ugst_import_env env;

	ugst_env_init(&env);
	return ugst_import(&env, opts, result_out, err);
}
