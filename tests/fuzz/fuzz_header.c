/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fuzz_header.c - a header that is accepted describes its file exactly.
 *
 * The input is a file; when its last byte is odd, the length field is set to
 * what fits and the file size to what the header would need, so that the
 * fuzzer need not find either by chance.
 *
 * Properties of every accepted header: tensors cover the data section without
 * hole, overlap or rest; sizes are shape times dtype, without overflow; names
 * are distinct, UTF-8, and found in a table; printing the header and parsing
 * that gives the same tensors.
 */
#include "fuzz.h"

#include <inttypes.h>

#include "base/le.h"
#include "base/utf8.h"
#include "pure/header.h"
#include "pure/table.h"

/* ------------------------------------------------------------- the printer */

struct text {
	char *bytes;
	size_t used;
};

/* Room is reckoned by the caller: six bytes for each of a name. */
static void print_name(struct text *text, const char *name, size_t name_bytes)
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

static void print_tensor(struct text *text,
                         const struct ugst_header_tensor *tensor)
{
	print_name(text, tensor->name, tensor->name_bytes);
	text->used += (size_t)sprintf(text->bytes + text->used,
	                              ":{\"data_offsets\":[%" PRIu64 ",%" PRIu64
	                              "],\"dtype\":\"%s\",\"shape\":[",
	                              tensor->begin, tensor->end,
	                              ugds_st_dtype_name(tensor->dtype));
	for (uint32_t i = 0; i < tensor->rank; i++)
		text->used +=
			(size_t)sprintf(text->bytes + text->used, "%s%" PRIu64,
		                        i ? "," : "", tensor->dims[i]);
	text->used += (size_t)sprintf(text->bytes + text->used, "]}");
}

static struct text print_header(const struct ugst_header *header)
{
	struct text text = {NULL, 0};
	size_t room = 16;

	for (size_t i = 0; i < header->tensor_count; i++)
		room += header->tensors[i].name_bytes * (size_t)6 +
		        header->tensors[i].rank * (size_t)21 + 128;
	text.bytes = malloc(room);
	FUZZ_CHECK(text.bytes);
	text.bytes[text.used++] = '{';
	for (size_t i = 0; i < header->tensor_count; i++) {
		if (i)
			text.bytes[text.used++] = ',';
		print_tensor(&text, &header->tensors[i]);
	}
	text.bytes[text.used++] = '}';
	FUZZ_CHECK(text.used <= room);
	return text;
}

/* -------------------------------------------------------------- properties */

static void check_tensor(const struct ugst_header_tensor *tensor)
{
	unsigned __int128 bits = 1;
	size_t at = 0;

	FUZZ_CHECK(ugds_st_dtype_bits(tensor->dtype) != 0);
	/* Elements first: of [2^62,0] in F32 neither product is too large. */
	for (uint32_t i = 0; i < tensor->rank; i++) {
		bits *= tensor->dims[i];
		FUZZ_CHECK(bits <= UINT64_MAX);
	}
	bits *= ugds_st_dtype_bits(tensor->dtype);
	FUZZ_CHECK(bits <= UINT64_MAX);
	FUZZ_CHECK(bits % 8 == 0);
	FUZZ_CHECK(tensor->end - tensor->begin == bits / 8);
	FUZZ_CHECK(tensor->name[tensor->name_bytes] == '\0');
	while (at < tensor->name_bytes) {
		size_t bytes = ugst_utf8_char_bytes(tensor->name + at,
		                                    tensor->name_bytes - at);

		FUZZ_CHECK(bytes != 0);
		at += bytes;
	}
}

static void check_cover(const struct ugst_header *header, uint64_t file_bytes)
{
	uint64_t end = 0;

	FUZZ_CHECK(header->data_off + header->data_bytes == file_bytes);
	for (size_t i = 0; i < header->tensor_count; i++) {
		FUZZ_CHECK(header->tensors[i].begin == end);
		FUZZ_CHECK(header->tensors[i].end >= end);
		check_tensor(&header->tensors[i]);
		end = header->tensors[i].end;
	}
	FUZZ_CHECK(end == header->data_bytes);
}

static void check_same(const struct ugst_header *a, const struct ugst_header *b)
{
	FUZZ_CHECK(a->tensor_count == b->tensor_count);
	for (size_t i = 0; i < a->tensor_count; i++) {
		const struct ugst_header_tensor *x = &a->tensors[i];
		const struct ugst_header_tensor *y = &b->tensors[i];

		FUZZ_CHECK(x->name_bytes == y->name_bytes);
		FUZZ_CHECK(memcmp(x->name, y->name, x->name_bytes) == 0);
		FUZZ_CHECK(x->dtype == y->dtype && x->rank == y->rank);
		FUZZ_CHECK(x->begin == y->begin && x->end == y->end);
		for (uint32_t k = 0; k < x->rank; k++)
			FUZZ_CHECK(x->dims[k] == y->dims[k]);
	}
}

static void check_round_trip(const struct ugst_header *header)
{
	struct text text = print_header(header);
	struct ugds_st_error err = {0};
	struct ugst_header again;

	FUZZ_CHECK(ugst_header_parse(text.bytes, text.used,
	                             8 + text.used + header->data_bytes, &again,
	                             &err) == UGDS_ST_OK);
	check_same(header, &again);
	ugst_header_free(&again);
	free(text.bytes);
}

/* Consumes the header. */
static void check_table(struct ugst_header *header)
{
	struct ugst_table *table = ugst_table_new();
	size_t count = header->tensor_count;

	FUZZ_CHECK(table);
	FUZZ_CHECK(ugst_table_add_shard(table, header, 7, NULL, 0, NULL) ==
	           UGDS_ST_OK);
	ugst_table_set_owner(table, table);
	FUZZ_CHECK(ugst_table_count(table) == count);
	for (size_t i = 0; i < count; i++) {
		const struct ugds_st_tensor *tensor = ugst_table_at(table, i);

		FUZZ_CHECK(tensor->shard == 7 && tensor->owner == table);
		FUZZ_CHECK(ugst_table_find(table, tensor->name,
		                           tensor->name_bytes) == tensor);
	}
	FUZZ_CHECK(!ugst_table_at(table, count));
	ugst_table_free(table);
}

static void check_file(const char *file, size_t bytes, uint64_t file_bytes)
{
	struct ugds_st_error err = {0};
	struct ugst_header header = {0};
	uint64_t json_bytes = 0;
	int status =
		ugst_header_length(file, bytes, file_bytes, &json_bytes, &err);

	if (!status) {
		FUZZ_CHECK(8 + json_bytes <= bytes);
		status = ugst_header_parse(file + 8, (size_t)json_bytes,
		                           file_bytes, &header, &err);
	}
	if (status) {
		FUZZ_CHECK(status == UGDS_ST_FORMAT);
		fuzz_check_error(&err, status, bytes);
		FUZZ_CHECK(!header.tensors && !header.names && !header.dims);
		return;
	}
	check_cover(&header, file_bytes);
	check_round_trip(&header);
	check_table(&header);
}

/* The size of data that the text asks for, if it is a header at all. */
static uint64_t wanted_bytes(const char *json, size_t json_bytes)
{
	static const char sentence[] = "the header describes ";
	struct ugds_st_error err = {0};
	struct ugst_header header;
	const char *number;

	if (ugst_header_parse(json, json_bytes, 8 + json_bytes, &header,
	                      &err) == UGDS_ST_OK) {
		ugst_header_free(&header);
		return 0;
	}
	number = strstr(err.text, sentence);
	if (strncmp(err.text, "file too short", 14) != 0 || !number)
		return 0;
	return strtoull(number + sizeof(sentence) - 1, NULL, 10);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	char *file;
	uint64_t wanted;

	if (bytes < 9 || !(data[bytes - 1] & 1)) {
		check_file((const char *)data, bytes, bytes);
		return 0;
	}
	file = malloc(bytes - 1);
	FUZZ_CHECK(file);
	memcpy(file, data, bytes - 1);
	ugst_put_le64(file, bytes - 9);
	wanted = wanted_bytes(file + 8, bytes - 9);
	if (wanted > UINT64_MAX - bytes)
		wanted = 0;
	check_file(file, bytes - 1, bytes - 1 + wanted);
	free(file);
	return 0;
}
