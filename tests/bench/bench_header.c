/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * bench_header.c - what parsing, validating and indexing headers costs.
 *
 *	bench_header FILE...    all headers of these files into one table
 *	bench_header -n COUNT   a million made tensors, in tables of COUNT
 *
 * Headers are in memory before the clock starts. Times are of header length,
 * parse, checks and table together; freeing is not counted (it is not for the
 * official loader either: see bench_header.py). Times are of the processor, so
 * that a busy machine does not count. Prints the first run, the best and the
 * median, and look-ups of present and absent names.
 *
 * The made tensors are a million whatever COUNT is: a processor learns a
 * thousand by heart when it sees them again and again. Memory is kept from run
 * to run, as the process of the official loader keeps it: what the kernel takes
 * for pages that are touched for the first time is in the first run only.
 */
#include "base/common.h"

#include <inttypes.h>
#include <limits.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/le.h"
#include "pure/header.h"
#include "pure/table.h"

#define RUNS 9
#define MADE_TENSORS 1000000
/* A header has a largest size: tables with more have several. */
#define HEADER_TENSORS 500000

struct source {
	char *prefix_and_json;
	uint64_t json_bytes;
	uint64_t file_bytes;
};

static double now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
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
static struct source make(size_t first, size_t count)
{
	struct source source = {0};
	char *json = malloc(count * 160 + 16);
	size_t used = 8;
	uint64_t off = 0;

	json[used++] = '{';
	for (size_t i = first; i < first + count; i++) {
		used += (size_t)sprintf(
			json + used,
			"%s\"model.layers.%zu.mlp.experts.%zu.down_proj."
			"weight\":"
			"{\"dtype\":\"BF16\",\"shape\":[7168,2048],"
			"\"data_offsets\":[%" PRIu64 ",%" PRIu64 "]}",
			i > first ? "," : "", i / 256, i % 256, off,
			off + 29360128);
		off += 29360128;
	}
	json[used++] = '}';
	source.json_bytes = used - 8;
	source.file_bytes = used + off;
	ugst_put_le64(json, source.json_bytes);
	source.prefix_and_json = json;
	return source;
}

/* Headers of each_count tensors, more than one where they would not fit.
 * Return: how many headers a table has. */
static size_t make_all(struct source *sources, size_t each_count)
{
	size_t headers = (each_count + HEADER_TENSORS - 1) / HEADER_TENSORS;
	size_t made = 0;

	for (size_t first = 0; first < MADE_TENSORS; first += each_count)
		for (size_t i = 0; i < headers; i++)
			sources[made++] = make(first + i * HEADER_TENSORS,
			                       each_count / headers);
	return headers;
}

/* Shard by shard, as a store is opened. */
static struct ugst_table *build(const struct source *sources, size_t count)
{
	struct ugst_table *table = ugst_table_new();
	struct ugds_st_error err = {0};

	for (size_t i = 0; i < count; i++) {
		const struct source *source = &sources[i];
		struct ugst_header header;
		uint64_t json_bytes;

		if (ugst_header_length(source->prefix_and_json, 8,
		                       source->file_bytes, &json_bytes, &err) ||
		    ugst_header_parse(source->prefix_and_json + 8, json_bytes,
		                      source->file_bytes, &header, &err) ||
		    ugst_table_add_shard(table, &header, (uint32_t)i, NULL, 0,
		                         &err))
			die(err.text);
	}
	ugst_table_set_owner(table, NULL);
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

/* Let the process keep what it frees, so that every table after the first is
 * built in pages that it has. */
static void keep_memory(void)
{
	(void)mallopt(M_MMAP_MAX, 0);
	(void)mallopt(M_TRIM_THRESHOLD, INT_MAX);
	(void)mallopt(M_TOP_PAD, 64 << 20);
}

/* Build all tables once. Return: ms; *table_out is the last of them. */
static double run(const struct source *sources, size_t count, size_t group,
                  struct ugst_table **table_out)
{
	double spent = 0;

	*table_out = NULL;
	for (size_t i = 0; i < count; i += group) {
		double start;

		ugst_table_free(*table_out);
		start = now_ms();
		*table_out = build(sources + i, group);
		spent += now_ms() - start;
	}
	return spent;
}

int main(int argc, char **argv)
{
	size_t room = (size_t)argc + MADE_TENSORS;
	struct source *sources = calloc(room, sizeof(*sources));
	struct ugst_table *table = NULL;
	double times[RUNS];
	double first;
	uint64_t bytes = 0;
	size_t tensors;
	size_t group;
	size_t count = 0;

	keep_memory();
	if (argc == 3 && strcmp(argv[1], "-n") == 0) {
		group = make_all(sources, strtoul(argv[2], NULL, 10));
	} else {
		for (int i = 1; i < argc; i++)
			sources[i - 1] = load(argv[i]);
		group = (size_t)argc - 1;
	}
	while (sources[count].prefix_and_json)
		bytes += sources[count++].json_bytes;
	if (!count)
		die("usage: bench_header FILE... | -n COUNT");
	for (size_t i = 0; i < RUNS; i++) {
		ugst_table_free(table);
		times[i] = run(sources, count, group, &table);
	}
	first = times[0];
	qsort(times, RUNS, sizeof(times[0]), compare_double);
	tensors = ugst_table_count(table) * (count / group);
	printf("%zu tensors, %zu a table, %zu headers, %" PRIu64
	       " bytes: first %.3f ms, best %.3f ms, median %.3f ms, %.1f ns a "
	       "tensor\n",
	       tensors, ugst_table_count(table), count, bytes, first, times[0],
	       times[RUNS / 2], times[RUNS / 2] * 1e6 / (double)tensors);
	bench_find(table);
	ugst_table_free(table);
	for (size_t i = 0; i < count; i++)
		free(sources[i].prefix_and_json);
	free(sources);
	return 0;
}
