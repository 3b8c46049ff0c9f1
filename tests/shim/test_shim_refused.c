/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_shim_refused.c - controllers that the real uGDS cannot serve, or serves
 * wrong, and nodes that it crashes on.
 *
 * The model's settings say which; see run.sh.
 */
#include "support/test.h"

#include <fcntl.h>
#include <unistd.h>

#include "devices/ugds_real.h"
#include "shim/shim.h"
#include "support/descriptors.h"

#define DEVICE "/dev/ugds_drv0"

static const struct ugst_ugds *ugds;

static void refuse(const char *path, int status, const char *text)
{
	struct ugst_real_device *device = NULL;
	struct ugds_st_error err;
	size_t before;

	/* the model opens some of its own at first use */
	(void)ugst_ugds_real_acquire(ugds, path, 0, &device, NULL);
	before = open_descriptors();
	assert_fails(ugst_ugds_real_acquire(ugds, path, 0, &device, &err),
	             status, err);
	assert_non_null(strstr(err.text, text));
	assert_null(device);
	assert_int_equal(open_descriptors(), before);
	assert_shim_clean();
	assert_int_equal(shim_sum("live_maps"), 0);
	assert_int_equal(shim_sum("reads"), 0);
}

/* Fewer places than uGDS's queues have; as many as its 16 bits cannot count;
 * no queue for batches; blocks whose commands it miscounts; no capacity. */
static void this_controller(void **state)
{
	unsigned long mqes = shim_setting("UGDS_SHIM_MQES", 1023);

	(void)state;
	if (mqes < 63 || mqes == 65535 ||
	    shim_setting("UGDS_SHIM_QUEUES", 32) < 2)
		refuse(DEVICE, UGDS_ST_IO, "65536");
	else if (shim_setting("UGDS_SHIM_LBA", 512) > 4096)
		refuse(DEVICE, UGDS_ST_UNSUPPORTED, "found 8192");
	else if (shim_setting("UGDS_SHIM_NCAP", 1) == 0)
		refuse(DEVICE, UGDS_ST_IO, "capacity");
	else
		fail_msg("no setting that is refused");
}

static void no_device_of_ugds(void **state)
{
	char path[] = "/tmp/ugds-st-node-XXXXXX";
	int fd = mkstemp(path);

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, 16384), 0);
	refuse("/dev/null", UGDS_ST_UNSUPPORTED, "/dev/null");
	refuse("/dev/zero", UGDS_ST_UNSUPPORTED, "/dev/zero");
	refuse(path, UGDS_ST_UNSUPPORTED, "regular file");
	assert_int_equal(shim_sum("resets"), 0);
	(void)unlink(path);
	(void)close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_device_of_ugds),
		cmocka_unit_test(this_controller),
	};
	struct ugds_st_error err;

	if (!ugds_shim_ctl) {
		print_message("the model of uGDS's driver is not loaded: "
		              "skipped\n");
		return 77;
	}
	if (ugst_ugds_load(NULL, NULL, &ugds, &err)) {
		print_error("%s\n", err.text);
		return 1;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
