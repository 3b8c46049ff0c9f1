/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * blockdev.h - a regular file, partition or block device as aligned bytes.
 *
 * The importer reads and writes through this; the reader only opens, locks
 * and measures with it, its reads go through uGDS or compatibility mode. I/O
 * passes a small table of functions, so that tests can make the Nth call fail,
 * record every write, or be the disk.
 */
#ifndef UGST_BLOCKDEV_H
#define UGST_BLOCKDEV_H

#include <sys/types.h>

#include "base/common.h"

enum ugst_device_kind {
	UGST_DEVICE_FILE,
	UGST_DEVICE_BLOCK,
	UGST_DEVICE_CHAR /* uGDS's; never read or written here */
};

struct ugst_blockdev;

/* What a device does; pread, pwrite and fdatasync by default. Return bytes or
 * -1 with errno, flush 0 or -1 with errno. */
struct ugst_blockdev_ops {
	ssize_t (*pread)(struct ugst_blockdev *dev, void *buf, size_t bytes,
	                 uint64_t off);
	ssize_t (*pwrite)(struct ugst_blockdev *dev, const void *buf,
	                  size_t bytes, uint64_t off);
	int (*flush)(struct ugst_blockdev *dev);
};

struct ugst_blockdev {
	char *path;
	int fd;
	enum ugst_device_kind kind;
	dev_t device; /* st_rdev of a device, st_dev of a file */
	ino_t inode;
	bool direct;        /* O_DIRECT is on; else buffered and flushed */
	uint32_t lba_bytes; /* logical block; 4096 for a regular file */
	uint64_t bytes;
	uint64_t start_bytes; /* of a partition on its disk, else 0 */
	bool flush_failed;    /* nothing written here is durable any more */
	const struct ugst_blockdev_ops *ops;
	void *ops_ctx; /* the ops' own */
};

/* open flags */
#define UGST_BLOCKDEV_WRITE 1u
/* O_EXCL on a block device: nobody has it mounted, in use as swap or part of
 * an array or mapping. */
#define UGST_BLOCKDEV_EXCL 2u

/*
 * ugst_blockdev_open() - open and measure a device. Close-on-exec.
 *
 * Uses O_DIRECT, and falls back to buffered I/O where the file system refuses
 * it (dev->direct then is false). A character device is opened only far enough
 * to say that it is one.
 *
 * @dev_out: free with ugst_blockdev_close().
 * Return: OK; NOT_FOUND; UNSUPPORTED (a directory, socket...); BUSY; IO;
 * NO_MEMORY.
 */
int ugst_blockdev_open(const char *path, unsigned flags,
                       struct ugst_blockdev **dev_out,
                       struct ugds_st_error *err);

/* NULL is fine. Locks taken through it end. */
void ugst_blockdev_close(struct ugst_blockdev *dev);

/*
 * ugst_blockdev_read() - read all of bytes at off.
 *
 * buf, bytes and off: multiples of lba_bytes where direct is on. Interrupted
 * and short reads go on.
 * Return: OK; IO (names device, offset and LBA).
 */
int ugst_blockdev_read(struct ugst_blockdev *dev, void *buf, size_t bytes,
                       uint64_t off, struct ugds_st_error *err);

/* As ugst_blockdev_read(). Not durable before ugst_blockdev_flush(). */
int ugst_blockdev_write(struct ugst_blockdev *dev, const void *buf,
                        size_t bytes, uint64_t off, struct ugds_st_error *err);

/* fdatasync. A failure is final: what was written since the last good flush
 * may or may not be there, and is never flushed again. */
int ugst_blockdev_flush(struct ugst_blockdev *dev, struct ugds_st_error *err);

/* Bytes of a volume's label that carry locks. */
#define UGST_LOCK_WRITER 0  /* write lock: format, import, prune, remove */
#define UGST_LOCK_READERS 1 /* read lock: each reader */

/*
 * ugst_blockdev_lock() - an open-file-description lock on one byte.
 *
 * Does not wait; the lock dies with the descriptor.
 * Return: OK; BUSY (names the holder's pid and command where the kernel tells);
 * IO.
 */
int ugst_blockdev_lock(struct ugst_blockdev *dev, int byte, bool exclusive,
                       struct ugds_st_error *err);

#endif /* UGST_BLOCKDEV_H */
