/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ugds_compat_batch.c - compatibility mode: batches.
 *
 * Slots are used from the first to the last and recycled all at once, when
 * every event had been read: a batch of 128 with 100 used and 60 read takes
 * 28 more entries, as uGDS's does. An entry's reference to its buffer ends
 * when somebody looks at the batch after its last command, not before.
 */
#include "base/common.h"

#include <errno.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/units.h"
#include "devices/ugds_compat.h"

/* uGDS counts an entry's commands in 16 bits. */
#define ENTRY_COMMANDS_MAX 65535u

/* NULL: no such batch, or its device was given up. */
static struct ugst_compat_batch *find_batch(const void *batch)
{
	struct ugst_compat_handle *handle = ugst_compat.handles;

	while (handle && (!handle->batch || handle->batch != batch))
		handle = handle->next;
	return handle ? handle->batch : NULL;
}

static void broke(int rule)
{
	if (ugst_compat.hooks)
		ugst_compat.hooks->broke(rule);
}

static unsigned unread(const struct ugst_compat_batch *batch)
{
	return batch->done_count - batch->reported_count;
}

static void drop_buffer(struct ugst_compat_slot *slot)
{
	if (slot->buf)
		slot->buf->refs--;
	slot->buf = NULL;
}

/* Look at what was done since the last look. */
static void poll_batch(struct ugst_compat_batch *batch)
{
	while (batch->polled_count < batch->done_count) {
		struct ugst_compat_slot *slot =
			&batch->slots[batch->done[batch->polled_count++]];

		slot->polled = true;
		if (!slot->unfinished)
			drop_buffer(slot);
	}
}

static void set_done(struct ugst_compat_slot *slot)
{
	struct ugst_compat_batch *batch = slot->batch;

	slot->done = true;
	batch->done[batch->done_count++] = (uint8_t)(slot - batch->slots);
	if (unread(batch) >= batch->wake_at) {
		batch->wake_at = UINT32_MAX;
		pthread_cond_broadcast(&batch->handle->changed);
	}
}

void ugst_compat_finish(struct ugst_compat_command *command)
{
	struct ugst_compat_slot *slot = command->slot;
	struct ugst_compat_batch *batch = slot->batch;
	bool early = ugst_compat.hooks && ugst_compat.hooks->fail_early;

	if (command->error)
		slot->failed = true;
	else
		slot->good_bytes += command->got_bytes;
	slot->unfinished--;
	if (!slot->unfinished) {
		batch->unfinished--;
		if (slot->polled)
			drop_buffer(slot);
		if (!batch->unfinished)
			pthread_cond_broadcast(&batch->handle->changed);
	}
	if (!slot->done && (!slot->unfinished || (slot->failed && early)))
		set_done(slot);
	if (ugst_compat.hooks)
		ugst_compat.hooks->finished(command);
}

struct ugst_ugds_error ugst_compat_batch_setup(void **batch_out, void *ptr,
                                               unsigned count)
{
	struct ugst_compat_handle *handle;
	struct ugst_compat_batch *batch;
	int code = UGST_UGDS_OK;

	if (!batch_out || !count || count > UGST_UGDS_BATCH_ENTRIES)
		return ugst_compat_code(UGST_UGDS_INVALID_VALUE);
	batch = ugst_calloc(1, sizeof(*batch));
	if (!batch)
		return ugst_compat_code(UGST_UGDS_INTERNAL_ERROR);
	pthread_mutex_lock(&ugst_compat.lock);
	handle = ugst_compat_find(ptr);
	if (!handle || handle->closing || handle->wedged || handle->batch) {
		code = UGST_UGDS_INVALID_VALUE;
		free(batch);
	} else {
		batch->handle = handle;
		batch->capacity = count;
		batch->wake_at = UINT32_MAX;
		handle->batch = batch;
		*batch_out = batch;
	}
	pthread_mutex_unlock(&ugst_compat.lock);
	return ugst_compat_code(code);
}

/* What makes uGDS refuse a whole submit. */
static bool is_refused(const struct ugst_ugds_params *entry,
                       const struct ugst_ugds_limits *limits)
{
	return !entry->base || entry->bytes == 0 || entry->device_off < 0 ||
	       (uint64_t)entry->device_off % limits->lba_bytes ||
	       entry->bytes % limits->lba_bytes ||
	       entry->opcode != UGST_UGDS_READ ||
	       ugst_div_up(entry->bytes, limits->command_bytes) >
	               ENTRY_COMMANDS_MAX;
}

/* What makes uGDS accept an entry and report it as FAILED, -EINVAL. */
static bool is_invalid(const struct ugst_ugds_params *entry,
                       const struct ugst_compat_buf *buf)
{
	return !buf || entry->buffer_off < 0 ||
	       !ugst_is_aligned((uint64_t)entry->buffer_off, UGST_PAGE_BYTES) ||
	       (uint64_t)entry->buffer_off > buf->bytes ||
	       entry->bytes > buf->bytes - (uint64_t)entry->buffer_off;
}

static void tell_queued(struct ugst_compat_slot *slot)
{
	if (ugst_compat.hooks)
		ugst_compat.hooks->queued(slot);
}

static void add_entry(struct ugst_compat_batch *batch,
                      const struct ugst_ugds_params *entry, bool lost)
{
	struct ugst_compat_handle *handle = batch->handle;
	struct ugst_compat_slot *slot = &batch->slots[batch->used++];
	struct ugst_compat_buf *buf = ugst_compat_buf_find(entry->base);

	*slot = (struct ugst_compat_slot){
		.batch = batch,
		.cookie = entry->cookie,
		.bytes = entry->bytes,
		.device_off = (uint64_t)entry->device_off,
		.first_number = batch->next_number,
	};
	if (is_invalid(entry, buf)) {
		slot->failed = true;
		set_done(slot);
		tell_queued(slot);
		return;
	}
	slot->buf = buf;
	buf->refs++;
	slot->memory = buf->base + entry->buffer_off;
	slot->command_count = (uint32_t)ugst_div_up(
		entry->bytes, handle->limits.command_bytes);
	slot->unfinished = slot->command_count;
	batch->next_number += slot->command_count;
	batch->unfinished++;
	tell_queued(slot);
	if (!lost)
		ugst_compat_enqueue(handle, slot);
}

/* With the lock held. A code. */
static int submit(struct ugst_compat_batch *batch, unsigned count,
                  const struct ugst_ugds_params *params)
{
	const struct ugst_compat_handle *handle = batch->handle;
	int code = UGST_UGDS_OK;

	if (handle->closing || handle->wedged)
		return UGST_UGDS_BUSY;
	poll_batch(batch);
	if (batch->reported_count == batch->used && !batch->unfinished) {
		batch->used = 0;
		batch->done_count = 0;
		batch->polled_count = 0;
		batch->reported_count = 0;
	}
	if (count > batch->capacity - batch->used) {
		broke(UGST_COMPAT_RULE_CAPACITY);
		return UGST_UGDS_BATCH_CAPACITY_EXCEEDED;
	}
	for (unsigned i = 0; i < count; i++)
		if (is_refused(&params[i], &handle->limits))
			return UGST_UGDS_INVALID_VALUE;
	if (batch->broken)
		broke(UGST_COMPAT_RULE_BROKEN_BATCH);
	if (ugst_compat.hooks)
		code = ugst_compat.hooks->submit();
	/* INTERNAL_ERROR comes after the device did not take them: such
	 * entries stay in the batch for ever, and so do their references. */
	if (code == UGST_UGDS_OK || code == UGST_UGDS_INTERNAL_ERROR)
		for (unsigned i = 0; i < count; i++)
			add_entry(batch, &params[i], code != UGST_UGDS_OK);
	return code;
}

struct ugst_ugds_error ugst_compat_batch_submit(void *ptr, unsigned count,
                                                struct ugst_ugds_params *params,
                                                unsigned flags)
{
	struct ugst_compat_batch *batch;
	int code = UGST_UGDS_INVALID_VALUE;

	(void)flags;
	if (!count || !params)
		return ugst_compat_code(code);
	pthread_mutex_lock(&ugst_compat.lock);
	batch = find_batch(ptr);
	if (batch)
		code = submit(batch, count, params);
	pthread_mutex_unlock(&ugst_compat.lock);
	return ugst_compat_code(code);
}

/* Wait for wanted events. deadline NULL: for ever. */
static void await_events(struct ugst_compat_batch *batch, unsigned wanted,
                         const struct timespec *deadline)
{
	pthread_cond_t *changed = &batch->handle->changed;
	int rc = 0;

	batch->callers++;
	while (unread(batch) < wanted && !batch->handle->dead && !rc) {
		if (wanted < batch->wake_at)
			batch->wake_at = wanted;
		if (deadline)
			rc = pthread_cond_timedwait(changed, &ugst_compat.lock,
			                            deadline);
		else
			rc = pthread_cond_wait(changed, &ugst_compat.lock);
	}
	if (--batch->callers == 0)
		pthread_cond_broadcast(changed);
}

static struct ugst_ugds_event report(struct ugst_compat_batch *batch)
{
	struct ugst_compat_slot *slot =
		&batch->slots[batch->done[batch->reported_count++]];
	struct ugst_ugds_event event = {
		.cookie = slot->cookie,
		.status = UGST_UGDS_COMPLETE,
		.ret = (ssize_t)slot->good_bytes,
	};

	slot->reported = true;
	if (!slot->failed)
		return event;
	event.status = UGST_UGDS_FAILED;
	if (!slot->command_count)
		event.ret = -EINVAL;
	else if (slot->unfinished)
		event.ret = 0;
	if (slot->command_count > 1)
		batch->broken = true;
	return event;
}

struct ugst_ugds_error ugst_compat_batch_status(void *ptr, unsigned min_count,
                                                unsigned *count,
                                                struct ugst_ugds_event *events,
                                                struct timespec *timeout)
{
	struct ugst_compat_batch *batch;
	struct timespec deadline = {0};
	unsigned event_count = 0;
	unsigned room;

	if (!ptr || !count || !events)
		return ugst_compat_code(UGST_UGDS_INVALID_VALUE);
	if (timeout)
		deadline = ugst_compat_deadline(timeout);
	pthread_mutex_lock(&ugst_compat.lock);
	batch = find_batch(ptr);
	if (!batch) {
		pthread_mutex_unlock(&ugst_compat.lock);
		return ugst_compat_code(UGST_UGDS_INVALID_VALUE);
	}
	if (ugst_compat.hooks)
		ugst_compat.hooks->polled();
	room = *count ? *count : batch->capacity;
	await_events(batch, (unsigned)ugst_min(min_count, room),
	             timeout ? &deadline : NULL);
	poll_batch(batch);
	while (event_count < room && unread(batch))
		events[event_count++] = report(batch);
	*count = event_count;
	pthread_mutex_unlock(&ugst_compat.lock);
	return ugst_compat_code(UGST_UGDS_OK);
}

/* false: given up, the handle is wedged. */
static bool drain(struct ugst_compat_batch *batch)
{
	struct ugst_compat_handle *handle = batch->handle;
	const struct ugst_compat_hooks *hooks = ugst_compat.hooks;
	struct timespec deadline = {0};
	int rc = 0;

	if (hooks)
		deadline = ugst_compat_deadline(&(struct timespec){
			hooks->destroy_ms / 1000,
			(long)(hooks->destroy_ms % 1000) * 1000000});
	while ((batch->callers || batch->unfinished) && !handle->dead) {
		/* A read cannot be lost but by a script: the kernel ends it. */
		if (hooks)
			rc = pthread_cond_timedwait(
				&handle->changed, &ugst_compat.lock, &deadline);
		else
			rc = pthread_cond_wait(&handle->changed,
			                       &ugst_compat.lock);
		if (rc) {
			broke(UGST_COMPAT_RULE_DESTROY_LOST);
			handle->wedged = true;
			return false;
		}
	}
	return !handle->dead;
}

void ugst_compat_batch_destroy(void *ptr)
{
	struct ugst_compat_batch *batch;

	pthread_mutex_lock(&ugst_compat.lock);
	batch = find_batch(ptr);
	if (batch && batch->callers)
		broke(UGST_COMPAT_RULE_DESTROY_SHARED);
	if (batch && drain(batch)) {
		poll_batch(batch);
		batch->handle->batch = NULL;
		pthread_cond_broadcast(&batch->handle->changed);
		free(batch);
	}
	pthread_mutex_unlock(&ugst_compat.lock);
}
