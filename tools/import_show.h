/* SPDX-License-Identifier: BSD-3-Clause */
/* import_show.h - what ugds-st-import prints. */
#ifndef UGDS_ST_IMPORT_SHOW_H
#define UGDS_ST_IMPORT_SHOW_H

#include <stdbool.h>

#include "ugds_st_import.h"

/* After --format. */
void show_formatted(const char *device, const uint8_t uuid[16], bool json);

/* After an import of so many copies of each shard. */
void show_result(const struct ugds_st_import_result *result, uint32_t copies,
                 const char *manifest, bool json);

/* After --prune or --remove. */
void show_dropped(const struct ugds_st_import_drop_result *result, bool json);

/* --list */
void show_volume(const ugds_st_import_volume *volume, const char *device,
                 bool json);

#endif /* UGDS_ST_IMPORT_SHOW_H */
