/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * queue.h - the one batch of a device: entries in, events out.
 *
 * uGDS has one live batch per handle, so everybody who reads a device in this
 * process shares one queue. A job is what one call reads from one device; the
 * queue takes entries from its jobs in turn, demand before background, as far
 * as the window lets it, and gives each job its finished entries back. Nobody
 * runs in the background, but for the end of a broken batch: whoever waits
 * collects events for all (one at a time), and the baton passes when its own
 * job has something to do.
 *
 * The queue's lock guards window, jobs and arenas. It is never held over a
 * uGDS call, a copy or a wait.
 */
#ifndef UGST_QUEUE_H
#define UGST_QUEUE_H

#include <pthread.h>

#include "base/common.h"
#include "devices/arena.h"
#include "devices/device.h"
#include "pure/plan.h"
#include "pure/window.h"

struct ugst_queue;
struct ugst_job;

/* An entry that is over. */
struct ugst_done {
	struct ugst_entry entry;
	uint32_t
		slot; /* holds the bytes of a staged entry, and must be given
	                 back with ugst_queue_give_slot(); UGST_NO_SLOT: none */
	int status;   /* OK: every byte arrived; IO: nothing is known of it */
};

/* Entries of one job that are in flight or wait to be looked at. */
#define UGST_JOB_ENTRIES 256u

struct ugst_job {
	/* Set before ugst_queue_join(). */
	struct ugst_arena *arena; /* where staged entries go */
	uint32_t priority;        /* UGDS_ST_DEMAND or UGDS_ST_BACKGROUND */
	/* A lent handle's busy batch is asked for until then; 0: for as long
	 * as a device may be silent. */
	uint64_t until_ns;
	/* The next entry, or false. Called with the queue's lock held, from
	 * any thread: computes, and calls nothing. */
	bool (*peek)(struct ugst_job *job, struct ugst_entry *entry_out);
	/* The entry that peek showed has been taken. */
	void (*take)(struct ugst_job *job, const struct ugst_entry *entry);

	/* The queue's. */
	struct ugst_queue *queue;
	struct ugst_job *next;
	struct ugst_job *prev;
	pthread_cond_t wake;
	bool waiting;
	uint64_t waits; /* times that nothing could be done but wait */
	unsigned in_flight;
	unsigned done_first;
	unsigned done_count;
	struct ugst_done done[UGST_JOB_ENTRIES];
};

/*
 * ugst_queue_open() - open a path, or share the queue of a uGDS device that
 * this process has open already.
 *
 * @silence_ms: a command older than this means that the device is lost.
 * Return: as ugst_device_open().
 */
int ugst_queue_open(const char *path, const struct ugst_device_opts *opts,
                    uint32_t silence_ms, struct ugst_queue **queue_out,
                    struct ugds_st_error *err);

/*
 * ugst_queue_close() - give a queue back. NULL is fine.
 *
 * Waits for what is in flight. The last owner closes the device.
 *
 * @abandon: if the device is lost, force the handle closed, and keep for ever
 * what the device may still write to.
 * Return: OK; DEVICE_LOST (not abandon; the queue is still open).
 */
int ugst_queue_close(struct ugst_queue *queue, bool abandon,
                     struct ugds_st_error *err);

const struct ugst_device *ugst_queue_device(const struct ugst_queue *queue);

/* OK; DEVICE_LOST, with what happened. */
int ugst_queue_check(struct ugst_queue *queue, struct ugds_st_error *err);

/* Let a job's entries in. Return: OK; NO_MEMORY; BUSY (a lent handle's batch is
 * in use); DEVICE_LOST. */
int ugst_queue_join(struct ugst_queue *queue, struct ugst_job *job,
                    struct ugds_st_error *err);

/*
 * ugst_queue_wait() - submit what can be, and wait for entries of a job.
 *
 * @done_out: room for max_count; their slots belong to the caller.
 * @timeout_ns: 0 looks once.
 * Return: number of entries. 0: the time is over, or the job has nothing in
 * flight and nothing to submit, or the device is lost (ugst_queue_check()).
 */
unsigned ugst_queue_wait(struct ugst_job *job, struct ugst_done *done_out,
                         unsigned max_count, uint64_t timeout_ns);

/*
 * ugst_queue_leave() - take a job out.
 *
 * Staged entries in flight become nobody's: their slots are freed when their
 * events come. Direct ones are waited for, unless the device is lost.
 */
void ugst_queue_leave(struct ugst_job *job);

/* Somebody more copies out of a staged entry's slot. */
void ugst_queue_hold_slot(struct ugst_queue *queue, struct ugst_arena *arena,
                          uint32_t slot);

/* A staged entry is done with, or a copy out of its slot. */
void ugst_queue_give_slot(struct ugst_queue *queue, struct ugst_arena *arena,
                          uint32_t slot);

/*
 * ugst_queue_drain_arena() - wait until no entry of nobody's uses an arena.
 *
 * Return: OK; DEVICE_LOST (some still do).
 */
int ugst_queue_drain_arena(struct ugst_queue *queue, struct ugst_arena *arena,
                           struct ugds_st_error *err);

/* The arena's owner goes, and its memory stays with a lost device: entries of
 * nobody's that still use it will not give slots back. */
void ugst_queue_forget_arena(struct ugst_queue *queue,
                             const struct ugst_arena *arena);

/* For a job's owner, around changes of what its peek reads. */
void ugst_queue_lock(struct ugst_queue *queue);
void ugst_queue_unlock(struct ugst_queue *queue);

#endif /* UGST_QUEUE_H */
