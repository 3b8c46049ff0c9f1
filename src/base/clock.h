/* SPDX-License-Identifier: BSD-3-Clause */
/* clock.h - monotonic time in nanoseconds. */
#ifndef UGST_CLOCK_H
#define UGST_CLOCK_H

#include <time.h>

#include "base/common.h"

#define UGST_NS_PER_US ((uint64_t)1000)
#define UGST_NS_PER_MS ((uint64_t)1000000)
#define UGST_NS_PER_S ((uint64_t)1000000000)

static inline uint64_t ugst_now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * UGST_NS_PER_S + (uint64_t)now.tv_nsec;
}

static inline struct timespec ugst_timespec(uint64_t ns)
{
	return (struct timespec){
		.tv_sec = (time_t)(ns / UGST_NS_PER_S),
		.tv_nsec = (long)(ns % UGST_NS_PER_S),
	};
}

#endif /* UGST_CLOCK_H */
