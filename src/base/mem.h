/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * mem.h - host memory, with every size product checked.
 *
 * All of it is freed with free(). NULL is out of memory, and nothing else.
 */
#ifndef UGST_MEM_H
#define UGST_MEM_H

#include <stdlib.h>

#include "base/common.h"

/* count zeroed elements; never NULL for count 0. */
void *ugst_calloc(size_t count, size_t each_bytes);

/* array grown or shrunk to count elements; on NULL the array stays. */
void *ugst_reallocarray(void *array, size_t count, size_t each_bytes);

/*
 * ugst_grow() - room for one more element.
 *
 * Doubles *capacity when count has reached it.
 * Return: the array, maybe moved; NULL: out of memory, the array stays.
 */
void *ugst_grow(void *array, size_t count, size_t *capacity, size_t each_bytes);

/* bytes at a multiple of align, a power of two; not zeroed. */
void *ugst_alloc_aligned(size_t bytes, size_t align);

char *ugst_strdup(const char *text);

/* text_bytes of text, ended by a NUL. */
char *ugst_strndup(const char *text, size_t text_bytes);

char *ugst_printf(const char *fmt, ...) UGST_PRINTF(1, 2);

#endif /* UGST_MEM_H */
