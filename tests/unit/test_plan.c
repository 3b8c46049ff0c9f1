/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_plan.c - plans carried out byte by byte on a small device.
 *
 * Each random list is executed on an array of bytes: every entry must keep
 * uGDS's rules, no block may be read twice, every byte that an entry or a copy
 * writes must be its own to write, and at the end each destination must hold
 * its payload and the canaries around it must stand.
 */
#include "support/test.h"

#include <malloc.h>

#include "base/mem.h"
#include "base/units.h"
#include "pure/layout.h"
#include "pure/plan.h"
#include "support/random.h"

#define DEVICE_BYTES (1u << 20)
#define ARENA_BYTES (1u << 21)
#define CANARY 0xa5

struct world {
	uint8_t *device;
	uint8_t *arena;  /* destinations lie in it */
	uint8_t *writes; /* times that an arena byte was written */
	uint8_t *blocks; /* times that a block was read */
	uint64_t direct_bytes;
	uint64_t read_bytes;
};

static struct world *world_new(uint64_t *seed)
{
	struct world *w = ugst_calloc(1, sizeof(*w));

	w->device = malloc(DEVICE_BYTES);
	w->arena = ugst_alloc_aligned(ARENA_BYTES, 65536);
	w->writes = malloc(ARENA_BYTES);
	w->blocks = malloc(DEVICE_BYTES / 512);
	for (size_t i = 0; i < DEVICE_BYTES; i += 8) {
		uint64_t value = random_next(seed);

		memcpy(w->device + i, &value, 8);
	}
	return w;
}

static void world_reset(struct world *w)
{
	memset(w->arena, CANARY, ARENA_BYTES);
	memset(w->writes, 0, ARENA_BYTES);
	memset(w->blocks, 0, DEVICE_BYTES / 512);
	w->direct_bytes = 0;
	w->read_bytes = 0;
}

static void world_free(struct world *w)
{
	free(w->device);
	free(w->arena);
	free(w->writes);
	free(w->blocks);
	free(w);
}

static void world_write(struct world *w, uint64_t arena_off,
                        uint64_t device_off, uint64_t bytes)
{
	assert_true(arena_off + bytes <= ARENA_BYTES);
	memcpy(w->arena + arena_off, w->device + device_off, bytes);
	for (uint64_t i = 0; i < bytes; i++)
		w->writes[arena_off + i]++;
}

static void run_staged(struct world *w, const struct ugst_plan *plan,
                       const struct ugst_entry *entry)
{
	size_t first;
	size_t end;

	ugst_plan_segments(plan, entry->device_off, entry->bytes, &first, &end);
	for (size_t i = first; i < end; i++) {
		const struct ugst_segment *s = &plan->segments[i];
		uint64_t from = ugst_max(s->device_off, entry->device_off);
		uint64_t to = ugst_min(s->device_off + s->bytes,
		                       entry->device_off + entry->bytes);

		if (from < to)
			world_write(w,
			            (uint64_t)((uint8_t *)s->dst - w->arena) +
			                    from - s->device_off,
			            from, to - from);
	}
}

static void run_plan(struct world *w, struct ugst_plan *plan)
{
	struct ugst_entry entry;
	uint32_t lba = plan->lba_bytes;

	while (ugst_plan_peek(plan, &entry)) {
		assert_true(entry.bytes > 0 &&
		            entry.bytes <= (entry.base ? plan->entry_bytes
		                                       : plan->slot_bytes));
		assert_int_equal(entry.device_off % lba, 0);
		assert_int_equal(entry.bytes % lba, 0);
		assert_int_equal(entry.commands,
		                 (entry.bytes + plan->command_bytes - 1) /
		                         plan->command_bytes);
		assert_true(entry.commands <= 9);
		for (uint64_t i = 0; i < entry.bytes; i += lba) {
			uint8_t *block =
				&w->blocks[(entry.device_off + i) / lba];

			assert_int_equal((*block)++, 0);
		}
		w->read_bytes += entry.bytes;
		if (entry.base) {
			assert_int_equal(entry.buffer_off % 4096, 0);
			world_write(
				w,
				(uint64_t)((uint8_t *)entry.base - w->arena) +
					entry.buffer_off,
				entry.device_off, entry.bytes);
			w->direct_bytes += entry.bytes;
		} else {
			run_staged(w, plan, &entry);
		}
		ugst_plan_advance(plan, &entry);
	}
}

/* Every destination holds its payload, written once; outside of payloads
 * nothing was written, or (slack) nothing but once. */
static void check_world(const struct world *w, const struct ugst_plan *plan,
                        bool slack)
{
	uint8_t *wanted = calloc(ARENA_BYTES, 1);

	for (size_t i = 0; i < plan->segment_count; i++) {
		const struct ugst_segment *s = &plan->segments[i];
		size_t at = (size_t)((uint8_t *)s->dst - w->arena);

		assert_memory_equal(s->dst, w->device + s->device_off,
		                    s->bytes);
		memset(wanted + at, 1, s->bytes);
	}
	for (size_t i = 0; i < ARENA_BYTES; i++) {
		bool right = wanted[i] ? w->writes[i] == 1
		             : slack   ? w->writes[i] <= 1
		                       : w->arena[i] == CANARY;

		if (!right)
			fail_msg("arena byte %zu: %s, written %u times", i,
			         wanted[i] ? "wanted" : "not wanted",
			         w->writes[i]);
	}
	free(wanted);
}

/* Blocks that any payload touches, counted one by one. */
static uint64_t needed_bytes(const struct ugst_plan *plan)
{
	uint8_t *needed = calloc(DEVICE_BYTES / 512, 1);
	uint64_t bytes = 0;

	for (size_t i = 0; i < plan->segment_count; i++) {
		const struct ugst_segment *s = &plan->segments[i];

		for (uint64_t b = s->device_off / plan->lba_bytes;
		     b <= (s->device_off + s->bytes - 1) / plan->lba_bytes; b++)
			needed[b] = 1;
	}
	for (size_t i = 0; i < DEVICE_BYTES / plan->lba_bytes; i++)
		bytes += needed[i] ? plan->lba_bytes : 0;
	free(needed);
	return bytes;
}

static struct ugst_ugds_limits random_limits(uint64_t *seed)
{
	static const uint32_t commands[] = {4096,   8192,    16384,
	                                    131072, 1048576, 2101248};

	return (struct ugst_ugds_limits){
		.lba_bytes = 512u << random_below(seed, 4),
		.command_bytes = commands[random_below(seed, 6)],
		.window_commands = 63,
	};
}

/* Payloads at random places; destinations disjoint, at random or congruent
 * offsets, registered or not; some payloads wanted twice. */
static struct ugst_segment *random_segments(struct world *w, uint64_t *seed,
                                            size_t *count_out)
{
	size_t count = 1 + random_below(seed, 12);
	struct ugst_segment *segments = ugst_calloc(count, sizeof(*segments));
	uint64_t device_off = random_below(seed, 10000);
	uint64_t at = random_below(seed, 10000);
	uint64_t sizes = random_below(seed, 3) ? 5000 : 300000;

	for (size_t i = 0; i < count; i++) {
		uint64_t bytes = 1 + random_below(seed, sizes);

		if (i && random_below(seed, 8) == 0)
			device_off -= random_below(seed, 3000) % device_off;
		if (device_off + bytes > DEVICE_BYTES)
			device_off = random_below(seed, DEVICE_BYTES - bytes);
		if (random_below(seed, 2)) /* the same skew as on the device */
			at = ugst_align_up(at, 4096) + device_off % 4096;
		if (at + bytes > ARENA_BYTES) {
			count = i;
			break;
		}
		segments[i] = (struct ugst_segment){
			.device_off = device_off,
			.bytes = bytes,
			.dst = (char *)w->arena + at,
			.base = random_below(seed, 4) ? (char *)w->arena : NULL,
			.request = (uint32_t)i,
		};
		at += bytes;
		device_off += bytes;
		if (random_below(seed, 2)) {
			device_off += random_below(seed, 5000);
			at += random_below(seed, 5000);
		}
	}
	for (size_t i = 1; i < count; i++) { /* shuffle */
		size_t j = random_below(seed, i + 1);
		struct ugst_segment swap = segments[i];

		segments[i] = segments[j];
		segments[j] = swap;
	}
	*count_out = count;
	return segments;
}

static void random_lists(void **state)
{
	uint64_t seed = 42;
	struct world *w = world_new(&seed);
	uint64_t direct_bytes = 0;

	(void)state;
	for (int round = 0; round < 1000; round++) {
		struct ugst_ugds_limits limits = random_limits(&seed);
		struct ugst_plan plan;
		struct ugst_segment *segments;
		size_t count;

		world_reset(w);
		segments = random_segments(w, &seed, &count);
		assert_int_equal(
			ugst_plan_build(&plan, segments, count, &limits, NULL),
			UGDS_ST_OK);
		run_plan(w, &plan);
		check_world(w, &plan, false);
		assert_int_equal(w->read_bytes, needed_bytes(&plan));
		direct_bytes += w->direct_bytes;
		ugst_plan_free(&plan);
	}
	assert_true(direct_bytes > 0);
	world_free(w);
}

/* Our own arrays: laid out by ugst_layout(), whole blocks go direct. */
static void random_layouts(void **state)
{
	uint64_t seed = 4242;
	struct world *w = world_new(&seed);

	(void)state;
	for (int round = 0; round < 1000; round++) {
		struct ugst_ugds_limits limits = random_limits(&seed);
		uint64_t align = 1ULL << random_below(&seed, 13);
		struct ugst_layout_item items[12];
		struct ugst_plan plan;
		size_t count;
		struct ugst_segment *segments =
			random_segments(w, &seed, &count);
		uint64_t bytes;

		world_reset(w);
		for (size_t i = 0; i < count; i++)
			items[i] = (struct ugst_layout_item){
				.lba_bytes = limits.lba_bytes,
				.device_off = segments[i].device_off,
				.bytes = segments[i].bytes,
				.index = i,
			};
		bytes = ugst_layout(items, count, align);
		assert_int_equal(bytes % 65536, 0);
		assert_true(bytes <= ARENA_BYTES);
		for (size_t i = 0; i < count; i++) {
			struct ugst_segment *s = &segments[items[i].index];

			assert_int_equal(items[i].out_off % align, 0);
			assert_true(items[i].out_off + s->bytes <= bytes);
			s->dst = (char *)w->arena + items[i].out_off;
			s->base = (char *)w->arena;
			s->slack = true;
		}
		assert_int_equal(
			ugst_plan_build(&plan, segments, count, &limits, NULL),
			UGDS_ST_OK);
		run_plan(w, &plan);
		check_world(w, &plan, true);
		assert_int_equal(w->read_bytes, needed_bytes(&plan));
		ugst_plan_free(&plan);
	}
	world_free(w);
}

/* Gate, up and down of one expert, adjacent in the file and in the arena: one
 * device range, direct but for the ends. LBA 512, entries of 1 MiB. */
static void expert_is_one_range(void **state)
{
	struct ugst_ugds_limits limits = {.lba_bytes = 512,
	                                  .command_bytes = 131072};
	struct ugst_segment *segments = ugst_calloc(3, sizeof(*segments));
	char *base = (char *)(uintptr_t)0x100000;
	struct ugst_plan plan;
	uint64_t off = 8 * UGST_MIB + 256;

	(void)state;
	for (uint32_t i = 0; i < 3; i++)
		segments[2 - i] = (struct ugst_segment){
			.device_off = off + i * 2 * UGST_MIB,
			.bytes = 2 * UGST_MIB,
			.dst = base + 256 + i * 2 * UGST_MIB,
			.base = base,
			.request = i,
		};
	assert_int_equal(ugst_plan_build(&plan, segments, 3, &limits, NULL),
	                 UGDS_ST_OK);
	/* Head: the 3840 bytes to the first page, in 8 blocks. Middle: up to
	 * the last block boundary. Tail: 256 bytes, in 1 block. */
	assert_int_equal(plan.range_count, 3);
	assert_null(plan.ranges[0].base);
	assert_int_equal(plan.ranges[0].bytes, 4096);
	assert_ptr_equal(plan.ranges[1].base, base);
	assert_int_equal(plan.ranges[1].device_off, 8 * UGST_MIB + 4096);
	assert_int_equal(plan.ranges[1].buffer_off, 4096);
	assert_int_equal(plan.ranges[1].bytes, 6 * UGST_MIB - 4096);
	assert_null(plan.ranges[2].base);
	assert_int_equal(plan.ranges[2].bytes, 512);
	ugst_plan_free(&plan);

	/* The same in memory of our own: one direct range of whole blocks. */
	segments = ugst_calloc(3, sizeof(*segments));
	for (uint32_t i = 0; i < 3; i++)
		segments[i] = (struct ugst_segment){
			.device_off = off + i * 2 * UGST_MIB,
			.bytes = 2 * UGST_MIB,
			.dst = base + 256 + i * 2 * UGST_MIB,
			.base = base,
			.slack = true,
			.request = i,
		};
	assert_int_equal(ugst_plan_build(&plan, segments, 3, &limits, NULL),
	                 UGDS_ST_OK);
	assert_int_equal(plan.range_count, 1);
	assert_int_equal(plan.ranges[0].device_off, 8 * UGST_MIB);
	assert_int_equal(plan.ranges[0].buffer_off, 0);
	assert_int_equal(plan.ranges[0].bytes, 6 * UGST_MIB + 512);
	ugst_plan_free(&plan);
}

static void entry_sizes(void **state)
{
	(void)state;
	assert_int_equal(ugst_plan_entry_bytes(4096), 9 * 4096);
	assert_int_equal(ugst_plan_entry_bytes(131072), 1 << 20);
	assert_int_equal(ugst_plan_entry_bytes(262144), 1 << 20);
	assert_int_equal(ugst_plan_entry_bytes(1 << 20), 1 << 20);
	assert_int_equal(ugst_plan_entry_bytes(2101248), 2101248);
	assert_int_equal(ugst_plan_slot_bytes(4096), 9 * 4096);
	assert_int_equal(ugst_plan_slot_bytes(131072), 1 << 20);
	assert_int_equal(ugst_plan_slot_bytes(1 << 20), 1 << 20);
	assert_int_equal(ugst_plan_slot_bytes(2101248), 1 << 20);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_lists),
		cmocka_unit_test(random_layouts),
		cmocka_unit_test(expert_is_one_range),
		cmocka_unit_test(entry_sizes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
