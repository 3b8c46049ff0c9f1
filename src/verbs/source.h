/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * source.h - files that a checkpoint is made of: opened without hanging, read
 * whole or not at all, and known again by their stamp.
 */
#ifndef UGST_SOURCE_H
#define UGST_SOURCE_H

#include "base/common.h"
#include "verbs/checkpoint.h"

/*
 * ugst_source_open() - open a regular file for reading.
 *
 * Follows symbolic links. A FIFO, socket, device or directory is refused
 * without being opened, so that nothing hangs and no device is disturbed.
 *
 * Return: OK; NOT_FOUND; FORMAT (not a regular file); IO; NO_MEMORY.
 */
int ugst_source_open(const char *path, int *fd_out,
                     struct ugst_file_stamp *stamp_out,
                     struct ugds_st_error *err);

/*
 * ugst_source_read() - exactly these bytes of an open file.
 *
 * Return: OK; MISMATCH (the file has become shorter); IO.
 */
int ugst_source_read(int fd, void *data, size_t bytes, uint64_t off,
                     struct ugds_st_error *err);

/* Is the open file still what its stamp says? Return: OK; MISMATCH; IO. */
int ugst_source_unchanged(int fd, const struct ugst_file_stamp *stamp,
                          struct ugds_st_error *err);

/*
 * ugst_source_slurp() - a whole file of at most max_bytes.
 *
 * @data_out: bytes_out bytes and a NUL behind them; free() it.
 * Return: OK; as ugst_source_open() and ugst_source_read(); FORMAT (too
 * large).
 */
int ugst_source_slurp(const char *path, uint64_t max_bytes, char **data_out,
                      size_t *bytes_out, struct ugds_st_error *err);

/*
 * ugst_source_header() - read, hash and parse the header of shard->path.
 *
 * Fills stamp, json_bytes, header_hash and header. err->text begins with the
 * shard.
 * Return: OK; as above; FORMAT (the header).
 */
int ugst_source_header(struct ugst_source_shard *shard,
                       struct ugds_st_error *err);

#endif /* UGST_SOURCE_H */
