/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_shim_device.c - taking, lending and losing a device of the real uGDS.
 *
 * Runs the unmodified library over a model of its driver, its controller and
 * CUDA; see run.sh. Settings of the model decide what the probe must find.
 */
#include "support/test.h"

#include <cuda_runtime.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "devices/ugds_real.h"
#include "shim/shim.h"
#include "support/descriptors.h"

#define DEVICE "/dev/ugds_drv0"
#define OTHER_DEVICE "/dev/ugds_drv1"
#define GPU_PAGE ((size_t)65536)

static const struct ugst_ugds *ugds;

static int load(void **state)
{
	struct ugds_st_error err;

	(void)state;
	assert_ok(ugst_ugds_load(NULL, NULL, &ugds, &err), err);
	return 0;
}

/* Every test ends with nothing mapped and nothing broken. */
static int check_clean(void **state)
{
	(void)state;
	assert_shim_clean();
	assert_int_equal(shim_sum("live_maps"), 0);
	return 0;
}

/* -------------------------------------------------------------- acquire */

/* What uGDS makes of MDTS: 0 is one page, more than 513 pages is 513. */
static uint32_t expected_command_bytes(void)
{
	unsigned long mdts = shim_setting("UGDS_SHIM_MDTS", 5);

	return mdts == 0 ? 4096 : mdts > 9 ? 513 * 4096 : 4096u << mdts;
}

/* Programs that the engine starts do not keep the device open. */
static void check_close_on_exec(const struct ugst_real_device *device)
{
	struct ugst_fd_list list = {0};
	struct ugds_st_error err;

	assert_ok(ugst_guest_own_fds(device->device, &list, &err), err);
	assert_int_equal(list.count, 3); /* lock, ours, uGDS's */
	for (size_t i = 0; i < list.count; i++)
		assert_int_equal(fcntl(list.fds[i], F_GETFD), FD_CLOEXEC);
	free(list.fds);
}

static void test_acquire(void **state)
{
	struct ugst_real_device *device;
	struct ugds_st_error err;
	size_t before = 0;

	(void)state;
	for (int i = 0; i < 3; i++) {
		assert_ok(
			ugst_ugds_real_acquire(ugds, DEVICE, 0, &device, &err),
			err);
		assert_int_equal(device->limits.lba_bytes,
		                 shim_setting("UGDS_SHIM_LBA", 512));
		assert_int_equal(device->limits.command_bytes,
		                 expected_command_bytes());
		assert_int_equal(device->limits.window_commands, 63);
		assert_false(device->limits.wait_sleeps);
		assert_true(device->capacity_bytes > 0);
		assert_int_equal(device->capacity_bytes % GPU_PAGE, 0);
		assert_int_equal(shim_sum("reads"), 0);
		assert_int_equal(shim_sum("maps_dev"), 0);
		check_close_on_exec(device);
		assert_ok(ugst_ugds_real_release(device, false, &err), err);
		/* the model opens some of its own at first use */
		if (i > 0)
			assert_int_equal(open_descriptors(), before);
		before = open_descriptors();
	}
}

static void test_twice(void **state)
{
	struct ugst_real_device *device;
	struct ugst_real_device *second = NULL;
	struct ugds_st_error err;
	uint64_t resets;

	(void)state;
	assert_ok(ugst_ugds_real_acquire(ugds, DEVICE, 0, &device, &err), err);
	resets = ugds_shim_stat(0, "resets");
	assert_fails(ugst_ugds_real_acquire(ugds, DEVICE, 0, &second, &err),
	             UGDS_ST_BUSY, err);
	assert_non_null(strstr(err.text, DEVICE));
	assert_int_equal(ugds_shim_stat(0, "resets"), resets);
	assert_ok(ugst_ugds_real_release(device, false, &err), err);
}

static void test_second_controller(void **state)
{
	struct ugst_real_device *device;
	struct ugst_real_device *second = NULL;
	struct ugds_st_error err;

	(void)state;
	assert_ok(ugst_ugds_real_acquire(ugds, DEVICE, 0, &device, &err), err);
	assert_fails(
		ugst_ugds_real_acquire(ugds, OTHER_DEVICE, 0, &second, &err),
		UGDS_ST_UNSUPPORTED, err);
	assert_non_null(strstr(err.text, DEVICE));
	assert_non_null(strstr(err.text, OTHER_DEVICE));
	assert_non_null(strstr(err.text, "UGDS_ST_OPEN_COMMON_BUS"));
	assert_int_equal(ugds_shim_stat(1, "opens"),
	                 ugds_shim_stat(1, "releases"));
	assert_ok(ugst_ugds_real_acquire(ugds, OTHER_DEVICE,
	                                 UGST_REAL_COMMON_BUS, &second, &err),
	          err);
	assert_ok(ugst_ugds_real_release(second, false, &err), err);
	assert_ok(ugst_ugds_real_release(device, false, &err), err);
	/* order does not matter once the first is gone */
	assert_ok(ugst_ugds_real_acquire(ugds, OTHER_DEVICE, 0, &device, &err),
	          err);
	assert_ok(ugst_ugds_real_release(device, false, &err), err);
}

/* A handle that cannot be made leaves nothing behind. */
static void test_refused_handle(void **state)
{
	struct ugst_real_device *device = NULL;
	struct ugds_st_error err;
	size_t before = open_descriptors();

	(void)state;
	assert_int_equal(ugds_shim_ctl(0, "fault create:*=status:0x101"), 0);
	assert_fails(ugst_ugds_real_acquire(ugds, DEVICE, 0, &device, &err),
	             UGDS_ST_IO, err);
	assert_int_equal(err.ugds_code, 5030);
	assert_null(device);
	assert_int_equal(open_descriptors(), before);
	assert_int_equal(ugds_shim_ctl(0, "clear"), 0);
	assert_ok(ugst_ugds_real_acquire(ugds, DEVICE, 0, &device, &err), err);
	assert_ok(ugst_ugds_real_release(device, false, &err), err);
}

/* --------------------------------------------------------- other users */

/* What an engine does by itself. */
static void *register_handle(const char *path)
{
	int fd = open(path, O_RDWR | O_CLOEXEC);
	struct ugst_ugds_descr descr = {
		.type = UGST_UGDS_HANDLE_TYPE_FD,
		.u.fd = fd,
	};
	void *handle = NULL;

	assert_true(fd >= 0);
	assert_int_equal(ugds->driver_open().code, 0);
	assert_int_equal(ugds->handle_register(&handle, &descr).code, 0);
	(void)close(fd);
	return handle;
}

static void test_open_in_this_process(void **state)
{
	struct ugst_real_device *device = NULL;
	struct ugds_st_error err;
	uint64_t resets = ugds_shim_stat(0, "resets");
	int fd = open(DEVICE, O_RDWR | O_CLOEXEC);

	(void)state;
	assert_true(fd >= 0);
	assert_fails(ugst_ugds_real_acquire(ugds, DEVICE, 0, &device, &err),
	             UGDS_ST_BUSY, err);
	assert_non_null(strstr(err.text, "lend its handle"));
	assert_int_equal(ugds_shim_stat(0, "resets"), resets);
	(void)close(fd);
	assert_ok(ugst_ugds_real_acquire(ugds, DEVICE, 0, &device, &err), err);
	assert_ok(ugst_ugds_real_release(device, false, &err), err);
}

static void test_lent_handle(void **state)
{
	void *handle = register_handle(DEVICE);
	struct ugst_real_device *device = NULL;
	struct ugds_st_error err;
	uint64_t resets = ugds_shim_stat(0, "resets");
	uint64_t bytes;
	void *batch;

	(void)state;
	/* uGDS's own duplicate is noticed: the engine has closed its own */
	assert_fails(ugst_ugds_real_acquire(ugds, DEVICE, 0, &device, &err),
	             UGDS_ST_BUSY, err);
	assert_ok(ugst_ugds_real_borrow(ugds, DEVICE, handle, 0, &device, &err),
	          err);
	assert_true(device->lent);
	assert_int_equal(device->limits.command_bytes,
	                 expected_command_bytes());
	assert_ok(ugst_ugds_real_release(device, false, &err), err);
	/* not ours to end, nor to reset, nor to keep a batch on */
	assert_int_equal(ugds->device_capacity(handle, &bytes).code, 0);
	assert_int_equal(ugds_shim_stat(0, "resets"), resets);
	assert_int_equal(ugds->batch_setup(&batch, handle, 8).code, 0);
	assert_fails(
		ugst_ugds_real_borrow(ugds, DEVICE, handle, 0, &device, &err),
		UGDS_ST_BUSY, err);
	ugds->batch_destroy(batch);
	assert_fails(ugst_ugds_real_borrow(ugds, OTHER_DEVICE, handle, 0,
	                                   &device, &err),
	             UGDS_ST_MISMATCH, err);
	assert_non_null(strstr(err.text, OTHER_DEVICE));
	assert_int_equal(ugds->handle_deregister(handle, 0).code, 0);
	assert_fails(
		ugst_ugds_real_borrow(ugds, DEVICE, handle, 0, &device, &err),
		UGDS_ST_MISMATCH, err);
}

static void test_unknown_handle(void **state)
{
	void *handle = register_handle(DEVICE);
	struct ugst_real_device *device = NULL;
	struct ugds_st_error err;

	(void)state;
	assert_fails(
		ugst_ugds_real_borrow(ugds, DEVICE, &device, 0, &device, &err),
		UGDS_ST_INVALID_ARG, err);
	assert_int_equal(err.ugds_code, 5027);
	assert_int_equal(ugds->handle_deregister(handle, 0).code, 0);
}

/* A child of this program that does something with the device, then waits. */
static pid_t start_child(const char *what, int *ready_fd)
{
	int ready[2];
	char byte;
	pid_t child;

	assert_int_equal(pipe(ready), 0);
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		(void)dup2(ready[1], STDOUT_FILENO);
		(void)execl("/proc/self/exe", "test_shim_device", what,
		            (char *)NULL);
		_exit(127);
	}
	(void)close(ready[1]);
	assert_int_equal(read(ready[0], &byte, 1), 1);
	*ready_fd = ready[0];
	return child;
}

static void end_child(pid_t child, int ready_fd)
{
	(void)kill(child, SIGKILL);
	assert_int_equal(waitpid(child, NULL, 0), child);
	(void)close(ready_fd);
}

static int child_main(const char *what)
{
	struct ugst_real_device *device;

	if (strcmp(what, "acquire") == 0) {
		if (ugst_ugds_load(NULL, NULL, &ugds, NULL) ||
		    ugst_ugds_real_acquire(ugds, DEVICE, 0, &device, NULL))
			return 1;
	} else if (open(DEVICE, O_RDWR) < 0) {
		return 1;
	}
	(void)alarm(60); /* should the parent die */
	return write(STDOUT_FILENO, "r", 1) != 1 || pause();
}

static void test_other_process(void **state)
{
	static const char *const ways[] = {"acquire", "open"};
	struct ugst_real_device *device = NULL;
	struct ugds_st_error err;
	char pid_text[32];

	(void)state;
	for (size_t i = 0; i < UGST_COUNT(ways); i++) {
		int ready_fd;
		pid_t child = start_child(ways[i], &ready_fd);
		uint64_t resets = ugds_shim_stat(0, "resets");

		assert_fails(
			ugst_ugds_real_acquire(ugds, DEVICE, 0, &device, &err),
			UGDS_ST_BUSY, err);
		(void)snprintf(pid_text, sizeof(pid_text), "process %d (",
		               (int)child);
		assert_non_null(strstr(err.text, pid_text));
		assert_int_equal(ugds_shim_stat(0, "resets"), resets);
		end_child(child, ready_fd);
		assert_ok(
			ugst_ugds_real_acquire(ugds, DEVICE, 0, &device, &err),
			err);
		assert_ok(ugst_ugds_real_release(device, false, &err), err);
	}
}

/* ------------------------------------------------------------ reading */

struct reader {
	void *batch;
	void *block; /* of cudaMalloc */
	char *buffer;
};

static void reader_open(struct reader *reader,
                        const struct ugst_real_device *device)
{
	uintptr_t start;

	assert_int_equal(cudaMalloc(&reader->block, 3 * GPU_PAGE), cudaSuccess);
	start = (uintptr_t)reader->block;
	reader->buffer = (char *)reader->block + (-start & (GPU_PAGE - 1));
	assert_int_equal(
		ugds->buf_register(reader->buffer, 2 * GPU_PAGE, 0).code, 0);
	assert_int_equal(
		ugds->batch_setup(&reader->batch, device->handle, 128).code, 0);
}

static void reader_close(struct reader *reader)
{
	ugds->batch_destroy(reader->batch);
	assert_int_equal(ugds->buf_deregister(reader->buffer).code, 0);
	assert_int_equal(cudaFree(reader->block), cudaSuccess);
}

static void submit(const struct reader *reader)
{
	struct ugst_ugds_params entry = {
		.base = reader->buffer,
		.bytes = 4096,
		.opcode = UGST_UGDS_READ,
	};

	assert_int_equal(ugds->batch_submit(reader->batch, 1, &entry, 0).code,
	                 0);
}

/* One event within a second: true, and what it says. */
static bool collect(const struct reader *reader, struct ugst_ugds_event *event)
{
	struct timespec second = {.tv_sec = 1};
	unsigned count = 1;

	assert_int_equal(
		ugds->batch_status(reader->batch, 1, &count, event, &second)
			.code,
		0);
	return count == 1;
}

static void test_reads(void **state)
{
	struct ugst_real_device *device;
	struct ugst_ugds_event event;
	struct ugds_st_error err;
	struct reader reader;

	(void)state;
	assert_ok(ugst_ugds_real_acquire(ugds, DEVICE, 0, &device, &err), err);
	reader_open(&reader, device);
	/* somebody still needs the handle */
	assert_fails(ugst_ugds_real_release(device, false, &err), UGDS_ST_BUSY,
	             err);
	submit(&reader);
	assert_true(collect(&reader, &event));
	assert_int_equal(event.status, UGST_UGDS_COMPLETE);
	assert_int_equal(event.ret, 4096);
	reader_close(&reader);
	assert_ok(ugst_ugds_real_release(device, false, &err), err);
}

/* Buffers are mapped for the process's first handle; if that is somebody's
 * for another controller, reads fail with nothing to say why. */
static void test_foreign_first_handle(void **state)
{
	void *foreign = register_handle(OTHER_DEVICE);
	struct ugst_real_device *device;
	struct ugst_ugds_event event;
	struct ugds_st_error err;
	struct reader reader;

	(void)state;
	assert_ok(ugst_ugds_real_acquire(ugds, DEVICE, 0, &device, &err), err);
	reader_open(&reader, device);
	submit(&reader);
	assert_true(collect(&reader, &event));
	assert_int_equal(event.status, UGST_UGDS_FAILED);
	assert_int_equal(event.ret, 0);
	(void)snprintf(err.text, sizeof(err.text), "block 0");
	err.status = UGDS_ST_IO;
	assert_true(ugst_ugds_real_explain(device, &err));
	assert_int_equal(err.status, UGDS_ST_IO);
	assert_memory_equal(err.text, "block 0; ", 9);
	assert_non_null(strstr(err.text, OTHER_DEVICE));
	reader_close(&reader);
	assert_ok(ugst_ugds_real_release(device, false, &err), err);
	assert_int_equal(ugds->handle_deregister(foreign, 0).code, 0);
	/* the device is not to be blamed for that */
	assert_int_equal(ugds_shim_stat(0, "iommu_faults"), 1);
	assert_int_equal(ugds_shim_ctl(-1, "zero"), 0);
	/* alone, there is nothing to explain */
	assert_ok(ugst_ugds_real_acquire(ugds, DEVICE, 0, &device, &err), err);
	assert_false(ugst_ugds_real_explain(device, &err));
	assert_ok(ugst_ugds_real_release(device, false, &err), err);
}

/* ---------------------------------------------------------------- loss */

static double seconds(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void test_abandon(void **state)
{
	static const char *const faults[] = {"fault read:1=drop",
	                                     "fault read:1=hang"};
	struct ugst_real_device *device;
	struct ugst_ugds_event event;
	struct ugds_st_error err;

	(void)state;
	for (size_t i = 0; i < UGST_COUNT(faults); i++) {
		struct reader stuck;
		struct reader reader;
		double begin;

		assert_ok(
			ugst_ugds_real_acquire(ugds, DEVICE, 0, &device, &err),
			err);
		reader_open(&stuck, device);
		assert_int_equal(ugds_shim_ctl(0, faults[i]), 0);
		submit(&stuck);
		assert_false(collect(&stuck, &event));
		assert_fails(ugst_ugds_real_release(device, false, &err),
		             UGDS_ST_BUSY, err);
		assert_int_equal(ugds_shim_ctl(0, "clear"), 0);
		begin = seconds();
		assert_ok(ugst_ugds_real_release(device, true, &err), err);
		print_message("abandon after %s: %.3f s\n", faults[i] + 6,
		              seconds() - begin);
		begin = seconds();
		/* uGDS keeps the lost device open: that is no other user */
		assert_ok(
			ugst_ugds_real_acquire(ugds, DEVICE, 0, &device, &err),
			err);
		print_message("open again: %.3f s\n", seconds() - begin);
		reader_open(&reader, device);
		submit(&reader);
		assert_true(collect(&reader, &event));
		assert_int_equal(event.status, UGST_UGDS_COMPLETE);
		assert_int_equal(event.ret, 4096);
		reader_close(&reader);
		assert_ok(ugst_ugds_real_release(device, false, &err), err);
	}
	/* Each leaves its buffer and its batch's PRP pages mapped for ever:
	 * exactly these. */
	assert_shim_clean();
	print_message("maps left: %llu\n",
	              (unsigned long long)ugds_shim_stat(0, "live_maps"));
	assert_int_equal(ugds_shim_stat(0, "live_maps"), 2 * 2);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(test_acquire, check_clean),
		cmocka_unit_test_teardown(test_twice, check_clean),
		cmocka_unit_test_teardown(test_second_controller, check_clean),
		cmocka_unit_test_teardown(test_refused_handle, check_clean),
		cmocka_unit_test_teardown(test_open_in_this_process,
	                                  check_clean),
		cmocka_unit_test_teardown(test_lent_handle, check_clean),
		cmocka_unit_test_teardown(test_unknown_handle, check_clean),
		cmocka_unit_test_teardown(test_other_process, check_clean),
		cmocka_unit_test_teardown(test_reads, check_clean),
		cmocka_unit_test_teardown(test_foreign_first_handle,
	                                  check_clean),
		/* last: what is stuck stays so */
		cmocka_unit_test(test_abandon),
	};

	if (!ugds_shim_ctl) {
		print_message("the model of uGDS's driver is not loaded: "
		              "skipped\n");
		return 77;
	}
	if (argc == 2)
		return child_main(argv[1]);
	return cmocka_run_group_tests(tests, load, NULL);
}
