/* SPDX-License-Identifier: BSD-3-Clause */
/* test_read_limits.c - block and command sizes of drives, down to one page and
 * up to more than a slot of the arena. */
#include "support/reading.h"

#include "base/units.h"
#include "devices/ugds_compat_script.h"

/* A direct command that failed is read again through slots that are smaller
 * than it. */
static void command_larger_than_a_slot(void **state)
{
	static const struct volumes_shape large = {.seed = 5,
	                                           .volume_count = 1,
	                                           .shard_count = 1,
	                                           .tensor_count = 12,
	                                           .max_tensor_bytes =
	                                                   30000000};
	const struct ugst_compat_script wide = {.command_bytes = 4 * UGST_MIB,
	                                        .window_commands = 32};
	struct volumes *volumes = volumes_new(&large);
	struct ugds_st_open_opts opts = UGDS_ST_OPEN_OPTS_INIT;
	const ugds_st_tensor *tensors[12];
	struct ugds_st_stats stats = {.struct_size = sizeof(stats)};
	struct ugds_st_error err;
	ugds_st_array *array;
	ugds_st_store *store;
	size_t large_count = 0;
	size_t count;

	(void)state;
	ugst_compat_script_begin(&wide);
	opts.arena_bytes = 2 * UGST_MIB;
	store = reading_open(volumes, &opts);
	count = ugds_st_count(store);
	assert_int_equal(count, UGST_COUNT(tensors));
	for (size_t i = 0; i < count; i++) {
		struct ugds_st_info info;

		tensors[i] = ugds_st_at(store, i);
		info = reading_info(tensors[i]);
		if (info.payload_bytes < wide.command_bytes)
			continue;
		large_count++;
		ugst_compat_script_fault(&(struct ugst_compat_fault){
			.kind = UGST_COMPAT_FAIL,
			.device_off = info.device_off + 2 * UGST_MIB,
			.device_bytes = 1,
			.count = 1});
	}
	assert_true(large_count > 1);
	assert_ok(ugds_st_get_tensors(store, tensors, count, 1, NULL, &array,
	                              &err),
	          err);
	for (size_t i = 0; i < count; i++)
		reading_expect(volumes, tensors[i],
		               ugds_st_array_data(array, i));
	ugds_st_array_free(array);
	assert_int_equal(ugds_st_get_stats(store, &stats), UGDS_ST_OK);
	assert_true(stats.retries > large_count); /* in pieces */
	assert_true(stats.direct_bytes > stats.staged_bytes);
	reading_close(store);
	assert_int_equal(ugst_compat_script_counts().violations, 0);
	ugst_compat_script_end();
	volumes_free(volumes);
}

/* Every limit that a drive may have, every byte right, no rule broken. */
static void every_drive(void **state)
{
	static const uint32_t commands[] = {4096,    16384,   131072,
	                                    1048576, 2101248, 4194304};
	static const struct volumes_shape small = {.seed = 3,
	                                           .volume_count = 1,
	                                           .shard_count = 2,
	                                           .tensor_count = 40,
	                                           .max_tensor_bytes = 700000};
	struct volumes *volumes = volumes_new(&small);

	(void)state;
	for (size_t i = 0; i < 2 * UGST_COUNT(commands); i++) {
		struct ugst_compat_script drive = {
			.lba_bytes = i % 2 ? 512 : 4096,
			.command_bytes = commands[i / 2],
			.window_commands = 63,
		};
		struct ugst_compat_counts counts;
		struct ugds_st_error err;
		struct ugds_st_read *reads;
		ugds_st_store *store;
		size_t count;

		ugst_compat_script_begin(&drive);
		store = reading_open(volumes, NULL);
		count = ugds_st_count(store);
		reads = reading_list(store);
		assert_ok(ugds_st_read_many(store, reads, count, NULL, &err),
		          err);
		for (size_t k = 0; k < count; k++)
			reading_expect(volumes, reads[k].tensor, reads[k].dst);
		reading_free(reads, count);
		reading_close(store);
		counts = ugst_compat_script_counts();
		assert_int_equal(counts.violations, 0);
		assert_true(counts.in_flight_max <= 63);
		assert_true(counts.distance_max <= 63);
		assert_int_equal(counts.handles, 0);
		ugst_compat_script_end();
	}
	volumes_free(volumes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(command_larger_than_a_slot),
		cmocka_unit_test(every_drive),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
