/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_shim_faults.c - a drive that fails, is slow or lies, and goes on.
 *
 * After each of these the drive serves again, nothing stays mapped, and every
 * byte is right or was never published.
 */
#include "shim/rig.h"

#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"

#define FILL 0x33

static const struct volumes_shape shape = {
	.seed = 7,
	.volume_count = 1,
	.shard_count = 2,
	.tensor_count = 40,
	.max_tensor_bytes = 1500000,
};

struct world {
	ugds_st_store *store;
	size_t count;
	struct ugds_st_read *reads; /* all, into host memory */
	uint32_t lba_bytes;
};

static void begin(struct world *world)
{
	world->store = rig_open(NULL);
	world->count = ugds_st_count(world->store);
	world->reads = reading_list(world->store);
	world->lba_bytes = (uint32_t)shim_setting("UGDS_SHIM_LBA", 512);
}

static void end(struct world *world)
{
	assert_int_equal(ugds_shim_ctl(0, "clear"), 0);
	reading_free(world->reads, world->count);
	reading_close(world->store);
}

static void add_fault(const char *fmt, unsigned long long value)
{
	char rule[128];

	(void)snprintf(rule, sizeof(rule), fmt, value);
	assert_int_equal(ugds_shim_ctl(0, rule), 0);
}

static int read_all(struct world *world, const struct ugds_st_read_opts *opts,
                    struct ugds_st_error *err)
{
	for (size_t i = 0; i < world->count; i++)
		memset(world->reads[i].dst, FILL, world->reads[i].dst_bytes);
	return ugds_st_read_many(world->store, world->reads, world->count, opts,
	                         err);
}

static void expect_all(const struct world *world)
{
	for (size_t i = 0; i < world->count; i++) {
		assert_int_equal(world->reads[i].status, UGDS_ST_OK);
		reading_expect(rig_volumes, world->reads[i].tensor,
		               world->reads[i].dst);
	}
}

/* A block that cannot be read fails the tensors it belongs to, and no other;
 * an entry of many commands that fails must not take others with it. */
static void bad_blocks(void **state)
{
	struct world world;
	struct ugds_st_error err;

	(void)state;
	begin(&world);
	for (size_t victim = 0; victim < world.count; victim += 5) {
		struct ugds_st_info info =
			reading_info(world.reads[victim].tensor);
		uint64_t lba = (info.device_off + info.envelope_bytes / 2) /
		               world.lba_bytes;
		char text[64];

		if (info.payload_bytes == 0)
			continue;
		add_fault("fault read:*@%llu=status:0x281",
		          (unsigned long long)lba);
		assert_fails(read_all(&world, NULL, &err), UGDS_ST_IO, err);
		(void)snprintf(text, sizeof(text), "LBA %llu ",
		               (unsigned long long)lba);
		for (size_t i = 0; i < world.count; i++) {
			const ugds_st_tensor *tensor = world.reads[i].tensor;
			uint64_t off = lba * world.lba_bytes;

			info = reading_info(tensor);
			if (info.envelope_bytes && off >= info.device_off &&
			    off < info.device_off + info.envelope_bytes) {
				assert_int_equal(world.reads[i].status,
				                 UGDS_ST_IO);
				continue;
			}
			assert_int_equal(world.reads[i].status, UGDS_ST_OK);
			reading_expect(rig_volumes, tensor, world.reads[i].dst);
		}
		assert_int_equal(world.reads[victim].status, UGDS_ST_IO);
		assert_int_equal(ugds_shim_ctl(0, "clear"), 0);
		assert_ok(read_all(&world, NULL, &err), err);
		expect_all(&world);
	}
	end(&world);
}

/* A command that fails once is repaired, whichever it is. */
static void passing_failures(void **state)
{
	struct ugds_st_stats stats = {.struct_size = sizeof(stats)};
	struct world world;
	struct ugds_st_error err;

	(void)state;
	begin(&world);
	for (unsigned nth = 1; nth < 20; nth += 2) {
		add_fault("fault read:%llu=status:0x281", nth);
		assert_ok(read_all(&world, NULL, &err), err);
		expect_all(&world);
	}
	assert_int_equal(ugds_st_get_stats(world.store, &stats), UGDS_ST_OK);
	assert_true(stats.retries > 0);
	end(&world);
}

/* Commands that as many as may overtake do overtake: no number is used twice,
 * and all bytes are right. */
static void overtaken(void **state)
{
	struct world world;
	struct ugds_st_error err;
	uint64_t reads;

	(void)state;
	begin(&world);
	reads = ugds_shim_stat(0, "reads");
	assert_ok(read_all(&world, NULL, &err), err);
	reads = ugds_shim_stat(0, "reads") - reads;
	/* One that waits for 30 others is in front of as many. */
	for (uint64_t nth = 1; nth + 60 < reads && nth < 120; nth += 17) {
		add_fault("fault read:%llu=after:30", nth);
		assert_ok(read_all(&world, NULL, &err), err);
		expect_all(&world);
	}
	end(&world);
}

static void slow_now_and_then(void **state)
{
	struct world world;
	struct ugds_st_error err;

	(void)state;
	begin(&world);
	assert_int_equal(
		ugds_shim_ctl(0, "fault read:2=delay:70000;read:9=delay:20000;"
	                         "read:40=delay:50000;read:90=delay:1000"),
		0);
	assert_ok(read_all(&world, NULL, &err), err);
	expect_all(&world);
	end(&world);
}

static void sleep_ms(unsigned ms)
{
	struct timespec nap = ugst_timespec(ms * UGST_NS_PER_MS);

	(void)nanosleep(&nap, NULL);
}

/* A deadline gives the destinations back: what comes later lands elsewhere. */
static void deadline(void **state)
{
	struct ugds_st_read_opts opts = UGDS_ST_READ_OPTS_INIT;
	struct world world;
	struct ugds_st_error err;
	uint64_t begin_ns;
	uint64_t took_ns;

	(void)state;
	begin(&world);
	opts.deadline_ms = 100;
	assert_int_equal(ugds_shim_ctl(0, "fault read:1-8=delay:500000"), 0);
	begin_ns = ugst_now_ns();
	assert_fails(read_all(&world, &opts, &err), UGDS_ST_TIMEOUT, err);
	took_ns = ugst_now_ns() - begin_ns;
	print_message("deadline of 100 ms: returned after %.3f s\n",
	              (double)took_ns / 1e9);
	assert_true(took_ns < 400 * UGST_NS_PER_MS);
	for (size_t i = 0; i < world.count; i++)
		if (world.reads[i].status == UGDS_ST_TIMEOUT)
			memset(world.reads[i].dst, FILL,
			       world.reads[i].dst_bytes);
	/* the batch goes on for others meanwhile */
	assert_ok(ugds_st_verify(world.store, NULL, NULL, &err), err);
	sleep_ms(700);
	for (size_t i = 0; i < world.count; i++) {
		const char *at = world.reads[i].dst;

		if (world.reads[i].status == UGDS_ST_TIMEOUT)
			for (size_t k = 0; k < world.reads[i].dst_bytes; k++)
				assert_int_equal(at[k], FILL);
	}
	opts.deadline_ms = 20000;
	assert_ok(read_all(&world, &opts, &err), err);
	expect_all(&world);
	end(&world);
}

/* A completion that comes after its request gave up, while the next request is
 * under way: it is not taken for one of the next's. */
static void late_for_the_next(void **state)
{
	struct ugds_st_read_opts opts = UGDS_ST_READ_OPTS_INIT;
	struct world world;
	struct ugds_st_error err;

	(void)state;
	begin(&world);
	opts.deadline_ms = 30;
	for (int i = 0; i < 5; i++) {
		assert_int_equal(ugds_shim_ctl(0, "fault read:3-6=delay:60000"),
		                 0);
		(void)read_all(&world, &opts, &err);
		assert_int_equal(ugds_shim_ctl(0, "clear"), 0);
		assert_ok(read_all(&world, NULL, &err), err);
		expect_all(&world);
	}
	end(&world);
}

/* Change one byte on the drive, behind everybody's back. */
static void flip(uint64_t off)
{
	int fd = open(getenv("UGDS_SHIM_FILE"), O_RDWR | O_CLOEXEC);
	char byte;

	assert_true(fd >= 0);
	assert_int_equal(pread(fd, &byte, 1, (off_t)off), 1);
	byte = (char)~byte;
	assert_int_equal(pwrite(fd, &byte, 1, (off_t)off), 1);
	(void)close(fd);
}

/* Bytes that a drive delivers wrong are found where there is a hash. */
static void corrupt(void **state)
{
	static const char *const devices[] = {RIG_DEVICE};
	uint64_t header_off = rig_volumes->shards[1].volume_off + 20;
	struct ugds_st_open_opts opts = UGDS_ST_OPEN_OPTS_INIT;
	struct world world;
	ugds_st_store *store = NULL;
	struct ugds_st_error err;

	(void)state;
	begin(&world);
	add_fault("fault read:%llu=corrupt", 7);
	assert_fails(ugds_st_verify(world.store, NULL, NULL, &err),
	             UGDS_ST_CORRUPT, err);
	assert_int_equal(ugds_shim_ctl(0, "clear"), 0);
	assert_ok(ugds_st_verify(world.store, NULL, NULL, &err), err);
	end(&world);
	opts.devices = devices;
	opts.device_count = 1;
	opts.memory = rig_cuda;
	flip(header_off);
	assert_fails(ugds_st_open(rig_volumes->manifest, &opts, &store, &err),
	             UGDS_ST_CORRUPT, err);
	assert_null(store);
	flip(header_off);
	reading_close(rig_open(NULL));
}

static int run(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(bad_blocks, rig_check_clean),
		cmocka_unit_test_teardown(passing_failures, rig_check_clean),
		cmocka_unit_test_teardown(overtaken, rig_check_clean),
		cmocka_unit_test_teardown(slow_now_and_then, rig_check_clean),
		cmocka_unit_test_teardown(deadline, rig_check_clean),
		cmocka_unit_test_teardown(late_for_the_next, rig_check_clean),
		cmocka_unit_test_teardown(corrupt, rig_check_clean),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

int main(void)
{
	return rig_main(&shape, run);
}
