/* SPDX-License-Identifier: BSD-3-Clause */
/* dtype.h - element types by the format's spelling. */
#ifndef UGST_DTYPE_H
#define UGST_DTYPE_H

#include "base/common.h"

/* The dtype (enum ugds_st_dtype) spelled by bytes of name; 0: none. */
int ugst_dtype_from_name(const char *name, size_t name_bytes);

#endif /* UGST_DTYPE_H */
