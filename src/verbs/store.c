/* SPDX-License-Identifier: BSD-3-Clause */
/* store.c - an open checkpoint: what it is, look-ups, close. */
#include "base/common.h"

#include "base/err.h"
#include "base/mem.h"
#include "base/opts.h"
#include "base/units.h"
#include "pure/envelope.h"
#include "verbs/store.h"

/* What copies take turns at: large enough that reads stay long, and cut where
 * a tensor begins. */
#define STRIPE_BYTES (64 * UGST_MIB)

ugds_st_store *ugst_store_new(void)
{
	ugds_st_store *store = ugst_calloc(1, sizeof(*store));

	if (!store)
		return NULL;
	store->path.counters = &store->counters;
	(void)pthread_mutex_init(&store->lock, NULL);
	return store;
}

void ugst_store_free(ugds_st_store *store)
{
	if (!store)
		return;
	ugst_table_free(store->table);
	for (size_t i = 0; i < store->shard_count; i++) {
		free(store->shards[i].name);
		free(store->shards[i].copies);
	}
	free(store->shards);
	free(store->path.sources);
	free(store->model);
	(void)pthread_mutex_destroy(&store->lock);
	free(store);
}

int ugst_store_check_readable(const ugds_st_store *store,
                              struct ugds_st_error *err)
{
	if (store->provider)
		return UGDS_ST_OK;
	return ugst_fail(err, UGDS_ST_UNSUPPORTED,
	                 "checkpoint %s: is not imported, only its table can "
	                 "be looked at",
	                 store->model);
}

const struct ugst_store_copy *ugst_store_copy(const ugds_st_store *store,
                                              const ugds_st_tensor *tensor,
                                              uint32_t turn)
{
	const struct ugst_store_shard *shard = &store->shards[tensor->shard];
	const uint64_t stripe[2] = {tensor->shard,
	                            tensor->file_off / STRIPE_BYTES};
	uint64_t first;

	if (turn >= shard->copy_count)
		return NULL;
	if (shard->copy_count == 1)
		return shard->copies;
	first = ugst_hash_name((const char *)stripe, sizeof(stripe), 0);
	return &shard->copies[(first + turn) % shard->copy_count];
}

const struct ugst_device *ugst_store_device(const ugds_st_store *store,
                                            const struct ugst_store_copy *copy)
{
	return ugst_queue_device(store->path.sources[copy->source].queue);
}

/* ------------------------------------------------------------- registration */

int ugst_store_check_pages(const void *base, uint64_t bytes,
                           struct ugds_st_error *err)
{
	if (!base || !ugst_is_aligned((uintptr_t)base, UGST_GPU_PAGE_BYTES))
		return ugst_fail(err, UGDS_ST_INVALID_ARG,
		                 "register: expected a base at a multiple of "
		                 "%llu, found %p",
		                 (unsigned long long)UGST_GPU_PAGE_BYTES, base);
	if (bytes == 0 || !ugst_is_aligned(bytes, UGST_GPU_PAGE_BYTES) ||
	    bytes > INT64_MAX)
		return ugst_fail(err, UGDS_ST_INVALID_ARG,
		                 "register: expected a multiple of %llu bytes, "
		                 "found %llu",
		                 (unsigned long long)UGST_GPU_PAGE_BYTES,
		                 (unsigned long long)bytes);
	return UGDS_ST_OK;
}

/* Can the provider read into this memory at all? */
static int check_memory(const ugds_st_store *store,
                        const struct ugds_st_memory_ops *memory,
                        const void *base, uint64_t bytes,
                        struct ugds_st_error *err)
{
	bool is_device_memory = memory->ugds_register_flags >= 0;

	if (store->provider == UGDS_ST_PROVIDER_UGDS)
		return memory->registrable
		               ? memory->registrable(memory->ctx, base, bytes,
		                                     err)
		               : UGDS_ST_OK;
	if (!is_device_memory)
		return UGDS_ST_OK;
	return ugst_fail(err, UGDS_ST_UNSUPPORTED,
	                 "device memory at %p: compatibility mode cannot read "
	                 "into it directly; read without a registration",
	                 base);
}

int ugst_store_register(const ugds_st_store *store,
                        const struct ugds_st_memory_ops *memory, void *base,
                        uint64_t bytes, struct ugds_st_error *err)
{
	int flags = memory->ugds_register_flags;
	struct ugst_ugds_error error;
	int status = ugst_store_check_pages(base, bytes, err);

	if (status == UGDS_ST_OK)
		status = check_memory(store, memory, base, bytes, err);
	if (status)
		return status;
	error = store->ugds->buf_register(base, bytes, flags < 0 ? 0 : flags);
	switch (error.code) {
	case UGST_UGDS_OK:
		return UGDS_ST_OK;
	case UGST_UGDS_OUT_OF_MEMORY:
		return ugst_fail_memory(err);
	case UGST_UGDS_INVALID_VALUE:
	case UGST_UGDS_ALREADY_REGISTERED:
		return ugst_fail_ugds(err, UGDS_ST_INVALID_ARG, error.code,
		                      "buffer of %llu bytes at %p",
		                      (unsigned long long)bytes, base);
	case UGST_UGDS_DRIVER_NOT_INITIALIZED:
		/* Buffers are mapped for the controller of the process's first
		 * handle, and with that uGDS forgets that there are others. */
		return ugst_fail_ugds(err, UGDS_ST_UNSUPPORTED, error.code,
		                      "buffer of %llu bytes at %p: expected "
		                      "the process's first uGDS handle, which "
		                      "buffers are mapped for, found it given "
		                      "up: open the store again",
		                      (unsigned long long)bytes, base);
	default:
		return ugst_fail_ugds(err, UGDS_ST_UNSUPPORTED, error.code,
		                      "buffer of %llu bytes at %p",
		                      (unsigned long long)bytes, base);
	}
}

int ugst_store_deregister(const ugds_st_store *store, void *base,
                          struct ugds_st_error *err)
{
	struct ugst_ugds_error error = store->ugds->buf_deregister(base);

	if (error.code == UGST_UGDS_OK)
		return UGDS_ST_OK;
	for (size_t i = 0; i < store->path.source_count; i++) {
		int status =
			ugst_queue_check(store->path.sources[i].queue, err);

		if (status)
			return status;
	}
	return ugst_fail_ugds(err, UGDS_ST_BUSY, error.code, "buffer at %p",
	                      base);
}

/* -------------------------------------------------------------------- close */

/* Until nothing uses the arena. Of a lost device that is given up, what it may
 * still write to is left to it. */
static int settle(ugds_st_store *store, bool abandon, bool *stuck_out,
                  struct ugds_st_error *err)
{
	for (size_t i = 0; i < store->path.source_count; i++) {
		struct ugst_source *source = &store->path.sources[i];
		int status;

		if (!source->queue)
			continue;
		status = ugst_source_settle(&store->path, source,
		                            abandon ? NULL : err);
		if (status && !abandon)
			return status;
		if (status)
			ugst_queue_forget_arena(source->queue, &source->arena);
		*stuck_out |= status != UGDS_ST_OK;
	}
	return UGDS_ST_OK;
}

/* Arena and queues of a store that is closed, as far as they got. */
static int close_devices(ugds_st_store *store, bool abandon,
                         struct ugds_st_error *err)
{
	const struct ugds_st_memory_ops *memory = &store->arena_memory;
	bool stuck = false;
	int status = settle(store, abandon, &stuck, err);

	if (status)
		return status;
	if (store->arena_registered && !stuck) {
		status = ugst_store_deregister(store, store->arena,
		                               abandon ? NULL : err);
		if (status && !abandon)
			return status;
		stuck = status != UGDS_ST_OK;
		store->arena_registered = stuck;
	}
	for (size_t i = 0; i < store->path.source_count; i++) {
		struct ugst_source *source = &store->path.sources[i];

		status = ugst_queue_close(source->queue, abandon, err);
		if (status)
			return status;
		source->queue = NULL;
		ugst_arena_free(&source->arena);
	}
	/* Memory that a lost device may still write to is kept for ever. */
	if (store->arena && !stuck)
		memory->free(memory->ctx, store->arena, store->arena_bytes);
	store->arena = NULL;
	return UGDS_ST_OK;
}

/* End what is left of callers' registrations; those in use by a lost device
 * stay uGDS's. */
static void drop_buffers(ugds_st_store *store)
{
	while (store->buffers) {
		struct ugds_st_buffer *buffer = store->buffers;

		if (buffer->ours)
			(void)store->ugds->buf_deregister(buffer->base);
		store->buffers = buffer->next;
		free(buffer);
	}
}

UGST_API int ugds_st_close(ugds_st_store *store, unsigned flags,
                           struct ugds_st_error *err)
{
	bool abandon = flags & UGDS_ST_CLOSE_ABANDON;
	unsigned calls;
	bool registered;
	int status;

	if (!store)
		return UGDS_ST_OK;
	if (flags & ~UGDS_ST_CLOSE_ABANDON)
		return ugst_fail(err, UGDS_ST_INVALID_ARG,
		                 "close: unknown flags 0x%x", flags);
	calls = atomic_load(&store->calls);
	(void)pthread_mutex_lock(&store->lock);
	registered = store->buffers != NULL;
	(void)pthread_mutex_unlock(&store->lock);
	if (calls)
		return ugst_fail(err, UGDS_ST_BUSY,
		                 "store of %s: %u calls are running on it",
		                 store->model, calls);
	if (registered && !abandon)
		return ugst_fail(err, UGDS_ST_BUSY,
		                 "store of %s: caller memory is registered",
		                 store->model);
	status = close_devices(store, abandon, err);
	if (status)
		return status;
	drop_buffers(store);
	ugst_store_free(store);
	return UGDS_ST_OK;
}

/* ---------------------------------------------------------------- look-ups */

UGST_API int ugds_st_store_info(const ugds_st_store *store,
                                struct ugds_st_store_info *info_out)
{
	struct ugds_st_store_info info = {0};

	if (!store || !info_out)
		return UGDS_ST_INVALID_ARG;
	info.model = store->model;
	memcpy(info.checkpoint_uuid, store->checkpoint.bytes,
	       sizeof(info.checkpoint_uuid));
	info.generation = store->generation;
	info.tensor_count = ugst_table_count(store->table);
	info.left_out_count = store->left_out_count;
	info.shard_count = store->shard_count;
	info.volume_count = store->volume_count;
	info.provider = store->provider;
	return ugst_opts_write(info_out, &info, sizeof(info));
}

UGST_API size_t ugds_st_count(const ugds_st_store *store)
{
	return store ? ugst_table_count(store->table) : 0;
}

UGST_API const ugds_st_tensor *ugds_st_at(const ugds_st_store *store,
                                          size_t index)
{
	return store ? ugst_table_at(store->table, index) : NULL;
}

UGST_API const ugds_st_tensor *ugds_st_find(const ugds_st_store *store,
                                            const char *name, size_t name_bytes)
{
	return store && name ? ugst_table_find(store->table, name, name_bytes)
	                     : NULL;
}

UGST_API int ugds_st_info(const ugds_st_tensor *tensor,
                          struct ugds_st_info *info_out)
{
	const ugds_st_store *store;
	const struct ugst_store_shard *shard;
	struct ugds_st_info info = {0};

	if (!tensor || !info_out)
		return UGDS_ST_INVALID_ARG;
	store = ugst_tensor_store(tensor);
	shard = &store->shards[tensor->shard];
	info.name = tensor->name;
	info.name_bytes = tensor->name_bytes;
	info.dtype = tensor->dtype;
	info.rank = tensor->rank;
	info.dims = tensor->dims;
	info.payload_bytes = tensor->payload_bytes;
	info.shard = shard->name;
	info.file_off = tensor->file_off;
	if (store->provider) {
		const struct ugst_store_copy *copy =
			ugst_store_copy(store, tensor, 0);
		const struct ugst_device *device =
			ugst_store_device(store, copy);
		struct ugst_envelope envelope = ugst_envelope(
			copy->device_off + tensor->file_off,
			tensor->payload_bytes, device->limits.lba_bytes);

		info.device = device->path;
		info.lba_bytes = device->limits.lba_bytes;
		info.device_off = envelope.off;
		info.envelope_bytes = envelope.bytes;
		info.skew_bytes = envelope.skew_bytes;
	}
	return ugst_opts_write(info_out, &info, sizeof(info));
}

UGST_API int ugds_st_get_stats(const ugds_st_store *store,
                               struct ugds_st_stats *stats_out)
{
	const struct ugst_counters *counters;
	struct ugds_st_stats stats = {0};

	if (!store || !stats_out)
		return UGDS_ST_INVALID_ARG;
	counters = &store->counters;
	stats.payload_bytes = atomic_load(&counters->payload_bytes);
	stats.device_bytes = atomic_load(&counters->device_bytes);
	stats.entries = atomic_load(&counters->entries);
	stats.commands = atomic_load(&counters->commands);
	stats.merges = atomic_load(&counters->merges);
	stats.direct_bytes = atomic_load(&counters->direct_bytes);
	stats.staged_bytes = atomic_load(&counters->staged_bytes);
	stats.retries = atomic_load(&counters->retries);
	stats.fallbacks = atomic_load(&counters->fallbacks);
	stats.waits = atomic_load(&counters->waits);
	return ugst_opts_write(stats_out, &stats, sizeof(stats));
}
