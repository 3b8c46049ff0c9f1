/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pump.h - the inside of a queue: what queue.c opens and pump.c drives.
 */
#ifndef UGST_PUMP_H
#define UGST_PUMP_H

#include "devices/batch.h"
#include "devices/queue.h"

#define UGST_PRIORITIES 2u

struct ugst_queue {
	struct ugst_device *device;
	uint64_t silence_ns;
	unsigned owner_count;    /* registry's lock */
	struct ugst_queue *next; /* registry's lock */

	pthread_mutex_t lock;
	struct ugst_batch batch;
	/* Rings; each begins with the job that is served next. */
	struct ugst_job *jobs[UGST_PRIORITIES];
	unsigned job_count;
	bool changing;   /* somebody submits, or makes or destroys the batch */
	bool looking;    /* somebody is between reading events and retiring */
	bool collecting; /* somebody holds the baton */
	bool lost;
	struct ugds_st_error lost_error;
	pthread_t renewer; /* the last that made a broken batch anew */
	bool has_renewer;  /* it was not joined */
};

/* All with the lock held. */

/* The device is lost: nothing more is submitted, every waiter is told. */
void ugst_pump_lose(struct ugst_queue *queue, const struct ugds_st_error *why);

/* Somebody who waits may take the baton. */
void ugst_pump_wake_one(struct ugst_queue *queue);

/* Submit what the window lets in, of all jobs; the lock is let go over the
 * calls. */
void ugst_pump_submit(struct ugst_queue *queue);

/* For who waits while somebody else is inside uGDS, which has no sense of
 * time: is the device lost? */
void ugst_pump_check_silence(struct ugst_queue *queue);

/* Give a lent handle's batch back, if nobody reads; the lock is let go over
 * the call. */
void ugst_pump_unlend(struct ugst_queue *queue);

/* Wait until the last renewal has ended. Without the lock, or when it has let
 * the lock go for the last time. */
void ugst_pump_join(struct ugst_queue *queue);

/* Is the baton free, and anything to be had with it? */
bool ugst_pump_may_collect(const struct ugst_queue *queue);

/*
 * ugst_pump_collect() - collect events for everybody, as the holder of the
 * baton.
 *
 * ugst_pump_may_collect() says so. The lock is let go over the wait, which ends
 * by until_ns.
 */
void ugst_pump_collect(struct ugst_queue *queue, uint64_t until_ns);

#endif /* UGST_PUMP_H */
