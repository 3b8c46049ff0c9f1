/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_fault.c - every allocation and every call of the importer fails, once
 * and from then on: N = 1, 2, ... until nothing fails any more.
 *
 * After each: the right status, nothing leaked, and the manifest is the old one
 * or, where the switch had happened, the new one; the same command then works.
 */
#include "support/check.h"

#include <fcntl.h>
#include <unistd.h>

#include "fault/wrap.h"
#include "import/import.h"
#include "support/scene.h"

#define VOLUME_BYTES (13 * UGST_MIB)

enum command {
	COMMAND_IMPORT,
	COMMAND_SAME, /* import of what is there */
	COMMAND_PRUNE,
	COMMAND_REMOVE,
	COMMAND_ADOPT,
	COMMAND_FORMAT,
	COMMAND_LIST
};

static const char *const names[] = {"import", "same",   "prune", "remove",
                                    "adopt",  "format", "list"};

/* The folder as it is before a command, to go back to. */
struct saved {
	char *volumes[SCENE_VOLUMES_MAX];
	char *manifest;
	size_t manifest_bytes;
};

static int drop(struct scene *scene, bool remove)
{
	struct ugds_st_import_drop_opts opts = UGDS_ST_IMPORT_DROP_OPTS_INIT;

	opts.manifest = scene_path(scene, "m");
	return ugst_drop(&scene->env, remove, &opts, NULL, &scene->err);
}

static int format(struct scene *scene)
{
	struct ugds_st_import_format_opts opts =
		UGDS_ST_IMPORT_FORMAT_OPTS_INIT;

	opts.file_bytes = VOLUME_BYTES;
	opts.flags = UGDS_ST_IMPORT_SPARSE;
	return ugst_format(&scene->env, scene_path(scene, "fresh"), &opts, NULL,
	                   &scene->err);
}

static int list(struct scene *scene)
{
	ugds_st_import_volume *volume;
	int status =
		ugds_st_import_list(scene->devices[0], &volume, &scene->err);

	if (status == UGDS_ST_OK)
		ugds_st_import_volume_free(volume);
	return status;
}

static int run_command(struct scene *scene, enum command command)
{
	switch (command) {
	case COMMAND_IMPORT:
		return scene_import(scene, "m", "d");
	case COMMAND_SAME:
		return scene_import(scene, "m", "c");
	case COMMAND_PRUNE:
		return drop(scene, false);
	case COMMAND_REMOVE:
		return drop(scene, true);
	case COMMAND_ADOPT:
		return ugst_adopt(&scene->env, scene->devices[0], NULL,
		                  &scene->err);
	case COMMAND_FORMAT:
		return format(scene);
	default:
		return list(scene);
	}
}

/* In place, and what a command may have touched: to give blocks back and take
 * them again is slow. */
static void restore_volume(const char *path, const char *volume)
{
	static const struct {
		size_t off;
		size_t bytes;
	} touched[] = {{0, 65536},
	               {4 * UGST_MIB, 65536},
	               {8 * UGST_MIB, 65536},
	               {9 * UGST_MIB, 65536},
	               {10 * UGST_MIB, 65536},
	               {11 * UGST_MIB, 65536}};
	int fd = open(path, O_WRONLY | O_CLOEXEC);

	for (size_t i = 0; i < UGST_COUNT(touched); i++)
		assert_int_equal(pwrite(fd, volume + touched[i].off,
		                        touched[i].bytes,
		                        (off_t)touched[i].off),
		                 touched[i].bytes);
	assert_int_equal(close(fd), 0);
}

static void restore(struct scene *scene, const struct saved *saved)
{
	(void)unlink(scene_path(scene, "m"));
	(void)unlink(scene_path(scene, "m.ugds-st-new"));
	(void)unlink(scene_path(scene, "fresh"));
	for (size_t i = 0; i < scene->device_count; i++)
		restore_volume(scene->devices[i], saved->volumes[i]);
	if (saved->manifest)
		scene_write(scene_path(scene, "m"), saved->manifest,
		            saved->manifest_bytes);
}

static void check_status(enum wrap_class what, int status)
{
	/* Slots and objects that cannot be read have verdicts of their own;
	 * a device that cannot be flushed or a file that cannot be written
	 * has IO. */
	if (what == WRAP_MEMORY)
		assert_int_equal(status, UGDS_ST_NO_MEMORY);
	else
		assert_true(status == UGDS_ST_IO || status == UGDS_ST_CORRUPT);
}

/* The old model, or the new one, whole. */
static void check_state(struct scene *scene, enum command command)
{
	struct ugst_manifest manifest;

	if (access(scene_path(scene, "m"), F_OK) != 0) {
		assert_true(command == COMMAND_REMOVE ||
		            command == COMMAND_FORMAT);
		return;
	}
	manifest = scene_manifest(scene_path(scene, "m"));
	/* An object that cannot be read is copied anew: a new generation of
	 * the same bytes. */
	if (manifest.generation == 1 || command == COMMAND_SAME)
		assert_true(scene_holds(scene, "m", "c"));
	else
		assert_true(scene_holds(scene, "m", "d"));
	ugst_manifest_free(&manifest);
}

static void one_run(struct scene *scene, const struct saved *saved,
                    enum command command, enum wrap_class what,
                    unsigned long at, bool on, bool *done_out)
{
	size_t leaked;
	int status;

	restore(scene, saved);
	memset(&scene->err, 0, sizeof(scene->err));
	wrap_arm(what, at, on);
	status = run_command(scene, command);
	wrap_disarm();
	leaked = wrap_live();
	*done_out = wrap_calls() < at;
	if (leaked)
		fail_msg("%s: fault at %lu: %zu allocations leaked",
		         names[command], at, leaked);
	if (status != UGDS_ST_OK) {
		assert_int_equal(scene->err.status, status);
		assert_true(scene->err.text[0]);
		check_status(what, status);
	}
	assert_true(!*done_out || status == UGDS_ST_OK);
	check_state(scene, command);
	/* The next run works. Of the many that failed for want of memory some
	 * will do. */
	if (status != UGDS_ST_OK && command <= COMMAND_PRUNE &&
	    (what == WRAP_CALLS || at % 8 == 0)) {
		assert_ok(run_command(scene, command), scene->err);
		check_state(scene, command);
	}
}

static void sweep(struct scene *scene, enum command command)
{
	static const enum wrap_class classes[] = {WRAP_MEMORY, WRAP_CALLS};
	struct saved saved = {0};
	size_t bytes;

	/* Made now, so that the sweep does not count it. */
	(void)scene_path(scene, "m.ugds-st-new");
	(void)scene_path(scene, "fresh");
	for (size_t i = 0; i < scene->device_count; i++)
		saved.volumes[i] = scene_slurp(scene->devices[i], &bytes);
	saved.manifest =
		scene_slurp(scene_path(scene, "m"), &saved.manifest_bytes);
	for (size_t i = 0; i < UGST_COUNT(classes); i++) {
		unsigned long at = 0;
		bool done = false;

		while (!done) {
			bool done_on;

			at++;
			one_run(scene, &saved, command, classes[i], at, false,
			        &done);
			one_run(scene, &saved, command, classes[i], at, true,
			        &done_on);
			assert_int_equal(done, done_on);
		}
		print_message("%s: %lu %s\n", names[command], at - 1,
		              classes[i] == WRAP_MEMORY ? "allocations"
		                                        : "calls");
	}
	restore(scene, &saved);
	for (size_t i = 0; i < scene->device_count; i++)
		free(saved.volumes[i]);
	free(saved.manifest);
}

/* A volume for each copy. */
static struct scene *prepare(uint32_t copies)
{
	static const char *const volumes[] = {"v", "w"};
	struct scene *scene = scene_new();

	scene->flags = UGDS_ST_IMPORT_VERIFY;
	scene->copies = copies;
	for (uint32_t i = 0; i < copies; i++)
		scene_volume(scene, volumes[i], VOLUME_BYTES);
	scene_checkpoint(scene, "c", 1, 2, 10000);
	scene_checkpoint(scene, "d", 1, 2, 10000);
	scene_shard(scene,
	            scene_shard_path(scene, scene_path(scene, "d"), 1, 2), 1002,
	            17, 11000);
	assert_ok(scene_import(scene, "m", "c"), scene->err);
	return scene;
}

static void every_fault(void **state)
{
	struct scene *scene = prepare(1);

	(void)state;
	sweep(scene, COMMAND_IMPORT);
	sweep(scene, COMMAND_SAME);
	sweep(scene, COMMAND_ADOPT);
	sweep(scene, COMMAND_FORMAT);
	sweep(scene, COMMAND_LIST);
	sweep(scene, COMMAND_REMOVE);
	assert_ok(scene_import(scene, "m", "d"), scene->err);
	sweep(scene, COMMAND_PRUNE);
	scene_free(scene);
}

static void every_fault_of_copies(void **state)
{
	struct scene *scene = prepare(2);

	(void)state;
	sweep(scene, COMMAND_IMPORT);
	sweep(scene, COMMAND_SAME);
	sweep(scene, COMMAND_REMOVE);
	assert_ok(scene_import(scene, "m", "d"), scene->err);
	sweep(scene, COMMAND_PRUNE);
	scene_free(scene);
}

/* Interrupted and short transfers change nothing. */
static void short_and_interrupted(void **state)
{
	struct scene *scene = prepare(1);

	(void)state;
	wrap_arm(WRAP_SHORT, 0, false);
	assert_ok(scene_import(scene, "m", "d"), scene->err);
	assert_ok(drop(scene, false), scene->err);
	assert_ok(format(scene), scene->err);
	wrap_disarm();
	assert_true(wrap_calls() > 50);
	assert_true(scene_holds(scene, "m", "d"));
	scene_free(scene);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_fault),
		cmocka_unit_test(every_fault_of_copies),
		cmocka_unit_test(short_and_interrupted),
	};

	if (access("/dev/shm", W_OK) == 0)
		(void)setenv("TMPDIR", "/dev/shm", 0);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
