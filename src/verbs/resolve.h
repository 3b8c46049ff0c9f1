/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * resolve.h - which files a path stands for; docs/checkpoints.md has the rule.
 */
#ifndef UGST_RESOLVE_H
#define UGST_RESOLVE_H

#include "base/common.h"

struct ugst_resolved {
	char *dir;     /* names count from here: "." or a path */
	char *model;   /* name for people */
	char *index;   /* name of the index in dir; NULL: there is none */
	char *rival;   /* a file that is ambiguous beside index, unless that
	                  lists it; NULL: there is none */
	char **shards; /* names in dir, sorted; empty where there is an index */
	size_t shard_count;
};

/*
 * ugst_resolve() - look at a path, open nothing but directories.
 *
 * @resolved_out: written on OK only; free with ugst_resolved_free().
 * Return: OK; NOT_FOUND; FORMAT (several candidates: all are named); IO;
 * NO_MEMORY.
 */
int ugst_resolve(const char *path, struct ugst_resolved *resolved_out,
                 struct ugds_st_error *err);

/* A zeroed one is fine. */
void ugst_resolved_free(struct ugst_resolved *resolved);

/* Two candidates, one of them to be named by the caller. Return: FORMAT. */
int ugst_resolve_ambiguous(const char *dir, char *const *names, size_t count,
                           struct ugds_st_error *err);

/*
 * ugst_list_names() - names in a line of text, as many as there is room for.
 *
 * Runs of numbered shards are written as "first to last".
 * Return: text.
 */
char *ugst_list_names(char *const *names, size_t count, char *text,
                      size_t text_bytes);

/* dir/name; NULL: out of memory. */
char *ugst_join_path(const char *dir, const char *name);

#endif /* UGST_RESOLVE_H */
