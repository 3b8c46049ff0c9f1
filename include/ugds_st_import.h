/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ugds_st_import.h - put safetensors checkpoints on raw blocks.
 *
 * A volume is a block device, a partition or a regular file that was formatted
 * here. Importing copies each shard of a checkpoint, byte for byte, into free
 * blocks of one or several volumes, then publishes a manifest: the file that
 * ugds_st_open() opens. docs/format.md describes every byte.
 *
 * The order of writes is such that a run may be cut anywhere: until the new
 * manifest is in place the old one serves, and running the same import again
 * goes on where it was cut.
 *
 * Conventions are those of ugds_st.h. Calls on different volumes may run side
 * by side; a volume has one writer at a time (BUSY).
 */
#ifndef UGDS_ST_IMPORT_H
#define UGDS_ST_IMPORT_H

#include "ugds_st.h"

#ifdef __cplusplus
extern "C" {
#endif

/* --------------------------------------------------------------- format */

/* format flags */
/* Make a volume file without reserving its blocks. */
#define UGDS_ST_IMPORT_SPARSE 1u
/* Overwrite signatures and unknown bytes, after naming them through note.
 * A volume of ours is overwritten only if replace_uuid names it. */
#define UGDS_ST_IMPORT_FORCE 2u

struct ugds_st_import_format_opts {
	size_t struct_size;
	/* Size of the regular file to make; 0: device exists. */
	uint64_t file_bytes;
	uint32_t flags;
	/* UUID of the volume that may be lost; zeros: none. */
	uint8_t replace_uuid[16];
	/* Told what is overwritten, and what is worth knowing, a line each.
	 * NULL: nobody. */
	void (*note)(void *ctx, const char *text);
	void *ctx;
};
#define UGDS_ST_IMPORT_FORMAT_OPTS_INIT                                    \
	{                                                                  \
		sizeof(struct ugds_st_import_format_opts), 0, 0, {0}, 0, 0 \
	}

/*
 * ugds_st_import_format() - make a volume.
 *
 * Refuses a device that is in use, that shows a signature of anything, or
 * whose bytes are neither all zeros nor all ones at start, end and in samples
 * between; and any regular file that exists.
 *
 * @device: path; a regular file must not exist and needs opts->file_bytes.
 * @opts: NULL for defaults.
 * @uuid_out: of the new volume; may be NULL.
 *
 * Return: OK; INVALID_ARG; NOT_FOUND; MISMATCH (holds something: kind and
 * offset are named); UNSUPPORTED (character device, zoned, block size above
 * 4096, metadata); BUSY (in use); NO_SPACE (too small, or the file system is
 * full); NO_MEMORY; IO.
 */
int ugds_st_import_format(const char *device,
                          const struct ugds_st_import_format_opts *opts,
                          uint8_t uuid_out[16], struct ugds_st_error *err);

/* --------------------------------------------------------------- import */

/* import flags */
/* Read every object back from the device and compare its hash. */
#define UGDS_ST_IMPORT_VERIFY 1u

struct ugds_st_import_opts {
	size_t struct_size;
	const char *checkpoint;     /* .safetensors file, index or directory */
	const char *manifest;       /* path to publish at */
	const char *const *devices; /* volumes to place shards on */
	size_t device_count;
	/* Name for people; NULL: from the checkpoint's path. */
	const char *model;
	/* Who imports, for the manifest; NULL: this library. */
	const char *tool;
	uint32_t flags;
	/* Bytes copied, compared and verified, of all; a shard counts once
	 * for each of its copies. NULL: nobody. */
	void (*progress)(void *ctx, uint64_t done_bytes, uint64_t all_bytes);
	/* Told what is worth knowing, a line each. NULL: nobody. */
	void (*note)(void *ctx, const char *text);
	void *ctx;
	/* Copies of each shard, on as many different devices: a reader shares
	 * its work among them, and needs one. 0: 1. */
	uint32_t copies;
};
#define UGDS_ST_IMPORT_OPTS_INIT                                               \
	{                                                                      \
		sizeof(struct ugds_st_import_opts), 0, 0, 0, 0, 0, 0, 0, 0, 0, \
			0, 0                                                   \
	}

struct ugds_st_import_result {
	size_t struct_size;
	uint8_t checkpoint_uuid[16];
	uint64_t generation;
	size_t shard_count;
	/* Copies of shards: both add up to shard_count times opts->copies.
	 * Bytes are those of the shards' files, each as often as it was
	 * copied or found. */
	size_t copied_count; /* written to a device */
	uint64_t copied_bytes;
	size_t reused_count; /* found there, compared byte for byte */
	uint64_t reused_bytes;
	int published; /* 0: nothing had changed, the manifest stays */
};

/*
 * ugds_st_import() - import a checkpoint and publish its manifest.
 *
 * Everything about the checkpoint is validated, and a place found for every
 * copy of every shard, before the first byte is written. Another number of
 * copies than the manifest has makes a new generation.
 *
 * @result_out: set struct_size first; may be NULL.
 *
 * Return: OK; INVALID_ARG (also: fewer devices than copies); NOT_FOUND; FORMAT
 * (checkpoint); MISMATCH (wrong device, source changed, manifest path holds
 * something else); CORRUPT (verification, damaged label); UNSUPPORTED; NO_SPACE
 * (also: on fewer volumes than copies); BUSY; NO_MEMORY; IO.
 * IO with a text that says "published, not known to be durable" has published.
 */
int ugds_st_import(const struct ugds_st_import_opts *opts,
                   struct ugds_st_import_result *result_out,
                   struct ugds_st_error *err);

/* ------------------------------------------------------- prune and remove */

struct ugds_st_import_drop_opts {
	size_t struct_size;
	/* Path of a manifest; NULL, for remove only: by checkpoint_uuid. */
	const char *manifest;
	/* Checkpoint to remove where there is no manifest. */
	uint8_t checkpoint_uuid[16];
	/* Volumes; NULL, 0: at the paths that the manifest recorded. What one
	 * has that the manifest no longer names is freed only if it is here. */
	const char *const *devices;
	size_t device_count;
	void (*note)(void *ctx, const char *text);
	void *ctx;
};
#define UGDS_ST_IMPORT_DROP_OPTS_INIT                                       \
	{                                                                   \
		sizeof(struct ugds_st_import_drop_opts), 0, {0}, 0, 0, 0, 0 \
	}

struct ugds_st_import_drop_result {
	size_t struct_size;
	uint8_t checkpoint_uuid[16];
	size_t record_count; /* dropped */
	size_t object_count; /* that no record lists any more */
	uint64_t freed_bytes;
};

/*
 * ugds_st_import_prune() - drop what the manifest's checkpoint has beside the
 * manifest's generation: older ones, and what cut imports left.
 *
 * The manifest is made durable first. Objects that another record lists stay.
 *
 * @result_out: set struct_size first; may be NULL.
 * Return: OK; INVALID_ARG; NOT_FOUND; MISMATCH (the manifest is older than
 * what the volume holds; wrong device); BUSY (a reader or writer has a volume:
 * process named); and as ugds_st_import().
 */
int ugds_st_import_prune(const struct ugds_st_import_drop_opts *opts,
                         struct ugds_st_import_drop_result *result_out,
                         struct ugds_st_error *err);

/*
 * ugds_st_import_remove() - drop a checkpoint: its manifest, durably, then all
 * its records.
 *
 * Return: as ugds_st_import_prune(); NOT_FOUND also where no volume has a
 * record of checkpoint_uuid.
 */
int ugds_st_import_remove(const struct ugds_st_import_drop_opts *opts,
                          struct ugds_st_import_drop_result *result_out,
                          struct ugds_st_error *err);

/* ---------------------------------------------------------------- adopt */

struct ugds_st_import_adopt_opts {
	size_t struct_size;
	void (*note)(void *ctx, const char *text);
	void *ctx;
};
#define UGDS_ST_IMPORT_ADOPT_OPTS_INIT                         \
	{                                                      \
		sizeof(struct ugds_st_import_adopt_opts), 0, 0 \
	}

/*
 * ugds_st_import_adopt() - accept the device that a volume was moved to.
 *
 * Reads label and the header of every object, then records the identity of
 * the namespace and the start of the partition that it finds.
 *
 * @opts: NULL for defaults.
 * Return: OK (also where the record was right already); CORRUPT (a header
 * differs); and as ugds_st_import_prune().
 */
int ugds_st_import_adopt(const char *device,
                         const struct ugds_st_import_adopt_opts *opts,
                         struct ugds_st_error *err);

/* ----------------------------------------------------------------- list */

/* What a volume's label says: a copy, owned by the caller. */
typedef struct ugds_st_import_volume ugds_st_import_volume;

/*
 * ugds_st_import_list() - read the label of a volume.
 *
 * @volume_out: free with ugds_st_import_volume_free().
 * Return: OK; INVALID_ARG; NOT_FOUND (no device, no label); CORRUPT (both
 * slots damaged); UNSUPPORTED; BUSY; NO_MEMORY; IO.
 */
int ugds_st_import_list(const char *device, ugds_st_import_volume **volume_out,
                        struct ugds_st_error *err);

/* NULL is fine. */
void ugds_st_import_volume_free(ugds_st_import_volume *volume);

struct ugds_st_import_volume_info {
	size_t struct_size;
	uint8_t uuid[16];
	uint64_t label_sequence;
	uint32_t lba_bytes;
	int damaged_slots; /* 0 at rest; the next writer repairs */
	uint64_t bytes;
	uint64_t start_bytes; /* of the partition on its disk */
	uint64_t used_bytes;
	uint64_t free_bytes;
	uint64_t largest_gap_bytes;
	size_t object_count;
	size_t checkpoint_count; /* records: generations of checkpoints */
	/* Recorded identity of the namespace; zeros and "": absent. */
	int identity_known;
	uint32_t nsid;
	const char *serial;
	const char *model;
	uint8_t nguid[16];
	uint8_t eui64[8];
	uint8_t ns_uuid[16];
};

struct ugds_st_import_object_info {
	size_t struct_size;
	uint64_t id;
	const char *name;
	uint64_t bytes; /* of the shard */
	uint64_t base_lba;
	uint32_t lba_bytes;
	uint32_t lead_bytes;
	uint8_t header_hash[16];
	uint8_t hash[16];
	size_t user_count; /* records that list it; 0: free */
};

struct ugds_st_import_checkpoint_info {
	size_t struct_size;
	uint8_t uuid[16];
	const char *model;
	const char *manifest; /* where it was published: a hint */
	uint64_t generation;
	int committed; /* 0: pending */
	const uint64_t *object_ids;
	size_t object_count;
	uint64_t bytes; /* of its objects, shared ones included */
};

/* These fill what they are given; strings and arrays are borrowed from volume.
 * Set struct_size first. Return: OK; INVALID_ARG (also index past the end). */
int ugds_st_import_volume_info(const ugds_st_import_volume *volume,
                               struct ugds_st_import_volume_info *info_out);
int ugds_st_import_volume_object(const ugds_st_import_volume *volume,
                                 size_t index,
                                 struct ugds_st_import_object_info *info_out);
int ugds_st_import_volume_checkpoint(
	const ugds_st_import_volume *volume, size_t index,
	struct ugds_st_import_checkpoint_info *info_out);

#ifdef __cplusplus
}
#endif
#endif /* UGDS_ST_IMPORT_H */
