/* SPDX-License-Identifier: BSD-3-Clause */
/* ugds_limits.h - what a device and its provider can do, as data. */
#ifndef UGST_UGDS_LIMITS_H
#define UGST_UGDS_LIMITS_H

#include "base/common.h"

struct ugst_ugds_limits {
	uint32_t lba_bytes;       /* 512 to 4096 */
	uint32_t command_bytes;   /* largest single command: a multiple of
	                             4096, not always a power of two */
	uint32_t window_commands; /* oldest unreported to newest, at most */
	bool fails_early; /* an entry is reported FAILED with its first bad
	                     command, while others of its may still run */
	bool wait_sleeps; /* batch_status with min_count 1 sleeps; else it
	                     spins, and the caller naps */
};

#endif /* UGST_UGDS_LIMITS_H */
