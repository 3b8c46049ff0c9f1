/* SPDX-License-Identifier: BSD-3-Clause */
/* mem.c - host memory; see mem.h. */
#include "base/common.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/mem.h"

void *ugst_calloc(size_t count, size_t each_bytes)
{
	return calloc(count ? count : 1, each_bytes);
}

void *ugst_reallocarray(void *array, size_t count, size_t each_bytes)
{
	return reallocarray(array, count ? count : 1, each_bytes);
}

void *ugst_grow(void *array, size_t count, size_t *capacity, size_t each_bytes)
{
	size_t wanted = *capacity ? *capacity * 2 : 16;
	void *grown;

	if (count < *capacity)
		return array;
	grown = ugst_reallocarray(array, wanted, each_bytes);
	if (grown)
		*capacity = wanted;
	return grown;
}

void *ugst_alloc_aligned(size_t bytes, size_t align)
{
	void *ptr = NULL;

	if (align < sizeof(void *))
		align = sizeof(void *);
	return posix_memalign(&ptr, align, bytes ? bytes : 1) ? NULL : ptr;
}

char *ugst_strdup(const char *text)
{
	return ugst_strndup(text, strlen(text));
}

char *ugst_strndup(const char *text, size_t text_bytes)
{
	char *copy = malloc(text_bytes + 1);

	if (!copy)
		return NULL;
	memcpy(copy, text, text_bytes);
	copy[text_bytes] = '\0';
	return copy;
}

char *ugst_printf(const char *fmt, ...)
{
	char *text = NULL;
	va_list args;
	int bytes;

	va_start(args, fmt);
	bytes = vasprintf(&text, fmt, args);
	va_end(args);
	return bytes < 0 ? NULL : text;
}
