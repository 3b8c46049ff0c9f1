/* SPDX-License-Identifier: BSD-3-Clause */
/* test_blockdev.c - devices: what they are, whole transfers, errors, locks. */
#include "support/check.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "devices/blockdev.h"
#include "support/loop.h"
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

static void kinds(void **state)
{
	struct scene *scene = *state;
	const char *path = scene_path(scene, "file");
	struct ugst_blockdev *dev;
	struct ugds_st_error err;

	scene_write(path, "0123456789", 10);
	assert_ok(ugst_blockdev_open(path, 0, &dev, &err), err);
	assert_int_equal(dev->kind, UGST_DEVICE_FILE);
	assert_int_equal(dev->lba_bytes, 4096);
	assert_int_equal(dev->bytes, 10);
	assert_int_equal(dev->start_bytes, 0);
	assert_true(fcntl(dev->fd, F_GETFD) & FD_CLOEXEC);
	ugst_blockdev_close(dev);
	assert_ok(ugst_blockdev_open("/dev/null", 0, &dev, &err), err);
	assert_int_equal(dev->kind, UGST_DEVICE_CHAR);
	assert_int_equal(dev->fd, -1);
	ugst_blockdev_close(dev);
	check_fails(ugst_blockdev_open(scene->dir, 0, &dev, &err),
	            UGDS_ST_UNSUPPORTED, err, "found a directory");
	check_fails(ugst_blockdev_open(scene_path(scene, "no"), 0, &dev, &err),
	            UGDS_ST_NOT_FOUND, err, "No such file");
	/* A pipe is not waited for. */
	assert_int_equal(mkfifo(scene_path(scene, "pipe"), 0600), 0);
	check_fails(
		ugst_blockdev_open(scene_path(scene, "pipe"), 0, &dev, &err),
		UGDS_ST_UNSUPPORTED, err, "something else");
	ugst_blockdev_close(NULL);
}

/* A device that a test plays: it gives and takes a page at a time, every other
 * call is interrupted, and one byte is bad. */
struct player {
	char bytes[16 * 4096];
	unsigned calls;
	uint64_t bad_off; /* UINT64_MAX: none */
	int flush_errno;
	unsigned flushes;
};

static ssize_t play(struct player *player, size_t bytes, uint64_t off)
{
	if (++player->calls % 2) {
		errno = EINTR;
		return -1;
	}
	if (off >= sizeof(player->bytes))
		return 0;
	bytes = bytes > 4096 ? 4096 : bytes;
	if (player->bad_off >= off && player->bad_off < off + bytes) {
		errno = EIO;
		return -1;
	}
	return (ssize_t)bytes;
}

static ssize_t play_pread(struct ugst_blockdev *dev, void *buf, size_t bytes,
                          uint64_t off)
{
	struct player *player = dev->ops_ctx;
	ssize_t done = play(player, bytes, off);

	if (done > 0)
		memcpy(buf, player->bytes + off, (size_t)done);
	return done;
}

static ssize_t play_pwrite(struct ugst_blockdev *dev, const void *buf,
                           size_t bytes, uint64_t off)
{
	struct player *player = dev->ops_ctx;
	ssize_t done = play(player, bytes, off);

	if (done > 0)
		memcpy(player->bytes + off, buf, (size_t)done);
	return done;
}

static int play_flush(struct ugst_blockdev *dev)
{
	struct player *player = dev->ops_ctx;

	player->flushes++;
	errno = player->flush_errno;
	return player->flush_errno ? -1 : 0;
}

static void transfers(void **state)
{
	static const struct ugst_blockdev_ops ops = {.pread = play_pread,
	                                             .pwrite = play_pwrite,
	                                             .flush = play_flush};
	struct player player = {.bad_off = UINT64_MAX};
	struct ugst_blockdev dev = {.path = (char[]){"player"},
	                            .fd = -1,
	                            .kind = UGST_DEVICE_BLOCK,
	                            .direct = true,
	                            .lba_bytes = 512,
	                            .ops = &ops,
	                            .ops_ctx = &player};
	struct ugds_st_error err;
	char in[8 * 4096];
	char out[8 * 4096];

	(void)state;
	for (size_t i = 0; i < sizeof(in); i++)
		in[i] = (char)(i * 7);
	assert_ok(ugst_blockdev_write(&dev, in, sizeof(in), 8192, &err), err);
	assert_ok(ugst_blockdev_read(&dev, out, sizeof(out), 8192, &err), err);
	assert_memory_equal(in, out, sizeof(in));

	/* Where it fails is what the error says. */
	player.bad_off = 5 * 4096 + 77;
	check_fails(ugst_blockdev_read(&dev, out, sizeof(out), 8192, &err),
	            UGDS_ST_IO, err, "player: read at byte 20480 (LBA 40)");
	assert_int_equal(err.offset, 20480);
	assert_int_equal(err.sys_errno, EIO);
	check_fails(ugst_blockdev_write(&dev, out, sizeof(out), 8192, &err),
	            UGDS_ST_IO, err, "player: write at byte 20480 (LBA 40)");
	player.bad_off = UINT64_MAX;
	check_fails(ugst_blockdev_read(&dev, out, sizeof(out), 12 * 4096, &err),
	            UGDS_ST_IO, err, "byte 65536: expected more bytes");

	/* A flush that failed is not tried again. */
	assert_ok(ugst_blockdev_flush(&dev, &err), err);
	player.flush_errno = EIO;
	check_fails(ugst_blockdev_flush(&dev, &err), UGDS_ST_IO, err,
	            "player: flush");
	player.flush_errno = 0;
	check_fails(ugst_blockdev_flush(&dev, &err), UGDS_ST_IO, err,
	            "an earlier flush failed");
	assert_int_equal(player.flushes, 2);
}

static void locks(void **state)
{
	struct scene *scene = *state;
	const char *path = scene_path(scene, "file");
	struct ugst_blockdev *a;
	struct ugst_blockdev *b;
	struct ugds_st_error err;

	scene_write(path, "x", 1);
	assert_ok(ugst_blockdev_open(path, UGST_BLOCKDEV_WRITE, &a, &err), err);
	assert_ok(ugst_blockdev_open(path, UGST_BLOCKDEV_WRITE, &b, &err), err);
	assert_ok(ugst_blockdev_lock(a, UGST_LOCK_WRITER, true, &err), err);
	check_fails(ugst_blockdev_lock(b, UGST_LOCK_WRITER, true, &err),
	            UGDS_ST_BUSY, err, "expected no writer, found process");
	/* The bytes do not meet; readers share. */
	assert_ok(ugst_blockdev_lock(a, UGST_LOCK_READERS, false, &err), err);
	assert_ok(ugst_blockdev_lock(b, UGST_LOCK_READERS, false, &err), err);
	check_fails(ugst_blockdev_lock(b, UGST_LOCK_READERS, true, &err),
	            UGDS_ST_BUSY, err, "expected no reader, found process");
	/* Locks of one process exclude each other, and go with the descriptor.
	 */
	ugst_blockdev_close(a);
	assert_ok(ugst_blockdev_lock(b, UGST_LOCK_WRITER, true, &err), err);
	assert_ok(ugst_blockdev_lock(b, UGST_LOCK_READERS, true, &err), err);
	assert_ok(ugst_blockdev_open(path, 0, &a, &err), err);
	check_fails(ugst_blockdev_lock(a, UGST_LOCK_READERS, false, &err),
	            UGDS_ST_BUSY, err, "expected no writer, found process");
	ugst_blockdev_close(a);
	ugst_blockdev_close(b);
}

static void loop_devices(void **state)
{
	struct scene *scene = *state;
	const uint32_t lbas[] = {512, 4096};

	for (size_t i = 0; i < UGST_COUNT(lbas); i++) {
		struct ugst_blockdev *dev;
		struct ugst_blockdev *second;
		struct ugds_st_error err;
		struct loop loop;
		char *buf = ugst_alloc_aligned(8192, 4096);

		if (!loop_new(&loop, scene_path(scene, "image"), UGST_MIB,
		              lbas[i])) {
			free(buf);
			skip();
		}
		assert_ok(ugst_blockdev_open(loop.path,
		                             UGST_BLOCKDEV_WRITE |
		                                     UGST_BLOCKDEV_EXCL,
		                             &dev, &err),
		          err);
		assert_int_equal(dev->kind, UGST_DEVICE_BLOCK);
		assert_int_equal(dev->lba_bytes, lbas[i]);
		assert_int_equal(dev->bytes, UGST_MIB);
		assert_true(dev->direct);
		check_fails(ugst_blockdev_open(loop.path,
		                               UGST_BLOCKDEV_WRITE |
		                                       UGST_BLOCKDEV_EXCL,
		                               &second, &err),
		            UGDS_ST_BUSY, err, "expected a device that nobody");
		memset(buf, 'b', 8192);
		assert_ok(ugst_blockdev_write(dev, buf, 8192, 4096, &err), err);
		assert_ok(ugst_blockdev_flush(dev, &err), err);
		memset(buf, 0, 8192);
		assert_ok(ugst_blockdev_read(dev, buf, 4096, 8192, &err), err);
		assert_int_equal(buf[0], 'b');
		assert_int_equal(buf[4095], 'b');
		ugst_blockdev_close(dev);
		loop_free(&loop);
		free(buf);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(kinds, enter, leave),
		cmocka_unit_test(transfers),
		cmocka_unit_test_setup_teardown(locks, enter, leave),
		cmocka_unit_test_setup_teardown(loop_devices, enter, leave),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
