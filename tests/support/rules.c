/* SPDX-License-Identifier: BSD-3-Clause */
/* rules.c - the rules of uGDS, one test each; see rules.h. */
#include "support/reading.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/units.h"
#include "pure/plan.h"
#include "support/rules.h"
#include "support/ugds_watch.h"

#define FILL 0x33
#define SILENCE_MS 1000u
#define MEMORY_BYTES ((size_t)4 << 20)

const struct volumes_shape rules_shape = {
	.seed = 41,
	.volume_count = 1,
	.shard_count = 1,
	.tensor_count = 40,
	.max_tensor_bytes = 3500000,
};

struct rules_rig rules_rig;

static bool lost; /* this test gives a drive up */

/* ------------------------------------------------------------------- tools */

static int setup(void **state)
{
	(void)state;
	lost = false;
	rules_rig.begin(ugds_watch_begin(rules_rig.ugds, rules_rig.lba_bytes,
	                                 rules_rig.command_bytes));
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	rules_rig.heal();
	rules_rig.end(lost);
	if (ugds_watch_broken())
		fail_msg("a rule of uGDS was broken: %s", ugds_watch_broken());
	return 0;
}

static void sleep_ms(unsigned ms)
{
	struct timespec nap = ugst_timespec(ms * UGST_NS_PER_MS);

	(void)nanosleep(&nap, NULL);
}

static uint64_t ms_since(uint64_t begin_ns)
{
	return (ugst_now_ns() - begin_ns) / UGST_NS_PER_MS;
}

static int try_open(struct ugds_st_open_opts opts, ugds_st_store **store_out,
                    struct ugds_st_error *err)
{
	opts.devices = &rules_rig.device;
	opts.device_count = 1;
	if (!opts.memory)
		opts.memory = rules_rig.memory;
	opts.arena_bytes = 16 * UGST_MIB;
	return ugds_st_open(rules_rig.volumes->manifest, &opts, store_out, err);
}

static ugds_st_store *open_store(uint32_t silence_ms)
{
	struct ugds_st_open_opts opts = UGDS_ST_OPEN_OPTS_INIT;
	ugds_st_store *store = NULL;
	struct ugds_st_error err;

	opts.silence_ms = silence_ms;
	assert_ok(try_open(opts, &store, &err), err);
	return store;
}

/* Commands of a full entry. */
static unsigned entry_commands(void)
{
	return (unsigned)(ugst_plan_entry_bytes(rules_rig.command_bytes) /
	                  rules_rig.command_bytes);
}

static void needs_long_entries(void)
{
	if (entry_commands() < 2)
		skip();
}

/* The tensor with the most bytes, or the least. */
static const ugds_st_tensor *extreme(ugds_st_store *store, bool most)
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

/* A request into host memory. */
static struct ugds_st_read staged(const ugds_st_tensor *tensor)
{
	struct ugds_st_read read = UGDS_ST_READ_INIT;

	read.tensor = tensor;
	read.dst_bytes = reading_info(tensor).payload_bytes;
	read.dst = malloc(read.dst_bytes);
	assert_non_null(read.dst);
	memset(read.dst, FILL, read.dst_bytes);
	return read;
}

static void expect_fill(const char *bytes, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (bytes[i] != FILL)
			fail_msg("byte %zu was written", i);
}

void rules_read_small(ugds_st_store *store)
{
	struct ugds_st_read read = staged(extreme(store, false));
	struct ugds_st_error err;

	assert_ok(ugds_st_read_many(store, &read, 1, NULL, &err), err);
	reading_expect(rules_rig.volumes, read.tensor, read.dst);
	free(read.dst);
}

static void read_all(ugds_st_store *store)
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

/* A request for the largest tensor, straight into device memory. */
struct direct {
	char *memory;
	ugds_st_buffer *buffer;
	struct ugds_st_read read;
	unsigned head;       /* commands before its first direct entry */
	uint64_t device_off; /* of that entry */
};

static void fill_direct(const struct direct *direct)
{
	char *fill = malloc(MEMORY_BYTES);

	assert_non_null(fill);
	memset(fill, FILL, MEMORY_BYTES);
	copy(direct->memory, fill, MEMORY_BYTES);
	free(fill);
}

static void check_direct(const struct direct *direct, bool filled)
{
	char *bytes = malloc(MEMORY_BYTES);

	assert_non_null(bytes);
	copy(bytes, direct->memory, MEMORY_BYTES);
	if (filled)
		expect_fill(bytes, MEMORY_BYTES);
	else
		reading_expect(
			rules_rig.volumes, direct->read.tensor,
			bytes + ((char *)direct->read.dst - direct->memory));
	free(bytes);
}

static void new_direct(struct direct *direct, ugds_st_store *store,
                       unsigned flags)
{
	const struct ugds_st_memory_ops *memory = rules_rig.memory;
	const ugds_st_tensor *tensor = extreme(store, true);
	struct ugds_st_info info = reading_info(tensor);
	uint64_t off = info.device_off + info.skew_bytes;
	struct ugds_st_error err;
	void *at;

	assert_int_equal(memory->alloc(memory->ctx, MEMORY_BYTES,
	                               UGST_GPU_PAGE_BYTES, &at),
	                 0);
	*direct = (struct direct){
		.memory = at,
		.read = UGDS_ST_READ_INIT,
		.head = off % UGST_PAGE_BYTES != 0,
		.device_off = ugst_align_up(off, UGST_PAGE_BYTES),
	};
	fill_direct(direct);
	if (flags)
		assert_int_equal(
			rules_rig.ugds->buf_register(at, MEMORY_BYTES, 0).code,
			0);
	assert_ok(ugds_st_register(store, at, MEMORY_BYTES, flags,
	                           &direct->buffer, &err),
	          err);
	direct->read.tensor = tensor;
	/* as far into a page as the payload is on the drive */
	direct->read.dst = direct->memory + off % UGST_PAGE_BYTES;
	direct->read.dst_bytes = info.payload_bytes;
	direct->read.buf = direct->buffer;
}

static void free_direct(struct direct *direct)
{
	const struct ugds_st_memory_ops *memory = rules_rig.memory;

	memory->free(memory->ctx, direct->memory, MEMORY_BYTES);
}

static void give_up(ugds_st_store *store)
{
	struct ugds_st_error err;
	unsigned forced = ugds_watch_counts().forced;
	uint64_t begin_ns = ugst_now_ns();

	lost = true;
	assert_ok(ugds_st_close(store, UGDS_ST_CLOSE_ABANDON, &err), err);
	print_message("given up in %.3f s\n",
	              (double)ms_since(begin_ns) / 1000);
	assert_int_equal(ugds_watch_counts().forced, forced + 1);
	rules_rig.heal();
	store = open_store(0);
	read_all(store);
	reading_close(store);
}

/* ------------------------------------------------------------------ windows */

/* A command that all others overtake: as many as share no number with it may
 * pass, all of them do, and then everybody waits for it. */
static void slow_command_is_not_overtaken(void **state)
{
	ugds_st_store *store = open_store(0);
	unsigned commands = ugds_watch_counts().commands;
	struct ugds_watch_counts counts;
	uint64_t begin_ns;

	(void)state;
	read_all(store);
	commands = ugds_watch_counts().commands - commands;
	begin_ns = ugst_now_ns();
	for (unsigned nth = 1; nth < 30; nth += 14) {
		rules_rig.delay(nth, 200);
		read_all(store);
		rules_rig.heal();
	}
	assert_true(commands < 30 || ms_since(begin_ns) >= 600);
	reading_close(store);
	counts = ugds_watch_counts();
	assert_true(counts.distance_max <= 63);
	if (commands >= 63 + entry_commands())
		assert_true(counts.distance_max > 63 - entry_commands());
	assert_true(counts.used_max <= 128);
	assert_int_equal(counts.invalid_events, 0);
}

/* ------------------------------------------------------------------- events */

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
	needs_long_entries();
	store = open_store(0);
	read = staged(extreme(store, true));
	before = ugds_watch_counts();
	rules_rig.fail_nth(1);
	rules_rig.delay(entry_commands(), 400);
	begin_ns = ugst_now_ns();
	assert_ok(ugds_st_read_many(store, &read, 1, NULL, &err), err);
	assert_true(ms_since(begin_ns) >= 390);
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
	struct direct direct;
	struct ugds_st_error err;

	(void)state;
	needs_long_entries();
	store = open_store(0);
	new_direct(&direct, store, 0);
	rules_rig.fail_block(direct.device_off);
	rules_rig.delay(direct.head + entry_commands(), 400);
	assert_fails(ugds_st_read_many(store, &direct.read, 1, NULL, &err),
	             UGDS_ST_IO, err);
	assert_int_equal(ugds_watch_counts().early_failures, 1);
	fill_direct(&direct);
	sleep_ms(600);
	check_direct(&direct, true);
	rules_rig.heal();
	assert_ok(ugds_st_read_many(store, &direct.read, 1, NULL, &err), err);
	check_direct(&direct, false);
	assert_ok(ugds_st_unregister(direct.buffer, &err), err);
	free_direct(&direct);
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
	needs_long_entries();
	store = open_store(0);
	read = staged(extreme(store, true));
	opts.deadline_ms = 100;
	rules_rig.fail_nth(1);
	rules_rig.delay(entry_commands(), 1500);
	begin_ns = ugst_now_ns();
	assert_fails(ugds_st_read_many(store, &read, 1, &opts, &err),
	             UGDS_ST_TIMEOUT, err);
	assert_true(ms_since(begin_ns) < 1000);
	memset(read.dst, FILL, read.dst_bytes);
	read_all(store);
	assert_true(ms_since(begin_ns) >= 1500);
	expect_fill(read.dst, read.dst_bytes);
	assert_int_equal(ugds_watch_counts().early_failures, 1);
	free(read.dst);
	reading_close(store);
}

/* An entry failed early, and a command of it never ends: uGDS's wait for it is
 * longer than anybody's patience. */
static void lost_command_of_a_failed_entry(void **state)
{
	ugds_st_store *store;
	struct direct direct;
	struct ugds_st_error err;
	uint64_t begin_ns;

	(void)state;
	needs_long_entries();
	if (!rules_rig.slow)
		skip();
	store = open_store(SILENCE_MS);
	new_direct(&direct, store, 0);
	rules_rig.fail_nth(direct.head + 1);
	rules_rig.lose(direct.head + entry_commands());
	begin_ns = ugst_now_ns();
	assert_fails(ugds_st_read_many(store, &direct.read, 1, NULL, &err),
	             UGDS_ST_DEVICE_LOST, err);
	assert_true(ms_since(begin_ns) >= SILENCE_MS);
	assert_true(ms_since(begin_ns) < SILENCE_MS + 1500);
	assert_fails(ugds_st_unregister(direct.buffer, &err),
	             UGDS_ST_DEVICE_LOST, err);
	give_up(store);
}

/* "Complete", and a command of it brought nothing: read again. */
static void complete_and_short(void **state)
{
	ugds_st_store *store;
	struct ugds_st_stats stats = {.struct_size = sizeof(stats)};
	struct ugds_st_read read;
	struct ugds_st_error err;

	(void)state;
	needs_long_entries();
	if (!rules_rig.shorten)
		skip();
	store = open_store(0);
	read = staged(extreme(store, true));
	rules_rig.shorten(store);
	assert_ok(ugds_st_read_many(store, &read, 1, NULL, &err), err);
	reading_expect(rules_rig.volumes, read.tensor, read.dst);
	assert_int_equal(ugds_watch_counts().short_events, 1);
	assert_int_equal(ugds_st_get_stats(store, &stats), UGDS_ST_OK);
	assert_int_equal(stats.retries, entry_commands());
	free(read.dst);
	reading_close(store);
}

/* A completion never comes: no destruction that would wait for it, and what the
 * drive may write to stays its own. */
static void lost_command(void **state)
{
	ugds_st_store *store = open_store(SILENCE_MS);
	unsigned destroys = ugds_watch_counts().destroys;
	struct direct direct;
	struct ugds_st_error err;
	uint64_t begin_ns;

	(void)state;
	new_direct(&direct, store, 0);
	rules_rig.lose(direct.head + 1);
	begin_ns = ugst_now_ns();
	assert_fails(ugds_st_read_many(store, &direct.read, 1, NULL, &err),
	             UGDS_ST_DEVICE_LOST, err);
	assert_true(ms_since(begin_ns) >= SILENCE_MS);
	assert_true(ms_since(begin_ns) < SILENCE_MS + 1500);
	assert_fails(ugds_st_unregister(direct.buffer, &err),
	             UGDS_ST_DEVICE_LOST, err);
	give_up(store);
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
	ugds_st_store *store = open_store(0);
	uint64_t begin_ns;
	long naps;

	(void)state;
	rules_rig.delay(1, 500);
	begin_ns = ugst_now_ns();
	naps = naps_of_this_thread();
	rules_read_small(store);
	assert_true(ms_since(begin_ns) >= 490);
	assert_true(naps_of_this_thread() - naps >= 20);
	reading_close(store);
}

/* ------------------------------------------------------------------- Submit */

static void *read_large(void *ctx)
{
	ugds_st_store *store = ctx;
	struct ugds_st_read read = UGDS_ST_READ_INIT;
	struct ugds_st_info info = {.struct_size = sizeof(info)};
	int status;

	read.tensor = extreme(store, true);
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
	store = open_store(0);
	read = staged(extreme(store, false));
	opts.deadline_ms = 100;
	rules_rig.block_submit(store, 1000);
	begin_ns = ugst_now_ns();
	assert_int_equal(pthread_create(&thread, NULL, read_large, store), 0);
	sleep_ms(200);
	assert_fails(ugds_st_read_many(store, &read, 1, &opts, &err),
	             UGDS_ST_TIMEOUT, err);
	assert_true(ms_since(begin_ns) < 900);
	assert_int_equal(pthread_join(thread, &status), 0);
	assert_int_equal((intptr_t)status, UGDS_ST_OK);
	assert_true(ms_since(begin_ns) >= 990);
	read_all(store);
	free(read.dst);
	reading_close(store);
}

/* Submit gave up: what it took never ends. */
static void submit_that_gives_up(void **state)
{
	ugds_st_store *store;
	struct direct direct;
	struct ugds_st_error err;

	(void)state;
	if (!rules_rig.block_submit || !rules_rig.slow)
		skip();
	store = open_store(120000);
	new_direct(&direct, store, 0);
	rules_rig.block_submit(store, 0);
	assert_fails(ugds_st_read_many(store, &direct.read, 1, NULL, &err),
	             UGDS_ST_DEVICE_LOST, err);
	assert_int_equal(err.ugds_code, UGST_UGDS_INTERNAL_ERROR);
	assert_int_equal(ugds_watch_counts().submit_failures, 1);
	assert_fails(ugds_st_close(store, 0, &err), UGDS_ST_BUSY, err);
	give_up(store);
}

/* ------------------------------------------------------------------ buffers */

/* What uGDS would let through, as it counts in whole pages, is refused here. */
static void bounds_are_ours(void **state)
{
	ugds_st_store *store = open_store(0);
	unsigned entries;
	struct direct direct;
	struct ugds_st_error err;
	ugds_st_buffer *again = NULL;
	char *end;

	(void)state;
	new_direct(&direct, store, 0);
	end = direct.memory + MEMORY_BYTES;
	assert_fails(ugds_st_register(store, direct.memory, MEMORY_BYTES, 0,
	                              &again, &err),
	             UGDS_ST_INVALID_ARG, err);
	assert_int_equal(err.ugds_code, UGST_UGDS_ALREADY_REGISTERED);
	entries = ugds_watch_counts().entries;
	direct.read.dst = end - direct.read.dst_bytes + 1;
	assert_fails(ugds_st_read_many(store, &direct.read, 1, NULL, &err),
	             UGDS_ST_INVALID_ARG, err);
	direct.read.dst = direct.memory - 1;
	assert_fails(ugds_st_read_many(store, &direct.read, 1, NULL, &err),
	             UGDS_ST_INVALID_ARG, err);
	direct.read.dst = end;
	assert_fails(ugds_st_read_many(store, &direct.read, 1, NULL, &err),
	             UGDS_ST_INVALID_ARG, err);
	assert_int_equal(ugds_watch_counts().entries, entries);
	check_direct(&direct, true);
	direct.read.dst = end - direct.read.dst_bytes;
	assert_ok(ugds_st_read_many(store, &direct.read, 1, NULL, &err), err);
	check_direct(&direct, false);
	assert_ok(ugds_st_unregister(direct.buffer, &err), err);
	free_direct(&direct);
	reading_close(store);
}

/* Memory at no multiple of 64 KiB, which uGDS rounds down in silence. */
static int crooked_alloc(void *ctx, size_t bytes, size_t align, void **ptr_out)
{
	int code = rules_rig.memory->alloc(ctx, bytes + UGST_GPU_PAGE_BYTES,
	                                   align, ptr_out);

	if (code == 0)
		*ptr_out = (char *)*ptr_out + 4096;
	return code;
}

static void crooked_free(void *ctx, void *ptr, size_t bytes)
{
	rules_rig.memory->free(ctx, (char *)ptr - 4096,
	                       bytes + UGST_GPU_PAGE_BYTES);
}

static void crooked_memory(void **state)
{
	struct ugds_st_memory_ops crooked = *rules_rig.memory;
	struct ugds_st_open_opts opts = UGDS_ST_OPEN_OPTS_INIT;
	ugds_st_store *store = NULL;
	struct ugds_st_error err;

	(void)state;
	crooked.alloc = crooked_alloc;
	crooked.free = crooked_free;
	crooked.registrable = NULL;
	opts.memory = &crooked;
	assert_fails(try_open(opts, &store, &err), UGDS_ST_INVALID_ARG, err);
	assert_int_equal(err.ugds_code, 0);
	assert_non_null(strstr(err.text, "65536"));
	assert_null(store);
}

/* The engine has taken back what it registered and said so of: entries fail
 * before they are issued, and are read another way. */
static void registration_is_gone(void **state)
{
	ugds_st_store *store = open_store(0);
	unsigned destroys;
	struct direct direct;
	struct ugds_st_error err;

	(void)state;
	new_direct(&direct, store, UGDS_ST_REGISTERED);
	assert_int_equal(rules_rig.ugds->buf_deregister(direct.memory).code, 0);
	destroys = ugds_watch_counts().destroys;
	assert_ok(ugds_st_read_many(store, &direct.read, 1, NULL, &err), err);
	check_direct(&direct, false);
	assert_int_equal(direct.read.placement, UGDS_ST_PLACED_STAGED);
	assert_true(ugds_watch_counts().invalid_events > 0);
	/* no command ran, so no batch was broken */
	assert_int_equal(ugds_watch_counts().destroys, destroys);
	ugds_watch_forgive("an entry for a base that is not registered");
	assert_ok(ugds_st_unregister(direct.buffer, &err), err);
	free_direct(&direct);
	reading_close(store);
}

/* ------------------------------------------------------------------- guests */

/* Stores of one process share a drive: one handle, one batch. */
static void one_handle_for_all(void **state)
{
	ugds_st_store *first = open_store(0);
	ugds_st_store *second = open_store(0);
	struct ugds_watch_counts counts;

	(void)state;
	read_all(first);
	read_all(second);
	counts = ugds_watch_counts();
	assert_int_equal(counts.handle_registers, 1);
	assert_int_equal(counts.setups, 2); /* with the probe's */
	reading_close(first);
	read_all(second);
	reading_close(second);
	assert_int_equal(ugds_watch_counts().handle_registers, 1);
	assert_int_equal(ugds_watch_counts().forced, 0);
}

struct engine {
	void *handle;
	void *batch;
	int fd;
};

static void engine_begin(struct engine *engine)
{
	struct ugst_ugds_descr descr = {.type = UGST_UGDS_HANDLE_TYPE_FD};

	engine->fd = open(rules_rig.device, O_RDWR | O_CLOEXEC | O_NOCTTY);
	assert_true(engine->fd >= 0);
	descr.u.fd = engine->fd;
	assert_int_equal(rules_rig.ugds->driver_open().code, 0);
	assert_int_equal(
		rules_rig.ugds->handle_register(&engine->handle, &descr).code,
		0);
}

static void engine_set_up(struct engine *engine)
{
	assert_int_equal(
		rules_rig.ugds->batch_setup(&engine->batch, engine->handle, 8)
			.code,
		0);
}

static void *destroy_soon(void *ctx)
{
	struct engine *engine = ctx;

	sleep_ms(200);
	rules_rig.ugds->batch_destroy(engine->batch);
	return NULL;
}

static void engine_end(struct engine *engine)
{
	uint64_t bytes;

	assert_int_equal(
		rules_rig.ugds->device_capacity(engine->handle, &bytes).code,
		0);
	assert_int_equal(
		rules_rig.ugds->handle_deregister(engine->handle, 0).code, 0);
	(void)close(engine->fd);
}

/* A lent handle's batch is the engine's between calls; while the engine has
 * one, calls wait for it, to their deadline. Nothing else of it is touched. */
static void lent_handle(void **state)
{
	struct ugds_st_open_opts opts = UGDS_ST_OPEN_OPTS_INIT;
	struct ugds_st_read_opts read_opts = UGDS_ST_READ_OPTS_INIT;
	struct ugds_st_read read;
	struct engine engine;
	struct ugds_st_error err;
	ugds_st_store *store;
	uint64_t begin_ns;
	pthread_t thread;

	(void)state;
	engine_begin(&engine);
	opts.ugds_handle = engine.handle;
	assert_ok(try_open(opts, &store, &err), err);
	read_all(store);
	engine_set_up(&engine);
	read = staged(extreme(store, true));
	read_opts.deadline_ms = 80;
	begin_ns = ugst_now_ns();
	assert_fails(ugds_st_read_many(store, &read, 1, &read_opts, &err),
	             UGDS_ST_BUSY, err);
	assert_true(ms_since(begin_ns) >= 80 && ms_since(begin_ns) < 1000);
	assert_int_equal(pthread_create(&thread, NULL, destroy_soon, &engine),
	                 0);
	assert_ok(ugds_st_read_many(store, &read, 1, NULL, &err), err);
	assert_int_equal(pthread_join(thread, NULL), 0);
	reading_expect(rules_rig.volumes, read.tensor, read.dst);
	assert_true(ms_since(begin_ns) >= 280);
	/* A batch that breaks is made anew, and given back all the same. */
	rules_rig.fail_nth(1);
	assert_ok(ugds_st_read_many(store, &read, 1, NULL, &err), err);
	reading_expect(rules_rig.volumes, read.tensor, read.dst);
	engine_set_up(&engine);
	rules_rig.ugds->batch_destroy(engine.batch);
	reading_close(store);
	assert_int_equal(ugds_watch_counts().handle_registers, 0);
	free(read.dst);
	engine_end(&engine);
}

/* The call that broke a lent handle's batch gave up meanwhile: the batch is the
 * engine's again as soon as it is drained. */
static void lent_batch_that_drains(void **state)
{
	struct ugds_st_open_opts opts = UGDS_ST_OPEN_OPTS_INIT;
	struct ugds_st_read_opts read_opts = UGDS_ST_READ_OPTS_INIT;
	struct ugds_st_read read;
	struct engine engine;
	struct ugds_st_error err;
	ugds_st_store *store;
	uint64_t begin_ns;
	int code;

	(void)state;
	needs_long_entries();
	engine_begin(&engine);
	opts.ugds_handle = engine.handle;
	assert_ok(try_open(opts, &store, &err), err);
	read = staged(extreme(store, true));
	read_opts.deadline_ms = 100;
	rules_rig.fail_nth(1);
	rules_rig.delay(entry_commands(), 1000);
	begin_ns = ugst_now_ns();
	assert_fails(ugds_st_read_many(store, &read, 1, &read_opts, &err),
	             UGDS_ST_TIMEOUT, err);
	assert_fails(ugds_st_read_many(store, &read, 1, &read_opts, &err),
	             UGDS_ST_BUSY, err);
	assert_true(ms_since(begin_ns) < 900);
	for (int i = 0; i < 30; i++) {
		code = rules_rig.ugds
		               ->batch_setup(&engine.batch, engine.handle, 8)
		               .code;
		if (code == 0)
			break;
		sleep_ms(100);
	}
	assert_int_equal(code, 0);
	rules_rig.ugds->batch_destroy(engine.batch);
	read_all(store);
	free(read.dst);
	reading_close(store);
	engine_end(&engine);
}

/* The engine's own command was lost, and with it its handle: calls wait for a
 * batch that nobody has, and give up in time; nothing of ours is in the way of
 * the handle that comes after it. */
static void lent_handle_that_is_wedged(void **state)
{
	struct ugds_st_open_opts opts = UGDS_ST_OPEN_OPTS_INIT;
	struct ugds_st_read_opts read_opts = UGDS_ST_READ_OPTS_INIT;
	const struct ugds_st_memory_ops *memory = rules_rig.memory;
	struct ugst_ugds_params params = {.bytes = 4096,
	                                  .opcode = UGST_UGDS_READ};
	struct ugds_st_read read;
	struct engine engine;
	struct ugds_st_error err;
	ugds_st_store *store;
	void *stuck;

	(void)state;
	if (!rules_rig.slow)
		skip();
	engine_begin(&engine);
	opts.ugds_handle = engine.handle;
	assert_ok(try_open(opts, &store, &err), err);
	engine_set_up(&engine);
	assert_int_equal(memory->alloc(memory->ctx, UGST_GPU_PAGE_BYTES,
	                               UGST_GPU_PAGE_BYTES, &stuck),
	                 0);
	assert_int_equal(
		rules_rig.ugds->buf_register(stuck, UGST_GPU_PAGE_BYTES, 0)
			.code,
		0);
	params.base = stuck;
	rules_rig.lose(1);
	assert_int_equal(
		rules_rig.ugds->batch_submit(engine.batch, 1, &params, 0).code,
		0);
	rules_rig.ugds->batch_destroy(engine.batch);
	rules_rig.heal();
	read = staged(extreme(store, true));
	read_opts.deadline_ms = 100;
	assert_fails(ugds_st_read_many(store, &read, 1, &read_opts, &err),
	             UGDS_ST_BUSY, err);
	reading_close(store);
	assert_fails(try_open(opts, &store, &err), UGDS_ST_INVALID_ARG, err);
	assert_int_equal(err.ugds_code, UGST_UGDS_HANDLE_NOT_REGISTERED);
	assert_int_equal(
		rules_rig.ugds->handle_deregister(engine.handle, -2).code, 0);
	(void)close(engine.fd);
	lost = true;
	engine_begin(&engine);
	opts.ugds_handle = engine.handle;
	assert_ok(try_open(opts, &store, &err), err);
	read_all(store);
	free(read.dst);
	reading_close(store);
	engine_end(&engine);
}

#define RULE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int rules_run(void)
{
	const struct CMUnitTest tests[] = {
		RULE(slow_command_is_not_overtaken),
		RULE(entry_fails_early),
		RULE(failed_entry_writes_no_more),
		RULE(deadline_while_a_batch_drains),
		RULE(complete_and_short),
		RULE(waiting_sleeps),
		RULE(submit_that_waits),
		RULE(bounds_are_ours),
		RULE(crooked_memory),
		RULE(registration_is_gone),
		RULE(one_handle_for_all),
		RULE(lent_handle),
		RULE(lent_batch_that_drains),
		/* last: what is stuck stays so */
		RULE(lost_command),
		RULE(lost_command_of_a_failed_entry),
		RULE(submit_that_gives_up),
		RULE(lent_handle_that_is_wedged),
	};

	cmocka_set_test_filter(getenv("TEST_RULE")); /* NULL: all */
	return cmocka_run_group_tests(tests, NULL, NULL);
}
