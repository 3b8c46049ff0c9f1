/* SPDX-License-Identifier: BSD-3-Clause */
/* test_open.c - what a store refuses to open, and what it says. */
#include "support/reading.h"

#include "devices/ugds_compat_script.h"

#include <fcntl.h>
#include <unistd.h>

#include "support/check.h"

static const struct volumes_shape small = {
	.seed = 11,
	.volume_count = 2,
	.shard_count = 3,
	.tensor_count = 5,
	.max_tensor_bytes = 20000,
};

static int set_up(void **state)
{
	*state = volumes_new(&small);
	return 0;
}

static int tear_down(void **state)
{
	volumes_free(*state);
	return 0;
}

static void refuses(const struct volumes *volumes,
                    const struct ugds_st_open_opts *opts, int wanted,
                    const char *says)
{
	ugds_st_store *store = NULL;
	struct ugds_st_error err;

	check_fails(ugds_st_open(volumes->manifest, opts, &store, &err), wanted,
	            err, says);
	assert_null(store);
}

static void overwrite(const char *path, uint64_t off, const void *bytes,
                      size_t count)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(pwrite(fd, bytes, count, (off_t)off), count);
	assert_int_equal(close(fd), 0);
}

static void opens(void **state)
{
	struct volumes *volumes = *state;
	struct ugds_st_store_info info = {.struct_size = sizeof(info)};
	ugds_st_store *store = reading_open(volumes, NULL);

	assert_int_equal(ugds_st_store_info(store, &info), UGDS_ST_OK);
	assert_string_equal(info.model, "test/model");
	assert_int_equal(info.generation, 1);
	assert_int_equal(info.tensor_count, 15);
	assert_int_equal(info.shard_count, 3);
	assert_int_equal(info.volume_count, 2);
	assert_int_equal(info.provider, UGDS_ST_PROVIDER_COMPAT);
	assert_memory_equal(info.checkpoint_uuid,
	                    volumes->document.checkpoint.bytes, 16);
	reading_close(store);
}

static void no_manifest(void **state)
{
	struct volumes *volumes = *state;

	assert_int_equal(unlink(volumes->manifest), 0);
	refuses(volumes, NULL, UGDS_ST_NOT_FOUND, volumes->manifest);
}

static void no_manifest_but_something_else(void **state)
{
	struct volumes *volumes = *state;

	overwrite(volumes->manifest, 0, "[", 1);
	refuses(volumes, NULL, UGDS_ST_FORMAT, volumes->manifest);
}

static void device_is_gone(void **state)
{
	struct volumes *volumes = *state;

	assert_int_equal(unlink(volumes->devices[1]), 0);
	refuses(volumes, NULL, UGDS_ST_NOT_FOUND, volumes->devices[1]);
}

static void device_is_not_given(void **state)
{
	struct volumes *volumes = *state;
	struct ugds_st_open_opts opts = UGDS_ST_OPEN_OPTS_INIT;
	const char *device = volumes->devices[0];

	opts.devices = &device;
	opts.device_count = 1;
	refuses(volumes, &opts, UGDS_ST_NOT_FOUND, "on none of the devices");
	/* Nor does degraded help: nobody else has its shards. */
	opts.flags = UGDS_ST_OPEN_DEGRADED_OK;
	refuses(volumes, &opts, UGDS_ST_NOT_FOUND, "shard-1");
}

static void wrong_device(void **state)
{
	struct volumes *volumes = *state;
	struct volumes *other;
	struct volumes_shape shape = small;
	struct ugds_st_open_opts opts = UGDS_ST_OPEN_OPTS_INIT;
	const char *devices[2];

	shape.seed = 12;
	other = volumes_new(&shape);
	devices[0] = volumes->devices[0];
	devices[1] = other->devices[1];
	opts.devices = devices;
	opts.device_count = 2;
	refuses(volumes, &opts, UGDS_ST_MISMATCH, "wrong device");
	/* A clone of one that is there. */
	devices[1] = volumes->devices[0];
	refuses(volumes, &opts, UGDS_ST_MISMATCH, "clone");
	volumes_free(other);
}

static void stale_label(void **state)
{
	struct volumes *volumes = *state;

	volumes->labels[1].sequence = 1;
	volumes_write_label(volumes, 1);
	refuses(volumes, NULL, UGDS_ST_MISMATCH,
	        "expected label sequence 2 or later, found 1");
	/* A later one is fine: other checkpoints were imported since. */
	volumes->labels[1].sequence = 9;
	volumes_write_label(volumes, 1);
	reading_close(reading_open(volumes, NULL));
}

static void object_is_gone(void **state)
{
	struct volumes *volumes = *state;
	struct ugst_catalog *catalog = &volumes->labels[1].catalog;

	catalog->records[0].object_count = 0;
	free(catalog->objects[--catalog->object_count].name);
	volumes_write_label(volumes, 1);
	refuses(volumes, NULL, UGDS_ST_MISMATCH, "stale manifest");
}

static void object_moved(void **state)
{
	struct volumes *volumes = *state;

	/* Inside the volume still, as its own check demands. */
	volumes->document.shards[1].copies[0].lead_bytes ^= 1;
	volumes_publish(volumes);
	refuses(volumes, NULL, UGDS_ST_MISMATCH, "shard-1");
}

static void other_hash(void **state)
{
	struct volumes *volumes = *state;

	volumes->document.shards[2].hash.bytes[3] ^= 1;
	volumes_publish(volumes);
	refuses(volumes, NULL, UGDS_ST_MISMATCH, "shard-2");
}

static void device_too_small(void **state)
{
	struct volumes *volumes = *state;

	assert_int_equal(truncate(volumes->devices[1], 9 * 1024 * 1024), 0);
	refuses(volumes, NULL, UGDS_ST_MISMATCH, "too small");
	/* Not even a label. */
	assert_int_equal(truncate(volumes->devices[1], 65536), 0);
	refuses(volumes, NULL, UGDS_ST_NOT_FOUND, volumes->devices[1]);
}

static void damaged_slots(void **state)
{
	struct volumes *volumes = *state;
	char zeros[4096] = {0};

	/* Either slot alone is enough. */
	overwrite(volumes->devices[0], 4096 + 5, "x", 1);
	reading_close(reading_open(volumes, NULL));
	volumes_write_label(volumes, 0);
	overwrite(volumes->devices[0], 4 * 1024 * 1024 + 4096 + 5, "x", 1);
	reading_close(reading_open(volumes, NULL));
	/* Both: a damaged volume. Both blank: none. */
	overwrite(volumes->devices[0], 4096 + 5, "x", 1);
	refuses(volumes, NULL, UGDS_ST_CORRUPT, volumes->devices[0]);
	overwrite(volumes->devices[0], 0, zeros, sizeof(zeros));
	refuses(volumes, NULL, UGDS_ST_CORRUPT, volumes->devices[0]);
	overwrite(volumes->devices[0], 4 * 1024 * 1024, zeros, sizeof(zeros));
	refuses(volumes, NULL, UGDS_ST_NOT_FOUND, volumes->devices[0]);
}

static void damaged_header(void **state)
{
	struct volumes *volumes = *state;

	overwrite(volumes->devices[0], volumes->shards[0].volume_off + 20, "~",
	          1);
	refuses(volumes, NULL, UGDS_ST_CORRUPT,
	        "shard-0.safetensors: header on");
}

static void wrong_provider(void **state)
{
	struct volumes *volumes = *state;
	struct ugds_st_open_opts opts = UGDS_ST_OPEN_OPTS_INIT;
	const char *device = "/dev/null";

	opts.provider = UGDS_ST_PROVIDER_UGDS;
	refuses(volumes, &opts, UGDS_ST_UNSUPPORTED, "character device");
	opts.provider = UGDS_ST_PROVIDER_COMPAT;
	opts.devices = &device;
	opts.device_count = 1;
	refuses(volumes, &opts, UGDS_ST_UNSUPPORTED, "/dev/null");
	opts.provider = 7;
	refuses(volumes, &opts, UGDS_ST_INVALID_ARG, "provider 7");
}

/* A hint may not make us open a character device. */
static void hint_is_no_permission(void **state)
{
	struct volumes *volumes = *state;

	free(volumes->document.volumes[0].path);
	volumes->document.volumes[0].path = ugst_strdup("/dev/zero");
	volumes_publish(volumes);
	refuses(volumes, NULL, UGDS_ST_INVALID_ARG, "/dev/zero");
}

static void small_arena(void **state)
{
	struct volumes *volumes = *state;
	struct ugds_st_open_opts opts = UGDS_ST_OPEN_OPTS_INIT;

	opts.arena_bytes = 65536;
	refuses(volumes, &opts, UGDS_ST_INVALID_ARG, "arena");
	opts.arena_bytes = 4 * 1024 * 1024;
	reading_close(reading_open(volumes, &opts));
}

/* Who does not ask for a size gets one that does, also for many volumes of
 * large commands. */
static void default_arena(void **state)
{
	const struct volumes_shape shape = {.seed = 9,
	                                    .volume_count = 4,
	                                    .shard_count = 4,
	                                    .tensor_count = 2,
	                                    .max_tensor_bytes = 5000};
	struct volumes *volumes = volumes_new(&shape);

	(void)state;
	ugst_compat_script_begin(
		&(struct ugst_compat_script){.command_bytes = 8 * 1024 * 1024});
	reading_close(reading_open(volumes, NULL));
	ugst_compat_script_end();
	volumes_free(volumes);
}

/* Memory of a caller's own: its struct is looked at before it is called. */
static void bad_memory_ops(void **state)
{
	struct volumes *volumes = *state;
	struct ugds_st_open_opts opts = UGDS_ST_OPEN_OPTS_INIT;
	struct ugds_st_memory_ops memory = *ugds_st_memory_host();

	opts.memory = &memory;
	reading_close(reading_open(volumes, &opts));
	memory.struct_size = 8;
	refuses(volumes, &opts, UGDS_ST_INVALID_ARG, "found 8");
	memory = *ugds_st_memory_host();
	memory.copy = NULL;
	refuses(volumes, &opts, UGDS_ST_INVALID_ARG, "copy");
}

static void locked_against_pruning(void **state)
{
	struct volumes *volumes = *state;
	ugds_st_store *store = reading_open(volumes, NULL);
	struct flock lock = {
		.l_type = F_WRLCK,
		.l_whence = SEEK_SET,
		.l_start = 1,
		.l_len = 1,
	};
	int fd = open(volumes->devices[0], O_RDWR | O_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(fcntl(fd, F_OFD_SETLK, &lock), -1);
	reading_close(store);
	assert_int_equal(fcntl(fd, F_OFD_SETLK, &lock), 0);
	refuses(volumes, NULL, UGDS_ST_BUSY, volumes->devices[0]);
	assert_int_equal(close(fd), 0);
}

static void inspect_has_no_bytes(void **state)
{
	struct volumes *volumes = *state;
	struct ugds_st_store_info info = {.struct_size = sizeof(info)};
	char *path = ugst_printf("%s/x.safetensors", volumes->dir);
	const struct volumes_shard *shard = &volumes->shards[0];
	struct ugds_st_error err;
	ugds_st_store *store;
	char byte;
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	assert_int_equal(fwrite(shard->bytes, volumes->document.shards[0].bytes,
	                        1, file),
	                 1);
	assert_int_equal(fclose(file), 0);
	assert_ok(ugds_st_inspect(path, &store, &err), err);
	assert_int_equal(ugds_st_count(store), 5);
	assert_int_equal(ugds_st_store_info(store, &info), UGDS_ST_OK);
	assert_int_equal(info.provider, 0);
	assert_null(reading_info(ugds_st_at(store, 0)).device);
	assert_fails(ugds_st_read_into(store, "s0.t1", &byte, 1, &err),
	             UGDS_ST_UNSUPPORTED, err);
	assert_fails(ugds_st_verify(store, NULL, NULL, &err),
	             UGDS_ST_UNSUPPORTED, err);
	assert_ok(ugds_st_close(store, 0, &err), err);
	assert_int_equal(unlink(path), 0);
	free(path);
}

#define OPEN_TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		OPEN_TEST(opens),
		OPEN_TEST(no_manifest),
		OPEN_TEST(no_manifest_but_something_else),
		OPEN_TEST(device_is_gone),
		OPEN_TEST(device_is_not_given),
		OPEN_TEST(wrong_device),
		OPEN_TEST(stale_label),
		OPEN_TEST(object_is_gone),
		OPEN_TEST(object_moved),
		OPEN_TEST(other_hash),
		OPEN_TEST(device_too_small),
		OPEN_TEST(damaged_slots),
		OPEN_TEST(damaged_header),
		OPEN_TEST(wrong_provider),
		OPEN_TEST(hint_is_no_permission),
		OPEN_TEST(small_arena),
		OPEN_TEST(default_arena),
		OPEN_TEST(bad_memory_ops),
		OPEN_TEST(locked_against_pruning),
		OPEN_TEST(inspect_has_no_bytes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
