/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * index.h - model.safetensors.index.json: which tensor lies in which shard.
 *
 * The weight_map is an allow-list: what it does not list is not part of the
 * checkpoint.
 */
#ifndef UGST_INDEX_H
#define UGST_INDEX_H

#include "base/common.h"

struct ugst_index_entry {
	const char *name;
	uint32_t name_bytes;
	uint32_t shard; /* into shards */
};

struct ugst_index {
	size_t shard_count;
	char **shards; /* checked names, sorted bytewise, each once */
	size_t entry_count;
	struct ugst_index_entry *entries;
	char *names; /* pool */
};

/*
 * ugst_index_parse() - parse and check an index document.
 *
 * @index_out: written on OK only; free with ugst_index_free(). Keeps no
 * pointer into json.
 * Return: OK; FORMAT; NO_MEMORY.
 */
int ugst_index_parse(const char *json, size_t json_bytes,
                     struct ugst_index *index_out, struct ugds_st_error *err);

void ugst_index_free(struct ugst_index *index);

/*
 * ugst_shard_name_check() - may this name be opened beside the index?
 *
 * Relative, no "..", no empty or "." component, no NUL, no backslash...: the
 * rule is docs/format.md's.
 * Return: OK; FORMAT.
 */
int ugst_shard_name_check(const char *name, struct ugds_st_error *err);

#endif /* UGST_INDEX_H */
