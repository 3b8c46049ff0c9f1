/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * label.h - the two slots at the start of a volume, as bytes.
 *
 *	+0      slot A (4 MiB)  header 4 KiB, then the catalog
 *	+4 MiB  slot B (4 MiB)
 *	+8 MiB  objects, each aligned to 1 MiB
 *	end     last 1 MiB: zeroed at format, never allocated
 */
#ifndef UGST_LABEL_H
#define UGST_LABEL_H

#include "base/common.h"
#include "pure/catalog.h"

#define UGST_SLOT_COUNT 2u
#define UGST_SLOT_BYTES (4 * UGST_MIB)
#define UGST_SLOT_HEADER_BYTES 4096u
#define UGST_OBJECTS_OFF (UGST_SLOT_COUNT * UGST_SLOT_BYTES)
#define UGST_OBJECT_ALIGN UGST_MIB
#define UGST_VOLUME_TAIL_BYTES UGST_MIB
/* Largest catalog that fits a slot. */
#define UGST_CATALOG_MAX_BYTES (UGST_SLOT_BYTES - UGST_SLOT_HEADER_BYTES)

struct ugst_label {
	uint64_t sequence;
	bool read_only; /* ro_compat flags this version does not know: a
	                   writer refuses */
	struct ugst_catalog catalog;
};

/* What one slot holds. */
enum ugst_slot_state {
	UGST_SLOT_BLANK,   /* no magic: not ours */
	UGST_SLOT_DAMAGED, /* our magic, but hash, length or catalog are bad */
	UGST_SLOT_UNSUPPORTED, /* ours and whole, of a version or with incompat
	                          flags that this library does not know */
	UGST_SLOT_VALID
};

/*
 * ugst_slot_catalog_bytes() - how much of a slot to read.
 *
 * @header: its first UGST_SLOT_HEADER_BYTES bytes.
 * Return: catalog length; 0 where there is no magic or no sane length.
 */
size_t ugst_slot_catalog_bytes(const void *header);

/*
 * ugst_slot_decode() - check and parse a slot.
 *
 * @slot: header and catalog, slot_bytes of them.
 * @label_out: written on VALID only; free with ugst_label_free().
 * err says why for DAMAGED and UNSUPPORTED. Out of memory is DAMAGED with
 * err->status NO_MEMORY.
 */
enum ugst_slot_state ugst_slot_decode(const void *slot, size_t slot_bytes,
                                      struct ugst_label *label_out,
                                      struct ugds_st_error *err);

/*
 * ugst_slot_encode() - a slot as bytes: header, catalog, zeros up to a
 * multiple of 4096.
 *
 * @slot_out: malloc'ed at a multiple of 4096, free() it.
 * Return: OK; NO_SPACE (the catalog does not fit); NO_MEMORY.
 */
int ugst_slot_encode(const struct ugst_label *label, void **slot_out,
                     size_t *slot_bytes_out, struct ugds_st_error *err);

/*
 * ugst_label_choose() - which of two slots counts.
 *
 * Both valid: the higher sequence. One valid: that one. None valid and our
 * magic in either: a damaged volume (CORRUPT, or UNSUPPORTED where a slot is
 * that), never a blank one. None: NOT_FOUND.
 *
 * @slot_out: 0 or 1.
 */
int ugst_label_choose(const enum ugst_slot_state states[UGST_SLOT_COUNT],
                      const struct ugst_label labels[UGST_SLOT_COUNT],
                      unsigned *slot_out, struct ugds_st_error *err);

void ugst_label_free(struct ugst_label *label);

#endif /* UGST_LABEL_H */
