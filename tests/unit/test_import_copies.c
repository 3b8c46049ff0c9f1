/* SPDX-License-Identifier: BSD-3-Clause */
/* test_import_copies.c - imports of several copies of each shard. */
#include "support/check.h"

#include <fcntl.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/le.h"
#include "import/import.h"
#include "pure/label.h"
#include "support/scene.h"

#define SHARDS 3u

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

/* The reader's verdict: opens, and every copy has the right hash. */
static void reads_back(struct scene *scene)
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
static void has_copies(struct scene *scene, size_t count)
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
	reads_back(scene);
}

/* Bytes of the checkpoint's files. */
static uint64_t source_bytes(struct scene *scene)
{
	uint64_t bytes = 0;

	for (unsigned i = 0; i < SHARDS; i++) {
		struct stat status;

		assert_int_equal(
			stat(scene_shard_path(scene, scene_path(scene, "c"), i,
		                              SHARDS),
		             &status),
			0);
		bytes += (uint64_t)status.st_size;
	}
	return bytes;
}

static void two_volumes(struct scene *scene)
{
	scene_volume(scene, "v", 32 * UGST_MIB);
	scene_volume(scene, "w", 32 * UGST_MIB);
	scene_checkpoint(scene, "c", 1, SHARDS, 100000);
}

static void two_copies(void **state)
{
	struct scene *scene = *state;
	struct ugst_manifest manifest;

	two_volumes(scene);
	scene->copies = 2;
	scene->flags = UGDS_ST_IMPORT_VERIFY;
	assert_ok(scene_import(scene, "m", "c"), scene->err);
	assert_int_equal(scene->result.shard_count, SHARDS);
	assert_int_equal(scene->result.copied_count, 2 * SHARDS);
	assert_int_equal(scene->result.copied_bytes, 2 * source_bytes(scene));
	assert_int_equal(scene->result.reused_count, 0);
	assert_int_equal(scene->result.reused_bytes, 0);
	assert_int_equal(scene_objects(scene), 2 * SHARDS);
	assert_int_equal(scene_records(scene, 1), 2);
	assert_int_equal(scene_records(scene, 0), 0);
	has_copies(scene, 2);
	/* docs/format.md, section 6: each begins with another. */
	manifest = scene_manifest(scene_path(scene, "m"));
	assert_int_equal(manifest.volume_count, 2);
	for (size_t i = 0; i < SHARDS; i++)
		assert_int_equal(manifest.shards[i].copies[0].volume, i % 2);
	ugst_manifest_free(&manifest);
}

static void three_copies(void **state)
{
	struct scene *scene = *state;
	struct ugst_manifest manifest;
	size_t first[3] = {0};

	two_volumes(scene);
	scene_volume(scene, "x", 32 * UGST_MIB);
	scene->copies = 3;
	assert_ok(scene_import(scene, "m", "c"), scene->err);
	assert_int_equal(scene->result.copied_count, 3 * SHARDS);
	has_copies(scene, 3);
	manifest = scene_manifest(scene_path(scene, "m"));
	for (size_t i = 0; i < SHARDS; i++)
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

	two_volumes(scene);
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
		assert_int_equal(scene->result.reused_count, 2 * SHARDS);
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

/* The volumes that have a copy of shard 0, as letters. */
static void check_places(struct scene *scene, const char *manifest,
                         const char *names)
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
	check_places(scene, "m", "wx");
	/* w and x are full: there is room for one copy, and for no second. */
	scene_shard(scene, scene_path(scene, "b.safetensors"), 2, 5, 1000);
	check_fails(scene_import(scene, "n", "b.safetensors"), UGDS_ST_NO_SPACE,
	            scene->err, "wanted 8192 bytes, free 0, largest gap 0");
	remove_checkpoint(scene, "m");
	scene_volume(scene, "y", 16 * UGST_MIB);
	assert_ok(scene_import(scene, "n", "b.safetensors"), scene->err);
	check_places(scene, "n", "yv");
}

/* One volume has room, the other has not: refused before the first write. */
static void one_has_no_room(void **state)
{
	struct scene *scene = *state;
	char *before[2];
	size_t bytes;

	scene_volume(scene, "v", 32 * UGST_MIB);
	scene_volume(scene, "w", 10 * UGST_MIB);
	scene_checkpoint(scene, "c", 1, SHARDS, 1100000);
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

	two_volumes(scene);
	opts.struct_size = offsetof(struct ugds_st_import_opts, copies);
	opts.checkpoint = scene_path(scene, "c");
	opts.manifest = scene_path(scene, "m");
	opts.devices = scene->devices;
	opts.device_count = scene->device_count;
	opts.copies = 77; /* whatever lies behind it */
	assert_ok(ugst_import(&scene->env, &opts, &scene->result, &scene->err),
	          scene->err);
	has_copies(scene, 1);
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

	two_volumes(scene);
	assert_ok(scene_import(scene, "m", "c"), scene->err);
	has_copies(scene, 1);
	scene->copies = 2;
	assert_ok(scene_import(scene, "m", "c"), scene->err);
	assert_int_equal(scene->result.generation, 2);
	assert_int_equal(scene->result.published, 1);
	assert_int_equal(scene->result.copied_count, SHARDS);
	assert_int_equal(scene->result.reused_count, SHARDS);
	assert_int_equal(scene->result.copied_bytes, source_bytes(scene));
	assert_int_equal(scene->result.reused_bytes, source_bytes(scene));
	assert_int_equal(scene_objects(scene), 2 * SHARDS);
	has_copies(scene, 2);
	scene->copies = 1;
	assert_ok(scene_import(scene, "m", "c"), scene->err);
	assert_int_equal(scene->result.generation, 3);
	assert_int_equal(scene->result.published, 1);
	assert_int_equal(scene->result.copied_count, 0);
	assert_int_equal(scene->result.reused_count, SHARDS);
	has_copies(scene, 1);
	/* What is left is spread, as what was listed first was. */
	manifest = scene_manifest(scene_path(scene, "m"));
	assert_int_equal(manifest.volume_count, 2);
	for (size_t i = 0; i < SHARDS; i++)
		on[manifest.shards[i].copies[0].volume]++;
	assert_int_equal(on[0], 2);
	assert_int_equal(on[1], 1);
	ugst_manifest_free(&manifest);
	opts.manifest = scene_path(scene, "m");
	assert_ok(ugst_drop(&scene->env, false, &opts, &dropped, &scene->err),
	          scene->err);
	assert_int_equal(dropped.record_count, 4); /* 1 and 2, on both */
	assert_int_equal(dropped.object_count, SHARDS);
	assert_int_equal(scene_objects(scene), SHARDS);
	has_copies(scene, 1);
	assert_ok(scene_import(scene, "m", "c"), scene->err);
	assert_int_equal(scene->result.published, 0);
}

/* All that the one volume has is as the manifest says; the manifest is not. */
static void other_number_on_one_device(void **state)
{
	struct scene *scene = *state;

	two_volumes(scene);
	scene->copies = 2;
	assert_ok(scene_import(scene, "m", "c"), scene->err);
	scene->device_count = 1;
	scene->copies = 1;
	assert_ok(scene_import(scene, "m", "c"), scene->err);
	assert_int_equal(scene->result.generation, 2);
	assert_int_equal(scene->result.reused_count, SHARDS);
	has_copies(scene, 1);
	check_places(scene, "m", "v");
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
	has_copies(scene, 2);
}

static void remove_takes_all(void **state)
{
	struct scene *scene = *state;

	two_volumes(scene);
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

	two_volumes(scene);
	assert_ok(scene_import(scene, "other", "c"), scene->err);
	scene->copies = 2;
	assert_ok(scene_import(scene, "m", "c"), scene->err);
	assert_int_equal(scene->result.copied_count, SHARDS);
	assert_int_equal(scene->result.reused_count, SHARDS);
	has_copies(scene, 2);
	remove_checkpoint(scene, "other");
	has_copies(scene, 2);
	assert_int_equal(scene_objects(scene), 2 * SHARDS);
}

/* Flip a byte in the middle of shard 1's copy on volume w. */
static void damage(struct scene *scene)
{
	struct ugst_manifest manifest = scene_manifest(scene_path(scene, "m"));
	const struct ugst_manifest_shard *shard = &manifest.shards[1];
	const struct ugst_manifest_copy *copy = shard->copies;
	const char *path = scene_path(scene, "w");
	off_t off;
	int fd;
	char byte;

	if (strcmp(manifest.volumes[copy->volume].path, path))
		copy++;
	assert_string_equal(manifest.volumes[copy->volume].path, path);
	off = (off_t)(copy->base_lba * copy->lba_bytes + copy->lead_bytes +
	              shard->bytes / 2);
	fd = open(path, O_RDWR | O_CLOEXEC);
	assert_int_equal(pread(fd, &byte, 1, off), 1);
	byte ^= 1;
	assert_int_equal(pwrite(fd, &byte, 1, off), 1);
	(void)close(fd);
	ugst_manifest_free(&manifest);
}

/* One copy is damaged: verification names it, an import makes it anew. */
static void damaged_copy(void **state)
{
	struct scene *scene = *state;
	ugds_st_store *store;

	two_volumes(scene);
	scene->copies = 2;
	assert_ok(scene_import(scene, "m", "c"), scene->err);
	damage(scene);
	assert_ok(
		ugds_st_open(scene_path(scene, "m"), NULL, &store, &scene->err),
		scene->err);
	check_fails(ugds_st_verify(store, NULL, NULL, &scene->err),
	            UGDS_ST_CORRUPT, scene->err, "model-00002-of-00003");
	assert_non_null(strstr(scene->err.text, scene_path(scene, "w")));
	assert_ok(ugds_st_close(store, 0, &scene->err), scene->err);
	assert_ok(scene_import(scene, "m", "c"), scene->err);
	assert_int_equal(scene->result.copied_count, 1);
	assert_int_equal(scene->result.reused_count, 2 * SHARDS - 1);
	assert_int_equal(scene->result.generation, 2);
	has_copies(scene, 2);
}

/* A device that gives back other bytes than it was given. */
static const char *lying;

static ssize_t lying_pread(struct ugst_blockdev *dev, void *buf, size_t bytes,
                           uint64_t off)
{
	ssize_t done = pread(dev->fd, buf, bytes, (off_t)off);

	if (!strcmp(dev->path, lying) && off >= UGST_OBJECTS_OFF && done > 0)
		((char *)buf)[done / 2] ^= 1;
	return done;
}

static ssize_t plain_pwrite(struct ugst_blockdev *dev, const void *buf,
                            size_t bytes, uint64_t off)
{
	return pwrite(dev->fd, buf, bytes, (off_t)off);
}

static int plain_flush(struct ugst_blockdev *dev)
{
	return fdatasync(dev->fd);
}

/* --verify reads every copy, not only one of each shard. */
static void verify_reads_every_copy(void **state)
{
	static const struct ugst_blockdev_ops ops = {lying_pread, plain_pwrite,
	                                             plain_flush};
	struct scene *scene = *state;

	two_volumes(scene);
	scene->copies = 2;
	scene->env.dev_ops = &ops;
	for (size_t i = 0; i < 2; i++) {
		lying = scene->devices[i];
		scene->flags = UGDS_ST_IMPORT_VERIFY;
		check_fails(scene_import(scene, "m", "c"), UGDS_ST_CORRUPT,
		            scene->err, lying);
		assert_non_null(strstr(scene->err.text, "model-0000"));
		assert_int_equal(access(scene_path(scene, "m"), F_OK), -1);
	}
}

/* A volume is gone: the other serves, and another one takes its place. */
static void lost_volume(void **state)
{
	struct scene *scene = *state;
	struct ugds_st_open_opts opts = UGDS_ST_OPEN_OPTS_INIT;
	ugds_st_store *store;

	two_volumes(scene);
	scene->copies = 2;
	assert_ok(scene_import(scene, "m", "c"), scene->err);
	assert_int_equal(unlink(scene_path(scene, "v")), 0);
	opts.flags = UGDS_ST_OPEN_DEGRADED_OK;
	assert_ok(ugds_st_open(scene_path(scene, "m"), &opts, &store,
	                       &scene->err),
	          scene->err);
	assert_ok(ugds_st_verify(store, NULL, NULL, &scene->err), scene->err);
	assert_ok(ugds_st_close(store, 0, &scene->err), scene->err);
	scene->device_count = 0;
	scene_volume(scene, "x", 32 * UGST_MIB);
	scene->devices[scene->device_count++] = scene_path(scene, "w");
	assert_ok(scene_import(scene, "m", "c"), scene->err);
	assert_int_equal(scene->result.copied_count, SHARDS);
	assert_int_equal(scene->result.reused_count, SHARDS);
	assert_int_equal(scene->result.generation, 2);
	has_copies(scene, 2);
	check_places(scene, "m", "wx");
}

/* The source as a program sees it that has it mapped. */
static unsigned char *mapped;
static size_t mapped_bytes;

static void change_after_first_copy(void *ctx, uint64_t done_bytes,
                                    uint64_t all_bytes)
{
	(void)ctx;
	assert_int_equal(all_bytes, 2 * mapped_bytes);
	assert_true(done_bytes <= all_bytes);
	if (done_bytes == mapped_bytes)
		mapped[mapped_bytes - 1] ^= 1;
}

/* A source that changes between two copies, without a new time where the file
 * system is one in memory: copies that differ are not published. */
static void source_changes_between_copies(void **state)
{
	struct scene *scene = *state;
	struct ugds_st_import_opts opts = UGDS_ST_IMPORT_OPTS_INIT;
	const char *path = scene_path(scene, "a.safetensors");
	struct stat status;
	int fd;

	two_volumes(scene);
	scene_shard(scene, path, 1, 5, 50000);
	fd = open(path, O_RDWR | O_CLOEXEC);
	assert_int_equal(fstat(fd, &status), 0);
	mapped_bytes = (size_t)status.st_size;
	mapped = mmap(NULL, mapped_bytes, PROT_READ | PROT_WRITE, MAP_SHARED,
	              fd, 0);
	assert_ptr_not_equal(mapped, MAP_FAILED);
	/* The first write through a mapping gives the file a new time. */
	((volatile unsigned char *)mapped)[mapped_bytes - 1] ^= 1;
	opts.checkpoint = path;
	opts.manifest = scene_path(scene, "m");
	opts.devices = scene->devices;
	opts.device_count = scene->device_count;
	opts.copies = 2;
	opts.progress = change_after_first_copy;
	check_fails(ugst_import(&scene->env, &opts, NULL, &scene->err),
	            UGDS_ST_MISMATCH, scene->err,
	            "changed while it was imported");
	assert_int_equal(access(scene_path(scene, "m"), F_OK), -1);
	(void)munmap(mapped, mapped_bytes);
	(void)close(fd);
	/* The next run keeps nothing of the first state of the source. */
	scene->copies = 2;
	assert_ok(scene_import(scene, "m", "a.safetensors"), scene->err);
	assert_int_equal(scene->result.copied_count, 2);
	assert_true(scene_holds(scene, "m", "a.safetensors"));
	assert_int_equal(scene_objects(scene), 2);
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
		COPIES_TEST(remove_takes_all),
		COPIES_TEST(copy_of_another_checkpoint),
		COPIES_TEST(damaged_copy),
		COPIES_TEST(verify_reads_every_copy),
		COPIES_TEST(lost_volume),
		COPIES_TEST(source_changes_between_copies),
	};

	/* A file system in memory: mapped pages change without a new time. */
	if (access("/dev/shm", W_OK) == 0)
		(void)setenv("TMPDIR", "/dev/shm", 0);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
