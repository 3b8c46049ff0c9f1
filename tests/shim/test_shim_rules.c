/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_shim_rules.c - the rules of uGDS (support/rules.h), with the real one.
 *
 * Every call of the library to uGDS passes the watch of ugds_watch.h.
 */
#include "shim/rig.h"

#include "support/rules.h"
#include "support/ugds_watch.h"

/* With this MQES the queue has 331 places, no power of two: when the last of
 * them is the only one in use, the first looks taken, and Submit waits. */
#define ODD_MQES 330
#define ODD_PLACES (ODD_MQES + 1)

static const struct ugst_ugds *table;
static uint64_t stuck_maps;

int __real_ugst_ugds_load(const struct ugds_st_ugds_calls *lent,
                          const char *path, const struct ugst_ugds **ugds_out,
                          struct ugds_st_error *err);
int __wrap_ugst_ugds_load(const struct ugds_st_ugds_calls *lent,
                          const char *path, const struct ugst_ugds **ugds_out,
                          struct ugds_st_error *err);

int __wrap_ugst_ugds_load(const struct ugds_st_ugds_calls *lent,
                          const char *path, const struct ugst_ugds **ugds_out,
                          struct ugds_st_error *err)
{
	int status = __real_ugst_ugds_load(lent, path, ugds_out, err);

	if (status == UGDS_ST_OK)
		*ugds_out = table;
	return status;
}

__attribute__((format(printf, 1, 2))) static void add_fault(const char *fmt,
                                                            ...)
{
	char rule[128];
	va_list args;

	va_start(args, fmt);
	(void)vsnprintf(rule, sizeof(rule), fmt, args);
	va_end(args);
	assert_int_equal(ugds_shim_ctl(0, rule), 0);
}

static void fail_nth(unsigned nth)
{
	add_fault("fault read:%u=status:0x281", nth);
}

static void delay(unsigned nth, unsigned ms)
{
	add_fault("fault read:%u=delay:%u", nth, ms * 1000);
}

static void lose(unsigned nth)
{
	add_fault("fault read:%u=drop", nth);
}

static void fail_block(uint64_t device_off)
{
	add_fault("fault read:*@%llu=status:0x281",
	          (unsigned long long)device_off / rules_rig.lba_bytes);
}

static void heal(void)
{
	assert_int_equal(ugds_shim_ctl(0, "clear"), 0);
}

/* The next command takes the last place of the queue. */
static void go_to_last_place(ugds_st_store *store)
{
	while (ugds_watch_counts().commands % ODD_PLACES != ODD_PLACES - 1)
		rules_read_small(store);
}

/* uGDS marks an entry as pending with each command that it queues; so that the
 * first has failed, if Submit saw it before the second was queued, is lost. */
static void shorten(ugds_st_store *store)
{
	go_to_last_place(store);
	fail_nth(1);
}

static void block_submit(ugds_st_store *store, unsigned ms)
{
	go_to_last_place(store);
	if (ms)
		delay(1, ms);
	else
		lose(1);
}

static void begin(const struct ugst_ugds *watched)
{
	table = watched;
}

static void end(bool lost)
{
	assert_shim_clean();
	if (lost)
		stuck_maps = shim_sum("live_maps");
	assert_int_equal(shim_sum("live_maps"), stuck_maps);
}

static int run(void)
{
	struct ugds_st_error err;

	rules_rig = (struct rules_rig){
		.device = RIG_DEVICE,
		.volumes = rig_volumes,
		.memory = rig_cuda,
		.lba_bytes = (uint32_t)shim_setting("UGDS_SHIM_LBA", 512),
		.command_bytes = rig_command_bytes(),
		.slow = getenv("TEST_SHIM_SLOW") != NULL,
		.fail_nth = fail_nth,
		.delay = delay,
		.lose = lose,
		.fail_block = fail_block,
		.heal = heal,
		.begin = begin,
		.end = end,
	};
	if (shim_setting("UGDS_SHIM_MQES", 0) == ODD_MQES) {
		rules_rig.shorten = shorten;
		rules_rig.block_submit = block_submit;
	}
	assert_ok(__real_ugst_ugds_load(NULL, NULL, &rules_rig.ugds, &err),
	          err);
	return rules_run();
}

int main(void)
{
	return rig_main(&rules_shape, run);
}
