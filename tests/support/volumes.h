/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * volumes.h - a random checkpoint on volume files, made without the importer.
 *
 * Shards with random headers and bytes are kept in memory as well, so that a
 * test can compare what it reads. Tensors have odd sizes and places.
 */
#ifndef TEST_VOLUMES_H
#define TEST_VOLUMES_H

#include "base/common.h"
#include "pure/label.h"
#include "pure/manifest.h"

struct volumes_shape {
	uint64_t seed;
	unsigned volume_count; /* 1 to 4 */
	unsigned copy_count;   /* of each shard, on different volumes; 0: 1 */
	unsigned shard_count;
	unsigned tensor_count; /* of each shard */
	uint64_t max_tensor_bytes;
	bool lead; /* data sections at multiples of 4096, else anywhere */
	uint64_t hole_bytes; /* before the first object; a multiple of 1 MiB */
};

struct volumes_shard {
	char *bytes;
	uint64_t volume_off; /* of the first copy's first byte */
	unsigned volume;     /* the others are on the next ones */
};

struct volumes {
	char *dir;
	char *manifest;
	char *devices[4];
	struct ugst_manifest document; /* as published */
	struct ugst_label labels[4];   /* as written */
	struct volumes_shard *shards;
};

/* Makes a folder under TMPDIR or /tmp; fails the test if it cannot. */
struct volumes *volumes_new(const struct volumes_shape *shape);

/* Write document and labels again, after a test has changed them. */
void volumes_publish(struct volumes *volumes);
void volumes_write_label(struct volumes *volumes, unsigned volume);

/* The bytes a tensor must have. */
const void *volumes_expected(const struct volumes *volumes,
                             const ugds_st_tensor *tensor);

/* Remove the folder. */
void volumes_free(struct volumes *volumes);

#endif /* TEST_VOLUMES_H */
