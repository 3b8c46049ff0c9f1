/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ugds_compat_script.c - compatibility mode that misbehaves on request.
 *
 * Everything here is guarded by the provider's lock. A command that is held
 * back keeps a copy of its data, so that what lands late is what the device
 * had when it was asked, whatever became of the handle meanwhile.
 */
#include "base/common.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/units.h"
#include "devices/ugds_compat.h"
#include "devices/ugds_compat_script.h"

#define FAULTS_MAX 32
#define DESTROY_MS 500

struct held {
	struct held *next;
	struct ugst_compat_command command;
	uint8_t *data;  /* NULL: arrived already, or never will */
	uint32_t after; /* 0: not an AFTER; 1: due; else commands to end + 1 */
	bool lost;
};

struct fault {
	struct ugst_compat_fault fault;
	uint64_t seen;
};

static struct {
	struct ugst_compat_script config;
	struct ugst_compat_hooks hooks;
	struct fault faults[FAULTS_MAX];
	size_t fault_count;
	uint64_t taken_count;
	int submit_code;
	unsigned submit_skip;
	unsigned submit_count;
	struct held *held;
	bool landing;
	/* Registrations that outlived a script; see script_end(). */
	struct ugst_compat_buf *stuck;
} script;

/* holding back, and landing */

/* Oldest command first, whichever thread was faster. */
static void add_held(struct held *held)
{
	struct held **link = &script.held;

	while (*link && (*link)->command.number < held->command.number)
		link = &(*link)->next;
	held->next = *link;
	*link = held;
}

static void land(struct held *held)
{
	struct held **link = &script.held;
	struct ugst_compat_command *command = &held->command;

	while (*link != held)
		link = &(*link)->next;
	*link = held->next;
	if (held->data)
		memcpy(command->memory, held->data, command->got_bytes);
	ugst_compat_finish(command);
	free(held->data);
	free(held);
}

/* Commands of a handle that are neither ended nor held. */
static uint64_t under_way(const struct ugst_compat_handle *handle)
{
	const struct ugst_compat_batch *batch = handle->batch;
	uint64_t count = 0;

	for (unsigned i = 0; batch && i < batch->used; i++)
		count += batch->slots[i].unfinished;
	for (const struct held *held = script.held; held; held = held->next)
		count -= held->command.handle == handle;
	return count;
}

/* The AFTER that is due on a handle, or NULL. */
static struct held *due(const struct ugst_compat_handle *handle)
{
	bool idle = under_way(handle) == 0;

	for (struct held *held = script.held; held; held = held->next)
		if (held->command.handle == handle && !held->lost &&
		    held->after && (idle || held->after == 1))
			return held;
	return NULL;
}

static void land_due(const struct ugst_compat_handle *handle)
{
	struct held *held;

	/* Landing ends a command, which comes back here. */
	if (script.landing)
		return;
	script.landing = true;
	while ((held = due(handle)))
		land(held);
	script.landing = false;
}

static void hold(const struct ugst_compat_command *command, uint8_t *data,
                 uint32_t after, bool lost)
{
	struct held *held = ugst_calloc(1, sizeof(*held));

	assert(held);
	held->command = *command;
	held->data = data;
	held->after = after;
	held->lost = lost;
	pthread_mutex_lock(&ugst_compat.lock);
	add_held(held);
	land_due(command->handle);
	pthread_mutex_unlock(&ugst_compat.lock);
}

/* what the provider asks */

static bool matches(const struct ugst_compat_fault *fault,
                    const struct ugst_compat_command *command)
{
	if (fault->device_id && fault->device_id != command->handle->device_id)
		return false;
	return !fault->device_bytes ||
	       (command->device_off < fault->device_off + fault->device_bytes &&
	        fault->device_off < command->device_off + command->bytes);
}

/* Commands are judged as they leave the queue, one after the other: numbers
 * then do not depend on which thread is faster. */
static void taken(struct ugst_compat_command *command)
{
	static const struct ugst_compat_fault lose = {
		.kind = UGST_COMPAT_LOSE,
	};

	command->number = script.taken_count++;
	if (command->handle->removed)
		command->fault = &lose;
	for (size_t i = 0; i < script.fault_count; i++) {
		struct fault *fault = &script.faults[i];
		uint64_t number;

		if (!matches(&fault->fault, command))
			continue;
		number = fault->seen++;
		if (command->fault || number < fault->fault.skip)
			continue;
		if (!fault->fault.count ||
		    number - fault->fault.skip < fault->fault.count)
			command->fault = &fault->fault;
	}
	ugst_compat_counted.faults += command->fault != NULL;
}

/* Read now, land later. */
static void hold_data(struct ugst_compat_command *command, uint32_t after)
{
	uint8_t *memory = command->memory;
	uint8_t *data = ugst_alloc_aligned(command->bytes, UGST_PAGE_BYTES);

	assert(data);
	command->memory = data;
	ugst_compat_read(command);
	command->memory = memory;
	hold(command, data, after, false);
}

static bool run(struct ugst_compat_command *command)
{
	static const struct ugst_compat_fault none;
	const struct ugst_compat_fault *fault =
		command->fault ? command->fault : &none;

	switch (fault->kind) {
	case UGST_COMPAT_FAIL:
		command->error = EIO;
		return true;
	case UGST_COMPAT_LATE:
		hold_data(command, 0);
		return false;
	case UGST_COMPAT_AFTER:
		hold_data(command, fault->after + 1);
		return false;
	case UGST_COMPAT_LOSE:
		hold(command, NULL, 0, true);
		return false;
	case UGST_COMPAT_LATE_EVENT:
		ugst_compat_read(command);
		hold(command, NULL, 0, false);
		return false;
	}
	if (fault->kind == UGST_COMPAT_SHORT)
		command->bytes = ugst_min(command->bytes, fault->short_bytes);
	ugst_compat_read(command);
	if (fault->kind == UGST_COMPAT_CORRUPT)
		command->memory[command->bytes / 2] ^= 0xFF;
	return true;
}

static void finished(struct ugst_compat_command *command)
{
	ugst_compat_counted.ended++;
	if (!command->error)
		ugst_compat_counted.read_bytes += command->got_bytes;
	for (struct held *held = script.held; held; held = held->next)
		if (held->command.handle == command->handle && held->after > 1)
			held->after--;
	land_due(command->handle);
}

static int submit(void)
{
	if (!script.submit_count) {
		ugst_compat_counted.submits++;
		return UGST_UGDS_OK;
	}
	if (script.submit_skip) {
		script.submit_skip--;
		ugst_compat_counted.submits++;
		return UGST_UGDS_OK;
	}
	script.submit_count--;
	return script.submit_code;
}

static void polled(void)
{
	ugst_compat_counted.polls++;
}

static void limits(struct ugst_ugds_limits *out)
{
	if (script.config.lba_bytes)
		out->lba_bytes = script.config.lba_bytes;
	if (script.config.command_bytes)
		out->command_bytes = script.config.command_bytes;
	if (script.config.window_commands)
		out->window_commands = script.config.window_commands;
	out->fails_early = true;
}

static void free_held(const struct ugst_compat_handle *handle)
{
	struct held **link = &script.held;
	struct held *held;

	while ((held = *link)) {
		if (handle && held->command.handle != handle) {
			link = &held->next;
			continue;
		}
		*link = held->next;
		free(held->data);
		free(held);
	}
}

/* A controller that is reset forgets its commands. */
static void reset_device(uint64_t device_id)
{
	struct ugst_compat_handle *handle;

	for (handle = ugst_compat.dead; handle; handle = handle->next) {
		if (handle->device_id != device_id)
			continue;
		handle->reset = true;
		free_held(handle);
	}
}

/* what a test calls */

unsigned ugst_compat_held(void)
{
	unsigned count = 0;

	for (const struct held *held = script.held; held; held = held->next)
		count += !held->lost;
	return count;
}

/* Dead handles whose threads are gone; the others stay for these. */
static void free_dead(void)
{
	struct ugst_compat_handle **link = &ugst_compat.dead;
	struct ugst_compat_handle *handle;

	while ((handle = *link)) {
		if (handle->fd >= 0) {
			link = &handle->next;
			continue;
		}
		*link = handle->next;
		free(handle->batch);
		ugst_compat_free_handle(handle);
	}
}

static void forget_stuck(void)
{
	struct ugst_compat_buf **link = &ugst_compat.bufs;
	struct ugst_compat_buf *buf;

	while ((buf = *link)) {
		if (!buf->refs) {
			link = &buf->next;
			continue;
		}
		*link = buf->next;
		buf->next = script.stuck;
		script.stuck = buf;
	}
}

/* With the lock held. */
static void end(void)
{
	ugst_compat.hooks = NULL;
	free_held(NULL);
	script.fault_count = 0;
	script.submit_count = 0;
	if (ugst_compat.handles)
		return;
	free_dead();
	forget_stuck();
}

void ugst_compat_script_begin(const struct ugst_compat_script *config)
{
	pthread_mutex_lock(&ugst_compat.lock);
	end();
	script.config = *config;
	script.taken_count = 0;
	memset(&ugst_compat_counted, 0, sizeof(ugst_compat_counted));
	script.hooks = (struct ugst_compat_hooks){
		.limits = limits,
		.reset_device = reset_device,
		.submit = submit,
		.queued = ugst_compat_judge,
		.taken = taken,
		.run = run,
		.finished = finished,
		.polled = polled,
		.broke = ugst_compat_broke,
		.fail_early = true,
		.destroy_ms =
			config->destroy_ms ? config->destroy_ms : DESTROY_MS,
	};
	ugst_compat.hooks = &script.hooks;
	pthread_mutex_unlock(&ugst_compat.lock);
}

void ugst_compat_script_end(void)
{
	pthread_mutex_lock(&ugst_compat.lock);
	end();
	pthread_mutex_unlock(&ugst_compat.lock);
}

void ugst_compat_script_fault(const struct ugst_compat_fault *fault)
{
	pthread_mutex_lock(&ugst_compat.lock);
	assert(script.fault_count < FAULTS_MAX);
	script.faults[script.fault_count++] = (struct fault){*fault, 0};
	pthread_mutex_unlock(&ugst_compat.lock);
}

void ugst_compat_script_heal(void)
{
	pthread_mutex_lock(&ugst_compat.lock);
	script.fault_count = 0;
	pthread_mutex_unlock(&ugst_compat.lock);
}

void ugst_compat_script_submit(int code, unsigned skip, unsigned count)
{
	pthread_mutex_lock(&ugst_compat.lock);
	script.submit_code = code;
	script.submit_skip = skip;
	script.submit_count = count;
	pthread_mutex_unlock(&ugst_compat.lock);
}

unsigned ugst_compat_script_release(unsigned count)
{
	struct held *held;
	unsigned landed = 0;

	pthread_mutex_lock(&ugst_compat.lock);
	while (!count || landed < count) {
		for (held = script.held; held && held->lost;)
			held = held->next;
		if (!held)
			break;
		land(held);
		landed++;
	}
	pthread_mutex_unlock(&ugst_compat.lock);
	return landed;
}

void ugst_compat_script_remove(uint64_t device_id)
{
	struct ugst_compat_handle *handle;

	pthread_mutex_lock(&ugst_compat.lock);
	for (handle = ugst_compat.handles; handle; handle = handle->next)
		if (!device_id || handle->device_id == device_id)
			handle->removed = true;
	for (struct held *held = script.held; held; held = held->next)
		held->lost |= held->command.handle->removed;
	pthread_mutex_unlock(&ugst_compat.lock);
}
