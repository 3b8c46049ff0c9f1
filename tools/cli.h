/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * cli.h - what the two tools share: exit codes, sizes, names, JSON, progress.
 *
 * Results go to standard output, everything else to standard error. An error
 * is one line, "PROGRAM: text".
 */
#ifndef UGDS_ST_CLI_H
#define UGDS_ST_CLI_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "ugds_st.h"

/* Exit codes; people script them. */
enum cli_exit {
	CLI_DONE = 0,
	CLI_FAILED = 1,
	CLI_USAGE = 2
};

/* Name of the running program in messages: set first, in main(). */
extern const char *cli_program;

/* Both print one line on standard error, and return CLI_FAILED. */
int cli_fail(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
int cli_fail_error(const struct ugds_st_error *err);

/* A command line that makes no sense: one line (getopt may have printed it
 * already) and a pointer to --help. Both return CLI_USAGE. */
int cli_usage_hint(void);
int cli_usage(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* --help and --version, on standard output. Return: as cli_end_output(). */
int cli_help(const char *text);
int cli_show_version(void);

/*
 * cli_end_output() - flush standard output and see that all of it got there.
 *
 * A full disk or a closed pipe shows here.
 * Return: CLI_DONE; CLI_FAILED (said on standard error).
 */
int cli_end_output(void);

/* "64M" and the like: digits, then K, M, G, T (powers of 1024) or nothing.
 * false: not a size, or it does not fit. */
bool cli_parse_size(const char *text, uint64_t *bytes_out);

/* Bytes for people: "0 B", "1023 B", "4.1 GiB". Return: text. */
#define CLI_HUMAN_BYTES 16
char *cli_human_bytes(uint64_t bytes, char text[CLI_HUMAN_BYTES]);

/* 8-4-4-4-12. Return: text. */
#define CLI_UUID_BYTES 37
char *cli_uuid(const uint8_t uuid[16], char text[CLI_UUID_BYTES]);

/*
 * cli_put_name() - print a name that a stranger chose.
 *
 * Control characters, quote, backslash, what reverses the direction of text
 * and bytes that are not UTF-8 are escaped.
 * Return: columns taken, a character counted as one.
 */
size_t cli_put_name(FILE *out, const char *name, size_t name_bytes);

/* A string of JSON, with its quotes. Bytes that are not UTF-8 (a path may have
 * them) become U+FFFD. */
void cli_put_json(FILE *out, const char *text, size_t text_bytes);

/* Pad with spaces from column used to column width, at least one. */
void cli_put_gap(FILE *out, size_t used, size_t width);

/* Progress on standard error: nothing unless that is a terminal. */
struct cli_progress {
	bool on;
	bool shown;
	double started_s;
	double last_s;
};

void cli_progress_begin(struct cli_progress *progress, bool quiet);

/* Bytes done of all, the rate so far and the time left; at most five times a
 * second. */
void cli_progress_show(struct cli_progress *progress, uint64_t done_bytes,
                       uint64_t all_bytes);

/* Take the line away. */
void cli_progress_end(struct cli_progress *progress);

#endif /* UGDS_ST_CLI_H */
