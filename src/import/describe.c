/* SPDX-License-Identifier: BSD-3-Clause */
/* describe.c - the manifest of an import; job.h. */
#include "base/common.h"

#include <time.h>

#include "base/err.h"
#include "base/mem.h"
#include "import/edit.h"
#include "import/job.h"

#define DEFAULT_TOOL "libugds_st_import " UGDS_ST_VERSION

static char *now_text(void)
{
	time_t now = time(NULL);
	char text[32];
	struct tm utc;

	if (!gmtime_r(&now, &utc) ||
	    !strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &utc))
		return NULL;
	return ugst_strdup(text);
}

/* The volumes that hold shards, and their number in the manifest. */
static int add_volumes(const struct ugst_job *job, uint32_t *numbers,
                       struct ugst_manifest *manifest,
                       struct ugds_st_error *err)
{
	manifest->volumes =
		ugst_calloc(job->volume_count, sizeof(*manifest->volumes));
	if (!manifest->volumes)
		return ugst_fail_memory(err);
	for (size_t i = 0; i < job->volume_count; i++) {
		const struct ugst_job_volume *volume = &job->volumes[i];
		const struct ugst_label *label = &volume->volume->label;
		struct ugst_manifest_volume *out;

		if (!volume->used)
			continue;
		numbers[i] = (uint32_t)manifest->volume_count;
		out = &manifest->volumes[manifest->volume_count++];
		out->record = label->catalog.volume;
		out->label_sequence = label->sequence;
		out->path = ugst_strdup(volume->path);
		if (!out->path)
			return ugst_fail_memory(err);
	}
	return UGDS_ST_OK;
}

/*
 * Copies are listed in the order of volumes, but each shard begins with
 * another one: what is taken from the first copy is taken from every volume.
 */
static void add_copy(const struct ugst_job *job,
                     const struct ugst_job_copy *copy, const uint32_t *numbers,
                     struct ugst_manifest_shard *out)
{
	const struct ugst_job_copy *copies = ugst_job_copies(job, copy->shard);
	const struct ugst_object *object = ugst_job_object(job, copy);
	size_t count = job->copies_per_shard;
	size_t at = count - copy->shard % count;

	for (size_t i = 0; i < count; i++)
		at += copies[i].volume < copy->volume;
	out->copies[at % count] =
		(struct ugst_manifest_copy){.volume = numbers[copy->volume],
	                                    .lead_bytes = object->lead_bytes,
	                                    .object_id = object->id,
	                                    .base_lba = object->base_lba,
	                                    .lba_bytes = object->lba_bytes};
	out->copy_count++;
}

static int add_shard(const struct ugst_job *job, size_t shard,
                     const uint32_t *numbers, struct ugst_manifest_shard *out,
                     struct ugds_st_error *err)
{
	const struct ugst_job_copy *copies = ugst_job_copies(job, shard);
	const struct ugst_source_shard *source = copies->source;

	out->name = ugst_json_text(source->name);
	out->copies = ugst_calloc(job->copies_per_shard, sizeof(*out->copies));
	out->left_out =
		ugst_calloc(source->left_out_count, sizeof(*out->left_out));
	if (!out->name || !out->copies || !out->left_out)
		return ugst_fail_memory(err);
	out->bytes = source->stamp.bytes;
	out->json_bytes = source->json_bytes;
	out->header_hash = source->header_hash;
	out->hash = copies->hash;
	out->left_out_count = source->left_out_count;
	if (source->left_out_count)
		memcpy(out->left_out, source->left_out,
		       source->left_out_count * sizeof(*out->left_out));
	for (size_t i = 0; i < job->copies_per_shard; i++)
		add_copy(job, &copies[i], numbers, out);
	return UGDS_ST_OK;
}

static int fill(const struct ugst_job *job, uint32_t *numbers,
                struct ugst_manifest *manifest, struct ugds_st_error *err)
{
	size_t count = job->checkpoint.shard_count;
	const char *tool = job->opts->tool ? job->opts->tool : DEFAULT_TOOL;
	int status;

	manifest->checkpoint = job->uuid;
	manifest->generation = job->generation;
	manifest->model = ugst_strdup(job->model);
	manifest->created = now_text();
	manifest->tool = ugst_json_text(tool);
	manifest->shards = ugst_calloc(count, sizeof(*manifest->shards));
	if (!manifest->model || !manifest->created || !manifest->tool ||
	    !manifest->shards)
		return ugst_fail_memory(err);
	status = add_volumes(job, numbers, manifest, err);
	for (size_t i = 0; i < count && status == UGDS_ST_OK; i++) {
		manifest->shard_count++;
		status = add_shard(job, i, numbers, &manifest->shards[i], err);
	}
	return status;
}

int ugst_job_manifest(const struct ugst_job *job,
                      struct ugst_manifest *manifest_out,
                      struct ugds_st_error *err)
{
	struct ugst_manifest manifest = {0};
	uint32_t *numbers = ugst_calloc(job->volume_count, sizeof(*numbers));
	int status;

	if (!numbers)
		return ugst_fail_memory(err);
	status = fill(job, numbers, &manifest, err);
	free(numbers);
	if (status == UGDS_ST_OK)
		*manifest_out = manifest;
	else
		ugst_manifest_free(&manifest);
	return status;
}
