/* SPDX-License-Identifier: BSD-3-Clause */
/* test_layout.c - offsets for many payloads in one arena. */
#include "support/test.h"

#include "base/mem.h"
#include "base/units.h"
#include "pure/layout.h"
#include "support/random.h"

static int compare_offs(const void *left, const void *right)
{
	const struct ugst_layout_item *a = left;
	const struct ugst_layout_item *b = right;

	if (a->out_off != b->out_off)
		return a->out_off < b->out_off ? -1 : 1;
	return a->bytes < b->bytes ? -1 : a->bytes > b->bytes;
}

/* Payloads one after the other on the device, from a seed. */
static uint64_t fill(struct ugst_layout_item *items, size_t count,
                     uint64_t max_bytes, uint64_t *seed)
{
	uint64_t device_off = 4096 + random_below(seed, 4096);
	uint64_t payload_bytes = 0;

	for (size_t i = 0; i < count; i++) {
		items[i] = (struct ugst_layout_item){
			.lba_bytes = 512,
			.device_off = device_off,
			.bytes = random_below(seed, max_bytes + 1),
			.index = i,
		};
		payload_bytes += items[i].bytes;
		device_off += items[i].bytes;
		if (random_below(seed, 4) == 0)
			device_off += random_below(seed, 3 * 4096);
	}
	return payload_bytes;
}

/* Every offset is aligned, no two payloads share a byte, all are inside. */
static void aligned_and_apart(void **state)
{
	struct ugst_layout_item items[40];
	uint64_t seed = 5;

	(void)state;
	for (int round = 0; round < 20000; round++) {
		size_t count = 1 + random_below(&seed, UGST_COUNT(items));
		uint64_t align = 1ULL << random_below(&seed, 13);
		uint64_t end = 0;
		uint64_t bytes;

		(void)fill(items, count, round % 2 ? 300 : 20000, &seed);
		bytes = ugst_layout(items, count, align);
		assert_true(ugst_is_aligned(bytes, 65536));
		qsort(items, count, sizeof(*items), compare_offs);
		for (size_t i = 0; i < count; i++) {
			assert_true(ugst_is_aligned(items[i].out_off, align));
			assert_true(items[i].bytes == 0 ||
			            items[i].out_off >= end);
			end = ugst_max(end, items[i].out_off + items[i].bytes);
		}
		assert_true(end <= bytes);
	}
}

/* Many small payloads that cannot keep their places: no page for each. */
static void small_ones_lie_close(void **state)
{
	size_t count = 100000;
	struct ugst_layout_item *items = ugst_calloc(count, sizeof(*items));
	uint64_t seed = 6;
	uint64_t payload_bytes = fill(items, count, 100, &seed);

	(void)state;
	/* At most the alignment for each, and blocks and pages at both ends of
	 * the few that may lie as they do on the device: about one in 256. */
	assert_true(ugst_layout(items, count, 256) <=
	            payload_bytes + count * 256 + count / 64 * 3 * 4096);
	free(items);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(aligned_and_apart),
		cmocka_unit_test(small_ones_lie_close),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
