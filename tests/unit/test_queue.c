/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_queue.c - who is served when: jobs of one queue, on one thread, so that
 * the order in which entries are taken is exact.
 */
#include "support/test.h"

#include <fcntl.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/units.h"
#include "devices/queue.h"
#include "devices/ugds_compat_script.h"
#include "support/held.h"

#define ENTRY_BYTES (32 * UGST_KIB) /* 8 commands */
#define SLOTS 8
/* Slots, then a place of its own for each direct entry. */
#define TAKES 256
#define MEMORY_BYTES ((SLOTS + TAKES) * ENTRY_BYTES)

struct log {
	char names[TAKES];
	size_t count;
};

/* A job of so many entries of 8 commands, staged or direct. */
struct client {
	struct ugst_job job;
	struct log *log;
	char name;
	unsigned left;
	unsigned over;
	char *base;
};

struct world {
	char path[64];
	struct ugst_queue *queue;
	struct ugst_arena arena;
	char *memory;
	struct log log;
};

static bool peek(struct ugst_job *job, struct ugst_entry *entry_out)
{
	struct client *client = (struct client *)job;

	*entry_out = (struct ugst_entry){
		.device_off = client->left * ENTRY_BYTES,
		.bytes = ENTRY_BYTES,
		.base = client->base,
		.buffer_off = (SLOTS + client->log->count) * ENTRY_BYTES,
		.commands = 8,
	};
	return client->left > 0;
}

static void take(struct ugst_job *job, const struct ugst_entry *entry)
{
	struct client *client = (struct client *)job;

	(void)entry;
	client->left--;
	assert_true(client->log->count < TAKES);
	client->log->names[client->log->count++] = client->name;
}

static void begin(struct world *world)
{
	struct ugst_device_opts opts = {0};
	struct ugst_compat_script drive = {
		.lba_bytes = 512, .command_bytes = 4096, .window_commands = 63};
	const struct ugst_device *device;
	struct ugds_st_error err;
	int fd;

	memset(world, 0, sizeof(*world));
	ugst_compat_script_begin(&drive);
	(void)snprintf(world->path, sizeof(world->path),
	               "/tmp/ugds-st-queue-XXXXXX");
	fd = mkstemp(world->path);
	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, 16 * 1024 * 1024), 0);
	assert_int_equal(close(fd), 0);
	assert_ok(ugst_queue_open(world->path, &opts, 0, &world->queue, &err),
	          err);
	device = ugst_queue_device(world->queue);
	world->memory = ugst_alloc_aligned(MEMORY_BYTES, 65536);
	assert_int_equal(
		device->ugds->buf_register(world->memory, MEMORY_BYTES, 0).code,
		0);
	assert_ok(ugst_arena_init(&world->arena, world->memory, 0,
	                          SLOTS * ENTRY_BYTES, ENTRY_BYTES, &err),
	          err);
}

static void end(struct world *world)
{
	const struct ugst_ugds *ugds = ugst_queue_device(world->queue)->ugds;
	struct ugds_st_error err;

	assert_int_equal(world->arena.free_count, world->arena.slot_count);
	assert_int_equal(ugds->buf_deregister(world->memory).code, 0);
	assert_ok(ugst_queue_close(world->queue, false, &err), err);
	assert_int_equal(ugst_compat_script_counts().violations, 0);
	ugst_compat_script_end();
	ugst_arena_free(&world->arena);
	free(world->memory);
	(void)unlink(world->path);
}

static struct client *join(struct world *world, char name, unsigned entries,
                           uint32_t priority, bool direct)
{
	struct client *client = ugst_calloc(1, sizeof(*client));
	struct ugds_st_error err;

	client->job.arena = &world->arena;
	client->job.priority = priority;
	client->job.peek = peek;
	client->job.take = take;
	client->log = &world->log;
	client->name = name;
	client->left = entries;
	client->base = direct ? world->memory : NULL;
	assert_ok(ugst_queue_join(world->queue, &client->job, &err), err);
	return client;
}

/* Look once; slots of what is over are given back at once. */
static void step(struct world *world, struct client *client,
                 uint64_t timeout_ns)
{
	struct ugst_done done[32];
	unsigned count = ugst_queue_wait(&client->job, done, 32, timeout_ns);

	for (unsigned i = 0; i < count; i++) {
		assert_int_equal(done[i].status, UGDS_ST_OK);
		if (done[i].slot != UGST_NO_SLOT)
			ugst_queue_give_slot(world->queue, &world->arena,
			                     done[i].slot);
	}
	client->over += count;
}

static void leave(struct client *client)
{
	ugst_queue_leave(&client->job);
	free(client);
}

/* A window's worth of the load is under way; then every entry of the miss is
 * taken before the load's next. */
static void demand_before_background(void **state)
{
	struct world world;
	struct client *load;
	struct client *miss;
	size_t before;

	(void)state;
	begin(&world);
	load = join(&world, 'b', 100, UGDS_ST_BACKGROUND, true);
	ugst_compat_script_fault(&(struct ugst_compat_fault){
		.kind = UGST_COMPAT_LATE, .count = 1});
	step(&world, load, 0);
	before = world.log.count;
	/* 63 commands: seven entries of eight. */
	assert_int_equal(before, 7);
	miss = join(&world, 'd', 40, UGDS_ST_DEMAND, true);
	step(&world, miss, 20 * UGST_NS_PER_MS);
	assert_int_equal(world.log.count, before);
	release_one();
	while (miss->over < 40)
		step(&world, miss, UGST_NS_PER_S);
	for (size_t i = 0; i < 40; i++)
		assert_int_equal(world.log.names[before + i], 'd');
	while (load->over < 100)
		step(&world, load, UGST_NS_PER_S);
	leave(miss);
	leave(load);
	end(&world);
}

/* Jobs of one priority take turns. */
static void equals_take_turns(void **state)
{
	struct world world;
	struct client *a;
	struct client *b;
	size_t of_a = 0;

	(void)state;
	begin(&world);
	a = join(&world, 'a', 60, UGDS_ST_DEMAND, true);
	b = join(&world, 'b', 60, UGDS_ST_DEMAND, true);
	while (a->over < 60 || b->over < 60) {
		step(&world, a, UGST_NS_PER_MS);
		step(&world, b, UGST_NS_PER_MS);
	}
	for (size_t i = 0; i < 60; i++)
		of_a += world.log.names[i] == 'a';
	assert_true(of_a >= 25 && of_a <= 35);
	leave(a);
	leave(b);
	end(&world);
}

/* A load that nobody empties may not take the last slots. */
static void background_leaves_slots(void **state)
{
	struct world world;
	struct client *load;
	struct client *miss;

	(void)state;
	begin(&world);
	load = join(&world, 'b', 20, UGDS_ST_BACKGROUND, false);
	miss = join(&world, 'd', 2, UGDS_ST_DEMAND, false);
	miss->left = 0;
	/* Collects for the load, which does not look. */
	for (int i = 0; i < 20; i++)
		step(&world, miss, UGST_NS_PER_MS);
	assert_int_equal(world.log.count, 6);
	leave(miss);
	while (load->over < 20)
		step(&world, load, UGST_NS_PER_S);
	leave(load);
	end(&world);
}

/* A job that leaves with entries in flight: their slots come back. */
static void leaves_early(void **state)
{
	struct world world;
	struct client *client;
	struct ugds_st_error err;

	(void)state;
	begin(&world);
	ugst_compat_script_fault(&(struct ugst_compat_fault){
		.kind = UGST_COMPAT_LATE, .skip = 3, .count = 1});
	client = join(&world, 'a', 20, UGDS_ST_DEMAND, false);
	step(&world, client, 10 * UGST_NS_PER_MS);
	leave(client);
	assert_true(world.arena.free_count < world.arena.slot_count);
	release_one();
	assert_ok(ugst_queue_drain_arena(world.queue, &world.arena, &err), err);
	end(&world);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(demand_before_background),
		cmocka_unit_test(equals_take_turns),
		cmocka_unit_test(background_leaves_slots),
		cmocka_unit_test(leaves_early),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
