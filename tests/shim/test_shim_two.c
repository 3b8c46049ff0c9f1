/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_shim_two.c - a checkpoint on two drives, and strangers on one of them.
 *
 * uGDS maps every buffer for the controller of the process's first handle. The
 * model's UGDS_SHIM_SHARED_MAP says whether others can use that mapping.
 */
#include "shim/rig.h"

#include <fcntl.h>
#include <unistd.h>

#include "devices/ugds.h"

static const struct volumes_shape shape = {
	.seed = 9,
	.volume_count = 2,
	.shard_count = 4,
	.tensor_count = 20,
	.max_tensor_bytes = 1500000,
};

static const char *const both[] = {RIG_OTHER_DEVICE, RIG_DEVICE};

static bool has_common_bus(void)
{
	return shim_setting("UGDS_SHIM_SHARED_MAP", 0) == 1;
}

static int open_both(uint32_t flags, ugds_st_store **store_out,
                     struct ugds_st_error *err)
{
	struct ugds_st_open_opts opts = UGDS_ST_OPEN_OPTS_INIT;

	opts.devices = both;
	opts.device_count = 2;
	opts.memory = rig_cuda;
	opts.flags = flags;
	return ugds_st_open(rig_volumes->manifest, &opts, store_out, err);
}

static void expect_all(ugds_st_store *store)
{
	size_t count = ugds_st_count(store);
	struct ugds_st_read *reads = reading_list(store);
	struct ugds_st_error err;

	assert_ok(ugds_st_read_many(store, reads, count, NULL, &err), err);
	for (size_t i = 0; i < count; i++)
		reading_expect(rig_volumes, reads[i].tensor, reads[i].dst);
	reading_free(reads, count);
}

static void refused_without_promise(void **state)
{
	ugds_st_store *store = NULL;
	struct ugds_st_error err;

	(void)state;
	assert_fails(open_both(0, &store, &err), UGDS_ST_UNSUPPORTED, err);
	assert_non_null(strstr(err.text, RIG_DEVICE));
	assert_non_null(strstr(err.text, RIG_OTHER_DEVICE));
	assert_non_null(strstr(err.text, "COMMON_BUS"));
	assert_null(store);
}

static void read_with_promise(void **state)
{
	ugds_st_store *store = NULL;
	struct ugds_st_error err;

	(void)state;
	if (!has_common_bus())
		skip();
	assert_ok(open_both(UGDS_ST_OPEN_COMMON_BUS, &store, &err), err);
	expect_all(store);
	assert_ok(ugds_st_verify(store, NULL, NULL, &err), err);
	assert_true(ugds_shim_stat(0, "reads") > 10);
	assert_true(ugds_shim_stat(1, "reads") > 10);
	reading_close(store);
}

/* The promise is broken by the machine: nothing is served. */
static void broken_promise(void **state)
{
	ugds_st_store *store = NULL;
	struct ugds_st_error err;

	(void)state;
	if (has_common_bus())
		skip();
	assert_fails(open_both(UGDS_ST_OPEN_COMMON_BUS, &store, &err),
	             UGDS_ST_IO, err);
	assert_null(store);
	/* the IOMMU said no, and that is all */
	assert_true(shim_sum("iommu_faults") > 0);
	assert_int_equal(ugds_shim_ctl(-1, "zero"), 0);
}

/* The engine's own handle for the other drive came first. */
static void foreign_first_handle(void **state)
{
	struct ugst_ugds_descr descr = {.type = UGST_UGDS_HANDLE_TYPE_FD};
	struct ugds_st_open_opts opts = UGDS_ST_OPEN_OPTS_INIT;
	const struct ugst_ugds *ugds;
	ugds_st_store *store = NULL;
	struct ugds_st_error err;
	void *handle;

	(void)state;
	if (has_common_bus())
		skip();
	assert_ok(ugst_ugds_load(NULL, NULL, &ugds, &err), err);
	assert_int_equal(ugds->driver_open().code, 0);
	descr.u.fd = open(RIG_OTHER_DEVICE, O_RDWR | O_CLOEXEC);
	assert_int_equal(ugds->handle_register(&handle, &descr).code, 0);
	opts.devices = &both[1];
	opts.device_count = 1;
	opts.memory = rig_cuda;
	opts.flags = UGDS_ST_OPEN_DEGRADED_OK;
	assert_fails(ugds_st_open(rig_volumes->manifest, &opts, &store, &err),
	             UGDS_ST_IO, err);
	assert_non_null(strstr(err.text, RIG_OTHER_DEVICE));
	assert_non_null(strstr(err.text, "mapped for"));
	assert_null(store);
	assert_int_equal(ugds->handle_deregister(handle, 0).code, 0);
	(void)close(descr.u.fd);
	assert_true(shim_sum("iommu_faults") > 0);
	assert_int_equal(ugds_shim_ctl(-1, "zero"), 0);
}

/* Buffers are mapped for the first handle's controller, and uGDS forgets that
 * there are others when that one is given up: what is registered stays so and
 * is read into, and what comes later is refused until a handle is new. */
static void first_handle_is_given_up(void **state)
{
	struct ugst_ugds_descr descr = {.type = UGST_UGDS_HANDLE_TYPE_FD};
	const struct ugst_ugds *ugds;
	ugds_st_buffer *buffer = NULL;
	ugds_st_store *store = NULL;
	struct ugds_st_error err;
	char *memory;
	void *handle;

	(void)state;
	if (!has_common_bus())
		skip();
	assert_ok(ugst_ugds_load(NULL, NULL, &ugds, &err), err);
	assert_int_equal(ugds->driver_open().code, 0);
	descr.u.fd = open(RIG_THIRD_DEVICE, O_RDWR | O_CLOEXEC);
	assert_int_equal(ugds->handle_register(&handle, &descr).code, 0);
	assert_ok(open_both(UGDS_ST_OPEN_COMMON_BUS, &store, &err), err);
	expect_all(store);
	assert_int_equal(ugds->handle_deregister(handle, 0).code, 0);
	(void)close(descr.u.fd);
	expect_all(store);
	memory = rig_alloc(RIG_GPU_PAGE, 0);
	assert_fails(
		ugds_st_register(store, memory, RIG_GPU_PAGE, 0, &buffer, &err),
		UGDS_ST_UNSUPPORTED, err);
	assert_int_equal(err.ugds_code, 5001);
	assert_non_null(strstr(err.text, "open the store again"));
	reading_close(store);
	assert_ok(open_both(UGDS_ST_OPEN_COMMON_BUS, &store, &err), err);
	assert_ok(
		ugds_st_register(store, memory, RIG_GPU_PAGE, 0, &buffer, &err),
		err);
	assert_ok(ugds_st_unregister(buffer, &err), err);
	rig_free(memory, RIG_GPU_PAGE);
	reading_close(store);
}

static int run(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(refused_without_promise,
	                                  rig_check_clean),
		cmocka_unit_test_teardown(read_with_promise, rig_check_clean),
		cmocka_unit_test_teardown(broken_promise, rig_check_clean),
		cmocka_unit_test_teardown(foreign_first_handle,
	                                  rig_check_clean),
		cmocka_unit_test_teardown(first_handle_is_given_up,
	                                  rig_check_clean),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

int main(void)
{
	return rig_main(&shape, run);
}
