/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_format.c - what format refuses, on loop devices that real tools have
 * written to, and that a refusal leaves every byte.
 */
#include "support/check.h"

#include <fcntl.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/swap.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"
#include "import/import.h"
#include "support/loop.h"
#include "support/random.h"
#include "support/scene.h"

#define DEVICE_BYTES (64 * UGST_MIB)

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

static char notes[4096];

static void take_note(void *ctx, const char *text)
{
	size_t used = strlen(notes);

	(void)ctx;
	(void)snprintf(notes + used, sizeof(notes) - used, "%s\n", text);
}

static int format(struct scene *scene, const char *device, uint32_t flags,
                  const uint8_t *uuid)
{
	struct ugds_st_import_format_opts opts =
		UGDS_ST_IMPORT_FORMAT_OPTS_INIT;

	notes[0] = '\0';
	opts.flags = flags;
	opts.note = take_note;
	if (uuid)
		memcpy(opts.replace_uuid, uuid, 16);
	return ugst_format(&scene->env, device, &opts, NULL, &scene->err);
}

/* Run a shell command with $D the device. false: it failed. */
static bool run(const char *command, const char *device)
{
	char *line = ugst_printf("D=%s; PATH=$PATH:/usr/sbin:/sbin; { %s; } "
	                         ">/dev/null 2>&1",
	                         device, command);
	int status;

	assert_non_null(line);
	status = system(line);
	free(line);
	return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/* udev and the like may have the device open for a moment. */
static int format_patiently(struct scene *scene, const char *device,
                            uint32_t flags, const uint8_t *uuid)
{
	int status = UGDS_ST_BUSY;

	for (int i = 0; i < 200 && status == UGDS_ST_BUSY; i++) {
		status = format(scene, device, flags, uuid);
		if (status == UGDS_ST_BUSY)
			(void)usleep(10000);
	}
	return status;
}

/* What is put on a device, and what a refusal says. */
static const struct written {
	const char *what;
	const char *command; /* fails where the tool is not there */
	const char *says;
	bool partitions; /* the kernel has to let go of them after --force */
} written[] = {
	{"ext4", "mkfs.ext4 -q -F $D", "ext4 file system at byte 1080", false},
	{"vfat", "mkfs.vfat $D", "vfat file system", false},
	{"xfs", "mkfs.xfs --unsupported -q -f $D", "xfs file system at byte 0",
         false},
	{"GPT", "echo size=8MiB | sfdisk -q -X gpt $D", "partition", true},
	{"DOS", "echo size=8MiB | sfdisk -q -X dos $D", "partition", true},
	{"swap", "mkswap $D", "swap signature", false},
	{"LVM", "pvcreate -q -f -y $D", "LVM2_member signature", false},
	{"LUKS",
         "echo secret | cryptsetup -q luksFormat --pbkdf pbkdf2 "
         "--pbkdf-force-iterations 1000 $D -",
         "crypto_LUKS signature at byte 0", false},
	/* Only the backup table at the end is left. */
	{"GPT at the end",
         "echo size=8MiB | sfdisk -q -X gpt $D && "
         "dd if=/dev/zero of=$D bs=1M count=1 && "
         "blockdev --rereadpt $D",
         "gpt partition table", false},
	/* An old md superblock of version 1.0: at the end, nothing before. */
	{"md 1.0",
         "mdadm -q --create --run --level=1 --raid-devices=2 --metadata=1.0 "
         "/dev/md/ugdssttest $D missing && "
         "mdadm -q --stop /dev/md/ugdssttest",
         "linux_raid_member signature", false},
	{"two at once",
         "mkfs.ext4 -q -F $D && printf 'SWAPSPACE2' | "
         "dd of=$D bs=1 seek=4086 conv=notrunc",
         "and more", false},
	{"GGUF", "printf 'GGUF\\003\\000\\000\\000' | dd of=$D conv=notrunc",
         "GGUF model at byte 0", false},
	{"safetensors",
         "printf '\\100\\000\\000\\000\\000\\000\\000\\000{\"a\":{' | "
         "dd of=$D conv=notrunc",
         "safetensors file at byte 0", false},
	{"bytes in the middle",
         "printf x | dd of=$D bs=1 seek=8388608 conv=notrunc",
         "unknown bytes at byte 8388608", false},
	{"bytes at the end",
         "printf x | dd of=$D bs=1 seek=67108863 conv=notrunc",
         "unknown bytes at byte 67108352", false},
	{"random bytes", "dd if=/dev/urandom of=$D bs=1M count=64 conv=notrunc",
         "at byte ", false},
};

static void one_written(struct scene *scene, const struct written *one)
{
	const char *image = scene_path(scene, "image");
	struct loop loop;
	size_t bytes;
	char *before;
	char *after;

	(void)unlink(image);
	if (!loop_new(&loop, image, DEVICE_BYTES, 512))
		skip();
	if (!run(one->command, loop.path)) {
		print_message("%s: skipped, no such tool here\n", one->what);
		loop_free(&loop);
		return;
	}
	(void)run("sync; udevadm settle; blockdev --flushbufs $D", loop.path);
	before = scene_slurp(image, &bytes);
	assert_int_equal(format_patiently(scene, loop.path, 0, NULL),
	                 UGDS_ST_MISMATCH);
	if (!strstr(scene->err.text, one->says))
		fail_msg("%s: wanted \"%s\" in \"%s\"", one->what, one->says,
		         scene->err.text);
	(void)run("sync", loop.path);
	after = scene_slurp(image, &bytes);
	if (memcmp(before, after, bytes) != 0)
		fail_msg("%s: refused and written", one->what);
	free(before);
	free(after);

	/* --force names it, and no tool finds anything afterwards. */
	assert_ok(
		format_patiently(scene, loop.path, UGDS_ST_IMPORT_FORCE, NULL),
		scene->err);
	if (!strstr(notes, "overwriting "))
		fail_msg("%s: not named: %s", one->what, notes);
	if (run("wipefs --version", "") &&
	    !run("test -z \"$(wipefs -n $D)\"", loop.path))
		fail_msg("%s: a signature is left", one->what);
	if (run("mdadm --version", "") && run("mdadm --examine $D", loop.path))
		fail_msg("%s: mdadm finds an array", one->what);
	loop_free(&loop);
}

static void what_tools_write(void **state)
{
	for (size_t i = 0; i < UGST_COUNT(written); i++)
		one_written(*state, &written[i]);
}

/* All ones are blank too: so some drives read what was erased. */
static void blank_devices(void **state)
{
	struct scene *scene = *state;
	const uint32_t lbas[] = {512, 4096};

	for (size_t i = 0; i < UGST_COUNT(lbas); i++) {
		const char *image = scene_path(scene, "image");
		struct ugds_st_import_volume_info info = {.struct_size =
		                                                  sizeof(info)};
		ugds_st_import_volume *volume;
		struct loop loop;
		size_t bytes;
		char *data;

		(void)unlink(image);
		data = malloc(DEVICE_BYTES);
		memset(data, 0xff, DEVICE_BYTES);
		scene_write(image, data, DEVICE_BYTES);
		free(data);
		if (!loop_new(&loop, image, 0, lbas[i]))
			skip();
		assert_ok(format_patiently(scene, loop.path, 0, NULL),
		          scene->err);
		assert_ok(ugds_st_import_list(loop.path, &volume, &scene->err),
		          scene->err);
		assert_int_equal(ugds_st_import_volume_info(volume, &info), 0);
		assert_int_equal(info.lba_bytes, lbas[i]);
		assert_int_equal(info.bytes, DEVICE_BYTES);
		assert_int_equal(info.identity_known, 0);
		ugds_st_import_volume_free(volume);
		loop_free(&loop);
		data = scene_slurp(image, &bytes);
		for (size_t k = 1024; k < 1100; k++)
			assert_int_equal(data[k], 0);
		for (size_t k = bytes - UGST_MIB; k < bytes; k++)
			assert_int_equal(data[k], 0);
		free(data);
	}
}

static void our_own_label(void **state)
{
	struct scene *scene = *state;
	struct ugds_st_import_volume_info info = {.struct_size = sizeof(info)};
	ugds_st_import_volume *volume;
	struct loop loop;
	uint8_t uuid[16];

	if (!loop_new(&loop, scene_path(scene, "image"), DEVICE_BYTES, 512))
		skip();
	assert_ok(format_patiently(scene, loop.path, 0, NULL), scene->err);
	assert_ok(ugds_st_import_list(loop.path, &volume, &scene->err),
	          scene->err);
	assert_int_equal(ugds_st_import_volume_info(volume, &info), 0);
	memcpy(uuid, info.uuid, 16);
	assert_int_equal(info.label_sequence, 1);
	ugds_st_import_volume_free(volume);

	assert_int_equal(format_patiently(scene, loop.path, 0, NULL),
	                 UGDS_ST_MISMATCH);
	assert_non_null(strstr(scene->err.text, "--force="));
	assert_int_equal(
		format_patiently(scene, loop.path, UGDS_ST_IMPORT_FORCE, NULL),
		UGDS_ST_MISMATCH);
	uuid[0] ^= 1;
	assert_int_equal(
		format_patiently(scene, loop.path, UGDS_ST_IMPORT_FORCE, uuid),
		UGDS_ST_MISMATCH);
	uuid[0] ^= 1;
	assert_ok(
		format_patiently(scene, loop.path, UGDS_ST_IMPORT_FORCE, uuid),
		scene->err);
	assert_ok(ugds_st_import_list(loop.path, &volume, &scene->err),
	          scene->err);
	assert_int_equal(ugds_st_import_volume_info(volume, &info), 0);
	assert_int_equal(info.label_sequence, 2);
	assert_memory_not_equal(info.uuid, uuid, 16);
	ugds_st_import_volume_free(volume);

	/* Both slots damaged: ours, and never blank. */
	assert_true(run("for s in 0 1; do printf x | dd of=$D bs=1 "
	                "seek=$((s * 4194304 + 4100)) conv=notrunc; done",
	                loop.path));
	assert_int_equal(format_patiently(scene, loop.path, 0, NULL),
	                 UGDS_ST_MISMATCH);
	assert_non_null(strstr(scene->err.text, "damaged volume label"));
	loop_free(&loop);
}

static void devices_in_use(void **state)
{
	struct scene *scene = *state;
	const char *mounted = scene_path(scene, "mounted");
	struct loop loop;

	if (!loop_new(&loop, scene_path(scene, "image"), DEVICE_BYTES, 512))
		skip();
	assert_int_equal(mkdir(mounted, 0777), 0);
	if (run("mkfs.ext4 -q -F $D", loop.path) &&
	    mount(loop.path, mounted, "ext4", 0, NULL) == 0) {
		check_fails(
			format(scene, loop.path, UGDS_ST_IMPORT_FORCE, NULL),
			UGDS_ST_BUSY, scene->err, "mounted");
		assert_int_equal(umount(mounted), 0);
	}
	if (run("mkswap -f $D", loop.path) && swapon(loop.path, 0) == 0) {
		check_fails(
			format(scene, loop.path, UGDS_ST_IMPORT_FORCE, NULL),
			UGDS_ST_BUSY, scene->err, "swap");
		assert_int_equal(swapoff(loop.path), 0);
	}
	loop_free(&loop);
}

static void read_only_device(void **state)
{
	struct scene *scene = *state;
	struct loop loop;
	int on = 1;
	int off = 0;
	int fd;

	if (!loop_new(&loop, scene_path(scene, "image"), DEVICE_BYTES, 512))
		skip();
	fd = open(loop.path, O_RDONLY | O_CLOEXEC);
	assert_int_equal(ioctl(fd, BLKROSET, &on), 0);
	(void)close(fd);
	assert_int_equal(format_patiently(scene, loop.path, 0, NULL),
	                 UGDS_ST_IO);
	assert_non_null(strstr(scene->err.text, "Read-only"));
	/* It would stay with the number. */
	fd = open(loop.path, O_RDONLY | O_CLOEXEC);
	assert_int_equal(ioctl(fd, BLKROSET, &off), 0);
	(void)close(fd);
	loop_free(&loop);
}

/* The start cannot be read: nobody can say what it holds. */
static void unreadable_start(void **state)
{
	struct scene *scene = *state;
	const char *image = scene_path(scene, "image");
	struct loop loop;

	if (!loop_new(&loop, image, DEVICE_BYTES, 512))
		skip();
	assert_int_equal(truncate(image, 0), 0);
	(void)run("blockdev --flushbufs $D", loop.path);
	assert_int_equal(format_patiently(scene, loop.path, 0, NULL),
	                 UGDS_ST_IO);
	assert_int_equal(
		format_patiently(scene, loop.path, UGDS_ST_IMPORT_FORCE, NULL),
		UGDS_ST_IO);
	loop_free(&loop);
}

static void files(void **state)
{
	struct scene *scene = *state;
	struct ugds_st_import_format_opts opts =
		UGDS_ST_IMPORT_FORMAT_OPTS_INIT;
	const char *path = scene_path(scene, "v");
	struct stat status;
	uint8_t uuid[16];
	size_t bytes;
	char *data;

	/* Reserved, and rounded down to whole MiB. */
	opts.file_bytes = 20 * UGST_MIB + 5;
	assert_ok(ugst_format(&scene->env, path, &opts, uuid, &scene->err),
	          scene->err);
	assert_int_equal(stat(path, &status), 0);
	assert_int_equal(status.st_size, 20 * UGST_MIB);
	assert_true((uint64_t)status.st_blocks * 512 >= 20 * UGST_MIB);
	/* Version 4, as RFC 9562 has it. */
	assert_int_equal(uuid[6] >> 4, 4);
	check_fails(ugst_format(&scene->env, path, &opts, NULL, &scene->err),
	            UGDS_ST_MISMATCH, scene->err, "expected no file");
	check_fails(format(scene, path, UGDS_ST_IMPORT_FORCE, NULL),
	            UGDS_ST_MISMATCH, scene->err, "--force=");
	assert_ok(format(scene, path, UGDS_ST_IMPORT_FORCE, uuid), scene->err);

	opts.flags = UGDS_ST_IMPORT_SPARSE;
	path = scene_path(scene, "sparse");
	assert_ok(ugst_format(&scene->env, path, &opts, NULL, &scene->err),
	          scene->err);
	assert_int_equal(stat(path, &status), 0);
	assert_true((uint64_t)status.st_blocks * 512 < 10 * UGST_MIB);

	/* Somebody's file is never formatted, blank as it may be. */
	data = calloc(1, 20 * UGST_MIB);
	path = scene_path(scene, "zeros");
	scene_write(path, data, 20 * UGST_MIB);
	check_fails(format(scene, path, UGDS_ST_IMPORT_FORCE, NULL),
	            UGDS_ST_MISMATCH, scene->err, "another file, which stays");
	path = scene_path(scene, "text");
	scene_write(path, "some notes", 10);
	check_fails(format(scene, path, UGDS_ST_IMPORT_FORCE, NULL),
	            UGDS_ST_MISMATCH, scene->err, "another file, which stays");
	free(data);
	data = scene_slurp(path, &bytes);
	assert_string_equal(data, "some notes");
	free(data);

	opts.file_bytes = 10 * UGST_MIB - 1;
	path = scene_path(scene, "small");
	check_fails(ugst_format(&scene->env, path, &opts, NULL, &scene->err),
	            UGDS_ST_NO_SPACE, scene->err, "10485760");
	assert_int_equal(access(path, F_OK), -1);
	check_fails(format(scene, "/dev/null", 0, NULL), UGDS_ST_UNSUPPORTED,
	            scene->err, "character device");
	check_fails(format(scene, scene->dir, 0, NULL), UGDS_ST_UNSUPPORTED,
	            scene->err, "a directory");
	check_fails(format(scene, path, 0, NULL), UGDS_ST_NOT_FOUND, scene->err,
	            "small");
	check_fails(format(scene, path, 0x80, NULL), UGDS_ST_INVALID_ARG,
	            scene->err, "0x80");
}

/* A file system that is full: refused, and the file is gone. */
static void no_room_for_a_file(void **state)
{
	struct scene *scene = *state;
	struct ugds_st_import_format_opts opts =
		UGDS_ST_IMPORT_FORMAT_OPTS_INIT;
	const char *mounted = scene_path(scene, "small");
	const char *path = scene_path(scene, "small/v");

	assert_int_equal(mkdir(mounted, 0777), 0);
	if (mount("tmpfs", mounted, "tmpfs", 0, "size=4m") != 0)
		skip();
	opts.file_bytes = 20 * UGST_MIB;
	check_fails(ugst_format(&scene->env, path, &opts, NULL, &scene->err),
	            UGDS_ST_NO_SPACE, scene->err, "a file of 20971520 bytes");
	assert_int_equal(access(path, F_OK), -1);
	assert_int_equal(umount(mounted), 0);
}

/* A partition: its start is recorded, and its disk is not to be formatted. */
static void partitions(void **state)
{
	struct scene *scene = *state;
	struct ugds_st_import_volume_info info = {.struct_size = sizeof(info)};
	ugds_st_import_volume *volume;
	char partition[80];
	struct loop loop;

	if (!loop_new(&loop, scene_path(scene, "image"), DEVICE_BYTES, 512))
		skip();
	(void)snprintf(partition, sizeof(partition), "%sp1", loop.path);
	if (!run("echo start=2MiB,size=40MiB | sfdisk -q -X gpt $D; "
	         "partx -u $D; udevadm settle",
	         loop.path) ||
	    access(partition, F_OK) != 0) {
		loop_free(&loop);
		skip();
	}
	assert_ok(format_patiently(scene, partition, 0, NULL), scene->err);
	assert_ok(ugds_st_import_list(partition, &volume, &scene->err),
	          scene->err);
	assert_int_equal(ugds_st_import_volume_info(volume, &info), 0);
	assert_int_equal(info.start_bytes, 2 * UGST_MIB);
	assert_int_equal(info.bytes, 40 * UGST_MIB);
	ugds_st_import_volume_free(volume);
	assert_int_equal(format_patiently(scene, loop.path, 0, NULL),
	                 UGDS_ST_MISMATCH);
	loop_free(&loop);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(what_tools_write, enter, leave),
		cmocka_unit_test_setup_teardown(blank_devices, enter, leave),
		cmocka_unit_test_setup_teardown(our_own_label, enter, leave),
		cmocka_unit_test_setup_teardown(devices_in_use, enter, leave),
		cmocka_unit_test_setup_teardown(read_only_device, enter, leave),
		cmocka_unit_test_setup_teardown(unreadable_start, enter, leave),
		cmocka_unit_test_setup_teardown(files, enter, leave),
		cmocka_unit_test_setup_teardown(no_room_for_a_file, enter,
	                                        leave),
		cmocka_unit_test_setup_teardown(partitions, enter, leave),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
