/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_shim_lent.c - an engine that keeps uGDS to itself lends its calls.
 *
 * Its copy is out of the loader's sight: another soname would be, and so is a
 * wrapper around some of its calls, as here. Nothing may be read past them.
 */
#include "shim/rig.h"

#include <dlfcn.h>

#include "devices/ugds.h"

static const struct volumes_shape shape = {
	.seed = 12,
	.volume_count = 1,
	.shard_count = 2,
	.tensor_count = 20,
	.max_tensor_bytes = 1500000,
};

static struct ugst_ugds engines;
static unsigned long submits;
static unsigned long registers;

static struct ugst_ugds_error count_submit(void *batch, unsigned count,
                                           struct ugst_ugds_params *params,
                                           unsigned flags)
{
	submits++;
	return engines.batch_submit(batch, count, params, flags);
}

static struct ugst_ugds_error count_register(void **handle_out,
                                             struct ugst_ugds_descr *descr)
{
	registers++;
	return engines.handle_register(handle_out, descr);
}

/* The calls as the engine has them. */
static struct ugds_st_ugds_calls engines_calls(void)
{
	static const char *const names[] = {
		"uGDSDriverOpen",         "uGDSHandleRegister",
		"uGDSHandleDeregisterEx", "uGDSGetDeviceCapacity",
		"uGDSBufRegister",        "uGDSBufDeregister",
		"uGDSBatchIOSetUp",       "uGDSBatchIOSubmit",
		"uGDSBatchIOGetStatus",   "uGDSBatchIODestroy",
	};
	void *library = dlopen("libugds.so", RTLD_NOW | RTLD_LOCAL);
	struct ugds_st_ugds_calls calls = {.struct_size = sizeof(calls)};
	ugds_st_ugds_call *call = &calls.driver_open;

	assert_non_null(library);
	for (size_t i = 0; i < UGST_COUNT(names); i++) {
		void *symbol = dlsym(library, names[i]);

		assert_non_null(symbol);
		memcpy(&call[i], &symbol, sizeof(symbol));
	}
	memcpy(&engines.handle_register, &calls.handle_register,
	       sizeof(engines.handle_register));
	memcpy(&engines.batch_submit, &calls.batch_submit,
	       sizeof(engines.batch_submit));
	calls.handle_register = (ugds_st_ugds_call)count_register;
	calls.batch_submit = (ugds_st_ugds_call)count_submit;
	return calls;
}

static void lent_calls(void **state)
{
	struct ugds_st_open_opts opts = UGDS_ST_OPEN_OPTS_INIT;
	struct ugds_st_ugds_calls calls = engines_calls();
	const char *const devices[] = {RIG_DEVICE};
	struct ugds_st_error err;
	ugds_st_store *store;
	unsigned long before;

	(void)state;
	opts.ugds_calls = &calls;
	store = rig_open(&opts);
	assert_int_equal(registers, 1);
	before = submits;
	for (size_t i = 0; i < ugds_st_count(store); i++) {
		const ugds_st_tensor *tensor = ugds_st_at(store, i);
		struct ugds_st_info info = reading_info(tensor);
		char *memory = malloc(info.payload_bytes + 1);

		assert_ok(ugds_st_read_into(store, info.name, memory,
		                            info.payload_bytes, &err),
		          err);
		reading_expect(rig_volumes, tensor, memory);
		free(memory);
	}
	assert_true(submits >= before + shape.tensor_count / 2);
	reading_close(store);

	/* From here on it is the copy in use. */
	opts.ugds_calls = NULL;
	reading_close(rig_open(&opts));
	assert_int_equal(registers, 2);
	opts.devices = devices;
	opts.device_count = 1;
	opts.memory = rig_cuda;
	opts.libugds_path = "libugds.so";
	assert_fails(ugds_st_open(rig_volumes->manifest, &opts, &store, &err),
	             UGDS_ST_MISMATCH, err);
	opts.ugds_calls = &calls;
	assert_fails(ugds_st_open(rig_volumes->manifest, &opts, &store, &err),
	             UGDS_ST_INVALID_ARG, err);
	assert_int_equal(registers, 2);
}

static int run(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(lent_calls, rig_check_clean),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

int main(void)
{
	return rig_main(&shape, run);
}
