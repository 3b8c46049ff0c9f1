/* SPDX-License-Identifier: BSD-3-Clause */
/* test_drop.c - prune and remove: what goes, what stays, what is refused. */
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

static struct ugds_st_import_drop_result dropped;

static int drop(struct scene *scene, bool remove, const char *manifest,
                bool devices)
{
	struct ugds_st_import_drop_opts opts = UGDS_ST_IMPORT_DROP_OPTS_INIT;

	opts.manifest = scene_path(scene, manifest);
	if (devices) {
		opts.devices = scene->devices;
		opts.device_count = scene->device_count;
	}
	dropped.struct_size = sizeof(dropped);
	return ugst_drop(&scene->env, remove, &opts, &dropped, &scene->err);
}

static int drop_uuid(struct scene *scene, const uint8_t uuid[16])
{
	struct ugds_st_import_drop_opts opts = UGDS_ST_IMPORT_DROP_OPTS_INIT;

	memcpy(opts.checkpoint_uuid, uuid, 16);
	opts.devices = scene->devices;
	opts.device_count = scene->device_count;
	dropped.struct_size = sizeof(dropped);
	return ugst_drop(&scene->env, true, &opts, &dropped, &scene->err);
}

/* Checkpoint "d": as "c", but shard 1 of 3. */
static void make_c_and_d(struct scene *scene)
{
	scene_checkpoint(scene, "c", 1, 3, 100000);
	scene_checkpoint(scene, "d", 1, 3, 100000);
	scene_shard(scene,
	            scene_shard_path(scene, scene_path(scene, "d"), 1, 3), 2002,
	            17, 101000);
}

static void prune_after_update(void **state)
{
	struct scene *scene = *state;

	scene_volume(scene, "v", 16 * UGST_MIB);
	make_c_and_d(scene);
	assert_ok(scene_import(scene, "m", "c"), scene->err);
	assert_ok(scene_import(scene, "m", "d"), scene->err);
	assert_int_equal(scene_objects(scene), 4);
	assert_ok(drop(scene, false, "m", false), scene->err);
	assert_int_equal(dropped.record_count, 1);
	assert_int_equal(dropped.object_count, 1);
	/* 2070 or so of lead, 101,000 and the header, in pages. */
	assert_int_equal(dropped.freed_bytes, 106496);
	assert_int_equal(scene_objects(scene), 3);
	assert_int_equal(scene_records(scene, 1), 1);
	assert_true(scene_holds(scene, "m", "d"));
	/* The freed gap is used again, first fit. */
	assert_ok(scene_import(scene, "m", "c"), scene->err);
	assert_int_equal(scene->result.copied_count, 1);
	assert_int_equal(scene->result.generation, 3);
	assert_true(scene_holds(scene, "m", "c"));
	/* Nothing to do: nothing is written. */
	assert_ok(drop(scene, false, "m", true), scene->err);
	assert_ok(drop(scene, false, "m", true), scene->err);
	assert_int_equal(dropped.record_count, 0);
	assert_true(scene_holds(scene, "m", "c"));
}

/* Two models share two shards: each goes without the other's. */
static void shared_shards_stay(void **state)
{
	struct scene *scene = *state;

	scene_volume(scene, "v", 16 * UGST_MIB);
	make_c_and_d(scene);
	assert_ok(scene_import(scene, "mc", "c"), scene->err);
	assert_ok(scene_import(scene, "md", "d"), scene->err);
	assert_int_equal(scene_objects(scene), 4);
	assert_ok(drop(scene, true, "mc", false), scene->err);
	assert_int_equal(dropped.object_count, 1);
	assert_int_equal(access(scene_path(scene, "mc"), F_OK), -1);
	assert_int_equal(scene_objects(scene), 3);
	assert_true(scene_holds(scene, "md", "d"));
	assert_ok(drop(scene, true, "md", false), scene->err);
	assert_int_equal(scene_objects(scene), 0);
	assert_int_equal(scene_records(scene, 1), 0);
}

/* Two checkpoints of one name are two checkpoints. */
static void one_name(void **state)
{
	struct scene *scene = *state;

	scene_volume(scene, "v", 16 * UGST_MIB);
	scene_checkpoint(scene, "c", 1, 2, 1000);
	assert_ok(scene_import(scene, "m1", "c"), scene->err);
	scene_checkpoint(scene, "c", 50, 2, 1000);
	assert_ok(scene_import(scene, "m2", "c"), scene->err);
	assert_int_equal(scene->result.generation, 1);
	assert_ok(drop(scene, false, "m2", false), scene->err);
	assert_int_equal(dropped.record_count, 0);
	assert_ok(drop(scene, true, "m1", false), scene->err);
	assert_true(scene_holds(scene, "m2", "c"));
}

static void remove_without_manifest(void **state)
{
	struct scene *scene = *state;
	uint8_t uuid[16];

	scene_volume(scene, "v", 16 * UGST_MIB);
	scene_checkpoint(scene, "c", 1, 2, 1000);
	assert_ok(scene_import(scene, "m", "c"), scene->err);
	memcpy(uuid, scene->result.checkpoint_uuid, 16);
	assert_int_equal(unlink(scene_path(scene, "m")), 0);
	assert_ok(drop_uuid(scene, uuid), scene->err);
	assert_int_equal(dropped.record_count, 1);
	assert_int_equal(dropped.object_count, 2);
	check_fails(drop_uuid(scene, uuid), UGDS_ST_NOT_FOUND, scene->err,
	            "found none");
}

/* A copy of an older manifest must not free what the newer one needs. */
static void old_manifest(void **state)
{
	struct scene *scene = *state;

	scene_volume(scene, "v", 16 * UGST_MIB);
	make_c_and_d(scene);
	assert_ok(scene_import(scene, "m", "c"), scene->err);
	assert_int_equal(
		link(scene_path(scene, "m"), scene_path(scene, "copy")), 0);
	assert_ok(scene_import(scene, "m", "d"), scene->err);
	check_fails(drop(scene, false, "copy", true), UGDS_ST_MISMATCH,
	            scene->err, "an old manifest: expected generation 2");
	assert_true(scene_holds(scene, "copy", "c"));
	assert_true(scene_holds(scene, "m", "d"));
}

static void missing_volume(void **state)
{
	struct scene *scene = *state;

	scene_volume(scene, "v", 16 * UGST_MIB);
	scene_volume(scene, "w", 16 * UGST_MIB);
	scene_checkpoint(scene, "c", 1, 4, 1000);
	assert_ok(scene_import(scene, "m", "c"), scene->err);
	scene->device_count = 1;
	check_fails(drop(scene, true, "m", true), UGDS_ST_NOT_FOUND, scene->err,
	            "among the devices");
	assert_int_equal(access(scene_path(scene, "m"), F_OK), 0);
	check_fails(drop(scene, true, "absent", true), UGDS_ST_NOT_FOUND,
	            scene->err, "absent");
	assert_ok(drop(scene, true, "m", false), scene->err);
	scene->device_count = 2;
	assert_int_equal(scene_objects(scene), 0);
}

/* A reader in this process, then a mere descriptor. */
static void readers_keep_blocks(void **state)
{
	struct scene *scene = *state;
	const char *v = scene_volume(scene, "v", 16 * UGST_MIB);
	ugds_st_store *store;
	int fd;

	make_c_and_d(scene);
	assert_ok(scene_import(scene, "m", "c"), scene->err);
	assert_ok(
		ugds_st_open(scene_path(scene, "m"), NULL, &store, &scene->err),
		scene->err);
	/* Importing beside a reader is fine; it keeps its generation. */
	assert_ok(scene_import(scene, "m", "d"), scene->err);
	check_fails(drop(scene, false, "m", true), UGDS_ST_BUSY, scene->err,
	            "expected no reader, found process");
	check_fails(drop(scene, true, "m", true), UGDS_ST_BUSY, scene->err,
	            "test_drop");
	assert_ok(ugds_st_verify(store, NULL, NULL, &scene->err), scene->err);
	assert_ok(ugds_st_close(store, 0, &scene->err), scene->err);
	fd = open(v, O_RDONLY | O_CLOEXEC);
	check_fails(drop(scene, false, "m", true), UGDS_ST_BUSY, scene->err,
	            "nobody has open, found process");
	(void)close(fd);
	assert_ok(drop(scene, false, "m", true), scene->err);
	assert_true(scene_holds(scene, "m", "d"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(prune_after_update, enter,
	                                        leave),
		cmocka_unit_test_setup_teardown(shared_shards_stay, enter,
	                                        leave),
		cmocka_unit_test_setup_teardown(one_name, enter, leave),
		cmocka_unit_test_setup_teardown(remove_without_manifest, enter,
	                                        leave),
		cmocka_unit_test_setup_teardown(old_manifest, enter, leave),
		cmocka_unit_test_setup_teardown(missing_volume, enter, leave),
		cmocka_unit_test_setup_teardown(readers_keep_blocks, enter,
	                                        leave),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
