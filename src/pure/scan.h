/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * scan.h - strict JSON (RFC 8259) over bytes: the token scanner under
 * header.c, index.c and json.c.
 *
 * The scanner sees no more than [text, end), allocates nothing and does not
 * recurse. What it takes and refuses is what serde_json does, which the
 * official safetensors loader uses.
 */
#ifndef UGST_SCAN_H
#define UGST_SCAN_H

#include "base/common.h"

/* Errors are rare: their code is kept out of the way of the rest. */
#define UGST_COLD __attribute__((cold))

/* Objects and arrays that may be open at once: serde_json refuses the 128th. */
#define UGST_SCAN_DEPTH_MAX 127u

struct ugst_scan {
	const char *text;
	const char *at; /* the next byte to look at */
	const char *end;
	const char *what; /* what errors call the text: "header" */
	struct ugds_st_error *err;
};

/* A string token: what is between the quotes, checked but not unescaped. */
struct ugst_string {
	const char *raw;
	size_t raw_bytes;
	bool escaped; /* holds a backslash */
};

static inline struct ugst_scan ugst_scan_over(const char *text, size_t bytes,
                                              const char *what,
                                              struct ugds_st_error *err)
{
	return (struct ugst_scan){text, text, text + bytes, what, err};
}

/*
 * ugst_scan_fail() - FORMAT: "bad <what> at byte <n>: ...".
 *
 * @at: the byte meant, in [text, end].
 */
int ugst_scan_fail(const struct ugst_scan *scan, const char *at,
                   const char *fmt, ...) UGST_PRINTF(3, 4) UGST_COLD;

/* FORMAT: "<what> is not UTF-8 at byte <n>: ...". */
int ugst_scan_fail_utf8(const struct ugst_scan *scan, const char *at) UGST_COLD;

/* FORMAT: "..., expected <wanted>, found <the byte at scan->at>". */
int ugst_scan_expected(const struct ugst_scan *scan,
                       const char *wanted) UGST_COLD;

/* Skip white space. */
static inline void ugst_scan_space(struct ugst_scan *scan)
{
	while (scan->at < scan->end && (*scan->at == ' ' || *scan->at == '\n' ||
	                                *scan->at == '\r' || *scan->at == '\t'))
		scan->at++;
}

/* The next byte behind white space; 0 at the end (a NUL is no JSON either). */
static inline char ugst_scan_peek(struct ugst_scan *scan)
{
	ugst_scan_space(scan);
	return scan->at < scan->end ? *scan->at : '\0';
}

/* Take the byte if it comes next, behind white space. */
static inline bool ugst_scan_take(struct ugst_scan *scan, char byte)
{
	if (ugst_scan_peek(scan) != byte)
		return false;
	scan->at++;
	return true;
}

/* Take the byte, or say what was wanted. Return: OK; FORMAT. */
static inline int ugst_scan_expect(struct ugst_scan *scan, char byte,
                                   const char *wanted)
{
	if (ugst_scan_take(scan, byte))
		return UGDS_ST_OK;
	return ugst_scan_expected(scan, wanted);
}

/* Take these bytes if they come next: for spellings that are usual. */
static inline bool ugst_scan_usual(struct ugst_scan *scan, const char *usual,
                                   size_t usual_bytes)
{
	if ((size_t)(scan->end - scan->at) < usual_bytes ||
	    memcmp(scan->at, usual, usual_bytes) != 0)
		return false;
	scan->at += usual_bytes;
	return true;
}

/*
 * ugst_scan_string() - a string: UTF-8, escapes and surrogate pairs checked.
 *
 * @wanted: for the error where there is no string: "a tensor name".
 * Return: OK; FORMAT.
 */
int ugst_scan_string(struct ugst_scan *scan, const char *wanted,
                     struct ugst_string *string_out);

/* Write the string unescaped; raw_bytes of room are enough. Return: bytes. */
size_t ugst_scan_unescape(const struct ugst_string *string, char *out);

/* Is the string, unescaped, this literal? For literals below 32 bytes. */
bool ugst_scan_is(const struct ugst_string *string, const char *literal,
                  size_t literal_bytes);

#define UGST_SCAN_IS(string, literal) \
	ugst_scan_is(string, literal, sizeof(literal) - 1)

/* Where scan_uint() cannot do it: says why. Return: FORMAT. */
int ugst_scan_uint_fail(struct ugst_scan *scan, const char *wanted) UGST_COLD;

/*
 * ugst_scan_uint() - an integer from 0 to 2^64 - 1, exactly, no fraction and no
 * exponent.
 */
static inline int ugst_scan_uint(struct ugst_scan *scan, const char *wanted,
                                 uint64_t *value_out)
{
	const char *at;
	const char *start;
	uint64_t value = 0;

	ugst_scan_space(scan);
	start = at = scan->at;
	for (; at < scan->end && *at >= '0' && *at <= '9'; at++) {
		uint64_t digit = (uint64_t)(*at - '0');

		/* Nineteen digits fit without a look. */
		if (at - start >= 19 && (value > UINT64_MAX / 10 ||
		                         value * 10 > UINT64_MAX - digit))
			return ugst_scan_uint_fail(scan, wanted);
		value = value * 10 + digit;
	}
	if (at == start || (*start == '0' && at - start > 1) ||
	    (at < scan->end && (*at == '.' || *at == 'e' || *at == 'E')))
		return ugst_scan_uint_fail(scan, wanted);
	scan->at = at;
	*value_out = value;
	return UGDS_ST_OK;
}

/* Any number that a double can hold. Return: OK; FORMAT. */
int ugst_scan_number(struct ugst_scan *scan);

/*
 * ugst_scan_skip() - any value, checked and passed over.
 *
 * @depth: objects and arrays that are open around it.
 * Return: OK; FORMAT.
 */
int ugst_scan_skip(struct ugst_scan *scan, unsigned depth);

/* Nothing but white space may follow. Return: OK; FORMAT. */
int ugst_scan_finish(struct ugst_scan *scan);

/*
 * ugst_scan_document() - is this one strict JSON document and nothing else?
 *
 * Refuses what cJSON lets pass: numbers such as 01 or +1, bytes behind the
 * root, a byte order mark, raw control characters, text that is not UTF-8,
 * half surrogate pairs, \u0000, depth above 64, and a member name twice in one
 * object (after unescaping).
 *
 * err->offset is the byte.
 * Return: OK; FORMAT; NO_MEMORY.
 */
int ugst_scan_document(const char *text, size_t bytes,
                       struct ugds_st_error *err);

#endif /* UGST_SCAN_H */
