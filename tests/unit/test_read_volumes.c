/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_read_volumes.c - several volumes: one that stands still or is lost
 * holds up nobody else; and places past 4 GiB.
 */
#include "support/reading.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/units.h"
#include "devices/ugds_compat_script.h"

static const struct volumes_shape three = {
	.seed = 41,
	.volume_count = 3,
	.shard_count = 3,
	.tensor_count = 40,
	.max_tensor_bytes = 100000,
};

static const struct ugst_compat_script drive = {
	.lba_bytes = 512,
	.command_bytes = 65536,
	.window_commands = 63,
};

struct reader {
	ugds_st_store *store;
	struct ugds_st_read *reads;
	size_t count;
	atomic_uint good; /* of volumes 1 and 2 */
	atomic_bool over;
	int status;
};

static unsigned volume_of(const ugds_st_tensor *tensor)
{
	return (unsigned)(reading_info(tensor).shard[strlen("shard-")] - '0');
}

static void count_good(void *ctx, size_t index, int status)
{
	struct reader *reader = ctx;

	if (status == UGDS_ST_OK && volume_of(reader->reads[index].tensor))
		atomic_fetch_add(&reader->good, 1);
}

static void *read_all(void *arg)
{
	struct reader *reader = arg;
	struct ugds_st_read_opts opts = UGDS_ST_READ_OPTS_INIT;

	opts.ready = count_good;
	opts.ctx = reader;
	reader->status = ugds_st_read_many(reader->store, reader->reads,
	                                   reader->count, &opts, NULL);
	atomic_store(&reader->over, true);
	return NULL;
}

static uint64_t inode_of(const char *path)
{
	struct stat st;

	assert_int_equal(stat(path, &st), 0);
	return st.st_ino;
}

/* All commands of the first volume are late: the tensors of the others are
 * there long before it answers. */
static void one_stands_still(void **state)
{
	struct volumes *volumes = volumes_new(&three);
	struct reader reader = {0};
	uint64_t until_ns;
	unsigned others = 0;
	pthread_t thread;

	(void)state;
	ugst_compat_script_begin(&drive);
	reader.store = reading_open(volumes, NULL);
	reader.reads = reading_list(reader.store);
	reader.count = ugds_st_count(reader.store);
	for (size_t i = 0; i < reader.count; i++)
		others += volume_of(reader.reads[i].tensor) != 0;
	ugst_compat_script_fault(&(struct ugst_compat_fault){
		.kind = UGST_COMPAT_LATE,
		.device_id = inode_of(volumes->devices[0])});
	assert_int_equal(pthread_create(&thread, NULL, read_all, &reader), 0);
	until_ns = ugst_now_ns() + 20 * UGST_NS_PER_S;
	while (atomic_load(&reader.good) < others) {
		assert_true(ugst_now_ns() < until_ns);
		(void)sched_yield();
	}
	for (size_t i = 0; i < reader.count; i++)
		if (volume_of(reader.reads[i].tensor))
			reading_expect(volumes, reader.reads[i].tensor,
			               reader.reads[i].dst);
	ugst_compat_script_heal();
	while (!atomic_load(&reader.over)) {
		(void)ugst_compat_script_release(0);
		(void)sched_yield();
	}
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_int_equal(reader.status, UGDS_ST_OK);
	reading_free(reader.reads, reader.count);
	reading_close(reader.store);
	assert_int_equal(ugst_compat_script_counts().violations, 0);
	ugst_compat_script_end();
	volumes_free(volumes);
}

/* The first volume is lost: its tensors say so, the others are right, in this
 * call and in later ones, until the store is given up. */
static void one_is_lost(void **state)
{
	struct volumes *volumes = volumes_new(&three);
	struct ugds_st_open_opts opts = UGDS_ST_OPEN_OPTS_INIT;
	struct ugds_st_error err;
	struct ugds_st_read *reads;
	ugds_st_store *store;
	size_t count;

	(void)state;
	ugst_compat_script_begin(&drive);
	opts.silence_ms = 1000; /* longer than a busy machine stalls */
	store = reading_open(volumes, &opts);
	reads = reading_list(store);
	count = ugds_st_count(store);
	ugst_compat_script_remove(inode_of(volumes->devices[0]));
	for (int i = 0; i < 2; i++) {
		assert_fails(ugds_st_read_many(store, reads, count, NULL, &err),
		             UGDS_ST_DEVICE_LOST, err);
		for (size_t k = 0; k < count; k++) {
			if (volume_of(reads[k].tensor) == 0 &&
			    reads[k].dst_bytes) {
				assert_int_equal(reads[k].status,
				                 UGDS_ST_DEVICE_LOST);
				continue;
			}
			assert_int_equal(reads[k].status, UGDS_ST_OK);
			reading_expect(volumes, reads[k].tensor, reads[k].dst);
			memset(reads[k].dst, 0, reads[k].dst_bytes);
		}
	}
	reading_free(reads, count);
	assert_fails(ugds_st_close(store, 0, &err), UGDS_ST_DEVICE_LOST, err);
	memset(&err, 0, sizeof(err));
	assert_ok(ugds_st_close(store, UGDS_ST_CLOSE_ABANDON, &err), err);
	assert_int_equal(err.status, 0);
	assert_int_equal(ugst_compat_script_counts().handles, 0);
	assert_int_equal(ugst_compat_script_counts().violations, 0);
	ugst_compat_script_end();
	volumes_free(volumes);
}

/* Objects past 4 GiB, on volume files that are holes up to there. */
static void far_out(void **state)
{
	struct volumes_shape shape = three;
	const ugds_st_tensor *tensors[120];
	struct volumes *volumes;
	struct ugds_st_error err;
	struct ugds_st_read *reads;
	ugds_st_store *store;
	ugds_st_array *array;
	size_t victim = 41;
	size_t count;
	char lba[32];

	(void)state;
	shape.hole_bytes = 5 * UGST_GIB;
	volumes = volumes_new(&shape);
	ugst_compat_script_begin(&drive);
	store = reading_open(volumes, NULL);
	reads = reading_list(store);
	count = ugds_st_count(store);
	assert_ok(ugds_st_read_many(store, reads, count, NULL, &err), err);
	for (size_t i = 0; i < count; i++) {
		tensors[i] = reads[i].tensor;
		reading_expect(volumes, tensors[i], reads[i].dst);
	}
	assert_ok(ugds_st_get_tensors(store, tensors, count, 0, NULL, &array,
	                              &err),
	          err);
	for (size_t i = 0; i < count; i++)
		reading_expect(volumes, tensors[i],
		               ugds_st_array_data(array, i));
	ugds_st_array_free(array);
	while (reading_info(tensors[victim]).envelope_bytes < 2048)
		victim++;
	ugst_compat_script_fault(&(struct ugst_compat_fault){
		.kind = UGST_COMPAT_FAIL,
		.device_off = reading_info(tensors[victim]).device_off + 1024,
		.device_bytes = 1});
	assert_fails(ugds_st_read_many(store, reads, count, NULL, &err),
	             UGDS_ST_IO, err);
	assert_int_equal(reads[victim].status, UGDS_ST_IO);
	(void)snprintf(
		lba, sizeof(lba), "LBA %llu ",
		(unsigned long long)(reading_info(tensors[victim]).device_off /
	                             512) +
			2);
	assert_non_null(strstr(err.text, lba));
	assert_true(err.offset > 5 * UGST_GIB);
	reading_free(reads, count);
	reading_close(store);
	assert_int_equal(ugst_compat_script_counts().violations, 0);
	ugst_compat_script_end();
	volumes_free(volumes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_stands_still),
		cmocka_unit_test(one_is_lost),
		cmocka_unit_test(far_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
