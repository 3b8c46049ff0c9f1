/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * job.h - one import on its way: what is known of it after each step. import.c
 * has the order, the other files fill this in.
 */
#ifndef UGST_IMPORT_JOB_H
#define UGST_IMPORT_JOB_H

#include "base/common.h"
#include "import/env.h"
#include "import/publish.h"
#include "import/shard_file.h"
#include "import/volume_set.h"
#include "ugds_st_import.h"
#include "verbs/checkpoint.h"

/* A volume, and the catalog that it will have. */
struct ugst_job_volume {
	struct ugst_volume *volume; /* of the set */
	const char *path;
	/* The label's catalog without this checkpoint's cut imports, with the
	 * new record and all objects, those to be copied last. */
	struct ugst_catalog plan;
	size_t kept_count; /* objects of plan that are on the device already */
	size_t kept_ids;   /* ids of its record that are */
	size_t copied_count; /* of the others */
	bool used;           /* holds shards of this generation */
	bool behind;         /* the label lacks what plan drops or has */
};

/* A copy of a shard, and where it is or will be. Copies of one shard are on
 * different volumes. */
struct ugst_job_copy {
	const struct ugst_source_shard *source;
	size_t shard; /* of the checkpoint */
	bool placed;
	bool reused; /* was there, and equals the source */
	size_t volume;
	uint64_t object_id;
	struct ugst_hash hash;
};

struct ugst_job {
	struct ugst_import_env env;
	const struct ugds_st_import_opts *opts;
	struct ugst_checkpoint checkpoint;
	struct ugst_publication publication;
	struct ugst_volume_set set;
	size_t volume_count; /* of the set */
	struct ugst_job_volume *volumes;
	size_t copies_per_shard;
	size_t copy_count;            /* of all shards */
	struct ugst_job_copy *copies; /* shard by shard */
	char *model;
	char *manifest; /* publication.path as JSON takes it */
	/* The checkpoint's UUID. Known: from the manifest, or from records of
	 * an import to the same path that was cut before it published. */
	bool uuid_known;
	struct ugst_uuid uuid;
	uint64_t generation;
	bool unchanged; /* the manifest says all this already */
	bool resumed;   /* the volumes hold this generation: only publish */
};

/* The copies of a shard: copies_per_shard of them. */
static inline struct ugst_job_copy *ugst_job_copies(const struct ugst_job *job,
                                                    size_t shard)
{
	return &job->copies[shard * job->copies_per_shard];
}

/* Fill uuid, if it can be known already; generation.c. */
void ugst_job_guess_uuid(struct ugst_job *job);

/* Find copies that are on the volumes already, byte for byte; reuse.c. */
int ugst_job_find_reusable(struct ugst_job *job, struct ugds_st_error *err);

/* Which checkpoint and generation is this? generation.c. */
int ugst_job_choose_generation(struct ugst_job *job, struct ugds_st_error *err);

/*
 * ugst_job_place() - a place for every other copy, and the catalogs that say
 * so; place.c.
 *
 * Return: OK; NO_SPACE (wanted, free, largest gap; or the catalog); NO_MEMORY.
 */
int ugst_job_place(struct ugst_job *job, struct ugds_st_error *err);

/* The record of this generation in a plan. NULL: none. */
struct ugst_record *ugst_job_record(const struct ugst_job *job,
                                    const struct ugst_catalog *plan);

/* The object of a placed copy, in its volume's plan. */
struct ugst_object *ugst_job_object(const struct ugst_job *job,
                                    const struct ugst_job_copy *copy);

/* Has a copy of the shard its place on the volume? */
bool ugst_job_has_copy(const struct ugst_job *job, size_t shard, size_t volume);

/* The manifest of this generation; manifest's strings and arrays are its own.
 * Return: OK; NO_MEMORY. */
int ugst_job_manifest(const struct ugst_job *job,
                      struct ugst_manifest *manifest_out,
                      struct ugds_st_error *err);

#endif /* UGST_IMPORT_JOB_H */
