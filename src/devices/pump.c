/* SPDX-License-Identifier: BSD-3-Clause */
/* pump.c - entries in, events out, one thread for all; see queue.h. */
#include "base/common.h"

#include <signal.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/units.h"
#include "devices/pump.h"

/* Entries given to one Submit. */
#define SUBMIT_ENTRIES 32u
/* A sleep in the provider is no longer than this, so that deadlines and
 * silence are noticed. */
#define SLEEP_NS (1 * UGST_NS_PER_MS)
/* A waiter that is not woken looks by itself. */
#define DOZE_NS (20 * UGST_NS_PER_MS)
/* How often uGDS is asked again for what it has not at the moment. */
#define RETRY_NS (1 * UGST_NS_PER_MS)
/* Background jobs leave one slot in so many to demand. */
#define DEMAND_SHARE 4u

static void wake_all(struct ugst_queue *queue)
{
	for (unsigned p = 0; p < UGST_PRIORITIES; p++) {
		struct ugst_job *job = queue->jobs[p];

		if (!job)
			continue;
		do {
			(void)pthread_cond_signal(&job->wake);
			job = job->next;
		} while (job != queue->jobs[p]);
	}
}

/* The baton is free: let one waiter have it. */
void ugst_pump_wake_one(struct ugst_queue *queue)
{
	for (unsigned p = 0; p < UGST_PRIORITIES; p++) {
		struct ugst_job *job = queue->jobs[p];

		if (!job)
			continue;
		do {
			if (job->waiting) {
				(void)pthread_cond_signal(&job->wake);
				return;
			}
			job = job->next;
		} while (job != queue->jobs[p]);
	}
}

void ugst_pump_lose(struct ugst_queue *queue, const struct ugds_st_error *why)
{
	if (queue->lost)
		return;
	queue->lost = true;
	queue->lost_error = *why;
	/* What did not pass in all that time will not. */
	queue->lost_error.status = UGDS_ST_DEVICE_LOST;
	wake_all(queue);
}

/* Memory that is short, an engine that was quicker on the handle it lent, or
 * that is about to give it up: such things pass, and are waited for as long as
 * a device may be silent. Naps; without the lock. */
static bool may_pass(int status, uint64_t until_ns)
{
	struct timespec nap = ugst_timespec(RETRY_NS);

	if ((status != UGDS_ST_BUSY && status != UGDS_ST_NO_MEMORY) ||
	    ugst_now_ns() >= until_ns)
		return false;
	(void)nanosleep(&nap, NULL);
	return true;
}

/* ------------------------------------------------------------- submitting */

enum served {
	SERVED,
	HAS_NONE,
	NO_SLOT,
	WINDOW_FULL
};

/* Take job's next entry, and a slot if it is staged. */
static enum served serve(struct ugst_queue *queue, struct ugst_job *job,
                         struct ugst_entry *entry_out, uint32_t *slot_out)
{
	struct ugst_arena *arena = job->arena;
	uint32_t reserve_count = job->priority == UGDS_ST_DEMAND
	                                 ? 0
	                                 : arena->slot_count / DEMAND_SHARE;

	*slot_out = UGST_NO_SLOT;
	if (job->in_flight + job->done_count >= UGST_JOB_ENTRIES ||
	    !job->peek(job, entry_out))
		return HAS_NONE;
	if (!ugst_batch_admits(&queue->batch, entry_out->commands))
		return WINDOW_FULL;
	if (!entry_out->base) {
		*slot_out = ugst_arena_take(arena, reserve_count);
		if (*slot_out == UGST_NO_SLOT)
			return NO_SLOT;
	}
	job->take(job, entry_out);
	return SERVED;
}

/* The next entry of any job: demand first, then in turn. Whoever finds the
 * window full is the next to be served: smaller entries do not overtake. */
static struct ugst_job *next_entry(struct ugst_queue *queue,
                                   struct ugst_entry *entry_out,
                                   uint32_t *slot_out)
{
	for (unsigned p = 0; p < UGST_PRIORITIES; p++) {
		struct ugst_job *first = queue->jobs[p];
		struct ugst_job *job = first;

		if (!job)
			continue;
		do {
			enum served served =
				serve(queue, job, entry_out, slot_out);

			if (served == SERVED)
				queue->jobs[p] = job->next;
			if (served == SERVED || served == WINDOW_FULL)
				return served == SERVED ? job : NULL;
			job = job->next;
		} while (job != first);
	}
	return NULL;
}

static unsigned fill(struct ugst_queue *queue, struct ugst_ugds_params *params)
{
	unsigned count = 0;

	while (count < SUBMIT_ENTRIES && !queue->lost) {
		struct ugst_flight *flight;
		struct ugst_entry entry;
		struct ugst_job *job;
		uint32_t slot;

		job = next_entry(queue, &entry, &slot);
		if (!job)
			break;
		ugst_batch_add(&queue->batch, &entry, &flight, &params[count]);
		flight->job = job;
		flight->slot = slot;
		if (slot != UGST_NO_SLOT) {
			flight->arena = job->arena;
			params[count].base = job->arena->base;
			params[count].buffer_off =
				(off_t)ugst_arena_slot_off(job->arena, slot);
		}
		job->in_flight++;
		count++;
	}
	return count;
}

/*
 * Where uGDS reports an entry as FAILED while commands of it run, and all
 * events have been read, the next Submit uses the entry's place in the batch
 * again, and the late commands are counted for the newcomer. So nothing may be
 * submitted from the moment of that report until the batch is made anew; and as
 * the moment is known only afterwards, nobody is in Submit while somebody
 * looks.
 */
static bool excludes(const struct ugst_queue *queue)
{
	return queue->device->limits.fails_early;
}

/* One thread at a time, so that entries reach uGDS in the order in which the
 * window counts them. */
void ugst_pump_submit(struct ugst_queue *queue)
{
	struct ugst_ugds_params params[SUBMIT_ENTRIES];
	struct ugds_st_error err;
	unsigned count;

	if (queue->changing || (queue->looking && excludes(queue)))
		return;
	queue->changing = true;
	while ((count = fill(queue, params)) > 0) {
		uint64_t until_ns = ugst_now_ns() + queue->silence_ns;
		int status;

		ugst_queue_unlock(queue);
		do
			status = ugst_batch_submit(&queue->batch, params, count,
			                           &err);
		while (may_pass(status, until_ns));
		ugst_queue_lock(queue);
		if (status)
			ugst_pump_lose(queue, &err);
	}
	queue->changing = false;
}

/* ------------------------------------------------------------- collecting */

static void deliver(struct ugst_flight *flight, int status)
{
	struct ugst_job *job = flight->job;

	if (!job) {
		if (flight->slot != UGST_NO_SLOT)
			ugst_arena_give(flight->arena, flight->slot);
		return;
	}
	job->done[(job->done_first + job->done_count++) % UGST_JOB_ENTRIES] =
		(struct ugst_done){
			.entry = flight->entry,
			.slot = flight->slot,
			.status = status,
		};
	job->in_flight--;
	if (job->waiting)
		(void)pthread_cond_signal(&job->wake);
}

/* A batch in place of the one that was destroyed. */
static int set_up_again(struct ugst_queue *queue, struct ugds_st_error *err)
{
	uint64_t until_ns = ugst_now_ns() + queue->silence_ns;
	int status;

	do
		status = ugst_batch_setup(&queue->batch, err);
	while (may_pass(status, until_ns));
	return status;
}

void ugst_pump_unlend(struct ugst_queue *queue)
{
	if (!queue->device->lent || queue->job_count || queue->lost ||
	    queue->changing || queue->collecting ||
	    queue->batch.window.in_flight)
		return;
	queue->changing = true;
	ugst_queue_unlock(queue);
	ugst_batch_destroy(&queue->batch);
	ugst_queue_lock(queue);
	queue->changing = false;
}

/* Entries of a batch that is gone are over, unless the device was lost with
 * it: then commands of theirs may still write. */
static void deliver_broken(struct ugst_queue *queue)
{
	for (unsigned i = 0; i < UGST_WINDOW_ENTRIES && !queue->lost; i++) {
		struct ugst_flight *flight = &queue->batch.flights[i];

		if (!flight->broken)
			continue;
		flight->broken = false;
		deliver(flight, UGDS_ST_IO);
	}
}

/* A broken batch is empty: only its destruction makes sure that no command of
 * its broken entries is in flight. */
static void *renew(void *ctx)
{
	struct ugst_queue *queue = ctx;
	struct ugds_st_error err;
	int status = UGDS_ST_OK;
	bool wanted;

	ugst_batch_destroy(&queue->batch);
	ugst_queue_lock(queue);
	ugst_batch_end_drain(&queue->batch);
	/* A lent handle's batch is the engine's when nobody reads. */
	wanted = !queue->lost && (!queue->device->lent || queue->job_count);
	ugst_queue_unlock(queue);
	if (wanted)
		status = set_up_again(queue, &err);
	ugst_queue_lock(queue);
	if (status)
		ugst_pump_lose(queue, &err);
	deliver_broken(queue);
	queue->batch.broken_count = 0;
	queue->changing = false;
	ugst_pump_unlend(queue);
	wake_all(queue);
	ugst_queue_unlock(queue);
	return NULL;
}

/* The destruction waits in uGDS, and does so for minutes if a command is lost.
 * So it has a thread of its own, and readers keep their deadlines. */
static void start_renewal(struct ugst_queue *queue)
{
	sigset_t all;
	sigset_t before;

	queue->changing = true;
	ugst_batch_begin_drain(&queue->batch);
	/* The one before has let the lock go for the last time. */
	ugst_pump_join(queue);
	/* The program's signals are for the program's threads. */
	(void)sigfillset(&all);
	(void)pthread_sigmask(SIG_SETMASK, &all, &before);
	queue->has_renewer =
		pthread_create(&queue->renewer, NULL, renew, queue) == 0;
	(void)pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (queue->has_renewer)
		return;
	ugst_queue_unlock(queue);
	(void)renew(queue);
	ugst_queue_lock(queue);
}

void ugst_pump_join(struct ugst_queue *queue)
{
	if (queue->has_renewer)
		(void)pthread_join(queue->renewer, NULL);
	queue->has_renewer = false;
}

/* The flight that has been waited for longest. */
static const struct ugst_flight *oldest_flight(const struct ugst_batch *batch)
{
	const struct ugst_flight *flight = batch->flights;

	if (batch->window.in_flight)
		return &flight[batch->window.oldest];
	while (!flight->broken)
		flight++;
	return flight;
}

void ugst_pump_check_silence(struct ugst_queue *queue)
{
	uint64_t silent_ns = ugst_batch_silence_ns(&queue->batch);
	struct ugds_st_error err;

	if (queue->lost || silent_ns < queue->silence_ns)
		return;
	(void)ugst_fail(
		&err, UGDS_ST_DEVICE_LOST,
		"%s: LBA %llu: expected an answer within %llu ms, found none "
		"after %llu ms",
		queue->device->path,
		(unsigned long long)(oldest_flight(&queue->batch)
	                                     ->entry.device_off /
	                             queue->device->limits.lba_bytes),
		(unsigned long long)(queue->silence_ns / UGST_NS_PER_MS),
		(unsigned long long)(silent_ns / UGST_NS_PER_MS));
	ugst_pump_lose(queue, &err);
}

bool ugst_pump_may_collect(const struct ugst_queue *queue)
{
	return !queue->collecting && queue->batch.window.in_flight &&
	       !(queue->changing && excludes(queue));
}

void ugst_pump_collect(struct ugst_queue *queue, uint64_t until_ns)
{
	struct ugst_ugds_event events[UGST_WINDOW_ENTRIES];
	uint64_t now_ns = ugst_now_ns();
	uint64_t wait_ns = until_ns > now_ns ? until_ns - now_ns : 0;
	unsigned count;

	queue->collecting = true;
	queue->looking = true;
	ugst_queue_unlock(queue);
	count = ugst_batch_collect(&queue->batch, events,
	                           ugst_min(wait_ns, SLEEP_NS));
	ugst_queue_lock(queue);
	queue->looking = false;
	for (unsigned i = 0; i < count; i++) {
		struct ugst_flight *flight;
		int status = UGDS_ST_OK;

		flight = ugst_batch_retire(&queue->batch, &events[i], &status);
		if (flight)
			deliver(flight, status);
	}
	if (ugst_batch_must_renew(&queue->batch))
		start_renewal(queue);
	if (count == 0)
		ugst_pump_check_silence(queue);
	queue->collecting = false;
}

/* Nothing in flight, and nothing that peek shows. */
static bool is_idle(struct ugst_job *job)
{
	struct ugst_entry entry;

	return job->in_flight == 0 && !job->peek(job, &entry);
}

static unsigned take_done(struct ugst_job *job, struct ugst_done *done_out,
                          unsigned max_count)
{
	unsigned count = 0;

	while (count < max_count && job->done_count) {
		done_out[count++] = job->done[job->done_first];
		job->done_first = (job->done_first + 1) % UGST_JOB_ENTRIES;
		job->done_count--;
	}
	return count;
}

/* Wait without the baton. Lock held. */
static void doze(struct ugst_queue *queue, struct ugst_job *job,
                 uint64_t until_ns)
{
	struct timespec until =
		ugst_timespec(ugst_min(until_ns, ugst_now_ns() + DOZE_NS));

	job->waiting = true;
	(void)pthread_cond_timedwait(&job->wake, &queue->lock, &until);
	job->waiting = false;
	if (queue->changing)
		ugst_pump_check_silence(queue);
}

unsigned ugst_queue_wait(struct ugst_job *job, struct ugst_done *done_out,
                         unsigned max_count, uint64_t timeout_ns)
{
	struct ugst_queue *queue = job->queue;
	uint64_t until_ns;
	unsigned count;

	if (!ugst_add(ugst_now_ns(), timeout_ns, &until_ns))
		until_ns = INT64_MAX;
	ugst_queue_lock(queue);
	for (;;) {
		ugst_pump_submit(queue);
		if (job->done_count || queue->lost || is_idle(job))
			break;
		if (ugst_pump_may_collect(queue))
			ugst_pump_collect(queue, until_ns);
		else
			doze(queue, job, until_ns);
		if (ugst_now_ns() >= until_ns)
			break;
		job->waits++;
	}
	count = take_done(job, done_out, max_count);
	if (!queue->collecting)
		ugst_pump_wake_one(queue);
	ugst_queue_unlock(queue);
	return count;
}
