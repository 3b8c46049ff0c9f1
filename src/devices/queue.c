/* SPDX-License-Identifier: BSD-3-Clause */
/* queue.c - open, share and close queues; jobs come and go; see queue.h. */
#include "base/common.h"

#include "base/clock.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/units.h"
#include "devices/pump.h"

#define DEFAULT_SILENCE_MS 30000u
/* How often a lent handle is asked whether its batch is free. */
#define LENT_RETRY_NS (1 * UGST_NS_PER_MS)

/* Queues of uGDS devices, which stores of one process share. */
static pthread_mutex_t registry_lock = PTHREAD_MUTEX_INITIALIZER;
static struct ugst_queue *registry;
/* Queues of lost devices, kept for ever: what is stuck in uGDS points into
 * them. */
static struct ugst_queue *abandoned;

const struct ugst_device *ugst_queue_device(const struct ugst_queue *queue)
{
	return queue->device;
}

void ugst_queue_lock(struct ugst_queue *queue)
{
	(void)pthread_mutex_lock(&queue->lock);
}

void ugst_queue_unlock(struct ugst_queue *queue)
{
	(void)pthread_mutex_unlock(&queue->lock);
}

int ugst_queue_check(struct ugst_queue *queue, struct ugds_st_error *err)
{
	int status = UGDS_ST_OK;

	ugst_queue_lock(queue);
	if (queue->lost) {
		status = queue->lost_error.status;
		if (err)
			*err = queue->lost_error;
	}
	ugst_queue_unlock(queue);
	return status;
}

void ugst_queue_hold_slot(struct ugst_queue *queue, struct ugst_arena *arena,
                          uint32_t slot)
{
	ugst_queue_lock(queue);
	ugst_arena_hold(arena, slot);
	ugst_queue_unlock(queue);
}

void ugst_queue_give_slot(struct ugst_queue *queue, struct ugst_arena *arena,
                          uint32_t slot)
{
	ugst_queue_lock(queue);
	ugst_arena_give(arena, slot);
	ugst_queue_unlock(queue);
}

/* ---------------------------------------------------------- open and close */

static int open_new(const char *path, const struct ugst_device_opts *opts,
                    uint32_t silence_ms, struct ugst_queue **queue_out,
                    struct ugds_st_error *err)
{
	struct ugst_queue *queue = ugst_calloc(1, sizeof(*queue));
	int status;

	if (!queue)
		return ugst_fail_memory(err);
	status = ugst_device_open(path, opts, &queue->device, err);
	if (status)
		goto out;
	queue->owner_count = 1;
	queue->silence_ns =
		(silence_ms ? silence_ms : DEFAULT_SILENCE_MS) * UGST_NS_PER_MS;
	ugst_batch_init(&queue->batch, queue->device);
	(void)pthread_mutex_init(&queue->lock, NULL);
	/* A lent handle's batch is set up by each call. */
	if (!queue->device->lent)
		status = ugst_batch_setup(&queue->batch, err);
out:
	if (status) {
		(void)ugst_device_close(queue->device, false, NULL);
		free(queue);
		return status;
	}
	*queue_out = queue;
	return UGDS_ST_OK;
}

int ugst_queue_open(const char *path, const struct ugst_device_opts *opts,
                    uint32_t silence_ms, struct ugst_queue **queue_out,
                    struct ugds_st_error *err)
{
	struct ugst_queue *queue;
	int status = UGDS_ST_OK;

	(void)pthread_mutex_lock(&registry_lock);
	for (queue = registry; queue; queue = queue->next)
		if (ugst_device_is(queue->device, path))
			break;
	if (queue) {
		status = ugst_queue_check(queue, err);
		if (status == UGDS_ST_OK)
			queue->owner_count++;
	} else {
		status = open_new(path, opts, silence_ms, &queue, err);
		if (status == UGDS_ST_OK && queue->device->real) {
			queue->next = registry;
			registry = queue;
		}
	}
	(void)pthread_mutex_unlock(&registry_lock);
	if (status == UGDS_ST_OK)
		*queue_out = queue;
	return status;
}

/* Flights that are waited for: which may still write ... */
struct flights {
	const struct ugst_arena *arena; /* to this arena; NULL: to any */
	const struct ugst_job *job;     /* straight to this job's destinations;
	                                   NULL: anywhere */
};

static unsigned count_flights(const struct ugst_queue *queue,
                              struct flights which)
{
	unsigned count = 0;

	for (unsigned i = 0; i < UGST_WINDOW_ENTRIES; i++) {
		const struct ugst_flight *flight = &queue->batch.flights[i];

		if ((flight->live || flight->broken) &&
		    (!which.arena || flight->arena == which.arena) &&
		    (!which.job ||
		     (flight->job == which.job && flight->entry.base)))
			count++;
	}
	return count;
}

/* Collect until no such flight is left, or the device is lost. Lock held. */
static void drain(struct ugst_queue *queue, struct flights which)
{
	struct timespec nap = ugst_timespec(UGST_NS_PER_MS);

	while (count_flights(queue, which) && !queue->lost) {
		/* Others' entries are not to wait for this. */
		ugst_pump_submit(queue);
		if (ugst_pump_may_collect(queue)) {
			ugst_pump_collect(queue, ugst_now_ns() + UGST_NS_PER_S);
			continue;
		}
		ugst_queue_unlock(queue);
		(void)nanosleep(&nap, NULL);
		ugst_queue_lock(queue);
		if (queue->changing)
			ugst_pump_check_silence(queue);
	}
}

/* The last owner's part. */
static int close_last(struct ugst_queue *queue, bool abandon,
                      struct ugds_st_error *err)
{
	int lost;
	int status;

	ugst_queue_lock(queue);
	drain(queue, (struct flights){0});
	ugst_queue_unlock(queue);
	lost = ugst_queue_check(queue, abandon ? NULL : err);
	if (lost && !abandon)
		return lost;
	/* No handle is given up with a thread inside. */
	ugst_pump_join(queue);
	if (!lost)
		ugst_batch_destroy(&queue->batch);
	status = ugst_device_close(queue->device, lost != UGDS_ST_OK, err);
	if (status)
		return status;
	queue->device = NULL;
	if (queue->batch.window.in_flight) {
		queue->next = abandoned;
		abandoned = queue;
	} else {
		(void)pthread_mutex_destroy(&queue->lock);
		free(queue);
	}
	return UGDS_ST_OK;
}

static void unregister(struct ugst_queue *queue)
{
	struct ugst_queue **link = &registry;

	while (*link && *link != queue)
		link = &(*link)->next;
	if (*link)
		*link = queue->next;
}

int ugst_queue_close(struct ugst_queue *queue, bool abandon,
                     struct ugds_st_error *err)
{
	int status = UGDS_ST_OK;

	if (!queue)
		return UGDS_ST_OK;
	(void)pthread_mutex_lock(&registry_lock);
	if (queue->owner_count > 1) {
		queue->owner_count--;
	} else {
		struct ugst_queue *next = queue->next;

		unregister(queue);
		status = close_last(queue, abandon, err);
		if (status && queue->device->real) {
			/* Still open: still shared. */
			queue->next = registry;
			registry = queue;
		} else if (status) {
			queue->next = next;
		}
	}
	(void)pthread_mutex_unlock(&registry_lock);
	return status;
}

int ugst_queue_drain_arena(struct ugst_queue *queue, struct ugst_arena *arena,
                           struct ugds_st_error *err)
{
	struct flights which = {.arena = arena};
	unsigned left_count;

	ugst_queue_lock(queue);
	drain(queue, which);
	left_count = count_flights(queue, which);
	ugst_pump_unlend(queue);
	ugst_queue_unlock(queue);
	return left_count ? ugst_queue_check(queue, err) : UGDS_ST_OK;
}

void ugst_queue_forget_arena(struct ugst_queue *queue,
                             const struct ugst_arena *arena)
{
	ugst_queue_lock(queue);
	for (unsigned i = 0; i < UGST_WINDOW_ENTRIES; i++) {
		struct ugst_flight *flight = &queue->batch.flights[i];

		if (flight->arena != arena)
			continue;
		flight->arena = NULL;
		flight->slot = UGST_NO_SLOT;
	}
	ugst_queue_unlock(queue);
}

/* ------------------------------------------------------------------- jobs */

/* By another call, which has it drained or fills it. */
static int batch_is_taken(const struct ugst_queue *queue,
                          struct ugds_st_error *err)
{
	return ugst_fail(
		err, UGDS_ST_BUSY,
		"%s: the lent handle's batch is in use by another call",
		queue->device->path);
}

/* A lent handle's batch exists only while a call runs, and the engine may have
 * one of its own: ask again for as long as a device may be silent. Lock
 * held, let go over the calls. */
static int lend_batch(struct ugst_queue *queue, uint64_t until_ns,
                      struct ugds_st_error *err)
{
	struct timespec nap = ugst_timespec(LENT_RETRY_NS);
	int status = UGDS_ST_BUSY;

	if (until_ns == 0)
		until_ns = ugst_now_ns() + queue->silence_ns;
	while ((queue->changing || !queue->batch.handle) && !queue->lost) {
		/* Whoever submits or destroys has the batch for a moment. */
		bool mine = !queue->changing;

		queue->changing = true;
		ugst_queue_unlock(queue);
		if (mine)
			status = ugst_batch_setup(&queue->batch, err);
		if (!mine || status)
			(void)nanosleep(&nap, NULL);
		ugst_queue_lock(queue);
		if (mine)
			queue->changing = false;
		if (mine && status && status != UGDS_ST_BUSY)
			return status;
		if ((!mine || status) && ugst_now_ns() >= until_ns)
			return mine ? status : batch_is_taken(queue, err);
	}
	return UGDS_ST_OK;
}

static void link_job(struct ugst_queue *queue, struct ugst_job *job)
{
	struct ugst_job **ring = &queue->jobs[job->priority];

	job->next = *ring ? *ring : job;
	job->prev = *ring ? (*ring)->prev : job;
	job->prev->next = job;
	job->next->prev = job;
	if (!*ring)
		*ring = job;
	queue->job_count++;
}

static void unlink_job(struct ugst_queue *queue, struct ugst_job *job)
{
	struct ugst_job **ring = &queue->jobs[job->priority];

	job->prev->next = job->next;
	job->next->prev = job->prev;
	if (*ring == job)
		*ring = job->next == job ? NULL : job->next;
	queue->job_count--;
}

int ugst_queue_join(struct ugst_queue *queue, struct ugst_job *job,
                    struct ugds_st_error *err)
{
	pthread_condattr_t attr;
	int status = UGDS_ST_OK;
	int failed;

	(void)pthread_condattr_init(&attr);
	(void)pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	failed = pthread_cond_init(&job->wake, &attr);
	(void)pthread_condattr_destroy(&attr);
	if (failed)
		return ugst_fail_memory(err);
	job->queue = queue;
	ugst_queue_lock(queue);
	link_job(queue, job);
	if (queue->device->lent && !queue->lost)
		status = lend_batch(queue, job->until_ns, err);
	if (status)
		unlink_job(queue, job);
	ugst_queue_unlock(queue);
	if (status)
		(void)pthread_cond_destroy(&job->wake);
	return status;
}

void ugst_queue_leave(struct ugst_job *job)
{
	struct ugst_queue *queue = job->queue;

	ugst_queue_lock(queue);
	unlink_job(queue, job);
	drain(queue, (struct flights){.job = job});
	for (unsigned i = 0; i < UGST_WINDOW_ENTRIES; i++)
		if (queue->batch.flights[i].job == job)
			queue->batch.flights[i].job = NULL;
	for (; job->done_count; job->done_count--) {
		uint32_t slot = job->done[job->done_first].slot;

		if (slot != UGST_NO_SLOT)
			ugst_arena_give(job->arena, slot);
		job->done_first = (job->done_first + 1) % UGST_JOB_ENTRIES;
	}
	ugst_pump_unlend(queue);
	if (!queue->collecting)
		ugst_pump_wake_one(queue);
	ugst_queue_unlock(queue);
	(void)pthread_cond_destroy(&job->wake);
}
