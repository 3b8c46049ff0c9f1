/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * cat_values.h - elements of a tensor as numbers: the first few, the smallest,
 * the largest, the mean.
 */
#ifndef UGDS_ST_CAT_VALUES_H
#define UGDS_ST_CAT_VALUES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* Elements that are kept to be printed; bytes, where elements are packed. */
#define CAT_FIRST_COUNT 8u
#define CAT_FIRST_BYTES 16u

enum cat_kind {
	CAT_PACKED, /* elements of 4 or 6 bits: bytes only */
	CAT_BOOL,
	CAT_SIGNED,
	CAT_UNSIGNED,
	CAT_REAL,
	CAT_COMPLEX /* has no order: no smallest, no largest */
};

struct cat_value {
	union {
		int64_t i;  /* CAT_SIGNED */
		uint64_t u; /* CAT_UNSIGNED, CAT_BOOL */
		double re;  /* CAT_REAL, CAT_COMPLEX */
	};
	double im;
};

/* A tensor as seen so far. Set up by cat_summary_begin(), fed in order. */
struct cat_summary {
	int dtype;
	enum cat_kind kind;
	uint64_t count; /* elements, NaN included */
	uint64_t nan_count;
	struct cat_value min, max; /* valid when count > nan_count */
	long double sum, sum_im;   /* NaN left out */
	struct cat_value first[CAT_FIRST_COUNT];
	uint8_t bytes[CAT_FIRST_BYTES];
	size_t first_count; /* of first, or of bytes for CAT_PACKED */
};

void cat_summary_begin(struct cat_summary *summary, int dtype);

/* bytes of whole elements (CAT_PACKED: any bytes). */
void cat_summary_add(struct cat_summary *summary, const void *data,
                     size_t bytes);

/* Lines for people. */
void cat_summary_print(const struct cat_summary *summary, FILE *out);

/* ", \"min\": ..., ..." for the inside of an object. A number that JSON
 * lacks is "NaN", "Infinity" or "-Infinity"; what there is none of is null. */
void cat_summary_print_json(const struct cat_summary *summary, FILE *out);

#endif /* UGDS_ST_CAT_VALUES_H */
