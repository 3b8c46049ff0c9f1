/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * header.c - the JSON of a safetensors header, read in one pass by its type.
 *
 * What counts as well-formed is what serde makes of the official loader's
 * types, oddities included: an entry may be written as an array in the order
 * of its fields, a dtype as {"F32": null}, members that nobody knows are
 * checked and ignored. docs/checkpoints.md has the rules.
 */
#include "base/common.h"

#include <stdio.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "pure/dtype.h"
#include "pure/hash.h"
#include "pure/header.h"
#include "pure/namepool.h"
#include "pure/nameset.h"
#include "pure/scan.h"

/* Objects open around a member of a tensor's entry: the header, the entry. */
#define ENTRY_DEPTH 2u

struct parser {
	struct ugst_scan scan;
	struct ugst_header header;
	size_t tensor_capacity;
	struct ugst_namepool names;
	size_t dims_count;
	size_t dims_capacity;
	bool dims_moved;
	uint64_t seed;
	bool metadata_seen;
};

/* Which fields of an entry were seen. */
enum {
	FIELD_DTYPE = 1,
	FIELD_SHAPE = 2,
	FIELD_OFFSETS = 4,
	FIELDS_ALL = 7
};

/* ----------------------------------------------------------------- fields */

static int parse_dtype_name(struct parser *parser, const char *wanted,
                            int *dtype_out)
{
	struct ugst_scan *scan = &parser->scan;
	char printed[UGST_ESCAPED_BYTES];
	struct ugst_string string;
	char text[6 * 11]; /* the longest dtype, all of it as \u escapes */
	int status = ugst_scan_string(scan, wanted, &string);

	if (status)
		return status;
	if (!string.escaped)
		*dtype_out = ugst_dtype_from_name(string.raw, string.raw_bytes);
	else if (string.raw_bytes <= sizeof(text))
		*dtype_out = ugst_dtype_from_name(
			text, ugst_scan_unescape(&string, text));
	else
		*dtype_out = 0;
	if (*dtype_out)
		return UGDS_ST_OK;
	return ugst_scan_fail(scan, string.raw - 1,
	                      "unknown dtype \"%s\", expected one of the "
	                      "format's, BOOL to U64",
	                      ugst_escape(string.raw, string.raw_bytes, printed,
	                                  sizeof(printed)));
}

/* serde's other spelling of an enum value: {"F32": null}. */
static int parse_dtype_object(struct parser *parser, int *dtype_out)
{
	struct ugst_scan *scan = &parser->scan;
	int status;

	scan->at++;
	status = parse_dtype_name(parser, "a dtype", dtype_out);
	if (!status)
		status = ugst_scan_expect(scan, ':', "':' after a dtype");
	if (status)
		return status;
	ugst_scan_space(scan);
	if (!ugst_scan_usual(scan, "null", 4))
		return ugst_scan_expected(scan, "null");
	return ugst_scan_expect(scan, '}', "'}' after a dtype");
}

static int parse_dtype(struct parser *parser, struct ugst_header_tensor *tensor)
{
	if (ugst_scan_peek(&parser->scan) == '{')
		return parse_dtype_object(parser, &tensor->dtype);
	return parse_dtype_name(parser, "a dtype as a string", &tensor->dtype);
}

static int add_dim(struct parser *parser, uint64_t dim)
{
	uint64_t *dims = ugst_grow(parser->header.dims, parser->dims_count,
	                           &parser->dims_capacity, sizeof(*dims));

	if (!dims)
		return ugst_fail_memory(parser->scan.err);
	parser->dims_moved |= dims != parser->header.dims;
	parser->header.dims = dims;
	dims[parser->dims_count++] = dim;
	return UGDS_ST_OK;
}

static int parse_shape(struct parser *parser, struct ugst_header_tensor *tensor)
{
	struct ugst_scan *scan = &parser->scan;
	int status = ugst_scan_expect(scan, '[', "the shape as an array");

	tensor->rank = 0;
	if (status || ugst_scan_take(scan, ']'))
		return status;
	do {
		uint64_t dim = 0;

		status = ugst_scan_uint(scan, "a dimension as a whole number",
		                        &dim);
		if (!status)
			status = add_dim(parser, dim);
		if (status)
			return status;
		tensor->rank++;
	} while (ugst_scan_take(scan, ','));
	return ugst_scan_expect(scan, ']', "',' or ']' after a dimension");
}

static int parse_offsets(struct parser *parser,
                         struct ugst_header_tensor *tensor)
{
	static const char wanted[] = "a byte offset as a whole number";
	struct ugst_scan *scan = &parser->scan;
	int status = ugst_scan_expect(scan, '[', "data_offsets as an array");

	if (!status)
		status = ugst_scan_uint(scan, wanted, &tensor->begin);
	if (!status)
		status = ugst_scan_expect(scan, ',',
		                          "',' and the second data offset");
	if (!status)
		status = ugst_scan_uint(scan, wanted, &tensor->end);
	if (!status)
		status = ugst_scan_expect(scan, ']',
		                          "']' after two data offsets");
	return status;
}

/* ---------------------------------------------------------------- entries */

/* The first of some fields. */
static const char *field_name(unsigned fields)
{
	return fields & FIELD_DTYPE   ? "dtype"
	       : fields & FIELD_SHAPE ? "shape"
	                              : "data_offsets";
}

/* The name of a member and its colon; *field_out is 0 for an unknown one. */
static int parse_field_name(struct ugst_scan *scan, unsigned *field_out)
{
	struct ugst_string name;
	int status;

	ugst_scan_space(scan);
	*field_out = ugst_scan_usual(scan, "\"dtype\":", 8)   ? FIELD_DTYPE
	             : ugst_scan_usual(scan, "\"shape\":", 8) ? FIELD_SHAPE
	             : ugst_scan_usual(scan, "\"data_offsets\":", 15)
	                     ? FIELD_OFFSETS
	                     : 0;
	if (*field_out)
		return UGDS_ST_OK;
	status = ugst_scan_string(scan, "a member name", &name);
	if (!status)
		status = ugst_scan_expect(scan, ':', "':' after a member name");
	if (status)
		return status;
	if (UGST_SCAN_IS(&name, "dtype"))
		*field_out = FIELD_DTYPE;
	else if (UGST_SCAN_IS(&name, "shape"))
		*field_out = FIELD_SHAPE;
	else if (UGST_SCAN_IS(&name, "data_offsets"))
		*field_out = FIELD_OFFSETS;
	return UGDS_ST_OK;
}

static int parse_field(struct parser *parser, struct ugst_header_tensor *tensor,
                       unsigned *seen)
{
	struct ugst_scan *scan = &parser->scan;
	unsigned field;
	int status;
	const char *name;

	(void)ugst_scan_peek(scan);
	name = scan->at;
	status = parse_field_name(scan, &field);
	if (status)
		return status;
	if (*seen & field)
		return ugst_scan_fail(scan, name, "%s twice in one entry",
		                      field_name(field));
	*seen |= field;
	switch (field) {
	case FIELD_DTYPE:
		return parse_dtype(parser, tensor);
	case FIELD_SHAPE:
		return parse_shape(parser, tensor);
	case FIELD_OFFSETS:
		return parse_offsets(parser, tensor);
	default:
		return ugst_scan_skip(scan, ENTRY_DEPTH);
	}
}

static int parse_entry_object(struct parser *parser,
                              struct ugst_header_tensor *tensor)
{
	struct ugst_scan *scan = &parser->scan;
	unsigned seen = 0;
	int status;

	if (!ugst_scan_take(scan, '}')) {
		do {
			status = parse_field(parser, tensor, &seen);
			if (status)
				return status;
		} while (ugst_scan_take(scan, ','));
		status = ugst_scan_expect(scan, '}',
		                          "',' or '}' after a member");
		if (status)
			return status;
	}
	if (seen != FIELDS_ALL)
		return ugst_scan_fail(scan, scan->at - 1,
		                      "entry without %s, expected dtype, "
		                      "shape and data_offsets",
		                      !(seen & FIELD_DTYPE)   ? "dtype"
		                      : !(seen & FIELD_SHAPE) ? "shape"
		                                              : "data_offsets");
	return UGDS_ST_OK;
}

static int parse_entry_array(struct parser *parser,
                             struct ugst_header_tensor *tensor)
{
	struct ugst_scan *scan = &parser->scan;
	int status = parse_dtype(parser, tensor);

	if (!status)
		status = ugst_scan_expect(scan, ',', "',' and a shape");
	if (!status)
		status = parse_shape(parser, tensor);
	if (!status)
		status = ugst_scan_expect(scan, ',', "',' and data_offsets");
	if (!status)
		status = parse_offsets(parser, tensor);
	if (!status)
		status = ugst_scan_expect(scan, ']', "']' after data_offsets");
	return status;
}

static int parse_entry(struct parser *parser, struct ugst_header_tensor *tensor)
{
	struct ugst_scan *scan = &parser->scan;

	if (ugst_scan_take(scan, '{'))
		return parse_entry_object(parser, tensor);
	if (ugst_scan_take(scan, '['))
		return parse_entry_array(parser, tensor);
	return ugst_scan_expected(scan, "an object that describes a tensor");
}

/* Say in which tensor's entry the error is. */
static void name_culprit(struct ugds_st_error *err, const char *name,
                         size_t name_bytes)
{
	char printed[UGST_ESCAPED_BYTES];
	size_t used;

	if (!err || err->status != UGDS_ST_FORMAT)
		return;
	used = strlen(err->text);
	(void)snprintf(err->text + used, sizeof(err->text) - used,
	               ", in tensor \"%s\"",
	               ugst_escape(name, name_bytes, printed, sizeof(printed)));
}

static int parse_tensor(struct parser *parser, const struct ugst_string *string)
{
	struct ugst_header *header = &parser->header;
	struct ugst_header_tensor *tensor;
	const char *name;
	int status;

	tensor = ugst_grow(header->tensors, header->tensor_count,
	                   &parser->tensor_capacity, sizeof(*tensor));
	if (!tensor)
		return ugst_fail_memory(parser->scan.err);
	header->tensors = tensor;
	tensor += header->tensor_count++;
	name = ugst_namepool_add(&parser->names, string, &tensor->name_bytes);
	if (!name)
		return ugst_fail_memory(parser->scan.err);
	tensor->name = name;
	tensor->dims = header->dims + parser->dims_count;
	tensor->name_hash =
		ugst_name_hash(name, tensor->name_bytes, parser->seed);
	tensor->json_off = (uint32_t)(string->raw - 1 - parser->scan.text);
	status = parse_entry(parser, tensor);
	if (status)
		name_culprit(parser->scan.err, name, tensor->name_bytes);
	return status;
}

/* ------------------------------------------------------------- the header */

static int parse_metadata(struct parser *parser, const struct ugst_string *name)
{
	struct ugst_scan *scan = &parser->scan;
	struct ugst_string string;
	int status;

	if (parser->metadata_seen)
		return ugst_scan_fail(scan, name->raw - 1,
		                      "__metadata__ twice");
	parser->metadata_seen = true;
	if (ugst_scan_peek(scan) == 'n')
		return ugst_scan_skip(scan, 1);
	status = ugst_scan_expect(scan, '{', "__metadata__ as an object");
	if (status || ugst_scan_take(scan, '}'))
		return status;
	do {
		status = ugst_scan_string(scan, "a name in __metadata__",
		                          &string);
		if (!status)
			status = ugst_scan_expect(
				scan, ':', "':' after a name in __metadata__");
		if (!status)
			status = ugst_scan_string(
				scan, "a string as value in __metadata__",
				&string);
		if (status)
			return status;
	} while (ugst_scan_take(scan, ','));
	return ugst_scan_expect(scan, '}',
	                        "',' or '}' after a value in __metadata__");
}

static int parse_member(struct parser *parser)
{
	struct ugst_string name;
	int status = ugst_scan_string(&parser->scan, "a tensor name", &name);

	if (!status)
		status = ugst_scan_expect(&parser->scan, ':',
		                          "':' after a tensor name");
	if (status)
		return status;
	if (UGST_SCAN_IS(&name, "__metadata__"))
		return parse_metadata(parser, &name);
	return parse_tensor(parser, &name);
}

static int parse_root(struct parser *parser)
{
	struct ugst_scan *scan = &parser->scan;
	int status = ugst_scan_expect(scan, '{', "'{'");

	if (status)
		return status;
	if (!ugst_scan_take(scan, '}')) {
		do {
			status = parse_member(parser);
			if (status)
				return status;
		} while (ugst_scan_take(scan, ','));
		status = ugst_scan_expect(scan, '}',
		                          "',' or '}' after an entry");
		if (status)
			return status;
	}
	return ugst_scan_finish(scan);
}

/* Room for a header as writers write them: growing an array moves it, and each
 * page that is touched anew costs more than what is parsed into it. Memory that
 * is not touched costs nothing. */
static bool reserve_pools(struct parser *parser, size_t json_bytes)
{
	struct ugst_header *header = &parser->header;

	parser->tensor_capacity = json_bytes / 96 + 1;
	parser->dims_capacity = json_bytes / 48 + 1;
	header->tensors = ugst_reallocarray(NULL, parser->tensor_capacity,
	                                    sizeof(*header->tensors));
	header->dims = ugst_reallocarray(NULL, parser->dims_capacity,
	                                 sizeof(*header->dims));
	return header->tensors && header->dims &&
	       ugst_namepool_reserve(&parser->names, json_bytes / 2 + 1);
}

/* The pools have stopped growing: shed their spare room. Where one has moved,
 * point into it anew; tensors still stand in the order in which they came. */
static void settle_pools(struct parser *parser)
{
	struct ugst_header *header = &parser->header;
	struct ugst_header_tensor *tensors = ugst_reallocarray(
		header->tensors, header->tensor_count, sizeof(*tensors));
	uint64_t *dims = ugst_reallocarray(header->dims, parser->dims_count,
	                                   sizeof(*dims));
	const char *name;

	ugst_namepool_settle(&parser->names);
	header->names = parser->names.names;
	header->tensors = tensors ? tensors : header->tensors;
	parser->dims_moved |= dims && dims != header->dims;
	header->dims = dims ? dims : header->dims;
	if (!parser->dims_moved && !parser->names.moved)
		return;
	name = header->names;
	dims = header->dims;
	for (size_t i = 0; i < header->tensor_count; i++) {
		tensors = &header->tensors[i];
		tensors->name = name;
		tensors->dims = dims;
		name += tensors->name_bytes + 1;
		dims += tensors->rank;
	}
}

/* The official loader looks at the encoding of the whole text first; where
 * both are wrong, say what it says. */
static int blame_utf8(const struct ugst_scan *scan, int status)
{
	const char *at = scan->text;

	while (at < scan->end) {
		size_t bytes =
			ugst_utf8_char_bytes(at, (size_t)(scan->end - at));

		if (bytes == 0)
			return ugst_scan_fail_utf8(scan, at);
		at += bytes;
	}
	return status;
}

int ugst_header_parse(const char *json, size_t json_bytes, uint64_t file_bytes,
                      struct ugst_header *header_out, struct ugds_st_error *err)
{
	struct parser parser = {
		.scan = ugst_scan_over(json, json_bytes, "header", err),
		.seed = ugst_hash_seed(),
	};
	uint64_t data_off = UGST_HEADER_PREFIX_BYTES + (uint64_t)json_bytes;
	int status;

	if (json_bytes > UGST_HEADER_MAX_BYTES || data_off > file_bytes)
		return ugst_fail(err, UGDS_ST_FORMAT,
		                 "bad header length: %zu bytes in a file of "
		                 "%llu, expected at most %u inside the file",
		                 json_bytes, (unsigned long long)file_bytes,
		                 UGST_HEADER_MAX_BYTES);
	parser.header.data_off = data_off;
	parser.header.data_bytes = file_bytes - data_off;
	status = reserve_pools(&parser, json_bytes) ? parse_root(&parser)
	                                            : ugst_fail_memory(err);
	if (status == UGDS_ST_FORMAT)
		status = blame_utf8(&parser.scan, status);
	if (!status) {
		settle_pools(&parser);
		status = ugst_header_check(&parser.header, err);
	}
	if (status) {
		parser.header.names = parser.names.names;
		ugst_header_free(&parser.header);
	} else {
		*header_out = parser.header;
	}
	return status;
}

void ugst_header_free(struct ugst_header *header)
{
	free(header->tensors);
	free(header->names);
	free(header->dims);
	memset(header, 0, sizeof(*header));
}
