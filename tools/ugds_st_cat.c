/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ugds_st_cat.c - ugds-st-cat: what a checkpoint holds, and its bytes.
 *
 * A manifest is opened with ugds_st_open() and read through the batch path,
 * anything else goes to ugds_st_inspect(): is_manifest() says which is which.
 */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cat_show.h"
#include "cli.h"

static const char help[] =
	"Usage: ugds-st-cat [--json] [--stats] [--degraded]\n"
	"                   [--device DEVICE]... MANIFEST [NAME]...\n"
	"       ugds-st-cat [--stats] [--degraded] [--device DEVICE]...\n"
	"                   --raw MANIFEST NAME\n"
	"       ugds-st-cat [--stats] [--degraded] [--device DEVICE]...\n"
	"                   --verify MANIFEST\n"
	"       ugds-st-cat [--json] CHECKPOINT\n"
	"\n"
	"Without NAME, lists the tensors. With NAME, reads the tensor and\n"
	"prints its dtype, shape, size, place, smallest, largest and mean\n"
	"value and the first values. NAME may be written as the list shows\n"
	"it, with \\x00 and the like.\n"
	"\n"
	"MANIFEST is what ugds-st-import wrote. CHECKPOINT is a .safetensors\n"
	"file, an index file or a directory; it is parsed and checked only.\n"
	"\n"
	"  -d, --device DEVICE  a device that holds volumes, in place of\n"
	"                       those that the manifest recorded\n"
	"      --degraded       go on without a volume, if every shard has\n"
	"                       a copy on another\n"
	"  -j, --json           print an array of objects\n"
	"  -r, --raw            write the tensor's bytes, nothing else\n"
	"  -V, --verify         read everything, compare every hash\n"
	"  -s, --stats          then print counters on standard error\n"
	"  -h, --help           print this\n"
	"      --version        print the version\n"
	"\n"
	"Exit status: 0 done, 1 failed, 2 wrong usage.\n";

struct options {
	bool json;
	bool raw;
	bool verify;
	bool stats;
	bool degraded;
	const char **devices;
	size_t device_count;
	const char *path;
	char **names;
	size_t name_count;
};

/*
 * Does path look like a manifest? A regular file whose first character is '{'
 * and whose first 64 KiB hold "format": "ugds-st-manifest". What cannot be
 * read is left to the library, which says why.
 */
static bool is_manifest(const char *path)
{
	static const char member[] = "\"format\"";
	static const char value[] = "\"ugds-st-manifest\"";
	static const char space[] = " \t\r\n";
	char text[65536];
	struct stat status;
	FILE *file;
	size_t bytes;
	const char *at;

	/* Opening a pipe would wait for its writer. */
	if (stat(path, &status) != 0 || !S_ISREG(status.st_mode))
		return false;
	file = fopen(path, "re");
	if (!file)
		return false;
	bytes = fread(text, 1, sizeof(text) - 1, file);
	(void)fclose(file);
	text[bytes] = '\0';
	if (text[strspn(text, space)] != '{')
		return false;
	for (at = text; (at = strstr(at, member)) != NULL;) {
		at += sizeof(member) - 1;
		at += strspn(at, space);
		if (*at != ':')
			continue;
		at++;
		at += strspn(at, space);
		if (strncmp(at, value, sizeof(value) - 1) == 0)
			return true;
	}
	return false;
}

/* ------------------------------------------------------------------- names */

static int hex_digit(char c)
{
	return c >= '0' && c <= '9'   ? c - '0'
	       : c >= 'a' && c <= 'f' ? c - 'a' + 10
	                              : -1;
}

/* Undo cli_put_name(), in place. Return: bytes of the name. */
static size_t unescape(char *text)
{
	size_t bytes = 0;

	for (const char *at = text; *at;) {
		if (at[0] == '\\' && at[1] == 'x' && hex_digit(at[2]) >= 0 &&
		    hex_digit(at[3]) >= 0) {
			text[bytes++] = (char)(hex_digit(at[2]) << 4 |
			                       hex_digit(at[3]));
			at += 4;
		} else if (at[0] == '\\' && (at[1] == '\\' || at[1] == '"')) {
			text[bytes++] = at[1];
			at += 2;
		} else {
			text[bytes++] = *at++;
		}
	}
	return bytes;
}

/* The tensor called name, or that the list shows as name. NULL: said so. */
static const ugds_st_tensor *look_up(const ugds_st_store *store,
                                     const struct options *options,
                                     const char *name)
{
	size_t name_bytes = strlen(name);
	const ugds_st_tensor *tensor = ugds_st_find(store, name, name_bytes);
	char *plain;

	if (tensor)
		return tensor;
	plain = strdup(name);
	if (!plain) {
		(void)cli_fail("out of memory");
		return NULL;
	}
	tensor = ugds_st_find(store, plain, unescape(plain));
	free(plain);
	if (!tensor) {
		(void)fflush(stdout);
		(void)fprintf(stderr, "%s: %s: no tensor \"", cli_program,
		              options->path);
		(void)cli_put_name(stderr, name, name_bytes);
		(void)fprintf(stderr, "\" among its %zu\n",
		              ugds_st_count(store));
	}
	return tensor;
}

/* ---------------------------------------------------------------- the verbs */

/* A store's tensors, or those that were named, in the order of naming. */
static int show(ugds_st_store *store, bool imported,
                const struct options *options)
{
	struct cat_show show = {.store = store,
	                        .json = options->json,
	                        .values = imported && options->name_count > 0};
	int rc = CLI_DONE;

	cat_show_begin(&show, options->name_count > 0);
	for (size_t i = 0; i < options->name_count; i++) {
		const ugds_st_tensor *tensor =
			look_up(store, options, options->names[i]);

		if (!tensor || cat_show_tensor(&show, tensor) != CLI_DONE)
			rc = CLI_FAILED;
	}
	if (options->name_count == 0)
		cat_show_all(&show);
	cat_show_end(&show);
	return cli_end_output() == CLI_DONE ? rc : CLI_FAILED;
}

static int write_all(const void *data, size_t bytes)
{
	const char *at = data;

	while (bytes > 0) {
		ssize_t done = write(STDOUT_FILENO, at, bytes);

		if (done < 0 && errno == EINTR)
			continue;
		if (done < 0)
			return cli_fail("standard output: %s", strerror(errno));
		at += done;
		bytes -= (size_t)done;
	}
	return CLI_DONE;
}

static int write_piece(void *ctx, const void *data, size_t bytes)
{
	(void)ctx;
	return write_all(data, bytes);
}

static int raw(ugds_st_store *store, const struct options *options)
{
	const ugds_st_tensor *tensor =
		look_up(store, options, options->names[0]);

	if (!tensor)
		return CLI_FAILED;
	return cat_read(store, tensor, write_piece, NULL);
}

static void show_progress(void *ctx, uint64_t done_bytes, uint64_t all_bytes)
{
	cli_progress_show(ctx, done_bytes, all_bytes);
}

static int verify(ugds_st_store *store)
{
	struct ugds_st_store_info info = {.struct_size = sizeof(info)};
	struct cli_progress progress;
	struct ugds_st_error err;
	int status;

	cli_progress_begin(&progress, false);
	status = ugds_st_verify(store, show_progress, &progress, &err);
	cli_progress_end(&progress);
	if (status != UGDS_ST_OK)
		return cli_fail_error(&err);
	(void)ugds_st_store_info(store, &info);
	(void)printf("%zu %s on %zu %s: every hash is as the manifest has it\n",
	             info.shard_count,
	             info.shard_count == 1 ? "shard" : "shards",
	             info.volume_count,
	             info.volume_count == 1 ? "volume" : "volumes");
	return cli_end_output();
}

static void show_stats(const ugds_st_store *store)
{
	struct ugds_st_stats stats = {.struct_size = sizeof(stats)};
	const struct {
		const char *name;
		const uint64_t *value;
	} rows[] = {
		{"payload_bytes", &stats.payload_bytes},
		{"device_bytes", &stats.device_bytes},
		{"entries", &stats.entries},
		{"commands", &stats.commands},
		{"merges", &stats.merges},
		{"direct_bytes", &stats.direct_bytes},
		{"staged_bytes", &stats.staged_bytes},
		{"retries", &stats.retries},
		{"fallbacks", &stats.fallbacks},
		{"waits", &stats.waits},
	};

	(void)fflush(stdout);
	(void)ugds_st_get_stats(store, &stats);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		(void)fprintf(stderr, "%-14s %" PRIu64 "\n", rows[i].name,
		              *rows[i].value);
}

static int run_manifest(const struct options *options)
{
	struct ugds_st_open_opts opts = UGDS_ST_OPEN_OPTS_INIT;
	ugds_st_store *store;
	struct ugds_st_error err;
	int rc;

	opts.devices = options->devices;
	opts.device_count = options->device_count;
	opts.flags = options->degraded ? UGDS_ST_OPEN_DEGRADED_OK : 0;
	if (ugds_st_open(options->path, &opts, &store, &err) != UGDS_ST_OK)
		return cli_fail_error(&err);
	if (options->raw)
		rc = raw(store, options);
	else if (options->verify)
		rc = verify(store);
	else
		rc = show(store, true, options);
	if (options->stats)
		show_stats(store);
	if (ugds_st_close(store, 0, &err) != UGDS_ST_OK)
		rc = cli_fail_error(&err);
	return rc;
}

static int run_checkpoint(const struct options *options)
{
	ugds_st_store *store;
	struct ugds_st_error err;
	int rc;

	/* A checkpoint that is bad is said to be bad before it is said not to
	 * be imported. */
	if (ugds_st_inspect(options->path, &store, &err) != UGDS_ST_OK)
		return cli_fail_error(&err);
	if (options->raw || options->verify || options->degraded ||
	    options->device_count)
		rc = cli_fail("%s: a checkpoint that is not imported: expected "
		              "a manifest for %s",
		              options->path,
		              options->raw        ? "--raw"
		              : options->verify   ? "--verify"
		              : options->degraded ? "--degraded"
		                                  : "--device");
	else
		rc = show(store, false, options);
	(void)ugds_st_close(store, 0, NULL);
	return rc;
}

/* -------------------------------------------------------------- command line
 */

static int check(const struct options *options)
{
	if (options->raw + options->verify + options->json > 1)
		return cli_usage("expected one of --raw, --verify and --json");
	if (options->raw && options->name_count != 1)
		return cli_usage("--raw: expected one NAME, found %zu",
		                 options->name_count);
	if (options->verify && options->name_count != 0)
		return cli_usage("--verify: expected no NAME, found %zu",
		                 options->name_count);
	return CLI_DONE;
}

/* Return: go on; false: *rc_out is the exit code. */
static bool parse(int argc, char **argv, struct options *options, int *rc_out)
{
	static const struct option longs[] = {
		{"device", required_argument, NULL, 'd'},
		{"json", no_argument, NULL, 'j'},
		{"raw", no_argument, NULL, 'r'},
		{"verify", no_argument, NULL, 'V'},
		{"stats", no_argument, NULL, 's'},
		{"degraded", no_argument, NULL, 'D'},
		{"help", no_argument, NULL, 'h'},
		{"version", no_argument, NULL, 'v'},
		{NULL, 0, NULL, 0}};
	int option;

	while ((option = getopt_long(argc, argv, "d:jrVsh", longs, NULL)) !=
	       -1) {
		switch (option) {
		case 'd':
			options->devices[options->device_count++] = optarg;
			break;
		case 'j':
			options->json = true;
			break;
		case 'r':
			options->raw = true;
			break;
		case 'V':
			options->verify = true;
			break;
		case 's':
			options->stats = true;
			break;
		case 'D':
			options->degraded = true;
			break;
		case 'h':
			*rc_out = cli_help(help);
			return false;
		case 'v':
			*rc_out = cli_show_version();
			return false;
		default: /* getopt has said what */
			*rc_out = cli_usage_hint();
			return false;
		}
	}
	if (optind >= argc) {
		*rc_out = cli_usage("expected a manifest or checkpoint");
		return false;
	}
	options->path = argv[optind];
	options->names = argv + optind + 1;
	options->name_count = (size_t)(argc - optind - 1);
	*rc_out = check(options);
	return *rc_out == CLI_DONE;
}

int main(int argc, char **argv)
{
	struct options options = {0};
	int rc;

	cli_program = "ugds-st-cat";
	/* A reader that goes away is an error to report, not a signal. */
	(void)signal(SIGPIPE, SIG_IGN);
	options.devices = calloc((size_t)argc, sizeof(*options.devices));
	if (!options.devices)
		return cli_fail("out of memory");
	if (parse(argc, argv, &options, &rc))
		rc = is_manifest(options.path) ? run_manifest(&options)
		                               : run_checkpoint(&options);
	free(options.devices);
	return rc;
}
