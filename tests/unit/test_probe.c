/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_probe.c - the probe against libraries made by hand.
 *
 * Each fake keeps the rules that uGDS has for entries: a size that is not a
 * multiple of the LBA size, or of more than 65,535 commands, fails the call
 * with 5022; an entry on unregistered memory becomes an event FAILED, -EINVAL.
 * A fake never transfers anything; it counts what would have been.
 */
#include "base/common.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "devices/ugds.h"

enum fault {
	FAULT_NONE,
	FAULT_SETUP,          /* SetUp fails with fake.code */
	FAULT_SUBMIT,         /* Submit fails with fake.code */
	FAULT_STATUS,         /* GetStatus fails with fake.code */
	FAULT_NO_EVENTS,      /* accepted, but nothing comes */
	FAULT_COOKIE,         /* events carry another cookie */
	FAULT_ORDER,          /* three events, last first */
	FAULT_EVENT_STATUS,   /* COMPLETE where FAILED is due */
	FAULT_EVENT_RESULT,   /* FAILED with another result */
	FAULT_PARAMS_SWAPPED, /* size where we have the buffer offset */
	FAULT_PARAMS_LARGER,  /* entries of 64 bytes */
	FAULT_EVENT_LARGER    /* events of 32 bytes */
};

static struct {
	size_t lba_bytes;
	size_t command_bytes;
	enum fault fault;
	int code;
	void *cookies[UGST_UGDS_BATCH_ENTRIES];
	unsigned pending;
	unsigned submits;
	unsigned setups;
	unsigned destroys;
} fake;

static int handle_object;

static struct ugst_ugds_error say(int code)
{
	struct ugst_ugds_error error = {.code = code};

	return error;
}

static struct ugst_ugds_error fake_setup(void **batch_out, void *handle,
                                         unsigned count)
{
	assert_ptr_equal(handle, &handle_object);
	assert_int_equal(count, 128);
	if (fake.fault == FAULT_SETUP)
		return say(fake.code);
	*batch_out = &fake;
	fake.setups++;
	return say(0);
}

static bool refused(size_t bytes)
{
	size_t commands = (bytes + fake.command_bytes - 1) / fake.command_bytes;

	return bytes == 0 || bytes % fake.lba_bytes != 0 || commands > 65535;
}

static struct ugst_ugds_error fake_submit(void *batch, unsigned count,
                                          struct ugst_ugds_params *params,
                                          unsigned flags)
{
	const char *at = (const char *)params;
	size_t stride =
		fake.fault == FAULT_PARAMS_LARGER ? 64 : sizeof(*params);

	(void)flags;
	assert_ptr_equal(batch, &fake);
	fake.submits++;
	if (fake.fault == FAULT_SUBMIT)
		return say(fake.code);
	for (unsigned i = 0; i < count; i++) {
		struct ugst_ugds_params entry;
		size_t bytes;

		memcpy(&entry, at + i * stride, sizeof(entry));
		bytes = fake.fault == FAULT_PARAMS_SWAPPED
		                ? (size_t)entry.buffer_off
		                : entry.bytes;
		if (!entry.base || refused(bytes))
			return say(5022);
		fake.cookies[fake.pending + i] = entry.cookie;
	}
	fake.pending += count;
	return say(0);
}

static struct ugst_ugds_error fake_status(void *batch, unsigned min_count,
                                          unsigned *count,
                                          struct ugst_ugds_event *events,
                                          struct timespec *timeout)
{
	size_t stride = fake.fault == FAULT_EVENT_LARGER ? 32 : sizeof(*events);
	unsigned given = *count < fake.pending ? *count : fake.pending;

	assert_ptr_equal(batch, &fake);
	assert_non_null(timeout); /* NULL may block for ever */
	assert_true(min_count <= *count);
	if (fake.fault == FAULT_STATUS)
		return say(fake.code);
	if (fake.fault == FAULT_NO_EVENTS)
		given = 0;
	for (unsigned i = 0; i < given; i++) {
		struct ugst_ugds_event event = {
			.cookie = fake.cookies[i],
			.status = 0x40,
			.ret = -EINVAL,
		};

		if (fake.fault == FAULT_COOKIE)
			event.cookie = NULL;
		if (fake.fault == FAULT_ORDER)
			event.cookie = fake.cookies[given - 1 - i];
		if (fake.fault == FAULT_EVENT_STATUS)
			event.status = 0x10;
		if (fake.fault == FAULT_EVENT_RESULT)
			event.ret = 512;
		memcpy((char *)events + i * stride, &event, sizeof(event));
	}
	fake.pending = 0;
	*count = given;
	return say(0);
}

static void fake_destroy(void *batch)
{
	assert_ptr_equal(batch, &fake);
	fake.destroys++;
}

static const struct ugst_ugds fake_ugds = {
	.batch_setup = fake_setup,
	.batch_submit = fake_submit,
	.batch_status = fake_status,
	.batch_destroy = fake_destroy,
};

static int probe(size_t lba_bytes, size_t command_bytes, enum fault fault,
                 int code, struct ugst_ugds_limits *limits,
                 struct ugds_st_error *err)
{
	int status;

	memset(&fake, 0, sizeof(fake));
	memset(limits, 0xee, sizeof(*limits));
	memset(err, 0, sizeof(*err));
	fake.lba_bytes = lba_bytes;
	fake.command_bytes = command_bytes;
	fake.fault = fault;
	fake.code = code;
	status = ugst_ugds_probe(&fake_ugds, &handle_object, limits, err);
	/* Whatever happened, the handle's one batch is free again. */
	assert_int_equal(fake.setups, fake.destroys);
	assert_int_equal(fake.pending, 0);
	if (status != UGDS_ST_OK) {
		assert_int_equal(err->status, status);
		assert_true(strlen(err->text) > 0);
		assert_int_equal(limits->lba_bytes, 0xeeeeeeee);
	}
	return status;
}

/* Command sizes of MDTS 0, 2, 5, 8 and 9 to 13 (513 pages). */
static void test_finds_sizes(void **state)
{
	static const size_t lbas[] = {512, 1024, 2048, 4096};
	static const size_t commands[] = {4096, 16384, 131072, 1048576,
	                                  2101248};
	struct ugst_ugds_limits limits;
	struct ugds_st_error err;

	(void)state;
	for (size_t l = 0; l < UGST_COUNT(lbas); l++) {
		for (size_t c = 0; c < UGST_COUNT(commands); c++) {
			assert_int_equal(probe(lbas[l], commands[c], FAULT_NONE,
			                       0, &limits, &err),
			                 UGDS_ST_OK);
			assert_int_equal(limits.lba_bytes, lbas[l]);
			assert_int_equal(limits.command_bytes, commands[c]);
			assert_int_equal(limits.window_commands, 63);
			assert_false(limits.wait_sleeps);
			assert_int_equal(fake.setups, 1);
			/* up to 4 for the LBA, 1 for the layout, 10 halvings
			 * of 1024 */
			assert_true(fake.submits <= 15);
		}
	}
}

/* Every multiple of a page that uGDS could use as a command. */
static void test_finds_every_command_size(void **state)
{
	struct ugst_ugds_limits limits;
	struct ugds_st_error err;

	(void)state;
	for (size_t pages = 1; pages <= 513; pages++) {
		assert_int_equal(
			probe(512, pages * 4096, FAULT_NONE, 0, &limits, &err),
			UGDS_ST_OK);
		assert_int_equal(limits.command_bytes, pages * 4096);
	}
}

static void test_refuses_large_blocks(void **state)
{
	struct ugst_ugds_limits limits;
	struct ugds_st_error err;

	(void)state;
	assert_int_equal(probe(8192, 131072, FAULT_NONE, 0, &limits, &err),
	                 UGDS_ST_UNSUPPORTED);
	assert_non_null(strstr(err.text, "4096"));
	assert_non_null(strstr(err.text, "8192"));
	assert_int_equal(probe(131072, 131072, FAULT_NONE, 0, &limits, &err),
	                 UGDS_ST_UNSUPPORTED);
}

/* None of these may pass for a library that we know. */
static void test_other_layouts(void **state)
{
	static const enum fault faults[] = {
		FAULT_NO_EVENTS,     FAULT_COOKIE,       FAULT_ORDER,
		FAULT_EVENT_STATUS,  FAULT_EVENT_RESULT, FAULT_PARAMS_SWAPPED,
		FAULT_PARAMS_LARGER, FAULT_EVENT_LARGER,
	};
	struct ugst_ugds_limits limits;
	struct ugds_st_error err;

	(void)state;
	for (size_t i = 0; i < UGST_COUNT(faults); i++) {
		assert_int_equal(
			probe(512, 131072, faults[i], 0, &limits, &err),
			UGDS_ST_UNSUPPORTED);
		assert_non_null(strstr(err.text, "binary interface"));
	}
}

static void test_passes_errors_up(void **state)
{
	static const struct {
		enum fault fault;
		int code;
		int status;
	} cases[] = {
		{FAULT_SETUP, 5022, UGDS_ST_BUSY},
		{FAULT_SETUP, 5042, UGDS_ST_BUSY},
		{FAULT_SETUP, 5030, UGDS_ST_IO},
		{FAULT_SUBMIT, 5042, UGDS_ST_BUSY},
		{FAULT_SUBMIT, 5030, UGDS_ST_IO},
		{FAULT_SUBMIT, 5040, UGDS_ST_IO},
		{FAULT_STATUS, 5022, UGDS_ST_IO},
	};
	struct ugst_ugds_limits limits;
	struct ugds_st_error err;

	(void)state;
	for (size_t i = 0; i < UGST_COUNT(cases); i++) {
		memset(&err, 0, sizeof(err));
		memset(&fake, 0, sizeof(fake));
		fake.lba_bytes = 512;
		fake.command_bytes = 131072;
		fake.fault = cases[i].fault;
		fake.code = cases[i].code;
		assert_int_equal(ugst_ugds_probe(&fake_ugds, &handle_object,
		                                 &limits, &err),
		                 cases[i].status);
		assert_int_equal(err.ugds_code, cases[i].code);
		assert_int_equal(fake.setups, fake.destroys);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_finds_sizes),
		cmocka_unit_test(test_finds_every_command_size),
		cmocka_unit_test(test_refuses_large_blocks),
		cmocka_unit_test(test_other_layouts),
		cmocka_unit_test(test_passes_errors_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
