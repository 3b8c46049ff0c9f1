/* SPDX-License-Identifier: BSD-3-Clause */
/* blockdev.c - files and block devices as aligned bytes; see blockdev.h. */
#include "base/common.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/fs.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/units.h"
#include "devices/blockdev.h"
#include "devices/holders.h"

/* A regular file has no blocks of its own; this suits O_DIRECT wherever the
 * file system lies. */
#define FILE_LBA_BYTES 4096u
/* Sysfs counts in these, whatever the logical block. */
#define SYSFS_SECTOR_BYTES 512u

/* ------------------------------------------------------------------ ops */

static ssize_t posix_pread(struct ugst_blockdev *dev, void *buf, size_t bytes,
                           uint64_t off)
{
	return pread(dev->fd, buf, bytes, (off_t)off);
}

static ssize_t posix_pwrite(struct ugst_blockdev *dev, const void *buf,
                            size_t bytes, uint64_t off)
{
	return pwrite(dev->fd, buf, bytes, (off_t)off);
}

static int posix_flush(struct ugst_blockdev *dev)
{
	return fdatasync(dev->fd);
}

static const struct ugst_blockdev_ops posix_ops = {
	.pread = posix_pread, .pwrite = posix_pwrite, .flush = posix_flush};

/* ----------------------------------------------------------------- open */

/* Start of a partition on its disk; a whole disk has no such file. */
static uint64_t partition_start_bytes(dev_t device)
{
	unsigned long long sectors = 0;
	char path[64];
	FILE *file;

	(void)snprintf(path, sizeof(path), "/sys/dev/block/%u:%u/start",
	               major(device), minor(device));
	file = fopen(path, "re");
	if (!file)
		return 0;
	if (fscanf(file, "%llu", &sectors) != 1)
		sectors = 0;
	(void)fclose(file);
	return (uint64_t)sectors * SYSFS_SECTOR_BYTES;
}

static int measure(struct ugst_blockdev *dev, const struct stat *status,
                   struct ugds_st_error *err)
{
	int lba_bytes;

	dev->inode = status->st_ino;
	if (dev->kind == UGST_DEVICE_FILE) {
		dev->device = status->st_dev;
		dev->lba_bytes = FILE_LBA_BYTES;
		dev->bytes = (uint64_t)status->st_size;
		return UGDS_ST_OK;
	}
	dev->device = status->st_rdev;
	if (ioctl(dev->fd, BLKSSZGET, &lba_bytes) < 0 ||
	    ioctl(dev->fd, BLKGETSIZE64, &dev->bytes) < 0)
		return ugst_fail_errno(err, UGDS_ST_IO, errno,
		                       "%s: block size and size", dev->path);
	dev->lba_bytes = (uint32_t)lba_bytes;
	dev->start_bytes = partition_start_bytes(dev->device);
	return UGDS_ST_OK;
}

static int open_failed(const char *path, unsigned flags, int errnum,
                       struct ugds_st_error *err)
{
	if (errnum == EBUSY && (flags & UGST_BLOCKDEV_EXCL))
		return ugst_fail_errno(
			err, UGDS_ST_BUSY, errnum,
			"%s: expected a device that nobody uses, found it "
			"mounted, in use as swap or part of an array or "
		        "mapping",
			path);
	return ugst_fail_errno(err, ugst_errno_status(errnum), errnum, "%s",
	                       path);
}

static int open_fd(struct ugst_blockdev *dev, unsigned flags,
                   struct ugds_st_error *err)
{
	int mode = (flags & UGST_BLOCKDEV_WRITE ? O_RDWR : O_RDONLY) |
	           O_CLOEXEC | O_NOCTTY;
	struct stat status;
	mode_t type;

	/* Without O_CREAT, O_EXCL means this for block devices only. */
	if ((flags & UGST_BLOCKDEV_EXCL) && dev->kind == UGST_DEVICE_BLOCK)
		mode |= O_EXCL;
	dev->direct = true;
	dev->fd = open(dev->path, mode | O_DIRECT);
	if (dev->fd < 0 && errno == EINVAL) {
		dev->direct = false;
		dev->fd = open(dev->path, mode);
	}
	if (dev->fd < 0)
		return open_failed(dev->path, flags, errno, err);
	if (fstat(dev->fd, &status) < 0)
		return ugst_fail_errno(err, UGDS_ST_IO, errno, "%s", dev->path);
	type = dev->kind == UGST_DEVICE_BLOCK ? S_IFBLK : S_IFREG;
	if ((status.st_mode & S_IFMT) != type)
		return ugst_fail(err, UGDS_ST_MISMATCH,
		                 "%s: changed its type while it was opened",
		                 dev->path);
	return measure(dev, &status, err);
}

/* What path is, without opening it: a pipe would wait for its other end, and
 * opening uGDS's device is not without effect. */
static int look(const char *path, struct ugst_blockdev *dev,
                struct ugds_st_error *err)
{
	struct stat status;

	if (stat(path, &status) < 0)
		return ugst_fail_errno(err, ugst_errno_status(errno), errno,
		                       "%s", path);
	switch (status.st_mode & S_IFMT) {
	case S_IFREG:
		dev->kind = UGST_DEVICE_FILE;
		return UGDS_ST_OK;
	case S_IFBLK:
		dev->kind = UGST_DEVICE_BLOCK;
		return UGDS_ST_OK;
	case S_IFCHR:
		dev->kind = UGST_DEVICE_CHAR;
		dev->device = status.st_rdev;
		dev->inode = status.st_ino;
		return UGDS_ST_OK;
	default:
		return ugst_fail(err, UGDS_ST_UNSUPPORTED,
		                 "%s: expected a block device or regular "
		                 "file, found %s",
		                 path,
		                 S_ISDIR(status.st_mode) ? "a directory"
		                                         : "something else");
	}
}

int ugst_blockdev_open(const char *path, unsigned flags,
                       struct ugst_blockdev **dev_out,
                       struct ugds_st_error *err)
{
	struct ugst_blockdev *dev = ugst_calloc(1, sizeof(*dev));
	int status;

	if (!dev)
		return ugst_fail_memory(err);
	dev->fd = -1;
	dev->ops = &posix_ops;
	dev->path = ugst_strdup(path);
	if (!dev->path) {
		status = ugst_fail_memory(err);
		goto out;
	}
	status = look(path, dev, err);
	if (status == UGDS_ST_OK && dev->kind != UGST_DEVICE_CHAR)
		status = open_fd(dev, flags, err);
	if (status == UGDS_ST_OK) {
		*dev_out = dev;
		dev = NULL;
	}
out:
	ugst_blockdev_close(dev);
	return status;
}

void ugst_blockdev_close(struct ugst_blockdev *dev)
{
	if (!dev)
		return;
	if (dev->fd >= 0)
		(void)close(dev->fd);
	free(dev->path);
	free(dev);
}

/* ------------------------------------------------------------------ I/O */

/* Some file systems take O_DIRECT at open and refuse it at the first
 * transfer. A block device never does: there EINVAL is an error. */
static bool leave_direct(struct ugst_blockdev *dev)
{
	int flags;

	if (!dev->direct || dev->kind != UGST_DEVICE_FILE)
		return false;
	flags = fcntl(dev->fd, F_GETFL);
	if (flags < 0 || fcntl(dev->fd, F_SETFL, flags & ~O_DIRECT) < 0)
		return false;
	dev->direct = false;
	return true;
}

static int transfer_failed(struct ugst_blockdev *dev, const char *what,
                           int errnum, uint64_t off, struct ugds_st_error *err)
{
	int status;

	if (errnum)
		status = ugst_fail_errno(
			err, UGDS_ST_IO, errnum,
			"%s: %s at byte %" PRIu64 " (LBA %" PRIu64 ")",
			dev->path, what, off, off / dev->lba_bytes);
	else
		status = ugst_fail(err, UGDS_ST_IO,
		                   "%s: %s at byte %" PRIu64
		                   ": expected more bytes, found the end",
		                   dev->path, what, off);
	if (err)
		err->offset = off;
	return status;
}

int ugst_blockdev_read(struct ugst_blockdev *dev, void *buf, size_t bytes,
                       uint64_t off, struct ugds_st_error *err)
{
	char *at = buf;

	while (bytes) {
		ssize_t done = dev->ops->pread(dev, at, bytes, off);

		if (done < 0 && errno == EINTR)
			continue;
		if (done < 0 && errno == EINVAL && leave_direct(dev))
			continue;
		if (done <= 0)
			return transfer_failed(dev, "read",
			                       done < 0 ? errno : 0, off, err);
		at += done;
		off += (uint64_t)done;
		bytes -= (size_t)done;
	}
	return UGDS_ST_OK;
}

int ugst_blockdev_write(struct ugst_blockdev *dev, const void *buf,
                        size_t bytes, uint64_t off, struct ugds_st_error *err)
{
	const char *at = buf;

	while (bytes) {
		ssize_t done = dev->ops->pwrite(dev, at, bytes, off);

		if (done < 0 && errno == EINTR)
			continue;
		if (done < 0 && errno == EINVAL && leave_direct(dev))
			continue;
		if (done <= 0)
			return transfer_failed(dev, "write",
			                       done < 0 ? errno : 0, off, err);
		at += done;
		off += (uint64_t)done;
		bytes -= (size_t)done;
	}
	return UGDS_ST_OK;
}

int ugst_blockdev_flush(struct ugst_blockdev *dev, struct ugds_st_error *err)
{
	/* The kernel reports a lost write once, and marks its pages clean: a
	 * second flush would succeed without having written anything. */
	if (dev->flush_failed)
		return ugst_fail(err, UGDS_ST_IO,
		                 "%s: not flushed: an earlier flush failed",
		                 dev->path);
	if (dev->ops->flush(dev) < 0) {
		dev->flush_failed = true;
		return ugst_fail_errno(err, UGDS_ST_IO, errno, "%s: flush",
		                       dev->path);
	}
	if (!dev->direct)
		(void)posix_fadvise(dev->fd, 0, 0, POSIX_FADV_DONTNEED);
	return UGDS_ST_OK;
}

/* ---------------------------------------------------------------- locks */

int ugst_blockdev_lock(struct ugst_blockdev *dev, int byte, bool exclusive,
                       struct ugds_st_error *err)
{
	struct flock lock = {.l_type = exclusive ? F_WRLCK : F_RDLCK,
	                     .l_whence = SEEK_SET,
	                     .l_start = byte,
	                     .l_len = 1};
	const char *wanted = byte == UGST_LOCK_WRITER || !exclusive
	                             ? "no writer"
	                             : "no reader";
	struct ugst_holder holder;
	int errnum;

	if (fcntl(dev->fd, F_OFD_SETLK, &lock) == 0)
		return UGDS_ST_OK;
	errnum = errno;
	if (errnum != EAGAIN && errnum != EACCES)
		return ugst_fail_errno(err, UGDS_ST_IO, errnum, "%s: lock",
		                       dev->path);
	if (ugst_holder_of_lock(dev->fd, byte, &holder))
		return ugst_fail(err, UGDS_ST_BUSY,
		                 "%s: expected %s, found process %ld (%s)",
		                 dev->path, wanted, (long)holder.pid,
		                 holder.command);
	return ugst_fail(err, UGDS_ST_BUSY,
	                 "%s: expected %s, found one that cannot be named",
	                 dev->path, wanted);
}
