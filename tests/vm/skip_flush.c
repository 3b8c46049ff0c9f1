/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * skip_flush.c - preloaded: a program that forgets a flush.
 *
 * SKIP_FDATASYNC=N: its Nth fdatasync() says that it succeeded and does
 * nothing. SKIP_FSYNC=N likewise. 0: all of them. SKIP_DIRECT: files are
 * opened without O_DIRECT. All three spare the host's disk where states that a
 * cut has left are looked at.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

int fdatasync(int fd);
int fsync(int fd);
int open(const char *path, int flags, ...);
int open64(const char *path, int flags, ...);

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

static int open_with(const char *name, const char *path, int flags, int mode)
{
	void *symbol = dlsym(RTLD_NEXT, name);
	int (*function)(const char *, int, ...);

	memcpy(&function, &symbol, sizeof(function));
	if (getenv("SKIP_DIRECT"))
		flags &= ~O_DIRECT;
	return function(path, flags, mode);
}

int open(const char *path, int flags, ...)
{
	va_list args;
	int mode;

	va_start(args, flags);
	mode = flags & (O_CREAT | __O_TMPFILE) ? va_arg(args, int) : 0;
	va_end(args);
	return open_with("open", path, flags, mode);
}

int open64(const char *path, int flags, ...)
{
	va_list args;
	int mode;

	va_start(args, flags);
	mode = flags & (O_CREAT | __O_TMPFILE) ? va_arg(args, int) : 0;
	va_end(args);
	return open_with("open64", path, flags, mode);
}
