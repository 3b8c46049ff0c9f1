/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * batch.h - one live batch of a device: what is in flight, and what became of
 * it.
 *
 * Keeps uGDS's rules about events. An entry counts only if it is COMPLETE with
 * every byte. One that failed as a whole entry of several commands may still
 * have commands in flight, and its slot in the batch may be mistaken for a
 * younger one's: then nothing more is submitted, the others are collected,
 * and the batch is made anew before anybody is told.
 *
 * Functions named in "lock" need the queue's lock, the others must not have
 * it: they call uGDS.
 */
#ifndef UGST_BATCH_H
#define UGST_BATCH_H

#include "base/common.h"
#include "devices/device.h"
#include "pure/plan.h"
#include "pure/window.h"

struct ugst_arena;
struct ugst_job;

/* One entry in flight; its address is its cookie. */
struct ugst_flight {
	struct ugst_job *job; /* NULL: nobody waits for it any more */
	struct ugst_arena *arena;
	uint32_t slot;
	struct ugst_entry entry;
	uint64_t submitted_ns; /* on the batch's clock */
	bool live;             /* its event has not come */
	bool broken; /* its event came, and the batch must go before it */
};

struct ugst_batch {
	const struct ugst_device *device;
	void *handle; /* NULL: none set up */
	struct ugst_window window;
	struct ugst_flight flights[UGST_WINDOW_ENTRIES];
	unsigned broken_count; /* > 0: nothing more is submitted */
	bool draining;         /* somebody destroys it */
	uint64_t draining_ns;  /* since then, on the batch's clock */
	/* Its clock stands still while nobody looks, because nothing is read or
	 * the process was stopped: that is no device's silence. */
	uint64_t looked_ns; /* the last look, monotonic */
	uint64_t away_ns;   /* in all */
};

/* No call to uGDS yet. */
void ugst_batch_init(struct ugst_batch *batch,
                     const struct ugst_device *device);

/* lock. May an entry of so many commands be added? */
bool ugst_batch_admits(const struct ugst_batch *batch, uint32_t commands);

/* lock. Add an entry: *flight_out is the caller's to fill but for the entry,
 * *params_out is what to submit, in the order of addition. */
void ugst_batch_add(struct ugst_batch *batch, const struct ugst_entry *entry,
                    struct ugst_flight **flight_out,
                    struct ugst_ugds_params *params_out);

/* Set the batch up, if it is not. Return: OK; BUSY (a lent handle has another
 * batch); NO_MEMORY; DEVICE_LOST. */
int ugst_batch_setup(struct ugst_batch *batch, struct ugds_st_error *err);

/* Destroy the batch; nothing may be in flight. */
void ugst_batch_destroy(struct ugst_batch *batch);

/* Submit what was added. Return: OK; BUSY (a lent handle takes nothing for the
 * moment: submit again); DEVICE_LOST. */
int ugst_batch_submit(struct ugst_batch *batch, struct ugst_ugds_params *params,
                      unsigned count, struct ugds_st_error *err);

/*
 * Read events, at most UGST_WINDOW_ENTRIES. @wait_ns: sleep up to so long for
 * the first one; 0 only looks.
 * Return: their number.
 */
unsigned ugst_batch_collect(struct ugst_batch *batch,
                            struct ugst_ugds_event *events, uint64_t wait_ns);

/*
 * lock. Retire the entry of an event.
 *
 * Return: the flight if it is over now (*status_out: OK or IO); NULL: broken,
 * or no flight of ours.
 */
struct ugst_flight *ugst_batch_retire(struct ugst_batch *batch,
                                      const struct ugst_ugds_event *event,
                                      int *status_out);

/* lock. Nothing is in flight but broken entries: destroy and set up, then
 * they are over. */
bool ugst_batch_must_renew(const struct ugst_batch *batch);

/* lock. Between these the batch is destroyed, which waits for the commands of
 * its broken entries. */
void ugst_batch_begin_drain(struct ugst_batch *batch);
void ugst_batch_end_drain(struct ugst_batch *batch);

/* lock. How long the oldest entry in flight has been waited for, or the
 * commands of broken ones; 0 also if there are none. */
uint64_t ugst_batch_silence_ns(struct ugst_batch *batch);

#endif /* UGST_BATCH_H */
