/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_compat_read.c - compatibility mode over reads that are interrupted,
 * short, failing or never over.
 *
 * This program has a pread of its own, which the provider's threads find in
 * place of the C library's.
 */
#include "support/compat_fixture.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/syscall.h>

static atomic_int interrupts;  /* reads that fail with EINTR first */
static atomic_int piece_bytes; /* what a read brings at most; 0: all */
static atomic_int failures;    /* reads that fail with EIO */
static atomic_bool hang;
static atomic_int hanging;
static atomic_int calls;

ssize_t pread(int fd, void *buf, size_t bytes, off_t off)
{
	int most = atomic_load(&piece_bytes);

	atomic_fetch_add(&calls, 1);
	atomic_fetch_add(&hanging, 1);
	while (atomic_load(&hang))
		usleep(1000);
	atomic_fetch_sub(&hanging, 1);
	if (atomic_fetch_sub(&interrupts, 1) > 0) {
		errno = EINTR;
		return -1;
	}
	if (atomic_fetch_sub(&failures, 1) > 0) {
		errno = EIO;
		return -1;
	}
	if (most && bytes > (size_t)most)
		bytes = (size_t)most;
	return syscall(SYS_pread64, fd, buf, bytes, off);
}

static int setup(void **state)
{
	struct fixture *f = new_fixture();

	connect_fixture(f);
	atomic_store(&interrupts, 0);
	atomic_store(&piece_bytes, 0);
	atomic_store(&failures, 0);
	atomic_store(&calls, 0);
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

static void interrupted_read_goes_on(void **state)
{
	struct fixture *f = *state;

	atomic_store(&interrupts, 3);
	assert_int_equal(submit_mib(f, 1), 0);
	assert_event(one_event(f), 1, UGST_UGDS_COMPLETE, (ssize_t)MIB);
	assert_data(f, MIB, MIB, MIB);
	assert_int_equal(atomic_load(&calls), 4);
}

static void short_read_goes_on(void **state)
{
	struct fixture *f = *state;

	atomic_store(&piece_bytes, 3 * 65536);
	assert_int_equal(submit_mib(f, 1), 0);
	assert_event(one_event(f), 1, UGST_UGDS_COMPLETE, (ssize_t)MIB);
	assert_data(f, MIB, MIB, MIB);
	assert_untouched(f, 0, MIB);
	assert_untouched(f, 2 * MIB, BUF_BYTES);
	/* 5 of 192 KiB and one of 64 KiB */
	assert_int_equal(atomic_load(&calls), 6);
}

static void failing_read_fails_its_entry_alone(void **state)
{
	struct fixture *f = *state;

	atomic_store(&failures, 1);
	assert_int_equal(submit_mib(f, 0), 0);
	assert_event(one_event(f), 0, UGST_UGDS_FAILED, 0);
	assert_int_equal(submit_mib(f, 1), 0);
	assert_event(one_event(f), 1, UGST_UGDS_COMPLETE, (ssize_t)MIB);
	/* Without a script an entry is over when its event comes. */
	atomic_store(&failures, 1);
	assert_int_equal(submit(f, entry(f, 0, 0, 2 * COMMAND_BYTES, 2)), 0);
	assert_event(one_event(f), 2, UGST_UGDS_FAILED, (ssize_t)COMMAND_BYTES);
}

static void await_hanging(int count)
{
	for (int i = 0; i < 10000 && atomic_load(&hanging) != count; i++)
		usleep(1000);
	assert_int_equal(atomic_load(&hanging), count);
}

/* A read that the kernel does not end cannot keep its handle. */
static void hanging_read_is_left_behind(void **state)
{
	struct fixture *f = *state;
	static uint8_t *stuck; /* reachable for leak checkers */
	struct ugst_ugds_event events[128];

	stuck = f->buf;
	atomic_store(&hang, true);
	assert_int_equal(submit_mib(f, 0), 0);
	assert_int_equal(submit_mib(f, 1), 0);
	await_hanging(2);
	assert_int_equal(events_within(f, 1, 20, events), 0);
	assert_int_equal(f->ugds->handle_deregister(f->handle, 0).code, 5042);
	assert_int_equal(f->ugds->handle_deregister(f->handle, -2).code, 0);
	assert_int_equal(f->ugds->buf_deregister(stuck).code, 5042);
	assert_int_equal(submit_mib(f, 2), 5022);

	/* They come to their end on the memory that was left to them. */
	atomic_store(&hang, false);
	await_hanging(0);
	f->buf = new_buffer(BUF_BYTES);
	connect_fixture(f);
	assert_int_equal(submit_mib(f, 3), 0);
	assert_event(one_event(f), 3, UGST_UGDS_COMPLETE, (ssize_t)MIB);
	assert_data(f, 3 * MIB, 3 * MIB, MIB);
	assert_int_equal(f->ugds->buf_deregister(stuck).code, 5042);
}

#define READING(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		READING(interrupted_read_goes_on),
		READING(short_read_goes_on),
		READING(failing_read_fails_its_entry_alone),
		READING(hanging_read_is_left_behind),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
