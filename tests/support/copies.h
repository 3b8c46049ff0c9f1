/* SPDX-License-Identifier: BSD-3-Clause */
/* copies.h - what tests of imports of several copies share. */
#ifndef TEST_COPIES_H
#define TEST_COPIES_H

#include "support/check.h"
#include "support/scene.h"

#define COPIES_SHARDS 3u

/* The reader's verdict: opens, and every copy has the right hash. */
static inline void copies_read_back(struct scene *scene)
{
	ugds_st_store *store;

	assert_ok(
		ugds_st_open(scene_path(scene, "m"), NULL, &store, &scene->err),
		scene->err);
	assert_ok(ugds_st_verify(store, NULL, NULL, &scene->err), scene->err);
	assert_ok(ugds_st_close(store, 0, &scene->err), scene->err);
}

/* The manifest names so many copies of each shard, on different volumes, and
 * all are there. */
static inline void copies_check(struct scene *scene, size_t count)
{
	struct ugst_manifest manifest = scene_manifest(scene_path(scene, "m"));

	for (size_t i = 0; i < manifest.shard_count; i++) {
		const struct ugst_manifest_shard *shard = &manifest.shards[i];

		assert_int_equal(shard->copy_count, count);
		for (size_t k = 0; k < count; k++)
			for (size_t other = 0; other < k; other++)
				assert_int_not_equal(
					shard->copies[k].volume,
					shard->copies[other].volume);
	}
	ugst_manifest_free(&manifest);
	assert_true(scene_holds(scene, "m", "c"));
	copies_read_back(scene);
}

/* Volumes v and w, and a checkpoint c. */
static inline void copies_scene(struct scene *scene)
{
	scene_volume(scene, "v", 32 * UGST_MIB);
	scene_volume(scene, "w", 32 * UGST_MIB);
	scene_checkpoint(scene, "c", 1, COPIES_SHARDS, 100000);
}

/* The volumes that have a copy of shard 0, as letters. */
static inline void copies_check_places(struct scene *scene,
                                       const char *manifest, const char *names)
{
	struct ugst_manifest document =
		scene_manifest(scene_path(scene, manifest));
	const struct ugst_manifest_shard *shard = &document.shards[0];

	assert_int_equal(shard->copy_count, strlen(names));
	for (size_t i = 0; i < shard->copy_count; i++) {
		const char *path =
			document.volumes[shard->copies[i].volume].path;

		assert_non_null(strchr(names, path[strlen(path) - 1]));
	}
	ugst_manifest_free(&document);
}

#endif /* TEST_COPIES_H */
