/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * device.h - one path, opened for reading through uGDS or compatibility mode.
 *
 * What the path is decides which of the two; an option can insist, and is
 * refused where it does not fit. In compatibility mode the reader's lock on
 * the volume is taken here, before anything is read.
 */
#ifndef UGST_DEVICE_H
#define UGST_DEVICE_H

#include "base/common.h"
#include "devices/ugds.h"

struct ugst_device {
	char *path;
	int provider; /* enum ugds_st_provider: UGDS or COMPAT */
	const struct ugst_ugds *ugds;
	void *handle;
	bool lent; /* the handle is the engine's: no batch outside a call */
	struct ugst_ugds_limits limits;
	uint64_t bytes;
	/* Of the device's first byte on its namespace; 0 where the path is
	 * the whole of one. */
	uint64_t start_bytes;
	struct ugst_blockdev *blockdev; /* compatibility mode only */
	struct ugst_real_device *real;  /* uGDS only */
};

struct ugst_device_opts {
	int provider; /* enum ugds_st_provider */
	const char *libugds_path;
	const struct ugds_st_ugds_calls *lent_calls;
	void *lent_handle;
	bool common_bus;
};

/*
 * ugst_device_open() - open a path for reading.
 *
 * Return: OK; NOT_FOUND; UNSUPPORTED (no such provider for this path); BUSY;
 * IO; NO_MEMORY.
 */
int ugst_device_open(const char *path, const struct ugst_device_opts *opts,
                     struct ugst_device **device_out,
                     struct ugds_st_error *err);

/*
 * ugst_device_close() - give the handle back. NULL is fine.
 *
 * @abandon: the device is lost; see ugst_ugds_real_release().
 * Return: OK; BUSY (not abandon; the handle is in use and the device open).
 */
int ugst_device_close(struct ugst_device *device, bool abandon,
                      struct ugds_st_error *err);

/* Is path the character device that device is? Then it can be shared. */
bool ugst_device_is(const struct ugst_device *device, const char *path);

#endif /* UGST_DEVICE_H */
