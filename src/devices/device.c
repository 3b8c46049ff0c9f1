/* SPDX-License-Identifier: BSD-3-Clause */
/* device.c - a path to a handle, limits and a size; see device.h. */
#include "base/common.h"

#include <sys/stat.h>

#include "base/err.h"
#include "base/mem.h"
#include "devices/blockdev.h"
#include "devices/device.h"
#include "devices/ugds_real.h"

static int check_provider(const char *path, enum ugst_device_kind kind,
                          int wanted, int *provider_out,
                          struct ugds_st_error *err)
{
	*provider_out = kind == UGST_DEVICE_CHAR ? UGDS_ST_PROVIDER_UGDS
	                                         : UGDS_ST_PROVIDER_COMPAT;
	if (wanted == UGDS_ST_PROVIDER_AUTO || wanted == *provider_out)
		return UGDS_ST_OK;
	if (wanted == UGDS_ST_PROVIDER_UGDS)
		return ugst_fail(err, UGDS_ST_UNSUPPORTED,
		                 "%s: expected a character device of uGDS, "
		                 "found a block device or file, which only "
		                 "compatibility mode can read",
		                 path);
	return ugst_fail(err, UGDS_ST_UNSUPPORTED,
	                 "%s: expected a block device or file for "
	                 "compatibility mode, found a character device, which "
	                 "only uGDS can read",
	                 path);
}

static int open_real(struct ugst_device *device,
                     const struct ugst_device_opts *opts,
                     struct ugds_st_error *err)
{
	unsigned flags = opts->common_bus ? UGST_REAL_COMMON_BUS : 0;
	int status;

	status = ugst_ugds_load(opts->lent_calls, opts->libugds_path,
	                        &device->ugds, err);
	if (status)
		return status;
	status = opts->lent_handle
	                 ? ugst_ugds_real_borrow(device->ugds, device->path,
	                                         opts->lent_handle, flags,
	                                         &device->real, err)
	                 : ugst_ugds_real_acquire(device->ugds, device->path,
	                                          flags, &device->real, err);
	if (status)
		return status;
	device->handle = device->real->handle;
	device->lent = device->real->lent;
	device->limits = device->real->limits;
	device->bytes = device->real->capacity_bytes;
	return UGDS_ST_OK;
}

static int open_compat(struct ugst_device *device, struct ugds_st_error *err)
{
	struct ugst_ugds_descr descr = {.type = UGST_UGDS_HANDLE_TYPE_FD};
	struct ugst_ugds_error error;
	int status;

	status = ugst_blockdev_lock(device->blockdev, UGST_LOCK_READERS, false,
	                            err);
	if (status)
		return status;
	device->ugds = ugst_ugds_compat();
	(void)device->ugds->driver_open();
	descr.u.fd = device->blockdev->fd;
	error = device->ugds->handle_register(&device->handle, &descr);
	if (error.code)
		return ugst_fail_ugds(err,
		                      error.code == UGST_UGDS_OUT_OF_MEMORY
		                              ? UGDS_ST_NO_MEMORY
		                              : UGDS_ST_IO,
		                      error.code, "%s: cannot be read",
		                      device->path);
	if (ugst_ugds_compat_limits(device->handle, &device->limits))
		return ugst_fail(err, UGDS_ST_IO, "%s: has no limits",
		                 device->path);
	device->bytes = device->blockdev->bytes;
	device->start_bytes = device->blockdev->start_bytes;
	return UGDS_ST_OK;
}

int ugst_device_open(const char *path, const struct ugst_device_opts *opts,
                     struct ugst_device **device_out, struct ugds_st_error *err)
{
	struct ugst_device *device = ugst_calloc(1, sizeof(*device));
	int status;

	if (!device)
		return ugst_fail_memory(err);
	device->path = ugst_strdup(path);
	if (!device->path) {
		status = ugst_fail_memory(err);
		goto out;
	}
	status = ugst_blockdev_open(path, 0, &device->blockdev, err);
	if (status)
		goto out;
	status = check_provider(path, device->blockdev->kind, opts->provider,
	                        &device->provider, err);
	if (status)
		goto out;
	if (device->provider == UGDS_ST_PROVIDER_UGDS) {
		/* Not held: uGDS must find that nobody has it open. */
		ugst_blockdev_close(device->blockdev);
		device->blockdev = NULL;
		status = open_real(device, opts, err);
	} else if (opts->lent_handle) {
		status = ugst_fail(err, UGDS_ST_INVALID_ARG,
		                   "%s: a uGDS handle was lent for it, but it "
		                   "is no character device",
		                   path);
	} else {
		status = open_compat(device, err);
	}
out:
	if (status) {
		(void)ugst_device_close(device, false, NULL);
		return status;
	}
	*device_out = device;
	return UGDS_ST_OK;
}

static int release_handle(struct ugst_device *device, bool abandon,
                          struct ugds_st_error *err)
{
	struct ugst_ugds_error error;

	if (device->real)
		return ugst_ugds_real_release(device->real, abandon, err);
	if (!device->handle)
		return UGDS_ST_OK;
	error = device->ugds->handle_deregister(device->handle,
	                                        abandon ? -2 : 0);
	if (error.code)
		return ugst_fail_ugds(err, UGDS_ST_BUSY, error.code,
		                      "%s: cannot be given back", device->path);
	return UGDS_ST_OK;
}

int ugst_device_close(struct ugst_device *device, bool abandon,
                      struct ugds_st_error *err)
{
	int status;

	if (!device)
		return UGDS_ST_OK;
	status = release_handle(device, abandon, err);
	if (status)
		return status;
	ugst_blockdev_close(device->blockdev);
	free(device->path);
	free(device);
	return UGDS_ST_OK;
}

bool ugst_device_is(const struct ugst_device *device, const char *path)
{
	struct stat found;

	return device->real && stat(path, &found) == 0 &&
	       S_ISCHR(found.st_mode) && found.st_rdev == device->real->device;
}
