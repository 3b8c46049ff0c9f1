/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * shim.h - the control interface of the uGDS driver model.
 *
 * The model is preloaded (see run.sh) and is no part of this project, so its
 * symbols are weak: NULL without it.
 */
#ifndef TEST_SHIM_H
#define TEST_SHIM_H

#include "base/common.h"

/* A command to one device, -1 for all: "fault RULES", "clear", "freeze",
 * "thaw", "reset", "remove", "latency US [JITTER_US]", "zero". 0 or -1. */
int ugds_shim_ctl(int dev, const char *command) __attribute__((weak));

/* A counter of a device, or summed over all (-1). */
uint64_t ugds_shim_stat(int dev, const char *name) __attribute__((weak));

/* Where the CPU may touch modelled device memory. */
void *ugds_shim_host_ptr(const void *ptr) __attribute__((weak));

/* The setting of the model as a number, or what it is without one. */
static inline unsigned long shim_setting(const char *name, unsigned long unset)
{
	const char *text = getenv(name);

	return text ? strtoul(text, NULL, 10) : unset;
}

/* What a correct client leaves behind, whatever the device did to it. */
#define assert_shim_clean()                                                    \
	do {                                                                   \
		assert_int_equal(ugds_shim_stat(-1, "iommu_faults"), 0);       \
		assert_int_equal(ugds_shim_stat(-1, "cid_conflicts"), 0);      \
		assert_int_equal(ugds_shim_stat(-1, "bad_doorbells"), 0);      \
		assert_int_equal(ugds_shim_stat(-1, "freed_while_mapped"), 0); \
	} while (0)

#endif /* TEST_SHIM_H */
