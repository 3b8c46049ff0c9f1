/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pinned.c - numbers and sizes that programs out there were compiled with.
 *
 * Compiling it is the test, as C11 and as C++17. A line that fails here means
 * that a program built against an older header would misread ours: append,
 * never change. Sizes are those of LP64.
 */
#include <stddef.h>

#include "ugds_st.h"
#include "ugds_st_import.h"

#ifdef __cplusplus
#define PIN(what) static_assert(what, #what)
#else
#define PIN(what) _Static_assert(what, #what)
#endif

PIN(UGDS_ST_OK == 0);
PIN(UGDS_ST_INVALID_ARG == 1);
PIN(UGDS_ST_NOT_FOUND == 2);
PIN(UGDS_ST_FORMAT == 3);
PIN(UGDS_ST_MISMATCH == 4);
PIN(UGDS_ST_CORRUPT == 5);
PIN(UGDS_ST_UNSUPPORTED == 6);
PIN(UGDS_ST_NO_MEMORY == 7);
PIN(UGDS_ST_IO == 8);
PIN(UGDS_ST_BUSY == 9);
PIN(UGDS_ST_TIMEOUT == 10);
PIN(UGDS_ST_DEVICE_LOST == 11);
PIN(UGDS_ST_NO_SPACE == 12);

PIN(UGDS_ST_DTYPE_BOOL == 1);
PIN(UGDS_ST_DTYPE_F4 == 2);
PIN(UGDS_ST_DTYPE_F6_E2M3 == 3);
PIN(UGDS_ST_DTYPE_F6_E3M2 == 4);
PIN(UGDS_ST_DTYPE_U8 == 5);
PIN(UGDS_ST_DTYPE_I8 == 6);
PIN(UGDS_ST_DTYPE_F8_E5M2 == 7);
PIN(UGDS_ST_DTYPE_F8_E4M3 == 8);
PIN(UGDS_ST_DTYPE_F8_E8M0 == 9);
PIN(UGDS_ST_DTYPE_F8_E4M3FNUZ == 10);
PIN(UGDS_ST_DTYPE_F8_E5M2FNUZ == 11);
PIN(UGDS_ST_DTYPE_I16 == 12);
PIN(UGDS_ST_DTYPE_U16 == 13);
PIN(UGDS_ST_DTYPE_F16 == 14);
PIN(UGDS_ST_DTYPE_BF16 == 15);
PIN(UGDS_ST_DTYPE_I32 == 16);
PIN(UGDS_ST_DTYPE_U32 == 17);
PIN(UGDS_ST_DTYPE_F32 == 18);
PIN(UGDS_ST_DTYPE_C64 == 19);
PIN(UGDS_ST_DTYPE_F64 == 20);
PIN(UGDS_ST_DTYPE_I64 == 21);
PIN(UGDS_ST_DTYPE_U64 == 22);

PIN(UGDS_ST_PROVIDER_AUTO == 0);
PIN(UGDS_ST_PROVIDER_UGDS == 1);
PIN(UGDS_ST_PROVIDER_COMPAT == 2);
PIN(UGDS_ST_PLACED_NONE == 0);
PIN(UGDS_ST_PLACED_DIRECT == 1);
PIN(UGDS_ST_PLACED_EDGES == 2);
PIN(UGDS_ST_PLACED_STAGED == 3);
PIN(UGDS_ST_OPEN_COMMON_BUS == 1);
PIN(UGDS_ST_OPEN_DEGRADED_OK == 2);
PIN(UGDS_ST_CLOSE_ABANDON == 1);
PIN(UGDS_ST_REGISTERED == 1);
PIN(UGDS_ST_DEMAND == 0);
PIN(UGDS_ST_BACKGROUND == 1);

/* The one struct without struct_size: its size is for ever. */
PIN(sizeof(struct ugds_st_error) == 512);
PIN(offsetof(struct ugds_st_error, offset) == 16);
PIN(offsetof(struct ugds_st_error, text) == 56);

/* These may grow at their end. */
PIN(offsetof(struct ugds_st_memory_ops, error_text) == 64);
PIN(offsetof(struct ugds_st_memory_ops, staging) == 80);
PIN(sizeof(struct ugds_st_memory_ops) == 88);
PIN(offsetof(struct ugds_st_open_opts, devices) == 8);
PIN(offsetof(struct ugds_st_open_opts, memory) == 56);
PIN(offsetof(struct ugds_st_open_opts, flags) == 76);
PIN(offsetof(struct ugds_st_open_opts, ugds_calls) == 80);
PIN(sizeof(struct ugds_st_open_opts) == 88);
PIN(offsetof(struct ugds_st_ugds_calls, driver_open) == 8);
PIN(offsetof(struct ugds_st_ugds_calls, batch_destroy) == 80);
PIN(sizeof(struct ugds_st_ugds_calls) == 88);
PIN(offsetof(struct ugds_st_store_info, generation) == 32);
PIN(sizeof(struct ugds_st_store_info) == 80);
PIN(offsetof(struct ugds_st_info, payload_bytes) == 40);
PIN(offsetof(struct ugds_st_info, skew_bytes) == 96);
PIN(sizeof(struct ugds_st_info) == 104);
PIN(offsetof(struct ugds_st_read, dst) == 32);
PIN(offsetof(struct ugds_st_read, status) == 56);
PIN(sizeof(struct ugds_st_read) == 64);
PIN(offsetof(struct ugds_st_read_opts, ready) == 24);
PIN(sizeof(struct ugds_st_read_opts) == 40);
PIN(sizeof(struct ugds_st_stats) == 88);

PIN(UGDS_ST_IMPORT_SPARSE == 1);
PIN(UGDS_ST_IMPORT_FORCE == 2);
PIN(UGDS_ST_IMPORT_VERIFY == 1);
PIN(offsetof(struct ugds_st_import_format_opts, replace_uuid) == 20);
PIN(sizeof(struct ugds_st_import_format_opts) == 56);
PIN(offsetof(struct ugds_st_import_opts, flags) == 56);
PIN(offsetof(struct ugds_st_import_opts, copies) == 88);
PIN(sizeof(struct ugds_st_import_opts) == 96);
PIN(offsetof(struct ugds_st_import_result, published) == 72);
PIN(sizeof(struct ugds_st_import_result) == 80);
PIN(offsetof(struct ugds_st_import_drop_opts, devices) == 32);
PIN(sizeof(struct ugds_st_import_drop_opts) == 64);
PIN(sizeof(struct ugds_st_import_drop_result) == 48);
PIN(sizeof(struct ugds_st_import_adopt_opts) == 24);

/* The INIT macros fill every field: nothing is left for a warning. */
struct ugds_st_open_opts open_opts = UGDS_ST_OPEN_OPTS_INIT;
struct ugds_st_read read_request = UGDS_ST_READ_INIT;
struct ugds_st_read_opts read_opts = UGDS_ST_READ_OPTS_INIT;
struct ugds_st_import_format_opts format_opts = UGDS_ST_IMPORT_FORMAT_OPTS_INIT;
struct ugds_st_import_opts import_opts = UGDS_ST_IMPORT_OPTS_INIT;
struct ugds_st_import_drop_opts drop_opts = UGDS_ST_IMPORT_DROP_OPTS_INIT;
struct ugds_st_import_adopt_opts adopt_opts = UGDS_ST_IMPORT_ADOPT_OPTS_INIT;
