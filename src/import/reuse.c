/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * reuse.c - shards that a volume has already; job.h.
 *
 * Size and header hash only make a candidate: fine-tuned models have equal
 * headers. What counts is every byte.
 */
#include "base/common.h"

#include "base/err.h"
#include "import/copy.h"
#include "import/job.h"

/* Candidates are tried in this order, so that an import of what is there
 * already finds what the manifest names. */
enum rank {
	RANK_PUBLISHED, /* the manifest names it for this shard */
	RANK_OWN,       /* a record of this checkpoint lists it */
	RANK_OTHER,
	RANK_COUNT
};

static bool is_published(const struct ugst_job *job,
                         const struct ugst_source_shard *source,
                         const struct ugst_uuid *volume, uint64_t object_id)
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
				return true;
		}
	}
	return false;
}

static enum rank rank_of(const struct ugst_job *job,
                         const struct ugst_source_shard *source,
                         const struct ugst_catalog *catalog, uint64_t object_id)
{
	bool listed = false;

	if (is_published(job, source, &catalog->volume.uuid, object_id))
		return RANK_PUBLISHED;
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

static int compare(struct ugst_job *job, struct ugst_job_shard *shard,
                   size_t volume, const struct ugst_object *object,
                   struct ugds_st_error *err)
{
	struct ugst_blockdev *dev = job->volumes[volume].volume->dev;
	uint64_t done_bytes = job->env.done_bytes;
	struct ugst_shard_file file;
	struct ugst_hash hash;
	bool equal = false;
	int status = ugst_shard_file_open(shard->source, &file, err);

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
		shard->placed = true;
		shard->reused = true;
		shard->volume = volume;
		shard->object_id = object->id;
		shard->hash = hash;
	} else {
		job->env.done_bytes = done_bytes;
	}
	return status;
}

static int find_one(struct ugst_job *job, struct ugst_job_shard *shard,
                    enum rank rank, struct ugds_st_error *err)
{
	const struct ugst_source_shard *source = shard->source;
	int status = UGDS_ST_OK;

	for (size_t v = 0; v < job->volume_count; v++) {
		const struct ugst_catalog *catalog =
			&job->volumes[v].volume->label.catalog;

		for (size_t i = 0; i < catalog->object_count; i++) {
			const struct ugst_object *object = &catalog->objects[i];

			if (object->bytes != source->stamp.bytes ||
			    !ugst_hash_equal(&object->header_hash,
			                     &source->header_hash) ||
			    rank_of(job, source, catalog, object->id) != rank)
				continue;
			status = compare(job, shard, v, object, err);
			if (status != UGDS_ST_OK || shard->placed)
				return status;
		}
	}
	return status;
}

int ugst_job_find_reusable(struct ugst_job *job, struct ugds_st_error *err)
{
	for (size_t i = 0; i < job->checkpoint.shard_count; i++) {
		struct ugst_job_shard *shard = &job->shards[i];

		for (int rank = 0; rank < RANK_COUNT && !shard->placed;
		     rank++) {
			int status = find_one(job, shard, (enum rank)rank, err);

			if (status != UGDS_ST_OK)
				return status;
		}
	}
	return UGDS_ST_OK;
}
