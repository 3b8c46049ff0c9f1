/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * identity_sysfs.h - who an NVMe namespace is, as the kernel says without root
 * and without libraries.
 */
#ifndef UGST_IDENTITY_SYSFS_H
#define UGST_IDENTITY_SYSFS_H

#include <sys/types.h>

#include "base/common.h"
#include "pure/catalog.h"

/*
 * ugst_identity_sysfs() - identity of a block device.
 *
 * A partition has the identity of its disk.
 *
 * @sysfs: "/sys"; tests bring their own.
 * @identity_out: known is false where this is no NVMe namespace, or nothing
 * can be read.
 */
void ugst_identity_sysfs(const char *sysfs, dev_t device,
                         struct ugst_identity *identity_out);

#endif /* UGST_IDENTITY_SYSFS_H */
