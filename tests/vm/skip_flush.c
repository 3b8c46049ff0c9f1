/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * skip_flush.c - preloaded: a program that forgets one flush.
 *
 * SKIP_FDATASYNC=N: its Nth fdatasync() says that it succeeded and does
 * nothing. SKIP_FSYNC=N likewise. 0: all of them.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

int fdatasync(int fd);
int fsync(int fd);

static int is_skipped(const char *name, unsigned long *count)
{
	const char *wanted = getenv(name);
	unsigned long number = wanted ? strtoul(wanted, NULL, 10) : 0;

	++*count;
	return wanted && (number == 0 || number == *count);
}

static int call(const char *name, int fd)
{
	void *symbol = dlsym(RTLD_NEXT, name);
	int (*function)(int);

	memcpy(&function, &symbol, sizeof(function));
	return function(fd);
}

int fdatasync(int fd)
{
	static unsigned long count;

	return is_skipped("SKIP_FDATASYNC", &count) ? 0 : call("fdatasync", fd);
}

int fsync(int fd)
{
	static unsigned long count;

	return is_skipped("SKIP_FSYNC", &count) ? 0 : call("fsync", fd);
}
