/* SPDX-License-Identifier: BSD-3-Clause */
/* rig.c - a checkpoint on a modelled drive; see rig.h. */
#include "shim/rig.h"

#include <errno.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/units.h"

#define ARENA_BYTES (8 * UGST_MIB)

struct volumes *rig_volumes;
const struct ugds_st_memory_ops *rig_cuda;

/* The second pass: the drive holds what the first made. The same volumes are
 * made again, for what they must read as. */
static int run_child(const struct volumes_shape *shape, int (*tests)(void))
{
	struct ugds_st_error err;
	int result;

	rig_volumes = volumes_new(shape);
	assert_ok(ugds_st_memory_cuda_open(0, &rig_cuda, &err), err);
	result = tests();
	volumes_free(rig_volumes);
	return result;
}

/* Run this program again with a drive. */
static int run_on_drive(const struct volumes *volumes)
{
	pid_t child = fork();
	int status;

	if (child == 0) {
		(void)setenv("UGDS_SHIM_FILE", volumes->devices[0], 1);
		(void)setenv("TEST_RIG_CHILD", "1", 1);
		(void)execl("/proc/self/exe", program_invocation_name,
		            (char *)NULL);
		_exit(127);
	}
	if (child < 0 || waitpid(child, &status, 0) != child)
		return 1;
	if (!WIFEXITED(status)) {
		print_error("ended by signal %d\n", WTERMSIG(status));
		return 1;
	}
	return WEXITSTATUS(status);
}

int rig_main(const struct volumes_shape *shape, int (*tests)(void))
{
	char others[4][256] = {{0}};
	struct volumes *volumes;
	int result;

	if (!ugds_shim_ctl) {
		print_message("the model of uGDS's driver is not loaded: "
		              "skipped\n");
		return 77;
	}
	if (getenv("TEST_RIG_CHILD"))
		return run_child(shape, tests);
	volumes = volumes_new(shape);
	/* The model's drive N lies in the file of drive 0 with ".N". */
	for (unsigned i = 1; i < 4; i++) {
		(void)snprintf(others[i], sizeof(others[i]), "%s.%u",
		               volumes->devices[0], i);
		if (i < shape->volume_count &&
		    rename(volumes->devices[i], others[i]))
			return 1;
	}
	result = run_on_drive(volumes);
	for (unsigned i = 1; i < 4; i++)
		(void)unlink(others[i]);
	volumes_free(volumes);
	return result;
}

uint32_t rig_command_bytes(void)
{
	unsigned long mdts = shim_setting("UGDS_SHIM_MDTS", 5);

	/* None is one page; more than 513 pages is 513. */
	return mdts == 0 ? 4096 : mdts > 9 ? 513 * 4096 : 4096u << mdts;
}

ugds_st_store *rig_open(const struct ugds_st_open_opts *wanted)
{
	static const char *const devices[] = {RIG_DEVICE};
	struct ugds_st_open_opts opts = UGDS_ST_OPEN_OPTS_INIT;
	ugds_st_store *store = NULL;
	struct ugds_st_error err;

	if (wanted)
		opts = *wanted;
	if (!opts.devices) {
		opts.devices = devices;
		opts.device_count = 1;
	}
	if (!opts.arena_bytes)
		opts.arena_bytes = ARENA_BYTES;
	opts.memory = rig_cuda;
	assert_ok(ugds_st_open(rig_volumes->manifest, &opts, &store, &err),
	          err);
	return store;
}

char *rig_alloc(size_t bytes, int fill)
{
	void *memory;

	assert_int_equal(
		rig_cuda->alloc(rig_cuda->ctx, bytes, RIG_GPU_PAGE, &memory),
		0);
	assert_int_equal(cudaMemset(memory, fill, bytes), cudaSuccess);
	return memory;
}

void rig_free(char *memory, size_t bytes)
{
	rig_cuda->free(rig_cuda->ctx, memory, bytes);
}

static char *fetch(const char *from, size_t bytes)
{
	char *copy = malloc(bytes ? bytes : 1);

	assert_non_null(copy);
	assert_int_equal(cudaMemcpy(copy, from, bytes, cudaMemcpyDeviceToHost),
	                 cudaSuccess);
	return copy;
}

void rig_expect(const ugds_st_tensor *tensor, const char *at)
{
	size_t bytes = reading_info(tensor).payload_bytes;
	char *copy;

	if (bytes == 0)
		return;
	copy = fetch(at, bytes);
	assert_memory_equal(copy, volumes_expected(rig_volumes, tensor), bytes);
	free(copy);
}

void rig_expect_fill(const char *from, const char *to, int fill)
{
	size_t bytes = (size_t)(to - from);
	char *copy;

	if (bytes == 0)
		return;
	copy = fetch(from, bytes);
	for (size_t i = 0; i < bytes; i++)
		assert_int_equal(copy[i], fill);
	free(copy);
}

int rig_check_clean(void **state)
{
	(void)state;
	assert_shim_clean();
	assert_int_equal(shim_sum("live_maps"), 0);
	return 0;
}
