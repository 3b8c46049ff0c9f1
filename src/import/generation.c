/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * generation.c - which checkpoint and which generation an import makes; job.h.
 *
 * A record on a volume that is newer than the manifest comes from an import
 * that was cut. If it is pending, nothing can refer to it, and its number is
 * taken again. If it is committed, it may only be published as it is.
 */
#include "base/common.h"

#include <errno.h>
#include <sys/random.h>

#include "base/err.h"
#include "base/units.h"
#include "import/job.h"

/* Are the copies found on a volume exactly those that a record lists? */
static bool lists_exactly(const struct ugst_job *job, size_t volume,
                          const struct ugst_record *record)
{
	size_t found = 0;

	for (size_t i = 0; i < record->object_count; i++) {
		bool wanted = false;

		for (size_t k = 0; k < job->copy_count; k++)
			wanted |= job->copies[k].volume == volume &&
			          job->copies[k].object_id ==
			                  record->object_ids[i];
		if (!wanted)
			return false;
	}
	for (size_t k = 0; k < job->copy_count; k++) {
		if (job->copies[k].volume != volume)
			continue;
		if (!ugst_record_lists(record, job->copies[k].object_id))
			return false;
		found++;
	}
	return found > 0;
}

static bool all_reused(const struct ugst_job *job)
{
	for (size_t i = 0; i < job->copy_count; i++)
		if (!job->copies[i].reused)
			return false;
	return true;
}

static bool uses(const struct ugst_job *job, size_t volume)
{
	for (size_t i = 0; i < job->copy_count; i++)
		if (job->copies[i].volume == volume)
			return true;
	return false;
}

/* Do the volumes hold this generation already, complete? */
static bool is_complete(const struct ugst_job *job, uint64_t generation,
                        bool committed)
{
	if (!all_reused(job))
		return false;
	for (size_t i = 0; i < job->volume_count; i++) {
		const struct ugst_record *record = ugst_catalog_record(
			&job->volumes[i].volume->label.catalog, &job->uuid,
			generation);

		if (!uses(job, i) && !record)
			continue;
		if (!record || (committed && !record->committed) ||
		    !lists_exactly(job, i, record))
			return false;
	}
	return true;
}

/* Largest generation of the checkpoint on the volumes, and is it pending
 * wherever it is? */
static uint64_t last_generation(const struct ugst_job *job, bool *pending_out)
{
	uint64_t last = 0;

	*pending_out = true;
	for (size_t i = 0; i < job->volume_count; i++) {
		const struct ugst_catalog *catalog =
			&job->volumes[i].volume->label.catalog;

		for (size_t k = 0; k < catalog->record_count; k++) {
			const struct ugst_record *record = &catalog->records[k];

			if (!ugst_uuid_equal(&record->checkpoint, &job->uuid) ||
			    record->generation < last)
				continue;
			if (record->generation > last)
				*pending_out = true;
			last = record->generation;
			if (record->committed)
				*pending_out = false;
		}
	}
	return last;
}

static bool has_committed(const struct ugst_job *job)
{
	for (size_t i = 0; i < job->volume_count; i++) {
		const struct ugst_catalog *catalog =
			&job->volumes[i].volume->label.catalog;

		for (size_t k = 0; k < catalog->record_count; k++)
			if (catalog->records[k].committed &&
			    ugst_uuid_equal(&catalog->records[k].checkpoint,
			                    &job->uuid))
				return true;
	}
	return false;
}

void ugst_job_guess_uuid(struct ugst_job *job)
{
	job->uuid_known = job->publication.exists;
	job->uuid = job->publication.manifest.checkpoint;
	for (size_t i = 0; i < job->volume_count && !job->uuid_known; i++) {
		const struct ugst_catalog *catalog =
			&job->volumes[i].volume->label.catalog;

		for (size_t k = catalog->record_count; k-- > 0;) {
			const struct ugst_record *record = &catalog->records[k];

			if (strcmp(record->manifest, job->manifest))
				continue;
			job->uuid_known = true;
			job->uuid = record->checkpoint;
			break;
		}
	}
}

static bool same_left_out(const struct ugst_manifest_shard *a,
                          const struct ugst_source_shard *b)
{
	return a->left_out_count == b->left_out_count &&
	       (a->left_out_count == 0 ||
	        !memcmp(a->left_out, b->left_out,
	                a->left_out_count * sizeof(*a->left_out)));
}

/* Does the manifest's shard list a copy, in whatever place? */
static bool lists_copy(const struct ugst_job *job,
                       const struct ugst_manifest_shard *known,
                       const struct ugst_job_copy *copy)
{
	const struct ugst_manifest_volume *volumes =
		job->publication.manifest.volumes;
	const struct ugst_uuid *uuid =
		&job->volumes[copy->volume].volume->label.catalog.volume.uuid;

	for (size_t i = 0; i < known->copy_count; i++)
		if (known->copies[i].object_id == copy->object_id &&
		    ugst_uuid_equal(
			    &volumes[known->copies[i].volume].record.uuid,
			    uuid))
			return true;
	return false;
}

/* Does the manifest describe exactly this? */
static bool is_published(const struct ugst_job *job)
{
	const struct ugst_manifest *manifest = &job->publication.manifest;

	if (!job->publication.exists ||
	    manifest->shard_count != job->checkpoint.shard_count ||
	    strcmp(manifest->model, job->model))
		return false;
	for (size_t i = 0; i < job->copy_count; i++) {
		const struct ugst_job_copy *copy = &job->copies[i];
		const struct ugst_manifest_shard *known =
			&manifest->shards[copy->shard];

		if (!copy->reused || strcmp(known->name, copy->source->name) ||
		    known->bytes != copy->source->stamp.bytes ||
		    !ugst_hash_equal(&known->hash, &copy->hash) ||
		    !same_left_out(known, copy->source) ||
		    known->copy_count != job->copies_per_shard ||
		    !lists_copy(job, known, copy))
			return false;
	}
	return is_complete(job, manifest->generation, true);
}

/* Does the manifest describe a volume as it was before it was adopted? The
 * content is the same, and so is the generation; uGDS needs the new start. */
static bool has_moved(const struct ugst_job *job)
{
	const struct ugst_manifest *manifest = &job->publication.manifest;

	for (size_t i = 0; i < manifest->volume_count; i++) {
		const struct ugst_volume_record *known =
			&manifest->volumes[i].record;

		for (size_t k = 0; k < job->volume_count; k++) {
			const struct ugst_volume_record *found =
				&job->volumes[k].volume->label.catalog.volume;

			if (ugst_uuid_equal(&known->uuid, &found->uuid) &&
			    known->start_bytes != found->start_bytes)
				return true;
		}
	}
	return false;
}

static int draw_uuid(struct ugst_uuid *uuid_out, struct ugds_st_error *err)
{
	uint8_t random[16];

	if (getrandom(random, sizeof(random), 0) != sizeof(random))
		return ugst_fail_errno(err, UGDS_ST_IO, errno,
		                       "random bytes for a UUID");
	*uuid_out = ugst_uuid_from_random(random);
	return UGDS_ST_OK;
}

int ugst_job_choose_generation(struct ugst_job *job, struct ugds_st_error *err)
{
	uint64_t published = job->publication.manifest.generation;
	uint64_t last;
	bool pending;

	if (is_published(job)) {
		job->generation = published;
		job->resumed = has_moved(job);
		job->unchanged = !job->resumed;
		return UGDS_ST_OK;
	}
	last = job->uuid_known ? last_generation(job, &pending) : 0;
	if (last > published && is_complete(job, last, false)) {
		job->generation = last;
		job->resumed = true;
		return UGDS_ST_OK;
	}
	/* Committed records of other content were published here once: a
	 * manifest that has been moved may still need them. */
	if (!job->publication.exists &&
	    (!job->uuid_known || has_committed(job))) {
		job->uuid_known = true;
		job->generation = 1;
		return draw_uuid(&job->uuid, err);
	}
	job->generation = last > published && pending
	                          ? last
	                          : ugst_max(last, published) + 1;
	return UGDS_ST_OK;
}
