/* SPDX-License-Identifier: BSD-3-Clause */
/* array.c - tensors in memory that the library allocates. */
#include "base/common.h"

#include "base/err.h"
#include "base/mem.h"
#include "base/units.h"
#include "pure/layout.h"
#include "verbs/read.h"

#define DEFAULT_ALIGN 256u
#define MAX_ALIGN 4096u
/* Registering device memory costs a system call and bus address space, and a
 * copy within the device next to nothing: below this an array is staged. Host
 * memory is registered for free. */
#define REGISTER_MIN_BYTES (64 * UGST_MIB)

struct ugds_st_array {
	struct ugds_st_memory_ops memory;
	char *data;
	uint64_t bytes;
	size_t count;
	char **tensors;             /* first bytes */
	struct ugds_st_info *infos; /* names, dims and paths: own copies */
	char *strings;              /* pool for them */
};

/* ------------------------------------------------------------------- layout */

static int check_align(size_t *align, struct ugds_st_error *err)
{
	if (*align == 0)
		*align = DEFAULT_ALIGN;
	if (ugst_is_pow2(*align) && *align <= MAX_ALIGN)
		return UGDS_ST_OK;
	return ugst_fail(err, UGDS_ST_INVALID_ARG,
	                 "align: expected a power of two up to %u, found %zu",
	                 MAX_ALIGN, *align);
}

static int lay_out(const ugds_st_store *store,
                   const ugds_st_tensor *const *tensors, size_t count,
                   size_t align, uint64_t *offs_out, uint64_t *bytes_out,
                   struct ugds_st_error *err)
{
	struct ugst_layout_item *items = ugst_calloc(count, sizeof(*items));

	if (!items)
		return ugst_fail_memory(err);
	for (size_t i = 0; i < count; i++) {
		const struct ugst_store_copy *copy =
			ugst_store_copy(store, tensors[i], 0);

		items[i] = (struct ugst_layout_item){
			.device = copy->source,
			.lba_bytes = ugst_store_device(store, copy)
		                             ->limits.lba_bytes,
			.device_off = copy->device_off + tensors[i]->file_off,
			.bytes = tensors[i]->payload_bytes,
			.index = i,
		};
	}
	*bytes_out = ugst_layout(items, count, align);
	for (size_t i = 0; i < count; i++)
		offs_out[items[i].index] = items[i].out_off;
	free(items);
	if (*bytes_out > SIZE_MAX / 2)
		return ugst_fail(err, UGDS_ST_NO_MEMORY,
		                 "%zu tensors do not fit any memory", count);
	return UGDS_ST_OK;
}

/* The store that all tensors are of; NULL: there is none. */
static const ugds_st_store *common_store(const ugds_st_tensor *const *tensors,
                                         size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (!tensors[i] || ugst_tensor_store(tensors[i]) !=
		                           ugst_tensor_store(tensors[0]))
			return NULL;
	return ugst_tensor_store(tensors[0]);
}

UGST_API int ugds_st_layout(const ugds_st_tensor *const *tensors, size_t count,
                            size_t align, uint64_t *offs_out,
                            uint64_t *bytes_out)
{
	const ugds_st_store *store;
	int status;

	if (!bytes_out || (count && (!tensors || !offs_out)))
		return UGDS_ST_INVALID_ARG;
	status = check_align(&align, NULL);
	if (status)
		return status;
	*bytes_out = 0;
	if (count == 0)
		return UGDS_ST_OK;
	store = common_store(tensors, count);
	if (!store || !store->provider)
		return UGDS_ST_INVALID_ARG;
	return lay_out(store, tensors, count, align, offs_out, bytes_out, NULL);
}

/* -------------------------------------------------------------------- array */

UGST_API void ugds_st_array_free(ugds_st_array *array)
{
	if (!array)
		return;
	if (array->data)
		array->memory.free(array->memory.ctx, array->data,
		                   array->bytes);
	free(array->tensors);
	free(array->infos);
	free(array->strings);
	free(array);
}

UGST_API void *ugds_st_array_data(const ugds_st_array *array, size_t index)
{
	return array && index < array->count ? array->tensors[index] : NULL;
}

UGST_API const struct ugds_st_info *
ugds_st_array_info(const ugds_st_array *array, size_t index)
{
	return array && index < array->count ? &array->infos[index] : NULL;
}

static char *put(char **at, const void *bytes, size_t count)
{
	char *copy = *at;

	memcpy(copy, bytes, count);
	*at += count;
	return copy;
}

/* Infos that outlive the store: all they point to is copied into one pool,
 * dims first, where they are aligned. */
static int copy_infos(struct ugds_st_array *array,
                      const ugds_st_tensor *const *tensors,
                      struct ugds_st_error *err)
{
	size_t bytes = 0;
	char *at;

	for (size_t i = 0; i < array->count; i++) {
		struct ugds_st_info *info = &array->infos[i];

		info->struct_size = sizeof(*info);
		(void)ugds_st_info(tensors[i], info);
		bytes += info->rank * sizeof(*info->dims) + info->name_bytes +
		         strlen(info->shard) + strlen(info->device) + 3;
	}
	array->strings = malloc(bytes ? bytes : 1);
	if (!array->strings)
		return ugst_fail_memory(err);
	at = array->strings;
	for (size_t i = 0; i < array->count; i++) {
		struct ugds_st_info *info = &array->infos[i];

		info->dims = (const uint64_t *)(void *)put(
			&at, info->dims, info->rank * sizeof(*info->dims));
	}
	for (size_t i = 0; i < array->count; i++) {
		struct ugds_st_info *info = &array->infos[i];

		info->name = put(&at, info->name, info->name_bytes + 1);
		info->shard = put(&at, info->shard, strlen(info->shard) + 1);
		info->device = put(&at, info->device, strlen(info->device) + 1);
	}
	return UGDS_ST_OK;
}

/* An array with memory, nothing read. */
static int new_array(const ugds_st_store *store,
                     const ugds_st_tensor *const *tensors, size_t count,
                     size_t align, struct ugds_st_array **array_out,
                     struct ugds_st_error *err)
{
	const struct ugds_st_memory_ops *memory = store->path.memory;
	struct ugds_st_array *array = ugst_calloc(1, sizeof(*array));
	uint64_t *offs = ugst_calloc(count, sizeof(*offs));
	void *data = NULL;
	int status;
	int code;

	if (!array || !offs) {
		status = ugst_fail_memory(err);
		goto out;
	}
	array->memory = *memory;
	array->count = count;
	array->tensors = ugst_calloc(count, sizeof(*array->tensors));
	array->infos = ugst_calloc(count, sizeof(*array->infos));
	if (!array->tensors || !array->infos) {
		status = ugst_fail_memory(err);
		goto out;
	}
	status = copy_infos(array, tensors, err);
	if (status == UGDS_ST_OK)
		status = lay_out(store, tensors, count, align, offs,
		                 &array->bytes, err);
	if (status)
		goto out;
	array->bytes = ugst_max(array->bytes, UGST_GPU_PAGE_BYTES);
	code = memory->alloc(memory->ctx, array->bytes, UGST_GPU_PAGE_BYTES,
	                     &data);
	if (code) {
		status = ugst_fail(err, UGDS_ST_NO_MEMORY,
		                   "array of %llu bytes: %s",
		                   (unsigned long long)array->bytes,
		                   memory->error_text(memory->ctx, code));
		goto out;
	}
	array->data = data;
	for (size_t i = 0; i < count; i++)
		array->tensors[i] = array->data + offs[i];
out:
	free(offs);
	if (status) {
		ugds_st_array_free(array);
		return status;
	}
	*array_out = array;
	return UGDS_ST_OK;
}

/* Registered for the time of the call, where that is worth it and goes. */
static bool register_array(const ugds_st_store *store,
                           const struct ugds_st_array *array,
                           const struct ugds_st_read_opts *opts)
{
	if (opts->deadline_ms || (array->memory.ugds_register_flags >= 0 &&
	                          array->bytes < REGISTER_MIN_BYTES))
		return false;
	return ugst_store_register(store, &array->memory, array->data,
	                           array->bytes, NULL) == UGDS_ST_OK;
}

static int fill_array(ugds_st_store *store,
                      const ugds_st_tensor *const *tensors,
                      struct ugds_st_array *array,
                      const struct ugds_st_read_opts *opts,
                      struct ugds_st_error *err)
{
	struct ugst_request *requests =
		ugst_calloc(array->count, sizeof(*requests));
	bool registered;
	int status;

	if (!requests)
		return ugst_fail_memory(err);
	registered = register_array(store, array, opts);
	for (size_t i = 0; i < array->count; i++)
		requests[i] = (struct ugst_request){
			.tensor = tensors[i],
			.shard_off = tensors[i]->file_off,
			.bytes = tensors[i]->payload_bytes,
			.dst = array->tensors[i],
			.base = registered ? array->data : NULL,
			.slack = true,
		};
	status = ugst_read_requests(store, requests, array->count, opts, err);
	free(requests);
	/* What other tensors' copies still write to is about to be freed. */
	for (size_t i = 0; status && i < store->path.source_count; i++)
		ugst_late_wait(&store->path, &store->path.sources[i]);
	if (!registered)
		return status;
	/* What a lost device may still write to is never freed. */
	if (ugst_store_deregister(store, array->data, status ? NULL : err)) {
		array->data = NULL;
		return status ? status : UGDS_ST_DEVICE_LOST;
	}
	return status;
}

UGST_API int ugds_st_get_tensors(ugds_st_store *store,
                                 const ugds_st_tensor *const *tensors,
                                 size_t count, size_t align,
                                 const struct ugds_st_read_opts *caller_opts,
                                 ugds_st_array **array_out,
                                 struct ugds_st_error *err)
{
	struct ugds_st_read_opts opts;
	struct ugds_st_array *array = NULL;
	int status;

	if (!store || !tensors || !array_out || count == 0 ||
	    count > UINT32_MAX || common_store(tensors, count) != store)
		return ugst_fail(
			err, UGDS_ST_INVALID_ARG,
			"get: a store, 1 to 2^32 - 1 tensors of it and "
			"array_out are needed, found %zu tensors",
			count);
	status = ugst_read_opts(caller_opts, &opts, err);
	if (status == UGDS_ST_OK)
		status = check_align(&align, err);
	if (status == UGDS_ST_OK)
		status = ugst_store_check_readable(store, err);
	if (status)
		return status;
	ugst_store_enter(store);
	status = new_array(store, tensors, count, align, &array, err);
	if (status == UGDS_ST_OK)
		status = fill_array(store, tensors, array, &opts, err);
	if (status == UGDS_ST_OK)
		*array_out = array;
	else
		ugds_st_array_free(array);
	ugst_store_leave(store);
	return status;
}

UGST_API int ugds_st_get_tensor(ugds_st_store *store, const char *name,
                                ugds_st_array **array_out,
                                struct ugds_st_error *err)
{
	const ugds_st_tensor *tensor;
	int status;

	if (!store || !name || !array_out)
		return ugst_fail(err, UGDS_ST_INVALID_ARG,
		                 "get: store, name and array_out are needed");
	status = ugst_read_find(store, name, &tensor, err);
	if (status)
		return status;
	return ugds_st_get_tensors(store, &tensor, 1, 0, NULL, array_out, err);
}
