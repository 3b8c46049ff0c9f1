/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fs.h - the file system calls that change something, as a table.
 *
 * Publishing a manifest goes through it, so that tests can make the Nth call
 * fail, or record what reached the disk when. Reading goes to POSIX directly.
 */
#ifndef UGST_FS_H
#define UGST_FS_H

#include <sys/types.h>

#include "base/common.h"

/* Each returns what the POSIX call of its name does, errno included. */
struct ugst_fs {
	/* open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode) */
	int (*create)(void *ctx, const char *path, mode_t mode);
	ssize_t (*write)(void *ctx, int fd, const void *buf, size_t bytes);
	int (*fsync)(void *ctx, int fd); /* of a file or a directory */
	int (*rename)(void *ctx, const char *from, const char *to);
	int (*unlink)(void *ctx, const char *path);
	void *ctx;
};

/* The real ones. */
const struct ugst_fs *ugst_fs_posix(void);

/* Write all of bytes; interrupted and short writes go on. 0; -1: errno. */
int ugst_fs_write_all(const struct ugst_fs *fs, int fd, const void *buf,
                      size_t bytes);

#endif /* UGST_FS_H */
