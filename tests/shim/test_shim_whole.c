/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_shim_whole.c - a whole checkpoint into one arena, and what that costs.
 *
 * Bytes read beyond those wanted, and commands that are not full, are counted
 * by the drive, not by the library.
 */
#include "shim/rig.h"

static const struct volumes_shape shape = {
	.seed = 10,
	.volume_count = 1,
	.shard_count = 1,
	.tensor_count = 90,
	.max_tensor_bytes = 6000000,
	.lead = true,
};

static void whole(void **state)
{
	ugds_st_store *store = rig_open(NULL);
	size_t count = ugds_st_count(store);
	const ugds_st_tensor **tensors = ugst_calloc(count, sizeof(*tensors));
	struct ugds_st_read *reads = ugst_calloc(count, sizeof(*reads));
	uint64_t *offs = ugst_calloc(count, sizeof(*offs));
	struct ugds_st_error err;
	ugds_st_buffer *buffer;
	uint64_t wanted_bytes = 0;
	uint64_t read_bytes;
	uint64_t reads_count;
	uint64_t bytes;
	double fill;
	char *memory;

	(void)state;
	for (size_t i = 0; i < count; i++)
		tensors[i] = ugds_st_at(store, i);
	assert_int_equal(ugds_st_layout(tensors, count, 1, offs, &bytes),
	                 UGDS_ST_OK);
	memory = rig_alloc(bytes, 0);
	assert_ok(ugds_st_register(store, memory, bytes, 0, &buffer, &err),
	          err);
	for (size_t i = 0; i < count; i++) {
		reads[i].struct_size = sizeof(*reads);
		reads[i].tensor = tensors[i];
		reads[i].dst = memory + offs[i];
		reads[i].dst_bytes = reading_info(tensors[i]).payload_bytes;
		reads[i].buf = buffer;
		wanted_bytes += reads[i].dst_bytes;
	}
	read_bytes = ugds_shim_stat(0, "read_bytes");
	reads_count = ugds_shim_stat(0, "reads");
	assert_ok(ugds_st_read_many(store, reads, count, NULL, &err), err);
	read_bytes = ugds_shim_stat(0, "read_bytes") - read_bytes;
	reads_count = ugds_shim_stat(0, "reads") - reads_count;
	for (size_t i = 0; i < count; i++)
		rig_expect(tensors[i], memory + offs[i]);
	fill = (double)read_bytes / ((double)reads_count * rig_command_bytes());
	print_message("%.1f MB wanted, %.6f of that read, %llu commands of "
	              "%u bytes, %.4f full; %llu in flight at most\n",
	              (double)wanted_bytes / 1e6,
	              (double)read_bytes / (double)wanted_bytes,
	              (unsigned long long)reads_count, rig_command_bytes(),
	              fill,
	              (unsigned long long)ugds_shim_stat(0, "max_outstanding"));
	assert_true((double)read_bytes <= 1.0001 * (double)wanted_bytes);
	assert_true(fill >= 0.98);
	assert_true(ugds_shim_stat(0, "max_outstanding") <= 63);
	assert_ok(ugds_st_unregister(buffer, &err), err);
	rig_free(memory, bytes);
	free(tensors);
	free(reads);
	free(offs);
	reading_close(store);
}

static void as_array(void **state)
{
	ugds_st_store *store = rig_open(NULL);
	size_t count = ugds_st_count(store);
	const ugds_st_tensor **tensors = ugst_calloc(count, sizeof(*tensors));
	struct ugds_st_stats stats = {.struct_size = sizeof(stats)};
	struct ugds_st_error err;
	ugds_st_array *array;

	(void)state;
	for (size_t i = 0; i < count; i++)
		tensors[i] = ugds_st_at(store, i);
	/* more than 64 MiB: registered, and read to its place */
	assert_ok(ugds_st_get_tensors(store, tensors, count, 1, NULL, &array,
	                              &err),
	          err);
	assert_int_equal(ugds_st_get_stats(store, &stats), UGDS_ST_OK);
	assert_true(stats.direct_bytes > 9 * stats.staged_bytes);
	for (size_t i = 0; i < count; i++)
		rig_expect(tensors[i], ugds_st_array_data(array, i));
	ugds_st_array_free(array);
	free(tensors);
	reading_close(store);
}

static int run(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(whole, rig_check_clean),
		cmocka_unit_test_teardown(as_array, rig_check_clean),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

int main(void)
{
	return rig_main(&shape, run);
}
