/* SPDX-License-Identifier: BSD-3-Clause */
/* batch.c - entries in flight; see batch.h. */
#include "base/common.h"

#include "base/clock.h"
#include "base/err.h"
#include "devices/arena.h"
#include "devices/batch.h"

/* How long to sleep where the provider's own wait would spin. */
#define NAP_NS (50 * UGST_NS_PER_US)

/* What passes between looks of somebody who waits, and then some. */
#define LOOK_NS (50 * UGST_NS_PER_MS)

/* The batch's clock. */
static uint64_t look(struct ugst_batch *batch)
{
	uint64_t now_ns = ugst_now_ns();
	uint64_t since_ns = now_ns - batch->looked_ns;

	if (since_ns > LOOK_NS)
		batch->away_ns += since_ns - LOOK_NS;
	batch->looked_ns = now_ns;
	return now_ns - batch->away_ns;
}

void ugst_batch_init(struct ugst_batch *batch, const struct ugst_device *device)
{
	memset(batch, 0, sizeof(*batch));
	batch->device = device;
	ugst_window_init(&batch->window, device->limits.window_commands);
}

bool ugst_batch_admits(const struct ugst_batch *batch, uint32_t commands)
{
	return batch->broken_count == 0 &&
	       ugst_window_admits(&batch->window, commands);
}

void ugst_batch_add(struct ugst_batch *batch, const struct ugst_entry *entry,
                    struct ugst_flight **flight_out,
                    struct ugst_ugds_params *params_out)
{
	unsigned position = ugst_window_submit(&batch->window, entry->commands);
	struct ugst_flight *flight = &batch->flights[position];

	*flight = (struct ugst_flight){
		.slot = UGST_NO_SLOT,
		.entry = *entry,
		.submitted_ns = look(batch),
		.live = true,
	};
	*params_out = (struct ugst_ugds_params){
		.base = entry->base,
		.device_off = (off_t)entry->device_off,
		.buffer_off = (off_t)entry->buffer_off,
		.bytes = entry->bytes,
		.opcode = UGST_UGDS_READ,
		.cookie = flight,
	};
	*flight_out = flight;
}

int ugst_batch_setup(struct ugst_batch *batch, struct ugds_st_error *err)
{
	const struct ugst_device *device = batch->device;
	struct ugst_ugds_error error;

	if (batch->handle)
		return UGDS_ST_OK;
	error = device->ugds->batch_setup(&batch->handle, device->handle,
	                                  UGST_WINDOW_ENTRIES);
	if (error.code == 0)
		return UGDS_ST_OK;
	batch->handle = NULL;
	/* The same code says that the engine uses its handle's one batch, and
	 * that a handle of ours does not work any more. */
	if (device->lent && error.code == UGST_UGDS_INVALID_VALUE)
		return ugst_fail_ugds(err, UGDS_ST_BUSY, error.code,
		                      "%s: the lent handle's batch is in use",
		                      device->path);
	return ugst_fail_ugds(
		err,
		error.code == UGST_UGDS_INTERNAL_ERROR ? UGDS_ST_NO_MEMORY
						       : UGDS_ST_DEVICE_LOST,
		error.code, "%s: no batch can be set up", device->path);
}

void ugst_batch_destroy(struct ugst_batch *batch)
{
	if (batch->handle)
		batch->device->ugds->batch_destroy(batch->handle);
	batch->handle = NULL;
}

int ugst_batch_submit(struct ugst_batch *batch, struct ugst_ugds_params *params,
                      unsigned count, struct ugds_st_error *err)
{
	const struct ugst_device *device = batch->device;
	struct ugst_ugds_error error =
		device->ugds->batch_submit(batch->handle, count, params, 0);

	if (error.code == UGST_UGDS_BUSY && device->lent)
		return ugst_fail_ugds(err, UGDS_ST_BUSY, error.code,
		                      "%s: the lent handle is about to be "
		                      "given up",
		                      device->path);
	/* The window and the plan leave no other reason: the handle is wedged,
	 * or the controller takes no more commands. */
	if (error.code)
		return ugst_fail_ugds(err, UGDS_ST_DEVICE_LOST, error.code,
		                      "%s: %u entries from LBA %llu were not "
		                      "taken",
		                      device->path, count,
		                      (unsigned long long)params[0].device_off /
		                              device->limits.lba_bytes);
	return UGDS_ST_OK;
}

unsigned ugst_batch_collect(struct ugst_batch *batch,
                            struct ugst_ugds_event *events, uint64_t wait_ns)
{
	const struct ugst_device *device = batch->device;
	bool sleeps = device->limits.wait_sleeps;
	struct timespec timeout = ugst_timespec(sleeps ? wait_ns : 0);
	unsigned count = UGST_WINDOW_ENTRIES;
	struct ugst_ugds_error error;

	error = device->ugds->batch_status(batch->handle,
	                                   sleeps && wait_ns ? 1 : 0, &count,
	                                   events, &timeout);
	if (error.code) {
		count = 0;
		sleeps = false;
	}
	if (count == 0 && !sleeps && wait_ns) {
		struct timespec nap =
			ugst_timespec(wait_ns < NAP_NS ? wait_ns : NAP_NS);

		(void)nanosleep(&nap, NULL);
	}
	return count;
}

/* The flight of a cookie; NULL: not one of ours that is in flight. */
static struct ugst_flight *find_flight(struct ugst_batch *batch,
                                       const void *cookie)
{
	uintptr_t off = (uintptr_t)cookie - (uintptr_t)batch->flights;
	struct ugst_flight *flight;

	if (off % sizeof(*flight) ||
	    off / sizeof(*flight) >= UGST_WINDOW_ENTRIES)
		return NULL;
	flight = &batch->flights[off / sizeof(*flight)];
	return flight->live ? flight : NULL;
}

struct ugst_flight *ugst_batch_retire(struct ugst_batch *batch,
                                      const struct ugst_ugds_event *event,
                                      int *status_out)
{
	struct ugst_flight *flight = find_flight(batch, event->cookie);
	bool never_issued = event->status == UGST_UGDS_FAILED && event->ret < 0;

	if (!flight)
		return NULL;
	flight->live = false;
	ugst_window_report(&batch->window, (unsigned)(flight - batch->flights));
	if (event->status == UGST_UGDS_COMPLETE && event->ret >= 0 &&
	    (uint64_t)event->ret == flight->entry.bytes) {
		*status_out = UGDS_ST_OK;
		return flight;
	}
	*status_out = UGDS_ST_IO;
	if (flight->entry.commands == 1 || never_issued ||
	    !batch->device->limits.fails_early)
		return flight;
	flight->broken = true;
	batch->broken_count++;
	return NULL;
}

bool ugst_batch_must_renew(const struct ugst_batch *batch)
{
	return batch->broken_count > 0 && batch->window.in_flight == 0;
}

void ugst_batch_begin_drain(struct ugst_batch *batch)
{
	batch->draining = true;
	batch->draining_ns = look(batch);
}

void ugst_batch_end_drain(struct ugst_batch *batch)
{
	batch->draining = false;
}

uint64_t ugst_batch_silence_ns(struct ugst_batch *batch)
{
	const struct ugst_window *window = &batch->window;
	uint64_t now_ns = look(batch);

	if (window->in_flight)
		return now_ns - batch->flights[window->oldest].submitted_ns;
	return batch->draining ? now_ns - batch->draining_ns : 0;
}
