/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_read_nomem.c - each allocation of each call fails, one run after the
 * other: the call says so, leaves nothing behind, and works the next time.
 *
 * The linker sends the library's allocations through this file (--wrap), which
 * sanitizers do not mind.
 */
#include "support/reading.h"

#include <stdatomic.h>
#include <sys/stat.h>

#include "base/units.h"
#include "devices/ugds_compat_script.h"
#include "support/async_memory.h"

static const struct volumes_shape small = {
	.seed = 31,
	.volume_count = 2,
	.shard_count = 2,
	.tensor_count = 8,
	.max_tensor_bytes = 20000,
};

/* cJSON's, whose allocations the linker does not see. */
struct cjson_hooks {
	void *(*malloc_fn)(size_t bytes);
	void (*free_fn)(void *ptr);
};
void cJSON_InitHooks(struct cjson_hooks *hooks);

static atomic_long countdown; /* 1: the next one fails; 0: none does */
static atomic_long live;      /* blocks that are not freed */

void *__real_malloc(size_t bytes);
void *__real_calloc(size_t count, size_t each_bytes);
void *__real_realloc(void *ptr, size_t bytes);
void *__real_reallocarray(void *ptr, size_t count, size_t each_bytes);
int __real_posix_memalign(void **ptr_out, size_t align, size_t bytes);
int __real_vasprintf(char **text_out, const char *fmt, va_list args);
void __real_free(void *ptr);

void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t count, size_t each_bytes);
void *__wrap_realloc(void *ptr, size_t bytes);
void *__wrap_reallocarray(void *ptr, size_t count, size_t each_bytes);
int __wrap_posix_memalign(void **ptr_out, size_t align, size_t bytes);
int __wrap_vasprintf(char **text_out, const char *fmt, va_list args);
void __wrap_free(void *ptr);

static bool fails(void)
{
	long before = atomic_load(&countdown);

	while (before > 0)
		if (atomic_compare_exchange_weak(&countdown, &before,
		                                 before - 1))
			return before == 1;
	return false;
}

static void *counted(void *ptr)
{
	if (ptr)
		atomic_fetch_add(&live, 1);
	return ptr;
}

void *__wrap_malloc(size_t bytes)
{
	return fails() ? NULL : counted(__real_malloc(bytes));
}

void *__wrap_calloc(size_t count, size_t each_bytes)
{
	return fails() ? NULL : counted(__real_calloc(count, each_bytes));
}

void *__wrap_realloc(void *ptr, size_t bytes)
{
	if (fails())
		return NULL;
	return ptr ? __real_realloc(ptr, bytes)
	           : counted(__real_realloc(NULL, bytes));
}

void *__wrap_reallocarray(void *ptr, size_t count, size_t each_bytes)
{
	if (fails())
		return NULL;
	return ptr ? __real_reallocarray(ptr, count, each_bytes)
	           : counted(__real_reallocarray(NULL, count, each_bytes));
}

int __wrap_posix_memalign(void **ptr_out, size_t align, size_t bytes)
{
	int errnum =
		fails() ? 12 : __real_posix_memalign(ptr_out, align, bytes);

	if (errnum == 0)
		(void)counted(*ptr_out);
	return errnum;
}

int __wrap_vasprintf(char **text_out, const char *fmt, va_list args)
{
	int bytes = fails() ? -1 : __real_vasprintf(text_out, fmt, args);

	if (bytes >= 0)
		(void)counted(*text_out);
	return bytes;
}

void __wrap_free(void *ptr)
{
	if (ptr)
		atomic_fetch_sub(&live, 1);
	__real_free(ptr);
}

struct world {
	struct volumes *volumes;
	struct async_memory memory;
	ugds_st_store *store;
	struct ugds_st_read *reads;
	size_t count;
};

/* A call: with memory for all but one allocation it is OK or NO_MEMORY. */
typedef int (*call_fn)(struct world *world, struct ugds_st_error *err);

/* From the nth allocation until a run in which none was left to fail. Return:
 * how many there are. */
static long sweep_from(struct world *world, const char *what, call_fn call,
                       long nth)
{
	bool refused = false;
	bool failed;

	do {
		struct ugds_st_error err = {0};
		long before = atomic_load(&live);
		int status;

		atomic_store(&countdown, nth);
		status = call(world, &err);
		failed = atomic_load(&countdown) == 0;
		atomic_store(&countdown, 0);
		if (status != UGDS_ST_OK && status != UGDS_ST_NO_MEMORY)
			fail_msg("%s, allocation %ld: %s: %s", what, nth,
			         ugds_st_status_name(status), err.text);
		if (status && err.text[0] == '\0')
			fail_msg("%s, allocation %ld: no text", what, nth);
		if (atomic_load(&live) != before)
			fail_msg("%s, allocation %ld: %ld blocks are left",
			         what, nth, atomic_load(&live) - before);
		refused |= status == UGDS_ST_NO_MEMORY;
		if (!failed)
			assert_int_equal(status, UGDS_ST_OK);
		nth += failed;
	} while (failed);
	assert_true(refused);
	return nth;
}

static void sweep(struct world *world, const char *what, call_fn call)
{
	(void)sweep_from(world, what, call, 1);
}

static int open_and_close(struct world *world, struct ugds_st_error *err)
{
	struct ugds_st_error close_err;
	ugds_st_store *store;
	int status = ugds_st_open(world->volumes->manifest, NULL, &store, err);

	if (status)
		return status;
	assert_int_equal(ugds_st_count(store), 16);
	assert_ok(ugds_st_close(store, 0, &close_err), close_err);
	return UGDS_ST_OK;
}

/* Each request has a status of its own; what is OK is right. */
static int read_list(struct world *world, struct ugds_st_error *err)
{
	int first = UGDS_ST_OK;
	int status;

	for (size_t i = 0; i < world->count; i++)
		world->reads[i].status = 99;
	status = ugds_st_read_many(world->store, world->reads, world->count,
	                           NULL, err);
	for (size_t i = 0; i < world->count; i++) {
		const struct ugds_st_read *read = &world->reads[i];

		assert_int_not_equal(read->status, 99);
		if (read->status == UGDS_ST_OK)
			reading_expect(world->volumes, read->tensor, read->dst);
		else if (!first)
			first = read->status;
	}
	assert_int_equal(status, first);
	return status;
}

/* The same, while single commands fail and are read again. */
static int read_list_again(struct world *world, struct ugds_st_error *err)
{
	static const struct ugst_compat_script drive = {.lba_bytes = 512,
	                                                .command_bytes = 4096};
	struct ugds_st_error close_err;
	long fail_nth = atomic_exchange(&countdown, 0);
	ugds_st_store *store = world->store;
	int status;

	ugst_compat_script_begin(&drive);
	world->store = reading_open(world->volumes, NULL);
	for (size_t i = 0; i < world->count; i++)
		world->reads[i].tensor = ugds_st_at(world->store, i);
	ugst_compat_script_fault(&(struct ugst_compat_fault){
		.kind = UGST_COMPAT_FAIL, .skip = 3, .count = 2});
	atomic_store(&countdown, fail_nth);
	status = read_list(world, err);
	fail_nth = atomic_exchange(&countdown, 0);
	assert_ok(ugds_st_close(world->store, 0, &close_err), close_err);
	assert_int_equal(ugst_compat_script_counts().violations, 0);
	ugst_compat_script_end();
	world->store = store;
	for (size_t i = 0; i < world->count; i++)
		world->reads[i].tensor = ugds_st_at(world->store, i);
	atomic_store(&countdown, fail_nth);
	return status;
}

/* On a caller's stream: copies outlive the call. */
static int read_on_stream(struct world *world, struct ugds_st_error *err)
{
	struct ugds_st_read_opts opts = UGDS_ST_READ_OPTS_INIT;
	int status;

	opts.stream = world;
	status = ugds_st_read_many(world->store, world->reads, world->count,
	                           &opts, err);
	async_memory_release(&world->memory);
	for (size_t i = 0; i < world->count; i++)
		if (world->reads[i].status == UGDS_ST_OK)
			reading_expect(world->volumes, world->reads[i].tensor,
			               world->reads[i].dst);
	world->memory.held = world;
	return status;
}

static int get_array(struct world *world, struct ugds_st_error *err)
{
	const ugds_st_tensor *tensors[16];
	ugds_st_array *array;
	int status;

	for (size_t i = 0; i < world->count; i++)
		tensors[i] = world->reads[i].tensor;
	status = ugds_st_get_tensors(world->store, tensors, world->count, 0,
	                             NULL, &array, err);
	if (status)
		return status;
	for (size_t i = 0; i < world->count; i++)
		reading_expect(world->volumes, tensors[i],
		               ugds_st_array_data(array, i));
	ugds_st_array_free(array);
	return UGDS_ST_OK;
}

static int verify(struct world *world, struct ugds_st_error *err)
{
	return ugds_st_verify(world->store, NULL, NULL, err);
}

static int register_memory(struct world *world, struct ugds_st_error *err)
{
	static _Alignas(65536) char memory[65536];
	struct ugds_st_error unregister_err;
	ugds_st_buffer *buffer;
	int status = ugds_st_register(world->store, memory, sizeof(memory), 0,
	                              &buffer, err);

	if (status == UGDS_ST_OK)
		assert_ok(ugds_st_unregister(buffer, &unregister_err),
		          unregister_err);
	return status;
}

/* The same where copies are not done at once. */
static void sweep_async(struct world *world)
{
	struct ugds_st_open_opts opts = UGDS_ST_OPEN_OPTS_INIT;
	ugds_st_store *store = world->store;

	async_memory_init(&world->memory, 0);
	world->memory.max_asks = 3;
	opts.memory = &world->memory.ops;
	world->store = reading_open(world->volumes, &opts);
	for (size_t i = 0; i < world->count; i++)
		world->reads[i].tensor = ugds_st_at(world->store, i);
	sweep(world, "read, late copies", read_list);
	sweep(world, "get, late copies", get_array);
	world->memory.held = world;
	/* Lists of late copies grow and stay: once beforehand. */
	assert_int_equal(read_on_stream(world, NULL), UGDS_ST_OK);
	sweep(world, "read on a stream", read_on_stream);
	world->memory.held = NULL;
	reading_close(world->store);
	async_memory_end(&world->memory);
	world->store = store;
}

/* One of two mirrors fails every read after its label: headers and tensors
 * come from the other. */
static int open_and_read_mirror(struct world *world, struct ugds_st_error *err)
{
	struct ugst_compat_fault fault = {.kind = UGST_COMPAT_FAIL,
	                                  .device_off = UGST_OBJECTS_OFF,
	                                  .device_bytes = UGST_GIB};
	struct ugds_st_error close_err;
	struct stat st;
	int status;

	assert_int_equal(stat(world->volumes->devices[0], &st), 0);
	fault.device_id = st.st_ino;
	ugst_compat_script_fault(&fault);
	status = ugds_st_open(world->volumes->manifest, NULL, &world->store,
	                      err);
	for (size_t i = 0; i < world->count && !status; i++)
		world->reads[i].tensor = ugds_st_at(world->store, i);
	if (status == UGDS_ST_OK) {
		status = read_list(world, err);
		assert_ok(ugds_st_close(world->store, 0, &close_err),
		          close_err);
	}
	ugst_compat_script_heal();
	return status;
}

/* @from: what comes before is as without mirrors. */
static void sweep_mirror(long from)
{
	struct volumes_shape mirrored = small;
	struct world world = {0};

	mirrored.copy_count = 2;
	world.volumes = volumes_new(&mirrored);
	world.store = reading_open(world.volumes, NULL);
	world.count = ugds_st_count(world.store);
	world.reads = reading_list(world.store);
	reading_close(world.store);
	ugst_compat_script_begin(&(struct ugst_compat_script){0});
	(void)sweep_from(&world, "open and read a mirror", open_and_read_mirror,
	                 from);
	ugst_compat_script_end();
	reading_free(world.reads, world.count);
	volumes_free(world.volumes);
}

static void every_allocation_fails_once(void **state)
{
	struct cjson_hooks hooks = {__wrap_malloc, __wrap_free};
	struct world world = {0};
	long open_count;

	(void)state;
	cJSON_InitHooks(&hooks);
	world.volumes = volumes_new(&small);
	open_count = sweep_from(&world, "open", open_and_close, 1);
	world.store = reading_open(world.volumes, NULL);
	world.count = ugds_st_count(world.store);
	world.reads = reading_list(world.store);
	assert_int_equal(world.count, 16);
	sweep(&world, "read", read_list);
	sweep(&world, "read again", read_list_again);
	sweep(&world, "get", get_array);
	sweep(&world, "verify", verify);
	sweep(&world, "register", register_memory);
	sweep_async(&world);
	sweep_mirror(open_count);
	reading_free(world.reads, world.count);
	reading_close(world.store);
	volumes_free(world.volumes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_allocation_fails_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
