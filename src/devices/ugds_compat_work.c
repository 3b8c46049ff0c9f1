/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ugds_compat_work.c - compatibility mode: the threads that read.
 *
 * A thread takes the oldest command that waits, reads it straight into the
 * registered memory and says so. Threads with preadv keep as many requests at
 * the device as an asynchronous interface would, and need nothing of the
 * kernel that old or locked-down ones lack.
 */
#include "base/common.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include "base/units.h"
#include "devices/ugds_compat.h"

void ugst_compat_enqueue(struct ugst_compat_handle *handle,
                         struct ugst_compat_slot *slot)
{
	slot->queue_next = NULL;
	*handle->queue_tail = slot;
	handle->queue_tail = &slot->queue_next;
	/* Idle threads are woken one per command; the rest is taken by those
	 * that come back. */
	for (uint32_t i = 0;
	     i < slot->command_count && i < handle->thread_count; i++)
		pthread_cond_signal(&handle->work);
}

/* Cut the next command off the queue. */
static void take(struct ugst_compat_handle *handle,
                 struct ugst_compat_command *command_out)
{
	struct ugst_compat_slot *slot = handle->queue_head;
	size_t done_bytes = slot->issued_bytes;

	*command_out = (struct ugst_compat_command){
		.handle = handle,
		.slot = slot,
		.memory = slot->memory + done_bytes,
		.device_off = slot->device_off + done_bytes,
		.bytes = ugst_min(slot->bytes - done_bytes,
	                          handle->limits.command_bytes),
	};
	slot->issued_bytes += command_out->bytes;
	if (slot->issued_bytes < slot->bytes)
		return;
	handle->queue_head = slot->queue_next;
	if (!handle->queue_head)
		handle->queue_tail = &handle->queue_head;
}

void ugst_compat_read(struct ugst_compat_command *command)
{
	const struct ugst_compat_handle *handle = command->handle;

	while (command->got_bytes < command->bytes) {
		ssize_t got = pread(
			handle->fd, command->memory + command->got_bytes,
			command->bytes - command->got_bytes,
			(off_t)(command->device_off + command->got_bytes));

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0) {
			/* 0: past the end, an NVMe error on a drive. */
			command->error = got < 0 ? errno : EIO;
			break;
		}
		command->got_bytes += (size_t)got;
	}
	if (!handle->direct)
		posix_fadvise(handle->fd, (off_t)command->device_off,
		              (off_t)command->bytes, POSIX_FADV_DONTNEED);
}

static void *work(void *arg)
{
	struct ugst_compat_handle *handle = arg;
	const struct ugst_compat_hooks *hooks;
	struct ugst_compat_command command;
	bool ended;

	pthread_setname_np(pthread_self(), "ugds-st-compat");
	pthread_mutex_lock(&ugst_compat.lock);
	for (;;) {
		while (!handle->stop && !handle->queue_head)
			pthread_cond_wait(&handle->work, &ugst_compat.lock);
		if (handle->stop)
			break;
		take(handle, &command);
		hooks = ugst_compat.hooks;
		if (hooks)
			hooks->taken(&command);
		handle->running++;
		pthread_mutex_unlock(&ugst_compat.lock);
		ended = true;
		if (hooks)
			ended = hooks->run(&command);
		else
			ugst_compat_read(&command);
		pthread_mutex_lock(&ugst_compat.lock);
		handle->running--;
		if (ended)
			ugst_compat_finish(&command);
		if (handle->stop)
			pthread_cond_broadcast(&handle->changed);
	}
	pthread_mutex_unlock(&ugst_compat.lock);
	return NULL;
}

unsigned ugst_compat_start(struct ugst_compat_handle *handle)
{
	sigset_t all;
	sigset_t before;

	/* The program's signals are for the program's threads. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	while (handle->thread_count < UGST_COMPAT_THREADS &&
	       !pthread_create(&handle->threads[handle->thread_count], NULL,
	                       work, handle))
		handle->thread_count++;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return handle->thread_count;
}

void ugst_compat_stop(struct ugst_compat_handle *handle)
{
	handle->stop = true;
	pthread_cond_broadcast(&handle->work);
	pthread_mutex_unlock(&ugst_compat.lock);
	for (unsigned i = 0; i < handle->thread_count; i++)
		pthread_join(handle->threads[i], NULL);
	pthread_mutex_lock(&ugst_compat.lock);
	handle->thread_count = 0;
}
