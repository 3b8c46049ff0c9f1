/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_ugds_device.c - taking, sharing and giving back uGDS's devices, without
 * uGDS: pseudo-terminals stand for them (support/fake_node.h), and every call
 * is watched (support/ugds_watch.h).
 */
#include "support/reading.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "devices/ugds_compat_script.h"
#include "devices/ugds_real.h"
#include "support/async_memory.h"
#include "support/descriptors.h"
#include "support/fake_node.h"
#include "support/ugds_watch.h"

#define LBA_BYTES 512u
#define COMMAND_BYTES 131072u

static const struct volumes_shape shape = {
	.seed = 51,
	.volume_count = 1,
	.shard_count = 1,
	.tensor_count = 10,
	.max_tensor_bytes = 300000,
};

static struct volumes *volumes[FAKE_NODES]; /* one checkpoint a drive */
static struct async_memory memory;
static const struct ugst_ugds *ugds;
static size_t descriptors;

static int setup(void **state)
{
	(void)state;
	ugst_compat_script_begin(
		&(struct ugst_compat_script){.lba_bytes = LBA_BYTES,
	                                     .command_bytes = COMMAND_BYTES,
	                                     .window_commands = 63});
	if (!fake_node_begin())
		return 1;
	for (size_t i = 0; i < FAKE_NODES; i++)
		fake_nodes[i].file = volumes[i]->devices[0];
	ugds = ugds_watch_begin(fake_node_ugds(), LBA_BYTES, COMMAND_BYTES);
	fake_node_troubles.loaded = ugds;
	async_memory_init(&memory, 0);
	descriptors = open_descriptors();
	return 0;
}

/* Nothing is left, and no rule was broken. */
static int teardown(void **state)
{
	struct ugst_compat_counts counts = ugst_compat_script_counts();

	(void)state;
	if (ugds_watch_broken())
		fail_msg("a rule of uGDS was broken: %s", ugds_watch_broken());
	assert_int_equal(open_descriptors(), descriptors);
	assert_int_equal(counts.handles, 0);
	assert_int_equal(counts.bufs, 0);
	assert_int_equal(counts.violations, 0);
	async_memory_end(&memory);
	fake_node_end();
	ugst_compat_script_end();
	return 0;
}

static int acquire(unsigned node, unsigned flags,
                   struct ugst_real_device **device_out,
                   struct ugds_st_error *err)
{
	return ugst_ugds_real_acquire(ugds, fake_nodes[node].path, flags,
	                              device_out, err);
}

static void release(struct ugst_real_device *device)
{
	struct ugds_st_error err;

	assert_ok(ugst_ugds_real_release(device, false, &err), err);
}

/* ----------------------------------------------------------------- acquire */

static void handle_and_its_descriptors(void **state)
{
	struct ugst_real_device *device;
	struct ugst_fd_list list = {0};
	struct ugds_st_error err;

	(void)state;
	assert_ok(acquire(0, 0, &device, &err), err);
	assert_int_equal(device->limits.lba_bytes, LBA_BYTES);
	assert_int_equal(device->limits.command_bytes, COMMAND_BYTES);
	assert_int_equal(device->limits.window_commands, 63);
	assert_true(device->limits.fails_early);
	assert_false(device->limits.wait_sleeps);
	assert_int_equal(ugst_compat_script_counts().commands, 0);
	assert_ok(ugst_guest_own_fds(device->device, &list, &err), err);
	assert_int_equal(list.count, 3); /* lock, ours, uGDS's */
	/* programs that the engine starts do not keep the device open */
	for (size_t i = 0; i < list.count; i++)
		assert_int_equal(fcntl(list.fds[i], F_GETFD), FD_CLOEXEC);
	free(list.fds);
	release(device);
}

/* Before a handle is registered. */
static void expect_refusal(unsigned node, int status, const char *text)
{
	struct ugst_real_device *device = NULL;
	struct ugds_st_error err;
	unsigned resets = fake_nodes[node].resets;

	assert_fails(acquire(node, 0, &device, &err), status, err);
	assert_non_null(strstr(err.text, text));
	assert_non_null(strstr(err.text, fake_nodes[node].path));
	assert_null(device);
	assert_int_equal(fake_nodes[node].resets, resets);
}

static void what_is_no_device_of_ugds(void **state)
{
	struct ugst_real_device *device;
	struct ugds_st_error err;

	(void)state;
	fake_node_troubles.driver = "pts";
	expect_refusal(0, UGDS_ST_UNSUPPORTED, "\"pts\"");
	/* It may not be listed; then what could be mapped decides. */
	fake_node_troubles.driver = NULL;
	fake_node_troubles.no_registers = true;
	expect_refusal(0, UGDS_ST_UNSUPPORTED, "no registers");
	fake_node_troubles.no_registers = false;
	assert_ok(acquire(0, 0, &device, &err), err);
	release(device);
}

static void device_that_is_open_here(void **state)
{
	struct ugst_real_device *device;
	struct ugds_st_error err;
	int fd = open(fake_nodes[0].path, O_RDWR | O_CLOEXEC | O_NOCTTY);

	(void)state;
	assert_true(fd >= 0);
	expect_refusal(0, UGDS_ST_BUSY, "lend its handle");
	(void)close(fd);
	assert_ok(acquire(0, 0, &device, &err), err);
	expect_refusal(0, UGDS_ST_BUSY, "already");
	release(device);
}

/* A child that has the device open, and its lock or not. */
static void other_process(bool locks)
{
	struct flock lock = {
		.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 1};
	int ready[2];
	char byte;
	pid_t child;

	assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		int fd = open(fake_nodes[0].path, O_RDWR | O_NOCTTY);

		(void)alarm(60); /* should the test fail */
		if (locks)
			(void)fcntl(fd, F_OFD_SETLK, &lock);
		_exit(fd < 0 || write(ready[1], "r", 1) != 1 || pause());
	}
	assert_int_equal(read(ready[0], &byte, 1), 1);
	expect_refusal(0, UGDS_ST_BUSY, "in use by process");
	(void)kill(child, SIGKILL);
	assert_int_equal(waitpid(child, NULL, 0), child);
	(void)close(ready[0]);
	(void)close(ready[1]);
}

static void device_of_another_process(void **state)
{
	struct ugst_real_device *device;
	struct ugds_st_error err;

	(void)state;
	other_process(false);
	other_process(true);
	assert_ok(acquire(0, 0, &device, &err), err);
	release(device);
}

/* Whoever asks for the lock is kept out as long as the device is open. */
static void device_is_locked(void **state)
{
	struct flock lock = {
		.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 1};
	struct ugst_real_device *device;
	struct ugds_st_error err;
	int fd;

	(void)state;
	assert_ok(acquire(0, 0, &device, &err), err);
	fd = open(fake_nodes[0].path, O_RDWR | O_CLOEXEC | O_NOCTTY);
	assert_int_equal(fcntl(fd, F_OFD_SETLK, &lock), -1);
	release(device);
	lock.l_pid = 0;
	assert_int_equal(fcntl(fd, F_OFD_SETLK, &lock), 0);
	(void)close(fd);
}

static void second_controller(void **state)
{
	struct ugst_real_device *device;
	struct ugst_real_device *second = NULL;
	struct ugds_st_error err;

	(void)state;
	assert_ok(acquire(0, 0, &device, &err), err);
	expect_refusal(1, UGDS_ST_UNSUPPORTED, "UGDS_ST_OPEN_COMMON_BUS");
	assert_ok(acquire(1, UGST_REAL_COMMON_BUS, &second, &err), err);
	release(second);
	release(device);
	assert_ok(acquire(1, 0, &device, &err), err);
	release(device);
}

/* What uGDS says to a handle that it cannot make, or that has no blocks. */
static void handle_that_cannot_be_made(void **state)
{
	static const struct {
		int code;
		int status;
	} cases[] = {
		{5030, UGDS_ST_IO},
		{5018, UGDS_ST_IO},
		{5043, UGDS_ST_NO_MEMORY},
	};
	struct ugst_real_device *device = NULL;
	struct ugds_st_error err;

	(void)state;
	for (size_t i = 0; i < UGST_COUNT(cases); i++) {
		fake_node_troubles.register_code = cases[i].code;
		assert_fails(acquire(0, 0, &device, &err), cases[i].status,
		             err);
		assert_int_equal(err.ugds_code, cases[i].code);
		assert_int_equal(open_descriptors(), descriptors);
	}
	fake_node_troubles.register_code = 0;
	fake_node_troubles.capacity_code = 5030;
	assert_fails(acquire(0, 0, &device, &err), UGDS_ST_IO, err);
	assert_non_null(strstr(err.text, "capacity"));
	assert_int_equal(ugst_compat_script_counts().handles, 0);
	fake_node_troubles.capacity_code = 0;
	assert_null(device);
	assert_ok(acquire(0, 0, &device, &err), err);
	release(device);
}

/* Somebody's batch keeps the handle; refused, it is as it was. */
static void release_while_in_use(void **state)
{
	struct ugst_real_device *device;
	struct ugds_st_error err;
	uint64_t bytes;
	void *batch;

	(void)state;
	assert_ok(acquire(0, 0, &device, &err), err);
	assert_int_equal(ugds->batch_setup(&batch, device->handle, 128).code,
	                 0);
	assert_fails(ugst_ugds_real_release(device, false, &err), UGDS_ST_BUSY,
	             err);
	assert_int_equal(ugds->device_capacity(device->handle, &bytes).code, 0);
	ugds->batch_destroy(batch);
	release(device);
}

/* ------------------------------------------------------------------ engines */

static void *register_handle(unsigned node)
{
	int fd = open(fake_nodes[node].path, O_RDWR | O_CLOEXEC | O_NOCTTY);
	struct ugst_ugds_descr descr = {
		.type = UGST_UGDS_HANDLE_TYPE_FD,
		.u.fd = fd,
	};
	const struct ugst_ugds *engine = fake_node_ugds();
	void *handle = NULL;

	assert_true(fd >= 0);
	assert_int_equal(engine->driver_open().code, 0);
	assert_int_equal(engine->handle_register(&handle, &descr).code, 0);
	(void)close(fd);
	return handle;
}

static void deregister_handle(void *handle)
{
	assert_int_equal(fake_node_ugds()->handle_deregister(handle, 0).code,
	                 0);
}

static void borrowed_handle(void **state)
{
	void *handle = register_handle(0);
	struct ugst_real_device *device = NULL;
	struct ugds_st_error err;
	uint64_t bytes;
	void *batch;

	(void)state;
	/* uGDS's duplicate is noticed: the engine has closed its own */
	expect_refusal(0, UGDS_ST_BUSY, "lend its handle");
	assert_ok(ugst_ugds_real_borrow(ugds, fake_nodes[0].path, handle, 0,
	                                &device, &err),
	          err);
	assert_true(device->lent);
	release(device);
	assert_int_equal(ugds->device_capacity(handle, &bytes).code, 0);
	assert_int_equal(fake_node_ugds()->batch_setup(&batch, handle, 8).code,
	                 0);
	assert_fails(ugst_ugds_real_borrow(ugds, fake_nodes[0].path, handle, 0,
	                                   &device, &err),
	             UGDS_ST_BUSY, err);
	fake_node_ugds()->batch_destroy(batch);
	assert_fails(ugst_ugds_real_borrow(ugds, fake_nodes[0].path, &handle, 0,
	                                   &device, &err),
	             UGDS_ST_INVALID_ARG, err);
	assert_int_equal(err.ugds_code, 5027);
	assert_fails(ugst_ugds_real_borrow(ugds, fake_nodes[1].path, handle, 0,
	                                   &device, &err),
	             UGDS_ST_MISMATCH, err);
	assert_int_equal(fake_nodes[0].resets, 1);
	deregister_handle(handle);
}

/* ------------------------------------------------------------------- stores */

static int open_store(unsigned node, uint32_t flags, ugds_st_store **store_out,
                      struct ugds_st_error *err)
{
	struct ugds_st_open_opts opts = UGDS_ST_OPEN_OPTS_INIT;
	const char *path = fake_nodes[node].path;

	opts.devices = &path;
	opts.device_count = 1;
	opts.memory = &memory.ops;
	opts.flags = flags;
	return ugds_st_open(volumes[node]->manifest, &opts, store_out, err);
}

static void expect_all(unsigned node, ugds_st_store *store)
{
	size_t count = ugds_st_count(store);
	struct ugds_st_read *reads = reading_list(store);
	struct ugds_st_error err;

	assert_ok(ugds_st_read_many(store, reads, count, NULL, &err), err);
	for (size_t i = 0; i < count; i++)
		reading_expect(volumes[node], reads[i].tensor, reads[i].dst);
	reading_free(reads, count);
}

/* Buffers are mapped for the first handle's controller, and uGDS forgets that
 * there are others when that one is given up: what is registered stays so and
 * is read into, and what comes later is refused until a handle is new. */
static void first_handle_is_given_up(void **state)
{
	ugds_st_store *first = NULL;
	ugds_st_store *second = NULL;
	ugds_st_buffer *buffer = NULL;
	struct ugds_st_error err;
	void *at;

	(void)state;
	assert_ok(open_store(0, 0, &first, &err), err);
	assert_ok(open_store(1, UGDS_ST_OPEN_COMMON_BUS, &second, &err), err);
	reading_close(first);
	expect_all(1, second);
	assert_int_equal(memory.ops.alloc(&memory, 65536, 65536, &at), 0);
	assert_fails(ugds_st_register(second, at, 65536, 0, &buffer, &err),
	             UGDS_ST_UNSUPPORTED, err);
	assert_int_equal(err.ugds_code, 5001);
	assert_non_null(strstr(err.text, "open the store again"));
	reading_close(second);
	assert_ok(open_store(1, 0, &second, &err), err);
	assert_ok(ugds_st_register(second, at, 65536, 0, &buffer, &err), err);
	assert_ok(ugds_st_unregister(buffer, &err), err);
	memory.ops.free(&memory, at, 65536);
	reading_close(second);
}

/* The engine's own handle for another drive came first, so that no read of
 * this one succeeds: the text says what may be the reason. */
static void foreign_first_handle(void **state)
{
	void *handle = register_handle(1);
	ugds_st_store *store = NULL;
	struct ugds_st_error err;

	(void)state;
	ugst_compat_script_fault(
		&(struct ugst_compat_fault){.kind = UGST_COMPAT_FAIL});
	assert_fails(open_store(0, UGDS_ST_OPEN_DEGRADED_OK, &store, &err),
	             UGDS_ST_IO, err);
	assert_non_null(strstr(err.text, fake_nodes[1].path));
	assert_non_null(strstr(err.text, "mapped for"));
	assert_null(store);
	deregister_handle(handle);
}

#define DEVICE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		DEVICE(handle_and_its_descriptors),
		DEVICE(what_is_no_device_of_ugds),
		DEVICE(device_that_is_open_here),
		DEVICE(device_of_another_process),
		DEVICE(device_is_locked),
		DEVICE(second_controller),
		DEVICE(handle_that_cannot_be_made),
		DEVICE(release_while_in_use),
		DEVICE(borrowed_handle),
		DEVICE(first_handle_is_given_up),
		DEVICE(foreign_first_handle),
	};
	bool has_terminals = fake_node_begin();
	int failed;

	fake_node_end();
	if (!has_terminals) {
		print_message("SKIP: no pseudo-terminals\n");
		return 77;
	}
	for (size_t i = 0; i < FAKE_NODES; i++) {
		struct volumes_shape other = shape;

		other.seed += i;
		volumes[i] = volumes_new(&other);
	}
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	for (size_t i = 0; i < FAKE_NODES; i++)
		volumes_free(volumes[i]);
	return failed;
}
