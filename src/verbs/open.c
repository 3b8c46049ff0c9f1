/* SPDX-License-Identifier: BSD-3-Clause */
/* open.c - from a manifest to a store. */
#include "base/common.h"

#include <sys/stat.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/opts.h"
#include "base/units.h"
#include "devices/file.h"
#include "verbs/headers.h"
#include "verbs/store.h"
#include "verbs/volumes.h"

#define DEFAULT_ARENA_BYTES (32 * UGST_MIB)
/* Slots for each volume, at least, where nobody asked for a size. */
#define DEFAULT_SLOTS 4u
#define OPEN_FLAGS (UGDS_ST_OPEN_COMMON_BUS | UGDS_ST_OPEN_DEGRADED_OK)

static int read_manifest(const char *path, struct ugst_manifest *manifest_out,
                         struct ugds_st_error *err)
{
	char *text;
	size_t bytes;
	int status = ugst_file_read(path, UGST_MANIFEST_MAX_BYTES, &text,
	                            &bytes, err);

	if (status)
		return status;
	status = ugst_manifest_parse(text, bytes, manifest_out, err);
	if (status)
		ugst_err_prefix(err, path);
	free(text);
	return status;
}

static int check_opts(const struct ugds_st_open_opts *opts,
                      struct ugds_st_error *err)
{
	if (opts->flags & ~OPEN_FLAGS)
		return ugst_fail(err, UGDS_ST_INVALID_ARG,
		                 "open: unknown flags 0x%x", opts->flags);
	if (opts->provider < UGDS_ST_PROVIDER_AUTO ||
	    opts->provider > UGDS_ST_PROVIDER_COMPAT)
		return ugst_fail(err, UGDS_ST_INVALID_ARG,
		                 "open: unknown provider %d", opts->provider);
	if (opts->device_count && !opts->devices)
		return ugst_fail(err, UGDS_ST_INVALID_ARG,
		                 "open: %zu devices, but no list of them",
		                 opts->device_count);
	if (opts->ugds_handle && opts->ugds_handle_device >= opts->device_count)
		return ugst_fail(err, UGDS_ST_INVALID_ARG,
		                 "open: a handle is lent for device %zu of %zu",
		                 opts->ugds_handle_device, opts->device_count);
	if (opts->ugds_calls && opts->libugds_path)
		return ugst_fail(err, UGDS_ST_INVALID_ARG,
		                 "open: expected ugds_calls or libugds_path, "
		                 "found both (%s)",
		                 opts->libugds_path);
	return UGDS_ST_OK;
}

/* The devices to open: the caller's, else the manifest's hints. */
struct device_list {
	const char **paths; /* borrowed strings */
	size_t count;
};

static int list_devices(const struct ugds_st_open_opts *opts,
                        const struct ugst_manifest *manifest,
                        struct device_list *list, struct ugds_st_error *err)
{
	list->count = opts->device_count ? opts->device_count
	                                 : manifest->volume_count;
	list->paths = ugst_calloc(list->count, sizeof(*list->paths));
	if (!list->paths)
		return ugst_fail_memory(err);
	for (size_t i = 0; i < list->count; i++) {
		struct stat st;

		list->paths[i] = opts->device_count ? opts->devices[i]
		                                    : manifest->volumes[i].path;
		if (!list->paths[i])
			return ugst_fail(err, UGDS_ST_INVALID_ARG,
			                 "open: device %zu has no path", i);
		/* Opening one resets a controller: never on a hint's word. */
		if (!opts->device_count && stat(list->paths[i], &st) == 0 &&
		    S_ISCHR(st.st_mode))
			return ugst_fail(err, UGDS_ST_INVALID_ARG,
			                 "%s: a character device is opened "
			                 "only where the caller names it",
			                 list->paths[i]);
	}
	return UGDS_ST_OK;
}

static int open_source(ugds_st_store *store,
                       const struct ugds_st_open_opts *opts, const char *path,
                       size_t index, struct ugds_st_error *err)
{
	struct ugst_source *source = &store->path.sources[index];
	const struct ugst_device *device;
	struct ugst_device_opts device_opts = {
		.provider = opts->provider,
		.libugds_path = opts->libugds_path,
		.lent_calls = opts->ugds_calls,
		.common_bus = opts->flags & UGDS_ST_OPEN_COMMON_BUS,
	};
	int status;

	if (opts->ugds_handle && index == opts->ugds_handle_device)
		device_opts.lent_handle = opts->ugds_handle;
	status = ugst_queue_open(path, &device_opts, opts->silence_ms,
	                         &source->queue, err);
	if (status)
		return status;
	store->path.source_count = index + 1;
	device = ugst_queue_device(source->queue);
	if (store->provider && store->provider != device->provider)
		return ugst_fail(err, UGDS_ST_UNSUPPORTED,
		                 "%s: uGDS and compatibility mode cannot serve "
		                 "one store together",
		                 path);
	store->provider = device->provider;
	store->ugds = device->ugds;
	if (device->provider == UGDS_ST_PROVIDER_UGDS &&
	    store->path.memory->ugds_register_flags < 0)
		return ugst_fail(err, UGDS_ST_UNSUPPORTED,
		                 "%s: uGDS reads into device memory only, and "
		                 "the store's memory is host memory (see "
		                 "ugds_st_cuda.h)",
		                 path);
	return UGDS_ST_OK;
}

static int open_sources(ugds_st_store *store,
                        const struct ugds_st_open_opts *opts,
                        const struct ugst_manifest *manifest,
                        struct ugds_st_error *err)
{
	struct device_list list = {0};
	int status = list_devices(opts, manifest, &list, err);

	if (status)
		goto out;
	store->path.sources =
		ugst_calloc(list.count, sizeof(*store->path.sources));
	if (!store->path.sources) {
		status = ugst_fail_memory(err);
		goto out;
	}
	for (size_t i = 0; i < list.count && status == UGDS_ST_OK; i++) {
		size_t opened = store->path.source_count;

		status = open_source(store, opts, list.paths[i], opened, err);
		if (status == UGDS_ST_NOT_FOUND && !opts->device_count &&
		    (opts->flags & UGDS_ST_OPEN_DEGRADED_OK))
			status = UGDS_ST_OK; /* a hint that leads nowhere */
	}
out:
	free(list.paths);
	return status;
}

/* A caller's memory, or the host's. What it has to have is there. */
static int take_memory(const struct ugds_st_memory_ops *given,
                       struct ugds_st_memory_ops *memory_out,
                       struct ugds_st_error *err)
{
	const struct ugds_st_memory_ops *memory =
		given ? given : ugds_st_memory_host();
	int status = ugst_opts_read(memory_out, sizeof(*memory_out), memory,
	                            "struct ugds_st_memory_ops", err);
	const char *missing = !memory_out->alloc        ? "alloc"
	                      : !memory_out->free       ? "free"
	                      : !memory_out->copy       ? "copy"
	                      : !memory_out->done       ? "done"
	                      : !memory_out->error_text ? "error_text"
	                                                : NULL;

	if (status || !missing)
		return status;
	return ugst_fail(err, UGDS_ST_INVALID_ARG,
	                 "struct ugds_st_memory_ops: expected %s, found %zu "
	                 "bytes without it",
	                 missing, memory->struct_size);
}

/* uGDS reads into device memory only, compatibility mode into host memory. */
static int take_arena_memory(ugds_st_store *store, struct ugds_st_error *err)
{
	const struct ugds_st_memory_ops *memory = &store->memory;

	if (store->provider == UGDS_ST_PROVIDER_COMPAT &&
	    memory->ugds_register_flags >= 0)
		return take_memory(memory->staging, &store->arena_memory, err);
	store->arena_memory = *memory;
	return UGDS_ST_OK;
}

static uint64_t slot_bytes_of(const ugds_st_store *store, size_t source)
{
	struct ugst_queue *queue = store->path.sources[source].queue;

	return ugst_plan_slot_bytes(
		ugst_queue_device(queue)->limits.command_bytes);
}

/* What was asked for, or what is enough for all volumes there are. */
static uint64_t arena_bytes(const ugds_st_store *store, uint64_t wanted_bytes)
{
	uint64_t bytes = DEFAULT_ARENA_BYTES;

	if (wanted_bytes)
		return ugst_align_up(ugst_min(wanted_bytes, INT64_MAX / 2),
		                     UGST_GPU_PAGE_BYTES);
	for (size_t i = 0; i < store->path.source_count; i++)
		bytes = ugst_max(bytes, store->path.source_count *
		                                DEFAULT_SLOTS *
		                                slot_bytes_of(store, i));
	return ugst_align_up(bytes, UGST_GPU_PAGE_BYTES);
}

/* Evenly over the sources. */
static int share_arena(ugds_st_store *store, struct ugds_st_error *err)
{
	size_t count = store->path.source_count;
	uint64_t share =
		ugst_align_down(store->arena_bytes / count, UGST_PAGE_BYTES);
	int status = UGDS_ST_OK;

	for (size_t i = 0; i < count && status == UGDS_ST_OK; i++)
		status = ugst_arena_init(&store->path.sources[i].arena,
		                         store->arena, i * share, share,
		                         slot_bytes_of(store, i), err);
	return status;
}

/* The arena: one allocation and one registration. */
static int open_arena(ugds_st_store *store, uint64_t wanted_bytes,
                      struct ugds_st_error *err)
{
	const struct ugds_st_memory_ops *memory = &store->arena_memory;
	void *arena = NULL;
	uint64_t bytes;
	int status;
	int code;

	if (store->path.source_count == 0)
		return ugst_fail(err, UGDS_ST_NOT_FOUND,
		                 "none of the manifest's devices is there");
	status = take_arena_memory(store, err);
	if (status)
		return status;
	bytes = arena_bytes(store, wanted_bytes);
	code = memory->alloc(memory->ctx, bytes, UGST_GPU_PAGE_BYTES, &arena);
	if (code)
		return ugst_fail(err, UGDS_ST_NO_MEMORY,
		                 "arena of %llu bytes: %s",
		                 (unsigned long long)bytes,
		                 memory->error_text(memory->ctx, code));
	store->arena = arena;
	store->arena_bytes = bytes;
	status = ugst_store_register(store, memory, arena, bytes, err);
	if (status)
		return status;
	store->arena_registered = true;
	return share_arena(store, err);
}

/* The copies of a shard whose volumes are there. */
static int place_shard(const struct ugst_manifest_shard *shard,
                       const struct ugst_found_volume *found,
                       struct ugst_store_shard *placed,
                       struct ugds_st_error *err)
{
	placed->copies =
		ugst_calloc(shard->copy_count, sizeof(*placed->copies));
	if (!placed->copies)
		return ugst_fail_memory(err);
	for (size_t i = 0; i < shard->copy_count; i++) {
		const struct ugst_manifest_copy *copy = &shard->copies[i];
		const struct ugst_found_volume *volume = &found[copy->volume];
		uint64_t off;

		if (volume->source == UGST_NO_SOURCE)
			continue;
		/* Bounded by the volume: the manifest was checked. */
		(void)ugst_lba_to_bytes(copy->base_lba, copy->lba_bytes, &off);
		placed->copies[placed->copy_count++] = (struct ugst_store_copy){
			.source = volume->source,
			.device_off =
				volume->start_off + off + copy->lead_bytes,
		};
	}
	if (placed->copy_count)
		return UGDS_ST_OK;
	return ugst_fail(err, UGDS_ST_NOT_FOUND,
	                 "shard %s: no volume that has it is there",
	                 shard->name);
}

static int place_shards(ugds_st_store *store,
                        const struct ugst_manifest *manifest,
                        const struct ugst_found_volume *found,
                        struct ugds_st_error *err)
{
	for (size_t i = 0; i < manifest->volume_count; i++)
		store->volume_count += found[i].source != UGST_NO_SOURCE;
	store->shards =
		ugst_calloc(manifest->shard_count, sizeof(*store->shards));
	if (!store->shards)
		return ugst_fail_memory(err);
	for (size_t i = 0; i < manifest->shard_count; i++) {
		const struct ugst_manifest_shard *shard = &manifest->shards[i];
		struct ugst_store_shard *placed = &store->shards[i];
		int status;

		store->shard_count = i + 1;
		placed->name = ugst_strdup(shard->name);
		if (!placed->name)
			return ugst_fail_memory(err);
		placed->bytes = shard->bytes;
		placed->json_bytes = shard->json_bytes;
		placed->header_hash = shard->header_hash;
		placed->hash = shard->hash;
		store->left_out_count += shard->left_out_count;
		status = place_shard(shard, found, placed, err);
		if (status)
			return status;
	}
	return UGDS_ST_OK;
}

/* Everything between a parsed manifest and a store that answers. */
static int fill_store(ugds_st_store *store,
                      const struct ugds_st_open_opts *opts,
                      const struct ugst_manifest *manifest,
                      struct ugds_st_error *err)
{
	bool degraded_ok = opts->flags & UGDS_ST_OPEN_DEGRADED_OK;
	struct ugst_found_volume *found =
		ugst_calloc(manifest->volume_count, sizeof(*found));
	int status;

	store->checkpoint = manifest->checkpoint;
	store->generation = manifest->generation;
	store->path.memory = &store->memory;
	store->model = ugst_strdup(manifest->model);
	if (!found || !store->model) {
		status = ugst_fail_memory(err);
		goto out;
	}
	status = take_memory(opts->memory, &store->memory, err);
	if (status == UGDS_ST_OK)
		status = open_sources(store, opts, manifest, err);
	if (status == UGDS_ST_OK)
		status = open_arena(store, opts->arena_bytes, err);
	if (status == UGDS_ST_OK)
		status = ugst_volumes_match(store, manifest, degraded_ok, found,
		                            err);
	if (status == UGDS_ST_OK)
		status = place_shards(store, manifest, found, err);
	if (status == UGDS_ST_OK)
		status = ugst_headers_load(store, manifest, err);
out:
	free(found);
	return status;
}

UGST_API int ugds_st_open(const char *manifest_path,
                          const struct ugds_st_open_opts *caller_opts,
                          ugds_st_store **store_out, struct ugds_st_error *err)
{
	struct ugds_st_open_opts opts;
	struct ugst_manifest manifest = {0};
	/* What fails and is then found elsewhere is not the caller's to see. */
	struct ugds_st_error why = {0};
	ugds_st_store *store = NULL;
	int status;

	if (!manifest_path || !store_out)
		return ugst_fail(err, UGDS_ST_INVALID_ARG,
		                 "open: manifest and store_out are needed");
	status = ugst_opts_read(&opts, sizeof(opts), caller_opts,
	                        "struct ugds_st_open_opts", err);
	if (status == UGDS_ST_OK)
		status = check_opts(&opts, err);
	if (status == UGDS_ST_OK)
		status = read_manifest(manifest_path, &manifest, err);
	if (status)
		return status;
	store = ugst_store_new();
	status = store ? fill_store(store, &opts, &manifest, &why)
	               : ugst_fail_memory(&why);
	ugst_manifest_free(&manifest);
	if (status) {
		if (err)
			*err = why;
		/* A device lost while it is opened can only be abandoned. */
		if (ugds_st_close(store, 0, NULL))
			(void)ugds_st_close(store, UGDS_ST_CLOSE_ABANDON, NULL);
		return status;
	}
	*store_out = store;
	return UGDS_ST_OK;
}
