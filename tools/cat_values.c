/* SPDX-License-Identifier: BSD-3-Clause */
/* cat_values.c - elements of a tensor as numbers; see cat_values.h. */
#include "cat_values.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ugds_st.h"

/* ----------------------------------------------------------------- decoding */

static uint64_t little_endian(const uint8_t *at, unsigned bytes)
{
	uint64_t value = 0;

	for (unsigned i = 0; i < bytes; i++)
		value |= (uint64_t)at[i] << (8 * i);
	return value;
}

/* sign, exponent, fraction, as IEEE 754 has them, without infinity and NaN. */
static double small_float(uint32_t raw, unsigned exponent_bits,
                          unsigned fraction_bits, int bias)
{
	uint32_t fraction = raw & ((1u << fraction_bits) - 1);
	int exponent =
		(int)(raw >> fraction_bits & ((1u << exponent_bits) - 1));
	bool negative = raw >> (exponent_bits + fraction_bits) & 1;
	double value;

	if (exponent == 0)
		exponent = 1; /* subnormal: no hidden one */
	else
		fraction |= 1u << fraction_bits;
	value = ldexp(fraction, exponent - bias - (int)fraction_bits);
	return negative ? -value : value;
}

static double float8(int dtype, uint8_t raw)
{
	switch (dtype) {
	case UGDS_ST_DTYPE_F8_E5M2:
		if ((raw & 0x7f) == 0x7c)
			return raw & 0x80 ? -INFINITY : INFINITY;
		return (raw & 0x7f) > 0x7c ? NAN : small_float(raw, 5, 2, 15);
	case UGDS_ST_DTYPE_F8_E4M3:
		return (raw & 0x7f) == 0x7f ? NAN : small_float(raw, 4, 3, 7);
	case UGDS_ST_DTYPE_F8_E8M0:
		return raw == 0xff ? NAN : ldexp(1, raw - 127);
	case UGDS_ST_DTYPE_F8_E4M3FNUZ:
		return raw == 0x80 ? NAN : small_float(raw, 4, 3, 8);
	default: /* UGDS_ST_DTYPE_F8_E5M2FNUZ */
		return raw == 0x80 ? NAN : small_float(raw, 5, 2, 16);
	}
}

static double float16(uint16_t raw)
{
	if ((raw & 0x7fff) == 0x7c00)
		return raw & 0x8000 ? -INFINITY : INFINITY;
	return (raw & 0x7fff) > 0x7c00 ? NAN : small_float(raw, 5, 10, 15);
}

static double float32(uint32_t raw)
{
	float value;

	memcpy(&value, &raw, sizeof(value));
	return value;
}

static double float64(uint64_t raw)
{
	double value;

	memcpy(&value, &raw, sizeof(value));
	return value;
}

static enum cat_kind kind_of(int dtype)
{
	switch (dtype) {
	case UGDS_ST_DTYPE_F4:
	case UGDS_ST_DTYPE_F6_E2M3:
	case UGDS_ST_DTYPE_F6_E3M2:
		return CAT_PACKED;
	case UGDS_ST_DTYPE_BOOL:
		return CAT_BOOL;
	case UGDS_ST_DTYPE_I8:
	case UGDS_ST_DTYPE_I16:
	case UGDS_ST_DTYPE_I32:
	case UGDS_ST_DTYPE_I64:
		return CAT_SIGNED;
	case UGDS_ST_DTYPE_U8:
	case UGDS_ST_DTYPE_U16:
	case UGDS_ST_DTYPE_U32:
	case UGDS_ST_DTYPE_U64:
		return CAT_UNSIGNED;
	case UGDS_ST_DTYPE_C64:
		return CAT_COMPLEX;
	default:
		return CAT_REAL;
	}
}

static struct cat_value element(int dtype, const uint8_t *at, unsigned bytes)
{
	uint64_t raw = little_endian(at, bytes);
	struct cat_value value = {.u = raw};

	switch (dtype) {
	case UGDS_ST_DTYPE_BOOL:
		value.u = raw != 0;
		break;
	case UGDS_ST_DTYPE_I8:
		value.i = (int64_t)(raw ^ 0x80) - 0x80;
		break;
	case UGDS_ST_DTYPE_I16:
		value.i = (int16_t)raw;
		break;
	case UGDS_ST_DTYPE_I32:
		value.i = (int32_t)raw;
		break;
	case UGDS_ST_DTYPE_I64:
		value.i = (int64_t)raw;
		break;
	case UGDS_ST_DTYPE_F16:
		value.re = float16((uint16_t)raw);
		break;
	case UGDS_ST_DTYPE_BF16:
		value.re = float32((uint32_t)raw << 16);
		break;
	case UGDS_ST_DTYPE_F32:
		value.re = float32((uint32_t)raw);
		break;
	case UGDS_ST_DTYPE_F64:
		value.re = float64(raw);
		break;
	case UGDS_ST_DTYPE_C64:
		value.re = float32((uint32_t)raw);
		value.im = float32((uint32_t)(raw >> 32));
		break;
	default:
		if (kind_of(dtype) == CAT_REAL)
			value.re = float8(dtype, (uint8_t)raw);
	}
	return value;
}

/* ------------------------------------------------------------------ summing */

void cat_summary_begin(struct cat_summary *summary, int dtype)
{
	memset(summary, 0, sizeof(*summary));
	summary->dtype = dtype;
	summary->kind = kind_of(dtype);
}

static bool less(enum cat_kind kind, struct cat_value a, struct cat_value b)
{
	if (kind == CAT_REAL)
		return a.re < b.re;
	return kind == CAT_SIGNED ? a.i < b.i : a.u < b.u;
}

static void add_element(struct cat_summary *summary, struct cat_value value)
{
	bool real = summary->kind == CAT_REAL || summary->kind == CAT_COMPLEX;
	bool any = summary->count > summary->nan_count;

	if (summary->first_count < CAT_FIRST_COUNT)
		summary->first[summary->first_count++] = value;
	summary->count++;
	if (real && (isnan(value.re) || isnan(value.im))) {
		summary->nan_count++;
		return;
	}
	if (!any || less(summary->kind, value, summary->min))
		summary->min = value;
	if (!any || less(summary->kind, summary->max, value))
		summary->max = value;
	if (real)
		summary->sum += value.re;
	else if (summary->kind == CAT_SIGNED)
		summary->sum += value.i;
	else
		summary->sum += value.u;
	summary->sum_im += value.im;
}

void cat_summary_add(struct cat_summary *summary, const void *data,
                     size_t bytes)
{
	unsigned each = ugds_st_dtype_bits(summary->dtype) / 8;
	const uint8_t *at = data;

	if (summary->kind == CAT_PACKED) {
		for (size_t i = 0;
		     i < bytes && summary->first_count < CAT_FIRST_BYTES; i++)
			summary->bytes[summary->first_count++] = at[i];
		return;
	}
	for (; bytes >= each; at += each, bytes -= each)
		add_element(summary, element(summary->dtype, at, each));
}

/* ----------------------------------------------------------------- printing */

/* The fewest digits that give the number back. */
static void print_real(double value, bool single, bool json, FILE *out)
{
	const char *quote = json ? "\"" : "";
	char text[40];

	if (isnan(value)) {
		(void)fprintf(out, "%sNaN%s", quote, quote);
		return;
	}
	if (isinf(value)) {
		(void)fprintf(out, "%s%sInfinity%s", quote,
		              value < 0 ? "-" : "", quote);
		return;
	}
	for (int digits = 1; digits <= 17; digits++) {
		double back;

		(void)snprintf(text, sizeof(text), "%.*g", digits, value);
		back = strtod(text, NULL);
		if (back == value || (single && (float)back == (float)value))
			break;
	}
	(void)fputs(text, out);
}

static void print_value(const struct cat_summary *summary,
                        struct cat_value value, bool json, FILE *out)
{
	bool single = summary->dtype != UGDS_ST_DTYPE_F64;

	switch (summary->kind) {
	case CAT_BOOL:
		(void)fputs(value.u ? "true" : "false", out);
		break;
	case CAT_SIGNED:
		(void)fprintf(out, "%" PRId64, value.i);
		break;
	case CAT_UNSIGNED:
		(void)fprintf(out, "%" PRIu64, value.u);
		break;
	case CAT_REAL:
		print_real(value.re, single, json, out);
		break;
	case CAT_COMPLEX:
		(void)fputc(json ? '[' : '(', out);
		print_real(value.re, single, json, out);
		(void)fputs(", ", out);
		print_real(value.im, single, json, out);
		(void)fputc(json ? ']' : ')', out);
		break;
	case CAT_PACKED:
		break;
	}
}

/* For people with the digits of binary32, for programs with all of them. */
static void print_mean(const struct cat_summary *summary, bool json, FILE *out)
{
	uint64_t count = summary->count - summary->nan_count;
	struct cat_value mean = {.re = (double)(summary->sum / count),
	                         .im = (double)(summary->sum_im / count)};
	struct cat_summary as = {
		.dtype = json ? UGDS_ST_DTYPE_F64 : UGDS_ST_DTYPE_F32,
		.kind = summary->kind == CAT_COMPLEX ? CAT_COMPLEX : CAT_REAL};

	print_value(&as, mean, json, out);
}

static void print_first(const struct cat_summary *summary, bool json, FILE *out)
{
	for (size_t i = 0; i < summary->first_count; i++) {
		if (i > 0)
			(void)fputs(json ? ", " : " ", out);
		if (summary->kind == CAT_PACKED)
			(void)fprintf(out, json ? "\"%02x\"" : "%02x",
			              summary->bytes[i]);
		else
			print_value(summary, summary->first[i], json, out);
	}
}

void cat_summary_print(const struct cat_summary *summary, FILE *out)
{
	bool any = summary->count > summary->nan_count;

	if (any && summary->kind != CAT_COMPLEX) {
		(void)fputs("min     ", out);
		print_value(summary, summary->min, false, out);
		(void)fputs("\nmax     ", out);
		print_value(summary, summary->max, false, out);
		(void)fputc('\n', out);
	}
	if (any) {
		(void)fputs("mean    ", out);
		print_mean(summary, false, out);
		(void)fputc('\n', out);
	}
	if (summary->nan_count)
		(void)fprintf(out, "NaN     %" PRIu64 "\n", summary->nan_count);
	(void)fputs(summary->kind == CAT_PACKED ? "bytes   " : "first   ", out);
	print_first(summary, false, out);
	(void)fputc('\n', out);
}

void cat_summary_print_json(const struct cat_summary *summary, FILE *out)
{
	bool any = summary->count > summary->nan_count;
	bool ordered = any && summary->kind != CAT_COMPLEX;

	(void)fputs(", \"min\": ", out);
	if (ordered)
		print_value(summary, summary->min, true, out);
	else
		(void)fputs("null", out);
	(void)fputs(", \"max\": ", out);
	if (ordered)
		print_value(summary, summary->max, true, out);
	else
		(void)fputs("null", out);
	(void)fputs(", \"mean\": ", out);
	if (any)
		print_mean(summary, true, out);
	else
		(void)fputs("null", out);
	(void)fprintf(out, ", \"nan\": %" PRIu64 ", \"%s\": [",
	              summary->nan_count,
	              summary->kind == CAT_PACKED ? "first_bytes" : "first");
	print_first(summary, true, out);
	(void)fputc(']', out);
}
