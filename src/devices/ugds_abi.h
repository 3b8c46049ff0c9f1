/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ugds_abi.h - the part of uGDS's binary interface that this library uses.
 *
 * Layouts and values are those of uGDS's public header (x86-64 and AArch64
 * Linux, LP64); names are our own, so that both headers can be included in one
 * file, where a test compares them. uGDS promises no ABI: ugds_probe.c checks
 * at run time that the library loaded agrees, before any DMA.
 */
#ifndef UGST_UGDS_ABI_H
#define UGST_UGDS_ABI_H

#include <sys/types.h>
#include <time.h>

#include "base/common.h"

enum ugst_ugds_code {
	UGST_UGDS_OK = 0,
	UGST_UGDS_DRIVER_NOT_INITIALIZED = 5001,
	UGST_UGDS_PLATFORM_NOT_SUPPORTED = 5007,
	UGST_UGDS_IO_NOT_SUPPORTED = 5008,
	UGST_UGDS_GPU_DRIVER_ERROR = 5011,
	UGST_UGDS_INVALID_FILE_TYPE = 5018,
	UGST_UGDS_INVALID_VALUE = 5022,
	UGST_UGDS_ALREADY_REGISTERED = 5023,
	UGST_UGDS_NOT_REGISTERED = 5024,
	UGST_UGDS_HANDLE_NOT_REGISTERED = 5027,
	UGST_UGDS_INTERNAL_ERROR = 5030,
	UGST_UGDS_PINNING_FAILED = 5036,
	UGST_UGDS_BATCH_CAPACITY_EXCEEDED = 5040,
	UGST_UGDS_BUSY = 5042,
	UGST_UGDS_OUT_OF_MEMORY = 5043
};

struct ugst_ugds_error {
	int code; /* enum ugst_ugds_code */
	int gpu_code;
};

#define UGST_UGDS_HANDLE_TYPE_FD 1

struct ugst_ugds_descr {
	int type;
	union {
		int fd;
		void *handle;
	} u;
};

#define UGST_UGDS_READ 0

enum ugst_ugds_event_status {
	UGST_UGDS_WAITING = 0x01,
	UGST_UGDS_PENDING = 0x02,
	UGST_UGDS_INVALID = 0x04,
	UGST_UGDS_COMPLETE = 0x10,
	UGST_UGDS_TIMEOUT = 0x20,
	UGST_UGDS_FAILED = 0x40
};

/* One batch entry. */
struct ugst_ugds_params {
	void *base;       /* as registered */
	off_t device_off; /* multiple of the LBA size */
	off_t buffer_off; /* multiple of 4096 */
	size_t bytes;     /* multiple of the LBA size */
	int opcode;
	void *cookie;
};

struct ugst_ugds_event {
	void *cookie;
	int status; /* enum ugst_ugds_event_status */
	ssize_t ret;
};

/* Entries that one batch holds. */
#define UGST_UGDS_BATCH_ENTRIES 128u

_Static_assert(sizeof(struct ugst_ugds_error) == 8, "uGDSError_t");
_Static_assert(sizeof(struct ugst_ugds_descr) == 16, "uGDSDescr_t");
_Static_assert(sizeof(struct ugst_ugds_params) == 48, "uGDSIOParams_t");
_Static_assert(sizeof(struct ugst_ugds_event) == 24, "uGDSIOEvents_t");

#endif /* UGST_UGDS_ABI_H */
