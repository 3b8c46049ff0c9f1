/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * env.h - the world under the importer: how it reaches devices and files, and
 * whom it tells. Tests put a disk and a file system of their own here.
 */
#ifndef UGST_IMPORT_ENV_H
#define UGST_IMPORT_ENV_H

#include "base/common.h"
#include "devices/blockdev.h"
#include "devices/fs.h"

struct ugst_import_env {
	const struct ugst_blockdev_ops *dev_ops; /* NULL: the device's own */
	void *dev_ctx;
	const struct ugst_fs *fs;
	void (*note)(void *ctx, const char *text); /* NULL: nobody */
	void (*progress)(void *ctx, uint64_t done_bytes, uint64_t all_bytes);
	void *ctx; /* of note and progress */
	uint64_t done_bytes;
	uint64_t all_bytes;
};

void ugst_env_init(struct ugst_import_env *env);

/* A line for people; nothing happens where nobody listens. */
void ugst_env_note(const struct ugst_import_env *env, const char *fmt, ...)
	UGST_PRINTF(2, 3);

/* bytes more are done. */
void ugst_env_progress(struct ugst_import_env *env, uint64_t bytes);

#endif /* UGST_IMPORT_ENV_H */
