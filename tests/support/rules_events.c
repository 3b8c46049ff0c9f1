/* SPDX-License-Identifier: BSD-3-Clause */
/* rules_events.c - rules of uGDS's batches: window, events, loss; see rules.h.
 */
#include "support/reading.h"

#include <pthread.h>
#include <sys/resource.h>

#include "base/clock.h"
#include "support/rules_tools.h"
#include "support/ugds_watch.h"

/* A command that all others overtake: as many as share no number with it may
 * pass, all of them do, and then everybody waits for it. */
static void slow_command_is_not_overtaken(void **state)
{
	ugds_st_store *store = rules_open_store(0);
	unsigned commands = ugds_watch_counts().commands;
	struct ugds_watch_counts counts;
	uint64_t begin_ns;

	(void)state;
	rules_read_all(store);
	commands = ugds_watch_counts().commands - commands;
	begin_ns = ugst_now_ns();
	for (unsigned nth = 1; nth < 30; nth += 14) {
		rules_rig.delay(nth, 200);
		rules_read_all(store);
		rules_rig.heal();
	}
	assert_true(commands < 30 || rules_ms_since(begin_ns) >= 600);
	reading_close(store);
	counts = ugds_watch_counts();
	assert_true(counts.distance_max <= 63);
	if (commands >= 63 + rules_entry_commands())
		assert_true(counts.distance_max > 63 - rules_entry_commands());
	assert_true(counts.used_max <= 128);
	assert_int_equal(counts.invalid_events, 0);
}

/* An entry fails with its first command, and its last one runs on: nobody is
 * told, and nothing is submitted, before the batch was drained and made anew.
 */
static void entry_fails_early(void **state)
{
	ugds_st_store *store;
	struct ugds_st_read read;
	struct ugds_watch_counts before;
	struct ugds_watch_counts after;
	struct ugds_st_error err;
	uint64_t begin_ns;

	(void)state;
	rules_needs_long_entries();
	store = rules_open_store(0);
	read = rules_staged(rules_extreme(store, true));
	before = ugds_watch_counts();
	rules_rig.fail_nth(1);
	rules_rig.delay(rules_entry_commands(), 400);
	begin_ns = ugst_now_ns();
	assert_ok(ugds_st_read_many(store, &read, 1, NULL, &err), err);
	assert_true(rules_ms_since(begin_ns) >= 390);
	reading_expect(rules_rig.volumes, read.tensor, read.dst);
	after = ugds_watch_counts();
	assert_int_equal(after.early_failures - before.early_failures, 1);
	assert_int_equal(after.destroys - before.destroys, 1);
	assert_int_equal(after.setups - before.setups, 1);
	free(read.dst);
	reading_close(store);
}

/* The same, and the block is bad for good: the destination is the caller's
 * when the call returns, and what was late has landed by then. */
static void failed_entry_writes_no_more(void **state)
{
	ugds_st_store *store;
	struct rules_direct direct;
	struct ugds_st_error err;

	(void)state;
	rules_needs_long_entries();
	store = rules_open_store(0);
	rules_new_direct(&direct, store, 0);
	rules_rig.fail_block(direct.device_off);
	rules_rig.delay(direct.head + rules_entry_commands(), 400);
	assert_fails(ugds_st_read_many(store, &direct.read, 1, NULL, &err),
	             UGDS_ST_IO, err);
	assert_int_equal(ugds_watch_counts().early_failures, 1);
	rules_fill_direct(&direct);
	rules_sleep_ms(600);
	rules_check_direct(&direct, true);
	rules_rig.heal();
	assert_ok(ugds_st_read_many(store, &direct.read, 1, NULL, &err), err);
	rules_check_direct(&direct, false);
	assert_ok(ugds_st_unregister(direct.buffer, &err), err);
	rules_free_direct(&direct);
	reading_close(store);
}

/* A batch takes long to drain; a deadline does not wait for it. */
static void deadline_while_a_batch_drains(void **state)
{
	struct ugds_st_read_opts opts = UGDS_ST_READ_OPTS_INIT;
	ugds_st_store *store;
	struct ugds_st_read read;
	struct ugds_st_error err;
	uint64_t begin_ns;

	(void)state;
	rules_needs_long_entries();
	store = rules_open_store(0);
	read = rules_staged(rules_extreme(store, true));
	opts.deadline_ms = 100;
	rules_rig.fail_nth(1);
	rules_rig.delay(rules_entry_commands(), 1500);
	begin_ns = ugst_now_ns();
	assert_fails(ugds_st_read_many(store, &read, 1, &opts, &err),
	             UGDS_ST_TIMEOUT, err);
	assert_true(rules_ms_since(begin_ns) < 1000);
	memset(read.dst, RULES_FILL, read.dst_bytes);
	rules_read_all(store);
	assert_true(rules_ms_since(begin_ns) >= 1500);
	rules_expect_fill(read.dst, read.dst_bytes);
	assert_int_equal(ugds_watch_counts().early_failures, 1);
	free(read.dst);
	reading_close(store);
}

/* An entry failed early, and a command of it never ends: uGDS's wait for it is
 * longer than anybody's patience. */
static void lost_command_of_a_failed_entry(void **state)
{
	ugds_st_store *store;
	struct rules_direct direct;
	struct ugds_st_error err;
	uint64_t begin_ns;

	(void)state;
	rules_needs_long_entries();
	if (!rules_rig.slow)
		skip();
	store = rules_open_store(RULES_SILENCE_MS);
	rules_new_direct(&direct, store, 0);
	rules_rig.fail_nth(direct.head + 1);
	rules_rig.lose(direct.head + rules_entry_commands());
	begin_ns = ugst_now_ns();
	assert_fails(ugds_st_read_many(store, &direct.read, 1, NULL, &err),
	             UGDS_ST_DEVICE_LOST, err);
	assert_true(rules_ms_since(begin_ns) >= RULES_SILENCE_MS);
	assert_true(rules_ms_since(begin_ns) < RULES_SILENCE_MS + 1500);
	assert_fails(ugds_st_unregister(direct.buffer, &err),
	             UGDS_ST_DEVICE_LOST, err);
	rules_give_up(store);
}

/* "Complete", and a command of it brought nothing: read again. */
static void complete_and_short(void **state)
{
	ugds_st_store *store;
	struct ugds_st_stats stats = {.struct_size = sizeof(stats)};
	struct ugds_st_read read;
	struct ugds_st_error err;

	(void)state;
	rules_needs_long_entries();
	if (!rules_rig.shorten)
		skip();
	store = rules_open_store(0);
	read = rules_staged(rules_extreme(store, true));
	rules_rig.shorten(store);
	assert_ok(ugds_st_read_many(store, &read, 1, NULL, &err), err);
	reading_expect(rules_rig.volumes, read.tensor, read.dst);
	assert_int_equal(ugds_watch_counts().short_events, 1);
	assert_int_equal(ugds_st_get_stats(store, &stats), UGDS_ST_OK);
	assert_int_equal(stats.retries, rules_entry_commands());
	free(read.dst);
	reading_close(store);
}

/* A completion never comes: no destruction that would wait for it, and what the
 * drive may write to stays its own. */
static void lost_command(void **state)
{
	ugds_st_store *store = rules_open_store(RULES_SILENCE_MS);
	unsigned destroys = ugds_watch_counts().destroys;
	struct rules_direct direct;
	struct ugds_st_error err;
	uint64_t begin_ns;

	(void)state;
	rules_new_direct(&direct, store, 0);
	rules_rig.lose(direct.head + 1);
	begin_ns = ugst_now_ns();
	assert_fails(ugds_st_read_many(store, &direct.read, 1, NULL, &err),
	             UGDS_ST_DEVICE_LOST, err);
	assert_true(rules_ms_since(begin_ns) >= RULES_SILENCE_MS);
	assert_true(rules_ms_since(begin_ns) < RULES_SILENCE_MS + 1500);
	assert_fails(ugds_st_unregister(direct.buffer, &err),
	             UGDS_ST_DEVICE_LOST, err);
	rules_give_up(store);
	/* The one of the store that was opened again, and of its probe. */
	assert_int_equal(ugds_watch_counts().destroys, destroys + 2);
}

static long naps_of_this_thread(void)
{
	struct rusage usage;

	assert_int_equal(getrusage(RUSAGE_THREAD, &usage), 0);
	return usage.ru_nvcsw;
}

/* Who waits goes to sleep, although uGDS's own wait would spin. */
static void waiting_sleeps(void **state)
{
	ugds_st_store *store = rules_open_store(0);
	uint64_t begin_ns;
	long naps;

	(void)state;
	rules_rig.delay(1, 500);
	begin_ns = ugst_now_ns();
	naps = naps_of_this_thread();
	rules_read_small(store);
	assert_true(rules_ms_since(begin_ns) >= 490);
	assert_true(naps_of_this_thread() - naps >= 20);
	reading_close(store);
}

static void *read_large(void *ctx)
{
	ugds_st_store *store = ctx;
	struct ugds_st_read read = UGDS_ST_READ_INIT;
	struct ugds_st_info info = {.struct_size = sizeof(info)};
	int status;

	read.tensor = rules_extreme(store, true);
	(void)ugds_st_info(read.tensor, &info);
	read.dst_bytes = info.payload_bytes;
	read.dst = malloc(read.dst_bytes);
	status = ugds_st_read_many(store, &read, 1, NULL, NULL);
	if (!status &&
	    memcmp(read.dst, volumes_expected(rules_rig.volumes, read.tensor),
	           read.dst_bytes) != 0)
		status = -1;
	free(read.dst);
	return (void *)(intptr_t)status;
}

/* Submit waits for a completion: who reads beside it can still give up in
 * time. */
static void submit_that_waits(void **state)
{
	struct ugds_st_read_opts opts = UGDS_ST_READ_OPTS_INIT;
	struct ugds_st_read read;
	ugds_st_store *store;
	struct ugds_st_error err;
	uint64_t begin_ns;
	pthread_t thread;
	void *status;

	(void)state;
	if (!rules_rig.block_submit)
		skip();
	store = rules_open_store(0);
	read = rules_staged(rules_extreme(store, false));
	opts.deadline_ms = 100;
	rules_rig.block_submit(store, 1000);
	begin_ns = ugst_now_ns();
	assert_int_equal(pthread_create(&thread, NULL, read_large, store), 0);
	rules_sleep_ms(200);
	assert_fails(ugds_st_read_many(store, &read, 1, &opts, &err),
	             UGDS_ST_TIMEOUT, err);
	assert_true(rules_ms_since(begin_ns) < 900);
	assert_int_equal(pthread_join(thread, &status), 0);
	assert_int_equal((intptr_t)status, UGDS_ST_OK);
	assert_true(rules_ms_since(begin_ns) >= 990);
	rules_read_all(store);
	free(read.dst);
	reading_close(store);
}

/* Submit gave up: what it took never ends. */
static void submit_that_gives_up(void **state)
{
	ugds_st_store *store;
	struct rules_direct direct;
	struct ugds_st_error err;

	(void)state;
	if (!rules_rig.block_submit || !rules_rig.slow)
		skip();
	store = rules_open_store(120000);
	rules_new_direct(&direct, store, 0);
	rules_rig.block_submit(store, 0);
	assert_fails(ugds_st_read_many(store, &direct.read, 1, NULL, &err),
	             UGDS_ST_DEVICE_LOST, err);
	assert_int_equal(err.ugds_code, UGST_UGDS_INTERNAL_ERROR);
	assert_int_equal(ugds_watch_counts().submit_failures, 1);
	assert_fails(ugds_st_close(store, 0, &err), UGDS_ST_BUSY, err);
	rules_give_up(store);
}

int rules_of_events(void)
{
	const struct CMUnitTest tests[] = {
		RULE(slow_command_is_not_overtaken),
		RULE(entry_fails_early),
		RULE(failed_entry_writes_no_more),
		RULE(deadline_while_a_batch_drains),
		RULE(complete_and_short),
		RULE(waiting_sleeps),
		RULE(submit_that_waits),
		/* last: what is stuck stays so */
		RULE(lost_command),
		RULE(lost_command_of_a_failed_entry),
		RULE(submit_that_gives_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
