/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * common.h - first include of every source file.
 *
 * Sets what the compiler flags set too (-D_GNU_SOURCE -D_FILE_OFFSET_BITS=64),
 * brings the public header, and the few things every file needs.
 */
#ifndef UGST_COMMON_H
#define UGST_COMMON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "ugds_st.h"

/* Marks a function that the shared library exports. */
#define UGST_API __attribute__((visibility("default")))

#define UGST_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))

#define UGST_COUNT(array) (sizeof(array) / sizeof((array)[0]))

#define UGST_KIB ((uint64_t)1 << 10)
#define UGST_MIB ((uint64_t)1 << 20)
#define UGST_GIB ((uint64_t)1 << 30)

/* What uGDS asks of a buffer offset: the host page, whatever the LBA size. */
#define UGST_PAGE_BYTES ((uint64_t)4096)
/* What uGDS asks of a registration's base and length: the GPU page. */
#define UGST_GPU_PAGE_BYTES ((uint64_t)65536)

#endif /* UGST_COMMON_H */
