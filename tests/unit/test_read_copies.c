/* SPDX-License-Identifier: BSD-3-Clause */
/* test_read_copies.c - shards that lie on two volumes: one may fail. */
#include "support/reading.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "devices/ugds_compat_script.h"

static const struct volumes_shape mirrored = {
	.seed = 21,
	.volume_count = 2,
	.copy_count = 2,
	.shard_count = 8,
	.tensor_count = 12,
	.max_tensor_bytes = 300000,
};

static int set_up(void **state)
{
	ugst_compat_script_begin(
		&(struct ugst_compat_script){.lba_bytes = 512,
	                                     .command_bytes = 65536,
	                                     .window_commands = 63});
	*state = volumes_new(&mirrored);
	return 0;
}

static int tear_down(void **state)
{
	assert_int_equal(ugst_compat_script_counts().violations, 0);
	ugst_compat_script_end();
	volumes_free(*state);
	return 0;
}

static uint64_t device_id(const struct volumes *volumes, unsigned volume)
{
	struct stat st;

	assert_int_equal(stat(volumes->devices[volume], &st), 0);
	return st.st_ino;
}

static struct ugds_st_stats stats_of(const ugds_st_store *store)
{
	struct ugds_st_stats stats = {.struct_size = sizeof(stats)};

	assert_int_equal(ugds_st_get_stats(store, &stats), UGDS_ST_OK);
	return stats;
}

static void read_all(const struct volumes *volumes, ugds_st_store *store)
{
	struct ugds_st_read *reads = reading_list(store);
	size_t count = ugds_st_count(store);
	struct ugds_st_error err;

	assert_ok(ugds_st_read_many(store, reads, count, NULL, &err), err);
	for (size_t i = 0; i < count; i++) {
		assert_int_equal(reads[i].status, UGDS_ST_OK);
		reading_expect(volumes, reads[i].tensor, reads[i].dst);
	}
	reading_free(reads, count);
}

/* Both devices have work, and every tensor the same at each open. */
static void copies_share_the_work(void **state)
{
	struct volumes *volumes = *state;
	ugds_st_store *store = reading_open(volumes, NULL);
	ugds_st_store *again = reading_open(volumes, NULL);
	size_t on_first = 0;

	for (size_t i = 0; i < ugds_st_count(store); i++) {
		struct ugds_st_info info = reading_info(ugds_st_at(store, i));

		on_first += !strcmp(info.device, volumes->devices[0]);
		assert_string_equal(info.device,
		                    reading_info(ugds_st_at(again, i)).device);
	}
	assert_true(on_first > 0 && on_first < ugds_st_count(store));
	read_all(volumes, store);
	assert_int_equal(stats_of(store).fallbacks, 0);
	reading_close(again);
	reading_close(store);
}

/* One device fails every read of data: the other serves all of it. */
static void bad_device_falls_back(void **state)
{
	struct volumes *volumes = *state;

	for (unsigned volume = 0; volume < 2; volume++) {
		ugds_st_store *store = reading_open(volumes, NULL);
		const ugds_st_tensor *tensors[96];
		ugds_st_array *array;
		struct ugds_st_error err;

		ugst_compat_script_fault(&(struct ugst_compat_fault){
			.kind = UGST_COMPAT_FAIL,
			.device_id = device_id(volumes, volume)});
		read_all(volumes, store);
		assert_true(stats_of(store).fallbacks > 0);
		for (size_t i = 0; i < 96; i++)
			tensors[i] = ugds_st_at(store, i);
		assert_ok(ugds_st_get_tensors(store, tensors, 96, 0, NULL,
		                              &array, &err),
		          err);
		for (size_t i = 0; i < 96; i++)
			reading_expect(volumes, tensors[i],
			               ugds_st_array_data(array, i));
		ugds_st_array_free(array);
		reading_close(store);
		ugst_compat_script_begin(
			&(struct ugst_compat_script){.lba_bytes = 512,
		                                     .command_bytes = 65536,
		                                     .window_commands = 63});
	}
}

static void flip(const char *path, uint64_t off)
{
	int fd = open(path, O_RDWR | O_CLOEXEC);
	char byte;

	assert_true(fd >= 0);
	assert_int_equal(pread(fd, &byte, 1, (off_t)off), 1);
	byte = (char)~byte;
	assert_int_equal(pwrite(fd, &byte, 1, (off_t)off), 1);
	assert_int_equal(close(fd), 0);
}

/* A volume that is not there at all. */
static void missing_volume(void **state)
{
	struct volumes *volumes = *state;
	struct ugds_st_open_opts opts = UGDS_ST_OPEN_OPTS_INIT;
	struct ugds_st_error err;
	ugds_st_store *store;

	opts.devices = (const char *const *)&volumes->devices[1];
	opts.device_count = 1;
	assert_fails(ugds_st_open(volumes->manifest, &opts, &store, &err),
	             UGDS_ST_NOT_FOUND, err);
	opts.flags = UGDS_ST_OPEN_DEGRADED_OK;
	store = reading_open(volumes, &opts);
	read_all(volumes, store);
	reading_close(store);
}

/* The byte of a volume where a tensor begins. */
static uint64_t place_on(const struct volumes *volumes, unsigned volume,
                         const ugds_st_tensor *tensor)
{
	struct ugds_st_info info = reading_info(tensor);
	const struct ugst_manifest_copy *copy;
	unsigned shard;

	assert_int_equal(sscanf(info.shard, "shard-%u.", &shard), 1);
	copy = volumes->document.shards[shard].copies;
	while (copy->volume != volume)
		copy++;
	return copy->base_lba * copy->lba_bytes + copy->lead_bytes +
	       info.file_off;
}

/* Two tensors lie side by side in an array, and share a block. The first one's
 * place is bad, and it is read from the other volume: where the second one is
 * damaged, but not on the first, which it came from. */
static void fallback_leaves_neighbours(void **state)
{
	struct volumes_shape shape = mirrored;
	struct volumes *volumes;
	unsigned tried = 0;

	(void)state;
	shape.lead = true; /* as the importer places copies */
	volumes = volumes_new(&shape);
	for (size_t i = 0; i + 1 < 8 * 12; i++) {
		ugds_st_store *store = reading_open(volumes, NULL);
		const ugds_st_tensor *pair[] = {ugds_st_at(store, i),
		                                ugds_st_at(store, i + 1)};
		struct ugds_st_info first = reading_info(pair[0]);
		struct ugds_st_info second = reading_info(pair[1]);
		unsigned from = !!strcmp(first.device, volumes->devices[0]);
		uint64_t off = place_on(volumes, from, pair[0]);
		uint64_t other_off = place_on(volumes, !from, pair[1]);
		struct ugds_st_error err;
		ugds_st_array *array;

		if (strcmp(first.shard, second.shard) ||
		    first.payload_bytes < 1024 || second.payload_bytes == 0 ||
		    other_off % 512 == 0) {
			reading_close(store);
			continue;
		}
		ugst_compat_script_fault(&(struct ugst_compat_fault){
			.kind = UGST_COMPAT_FAIL,
			.device_id = device_id(volumes, from),
			.device_off = off / 512 * 512,
			.device_bytes = 512});
		flip(volumes->devices[!from], other_off);
		assert_ok(ugds_st_get_tensors(store, pair, 2, 1, NULL, &array,
		                              &err),
		          err);
		assert_int_equal(stats_of(store).fallbacks, 1);
		reading_expect(volumes, pair[0], ugds_st_array_data(array, 0));
		reading_expect(volumes, pair[1], ugds_st_array_data(array, 1));
		ugds_st_array_free(array);
		flip(volumes->devices[!from], other_off);
		ugst_compat_script_heal();
		reading_close(store);
		tried++;
	}
	assert_true(tried > 10);
	volumes_free(volumes);
}

/* The same block bad on both: that tensor fails, and is named with the place
 * that was tried last. */
static void both_bad(void **state)
{
	struct volumes *volumes = *state;
	ugds_st_store *store = reading_open(volumes, NULL);
	struct ugds_st_error err;
	char byte[400000];

	ugst_compat_script_fault(
		&(struct ugst_compat_fault){.kind = UGST_COMPAT_FAIL});
	assert_fails(
		ugds_st_read_into(store, "s3.t4", byte, sizeof(byte), &err),
		UGDS_ST_IO, err);
	assert_non_null(strstr(err.text, "s3.t4"));
	assert_non_null(strstr(err.text, "LBA"));
	reading_close(store);
}

/* A drive that says nothing any more: what is staged comes from the other. */
static void lost_device_falls_back(void **state)
{
	struct volumes *volumes = *state;
	struct ugds_st_open_opts opts = UGDS_ST_OPEN_OPTS_INIT;
	ugds_st_store *store;
	struct ugds_st_error err;

	opts.silence_ms = 1000; /* longer than a busy machine stalls */
	store = reading_open(volumes, &opts);
	ugst_compat_script_remove(device_id(volumes, 1));
	read_all(volumes, store);
	assert_true(stats_of(store).fallbacks > 0);
	assert_fails(ugds_st_close(store, 0, &err), UGDS_ST_DEVICE_LOST, err);
	assert_ok(ugds_st_close(store, UGDS_ST_CLOSE_ABANDON, &err), err);
}

/* Opens degraded only, and then serves everything. */
static void expect_degraded(const struct volumes *volumes, int status,
                            const char *text)
{
	struct ugds_st_store_info info = {.struct_size = sizeof(info)};
	struct ugds_st_open_opts opts = UGDS_ST_OPEN_OPTS_INIT;
	struct ugds_st_error err;
	ugds_st_store *store;

	/* By the manifest's hints, then named. */
	for (size_t i = 0; i < 2; i++) {
		opts.flags = 0;
		opts.devices = (const char *const *)volumes->devices;
		opts.device_count = i ? 2 : 0;
		assert_fails(
			ugds_st_open(volumes->manifest, &opts, &store, &err),
			status, err);
		assert_non_null(strstr(err.text, volumes->devices[0]));
		assert_non_null(strstr(err.text, text));
		opts.flags = UGDS_ST_OPEN_DEGRADED_OK;
		store = reading_open(volumes, &opts);
		read_all(volumes, store);
		assert_ok(ugds_st_verify(store, NULL, NULL, &err), err);
		assert_int_equal(ugds_st_store_info(store, &info), UGDS_ST_OK);
		assert_int_equal(info.volume_count, 1);
		reading_close(store);
	}
}

/* A device that is there, but has no label any more. */
static void lost_label(void **state)
{
	static const char zeros[2 * 4096];
	struct volumes *volumes = *state;
	struct ugds_st_open_opts opts = UGDS_ST_OPEN_OPTS_INIT;
	struct ugds_st_error err;
	ugds_st_store *store;
	int fd;

	flip(volumes->devices[0], 4096 + 10);
	flip(volumes->devices[0], UGST_SLOT_BYTES + 4096 + 10);
	expect_degraded(volumes, UGDS_ST_CORRUPT, "both slots damaged");
	/* Of both: there is nothing to go on with, and the first says why. */
	flip(volumes->devices[1], 4096 + 10);
	flip(volumes->devices[1], UGST_SLOT_BYTES + 4096 + 10);
	opts.flags = UGDS_ST_OPEN_DEGRADED_OK;
	assert_fails(ugds_st_open(volumes->manifest, &opts, &store, &err),
	             UGDS_ST_CORRUPT, err);
	assert_non_null(strstr(err.text, volumes->devices[0]));
	volumes_write_label(volumes, 1);

	fd = open(volumes->devices[0], O_WRONLY | O_CLOEXEC);
	for (size_t i = 0; i < UGST_SLOT_COUNT; i++)
		assert_int_equal(pwrite(fd, zeros, sizeof(zeros),
		                        (off_t)(i * UGST_SLOT_BYTES)),
		                 sizeof(zeros));
	assert_int_equal(ftruncate(fd, UGST_OBJECTS_OFF), 0);
	expect_degraded(volumes, UGDS_ST_NOT_FOUND, "expected a volume label");
	assert_int_equal(ftruncate(fd, 4096), 0);
	expect_degraded(volumes, UGDS_ST_NOT_FOUND, "no label");
	(void)close(fd);
}

/* A drive that answers nothing but errors. */
static void dead_device(void **state)
{
	struct volumes *volumes = *state;

	ugst_compat_script_fault(&(struct ugst_compat_fault){
		.kind = UGST_COMPAT_FAIL, .device_id = device_id(volumes, 0)});
	expect_degraded(volumes, UGDS_ST_IO, "cannot be read");
}

/* A label that is there and is another than the manifest's is no missing one.
 */
static void wrong_label(void **state)
{
	struct volumes *volumes = *state;
	struct ugds_st_open_opts opts = UGDS_ST_OPEN_OPTS_INIT;
	struct ugds_st_error err;
	ugds_st_store *store;

	volumes->labels[0].sequence--;
	volumes_write_label(volumes, 0);
	opts.flags = UGDS_ST_OPEN_DEGRADED_OK;
	assert_fails(ugds_st_open(volumes->manifest, &opts, &store, &err),
	             UGDS_ST_MISMATCH, err);
	assert_non_null(strstr(err.text, "an old copy of the volume"));
}

/* A damaged header is taken from the other copy; verify finds every damage. */
static void damaged_copy(void **state)
{
	struct volumes *volumes = *state;
	const struct volumes_shard *shard = &volumes->shards[2];
	ugds_st_store *store;
	struct ugds_st_error err;

	flip(volumes->devices[shard->volume], shard->volume_off + 10);
	store = reading_open(volumes, NULL);
	read_all(volumes, store);
	assert_fails(ugds_st_verify(store, NULL, NULL, &err), UGDS_ST_CORRUPT,
	             err);
	assert_non_null(strstr(err.text, "shard-2"));
	assert_non_null(strstr(err.text, volumes->devices[shard->volume]));
	reading_close(store);
}

/* What went wrong on the way to a success is nobody's business: err stays. */
static void success_leaves_err_alone(void **state)
{
	struct volumes *volumes = *state;
	const struct volumes_shard *shard = &volumes->shards[2];
	struct ugds_st_open_opts opts = UGDS_ST_OPEN_OPTS_INIT;
	struct ugds_st_error untouched;
	struct ugds_st_error err;
	ugds_st_array *array;
	ugds_st_store *store;

	memset(&untouched, 0x77, sizeof(untouched));
	err = untouched;
	flip(volumes->devices[shard->volume], shard->volume_off + 10);
	assert_int_equal(ugds_st_open(volumes->manifest, NULL, &store, &err),
	                 UGDS_ST_OK);
	assert_memory_equal(&err, &untouched, sizeof(err));
	ugst_compat_script_fault(&(struct ugst_compat_fault){
		.kind = UGST_COMPAT_FAIL, .device_id = device_id(volumes, 0)});
	for (size_t i = 0; i < 12; i++) {
		assert_int_equal(ugds_st_get_tensors(
					 store,
					 (const ugds_st_tensor *const[]){
						 ugds_st_at(store, 8 * i + 1)},
					 1, 0, NULL, &array, &err),
		                 UGDS_ST_OK);
		assert_memory_equal(&err, &untouched, sizeof(err));
		ugds_st_array_free(array);
	}
	reading_close(store);
	/* A hint that leads nowhere, and another that does. */
	assert_int_equal(unlink(volumes->devices[0]), 0);
	ugst_compat_script_heal();
	opts.flags = UGDS_ST_OPEN_DEGRADED_OK;
	assert_int_equal(ugds_st_open(volumes->manifest, &opts, &store, &err),
	                 UGDS_ST_OK);
	assert_memory_equal(&err, &untouched, sizeof(err));
	reading_close(store);
}

#define COPIES_TEST(name) \
	cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		COPIES_TEST(copies_share_the_work),
		COPIES_TEST(bad_device_falls_back),
		COPIES_TEST(fallback_leaves_neighbours),
		COPIES_TEST(both_bad),
		COPIES_TEST(lost_device_falls_back),
		COPIES_TEST(missing_volume),
		COPIES_TEST(lost_label),
		COPIES_TEST(dead_device),
		COPIES_TEST(wrong_label),
		COPIES_TEST(damaged_copy),
		COPIES_TEST(success_leaves_err_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
