/* SPDX-License-Identifier: BSD-3-Clause */
/* opts.h - structs that callers fill: read as much as both sides know. */
#ifndef UGST_IMPORT_OPTS_H
#define UGST_IMPORT_OPTS_H

#include "base/common.h"

/*
 * ugst_opts_read() - a caller's struct, by its struct_size.
 *
 * @own: known_bytes, zeroed: defaults.
 * @given: NULL: defaults.
 * Return: OK; INVALID_ARG (smaller than struct_size itself, or larger with
 * bytes that are not zero where this library knows nothing).
 */
int ugst_opts_read(void *own, size_t known_bytes, const void *given,
                   struct ugds_st_error *err);

/* Fill a struct of the caller's, as far as its struct_size says. own has all of
 * it but struct_size. Return: OK; INVALID_ARG. */
int ugst_opts_write(void *given, void *own, size_t known_bytes);

#endif /* UGST_IMPORT_OPTS_H */
