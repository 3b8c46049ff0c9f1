/* SPDX-License-Identifier: BSD-3-Clause */
/* test_import_meanwhile.c - what changes while it is imported, or is put where
 * the manifest is to be. */
#include "support/check.h"

#include <fcntl.h>
#include <unistd.h>

#include "import/import.h"
#include "support/scene.h"

static int enter(void **state)
{
	*state = scene_new();
	return 0;
}

static int leave(void **state)
{
	scene_free(*state);
	return 0;
}

/* A step of a run under way, taken when the first bytes have moved. */
static struct {
	struct scene *scene;
	void (*step)(struct scene *scene);
} intruder;

static void intrude(void *ctx, uint64_t done_bytes, uint64_t all_bytes)
{
	(void)ctx;
	assert_true(done_bytes <= all_bytes);
	if (intruder.step)
		intruder.step(intruder.scene);
	intruder.step = NULL;
}

static int import_with(struct scene *scene, void (*step)(struct scene *scene))
{
	struct ugds_st_import_opts opts = UGDS_ST_IMPORT_OPTS_INIT;

	intruder.scene = scene;
	intruder.step = step;
	opts.checkpoint = scene_path(scene, "c");
	opts.manifest = scene_path(scene, "m");
	opts.devices = scene->devices;
	opts.device_count = scene->device_count;
	opts.progress = intrude;
	return ugst_import(&scene->env, &opts, &scene->result, &scene->err);
}

static const char *first_shard(struct scene *scene)
{
	return scene_shard_path(scene, scene_path(scene, "c"), 0, 2);
}

static void write_into(struct scene *scene)
{
	int fd = open(first_shard(scene), O_WRONLY | O_CLOEXEC);

	assert_int_equal(pwrite(fd, "x", 1, 9000000), 1);
	(void)close(fd);
}

static void cut_off(struct scene *scene)
{
	assert_int_equal(truncate(first_shard(scene), 5000001), 0);
}

static void put_another(struct scene *scene)
{
	scene_shard(scene, scene_path(scene, "new"), 7, 10, 20000000);
	assert_int_equal(rename(scene_path(scene, "new"), first_shard(scene)),
	                 0);
}

static void grow(struct scene *scene)
{
	assert_int_equal(truncate(first_shard(scene), 30000000), 0);
}

/* A source that changes while it is read: refused, the old model stays. */
static void source_changes(void **state)
{
	static void (*const steps[])(struct scene *) = {write_into, cut_off,
	                                                grow, put_another};
	struct scene *scene = *state;

	scene_volume(scene, "v", 200 * UGST_MIB);
	scene_checkpoint(scene, "c", 1, 2, 1000);
	assert_ok(scene_import(scene, "m", "c"), scene->err);
	for (size_t i = 0; i < UGST_COUNT(steps); i++) {
		scene_checkpoint(scene, "c", 10 + i, 2, 20000000);
		check_fails(import_with(scene, steps[i]), UGDS_ST_MISMATCH,
		            scene->err, "changed while it was imported");
		scene_checkpoint(scene, "c", 1, 2, 1000);
		assert_true(scene_holds(scene, "m", "c"));
	}
}

static void put_notes(struct scene *scene)
{
	(void)unlink(scene_path(scene, "m"));
	scene_write(scene_path(scene, "m"), "notes", 5);
}

static void put_old(struct scene *scene)
{
	assert_int_equal(
		rename(scene_path(scene, "m1"), scene_path(scene, "m")), 0);
}

/* Something else appears at the manifest's path during the run: it stays. */
static void manifest_changes(void **state)
{
	struct scene *scene = *state;
	struct ugst_manifest manifest;
	size_t bytes;
	char *text;

	scene_volume(scene, "v", 64 * UGST_MIB);
	scene_checkpoint(scene, "c", 1, 2, 1000);
	check_fails(import_with(scene, put_notes), UGDS_ST_MISMATCH, scene->err,
	            "expected a manifest");
	text = scene_slurp(scene_path(scene, "m"), &bytes);
	assert_string_equal(text, "notes");
	free(text);
	assert_int_equal(unlink(scene_path(scene, "m")), 0);

	assert_ok(scene_import(scene, "m", "c"), scene->err);
	assert_int_equal(link(scene_path(scene, "m"), scene_path(scene, "m1")),
	                 0);
	scene_checkpoint(scene, "c", 30, 2, 1000);
	assert_ok(scene_import(scene, "m", "c"), scene->err);
	scene_checkpoint(scene, "c", 60, 2, 1000);
	check_fails(import_with(scene, put_old), UGDS_ST_MISMATCH, scene->err,
	            "another manifest, which stays");
	manifest = scene_manifest(scene_path(scene, "m"));
	assert_int_equal(manifest.generation, 1);
	ugst_manifest_free(&manifest);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(source_changes, enter, leave),
		cmocka_unit_test_setup_teardown(manifest_changes, enter, leave),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
