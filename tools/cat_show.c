/* SPDX-License-Identifier: BSD-3-Clause */
/* cat_show.c - tensors as text or JSON, and their bytes in pieces; see
 * cat_show.h. */
#include "cat_show.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cat_values.h"
#include "cli.h"

/* Enough for several large commands, little enough for any machine. */
#define PIECE_BYTES ((uint64_t)16 << 20)
/* Shapes wider than this push the rest of their line to the right. */
#define SHAPE_COLUMNS 28u

static struct ugds_st_info info_of(const ugds_st_tensor *tensor)
{
	struct ugds_st_info info = {.struct_size = sizeof(info)};

	(void)ugds_st_info(tensor, &info);
	return info;
}

/* ------------------------------------------------------------------ reading */

/* Rows to read at a time; 0: the tensor only comes whole. */
static uint64_t piece_rows(const struct ugds_st_info *info)
{
	uint64_t row_bytes;

	if (info->rank == 0 || info->payload_bytes <= PIECE_BYTES)
		return 0;
	/* Rows of packed elements may end inside a byte. */
	if (info->payload_bytes % info->dims[0] != 0 ||
	    (ugds_st_dtype_bits(info->dtype) % 8 != 0 && info->rank == 1))
		return 0;
	row_bytes = info->payload_bytes / info->dims[0];
	return row_bytes >= PIECE_BYTES ? 1 : PIECE_BYTES / row_bytes;
}

int cat_read(ugds_st_store *store, const ugds_st_tensor *tensor,
             int (*take)(void *ctx, const void *data, size_t bytes), void *ctx)
{
	struct ugds_st_info info = info_of(tensor);
	struct ugds_st_read read = UGDS_ST_READ_INIT;
	uint64_t rows = piece_rows(&info);
	uint64_t row_count = rows ? info.dims[0] : 1;
	uint64_t row_bytes = info.payload_bytes / row_count;
	struct ugds_st_error err;
	int rc = CLI_DONE;

	rows = rows ? rows : 1;
	read.tensor = tensor;
	read.dst_bytes = rows * row_bytes;
	if (read.dst_bytes == 0)
		return CLI_DONE;
	read.dst = malloc(read.dst_bytes);
	if (!read.dst)
		return cli_fail("out of memory for %" PRIu64 " bytes",
		                read.dst_bytes);
	for (uint64_t row = 0; row < row_count && rc == CLI_DONE; row += rows) {
		uint64_t left = row_count - row;
		uint64_t now = left < rows ? left : rows;

		if (row_count > 1) {
			read.row_first = row;
			read.row_count = now;
		}
		if (ugds_st_read_many(store, &read, 1, NULL, &err) !=
		    UGDS_ST_OK)
			rc = cli_fail_error(&err);
		else
			rc = take(ctx, read.dst, now * row_bytes);
	}
	free(read.dst);
	return rc;
}

static int add_piece(void *ctx, const void *data, size_t bytes)
{
	cat_summary_add(ctx, data, bytes);
	return CLI_DONE;
}

/* --------------------------------------------------------------------- text */

static size_t print_shape(const struct ugds_st_info *info, FILE *out)
{
	int columns = fprintf(out, "[");

	for (unsigned i = 0; i < info->rank; i++)
		columns += fprintf(out, "%s%" PRIu64, i ? ", " : "",
		                   info->dims[i]);
	columns += fprintf(out, "]");
	return columns > 0 ? (size_t)columns : 0;
}

static bool has_place(const struct ugds_st_info *info)
{
	return info->device && info->envelope_bytes > 0;
}

/* A row: the place is "DEVICE:LBA+SKEW", with the last part of the device's
 * path, or "SHARD:OFFSET" where there is no device. Names come last: they may
 * be of any length. */
static void print_row(const ugds_st_tensor *tensor)
{
	struct ugds_st_info info = info_of(tensor);
	size_t used;

	(void)printf("%-12s", ugds_st_dtype_name(info.dtype));
	used = print_shape(&info, stdout);
	cli_put_gap(stdout, used, SHAPE_COLUMNS);
	(void)printf("%14" PRIu64 "  ", info.payload_bytes);
	if (has_place(&info)) {
		const char *slash = strrchr(info.device, '/');
		const char *base = slash ? slash + 1 : info.device;

		(void)cli_put_name(stdout, base, strlen(base));
		(void)printf(":%" PRIu64 "+%" PRIu64 "  ",
		             info.device_off / info.lba_bytes, info.skew_bytes);
	} else {
		(void)cli_put_name(stdout, info.shard, strlen(info.shard));
		(void)printf(":%" PRIu64 "  ", info.file_off);
	}
	(void)cli_put_name(stdout, info.name, info.name_bytes);
	(void)fputc('\n', stdout);
}

static void print_lines(const struct ugds_st_info *info)
{
	(void)fputs("name    ", stdout);
	(void)cli_put_name(stdout, info->name, info->name_bytes);
	(void)printf("\ndtype   %s, %u bits\nshape   ",
	             ugds_st_dtype_name(info->dtype),
	             ugds_st_dtype_bits(info->dtype));
	(void)print_shape(info, stdout);
	(void)printf("\nbytes   %" PRIu64 "\nshard   ", info->payload_bytes);
	(void)cli_put_name(stdout, info->shard, strlen(info->shard));
	(void)printf(", offset %" PRIu64 "\n", info->file_off);
	if (!has_place(info))
		return;
	(void)fputs("place   ", stdout);
	(void)cli_put_name(stdout, info->device, strlen(info->device));
	(void)printf(", LBA %" PRIu64 ", %" PRIu64 " blocks of %" PRIu32
	             ", skew %" PRIu64 "\n",
	             info->device_off / info->lba_bytes,
	             info->envelope_bytes / info->lba_bytes, info->lba_bytes,
	             info->skew_bytes);
}

/* Lines above the table: what is open, and how it is read. */
static void print_store(const ugds_st_store *store)
{
	struct ugds_st_store_info info = {.struct_size = sizeof(info)};
	char uuid[CLI_UUID_BYTES];

	(void)ugds_st_store_info(store, &info);
	(void)fputs("model       ", stdout);
	(void)cli_put_name(stdout, info.model, strlen(info.model));
	if (info.volume_count > 0)
		(void)printf("\ncheckpoint  %s, generation %" PRIu64
		             "\nvolumes     %zu, read %s",
		             cli_uuid(info.checkpoint_uuid, uuid),
		             info.generation, info.volume_count,
		             info.provider == UGDS_ST_PROVIDER_UGDS
		                     ? "through uGDS"
		                     : "in compatibility mode");
	(void)printf("\ntensors     %zu in %zu %s", info.tensor_count,
	             info.shard_count,
	             info.shard_count == 1 ? "shard" : "shards");
	if (info.left_out_count)
		(void)printf(", %zu more that the index leaves out",
		             info.left_out_count);
	(void)fputs("\n\n", stdout);
}

/* --------------------------------------------------------------------- JSON */

static void print_object(struct cat_show *show, const struct ugds_st_info *info,
                         const struct cat_summary *summary)
{
	(void)fputs(show->shown_count ? ",\n" : "\n", stdout);
	(void)fputs("{\"name\": ", stdout);
	cli_put_json(stdout, info->name, info->name_bytes);
	(void)printf(", \"dtype\": \"%s\", \"shape\": ",
	             ugds_st_dtype_name(info->dtype));
	(void)print_shape(info, stdout);
	(void)printf(", \"nbytes\": %" PRIu64 ", \"shard\": ",
	             info->payload_bytes);
	cli_put_json(stdout, info->shard, strlen(info->shard));
	(void)printf(", \"file_offset\": %" PRIu64, info->file_off);
	if (has_place(info)) {
		(void)fputs(", \"device\": ", stdout);
		cli_put_json(stdout, info->device, strlen(info->device));
		(void)printf(", \"lba\": %" PRIu64 ", \"lba_bytes\": %" PRIu32
		             ", \"skew\": %" PRIu64,
		             info->device_off / info->lba_bytes,
		             info->lba_bytes, info->skew_bytes);
	} else if (info->device) {
		/* Zero bytes lie nowhere. */
		(void)fputs(", \"device\": ", stdout);
		cli_put_json(stdout, info->device, strlen(info->device));
		(void)fputs(", \"lba\": null, \"skew\": null", stdout);
	}
	if (summary)
		cat_summary_print_json(summary, stdout);
	(void)fputc('}', stdout);
}

/* ---------------------------------------------------------------- the verbs */

void cat_show_begin(struct cat_show *show, bool named)
{
	if (show->json)
		(void)fputc('[', stdout);
	else if (!named)
		print_store(show->store);
}

int cat_show_tensor(struct cat_show *show, const ugds_st_tensor *tensor)
{
	struct ugds_st_info info = info_of(tensor);
	struct cat_summary summary;

	cat_summary_begin(&summary, info.dtype);
	/* Bytes first: a tensor that cannot be read is not half printed. */
	if (show->values &&
	    cat_read(show->store, tensor, add_piece, &summary) != CLI_DONE)
		return CLI_FAILED;
	if (show->json) {
		print_object(show, &info, show->values ? &summary : NULL);
	} else {
		if (show->shown_count)
			(void)fputc('\n', stdout);
		print_lines(&info);
		if (show->values && info.payload_bytes > 0)
			cat_summary_print(&summary, stdout);
	}
	show->shown_count++;
	return CLI_DONE;
}

void cat_show_all(struct cat_show *show)
{
	size_t count = ugds_st_count(show->store);

	if (!show->json)
		(void)printf("%-12s%-*s%14s  PLACE  NAME\n", "DTYPE",
		             (int)SHAPE_COLUMNS, "SHAPE", "BYTES");
	/* Nobody listens any more: cli_end_output() says so. */
	for (size_t i = 0; i < count && !ferror(stdout); i++) {
		const ugds_st_tensor *tensor = ugds_st_at(show->store, i);

		if (show->json) {
			struct ugds_st_info info = info_of(tensor);

			print_object(show, &info, NULL);
		} else {
			print_row(tensor);
		}
		show->shown_count++;
	}
}

void cat_show_end(struct cat_show *show)
{
	if (show->json)
		(void)fputs(show->shown_count ? "\n]\n" : "]\n", stdout);
}
