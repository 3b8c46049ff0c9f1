/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * index.h - model.safetensors.index.json: which tensor lies in which shard.
 *
 * The weight_map is an allow-list: what it does not list is not part of the
 * checkpoint. Read with the scanner, so names may hold NUL and size does not
 * matter; docs/checkpoints.md has the rules.
 */
#ifndef UGST_INDEX_H
#define UGST_INDEX_H

#include "base/common.h"
#include "pure/nameset.h"

/* Largest index that is read; those of 100,000 tensors have 10 MB. */
#define UGST_INDEX_MAX_BYTES (512 * UGST_MIB)

struct ugst_index_entry {
	const char *name; /* also ended by a NUL that is not counted */
	uint32_t name_bytes;
	uint32_t name_hash; /* ugst_name_hash() with ugst_hash_seed() */
	uint32_t shard;     /* into shards */
	uint32_t json_off;  /* of the name's quote */
};

struct ugst_index {
	size_t shard_count;
	char **shards; /* checked names, sorted bytewise, each once */
	size_t entry_count;
	struct ugst_index_entry *entries; /* in the order of the text */
	char *names;                      /* pool */
	struct ugst_nameset set;          /* numbers are indexes into entries */
};

/*
 * ugst_index_parse() - parse and check an index document.
 *
 * @index_out: written on OK only; free with ugst_index_free(). Keeps no
 * pointer into json.
 * err->offset is the byte.
 * Return: OK; FORMAT; NO_MEMORY.
 */
int ugst_index_parse(const char *json, size_t json_bytes,
                     struct ugst_index *index_out, struct ugds_st_error *err);

/* The entry of a tensor; NULL: the index does not list it. */
const struct ugst_index_entry *ugst_index_find(const struct ugst_index *index,
                                               const char *name,
                                               size_t name_bytes,
                                               uint32_t name_hash);

/* A zeroed index is fine. */
void ugst_index_free(struct ugst_index *index);

/*
 * ugst_shard_name_check() - may this name be opened beside the index?
 *
 * Relative, no "..", no empty or "." component, no backslash, no control
 * character: the rule is docs/checkpoints.md's.
 * Return: OK; FORMAT.
 */
int ugst_shard_name_check(const char *name, struct ugds_st_error *err);

#endif /* UGST_INDEX_H */
