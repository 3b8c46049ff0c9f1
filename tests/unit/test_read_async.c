/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_read_async.c - memory whose copies are asynchronous, late, out of
 * order, refused or failed.
 *
 * A drive of small commands and an arena of few slots: each slot holds many
 * tensors and is used many times, so that a slot, a source or a destination
 * that is let go a moment too early ends in wrong bytes.
 */
#include "support/reading.h"

#include <pthread.h>

#include "base/clock.h"
#include "base/units.h"
#include "devices/ugds_compat_script.h"
#include "support/async_memory.h"

static const struct volumes_shape tiny = {
	.seed = 11,
	.volume_count = 2,
	.shard_count = 2,
	.tensor_count = 150,
	.max_tensor_bytes = 4000,
};

static const struct ugst_compat_script drive = {
	.lba_bytes = 512,
	.command_bytes = 4096,
	.window_commands = 63,
};

#define ARENA_BYTES (2 * 4 * 9 * 4096) /* four slots for each volume */

struct world {
	struct volumes *volumes;
	struct async_memory memory;
	ugds_st_store *store;
	struct ugds_st_read *reads;
	size_t count;
	unsigned told[400];
	unsigned early; /* told while a copy or a command was under way */
};

static void begin(struct world *world, int register_flags,
                  const struct volumes_shape *shape, uint64_t arena_bytes)
{
	struct ugds_st_open_opts opts = UGDS_ST_OPEN_OPTS_INIT;

	memset(world, 0, sizeof(*world));
	ugst_compat_script_begin(&drive);
	async_memory_init(&world->memory, register_flags);
	world->volumes = volumes_new(shape);
	opts.memory = &world->memory.ops;
	opts.arena_bytes = arena_bytes;
	world->store = reading_open(world->volumes, &opts);
	world->count = ugds_st_count(world->store);
	world->reads = reading_list(world->store);
}

static void end(struct world *world)
{
	reading_free(world->reads, world->count);
	reading_close(world->store);
	assert_int_equal(ugst_compat_script_counts().violations, 0);
	ugst_compat_script_end();
	async_memory_end(&world->memory);
	volumes_free(world->volumes);
}

/* From now on, as if the memory were new. */
static void renumber(struct async_memory *memory)
{
	assert_int_equal(memory->pending, 0);
	memory->copy_count = 0;
	memory->fence_count = 0;
}

static void clear(struct world *world)
{
	for (size_t i = 0; i < world->count; i++)
		memset(world->reads[i].dst, 0, world->reads[i].dst_bytes);
}

/* All that are OK are right; how many are not. */
static size_t check_all(const struct world *world)
{
	size_t failed = 0;

	for (size_t i = 0; i < world->count; i++) {
		if (world->reads[i].status)
			failed++;
		else
			reading_expect(world->volumes, world->reads[i].tensor,
			               world->reads[i].dst);
	}
	return failed;
}

/* When a request is over, nothing is under way to its destination, and what
 * is OK is there. */
static void look_at_once(void *ctx, size_t index, int status)
{
	struct world *world = ctx;
	const struct ugds_st_read *read = &world->reads[index];

	world->told[index]++;
	if (async_memory_busy(&world->memory, read->dst, read->dst_bytes) ||
	    ugst_compat_script_memory_busy(read->dst, read->dst_bytes))
		world->early++;
	if (status == UGDS_ST_OK)
		reading_expect(world->volumes, read->tensor, read->dst);
}

static int read_all(struct world *world, struct ugds_st_error *err)
{
	struct ugds_st_read_opts opts = UGDS_ST_READ_OPTS_INIT;
	int status;

	memset(world->told, 0, sizeof(world->told));
	opts.ready = look_at_once;
	opts.ctx = world;
	status = ugds_st_read_many(world->store, world->reads, world->count,
	                           &opts, err);
	for (size_t i = 0; i < world->count; i++)
		assert_int_equal(world->told[i], 1);
	assert_int_equal(world->early, 0);
	return status;
}

/* Late copies that end in any order: nobody is told early. */
static void copies_are_waited_for(void **state)
{
	static const int flags[] = {0, -1};

	(void)state;
	for (size_t i = 0; i < UGST_COUNT(flags); i++) {
		struct world world;
		struct ugds_st_error err;

		begin(&world, flags[i], &tiny, ARENA_BYTES);
		for (world.memory.max_asks = 0; world.memory.max_asks < 40;
		     world.memory.max_asks += 13) {
			clear(&world);
			assert_ok(read_all(&world, &err), err);
			assert_int_equal(check_all(&world), 0);
		}
		end(&world);
	}
}

/* A copy is refused, or fails later: its tensor fails with the memory's own
 * words, every other is right. */
static void copy_fails(void **state)
{
	struct world world;

	(void)state;
	begin(&world, 0, &tiny, ARENA_BYTES);
	for (uint64_t nth = 1; nth < 200; nth += 3) {
		struct ugds_st_error err = {0};

		clear(&world);
		renumber(&world.memory);
		world.memory.max_asks = 5;
		world.memory.refuse_copy = nth % 2 ? nth : 0;
		world.memory.fail_copy = nth % 2 ? 0 : nth;
		assert_int_equal(read_all(&world, &err), UGDS_ST_IO);
		assert_non_null(strstr(err.text, nth % 2 ? "copy refused"
		                                         : "copy failed"));
		assert_int_equal(check_all(&world), 1);
	}
	end(&world);
}

/* What the device wrote cannot be made visible: nothing that it belongs to is
 * published, and the next read is right. */
static void fence_fails(void **state)
{
	struct world world;

	(void)state;
	begin(&world, -1, &tiny, ARENA_BYTES);
	for (uint64_t nth = 1; nth < 5; nth++) {
		struct ugds_st_error err = {0};
		size_t failed;

		clear(&world);
		renumber(&world.memory);
		world.memory.fail_fence = nth;
		assert_int_equal(read_all(&world, &err), UGDS_ST_IO);
		assert_non_null(strstr(err.text, "fence failed"));
		failed = check_all(&world);
		assert_true(failed > 0 && failed < world.count);
		world.memory.fail_fence = 0;
		assert_ok(read_all(&world, &err), err);
		assert_int_equal(check_all(&world), 0);
	}
	end(&world);
}

/* Anything but NULL names a stream. */
static void *const stalled = (void *)8;
static void *const running = (void *)16;

static int read_on(struct world *world, void *stream, uint32_t deadline_ms,
                   struct ugds_st_error *err)
{
	struct ugds_st_read_opts opts = UGDS_ST_READ_OPTS_INIT;

	opts.stream = stream;
	opts.deadline_ms = deadline_ms;
	return ugds_st_read_many(world->store, world->reads, world->count,
	                         &opts, err);
}

/* On a caller's stream that stands still, reads return when their copies are
 * enqueued, whatever the list holds; the bytes come with the stream. */
static void stream_that_stands_still(void **state)
{
	struct world world;
	struct ugds_st_error err;

	(void)state;
	begin(&world, 0, &tiny, 0);
	world.memory.max_asks = 3;
	world.memory.held = stalled;
	assert_ok(read_on(&world, stalled, 0, &err), err);
	assert_int_equal(world.memory.stream_waits, 0);
	assert_true(world.memory.pending > 0);
	for (size_t i = 0; i < world.count; i++)
		assert_int_equal(world.reads[i].status, UGDS_ST_OK);
	async_memory_release(&world.memory);
	assert_int_equal(check_all(&world), 0);
	end(&world);
}

/* Slots that copies on a stalled stream hold are missing, no more: what runs
 * on another stream goes on with the rest. */
static void other_stream_runs_on(void **state)
{
	struct world world;
	struct ugds_st_error err;
	struct ugds_st_read_opts opts = UGDS_ST_READ_OPTS_INIT;

	(void)state;
	begin(&world, 0, &tiny, ARENA_BYTES);
	world.memory.held = stalled;
	opts.stream = stalled;
	/* Few tensors: one slot of one volume. */
	assert_ok(ugds_st_read_many(world.store, world.reads, 4, &opts, &err),
	          err);
	assert_true(world.memory.pending > 0);
	for (int i = 0; i < 3; i++)
		assert_ok(read_on(&world, running, 0, &err), err);
	assert_int_equal(world.memory.stream_waits, 0);
	async_memory_release(&world.memory);
	assert_int_equal(check_all(&world), 0);
	end(&world);
}

static void *release_soon(void *memory)
{
	struct timespec nap = ugst_timespec(30 * UGST_NS_PER_MS);

	(void)nanosleep(&nap, NULL);
	async_memory_release(memory);
	return NULL;
}

/* All slots are held by a stalled stream: who has a deadline is told, who has
 * none goes on as soon as the stream does. */
static void stalled_stream_has_all_slots(void **state)
{
	struct world world;
	struct ugds_st_error err;
	pthread_t thread;
	uint64_t from_ns;

	(void)state;
	begin(&world, 0, &tiny, ARENA_BYTES);
	world.memory.held = stalled;
	from_ns = ugst_now_ns();
	assert_fails(read_on(&world, stalled, 30, &err), UGDS_ST_TIMEOUT, err);
	assert_true(ugst_now_ns() - from_ns < 5 * UGST_NS_PER_S);
	assert_int_equal(world.memory.stream_waits, 0);
	assert_int_equal(
		pthread_create(&thread, NULL, release_soon, &world.memory), 0);
	assert_ok(read_on(&world, running, 0, &err), err);
	assert_int_equal(pthread_join(thread, NULL), 0);
	async_memory_release(&world.memory);
	assert_int_equal(check_all(&world), 0);
	end(&world);
}

/* An array fails when copies to it are on a stream: its memory is freed when
 * they are over. */
static void array_fails_on_a_stream(void **state)
{
	const ugds_st_tensor *tensors[400];
	struct world world;
	struct ugds_st_error err;
	struct ugds_st_read_opts opts = UGDS_ST_READ_OPTS_INIT;
	ugds_st_array *array;

	(void)state;
	begin(&world, 0, &tiny, 0);
	opts.stream = stalled;
	for (size_t i = 0; i < world.count; i++)
		tensors[i] = world.reads[i].tensor;
	ugst_compat_script_fault(&(struct ugst_compat_fault){
		.kind = UGST_COMPAT_FAIL,
		.device_off = reading_info(tensors[140]).device_off,
		.device_bytes = 1});
	world.memory.held = stalled;
	assert_fails(ugds_st_get_tensors(world.store, tensors, world.count, 0,
	                                 &opts, &array, &err),
	             UGDS_ST_IO, err);
	assert_int_equal(world.memory.live_blocks, 0);
	end(&world);
}

/* The memory says no: to the arena, or to an array. */
static void no_memory(void **state)
{
	struct ugds_st_open_opts opts = UGDS_ST_OPEN_OPTS_INIT;
	struct world world;
	struct ugds_st_error err;
	ugds_st_store *store;
	ugds_st_array *array;

	(void)state;
	begin(&world, -1, &tiny, ARENA_BYTES);
	opts.memory = &world.memory.ops;
	world.memory.fail_alloc = world.memory.alloc_count + 1;
	assert_fails(ugds_st_open(world.volumes->manifest, &opts, &store, &err),
	             UGDS_ST_NO_MEMORY, err);
	assert_non_null(strstr(err.text, "async: no memory"));
	world.memory.fail_alloc = world.memory.alloc_count + 1;
	assert_fails(ugds_st_get_tensor(world.store, "s0.t3", &array, &err),
	             UGDS_ST_NO_MEMORY, err);
	assert_non_null(strstr(err.text, "async: no memory"));
	assert_ok(ugds_st_get_tensor(world.store, "s0.t3", &array, &err), err);
	ugds_st_array_free(array);
	end(&world);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(copies_are_waited_for),
		cmocka_unit_test(copy_fails),
		cmocka_unit_test(fence_fails),
		cmocka_unit_test(stream_that_stands_still),
		cmocka_unit_test(other_stream_runs_on),
		cmocka_unit_test(stalled_stream_has_all_slots),
		cmocka_unit_test(array_fails_on_a_stream),
		cmocka_unit_test(no_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
