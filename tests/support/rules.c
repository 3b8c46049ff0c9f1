/* SPDX-License-Identifier: BSD-3-Clause */
/* rules.c - what the tests of uGDS's rules share; see rules.h. */
#include "support/reading.h"

#include "base/clock.h"
#include "base/units.h"
#include "pure/plan.h"
#include "support/rules_tools.h"
#include "support/ugds_watch.h"

const struct volumes_shape rules_shape = {
	.seed = 41,
	.volume_count = 1,
	.shard_count = 1,
	.tensor_count = 40,
	.max_tensor_bytes = 3500000,
};

struct rules_rig rules_rig;

static bool lost; /* this test gives a drive up */

void rules_lose_drive(void)
{
	lost = true;
}

int rules_setup(void **state)
{
	(void)state;
	lost = false;
	rules_rig.begin(ugds_watch_begin(rules_rig.ugds, rules_rig.lba_bytes,
	                                 rules_rig.command_bytes));
	return 0;
}

int rules_teardown(void **state)
{
	(void)state;
	rules_rig.heal();
	rules_rig.end(lost);
	if (ugds_watch_broken())
		fail_msg("a rule of uGDS was broken: %s", ugds_watch_broken());
	return 0;
}

void rules_sleep_ms(unsigned ms)
{
	struct timespec nap = ugst_timespec(ms * UGST_NS_PER_MS);

	(void)nanosleep(&nap, NULL);
}

uint64_t rules_ms_since(uint64_t begin_ns)
{
	return (ugst_now_ns() - begin_ns) / UGST_NS_PER_MS;
}

int rules_try_open(struct ugds_st_open_opts opts, ugds_st_store **store_out,
                   struct ugds_st_error *err)
{
	opts.devices = &rules_rig.device;
	opts.device_count = 1;
	if (!opts.memory)
		opts.memory = rules_rig.memory;
	opts.arena_bytes = 16 * UGST_MIB;
	return ugds_st_open(rules_rig.volumes->manifest, &opts, store_out, err);
}

ugds_st_store *rules_open_store(uint32_t silence_ms)
{
	struct ugds_st_open_opts opts = UGDS_ST_OPEN_OPTS_INIT;
	ugds_st_store *store = NULL;
	struct ugds_st_error err;

	opts.silence_ms = silence_ms;
	assert_ok(rules_try_open(opts, &store, &err), err);
	return store;
}

unsigned rules_entry_commands(void)
{
	return (unsigned)(ugst_plan_entry_bytes(rules_rig.command_bytes) /
	                  rules_rig.command_bytes);
}

void rules_needs_long_entries(void)
{
	if (rules_entry_commands() < 2)
		skip();
}

const ugds_st_tensor *rules_extreme(ugds_st_store *store, bool most)
{
	const ugds_st_tensor *found = NULL;
	uint64_t found_bytes = 0;

	for (size_t i = 0; i < ugds_st_count(store); i++) {
		const ugds_st_tensor *tensor = ugds_st_at(store, i);
		uint64_t bytes = reading_info(tensor).payload_bytes;

		if (bytes == 0 || (found && (bytes > found_bytes) != most))
			continue;
		found = tensor;
		found_bytes = bytes;
	}
	assert_non_null(found);
	return found;
}

struct ugds_st_read rules_staged(const ugds_st_tensor *tensor)
{
	struct ugds_st_read read = UGDS_ST_READ_INIT;

	read.tensor = tensor;
	read.dst_bytes = reading_info(tensor).payload_bytes;
	read.dst = malloc(read.dst_bytes);
	assert_non_null(read.dst);
	memset(read.dst, RULES_FILL, read.dst_bytes);
	return read;
}

void rules_expect_fill(const char *bytes, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (bytes[i] != RULES_FILL)
			fail_msg("byte %zu was written", i);
}

void rules_read_small(ugds_st_store *store)
{
	struct ugds_st_read read = rules_staged(rules_extreme(store, false));
	struct ugds_st_error err;

	assert_ok(ugds_st_read_many(store, &read, 1, NULL, &err), err);
	reading_expect(rules_rig.volumes, read.tensor, read.dst);
	free(read.dst);
}

void rules_read_all(ugds_st_store *store)
{
	struct ugds_st_read *reads = reading_list(store);
	size_t count = ugds_st_count(store);
	struct ugds_st_error err;

	assert_ok(ugds_st_read_many(store, reads, count, NULL, &err), err);
	for (size_t i = 0; i < count; i++)
		reading_expect(rules_rig.volumes, reads[i].tensor,
		               reads[i].dst);
	reading_free(reads, count);
}

static void copy(void *dst, const void *src, size_t bytes)
{
	const struct ugds_st_memory_ops *memory = rules_rig.memory;
	uint64_t token;

	assert_int_equal(
		memory->copy(memory->ctx, dst, src, bytes, NULL, &token), 0);
	assert_int_equal(memory->done(memory->ctx, token, 1), 1);
}

void rules_fill_direct(const struct rules_direct *direct)
{
	char *fill = malloc(RULES_MEMORY_BYTES);

	assert_non_null(fill);
	memset(fill, RULES_FILL, RULES_MEMORY_BYTES);
	copy(direct->memory, fill, RULES_MEMORY_BYTES);
	free(fill);
}

void rules_check_direct(const struct rules_direct *direct, bool filled)
{
	char *bytes = malloc(RULES_MEMORY_BYTES);

	assert_non_null(bytes);
	copy(bytes, direct->memory, RULES_MEMORY_BYTES);
	if (filled)
		rules_expect_fill(bytes, RULES_MEMORY_BYTES);
	else
		reading_expect(
			rules_rig.volumes, direct->read.tensor,
			bytes + ((char *)direct->read.dst - direct->memory));
	free(bytes);
}

void rules_new_direct(struct rules_direct *direct, ugds_st_store *store,
                      unsigned flags)
{
	const struct ugds_st_memory_ops *memory = rules_rig.memory;
	const ugds_st_tensor *tensor = rules_extreme(store, true);
	struct ugds_st_info info = reading_info(tensor);
	uint64_t off = info.device_off + info.skew_bytes;
	struct ugds_st_error err;
	void *at;

	assert_int_equal(memory->alloc(memory->ctx, RULES_MEMORY_BYTES,
	                               UGST_GPU_PAGE_BYTES, &at),
	                 0);
	*direct = (struct rules_direct){
		.memory = at,
		.read = UGDS_ST_READ_INIT,
		.head = off % UGST_PAGE_BYTES != 0,
		.device_off = ugst_align_up(off, UGST_PAGE_BYTES),
	};
	rules_fill_direct(direct);
	if (flags)
		assert_int_equal(
			rules_rig.ugds->buf_register(at, RULES_MEMORY_BYTES, 0)
				.code,
			0);
	assert_ok(ugds_st_register(store, at, RULES_MEMORY_BYTES, flags,
	                           &direct->buffer, &err),
	          err);
	direct->read.tensor = tensor;
	/* as far into a page as the payload is on the drive */
	direct->read.dst = direct->memory + off % UGST_PAGE_BYTES;
	direct->read.dst_bytes = info.payload_bytes;
	direct->read.buf = direct->buffer;
}

void rules_free_direct(struct rules_direct *direct)
{
	const struct ugds_st_memory_ops *memory = rules_rig.memory;

	memory->free(memory->ctx, direct->memory, RULES_MEMORY_BYTES);
}

void rules_give_up(ugds_st_store *store)
{
	struct ugds_st_error err;
	unsigned forced = ugds_watch_counts().forced;
	uint64_t begin_ns = ugst_now_ns();

	lost = true;
	assert_ok(ugds_st_close(store, UGDS_ST_CLOSE_ABANDON, &err), err);
	print_message("given up in %.3f s\n",
	              (double)rules_ms_since(begin_ns) / 1000);
	assert_int_equal(ugds_watch_counts().forced, forced + 1);
	rules_rig.heal();
	store = rules_open_store(0);
	rules_read_all(store);
	reading_close(store);
}

int rules_run(void)
{
	int failed;

	cmocka_set_test_filter(getenv("TEST_RULE")); /* NULL: all */
	failed = rules_of_events();
	return failed + rules_of_guests();
}
