/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * json.c - cJSON behind a fence; see json.h.
 *
 * cJSON is lenient (01, trailing bytes, raw control characters, \u0000) and
 * takes the first of two equal names, so the strict scanner goes over every
 * document first. Its hooks are process-wide and never set here; memory that
 * it hands out is given back through it, since an engine may have set them.
 */
#include "base/common.h"

#include <assert.h>
#include <cjson/cJSON.h>
#include <inttypes.h>
#include <stdio.h>

#include "base/err.h"
#include "base/mem.h"
#include "pure/json.h"
#include "pure/scan.h"

/* struct ugst_json is never defined: it is a cJSON under another name. */
static const cJSON *item(const struct ugst_json *value)
{
	return (const cJSON *)(const void *)value;
}

static const struct ugst_json *value_of(const cJSON *node)
{
	return (const struct ugst_json *)(const void *)node;
}

/* Digits of a number literal that cJSON takes whole. */
#define NUMBER_CHARS_MAX 62u

/* cJSON cuts a longer literal and then trips over its rest, which cannot be
 * told from a lack of memory. The text is known to be strict JSON. */
static int check_number_lengths(const char *text, size_t bytes,
                                struct ugds_st_error *err)
{
	bool in_string = false;
	size_t run = 0;

	for (size_t i = 0; i < bytes; i++) {
		if (text[i] == '\\' && in_string)
			i++;
		else if (text[i] == '"')
			in_string = !in_string;
		if (in_string || !text[i] ||
		    !strchr("0123456789+-.eE", text[i]))
			run = 0;
		else if (++run > NUMBER_CHARS_MAX)
			return ugst_fail_at(err, UGDS_ST_FORMAT, i,
			                    "byte %zu: expected a number of at "
			                    "most %u characters, found a "
			                    "longer one",
			                    i, NUMBER_CHARS_MAX);
	}
	return UGDS_ST_OK;
}

int ugst_json_parse(const char *text, size_t bytes, struct ugst_json **root_out,
                    struct ugds_st_error *err)
{
	cJSON *root;
	int status = ugst_scan_document(text, bytes, err);

	if (status == UGDS_ST_OK)
		status = check_number_lengths(text, bytes, err);
	if (status != UGDS_ST_OK)
		return status;
	root = cJSON_ParseWithLengthOpts(text, bytes, NULL, false);
	if (!root)
		return ugst_fail_memory(err);
	if (!cJSON_IsObject(root)) {
		cJSON_Delete(root);
		return ugst_fail_at(err, UGDS_ST_FORMAT, 0,
		                    "expected an object as the document's "
		                    "root, found another value");
	}
	*root_out = (struct ugst_json *)(void *)root;
	return UGDS_ST_OK;
}

void ugst_json_free(struct ugst_json *root)
{
	cJSON_Delete((cJSON *)(void *)root);
}

/* ------------------------------------------------------------- reading */

static const cJSON *member_of(const struct ugst_json *object,
                              const char *member)
{
	return cJSON_GetObjectItemCaseSensitive(item(object), member);
}

bool ugst_json_has(const struct ugst_json *object, const char *member)
{
	return member_of(object, member) != NULL;
}

const char *ugst_json_unknown(const struct ugst_json *object,
                              const char *const *known)
{
	const cJSON *child;

	cJSON_ArrayForEach(child, item(object))
	{
		size_t i = 0;

		while (known[i] && strcmp(known[i], child->string))
			i++;
		if (!known[i])
			return child->string;
	}
	return NULL;
}

/* What a wrong value is, for an error text. */
static const char *describe(const cJSON *node, char *out, size_t out_bytes)
{
	if (!node)
		return "nothing";
	if (cJSON_IsObject(node))
		return "an object";
	if (cJSON_IsArray(node))
		return "an array";
	if (cJSON_IsNull(node))
		return "null";
	if (cJSON_IsBool(node))
		return cJSON_IsTrue(node) ? "true" : "false";
	if (cJSON_IsNumber(node)) {
		(void)snprintf(out, out_bytes, "%.17g", node->valuedouble);
		return out;
	}
	out[0] = '"';
	ugst_escape(node->valuestring, strlen(node->valuestring), out + 1,
	            out_bytes - 2);
	strcat(out, "\"");
	return out;
}

static int wrong(struct ugds_st_error *err, const cJSON *node,
                 const char *member, const char *expected)
{
	char text[UGST_ESCAPED_BYTES];

	return ugst_fail(err, UGDS_ST_FORMAT,
	                 "member \"%s\": expected %s, found %s", member,
	                 expected, describe(node, text, sizeof(text)));
}

int ugst_json_get_object(const struct ugst_json *object, const char *member,
                         const struct ugst_json **object_out,
                         struct ugds_st_error *err)
{
	const cJSON *node = member_of(object, member);

	if (!cJSON_IsObject(node))
		return wrong(err, node, member, "an object");
	*object_out = value_of(node);
	return UGDS_ST_OK;
}

int ugst_json_get_array(const struct ugst_json *object, const char *member,
                        const struct ugst_json **array_out, size_t *count_out,
                        struct ugds_st_error *err)
{
	const cJSON *node = member_of(object, member);
	const cJSON *child;
	size_t count = 0;

	if (!cJSON_IsArray(node))
		return wrong(err, node, member, "an array");
	/* cJSON_GetArraySize() is an int. */
	cJSON_ArrayForEach(child, node) count++;
	*array_out = value_of(node);
	*count_out = count;
	return UGDS_ST_OK;
}

int ugst_json_get_string(const struct ugst_json *object, const char *member,
                         const char **text_out, struct ugds_st_error *err)
{
	const cJSON *node = member_of(object, member);

	if (!cJSON_IsString(node))
		return wrong(err, node, member, "a string");
	*text_out = node->valuestring;
	return UGDS_ST_OK;
}

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

int ugst_json_get_hex(const struct ugst_json *object, const char *member,
                      uint8_t *bytes_out, size_t bytes,
                      struct ugds_st_error *err)
{
	const cJSON *node = member_of(object, member);
	const char *text = cJSON_IsString(node) ? node->valuestring : "";
	char expected[64];
	size_t i = 0;

	if (strlen(text) == 2 * bytes)
		while (i < 2 * bytes && hex_digit(text[i]) >= 0)
			i++;
	if (i != 2 * bytes) {
		(void)snprintf(expected, sizeof(expected),
		               "%zu lower-case hex digits", 2 * bytes);
		return wrong(err, node, member, expected);
	}
	for (i = 0; i < bytes; i++)
		bytes_out[i] = (uint8_t)(hex_digit(text[2 * i]) << 4 |
		                         hex_digit(text[2 * i + 1]));
	return UGDS_ST_OK;
}

bool ugst_json_u64(const struct ugst_json *value, uint64_t *value_out)
{
	const char *text = ugst_json_string(value);
	uint64_t sum = 0;

	/* One spelling a value: "0", or no zero in front. */
	if (!text || !*text || (text[0] == '0' && text[1] != '\0'))
		return false;
	for (; *text; text++) {
		if (*text < '0' || *text > '9' ||
		    __builtin_mul_overflow(sum, (uint64_t)10, &sum) ||
		    __builtin_add_overflow(sum, (uint64_t)(*text - '0'), &sum))
			return false;
	}
	*value_out = sum;
	return true;
}

int ugst_json_get_u64(const struct ugst_json *object, const char *member,
                      uint64_t min, uint64_t max, uint64_t *value_out,
                      struct ugds_st_error *err)
{
	const cJSON *node = member_of(object, member);
	char expected[96];
	uint64_t value;

	if (!ugst_json_u64(value_of(node), &value) || value < min ||
	    value > max) {
		(void)snprintf(expected, sizeof(expected),
		               "a decimal string from %" PRIu64 " to %" PRIu64,
		               min, max);
		return wrong(err, node, member, expected);
	}
	*value_out = value;
	return UGDS_ST_OK;
}

bool ugst_json_u32(const struct ugst_json *value, uint32_t *value_out)
{
	const cJSON *node = item(value);
	double number = cJSON_IsNumber(node) ? node->valuedouble : -1;

	if (!(number >= 0 && number <= UINT32_MAX) ||
	    (double)(uint32_t)number != number)
		return false;
	*value_out = (uint32_t)number;
	return true;
}

int ugst_json_get_u32(const struct ugst_json *object, const char *member,
                      uint32_t min, uint32_t max, uint32_t *value_out,
                      struct ugds_st_error *err)
{
	const cJSON *node = member_of(object, member);
	char expected[96];
	uint32_t value;

	if (!ugst_json_u32(value_of(node), &value) || value < min ||
	    value > max) {
		(void)snprintf(expected, sizeof(expected),
		               "a whole number from %" PRIu32 " to %" PRIu32,
		               min, max);
		return wrong(err, node, member, expected);
	}
	*value_out = value;
	return UGDS_ST_OK;
}

const struct ugst_json *ugst_json_first(const struct ugst_json *array)
{
	return value_of(item(array)->child);
}

const struct ugst_json *ugst_json_next(const struct ugst_json *element)
{
	return value_of(item(element)->next);
}

const char *ugst_json_name(const struct ugst_json *member)
{
	return item(member)->string;
}

bool ugst_json_is_object(const struct ugst_json *value)
{
	return cJSON_IsObject(item(value));
}

const char *ugst_json_string(const struct ugst_json *value)
{
	return cJSON_IsString(item(value)) ? item(value)->valuestring : NULL;
}

/* ------------------------------------------------------------- writing */

struct ugst_json *ugst_json_new(void)
{
	return (struct ugst_json *)(void *)cJSON_CreateObject();
}

/* Takes node over. */
static cJSON *add(struct ugst_json *parent, const char *name, cJSON *node)
{
	cJSON *into = (cJSON *)(void *)parent;
	cJSON_bool added;

	if (!into || !node) {
		cJSON_Delete(node);
		return NULL;
	}
	added = name ? cJSON_AddItemToObject(into, name, node)
	             : cJSON_AddItemToArray(into, node);
	if (!added) {
		cJSON_Delete(node);
		return NULL;
	}
	return node;
}

struct ugst_json *ugst_json_add_object(struct ugst_json *parent,
                                       const char *name)
{
	return (struct ugst_json *)(void *)add(parent, name,
	                                       cJSON_CreateObject());
}

struct ugst_json *ugst_json_add_array(struct ugst_json *parent,
                                      const char *name)
{
	return (struct ugst_json *)(void *)add(parent, name,
	                                       cJSON_CreateArray());
}

bool ugst_json_add_string(struct ugst_json *parent, const char *name,
                          const char *text)
{
	return add(parent, name, cJSON_CreateString(text)) != NULL;
}

bool ugst_json_add_hex(struct ugst_json *parent, const char *name,
                       const uint8_t *bytes, size_t count)
{
	char text[2 * 32 + 1] = "";

	assert(count <= 32);
	for (size_t i = 0; i < count; i++)
		(void)snprintf(text + 2 * i, 3, "%02x", bytes[i]);
	return ugst_json_add_string(parent, name, text);
}

bool ugst_json_add_u64(struct ugst_json *parent, const char *name,
                       uint64_t value)
{
	char text[24];

	(void)snprintf(text, sizeof(text), "%" PRIu64, value);
	return ugst_json_add_string(parent, name, text);
}

bool ugst_json_add_u32(struct ugst_json *parent, const char *name,
                       uint32_t value)
{
	return add(parent, name, cJSON_CreateNumber(value)) != NULL;
}

int ugst_json_print(const struct ugst_json *root, bool pretty, char **text_out,
                    size_t *bytes_out, struct ugds_st_error *err)
{
	char *printed = pretty ? cJSON_Print(item(root))
	                       : cJSON_PrintUnformatted(item(root));
	char *text = NULL;

	if (printed)
		text = ugst_printf(pretty ? "%s\n" : "%s", printed);
	cJSON_free(printed);
	if (!text)
		return ugst_fail_memory(err);
	*text_out = text;
	*bytes_out = strlen(text);
	return UGDS_ST_OK;
}
