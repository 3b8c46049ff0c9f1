/* SPDX-License-Identifier: BSD-3-Clause */
/* index.c - the index document of a checkpoint; see index.h. */
#include "base/common.h"

#include "base/err.h"
#include "base/mem.h"
#include "pure/header.h"
#include "pure/index.h"
#include "pure/namepool.h"
#include "pure/scan.h"

/* Look-ups in flight: enough to hide a cache miss behind the others. */
#define PREFETCH_DISTANCE 12u

struct parser {
	struct ugst_scan scan;
	struct ugst_index index;
	size_t entry_capacity;
	struct ugst_namepool names;
	/* Shards in the order in which they come. */
	size_t shard_capacity;
	struct ugst_nameset shard_set;
	struct ugst_string last; /* the shard of the entry before */
	uint32_t last_shard;
	uint64_t seed;
	bool map_seen;
};

/* ------------------------------------------------------------ shard names */

/* Why the name may not be opened; NULL: it may. */
static const char *shard_name_fault(const char *name)
{
	const char *part = name;

	if (*name == '\0')
		return "empty";
	if (*name == '/')
		return "an absolute path";
	for (const char *at = name; *at; at++) {
		if ((unsigned char)*at < 0x20 || *at == 0x7f)
			return "a name with a control character";
		if (*at == '\\')
			return "a name with a backslash";
	}
	for (;;) {
		size_t bytes = strcspn(part, "/");

		if (bytes == 0)
			return "a path with an empty part";
		if (bytes == 1 && part[0] == '.')
			return "a path with \".\"";
		if (bytes == 2 && memcmp(part, "..", 2) == 0)
			return "a path with \"..\"";
		if (part[bytes] == '\0')
			return NULL;
		part += bytes + 1;
	}
}

int ugst_shard_name_check(const char *name, struct ugds_st_error *err)
{
	const char *fault = shard_name_fault(name);
	char printed[UGST_ESCAPED_BYTES];

	if (!fault)
		return UGDS_ST_OK;
	return ugst_fail(
		err, UGDS_ST_FORMAT,
		"bad shard name \"%s\": expected a path inside the "
		"index's directory, found %s",
		ugst_escape(name, strlen(name), printed, sizeof(printed)),
		fault);
}

static bool equal_shard(const void *owner, uint32_t number, const char *name,
                        size_t name_bytes)
{
	char *const *shards = owner;

	return strlen(shards[number]) == name_bytes &&
	       memcmp(shards[number], name, name_bytes) == 0;
}

/* Take a checked name over as a shard, or free it where it is one already. */
static int intern_shard(struct parser *parser, char *name, size_t name_bytes,
                        uint32_t *shard_out)
{
	struct ugst_index *index = &parser->index;
	uint32_t hash = ugst_name_hash(name, name_bytes, parser->seed);
	struct ugst_name_slot *slot;
	char **shards;

	shards = ugst_grow(index->shards, index->shard_count,
	                   &parser->shard_capacity, sizeof(*shards));
	if (shards)
		index->shards = shards;
	if (!shards ||
	    !ugst_nameset_reserve(&parser->shard_set, index->shard_count + 1)) {
		free(name);
		return ugst_fail_memory(parser->scan.err);
	}
	slot = ugst_nameset_find(&parser->shard_set, hash, name, name_bytes,
	                         equal_shard, shards);
	if (slot->number) {
		free(name);
	} else {
		slot->hash = hash;
		shards[index->shard_count++] = name;
		slot->number = (uint32_t)index->shard_count;
	}
	*shard_out = slot->number - 1;
	return UGDS_ST_OK;
}

static int parse_shard(struct parser *parser, uint32_t *shard_out)
{
	struct ugst_scan *scan = &parser->scan;
	char printed[UGST_ESCAPED_BYTES];
	struct ugst_string string;
	const char *fault;
	size_t bytes;
	char *name;
	int status = ugst_scan_string(scan, "the name of a shard as a string",
	                              &string);

	if (status)
		return status;
	/* Neighbours lie in one shard, as a rule. */
	if (parser->last.raw && parser->last.raw_bytes == string.raw_bytes &&
	    memcmp(parser->last.raw, string.raw, string.raw_bytes) == 0) {
		*shard_out = parser->last_shard;
		return UGDS_ST_OK;
	}
	name = ugst_reallocarray(NULL, string.raw_bytes + 1, 1);
	if (!name)
		return ugst_fail_memory(scan->err);
	bytes = ugst_scan_unescape(&string, name);
	name[bytes] = '\0';
	fault = strlen(name) < bytes ? "a name with a NUL"
	                             : shard_name_fault(name);
	if (fault) {
		status = ugst_scan_fail(
			scan, string.raw - 1,
			"shard name \"%s\", expected a path inside the index's "
			"directory, found %s",
			ugst_escape(name, bytes, printed, sizeof(printed)),
			fault);
		free(name);
		return status;
	}
	status = intern_shard(parser, name, bytes, shard_out);
	parser->last = string;
	parser->last_shard = *shard_out;
	return status;
}

/* ------------------------------------------------------------- weight_map */

static int parse_entry(struct parser *parser)
{
	struct ugst_index *index = &parser->index;
	struct ugst_index_entry *entries;
	struct ugst_index_entry entry = {0};
	struct ugst_string string;
	const char *name;
	int status = ugst_scan_string(&parser->scan,
	                              "a tensor name in weight_map", &string);

	if (!status)
		status = ugst_scan_expect(&parser->scan, ':',
		                          "':' after a tensor name");
	if (status)
		return status;
	name = ugst_namepool_add(&parser->names, &string, &entry.name_bytes);
	if (!name)
		return ugst_fail_memory(parser->scan.err);
	entry.name_hash = ugst_name_hash(name, entry.name_bytes, parser->seed);
	entry.json_off = (uint32_t)(string.raw - 1 - parser->scan.text);
	status = parse_shard(parser, &entry.shard);
	if (status)
		return status;
	entries = ugst_grow(index->entries, index->entry_count,
	                    &parser->entry_capacity, sizeof(*entries));
	if (!entries)
		return ugst_fail_memory(parser->scan.err);
	index->entries = entries;
	entries[index->entry_count++] = entry;
	return UGDS_ST_OK;
}

static int parse_weight_map(struct parser *parser)
{
	struct ugst_scan *scan = &parser->scan;
	int status = ugst_scan_expect(scan, '{',
	                              "weight_map as an object of tensor "
	                              "name and shard");

	if (status)
		return status;
	if (ugst_scan_peek(scan) == '}')
		return ugst_scan_fail(scan, scan->at,
		                      "weight_map is empty, expected at least "
		                      "one tensor");
	do {
		status = parse_entry(parser);
		if (status)
			return status;
	} while (ugst_scan_take(scan, ','));
	return ugst_scan_expect(scan, '}', "',' or '}' after a shard");
}

/* --------------------------------------------------------------- document */

static int parse_member(struct parser *parser)
{
	struct ugst_scan *scan = &parser->scan;
	struct ugst_string name;
	int status = ugst_scan_string(scan, "a member name", &name);

	if (!status)
		status = ugst_scan_expect(scan, ':', "':' after a member name");
	if (status)
		return status;
	/* metadata with its total_size is for people: not looked at. */
	if (!UGST_SCAN_IS(&name, "weight_map"))
		return ugst_scan_skip(scan, 1);
	if (parser->map_seen)
		return ugst_scan_fail(scan, name.raw - 1, "weight_map twice");
	parser->map_seen = true;
	return parse_weight_map(parser);
}

static int parse_root(struct parser *parser)
{
	struct ugst_scan *scan = &parser->scan;
	int status;

	if (ugst_scan_peek(scan) != '{') {
		const char *kind = NULL;

		if (scan->at < scan->end && *scan->at != '[')
			kind = ugst_sniff(scan->at,
			                  (size_t)(scan->end - scan->at));
		return kind ? ugst_scan_fail(scan, scan->at,
		                             "expected '{', found %s", kind)
		            : ugst_scan_expected(scan, "'{'");
	}
	scan->at++;
	if (!ugst_scan_take(scan, '}')) {
		do {
			status = parse_member(parser);
			if (status)
				return status;
		} while (ugst_scan_take(scan, ','));
		status = ugst_scan_expect(scan, '}',
		                          "',' or '}' after a member");
		if (status)
			return status;
	}
	if (!parser->map_seen)
		return ugst_scan_fail(scan, scan->at - 1,
		                      "no weight_map, expected one");
	return ugst_scan_finish(scan);
}

/* The pools have stopped moving: point into them. */
static void settle_names(struct parser *parser)
{
	struct ugst_index *index = &parser->index;
	const char *name;

	ugst_namepool_settle(&parser->names);
	index->names = parser->names.names;
	name = index->names;
	for (size_t i = 0; i < index->entry_count; i++) {
		index->entries[i].name = name;
		name += index->entries[i].name_bytes + 1;
	}
}

static bool equal_name(const void *owner, uint32_t number, const char *name,
                       size_t name_bytes)
{
	const struct ugst_index_entry *entries = owner;

	return entries[number].name_bytes == name_bytes &&
	       memcmp(entries[number].name, name, name_bytes) == 0;
}

static int fail_twins(const struct ugst_index *index,
                      const struct ugst_index_entry *first,
                      const struct ugst_index_entry *second,
                      struct ugds_st_error *err)
{
	char name[96];
	char one[96];
	char two[96];

	return ugst_fail_at(
		err, UGDS_ST_FORMAT, second->json_off,
		"duplicate name: the index maps tensor \"%s\" to %s at byte %u "
		"and "
		"to %s at byte %u, expected each name once",
		ugst_escape(first->name, first->name_bytes, name, sizeof(name)),
		ugst_escape(index->shards[first->shard],
	                    strlen(index->shards[first->shard]), one,
	                    sizeof(one)),
		first->json_off,
		ugst_escape(index->shards[second->shard],
	                    strlen(index->shards[second->shard]), two,
	                    sizeof(two)),
		second->json_off);
}

static int build_set(struct ugst_index *index, struct ugds_st_error *err)
{
	const struct ugst_index_entry *entries = index->entries;
	size_t count = index->entry_count;

	if (!ugst_nameset_reserve(&index->set, count))
		return ugst_fail_memory(err);
	for (size_t i = 0; i < count; i++) {
		struct ugst_name_slot *slot;

		if (i + PREFETCH_DISTANCE < count)
			ugst_nameset_prefetch(
				&index->set,
				entries[i + PREFETCH_DISTANCE].name_hash);
		slot = ugst_nameset_find(&index->set, entries[i].name_hash,
		                         entries[i].name, entries[i].name_bytes,
		                         equal_name, entries);
		if (slot->number)
			return fail_twins(index, &entries[slot->number - 1],
			                  &entries[i], err);
		slot->hash = entries[i].name_hash;
		slot->number = (uint32_t)i + 1;
	}
	index->set.count = count;
	return UGDS_ST_OK;
}

/* A shard and the number that entries know it by. */
struct numbered {
	char *name;
	uint32_t number;
};

static int compare_shards(const void *left, const void *right)
{
	const struct numbered *a = left;
	const struct numbered *b = right;

	return strcmp(a->name, b->name);
}

static int sort_shards(struct ugst_index *index, struct ugds_st_error *err)
{
	struct numbered *sorted =
		ugst_calloc(index->shard_count, sizeof(*sorted));
	uint32_t *places = ugst_calloc(index->shard_count, sizeof(*places));
	int status = UGDS_ST_OK;

	if (!sorted || !places) {
		status = ugst_fail_memory(err);
		goto out;
	}
	for (size_t i = 0; i < index->shard_count; i++)
		sorted[i] = (struct numbered){index->shards[i], (uint32_t)i};
	qsort(sorted, index->shard_count, sizeof(*sorted), compare_shards);
	for (size_t i = 0; i < index->shard_count; i++) {
		index->shards[i] = sorted[i].name;
		places[sorted[i].number] = (uint32_t)i;
	}
	for (size_t i = 0; i < index->entry_count; i++)
		index->entries[i].shard = places[index->entries[i].shard];
out:
	free(sorted);
	free(places);
	return status;
}

int ugst_index_parse(const char *json, size_t json_bytes,
                     struct ugst_index *index_out, struct ugds_st_error *err)
{
	struct parser parser = {
		.scan = ugst_scan_over(json, json_bytes, "index", err),
		.seed = ugst_hash_seed(),
	};
	int status;

	if (json_bytes > UGST_INDEX_MAX_BYTES)
		return ugst_fail(err, UGDS_ST_FORMAT,
		                 "index too large: %zu bytes, expected at most "
		                 "%llu",
		                 json_bytes,
		                 (unsigned long long)UGST_INDEX_MAX_BYTES);
	status = parse_root(&parser);
	if (!status) {
		settle_names(&parser);
		status = build_set(&parser.index, err);
	}
	if (!status)
		status = sort_shards(&parser.index, err);
	ugst_nameset_free(&parser.shard_set);
	if (status) {
		parser.index.names = parser.names.names;
		ugst_index_free(&parser.index);
	} else {
		*index_out = parser.index;
	}
	return status;
}

const struct ugst_index_entry *ugst_index_find(const struct ugst_index *index,
                                               const char *name,
                                               size_t name_bytes,
                                               uint32_t name_hash)
{
	const struct ugst_name_slot *slot =
		ugst_nameset_find(&index->set, name_hash, name, name_bytes,
	                          equal_name, index->entries);

	return slot->number ? &index->entries[slot->number - 1] : NULL;
}

void ugst_index_free(struct ugst_index *index)
{
	for (size_t i = 0; i < index->shard_count; i++)
		free(index->shards[i]);
	free(index->shards);
	free(index->entries);
	free(index->names);
	ugst_nameset_free(&index->set);
	memset(index, 0, sizeof(*index));
}
