/* SPDX-License-Identifier: BSD-3-Clause */
/* inspect.c - a store of a checkpoint that is not imported: its table only. */
#include "base/common.h"

#include "base/err.h"
#include "base/mem.h"
#include "verbs/checkpoint.h"
#include "verbs/store.h"

static int add_shard(ugds_st_store *store, struct ugst_source_shard *source,
                     size_t index, struct ugds_st_error *err)
{
	struct ugst_store_shard *shard = &store->shards[index];

	shard->name = ugst_strdup(source->name);
	if (!shard->name)
		return ugst_fail_memory(err);
	store->shard_count = index + 1;
	shard->bytes = source->stamp.bytes;
	shard->json_bytes = source->json_bytes;
	shard->header_hash = source->header_hash;
	store->left_out_count += source->left_out_count;
	return ugst_table_add_shard(store->table, &source->header,
	                            (uint32_t)index, source->left_out,
	                            source->left_out_count, err);
}

UGST_API int ugds_st_inspect(const char *path, ugds_st_store **store_out,
                             struct ugds_st_error *err)
{
	struct ugst_checkpoint checkpoint = {0};
	ugds_st_store *store;
	int status;

	if (!path || !store_out)
		return ugst_fail(err, UGDS_ST_INVALID_ARG,
		                 "inspect: checkpoint and store_out are "
		                 "needed");
	status = ugst_checkpoint_open(path, &checkpoint, err);
	if (status)
		return status;
	store = ugst_store_new();
	if (!store) {
		status = ugst_fail_memory(err);
		goto out;
	}
	store->model = ugst_strdup(checkpoint.model);
	store->table = ugst_table_new();
	store->shards =
		ugst_calloc(checkpoint.shard_count, sizeof(*store->shards));
	if (!store->model || !store->table || !store->shards) {
		status = ugst_fail_memory(err);
		goto out;
	}
	for (size_t i = 0; i < checkpoint.shard_count && !status; i++)
		status = add_shard(store, &checkpoint.shards[i], i, err);
	ugst_table_set_owner(store->table, store);
out:
	ugst_checkpoint_free(&checkpoint);
	if (status) {
		ugst_store_free(store);
		return status;
	}
	*store_out = store;
	return UGDS_ST_OK;
}
