/* SPDX-License-Identifier: BSD-3-Clause */
/* wrap.c - make the Nth call fail; see wrap.h. */
#include "fault/wrap.h"

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

#include <cjson/cJSON.h>

#define LIVE_MAX 65536u

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static enum wrap_class armed_class;
static unsigned long armed_at;
static bool armed_on;
static bool armed;
static unsigned long calls;
static void *live[LIVE_MAX];
static size_t live_count;

void *__real_malloc(size_t bytes);
void *__real_calloc(size_t count, size_t bytes);
void *__real_reallocarray(void *ptr, size_t count, size_t bytes);
int __real_posix_memalign(void **out, size_t align, size_t bytes);
void __real_free(void *ptr);
ssize_t __real_pread64(int fd, void *buf, size_t bytes, int64_t off);
ssize_t __real_pwrite64(int fd, const void *buf, size_t bytes, int64_t off);
ssize_t __real_read(int fd, void *buf, size_t bytes);
ssize_t __real_write(int fd, const void *buf, size_t bytes);
int __real_fsync(int fd);
int __real_fdatasync(int fd);
int __real_rename(const char *from, const char *to);
int __real_unlink(const char *path);
int __real_pthread_create(pthread_t *out, const pthread_attr_t *attr,
                          void *(*start)(void *), void *arg);

void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes);
void *__wrap_reallocarray(void *ptr, size_t count, size_t bytes);
int __wrap_posix_memalign(void **out, size_t align, size_t bytes);
int __wrap_vasprintf(char **out, const char *fmt, va_list args);
void __wrap_free(void *ptr);
ssize_t __wrap_pread64(int fd, void *buf, size_t bytes, int64_t off);
ssize_t __wrap_pwrite64(int fd, const void *buf, size_t bytes, int64_t off);
ssize_t __wrap_read(int fd, void *buf, size_t bytes);
ssize_t __wrap_write(int fd, const void *buf, size_t bytes);
int __wrap_fsync(int fd);
int __wrap_fdatasync(int fd);
int __wrap_rename(const char *from, const char *to);
int __wrap_unlink(const char *path);
int __wrap_pthread_create(pthread_t *out, const pthread_attr_t *attr,
                          void *(*start)(void *), void *arg);

static bool fails(enum wrap_class what)
{
	bool result;

	pthread_mutex_lock(&mutex);
	if (armed && what == armed_class)
		calls++;
	result = armed && what == armed_class && armed_at &&
	         (calls == armed_at || (armed_on && calls > armed_at));
	pthread_mutex_unlock(&mutex);
	return result;
}

void wrap_arm(enum wrap_class what, unsigned long at, bool on)
{
	/* cJSON's own allocations are in another library. */
	cJSON_Hooks hooks = {__wrap_malloc, __wrap_free};

	cJSON_InitHooks(&hooks);
	armed_class = what;
	armed_at = at;
	armed_on = on;
	calls = 0;
	live_count = 0;
	armed = true;
}

void wrap_disarm(void)
{
	armed = false;
}

unsigned long wrap_calls(void)
{
	return calls;
}

size_t wrap_live(void)
{
	return live_count;
}

/* ---------------------------------------------------------- allocations */

static void *born(void *ptr)
{
	pthread_mutex_lock(&mutex);
	if (armed && ptr) {
		if (live_count == LIVE_MAX)
			abort();
		live[live_count++] = ptr;
	}
	pthread_mutex_unlock(&mutex);
	return ptr;
}

static void dies(const void *ptr)
{
	pthread_mutex_lock(&mutex);
	for (size_t i = live_count; i-- > 0;)
		if (live[i] == ptr) {
			live[i] = live[--live_count];
			break;
		}
	pthread_mutex_unlock(&mutex);
}

static void *no_memory(void)
{
	errno = ENOMEM;
	return NULL;
}

void *__wrap_malloc(size_t bytes)
{
	return fails(WRAP_MEMORY) ? no_memory() : born(__real_malloc(bytes));
}

void *__wrap_calloc(size_t count, size_t bytes)
{
	return fails(WRAP_MEMORY) ? no_memory()
	                          : born(__real_calloc(count, bytes));
}

void *__wrap_reallocarray(void *ptr, size_t count, size_t bytes)
{
	void *moved;

	if (fails(WRAP_MEMORY))
		return no_memory();
	moved = __real_reallocarray(ptr, count, bytes);
	if (moved) {
		dies(ptr);
		(void)born(moved);
	}
	return moved;
}

int __wrap_posix_memalign(void **out, size_t align, size_t bytes)
{
	int result;

	if (fails(WRAP_MEMORY))
		return ENOMEM;
	result = __real_posix_memalign(out, align, bytes);
	if (result == 0)
		(void)born(*out);
	return result;
}

int __wrap_vasprintf(char **out, const char *fmt, va_list args)
{
	va_list again;
	int bytes;

	va_copy(again, args);
	bytes = vsnprintf(NULL, 0, fmt, again);
	va_end(again);
	*out = __wrap_malloc((size_t)bytes + 1);
	return *out ? vsnprintf(*out, (size_t)bytes + 1, fmt, args) : -1;
}

void __wrap_free(void *ptr)
{
	dies(ptr);
	__real_free(ptr);
}

int __wrap_pthread_create(pthread_t *out, const pthread_attr_t *attr,
                          void *(*start)(void *), void *arg)
{
	return fails(WRAP_MEMORY)
	               ? EAGAIN
	               : __real_pthread_create(out, attr, start, arg);
}

/* ---------------------------------------------------------------- calls */

static bool fails_io(void)
{
	if (!fails(WRAP_CALLS))
		return false;
	errno = EIO;
	return true;
}

/* Every other transfer is interrupted; the others do a part that O_DIRECT
 * takes. */
static bool cut_short(size_t *bytes)
{
	bool interrupted;

	if (!armed || armed_class != WRAP_SHORT)
		return false;
	pthread_mutex_lock(&mutex);
	interrupted = ++calls % 2;
	pthread_mutex_unlock(&mutex);
	if (interrupted) {
		errno = EINTR;
		return true;
	}
	if (*bytes > 4096)
		*bytes = (*bytes / 2 + 4095) / 4096 * 4096;
	return false;
}

ssize_t __wrap_pread64(int fd, void *buf, size_t bytes, int64_t off)
{
	return fails_io() || cut_short(&bytes)
	               ? -1
	               : __real_pread64(fd, buf, bytes, off);
}

ssize_t __wrap_pwrite64(int fd, const void *buf, size_t bytes, int64_t off)
{
	return fails_io() || cut_short(&bytes)
	               ? -1
	               : __real_pwrite64(fd, buf, bytes, off);
}

ssize_t __wrap_read(int fd, void *buf, size_t bytes)
{
	return fails_io() || cut_short(&bytes) ? -1
	                                       : __real_read(fd, buf, bytes);
}

ssize_t __wrap_write(int fd, const void *buf, size_t bytes)
{
	return fails_io() || cut_short(&bytes) ? -1
	                                       : __real_write(fd, buf, bytes);
}

int __wrap_fsync(int fd)
{
	return fails_io() ? -1 : __real_fsync(fd);
}

int __wrap_fdatasync(int fd)
{
	return fails_io() ? -1 : __real_fdatasync(fd);
}

int __wrap_rename(const char *from, const char *to)
{
	return fails_io() ? -1 : __real_rename(from, to);
}

int __wrap_unlink(const char *path)
{
	return fails_io() ? -1 : __real_unlink(path);
}
