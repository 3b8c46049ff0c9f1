/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * replay.c - run a fuzz target over files, with any compiler.
 *
 *	replay_<what> FILE|DIRECTORY...
 *
 * Exit 0: every input passed. Each input lies in a block of its own size, so
 * that a sanitizer sees one byte too many.
 */
#include <dirent.h>
#include <errno.h>

#include "fuzz.h"

static size_t replayed;

static int replay_file(const char *path)
{
	FILE *file = fopen(path, "rb");
	uint8_t *data = NULL;
	long bytes = -1;
	int failed = 1;

	if (!file)
		goto out;
	if (fseek(file, 0, SEEK_END) == 0)
		bytes = ftell(file);
	if (bytes < 0 || fseek(file, 0, SEEK_SET))
		goto out;
	data = malloc(bytes ? (size_t)bytes : 1);
	if (!data || fread(data, 1, (size_t)bytes, file) != (size_t)bytes)
		goto out;
	(void)LLVMFuzzerTestOneInput(data, (size_t)bytes);
	replayed++;
	failed = 0;
out:
	if (failed)
		perror(path);
	free(data);
	if (file)
		(void)fclose(file);
	return failed;
}

static int replay(const char *path)
{
	DIR *dir = opendir(path);
	struct dirent *entry;
	int failed = 0;

	if (!dir)
		return replay_file(path);
	while ((entry = readdir(dir))) {
		char name[4096];

		if (entry->d_name[0] == '.')
			continue;
		(void)snprintf(name, sizeof(name), "%s/%s", path,
		               entry->d_name);
		failed |= replay_file(name);
	}
	(void)closedir(dir);
	return failed;
}

int main(int argc, char **argv)
{
	int failed = 0;

	for (int i = 1; i < argc; i++)
		failed |= replay(argv[i]);
	printf("%s: %zu inputs\n", argv[0], replayed);
	if (replayed == 0) {
		fprintf(stderr, "%s: no input\n", argv[0]);
		return 1;
	}
	return failed;
}
