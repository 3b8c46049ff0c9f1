/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * opts.h - structs that grow: struct_size is their first field.
 */
#ifndef UGST_OPTS_H
#define UGST_OPTS_H

#include "base/common.h"

/*
 * ugst_opts_read() - take a caller's struct.
 *
 * @opts_out: known_bytes of room; what the caller's struct has not is 0.
 * @opts: the caller's; NULL: all 0.
 * @what: its name, for the text.
 * Return: OK; INVALID_ARG (no size, or bytes set that are not known here).
 */
int ugst_opts_read(void *opts_out, size_t known_bytes, const void *opts,
                   const char *what, struct ugds_st_error *err);

/*
 * ugst_opts_write() - fill a caller's struct, as far as it goes.
 *
 * Its struct_size stays.
 * Return: OK; INVALID_ARG (smaller than its struct_size field).
 */
int ugst_opts_write(void *opts_out, const void *filled, size_t known_bytes);

#endif /* UGST_OPTS_H */
