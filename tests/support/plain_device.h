/* SPDX-License-Identifier: BSD-3-Clause */
/* plain_device.h - block device operations with plain system calls, for tests
 * that change one of them. */
#ifndef TEST_PLAIN_DEVICE_H
#define TEST_PLAIN_DEVICE_H

#include <unistd.h>

#include "devices/blockdev.h"

static inline ssize_t plain_pwrite(struct ugst_blockdev *dev, const void *buf,
                                   size_t bytes, uint64_t off)
{
	return pwrite(dev->fd, buf, bytes, (off_t)off);
}

static inline int plain_flush(struct ugst_blockdev *dev)
{
	return fdatasync(dev->fd);
}

#endif /* TEST_PLAIN_DEVICE_H */
