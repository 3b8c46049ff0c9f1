/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ugds_device.c - a uGDS device, taken and given back; see ugds_real.h.
 *
 * This library is a guest in uGDS, whose state belongs to the process: it
 * never closes the driver, which would unmap everybody's buffers, and never
 * registers a device that somebody has.
 */
#include "base/common.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "devices/holders.h"
#include "devices/ugds_guest.h"
#include "devices/ugds_real.h"

/* uGDS's own, as /proc/devices and every node's driver call it. */
#define DRIVER_PREFIX "ugds"
/* What uGDS maps of a controller's registers. */
#define REGISTER_BYTES ((size_t)8192)
#define DEREGISTER_AT_ONCE 0
#define DEREGISTER_FORCE (-2)

static struct {
	pthread_mutex_t lock; /* never held over a uGDS call */
	struct ugst_real_device *first;
	/* Descriptors that uGDS has kept of devices given back: buffers that
	 * were in use when a device was lost hold them for ever. */
	struct ugst_fd_list leftovers;
} registry = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Before the node is even opened: whose is it? */
static int check_node(const char *path, dev_t *device_out,
                      struct ugds_st_error *err)
{
	char driver[UGST_ESCAPED_BYTES];
	struct stat st;

	if (stat(path, &st) != 0)
		return ugst_fail_errno(err, ugst_errno_status(errno), errno,
		                       "uGDS device %s", path);
	if (!S_ISCHR(st.st_mode))
		return ugst_fail(err, UGDS_ST_UNSUPPORTED,
		                 "%s: expected a character device of uGDS, "
		                 "found a %s",
		                 path,
		                 S_ISBLK(st.st_mode) ? "block device"
		                 : S_ISREG(st.st_mode)
		                         ? "regular file"
		                         : "node of another kind");
	if (ugst_guest_driver(st.st_rdev, driver, sizeof(driver)) &&
	    strncmp(driver, DRIVER_PREFIX, strlen(DRIVER_PREFIX)) != 0)
		return ugst_fail(err, UGDS_ST_UNSUPPORTED,
		                 "%s: expected a device of driver ugds_drv, "
		                 "found one of \"%s\"",
		                 path, driver);
	*device_out = st.st_rdev;
	return UGDS_ST_OK;
}

/* uGDS takes a failed mapping for one and crashes, so try it first. */
static int check_registers(const char *path, int fd, struct ugds_st_error *err)
{
	void *registers =
		mmap(NULL, REGISTER_BYTES, PROT_READ, MAP_SHARED, fd, 0);

	if (registers == MAP_FAILED)
		return ugst_fail_errno(err, UGDS_ST_UNSUPPORTED, errno,
		                       "%s: expected a controller of uGDS, "
		                       "found no registers to map",
		                       path);
	(void)munmap(registers, REGISTER_BYTES);
	return UGDS_ST_OK;
}

static int open_node(const struct ugst_real_device *device, int *fd_out,
                     struct ugds_st_error *err)
{
	struct stat st;
	int fd = open(device->path, O_RDWR | O_CLOEXEC | O_NOCTTY);

	if (fd < 0)
		return ugst_fail_errno(err, ugst_errno_status(errno), errno,
		                       "uGDS device %s", device->path);
	if (fstat(fd, &st) != 0 || !S_ISCHR(st.st_mode) ||
	    st.st_rdev != device->device) {
		(void)close(fd);
		return ugst_fail(err, UGDS_ST_BUSY,
		                 "%s became another device while it was opened",
		                 device->path);
	}
	*fd_out = fd;
	return UGDS_ST_OK;
}

/* Open here, but by someone whose handle a second register would break? */
static int check_own_process(const struct ugst_real_device *device,
                             struct ugds_st_error *err)
{
	struct ugst_fd_list list = {0};
	int status = ugst_guest_own_fds(device->device, &list, err);

	for (size_t i = 0; status == UGDS_ST_OK && i < list.count; i++) {
		int fd = list.fds[i];

		if (fd == device->lock_fd || fd == device->ugds_fd ||
		    ugst_fd_list_has(&registry.leftovers, fd))
			continue;
		status = ugst_fail(err, UGDS_ST_BUSY,
		                   "%s is open in this process already, as "
		                   "descriptor %d: lend its handle "
		                   "(ugds_handle) instead",
		                   device->path, fd);
	}
	free(list.fds);
	return status;
}

/* The lock keeps out all who ask for it; the look in /proc finds users of
 * uGDS who do not. */
static int lock_node(const struct ugst_real_device *device,
                     struct ugds_st_error *err)
{
	struct ugst_holder holder;
	struct flock lock = {
		.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 1};
	bool taken = fcntl(device->lock_fd, F_OFD_SETLK, &lock) != 0;
	int errnum = errno;

	if (taken && errnum != EAGAIN && errnum != EACCES)
		return ugst_fail_errno(err, UGDS_ST_IO, errnum, "lock of %s",
		                       device->path);
	if (ugst_holder_elsewhere(device->lock_fd, &holder))
		return ugst_fail(err, UGDS_ST_BUSY,
		                 "%s is in use by process %d (%s): one process "
		                 "per uGDS device",
		                 device->path, (int)holder.pid, holder.command);
	if (taken)
		return ugst_fail(err, UGDS_ST_BUSY,
		                 "%s is locked by another process: one "
		                 "process per uGDS device",
		                 device->path);
	return UGDS_ST_OK;
}

/* Put a device into the list, if it may be there. */
static int enlist(struct ugst_real_device *device, unsigned flags,
                  struct ugds_st_error *err)
{
	const struct ugst_real_device *other = NULL;
	int status = UGDS_ST_OK;

	(void)pthread_mutex_lock(&registry.lock);
	for (const struct ugst_real_device *at = registry.first; at;
	     at = at->next) {
		if (at->device == device->device)
			status = ugst_fail(err, UGDS_ST_BUSY,
			                   "%s is open in this process "
			                   "already, as %s",
			                   device->path, at->path);
		other = at;
	}
	if (status == UGDS_ST_OK && other && !(flags & UGST_REAL_COMMON_BUS))
		status = ugst_fail(err, UGDS_ST_UNSUPPORTED,
		                   "%s: a second uGDS device, but buffers are "
		                   "mapped for the first, %s; without an IOMMU "
		                   "between them set UGDS_ST_OPEN_COMMON_BUS",
		                   device->path, other->path);
	if (status == UGDS_ST_OK && !device->lent)
		status = check_own_process(device, err);
	if (status == UGDS_ST_OK) {
		device->next = registry.first;
		registry.first = device;
	}
	(void)pthread_mutex_unlock(&registry.lock);
	return status;
}

/* Out of the list, and forgotten; what uGDS still holds open is noted. */
static void discard(struct ugst_real_device *device, bool enlisted)
{
	struct ugst_real_device **at = &registry.first;
	struct stat st;

	(void)pthread_mutex_lock(&registry.lock);
	while (enlisted && *at != device)
		at = &(*at)->next;
	if (enlisted)
		*at = device->next;
	for (size_t i = 0; i < device->dup_fds.count; i++) {
		int fd = device->dup_fds.fds[i];

		/* Without memory to note it, the device reads as in use by
		 * this process, which is the safe side. */
		if (fstat(fd, &st) == 0 && S_ISCHR(st.st_mode) &&
		    st.st_rdev == device->device)
			(void)ugst_fd_list_add(&registry.leftovers, fd);
	}
	/* Closed under the lock: a number that is used again must not be
	 * looked at as ours. */
	if (device->lock_fd >= 0)
		(void)close(device->lock_fd);
	if (device->ugds_fd >= 0)
		(void)close(device->ugds_fd);
	(void)pthread_mutex_unlock(&registry.lock);
	free(device->dup_fds.fds);
	free(device->path);
	free(device);
}

static int new_device(const struct ugst_ugds *ugds, const char *path,
                      struct ugst_real_device **device_out,
                      struct ugds_st_error *err)
{
	struct ugst_real_device *device;
	dev_t number;
	int status = check_node(path, &number, err);

	if (status != UGDS_ST_OK)
		return status;
	device = ugst_calloc(1, sizeof(*device));
	if (!device)
		return ugst_fail_memory(err);
	device->ugds = ugds;
	device->device = number;
	device->lock_fd = -1;
	device->ugds_fd = -1;
	device->path = ugst_strdup(path);
	if (!device->path) {
		free(device);
		return ugst_fail_memory(err);
	}
	*device_out = device;
	return UGDS_ST_OK;
}

/* Find uGDS's duplicates, and close them to programs that the engine starts:
 * a child that holds the device keeps others, and us, from opening it. */
static int note_duplicates(struct ugst_real_device *device,
                           struct ugds_st_error *err)
{
	struct ugst_fd_list list = {0};
	int status = ugst_guest_own_fds(device->device, &list, err);

	(void)pthread_mutex_lock(&registry.lock);
	for (size_t i = 0; status == UGDS_ST_OK && i < list.count; i++) {
		int fd = list.fds[i];

		if (fd == device->lock_fd || fd == device->ugds_fd ||
		    ugst_fd_list_has(&registry.leftovers, fd))
			continue;
		(void)fcntl(fd, F_SETFD, FD_CLOEXEC);
		if (!ugst_fd_list_add(&device->dup_fds, fd))
			status = ugst_fail_memory(err);
	}
	(void)pthread_mutex_unlock(&registry.lock);
	free(list.fds);
	return status;
}

static int register_handle(struct ugst_real_device *device,
                           struct ugds_st_error *err)
{
	struct ugst_ugds_descr descr = {.type = UGST_UGDS_HANDLE_TYPE_FD};
	struct ugst_ugds_error ugds_err = device->ugds->driver_open();

	if (ugds_err.code != UGST_UGDS_OK)
		return ugst_fail_ugds(err, UGDS_ST_IO, ugds_err.code,
		                      "uGDS driver");
	descr.u.fd = device->ugds_fd;
	ugds_err = device->ugds->handle_register(&device->handle, &descr);
	if (ugds_err.code == UGST_UGDS_OK)
		return note_duplicates(device, err);
	device->handle = NULL;
	if (ugds_err.code == UGST_UGDS_OUT_OF_MEMORY)
		return ugst_fail_ugds(err, UGDS_ST_NO_MEMORY, ugds_err.code,
		                      "uGDS handle for %s", device->path);
	return ugst_fail_ugds(err, UGDS_ST_IO, ugds_err.code,
	                      "uGDS handle for %s (no answer, fewer than 2 "
	                      "queue pairs, or a queue depth below 64 or of "
	                      "65536)",
	                      device->path);
}

static int measure(struct ugst_real_device *device, struct ugds_st_error *err)
{
	struct ugst_ugds_error ugds_err = device->ugds->device_capacity(
		device->handle, &device->capacity_bytes);

	if (ugds_err.code == UGST_UGDS_HANDLE_NOT_REGISTERED && device->lent)
		return ugst_fail_ugds(err, UGDS_ST_INVALID_ARG, ugds_err.code,
		                      "lent uGDS handle for %s", device->path);
	if (ugds_err.code != UGST_UGDS_OK)
		return ugst_fail_ugds(err, UGDS_ST_IO, ugds_err.code,
		                      "capacity of %s", device->path);
	return ugst_ugds_probe(device->ugds, device->handle, &device->limits,
	                       err);
}

int ugst_ugds_real_acquire(const struct ugst_ugds *ugds, const char *path,
                           unsigned flags, struct ugst_real_device **device_out,
                           struct ugds_st_error *err)
{
	struct ugst_real_device *device;
	bool enlisted = false;
	int status = new_device(ugds, path, &device, err);

	if (status != UGDS_ST_OK)
		return status;
	status = open_node(device, &device->lock_fd, err);
	if (status == UGDS_ST_OK)
		status = check_registers(path, device->lock_fd, err);
	if (status == UGDS_ST_OK) {
		status = enlist(device, flags, err);
		enlisted = status == UGDS_ST_OK;
	}
	if (status == UGDS_ST_OK)
		status = lock_node(device, err);
	if (status == UGDS_ST_OK)
		status = open_node(device, &device->ugds_fd, err);
	if (status == UGDS_ST_OK)
		status = register_handle(device, err);
	if (status == UGDS_ST_OK)
		status = measure(device, err);
	if (status == UGDS_ST_OK) {
		*device_out = device;
		return UGDS_ST_OK;
	}
	if (device->handle)
		(void)ugds->handle_deregister(device->handle,
		                              DEREGISTER_AT_ONCE);
	discard(device, enlisted);
	return status;
}

/* A handle for path has a descriptor in this process: uGDS's duplicate. */
static int check_lent(const struct ugst_real_device *device,
                      struct ugds_st_error *err)
{
	struct ugst_fd_list list = {0};
	int status = ugst_guest_own_fds(device->device, &list, err);

	if (status == UGDS_ST_OK && list.count == 0)
		status = ugst_fail(err, UGDS_ST_MISMATCH,
		                   "lent uGDS handle: expected one for %s, "
		                   "found that this process does not have it "
		                   "open",
		                   device->path);
	free(list.fds);
	return status;
}

int ugst_ugds_real_borrow(const struct ugst_ugds *ugds, const char *path,
                          void *handle, unsigned flags,
                          struct ugst_real_device **device_out,
                          struct ugds_st_error *err)
{
	struct ugst_real_device *device;
	bool enlisted;
	int status = new_device(ugds, path, &device, err);

	if (status != UGDS_ST_OK)
		return status;
	device->handle = handle;
	device->lent = true;
	status = enlist(device, flags, err);
	enlisted = status == UGDS_ST_OK;
	if (status == UGDS_ST_OK)
		status = check_lent(device, err);
	if (status == UGDS_ST_OK)
		status = measure(device, err);
	if (status != UGDS_ST_OK)
		discard(device, enlisted);
	else
		*device_out = device;
	return status;
}

int ugst_ugds_real_release(struct ugst_real_device *device, bool abandon,
                           struct ugds_st_error *err)
{
	struct ugst_ugds_error ugds_err = {0};

	if (!device)
		return UGDS_ST_OK;
	if (!device->lent)
		ugds_err = device->ugds->handle_deregister(
			device->handle,
			abandon ? DEREGISTER_FORCE : DEREGISTER_AT_ONCE);
	if (ugds_err.code != UGST_UGDS_OK)
		return ugst_fail_ugds(
			err,
			ugds_err.code == UGST_UGDS_BUSY ? UGDS_ST_BUSY
							: UGDS_ST_IO,
			ugds_err.code, "uGDS handle of %s", device->path);
	discard(device, true);
	return UGDS_ST_OK;
}

bool ugst_ugds_real_explain(const struct ugst_real_device *device,
                            struct ugds_st_error *err)
{
	char path[UGST_ESCAPED_BYTES];
	dev_t known[16];
	size_t known_count = 0;
	size_t used;

	(void)pthread_mutex_lock(&registry.lock);
	for (const struct ugst_real_device *at = registry.first;
	     at && known_count < UGST_COUNT(known); at = at->next)
		known[known_count++] = at->device;
	(void)pthread_mutex_unlock(&registry.lock);
	if (!ugst_guest_sibling(device->device, known, known_count, path,
	                        sizeof(path)))
		return false;
	if (!err)
		return true;
	used = strlen(err->text);
	(void)snprintf(err->text + used, sizeof(err->text) - used,
	               "; this process has %s open too: if its handle is the "
	               "older, buffers are mapped for it and not for %s",
	               path, device->path);
	return true;
}
