/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * layout.h - offsets for several payloads in one arena.
 *
 * Payloads that are neighbours on a device become a run that keeps their
 * distances, and a run starts so that its blocks fall on pages: then the plan
 * can read it directly. A payload whose place on the device does not allow the
 * alignment that is asked stands alone, and is staged.
 */
#ifndef UGST_LAYOUT_H
#define UGST_LAYOUT_H

#include "base/common.h"

struct ugst_layout_item {
	uint32_t device; /* items of different devices are no neighbours */
	uint32_t lba_bytes;
	uint64_t device_off;
	uint64_t bytes;
	uint64_t out_off; /* result */
	size_t index;     /* the caller's */
};

/*
 * ugst_layout() - lay items out; sorts them.
 *
 * @align: a power of two, 1 to 4096.
 * Return: bytes of the arena, a multiple of 64 KiB, blocks around the payloads
 * included; UINT64_MAX: more than 2^63.
 */
uint64_t ugst_layout(struct ugst_layout_item *items, size_t item_count,
                     uint64_t align);

#endif /* UGST_LAYOUT_H */
