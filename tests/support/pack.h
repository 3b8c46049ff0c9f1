/* SPDX-License-Identifier: BSD-3-Clause */
/* pack.h - files with the official loader's verdict; see tests/data/pack.py. */
#ifndef TEST_PACK_H
#define TEST_PACK_H

#include "base/common.h"

struct pack_tensor {
	char *name;
	size_t name_bytes;
	char *dtype;
	char *shard;
	uint32_t rank;
	uint64_t *dims;
	uint64_t off; /* in the shard's file */
	uint64_t bytes;
};

struct pack_file {
	char *path;
	char kind; /* 'f' file, 'l' link */
	char *data;
	size_t bytes;
};

struct pack_case {
	char *id;
	char *path; /* to open */
	bool ok;
	bool either; /* the opposite verdict is right, too */
	char *error; /* classes of the official error, | between them */
	uint32_t tensor_count;
	struct pack_tensor *tensors;
	uint32_t file_count;
	struct pack_file *files;
};

struct pack {
	char *data;
	size_t bytes;
	size_t at;
};

/* Fails the test where the file is not there. */
void pack_open(struct pack *pack, const char *path);
void pack_close(struct pack *pack);

/* false: no more. Free each with pack_case_free(). */
bool pack_next(struct pack *pack, struct pack_case *one);
void pack_case_free(struct pack_case *one);

/* Write a case's files into a directory that is there. */
void pack_unpack(const struct pack_case *one, const char *dir);

/* Remove a directory and all that is in it. */
void pack_remove(const char *dir);

#endif /* TEST_PACK_H */
