/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * publish.h - the manifest's file: what is there, and how it is replaced.
 *
 * The rename is the moment at which a new generation takes over.
 */
#ifndef UGST_IMPORT_PUBLISH_H
#define UGST_IMPORT_PUBLISH_H

#include <sys/types.h>

#include "base/common.h"
#include "import/env.h"
#include "pure/manifest.h"

struct ugst_publication {
	char *path;    /* absolute, symbolic links followed */
	char *folder;  /* of path */
	int folder_fd; /* locked while this exists; -1: not begun */
	bool exists;
	mode_t mode; /* of what is there */
	uid_t owner;
	gid_t group;
	struct ugst_manifest manifest; /* what is there; else zeros */
};

/*
 * ugst_publication_begin() - find, lock and read the place of a manifest.
 *
 * @publication: zeroed but for folder_fd; end it in any case.
 * Return: OK (the file may be absent); NOT_FOUND (its folder); MISMATCH (there
 * is something that is no manifest: it will not be overwritten); UNSUPPORTED
 * (a manifest of a newer library); BUSY (another import has the folder);
 * NO_MEMORY; IO.
 */
int ugst_publication_begin(const char *path,
                           struct ugst_publication *publication,
                           struct ugds_st_error *err);

/*
 * ugst_publication_replace() - put a manifest in place, durably.
 *
 * Return: OK; MISMATCH (what is there has become something else); NO_SPACE;
 * IO; NO_MEMORY: the old file is untouched in all these cases but one, IO with
 * "published, not known to be durable".
 */
int ugst_publication_replace(const struct ugst_import_env *env,
                             const struct ugst_publication *publication,
                             const struct ugst_manifest *manifest,
                             struct ugds_st_error *err);

/* Make what is there, and its name, durable. Return: OK; IO. */
int ugst_publication_sync(const struct ugst_import_env *env,
                          const struct ugst_publication *publication,
                          struct ugds_st_error *err);

/* Unlink what is there, durably. Return: OK; IO. */
int ugst_publication_remove(const struct ugst_import_env *env,
                            const struct ugst_publication *publication,
                            struct ugds_st_error *err);

/* fsync the folder of path, where that can be done. */
void ugst_publication_sync_folder(const struct ugst_import_env *env,
                                  const char *path);

void ugst_publication_end(struct ugst_publication *publication);

#endif /* UGST_IMPORT_PUBLISH_H */
