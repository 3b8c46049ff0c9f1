/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * checkpoint.h - a checkpoint in the file system: path to validated shards.
 *
 * Which files a path stands for is docs/format.md's rule; nothing is guessed.
 */
#ifndef UGST_CHECKPOINT_H
#define UGST_CHECKPOINT_H

#include <sys/types.h>
#include <time.h>

#include "base/common.h"
#include "pure/hash.h"
#include "pure/header.h"

/* What must stay the same while a shard is read. */
struct ugst_file_stamp {
	dev_t device;
	ino_t inode;
	uint64_t bytes;
	struct timespec mtime;
	struct timespec ctime;
};

struct ugst_source_shard {
	char *name; /* as the index has it, or the file's name */
	char *path; /* to open */
	struct ugst_file_stamp stamp;
	uint64_t json_bytes;          /* N */
	struct ugst_hash header_hash; /* of 8 + N bytes */
	struct ugst_header header;    /* parsed */
	uint64_t *left_out;           /* sorted indexes into header.tensors */
	size_t left_out_count;
};

struct ugst_checkpoint {
	char *model; /* "org/name" of a hub cache path, else the folder's name,
	                or the file's without its ending */
	size_t shard_count;
	struct ugst_source_shard *shards; /* in order of name */
};

/*
 * ugst_checkpoint_open() - resolve a path, validate every header and the
 * index.
 *
 * @path: a .safetensors file, an index file or a directory.
 * @checkpoint_out: written on OK only; free with ugst_checkpoint_free(). No
 * file stays open.
 *
 * Return: OK; NOT_FOUND (all missing shards are named); FORMAT; NO_MEMORY; IO.
 */
int ugst_checkpoint_open(const char *path,
                         struct ugst_checkpoint *checkpoint_out,
                         struct ugds_st_error *err);

void ugst_checkpoint_free(struct ugst_checkpoint *checkpoint);

/* The stamp of an open file: fstat. false: errno. */
bool ugst_file_stamp(int fd, struct ugst_file_stamp *stamp_out);

bool ugst_file_stamp_equal(const struct ugst_file_stamp *a,
                           const struct ugst_file_stamp *b);

#endif /* UGST_CHECKPOINT_H */
