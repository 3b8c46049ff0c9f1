/* SPDX-License-Identifier: BSD-3-Clause */
/* place.c - places for copies, and the catalogs that name them; job.h. */
#include "base/common.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/units.h"
#include "import/allocate.h"
#include "import/copy.h"
#include "import/edit.h"
#include "import/job.h"

struct ugst_record *ugst_job_record(const struct ugst_job *job,
                                    const struct ugst_catalog *plan)
{
	return ugst_catalog_record(plan, &job->uuid, job->generation);
}

struct ugst_object *ugst_job_object(const struct ugst_job *job,
                                    const struct ugst_job_copy *copy)
{
	const struct ugst_catalog *plan = &job->volumes[copy->volume].plan;
	const struct ugst_object *object =
		ugst_catalog_object(plan, copy->object_id);

	return object ? &plan->objects[object - plan->objects] : NULL;
}

bool ugst_job_has_copy(const struct ugst_job *job, size_t shard, size_t volume)
{
	const struct ugst_job_copy *copies = ugst_job_copies(job, shard);

	for (size_t i = 0; i < job->copies_per_shard; i++)
		if (copies[i].placed && copies[i].volume == volume)
			return true;
	return false;
}

static int add_record(struct ugst_job *job, struct ugst_job_volume *volume,
                      struct ugst_record **record_out,
                      struct ugds_st_error *err)
{
	*record_out = ugst_job_record(job, &volume->plan);
	if (*record_out)
		return UGDS_ST_OK;
	volume->behind = true;
	return ugst_catalog_add_record(&volume->plan, &job->uuid, job->model,
	                               job->manifest, job->generation,
	                               record_out, err);
}

/* What the volume keeps: all but what cut imports of this checkpoint left and
 * this one does not use. */
static int plan_kept(struct ugst_job *job, size_t number,
                     struct ugds_st_error *err)
{
	struct ugst_job_volume *volume = &job->volumes[number];
	struct ugst_catalog *plan = &volume->plan;
	size_t before;
	int status =
		ugst_catalog_copy(&volume->volume->label.catalog, plan, err);

	if (status != UGDS_ST_OK)
		return status;
	for (size_t i = plan->record_count; i-- > 0;) {
		const struct ugst_record *record = &plan->records[i];

		if (record->committed ||
		    !ugst_uuid_equal(&record->checkpoint, &job->uuid) ||
		    (job->resumed && record->generation == job->generation))
			continue;
		ugst_catalog_drop_record(plan, i);
		volume->behind = true;
	}
	for (size_t i = 0; i < job->copy_count; i++) {
		struct ugst_job_copy *copy = &job->copies[i];
		struct ugst_record *record;

		if (!copy->placed || copy->volume != number)
			continue;
		volume->used = true;
		status = add_record(job, volume, &record, err);
		if (status == UGDS_ST_OK)
			status = ugst_record_add(record, copy->object_id, err);
		if (status != UGDS_ST_OK)
			return status;
	}
	before = plan->object_count;
	ugst_catalog_drop_free(plan);
	if (plan->object_count != before)
		volume->behind = true;
	volume->kept_count = plan->object_count;
	volume->kept_ids =
		volume->used ? ugst_job_record(job, plan)->object_count : 0;
	return UGDS_ST_OK;
}

/*
 * The volume with the most free space of those that have a large enough gap
 * and no copy of the shard: the same at every run, and volumes fill evenly.
 *
 * On NO_SPACE err speaks of the volume that has the largest gap.
 */
static int choose_volume(struct ugst_job *job, size_t shard, uint64_t run_bytes,
                         size_t *volume_out, uint64_t *off_out,
                         struct ugds_st_error *err)
{
	uint64_t most_free = 0;
	size_t largest = job->volume_count;
	uint64_t largest_bytes = 0;
	bool found = false;
	uint64_t off;
	int status;

	for (size_t i = 0; i < job->volume_count; i++) {
		const struct ugst_catalog *plan = &job->volumes[i].plan;
		struct ugst_space space;

		if (ugst_job_has_copy(job, shard, i))
			continue;
		status = ugst_space_count(plan, &space, err);
		if (status != UGDS_ST_OK)
			return status;
		if (largest == job->volume_count ||
		    space.largest_bytes > largest_bytes) {
			largest_bytes = space.largest_bytes;
			largest = i;
		}
		if (space.largest_bytes < run_bytes ||
		    (found && space.free_bytes <= most_free))
			continue;
		found = true;
		most_free = space.free_bytes;
		*volume_out = i;
	}
	if (!found)
		*volume_out = largest;
	status = ugst_space_find(&job->volumes[*volume_out].plan, run_bytes,
	                         &off, err);
	if (status == UGDS_ST_OK)
		*off_out = off;
	else
		ugst_err_prefix(err,
		                job->volumes[*volume_out].volume->dev->path);
	return status;
}

/* Puts the shard's name, and which of several copies, in front of err. */
static void name_copy(const struct ugst_job *job,
                      const struct ugst_job_copy *copy,
                      struct ugds_st_error *err)
{
	size_t before = (size_t)(copy - ugst_job_copies(job, copy->shard));
	char number[64];

	(void)snprintf(number, sizeof(number), "copy %zu of %zu", before + 1,
	               job->copies_per_shard);
	if (job->copies_per_shard > 1)
		ugst_err_prefix(err, number);
	ugst_err_prefix(err, copy->source->name);
}

static int place_one(struct ugst_job *job, struct ugst_job_copy *copy,
                     struct ugds_st_error *err)
{
	const struct ugst_source_shard *source = copy->source;
	struct ugst_object object = {.bytes = source->stamp.bytes,
	                             .header_hash = source->header_hash};
	struct ugst_job_volume *volume;
	struct ugst_record *record;
	uint64_t off = 0;
	int status;

	object.lead_bytes = ugst_lead_bytes(source->header.data_off);
	status = choose_volume(job, copy->shard, ugst_object_run_bytes(&object),
	                       &copy->volume, &off, err);
	if (status != UGDS_ST_OK) {
		name_copy(job, copy, err);
		return status;
	}
	volume = &job->volumes[copy->volume];
	object.lba_bytes = volume->plan.volume.lba_bytes;
	object.base_lba = ugst_bytes_to_lba(off, object.lba_bytes);
	object.name = ugst_json_text(source->name);
	if (!object.name)
		return ugst_fail_memory(err);
	status = ugst_catalog_add_object(&volume->plan, &object,
	                                 &copy->object_id, err);
	free(object.name);
	if (status == UGDS_ST_OK)
		status = add_record(job, volume, &record, err);
	if (status == UGDS_ST_OK)
		status = ugst_record_add(record, copy->object_id, err);
	copy->placed = true;
	volume->used = true;
	volume->behind = true;
	return status;
}

/* A catalog that is too large must be known before anything is copied. The
 * hashes that are still to come have the length of any others. */
static int check_catalog(const struct ugst_job_volume *volume,
                         struct ugds_st_error *err)
{
	struct ugst_label label = {.sequence = 1, .catalog = volume->plan};
	void *slot = NULL;
	size_t bytes;
	int status = ugst_slot_encode(&label, &slot, &bytes, err);

	free(slot);
	if (status != UGDS_ST_OK)
		ugst_err_prefix(err, volume->volume->dev->path);
	return status;
}

int ugst_job_place(struct ugst_job *job, struct ugds_st_error *err)
{
	int status = UGDS_ST_OK;

	for (size_t i = 0; i < job->volume_count && status == UGDS_ST_OK; i++)
		status = plan_kept(job, i, err);
	for (size_t i = 0; i < job->copy_count && status == UGDS_ST_OK; i++)
		if (!job->copies[i].placed)
			status = place_one(job, &job->copies[i], err);
	for (size_t i = 0; i < job->volume_count && status == UGDS_ST_OK; i++)
		status = check_catalog(&job->volumes[i], err);
	return status;
}
