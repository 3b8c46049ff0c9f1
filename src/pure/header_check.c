/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * header_check.c - do a header's tensors cover the data section, each byte
 * once? See header.h.
 */
#include "base/common.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/err.h"
#include "base/units.h"
#include "pure/dtype.h"
#include "pure/header.h"
#include "pure/nameset.h"

/* Room for a printed name: two of them fit a line of text. */
#define NAME_ROOM 96u

/* Look-ups in flight: enough to hide a cache miss behind the others. */
#define PREFETCH_DISTANCE 24u

static const char *printable(const struct ugst_header_tensor *tensor,
                             char text[NAME_ROOM])
{
	return ugst_escape(tensor->name, tensor->name_bytes, text, NAME_ROOM);
}

/* ------------------------------------------------------------- twin names */

static bool equal_name(const void *owner, uint32_t number, const char *name,
                       size_t name_bytes)
{
	const struct ugst_header_tensor *tensors = owner;

	return tensors[number].name_bytes == name_bytes &&
	       memcmp(tensors[number].name, name, name_bytes) == 0;
}

static int fail_twins(const struct ugst_header_tensor *first,
                      const struct ugst_header_tensor *second,
                      struct ugds_st_error *err)
{
	char name[NAME_ROOM];

	return ugst_fail_at(err, UGDS_ST_FORMAT, second->json_off,
	                    "duplicate name: tensor \"%s\" at header byte %u, "
	                    "first at byte %u, expected each name once",
	                    printable(second, name), second->json_off,
	                    first->json_off);
}

/* Tensors are in the order of the JSON here. */
static int check_names(const struct ugst_header *header,
                       struct ugds_st_error *err)
{
	const struct ugst_header_tensor *tensors = header->tensors;
	struct ugst_nameset set = {0};
	size_t count = header->tensor_count;
	int status = UGDS_ST_OK;

	if (!ugst_nameset_reserve(&set, count))
		return ugst_fail_memory(err);
	for (size_t i = 0; i < count; i++) {
		struct ugst_name_slot *slot;

		if (i + PREFETCH_DISTANCE < count)
			ugst_nameset_prefetch(
				&set, tensors[i + PREFETCH_DISTANCE].name_hash);
		slot = ugst_nameset_find(&set, tensors[i].name_hash,
		                         tensors[i].name, tensors[i].name_bytes,
		                         equal_name, tensors);
		if (slot->number) {
			status = fail_twins(&tensors[slot->number - 1],
			                    &tensors[i], err);
			break;
		}
		slot->hash = tensors[i].name_hash;
		slot->number = (uint32_t)i + 1;
	}
	ugst_nameset_free(&set);
	return status;
}

/* ------------------------------------------------------------------ order */

static int compare_tensors(const void *left, const void *right)
{
	const struct ugst_header_tensor *a = left;
	const struct ugst_header_tensor *b = right;

	if (a->begin != b->begin)
		return a->begin < b->begin ? -1 : 1;
	if (a->end != b->end)
		return a->end < b->end ? -1 : 1;
	return a->json_off < b->json_off ? -1 : a->json_off > b->json_off;
}

static void sort_tensors(struct ugst_header *header)
{
	if (header->tensor_count)
		qsort(header->tensors, header->tensor_count,
		      sizeof(*header->tensors), compare_tensors);
}

/* ----------------------------------------------------------------- ranges */

/* "BF16 [4096,128]", cut where it gets long. */
static const char *describe(const struct ugst_header_tensor *tensor,
                            char text[96])
{
	size_t used = (size_t)snprintf(text, 96, "%s [",
	                               ugds_st_dtype_name(tensor->dtype));

	for (uint32_t i = 0; i < tensor->rank; i++) {
		if (used > 60) {
			used += (size_t)snprintf(text + used, 96 - used,
			                         ",...");
			break;
		}
		used += (size_t)snprintf(text + used, 96 - used, "%s%" PRIu64,
		                         i ? "," : "", tensor->dims[i]);
	}
	(void)snprintf(text + used, 96 - used, "]");
	return text;
}

static int check_size(const struct ugst_header_tensor *tensor,
                      struct ugds_st_error *err)
{
	char name[NAME_ROOM];
	char shape[96];
	uint64_t bits = 1;
	bool fits = true;

	/* In this order a zero may stand behind an overflow, which is then
	 * refused, or before it, which is not: as the official loader does. */
	for (uint32_t i = 0; i < tensor->rank && fits; i++)
		fits = ugst_mul(bits, tensor->dims[i], &bits);
	if (fits)
		fits = ugst_mul(bits, ugds_st_dtype_bits(tensor->dtype), &bits);
	if (!fits)
		return ugst_fail_at(err, UGDS_ST_FORMAT, tensor->json_off,
		                    "size overflow: tensor \"%s\" at header "
		                    "byte %u, %s has more than 2^64 - 1 bits",
		                    printable(tensor, name), tensor->json_off,
		                    describe(tensor, shape));
	if (bits % 8 != 0)
		return ugst_fail_at(err, UGDS_ST_FORMAT, tensor->json_off,
		                    "not whole bytes: tensor \"%s\" at header "
		                    "byte %u, %s has %" PRIu64
		                    " bits, expected a multiple of 8",
		                    printable(tensor, name), tensor->json_off,
		                    describe(tensor, shape), bits);
	if (tensor->end - tensor->begin != bits / 8)
		return ugst_fail_at(
			err, UGDS_ST_FORMAT, tensor->json_off,
			"wrong size: tensor \"%s\" at header byte %u, %s needs "
			"%" PRIu64 " bytes, found data_offsets [%" PRIu64
			",%" PRIu64 "] with %" PRIu64,
			printable(tensor, name), tensor->json_off,
			describe(tensor, shape), bits / 8, tensor->begin,
			tensor->end, tensor->end - tensor->begin);
	return UGDS_ST_OK;
}

/* A tensor that does not begin where the one before it ends. */
static int fail_offsets(const struct ugst_header_tensor *tensor,
                        const struct ugst_header_tensor *before,
                        uint64_t expected, struct ugds_st_error *err)
{
	char name[NAME_ROOM];
	char other[NAME_ROOM] = "";
	const char *fault;

	if (tensor->end < tensor->begin)
		fault = "ends before it begins";
	else if (tensor->begin < expected)
		fault = "overlaps the tensor before it";
	else
		fault = "leaves a hole before it";
	if (before)
		(void)printable(before, other);
	return ugst_fail_at(
		err, UGDS_ST_FORMAT, tensor->json_off,
		"bad offsets: tensor \"%s\" at header byte %u %s, expected "
		"begin "
		"%" PRIu64 " (%s%s%s), found data_offsets [%" PRIu64 ",%" PRIu64
		"]",
		printable(tensor, name), tensor->json_off, fault, expected,
		before ? "the end of \"" : "the start of the data", other,
		before ? "\"" : "", tensor->begin, tensor->end);
}

static int check_end(const struct ugst_header *header, uint64_t end,
                     struct ugds_st_error *err)
{
	uint64_t have = header->data_bytes;

	if (end > have)
		return ugst_fail(err, UGDS_ST_FORMAT,
		                 "file too short: the header describes %" PRIu64
		                 " bytes of data, found %" PRIu64 " (%" PRIu64
		                 " are missing: an incomplete download?)",
		                 end, have, end - have);
	if (end < have)
		return ugst_fail(err, UGDS_ST_FORMAT,
		                 "file too long: the header describes %" PRIu64
		                 " bytes of data, found %" PRIu64 " (%" PRIu64
		                 " trailing bytes that belong to no tensor)",
		                 end, have, have - end);
	return UGDS_ST_OK;
}

/* Tensors in order of their offsets must follow each other to the end. */
static int check_cover(const struct ugst_header *header,
                       struct ugds_st_error *err)
{
	const struct ugst_header_tensor *before = NULL;
	uint64_t end = 0;

	for (size_t i = 0; i < header->tensor_count; i++) {
		const struct ugst_header_tensor *tensor = &header->tensors[i];
		int status;

		if (tensor->begin != end || tensor->end < tensor->begin)
			return fail_offsets(tensor, before, end, err);
		status = check_size(tensor, err);
		if (status)
			return status;
		end = tensor->end;
		before = tensor;
	}
	return check_end(header, end, err);
}

int ugst_header_check(struct ugst_header *header, struct ugds_st_error *err)
{
	int status = check_names(header, err);

	if (status)
		return status;
	/* Most writers write in order, and what covers the data as it stands
	 * is in order: sort, and complain, only where it does not. */
	if (check_cover(header, NULL) == UGDS_ST_OK)
		return UGDS_ST_OK;
	sort_tensors(header);
	return check_cover(header, err);
}
