/* SPDX-License-Identifier: BSD-3-Clause */
/* volume_set.h - several volumes, opened and locked in the order that keeps
 * two writers from waiting for each other: by UUID. */
#ifndef UGST_IMPORT_VOLUME_SET_H
#define UGST_IMPORT_VOLUME_SET_H

#include "base/common.h"
#include "import/env.h"
#include "import/volume.h"
#include "pure/manifest.h"

struct ugst_volume_member {
	struct ugst_volume *volume;
	char *path; /* absolute, for the manifest */
};

struct ugst_volume_set {
	size_t count;
	struct ugst_volume_member *members; /* by UUID */
};

/* What opening asks for, beside the writer's lock. */
struct ugst_volume_set_opts {
	const char *const *paths;
	size_t path_count;
	/* Labels older than it says are refused; NULL: none. */
	const struct ugst_manifest *manifest;
	const char *manifest_path;
	/* No readers either, through whatever node: for changes that free
	 * blocks. */
	bool alone;
	/* The identity need not be the recorded one. */
	bool adopt;
};

/*
 * ugst_volume_set_open() - open, lock, load and check volumes for writing.
 *
 * @set: zeroed; close it in any case.
 * Return: OK; INVALID_ARG (a device twice); MISMATCH (a clone, an old copy, the
 * wrong device); BUSY (a writer; readers, where alone: process named); and as
 * ugst_volume_open() and ugst_volume_load().
 */
int ugst_volume_set_open(const struct ugst_import_env *env,
                         const struct ugst_volume_set_opts *opts,
                         struct ugst_volume_set *set,
                         struct ugds_st_error *err);

/* In the reverse order. */
void ugst_volume_set_close(struct ugst_volume_set *set);

/* Readers and other holders of a device: none may be left, and none can come.
 * Return: OK; BUSY; IO. */
int ugst_volume_lock_readers(struct ugst_volume *volume,
                             struct ugds_st_error *err);

#endif /* UGST_IMPORT_VOLUME_SET_H */
