/* SPDX-License-Identifier: BSD-3-Clause */
/* headers.h - the tensor table from the headers on the devices. */
#ifndef UGST_HEADERS_H
#define UGST_HEADERS_H

#include "base/common.h"
#include "pure/manifest.h"
#include "verbs/store.h"

/*
 * ugst_headers_load() - read, check and parse every shard's header.
 *
 * Reading them proves that the device is the right one: no table is kept
 * anywhere else.
 *
 * @store: its shards are placed; gets its table.
 * Return: OK; CORRUPT (hash); FORMAT; IO; NO_MEMORY; DEVICE_LOST.
 */
int ugst_headers_load(ugds_st_store *store,
                      const struct ugst_manifest *manifest,
                      struct ugds_st_error *err);

#endif /* UGST_HEADERS_H */
