/* SPDX-License-Identifier: BSD-3-Clause */
/* resolve.c - from a path to the names of files; see resolve.h. */
#include "base/common.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "verbs/numbered.h"
#include "verbs/resolve.h"

#define SHARD_ENDING ".safetensors"
#define INDEX_ENDING ".safetensors.index.json"
#define DEFAULT_SHARD "model" SHARD_ENDING
#define DEFAULT_INDEX "model" INDEX_ENDING

struct names {
	char **list;
	size_t count;
	size_t capacity;
};

/* What a directory has that could be a checkpoint. */
struct listing {
	struct names shards;
	struct names indexes;
};

static bool ends_with(const char *name, const char *ending)
{
	size_t name_bytes = strlen(name);
	size_t ending_bytes = strlen(ending);

	return name_bytes > ending_bytes &&
	       strcmp(name + name_bytes - ending_bytes, ending) == 0;
}

char *ugst_join_path(const char *dir, const char *name)
{
	if (strcmp(dir, ".") == 0)
		return ugst_strdup(name);
	return ugst_printf("%s%s%s", dir,
	                   dir[strlen(dir) - 1] == '/' ? "" : "/", name);
}

/* ---------------------------------------------------------------- listing */

static void free_names(struct names *names)
{
	for (size_t i = 0; i < names->count; i++)
		free(names->list[i]);
	free(names->list);
	memset(names, 0, sizeof(*names));
}

static bool add_name(struct names *names, const char *name)
{
	char **list = ugst_grow(names->list, names->count, &names->capacity,
	                        sizeof(*list));

	if (!list)
		return false;
	names->list = list;
	list[names->count] = ugst_strdup(name);
	return list[names->count] && ++names->count;
}

static bool has_name(const struct names *names, const char *name)
{
	for (size_t i = 0; i < names->count; i++)
		if (strcmp(names->list[i], name) == 0)
			return true;
	return false;
}

static int compare_names(const void *left, const void *right)
{
	return strcmp(*(char *const *)left, *(char *const *)right);
}

static int fail_path(const char *path, int errnum, struct ugds_st_error *err)
{
	char printed[UGST_ESCAPED_BYTES];

	return ugst_fail_errno(
		err, ugst_errno_status(errnum), errnum, "%s",
		ugst_escape(path, strlen(path), printed, sizeof(printed)));
}

/* Hidden files are unfinished downloads and other systems' side files. */
static int list_directory(const char *dir, struct listing *listing,
                          struct ugds_st_error *err)
{
	DIR *stream = opendir(dir);
	struct dirent *entry;
	bool added = true;
	int errnum;

	if (!stream)
		return fail_path(dir, errno, err);
	for (;;) {
		errno = 0;
		entry = readdir(stream);
		errnum = errno;
		if (!entry)
			break;
		if (entry->d_name[0] == '.')
			continue;
		if (ends_with(entry->d_name, SHARD_ENDING))
			added = add_name(&listing->shards, entry->d_name);
		else if (ends_with(entry->d_name, INDEX_ENDING))
			added = add_name(&listing->indexes, entry->d_name);
		if (!added)
			break;
	}
	(void)closedir(stream);
	if (!added)
		return ugst_fail_memory(err);
	if (errnum)
		return fail_path(dir, errnum, err);
	if (listing->shards.count)
		qsort(listing->shards.list, listing->shards.count,
		      sizeof(char *), compare_names);
	if (listing->indexes.count)
		qsort(listing->indexes.list, listing->indexes.count,
		      sizeof(char *), compare_names);
	return UGDS_ST_OK;
}

/* ----------------------------------------------------------------- choice */

int ugst_resolve_ambiguous(const char *dir, char *const *names, size_t count,
                           struct ugds_st_error *err)
{
	char printed[UGST_ESCAPED_BYTES];
	char list[256];

	return ugst_fail(err, UGDS_ST_FORMAT,
	                 "%s: expected one checkpoint, found %zu candidates "
	                 "(%s): name one "
	                 "of them instead of the directory",
	                 ugst_escape(dir, strlen(dir), printed, 96), count,
	                 ugst_list_names(names, count, list, sizeof(list)));
}

static int choose_index(struct ugst_resolved *resolved, const char *name,
                        const struct listing *listing,
                        struct ugds_st_error *err)
{
	/* "x.safetensors" beside "x.safetensors.index.json". */
	char *single = ugst_strndup(name, strlen(name) - strlen(".index.json"));

	resolved->index = ugst_strdup(name);
	if (single && has_name(&listing->shards, single))
		resolved->rival = single;
	else
		free(single);
	return resolved->index && single ? UGDS_ST_OK : ugst_fail_memory(err);
}

static int choose_single(struct ugst_resolved *resolved, const char *name,
                         struct ugds_st_error *err)
{
	struct names one = {0};

	if (!add_name(&one, name)) {
		free(one.list);
		return ugst_fail_memory(err);
	}
	resolved->shards = one.list;
	resolved->shard_count = one.count;
	return UGDS_ST_OK;
}

/* model.safetensors: the checkpoint, unless numbered shards of the same name
 * say that they are. */
static int choose_default(struct ugst_resolved *resolved,
                          const struct listing *listing,
                          struct ugds_st_error *err)
{
	struct names rivals = {0};
	struct ugst_numbered number;
	int status = UGDS_ST_OK;

	for (size_t i = 0; i < listing->shards.count && !status; i++) {
		const char *name = listing->shards.list[i];
		bool rival = ugst_numbered(name, &number) &&
		             number.stem_bytes == strlen("model") &&
		             memcmp(name, "model", number.stem_bytes) == 0;

		if ((rival || strcmp(name, DEFAULT_SHARD) == 0) &&
		    !add_name(&rivals, name))
			status = ugst_fail_memory(err);
	}
	if (!status && rivals.count > 1)
		status = ugst_resolve_ambiguous(resolved->dir, rivals.list,
		                                rivals.count, err);
	free_names(&rivals);
	return status ? status : choose_single(resolved, DEFAULT_SHARD, err);
}

static const char *printable_dir(const struct ugst_resolved *resolved,
                                 char printed[UGST_ESCAPED_BYTES])
{
	return ugst_escape(resolved->dir, strlen(resolved->dir), printed,
	                   UGST_ESCAPED_BYTES);
}

/* No index: one file, or all of a numbered set. */
static int choose_shards(struct ugst_resolved *resolved,
                         struct listing *listing, struct ugds_st_error *err)
{
	struct names *shards = &listing->shards;
	char printed[UGST_ESCAPED_BYTES];
	int status;

	if (shards->count == 0)
		return ugst_fail(err, UGDS_ST_NOT_FOUND,
		                 "%s: no file in it ends in .safetensors or "
		                 ".safetensors.index.json, expected a "
		                 "checkpoint",
		                 printable_dir(resolved, printed));
	if (ugst_numbered_set(shards->list, shards->count)) {
		status =
			ugst_numbered_missing(shards->list, shards->count, err);
		if (status) {
			ugst_err_prefix(err, printable_dir(resolved, printed));
			return status;
		}
	} else if (shards->count > 1) {
		return ugst_resolve_ambiguous(resolved->dir, shards->list,
		                              shards->count, err);
	}
	resolved->shards = shards->list;
	resolved->shard_count = shards->count;
	memset(shards, 0, sizeof(*shards));
	return UGDS_ST_OK;
}

static int choose(struct ugst_resolved *resolved, struct listing *listing,
                  struct ugds_st_error *err)
{
	/* The default names are what every loader takes when it is not told
	 * otherwise; variants beside them are taken when they are named. */
	if (has_name(&listing->indexes, DEFAULT_INDEX))
		return choose_index(resolved, DEFAULT_INDEX, listing, err);
	if (has_name(&listing->shards, DEFAULT_SHARD))
		return choose_default(resolved, listing, err);
	if (listing->indexes.count == 1)
		return choose_index(resolved, listing->indexes.list[0], listing,
		                    err);
	if (listing->indexes.count > 1)
		return ugst_resolve_ambiguous(resolved->dir,
		                              listing->indexes.list,
		                              listing->indexes.count, err);
	return choose_shards(resolved, listing, err);
}

/* ------------------------------------------------------------- model name */

/* "org/name" where the path runs through a hub cache:
 * .../models--org--name/snapshots/... Return: malloc'ed, or NULL. */
static char *hub_name(const char *path)
{
	static const char before[] = "models--";
	static const char behind[] = "/snapshots/";

	for (const char *at = path; (at = strstr(at, before)); at++) {
		const char *name = at + strlen(before);
		size_t bytes = strcspn(name, "/");
		char *model;
		char *gap;

		if ((at > path && at[-1] != '/') || bytes == 0 ||
		    strncmp(name + bytes, behind, strlen(behind)) != 0)
			continue;
		model = ugst_strndup(name, bytes);
		gap = model ? strstr(model, "--") : NULL;
		if (gap) {
			*gap = '/';
			memmove(gap + 1, gap + 2, strlen(gap + 2) + 1);
		}
		return model;
	}
	return NULL;
}

/* A name goes into JSON and onto terminals, a path may hold anything. */
static void make_printable(char *name)
{
	size_t bytes = strlen(name);

	for (size_t at = 0; at < bytes;) {
		char form[16];
		size_t taken = ugst_utf8_char_bytes(name + at, bytes - at);
		size_t whole = taken ? taken : 1;

		(void)ugst_escape(name + at, whole, form, sizeof(form));
		if (strlen(form) != whole)
			memset(name + at, '_', whole);
		at += whole;
	}
}

/* The last part of a path that is real, without an ending that is ours. */
static char *last_part(const char *real)
{
	const char *slash = strrchr(real, '/');
	const char *name = slash && slash[1] ? slash + 1 : real;
	size_t bytes = strlen(name);

	if (ends_with(name, SHARD_ENDING))
		bytes -= strlen(SHARD_ENDING);
	return ugst_strndup(name, bytes);
}

/*
 * @single: the path is a shard, which gives its name; else the directory does.
 */
static int name_model(struct ugst_resolved *resolved, const char *path,
                      bool single, struct ugds_st_error *err)
{
	char *real = realpath(resolved->dir, NULL);
	char *whole = real ? ugst_printf("%s/", real) : NULL;

	/* A shard's own link leads to a blob without a name: its directory is
	 * made real, not the shard. */
	resolved->model = hub_name(path);
	if (!resolved->model && whole)
		resolved->model = hub_name(whole);
	if (!resolved->model)
		resolved->model = last_part(single || !real ? path : real);
	free(real);
	free(whole);
	if (!resolved->model)
		return ugst_fail_memory(err);
	make_printable(resolved->model);
	return UGDS_ST_OK;
}

/* ------------------------------------------------------------------ paths */

static int resolve_directory(const char *path, struct ugst_resolved *resolved,
                             struct ugds_st_error *err)
{
	struct listing listing = {0};
	int status;

	resolved->dir = ugst_strdup(path);
	if (!resolved->dir)
		return ugst_fail_memory(err);
	status = list_directory(path, &listing, err);
	if (!status)
		status = choose(resolved, &listing, err);
	if (!status)
		status = name_model(resolved, path, false, err);
	free_names(&listing.shards);
	free_names(&listing.indexes);
	return status;
}

static int resolve_file(const char *path, struct ugst_resolved *resolved,
                        struct ugds_st_error *err)
{
	const char *slash = strrchr(path, '/');
	const char *name = slash ? slash + 1 : path;
	bool is_index = ends_with(name, ".json");
	int status = UGDS_ST_OK;

	if (!slash)
		resolved->dir = ugst_strdup(".");
	else
		resolved->dir = ugst_strndup(
			path, slash == path ? 1 : (size_t)(slash - path));
	if (is_index)
		resolved->index = ugst_strdup(name);
	else
		status = choose_single(resolved, name, err);
	if (!status && (!resolved->dir || (is_index && !resolved->index)))
		status = ugst_fail_memory(err);
	return status ? status : name_model(resolved, path, !is_index, err);
}

int ugst_resolve(const char *path, struct ugst_resolved *resolved_out,
                 struct ugds_st_error *err)
{
	struct ugst_resolved resolved = {0};
	struct stat file;
	int status;

	if (*path == '\0')
		return ugst_fail(err, UGDS_ST_NOT_FOUND,
		                 "the path of the checkpoint is empty");
	if (stat(path, &file))
		return fail_path(path, errno, err);
	status = S_ISDIR(file.st_mode) ? resolve_directory(path, &resolved, err)
	                               : resolve_file(path, &resolved, err);
	if (status)
		ugst_resolved_free(&resolved);
	else
		*resolved_out = resolved;
	return status;
}

void ugst_resolved_free(struct ugst_resolved *resolved)
{
	for (size_t i = 0; i < resolved->shard_count; i++)
		free(resolved->shards[i]);
	free(resolved->shards);
	free(resolved->dir);
	free(resolved->model);
	free(resolved->index);
	free(resolved->rival);
	memset(resolved, 0, sizeof(*resolved));
}
