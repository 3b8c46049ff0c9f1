/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fuzz_index.c - an index that is accepted names shards that may be opened,
 * and each tensor once.
 *
 * Properties of every accepted index: shards are sorted, distinct and pass the
 * name check; every shard is used; every entry is found by its name; printing
 * it and parsing that gives the same entries.
 */
#include "fuzz.h"

#include "pure/hash.h"
#include "pure/index.h"

struct text {
	char *bytes;
	size_t used;
};

static void print_string(struct text *text, const char *name, size_t name_bytes)
{
	text->bytes[text->used++] = '"';
	for (size_t i = 0; i < name_bytes; i++) {
		unsigned char c = (unsigned char)name[i];

		if (c < 0x20 || c == '"' || c == '\\')
			text->used += (size_t)sprintf(text->bytes + text->used,
			                              "\\u%04x", c);
		else
			text->bytes[text->used++] = (char)c;
	}
	text->bytes[text->used++] = '"';
}

static struct text print_index(const struct ugst_index *index)
{
	struct text text = {NULL, 0};
	size_t room = 64;

	for (size_t i = 0; i < index->entry_count; i++)
		room += index->entries[i].name_bytes * (size_t)6 +
		        strlen(index->shards[index->entries[i].shard]) * 6 + 8;
	text.bytes = malloc(room);
	FUZZ_CHECK(text.bytes);
	text.used = (size_t)sprintf(text.bytes, "{\"weight_map\":{");
	for (size_t i = 0; i < index->entry_count; i++) {
		const struct ugst_index_entry *entry = &index->entries[i];
		const char *shard = index->shards[entry->shard];

		if (i)
			text.bytes[text.used++] = ',';
		print_string(&text, entry->name, entry->name_bytes);
		text.bytes[text.used++] = ':';
		print_string(&text, shard, strlen(shard));
	}
	text.bytes[text.used++] = '}';
	text.bytes[text.used++] = '}';
	FUZZ_CHECK(text.used <= room);
	return text;
}

static void check_round_trip(const struct ugst_index *index)
{
	struct text text = print_index(index);
	struct ugst_index again;

	FUZZ_CHECK(ugst_index_parse(text.bytes, text.used, &again, NULL) ==
	           UGDS_ST_OK);
	FUZZ_CHECK(again.entry_count == index->entry_count);
	FUZZ_CHECK(again.shard_count == index->shard_count);
	for (size_t i = 0; i < index->entry_count; i++) {
		const struct ugst_index_entry *a = &index->entries[i];
		const struct ugst_index_entry *b = &again.entries[i];

		FUZZ_CHECK(a->name_bytes == b->name_bytes);
		FUZZ_CHECK(memcmp(a->name, b->name, a->name_bytes) == 0);
		FUZZ_CHECK(a->shard == b->shard);
	}
	for (size_t i = 0; i < index->shard_count; i++)
		FUZZ_CHECK(strcmp(index->shards[i], again.shards[i]) == 0);
	ugst_index_free(&again);
	free(text.bytes);
}

static void check_index(const struct ugst_index *index)
{
	bool *used = calloc(index->shard_count, sizeof(*used));

	FUZZ_CHECK(used && index->entry_count && index->shard_count);
	for (size_t i = 0; i < index->shard_count; i++) {
		FUZZ_CHECK(ugst_shard_name_check(index->shards[i], NULL) ==
		           UGDS_ST_OK);
		FUZZ_CHECK(!i ||
		           strcmp(index->shards[i - 1], index->shards[i]) < 0);
	}
	for (size_t i = 0; i < index->entry_count; i++) {
		const struct ugst_index_entry *entry = &index->entries[i];

		FUZZ_CHECK(entry->shard < index->shard_count);
		used[entry->shard] = true;
		FUZZ_CHECK(ugst_index_find(index, entry->name,
		                           entry->name_bytes,
		                           entry->name_hash) == entry);
	}
	for (size_t i = 0; i < index->shard_count; i++)
		FUZZ_CHECK(used[i]);
	free(used);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	struct ugds_st_error err = {0};
	struct ugst_index index = {0};
	int status = ugst_index_parse((const char *)data, bytes, &index, &err);

	if (status) {
		FUZZ_CHECK(status == UGDS_ST_FORMAT);
		fuzz_check_error(&err, status, bytes);
		FUZZ_CHECK(!index.entries && !index.names && !index.shards);
		return 0;
	}
	check_index(&index);
	check_round_trip(&index);
	ugst_index_free(&index);
	return 0;
}
