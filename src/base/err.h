/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * err.h - how a function says what went wrong.
 *
 * The lowest layer that knows the thing writes the text, one line naming the
 * thing, the place and both values; upper layers pass it up unchanged. Each
 * function here returns its status, so that a check is two lines:
 *
 *	if (begin > end)
 *		return ugst_fail(err, UGDS_ST_FORMAT, "...", ...);
 */
#ifndef UGST_ERR_H
#define UGST_ERR_H

#include "base/common.h"

/* Room for a name printed by ugst_escape(), its ending NUL included. */
#define UGST_ESCAPED_BYTES 128

int ugst_fail(struct ugds_st_error *err, int status, const char *fmt, ...)
	UGST_PRINTF(3, 4);

/* A failed system call: keeps errnum and appends ": " and its text. */
int ugst_fail_errno(struct ugds_st_error *err, int status, int errnum,
                    const char *fmt, ...) UGST_PRINTF(4, 5);

/* A failed uGDS call: keeps the code (5000 + n) and appends its name. */
int ugst_fail_ugds(struct ugds_st_error *err, int status, int ugds_code,
                   const char *fmt, ...) UGST_PRINTF(4, 5);

/* Something wrong at a byte of the thing named. */
int ugst_fail_at(struct ugds_st_error *err, int status, uint64_t offset,
                 const char *fmt, ...) UGST_PRINTF(4, 5);

/* Out of memory: the text is fixed, nothing is allocated. */
int ugst_fail_memory(struct ugds_st_error *err);

/*
 * The analyzer sees one file at a time: it takes every refusal for a success
 * that left its outputs unset, unless it is told what these return.
 */
#if defined(__clang_analyzer__) && !defined(UGST_ERR_C)
#define ugst_fail(err, status, ...) \
	(ugst_fail(err, status, __VA_ARGS__), status)
#define ugst_fail_errno(err, status, ...) \
	(ugst_fail_errno(err, status, __VA_ARGS__), status)
#define ugst_fail_ugds(err, status, ...) \
	(ugst_fail_ugds(err, status, __VA_ARGS__), status)
#define ugst_fail_at(err, status, ...) \
	(ugst_fail_at(err, status, __VA_ARGS__), status)
#define ugst_fail_memory(err) (ugst_fail_memory(err), UGDS_ST_NO_MEMORY)
#endif

/* The status that an errno of open(), stat() and the like stands for. */
int ugst_errno_status(int errnum);

/* Put "<what>: " before the text that is there; what names the shard or file
 * that the writer of the text could not know. */
void ugst_err_prefix(struct ugds_st_error *err, const char *what);

/*
 * ugst_escape() - a name as one may print it.
 *
 * Control characters, DEL, backslash, quote and bytes that are not UTF-8
 * become \n, \", \\ or \xHH. Too long a result ends in "...".
 *
 * @out: out_bytes of room, at least 8; always ended by NUL.
 * Return: out.
 */
char *ugst_escape(const char *name, size_t name_bytes, char *out,
                  size_t out_bytes);

#endif /* UGST_ERR_H */
