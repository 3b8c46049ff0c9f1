/* SPDX-License-Identifier: BSD-3-Clause */
/* allocate.h - free space of a volume: what no record's object occupies. */
#ifndef UGST_IMPORT_ALLOCATE_H
#define UGST_IMPORT_ALLOCATE_H

#include "base/common.h"
#include "pure/catalog.h"

struct ugst_space {
	uint64_t free_bytes;
	uint64_t largest_bytes; /* of one gap */
};

/*
 * ugst_space_count() - free space between the objects of a catalog.
 *
 * Gaps begin at multiples of 1 MiB; what an object leaves of its last MiB is
 * not free. All objects count, also those that no record lists: drop these
 * first with ugst_catalog_drop_free().
 * Return: OK; NO_MEMORY.
 */
int ugst_space_count(const struct ugst_catalog *catalog,
                     struct ugst_space *space_out, struct ugds_st_error *err);

/*
 * ugst_space_find() - the first gap that holds run_bytes.
 *
 * @off_out: byte in the volume, a multiple of 1 MiB.
 * Return: OK; NO_SPACE (wanted, free and largest gap; no path); NO_MEMORY.
 */
int ugst_space_find(const struct ugst_catalog *catalog, uint64_t run_bytes,
                    uint64_t *off_out, struct ugds_st_error *err);

#endif /* UGST_IMPORT_ALLOCATE_H */
