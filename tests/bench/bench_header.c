/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * bench_header.c - what parsing, validating and indexing headers costs.
 *
 *	bench_header FILE...    all headers of these files into one table
 *	bench_header -n COUNT   one made header of COUNT tensors
 *
 * Headers are in memory before the clock starts. Times are of header length,
 * parse, checks and table together; freeing is not counted (it is not for the
 * official loader either: see bench_header.sh). Prints the best and the median
 * of the runs, and look-ups of present and absent names.
 */
#include "base/common.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/le.h"
#include "pure/header.h"
#include "pure/table.h"

#define RUNS 15

struct source {
	char *prefix_and_json;
	uint64_t json_bytes;
	uint64_t file_bytes;
};

static double now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

static void die(const char *what)
{
	fprintf(stderr, "bench_header: %s\n", what);
	exit(1);
}

static struct source load(const char *path)
{
	struct source source = {0};
	FILE *file = fopen(path, "rb");
	char prefix[8];

	if (!file || fread(prefix, 1, 8, file) != 8)
		die(path);
	source.json_bytes = ugst_get_le64(prefix);
	source.prefix_and_json = malloc(8 + source.json_bytes);
	memcpy(source.prefix_and_json, prefix, 8);
	if (fread(source.prefix_and_json + 8, 1, source.json_bytes, file) !=
	    source.json_bytes)
		die(path);
	fseek(file, 0, SEEK_END);
	source.file_bytes = (uint64_t)ftell(file);
	fclose(file);
	return source;
}

/* Names and shapes like those of a mixture of experts. */
static struct source make(size_t count)
{
	struct source source = {0};
	char *json = malloc(count * 160 + 16);
	size_t used = 8;
	uint64_t off = 0;

	json[used++] = '{';
	for (size_t i = 0; i < count; i++) {
		used += (size_t)sprintf(
			json + used,
			"%s\"model.layers.%zu.mlp.experts.%zu.down_proj."
		        "weight\":"
			"{\"dtype\":\"BF16\",\"shape\":[7168,2048],"
			"\"data_offsets\":[%" PRIu64 ",%" PRIu64 "]}",
			i ? "," : "", i / 256, i % 256, off, off + 29360128);
		off += 29360128;
	}
	json[used++] = '}';
	source.json_bytes = used - 8;
	source.file_bytes = used + off;
	ugst_put_le64(json, source.json_bytes);
	source.prefix_and_json = json;
	return source;
}

static struct ugst_table *build(const struct source *sources, size_t count)
{
	struct ugst_header *headers = calloc(count, sizeof(*headers));
	struct ugst_table *table = ugst_table_new();
	struct ugds_st_error err = {0};
	size_t tensors = 0;

	for (size_t i = 0; i < count; i++) {
		const struct source *source = &sources[i];
		uint64_t json_bytes;

		if (ugst_header_length(source->prefix_and_json, 8,
		                       source->file_bytes, &json_bytes, &err) ||
		    ugst_header_parse(source->prefix_and_json + 8, json_bytes,
		                      source->file_bytes, &headers[i], &err))
			die(err.text);
		tensors += headers[i].tensor_count;
	}
	if (ugst_table_reserve(table, tensors, &err))
		die(err.text);
	for (size_t i = 0; i < count; i++)
		if (ugst_table_add_shard(table, &headers[i], (uint32_t)i, NULL,
		                         0, &err))
			die(err.text);
	ugst_table_set_owner(table, NULL);
	free(headers);
	return table;
}

static int compare_double(const void *left, const void *right)
{
	double a = *(const double *)left;
	double b = *(const double *)right;

	return a < b ? -1 : a > b;
}

/* Every name once, in an order that no prefetcher foresees. */
static void bench_find(const struct ugst_table *table)
{
	size_t count = ugst_table_count(table);
	size_t step = count > 2 ? (size_t)((double)count * 0.618) | 1 : 1;
	size_t found = 0;
	double start = now_ms();
	double present;

	if (!count)
		return;
	for (size_t i = 0, at = 0; i < count; i++, at = (at + step) % count) {
		const struct ugds_st_tensor *tensor = ugst_table_at(table, at);

		found += ugst_table_find(table, tensor->name,
		                         tensor->name_bytes) == tensor;
	}
	present = now_ms() - start;
	if (found != count)
		die("a name was not found");
	start = now_ms();
	for (size_t i = 0, at = 0; i < count; i++, at = (at + step) % count) {
		const struct ugds_st_tensor *tensor = ugst_table_at(table, at);

		/* Without its last byte a name is one that is not there. */
		found -= ugst_table_find(table, tensor->name,
		                         tensor->name_bytes - 1) == NULL;
	}
	printf("find: present %.1f ns, absent %.1f ns a name (%zu of %zu)\n",
	       present * 1e6 / (double)count,
	       (now_ms() - start) * 1e6 / (double)count, count - found, count);
}

int main(int argc, char **argv)
{
	struct source *sources = calloc((size_t)argc, sizeof(*sources));
	struct ugst_table *table;
	double times[RUNS];
	uint64_t bytes = 0;
	size_t count = 0;

	if (argc == 3 && strcmp(argv[1], "-n") == 0)
		sources[count++] = make(strtoul(argv[2], NULL, 10));
	else
		for (int i = 1; i < argc; i++)
			sources[count++] = load(argv[i]);
	if (!count)
		die("usage: bench_header FILE... | -n COUNT");
	for (size_t i = 0; i < count; i++)
		bytes += sources[i].json_bytes;
	for (size_t run = 0; run < RUNS; run++) {
		double start = now_ms();

		table = build(sources, count);
		times[run] = now_ms() - start;
		if (run < RUNS - 1)
			ugst_table_free(table);
	}
	qsort(times, RUNS, sizeof(times[0]), compare_double);
	printf("%zu tensors, %zu headers, %" PRIu64
	       " bytes: best %.3f ms, median %.3f ms, %.1f ns a tensor\n",
	       ugst_table_count(table), count, bytes, times[0], times[RUNS / 2],
	       times[RUNS / 2] * 1e6 / (double)ugst_table_count(table));
	bench_find(table);
	ugst_table_free(table);
	for (size_t i = 0; i < count; i++)
		free(sources[i].prefix_and_json);
	free(sources);
	return 0;
}
