/* SPDX-License-Identifier: BSD-3-Clause */
/* fs.c - file system calls as a table; see fs.h. */
#include "base/common.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "devices/fs.h"

static int posix_create(void *ctx, const char *path, mode_t mode)
{
	(void)ctx;
	return open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
}

static ssize_t posix_write(void *ctx, int fd, const void *buf, size_t bytes)
{
	(void)ctx;
	return write(fd, buf, bytes);
}

static int posix_fsync(void *ctx, int fd)
{
	(void)ctx;
	return fsync(fd);
}

static int posix_rename(void *ctx, const char *from, const char *to)
{
	(void)ctx;
	return rename(from, to);
}

static int posix_unlink(void *ctx, const char *path)
{
	(void)ctx;
	return unlink(path);
}

const struct ugst_fs *ugst_fs_posix(void)
{
	static const struct ugst_fs fs = {.create = posix_create,
	                                  .write = posix_write,
	                                  .fsync = posix_fsync,
	                                  .rename = posix_rename,
	                                  .unlink = posix_unlink};

	return &fs;
}

int ugst_fs_write_all(const struct ugst_fs *fs, int fd, const void *buf,
                      size_t bytes)
{
	const char *at = buf;

	while (bytes) {
		ssize_t done = fs->write(fs->ctx, fd, at, bytes);

		if (done < 0 && errno == EINTR)
			continue;
		if (done < 0)
			return -1;
		if (done == 0) {
			errno = ENOSPC;
			return -1;
		}
		at += done;
		bytes -= (size_t)done;
	}
	return 0;
}
