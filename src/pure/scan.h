/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * scan.h - strict JSON (RFC 8259) over bytes: the token scanner under
 * header.c, index.c and json.c.
 */
#ifndef UGST_SCAN_H
#define UGST_SCAN_H

#include "base/common.h"

/*
 * ugst_scan_document() - is this one strict JSON document and nothing else?
 *
 * Refuses what cJSON lets pass: numbers such as 01 or +1, bytes behind the
 * root, a byte order mark, raw control characters, text that is not UTF-8,
 * half surrogate pairs, \u0000, depth above 64, and a member name twice in one
 * object (after unescaping).
 *
 * err->offset is the byte.
 * Return: OK; FORMAT; NO_MEMORY.
 */
int ugst_scan_document(const char *text, size_t bytes,
                       struct ugds_st_error *err);

#endif /* UGST_SCAN_H */
