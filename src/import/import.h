/* SPDX-License-Identifier: BSD-3-Clause */
/* import.h - the verbs of ugds_st_import.h over a world that tests choose. */
#ifndef UGST_IMPORT_IMPORT_H
#define UGST_IMPORT_IMPORT_H

#include "base/common.h"
#include "import/env.h"
#include "ugds_st_import.h"

/* ugds_st_import() with the devices and file system of env; its note,
 * progress and ctx are taken from opts. */
int ugst_import(const struct ugst_import_env *env,
                const struct ugds_st_import_opts *opts,
                struct ugds_st_import_result *result_out,
                struct ugds_st_error *err);

/* ugds_st_import_format() likewise. */
int ugst_format(const struct ugst_import_env *env, const char *device,
                const struct ugds_st_import_format_opts *opts,
                uint8_t uuid_out[16], struct ugds_st_error *err);

/* ugds_st_import_prune() and ugds_st_import_remove() likewise. */
int ugst_drop(const struct ugst_import_env *env, bool remove,
              const struct ugds_st_import_drop_opts *opts,
              struct ugds_st_import_drop_result *result_out,
              struct ugds_st_error *err);

/* ugds_st_import_adopt() likewise. */
int ugst_adopt(const struct ugst_import_env *env, const char *device,
               const struct ugds_st_import_adopt_opts *opts,
               struct ugds_st_error *err);

#endif /* UGST_IMPORT_IMPORT_H */
