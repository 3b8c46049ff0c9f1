/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * abi.c - what we know of uGDS's binary interface, against its own header.
 *
 * Compiled by run.sh where UGDS_INC says where that header is; it makes no
 * program.
 */
#include "devices/ugds.h"

#include <ugds.h>

#define SAME(ours, theirs) _Static_assert((int)(ours) == (int)(theirs), #theirs)
#define SAME_MEMBER(ours, our_member, theirs, their_member)                 \
	_Static_assert(offsetof(struct ours, our_member) ==                 \
	                               offsetof(theirs, their_member) &&    \
	                       sizeof(((struct ours *)0)->our_member) ==    \
	                               sizeof(((theirs *)0)->their_member), \
	               #theirs "." #their_member)
SAME(sizeof(struct ugst_ugds_error), sizeof(uGDSError_t));
SAME(sizeof(struct ugst_ugds_descr), sizeof(uGDSDescr_t));
SAME(sizeof(struct ugst_ugds_params), sizeof(uGDSIOParams_t));
SAME(sizeof(struct ugst_ugds_event), sizeof(uGDSIOEvents_t));

SAME_MEMBER(ugst_ugds_error, code, uGDSError_t, err);
SAME_MEMBER(ugst_ugds_error, gpu_code, uGDSError_t, cu_err);
SAME_MEMBER(ugst_ugds_descr, type, uGDSDescr_t, type);
SAME_MEMBER(ugst_ugds_descr, u.fd, uGDSDescr_t, handle.fd);
SAME_MEMBER(ugst_ugds_params, base, uGDSIOParams_t, devPtr_base);
SAME_MEMBER(ugst_ugds_params, device_off, uGDSIOParams_t, file_offset);
SAME_MEMBER(ugst_ugds_params, buffer_off, uGDSIOParams_t, devPtr_offset);
SAME_MEMBER(ugst_ugds_params, bytes, uGDSIOParams_t, size);
SAME_MEMBER(ugst_ugds_params, opcode, uGDSIOParams_t, opcode);
SAME_MEMBER(ugst_ugds_params, cookie, uGDSIOParams_t, cookie);
SAME_MEMBER(ugst_ugds_event, cookie, uGDSIOEvents_t, cookie);
SAME_MEMBER(ugst_ugds_event, status, uGDSIOEvents_t, status);
SAME_MEMBER(ugst_ugds_event, ret, uGDSIOEvents_t, ret);

/* Every call that an engine lends has uGDS's name. */
const struct ugds_st_ugds_calls calls = UGDS_ST_UGDS_CALLS_INIT;

SAME(UGST_UGDS_HANDLE_TYPE_FD, UGDS_HANDLE_TYPE_OPAQUE_FD);
SAME(UGST_UGDS_READ, UGDS_READ);
SAME(UGST_UGDS_WAITING, UGDS_BATCH_WAITING);
SAME(UGST_UGDS_PENDING, UGDS_BATCH_PENDING);
SAME(UGST_UGDS_INVALID, UGDS_BATCH_INVALID);
SAME(UGST_UGDS_COMPLETE, UGDS_BATCH_COMPLETE);
SAME(UGST_UGDS_TIMEOUT, UGDS_BATCH_TIMEOUT);
SAME(UGST_UGDS_FAILED, UGDS_BATCH_FAILED);

SAME(UGST_UGDS_OK, UGDS_SUCCESS);
SAME(UGST_UGDS_DRIVER_NOT_INITIALIZED, UGDS_DRIVER_NOT_INITIALIZED);
SAME(UGST_UGDS_PLATFORM_NOT_SUPPORTED, UGDS_PLATFORM_NOT_SUPPORTED);
SAME(UGST_UGDS_IO_NOT_SUPPORTED, UGDS_IO_NOT_SUPPORTED);
SAME(UGST_UGDS_GPU_DRIVER_ERROR, UGDS_CUDA_DRIVER_ERROR);
SAME(UGST_UGDS_INVALID_FILE_TYPE, UGDS_INVALID_FILE_TYPE);
SAME(UGST_UGDS_INVALID_VALUE, UGDS_INVALID_VALUE);
SAME(UGST_UGDS_ALREADY_REGISTERED, UGDS_MEMORY_ALREADY_REGISTERED);
SAME(UGST_UGDS_NOT_REGISTERED, UGDS_MEMORY_NOT_REGISTERED);
SAME(UGST_UGDS_HANDLE_NOT_REGISTERED, UGDS_HANDLE_NOT_REGISTERED);
SAME(UGST_UGDS_INTERNAL_ERROR, UGDS_INTERNAL_ERROR);
SAME(UGST_UGDS_PINNING_FAILED, UGDS_GPU_MEMORY_PINNING_FAILED);
SAME(UGST_UGDS_BATCH_CAPACITY_EXCEEDED, UGDS_BATCH_CAPACITY_EXCEEDED);
SAME(UGST_UGDS_BUSY, UGDS_BUSY);
SAME(UGST_UGDS_OUT_OF_MEMORY, UGDS_OUT_OF_MEMORY);
