/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_locks.c - locks between processes: two writers, a reader elsewhere, a
 * reader through another device node, a holder that is killed.
 */
#include "support/check.h"

#include <fcntl.h>
#include <linux/loop.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "devices/blockdev.h"
#include "import/import.h"
#include "pure/label.h"
#include "support/loop.h"
#include "support/plain_device.h"
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

/* A child that does hold(path), says so, and stays until it is killed. */
static pid_t child_that(void (*hold)(const char *path), const char *path)
{
	int pipes[2];
	pid_t pid;
	char byte;

	assert_int_equal(pipe(pipes), 0);
	pid = fork();
	if (pid == 0) {
		(void)close(pipes[0]);
		hold(path);
		(void)!write(pipes[1], "x", 1);
		for (;;)
			(void)pause();
	}
	(void)close(pipes[1]);
	assert_int_equal(read(pipes[0], &byte, 1), 1);
	(void)close(pipes[0]);
	return pid;
}

static void end(pid_t pid)
{
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static void hold(const char *path, int byte, bool exclusive)
{
	struct ugst_blockdev *dev;

	if (ugst_blockdev_open(path, exclusive ? UGST_BLOCKDEV_WRITE : 0, &dev,
	                       NULL) ||
	    ugst_blockdev_lock(dev, byte, exclusive, NULL))
		_exit(1);
}

static void hold_writer(const char *path)
{
	hold(path, UGST_LOCK_WRITER, true);
}

static void hold_reader(const char *path)
{
	hold(path, UGST_LOCK_READERS, false);
}

/* A grandchild that outlives the process that took the lock. */
static void hold_in_orphan(const char *path)
{
	pid_t pid;

	hold_reader(path);
	pid = fork();
	if (pid == 0)
		for (;;)
			(void)pause();
	(void)!write(STDERR_FILENO, "", 0);
}

static void hold_folder(const char *path)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY);

	if (flock(fd, LOCK_EX | LOCK_NB))
		_exit(1);
}

static int prune(struct scene *scene)
{
	struct ugds_st_import_drop_opts opts = UGDS_ST_IMPORT_DROP_OPTS_INIT;

	opts.manifest = scene_path(scene, "m");
	opts.devices = scene->devices;
	opts.device_count = scene->device_count;
	return ugst_drop(&scene->env, false, &opts, NULL, &scene->err);
}

static void says_process(struct scene *scene, pid_t pid)
{
	char text[64];

	(void)snprintf(text, sizeof(text), "process %ld (test_locks)",
	               (long)pid);
	if (!strstr(scene->err.text, text))
		fail_msg("\"%s\" in \"%s\"", text, scene->err.text);
}

static void second_writer(void **state)
{
	struct scene *scene = *state;
	const char *v = scene_volume(scene, "v", 16 * UGST_MIB);
	pid_t pid;

	scene_checkpoint(scene, "c", 1, 2, 1000);
	pid = child_that(hold_writer, v);
	check_fails(scene_import(scene, "m", "c"), UGDS_ST_BUSY, scene->err,
	            "expected no writer");
	says_process(scene, pid);
	/* The lock dies with its holder. */
	end(pid);
	assert_ok(scene_import(scene, "m", "c"), scene->err);

	pid = child_that(hold_folder, scene->dir);
	check_fails(scene_import(scene, "m", "c"), UGDS_ST_BUSY, scene->err,
	            "no other import");
	says_process(scene, pid);
	end(pid);
	assert_ok(scene_import(scene, "m", "c"), scene->err);
}

static void reader_elsewhere(void **state)
{
	struct scene *scene = *state;
	const char *v = scene_volume(scene, "v", 16 * UGST_MIB);
	pid_t pid;

	scene_checkpoint(scene, "c", 1, 2, 1000);
	assert_ok(scene_import(scene, "m", "c"), scene->err);
	pid = child_that(hold_reader, v);
	check_fails(prune(scene), UGDS_ST_BUSY, scene->err,
	            "expected no reader");
	says_process(scene, pid);
	/* Readers stand beside imports and other readers. */
	scene_checkpoint(scene, "c", 50, 2, 1000);
	assert_ok(scene_import(scene, "m", "c"), scene->err);
	end(pid);
	assert_ok(prune(scene), scene->err);
}

static void reader_outlives_its_parent(void **state)
{
	struct scene *scene = *state;
	const char *v = scene_volume(scene, "v", 16 * UGST_MIB);
	struct ugst_blockdev *dev;
	pid_t pid;

	scene_checkpoint(scene, "c", 1, 2, 1000);
	assert_ok(scene_import(scene, "m", "c"), scene->err);
	pid = child_that(hold_in_orphan, v);
	end(pid);
	check_fails(prune(scene), UGDS_ST_BUSY, scene->err,
	            "expected no reader, found process");
	/* The text names the one that is left. */
	pid = (pid_t)strtol(strstr(scene->err.text, "process ") + 8, NULL, 10);
	assert_int_equal(kill(pid, SIGKILL), 0);
	for (int i = 0; i < 1000 && prune(scene) != UGDS_ST_OK; i++)
		(void)usleep(10000);
	assert_ok(ugst_blockdev_open(v, UGST_BLOCKDEV_WRITE, &dev, &scene->err),
	          scene->err);
	assert_ok(ugst_blockdev_lock(dev, UGST_LOCK_READERS, true, &scene->err),
	          scene->err);
	ugst_blockdev_close(dev);
}

/* Locks belong to a node; /proc and O_EXCL do not. */
static void another_node(void **state)
{
	struct scene *scene = *state;
	const char *node = scene_path(scene, "node");
	struct loop loop;
	struct stat status;
	pid_t pid;

	if (!loop_new(&loop, scene_path(scene, "image"), 16 * UGST_MIB, 512))
		skip();
	assert_int_equal(stat(loop.path, &status), 0);
	if (mknod(node, S_IFBLK | 0600, status.st_rdev) != 0) {
		loop_free(&loop);
		skip();
	}
	assert_ok(ugst_format(&scene->env, loop.path, NULL, NULL, &scene->err),
	          scene->err);
	scene->devices[scene->device_count++] = loop.path;
	scene_checkpoint(scene, "c", 1, 2, 1000);
	assert_ok(scene_import(scene, "m", "c"), scene->err);

	pid = child_that(hold_reader, node);
	check_fails(prune(scene), UGDS_ST_BUSY, scene->err, "nobody has open");
	says_process(scene, pid);
	end(pid);
	assert_ok(prune(scene), scene->err);
	loop_free(&loop);
}

/* Many processes import to two volumes, named in both orders: no deadlock, and
 * each either imports or says busy. */
static void both_orders(void **state)
{
	struct scene *scene = *state;
	pid_t pids[8];

	scene_volume(scene, "v", 32 * UGST_MIB);
	scene_volume(scene, "w", 32 * UGST_MIB);
	scene_checkpoint(scene, "c", 1, 2, 1000);
	for (size_t i = 0; i < UGST_COUNT(pids); i++) {
		pids[i] = fork();
		if (pids[i] == 0) {
			const char *first = scene->devices[i % 2];
			char folder[64];
			int status = UGDS_ST_BUSY;

			scene->devices[1] = scene->devices[(i + 1) % 2];
			scene->devices[0] = first;
			(void)snprintf(folder, sizeof(folder), "folder%zu", i);
			(void)mkdir(scene_path(scene, folder), 0777);
			(void)snprintf(folder, sizeof(folder), "folder%zu/m",
			               i);
			for (int k = 0; k < 2000 && status == UGDS_ST_BUSY;
			     k++) {
				status = scene_import(scene, folder, "c");
				if (status == UGDS_ST_BUSY)
					(void)usleep(1000 * (unsigned)(i + 1));
			}
			_exit(status);
		}
	}
	for (size_t i = 0; i < UGST_COUNT(pids); i++) {
		int status;

		assert_int_equal(waitpid(pids[i], &status, 0), pids[i]);
		assert_true(WIFEXITED(status));
		assert_int_equal(WEXITSTATUS(status), UGDS_ST_OK);
	}
	assert_int_equal(scene_objects(scene), 2);
}

/* The first look at either slot finds its writer half way. */
static unsigned torn_looks;

static ssize_t torn_pread(struct ugst_blockdev *dev, void *buf, size_t bytes,
                          uint64_t off)
{
	ssize_t done = pread(dev->fd, buf, bytes, (off_t)off);
	unsigned slot = (unsigned)(off / UGST_SLOT_BYTES);

	if (off % UGST_SLOT_BYTES == 0 && slot < UGST_SLOT_COUNT &&
	    !(torn_looks & 1u << slot)) {
		torn_looks |= 1u << slot;
		((char *)buf)[100] ^= 1;
	}
	return done;
}

/* Whoever looks before he has the lock may see a writer at the one slot and
 * then at the other: that is no damage. */
static void look_beside_a_writer(void **state)
{
	static const struct ugst_blockdev_ops ops = {torn_pread, plain_pwrite,
	                                             plain_flush};
	struct scene *scene = *state;

	scene_volume(scene, "v", 32 * UGST_MIB);
	scene_checkpoint(scene, "c", 1, 2, 100000);
	scene->env.dev_ops = &ops;
	torn_looks = 0;
	assert_ok(scene_import(scene, "m", "c"), scene->err);
	assert_int_equal(torn_looks, 3);
	assert_true(scene_holds(scene, "m", "c"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(second_writer, enter, leave),
		cmocka_unit_test_setup_teardown(reader_elsewhere, enter, leave),
		cmocka_unit_test_setup_teardown(reader_outlives_its_parent,
	                                        enter, leave),
		cmocka_unit_test_setup_teardown(another_node, enter, leave),
		cmocka_unit_test_setup_teardown(look_beside_a_writer, enter,
	                                        leave),
		cmocka_unit_test_setup_teardown(both_orders, enter, leave),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
