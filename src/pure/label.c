/* SPDX-License-Identifier: BSD-3-Clause */
/* label.c - a slot as bytes, and the choice between two; see label.h. */
#include "base/common.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/err.h"
#include "base/le.h"
#include "base/mem.h"
#include "base/units.h"
#include "pure/hash.h"
#include "pure/label.h"

/*
 * Slot header, docs/format.md section 3. All that follows the hash is zero:
 * bytes 510-511, 1024-1100 and 4086-4095 are where partition tables, ext2 and
 * its kin, and swap keep their magic.
 */
#define MAGIC_OFF 0
#define VERSION_OFF 16
#define INCOMPAT_OFF 24
#define RO_COMPAT_OFF 32
#define SEQUENCE_OFF 40
#define CATALOG_BYTES_OFF 48
#define HASH_OFF 56

#define LABEL_VERSION 1u

/* Ends in CR LF, so that a copy that mends line ends shows. */
static const char magic[16] = {'u', 'g', 'd', 's', '_', 's', 't',  ' ',
                               'v', 'o', 'l', 'u', 'm', 'e', '\r', '\n'};

static bool has_magic(const void *header)
{
	return !memcmp((const char *)header + MAGIC_OFF, magic, sizeof(magic));
}

size_t ugst_slot_catalog_bytes(const void *header)
{
	uint64_t bytes =
		ugst_get_le64((const char *)header + CATALOG_BYTES_OFF);

	if (!has_magic(header) || bytes > UGST_CATALOG_MAX_BYTES)
		return 0;
	return (size_t)bytes;
}

/* Over header, with the hash's own bytes as zeros, and catalog. */
static int slot_hash(const void *slot, size_t catalog_bytes,
                     struct ugst_hash *hash_out, struct ugds_st_error *err)
{
	static const uint8_t zeros[UGST_HASH_BYTES];
	const char *bytes = slot;
	struct ugst_hasher *hasher = ugst_hasher_new();

	if (!hasher)
		return ugst_fail_memory(err);
	ugst_hasher_add(hasher, bytes, HASH_OFF);
	ugst_hasher_add(hasher, zeros, sizeof(zeros));
	ugst_hasher_add(hasher, bytes + HASH_OFF + sizeof(zeros),
	                UGST_SLOT_HEADER_BYTES - HASH_OFF - sizeof(zeros));
	ugst_hasher_add(hasher, bytes + UGST_SLOT_HEADER_BYTES, catalog_bytes);
	*hash_out = ugst_hasher_result(hasher);
	ugst_hasher_free(hasher);
	return UGDS_ST_OK;
}

static enum ugst_slot_state check_hash(const char *slot, size_t catalog_bytes,
                                       struct ugds_st_error *err)
{
	char expected_text[UGST_HASH_TEXT_BYTES];
	char found_text[UGST_HASH_TEXT_BYTES];
	struct ugst_hash expected;
	struct ugst_hash found;

	memcpy(expected.bytes, slot + HASH_OFF, UGST_HASH_BYTES);
	if (slot_hash(slot, catalog_bytes, &found, err) != UGDS_ST_OK)
		return UGST_SLOT_DAMAGED;
	if (ugst_hash_equal(&expected, &found))
		return UGST_SLOT_VALID;
	(void)ugst_fail(err, UGDS_ST_CORRUPT,
	                "label: expected hash %s, found %s",
	                ugst_hash_text(&expected, expected_text),
	                ugst_hash_text(&found, found_text));
	return UGST_SLOT_DAMAGED;
}

/* The slot is whole; is it one that this version understands? */
static enum ugst_slot_state check_version(const char *slot,
                                          struct ugds_st_error *err)
{
	uint32_t version = ugst_get_le32(slot + VERSION_OFF);
	uint64_t incompat = ugst_get_le64(slot + INCOMPAT_OFF);

	if (version != LABEL_VERSION) {
		(void)ugst_fail(err, UGDS_ST_UNSUPPORTED,
		                "label: expected version %u, found %" PRIu32,
		                LABEL_VERSION, version);
		return UGST_SLOT_UNSUPPORTED;
	}
	if (incompat) {
		(void)ugst_fail(err, UGDS_ST_UNSUPPORTED,
		                "label: expected no features that a reader "
		                "must know, found flags 0x%" PRIx64,
		                incompat);
		return UGST_SLOT_UNSUPPORTED;
	}
	if (ugst_get_le64(slot + SEQUENCE_OFF) == 0) {
		(void)ugst_fail(err, UGDS_ST_CORRUPT,
		                "label: expected a sequence number from 1, "
		                "found 0");
		return UGST_SLOT_DAMAGED;
	}
	return UGST_SLOT_VALID;
}

enum ugst_slot_state ugst_slot_decode(const void *slot, size_t slot_bytes,
                                      struct ugst_label *label_out,
                                      struct ugds_st_error *err)
{
	const char *bytes = slot;
	struct ugst_label label = {0};
	enum ugst_slot_state state;
	size_t catalog_bytes;
	int status;

	if (slot_bytes < UGST_SLOT_HEADER_BYTES || !has_magic(slot))
		return UGST_SLOT_BLANK;
	catalog_bytes = ugst_slot_catalog_bytes(slot);
	if (catalog_bytes == 0 ||
	    catalog_bytes > slot_bytes - UGST_SLOT_HEADER_BYTES) {
		(void)ugst_fail(err, UGDS_ST_CORRUPT,
		                "label: expected a catalog of 1 to %" PRIu64
		                " bytes, found %" PRIu64,
		                UGST_CATALOG_MAX_BYTES,
		                ugst_get_le64(bytes + CATALOG_BYTES_OFF));
		return UGST_SLOT_DAMAGED;
	}
	state = check_hash(bytes, catalog_bytes, err);
	if (state == UGST_SLOT_VALID)
		state = check_version(bytes, err);
	if (state != UGST_SLOT_VALID)
		return state;
	status = ugst_catalog_parse(bytes + UGST_SLOT_HEADER_BYTES,
	                            catalog_bytes, &label.catalog, err);
	if (status != UGDS_ST_OK) {
		ugst_err_prefix(err, "catalog");
		return status == UGDS_ST_UNSUPPORTED ? UGST_SLOT_UNSUPPORTED
		                                     : UGST_SLOT_DAMAGED;
	}
	label.sequence = ugst_get_le64(bytes + SEQUENCE_OFF);
	label.read_only = ugst_get_le64(bytes + RO_COMPAT_OFF) != 0;
	*label_out = label;
	return UGST_SLOT_VALID;
}

int ugst_slot_encode(const struct ugst_label *label, void **slot_out,
                     size_t *slot_bytes_out, struct ugds_st_error *err)
{
	struct ugst_hash hash;
	char *catalog = NULL;
	char *slot = NULL;
	size_t catalog_bytes = 0;
	size_t slot_bytes;
	int status;

	status = ugst_catalog_print(&label->catalog, &catalog, &catalog_bytes,
	                            err);
	if (status != UGDS_ST_OK)
		return status;
	if (catalog_bytes > UGST_CATALOG_MAX_BYTES) {
		status = ugst_fail(err, UGDS_ST_NO_SPACE,
		                   "catalog: expected at most %" PRIu64
		                   " bytes, found %zu with %zu objects: prune "
		                   "or remove checkpoints first",
		                   UGST_CATALOG_MAX_BYTES, catalog_bytes,
		                   label->catalog.object_count);
		goto out;
	}
	slot_bytes = (size_t)ugst_align_up(
		UGST_SLOT_HEADER_BYTES + catalog_bytes, UGST_SLOT_HEADER_BYTES);
	slot = ugst_alloc_aligned(slot_bytes, UGST_SLOT_HEADER_BYTES);
	if (!slot) {
		status = ugst_fail_memory(err);
		goto out;
	}
	memset(slot, 0, slot_bytes);
	memcpy(slot + MAGIC_OFF, magic, sizeof(magic));
	ugst_put_le32(slot + VERSION_OFF, LABEL_VERSION);
	ugst_put_le64(slot + SEQUENCE_OFF, label->sequence);
	ugst_put_le64(slot + CATALOG_BYTES_OFF, catalog_bytes);
	memcpy(slot + UGST_SLOT_HEADER_BYTES, catalog, catalog_bytes);
	status = slot_hash(slot, catalog_bytes, &hash, err);
	if (status != UGDS_ST_OK)
		goto out;
	memcpy(slot + HASH_OFF, hash.bytes, UGST_HASH_BYTES);
	*slot_out = slot;
	*slot_bytes_out = slot_bytes;
	slot = NULL;
out:
	free(slot);
	free(catalog);
	return status;
}

int ugst_label_choose(const enum ugst_slot_state states[UGST_SLOT_COUNT],
                      const struct ugst_label labels[UGST_SLOT_COUNT],
                      unsigned *slot_out, struct ugds_st_error *err)
{
	bool valid_a = states[0] == UGST_SLOT_VALID;
	bool valid_b = states[1] == UGST_SLOT_VALID;

	if (valid_a || valid_b) {
		*slot_out = !valid_a || (valid_b && labels[1].sequence >
		                                            labels[0].sequence);
		return UGDS_ST_OK;
	}
	if (states[0] == UGST_SLOT_UNSUPPORTED ||
	    states[1] == UGST_SLOT_UNSUPPORTED)
		return ugst_fail(err, UGDS_ST_UNSUPPORTED,
		                 "label: expected a version and features that "
		                 "this library knows, found newer ones");
	if (states[0] == UGST_SLOT_DAMAGED || states[1] == UGST_SLOT_DAMAGED)
		return ugst_fail(err, UGDS_ST_CORRUPT,
		                 "label: expected a valid slot, found a "
		                 "volume of ours with both slots damaged");
	return ugst_fail(err, UGDS_ST_NOT_FOUND,
	                 "expected a volume label, found none");
}

void ugst_label_free(struct ugst_label *label)
{
	ugst_catalog_free(&label->catalog);
	memset(label, 0, sizeof(*label));
}
