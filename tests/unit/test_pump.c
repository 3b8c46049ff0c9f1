/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_pump.c - what a queue does when calls of uGDS return at bad moments.
 *
 * The queue speaks to compatibility mode through a table of this test's own,
 * which slows a call down, refuses it or counts it.
 */
#include "support/test.h"

#include <fcntl.h>
#include <sched.h>
#include <stdatomic.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/units.h"
#include "devices/pump.h"
#include "devices/ugds_compat_script.h"
#include "support/held.h"

#define COMMAND_BYTES 4096u
#define ENTRY_COMMANDS 8u
#define ENTRY_BYTES ((uint64_t)ENTRY_COMMANDS * COMMAND_BYTES)
#define SLOTS 8u
#define MEMORY_BYTES ((uint64_t)SLOTS * ENTRY_BYTES)

/* A job of so many entries. */
struct client {
	struct ugst_job job;
	char *base; /* NULL: they are staged */
	unsigned left;
	unsigned good;
	unsigned bad;
};

static struct world {
	char path[64];
	struct ugst_queue *queue;
	struct ugst_arena arena;
	char *memory;
	const struct ugst_ugds *real;
	struct ugst_ugds ugds;
	atomic_uint submitting; /* threads inside submit */
	atomic_uint looking;    /* threads inside status */
	atomic_uint overlaps;   /* times that there were both */
	int setup_code;         /* what batch_setup answers */
	unsigned setup_failures;
	int submit_code; /* what batch_submit answers */
	unsigned submit_failures;
	bool kept; /* the memory, by a device that was lost */
	unsigned setups;
	unsigned destroys;
	struct client *quitter; /* leaves while a batch is set up ... */
	atomic_int quit;        /* ... that has begun (1), when it may (2) */
} world;

static bool peek(struct ugst_job *job, struct ugst_entry *entry_out)
{
	struct client *client = (struct client *)job;

	*entry_out = (struct ugst_entry){
		.device_off = client->left * ENTRY_BYTES,
		.bytes = ENTRY_BYTES,
		.base = client->base,
		.buffer_off = (SLOTS / 2 - 1 + client->left) * ENTRY_BYTES,
		.commands = ENTRY_COMMANDS,
	};
	return client->left > 0;
}

static void take(struct ugst_job *job, const struct ugst_entry *entry)
{
	struct client *client = (struct client *)job;

	(void)entry;
	client->left--;
}

/* Somebody enters or leaves a call of uGDS, and takes his time in it. */
static void enter(atomic_uint *inside)
{
	struct timespec nap = ugst_timespec(20 * UGST_NS_PER_US);

	atomic_fetch_add(inside, 1);
	(void)nanosleep(&nap, NULL);
	if (atomic_load(&world.submitting) && atomic_load(&world.looking))
		atomic_fetch_add(&world.overlaps, 1);
}

static void leave(atomic_uint *inside)
{
	atomic_fetch_sub(inside, 1);
}

static struct ugst_ugds_error watched_submit(void *batch, unsigned count,
                                             struct ugst_ugds_params *params,
                                             unsigned flags)
{
	struct ugst_ugds_error error = {world.submit_code, 0};

	enter(&world.submitting);
	if (world.submit_failures)
		world.submit_failures--;
	else
		error = world.real->batch_submit(batch, count, params, flags);
	leave(&world.submitting);
	return error;
}

static struct ugst_ugds_error counted_setup(void **batch_out, void *handle,
                                            unsigned count)
{
	world.setups++;
	if (world.quitter) {
		atomic_store(&world.quit, 1);
		while (atomic_load(&world.quit) == 1)
			(void)sched_yield();
		ugst_queue_leave(&world.quitter->job);
		world.quitter = NULL;
	}
	if (world.setup_failures) {
		world.setup_failures--;
		return (struct ugst_ugds_error){world.setup_code, 0};
	}
	return world.real->batch_setup(batch_out, handle, count);
}

static void counted_destroy(void *batch)
{
	world.destroys++;
	world.real->batch_destroy(batch);
}

static void begin(void)
{
	struct ugst_device_opts opts = {0};
	struct ugst_compat_script drive = {.lba_bytes = 512,
	                                   .command_bytes = COMMAND_BYTES,
	                                   .window_commands = 63};
	struct ugds_st_error err;
	int fd;

	memset(&world, 0, sizeof(world));
	ugst_compat_script_begin(&drive);
	(void)snprintf(world.path, sizeof(world.path),
	               "/tmp/ugds-st-pump-XXXXXX");
	fd = mkstemp(world.path);
	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, 16 * 1024 * 1024), 0);
	assert_int_equal(close(fd), 0);
	assert_ok(ugst_queue_open(world.path, &opts, 0, &world.queue, &err),
	          err);
	world.real = world.queue->device->ugds;
	world.ugds = *world.real;
	world.ugds.batch_submit = watched_submit;
	world.ugds.batch_setup = counted_setup;
	world.ugds.batch_destroy = counted_destroy;
	world.queue->device->ugds = &world.ugds;
	world.memory = ugst_alloc_aligned(MEMORY_BYTES, 65536);
	assert_int_equal(
		world.real->buf_register(world.memory, MEMORY_BYTES, 0).code,
		0);
	assert_ok(ugst_arena_init(&world.arena, world.memory, 0, MEMORY_BYTES,
	                          ENTRY_BYTES, &err),
	          err);
}

/* What a lost device may still write to, where the test knows better. */
static void give_lost_slots(void)
{
	for (uint32_t slot = 0; slot < world.arena.slot_count; slot++)
		while (world.arena.holds[slot])
			ugst_arena_give(&world.arena, slot);
}

static void end(void)
{
	struct ugds_st_error err;

	assert_int_equal(world.arena.free_count, world.arena.slot_count);
	/* A lost device keeps what its commands may still write to. */
	assert_int_equal(world.real->buf_deregister(world.memory).code,
	                 world.kept ? UGST_UGDS_NOT_REGISTERED : 0);
	assert_ok(ugst_queue_close(world.queue, false, &err), err);
	assert_int_equal(ugst_compat_script_counts().violations, 0);
	ugst_compat_script_end();
	ugst_arena_free(&world.arena);
	free(world.memory);
	(void)unlink(world.path);
}

static void join(struct client *client, unsigned entries)
{
	struct ugds_st_error err;

	memset(client, 0, sizeof(*client));
	client->job.arena = &world.arena;
	client->job.peek = peek;
	client->job.take = take;
	client->left = entries;
	assert_ok(ugst_queue_join(world.queue, &client->job, &err), err);
}

static void step(struct client *client, uint64_t timeout_ns)
{
	struct ugst_done done[32];
	unsigned count = ugst_queue_wait(&client->job, done, 32, timeout_ns);

	for (unsigned i = 0; i < count; i++) {
		if (done[i].status)
			client->bad++;
		else
			client->good++;
		if (done[i].slot != UGST_NO_SLOT)
			ugst_queue_give_slot(world.queue, &world.arena,
			                     done[i].slot);
	}
}

static struct ugst_ugds_error watched_status(void *batch, unsigned min_count,
                                             unsigned *count,
                                             struct ugst_ugds_event *events,
                                             struct timespec *timeout)
{
	struct ugst_ugds_error error;

	enter(&world.looking);
	error = world.real->batch_status(batch, min_count, count, events,
	                                 timeout);
	leave(&world.looking);
	return error;
}

static void *read_to_the_end(void *arg)
{
	struct client *client = arg;

	while (client->good + client->bad < 40)
		step(client, 10 * UGST_NS_PER_MS);
	return NULL;
}

/* Where uGDS reports an entry whose commands still run, a Submit that comes
 * after that report, and before anybody has seen it, may have the late commands
 * counted for its own: nobody looks while somebody submits. Where it does not,
 * both go on side by side. */
static void who_is_inside(void **state)
{
	(void)state;
	for (int early = 0; early < 2; early++) {
		struct client clients[4];
		pthread_t threads[UGST_COUNT(clients)];

		begin();
		world.queue->device->limits.fails_early = early;
		world.ugds.batch_status = watched_status;
		for (uint64_t i = 0; early && i < 20; i++)
			ugst_compat_script_fault(&(struct ugst_compat_fault){
				.kind = UGST_COMPAT_FAIL,
				.skip = 61 * i,
				.count = 1});
		for (size_t i = 0; i < UGST_COUNT(clients); i++) {
			join(&clients[i], 40);
			assert_int_equal(pthread_create(&threads[i], NULL,
			                                read_to_the_end,
			                                &clients[i]),
			                 0);
		}
		for (size_t i = 0; i < UGST_COUNT(clients); i++) {
			assert_int_equal(pthread_join(threads[i], NULL), 0);
			ugst_queue_leave(&clients[i].job);
		}
		if (early)
			assert_int_equal(atomic_load(&world.overlaps), 0);
		else
			assert_true(atomic_load(&world.overlaps) > 0);
		end();
	}
}

/* A batch breaks; there is none to be had at once, because memory is short or
 * because the engine, on its own handle, was quicker. */
static void batch_comes_back(void **state)
{
	static const int codes[] = {UGST_UGDS_INTERNAL_ERROR,
	                            UGST_UGDS_INVALID_VALUE};

	(void)state;
	for (size_t i = 0; i < UGST_COUNT(codes); i++) {
		struct client client;

		begin();
		world.queue->device->lent = codes[i] == UGST_UGDS_INVALID_VALUE;
		join(&client, 3);
		ugst_compat_script_fault(&(struct ugst_compat_fault){
			.kind = UGST_COMPAT_FAIL, .skip = 2, .count = 1});
		world.setup_code = codes[i];
		world.setup_failures = 3;
		while (client.good + client.bad < 3) {
			struct ugds_st_error err = {0};

			step(&client, 10 * UGST_NS_PER_MS);
			assert_ok(ugst_queue_check(world.queue, &err), err);
		}
		assert_int_equal(client.bad, 1);
		assert_int_equal(world.setups, 4);
		client.left = 2;
		while (client.good < 4)
			step(&client, 10 * UGST_NS_PER_MS);
		world.queue->device->lent = false;
		ugst_queue_leave(&client.job);
		end();
	}
}

/* There is never one again: the device is lost, whatever uGDS called it. */
static void batch_never_comes_back(void **state)
{
	struct client client;
	struct ugds_st_error err;

	(void)state;
	begin();
	world.queue->silence_ns = 1000 * UGST_NS_PER_MS;
	join(&client, 3);
	ugst_compat_script_fault(&(struct ugst_compat_fault){
		.kind = UGST_COMPAT_FAIL, .skip = 2, .count = 1});
	world.setup_code = UGST_UGDS_INTERNAL_ERROR;
	world.setup_failures = 1000000;
	while (ugst_queue_check(world.queue, &err) == UGDS_ST_OK)
		step(&client, 10 * UGST_NS_PER_MS);
	assert_int_equal(err.status, UGDS_ST_DEVICE_LOST);
	assert_int_equal(err.ugds_code, UGST_UGDS_INTERNAL_ERROR);
	ugst_queue_leave(&client.job);
	assert_fails(ugst_queue_close(world.queue, false, &err),
	             UGDS_ST_DEVICE_LOST, err);
	assert_ok(ugst_queue_close(world.queue, true, &err), err);
	world.queue = NULL;
	/* A slot is the lost device's: nobody knows whether it still writes. */
	give_lost_slots();
	end();
}

/* The engine uses its own handle's one batch: who has a deadline is told by
 * then, not when a device would be called silent. */
static void busy_batch_and_a_deadline(void **state)
{
	struct client client = {
		.job = {.arena = &world.arena, .peek = peek, .take = take}};
	uint64_t from_ns;
	struct ugds_st_error err;

	(void)state;
	begin();
	world.queue->device->lent = true;
	ugst_batch_destroy(&world.queue->batch);
	world.setup_code = UGST_UGDS_INVALID_VALUE;
	world.setup_failures = 1000000;
	from_ns = ugst_now_ns();
	client.job.until_ns = from_ns + 20 * UGST_NS_PER_MS;
	assert_fails(ugst_queue_join(world.queue, &client.job, &err),
	             UGDS_ST_BUSY, err);
	assert_true(ugst_now_ns() - from_ns >= 20 * UGST_NS_PER_MS);
	assert_true(ugst_now_ns() - from_ns < 5 * UGST_NS_PER_S);
	world.setup_failures = 2;
	join(&client, 2);
	while (client.good < 2)
		step(&client, 10 * UGST_NS_PER_MS);
	/* Given back with the last call. */
	ugst_queue_leave(&client.job);
	assert_null(world.queue->batch.handle);
	world.queue->device->lent = false;
	end();
}

/* The engine is about to give its handle up, and stays: nothing was taken,
 * and nothing is lost. On a handle of our own only a wedge says so. */
static void submit_is_busy(void **state)
{
	struct client client;
	struct ugds_st_error err;

	(void)state;
	begin();
	world.queue->device->lent = true;
	join(&client, 2);
	world.submit_code = UGST_UGDS_BUSY;
	world.submit_failures = 3;
	while (client.good < 2) {
		step(&client, 10 * UGST_NS_PER_MS);
		assert_ok(ugst_queue_check(world.queue, &err), err);
	}
	world.queue->device->lent = false;
	client.left = 1;
	world.submit_failures = 1;
	step(&client, 10 * UGST_NS_PER_MS);
	assert_fails(ugst_queue_check(world.queue, &err), UGDS_ST_DEVICE_LOST,
	             err);
	assert_int_equal(err.ugds_code, UGST_UGDS_BUSY);
	ugst_queue_leave(&client.job);
	assert_ok(ugst_queue_close(world.queue, true, &err), err);
	world.queue = NULL;
	/* Its slot is the lost device's. */
	give_lost_slots();
	end();
}

static void *release_late(void *arg)
{
	struct timespec nap = ugst_timespec(50 * UGST_NS_PER_MS);

	(void)arg;
	(void)nanosleep(&nap, NULL);
	release_one();
	return NULL;
}

/* A job that gives up while another thread has submitted entries of its that
 * go straight to the caller's memory: it may leave only when they are over. */
static void leaving_waits_for_direct_entries(void **state)
{
	struct client client;
	struct client other;
	pthread_t thread;

	(void)state;
	begin();
	join(&other, 1);
	join(&client, 4);
	client.base = world.memory;
	ugst_compat_script_fault(
		&(struct ugst_compat_fault){.kind = UGST_COMPAT_LATE,
	                                    .device_off = 4 * ENTRY_BYTES,
	                                    .device_bytes = 1,
	                                    .count = 1});
	/* Takes the entries of both. */
	while (other.good < 1)
		step(&other, 10 * UGST_NS_PER_MS);
	assert_int_equal(client.left, 0);
	while (ugst_compat_script_counts().held == 0)
		(void)sched_yield();
	assert_int_equal(pthread_create(&thread, NULL, release_late, NULL), 0);
	ugst_queue_leave(&client.job);
	assert_false(
		ugst_compat_script_memory_busy(world.memory, MEMORY_BYTES));
	assert_int_equal(pthread_join(thread, NULL), 0);
	ugst_queue_leave(&other.job);
	end();
}

/* The process is stopped, or nobody reads, for longer than a device may be
 * silent: that was not the device's silence. It counts from the next look. */
static void absence_is_no_silence(void **state)
{
	struct timespec nap = ugst_timespec(1300 * UGST_NS_PER_MS);
	struct client client;
	struct ugds_st_error err = {0};

	(void)state;
	begin();
	world.queue->silence_ns = 1000 * UGST_NS_PER_MS;
	join(&client, 1);
	ugst_compat_script_fault(&(struct ugst_compat_fault){
		.kind = UGST_COMPAT_LATE, .count = 1});
	step(&client, 0);
	(void)nanosleep(&nap, NULL);
	step(&client, 0);
	assert_ok(ugst_queue_check(world.queue, &err), err);
	while (ugst_compat_script_release(0) == 0)
		(void)sched_yield();
	while (client.good < 1)
		step(&client, 10 * UGST_NS_PER_MS);
	client.left = 1;
	ugst_compat_script_fault(&(struct ugst_compat_fault){
		.kind = UGST_COMPAT_LATE, .count = 1});
	while (ugst_queue_check(world.queue, NULL) == UGDS_ST_OK)
		step(&client, 10 * UGST_NS_PER_MS);
	ugst_queue_leave(&client.job);
	assert_fails(ugst_queue_close(world.queue, false, &err),
	             UGDS_ST_DEVICE_LOST, err);
	assert_ok(ugst_queue_close(world.queue, true, &err), err);
	world.queue = NULL;
	ugst_compat_script_end();
	ugst_compat_script_begin(&(struct ugst_compat_script){0});
	give_lost_slots();
	world.kept = true;
	end();
}

/* A lent handle's batch outlives its call for as long as an entry of it is
 * late, and not longer than it takes somebody to notice. */
static void lent_batch_goes_with_the_last_entry(void **state)
{
	struct client client;
	struct ugds_st_error err;

	(void)state;
	begin();
	world.queue->device->lent = true;
	join(&client, 1);
	ugst_compat_script_fault(&(struct ugst_compat_fault){
		.kind = UGST_COMPAT_LATE, .count = 1});
	step(&client, 0);
	ugst_queue_leave(&client.job);
	assert_non_null(world.queue->batch.handle);
	while (ugst_compat_script_release(0) == 0)
		(void)sched_yield();
	assert_ok(ugst_queue_drain_arena(world.queue, &world.arena, &err), err);
	assert_null(world.queue->batch.handle);
	world.queue->device->lent = false;
	end();
}

/* A lent handle's batch breaks, and the last call leaves while it is set up
 * again: then it is the engine's. */
static void lent_batch_that_nobody_wants(void **state)
{
	struct client client;

	(void)state;
	begin();
	world.queue->device->lent = true;
	join(&client, 1);
	ugst_compat_script_fault(&(struct ugst_compat_fault){
		.kind = UGST_COMPAT_FAIL, .count = 1});
	world.quitter = &client;
	while (atomic_load(&world.quit) == 0)
		step(&client, 10 * UGST_NS_PER_MS);
	atomic_store(&world.quit, 2);
	ugst_pump_join(world.queue);
	assert_null(world.queue->batch.handle);
	assert_int_equal(world.setups, 1);
	assert_int_equal(world.destroys, 2);
	world.queue->device->lent = false;
	end();
}

/* Two stores share a device that is lost: one is given up, with its arena,
 * while the other's thread still reads events, some of which are the first's.
 */
static void arena_of_a_store_given_up(void **state)
{
	struct ugst_arena *arena = ugst_calloc(1, sizeof(*arena));
	struct client client;
	struct client other;
	struct ugds_st_error err;

	(void)state;
	begin();
	assert_ok(ugst_arena_init(arena, world.memory, MEMORY_BYTES / 2,
	                          MEMORY_BYTES / 2, ENTRY_BYTES, &err),
	          err);
	join(&other, 0);
	join(&client, 1);
	client.job.arena = arena;
	ugst_compat_script_fault(&(struct ugst_compat_fault){
		.kind = UGST_COMPAT_LATE, .count = 1});
	step(&client, 10 * UGST_NS_PER_MS);
	ugst_queue_leave(&client.job);
	ugst_queue_forget_arena(world.queue, arena);
	ugst_arena_free(arena);
	free(arena);
	release_one();
	ugst_queue_lock(world.queue);
	while (world.queue->batch.window.in_flight)
		ugst_pump_collect(world.queue, ugst_now_ns() + UGST_NS_PER_MS);
	ugst_queue_unlock(world.queue);
	ugst_queue_leave(&other.job);
	end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(who_is_inside),
		cmocka_unit_test(batch_comes_back),
		cmocka_unit_test(batch_never_comes_back),
		cmocka_unit_test(busy_batch_and_a_deadline),
		cmocka_unit_test(submit_is_busy),
		cmocka_unit_test(leaving_waits_for_direct_entries),
		cmocka_unit_test(absence_is_no_silence),
		cmocka_unit_test(lent_batch_goes_with_the_last_entry),
		cmocka_unit_test(lent_batch_that_nobody_wants),
		cmocka_unit_test(arena_of_a_store_given_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
