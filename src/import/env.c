/* SPDX-License-Identifier: BSD-3-Clause */
/* env.c - the world under the importer; see env.h. */
#include "base/common.h"

#include <stdarg.h>
#include <stdio.h>

#include "import/env.h"

void ugst_env_init(struct ugst_import_env *env)
{
	memset(env, 0, sizeof(*env));
	env->fs = ugst_fs_posix();
}

void ugst_env_note(const struct ugst_import_env *env, const char *fmt, ...)
{
	char text[512];
	va_list args;

	if (!env->note)
		return;
	va_start(args, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	env->note(env->ctx, text);
}

void ugst_env_progress(struct ugst_import_env *env, uint64_t bytes)
{
	env->done_bytes += bytes;
	if (env->progress)
		env->progress(env->ctx, env->done_bytes, env->all_bytes);
}
