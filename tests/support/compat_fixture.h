/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * compat_fixture.h - a file of known bytes behind compatibility mode.
 *
 * Each test starts with one handle on an 8 MiB file, one registered buffer of
 * 4 MiB filled with FILL, and a batch of 128.
 */
#ifndef UGST_TEST_COMPAT_FIXTURE_H
#define UGST_TEST_COMPAT_FIXTURE_H

#include "base/common.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "devices/ugds.h"
#include "devices/ugds_compat_script.h"

#define MIB ((size_t)UGST_MIB)
#define FILE_BYTES (16 * MIB)
#define BUF_BYTES (8 * MIB)
#define COMMAND_BYTES (4 * MIB)
#define FILL 0xA5

struct fixture {
	const struct ugst_ugds *ugds;
	char path[128];
	int fd;
	uint64_t device_id;
	void *handle;
	void *batch;
	uint8_t *buf;
};

/* The byte at an offset of the test file: repeats at no block size. */
static inline uint8_t pattern(uint64_t off)
{
	return (uint8_t)((off * 2654435761u) >> 13 ^ off / 4096);
}

/* A file of file_bytes; its path, to be unlinked. */
static inline void make_file(char *path, size_t path_bytes, size_t file_bytes)
{
	const char *dir = getenv("TMPDIR");
	uint8_t *bytes = malloc(file_bytes);
	int fd;

	assert_non_null(bytes);
	for (size_t i = 0; i < file_bytes; i++)
		bytes[i] = pattern(i);
	snprintf(path, path_bytes, "%s/ugst-compat-XXXXXX", dir ? dir : "/tmp");
	fd = mkstemp(path);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes, file_bytes), file_bytes);
	assert_int_equal(fsync(fd), 0);
	close(fd);
	free(bytes);
}

/* With O_DIRECT where the file system has it. */
static inline int open_direct(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_DIRECT);

	if (fd < 0)
		fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	return fd;
}

static inline int register_fd(struct fixture *f, int fd, void **handle_out)
{
	struct ugst_ugds_descr descr = {.type = UGST_UGDS_HANDLE_TYPE_FD,
	                                .u.fd = fd};

	return f->ugds->handle_register(handle_out, &descr).code;
}

/* Handle, buffer and batch of the fixture. */
static inline void connect_fixture(struct fixture *f)
{
	assert_int_equal(register_fd(f, f->fd, &f->handle), 0);
	assert_int_equal(f->ugds->buf_register(f->buf, BUF_BYTES, 0).code, 0);
	assert_int_equal(f->ugds->batch_setup(&f->batch, f->handle, 128).code,
	                 0);
}

static inline uint8_t *new_buffer(size_t bytes)
{
	uint8_t *buf = aligned_alloc(UGST_GPU_PAGE_BYTES, bytes);

	assert_non_null(buf);
	memset(buf, FILL, bytes);
	return buf;
}

static inline struct fixture *new_fixture(void)
{
	struct fixture *f = calloc(1, sizeof(*f));
	struct stat st;

	assert_non_null(f);
	f->ugds = ugst_ugds_compat();
	make_file(f->path, sizeof(f->path), FILE_BYTES);
	f->fd = open_direct(f->path);
	assert_int_equal(fstat(f->fd, &st), 0);
	f->device_id = st.st_ino;
	f->buf = new_buffer(BUF_BYTES);
	assert_int_equal(f->ugds->driver_open().code, 0);
	return f;
}

static inline void free_fixture(struct fixture *f)
{
	close(f->fd);
	unlink(f->path);
	free(f->buf);
	free(f);
}

static inline struct ugst_ugds_params entry(const struct fixture *f,
                                            uint64_t device_off,
                                            uint64_t buffer_off, size_t bytes,
                                            uintptr_t cookie)
{
	return (struct ugst_ugds_params){.base = f->buf,
	                                 .device_off = (off_t)device_off,
	                                 .buffer_off = (off_t)buffer_off,
	                                 .bytes = bytes,
	                                 .opcode = UGST_UGDS_READ,
	                                 .cookie = (void *)cookie};
}

static inline int submit(struct fixture *f, struct ugst_ugds_params p)
{
	return f->ugds->batch_submit(f->batch, 1, &p, 0).code;
}

/* The nth MiB of the file to the nth of the buffer, n as cookie. */
static inline int submit_mib(struct fixture *f, unsigned n)
{
	return submit(f, entry(f, n * MIB, n * MIB, MIB, n));
}

/* Events that come within ms, at most 128. */
static inline unsigned events_within(struct fixture *f, unsigned min_count,
                                     long ms, struct ugst_ugds_event *events)
{
	struct timespec timeout = {ms / 1000, ms % 1000 * 1000000};
	unsigned count = 0;

	assert_int_equal(f->ugds->batch_status(f->batch, min_count, &count,
	                                       events, &timeout)
	                         .code,
	                 0);
	return count;
}

/* The one event that comes within 10 s. */
static inline struct ugst_ugds_event one_event(struct fixture *f)
{
	struct ugst_ugds_event events[128];

	assert_int_equal(events_within(f, 1, 10000, events), 1);
	return events[0];
}

static inline void assert_event(struct ugst_ugds_event event, uintptr_t cookie,
                                int status, ssize_t ret)
{
	assert_int_equal((uintptr_t)event.cookie, cookie);
	assert_int_equal(event.status, status);
	assert_int_equal(event.ret, ret);
}

/* bytes at buffer_off are the file's at device_off. */
static inline void assert_data(const struct fixture *f, uint64_t buffer_off,
                               uint64_t device_off, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++)
		if (f->buf[buffer_off + i] != pattern(device_off + i))
			fail_msg("buffer byte %zu: %#x, expected %#x",
			         (size_t)buffer_off + i, f->buf[buffer_off + i],
			         pattern(device_off + i));
}

static inline void assert_untouched(const struct fixture *f, uint64_t begin,
                                    uint64_t end)
{
	for (uint64_t i = begin; i < end; i++)
		if (f->buf[i] != FILL)
			fail_msg("buffer byte %zu was written", (size_t)i);
}

#endif /* UGST_TEST_COMPAT_FIXTURE_H */
