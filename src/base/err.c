/* SPDX-License-Identifier: BSD-3-Clause */
/* err.c - error texts; see err.h. */
#include "base/common.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

#define UGST_ERR_C
#include "base/err.h"
#include "base/utf8.h"

/* A character that a terminal obeys. C1 controls, U+0080 to U+009F, are as bad
 * as C0. */
static bool is_control(const char *at, size_t char_bytes)
{
	unsigned char c = (unsigned char)at[0];

	return c < 0x20 || c == 0x7f ||
	       (char_bytes == 2 && c == 0xc2 && (unsigned char)at[1] < 0xa0);
}

/* One line, and nothing that a terminal obeys: a name of a stranger's may have
 * come in unescaped, and a cut may have hit a character. */
static void clean(char *text)
{
	size_t bytes = strlen(text);
	size_t char_bytes;

	for (char *end = text + bytes; text < end; text += char_bytes) {
		char_bytes = ugst_utf8_char_bytes(text, (size_t)(end - text));
		if (char_bytes == 0 || is_control(text, char_bytes)) {
			char_bytes = char_bytes ? char_bytes : 1;
			memset(text, '?', char_bytes);
		}
	}
}

static void fill(struct ugds_st_error *err, int status, const char *fmt,
                 va_list args)
{
	memset(err, 0, sizeof(*err));
	err->status = status;
	err->offset = UGDS_ST_NO_OFFSET;
	(void)vsnprintf(err->text, sizeof(err->text), fmt, args);
	clean(err->text);
}

static void append(struct ugds_st_error *err, const char *text)
{
	size_t used = strlen(err->text);

	(void)snprintf(err->text + used, sizeof(err->text) - used, ": %s",
	               text);
	clean(err->text);
}

int ugst_fail(struct ugds_st_error *err, int status, const char *fmt, ...)
{
	va_list args;

	if (!err)
		return status;
	va_start(args, fmt);
	fill(err, status, fmt, args);
	va_end(args);
	return status;
}

int ugst_fail_errno(struct ugds_st_error *err, int status, int errnum,
                    const char *fmt, ...)
{
	char text[128];
	va_list args;

	if (!err)
		return status;
	va_start(args, fmt);
	fill(err, status, fmt, args);
	va_end(args);
	err->sys_errno = errnum;
	append(err, strerror_r(errnum, text, sizeof(text)));
	return status;
}

/* Names from the uGDS header; the numbers are pinned there. */
static const char *ugds_code_name(int code)
{
	switch (code) {
	case 5001:
		return "driver not initialized";
	case 5007:
		return "platform not supported";
	case 5008:
		return "I/O not supported";
	case 5011:
		return "GPU driver error";
	case 5018:
		return "invalid file type";
	case 5022:
		return "invalid value";
	case 5023:
		return "memory already registered";
	case 5024:
		return "memory not registered";
	case 5027:
		return "handle not registered";
	case 5030:
		return "internal error";
	case 5036:
		return "GPU memory pinning failed";
	case 5040:
		return "batch capacity exceeded";
	case 5041:
		return "RDMA memory region still active";
	case 5042:
		return "busy";
	case 5043:
		return "out of memory";
	default:
		return "unknown error";
	}
}

int ugst_fail_ugds(struct ugds_st_error *err, int status, int ugds_code,
                   const char *fmt, ...)
{
	char text[64];
	va_list args;

	if (!err)
		return status;
	va_start(args, fmt);
	fill(err, status, fmt, args);
	va_end(args);
	err->ugds_code = ugds_code;
	(void)snprintf(text, sizeof(text), "uGDS %d, %s", ugds_code,
	               ugds_code_name(ugds_code));
	append(err, text);
	return status;
}

int ugst_fail_at(struct ugds_st_error *err, int status, uint64_t offset,
                 const char *fmt, ...)
{
	va_list args;

	if (!err)
		return status;
	va_start(args, fmt);
	fill(err, status, fmt, args);
	va_end(args);
	err->offset = offset;
	return status;
}

int ugst_fail_memory(struct ugds_st_error *err)
{
	return ugst_fail(err, UGDS_ST_NO_MEMORY, "out of memory");
}

int ugst_errno_status(int errnum)
{
	switch (errnum) {
	case ENOENT:
	case ENOTDIR:
	case ENXIO:
	case ENODEV:
		return UGDS_ST_NOT_FOUND;
	case ENOMEM:
		return UGDS_ST_NO_MEMORY;
	case EBUSY:
	case EAGAIN:
		return UGDS_ST_BUSY;
	case ENOSPC:
	case EDQUOT:
	case EFBIG:
		return UGDS_ST_NO_SPACE;
	default:
		return UGDS_ST_IO;
	}
}

void ugst_err_prefix(struct ugds_st_error *err, const char *what)
{
	char text[sizeof(err->text)];
	int used;

	if (!err)
		return;
	memcpy(text, err->text, sizeof(text));
	used = snprintf(err->text, sizeof(err->text), "%s: ", what);
	if (used > 0 && (size_t)used < sizeof(err->text))
		(void)snprintf(err->text + used,
		               sizeof(err->text) - (size_t)used, "%.400s",
		               text);
	clean(err->text);
}

/* Bytes of the printed form of the character at name, and the form itself. */
static size_t escape_one(const char *name, size_t name_bytes, char form[8],
                         size_t *form_bytes_out)
{
	unsigned char c = (unsigned char)name[0];
	size_t char_bytes = ugst_utf8_char_bytes(name, name_bytes);

	if (c == '"' || c == '\\') {
		form[0] = '\\';
		form[1] = (char)c;
		*form_bytes_out = 2;
		return 1;
	}
	if (char_bytes == 0 || is_control(name, char_bytes)) {
		*form_bytes_out = (size_t)snprintf(form, 8, "\\x%02x", c);
		return 1;
	}
	memcpy(form, name, char_bytes);
	*form_bytes_out = char_bytes;
	return char_bytes;
}

char *ugst_escape(const char *name, size_t name_bytes, char *out,
                  size_t out_bytes)
{
	size_t used = 0;

	for (size_t at = 0; at < name_bytes;) {
		char form[8];
		size_t form_bytes;
		size_t taken = escape_one(name + at, name_bytes - at, form,
		                          &form_bytes);

		/* Room for "..." and NUL must stay. */
		if (used + form_bytes + 4 > out_bytes) {
			memcpy(out + used, "...", 3);
			used += 3;
			break;
		}
		memcpy(out + used, form, form_bytes);
		used += form_bytes;
		at += taken;
	}
	out[used] = '\0';
	return out;
}
