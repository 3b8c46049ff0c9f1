/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ugds_real.h - a uGDS device in this process: taken, measured, given back.
 *
 * Registering a handle resets the controller under whoever has the device
 * already, in this process or another, and nothing in uGDS prevents it. So
 * the device is looked at, and locked, first. One of these exists per device
 * and process; stores share it, with its one batch, through their queue.
 */
#ifndef UGST_UGDS_REAL_H
#define UGST_UGDS_REAL_H

#include <sys/types.h>

#include "base/common.h"
#include "devices/ugds.h"
#include "devices/ugds_guest.h"

struct ugst_real_device {
	const struct ugst_ugds *ugds;
	char *path;
	void *handle;
	dev_t device; /* st_rdev: who the device is, whatever its path */
	struct ugst_ugds_limits limits;
	uint64_t capacity_bytes;
	bool lent;   /* handle and descriptors are the engine's */
	int lock_fd; /* holds the lock; uGDS never sees it */
	int ugds_fd; /* what uGDS was given, and may ask for again */
	struct ugst_fd_list dup_fds;   /* uGDS's own duplicates of it */
	struct ugst_real_device *next; /* all that are open, newest first */
};

/* acquire flags */
/* Controllers share one bus address space: see UGDS_ST_OPEN_COMMON_BUS. */
#define UGST_REAL_COMMON_BUS 1u

/*
 * ugst_ugds_real_acquire() - open a device and register a handle for it.
 *
 * In this order: the path is uGDS's character device (others crash the
 * library and are never handed over); nobody here or elsewhere has it open; it
 * is locked; no other controller is open, or COMMON_BUS; driver open, handle
 * registered, capacity asked, limits probed. Leaves no batch behind.
 *
 * @device_out: give back with ugst_ugds_real_release().
 * Return: OK; NOT_FOUND; UNSUPPORTED (no device of uGDS, second controller,
 * another struct layout, LBA size); BUSY (already open: the text says by whom);
 * IO; NO_MEMORY.
 */
int ugst_ugds_real_acquire(const struct ugst_ugds *ugds, const char *path,
                           unsigned flags, struct ugst_real_device **device_out,
                           struct ugds_st_error *err);

/*
 * ugst_ugds_real_borrow() - the same for a handle that the engine lends.
 *
 * Registers, locks and opens nothing. The engine may be using the handle's one
 * batch: then BUSY, try again.
 *
 * Return: as acquire, and MISMATCH (this process does not have path open, so
 * the handle cannot be one for it).
 */
int ugst_ugds_real_borrow(const struct ugst_ugds *ugds, const char *path,
                          void *handle, unsigned flags,
                          struct ugst_real_device **device_out,
                          struct ugds_st_error *err);

/*
 * ugst_ugds_real_release() - give a device back. NULL is fine.
 *
 * The batch must be destroyed, and no thread may be in uGDS with this handle.
 *
 * @abandon: the device is lost and a batch may hold commands: force the handle
 * closed. Takes 30 ms, or 32 times the controller's timeout where it does not
 * answer. Memory that was in use must never be freed, and may be written to
 * until the device has been acquired anew.
 *
 * Return: OK; BUSY (not abandon; something still uses the handle: the device
 * is still open, release again).
 */
int ugst_ugds_real_release(struct ugst_real_device *device, bool abandon,
                           struct ugds_st_error *err);

/*
 * ugst_ugds_real_explain() - why every read of a device may fail at once.
 *
 * uGDS maps buffers for the controller of the process's first handle. If that
 * handle is somebody else's, for another controller, each read fails and
 * nothing says why, except that this process has that device open too.
 *
 * Call when the first read of a device failed with ret 0.
 * Return: true: that is so, and err's text (status and all else unchanged) now
 * says it.
 */
bool ugst_ugds_real_explain(const struct ugst_real_device *device,
                            struct ugds_st_error *err);

#endif /* UGST_UGDS_REAL_H */
