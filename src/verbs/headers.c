/* SPDX-License-Identifier: BSD-3-Clause */
/* headers.c - headers from devices to a table; see headers.h. */
#include "base/common.h"

#include "base/err.h"
#include "base/le.h"
#include "base/mem.h"
#include "verbs/headers.h"

/* Headers in memory at a time; a larger one goes alone. */
#define GROUP_BYTES (64 * UGST_MIB)

/* Shards [first, end) whose headers are read together. */
struct group {
	size_t first;
	size_t end;
	char *bytes; /* the headers, one after the other */
};

static uint64_t header_bytes(const struct ugst_store_shard *shard)
{
	return UGST_HEADER_PREFIX_BYTES + shard->json_bytes;
}

static uint64_t take_group(const ugds_st_store *store, struct group *group)
{
	uint64_t bytes = header_bytes(&store->shards[group->first]);

	group->end = group->first + 1;
	while (group->end < store->shard_count &&
	       bytes + header_bytes(&store->shards[group->end]) <=
	               GROUP_BYTES) {
		bytes += header_bytes(&store->shards[group->end]);
		group->end++;
	}
	return bytes;
}

/* Segments of a group, and the wants that follow them. */
static int list_group(const ugds_st_store *store, const struct group *group,
                      struct ugst_segments *lists, struct ugst_want *wants,
                      struct ugds_st_error *err)
{
	char *dst = group->bytes;

	for (size_t i = 0; i < store->path.source_count; i++) {
		lists[i].items = ugst_calloc(group->end - group->first,
		                             sizeof(*lists[i].items));
		if (!lists[i].items)
			return ugst_fail_memory(err);
	}
	for (size_t i = group->first; i < group->end; i++) {
		const struct ugst_store_shard *shard = &store->shards[i];
		struct ugst_segments *list = &lists[shard->copies->source];
		uint64_t bytes = header_bytes(shard);

		list->items[list->count++] = (struct ugst_segment){
			.device_off = shard->copies->device_off,
			.bytes = bytes,
			.dst = dst,
			.request = (uint32_t)(i - group->first),
		};
		wants[i - group->first].left_bytes = bytes;
		dst += bytes;
	}
	return UGDS_ST_OK;
}

/* Read the first copy of each; what became of it is left in wants. */
static int read_group(ugds_st_store *store, const struct group *group,
                      struct ugst_want *wants, struct ugds_st_error *err)
{
	struct ugst_transfer_opts opts = {0};
	struct ugst_segments *lists =
		ugst_calloc(store->path.source_count, sizeof(*lists));
	int status;

	if (!lists)
		return ugst_fail_memory(err);
	status = list_group(store, group, lists, wants, err);
	if (status == UGDS_ST_OK)
		status = ugst_transfer(&store->path, lists, wants, &opts, err);
	for (size_t i = 0; i < store->path.source_count; i++)
		free(lists[i].items);
	free(lists);
	return status;
}

static int check_hash(const ugds_st_store *store,
                      const struct ugst_store_shard *shard, uint32_t copy,
                      const char *bytes, struct ugds_st_error *err)
{
	struct ugst_hash hash = ugst_hash(bytes, header_bytes(shard));
	char expected[UGST_HASH_TEXT_BYTES];
	char found[UGST_HASH_TEXT_BYTES];

	if (ugst_hash_equal(&hash, &shard->header_hash))
		return UGDS_ST_OK;
	return ugst_fail(err, UGDS_ST_CORRUPT,
	                 "%s: header on %s: expected hash %s, found %s",
	                 shard->name,
	                 ugst_store_device(store, &shard->copies[copy])->path,
	                 ugst_hash_text(&shard->header_hash, expected),
	                 ugst_hash_text(&hash, found));
}

/* A header that any copy of its shard has; the first copy was read already.
 * If none has it, err speaks of the first. */
static int settle_header(const ugds_st_store *store,
                         const struct ugst_store_shard *shard,
                         const struct ugst_want *want, char *bytes,
                         struct ugds_st_error *err)
{
	int status;

	if (want->status == UGDS_ST_OK) {
		status = check_hash(store, shard, 0, bytes, err);
	} else {
		status = ugst_store_say(store, want, "header", err);
		ugst_err_prefix(err, shard->name);
	}
	for (uint32_t i = 1; i < shard->copy_count && status; i++) {
		struct ugds_st_error why;
		int found = ugst_store_fetch(store, shard->copies[i].source,
		                             shard->copies[i].device_off,
		                             header_bytes(shard), bytes,
		                             "header", &why);

		if (found == UGDS_ST_OK)
			found = check_hash(store, shard, i, bytes, &why);
		/* Out of memory, busy: that says nothing of a copy. */
		if (found == UGDS_ST_NO_MEMORY || found == UGDS_ST_BUSY) {
			if (err)
				*err = why;
			return found;
		}
		if (found == UGDS_ST_OK)
			return found;
	}
	return status;
}

static int add_shard(ugds_st_store *store,
                     const struct ugst_manifest_shard *manifest, size_t index,
                     const char *bytes, struct ugds_st_error *err)
{
	const struct ugst_store_shard *shard = &store->shards[index];
	struct ugst_header header = {0};
	int status;

	if (ugst_get_le64(bytes) != shard->json_bytes)
		return ugst_fail(err, UGDS_ST_FORMAT,
		                 "%s: header length: expected %llu, found %llu",
		                 shard->name,
		                 (unsigned long long)shard->json_bytes,
		                 (unsigned long long)ugst_get_le64(bytes));
	status = ugst_header_parse(bytes + UGST_HEADER_PREFIX_BYTES,
	                           shard->json_bytes, shard->bytes, &header,
	                           err);
	if (status) {
		ugst_err_prefix(err, shard->name);
		return status;
	}
	status = ugst_table_add_shard(store->table, &header, (uint32_t)index,
	                              manifest->left_out,
	                              manifest->left_out_count, err);
	ugst_header_free(&header);
	return status;
}

/* Shards are alike: the first one says how much room all of them take. Where
 * there is none, or they are not, the table grows as it goes. */
static void reserve_table(const ugds_st_store *store)
{
	uint64_t count = ugst_table_count(store->table);
	uint64_t bytes = 0;

	for (size_t i = 0; i < store->shard_count; i++)
		bytes += header_bytes(&store->shards[i]);
	(void)ugst_table_reserve(
		store->table, count * bytes / header_bytes(&store->shards[0]),
		NULL);
}

static int load_group(ugds_st_store *store,
                      const struct ugst_manifest *manifest, struct group *group,
                      struct ugds_st_error *err)
{
	uint64_t bytes = take_group(store, group);
	struct ugst_want *wants =
		ugst_calloc(group->end - group->first, sizeof(*wants));
	uint64_t at = 0;
	int status = UGDS_ST_OK;

	group->bytes = malloc(bytes);
	if (!group->bytes || !wants)
		status = ugst_fail_memory(err);
	if (status == UGDS_ST_OK)
		status = read_group(store, group, wants, err);
	for (size_t i = group->first; i < group->end && !status; i++) {
		const struct ugst_store_shard *shard = &store->shards[i];

		status = settle_header(store, shard, &wants[i - group->first],
		                       group->bytes + at, err);
		if (status == UGDS_ST_OK)
			status = add_shard(store, &manifest->shards[i], i,
			                   group->bytes + at, err);
		if (status == UGDS_ST_OK && i == 0)
			reserve_table(store);
		at += header_bytes(shard);
	}
	free(group->bytes);
	free(wants);
	group->first = group->end;
	return status;
}

int ugst_headers_load(ugds_st_store *store,
                      const struct ugst_manifest *manifest,
                      struct ugds_st_error *err)
{
	const char **names = ugst_calloc(store->shard_count, sizeof(*names));
	struct group group = {0};
	int status = UGDS_ST_OK;

	store->table = ugst_table_new();
	if (!store->table || !names) {
		free(names);
		return ugst_fail_memory(err);
	}
	for (size_t i = 0; i < store->shard_count; i++)
		names[i] = store->shards[i].name;
	ugst_table_name_shards(store->table, names);
	while (group.first < store->shard_count && status == UGDS_ST_OK)
		status = load_group(store, manifest, &group, err);
	ugst_table_set_owner(store->table, store);
	free(names);
	return status;
}
