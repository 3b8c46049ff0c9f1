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

/* A counter of a device; UINT64_MAX: no such counter or device. */
uint64_t ugds_shim_stat(int dev, const char *name) __attribute__((weak));

/* Where the CPU may touch modelled device memory. */
void *ugds_shim_host_ptr(const void *ptr) __attribute__((weak));

/* The setting of the model as a number, or what it is without one. */
static inline unsigned long shim_setting(const char *name, unsigned long unset)
{
	const char *text = getenv(name);

	return text ? strtoul(text, NULL, 10) : unset;
}

/* A counter over all devices that there are. */
static inline uint64_t shim_sum(const char *name)
{
	unsigned long device_count = shim_setting("UGDS_SHIM_NDEV", 2);
	uint64_t sum = 0;

	for (unsigned long dev = 0; dev < device_count; dev++) {
		uint64_t value = ugds_shim_stat((int)dev, name);

		assert_int_not_equal(value, UINT64_MAX);
		sum += value;
	}
	return sum;
}

/* What a correct client leaves behind, whatever the device did to it. */
static inline void assert_shim_clean(void)
{
	assert_int_equal(shim_sum("iommu_faults"), 0);
	assert_int_equal(shim_sum("cid_conflicts"), 0);
	assert_int_equal(shim_sum("bad_doorbells"), 0);
	assert_int_equal(shim_sum("freed_while_mapped"), 0);
}

#endif /* TEST_SHIM_H */
