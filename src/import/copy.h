/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * copy.h - a shard onto blocks, and blocks against a shard.
 *
 * A run is what an object occupies: lead zeros, the shard, zeros up to a
 * multiple of 4096.
 */
#ifndef UGST_IMPORT_COPY_H
#define UGST_IMPORT_COPY_H

#include "base/common.h"
#include "devices/blockdev.h"
#include "import/env.h"
#include "import/shard_file.h"
#include "pure/catalog.h"
#include "pure/hash.h"

/* Zeros in front of a shard whose data section starts at data_off, so that
 * the data section starts at a multiple of 4096. */
uint32_t ugst_lead_bytes(uint64_t data_off);

/*
 * ugst_copy_shard() - write the run of a shard at a byte of a device.
 *
 * Reads, hashes and writes side by side. Does not flush.
 *
 * @hash_out: of the shard's bytes as they were written.
 * Return: OK; MISMATCH (source changed); IO; NO_MEMORY.
 */
int ugst_copy_shard(struct ugst_import_env *env, struct ugst_shard_file *source,
                    struct ugst_blockdev *dev, uint64_t base_off,
                    uint32_t lead_bytes, struct ugst_hash *hash_out,
                    struct ugds_st_error *err);

/*
 * ugst_compare_shard() - does the device hold this shard's run?
 *
 * Stops at the first byte that differs. A block that cannot be read differs.
 *
 * @hash_out: of the shard's bytes; written where *equal_out is true.
 * Return: OK; MISMATCH (source changed); IO (of the source); NO_MEMORY.
 */
int ugst_compare_shard(struct ugst_import_env *env,
                       struct ugst_shard_file *source,
                       struct ugst_blockdev *dev, uint64_t base_off,
                       uint32_t lead_bytes, bool *equal_out,
                       struct ugst_hash *hash_out, struct ugds_st_error *err);

/*
 * ugst_verify_object() - read an object back and compare its hash.
 *
 * Return: OK; CORRUPT (both hashes); IO; NO_MEMORY.
 */
int ugst_verify_object(struct ugst_import_env *env, struct ugst_blockdev *dev,
                       const struct ugst_object *object,
                       struct ugds_st_error *err);

/*
 * ugst_verify_header() - read an object's header back and compare its hash.
 *
 * Return: OK; CORRUPT (both hashes, or no header at all); IO; NO_MEMORY.
 */
int ugst_verify_header(struct ugst_blockdev *dev,
                       const struct ugst_object *object,
                       struct ugds_st_error *err);

#endif /* UGST_IMPORT_COPY_H */
