/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ugds_st_import.c - ugds-st-import: put checkpoints on volumes.
 *
 * The command lines are fixed: people script them.
 */
#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "import_show.h"
#include "ugds_st_import.h"

static const char help[] =
	"Usage: ugds-st-import --format [--size N] [--sparse]\n"
	"                      [--force[=VOLUME-UUID]] [--json] [--quiet]\n"
	"                      DEVICE\n"
	"       ugds-st-import [--copies N] [--verify] [--name MODEL]\n"
	"                      [--json] [--quiet]\n"
	"                      --device DEVICE [--device DEVICE]...\n"
	"                      --manifest FILE CHECKPOINT\n"
	"       ugds-st-import --list [--json] DEVICE\n"
	"       ugds-st-import --prune --manifest FILE [--device DEVICE]...\n"
	"       ugds-st-import --remove --manifest FILE [--device DEVICE]...\n"
	"       ugds-st-import --remove --checkpoint UUID DEVICE\n"
	"       ugds-st-import --adopt DEVICE\n"
	"\n"
	"--format makes DEVICE a volume: a blank block device or partition,\n"
	"or a new regular file of --size. Without a verb CHECKPOINT, a\n"
	".safetensors file, an index file or a directory, is copied onto the\n"
	"volumes, and FILE says where it is. FILE then serves ugds-st-cat and\n"
	"ugds_st_open().\n"
	"\n"
	"      --format            make a volume\n"
	"      --size N            of a new volume file; N takes K, M, G, T\n"
	"      --sparse            do not reserve the file's blocks\n"
	"      --force[=UUID]      overwrite what is found, after naming it;\n"
	"                          a volume of ours only by its UUID\n"
	"  -d, --device DEVICE     a volume to place shards on\n"
	"  -m, --manifest FILE     the manifest to publish\n"
	"  -c, --copies N          of each shard, on different volumes (1)\n"
	"  -n, --name MODEL        name of the model, for people\n"
	"  -V, --verify            read everything back, compare hashes\n"
	"  -l, --list              show label, checkpoints, objects, space\n"
	"      --prune             free what the manifest no longer needs\n"
	"      --remove            free all of a checkpoint, and the manifest\n"
	"      --checkpoint UUID   the one to remove, without a manifest\n"
	"      --adopt             accept the drive that a volume moved to\n"
	"  -j, --json              print JSON\n"
	"  -q, --quiet             print errors only\n"
	"  -h, --help              print this\n"
	"      --version           print the version\n"
	"\n"
	"CAUTION: a volume is raw blocks. No other tool knows what they hold;\n"
	"a partition of its own keeps others off.\n"
	"\n"
	"Exit status: 0 done, 1 failed, 2 wrong usage.\n";

enum verb {
	VERB_IMPORT,
	VERB_FORMAT,
	VERB_LIST,
	VERB_PRUNE,
	VERB_REMOVE,
	VERB_ADOPT
};

struct options {
	enum verb verb;
	bool verb_given;
	bool verify;
	bool sparse;
	bool force;
	bool json;
	bool quiet;
	bool size_given;
	uint64_t size_bytes;
	uint32_t copies; /* 0: not given */
	uint8_t replace_uuid[16];
	bool checkpoint_given;
	uint8_t checkpoint_uuid[16];
	const char *name;
	const char *manifest;
	const char **devices;
	size_t device_count;
};

/* ------------------------------------------------------------ listeners */

struct listener {
	struct cli_progress progress;
	bool quiet;
};

static void on_note(void *ctx, const char *text)
{
	struct listener *listener = ctx;

	if (listener->quiet)
		return;
	cli_progress_end(&listener->progress);
	(void)fprintf(stderr, "%s: %s\n", cli_program, text);
}

static void on_progress(void *ctx, uint64_t done_bytes, uint64_t all_bytes)
{
	struct listener *listener = ctx;

	cli_progress_show(&listener->progress, done_bytes, all_bytes);
}

/* ---------------------------------------------------------------- verbs */

static int do_format(const struct options *options, const char *device)
{
	struct ugds_st_import_format_opts opts =
		UGDS_ST_IMPORT_FORMAT_OPTS_INIT;
	struct listener listener = {.quiet = options->quiet};
	struct ugds_st_error err;
	uint8_t uuid[16];

	opts.file_bytes = options->size_bytes;
	opts.flags = (options->sparse ? UGDS_ST_IMPORT_SPARSE : 0) |
	             (options->force ? UGDS_ST_IMPORT_FORCE : 0);
	memcpy(opts.replace_uuid, options->replace_uuid,
	       sizeof(opts.replace_uuid));
	opts.note = on_note;
	opts.ctx = &listener;
	if (ugds_st_import_format(device, &opts, uuid, &err) != UGDS_ST_OK)
		return cli_fail_error(&err);
	if (!options->quiet)
		show_formatted(device, uuid, options->json);
	return cli_end_output();
}

static int do_list(const struct options *options, const char *device)
{
	ugds_st_import_volume *volume = NULL;
	struct ugds_st_error err;

	if (ugds_st_import_list(device, &volume, &err) != UGDS_ST_OK)
		return cli_fail_error(&err);
	show_volume(volume, device, options->json);
	ugds_st_import_volume_free(volume);
	return cli_end_output();
}

static int do_import(const struct options *options, const char *checkpoint)
{
	struct ugds_st_import_opts opts = UGDS_ST_IMPORT_OPTS_INIT;
	struct ugds_st_import_result result = {.struct_size = sizeof(result)};
	struct listener listener = {.quiet = options->quiet};
	struct ugds_st_error err;
	int status;

	opts.checkpoint = checkpoint;
	opts.manifest = options->manifest;
	opts.devices = options->devices;
	opts.device_count = options->device_count;
	opts.model = options->name;
	opts.tool = "ugds-st-import " UGDS_ST_VERSION;
	opts.flags = options->verify ? UGDS_ST_IMPORT_VERIFY : 0;
	opts.progress = on_progress;
	opts.note = on_note;
	opts.ctx = &listener;
	opts.copies = options->copies ? options->copies : 1;
	cli_progress_begin(&listener.progress, options->quiet);
	status = ugds_st_import(&opts, &result, &err);
	cli_progress_end(&listener.progress);
	if (status != UGDS_ST_OK)
		return cli_fail_error(&err);
	if (!options->quiet)
		show_result(&result, opts.copies, options->manifest,
		            options->json);
	return cli_end_output();
}

static int do_drop(const struct options *options, const char *device)
{
	struct ugds_st_import_drop_opts opts = UGDS_ST_IMPORT_DROP_OPTS_INIT;
	struct ugds_st_import_drop_result result = {.struct_size =
	                                                    sizeof(result)};
	struct listener listener = {.quiet = options->quiet};
	struct ugds_st_error err;
	int status;

	opts.manifest = options->manifest;
	memcpy(opts.checkpoint_uuid, options->checkpoint_uuid,
	       sizeof(opts.checkpoint_uuid));
	opts.devices = device ? &device : options->devices;
	opts.device_count = device ? 1 : options->device_count;
	opts.note = on_note;
	opts.ctx = &listener;
	status = options->verb == VERB_PRUNE
	                 ? ugds_st_import_prune(&opts, &result, &err)
	                 : ugds_st_import_remove(&opts, &result, &err);
	if (status != UGDS_ST_OK)
		return cli_fail_error(&err);
	if (!options->quiet)
		show_dropped(&result, options->json);
	return cli_end_output();
}

static int do_adopt(const struct options *options, const char *device)
{
	struct ugds_st_import_adopt_opts opts = UGDS_ST_IMPORT_ADOPT_OPTS_INIT;
	struct listener listener = {.quiet = options->quiet};
	struct ugds_st_error err;

	opts.note = on_note;
	opts.ctx = &listener;
	if (ugds_st_import_adopt(device, &opts, &err) != UGDS_ST_OK)
		return cli_fail_error(&err);
	return CLI_DONE;
}

/* ---------------------------------------------------------- command line */

static bool parse_uuid(const char *text, uint8_t uuid_out[16])
{
	char digits[33] = "";
	size_t count = 0;

	if (strlen(text) != 36)
		return false;
	for (size_t i = 0; i < 36; i++) {
		bool dash = i == 8 || i == 13 || i == 18 || i == 23;

		if (dash != (text[i] == '-'))
			return false;
		if (!dash)
			digits[count++] = text[i];
	}
	for (size_t i = 0; i < 16; i++) {
		char byte[3] = {digits[2 * i], digits[2 * i + 1], '\0'};

		if (strspn(byte, "0123456789abcdefABCDEF") != 2)
			return false;
		uuid_out[i] = (uint8_t)strtoul(byte, NULL, 16);
	}
	return true;
}

/* A number of copies: 1 or more. */
static bool parse_copies(const char *text, uint32_t *copies_out)
{
	char *end;
	unsigned long value;

	if (*text < '0' || *text > '9')
		return false;
	errno = 0;
	value = strtoul(text, &end, 10);
	if (errno || *end || value == 0 || value > UINT32_MAX)
		return false;
	*copies_out = (uint32_t)value;
	return true;
}

enum {
	OPT_FORMAT = 256,
	OPT_SIZE,
	OPT_SPARSE,
	OPT_FORCE,
	OPT_PRUNE,
	OPT_REMOVE,
	OPT_CHECKPOINT,
	OPT_ADOPT,
	OPT_VERSION
};

static const struct option long_options[] = {
	{"format", no_argument, NULL, OPT_FORMAT},
	{"size", required_argument, NULL, OPT_SIZE},
	{"sparse", no_argument, NULL, OPT_SPARSE},
	{"force", optional_argument, NULL, OPT_FORCE},
	{"copies", required_argument, NULL, 'c'},
	{"verify", no_argument, NULL, 'V'},
	{"name", required_argument, NULL, 'n'},
	{"json", no_argument, NULL, 'j'},
	{"quiet", no_argument, NULL, 'q'},
	{"device", required_argument, NULL, 'd'},
	{"manifest", required_argument, NULL, 'm'},
	{"list", no_argument, NULL, 'l'},
	{"prune", no_argument, NULL, OPT_PRUNE},
	{"remove", no_argument, NULL, OPT_REMOVE},
	{"checkpoint", required_argument, NULL, OPT_CHECKPOINT},
	{"adopt", no_argument, NULL, OPT_ADOPT},
	{"help", no_argument, NULL, 'h'},
	{"version", no_argument, NULL, OPT_VERSION},
	{NULL, 0, NULL, 0}};

static int set_verb(struct options *options, enum verb verb)
{
	if (options->verb_given && options->verb != verb)
		return cli_usage("only one of --format, --list, --prune, "
		                 "--remove and --adopt");
	options->verb = verb;
	options->verb_given = true;
	return CLI_DONE;
}

/* An option whose value is more than a string. */
static int take_value(struct options *options, int option)
{
	switch (option) {
	case OPT_CHECKPOINT:
		options->checkpoint_given = true;
		if (!parse_uuid(optarg, options->checkpoint_uuid))
			return cli_usage("--checkpoint: expected a UUID, found "
			                 "\"%s\"",
			                 optarg);
		return CLI_DONE;
	case OPT_SIZE:
		options->size_given = true;
		if (!cli_parse_size(optarg, &options->size_bytes) ||
		    !options->size_bytes)
			return cli_usage("--size: expected a number with K, M, "
			                 "G, T or nothing, found \"%s\"",
			                 optarg);
		return CLI_DONE;
	case OPT_FORCE:
		options->force = true;
		if (optarg && !parse_uuid(optarg, options->replace_uuid))
			return cli_usage("--force: expected a volume's UUID, "
			                 "found \"%s\"",
			                 optarg);
		return CLI_DONE;
	default:
		if (!parse_copies(optarg, &options->copies))
			return cli_usage("--copies: expected a number of 1 or "
			                 "more, found \"%s\"",
			                 optarg);
		return CLI_DONE;
	}
}

/* One option. Return: CLI_DONE; CLI_USAGE (said). */
static int take_option(struct options *options, int option)
{
	switch (option) {
	case OPT_FORMAT:
		return set_verb(options, VERB_FORMAT);
	case 'l':
		return set_verb(options, VERB_LIST);
	case OPT_PRUNE:
		return set_verb(options, VERB_PRUNE);
	case OPT_REMOVE:
		return set_verb(options, VERB_REMOVE);
	case OPT_ADOPT:
		return set_verb(options, VERB_ADOPT);
	case OPT_CHECKPOINT:
	case OPT_SIZE:
	case OPT_FORCE:
	case 'c':
		return take_value(options, option);
	case OPT_SPARSE:
		options->sparse = true;
		return CLI_DONE;
	case 'V':
		options->verify = true;
		return CLI_DONE;
	case 'j':
		options->json = true;
		return CLI_DONE;
	case 'q':
		options->quiet = true;
		return CLI_DONE;
	case 'n':
		options->name = optarg;
		return CLI_DONE;
	case 'm':
		options->manifest = optarg;
		return CLI_DONE;
	case 'd':
		options->devices[options->device_count++] = optarg;
		return CLI_DONE;
	default:
		/* getopt has said what is wrong. */
		(void)fprintf(stderr, "Try '%s --help'.\n", cli_program);
		return CLI_USAGE;
	}
}

/* Operands that a verb takes. */
static int operand_count(const struct options *options)
{
	if (options->verb == VERB_PRUNE)
		return 0;
	return options->verb == VERB_REMOVE && options->manifest ? 0 : 1;
}

static int check_drop(const struct options *options)
{
	if (options->verb == VERB_PRUNE && !options->manifest)
		return cli_usage("expected --manifest");
	if (options->verb == VERB_REMOVE &&
	    !options->manifest == !options->checkpoint_given)
		return cli_usage("expected --manifest or --checkpoint");
	if (options->checkpoint_given && options->device_count)
		return cli_usage("--checkpoint takes one DEVICE, no --device");
	return CLI_DONE;
}

/* Options that the verb would ignore are mistakes. */
static int check_options(const struct options *options, int operands)
{
	bool format = options->verb == VERB_FORMAT;
	bool import = options->verb == VERB_IMPORT;
	bool drop = options->verb == VERB_PRUNE || options->verb == VERB_REMOVE;

	if (!format &&
	    (options->size_given || options->sparse || options->force))
		return cli_usage(
			"--size, --sparse and --force go with --format");
	if (options->sparse && !options->size_given)
		return cli_usage("--sparse goes with --size");
	if (!import && (options->copies || options->verify || options->name))
		return cli_usage("--copies, --verify and --name go with an "
		                 "import");
	if (!import && !drop && (options->manifest || options->device_count))
		return cli_usage("--manifest and --device go with an import, "
		                 "--prune and --remove");
	if (options->checkpoint_given && options->verb != VERB_REMOVE)
		return cli_usage("--checkpoint goes with --remove");
	if (drop && check_drop(options) != CLI_DONE)
		return CLI_USAGE;
	if (import && !options->device_count)
		return cli_usage("expected --device");
	if (import && !options->manifest)
		return cli_usage("expected --manifest");
	if (operands != operand_count(options))
		return cli_usage("expected %d %s, found %d",
		                 operand_count(options),
		                 import ? "CHECKPOINT" : "DEVICE", operands);
	return CLI_DONE;
}

static int run(struct options *options, int argc, char **argv)
{
	int option;
	int result;

	while ((option = getopt_long(argc, argv, "c:d:m:n:Vljqh", long_options,
	                             NULL)) != -1) {
		if (option == 'h')
			return cli_help(help);
		if (option == OPT_VERSION)
			return cli_show_version();
		result = take_option(options, option);
		if (result != CLI_DONE)
			return result;
	}
	result = check_options(options, argc - optind);
	if (result != CLI_DONE)
		return result;
	switch (options->verb) {
	case VERB_FORMAT:
		return do_format(options, argv[optind]);
	case VERB_LIST:
		return do_list(options, argv[optind]);
	case VERB_PRUNE:
	case VERB_REMOVE:
		return do_drop(options, argv[optind]);
	case VERB_ADOPT:
		return do_adopt(options, argv[optind]);
	default:
		return do_import(options, argv[optind]);
	}
}

int main(int argc, char **argv)
{
	struct options options = {0};
	int result;

	cli_program = "ugds-st-import";
	/* getopt puts its own first word in front of messages. */
	if (argc > 0)
		argv[0] = (char *)(uintptr_t)cli_program;
	options.devices = calloc((size_t)argc + 1, sizeof(*options.devices));
	if (!options.devices)
		return cli_fail("out of memory");
	result = run(&options, argc, argv);
	free(options.devices);
	return result;
}
