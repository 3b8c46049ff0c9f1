/* SPDX-License-Identifier: BSD-3-Clause */
/* allocate.c - first fit between objects; see allocate.h. */
#include "base/common.h"

#include <inttypes.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/units.h"
#include "import/allocate.h"
#include "pure/label.h"

struct run {
	uint64_t start;
	uint64_t end; /* rounded up to where the next object may begin */
};

static int by_start(const void *a, const void *b)
{
	const struct run *x = a;
	const struct run *y = b;

	return (x->start > y->start) - (x->start < y->start);
}

/* The occupied runs in order, and one more where the object area ends. */
static struct run *sorted_runs(const struct ugst_catalog *catalog,
                               struct ugds_st_error *err)
{
	size_t count = catalog->object_count;
	struct run *runs = ugst_calloc(count + 1, sizeof(*runs));

	if (!runs) {
		(void)ugst_fail_memory(err);
		return NULL;
	}
	for (size_t i = 0; i < count; i++) {
		const struct ugst_object *object = &catalog->objects[i];

		/* Both stay inside the volume: checked when it was parsed. */
		runs[i].start = object->base_lba * object->lba_bytes;
		runs[i].end = ugst_align_up(
			runs[i].start + ugst_object_run_bytes(object),
			UGST_OBJECT_ALIGN);
	}
	runs[count].start = catalog->volume.bytes - UGST_VOLUME_TAIL_BYTES;
	runs[count].end = runs[count].start;
	qsort(runs, count + 1, sizeof(*runs), by_start);
	return runs;
}

static void count_gaps(const struct run *runs, size_t count,
                       struct ugst_space *space_out)
{
	uint64_t at = UGST_OBJECTS_OFF;

	memset(space_out, 0, sizeof(*space_out));
	for (size_t i = 0; i < count; i++) {
		uint64_t gap = runs[i].start - at;

		space_out->free_bytes += gap;
		space_out->largest_bytes =
			ugst_max(space_out->largest_bytes, gap);
		at = runs[i].end;
	}
}

int ugst_space_count(const struct ugst_catalog *catalog,
                     struct ugst_space *space_out, struct ugds_st_error *err)
{
	struct run *runs = sorted_runs(catalog, err);

	if (!runs)
		return UGDS_ST_NO_MEMORY;
	count_gaps(runs, catalog->object_count + 1, space_out);
	free(runs);
	return UGDS_ST_OK;
}

int ugst_space_find(const struct ugst_catalog *catalog, uint64_t run_bytes,
                    uint64_t *off_out, struct ugds_st_error *err)
{
	struct run *runs = sorted_runs(catalog, err);
	uint64_t at = UGST_OBJECTS_OFF;
	struct ugst_space space;
	int status = UGDS_ST_OK;
	size_t i;

	if (!runs)
		return UGDS_ST_NO_MEMORY;
	for (i = 0; i <= catalog->object_count; i++) {
		if (runs[i].start - at >= run_bytes)
			break;
		at = runs[i].end;
	}
	if (i <= catalog->object_count) {
		*off_out = at;
	} else {
		count_gaps(runs, catalog->object_count + 1, &space);
		status = ugst_fail(err, UGDS_ST_NO_SPACE,
		                   "wanted %" PRIu64 " bytes, free %" PRIu64
		                   ", largest gap %" PRIu64,
		                   run_bytes, space.free_bytes,
		                   space.largest_bytes);
	}
	free(runs);
	return status;
}
