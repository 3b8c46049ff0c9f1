/* SPDX-License-Identifier: BSD-3-Clause */
/* ugds_watch.c - watches the caller of uGDS; see ugds_watch.h. */
#include "support/test.h"

#include <pthread.h>
#include <sys/stat.h>

#include "base/units.h"
#include "support/ugds_watch.h"

#define WINDOW 63u
#define ENTRIES UGST_UGDS_BATCH_ENTRIES
/* What the probe's entries carry; they are made to be refused. */
#define PROBE_COOKIE UINT64_C(0x5ca1ab1e0badf00d)
#define FORCE (-2)

struct buf {
	char *base;
	size_t bytes;
	unsigned refs; /* entries that may still write to it */
};

struct entry {
	void *cookie;
	struct buf *buf;
	size_t bytes;
	unsigned commands;
	bool live;   /* its event was not read */
	bool broken; /* it was, and commands of it may run */
};

struct batch {
	void *id;
	void *handle;
	struct entry entries[ENTRIES];
	unsigned used;
	unsigned live;
	bool broken;
};

struct handle {
	void *id;
	int fd;
	dev_t device;
};

static struct {
	pthread_mutex_t lock;
	const struct ugst_ugds *ugds;
	uint32_t lba_bytes;
	uint32_t command_bytes;
	struct ugds_watch_counts counts;
	const char *broken;
	unsigned inside; /* threads in Submit, GetStatus and Destroy */
	struct buf bufs[64];
	struct batch batches[8];
	struct handle handles[8];
} watch = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void rule(bool kept, const char *what)
{
	if (!kept && !watch.broken)
		watch.broken = what;
}

static void lock(void)
{
	(void)pthread_mutex_lock(&watch.lock);
}

static void unlock(void)
{
	(void)pthread_mutex_unlock(&watch.lock);
}

/* -------------------------------------------------------- driver, handles */

static struct handle *find_handle(const void *id)
{
	for (size_t i = 0; i < UGST_COUNT(watch.handles); i++)
		if (watch.handles[i].id == id)
			return &watch.handles[i];
	return NULL;
}

static dev_t device_of(int fd)
{
	struct stat st = {0};

	if (fstat(fd, &st) || !S_ISCHR(st.st_mode))
		return 0;
	return st.st_rdev;
}

static struct ugst_ugds_error driver_open(void)
{
	return watch.ugds->driver_open();
}

static struct ugst_ugds_error handle_register(void **handle_out,
                                              struct ugst_ugds_descr *descr)
{
	dev_t device = device_of(descr->u.fd);
	struct ugst_ugds_error error;

	lock();
	rule(device != 0, "a handle for what is no character device");
	for (size_t i = 0; i < UGST_COUNT(watch.handles); i++)
		rule(!watch.handles[i].id || watch.handles[i].device != device,
		     "a second handle for a device");
	watch.counts.handle_registers++;
	watch.counts.commands = 0;
	unlock();
	error = watch.ugds->handle_register(handle_out, descr);
	if (error.code == 0) {
		lock();
		*find_handle(NULL) =
			(struct handle){*handle_out, descr->u.fd, device};
		unlock();
	}
	return error;
}

static void check_batch_gone(struct batch *batch, const void *handle,
                             bool force)
{
	if (!batch->id || batch->handle != handle)
		return;
	rule(force, "a handle given back with a live batch");
	batch->id = NULL; /* what it references stays so */
}

static struct ugst_ugds_error handle_deregister(void *id, int timeout_s)
{
	struct handle *handle;
	struct ugst_ugds_error error;
	bool force = timeout_s == FORCE;

	lock();
	handle = find_handle(id);
	rule(timeout_s == 0 || force, "a deregistration that may spin");
	rule(watch.inside == 0, "a deregistration beside another call");
	rule(handle && device_of(handle->fd) == handle->device,
	     "a descriptor closed before its handle");
	watch.counts.forced += force;
	unlock();
	error = watch.ugds->handle_deregister(id, timeout_s);
	if (error.code)
		return error;
	lock();
	for (size_t i = 0; i < UGST_COUNT(watch.batches); i++)
		check_batch_gone(&watch.batches[i], id, force);
	if (handle)
		handle->id = NULL;
	unlock();
	return error;
}

static struct ugst_ugds_error device_capacity(void *handle, uint64_t *bytes_out)
{
	return watch.ugds->device_capacity(handle, bytes_out);
}

/* ---------------------------------------------------------------- buffers */

static struct buf *find_buf(const void *base)
{
	for (size_t i = 0; i < UGST_COUNT(watch.bufs); i++)
		if (watch.bufs[i].base == base)
			return &watch.bufs[i];
	return NULL;
}

static struct ugst_ugds_error buf_register(const void *base, size_t bytes,
                                           int flags)
{
	struct ugst_ugds_error error;

	lock();
	rule(ugst_is_aligned((uintptr_t)base, UGST_GPU_PAGE_BYTES),
	     "a base that is no multiple of 64 KiB");
	rule(bytes && ugst_is_aligned(bytes, UGST_GPU_PAGE_BYTES),
	     "a length that is no multiple of 64 KiB");
	rule(flags == 0, "register flags");
	unlock();
	error = watch.ugds->buf_register(base, bytes, flags);
	if (error.code == 0) {
		lock();
		*find_buf(NULL) = (struct buf){.base = (char *)(uintptr_t)base,
		                               .bytes = bytes};
		unlock();
	}
	return error;
}

static struct ugst_ugds_error buf_deregister(const void *base)
{
	struct ugst_ugds_error error = watch.ugds->buf_deregister(base);
	struct buf *buf;

	lock();
	buf = find_buf(base);
	if (error.code == 0 && buf) {
		rule(buf->refs == 0, "a buffer given back under its reads");
		buf->base = NULL;
	}
	unlock();
	return error;
}

/* ---------------------------------------------------------------- batches */

static struct batch *find_batch(const void *id)
{
	for (size_t i = 0; i < UGST_COUNT(watch.batches); i++)
		if (watch.batches[i].id == id)
			return &watch.batches[i];
	return NULL;
}

static struct ugst_ugds_error batch_setup(void **batch_out, void *handle,
                                          unsigned count)
{
	struct ugst_ugds_error error =
		watch.ugds->batch_setup(batch_out, handle, count);

	lock();
	rule(count == ENTRIES, "a batch of another size");
	if (error.code == 0) {
		struct batch *batch = find_batch(NULL);

		memset(batch, 0, sizeof(*batch));
		batch->id = *batch_out;
		batch->handle = handle;
		watch.counts.setups++;
	}
	unlock();
	return error;
}

static bool is_probe(const void *cookie)
{
	return (uintptr_t)cookie - PROBE_COOKIE < 16;
}

static unsigned commands_of(size_t bytes)
{
	return (unsigned)ugst_div_up(bytes, watch.command_bytes);
}

static void check_entry(const struct ugst_ugds_params *params,
                        const struct buf *buf)
{
	unsigned commands = commands_of(params->bytes);

	rule(buf, "an entry for a base that is not registered");
	if (buf)
		rule((uint64_t)params->buffer_off <= buf->bytes &&
		             params->bytes <=
		                     buf->bytes - (uint64_t)params->buffer_off,
		     "an entry that reaches out of its buffer");
	rule(ugst_is_aligned((uint64_t)params->buffer_off, UGST_PAGE_BYTES),
	     "a buffer offset that is no multiple of 4096");
	rule(params->bytes && ugst_is_aligned((uint64_t)params->device_off |
	                                              params->bytes,
	                                      watch.lba_bytes),
	     "an entry of no whole blocks");
	rule(commands == 1 || params->bytes <= UGST_MIB,
	     "an entry larger than it may be");
	rule(commands <= 9, "an entry of too many commands");
	rule(params->opcode == UGST_UGDS_READ, "an entry that writes");
}

/* Commands from the oldest entry without an event to the newest. */
static unsigned distance(const struct batch *batch)
{
	unsigned oldest = 0;
	unsigned commands = 0;

	while (oldest < batch->used && !batch->entries[oldest].live)
		oldest++;
	for (unsigned i = oldest; i < batch->used; i++)
		commands += batch->entries[i].commands;
	return commands;
}

static void add_entry(struct batch *batch,
                      const struct ugst_ugds_params *params)
{
	struct buf *buf = find_buf(params->base);
	struct ugds_watch_counts *counts = &watch.counts;

	check_entry(params, buf);
	rule(!batch->broken, "an entry for a broken batch");
	rule(batch->used < ENTRIES, "a 129th entry");
	if (batch->used == ENTRIES)
		return;
	batch->entries[batch->used++] = (struct entry){
		.cookie = params->cookie,
		.buf = buf,
		.bytes = params->bytes,
		.commands = commands_of(params->bytes),
		.live = true,
	};
	batch->live++;
	if (buf)
		buf->refs++;
	counts->entries++;
	counts->commands += commands_of(params->bytes);
	counts->distance_max = ugst_max(counts->distance_max, distance(batch));
	counts->used_max = ugst_max(counts->used_max, batch->used);
	rule(distance(batch) <= WINDOW, "a command overtaken by 63");
}

/* The last count entries were not taken; or (stuck) nobody knows which were,
 * and only uGDS which buffers are in use. */
static void drop_entries(struct batch *batch, unsigned count, bool stuck)
{
	if (count > batch->used)
		count = batch->used;
	for (unsigned i = 1; i <= count; i++) {
		struct entry *entry = &batch->entries[batch->used - i];

		if (entry->buf)
			entry->buf->refs--;
		entry->buf = NULL;
	}
	if (stuck)
		return;
	batch->used -= count;
	batch->live -= count;
}

static struct ugst_ugds_error batch_submit(void *id, unsigned count,
                                           struct ugst_ugds_params *params,
                                           unsigned flags)
{
	struct ugst_ugds_error error;
	struct batch *batch;
	bool probe = is_probe(params[0].cookie);

	lock();
	batch = find_batch(id);
	rule(batch, "a batch that is gone");
	if (batch && !probe) {
		if (batch->live == 0 && !batch->broken)
			batch->used = 0;
		for (unsigned i = 0; i < count; i++)
			add_entry(batch, &params[i]);
		watch.counts.submits++;
	}
	watch.inside++;
	unlock();
	error = watch.ugds->batch_submit(id, count, params, flags);
	lock();
	watch.inside--;
	if (error.code && !probe) {
		watch.counts.submit_failures++;
		if (batch)
			drop_entries(batch, count,
			             error.code == UGST_UGDS_INTERNAL_ERROR);
	}
	unlock();
	return error;
}

static void take_event(struct batch *batch, const struct ugst_ugds_event *event)
{
	struct ugds_watch_counts *counts = &watch.counts;
	struct entry *entry = batch->entries;
	struct entry *end = entry + batch->used;
	bool failed = event->status == UGST_UGDS_FAILED;

	while (entry < end && (!entry->live || entry->cookie != event->cookie))
		entry++;
	rule(entry < end, "an event of no entry");
	if (entry == end)
		return;
	entry->live = false;
	batch->live--;
	counts->invalid_events += failed && event->ret < 0;
	counts->short_events += event->status == UGST_UGDS_COMPLETE &&
	                        (uint64_t)event->ret < entry->bytes;
	if (failed && event->ret >= 0 && entry->commands > 1) {
		counts->early_failures++;
		entry->broken = true;
		batch->broken = true;
	} else if (entry->buf) {
		entry->buf->refs--;
	}
}

static struct ugst_ugds_error batch_status(void *id, unsigned min_count,
                                           unsigned *count,
                                           struct ugst_ugds_event *events,
                                           struct timespec *timeout)
{
	struct ugst_ugds_error error;
	struct batch *batch;

	lock();
	batch = find_batch(id);
	rule(batch, "a batch that is gone");
	rule(timeout, "a wait without a timeout");
	watch.inside++;
	unlock();
	error = watch.ugds->batch_status(id, min_count, count, events, timeout);
	lock();
	watch.inside--;
	for (unsigned i = 0; batch && error.code == 0 && i < *count; i++) {
		if (is_probe(events[i].cookie))
			continue;
		rule(min_count == 0, "a wait that spins");
		take_event(batch, &events[i]);
	}
	unlock();
	return error;
}

static void batch_destroy(void *id)
{
	struct batch *batch;

	lock();
	batch = find_batch(id);
	rule(batch && batch->live == 0,
	     "a batch destroyed with entries in flight");
	rule(watch.inside == 0, "a batch destroyed beside another call");
	watch.counts.destroys++;
	watch.inside++;
	unlock();
	watch.ugds->batch_destroy(id);
	lock();
	watch.inside--;
	for (unsigned i = 0; batch && i < batch->used; i++) {
		struct entry *entry = &batch->entries[i];

		if (entry->broken && entry->buf)
			entry->buf->refs--;
	}
	if (batch)
		batch->id = NULL;
	unlock();
}

/* -------------------------------------------------------------------- ours */

const struct ugst_ugds *ugds_watch_begin(const struct ugst_ugds *ugds,
                                         uint32_t lba_bytes,
                                         uint32_t command_bytes)
{
	static const struct ugst_ugds table = {
		.driver_open = driver_open,
		.handle_register = handle_register,
		.handle_deregister = handle_deregister,
		.device_capacity = device_capacity,
		.buf_register = buf_register,
		.buf_deregister = buf_deregister,
		.batch_setup = batch_setup,
		.batch_submit = batch_submit,
		.batch_status = batch_status,
		.batch_destroy = batch_destroy,
	};

	lock();
	watch.ugds = ugds;
	watch.lba_bytes = lba_bytes;
	watch.command_bytes = command_bytes;
	watch.broken = NULL;
	watch.inside = 0;
	memset(&watch.counts, 0, sizeof(watch.counts));
	memset(watch.bufs, 0, sizeof(watch.bufs));
	memset(watch.batches, 0, sizeof(watch.batches));
	memset(watch.handles, 0, sizeof(watch.handles));
	unlock();
	return &table;
}

struct ugds_watch_counts ugds_watch_counts(void)
{
	struct ugds_watch_counts counts;

	lock();
	counts = watch.counts;
	unlock();
	return counts;
}

const char *ugds_watch_broken(void)
{
	const char *broken;

	lock();
	broken = watch.broken;
	unlock();
	return broken;
}

void ugds_watch_forgive(const char *broken)
{
	lock();
	if (watch.broken && strcmp(watch.broken, broken) == 0)
		watch.broken = NULL;
	unlock();
}
