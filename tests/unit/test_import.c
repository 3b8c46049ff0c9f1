/* SPDX-License-Identifier: BSD-3-Clause */
/* test_import.c - imports, from formatting to reading back, over files. */
#include "support/check.h"

#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>
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

/* The reader's verdict: opens, and every hash is right. */
static void reads_back(struct scene *scene, const char *manifest)
{
	ugds_st_store *store;

	assert_ok(ugds_st_open(scene_path(scene, manifest), NULL, &store,
	                       &scene->err),
	          scene->err);
	assert_ok(ugds_st_verify(store, NULL, NULL, &scene->err), scene->err);
	assert_ok(ugds_st_close(store, 0, &scene->err), scene->err);
}

static void one_shard(void **state)
{
	struct scene *scene = *state;
	struct ugst_manifest manifest;

	scene_volume(scene, "v", 16 * UGST_MIB);
	scene_shard(scene, scene_path(scene, "a.safetensors"), 1, 5, 9999);
	scene->flags = UGDS_ST_IMPORT_VERIFY;
	assert_ok(scene_import(scene, "m", "a.safetensors"), scene->err);
	assert_int_equal(scene->result.generation, 1);
	assert_int_equal(scene->result.published, 1);
	assert_int_equal(scene->result.copied_count, 1);
	assert_int_equal(scene->result.reused_count, 0);
	assert_true(scene_holds(scene, "m", "a.safetensors"));
	reads_back(scene, "m");
	manifest = scene_manifest(scene_path(scene, "m"));
	assert_string_equal(manifest.model, "a");
	assert_int_equal(manifest.shard_count, 1);
	/* docs/format.md, section 2: data at a multiple of 4096. */
	assert_int_equal((manifest.shards[0].copies[0].lead_bytes + 8 +
	                  manifest.shards[0].json_bytes) %
	                         4096,
	                 0);
	assert_int_equal(manifest.shards[0].copies[0].base_lba, 2048);
	ugst_manifest_free(&manifest);
}

/* Shards around the sizes of a chunk, where the lead pushes bytes from one
 * chunk into the next. */
static void sizes_around_a_chunk(void **state)
{
	static const int deltas[] = {-4097, -4096, -1, 0, 1, 4095, 4096};
	struct scene *scene = *state;

	scene_volume(scene, "v", 200 * UGST_MIB);
	for (size_t i = 0; i < UGST_COUNT(deltas); i++) {
		size_t bytes = 8 * UGST_MIB + (size_t)(deltas[i] + 5000);
		const char *path = scene_path(scene, "a.safetensors");
		struct stat status;

		/* The file, not its data, has the size that counts. */
		scene_shard(scene, path, i, 3, bytes);
		assert_int_equal(stat(path, &status), 0);
		bytes -= (size_t)status.st_size - bytes;
		scene_shard(scene, path, i, 3, bytes - 5000);
		assert_ok(scene_import(scene, "m", "a.safetensors"),
		          scene->err);
		if (!scene_holds(scene, "m", "a.safetensors"))
			fail_msg("delta %d", deltas[i]);
	}
}

static void nothing_changed(void **state)
{
	struct scene *scene = *state;
	char *before;
	char *after;
	char *volume_before;
	char *volume_after;
	size_t bytes;

	scene_volume(scene, "v", 32 * UGST_MIB);
	scene_checkpoint(scene, "c", 1, 3, 100000);
	assert_ok(scene_import(scene, "m", "c"), scene->err);
	before = scene_slurp(scene_path(scene, "m"), &bytes);
	volume_before = scene_slurp(scene->devices[0], &bytes);
	assert_ok(scene_import(scene, "m", "c"), scene->err);
	assert_int_equal(scene->result.published, 0);
	assert_int_equal(scene->result.generation, 1);
	assert_int_equal(scene->result.reused_count, 3);
	after = scene_slurp(scene_path(scene, "m"), &bytes);
	assert_string_equal(before, after);
	volume_after = scene_slurp(scene->devices[0], &bytes);
	assert_memory_equal(volume_before, volume_after, bytes);
	free(before);
	free(after);
	free(volume_before);
	free(volume_after);
}

/* One shard of three is new; the old generation stays whole. */
static void new_generation(void **state)
{
	struct scene *scene = *state;
	struct ugst_manifest old;
	struct ugst_manifest new;

	scene_volume(scene, "v", 32 * UGST_MIB);
	scene_checkpoint(scene, "c", 1, 3, 100000);
	assert_ok(scene_import(scene, "m", "c"), scene->err);
	assert_int_equal(link(scene_path(scene, "m"), scene_path(scene, "old")),
	                 0);
	scene_checkpoint(scene, "d", 1, 3, 100000);
	scene_shard(scene,
	            scene_shard_path(scene, scene_path(scene, "d"), 1, 3), 2002,
	            17, 101000);
	assert_ok(scene_import(scene, "m", "d"), scene->err);
	assert_int_equal(scene->result.generation, 2);
	assert_int_equal(scene->result.copied_count, 1);
	assert_int_equal(scene->result.reused_count, 2);
	assert_true(scene_holds(scene, "m", "d"));
	assert_true(scene_holds(scene, "old", "c"));
	reads_back(scene, "m");
	reads_back(scene, "old");
	old = scene_manifest(scene_path(scene, "old"));
	new = scene_manifest(scene_path(scene, "m"));
	assert_true(ugst_uuid_equal(&old.checkpoint, &new.checkpoint));
	assert_int_equal(old.shards[0].copies[0].object_id,
	                 new.shards[0].copies[0].object_id);
	assert_int_not_equal(old.shards[1].copies[0].object_id,
	                     new.shards[1].copies[0].object_id);
	ugst_manifest_free(&old);
	ugst_manifest_free(&new);
}

/* A header that is equal is not enough. */
static void equal_headers_other_bytes(void **state)
{
	struct scene *scene = *state;
	const char *path = scene_path(scene, "a.safetensors");
	size_t bytes;
	char *data;

	scene_volume(scene, "v", 32 * UGST_MIB);
	scene_shard(scene, path, 1, 5, 50000);
	assert_ok(scene_import(scene, "m", "a.safetensors"), scene->err);
	data = scene_slurp(path, &bytes);
	data[bytes - 1] ^= 1;
	scene_write(path, data, bytes);
	free(data);
	assert_ok(scene_import(scene, "m", "a.safetensors"), scene->err);
	assert_int_equal(scene->result.copied_count, 1);
	assert_int_equal(scene->result.generation, 2);
	assert_true(scene_holds(scene, "m", "a.safetensors"));
	assert_int_equal(scene_objects(scene), 2);
}

/* An object that was damaged is not reused; importing again mends. */
static void damaged_object(void **state)
{
	struct scene *scene = *state;
	int fd;

	scene_volume(scene, "v", 32 * UGST_MIB);
	scene_shard(scene, scene_path(scene, "a.safetensors"), 1, 5, 50000);
	assert_ok(scene_import(scene, "m", "a.safetensors"), scene->err);
	fd = open(scene->devices[0], O_WRONLY | O_CLOEXEC);
	assert_int_equal(pwrite(fd, "damage", 6, 8 * 1048576 + 30000), 6);
	(void)close(fd);
	assert_false(scene_holds(scene, "m", "a.safetensors"));
	assert_ok(scene_import(scene, "m", "a.safetensors"), scene->err);
	assert_int_equal(scene->result.copied_count, 1);
	assert_true(scene_holds(scene, "m", "a.safetensors"));
	reads_back(scene, "m");
}

/* Two checkpoints share a shard: one object, two users. */
static void shared_shard(void **state)
{
	struct scene *scene = *state;

	scene_volume(scene, "v", 32 * UGST_MIB);
	scene_checkpoint(scene, "c", 1, 2, 100000);
	scene_checkpoint(scene, "d", 1, 2, 100000);
	scene_shard(scene,
	            scene_shard_path(scene, scene_path(scene, "d"), 1, 2), 2002,
	            17, 101000);
	assert_ok(scene_import(scene, "mc", "c"), scene->err);
	assert_ok(scene_import(scene, "md", "d"), scene->err);
	assert_int_equal(scene->result.generation, 1);
	assert_int_equal(scene->result.reused_count, 1);
	assert_int_equal(scene_objects(scene), 3);
	assert_true(scene_holds(scene, "mc", "c"));
	assert_true(scene_holds(scene, "md", "d"));
}

static void two_volumes(void **state)
{
	struct scene *scene = *state;
	struct ugst_manifest manifest;
	size_t on[2] = {0, 0};

	scene_volume(scene, "v", 16 * UGST_MIB);
	scene_volume(scene, "w", 16 * UGST_MIB);
	scene_checkpoint(scene, "c", 1, 4, 100000);
	assert_ok(scene_import(scene, "m", "c"), scene->err);
	assert_true(scene_holds(scene, "m", "c"));
	reads_back(scene, "m");
	manifest = scene_manifest(scene_path(scene, "m"));
	assert_int_equal(manifest.volume_count, 2);
	for (size_t i = 0; i < 4; i++)
		on[manifest.shards[i].copies[0].volume]++;
	assert_int_equal(on[0], 2);
	assert_int_equal(on[1], 2);
	ugst_manifest_free(&manifest);
	/* In whatever order they are given. */
	scene->devices[2] = scene->devices[0];
	scene->devices[0] = scene->devices[1];
	scene->devices[1] = scene->devices[2];
	assert_ok(scene_import(scene, "m", "c"), scene->err);
	assert_int_equal(scene->result.published, 0);
}

/* Refused before the first write, saying how much is missing. */
static void volume_full(void **state)
{
	struct scene *scene = *state;
	size_t bytes;
	char *before;
	char *after;

	scene_volume(scene, "v", 12 * UGST_MIB);
	scene_checkpoint(scene, "c", 1, 3, 1100000);
	before = scene_slurp(scene->devices[0], &bytes);
	check_fails(scene_import(scene, "m", "c"), UGDS_ST_NO_SPACE, scene->err,
	            "wanted 1105920 bytes, free 1048576, largest gap 1048576");
	after = scene_slurp(scene->devices[0], &bytes);
	assert_memory_equal(before, after, bytes);
	assert_int_equal(access(scene_path(scene, "m"), F_OK), -1);
	free(before);
	free(after);
}

/* A file that is no manifest of this checkpoint stays. */
static void manifest_in_the_way(void **state)
{
	struct scene *scene = *state;
	size_t bytes;
	char *text;

	scene_volume(scene, "v", 16 * UGST_MIB);
	scene_checkpoint(scene, "c", 1, 2, 1000);
	check_fails(scene_import(scene, "c/model.safetensors.index.json", "c"),
	            UGDS_ST_MISMATCH, scene->err, "expected a manifest");
	scene_write(scene_path(scene, "m"), "notes", 5);
	check_fails(scene_import(scene, "m", "c"), UGDS_ST_MISMATCH, scene->err,
	            "expected a manifest");
	text = scene_slurp(scene_path(scene, "m"), &bytes);
	assert_string_equal(text, "notes");
	free(text);
	check_fails(scene_import(scene, "c", "c"), UGDS_ST_MISMATCH, scene->err,
	            "expected a manifest");
	check_fails(scene_import(scene, "nowhere/m", "c"), UGDS_ST_NOT_FOUND,
	            scene->err, "nowhere");
}

/* A link stays a link, and its target keeps owner and mode. */
static void symlink_and_mode(void **state)
{
	struct scene *scene = *state;
	struct stat status;

	scene_volume(scene, "v", 16 * UGST_MIB);
	scene_checkpoint(scene, "c", 1, 2, 1000);
	assert_int_equal(mkdir(scene_path(scene, "store"), 0777), 0);
	assert_int_equal(symlink("store/real.json", scene_path(scene, "link")),
	                 0);
	assert_ok(scene_import(scene, "link", "c"), scene->err);
	assert_int_equal(lstat(scene_path(scene, "link"), &status), 0);
	assert_true(S_ISLNK(status.st_mode));
	assert_int_equal(chmod(scene_path(scene, "store/real.json"), 0604), 0);
	scene_checkpoint(scene, "c", 50, 2, 1000);
	assert_ok(scene_import(scene, "link", "c"), scene->err);
	assert_int_equal(scene->result.generation, 2);
	assert_int_equal(stat(scene_path(scene, "store/real.json"), &status),
	                 0);
	assert_int_equal(status.st_mode & 07777, 0604);
	assert_true(scene_holds(scene, "link", "c"));
}

/* The manifest's file system is full: the old manifest is untouched. */
static void manifest_file_system_full(void **state)
{
	struct scene *scene = *state;
	const char *mounted = scene_path(scene, "small");
	size_t bytes;
	char *before;
	char *after;
	char *filler;
	int fd;

	assert_int_equal(mkdir(mounted, 0777), 0);
	if (mount("tmpfs", mounted, "tmpfs", 0, "size=64k") != 0)
		skip();
	scene_volume(scene, "v", 16 * UGST_MIB);
	scene_checkpoint(scene, "c", 1, 2, 1000);
	assert_ok(scene_import(scene, "small/m", "c"), scene->err);
	before = scene_slurp(scene_path(scene, "small/m"), &bytes);
	filler = calloc(1, 65536);
	fd = open(scene_path(scene, "small/filler"),
	          O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
	while (write(fd, filler, 4096) > 0)
		;
	(void)close(fd);
	scene_checkpoint(scene, "c", 50, 2, 1000);
	check_fails(scene_import(scene, "small/m", "c"), UGDS_ST_NO_SPACE,
	            scene->err, "the old one stays");
	after = scene_slurp(scene_path(scene, "small/m"), &bytes);
	assert_string_equal(before, after);
	assert_int_equal(access(scene_path(scene, "small/m.ugds-st-new"), F_OK),
	                 -1);
	/* Space comes back: the same import publishes what is there. */
	assert_int_equal(unlink(scene_path(scene, "small/filler")), 0);
	assert_ok(scene_import(scene, "small/m", "c"), scene->err);
	assert_int_equal(scene->result.copied_count, 0);
	assert_int_equal(scene->result.generation, 2);
	assert_int_equal(umount(mounted), 0);
	free(before);
	free(after);
	free(filler);
}

/* Volumes that cannot be taken. */
static void wrong_devices(void **state)
{
	struct scene *scene = *state;
	const char *v = scene_volume(scene, "v", 16 * UGST_MIB);
	size_t bytes;
	char *copy;

	scene_checkpoint(scene, "c", 1, 2, 1000);
	assert_ok(scene_import(scene, "m", "c"), scene->err);
	copy = scene_slurp(v, &bytes);
	scene_write(scene_path(scene, "clone"), copy, bytes);

	scene->devices[1] = scene_path(scene, "clone");
	scene->device_count = 2;
	check_fails(scene_import(scene, "m", "c"), UGDS_ST_MISMATCH, scene->err,
	            "one is a copy of the other");
	scene->devices[1] = v;
	check_fails(scene_import(scene, "m", "c"), UGDS_ST_INVALID_ARG,
	            scene->err, "expected each device once");
	scene->device_count = 1;

	scene_checkpoint(scene, "c", 50, 2, 1000);
	assert_ok(scene_import(scene, "m", "c"), scene->err);
	scene->devices[0] = scene_path(scene, "clone");
	check_fails(scene_import(scene, "m", "c"), UGDS_ST_MISMATCH, scene->err,
	            "an old copy of the volume");

	scene->devices[0] = scene_path(scene, "m");
	check_fails(scene_import(scene, "m2", "c"), UGDS_ST_NOT_FOUND,
	            scene->err, "too small");
	scene->devices[0] = "/dev/null";
	check_fails(scene_import(scene, "m2", "c"), UGDS_ST_UNSUPPORTED,
	            scene->err, "character device");
	scene->devices[0] = scene->dir;
	check_fails(scene_import(scene, "m2", "c"), UGDS_ST_UNSUPPORTED,
	            scene->err, "a directory");
	scene->devices[0] = scene_path(scene, "absent");
	check_fails(scene_import(scene, "m2", "c"), UGDS_ST_NOT_FOUND,
	            scene->err, "absent");
	scene_write(scene_path(scene, "clone"), copy, bytes - UGST_MIB);
	scene->devices[0] = scene_path(scene, "clone");
	check_fails(scene_import(scene, "m2", "c"), UGDS_ST_MISMATCH,
	            scene->err, "expected at least 16777216 bytes");
	memset(copy, 0, bytes);
	scene_write(scene_path(scene, "clone"), copy, bytes);
	check_fails(scene_import(scene, "m2", "c"), UGDS_ST_NOT_FOUND,
	            scene->err, "expected a volume label, found none");
	free(copy);
}

/* One slot damaged, either one: nothing is lost, the next import repairs. */
static void damaged_slots(void **state)
{
	struct scene *scene = *state;
	const char *v = scene_volume(scene, "v", 16 * UGST_MIB);
	size_t bytes;

	scene_checkpoint(scene, "c", 1, 2, 1000);
	assert_ok(scene_import(scene, "m", "c"), scene->err);
	for (size_t slot = 0; slot < 2; slot++) {
		char *volume = scene_slurp(v, &bytes);

		volume[slot * 4 * UGST_MIB + 5000] ^= 1;
		scene_write(v, volume, bytes);
		free(volume);
		reads_back(scene, "m");
		scene_checkpoint(scene, "c", 50 + 10 * slot, 2, 1000);
		assert_ok(scene_import(scene, "m", "c"), scene->err);
		volume = scene_slurp(v, &bytes);
		assert_memory_equal(volume, volume + 4 * UGST_MIB, 8192);
		free(volume);
		assert_true(scene_holds(scene, "m", "c"));
	}
	for (size_t k = 0; k < 2; k++) {
		char *volume = scene_slurp(v, &bytes);

		volume[5000] ^= 1;
		volume[4 * UGST_MIB + 5000] ^= 1;
		scene_write(v, volume, bytes);
		free(volume);
	}
	/* Twice flipped is whole again. */
	reads_back(scene, "m");
	{
		char *volume = scene_slurp(v, &bytes);

		volume[5000] ^= 1;
		volume[4 * UGST_MIB + 5000] ^= 1;
		scene_write(v, volume, bytes);
		free(volume);
	}
	check_fails(scene_import(scene, "m", "c"), UGDS_ST_CORRUPT, scene->err,
	            "both slots damaged");
}

static void bad_checkpoints(void **state)
{
	struct scene *scene = *state;
	size_t bytes;
	char *before;
	char *after;

	scene_volume(scene, "v", 16 * UGST_MIB);
	before = scene_slurp(scene->devices[0], &bytes);
	scene_checkpoint(scene, "c", 1, 3, 1000);
	assert_int_equal(
		truncate(scene_shard_path(scene, scene_path(scene, "c"), 2, 3),
	                 1500),
		0);
	check_fails(scene_import(scene, "m", "c"), UGDS_ST_FORMAT, scene->err,
	            "model-00003-of-00003");
	assert_int_equal(
		unlink(scene_shard_path(scene, scene_path(scene, "c"), 2, 3)),
		0);
	check_fails(scene_import(scene, "m", "c"), UGDS_ST_NOT_FOUND,
	            scene->err, "model-00003-of-00003");
	after = scene_slurp(scene->devices[0], &bytes);
	assert_memory_equal(before, after, bytes);
	assert_int_equal(access(scene_path(scene, "m"), F_OK), -1);
	free(before);
	free(after);
}

static void bad_options(void **state)
{
	struct scene *scene = *state;
	struct ugds_st_import_opts opts = UGDS_ST_IMPORT_OPTS_INIT;
	const char *device = "v";
	struct ugds_st_error err;

	(void)scene;
	check_fails(ugds_st_import(NULL, NULL, &err), UGDS_ST_INVALID_ARG, err,
	            "");
	check_fails(ugds_st_import(&opts, NULL, &err), UGDS_ST_INVALID_ARG, err,
	            "checkpoint");
	opts.checkpoint = "c";
	opts.manifest = "m";
	check_fails(ugds_st_import(&opts, NULL, &err), UGDS_ST_INVALID_ARG, err,
	            "device");
	opts.devices = &device;
	opts.device_count = 1;
	opts.flags = 0x80;
	check_fails(ugds_st_import(&opts, NULL, &err), UGDS_ST_INVALID_ARG, err,
	            "0x80");
	opts.flags = 0;
	device = NULL;
	check_fails(ugds_st_import(&opts, NULL, &err), UGDS_ST_INVALID_ARG, err,
	            "devices[0]");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(one_shard, enter, leave),
		cmocka_unit_test_setup_teardown(sizes_around_a_chunk, enter,
	                                        leave),
		cmocka_unit_test_setup_teardown(nothing_changed, enter, leave),
		cmocka_unit_test_setup_teardown(new_generation, enter, leave),
		cmocka_unit_test_setup_teardown(equal_headers_other_bytes,
	                                        enter, leave),
		cmocka_unit_test_setup_teardown(damaged_object, enter, leave),
		cmocka_unit_test_setup_teardown(shared_shard, enter, leave),
		cmocka_unit_test_setup_teardown(two_volumes, enter, leave),
		cmocka_unit_test_setup_teardown(volume_full, enter, leave),
		cmocka_unit_test_setup_teardown(manifest_in_the_way, enter,
	                                        leave),
		cmocka_unit_test_setup_teardown(symlink_and_mode, enter, leave),
		cmocka_unit_test_setup_teardown(manifest_file_system_full,
	                                        enter, leave),
		cmocka_unit_test_setup_teardown(wrong_devices, enter, leave),
		cmocka_unit_test_setup_teardown(damaged_slots, enter, leave),
		cmocka_unit_test_setup_teardown(bad_checkpoints, enter, leave),
		cmocka_unit_test_setup_teardown(bad_options, enter, leave),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
