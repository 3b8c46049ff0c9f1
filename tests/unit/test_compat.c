/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_compat.c - compatibility mode keeps uGDS's rules, one test for each.
 *
 * Expected codes are those of uGDS's documentation and of its behaviour as
 * docs/design.md records it.
 */
#include "base/common.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "devices/ugds.h"
#include "devices/ugds_compat_script.h"

#define FILE_BYTES (8 * UGST_MIB)
#define BUF_BYTES (4 * UGST_MIB)
#define MIB ((size_t)UGST_MIB)

struct fixture {
	const struct ugst_ugds *ugds;
	char path[64];
	int fd;
	void *handle;
	uint8_t *buf;
	void *batch;
};

/* The byte at an offset of the test file: not periodic in any block size. */
static uint8_t pattern(uint64_t off)
{
	return (uint8_t)((off * 2654435761u) >> 13 ^ off / 4096);
}

static int make_file(char *path, size_t path_bytes, int flags)
{
	const char *dir = getenv("TMPDIR");
	uint8_t *bytes = malloc(FILE_BYTES);
	int fd;

	assert_non_null(bytes);
	for (size_t i = 0; i < FILE_BYTES; i++)
		bytes[i] = pattern(i);
	snprintf(path, path_bytes, "%s/ugst-compat-XXXXXX", dir ? dir : "/tmp");
	fd = mkstemp(path);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes, FILE_BYTES), FILE_BYTES);
	assert_int_equal(fsync(fd), 0);
	close(fd);
	free(bytes);
	fd = open(path, O_RDONLY | O_CLOEXEC | flags);
	/* A file system without O_DIRECT: the same calls, buffered. */
	if (fd < 0 && flags)
		fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	return fd;
}

static struct ugst_ugds_descr descr(int fd)
{
	return (struct ugst_ugds_descr){.type = UGST_UGDS_HANDLE_TYPE_FD,
	                                .u.fd = fd};
}

static void register_handle(struct fixture *f)
{
	struct ugst_ugds_descr d = descr(f->fd);

	assert_int_equal(f->ugds->handle_register(&f->handle, &d).code, 0);
}

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	f->ugds = ugst_ugds_compat();
	f->fd = make_file(f->path, sizeof(f->path), O_DIRECT);
	f->buf = aligned_alloc(UGST_GPU_PAGE_BYTES, BUF_BYTES);
	assert_non_null(f->buf);
	memset(f->buf, 0xA5, BUF_BYTES);
	assert_int_equal(f->ugds->driver_open().code, 0);
	register_handle(f);
	assert_int_equal(f->ugds->buf_register(f->buf, BUF_BYTES, 0).code, 0);
	assert_int_equal(f->ugds->batch_setup(&f->batch, f->handle, 128).code,
	                 0);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	f->ugds->batch_destroy(f->batch);
	f->ugds->buf_deregister(f->buf);
	assert_int_equal(f->ugds->handle_deregister(f->handle, 0).code, 0);
	close(f->fd);
	unlink(f->path);
	free(f->buf);
	free(f);
	return 0;
}

static struct ugst_ugds_params entry(struct fixture *f, uint64_t device_off,
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

static void read_lands_where_asked(void **state)
{
	struct fixture *f = *state;
	struct ugst_ugds_params p = entry(f, 12288, 8192, 2 * MIB + 4096, 77);
	struct ugst_ugds_event events[4];
	unsigned count = 4;

	assert_int_equal(f->ugds->batch_submit(f->batch, 1, &p, 0).code, 0);
	assert_int_equal(
	    f->ugds->batch_status(f->batch, 1, &count, events, NULL).code, 0);
	assert_int_equal(count, 1);
	assert_int_equal(events[0].status, UGST_UGDS_COMPLETE);
	assert_int_equal(events[0].ret, p.bytes);
	assert_int_equal((uintptr_t)events[0].cookie, 77);
	for (size_t i = 0; i < BUF_BYTES; i++) {
		uint8_t want = 0xA5;

		if (i >= 8192 && i < 8192 + p.bytes)
			want = pattern(12288 + i - 8192);
		if (f->buf[i] != want)
			fail_msg("byte %zu: %#x, expected %#x", i, f->buf[i],
			         want);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(read_lands_where_asked, setup,
	                                    teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
