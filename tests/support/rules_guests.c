/* SPDX-License-Identifier: BSD-3-Clause */
/* rules_guests.c - rules of uGDS's buffers and of lent handles; see rules.h. */
#include "support/reading.h"

#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

#include "base/clock.h"
#include "support/rules_tools.h"
#include "support/ugds_watch.h"

/* ------------------------------------------------------------------ buffers */

/* What uGDS would let through, as it counts in whole pages, is refused here. */
static void bounds_are_ours(void **state)
{
	ugds_st_store *store = rules_open_store(0);
	unsigned entries;
	struct rules_direct direct;
	struct ugds_st_error err;
	ugds_st_buffer *again = NULL;
	char *end;

	(void)state;
	rules_new_direct(&direct, store, 0);
	end = direct.memory + RULES_MEMORY_BYTES;
	assert_fails(ugds_st_register(store, direct.memory, RULES_MEMORY_BYTES,
	                              0, &again, &err),
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
	rules_check_direct(&direct, true);
	direct.read.dst = end - direct.read.dst_bytes;
	assert_ok(ugds_st_read_many(store, &direct.read, 1, NULL, &err), err);
	rules_check_direct(&direct, false);
	assert_ok(ugds_st_unregister(direct.buffer, &err), err);
	rules_free_direct(&direct);
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
	assert_fails(rules_try_open(opts, &store, &err), UGDS_ST_INVALID_ARG,
	             err);
	assert_int_equal(err.ugds_code, 0);
	assert_non_null(strstr(err.text, "65536"));
	assert_null(store);
}

/* The engine has taken back what it registered and said so of: entries fail
 * before they are issued, and are read another way. */
static void registration_is_gone(void **state)
{
	ugds_st_store *store = rules_open_store(0);
	unsigned destroys;
	struct rules_direct direct;
	struct ugds_st_error err;

	(void)state;
	rules_new_direct(&direct, store, UGDS_ST_REGISTERED);
	assert_int_equal(rules_rig.ugds->buf_deregister(direct.memory).code, 0);
	destroys = ugds_watch_counts().destroys;
	assert_ok(ugds_st_read_many(store, &direct.read, 1, NULL, &err), err);
	rules_check_direct(&direct, false);
	assert_int_equal(direct.read.placement, UGDS_ST_PLACED_STAGED);
	assert_true(ugds_watch_counts().invalid_events > 0);
	/* no command ran, so no batch was broken */
	assert_int_equal(ugds_watch_counts().destroys, destroys);
	ugds_watch_forgive("an entry for a base that is not registered");
	assert_ok(ugds_st_unregister(direct.buffer, &err), err);
	rules_free_direct(&direct);
	reading_close(store);
}

/* ------------------------------------------------------------------- guests */

/* Stores of one process share a drive: one handle, one batch. */
static void one_handle_for_all(void **state)
{
	ugds_st_store *first = rules_open_store(0);
	ugds_st_store *second = rules_open_store(0);
	struct ugds_watch_counts counts;

	(void)state;
	rules_read_all(first);
	rules_read_all(second);
	counts = ugds_watch_counts();
	assert_int_equal(counts.handle_registers, 1);
	assert_int_equal(counts.setups, 2); /* with the probe's */
	reading_close(first);
	rules_read_all(second);
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

	rules_sleep_ms(200);
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
	assert_ok(rules_try_open(opts, &store, &err), err);
	rules_read_all(store);
	engine_set_up(&engine);
	read = rules_staged(rules_extreme(store, true));
	read_opts.deadline_ms = 80;
	begin_ns = ugst_now_ns();
	assert_fails(ugds_st_read_many(store, &read, 1, &read_opts, &err),
	             UGDS_ST_BUSY, err);
	assert_true(rules_ms_since(begin_ns) >= 80 &&
	            rules_ms_since(begin_ns) < 1000);
	assert_int_equal(pthread_create(&thread, NULL, destroy_soon, &engine),
	                 0);
	assert_ok(ugds_st_read_many(store, &read, 1, NULL, &err), err);
	assert_int_equal(pthread_join(thread, NULL), 0);
	reading_expect(rules_rig.volumes, read.tensor, read.dst);
	assert_true(rules_ms_since(begin_ns) >= 280);
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
	rules_needs_long_entries();
	engine_begin(&engine);
	opts.ugds_handle = engine.handle;
	assert_ok(rules_try_open(opts, &store, &err), err);
	read = rules_staged(rules_extreme(store, true));
	read_opts.deadline_ms = 100;
	rules_rig.fail_nth(1);
	rules_rig.delay(rules_entry_commands(), 1000);
	begin_ns = ugst_now_ns();
	assert_fails(ugds_st_read_many(store, &read, 1, &read_opts, &err),
	             UGDS_ST_TIMEOUT, err);
	assert_fails(ugds_st_read_many(store, &read, 1, &read_opts, &err),
	             UGDS_ST_BUSY, err);
	assert_true(rules_ms_since(begin_ns) < 900);
	for (int i = 0; i < 30; i++) {
		code = rules_rig.ugds
		               ->batch_setup(&engine.batch, engine.handle, 8)
		               .code;
		if (code == 0)
			break;
		rules_sleep_ms(100);
	}
	assert_int_equal(code, 0);
	rules_rig.ugds->batch_destroy(engine.batch);
	rules_read_all(store);
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
	assert_ok(rules_try_open(opts, &store, &err), err);
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
	read = rules_staged(rules_extreme(store, true));
	read_opts.deadline_ms = 100;
	assert_fails(ugds_st_read_many(store, &read, 1, &read_opts, &err),
	             UGDS_ST_BUSY, err);
	reading_close(store);
	assert_fails(rules_try_open(opts, &store, &err), UGDS_ST_INVALID_ARG,
	             err);
	assert_int_equal(err.ugds_code, UGST_UGDS_HANDLE_NOT_REGISTERED);
	assert_int_equal(
		rules_rig.ugds->handle_deregister(engine.handle, -2).code, 0);
	(void)close(engine.fd);
	rules_lose_drive();
	engine_begin(&engine);
	opts.ugds_handle = engine.handle;
	assert_ok(rules_try_open(opts, &store, &err), err);
	rules_read_all(store);
	free(read.dst);
	reading_close(store);
	engine_end(&engine);
}

int rules_of_guests(void)
{
	const struct CMUnitTest tests[] = {
		RULE(bounds_are_ours),
		RULE(crooked_memory),
		RULE(registration_is_gone),
		RULE(one_handle_for_all),
		RULE(lent_handle),
		RULE(lent_batch_that_drains),
		/* last: the engine's lost handle stays open */
		RULE(lent_handle_that_is_wedged),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
