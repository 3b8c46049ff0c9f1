/* SPDX-License-Identifier: BSD-3-Clause */
/* test_compat_judge.c - compatibility mode tells what its client did wrong. */
#include "support/compat_scripted.h"

static void window_is_judged(void **state)
{
	struct fixture *f = *state;
	const struct ugst_compat_script script = {.command_bytes = 4096,
	                                          .window_commands = 16};
	struct ugst_ugds_event events[128];

	reconnect(f, &script);
	FAULT(.kind = UGST_COMPAT_LATE, .count = 1);
	assert_int_equal(submit(f, entry(f, 0, 0, 4096, 0)), 0);
	await_held(1);
	/* 1 + 15 commands, of which 15 are then read. */
	assert_int_equal(submit(f, entry(f, 4096, 4096, 15 * 4096, 1)), 0);
	assert_int_equal(events_within(f, 1, 10000, events), 1);
	assert_int_equal(counts().distance_max, 16);
	assert_int_equal(counts().in_flight_max, 16);
	assert_int_equal(counts().violations, 0);
	/* Two in flight, but the first has been overtaken by 16. */
	assert_int_equal(submit(f, entry(f, MIB, MIB, 4096, 2)), 0);
	assert_int_equal(broken(UGST_COMPAT_RULE_WINDOW), 1);
	assert_int_equal(broken(UGST_COMPAT_RULE_IN_FLIGHT), 0);
	assert_int_equal(counts().distance_max, 17);
	assert_int_equal(events_within(f, 1, 10000, events), 1);
	assert_int_equal(ugst_compat_script_release(0), 1);
	assert_int_equal(events_within(f, 1, 10000, events), 1);
	/* All read: counted anew. */
	assert_int_equal(submit(f, entry(f, 0, 0, 16 * 4096, 3)), 0);
	assert_int_equal(events_within(f, 1, 10000, events), 1);
	assert_int_equal(counts().violations, 1);
	/* 17 in flight at once. */
	assert_int_equal(submit(f, entry(f, 0, 0, 17 * 4096, 4)), 0);
	assert_int_equal(broken(UGST_COMPAT_RULE_IN_FLIGHT), 1);
	assert_int_equal(events_within(f, 1, 10000, events), 1);
}

static void overlap_is_judged_until_told(void **state)
{
	struct fixture *f = *state;
	struct ugst_ugds_event events[128];

	assert_int_equal(submit_mib(f, 0), 0);
	await_ended(1);
	/* Ended, but the client was not told. */
	assert_int_equal(submit(f, entry(f, 0, MIB - 4096, 4096, 1)), 0);
	assert_int_equal(broken(UGST_COMPAT_RULE_OVERLAP), 1);
	assert_int_equal(events_within(f, 2, 10000, events), 2);
	assert_int_equal(submit_mib(f, 0), 0);
	assert_int_equal(submit_mib(f, 1), 0);
	assert_int_equal(events_within(f, 2, 10000, events), 2);
	assert_int_equal(counts().violations, 1);
}

static void *wait_long(void *arg)
{
	struct fixture *f = arg;
	struct timespec patience = {30, 0};
	struct ugst_ugds_event event;
	unsigned count = 1;

	f->ugds->batch_status(f->batch, 1, &count, &event, &patience);
	return NULL;
}

static void calls_inside_are_judged(void **state)
{
	struct fixture *f = *state;
	pthread_t thread;

	FAULT(.kind = UGST_COMPAT_LOSE);
	assert_int_equal(submit_mib(f, 0), 0);
	assert_int_equal(pthread_create(&thread, NULL, wait_long, f), 0);
	while (!counts().polls)
		usleep(1000);
	f->ugds->batch_destroy(f->batch);
	assert_int_equal(broken(UGST_COMPAT_RULE_DESTROY_SHARED), 1);
	assert_int_equal(f->ugds->handle_deregister(f->handle, -2).code, 0);
	assert_int_equal(broken(UGST_COMPAT_RULE_FORCE_INSIDE), 1);
	/* The thread inside was let out at once. */
	pthread_join(thread, NULL);
}

static void overfull_batch_is_judged(void **state)
{
	struct fixture *f = *state;
	struct ugst_ugds_event events[128];

	for (unsigned i = 0; i < 128; i++)
		assert_int_equal(
			submit(f, entry(f, i * 4096, i * 4096, 4096, i)), 0);
	assert_int_equal(broken(UGST_COMPAT_RULE_CAPACITY), 0);
	assert_int_equal(submit_mib(f, 0), 5040);
	assert_int_equal(broken(UGST_COMPAT_RULE_CAPACITY), 1);
	assert_int_equal(events_within(f, 128, 10000, events), 128);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		SCRIPTED(window_is_judged),
		SCRIPTED(overlap_is_judged_until_told),
		SCRIPTED(calls_inside_are_judged),
		SCRIPTED(overfull_batch_is_judged),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
