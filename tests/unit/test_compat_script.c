/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_compat_script.c - compatibility mode misbehaves as it is told.
 *
 * What a lost, late or failed command does to the calls around it is what the
 * real library does there.
 */
#include "support/compat_scripted.h"

#include <pthread.h>

static void limits_are_scripted(void **state)
{
	struct fixture *f = *state;
	const struct ugst_compat_script script = {.lba_bytes = 512,
	                                          .command_bytes = 131072,
	                                          .window_commands = 63};
	struct ugst_ugds_limits limits;

	reconnect(f, &script);
	assert_int_equal(ugst_ugds_compat_limits(f->handle, &limits), 0);
	assert_int_equal(limits.lba_bytes, 512);
	assert_int_equal(limits.command_bytes, 131072);
	assert_int_equal(limits.window_commands, 63);
	/* 131072 + 512 are two commands. */
	assert_int_equal(submit(f, entry(f, 1536, 4096, 131072 + 512, 1)), 0);
	assert_event(one_event(f), 1, UGST_UGDS_COMPLETE, 131072 + 512);
	assert_data(f, 4096, 1536, 131072 + 512);
	assert_int_equal(counts().entries, 1);
	assert_int_equal(counts().commands, 2);
	assert_int_equal(counts().ended, 2);
	assert_int_equal(counts().read_bytes, 131072 + 512);
	assert_int_equal(counts().in_flight_max, 2);
}

/* The trial by which a client finds the command size. */
static void entry_of_65536_commands_is_refused(void **state)
{
	struct fixture *f = *state;
	const struct ugst_compat_script script = {.lba_bytes = 512,
	                                          .command_bytes = 2101248};
	struct ugst_ugds_params p = entry(f, 0, 0, 65535ul * 2101248, 1);
	static int nobody;

	reconnect(f, &script);
	p.base = &nobody;
	assert_int_equal(submit(f, p), 0);
	assert_event(one_event(f), 1, UGST_UGDS_FAILED, -EINVAL);
	p.bytes += 512;
	assert_int_equal(submit(f, p), 5022);
	assert_int_equal(counts().invalid, 1);
	assert_int_equal(counts().entries, 0);
	assert_int_equal(counts().violations, 0);
}

static void fail_by_number(void **state)
{
	struct fixture *f = *state;
	struct ugst_ugds_event events[128];

	FAULT(.kind = UGST_COMPAT_FAIL, .skip = 1, .count = 2);
	for (unsigned i = 0; i < 4; i++) {
		assert_int_equal(submit_mib(f, i), 0);
		events[i] = one_event(f);
	}
	assert_event(events[0], 0, UGST_UGDS_COMPLETE, (ssize_t)MIB);
	assert_event(events[1], 1, UGST_UGDS_FAILED, 0);
	assert_event(events[2], 2, UGST_UGDS_FAILED, 0);
	assert_event(events[3], 3, UGST_UGDS_COMPLETE, (ssize_t)MIB);
	assert_untouched(f, MIB, 3 * MIB);
	assert_int_equal(counts().faults, 2);
	/* Entries of one command: the batch goes on. */
	assert_int_equal(counts().violations, 0);
}

static void fail_by_place(void **state)
{
	struct fixture *f = *state;

	FAULT(.kind = UGST_COMPAT_FAIL, .device_off = 2 * MIB + 4096,
	      .device_bytes = 1, .device_id = f->device_id);
	FAULT(.kind = UGST_COMPAT_FAIL, .device_id = f->device_id + 1);
	for (unsigned round = 0; round < 2; round++) {
		assert_int_equal(submit_mib(f, 1), 0);
		assert_int_equal(one_event(f).status, UGST_UGDS_COMPLETE);
		assert_int_equal(submit_mib(f, 2), 0);
		assert_int_equal(one_event(f).status, UGST_UGDS_FAILED);
		assert_int_equal(submit(f, entry(f, 2 * MIB, 0, 4096, 1)), 0);
		assert_int_equal(one_event(f).status, UGST_UGDS_COMPLETE);
	}
}

/* B1: FAILED at the first bad command, while another is still to land. */
static void entry_fails_before_its_end(void **state)
{
	struct fixture *f = *state;

	FAULT(.kind = UGST_COMPAT_FAIL, .device_off = MIB, .device_bytes = 1);
	FAULT(.kind = UGST_COMPAT_LATE, .device_off = 2 * MIB,
	      .device_bytes = 1);
	assert_int_equal(submit(f, entry(f, 0, 0, 3 * MIB, 1)), 0);
	/* The first is good and over; ret does not tell before all are. */
	await_ended(2);
	await_held(1);
	assert_event(one_event(f), 1, UGST_UGDS_FAILED, 0);
	assert_data(f, 0, 0, MIB);
	assert_untouched(f, MIB, 3 * MIB);
	assert_true(ugst_compat_script_memory_busy(f->buf + 2 * MIB, 1));
	assert_false(ugst_compat_script_memory_busy(f->buf + 3 * MIB, 1));
	assert_int_equal(f->ugds->buf_deregister(f->buf).code, 5042);
	assert_int_equal(broken(UGST_COMPAT_RULE_DEREGISTER), 1);
	ugst_compat_script_given_back(f->buf, MIB);
	assert_int_equal(broken(UGST_COMPAT_RULE_GIVEN_BACK), 1);
	/* What a client must not do now. */
	assert_int_equal(submit_mib(f, 3), 0);
	assert_int_equal(broken(UGST_COMPAT_RULE_BROKEN_BATCH), 1);
	assert_event(one_event(f), 3, UGST_UGDS_COMPLETE, (ssize_t)MIB);
	assert_int_equal(submit(f, entry(f, 0, 2 * MIB, 4096, 4)), 0);
	assert_int_equal(broken(UGST_COMPAT_RULE_OVERLAP), 1);
	assert_event(one_event(f), 4, UGST_UGDS_COMPLETE, 4096);
	/* The late command lands over what was read since. */
	assert_int_equal(ugst_compat_script_release(0), 1);
	assert_data(f, 2 * MIB, 2 * MIB, MIB);
	assert_false(ugst_compat_script_memory_busy(f->buf, BUF_BYTES));
	assert_int_equal(f->ugds->buf_deregister(f->buf).code, 0);
}

static void *release_soon(void *arg)
{
	(void)arg;
	usleep(50000);
	while (ugst_compat_script_release(0) == 0)
		usleep(1000);
	return NULL;
}

/* What a client does after it: destroy waits, a new batch works. */
static void destroy_waits_for_late_commands(void **state)
{
	struct fixture *f = *state;
	pthread_t thread;

	FAULT(.kind = UGST_COMPAT_FAIL, .skip = 0, .count = 1, .device_off = 0,
	      .device_bytes = 1);
	FAULT(.kind = UGST_COMPAT_LATE, .device_off = MIB, .device_bytes = 1,
	      .count = 1);
	assert_int_equal(submit(f, entry(f, 0, 0, 2 * MIB, 1)), 0);
	assert_event(one_event(f), 1, UGST_UGDS_FAILED, 0);
	await_held(1);
	assert_int_equal(pthread_create(&thread, NULL, release_soon, NULL), 0);
	f->ugds->batch_destroy(f->batch);
	pthread_join(thread, NULL);
	assert_data(f, MIB, MIB, MIB);
	assert_int_equal(f->ugds->buf_deregister(f->buf).code, 0);
	assert_int_equal(f->ugds->buf_register(f->buf, BUF_BYTES, 0).code, 0);
	assert_int_equal(f->ugds->batch_setup(&f->batch, f->handle, 128).code,
	                 0);
	assert_int_equal(submit_mib(f, 0), 0);
	assert_event(one_event(f), 0, UGST_UGDS_COMPLETE, (ssize_t)MIB);
	assert_int_equal(counts().violations, 0);
}

/* Taken after its last command, a FAILED entry says what arrived. */
static void failed_entry_counts_its_good_bytes(void **state)
{
	struct fixture *f = *state;
	struct ugst_ugds_event events[128];

	FAULT(.kind = UGST_COMPAT_FAIL, .device_off = MIB, .device_bytes = 1);
	assert_int_equal(submit(f, entry(f, 0, 0, 2 * MIB + 4096, 1)), 0);
	await_ended(3);
	assert_int_equal(events_within(f, 1, 1000, events), 1);
	assert_event(events[0], 1, UGST_UGDS_FAILED, (ssize_t)MIB + 4096);
}

/* B2 */
static void short_entry_is_complete(void **state)
{
	struct fixture *f = *state;

	FAULT(.kind = UGST_COMPAT_SHORT, .skip = 1, .count = 1,
	      .short_bytes = 512);
	assert_int_equal(submit_mib(f, 0), 0);
	assert_event(one_event(f), 0, UGST_UGDS_COMPLETE, (ssize_t)MIB);
	assert_int_equal(submit_mib(f, 1), 0);
	assert_event(one_event(f), 1, UGST_UGDS_COMPLETE, 512);
}

static void corrupt_is_one_byte(void **state)
{
	struct fixture *f = *state;

	FAULT(.kind = UGST_COMPAT_CORRUPT, .count = 1);
	assert_int_equal(submit_mib(f, 0), 0);
	assert_event(one_event(f), 0, UGST_UGDS_COMPLETE, (ssize_t)MIB);
	assert_int_equal(f->buf[MIB / 2], pattern(MIB / 2) ^ 0xFF);
	f->buf[MIB / 2] ^= 0xFF;
	assert_data(f, 0, 0, MIB);
}

static void late_comes_after_its_deadline(void **state)
{
	struct fixture *f = *state;
	struct ugst_ugds_event events[128];

	FAULT(.kind = UGST_COMPAT_LATE, .skip = 1, .count = 2);
	for (unsigned i = 0; i < 3; i++) {
		assert_int_equal(submit_mib(f, i), 0);
		await_ended(1);
	}
	assert_int_equal(events_within(f, 3, 50, events), 1);
	await_held(2);
	assert_untouched(f, MIB, 3 * MIB);
	/* A reference ends with the look after the end, not before. */
	assert_int_equal(ugst_compat_script_release(1), 1);
	assert_int_equal(ugst_compat_script_release(0), 1);
	assert_int_equal(ugst_compat_script_release(0), 0);
	assert_int_equal(f->ugds->buf_deregister(f->buf).code, 5042);
	assert_int_equal(events_within(f, 2, 1000, events), 2);
	assert_event(events[0], 1, UGST_UGDS_COMPLETE, (ssize_t)MIB);
	assert_event(events[1], 2, UGST_UGDS_COMPLETE, (ssize_t)MIB);
	assert_data(f, 0, 0, 3 * MIB);
	assert_int_equal(f->ugds->buf_deregister(f->buf).code, 0);
}

static void late_event_has_landed(void **state)
{
	struct fixture *f = *state;
	struct ugst_ugds_event events[128];

	FAULT(.kind = UGST_COMPAT_LATE_EVENT, .count = 1);
	assert_int_equal(submit_mib(f, 0), 0);
	await_held(1);
	assert_data(f, 0, 0, MIB);
	assert_int_equal(events_within(f, 1, 20, events), 0);
	assert_int_equal(ugst_compat_script_release(0), 1);
	assert_event(one_event(f), 0, UGST_UGDS_COMPLETE, (ssize_t)MIB);
}

static void after_is_out_of_order(void **state)
{
	struct fixture *f = *state;
	struct ugst_ugds_params list[4] = {
		entry(f, 0, 0, 4096, 0),
		entry(f, MIB, MIB, MIB, 1),
		entry(f, 2 * MIB, 2 * MIB, MIB, 2),
		entry(f, 3 * MIB, 3 * MIB, MIB, 3),
	};
	struct ugst_ugds_event events[128];

	FAULT(.kind = UGST_COMPAT_AFTER, .count = 1, .after = 2);
	assert_int_equal(submit_mib(f, 0), 0);
	/* Alone, it lands: a client could wait for nothing else. */
	assert_event(one_event(f), 0, UGST_UGDS_COMPLETE, (ssize_t)MIB);
	assert_int_equal(counts().held, 0);

	ugst_compat_script_begin(&(struct ugst_compat_script){0});
	FAULT(.kind = UGST_COMPAT_AFTER, .after = 2, .device_off = 0,
	      .device_bytes = 1);
	assert_int_equal(f->ugds->batch_submit(f->batch, 4, list, 0).code, 0);
	assert_int_equal(events_within(f, 4, 10000, events), 4);
	assert_int_not_equal((uintptr_t)events[0].cookie, 0);
	assert_int_not_equal((uintptr_t)events[1].cookie, 0);
	assert_data(f, MIB, MIB, 3 * MIB);
	assert_data(f, 0, 0, 4096);
	assert_int_equal(counts().violations, 0);
}

/* It lands by number even while something else is under way. */
static void after_counts_what_ended(void **state)
{
	struct fixture *f = *state;
	struct ugst_ugds_event events[128];

	FAULT(.kind = UGST_COMPAT_AFTER, .after = 2, .count = 1);
	ugst_compat_script_submit(UGST_UGDS_INTERNAL_ERROR, 0, 1);
	assert_int_equal(submit_mib(f, 3), 5030);
	assert_int_equal(submit_mib(f, 0), 0);
	await_held(1);
	assert_int_equal(submit_mib(f, 1), 0);
	assert_event(one_event(f), 1, UGST_UGDS_COMPLETE, (ssize_t)MIB);
	assert_int_equal(events_within(f, 1, 20, events), 0);
	assert_untouched(f, 0, MIB);
	assert_int_equal(submit_mib(f, 2), 0);
	assert_int_equal(events_within(f, 2, 10000, events), 2);
	assert_event(events[0], 2, UGST_UGDS_COMPLETE, (ssize_t)MIB);
	assert_event(events[1], 0, UGST_UGDS_COMPLETE, (ssize_t)MIB);
	assert_data(f, 0, 0, 3 * MIB);
}

static void lost_batch_wedges_on_destroy(void **state)
{
	struct fixture *f = *state;
	struct ugst_ugds_event events[128];
	uint8_t *other = new_buffer(65536);
	uint64_t bytes;
	void *batch;

	FAULT(.kind = UGST_COMPAT_LOSE, .count = 1);
	assert_int_equal(f->ugds->buf_register(other, 65536, 0).code, 0);
	assert_int_equal(submit_mib(f, 0), 0);
	assert_int_equal(events_within(f, 1, 50, events), 0);
	assert_int_equal(ugst_compat_script_release(0), 0);
	/* Until then all goes on. */
	assert_int_equal(submit_mib(f, 1), 0);
	assert_event(one_event(f), 1, UGST_UGDS_COMPLETE, (ssize_t)MIB);
	assert_int_equal(f->ugds->handle_deregister(f->handle, 1).code, 5042);
	assert_int_equal(f->ugds->device_capacity(f->handle, &bytes).code, 0);
	f->ugds->batch_destroy(f->batch);
	assert_int_equal(broken(UGST_COMPAT_RULE_DESTROY_LOST), 1);
	assert_int_equal(f->ugds->device_capacity(f->handle, &bytes).code,
	                 5027);
	assert_int_equal(f->ugds->batch_setup(&batch, f->handle, 8).code, 5022);
	assert_int_equal(submit_mib(f, 2), 5042);
	assert_int_equal(f->ugds->handle_deregister(f->handle, 0).code, 5042);
	assert_int_equal(f->ugds->handle_deregister(f->handle, -1).code, 5042);
	assert_int_equal(f->ugds->buf_deregister(f->buf).code, 5042);
	assert_int_equal(f->ugds->handle_deregister(f->handle, -2).code, 0);
	assert_int_equal(f->ugds->buf_deregister(f->buf).code, 5042);
	assert_int_equal(f->ugds->buf_deregister(other).code, 0);
	assert_untouched(f, 0, MIB);
	free(other);
}

static void forced_handle_leaves_its_buffers_stuck(void **state)
{
	struct fixture *f = *state;
	uint8_t *stuck = f->buf;
	struct ugst_ugds_event event;
	unsigned count = 1;

	FAULT(.kind = UGST_COMPAT_LATE, .count = 1);
	assert_int_equal(submit_mib(f, 0), 0);
	await_held(1);
	assert_int_equal(f->ugds->handle_deregister(f->handle, -2).code, 0);
	assert_int_equal(broken(UGST_COMPAT_RULE_FORCE_INSIDE), 0);
	/* Handle and batch are dead, the memory is not free. */
	assert_int_equal(submit_mib(f, 1), 5022);
	assert_int_equal(
		f->ugds->batch_status(f->batch, 0, &count, &event, NULL).code,
		5022);
	f->ugds->batch_destroy(f->batch);
	assert_int_equal(f->ugds->handle_deregister(f->handle, -2).code, 0);
	assert_true(ugst_compat_script_memory_busy(stuck, MIB));
	assert_int_equal(f->ugds->buf_deregister(stuck).code, 5042);
	assert_untouched(f, 0, MIB);
	/* Given back too early it would be written to now. */
	assert_int_equal(ugst_compat_script_release(0), 1);
	assert_data(f, 0, 0, MIB);
	assert_int_equal(f->ugds->buf_deregister(stuck).code, 5042);
	assert_int_equal(counts().bufs_busy, 1);

	/* A new handle and new memory work. */
	f->buf = new_buffer(BUF_BYTES);
	connect_fixture(f);
	assert_int_equal(submit_mib(f, 0), 0);
	assert_event(one_event(f), 0, UGST_UGDS_COMPLETE, (ssize_t)MIB);
	assert_data(f, 0, 0, MIB);
	free(stuck);
}

static void reset_ends_late_commands(void **state)
{
	struct fixture *f = *state;
	uint8_t *stuck = f->buf;

	FAULT(.kind = UGST_COMPAT_LATE, .count = 1);
	assert_int_equal(submit_mib(f, 0), 0);
	await_held(1);
	assert_int_equal(f->ugds->handle_deregister(f->handle, -2).code, 0);
	assert_true(ugst_compat_script_memory_busy(stuck, MIB));
	assert_int_equal(register_fd(f, f->fd, &f->handle), 0);
	assert_false(ugst_compat_script_memory_busy(stuck, MIB));
	assert_int_equal(ugst_compat_script_release(0), 0);
	assert_untouched(f, 0, MIB);
}

static void removed_device_is_silent(void **state)
{
	struct fixture *f = *state;
	struct ugst_ugds_event events[128];
	uint8_t *stuck = f->buf;

	FAULT(.kind = UGST_COMPAT_LATE, .count = 1);
	assert_int_equal(submit_mib(f, 0), 0);
	await_held(1);
	ugst_compat_script_remove(f->device_id + 1);
	assert_int_equal(submit_mib(f, 1), 0);
	assert_event(one_event(f), 1, UGST_UGDS_COMPLETE, (ssize_t)MIB);
	ugst_compat_script_remove(f->device_id);
	assert_int_equal(submit_mib(f, 2), 0);
	assert_int_equal(ugst_compat_script_release(0), 0);
	assert_int_equal(events_within(f, 1, 50, events), 0);
	assert_int_equal(f->ugds->handle_deregister(f->handle, -2).code, 0);
	f->buf = new_buffer(BUF_BYTES);
	connect_fixture(f);
	assert_int_equal(submit_mib(f, 3), 0);
	assert_event(one_event(f), 3, UGST_UGDS_COMPLETE, (ssize_t)MIB);
	free(stuck);
}

static void submit_answers_as_told(void **state)
{
	struct fixture *f = *state;
	struct ugst_ugds_event events[128];

	ugst_compat_script_submit(UGST_UGDS_BUSY, 1, 2);
	assert_int_equal(submit_mib(f, 0), 0);
	assert_int_equal(submit_mib(f, 1), 5042);
	assert_int_equal(submit_mib(f, 1), 5042);
	assert_int_equal(submit_mib(f, 1), 0);
	assert_int_equal(events_within(f, 2, 10000, events), 2);
	ugst_compat_script_submit(UGST_UGDS_BATCH_CAPACITY_EXCEEDED, 0, 1);
	assert_int_equal(submit_mib(f, 2), 5040);
	assert_int_equal(f->ugds->buf_deregister(f->buf).code, 0);
	assert_int_equal(f->ugds->buf_register(f->buf, BUF_BYTES, 0).code, 0);
	assert_int_equal(counts().violations, 0);
	/* 5030: no event ever comes, and the buffer stays busy. */
	ugst_compat_script_submit(UGST_UGDS_INTERNAL_ERROR, 0, 1);
	assert_int_equal(submit_mib(f, 3), 5030);
	assert_int_equal(events_within(f, 1, 50, events), 0);
	assert_int_equal(f->ugds->buf_deregister(f->buf).code, 5042);
	assert_untouched(f, 2 * MIB, 4 * MIB);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		SCRIPTED(limits_are_scripted),
		SCRIPTED(entry_of_65536_commands_is_refused),
		SCRIPTED(fail_by_number),
		SCRIPTED(fail_by_place),
		SCRIPTED(entry_fails_before_its_end),
		SCRIPTED(destroy_waits_for_late_commands),
		SCRIPTED(failed_entry_counts_its_good_bytes),
		SCRIPTED(short_entry_is_complete),
		SCRIPTED(corrupt_is_one_byte),
		SCRIPTED(late_comes_after_its_deadline),
		SCRIPTED(late_event_has_landed),
		SCRIPTED(after_is_out_of_order),
		SCRIPTED(after_counts_what_ended),
		SCRIPTED(lost_batch_wedges_on_destroy),
		SCRIPTED(forced_handle_leaves_its_buffers_stuck),
		SCRIPTED(reset_ends_late_commands),
		SCRIPTED(removed_device_is_silent),
		SCRIPTED(submit_answers_as_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
