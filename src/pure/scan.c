/* SPDX-License-Identifier: BSD-3-Clause */
/* scan.c - tokens of strict JSON; see scan.h. */
#include "base/common.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/err.h"
#include "base/le.h"
#include "base/utf8.h"
#include "pure/scan.h"

int ugst_scan_fail(const struct ugst_scan *scan, const char *at,
                   const char *fmt, ...)
{
	char text[sizeof(((struct ugds_st_error *)0)->text)];
	va_list args;

	va_start(args, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	return ugst_fail_at(scan->err, UGDS_ST_FORMAT,
	                    (uint64_t)(at - scan->text),
	                    "bad %s at byte %zu: %.380s", scan->what,
	                    (size_t)(at - scan->text), text);
}

int ugst_scan_fail_utf8(const struct ugst_scan *scan, const char *at)
{
	return ugst_fail_at(scan->err, UGDS_ST_FORMAT,
	                    (uint64_t)(at - scan->text),
	                    "%s is not UTF-8 at byte %zu: expected a "
	                    "well-formed character, found byte 0x%02x",
	                    scan->what, (size_t)(at - scan->text),
	                    (unsigned)(unsigned char)*at);
}

/* The byte at a place, as an error prints it. */
static const char *found(const struct ugst_scan *scan, const char *at,
                         char text[16])
{
	unsigned char c;

	if (at >= scan->end)
		return "the end";
	c = (unsigned char)*at;
	if (c >= 0x20 && c < 0x7f)
		(void)snprintf(text, 16, c == '\'' ? "\"%c\"" : "'%c'", c);
	else
		(void)snprintf(text, 16, "byte 0x%02x", c);
	return text;
}

int ugst_scan_expected(const struct ugst_scan *scan, const char *wanted)
{
	char text[16];

	return ugst_scan_fail(scan, scan->at, "expected %s, found %s", wanted,
	                      found(scan, scan->at, text));
}

/* ---------------------------------------------------------------- strings */

#define EACH_BYTE(byte) (UINT64_C(0x0101010101010101) * (byte))

/*
 * Bytes at the start of eight that are plain: no quote, no backslash, not below
 * 0x20, not above 0x7f. The lowest byte that is special is always seen; those
 * above it may be seen wrongly, by the borrow, which does no harm.
 */
static inline size_t plain_bytes(const char *at)
{
	uint64_t word = ugst_get_le64(at);
	uint64_t quote = word ^ EACH_BYTE('"');
	uint64_t backslash = word ^ EACH_BYTE('\\');
	uint64_t special = (word - EACH_BYTE(0x20)) | (quote - EACH_BYTE(1)) |
	                   (backslash - EACH_BYTE(1)) | word;

	special &= EACH_BYTE(0x80);
	return special ? (size_t)__builtin_ctzll(special) / 8 : 8;
}

/* The first byte of [at, end) that is not plain; end: none. */
static inline const char *skip_plain(const char *at, const char *end)
{
	while (end - at >= 8) {
		size_t bytes = plain_bytes(at);

		at += bytes;
		if (bytes < 8)
			return at;
	}
	while (at < end && *at != '"' && *at != '\\' &&
	       (unsigned char)*at >= 0x20 && (unsigned char)*at < 0x80)
		at++;
	return at;
}

static int hex_value(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

/* The UTF-16 unit of \uXXXX at text; -1: there is none. */
static int32_t utf16_unit(const char *text, size_t bytes)
{
	int32_t unit = 0;

	if (bytes < 6 || text[0] != '\\' || text[1] != 'u')
		return -1;
	for (size_t i = 2; i < 6; i++) {
		int digit = hex_value(text[i]);

		if (digit < 0)
			return -1;
		unit = unit * 16 + digit;
	}
	return unit;
}

static bool is_high_surrogate(int32_t unit)
{
	return unit >= 0xd800 && unit <= 0xdbff;
}

static bool is_low_surrogate(int32_t unit)
{
	return unit >= 0xdc00 && unit <= 0xdfff;
}

/* Check the escape at a backslash. Return: its bytes; 0: failed. */
static size_t check_escape(const struct ugst_scan *scan, const char *at)
{
	size_t left = (size_t)(scan->end - at);
	int32_t unit;

	if (left >= 2 && at[1] != '\0' && strchr("\"\\/bfnrt", at[1]))
		return 2;
	if (left < 2 || at[1] != 'u') {
		(void)ugst_scan_fail(
			scan, at,
			"no such escape in a string, expected one "
			"of \\\" \\\\ \\/ \\b \\f \\n \\r \\t \\u");
		return 0;
	}
	unit = utf16_unit(at, left);
	if (unit < 0) {
		(void)ugst_scan_fail(scan, at,
		                     "expected four hex digits after \\u");
		return 0;
	}
	if (is_high_surrogate(unit) &&
	    is_low_surrogate(utf16_unit(at + 6, left - 6)))
		return 12;
	if (is_high_surrogate(unit) || is_low_surrogate(unit)) {
		(void)ugst_scan_fail(scan, at,
		                     "\\u%04x is half of a surrogate pair "
		                     "without its other half",
		                     (unsigned)unit);
		return 0;
	}
	return 6;
}

/*
 * Pass over one character that is not plain.
 * Return: bytes; 0: failed.
 */
static size_t check_char(const struct ugst_scan *scan, const char *at,
                         struct ugst_string *string)
{
	unsigned char c = (unsigned char)*at;
	size_t bytes;

	if (c == '\\') {
		string->escaped = true;
		return check_escape(scan, at);
	}
	if (c < 0x20) {
		(void)ugst_scan_fail(scan, at,
		                     "control character 0x%02x in a string, "
		                     "expected it escaped as \\u%04x",
		                     c, c);
		return 0;
	}
	bytes = ugst_utf8_char_bytes(at, (size_t)(scan->end - at));
	if (bytes == 0)
		(void)ugst_scan_fail_utf8(scan, at);
	return bytes;
}

int ugst_scan_string(struct ugst_scan *scan, const char *wanted,
                     struct ugst_string *string_out)
{
	struct ugst_string string = {0};
	const char *at;

	if (ugst_scan_peek(scan) != '"')
		return ugst_scan_expected(scan, wanted);
	at = scan->at + 1;
	string.raw = at;
	for (;;) {
		size_t bytes;

		at = skip_plain(at, scan->end);
		if (at == scan->end)
			break;
		if (*at == '"') {
			string.raw_bytes = (size_t)(at - string.raw);
			scan->at = at + 1;
			*string_out = string;
			return UGDS_ST_OK;
		}
		bytes = check_char(scan, at, &string);
		if (bytes == 0)
			return UGDS_ST_FORMAT;
		at += bytes;
	}
	return ugst_scan_fail(scan, scan->end,
	                      "expected '\"' to end the string that begins at "
	                      "byte %zu, found the end",
	                      (size_t)(scan->at - scan->text));
}

static size_t put_utf8(uint32_t point, char *out)
{
	if (point < 0x80) {
		out[0] = (char)point;
		return 1;
	}
	if (point < 0x800) {
		out[0] = (char)(0xc0 | point >> 6);
		out[1] = (char)(0x80 | (point & 63));
		return 2;
	}
	if (point < 0x10000) {
		out[0] = (char)(0xe0 | point >> 12);
		out[1] = (char)(0x80 | (point >> 6 & 63));
		out[2] = (char)(0x80 | (point & 63));
		return 3;
	}
	out[0] = (char)(0xf0 | point >> 18);
	out[1] = (char)(0x80 | (point >> 12 & 63));
	out[2] = (char)(0x80 | (point >> 6 & 63));
	out[3] = (char)(0x80 | (point & 63));
	return 4;
}

/* One checked escape at text, which takes *taken bytes. Return: bytes put. */
static size_t put_escape(const char *text, size_t bytes, size_t *taken,
                         char *out)
{
	static const char letters[] = "bfnrt";
	static const char controls[] = "\b\f\n\r\t";
	const char *letter = strchr(letters, text[1]);
	uint32_t point;

	*taken = 2;
	if (text[1] != 'u') {
		out[0] = letter ? controls[letter - letters] : text[1];
		return 1;
	}
	point = (uint32_t)utf16_unit(text, bytes);
	*taken = 6;
	if (is_high_surrogate((int32_t)point)) {
		uint32_t low = (uint32_t)utf16_unit(text + 6, bytes - 6);

		point = 0x10000 + ((point - 0xd800) << 10) + (low - 0xdc00);
		*taken = 12;
	}
	return put_utf8(point, out);
}

size_t ugst_scan_unescape(const struct ugst_string *string, char *out)
{
	const char *at = string->raw;
	const char *end = at + string->raw_bytes;
	size_t put = 0;

	if (!string->escaped) {
		memcpy(out, at, string->raw_bytes);
		return string->raw_bytes;
	}
	while (at < end) {
		size_t taken = 1;

		if (*at == '\\')
			put += put_escape(at, (size_t)(end - at), &taken,
			                  out + put);
		else
			out[put++] = *at;
		at += taken;
	}
	return put;
}

bool ugst_scan_is(const struct ugst_string *string, const char *literal,
                  size_t literal_bytes)
{
	char text[6 * 32];

	if (!string->escaped)
		return string->raw_bytes == literal_bytes &&
		       memcmp(string->raw, literal, literal_bytes) == 0;
	/* An escape takes six bytes for one at most. */
	if (string->raw_bytes > 6 * literal_bytes ||
	    string->raw_bytes > sizeof(text))
		return false;
	return ugst_scan_unescape(string, text) == literal_bytes &&
	       memcmp(text, literal, literal_bytes) == 0;
}

/* ---------------------------------------------------------------- numbers */

static bool is_digit_at(const struct ugst_scan *scan, const char *at)
{
	return at < scan->end && *at >= '0' && *at <= '9';
}

int ugst_scan_uint_fail(struct ugst_scan *scan, const char *wanted)
{
	const char *at = scan->at;

	if (!is_digit_at(scan, at))
		return ugst_scan_expected(scan, wanted);
	if (*at == '0' && is_digit_at(scan, at + 1))
		return ugst_scan_fail(scan, at,
		                      "expected %s, found a number with a "
		                      "leading zero",
		                      wanted);
	while (is_digit_at(scan, at))
		at++;
	if (at < scan->end && (*at == '.' || *at == 'e' || *at == 'E'))
		return ugst_scan_fail(scan, scan->at,
		                      "expected %s, found a number with a "
		                      "fraction or exponent",
		                      wanted);
	return ugst_scan_fail(scan, scan->at,
	                      "expected %s of at most 18446744073709551615, "
	                      "found %.*s%s",
	                      wanted,
	                      at - scan->at > 40 ? 40 : (int)(at - scan->at),
	                      scan->at, at - scan->at > 40 ? "..." : "");
}

/* A number as serde_json reads it: it stops taking digits before the
 * significand passes 64 bits and counts what it leaves out. */
struct decimal {
	uint64_t significand;
	int64_t exponent;
	bool full;
};

static void add_digit(struct decimal *number, char digit, bool fraction)
{
	uint64_t grown;

	if (!number->full &&
	    !__builtin_mul_overflow(number->significand, (uint64_t)10,
	                            &grown) &&
	    !__builtin_add_overflow(grown, (uint64_t)(digit - '0'), &grown)) {
		number->significand = grown;
		number->exponent -= fraction;
		return;
	}
	number->full = true;
	number->exponent += !fraction;
}

/* Does it stay below infinity, multiplied out as serde_json does? */
static bool is_finite(const struct decimal *number)
{
	char power[16];

	if (number->significand == 0 || number->exponent <= 0)
		return true;
	if (number->exponent > 308)
		return false;
	(void)snprintf(power, sizeof(power), "1e%d", (int)number->exponent);
	return !isinf((double)number->significand * strtod(power, NULL));
}

/* The exponent behind 'e'. false: no digits. */
static bool scan_exponent(const struct ugst_scan *scan, const char **at,
                          struct decimal *number)
{
	bool negative = *at < scan->end && **at == '-';
	int64_t exponent = 0;

	if (*at < scan->end && (**at == '-' || **at == '+'))
		(*at)++;
	if (!is_digit_at(scan, *at))
		return false;
	for (; is_digit_at(scan, *at); (*at)++)
		if (exponent <= INT32_MAX)
			exponent = exponent * 10 + (**at - '0');
	number->exponent += negative ? -exponent : exponent;
	return true;
}

int ugst_scan_number(struct ugst_scan *scan)
{
	struct decimal number = {0};
	const char *at = scan->at;
	const char *digits;

	if (*at == '-')
		at++;
	digits = at;
	for (; is_digit_at(scan, at); at++)
		add_digit(&number, *at, false);
	if (at == digits)
		goto no_digit;
	if (*digits == '0' && at - digits > 1)
		return ugst_scan_fail(scan, digits,
		                      "number with a leading zero");
	if (at < scan->end && *at == '.') {
		at++;
		if (!is_digit_at(scan, at))
			goto no_digit;
		for (; is_digit_at(scan, at); at++)
			add_digit(&number, *at, true);
	}
	if (at < scan->end && (*at == 'e' || *at == 'E')) {
		at++;
		if (!scan_exponent(scan, &at, &number))
			goto no_digit;
	}
	if (!is_finite(&number))
		return ugst_scan_fail(scan, scan->at,
		                      "number too large for a double");
	scan->at = at;
	return UGDS_ST_OK;

no_digit:
	scan->at = at;
	return ugst_scan_expected(scan, "a digit");
}
