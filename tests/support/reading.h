/* SPDX-License-Identifier: BSD-3-Clause */
/* reading.h - open, list, compare: what tests of reads share. */
#ifndef TEST_READING_H
#define TEST_READING_H

#include "support/test.h"

#include "base/mem.h"
#include "support/volumes.h"

static inline ugds_st_store *reading_open(const struct volumes *volumes,
                                          const struct ugds_st_open_opts *opts)
{
	ugds_st_store *store = NULL;
	struct ugds_st_error err;

	assert_ok(ugds_st_open(volumes->manifest, opts, &store, &err), err);
	return store;
}

static inline void reading_close(ugds_st_store *store)
{
	struct ugds_st_error err;

	assert_ok(ugds_st_close(store, 0, &err), err);
}

static inline struct ugds_st_info reading_info(const ugds_st_tensor *tensor)
{
	struct ugds_st_info info = {.struct_size = sizeof(info)};

	assert_int_equal(ugds_st_info(tensor, &info), UGDS_ST_OK);
	return info;
}

static inline void reading_expect(const struct volumes *volumes,
                                  const ugds_st_tensor *tensor,
                                  const void *found)
{
	assert_memory_equal(found, volumes_expected(volumes, tensor),
	                    reading_info(tensor).payload_bytes);
}

/* A request for every tensor, each into memory of its own. */
static inline struct ugds_st_read *reading_list(ugds_st_store *store)
{
	size_t count = ugds_st_count(store);
	struct ugds_st_read *reads = ugst_calloc(count, sizeof(*reads));

	for (size_t i = 0; i < count; i++) {
		reads[i].struct_size = sizeof(*reads);
		reads[i].tensor = ugds_st_at(store, i);
		reads[i].dst_bytes =
			reading_info(reads[i].tensor).payload_bytes;
		reads[i].dst = calloc(1, reads[i].dst_bytes + 1);
		assert_non_null(reads[i].dst);
	}
	return reads;
}

static inline void reading_free(struct ugds_st_read *reads, size_t count)
{
	for (size_t i = 0; i < count; i++)
		free(reads[i].dst);
	free(reads);
}

#endif /* TEST_READING_H */
