/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_read_faults.c - devices that fail, answer late or not at all.
 *
 * Compatibility mode plays the device by a script, with the limits of real
 * drives, and counts what a client of uGDS must never do.
 */
#include "support/reading.h"

#include "base/units.h"
#include "devices/ugds_compat_script.h"
#include "support/held.h"

static const struct volumes_shape small = {
	.seed = 3,
	.volume_count = 1,
	.shard_count = 2,
	.tensor_count = 40,
	.max_tensor_bytes = 700000,
};

static const struct ugst_compat_script drive = {
	.lba_bytes = 512,
	.command_bytes = 128 * 1024,
	.window_commands = 63,
};

struct world {
	struct volumes *volumes;
	ugds_st_store *store;
	size_t count;
};

static void begin(struct world *world, const struct ugst_compat_script *script,
                  uint32_t silence_ms)
{
	struct ugds_st_open_opts opts = UGDS_ST_OPEN_OPTS_INIT;

	opts.silence_ms = silence_ms;
	ugst_compat_script_begin(script);
	world->volumes = volumes_new(&small);
	world->store = reading_open(world->volumes, &opts);
	world->count = ugds_st_count(world->store);
}

static void end(struct world *world)
{
	struct ugst_compat_counts counts;

	if (world->store)
		reading_close(world->store);
	counts = ugst_compat_script_counts();
	assert_int_equal(counts.violations, 0);
	assert_true(counts.in_flight_max <= 63);
	assert_true(counts.distance_max <= 63);
	assert_int_equal(counts.handles, 0);
	ugst_compat_script_end();
	volumes_free(world->volumes);
}

static bool envelope_holds(const ugds_st_tensor *tensor, uint64_t device_off)
{
	struct ugds_st_info info = reading_info(tensor);

	return info.envelope_bytes && device_off >= info.device_off &&
	       device_off - info.device_off < info.envelope_bytes;
}

/* Blocks here and there fail for good: exactly the tensors fail whose blocks
 * they are, each names the block, all others are right. */
static void bad_block_fails_its_tensors_only(void **state)
{
	struct world world;
	struct ugds_st_read *reads;

	(void)state;
	begin(&world, &drive, 0);
	reads = reading_list(world.store);
	for (size_t victim = 0; victim < world.count; victim += 3) {
		struct ugds_st_info info = reading_info(reads[victim].tensor);
		struct ugst_compat_fault fault = {.kind = UGST_COMPAT_FAIL,
		                                  .device_bytes = 1};
		struct ugds_st_error err = {0};
		char lba[64];
		bool first = true;

		if (info.payload_bytes == 0)
			continue;
		fault.device_off = ugst_align_down(
			info.device_off +
				info.envelope_bytes * victim / world.count,
			512);
		ugst_compat_script_fault(&fault);
		assert_int_equal(ugds_st_read_many(world.store, reads,
		                                   world.count, NULL, &err),
		                 UGDS_ST_IO);
		(void)snprintf(lba, sizeof(lba), "LBA %llu ",
		               (unsigned long long)fault.device_off / 512);
		assert_non_null(strstr(err.text, lba));
		assert_true(err.offset == fault.device_off);
		for (size_t i = 0; i < world.count; i++) {
			const ugds_st_tensor *tensor = reads[i].tensor;

			if (envelope_holds(tensor, fault.device_off)) {
				assert_int_equal(reads[i].status, UGDS_ST_IO);
				if (first)
					assert_non_null(strstr(
						err.text,
						reading_info(tensor).name));
				first = false;
			} else {
				assert_int_equal(reads[i].status, UGDS_ST_OK);
				reading_expect(world.volumes, tensor,
				               reads[i].dst);
			}
		}
		assert_false(first);
		ugst_compat_script_end();
		reading_close(world.store);
		ugst_compat_script_begin(&drive);
		reading_free(reads, world.count);
		world.store = reading_open(world.volumes, NULL);
		reads = reading_list(world.store);
	}
	reading_free(reads, world.count);
	end(&world);
}

/* A bad block under hundreds of small tensors: it is found by halving, not by
 * reading each of them by itself. */
static void bad_block_among_small_ones(void **state)
{
	static const struct volumes_shape tiny = {.seed = 8,
	                                          .volume_count = 1,
	                                          .shard_count = 1,
	                                          .tensor_count = 3000,
	                                          .max_tensor_bytes = 30};
	struct volumes *volumes = volumes_new(&tiny);
	struct ugds_st_error err;
	struct ugds_st_read *reads;
	ugds_st_store *store;
	uint64_t entries;
	uint64_t bad_off;
	size_t failed = 0;
	size_t count;

	(void)state;
	ugst_compat_script_begin(&drive);
	store = reading_open(volumes, NULL);
	count = ugds_st_count(store);
	reads = reading_list(store);
	bad_off = ugst_align_down(
		reading_info(reads[count / 2].tensor).device_off, 512);
	ugst_compat_script_fault(
		&(struct ugst_compat_fault){.kind = UGST_COMPAT_FAIL,
	                                    .device_off = bad_off,
	                                    .device_bytes = 1});
	entries = ugst_compat_script_counts().entries;
	assert_fails(ugds_st_read_many(store, reads, count, NULL, &err),
	             UGDS_ST_IO, err);
	entries = ugst_compat_script_counts().entries - entries;
	for (size_t i = 0; i < count; i++) {
		if (envelope_holds(reads[i].tensor, bad_off)) {
			assert_int_equal(reads[i].status, UGDS_ST_IO);
			failed++;
			continue;
		}
		assert_int_equal(reads[i].status, UGDS_ST_OK);
		reading_expect(volumes, reads[i].tensor, reads[i].dst);
	}
	assert_true(failed > 10);
	/* The entry, again, and two halves of each of eight halvings. */
	assert_true(entries <= 2 + 2 * 8);
	reading_free(reads, count);
	reading_close(store);
	assert_int_equal(ugst_compat_script_counts().violations, 0);
	ugst_compat_script_end();
	volumes_free(volumes);
}

/* One command fails once, whichever it is: read again, and right. */
static void passing_failure_is_repaired(void **state)
{
	static const int kinds[] = {UGST_COMPAT_FAIL, UGST_COMPAT_SHORT};
	struct world world;
	struct ugds_st_error err;

	(void)state;
	begin(&world, &drive, 0);
	for (uint64_t nth = 0; nth < 40; nth++) {
		struct ugst_compat_fault fault = {.kind = kinds[nth % 2],
		                                  .skip = nth,
		                                  .count = 1,
		                                  .short_bytes = 512};
		struct ugds_st_stats stats = {.struct_size = sizeof(stats)};
		const ugds_st_tensor *tensors[80];
		ugds_st_array *array;
		uint64_t faults;

		for (size_t i = 0; i < world.count; i++)
			tensors[i] = ugds_st_at(world.store, i);
		faults = ugst_compat_script_counts().faults;
		if (nth == 30) { /* room for 32 faults in a script */
			reading_close(world.store);
			ugst_compat_script_begin(&drive);
			world.store = reading_open(world.volumes, NULL);
			for (size_t i = 0; i < world.count; i++)
				tensors[i] = ugds_st_at(world.store, i);
			faults = 0;
		}
		ugst_compat_script_fault(&fault);
		assert_ok(ugds_st_get_tensors(world.store, tensors, world.count,
		                              0, NULL, &array, &err),
		          err);
		for (size_t i = 0; i < world.count; i++)
			reading_expect(world.volumes, tensors[i],
			               ugds_st_array_data(array, i));
		ugds_st_array_free(array);
		if (ugst_compat_script_counts().faults > faults) {
			(void)ugds_st_get_stats(world.store, &stats);
			assert_true(stats.retries > 0);
		}
	}
	end(&world);
}

/* Completions overtake each other as far as they can. */
static void out_of_order(void **state)
{
	struct world world;
	struct ugds_st_error err;
	struct ugds_st_read *reads;

	(void)state;
	begin(&world, &drive, 0);
	reads = reading_list(world.store);
	for (uint32_t i = 0; i < 20; i++)
		ugst_compat_script_fault(
			&(struct ugst_compat_fault){.kind = UGST_COMPAT_AFTER,
		                                    .skip = 3 * i,
		                                    .count = 1,
		                                    .after = 1 + 7 * i % 40});
	assert_ok(
		ugds_st_read_many(world.store, reads, world.count, NULL, &err),
		err);
	for (size_t i = 0; i < world.count; i++)
		reading_expect(world.volumes, reads[i].tensor, reads[i].dst);
	reading_free(reads, world.count);
	end(&world);
}

/* A command is late past the deadline: nothing is published, the destination
 * is given back at once and what arrives later does not touch it, the next
 * read is right. At several places of the batch. */
static void deadline_gives_the_destination_back(void **state)
{
	struct world world;
	struct ugds_st_error err;
	struct ugds_st_read_opts opts = UGDS_ST_READ_OPTS_INIT;
	ugds_st_array *array;

	(void)state;
	begin(&world, &drive, 0);
	opts.deadline_ms = 60;
	for (uint64_t nth = 0; nth < 12; nth += 3) {
		struct ugds_st_read *reads = reading_list(world.store);
		size_t timeouts = 0;

		ugst_compat_script_fault(&(struct ugst_compat_fault){
			.kind = UGST_COMPAT_LATE, .skip = nth, .count = 1});
		assert_fails(ugds_st_read_many(world.store, reads, world.count,
		                               &opts, &err),
		             UGDS_ST_TIMEOUT, err);
		for (size_t i = 0; i < world.count; i++) {
			if (reads[i].status == UGDS_ST_OK) {
				reading_expect(world.volumes, reads[i].tensor,
				               reads[i].dst);
				continue;
			}
			assert_int_equal(reads[i].status, UGDS_ST_TIMEOUT);
			timeouts++;
			memset(reads[i].dst, 0x77, reads[i].dst_bytes);
		}
		assert_true(timeouts > 0);
		release_one();
		assert_ok(
			ugds_st_get_tensor(world.store, "s0.t1", &array, &err),
			err);
		ugds_st_array_free(array);
		for (size_t i = 0; i < world.count; i++)
			for (size_t k = 0;
			     reads[i].status && k < reads[i].dst_bytes; k++)
				assert_int_equal(((char *)reads[i].dst)[k],
				                 0x77);
		/* Late ones do not disturb who comes next. */
		assert_ok(ugds_st_read_many(world.store, reads, world.count,
		                            NULL, &err),
		          err);
		for (size_t i = 0; i < world.count; i++)
			reading_expect(world.volumes, reads[i].tensor,
			               reads[i].dst);
		reading_free(reads, world.count);
	}
	end(&world);
}

/* A completion never comes: the device is lost, the store says so from then
 * on, and is abandoned; opened again in the same process it reads right. */
static void silence_is_loss(void **state)
{
	struct world world;
	struct ugds_st_error err;
	struct ugds_st_read *reads;
	size_t lost = 0;

	(void)state;
	begin(&world, &drive, 1000);
	reads = reading_list(world.store);
	ugst_compat_script_fault(&(struct ugst_compat_fault){
		.kind = UGST_COMPAT_LOSE, .skip = 5, .count = 1});
	assert_fails(
		ugds_st_read_many(world.store, reads, world.count, NULL, &err),
		UGDS_ST_DEVICE_LOST, err);
	for (size_t i = 0; i < world.count; i++)
		lost += reads[i].status == UGDS_ST_DEVICE_LOST;
	assert_true(lost > 0);
	assert_fails(
		ugds_st_read_many(world.store, reads, world.count, NULL, &err),
		UGDS_ST_DEVICE_LOST, err);
	assert_fails(ugds_st_close(world.store, 0, &err), UGDS_ST_DEVICE_LOST,
	             err);
	assert_ok(ugds_st_close(world.store, UGDS_ST_CLOSE_ABANDON, &err), err);
	reading_free(reads, world.count);

	world.store = reading_open(world.volumes, NULL);
	reads = reading_list(world.store);
	assert_ok(
		ugds_st_read_many(world.store, reads, world.count, NULL, &err),
		err);
	for (size_t i = 0; i < world.count; i++)
		reading_expect(world.volumes, reads[i].tensor, reads[i].dst);
	reading_free(reads, world.count);
	end(&world);
}

/* The drive is pulled while an open runs: an error, no leak. */
static void removed_drive(void **state)
{
	struct world world;
	struct ugds_st_error err;
	ugds_st_array *array;

	(void)state;
	begin(&world, &drive, 1000);
	ugst_compat_script_remove(0);
	assert_fails(ugds_st_get_tensor(world.store, "s0.t1", &array, &err),
	             UGDS_ST_DEVICE_LOST, err);
	assert_ok(ugds_st_close(world.store, UGDS_ST_CLOSE_ABANDON, &err), err);
	world.store = reading_open(world.volumes, NULL);
	end(&world);
}

/* Submit says that the controller takes nothing, that the batch is full, that
 * the handle is wedged: none of it may be, so nothing more is asked of it. */
static void submit_fails(void **state)
{
	static const int codes[] = {5030, 5040, 5042};

	(void)state;
	for (size_t i = 0; i < UGST_COUNT(codes); i++) {
		struct world world;
		struct ugds_st_error err;
		ugds_st_array *array;

		begin(&world, &drive, 1000);
		ugst_compat_script_submit(codes[i], 0, 1);
		assert_fails(
			ugds_st_get_tensor(world.store, "s0.t1", &array, &err),
			UGDS_ST_DEVICE_LOST, err);
		assert_int_equal(err.ugds_code, codes[i]);
		assert_ok(
			ugds_st_close(world.store, UGDS_ST_CLOSE_ABANDON, &err),
			err);
		world.store = NULL;
		end(&world);
	}
}

/* A byte of a header arrives wrong: its hash says so, and nothing is open. */
static void corrupt_header(void **state)
{
	struct world world;
	struct ugds_st_error err;
	ugds_st_store *store;
	uint64_t off;

	(void)state;
	begin(&world, &drive, 0);
	off = world.volumes->shards[1].volume_off;
	reading_close(world.store);
	world.store = NULL;
	ugst_compat_script_fault(
		&(struct ugst_compat_fault){.kind = UGST_COMPAT_CORRUPT,
	                                    .device_off = off,
	                                    .device_bytes = 16});
	assert_fails(ugds_st_open(world.volumes->manifest, NULL, &store, &err),
	             UGDS_ST_CORRUPT, err);
	assert_non_null(strstr(err.text, "shard-1.safetensors"));
	end(&world);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bad_block_fails_its_tensors_only),
		cmocka_unit_test(bad_block_among_small_ones),
		cmocka_unit_test(passing_failure_is_repaired),
		cmocka_unit_test(out_of_order),
		cmocka_unit_test(deadline_gives_the_destination_back),
		cmocka_unit_test(silence_is_loss),
		cmocka_unit_test(removed_drive),
		cmocka_unit_test(submit_fails),
		cmocka_unit_test(corrupt_header),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
