/* SPDX-License-Identifier: BSD-3-Clause */
/* fetch.c - bytes of a device into host memory, for labels and hashes. */
#include "base/common.h"

#include "base/err.h"
#include "base/mem.h"
#include "devices/ugds_real.h"
#include "verbs/store.h"

int ugst_store_say(const ugds_st_store *store, const struct ugst_want *want,
                   const char *what, struct ugds_st_error *err)
{
	const struct ugds_st_memory_ops *memory = store->path.memory;
	struct ugst_queue *queue = store->path.sources[want->source].queue;
	const struct ugst_device *device = ugst_queue_device(queue);

	switch (want->status) {
	case UGDS_ST_IO:
		if (want->copy_code)
			return ugst_fail(err, UGDS_ST_IO,
			                 "%s: copy from the arena: %s", what,
			                 memory->error_text(memory->ctx,
			                                    want->copy_code));
		if (want->fence_code)
			return ugst_fail(err, UGDS_ST_IO,
			                 "%s: fence after the device's writes: "
			                 "%s",
			                 what,
			                 memory->error_text(memory->ctx,
			                                    want->fence_code));
		return ugst_fail_at(
			err, UGDS_ST_IO, want->failed_off,
			"%s: LBA %llu of %s cannot be read", what,
			(unsigned long long)(want->failed_off /
		                             device->limits.lba_bytes),
			device->path);
	case UGDS_ST_TIMEOUT:
		return ugst_fail(err, UGDS_ST_TIMEOUT,
		                 "%s: the deadline passed", what);
	case UGDS_ST_NO_MEMORY:
		return ugst_fail_memory(err);
	default:
		return ugst_queue_check(queue, err);
	}
}

int ugst_store_fetch(const ugds_st_store *store, uint32_t source, uint64_t off,
                     uint64_t bytes, void *dst, const char *what,
                     struct ugds_st_error *err)
{
	struct ugst_transfer_opts opts = {0};
	struct ugst_want want = {.left_bytes = bytes};
	struct ugst_segments *lists =
		ugst_calloc(store->path.source_count, sizeof(*lists));
	struct ugst_segment *segment = ugst_calloc(1, sizeof(*segment));
	int status;

	if (!lists || !segment) {
		free(segment);
		status = ugst_fail_memory(err);
		goto out;
	}
	*segment = (struct ugst_segment){
		.device_off = off,
		.bytes = bytes,
		.dst = dst,
	};
	lists[source] = (struct ugst_segments){segment, 1};
	status = ugst_transfer(&store->path, lists, &want, &opts, err);
	if (status == UGDS_ST_OK && want.status) {
		const struct ugst_device *device =
			ugst_queue_device(store->path.sources[source].queue);

		status = ugst_store_say(store, &want, what, err);
		/* These are a device's first reads. */
		if (status == UGDS_ST_IO && device->real)
			(void)ugst_ugds_real_explain(device->real, err);
	}
out:
	free(lists);
	return status;
}
