/* SPDX-License-Identifier: BSD-3-Clause */
/* table.c - tensors by name and in file order; see table.h. */
#include "base/common.h"

#include <stdio.h>

#include "base/err.h"
#include "base/mem.h"
#include "pure/hash.h"
#include "pure/nameset.h"
#include "pure/table.h"

/* Look-ups in flight: enough to hide a cache miss behind the others. */
#define PREFETCH_DISTANCE 24u

/* What a shard's tensors point into. */
struct pools {
	char *names;
	uint64_t *dims;
};

struct ugst_table {
	struct ugds_st_tensor *tensors;
	size_t count;
	size_t capacity;
	struct pools *pools;
	size_t pools_count;
	size_t pools_capacity;
	struct ugst_nameset set; /* numbers are indexes into tensors */
	uint64_t seed;
	const char *const *shard_names;
};

struct ugst_table *ugst_table_new(void)
{
	struct ugst_table *table = ugst_calloc(1, sizeof(*table));

	if (!table)
		return NULL;
	table->seed = ugst_hash_seed();
	/* A look-up in a table without tensors needs a free slot, too. */
	if (!ugst_nameset_reserve(&table->set, 1)) {
		free(table);
		return NULL;
	}
	return table;
}

void ugst_table_free(struct ugst_table *table)
{
	if (!table)
		return;
	for (size_t i = 0; i < table->pools_count; i++) {
		free(table->pools[i].names);
		free(table->pools[i].dims);
	}
	free(table->pools);
	free(table->tensors);
	ugst_nameset_free(&table->set);
	free(table);
}

void ugst_table_name_shards(struct ugst_table *table, const char *const *names)
{
	table->shard_names = names;
}

static bool equal_name(const void *owner, uint32_t number, const char *name,
                       size_t name_bytes)
{
	const struct ugds_st_tensor *tensors = owner;

	return tensors[number].name_bytes == name_bytes &&
	       memcmp(tensors[number].name, name, name_bytes) == 0;
}

static const char *print_shard(const struct ugst_table *table, uint32_t shard,
                               char text[UGST_ESCAPED_BYTES])
{
	const char *name = table->shard_names ? table->shard_names[shard] : "";

	if (table->shard_names)
		return ugst_escape(name, strlen(name), text,
		                   UGST_ESCAPED_BYTES);
	(void)snprintf(text, UGST_ESCAPED_BYTES, "shard %u", shard);
	return text;
}

static int fail_twins(const struct ugst_table *table, uint32_t first,
                      uint32_t second, const struct ugst_header_tensor *tensor,
                      struct ugds_st_error *err)
{
	char name[UGST_ESCAPED_BYTES];
	char one[UGST_ESCAPED_BYTES];
	char two[UGST_ESCAPED_BYTES];

	return ugst_fail(err, UGDS_ST_FORMAT,
	                 "duplicate name: tensor \"%s\" is in %s and in %s, "
	                 "expected in one shard",
	                 ugst_escape(tensor->name, tensor->name_bytes, name,
	                             sizeof(name)),
	                 print_shard(table, first, one),
	                 print_shard(table, second, two));
}

static int reserve_tensors(struct ugst_table *table, size_t capacity,
                           struct ugds_st_error *err)
{
	struct ugds_st_tensor *tensors;

	if (capacity <= table->capacity)
		return UGDS_ST_OK;
	tensors = ugst_reallocarray(table->tensors, capacity, sizeof(*tensors));
	if (!tensors)
		return ugst_fail_memory(err);
	table->tensors = tensors;
	table->capacity = capacity;
	return UGDS_ST_OK;
}

int ugst_table_reserve(struct ugst_table *table, size_t tensor_count,
                       struct ugds_st_error *err)
{
	if (!ugst_nameset_reserve(&table->set, tensor_count))
		return ugst_fail_memory(err);
	return reserve_tensors(table, tensor_count, err);
}

/* Room for one more shard, and for as many tensors again where that is not
 * enough: many small shards do not mean many moves. */
static int reserve_shard(struct ugst_table *table, size_t tensor_count,
                         struct ugds_st_error *err)
{
	size_t wanted = table->count + tensor_count;
	struct pools *pools;

	pools = ugst_grow(table->pools, table->pools_count,
	                  &table->pools_capacity, sizeof(*pools));
	if (!pools)
		return ugst_fail_memory(err);
	table->pools = pools;
	if (!ugst_nameset_reserve(&table->set, wanted))
		return ugst_fail_memory(err);
	if (wanted > table->capacity)
		wanted += table->count;
	return reserve_tensors(table, wanted, err);
}

/* Put one tensor behind the last. */
static int add_tensor(struct ugst_table *table,
                      const struct ugst_header *header,
                      const struct ugst_header_tensor *tensor, uint32_t shard,
                      struct ugds_st_error *err)
{
	struct ugst_name_slot *slot;

	slot = ugst_nameset_find(&table->set, tensor->name_hash, tensor->name,
	                         tensor->name_bytes, equal_name,
	                         table->tensors);
	if (slot->number)
		return fail_twins(table, table->tensors[slot->number - 1].shard,
		                  shard, tensor, err);
	table->tensors[table->count] = (struct ugds_st_tensor){
		.name = tensor->name,
		.dims = tensor->dims,
		.file_off = header->data_off + tensor->begin,
		.payload_bytes = tensor->end - tensor->begin,
		.name_bytes = tensor->name_bytes,
		.rank = tensor->rank,
		.shard = shard,
		.dtype = tensor->dtype,
	};
	slot->hash = tensor->name_hash;
	slot->number = (uint32_t)++table->count;
	table->set.count = table->count;
	return UGDS_ST_OK;
}

int ugst_table_add_shard(struct ugst_table *table, struct ugst_header *header,
                         uint32_t shard, const uint64_t *left_out,
                         size_t left_out_count, struct ugds_st_error *err)
{
	const struct ugst_header_tensor *tensors = header->tensors;
	size_t left_out_next = 0;
	int status = reserve_shard(table, header->tensor_count, err);

	if (status)
		return status;
	for (size_t i = 0; i < header->tensor_count; i++) {
		if (i + PREFETCH_DISTANCE < header->tensor_count)
			ugst_nameset_prefetch(
				&table->set,
				tensors[i + PREFETCH_DISTANCE].name_hash);
		if (left_out_next < left_out_count &&
		    left_out[left_out_next] == i) {
			left_out_next++;
			continue;
		}
		status = add_tensor(table, header, &tensors[i], shard, err);
		if (status)
			return status;
	}
	table->pools[table->pools_count++] =
		(struct pools){header->names, header->dims};
	header->names = NULL;
	header->dims = NULL;
	ugst_header_free(header);
	return UGDS_ST_OK;
}

void ugst_table_set_owner(struct ugst_table *table, const void *owner)
{
	struct ugds_st_tensor *tensors = ugst_reallocarray(
		table->tensors, table->count, sizeof(*tensors));

	if (tensors) {
		table->tensors = tensors;
		table->capacity = table->count;
	}
	for (size_t i = 0; i < table->count; i++)
		table->tensors[i].owner = owner;
}

size_t ugst_table_count(const struct ugst_table *table)
{
	return table->count;
}

const struct ugds_st_tensor *ugst_table_at(const struct ugst_table *table,
                                           size_t index)
{
	return index < table->count ? &table->tensors[index] : NULL;
}

const struct ugds_st_tensor *ugst_table_find(const struct ugst_table *table,
                                             const char *name,
                                             size_t name_bytes)
{
	const struct ugst_name_slot *slot = ugst_nameset_find(
		&table->set, ugst_name_hash(name, name_bytes, table->seed),
		name, name_bytes, equal_name, table->tensors);

	return slot->number ? &table->tensors[slot->number - 1] : NULL;
}
