/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * manifest.h - one generation of one checkpoint, and where its objects lie.
 *
 * A JSON document on an ordinary file system; docs/format.md is normative.
 */
#ifndef UGST_MANIFEST_H
#define UGST_MANIFEST_H

#include "base/common.h"
#include "pure/catalog.h"

#define UGST_MANIFEST_FORMAT "ugds-st-manifest"
#define UGST_MANIFEST_VERSION 1u
/* Largest manifest file that is read. */
#define UGST_MANIFEST_MAX_BYTES (64 * UGST_MIB)

struct ugst_manifest_volume {
	struct ugst_volume_record record;
	uint64_t label_sequence; /* at publication; an older label is stale */
	char *path;              /* where it was: a hint only */
};

/* One copy of a shard. Physical byte = volume start + base_lba x lba_bytes +
 * lead_bytes + file offset. */
struct ugst_manifest_copy {
	uint32_t volume; /* into volumes */
	uint32_t lead_bytes;
	uint64_t object_id;
	uint64_t base_lba;
	uint32_t lba_bytes; /* the object's */
};

struct ugst_manifest_shard {
	char *name;
	uint64_t bytes;      /* of the unchanged shard */
	uint64_t json_bytes; /* N: its header is 8 + N bytes */
	struct ugst_hash header_hash;
	struct ugst_hash hash;
	/* Tensors of the shard, as indexes in file order, that the index does
	 * not list: sorted, not part of the checkpoint. */
	uint64_t *left_out;
	size_t left_out_count;
	struct ugst_manifest_copy *copies;
	size_t copy_count;
};

struct ugst_manifest {
	struct ugst_uuid checkpoint;
	char *model;
	uint64_t generation;
	char *created; /* RFC 3339, UTC */
	char *tool;    /* "ugds-st-import 0.1.0" */
	size_t volume_count;
	struct ugst_manifest_volume *volumes;
	size_t shard_count;
	struct ugst_manifest_shard *shards;
};

/*
 * ugst_manifest_parse() - parse and check a manifest.
 *
 * Checks types, ranges, that volume UUIDs are distinct, that every copy lies
 * inside its volume, and that header and shard sizes agree.
 *
 * @manifest_out: written on OK only; free with ugst_manifest_free().
 * Return: OK; FORMAT; UNSUPPORTED (major version); NO_MEMORY.
 */
int ugst_manifest_parse(const char *json, size_t json_bytes,
                        struct ugst_manifest *manifest_out,
                        struct ugds_st_error *err);

int ugst_manifest_print(const struct ugst_manifest *manifest, char **json_out,
                        size_t *bytes_out, struct ugds_st_error *err);

/* A zeroed manifest is fine. */
void ugst_manifest_free(struct ugst_manifest *manifest);

#endif /* UGST_MANIFEST_H */
