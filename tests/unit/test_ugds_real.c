/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_ugds_real.c - what is refused before uGDS hears of it, and who holds a
 * device.
 *
 * No uGDS is needed: the provider here fails the test when it is called.
 * Devices of the kernel stand in for uGDS's where only their numbers matter.
 */
#include "base/common.h"

#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "devices/holders.h"
#include "devices/ugds_guest.h"
#include "devices/ugds_real.h"
#include "support/descriptors.h"

static struct ugst_ugds_error never_open(void)
{
	fail_msg("the driver was opened");
	return (struct ugst_ugds_error){0};
}

static struct ugst_ugds_error never_register(void **handle_out,
                                             struct ugst_ugds_descr *descr)
{
	(void)handle_out;
	(void)descr;
	fail_msg("a handle was registered");
	return (struct ugst_ugds_error){0};
}

static struct ugst_ugds_error never_capacity(void *handle, uint64_t *bytes_out)
{
	(void)handle;
	(void)bytes_out;
	fail_msg("a handle was used");
	return (struct ugst_ugds_error){0};
}

static const struct ugst_ugds never = {
	.driver_open = never_open,
	.handle_register = never_register,
	.device_capacity = never_capacity,
};

static void refuse(const char *path, int status, const char *text)
{
	struct ugst_real_device *device = NULL;
	struct ugds_st_error err = {0};
	size_t before = open_descriptors();

	assert_int_equal(ugst_ugds_real_acquire(&never, path, 0, &device, &err),
	                 status);
	assert_null(device);
	assert_int_equal(err.status, status);
	assert_non_null(strstr(err.text, text));
	assert_non_null(strstr(err.text, path));
	memset(&err, 0, sizeof(err));
	assert_int_equal(
		ugst_ugds_real_borrow(&never, path, &device, 0, &device, &err),
		status);
	assert_non_null(strstr(err.text, path));
	assert_int_equal(open_descriptors(), before);
}

/* uGDS crashes on the first, and takes the second for registers. */
static void test_other_nodes(void **state)
{
	char path[] = "/tmp/ugst_test_XXXXXX";
	int fd = mkstemp(path);

	(void)state;
	assert_true(fd >= 0);
	refuse("/dev/null", UGDS_ST_UNSUPPORTED, "\"mem\"");
	refuse(path, UGDS_ST_UNSUPPORTED, "regular file");
	refuse("/dev/zero", UGDS_ST_UNSUPPORTED, "\"mem\"");
	refuse("/tmp", UGDS_ST_UNSUPPORTED, "another kind");
	refuse("/dev/no-such-device", UGDS_ST_NOT_FOUND, "No such file");
	refuse("/dev/null/x", UGDS_ST_NOT_FOUND, "Not a directory");
	(void)unlink(path);
	(void)close(fd);
	assert_int_equal(ugst_ugds_real_release(NULL, false, NULL), UGDS_ST_OK);
}

static void test_load(void **state)
{
	const struct ugst_ugds *ugds = NULL;
	struct ugds_st_error err = {0};

	(void)state;
	assert_int_equal(
		ugst_ugds_load(NULL, "/nowhere/libugds.so", &ugds, &err),
		UGDS_ST_NOT_FOUND);
	assert_non_null(strstr(err.text, "/nowhere/libugds.so"));
	/* Loads, but is another library: refused, and tried anew next time. */
	for (int i = 0; i < 2; i++) {
		assert_int_equal(ugst_ugds_load(NULL, "libm.so.6", &ugds, &err),
		                 UGDS_ST_UNSUPPORTED);
		assert_non_null(strstr(err.text, "libm.so.6"));
		assert_non_null(strstr(err.text, "lacks uGDSDriverOpen"));
	}
	assert_null(ugds);
}

static void test_driver_names(void **state)
{
	char name[64] = "";

	(void)state;
	/* Numbers that Linux has fixed: 1 memory devices, 5 second tty. */
	assert_true(ugst_guest_driver(makedev(1, 3), name, sizeof(name)));
	assert_string_equal(name, "mem");
	assert_true(ugst_guest_driver(makedev(5, 0), name, sizeof(name)));
	assert_string_equal(name, "/dev/tty");
	assert_false(ugst_guest_driver(makedev(511, 0), name, sizeof(name)));
}

static void test_own_descriptors(void **state)
{
	struct ugst_fd_list before = {0};
	struct ugst_fd_list list = {0};
	dev_t full = makedev(1, 7);
	struct ugds_st_error err;
	int fd;
	int dup_fd;

	(void)state;
	assert_int_equal(ugst_guest_own_fds(full, &before, &err), UGDS_ST_OK);
	fd = open("/dev/full", O_RDWR | O_CLOEXEC);
	dup_fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	assert_int_equal(ugst_guest_own_fds(full, &list, &err), UGDS_ST_OK);
	assert_int_equal(list.count, before.count + 2);
	assert_true(ugst_fd_list_has(&list, fd));
	assert_true(ugst_fd_list_has(&list, dup_fd));
	assert_false(ugst_fd_list_has(&before, fd));
	free(list.fds);
	free(before.fds);
	(void)close(fd);
	(void)close(dup_fd);
}

static void test_siblings(void **state)
{
	dev_t full = makedev(1, 7);
	dev_t known[] = {makedev(1, 3), makedev(1, 5), makedev(1, 8),
	                 makedev(1, 9)};
	char path[64] = "";
	int fd;

	(void)state;
	/* whatever the test's own standard streams are is known */
	assert_false(ugst_guest_sibling(full, known, 4, path, sizeof(path)));
	fd = open("/dev/zero", O_RDONLY | O_CLOEXEC);
	assert_true(ugst_guest_sibling(full, known, 1, path, sizeof(path)));
	assert_string_equal(path, "/dev/zero");
	assert_false(ugst_guest_sibling(full, known, 4, path, sizeof(path)));
	/* the device itself is no sibling, nor one of another driver */
	assert_false(
		ugst_guest_sibling(known[1], known, 1, path, sizeof(path)));
	assert_false(ugst_guest_sibling(makedev(5, 7), known, 4, path,
	                                sizeof(path)));
	(void)close(fd);
}

static void test_other_process(void **state)
{
	int full = open("/dev/full", O_RDWR | O_CLOEXEC);
	struct ugst_holder holder;
	char name[64] = "";
	int ready[2];
	char byte;
	pid_t child;

	(void)state;
	assert_true(full >= 0);
	/* this process does not count */
	assert_false(ugst_holder_elsewhere(full, &holder));
	assert_int_equal(pipe(ready), 0);
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		int fd = open("/dev/full", O_RDWR);

		(void)alarm(30); /* should the test fail */
		_exit(fd < 0 || write(ready[1], "r", 1) != 1 || pause());
	}
	assert_int_equal(read(ready[0], &byte, 1), 1);
	assert_true(ugst_holder_elsewhere(full, &holder));
	assert_int_equal(holder.pid, child);
	assert_int_equal(prctl(PR_GET_NAME, name), 0);
	assert_string_equal(holder.command, name);
	(void)kill(child, SIGKILL);
	assert_int_equal(waitpid(child, NULL, 0), child);
	assert_false(ugst_holder_elsewhere(full, &holder));
	(void)close(full);
	(void)close(ready[0]);
	(void)close(ready[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_other_nodes),
		cmocka_unit_test(test_load),
		cmocka_unit_test(test_driver_names),
		cmocka_unit_test(test_own_descriptors),
		cmocka_unit_test(test_siblings),
		cmocka_unit_test(test_other_process),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
