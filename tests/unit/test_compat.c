/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_compat.c - compatibility mode: driver, handles and buffers, one test for
 * each rule.
 *
 * Codes are uGDS's: what the real library answers to the same calls, or, where
 * it would move data elsewhere in silence, the refusal that takes its place.
 */
#include "support/compat_fixture.h"

#include <linux/loop.h>
#include <pthread.h>
#include <sys/ioctl.h>
#include <sys/mman.h>

static int setup(void **state)
{
	struct fixture *f = new_fixture();

	connect_fixture(f);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	f->ugds->batch_destroy(f->batch);
	assert_int_equal(f->ugds->buf_deregister(f->buf).code, 0);
	assert_int_equal(f->ugds->handle_deregister(f->handle, 0).code, 0);
	free_fixture(f);
	return 0;
}

static double now_s(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* Runs first: the driver cannot be closed again. */
static void driver_handle_buffer_is_the_order(void **state)
{
	const struct ugst_ugds *ugds = ugst_ugds_compat();
	struct ugst_ugds_descr descr = {.type = UGST_UGDS_HANDLE_TYPE_FD,
	                                .u.fd = 0};
	uint8_t *buf = new_buffer(65536);
	void *handle;

	(void)state;
	assert_int_equal(ugds->handle_register(&handle, &descr).code, 5001);
	assert_int_equal(ugds->buf_register(buf, 65536, 0).code, 5001);
	assert_int_equal(ugds->buf_deregister(buf).code, 5001);
	assert_int_equal(ugds->driver_open().code, 0);
	assert_int_equal(ugds->driver_open().code, 0);
	assert_int_equal(ugds->buf_register(buf, 65536, 0).code, 5001);
	assert_int_equal(ugds->buf_deregister(buf).code, 5024);
	free(buf);
}

static void handle_refuses_what_has_no_blocks(void **state)
{
	struct fixture *f = *state;
	struct ugst_ugds_descr descr = {.type = 2, .u.fd = f->fd};
	int null_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	void *handle;
	int fds[2];

	assert_int_equal(f->ugds->handle_register(NULL, &descr).code, 5022);
	assert_int_equal(f->ugds->handle_register(&handle, NULL).code, 5022);
	assert_int_equal(f->ugds->handle_register(&handle, &descr).code, 5018);
	assert_int_equal(register_fd(f, -1, &handle), 5030);
	assert_int_equal(register_fd(f, null_fd, &handle), 5030);
	assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
	assert_int_equal(register_fd(f, fds[0], &handle), 5030);
	close(fds[0]);
	close(fds[1]);
	close(null_fd);
}

/* Descriptors of the test file; *inherited_out: those that exec would keep. */
static unsigned open_fds(const struct fixture *f, unsigned *inherited_out)
{
	unsigned count = 0;
	struct stat st;

	*inherited_out = 0;
	for (int fd = 0; fd < 1024; fd++) {
		if (fstat(fd, &st) || st.st_ino != f->device_id)
			continue;
		count++;
		*inherited_out += !(fcntl(fd, F_GETFD) & FD_CLOEXEC);
	}
	return count;
}

static void handle_keeps_a_descriptor_of_its_own(void **state)
{
	struct fixture *f = *state;
	unsigned inherited;
	void *handle;

	assert_int_equal(open_fds(f, &inherited), 2);
	assert_int_equal(register_fd(f, f->fd, &handle), 0);
	assert_int_equal(open_fds(f, &inherited), 3);
	assert_int_equal(inherited, 0);
	assert_int_equal(f->ugds->handle_deregister(handle, -1).code, 0);
	assert_int_equal(open_fds(f, &inherited), 2);
	/* Reads go on after the caller's is closed. */
	close(f->fd);
	f->fd = -1;
	assert_int_equal(submit_mib(f, 1), 0);
	assert_event(one_event(f), 1, UGST_UGDS_COMPLETE, (ssize_t)MIB);
	assert_data(f, MIB, MIB, MIB);
}

static void capacity_is_whole_blocks(void **state)
{
	struct fixture *f = *state;
	uint64_t bytes = 7;
	char path[128];
	void *handle;
	int fd;

	assert_int_equal(f->ugds->device_capacity(f->handle, &bytes).code, 0);
	assert_int_equal(bytes, FILE_BYTES);
	assert_int_equal(f->ugds->device_capacity(f->handle, NULL).code, 5022);
	assert_int_equal(f->ugds->device_capacity(NULL, &bytes).code, 5022);
	assert_int_equal(f->ugds->device_capacity(f, &bytes).code, 5027);
	assert_int_equal(bytes, FILE_BYTES);

	make_file(path, sizeof(path), 3 * 4096 + 4095);
	fd = open_direct(path);
	assert_int_equal(register_fd(f, fd, &handle), 0);
	assert_int_equal(f->ugds->device_capacity(handle, &bytes).code, 0);
	assert_int_equal(bytes, 3 * 4096);
	assert_int_equal(f->ugds->handle_deregister(handle, 0).code, 0);
	assert_int_equal(truncate(path, 0), 0);
	assert_int_equal(register_fd(f, fd, &handle), 0);
	assert_int_equal(f->ugds->device_capacity(handle, &bytes).code, 5030);
	assert_int_equal(bytes, 3 * 4096);
	assert_int_equal(f->ugds->handle_deregister(handle, 0).code, 0);
	close(fd);
	unlink(path);
}

static void limits_are_those_of_a_file(void **state)
{
	struct fixture *f = *state;
	struct ugst_ugds_limits limits;

	assert_int_equal(ugst_ugds_compat_limits(f->handle, &limits), 0);
	assert_int_equal(limits.lba_bytes, 4096);
	assert_int_equal(limits.command_bytes, 4 * UGST_MIB);
	assert_int_equal(limits.window_commands, 32);
	assert_true(limits.wait_sleeps);
	assert_int_equal(ugst_ugds_compat_limits(f, &limits), -1);
	assert_int_equal(ugst_ugds_compat_limits(NULL, &limits), -1);
}

static void buffer_rules(void **state)
{
	struct fixture *f = *state;
	uint8_t *buf = new_buffer(4 * 65536);
	const struct {
		size_t off;
		size_t bytes;
		int flags;
		int code;
	} cases[] = {
		{0, 0, 0, 5022},
		{4096, 65536, 0, 5022},     /* the base is not 64 KiB */
		{0, 65536 + 4096, 0, 5022}, /* nor is the length */
		{0, SIZE_MAX & ~65535ul, 0, 5022},
		{0, 65536, 1, 5008},
		{0, 65536, 2, 5036},
		{65536, 65536, -1, 0},
		{65536, 65536, 0, 5023},
		{65536, 131072, 0, 5023}, /* the same base, any length */
		{0, 131072, 0, 5036},     /* end inside */
		{0, 262144, 0, 5036},     /* around it */
		{0, 65536, 0, 0},         /* neighbours may */
		{131072, 131072, 0, 0},
		{196608, 65536, 0, 5036}, /* begin inside */
	};

	assert_int_equal(f->ugds->buf_register(NULL, 65536, 0).code, 5022);
	for (size_t i = 0; i < UGST_COUNT(cases); i++) {
		int code = f->ugds->buf_register(buf + cases[i].off,
		                                 cases[i].bytes, cases[i].flags)
		                   .code;

		if (code != cases[i].code)
			fail_msg("case %zu: %d, expected %d", i, code,
			         cases[i].code);
	}
	assert_int_equal(f->ugds->buf_deregister(NULL).code, 5024);
	assert_int_equal(f->ugds->buf_deregister(buf + 4096).code, 5024);
	assert_int_equal(f->ugds->buf_deregister(buf + 196608).code, 5024);
	assert_int_equal(f->ugds->buf_deregister(buf).code, 0);
	assert_int_equal(f->ugds->buf_deregister(buf).code, 5024);
	assert_int_equal(f->ugds->buf_deregister(buf + 65536).code, 0);
	assert_int_equal(f->ugds->buf_deregister(buf + 131072).code, 0);
	free(buf);
}

static void buffers_survive_the_handle(void **state)
{
	struct fixture *f = *state;

	f->ugds->batch_destroy(f->batch);
	assert_int_equal(f->ugds->handle_deregister(f->handle, 0).code, 0);
	assert_int_equal(register_fd(f, f->fd, &f->handle), 0);
	assert_int_equal(f->ugds->batch_setup(&f->batch, f->handle, 128).code,
	                 0);
	assert_int_equal(submit_mib(f, 2), 0);
	assert_event(one_event(f), 2, UGST_UGDS_COMPLETE, (ssize_t)MIB);
}

static void *destroy_soon(void *arg)
{
	struct fixture *f = arg;
	struct ugst_ugds_params p = entry(f, 0, 0, 4096, 1);
	uint64_t bytes;

	usleep(100000);
	/* Closing: the old batch takes nothing more. */
	if (f->ugds->batch_submit(f->batch, 1, &p, 0).code != 5042 ||
	    f->ugds->device_capacity(f->handle, &bytes).code != 5027 ||
	    f->ugds->handle_deregister(f->handle, -1).code != 5042)
		return arg;
	f->ugds->batch_destroy(f->batch);
	return NULL;
}

static void deregister_waits_for_the_batch(void **state)
{
	struct fixture *f = *state;
	double wall = now_s(CLOCK_MONOTONIC);
	pthread_t thread;
	void *wrong;

	assert_int_equal(f->ugds->handle_deregister(NULL, 0).code, 0);
	assert_int_equal(f->ugds->handle_deregister(f, -1).code, 0);
	assert_int_equal(f->ugds->handle_deregister(f->handle, 0).code, 5042);
	assert_int_equal(f->ugds->handle_deregister(f->handle, 1).code, 5042);
	assert_in_range((uintmax_t)((now_s(CLOCK_MONOTONIC) - wall) * 1000),
	                999, 5000);
	/* Refused, it goes on working. */
	assert_int_equal(submit_mib(f, 1), 0);
	assert_event(one_event(f), 1, UGST_UGDS_COMPLETE, (ssize_t)MIB);
	assert_int_equal(pthread_create(&thread, NULL, destroy_soon, f), 0);
	assert_int_equal(f->ugds->handle_deregister(f->handle, -1).code, 0);
	pthread_join(thread, &wrong);
	assert_null(wrong);
	assert_int_equal(f->ugds->buf_deregister(f->buf).code, 0);
	connect_fixture(f);
}

static void handles_are_independent(void **state)
{
	struct fixture *f = *state;
	struct fixture other = *f;
	char path[128];

	make_file(path, sizeof(path), 2 * MIB);
	assert_int_equal(truncate(path, (off_t)MIB), 0);
	other.fd = open_direct(path);
	assert_int_equal(register_fd(f, other.fd, &other.handle), 0);
	assert_int_equal(
		f->ugds->batch_setup(&other.batch, other.handle, 2).code, 0);
	assert_int_equal(submit(&other, entry(f, 0, 0, MIB, 1)), 0);
	assert_int_equal(submit(f, entry(f, 5 * MIB, MIB, MIB, 2)), 0);
	assert_int_equal(submit(&other, entry(f, MIB, 2 * MIB, MIB, 3)), 0);
	assert_event(one_event(f), 2, UGST_UGDS_COMPLETE, (ssize_t)MIB);
	for (int i = 0; i < 2; i++) {
		struct ugst_ugds_event event;
		unsigned count = 1;

		assert_int_equal(f->ugds->batch_status(other.batch, 1, &count,
		                                       &event, NULL)
		                         .code,
		                 0);
		assert_int_equal(event.status, (uintptr_t)event.cookie == 1
		                                       ? UGST_UGDS_COMPLETE
		                                       : UGST_UGDS_FAILED);
	}
	assert_data(f, 0, 0, MIB);
	assert_data(f, MIB, 5 * MIB, MIB);
	f->ugds->batch_destroy(other.batch);
	assert_int_equal(f->ugds->handle_deregister(other.handle, 0).code, 0);
	close(other.fd);
	unlink(path);
}

static size_t cached_pages(const char *path)
{
	unsigned char pages[FILE_BYTES / 4096];
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	void *map = mmap(NULL, FILE_BYTES, PROT_READ, MAP_SHARED, fd, 0);
	size_t count = 0;

	assert_true(map != MAP_FAILED);
	assert_int_equal(mincore(map, FILE_BYTES, pages), 0);
	for (size_t i = 0; i < UGST_COUNT(pages); i++)
		count += pages[i] & 1;
	munmap(map, FILE_BYTES);
	close(fd);
	return count;
}

/* Buffered reads too leave nothing of theirs in the page cache. */
static void no_page_is_left_in_the_cache(void **state)
{
	struct fixture *f = *state;
	int fd = open(f->path, O_RDONLY | O_CLOEXEC);
	void *batch = f->batch;
	void *handle;

	posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
	if (cached_pages(f->path))
		skip(); /* a file system that lives in the cache */
	assert_int_equal(submit_mib(f, 3), 0);
	assert_event(one_event(f), 3, UGST_UGDS_COMPLETE, (ssize_t)MIB);
	assert_int_equal(cached_pages(f->path), 0);

	assert_int_equal(register_fd(f, fd, &handle), 0);
	assert_int_equal(f->ugds->batch_setup(&f->batch, handle, 8).code, 0);
	assert_int_equal(submit(f, entry(f, 0, 0, 3 * MIB, 1)), 0);
	assert_event(one_event(f), 1, UGST_UGDS_COMPLETE, 3 * (ssize_t)MIB);
	assert_data(f, 0, 0, 4 * MIB);
	assert_int_equal(cached_pages(f->path), 0);
	f->ugds->batch_destroy(f->batch);
	f->batch = batch;
	assert_int_equal(f->ugds->handle_deregister(handle, 0).code, 0);
	close(fd);
}

/* A loop device on the test file, or -1 where there is none to be had. */
static int loop_device(const struct fixture *f, uint32_t block_bytes)
{
	struct loop_config config = {.fd = (uint32_t)f->fd,
	                             .block_size = block_bytes};
	int control = open("/dev/loop-control", O_RDWR | O_CLOEXEC);
	char path[32];
	int number;
	int fd;

	if (control < 0)
		return -1;
	config.info.lo_flags = LO_FLAGS_READ_ONLY | LO_FLAGS_AUTOCLEAR;
	number = ioctl(control, LOOP_CTL_GET_FREE);
	close(control);
	snprintf(path, sizeof(path), "/dev/loop%d", number);
	fd = open(path, O_RDONLY | O_CLOEXEC | O_DIRECT);
	if (fd >= 0 && ioctl(fd, LOOP_CONFIGURE, &config)) {
		close(fd);
		return -1;
	}
	return fd;
}

static void block_device(struct fixture *f, uint32_t block_bytes)
{
	int fd = loop_device(f, block_bytes);
	void *batch = f->batch;
	struct ugst_ugds_limits limits;
	uint64_t bytes;
	void *handle;

	if (fd < 0)
		skip();
	assert_int_equal(register_fd(f, fd, &handle), 0);
	assert_int_equal(ugst_ugds_compat_limits(handle, &limits), 0);
	assert_int_equal(limits.lba_bytes, block_bytes);
	assert_int_equal(f->ugds->device_capacity(handle, &bytes).code, 0);
	assert_int_equal(bytes, FILE_BYTES);
	assert_int_equal(f->ugds->batch_setup(&f->batch, handle, 8).code, 0);
	assert_int_equal(submit(f, entry(f, block_bytes * 3, 4096,
	                                 MIB + block_bytes, 1)),
	                 0);
	assert_event(one_event(f), 1, UGST_UGDS_COMPLETE,
	             (ssize_t)(MIB + block_bytes));
	assert_data(f, 4096, block_bytes * 3, MIB + block_bytes);
	assert_untouched(f, 4096 + MIB + block_bytes, BUF_BYTES);
	assert_int_equal(submit(f, entry(f, block_bytes / 2, 0, 4096, 2)),
	                 5022);
	assert_int_equal(submit(f, entry(f, FILE_BYTES, 0, block_bytes, 3)), 0);
	assert_event(one_event(f), 3, UGST_UGDS_FAILED, 0);
	f->ugds->batch_destroy(f->batch);
	f->batch = batch;
	assert_int_equal(f->ugds->handle_deregister(handle, 0).code, 0);
	close(fd);
}

static void block_device_of_512(void **state)
{
	block_device(*state, 512);
}

static void block_device_of_4096(void **state)
{
	block_device(*state, 4096);
}

#define RULE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(driver_handle_buffer_is_the_order),
		RULE(handle_refuses_what_has_no_blocks),
		RULE(handle_keeps_a_descriptor_of_its_own),
		RULE(capacity_is_whole_blocks),
		RULE(limits_are_those_of_a_file),
		RULE(buffer_rules),
		RULE(buffers_survive_the_handle),
		RULE(deregister_waits_for_the_batch),
		RULE(handles_are_independent),
		RULE(no_page_is_left_in_the_cache),
		RULE(block_device_of_512),
		RULE(block_device_of_4096),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
