/* SPDX-License-Identifier: BSD-3-Clause */
/* layout.c - payloads in one arena; see layout.h. */
#include "base/common.h"

#include <stdlib.h>

#include "base/units.h"
#include "pure/layout.h"

static int compare_items(const void *left, const void *right)
{
	const struct ugst_layout_item *a = left;
	const struct ugst_layout_item *b = right;

	if (a->device != b->device)
		return a->device < b->device ? -1 : 1;
	if (a->device_off != b->device_off)
		return a->device_off < b->device_off ? -1 : 1;
	if (a->bytes != b->bytes)
		return a->bytes < b->bytes ? -1 : 1;
	return a->index < b->index ? -1 : a->index > b->index;
}

/* A run: where its first block lies on the device and in the arena, and how
 * far its payloads reach. */
struct run {
	uint32_t device;
	uint64_t device_off;
	uint64_t arena_off;
	uint64_t reach; /* device, past the last payload byte */
};

static bool joins(const struct run *run, const struct ugst_layout_item *item,
                  uint64_t align)
{
	return item->device == run->device && item->device_off >= run->reach &&
	       ugst_align_down(item->device_off, item->lba_bytes) <=
	               ugst_align_up(run->reach, item->lba_bytes) &&
	       ugst_is_aligned(item->device_off - run->device_off, align);
}

uint64_t ugst_layout(struct ugst_layout_item *items, size_t item_count,
                     uint64_t align)
{
	struct run run = {0};
	uint64_t end = 0; /* of what is laid out */
	bool open = false;

	qsort(items, item_count, sizeof(*items), compare_items);
	for (size_t i = 0; i < item_count; i++) {
		struct ugst_layout_item *item = &items[i];
		uint64_t skew = item->device_off % item->lba_bytes;

		if (item->bytes > INT64_MAX / 2 || end > INT64_MAX / 2)
			return UINT64_MAX;
		if (!open || !joins(&run, item, align)) {
			run = (struct run){
				.device = item->device,
				.device_off = item->device_off - skew,
				.arena_off =
					ugst_align_up(end, UGST_PAGE_BYTES),
			};
			open = ugst_is_aligned(skew, align);
		}
		run.reach = item->device_off + item->bytes;
		if (open) {
			item->out_off = run.arena_off + item->device_off -
			                run.device_off;
			end = ugst_align_up(item->out_off + item->bytes,
			                    item->lba_bytes);
		} else {
			/* Cannot be aligned in its blocks: staged, so that it
			 * needs no blocks around it. */
			item->out_off = ugst_align_up(end, align);
			end = item->out_off + item->bytes;
		}
	}
	return ugst_align_up(end, UGST_GPU_PAGE_BYTES);
}
