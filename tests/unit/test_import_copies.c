/* SPDX-License-Identifier: BSD-3-Clause */
/* test_import_copies.c - imports of several copies of each shard. */
#include "support/copies.h"

#include <stddef.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/le.h"
#include "import/edit.h"
#include "import/import.h"
#include "import/volume.h"

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

/* Bytes of the checkpoint's files. */
static uint64_t source_bytes(struct scene *scene)
{
	uint64_t bytes = 0;

	for (unsigned i = 0; i < COPIES_SHARDS; i++) {
		struct stat status;

		assert_int_equal(
			stat(scene_shard_path(scene, scene_path(scene, "c"), i,
		                              COPIES_SHARDS),
		             &status),
			0);
		bytes += (uint64_t)status.st_size;
	}
	return bytes;
}

static void two_copies(void **state)
{
	struct scene *scene = *state;
	struct ugst_manifest manifest;

	copies_scene(scene);
	scene->copies = 2;
	scene->flags = UGDS_ST_IMPORT_VERIFY;
	assert_ok(scene_import(scene, "m", "c"), scene->err);
	assert_int_equal(scene->result.shard_count, COPIES_SHARDS);
	assert_int_equal(scene->result.copied_count, 2 * COPIES_SHARDS);
	assert_int_equal(scene->result.copied_bytes, 2 * source_bytes(scene));
	assert_int_equal(scene->result.reused_count, 0);
	assert_int_equal(scene->result.reused_bytes, 0);
	assert_int_equal(scene_objects(scene), 2 * COPIES_SHARDS);
	assert_int_equal(scene_records(scene, 1), 2);
	assert_int_equal(scene_records(scene, 0), 0);
	copies_check(scene, 2);
	/* docs/format.md, section 6: each begins with another. */
	manifest = scene_manifest(scene_path(scene, "m"));
	assert_int_equal(manifest.volume_count, 2);
	for (size_t i = 0; i < COPIES_SHARDS; i++)
		assert_int_equal(manifest.shards[i].copies[0].volume, i % 2);
	ugst_manifest_free(&manifest);
}

static void three_copies(void **state)
{
	struct scene *scene = *state;
	struct ugst_manifest manifest;
	size_t first[3] = {0};

	copies_scene(scene);
	scene_volume(scene, "x", 32 * UGST_MIB);
	scene->copies = 3;
	assert_ok(scene_import(scene, "m", "c"), scene->err);
	assert_int_equal(scene->result.copied_count, 3 * COPIES_SHARDS);
	copies_check(scene, 3);
	manifest = scene_manifest(scene_path(scene, "m"));
	for (size_t i = 0; i < COPIES_SHARDS; i++)
		first[manifest.shards[i].copies[0].volume]++;
	for (size_t i = 0; i < 3; i++)
		assert_int_equal(first[i], 1);
	ugst_manifest_free(&manifest);
}

static void nothing_changed(void **state)
{
	struct scene *scene = *state;
	const char *swapped;
	size_t bytes;
	char *before[3];
	char *after[3];

	copies_scene(scene);
	scene->copies = 2;
	assert_ok(scene_import(scene, "m", "c"), scene->err);
	before[0] = scene_slurp(scene_path(scene, "m"), &bytes);
	before[1] = scene_slurp(scene_path(scene, "v"), &bytes);
	before[2] = scene_slurp(scene_path(scene, "w"), &bytes);
	for (int i = 0; i < 2; i++) {
		assert_ok(scene_import(scene, "m", "c"), scene->err);
		assert_int_equal(scene->result.published, 0);
		assert_int_equal(scene->result.generation, 1);
		assert_int_equal(scene->result.copied_count, 0);
		assert_int_equal(scene->result.reused_count, 2 * COPIES_SHARDS);
		assert_int_equal(scene->result.reused_bytes,
		                 2 * source_bytes(scene));
		/* In whatever order they are given. */
		swapped = scene->devices[0];
		scene->devices[0] = scene->devices[1];
		scene->devices[1] = swapped;
	}
	after[0] = scene_slurp(scene_path(scene, "m"), &bytes);
	assert_string_equal(before[0], after[0]);
	after[1] = scene_slurp(scene_path(scene, "v"), &bytes);
	assert_memory_equal(before[1], after[1], bytes);
	after[2] = scene_slurp(scene_path(scene, "w"), &bytes);
	assert_memory_equal(before[2], after[2], bytes);
	for (int i = 0; i < 3; i++) {
		free(before[i]);
		free(after[i]);
	}
}

static void remove_checkpoint(struct scene *scene, const char *manifest)
{
	struct ugds_st_import_drop_opts opts = UGDS_ST_IMPORT_DROP_OPTS_INIT;

	opts.manifest = scene_path(scene, manifest);
	assert_ok(ugst_drop(&scene->env, true, &opts, NULL, &scene->err),
	          scene->err);
}

/* Most free space first; but space in pieces is no place. */
static void volumes_with_room(void **state)
{
	static const char *const pieces[] = {"0", "1", "2", "3", "4", "5"};
	struct scene *scene = *state;

	/* Six places of 1 MiB, every second one taken. */
	scene_volume(scene, "v", 15 * UGST_MIB);
	for (size_t i = 0; i < UGST_COUNT(pieces); i++) {
		scene_shard(scene, scene_path(scene, "p.safetensors"), 100 + i,
		            5, 1000);
		assert_ok(scene_import(scene, pieces[i], "p.safetensors"),
		          scene->err);
	}
	for (size_t i = 0; i < UGST_COUNT(pieces); i += 2)
		remove_checkpoint(scene, pieces[i]);
	/* Less free space, all in one piece. */
	scene_volume(scene, "w", 11 * UGST_MIB);
	scene_volume(scene, "x", 11 * UGST_MIB);
	scene->copies = 2;
	scene_shard(scene, scene_path(scene, "a.safetensors"), 1, 5, 1500000);
	assert_ok(scene_import(scene, "m", "a.safetensors"), scene->err);
	copies_check_places(scene, "m", "wx");
	/* w and x are full: there is room for one copy, and for no second. */
	scene_shard(scene, scene_path(scene, "b.safetensors"), 2, 5, 1000);
	check_fails(scene_import(scene, "n", "b.safetensors"), UGDS_ST_NO_SPACE,
	            scene->err, "wanted 8192 bytes, free 0, largest gap 0");
	remove_checkpoint(scene, "m");
	scene_volume(scene, "y", 16 * UGST_MIB);
	assert_ok(scene_import(scene, "n", "b.safetensors"), scene->err);
	copies_check_places(scene, "n", "yv");
}

/* One volume has room, the other has not: refused before the first write. */
static void one_has_no_room(void **state)
{
	struct scene *scene = *state;
	char *before[2];
	size_t bytes;

	scene_volume(scene, "v", 32 * UGST_MIB);
	scene_volume(scene, "w", 10 * UGST_MIB);
	scene_checkpoint(scene, "c", 1, COPIES_SHARDS, 1100000);
	before[0] = scene_slurp(scene_path(scene, "v"), &bytes);
	before[1] = scene_slurp(scene_path(scene, "w"), &bytes);
	scene->copies = 2;
	check_fails(scene_import(scene, "m", "c"), UGDS_ST_NO_SPACE, scene->err,
	            "wanted 1105920 bytes, free 1048576, largest gap 1048576");
	assert_non_null(strstr(scene->err.text, scene_path(scene, "w")));
	assert_non_null(
		strstr(scene->err.text,
	               "model-00001-of-00003.safetensors: copy 2 of 2: "));
	for (size_t i = 0; i < 2; i++) {
		char *after = scene_slurp(scene->devices[i], &bytes);

		assert_memory_equal(before[i], after, bytes);
		free(before[i]);
		free(after);
	}
	assert_int_equal(access(scene_path(scene, "m"), F_OK), -1);
	scene->copies = 1;
	assert_ok(scene_import(scene, "m", "c"), scene->err);
}

/* Said before anything is looked at: checkpoint and device do not exist. */
static void more_copies_than_devices(void **state)
{
	struct scene *scene = *state;

	scene->devices[scene->device_count++] = scene_path(scene, "absent");
	scene->copies = 2;
	check_fails(scene_import(scene, "m", "absent"), UGDS_ST_INVALID_ARG,
	            scene->err, "found 1 for 2 copies");
	scene->copies = 1;
	check_fails(scene_import(scene, "m", "absent"), UGDS_ST_NOT_FOUND,
	            scene->err, "absent");
}

/* A program that was compiled before there were copies. */
static void older_struct(void **state)
{
	struct scene *scene = *state;
	struct ugds_st_import_opts opts = UGDS_ST_IMPORT_OPTS_INIT;

	copies_scene(scene);
	opts.struct_size = offsetof(struct ugds_st_import_opts, copies);
	opts.checkpoint = scene_path(scene, "c");
	opts.manifest = scene_path(scene, "m");
	opts.devices = scene->devices;
	opts.device_count = scene->device_count;
	opts.copies = 77; /* whatever lies behind it */
	assert_ok(ugst_import(&scene->env, &opts, &scene->result, &scene->err),
	          scene->err);
	copies_check(scene, 1);
}

/* 1, then 2, then 1 again; prune frees what nobody needs. */
static void other_number(void **state)
{
	struct scene *scene = *state;
	struct ugds_st_import_drop_opts opts = UGDS_ST_IMPORT_DROP_OPTS_INIT;
	struct ugds_st_import_drop_result dropped = {.struct_size =
	                                                     sizeof(dropped)};
	struct ugst_manifest manifest;
	size_t on[2] = {0};

	copies_scene(scene);
	assert_ok(scene_import(scene, "m", "c"), scene->err);
	copies_check(scene, 1);
	scene->copies = 2;
	assert_ok(scene_import(scene, "m", "c"), scene->err);
	assert_int_equal(scene->result.generation, 2);
	assert_int_equal(scene->result.published, 1);
	assert_int_equal(scene->result.copied_count, COPIES_SHARDS);
	assert_int_equal(scene->result.reused_count, COPIES_SHARDS);
	assert_int_equal(scene->result.copied_bytes, source_bytes(scene));
	assert_int_equal(scene->result.reused_bytes, source_bytes(scene));
	assert_int_equal(scene_objects(scene), 2 * COPIES_SHARDS);
	copies_check(scene, 2);
	scene->copies = 1;
	assert_ok(scene_import(scene, "m", "c"), scene->err);
	assert_int_equal(scene->result.generation, 3);
	assert_int_equal(scene->result.published, 1);
	assert_int_equal(scene->result.copied_count, 0);
	assert_int_equal(scene->result.reused_count, COPIES_SHARDS);
	copies_check(scene, 1);
	/* What is left is spread, as what was listed first was. */
	manifest = scene_manifest(scene_path(scene, "m"));
	assert_int_equal(manifest.volume_count, 2);
	for (size_t i = 0; i < COPIES_SHARDS; i++)
		on[manifest.shards[i].copies[0].volume]++;
	assert_int_equal(on[0], 2);
	assert_int_equal(on[1], 1);
	ugst_manifest_free(&manifest);
	opts.manifest = scene_path(scene, "m");
	assert_ok(ugst_drop(&scene->env, false, &opts, &dropped, &scene->err),
	          scene->err);
	assert_int_equal(dropped.record_count, 4); /* 1 and 2, on both */
	assert_int_equal(dropped.object_count, COPIES_SHARDS);
	assert_int_equal(scene_objects(scene), COPIES_SHARDS);
	copies_check(scene, 1);
	assert_ok(scene_import(scene, "m", "c"), scene->err);
	assert_int_equal(scene->result.published, 0);
}

/* All that the one volume has is as the manifest says; the manifest is not. */
static void other_number_on_one_device(void **state)
{
	struct scene *scene = *state;

	copies_scene(scene);
	scene->copies = 2;
	assert_ok(scene_import(scene, "m", "c"), scene->err);
	scene->device_count = 1;
	scene->copies = 1;
	assert_ok(scene_import(scene, "m", "c"), scene->err);
	assert_int_equal(scene->result.generation, 2);
	assert_int_equal(scene->result.reused_count, COPIES_SHARDS);
	copies_check(scene, 1);
	copies_check_places(scene, "m", "v");
}

/* Shards with the same bytes on one volume are no copies of each other. */
static void shards_alike(void **state)
{
	static const char header[] = "{\"a\":{\"dtype\":\"U8\",\"shape\":[1],"
				     "\"data_offsets\":[0,1]},"
				     "\"b\":{\"dtype\":\"U8\",\"shape\":[1],"
				     "\"data_offsets\":[1,2]}}xy";
	static const char index[] = "{\"weight_map\":{\"a\":\"1.safetensors\","
				    "\"b\":\"2.safetensors\"}}";
	struct scene *scene = *state;
	char shard[8 + sizeof(header) - 1];

	scene_volume(scene, "v", 32 * UGST_MIB);
	assert_int_equal(mkdir(scene_path(scene, "c"), 0777), 0);
	ugst_put_le64(shard, sizeof(header) - 3);
	memcpy(shard + 8, header, sizeof(header) - 1);
	scene_write(scene_path(scene, "c/1.safetensors"), shard, sizeof(shard));
	scene_write(scene_path(scene, "c/2.safetensors"), shard, sizeof(shard));
	scene_write(scene_path(scene, "c/model.safetensors.index.json"), index,
	            sizeof(index) - 1);
	assert_ok(scene_import(scene, "m", "c"), scene->err);
	assert_int_equal(scene->result.copied_count, 2);
	scene_volume(scene, "w", 32 * UGST_MIB);
	scene->copies = 2;
	assert_ok(scene_import(scene, "m", "c"), scene->err);
	assert_int_equal(scene->result.copied_count, 2);
	assert_int_equal(scene->result.reused_count, 2);
	copies_check(scene, 2);
}

/* As if the volume were on the drive with this serial number. */
static void put_on_drive(struct scene *scene, size_t device, const char *serial)
{
	struct ugst_catalog catalog = {0};
	struct ugst_volume *volume;

	assert_ok(ugst_volume_open(&scene->env, scene->devices[device], true,
	                           &volume, &scene->err),
	          scene->err);
	assert_ok(ugst_volume_load(volume, &scene->err), scene->err);
	assert_ok(ugst_catalog_copy(&volume->label.catalog, &catalog,
	                            &scene->err),
	          scene->err);
	catalog.volume.identity =
		(struct ugst_identity){.known = true, .nsid = 1};
	(void)snprintf(catalog.volume.identity.serial,
	               sizeof(catalog.volume.identity.serial), "%s", serial);
	assert_ok(ugst_volume_commit(volume, &catalog, &scene->err),
	          scene->err);
	ugst_catalog_free(&catalog);
	ugst_volume_close(volume);
}

/* Volumes that share a drive are lost together, and uGDS sees one of them: that
 * is said, and done all the same. */
static void volumes_on_one_drive(void **state)
{
	struct scene *scene = *state;

	copies_scene(scene);
	scene_volume(scene, "x", 32 * UGST_MIB);
	put_on_drive(scene, 0, "one");
	put_on_drive(scene, 1, "two");
	put_on_drive(scene, 2, "one");
	scene->copies = 3;
	assert_ok(scene_import(scene, "m", "c"), scene->err);
	assert_non_null(strstr(scene->notes, "on one drive"));
	assert_non_null(strstr(scene->notes, scene->devices[0]));
	assert_non_null(strstr(scene->notes, scene->devices[2]));
	assert_null(strstr(scene->notes, scene->devices[1]));
	/* Not where the other one has nothing of it. */
	scene->notes[0] = '\0';
	scene->device_count = 2;
	scene->copies = 2;
	assert_ok(scene_import(scene, "m", "c"), scene->err);
	assert_string_equal(scene->notes, "");
}

static void remove_takes_all(void **state)
{
	struct scene *scene = *state;

	copies_scene(scene);
	scene->copies = 2;
	assert_ok(scene_import(scene, "m", "c"), scene->err);
	remove_checkpoint(scene, "m");
	assert_int_equal(scene_objects(scene), 0);
	assert_int_equal(scene_records(scene, 1), 0);
	assert_int_equal(access(scene_path(scene, "m"), F_OK), -1);
}

/* A copy on a volume that another checkpoint put there is a copy. */
static void copy_of_another_checkpoint(void **state)
{
	struct scene *scene = *state;

	copies_scene(scene);
	assert_ok(scene_import(scene, "other", "c"), scene->err);
	scene->copies = 2;
	assert_ok(scene_import(scene, "m", "c"), scene->err);
	assert_int_equal(scene->result.copied_count, COPIES_SHARDS);
	assert_int_equal(scene->result.reused_count, COPIES_SHARDS);
	copies_check(scene, 2);
	remove_checkpoint(scene, "other");
	copies_check(scene, 2);
	assert_int_equal(scene_objects(scene), 2 * COPIES_SHARDS);
}

#define COPIES_TEST(name) cmocka_unit_test_setup_teardown(name, enter, leave)

int main(void)
{
	const struct CMUnitTest tests[] = {
		COPIES_TEST(two_copies),
		COPIES_TEST(three_copies),
		COPIES_TEST(nothing_changed),
		COPIES_TEST(volumes_with_room),
		COPIES_TEST(one_has_no_room),
		COPIES_TEST(more_copies_than_devices),
		COPIES_TEST(older_struct),
		COPIES_TEST(other_number),
		COPIES_TEST(other_number_on_one_device),
		COPIES_TEST(shards_alike),
		COPIES_TEST(volumes_on_one_drive),
		COPIES_TEST(remove_takes_all),
		COPIES_TEST(copy_of_another_checkpoint),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
