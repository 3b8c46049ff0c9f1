/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ugds.h - the uGDS calls as a table, and what fills it.
 *
 * There is one read path and it always speaks uGDS. Two providers fill this
 * table: the real library (ugds_real.c) and compatibility mode
 * (ugds_compat.c), which serves the same calls over files and block devices
 * and keeps the same rules.
 */
#ifndef UGST_UGDS_H
#define UGST_UGDS_H

#include "base/common.h"
#include "devices/ugds_abi.h"
#include "pure/ugds_limits.h"

/* The signatures are uGDS's own. State behind them is process-wide. */
struct ugst_ugds {
	struct ugst_ugds_error (*driver_open)(void);
	struct ugst_ugds_error (*handle_register)(
		void **handle_out, struct ugst_ugds_descr *descr);
	struct ugst_ugds_error (*handle_deregister)(void *handle,
	                                            int timeout_s);
	struct ugst_ugds_error (*device_capacity)(void *handle,
	                                          uint64_t *bytes_out);
	struct ugst_ugds_error (*buf_register)(const void *base, size_t bytes,
	                                       int flags);
	struct ugst_ugds_error (*buf_deregister)(const void *base);
	struct ugst_ugds_error (*batch_setup)(void **batch_out, void *handle,
	                                      unsigned count);
	struct ugst_ugds_error (*batch_submit)(void *batch, unsigned count,
	                                       struct ugst_ugds_params *params,
	                                       unsigned flags);
	struct ugst_ugds_error (*batch_status)(void *batch, unsigned min_count,
	                                       unsigned *count,
	                                       struct ugst_ugds_event *events,
	                                       struct timespec *timeout);
	void (*batch_destroy)(void *batch);
};

/* Real library: window by distance (ugds_real.c says why 63). */
#define UGST_UGDS_WINDOW_COMMANDS 63u

/*
 * ugst_ugds_load() - the real library.
 *
 * Takes the calls that are lent, else finds the library that is in use or
 * loaded already, else loads path (NULL: "libugds.so"). Never unloads it.
 *
 * @lent: copied; NULL: none.
 * Return: OK; INVALID_ARG (lent lacks a call); NOT_FOUND (no library);
 * UNSUPPORTED (it lacks a call); MISMATCH (another copy is in use or loaded:
 * both named).
 */
int ugst_ugds_load(const struct ugds_st_ugds_calls *lent, const char *path,
                   const struct ugst_ugds **ugds_out,
                   struct ugds_st_error *err);

/* Compatibility mode. Static, no set-up. */
const struct ugst_ugds *ugst_ugds_compat(void);

/*
 * ugst_ugds_compat_limits() - what compatibility mode says of a handle.
 *
 * Return: 0; -1: no such handle.
 */
int ugst_ugds_compat_limits(void *handle, struct ugst_ugds_limits *limits_out);

/*
 * ugst_ugds_probe() - LBA size, command size and ABI of a uGDS handle,
 * without any I/O, by which batch entries it refuses.
 *
 * Return: OK; UNSUPPORTED (another struct layout, LBA size above 4096); BUSY;
 * IO.
 */
int ugst_ugds_probe(const struct ugst_ugds *ugds, void *handle,
                    struct ugst_ugds_limits *limits_out,
                    struct ugds_st_error *err);

#endif /* UGST_UGDS_H */
