/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * table.h - the tensors of a checkpoint, by name and in file order.
 *
 * Built shard by shard, then immutable: look-ups take no lock.
 */
#ifndef UGST_TABLE_H
#define UGST_TABLE_H

#include "base/common.h"
#include "pure/header.h"

/* The public ugds_st_tensor: 56 bytes; with its slots a tensor takes 72 to 88
 * bytes beside its name and shape. */
struct ugds_st_tensor {
	const void *owner; /* the store; set by ugst_table_set_owner() */
	const char *name;  /* ended by a NUL that is not counted */
	const uint64_t *dims;
	uint64_t file_off; /* of the payload in its shard: 8 + N + begin */
	uint64_t payload_bytes;
	uint32_t name_bytes;
	uint32_t rank;
	uint32_t shard;
	int dtype;
};

struct ugst_table;

/* NULL: out of memory. The name hash is seeded from the system's entropy. */
struct ugst_table *ugst_table_new(void);

/* NULL is fine. */
void ugst_table_free(struct ugst_table *table);

/*
 * ugst_table_reserve() - room for tensors in all: saves growing, no more.
 *
 * Return: OK; NO_MEMORY.
 */
int ugst_table_reserve(struct ugst_table *table, size_t tensor_count,
                       struct ugds_st_error *err);

/* Names for errors instead of numbers: by shard number, borrowed until the
 * last ugst_table_add_shard(). */
void ugst_table_name_shards(struct ugst_table *table, const char *const *names);

/*
 * ugst_table_add_shard() - add the tensors of one shard.
 *
 * @header: its pools move into the table; left empty.
 * @shard: the number that its tensors carry.
 * @left_out: sorted indexes into header->tensors of those that are not part
 * of the checkpoint; left_out_count of them, may be NULL when 0.
 *
 * Return: OK; FORMAT (a name that the table has already: err->text has both
 * shards); NO_MEMORY. On failure the table may only be freed.
 */
int ugst_table_add_shard(struct ugst_table *table, struct ugst_header *header,
                         uint32_t shard, const uint64_t *left_out,
                         size_t left_out_count, struct ugds_st_error *err);

/* Last step: give every tensor its owner. */
void ugst_table_set_owner(struct ugst_table *table, const void *owner);

size_t ugst_table_count(const struct ugst_table *table);

/* NULL past the end. */
const struct ugds_st_tensor *ugst_table_at(const struct ugst_table *table,
                                           size_t index);

/* NULL: absent. */
const struct ugds_st_tensor *ugst_table_find(const struct ugst_table *table,
                                             const char *name,
                                             size_t name_bytes);

#endif /* UGST_TABLE_H */
