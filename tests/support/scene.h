/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * scene.h - a folder with checkpoints, volume files and manifests, for tests of
 * the importer. What it checks it reads with plain system calls.
 */
#ifndef TEST_SCENE_H
#define TEST_SCENE_H

#include "base/common.h"
#include "import/env.h"
#include "pure/manifest.h"
#include "ugds_st_import.h"

#define SCENE_VOLUMES_MAX 4u

struct scene {
	char *dir;
	struct ugst_import_env env;
	const char *devices[SCENE_VOLUMES_MAX];
	size_t device_count;
	uint32_t flags;  /* of imports */
	uint32_t copies; /* likewise */
	struct ugds_st_error err;
	struct ugds_st_import_result result;
	char notes[4096]; /* a line each */
};

/* Makes a folder under TMPDIR or /tmp; fails the test if it cannot. */
struct scene *scene_new(void);
void scene_free(struct scene *scene);

/* A path in the folder, kept until scene_free(). */
const char *scene_path(struct scene *scene, const char *name);

/*
 * A shard with one U8 tensor of data_bytes, made from seed; its header is as
 * long as name_bytes of tensor name make it. Replaces what is there.
 */
void scene_shard(struct scene *scene, const char *path, uint64_t seed,
                 size_t name_bytes, size_t data_bytes);

/* A folder of count shards with an index; shard i is made from seed + i and
 * has data_bytes + 1000 x i. Return: its path. */
const char *scene_checkpoint(struct scene *scene, const char *name,
                             uint64_t seed, unsigned count, size_t data_bytes);

/* Path of shard i of count in a checkpoint. */
const char *scene_shard_path(struct scene *scene, const char *checkpoint,
                             unsigned i, unsigned count);

/* Format a volume file and add it to devices. Return: its path. */
const char *scene_volume(struct scene *scene, const char *name, uint64_t bytes);

/* Import to all devices; result and err are the scene's. */
int scene_import(struct scene *scene, const char *manifest,
                 const char *checkpoint);

/* Parse a manifest; it must be there. */
struct ugst_manifest scene_manifest(const char *path);

/* Every copy of every shard of the manifest is on its volume, byte for byte as
 * in the checkpoint; lead and padding are zeros. false: not so, said on stderr.
 */
bool scene_holds(struct scene *scene, const char *manifest,
                 const char *checkpoint);

/* A whole file; free() it. NULL: there is none. */
char *scene_slurp(const char *path, size_t *bytes_out);
void scene_write(const char *path, const void *data, size_t bytes);

/* Records of all volumes in devices with this state (committed: 1, pending: 0),
 * and objects. */
size_t scene_records(struct scene *scene, int committed);
size_t scene_objects(struct scene *scene);

#endif /* TEST_SCENE_H */
