/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_compat_batch.c - compatibility mode: batches, one test for each rule.
 *
 * Codes are those that the real library answers to the same calls.
 */
#include "support/compat_fixture.h"

#include <pthread.h>

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

static void batch_setup_rules(void **state)
{
	struct fixture *f = *state;
	void *other;
	void *batch;

	assert_int_equal(f->ugds->batch_setup(&batch, f->handle, 8).code, 5022);
	assert_int_equal(register_fd(f, f->fd, &other), 0);
	assert_int_equal(f->ugds->batch_setup(NULL, other, 8).code, 5022);
	assert_int_equal(f->ugds->batch_setup(&batch, other, 0).code, 5022);
	assert_int_equal(f->ugds->batch_setup(&batch, other, 129).code, 5022);
	assert_int_equal(f->ugds->batch_setup(&batch, NULL, 8).code, 5022);
	assert_int_equal(f->ugds->batch_setup(&batch, f, 8).code, 5022);
	assert_int_equal(f->ugds->batch_setup(&batch, other, 128).code, 0);
	f->ugds->batch_destroy(batch);
	assert_int_equal(f->ugds->batch_setup(&batch, other, 1).code, 0);
	f->ugds->batch_destroy(batch);
	f->ugds->batch_destroy(NULL);
	assert_int_equal(f->ugds->handle_deregister(other, 0).code, 0);
	assert_int_equal(f->ugds->batch_setup(&batch, other, 8).code, 5022);
}

static void submit_refuses_all_for_one(void **state)
{
	struct fixture *f = *state;
	struct ugst_ugds_params good = entry(f, 0, 0, 4096, 1);
	struct ugst_ugds_params bad[7];
	struct ugst_ugds_event events[128];

	for (size_t i = 0; i < UGST_COUNT(bad); i++)
		bad[i] = good;
	bad[0].base = NULL;
	bad[1].bytes = 0;
	bad[2].bytes = 4096 + 512;
	bad[3].device_off = 512;
	bad[4].device_off = -4096;
	bad[5].opcode = 2;
	bad[6].bytes = 65535 * COMMAND_BYTES + 4096; /* 65536 commands */
	for (size_t i = 0; i < UGST_COUNT(bad); i++) {
		struct ugst_ugds_params list[2] = {good, bad[i]};
		int code = f->ugds->batch_submit(f->batch, 2, list, 0).code;

		if (code != 5022)
			fail_msg("case %zu: %d, expected 5022", i, code);
	}
	assert_int_equal(f->ugds->batch_submit(f->batch, 0, &good, 0).code,
	                 5022);
	assert_int_equal(f->ugds->batch_submit(f->batch, 1, NULL, 0).code,
	                 5022);
	assert_int_equal(f->ugds->batch_submit(NULL, 1, &good, 0).code, 5022);
	assert_int_equal(f->ugds->batch_submit(f, 1, &good, 0).code, 5022);
	assert_int_equal(events_within(f, 1, 20, events), 0);
	assert_untouched(f, 0, BUF_BYTES);
}

static void entry_alone_fails_for_its_memory(void **state)
{
	struct fixture *f = *state;
	static int nobody;
	const struct {
		void *base;
		off_t buffer_off;
		size_t bytes;
	} cases[] = {
		{&nobody, 0, 4096},                  /* not registered */
		{&nobody, 0, 65535 * COMMAND_BYTES}, /* 65535 commands */
		{f->buf + 65536, 0, 4096},           /* inside is no base */
		{f->buf, 512, 4096},                 /* off the page */
		{f->buf, -4096, 4096},               /* before it */
		{f->buf, BUF_BYTES, 4096},           /* behind it */
		{f->buf, BUF_BYTES - 4096, 8192},
		{f->buf, 0, BUF_BYTES + 4096},
	};

	for (size_t i = 0; i < UGST_COUNT(cases); i++) {
		struct ugst_ugds_params p = entry(f, 0, 0, 4096, i);

		p.base = cases[i].base;
		p.buffer_off = cases[i].buffer_off;
		p.bytes = cases[i].bytes;
		assert_int_equal(submit(f, p), 0);
		assert_event(one_event(f), i, UGST_UGDS_FAILED, -EINVAL);
	}
	assert_untouched(f, 0, BUF_BYTES);
	assert_int_equal(submit(f, entry(f, 0, BUF_BYTES - 4096, 4096, 9)), 0);
	assert_event(one_event(f), 9, UGST_UGDS_COMPLETE, 4096);
}

static void capacity_counts_since_all_was_read(void **state)
{
	struct fixture *f = *state;
	struct ugst_ugds_params list[128];
	struct ugst_ugds_event events[128];
	unsigned count = 60;

	for (unsigned i = 0; i < 128; i++)
		list[i] = entry(f, i * 4096, i * 4096, 4096, i);
	for (int round = 0; round < 3; round++) {
		assert_int_equal(
			f->ugds->batch_submit(f->batch, 100, list, 0).code, 0);
		count = 60;
		assert_int_equal(f->ugds->batch_status(f->batch, 60, &count,
		                                       events, NULL)
		                         .code,
		                 0);
		assert_int_equal(count, 60);
		assert_int_equal(
			f->ugds->batch_submit(f->batch, 29, list, 0).code,
			5040);
		assert_int_equal(
			f->ugds->batch_submit(f->batch, 28, list + 100, 0).code,
			0);
		assert_int_equal(
			f->ugds->batch_submit(f->batch, 1, list, 0).code, 5040);
		/* Room 0 is as much as the batch holds. */
		assert_int_equal(events_within(f, 68, 10000, events), 68);
		assert_int_equal(
			f->ugds->batch_submit(f->batch, 129, list, 0).code,
			5040);
	}
	assert_data(f, 0, 0, 128 * 4096);
}

static void each_event_comes_once_with_its_cookie(void **state)
{
	struct fixture *f = *state;
	struct ugst_ugds_event event;
	unsigned seen[64] = {0};
	unsigned count;

	for (unsigned i = 0; i < 64; i++)
		assert_int_equal(submit(f, entry(f, i * 65536, i * 65536, 65536,
		                                 1000 + i)),
		                 0);
	for (unsigned i = 0; i < 64; i++) {
		count = 1;
		assert_int_equal(
			f->ugds->batch_status(f->batch, 1, &count, &event, NULL)
				.code,
			0);
		assert_int_equal(count, 1);
		assert_int_equal(event.status, UGST_UGDS_COMPLETE);
		seen[(uintptr_t)event.cookie - 1000]++;
	}
	for (unsigned i = 0; i < 64; i++)
		assert_int_equal(seen[i], 1);
	assert_int_equal(events_within(f, 0, 0, &event), 0);
	assert_data(f, 0, 0, 4 * MIB);
}

static void status_waits_asleep_and_in_time(void **state)
{
	struct fixture *f = *state;
	struct ugst_ugds_event events[128];
	struct timespec past = {-1, 0};
	double wall = now_s(CLOCK_MONOTONIC);
	double cpu = now_s(CLOCK_PROCESS_CPUTIME_ID);
	unsigned count = 8;

	assert_int_equal(events_within(f, 1, 300, events), 0);
	assert_in_range((uintmax_t)((now_s(CLOCK_MONOTONIC) - wall) * 1000),
	                299, 3000);
	assert_in_range(
		(uintmax_t)((now_s(CLOCK_PROCESS_CPUTIME_ID) - cpu) * 1000), 0,
		60);
	assert_int_equal(
		f->ugds->batch_status(f->batch, 1, &count, events, &past).code,
		0);
	assert_int_equal(count, 0);
	assert_int_equal(
		f->ugds->batch_status(NULL, 0, &count, events, &past).code,
		5022);
	assert_int_equal(
		f->ugds->batch_status(f->batch, 0, NULL, events, &past).code,
		5022);
	assert_int_equal(
		f->ugds->batch_status(f->batch, 0, &count, NULL, &past).code,
		5022);
}

static void wait_ends_at_room_below_min_count(void **state)
{
	struct fixture *f = *state;
	struct ugst_ugds_event events[4];
	unsigned count = 2;

	for (unsigned i = 0; i < 4; i++)
		assert_int_equal(submit_mib(f, i), 0);
	assert_int_equal(
		f->ugds->batch_status(f->batch, 4, &count, events, NULL).code,
		0);
	assert_int_equal(count, 2);
	assert_int_equal(
		f->ugds->batch_status(f->batch, 2, &count, events, NULL).code,
		0);
	assert_int_equal(count, 2);
}

static void large_entry_lands_where_asked(void **state)
{
	struct fixture *f = *state;
	size_t bytes = 5 * MIB + 12288;

	assert_int_equal(submit(f, entry(f, 20480, 8192, bytes, 7)), 0);
	assert_event(one_event(f), 7, UGST_UGDS_COMPLETE, (ssize_t)bytes);
	assert_untouched(f, 0, 8192);
	assert_data(f, 8192, 20480, bytes);
	assert_untouched(f, 8192 + bytes, BUF_BYTES);
}

static void end_of_device_fails(void **state)
{
	struct fixture *f = *state;
	struct ugst_ugds_event event;

	assert_int_equal(submit(f, entry(f, FILE_BYTES, 0, 4096, 1)), 0);
	assert_event(one_event(f), 1, UGST_UGDS_FAILED, 0);
	assert_int_equal(submit(f, entry(f, FILE_BYTES - 4096, 0, 8192, 2)), 0);
	event = one_event(f);
	assert_event(event, 2, UGST_UGDS_FAILED, 0);
	/* Two commands, of which the first is good. */
	assert_int_equal(submit(f, entry(f, FILE_BYTES - COMMAND_BYTES, 0,
	                                 2 * COMMAND_BYTES, 3)),
	                 0);
	assert_event(one_event(f), 3, UGST_UGDS_FAILED, (ssize_t)COMMAND_BYTES);
	assert_int_equal(submit(f, entry(f, INT64_MAX & ~4095, 0, 4096, 4)), 0);
	assert_event(one_event(f), 4, UGST_UGDS_FAILED, 0);
}

/* The last block of a file that ends inside it was never written whole. */
static void odd_end_of_file_fails(void **state)
{
	struct fixture *f = *state;
	struct ugst_ugds_event event;

	assert_int_equal(truncate(f->path, (off_t)FILE_BYTES - 100), 0);
	assert_int_equal(submit(f, entry(f, FILE_BYTES - 4096, 0, 4096, 1)), 0);
	event = one_event(f);
	assert_int_equal(event.status, UGST_UGDS_FAILED);
	assert_true(event.ret >= 0);
}

static void unreadable_descriptor_fails(void **state)
{
	struct fixture *f = *state;
	int fd = open(f->path, O_WRONLY | O_CLOEXEC);
	void *handle;
	void *batch = f->batch;

	assert_int_equal(register_fd(f, fd, &handle), 0);
	assert_int_equal(f->ugds->batch_setup(&f->batch, handle, 1).code, 0);
	assert_int_equal(submit(f, entry(f, 0, 0, 4096, 1)), 0);
	assert_event(one_event(f), 1, UGST_UGDS_FAILED, 0);
	f->ugds->batch_destroy(f->batch);
	f->batch = batch;
	assert_int_equal(f->ugds->handle_deregister(handle, 0).code, 0);
	close(fd);
}

static void destroy_waits_for_reads(void **state)
{
	struct fixture *f = *state;

	for (unsigned i = 0; i < 4; i++)
		assert_int_equal(submit_mib(f, i), 0);
	f->ugds->batch_destroy(f->batch);
	assert_data(f, 0, 0, 4 * MIB);
	assert_int_equal(f->ugds->buf_deregister(f->buf).code, 0);
	assert_int_equal(f->ugds->buf_register(f->buf, BUF_BYTES, 0).code, 0);
	assert_int_equal(f->ugds->batch_setup(&f->batch, f->handle, 128).code,
	                 0);
}

static void *collect(void *arg)
{
	struct fixture *f = arg;
	struct timespec patience = {30, 0};
	uintptr_t got = 0;

	while (got < 1024) {
		struct ugst_ugds_event events[16];
		unsigned count = 16;

		if (f->ugds->batch_status(f->batch, 1, &count, events,
		                          &patience)
		            .code ||
		    !count)
			break;
		for (unsigned i = 0; i < count; i++)
			got += events[i].status == UGST_UGDS_COMPLETE;
	}
	return (void *)got;
}

static void submit_and_status_in_two_threads(void **state)
{
	struct fixture *f = *state;
	pthread_t thread;
	void *got;

	assert_int_equal(pthread_create(&thread, NULL, collect, f), 0);
	for (unsigned i = 0; i < 1024;) {
		struct ugst_ugds_params p =
			entry(f, i % 128 * 32768, i % 128 * 32768, 32768, i);
		int code = f->ugds->batch_submit(f->batch, 1, &p, 0).code;

		if (code == UGST_UGDS_BATCH_CAPACITY_EXCEEDED)
			usleep(100);
		else
			i += code == 0;
	}
	pthread_join(thread, &got);
	assert_int_equal((uintptr_t)got, 1024);
	assert_data(f, 0, 0, 4 * MIB);
}

#define RULE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		RULE(batch_setup_rules),
		RULE(submit_refuses_all_for_one),
		RULE(entry_alone_fails_for_its_memory),
		RULE(capacity_counts_since_all_was_read),
		RULE(each_event_comes_once_with_its_cookie),
		RULE(status_waits_asleep_and_in_time),
		RULE(wait_ends_at_room_below_min_count),
		RULE(large_entry_lands_where_asked),
		RULE(end_of_device_fails),
		RULE(odd_end_of_file_fails),
		RULE(unreadable_descriptor_fails),
		RULE(destroy_waits_for_reads),
		RULE(submit_and_status_in_two_threads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
