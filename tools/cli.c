/* SPDX-License-Identifier: BSD-3-Clause */
/* cli.c - what the two tools share; see cli.h. */
#include "cli.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

const char *cli_program = "ugds-st";

/* ----------------------------------------------------------------- messages */

static void say(const char *fmt, va_list args)
{
	(void)fflush(stdout);
	(void)fprintf(stderr, "%s: ", cli_program);
	(void)vfprintf(stderr, fmt, args);
	(void)fputc('\n', stderr);
}

int cli_fail(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	say(fmt, args);
	va_end(args);
	return CLI_FAILED;
}

int cli_fail_error(const struct ugds_st_error *err)
{
	return cli_fail("%s", err->text);
}

int cli_usage_hint(void)
{
	(void)fprintf(stderr, "Try '%s --help'.\n", cli_program);
	return CLI_USAGE;
}

int cli_usage(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	say(fmt, args);
	va_end(args);
	return cli_usage_hint();
}

int cli_help(const char *text)
{
	(void)fputs(text, stdout);
	return cli_end_output();
}

int cli_show_version(void)
{
	(void)printf("%s %s\n", cli_program, ugds_st_version());
	return cli_end_output();
}

int cli_end_output(void)
{
	if (fflush(stdout) != 0 || ferror(stdout))
		return cli_fail("standard output: %s",
		                strerror(errno ? errno : EIO));
	return CLI_DONE;
}

/* ------------------------------------------------------------------ numbers */

bool cli_parse_size(const char *text, uint64_t *bytes_out)
{
	static const char suffixes[] = "KMGT";
	uint64_t bytes = 0;
	const char *at = text;

	if (*at < '0' || *at > '9')
		return false;
	for (; *at >= '0' && *at <= '9'; at++)
		if (__builtin_mul_overflow(bytes, 10u, &bytes) ||
		    __builtin_add_overflow(bytes, (unsigned)(*at - '0'),
		                           &bytes))
			return false;
	if (*at) {
		const char *suffix = strchr(suffixes, *at);
		uint64_t unit;

		if (!suffix || at[1])
			return false;
		unit = (uint64_t)1 << (10 * (suffix - suffixes + 1));
		if (__builtin_mul_overflow(bytes, unit, &bytes))
			return false;
	}
	*bytes_out = bytes;
	return true;
}

char *cli_human_bytes(uint64_t bytes, char text[CLI_HUMAN_BYTES])
{
	static const char *const units[] = {"B",   "KiB", "MiB", "GiB",
	                                    "TiB", "PiB", "EiB"};
	double value = (double)bytes;
	unsigned unit = 0;

	/* 1023.95 and more would print as 1024.0. */
	while (value >= (unit ? 1023.95 : 1024)) {
		value /= 1024;
		unit++;
	}
	(void)snprintf(text, CLI_HUMAN_BYTES, unit ? "%.1f %s" : "%.0f %s",
	               value, units[unit]);
	return text;
}

char *cli_uuid(const uint8_t uuid[16], char text[CLI_UUID_BYTES])
{
	char *at = text;

	for (int i = 0; i < 16; i++)
		at += sprintf(at, "%s%02x",
		              i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "",
		              uuid[i]);
	return text;
}

/* -------------------------------------------------------------------- names */

/* One character of UTF-8. Return: its bytes, 0 where there is none. */
static size_t decode(const unsigned char *text, size_t bytes, uint32_t *out)
{
	static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
	size_t length = text[0] < 0x80   ? 1
	                : text[0] < 0xc2 ? 0
	                : text[0] < 0xe0 ? 2
	                : text[0] < 0xf0 ? 3
	                : text[0] < 0xf5 ? 4
	                                 : 0;
	uint32_t value;

	if (length == 0 || length > bytes)
		return 0;
	value = length == 1 ? text[0] : text[0] & (0x7fu >> length);
	for (size_t i = 1; i < length; i++) {
		if ((text[i] & 0xc0) != 0x80)
			return 0;
		value = value << 6 | (text[i] & 0x3fu);
	}
	if (value < least[length] || value > 0x10ffff ||
	    (value >= 0xd800 && value < 0xe000))
		return 0;
	*out = value;
	return length;
}

/* What would move the cursor or turn the text around on a terminal. */
static bool is_unsafe(uint32_t value)
{
	return value < 0x20 || (value >= 0x7f && value < 0xa0) ||
	       value == 0x200e || value == 0x200f ||
	       (value >= 0x2028 && value <= 0x202e) ||
	       (value >= 0x2066 && value <= 0x2069);
}

size_t cli_put_name(FILE *out, const char *name, size_t name_bytes)
{
	const unsigned char *text = (const unsigned char *)name;
	size_t columns = 0;

	for (size_t at = 0; at < name_bytes;) {
		uint32_t value = 0;
		size_t length = decode(text + at, name_bytes - at, &value);

		if (length == 0 || is_unsafe(value)) {
			length = length ? length : 1;
			for (size_t i = 0; i < length; i++)
				(void)fprintf(out, "\\x%02x", text[at + i]);
			columns += 4 * length;
		} else if (value == '"' || value == '\\') {
			(void)fprintf(out, "\\%c", (int)value);
			columns += 2;
		} else {
			(void)fwrite(text + at, 1, length, out);
			columns++;
		}
		at += length;
	}
	return columns;
}

void cli_put_json(FILE *out, const char *text, size_t text_bytes)
{
	const unsigned char *bytes = (const unsigned char *)text;

	(void)fputc('"', out);
	for (size_t at = 0; at < text_bytes;) {
		uint32_t value = 0;
		size_t length = decode(bytes + at, text_bytes - at, &value);

		if (length == 0) {
			(void)fputs("\\ufffd", out);
			length = 1;
		} else if (value == '"' || value == '\\') {
			(void)fprintf(out, "\\%c", (int)value);
		} else if (is_unsafe(value)) {
			(void)fprintf(out, "\\u%04x", value);
		} else {
			(void)fwrite(bytes + at, 1, length, out);
		}
		at += length;
	}
	(void)fputc('"', out);
}

void cli_put_gap(FILE *out, size_t used, size_t width)
{
	do
		(void)fputc(' ', out);
	while (++used < width);
}

/* ----------------------------------------------------------------- progress */

static double now_s(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

void cli_progress_begin(struct cli_progress *progress, bool quiet)
{
	memset(progress, 0, sizeof(*progress));
	progress->on = !quiet && isatty(STDERR_FILENO);
	progress->started_s = now_s();
}

void cli_progress_show(struct cli_progress *progress, uint64_t done_bytes,
                       uint64_t all_bytes)
{
	char done[CLI_HUMAN_BYTES], all[CLI_HUMAN_BYTES];
	char rate[CLI_HUMAN_BYTES];
	double now = now_s();
	double passed = now - progress->started_s;
	double per_s, left;

	if (!progress->on || now - progress->last_s < 0.2 || passed <= 0)
		return;
	per_s = (double)done_bytes / passed;
	left = per_s > 0 ? (double)(all_bytes - done_bytes) / per_s : 0;
	(void)fprintf(stderr, "\r\033[K%s of %s, %s/s, %.0f:%02.0f left",
	              cli_human_bytes(done_bytes, done),
	              cli_human_bytes(all_bytes, all),
	              cli_human_bytes((uint64_t)per_s, rate),
	              (double)(uint64_t)(left / 60),
	              (double)((uint64_t)left % 60));
	progress->last_s = now;
	progress->shown = true;
}

void cli_progress_end(struct cli_progress *progress)
{
	if (progress->shown)
		(void)fputs("\r\033[K", stderr);
	progress->shown = false;
}
