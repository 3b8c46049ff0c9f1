/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * signatures.h - does a device hold something? The only includer of libblkid
 * is signatures.c.
 */
#ifndef UGST_IMPORT_SIGNATURES_H
#define UGST_IMPORT_SIGNATURES_H

#include "base/common.h"
#include "devices/blockdev.h"

/* Told once for each thing that is found: "ext4 file system", and its byte. */
typedef void ugst_found(void *ctx, const char *what, uint64_t off);

/*
 * ugst_signatures_find() - superblocks, partition tables and partitions.
 *
 * All that libblkid knows, at the start and at the end, with bad checksums and
 * without a protective MBR too; partitions that the kernel has on this device
 * or that overlap it.
 *
 * Return: OK (found was called or not); IO; NO_MEMORY.
 */
int ugst_signatures_find(const struct ugst_blockdev *dev, ugst_found *found,
                         void *ctx, struct ugds_st_error *err);

/*
 * ugst_signatures_wipe() - erase the magic of every signature, so that no tool
 * takes the device for what it was.
 *
 * Return: OK; IO; NO_MEMORY.
 */
int ugst_signatures_wipe(const struct ugst_blockdev *dev,
                         struct ugds_st_error *err);

/*
 * ugst_bytes_find() - bytes that are neither all zeros nor all ones: raw data
 * that libblkid does not know.
 *
 * Reads the first 8 MiB, the last MiB and 64 samples between. Says the first
 * byte of each of the three that is neither.
 *
 * Return: OK; IO (a block cannot be read: nobody can say what it holds);
 * NO_MEMORY.
 */
int ugst_bytes_find(struct ugst_blockdev *dev, ugst_found *found, void *ctx,
                    struct ugds_st_error *err);

#endif /* UGST_IMPORT_SIGNATURES_H */
