/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * reuse.c - copies that a volume has already; job.h.
 *
 * Size and header hash only make a candidate: fine-tuned models have equal
 * headers. What counts is every byte.
 */
#include "base/common.h"

#include "base/err.h"
#include "import/copy.h"
#include "import/job.h"

/* Candidates are tried in this order, so that an import of what is there
 * already finds what the manifest names. Where fewer copies are wanted than
 * there are, those that it names first are spread over the volumes. */
enum rank {
	RANK_FIRST,     /* the manifest names it first for this shard */
	RANK_PUBLISHED, /* the manifest names it for this shard */
	RANK_OWN,       /* a record of this checkpoint lists it */
	RANK_OTHER,
	RANK_COUNT
};

/* Rank by the manifest; RANK_COUNT: it does not name the object. */
static enum rank published_rank(const struct ugst_job *job,
                                const struct ugst_source_shard *source,
                                const struct ugst_uuid *volume,
                                uint64_t object_id)
{
	const struct ugst_manifest *manifest = &job->publication.manifest;

	for (size_t i = 0; i < manifest->shard_count; i++) {
		const struct ugst_manifest_shard *shard = &manifest->shards[i];

		if (strcmp(shard->name, source->name))
			continue;
		for (size_t k = 0; k < shard->copy_count; k++) {
			const struct ugst_manifest_copy *copy =
				&shard->copies[k];
			const struct ugst_manifest_volume *known =
				&manifest->volumes[copy->volume];

			if (copy->object_id == object_id &&
			    ugst_uuid_equal(&known->record.uuid, volume))
				return k == 0 ? RANK_FIRST : RANK_PUBLISHED;
		}
	}
	return RANK_COUNT;
}

static enum rank rank_of(const struct ugst_job *job,
                         const struct ugst_source_shard *source,
                         const struct ugst_catalog *catalog, uint64_t object_id)
{
	enum rank rank =
		published_rank(job, source, &catalog->volume.uuid, object_id);
	bool listed = false;

	if (rank != RANK_COUNT)
		return rank;
	for (size_t i = 0; i < catalog->record_count; i++) {
		const struct ugst_record *record = &catalog->records[i];

		if (!ugst_record_lists(record, object_id))
			continue;
		listed = true;
		if (job->uuid_known &&
		    ugst_uuid_equal(&record->checkpoint, &job->uuid))
			return RANK_OWN;
	}
	/* What no record lists is free, whatever it holds. */
	return listed ? RANK_OTHER : RANK_COUNT;
}

static int compare(struct ugst_job *job, struct ugst_job_copy *copy,
                   size_t volume, const struct ugst_object *object,
                   struct ugds_st_error *err)
{
	struct ugst_blockdev *dev = job->volumes[volume].volume->dev;
	uint64_t done_bytes = job->env.done_bytes;
	struct ugst_shard_file file;
	struct ugst_hash hash;
	bool equal = false;
	int status = ugst_shard_file_open(copy->source, &file, err);

	if (status != UGDS_ST_OK)
		return status;
	status = ugst_compare_shard(&job->env, &file, dev,
	                            object->base_lba * object->lba_bytes,
	                            object->lead_bytes, &equal, &hash, err);
	if (status == UGDS_ST_OK)
		status = ugst_shard_file_check(&file, err);
	ugst_shard_file_close(&file);
	/* A recorded hash that the bytes do not have would make every later
	 * verification fail. */
	if (status == UGDS_ST_OK && equal &&
	    ugst_hash_equal(&hash, &object->hash)) {
		copy->placed = true;
		copy->reused = true;
		copy->volume = volume;
		copy->object_id = object->id;
		copy->hash = hash;
	} else {
		job->env.done_bytes = done_bytes;
	}
	return status;
}

/* Look for a copy on one volume. */
static int find_on(struct ugst_job *job, struct ugst_job_copy *copy,
                   enum rank rank, size_t volume, struct ugds_st_error *err)
{
	const struct ugst_source_shard *source = copy->source;
	const struct ugst_catalog *catalog =
		&job->volumes[volume].volume->label.catalog;
	int status = UGDS_ST_OK;

	for (size_t i = 0;
	     i < catalog->object_count && !copy->placed && status == UGDS_ST_OK;
	     i++) {
		const struct ugst_object *object = &catalog->objects[i];

		if (object->bytes != source->stamp.bytes ||
		    !ugst_hash_equal(&object->header_hash,
		                     &source->header_hash) ||
		    rank_of(job, source, catalog, object->id) != rank)
			continue;
		status = compare(job, copy, volume, object, err);
	}
	return status;
}

/* The copies of one shard: one from a volume at most. */
static int find_copies(struct ugst_job *job, size_t shard,
                       struct ugds_st_error *err)
{
	struct ugst_job_copy *copy = ugst_job_copies(job, shard);
	size_t left = job->copies_per_shard;

	for (int rank = 0; rank < RANK_COUNT; rank++) {
		for (size_t v = 0; v < job->volume_count && left; v++) {
			int status;

			if (ugst_job_has_copy(job, shard, v))
				continue;
			status = find_on(job, copy, (enum rank)rank, v, err);
			if (status != UGDS_ST_OK)
				return status;
			if (copy->placed) {
				copy++;
				left--;
			}
		}
	}
	return UGDS_ST_OK;
}

int ugst_job_find_reusable(struct ugst_job *job, struct ugds_st_error *err)
{
	int status = UGDS_ST_OK;

	for (size_t i = 0;
	     i < job->checkpoint.shard_count && status == UGDS_ST_OK; i++)
		status = find_copies(job, i, err);
	return status;
}
