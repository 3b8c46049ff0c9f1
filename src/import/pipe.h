/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pipe.h - a shard as a stream of run chunks: one thread reads ahead, the
 * caller hashes and shifts, a second thread takes the result away.
 */
#ifndef UGST_IMPORT_PIPE_H
#define UGST_IMPORT_PIPE_H

#include "base/common.h"
#include "import/shard_file.h"
#include "pure/catalog.h"
#include "pure/hash.h"

/* What a chunk is read and written in. */
#define UGST_CHUNK_BYTES ((size_t)(4 * UGST_MIB))

/*
 * Takes bytes of the run at run_off, in order; both are multiples of 4096, buf
 * is aligned to them. Runs on a thread of its own. Another status than OK ends
 * the stream with it.
 */
typedef int ugst_sink(void *ctx, const void *buf, size_t bytes,
                      uint64_t run_off, struct ugds_st_error *err);

/*
 * ugst_pipe_run() - send the whole run of a shard through a sink.
 *
 * @moved: told on the calling thread how many bytes went through.
 * @hash_out: of the shard's bytes; written on OK only.
 * Return: OK; what the source or the sink says; NO_MEMORY.
 */
int ugst_pipe_run(struct ugst_shard_file *source, uint32_t lead_bytes,
                  ugst_sink *sink, void (*moved)(void *ctx, uint64_t bytes),
                  void *ctx, struct ugst_hash *hash_out,
                  struct ugds_st_error *err);

#endif /* UGST_IMPORT_PIPE_H */
