/* SPDX-License-Identifier: BSD-3-Clause */
/* test_import_lost.c - several copies of each shard, of which one is bad. */
#include "support/copies.h"
#include "support/plain_device.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "import/import.h"
#include "pure/label.h"

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

	copies_scene(scene);
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
	assert_int_equal(scene->result.reused_count, 2 * COPIES_SHARDS - 1);
	assert_int_equal(scene->result.generation, 2);
	copies_check(scene, 2);
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

/* --verify reads every copy, not only one of each shard. */
static void verify_reads_every_copy(void **state)
{
	static const struct ugst_blockdev_ops ops = {lying_pread, plain_pwrite,
	                                             plain_flush};
	struct scene *scene = *state;

	copies_scene(scene);
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

	copies_scene(scene);
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
	assert_int_equal(scene->result.copied_count, COPIES_SHARDS);
	assert_int_equal(scene->result.reused_count, COPIES_SHARDS);
	assert_int_equal(scene->result.generation, 2);
	copies_check(scene, 2);
	copies_check_places(scene, "m", "wx");
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

static void map_source(const char *path)
{
	int fd = open(path, O_RDWR | O_CLOEXEC);
	struct stat status;

	assert_int_equal(fstat(fd, &status), 0);
	mapped_bytes = (size_t)status.st_size;
	mapped = mmap(NULL, mapped_bytes, PROT_READ | PROT_WRITE, MAP_SHARED,
	              fd, 0);
	assert_ptr_not_equal(mapped, MAP_FAILED);
	(void)close(fd);
	/* The first write through a mapping gives the file a new time. */
	((volatile unsigned char *)mapped)[mapped_bytes - 1] ^= 1;
}

/* A source that changes between two copies, without a new time where the file
 * system is one in memory: copies that differ are not published. */
static void source_changes_between_copies(void **state)
{
	struct scene *scene = *state;
	struct ugds_st_import_opts opts = UGDS_ST_IMPORT_OPTS_INIT;
	const char *path = scene_path(scene, "a.safetensors");

	copies_scene(scene);
	scene_shard(scene, path, 1, 5, 50000);
	map_source(path);
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
	/* The next run keeps nothing of the first state of the source. */
	scene->copies = 2;
	assert_ok(scene_import(scene, "m", "a.safetensors"), scene->err);
	assert_int_equal(scene->result.copied_count, 2);
	assert_true(scene_holds(scene, "m", "a.safetensors"));
	assert_int_equal(scene_objects(scene), 2);
}

/* The same between two that are there already, each of one state of it. */
static void source_changes_between_found_copies(void **state)
{
	struct scene *scene = *state;
	struct ugds_st_import_opts opts = UGDS_ST_IMPORT_OPTS_INIT;
	const char *path = scene_path(scene, "a.safetensors");
	const char *devices[2];

	copies_scene(scene);
	memcpy(devices, scene->devices, sizeof(devices));
	scene->device_count = 1;
	scene_shard(scene, path, 1, 5, 50000);
	map_source(path);
	for (size_t i = 0; i < 2; i++) {
		scene->devices[0] = devices[i];
		mapped[mapped_bytes - 1] ^= 1;
		assert_ok(scene_import(scene, i ? "b" : "a", "a.safetensors"),
		          scene->err);
	}
	opts.checkpoint = path;
	opts.manifest = scene_path(scene, "m");
	opts.devices = devices;
	opts.device_count = 2;
	opts.copies = 2;
	opts.progress = change_after_first_copy;
	/* Volumes are looked at in the order of their UUIDs: begin with the
	 * state of either. */
	for (size_t i = 0; i < 2; i++) {
		check_fails(ugst_import(&scene->env, &opts, NULL, &scene->err),
		            UGDS_ST_MISMATCH, scene->err,
		            "changed while it was imported");
		assert_int_equal(access(scene_path(scene, "m"), F_OK), -1);
	}
	(void)munmap(mapped, mapped_bytes);
}

#define LOST_TEST(name) cmocka_unit_test_setup_teardown(name, enter, leave)

int main(void)
{
	const struct CMUnitTest tests[] = {
		LOST_TEST(damaged_copy),
		LOST_TEST(verify_reads_every_copy),
		LOST_TEST(lost_volume),
		LOST_TEST(source_changes_between_copies),
		LOST_TEST(source_changes_between_found_copies),
	};

	/* A file system in memory: mapped pages change without a new time. */
	if (access("/dev/shm", W_OK) == 0)
		(void)setenv("TMPDIR", "/dev/shm", 0);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
