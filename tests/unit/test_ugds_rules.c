/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_ugds_rules.c - the rules of uGDS (support/rules.h), without uGDS.
 *
 * The library takes a character device for uGDS's and compatibility mode, by a
 * script, plays library and drive; so all of the way to uGDS is the real one.
 */
#include "support/test.h"

#include <pthread.h>
#include <sched.h>

#include "base/clock.h"
#include "devices/ugds_compat_script.h"
#include "support/async_memory.h"
#include "support/fake_node.h"
#include "support/rules.h"

#define LBA_BYTES 512u
/* How long a batch with a lost command is waited for, when it is destroyed. */
#define DESTROY_MS 3000u

static struct async_memory memory; /* blocks that are stuck stay in it */
static void (*plain_free)(void *ctx, void *ptr, size_t bytes);

static struct late {
	pthread_t thread;
	bool running;
	unsigned ms;
} late;

static void fault(struct ugst_compat_fault fault)
{
	ugst_compat_script_fault(&fault);
}

static void fail_nth(unsigned nth)
{
	fault((struct ugst_compat_fault){
		.kind = UGST_COMPAT_FAIL, .skip = nth - 1, .count = 1});
}

static void fail_block(uint64_t device_off)
{
	fault((struct ugst_compat_fault){.kind = UGST_COMPAT_FAIL,
	                                 .device_off = device_off,
	                                 .device_bytes = 1});
}

static void lose(unsigned nth)
{
	fault((struct ugst_compat_fault){
		.kind = UGST_COMPAT_LOSE, .skip = nth - 1, .count = 1});
}

static void *release_late(void *arg)
{
	struct timespec nap = ugst_timespec(late.ms * UGST_NS_PER_MS);
	uint64_t until_ns = ugst_now_ns() + 10 * UGST_NS_PER_S;

	(void)nanosleep(&nap, NULL);
	while (!ugst_compat_script_release(0) && ugst_now_ns() < until_ns)
		(void)sched_yield();
	return arg;
}

static void delay(unsigned nth, unsigned ms)
{
	fault((struct ugst_compat_fault){
		.kind = UGST_COMPAT_LATE, .skip = nth - 1, .count = 1});
	late.ms = ms;
	late.running = true;
	assert_int_equal(pthread_create(&late.thread, NULL, release_late, NULL),
	                 0);
}

static void heal(void)
{
	ugst_compat_script_heal();
	if (late.running)
		(void)pthread_join(late.thread, NULL);
	late.running = false;
}

static void shorten(ugds_st_store *store)
{
	(void)store;
	fault((struct ugst_compat_fault){.kind = UGST_COMPAT_SHORT,
	                                 .count = 1});
}

static void block_submit(ugds_st_store *store, unsigned ms)
{
	(void)store;
	if (ms)
		fake_node_troubles.submit_ms = ms;
	else
		ugst_compat_script_submit(UGST_UGDS_INTERNAL_ERROR, 0, 1);
}

/* What is given back while a command may write to it is noted. */
static void watched_free(void *ctx, void *ptr, size_t bytes)
{
	ugst_compat_script_given_back(ptr, bytes);
	plain_free(ctx, ptr, bytes);
}

static void begin(const struct ugst_ugds *watched)
{
	ugst_compat_script_begin(&(struct ugst_compat_script){
		.lba_bytes = LBA_BYTES,
		.command_bytes = rules_rig.command_bytes,
		.window_commands = 63,
		.destroy_ms = DESTROY_MS});
	fake_node_troubles.loaded = watched;
}

static void end(bool lost)
{
	struct ugst_compat_counts counts = ugst_compat_script_counts();

	for (int rule = 0; rule < UGST_COMPAT_RULE_COUNT; rule++) {
		/* Asking for what a lost drive keeps is how one knows. */
		if (lost && (rule == UGST_COMPAT_RULE_DEREGISTER ||
		             rule == UGST_COMPAT_RULE_DESTROY_LOST))
			continue;
		if (counts.broken[rule])
			fail_msg("rule %d was broken", rule);
	}
	assert_int_equal(counts.handles, 0);
	if (lost)
		assert_true(counts.bufs_busy > 0);
	else
		assert_int_equal(counts.bufs, 0);
	assert_int_equal(counts.bufs_busy, counts.bufs);
	ugst_compat_script_end();
}

int main(void)
{
	static const uint32_t commands[] = {4096, 131072, 466944};
	struct volumes *volumes;
	int failed = 0;

	if (!fake_node_begin()) {
		print_message("SKIP: no pseudo-terminals\n");
		return 77;
	}
	volumes = volumes_new(&rules_shape);
	fake_nodes[0].file = volumes->devices[0];
	async_memory_init(&memory, 0);
	plain_free = memory.ops.free;
	memory.ops.free = watched_free;
	for (size_t i = 0; !failed && i < UGST_COUNT(commands); i++) {
		rules_rig = (struct rules_rig){
			.device = fake_nodes[0].path,
			.volumes = volumes,
			.memory = &memory.ops,
			.ugds = fake_node_ugds(),
			.lba_bytes = LBA_BYTES,
			.command_bytes = commands[i],
			.slow = true,
			.fail_nth = fail_nth,
			.delay = delay,
			.lose = lose,
			.fail_block = fail_block,
			.heal = heal,
			.shorten = shorten,
			.block_submit = block_submit,
			.begin = begin,
			.end = end,
		};
		failed = rules_run();
	}
	fake_node_end();
	volumes_free(volumes);
	return failed;
}
