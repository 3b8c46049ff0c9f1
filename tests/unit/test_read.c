/* SPDX-License-Identifier: BSD-3-Clause */
/* test_read.c - tensors from volumes into memory, every way there is. */
#include "support/test.h"

#include <sys/mman.h>

#include "base/mem.h"
#include "base/units.h"
#include "support/random.h"
#include "support/volumes.h"

#define CANARY 0x5a

static const struct volumes_shape small = {
	.seed = 1,
	.volume_count = 1,
	.shard_count = 2,
	.tensor_count = 60,
	.max_tensor_bytes = 900000,
};

static ugds_st_store *open_store(const struct volumes *volumes)
{
	ugds_st_store *store = NULL;
	struct ugds_st_error err;

	assert_ok(ugds_st_open(volumes->manifest, NULL, &store, &err), err);
	return store;
}

static void close_store(ugds_st_store *store)
{
	struct ugds_st_error err;

	assert_ok(ugds_st_close(store, 0, &err), err);
}

static uint64_t payload(const ugds_st_tensor *tensor)
{
	struct ugds_st_info info = {.struct_size = sizeof(info)};

	assert_int_equal(ugds_st_info(tensor, &info), UGDS_ST_OK);
	return info.payload_bytes;
}

static void expect(const struct volumes *volumes, const ugds_st_tensor *tensor,
                   const void *found)
{
	assert_memory_equal(found, volumes_expected(volumes, tensor),
	                    payload(tensor));
}

static void check_canaries(const char *from, const char *to)
{
	for (; from < to; from++)
		assert_int_equal((unsigned char)*from, CANARY);
}

/* One by one, into memory at every alignment, with guard bytes around. */
static void one_by_one(void **state)
{
	struct volumes *volumes = volumes_new(&small);
	ugds_st_store *store = open_store(volumes);
	char *memory = malloc(1 << 20);
	struct ugds_st_error err;

	(void)state;
	assert_int_equal(ugds_st_count(store), 120);
	for (size_t i = 0; i < ugds_st_count(store); i++) {
		const ugds_st_tensor *tensor = ugds_st_at(store, i);
		struct ugds_st_info info = {.struct_size = sizeof(info)};
		char *dst = memory + 100 + i % 17;

		assert_int_equal(ugds_st_info(tensor, &info), UGDS_ST_OK);
		assert_ptr_equal(
			ugds_st_find(store, info.name, info.name_bytes),
			tensor);
		memset(memory, CANARY, 1 << 20);
		assert_ok(ugds_st_read_into(store, info.name, dst,
		                            info.payload_bytes, &err),
		          err);
		expect(volumes, tensor, dst);
		check_canaries(memory, dst);
		check_canaries(dst + info.payload_bytes, memory + (1 << 20));
	}
	free(memory);
	close_store(store);
	volumes_free(volumes);
}

/* Destinations that end at, or start behind, a page that nobody may touch. */
static void beside_protected_pages(void **state)
{
	struct volumes *volumes = volumes_new(&small);
	ugds_st_store *store = open_store(volumes);
	size_t room = 1 << 20;
	struct ugds_st_error err;
	char *memory = mmap(NULL, room + 8192, PROT_NONE,
	                    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	(void)state;
	assert_ptr_not_equal(memory, MAP_FAILED);
	assert_int_equal(mprotect(memory + 4096, room, PROT_READ | PROT_WRITE),
	                 0);
	for (size_t i = 0; i < ugds_st_count(store); i++) {
		struct ugds_st_info info = {.struct_size = sizeof(info)};
		char *dst = memory + 4096;

		(void)ugds_st_info(ugds_st_at(store, i), &info);
		assert_ok(ugds_st_read_into(store, info.name, dst, room, &err),
		          err);
		expect(volumes, ugds_st_at(store, i), dst);
		dst += room - info.payload_bytes;
		assert_ok(ugds_st_read_into(store, info.name, dst,
		                            info.payload_bytes, &err),
		          err);
		expect(volumes, ugds_st_at(store, i), dst);
	}
	(void)munmap(memory, room + 8192);
	close_store(store);
	volumes_free(volumes);
}

static void as_arrays(void **state)
{
	struct volumes *volumes = volumes_new(&small);
	ugds_st_store *store = open_store(volumes);
	const ugds_st_tensor *tensors[120];
	ugds_st_array *array;
	ugds_st_array *one;
	struct ugds_st_error err;

	(void)state;
	for (size_t i = 0; i < 120; i++)
		tensors[i] = ugds_st_at(store, (i * 7) % 120);
	assert_ok(
		ugds_st_get_tensors(store, tensors, 120, 0, NULL, &array, &err),
		err);
	for (size_t i = 0; i < 120; i++) {
		assert_int_equal((uintptr_t)ugds_st_array_data(array, i) % 256,
		                 0);
		expect(volumes, tensors[i], ugds_st_array_data(array, i));
	}
	assert_ok(ugds_st_get_tensor(store, "s1.t5", &one, &err), err);
	/* Arrays live on without their store. */
	close_store(store);
	assert_int_equal(ugds_st_array_info(array, 119)->name_bytes,
	                 strlen(ugds_st_array_info(array, 119)->name));
	assert_string_equal(ugds_st_array_info(one, 0)->name, "s1.t5");
	assert_null(ugds_st_array_info(one, 1));
	assert_null(ugds_st_array_data(one, 1));
	ugds_st_array_free(one);
	ugds_st_array_free(array);
	volumes_free(volumes);
}

/* A whole checkpoint into one registered arena: direct but for the edges, and
 * no more bytes from the device than its blocks. */
static void into_registered_arena(void **state)
{
	struct volumes_shape shape = small;
	struct volumes *volumes;
	ugds_st_store *store;
	const ugds_st_tensor *tensors[120];
	struct ugds_st_read reads[120];
	uint64_t offs[120];
	uint64_t bytes;
	struct ugds_st_stats before = {.struct_size = sizeof(before)};
	struct ugds_st_stats stats = {.struct_size = sizeof(stats)};
	struct ugds_st_error err;
	ugds_st_buffer *buffer;
	uint64_t wanted = 0;
	char *arena;

	(void)state;
	shape.lead = true;
	volumes = volumes_new(&shape);
	store = open_store(volumes);
	(void)ugds_st_get_stats(store, &before);
	for (size_t i = 0; i < 120; i++) {
		tensors[i] = ugds_st_at(store, i);
		wanted += payload(tensors[i]);
	}
	assert_int_equal(ugds_st_layout(tensors, 120, 1, offs, &bytes),
	                 UGDS_ST_OK);
	arena = ugst_alloc_aligned(bytes, 65536);
	memset(arena, CANARY, bytes);
	assert_ok(ugds_st_register(store, arena, bytes, 0, &buffer, &err), err);
	for (size_t i = 0; i < 120; i++)
		reads[i] = (struct ugds_st_read){
			.struct_size = sizeof(reads[i]),
			.tensor = tensors[i],
			.dst = arena + offs[i],
			.dst_bytes = payload(tensors[i]),
			.buf = buffer,
		};
	assert_ok(ugds_st_read_many(store, reads, 120, NULL, &err), err);
	for (size_t i = 0; i < 120; i++) {
		assert_int_equal(reads[i].status, UGDS_ST_OK);
		expect(volumes, tensors[i], arena + offs[i]);
	}
	(void)ugds_st_get_stats(store, &stats);
	assert_int_equal(stats.payload_bytes - before.payload_bytes, wanted);
	/* Two runs, one a shard: at most a block too many at either end. */
	assert_true(stats.device_bytes - before.device_bytes <=
	            wanted + 4 * 4096);
	assert_true(stats.staged_bytes - before.staged_bytes <= 4 * 8192);
	assert_true(stats.direct_bytes - before.direct_bytes > wanted / 2);

	assert_fails(ugds_st_close(store, 0, &err), UGDS_ST_BUSY, err);
	assert_ok(ugds_st_unregister(buffer, &err), err);
	free(arena);
	close_store(store);
	volumes_free(volumes);
}

/* Rows of a two-dimensional tensor, and what is no row. */
static void rows(void **state)
{
	struct volumes *volumes = volumes_new(&small);
	ugds_st_store *store = open_store(volumes);
	char *memory = malloc(1 << 20);
	struct ugds_st_error err;
	unsigned seen = 0;

	(void)state;
	for (size_t i = 0; i < ugds_st_count(store); i++) {
		struct ugds_st_read read = UGDS_ST_READ_INIT;
		struct ugds_st_info info = {.struct_size = sizeof(info)};
		const char *wanted;

		read.tensor = ugds_st_at(store, i);
		(void)ugds_st_info(read.tensor, &info);
		wanted = volumes_expected(volumes, read.tensor);
		if (info.rank != 2)
			continue;
		seen++;
		read.row_first = 1;
		read.row_count = 1;
		read.dst = memory;
		read.dst_bytes = info.payload_bytes / 2;
		assert_ok(ugds_st_read_many(store, &read, 1, NULL, &err), err);
		assert_memory_equal(memory, wanted + info.payload_bytes / 2,
		                    info.payload_bytes / 2);
		read.row_count = 2;
		assert_fails(ugds_st_read_many(store, &read, 1, NULL, &err),
		             UGDS_ST_INVALID_ARG, err);
		read.row_first = 0;
		assert_fails(ugds_st_read_many(store, &read, 1, NULL, &err),
		             UGDS_ST_INVALID_ARG, err);
	}
	assert_true(seen > 5);
	free(memory);
	close_store(store);
	volumes_free(volumes);
}

struct ready_log {
	size_t order[120];
	int status[120];
	size_t count;
};

static void note_ready(void *ctx, size_t index, int status)
{
	struct ready_log *log = ctx;

	log->order[log->count] = index;
	log->status[log->count++] = status;
}

/* A list over four volumes, one request in it refused: the others are read,
 * each is told of once, err speaks of the refused one. */
static void list_over_volumes(void **state)
{
	struct volumes_shape shape = small;
	struct volumes *volumes;
	ugds_st_store *store;
	struct ugds_st_read_opts opts = UGDS_ST_READ_OPTS_INIT;
	struct ugds_st_open_opts open_opts = UGDS_ST_OPEN_OPTS_INIT;
	struct ugds_st_read *reads;
	struct ready_log log = {.count = 0};
	struct ugds_st_error err;
	const char *devices[4];
	size_t count;
	size_t refused = 0;

	(void)state;
	shape.volume_count = 4;
	shape.shard_count = 6;
	shape.tensor_count = 20;
	volumes = volumes_new(&shape);
	/* In another order than the manifest's. */
	for (int i = 0; i < 4; i++)
		devices[i] = volumes->devices[3 - i];
	open_opts.devices = devices;
	open_opts.device_count = 4;
	assert_ok(ugds_st_open(volumes->manifest, &open_opts, &store, &err),
	          err);
	count = ugds_st_count(store);
	assert_int_equal(count, 120);
	reads = ugst_calloc(count, sizeof(*reads));
	for (size_t i = 0; i < count; i++) {
		reads[i].struct_size = sizeof(*reads);
		reads[i].tensor = ugds_st_at(store, i);
		reads[i].dst_bytes = payload(reads[i].tensor);
		reads[i].dst = malloc(reads[i].dst_bytes + 1);
		if (!refused && i > 30 && reads[i].dst_bytes)
			refused = i;
	}
	reads[refused].dst_bytes--;
	opts.ready = note_ready;
	opts.ctx = &log;
	assert_fails(ugds_st_read_many(store, reads, count, &opts, &err),
	             UGDS_ST_INVALID_ARG, err);
	assert_int_equal(log.count, count);
	for (size_t i = 0; i < count; i++) {
		assert_int_equal(log.status[i], reads[log.order[i]].status);
		if (i == refused) {
			assert_int_equal(reads[i].status, UGDS_ST_INVALID_ARG);
		} else {
			assert_int_equal(reads[i].status, UGDS_ST_OK);
			expect(volumes, reads[i].tensor, reads[i].dst);
		}
		free(reads[i].dst);
	}
	free(reads);
	close_store(store);
	volumes_free(volumes);
}

static void bad_arguments(void **state)
{
	struct volumes *volumes = volumes_new(&small);
	ugds_st_store *store = open_store(volumes);
	struct {
		struct ugds_st_read read;
		char more[8];
	} large = {.read = UGDS_ST_READ_INIT};
	struct ugds_st_error err;
	ugds_st_buffer *buffer;
	ugds_st_array *array;
	char byte;

	(void)state;
	assert_fails(ugds_st_read_into(store, "none", &byte, 1, &err),
	             UGDS_ST_NOT_FOUND, err);
	assert_fails(ugds_st_get_tensor(store, "none\n", &array, &err),
	             UGDS_ST_NOT_FOUND, err);
	assert_null(strchr(err.text, '\n'));
	assert_fails(ugds_st_read_into(NULL, "x", &byte, 1, &err),
	             UGDS_ST_INVALID_ARG, err);
	assert_fails(
		ugds_st_register(store, (void *)4096, 65536, 0, &buffer, &err),
		UGDS_ST_INVALID_ARG, err);
	assert_fails(
		ugds_st_register(store, (void *)65536, 4096, 0, &buffer, &err),
		UGDS_ST_INVALID_ARG, err);
	/* A newer caller's struct: fine while what we do not know is zero. */
	large.read.struct_size = sizeof(large);
	large.read.tensor = ugds_st_find(store, "s0.t0", 5);
	assert_non_null(large.read.tensor);
	large.read.dst_bytes = payload(large.read.tensor);
	large.read.dst = malloc(large.read.dst_bytes + 1);
	assert_ok(ugds_st_read_many(store, &large.read, 1, NULL, &err), err);
	large.more[7] = 1;
	assert_fails(ugds_st_read_many(store, &large.read, 1, NULL, &err),
	             UGDS_ST_INVALID_ARG, err);
	free(large.read.dst);
	assert_int_equal(ugds_st_read_many(store, NULL, 0, NULL, NULL),
	                 UGDS_ST_OK);
	close_store(store);
	volumes_free(volumes);
}

static void verify_finds_damage(void **state)
{
	struct volumes *volumes = volumes_new(&small);
	ugds_st_store *store = open_store(volumes);
	struct ugds_st_error err;
	FILE *volume;

	(void)state;
	assert_ok(ugds_st_verify(store, NULL, NULL, &err), err);
	volume = fopen(volumes->devices[0], "r+");
	assert_non_null(volume);
	assert_int_equal(fseek(volume,
	                       (long)(volumes->shards[1].volume_off +
	                              volumes->document.shards[1].bytes - 1),
	                       SEEK_SET),
	                 0);
	(void)fputc(~volumes->shards[1]
	                     .bytes[volumes->document.shards[1].bytes - 1],
	            volume);
	assert_int_equal(fclose(volume), 0);
	assert_fails(ugds_st_verify(store, NULL, NULL, &err), UGDS_ST_CORRUPT,
	             err);
	assert_non_null(strstr(err.text, "shard-1.safetensors"));
	close_store(store);
	volumes_free(volumes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_by_one),
		cmocka_unit_test(beside_protected_pages),
		cmocka_unit_test(as_arrays),
		cmocka_unit_test(into_registered_arena),
		cmocka_unit_test(rows),
		cmocka_unit_test(list_over_volumes),
		cmocka_unit_test(bad_arguments),
		cmocka_unit_test(verify_finds_damage),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
