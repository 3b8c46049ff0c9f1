/* SPDX-License-Identifier: BSD-3-Clause */
/* shard_file.h - a shard's file while it is copied: read past the page cache,
 * and watched for changes. */
#ifndef UGST_SHARD_FILE_H
#define UGST_SHARD_FILE_H

#include "base/common.h"
#include "verbs/checkpoint.h"

struct ugst_shard_file {
	const struct ugst_source_shard *shard;
	int fd;
	bool direct;
};

/*
 * ugst_shard_file_open() - open a validated shard again.
 *
 * Return: OK; MISMATCH (it is not what was validated); NOT_FOUND; IO.
 */
int ugst_shard_file_open(const struct ugst_source_shard *shard,
                         struct ugst_shard_file *source_out,
                         struct ugds_st_error *err);

void ugst_shard_file_close(struct ugst_shard_file *source);

/*
 * ugst_shard_file_read() - fill buf up to bytes or the end of the shard.
 *
 * @buf, @bytes, @off: multiples of 4096.
 * @done_out: bytes read: all, or what the shard has left.
 * Return: OK; MISMATCH (shorter than it was); IO.
 */
int ugst_shard_file_read(struct ugst_shard_file *source, void *buf,
                         size_t bytes, uint64_t off, size_t *done_out,
                         struct ugds_st_error *err);

/* Is it still the file that was validated? Return: OK; MISMATCH; IO. */
int ugst_shard_file_check(const struct ugst_shard_file *source,
                          struct ugds_st_error *err);

#endif /* UGST_SHARD_FILE_H */
