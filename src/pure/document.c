/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * document.c - whole JSON values and documents, over the tokens of scan.c.
 *
 * Nested values are walked with a stack of kinds, not by recursion: what
 * strangers write decides nothing about our stack.
 */
#include "base/common.h"

#include <stdlib.h>

#include "base/err.h"
#include "base/mem.h"
#include "pure/scan.h"

/* Of a document for cJSON, which recurses. */
#define DOCUMENT_DEPTH_MAX 64u

/* A member name of an object that is still open. */
struct member {
	const char *name; /* unescaped */
	size_t name_bytes;
	const char *at; /* its place in the text */
};

/* The member names of all open objects, innermost last. An object's names are
 * sorted when it closes: twins are then neighbours, whatever their number. */
struct members {
	struct member *list;
	size_t count;
	size_t capacity;
	size_t first[DOCUMENT_DEPTH_MAX + 1]; /* of the object at a depth */
	char *pool; /* names that had escapes; as large as the text */
	size_t pool_used;
	size_t pool_bytes;
};

struct walk {
	struct ugst_scan *scan;
	unsigned depth;
	unsigned depth_max;
	bool is_object[UGST_SCAN_DEPTH_MAX + 1]; /* by depth */
	struct members *members; /* NULL: a name may come twice */
};

static int compare_members(const void *left, const void *right)
{
	const struct member *a = left;
	const struct member *b = right;
	size_t common =
		a->name_bytes < b->name_bytes ? a->name_bytes : b->name_bytes;
	int order = memcmp(a->name, b->name, common);

	if (order)
		return order;
	if (a->name_bytes != b->name_bytes)
		return a->name_bytes < b->name_bytes ? -1 : 1;
	return a->at < b->at ? -1 : a->at > b->at;
}

static int close_members(struct walk *walk)
{
	struct members *members = walk->members;
	struct member *list = members->list;
	size_t first = members->first[walk->depth];

	if (members->count - first > 1)
		qsort(list + first, members->count - first, sizeof(*list),
		      compare_members);
	for (size_t i = first + 1; i < members->count; i++) {
		char name[UGST_ESCAPED_BYTES];

		if (list[i].name_bytes != list[i - 1].name_bytes ||
		    memcmp(list[i].name, list[i - 1].name,
		           list[i].name_bytes) != 0)
			continue;
		return ugst_scan_fail(
			walk->scan, list[i].at,
			"member \"%s\" twice in one object, first at byte %zu",
			ugst_escape(list[i].name, list[i].name_bytes, name,
		                    sizeof(name)),
			(size_t)(list[i - 1].at - walk->scan->text));
	}
	members->count = first;
	return UGDS_ST_OK;
}

/* cJSON ends a string at a NUL. */
static int refuse_nul(const struct ugst_scan *scan,
                      const struct ugst_string *string)
{
	const char *at = string->raw;
	const char *end = at + string->raw_bytes;

	while (string->escaped && at < end) {
		if (*at != '\\') {
			at++;
			continue;
		}
		if (end - at >= 6 && memcmp(at, "\\u0000", 6) == 0)
			return ugst_scan_fail(scan, at,
			                      "\\u0000 in a string, expected "
			                      "text without NUL");
		at += 2;
	}
	return UGDS_ST_OK;
}

static int add_member(struct walk *walk, const struct ugst_string *string)
{
	struct members *members = walk->members;
	struct member *list;
	const char *name = string->raw;
	size_t name_bytes = string->raw_bytes;

	if (string->escaped) {
		if (!members->pool)
			members->pool =
				ugst_reallocarray(NULL, members->pool_bytes, 1);
		if (!members->pool)
			return ugst_fail_memory(walk->scan->err);
		name = members->pool + members->pool_used;
		name_bytes = ugst_scan_unescape(
			string, members->pool + members->pool_used);
		members->pool_used += name_bytes;
	}
	list = ugst_grow(members->list, members->count, &members->capacity,
	                 sizeof(*list));
	if (!list)
		return ugst_fail_memory(walk->scan->err);
	members->list = list;
	list[members->count++] =
		(struct member){name, name_bytes, string->raw - 1};
	return UGDS_ST_OK;
}

static int walk_string(struct walk *walk, const char *wanted, bool is_name)
{
	struct ugst_string string;
	int status = ugst_scan_string(walk->scan, wanted, &string);

	if (status || !walk->members)
		return status;
	status = refuse_nul(walk->scan, &string);
	if (status || !is_name)
		return status;
	return add_member(walk, &string);
}

/* A member's name and its colon. */
static int walk_name(struct walk *walk, const char *wanted)
{
	int status = walk_string(walk, wanted, true);

	if (status)
		return status;
	if (!ugst_scan_take(walk->scan, ':'))
		return ugst_scan_expected(walk->scan, "':' after a name");
	return UGDS_ST_OK;
}

static int walk_literal(struct ugst_scan *scan)
{
	static const char *const literals[] = {"true", "false", "null"};
	size_t left = (size_t)(scan->end - scan->at);

	for (size_t i = 0; i < UGST_COUNT(literals); i++) {
		size_t bytes = strlen(literals[i]);

		if (left >= bytes &&
		    memcmp(scan->at, literals[i], bytes) == 0) {
			scan->at += bytes;
			return UGDS_ST_OK;
		}
	}
	return ugst_scan_expected(scan, "a value");
}

/* Take '{' or '['; *value_out: a value (or name and value) comes next. */
static int walk_open(struct walk *walk, bool is_object, bool *value_out)
{
	struct ugst_scan *scan = walk->scan;

	if (walk->depth == walk->depth_max)
		return ugst_scan_fail(scan, scan->at,
		                      "nested too deep, expected at most %u "
		                      "open objects and arrays",
		                      walk->depth_max);
	scan->at++;
	walk->depth++;
	walk->is_object[walk->depth] = is_object;
	if (is_object && walk->members)
		walk->members->first[walk->depth] = walk->members->count;
	*value_out = ugst_scan_peek(scan) != (is_object ? '}' : ']');
	if (*value_out && is_object)
		return walk_name(walk, "a name or '}'");
	return UGDS_ST_OK;
}

/* A value's first token; *value_out: another value comes next. */
static int walk_value(struct walk *walk, bool *value_out)
{
	struct ugst_scan *scan = walk->scan;
	char c = ugst_scan_peek(scan);

	*value_out = false;
	if (c == '{' || c == '[')
		return walk_open(walk, c == '{', value_out);
	if (c == '"')
		return walk_string(walk, "a string", false);
	if (c == '-' || (c >= '0' && c <= '9'))
		return ugst_scan_number(scan);
	return walk_literal(scan);
}

/* Behind a value: close what ends here, up to base; else take the comma. */
static int walk_behind(struct walk *walk, unsigned base)
{
	struct ugst_scan *scan = walk->scan;

	while (walk->depth > base) {
		bool is_object = walk->is_object[walk->depth];
		int status;

		if (ugst_scan_take(scan, ','))
			return is_object ? walk_name(walk, "a name")
			                 : UGDS_ST_OK;
		if (!ugst_scan_take(scan, is_object ? '}' : ']'))
			return ugst_scan_expected(
				scan, is_object ? "',' or '}'" : "',' or ']'");
		status = is_object && walk->members ? close_members(walk)
		                                    : UGDS_ST_OK;
		if (status)
			return status;
		walk->depth--;
	}
	return UGDS_ST_OK;
}

static int walk_all(struct walk *walk)
{
	unsigned base = walk->depth;

	do {
		bool value = true;
		int status = UGDS_ST_OK;

		while (value && !status)
			status = walk_value(walk, &value);
		if (!status)
			status = walk_behind(walk, base);
		if (status)
			return status;
	} while (walk->depth > base);
	return UGDS_ST_OK;
}

int ugst_scan_skip(struct ugst_scan *scan, unsigned depth)
{
	struct walk walk;

	walk.scan = scan;
	walk.depth = depth;
	walk.depth_max = UGST_SCAN_DEPTH_MAX;
	walk.members = NULL;
	return walk_all(&walk);
}

int ugst_scan_finish(struct ugst_scan *scan)
{
	ugst_scan_space(scan);
	if (scan->at < scan->end)
		return ugst_scan_expected(scan, "the end");
	return UGDS_ST_OK;
}

int ugst_scan_document(const char *text, size_t bytes,
                       struct ugds_st_error *err)
{
	struct ugst_scan scan = ugst_scan_over(text, bytes, "JSON", err);
	struct members members = {.pool_bytes = bytes};
	struct walk walk = {.scan = &scan,
	                    .depth_max = DOCUMENT_DEPTH_MAX,
	                    .members = &members};
	int status = walk_all(&walk);

	if (!status)
		status = ugst_scan_finish(&scan);
	free(members.list);
	free(members.pool);
	return status;
}
