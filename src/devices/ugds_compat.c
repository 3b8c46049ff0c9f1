/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ugds_compat.c - compatibility mode: driver, handles, and the table.
 *
 * Serves the uGDS calls over a regular file, partition or block device and
 * host memory, and keeps uGDS's rules, so that a client which passes here
 * passes there. Where the real library accepts what later moves data
 * elsewhere, this one refuses.
 */
#include "base/common.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/units.h"
#include "devices/ugds.h"
#include "devices/ugds_compat.h"

/* A regular file has no blocks of its own; 4096 is what O_DIRECT asks for at
 * most on any file system, and what volume files are made with. */
#define FILE_LBA_BYTES 4096u
/* Drives behind a kernel like large requests. */
#define COMMAND_BYTES ((uint32_t)(4 * UGST_MIB))
/* Two for each thread that reads: more would only lie before a newcomer. */
#define WINDOW_COMMANDS (2 * UGST_COMPAT_THREADS)

/* A forced deregistration waits this long for reads that are running; one
 * that hangs in the kernel is then left behind with its thread. */
#define FORCE_WAIT_S 1

struct ugst_compat_state ugst_compat = {
	.lock = PTHREAD_MUTEX_INITIALIZER,
};

struct timespec ugst_compat_deadline(const struct timespec *relative)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	if (relative->tv_sec < 0)
		return now;
	if (__builtin_add_overflow(now.tv_sec, relative->tv_sec, &now.tv_sec))
		now.tv_sec = INT64_MAX - 1;
	now.tv_nsec += relative->tv_nsec;
	if (now.tv_nsec >= 1000000000) {
		now.tv_nsec -= 1000000000;
		now.tv_sec++;
	}
	return now;
}

struct ugst_compat_handle *ugst_compat_find(const void *handle)
{
	struct ugst_compat_handle *known = ugst_compat.handles;

	/* Compared, never followed: the caller may hold a stale one. */
	while (known && known != handle)
		known = known->next;
	return known;
}

static struct ugst_ugds_error driver_open(void)
{
	pthread_mutex_lock(&ugst_compat.lock);
	ugst_compat.driver_open = true;
	pthread_mutex_unlock(&ugst_compat.lock);
	return ugst_compat_code(UGST_UGDS_OK);
}

/* false: not a thing that can be read by blocks. */
static bool measure(struct ugst_compat_handle *handle)
{
	uint64_t device_bytes;
	struct stat st;
	int lba_bytes = FILE_LBA_BYTES;

	if (fstat(handle->fd, &st))
		return false;
	if (S_ISREG(st.st_mode)) {
		device_bytes = (uint64_t)st.st_size;
		handle->device_id = st.st_ino;
	} else if (S_ISBLK(st.st_mode)) {
		if (ioctl(handle->fd, BLKSSZGET, &lba_bytes) ||
		    ioctl(handle->fd, BLKGETSIZE64, &device_bytes))
			return false;
		handle->device_id = st.st_rdev;
	} else {
		return false;
	}
	handle->limits.lba_bytes = (uint32_t)lba_bytes;
	handle->limits.command_bytes = COMMAND_BYTES;
	handle->limits.window_commands = WINDOW_COMMANDS;
	handle->limits.wait_sleeps = true;
	handle->capacity_bytes =
		ugst_align_down(device_bytes, (uint32_t)lba_bytes);
	return true;
}

static int init_conditions(struct ugst_compat_handle *handle)
{
	pthread_condattr_t attr;
	int rc = pthread_condattr_init(&attr);

	if (rc)
		return rc;
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	rc = pthread_cond_init(&handle->work, NULL);
	if (!rc) {
		rc = pthread_cond_init(&handle->changed, &attr);
		if (rc)
			pthread_cond_destroy(&handle->work);
	}
	pthread_condattr_destroy(&attr);
	return rc;
}

void ugst_compat_free_handle(struct ugst_compat_handle *handle)
{
	pthread_cond_destroy(&handle->work);
	pthread_cond_destroy(&handle->changed);
	if (handle->fd >= 0)
		close(handle->fd);
	free(handle);
}

/* With the lock held. A code. */
static int open_handle(struct ugst_compat_handle **handle_out, int fd)
{
	struct ugst_compat_handle *handle = ugst_calloc(1, sizeof(*handle));
	int flags;

	if (!handle)
		return UGST_UGDS_OUT_OF_MEMORY;
	handle->queue_tail = &handle->queue_head;
	/* uGDS's own duplicate survives exec; ours must not. */
	handle->fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	flags = handle->fd < 0 ? -1 : fcntl(handle->fd, F_GETFL);
	if (flags < 0 || !measure(handle) || init_conditions(handle)) {
		if (handle->fd >= 0)
			close(handle->fd);
		free(handle);
		return UGST_UGDS_INTERNAL_ERROR;
	}
	handle->direct = flags & O_DIRECT;
	/* Without O_DIRECT: no read-ahead, which would leave pages in the
	 * cache that nobody drops. */
	if (!handle->direct)
		posix_fadvise(handle->fd, 0, 0, POSIX_FADV_RANDOM);
	if (ugst_compat.hooks) {
		/* From the page cache: a busy disk under a test must not pass
		 * for a silent drive. */
		(void)fcntl(handle->fd, F_SETFL, flags & ~O_DIRECT);
		ugst_compat.hooks->limits(&handle->limits);
		ugst_compat.hooks->reset_device(handle->device_id);
	}
	if (!ugst_compat_start(handle)) {
		ugst_compat_free_handle(handle);
		return UGST_UGDS_OUT_OF_MEMORY;
	}
	*handle_out = handle;
	return UGST_UGDS_OK;
}

static struct ugst_ugds_error handle_register(void **handle_out,
                                              struct ugst_ugds_descr *descr)
{
	struct ugst_compat_handle *handle;
	int code;

	if (!handle_out || !descr)
		return ugst_compat_code(UGST_UGDS_INVALID_VALUE);
	pthread_mutex_lock(&ugst_compat.lock);
	if (!ugst_compat.driver_open)
		code = UGST_UGDS_DRIVER_NOT_INITIALIZED;
	else if (descr->type != UGST_UGDS_HANDLE_TYPE_FD)
		code = UGST_UGDS_INVALID_FILE_TYPE;
	else
		code = open_handle(&handle, descr->u.fd);
	if (code == UGST_UGDS_OK) {
		handle->next = ugst_compat.handles;
		ugst_compat.handles = handle;
		*handle_out = handle;
	}
	pthread_mutex_unlock(&ugst_compat.lock);
	return ugst_compat_code(code);
}

static void unlink_handle(struct ugst_compat_handle *handle)
{
	struct ugst_compat_handle **link = &ugst_compat.handles;

	while (*link != handle)
		link = &(*link)->next;
	*link = handle->next;
}

/* Wait for the batch to go. timeout_s: 0 do not, -1 for ever. */
static int retire(struct ugst_compat_handle *handle, int timeout_s)
{
	struct timespec relative = {timeout_s, 0};
	struct timespec deadline = ugst_compat_deadline(&relative);
	int rc = timeout_s ? 0 : ETIMEDOUT;

	if (handle->closing || handle->wedged)
		return UGST_UGDS_BUSY;
	handle->closing = true;
	while (handle->batch && !handle->dead && !rc) {
		if (timeout_s < 0)
			rc = pthread_cond_wait(&handle->changed,
			                       &ugst_compat.lock);
		else
			rc = pthread_cond_timedwait(
				&handle->changed, &ugst_compat.lock, &deadline);
	}
	if (handle->dead)
		return UGST_UGDS_OK;
	if (handle->batch) {
		handle->closing = false;
		return UGST_UGDS_BUSY;
	}
	unlink_handle(handle);
	ugst_compat_stop(handle);
	ugst_compat_free_handle(handle);
	return UGST_UGDS_OK;
}

/*
 * Leave a lost device: nothing more is issued. What its commands reference
 * stays referenced for the life of the process, as in uGDS, and so do handle
 * and batch: a command that ends late finds them.
 */
static void force(struct ugst_compat_handle *handle)
{
	struct timespec relative = {FORCE_WAIT_S, 0};
	struct timespec deadline = ugst_compat_deadline(&relative);
	int rc = 0;

	unlink_handle(handle);
	handle->next = ugst_compat.dead;
	ugst_compat.dead = handle;
	handle->dead = true;
	handle->stop = true;
	handle->queue_head = NULL;
	handle->queue_tail = &handle->queue_head;
	if (handle->batch && handle->batch->callers && ugst_compat.hooks)
		ugst_compat.hooks->broke(UGST_COMPAT_RULE_FORCE_INSIDE);
	pthread_cond_broadcast(&handle->work);
	pthread_cond_broadcast(&handle->changed);
	while (handle->running && !rc)
		rc = pthread_cond_timedwait(&handle->changed, &ugst_compat.lock,
		                            &deadline);
	if (!handle->running) {
		ugst_compat_stop(handle);
		close(handle->fd);
		handle->fd = -1;
		return;
	}
	for (unsigned i = 0; i < handle->thread_count; i++)
		pthread_detach(handle->threads[i]);
}

static struct ugst_ugds_error handle_deregister(void *ptr, int timeout_s)
{
	struct ugst_compat_handle *handle;
	int code = UGST_UGDS_OK;

	pthread_mutex_lock(&ugst_compat.lock);
	handle = ugst_compat_find(ptr);
	if (handle && timeout_s < -1)
		force(handle);
	else if (handle)
		code = retire(handle, timeout_s);
	pthread_mutex_unlock(&ugst_compat.lock);
	return ugst_compat_code(code);
}

static struct ugst_ugds_error device_capacity(void *ptr, uint64_t *bytes_out)
{
	struct ugst_compat_handle *handle;
	int code = UGST_UGDS_OK;

	if (!ptr || !bytes_out)
		return ugst_compat_code(UGST_UGDS_INVALID_VALUE);
	pthread_mutex_lock(&ugst_compat.lock);
	handle = ugst_compat_find(ptr);
	if (!handle || handle->closing || handle->wedged)
		code = UGST_UGDS_HANDLE_NOT_REGISTERED;
	else if (!handle->capacity_bytes)
		code = UGST_UGDS_INTERNAL_ERROR;
	else
		*bytes_out = handle->capacity_bytes;
	pthread_mutex_unlock(&ugst_compat.lock);
	return ugst_compat_code(code);
}

int ugst_ugds_compat_limits(void *ptr, struct ugst_ugds_limits *limits_out)
{
	struct ugst_compat_handle *handle;

	pthread_mutex_lock(&ugst_compat.lock);
	handle = ugst_compat_find(ptr);
	if (handle)
		*limits_out = handle->limits;
	pthread_mutex_unlock(&ugst_compat.lock);
	return handle ? 0 : -1;
}

const struct ugst_ugds *ugst_ugds_compat(void)
{
	static const struct ugst_ugds ugds = {
		.driver_open = driver_open,
		.handle_register = handle_register,
		.handle_deregister = handle_deregister,
		.device_capacity = device_capacity,
		.buf_register = ugst_compat_buf_register,
		.buf_deregister = ugst_compat_buf_deregister,
		.batch_setup = ugst_compat_batch_setup,
		.batch_submit = ugst_compat_batch_submit,
		.batch_status = ugst_compat_batch_status,
		.batch_destroy = ugst_compat_batch_destroy,
	};

	return &ugds;
}
