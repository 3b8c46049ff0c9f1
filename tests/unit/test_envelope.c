/* SPDX-License-Identifier: BSD-3-Clause */
/* test_envelope.c - blocks of a payload, placement in a buffer. */
#include "support/test.h"

#include "pure/envelope.h"
#include "support/random.h"

/* Every payload in a small device, against counting blocks one by one. */
static void envelope_small_domain(void **state)
{
	(void)state;
	for (uint32_t lba = 1; lba <= 8; lba *= 2)
		for (uint64_t off = 0; off < 40; off++)
			for (uint64_t bytes = 1; bytes < 40; bytes++) {
				struct ugst_envelope e =
					ugst_envelope(off, bytes, lba);
				uint64_t first = off / lba;
				uint64_t last = (off + bytes - 1) / lba;

				assert_int_equal(e.off, first * lba);
				assert_int_equal(e.bytes,
				                 (last - first + 1) * lba);
				assert_int_equal(e.skew_bytes, off % lba);
			}
}

static void envelope_of_nothing(void **state)
{
	struct ugst_envelope e = ugst_envelope(1000, 0, 512);

	(void)state;
	assert_int_equal(e.off, 512);
	assert_int_equal(e.bytes, 0);
	assert_int_equal(e.skew_bytes, 488);
}

static void envelope_far_out(void **state)
{
	/* 2^63 - 1 is in the last 4096-byte block below 2^63. */
	struct ugst_envelope e = ugst_envelope(INT64_MAX, 1, 4096);

	(void)state;
	assert_true(e.off == ((uint64_t)1 << 63) - 4096);
	assert_int_equal(e.bytes, 4096);
	assert_int_equal(e.skew_bytes, 4095);
}

/* Worked by hand. LBA 512: the buffer's next page is at 8192, 1464 bytes on;
 * 1049672 + 1464 = 1051136 = 2053 x 512; the last block boundary before
 * 6728 + 20000 = 26728 is 26624. */
static void place_lba_512(void **state)
{
	struct ugst_placement p = ugst_place(1049672, 20000, 6728, 512, 4096);

	(void)state;
	assert_int_equal(p.head_bytes, 1464);
	assert_int_equal(p.middle_bytes, 18432);
	assert_int_equal(p.tail_bytes, 104);
	assert_int_equal((1049672 + p.head_bytes) / 512, 2053);
	assert_int_equal(6728 + p.head_bytes, 8192);
}

/* LBA 4096: 12376 + 4008 = 16384; 2117720 + 4008 = 518 x 4096. */
static void place_lba_4096(void **state)
{
	struct ugst_placement p = ugst_place(2117720, 50000, 12376, 4096, 4096);

	(void)state;
	assert_int_equal(p.head_bytes, 4008);
	assert_int_equal(p.middle_bytes, 45056);
	assert_int_equal(p.tail_bytes, 936);
	assert_int_equal((2117720 + p.head_bytes) / 4096, 518);
}

static void place_refuses(void **state)
{
	(void)state;
	/* Buffer and device are skewed apart: nothing can go direct. */
	assert_int_equal(ugst_place(1, 1 << 20, 0, 512, 1).middle_bytes, 0);
	assert_int_equal(ugst_place(1, 1 << 20, 0, 512, 1).head_bytes, 1 << 20);
	/* One byte less than what is worth it, and exactly that. */
	assert_int_equal(ugst_place(0, 8191, 0, 512, 8192).middle_bytes, 0);
	assert_int_equal(ugst_place(0, 8192, 0, 512, 8192).middle_bytes, 8192);
	/* Ends before the first page boundary. */
	assert_int_equal(ugst_place(100, 50, 100, 512, 1).middle_bytes, 0);
	assert_int_equal(ugst_place(0, 0, 0, 512, 0).middle_bytes, 0);
}

/* The largest middle there is, found by trying every byte. */
static uint64_t middle_by_trial(uint64_t p, uint64_t n, uint64_t d,
                                uint32_t lba, uint64_t *start_out)
{
	for (uint64_t i = 0; i < n; i++) {
		uint64_t end = n;

		if ((d + i) % 4096)
			continue;
		*start_out = i;
		if ((p + i) % lba)
			return 0;
		while (end > i && (end - i) % lba)
			end--;
		return end - i;
	}
	return 0;
}

static void place_random(void **state)
{
	uint64_t seed = 20260101;

	(void)state;
	for (int i = 0; i < 200000; i++) {
		uint32_t lba = 512u << random_below(&seed, 4);
		uint64_t p = random_below(&seed, 1 << 20);
		uint64_t n = random_below(&seed, 20000);
		uint64_t d = random_below(&seed, 3)
		                     ? p % 4096 + 4096 * random_below(&seed, 9)
		                     : random_below(&seed, 40000);
		struct ugst_placement got = ugst_place(p, n, d, lba, 1);
		uint64_t start = 0;
		uint64_t middle = middle_by_trial(p, n, d, lba, &start);

		assert_int_equal(got.middle_bytes, middle);
		assert_int_equal(got.head_bytes, middle ? start : n);
		assert_int_equal(
			got.head_bytes + got.middle_bytes + got.tail_bytes, n);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(envelope_small_domain),
		cmocka_unit_test(envelope_of_nothing),
		cmocka_unit_test(envelope_far_out),
		cmocka_unit_test(place_lba_512),
		cmocka_unit_test(place_lba_4096),
		cmocka_unit_test(place_refuses),
		cmocka_unit_test(place_random),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
