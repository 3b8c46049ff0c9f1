/* SPDX-License-Identifier: BSD-3-Clause */
/* verify.c - whole shards through the batch path, against their hashes. */
#include "base/common.h"

#include "base/err.h"
#include "base/mem.h"
#include "base/units.h"
#include "verbs/store.h"

/* Read and hashed at a time: a piece is hashed while the next one is not yet
 * read, so it is large against what a device has in flight. */
#define PIECE_BYTES (64 * UGST_MIB)

struct verify {
	ugds_st_store *store;
	struct ugst_hasher *hasher;
	char *piece;
	uint64_t done_bytes;
	uint64_t all_bytes;
	void (*progress)(void *ctx, uint64_t done_bytes, uint64_t all_bytes);
	void *ctx;
};

static int check_hash(const struct verify *verify,
                      const struct ugst_store_shard *shard,
                      const struct ugst_store_copy *copy,
                      struct ugds_st_error *err)
{
	struct ugst_hash hash = ugst_hasher_result(verify->hasher);
	char expected[UGST_HASH_TEXT_BYTES];
	char found[UGST_HASH_TEXT_BYTES];

	if (ugst_hash_equal(&hash, &shard->hash))
		return UGDS_ST_OK;
	return ugst_fail(err, UGDS_ST_CORRUPT,
	                 "shard %s on %s: expected hash %s, found %s",
	                 shard->name,
	                 ugst_store_device(verify->store, copy)->path,
	                 ugst_hash_text(&shard->hash, expected),
	                 ugst_hash_text(&hash, found));
}

static int verify_copy(struct verify *verify,
                       const struct ugst_store_shard *shard,
                       const struct ugst_store_copy *copy,
                       struct ugds_st_error *err)
{
	ugst_hasher_reset(verify->hasher);
	for (uint64_t off = 0; off < shard->bytes; off += PIECE_BYTES) {
		uint64_t bytes = ugst_min(PIECE_BYTES, shard->bytes - off);
		int status = ugst_store_fetch(verify->store, copy->source,
		                              copy->device_off + off, bytes,
		                              verify->piece, shard->name, err);

		if (status)
			return status;
		ugst_hasher_add(verify->hasher, verify->piece, bytes);
		verify->done_bytes += bytes;
		if (verify->progress)
			verify->progress(verify->ctx, verify->done_bytes,
			                 verify->all_bytes);
	}
	return check_hash(verify, shard, copy, err);
}

static int verify_shard(struct verify *verify,
                        const struct ugst_store_shard *shard,
                        struct ugds_st_error *err)
{
	int status = UGDS_ST_OK;

	for (uint32_t i = 0; i < shard->copy_count && !status; i++)
		status = verify_copy(verify, shard, &shard->copies[i], err);
	return status;
}

UGST_API int ugds_st_verify(ugds_st_store *store,
                            void (*progress)(void *ctx, uint64_t done_bytes,
                                             uint64_t all_bytes),
                            void *ctx, struct ugds_st_error *err)
{
	struct verify verify = {
		.store = store,
		.progress = progress,
		.ctx = ctx,
	};
	int status;

	if (!store)
		return ugst_fail(err, UGDS_ST_INVALID_ARG,
		                 "verify: a store is needed");
	status = ugst_store_check_readable(store, err);
	if (status)
		return status;
	ugst_store_enter(store);
	verify.hasher = ugst_hasher_new();
	verify.piece = ugst_alloc_aligned(PIECE_BYTES, UGST_PAGE_BYTES);
	if (!verify.hasher || !verify.piece)
		status = ugst_fail_memory(err);
	for (size_t i = 0; i < store->shard_count; i++)
		verify.all_bytes +=
			store->shards[i].bytes * store->shards[i].copy_count;
	for (size_t i = 0; i < store->shard_count && !status; i++)
		status = verify_shard(&verify, &store->shards[i], err);
	ugst_hasher_free(verify.hasher);
	free(verify.piece);
	ugst_store_leave(store);
	return status;
}
