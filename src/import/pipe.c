/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pipe.c - read, hash, take away, side by side; see pipe.h.
 *
 * A ring of buffers goes round: the reader fills one, the caller hashes it and
 * shifts it by the lead in place, the taker hands it to the sink. Three
 * counters that only grow say how far each is; a buffer's number is a counter
 * modulo the ring. Memory is the ring, whatever the shard's size.
 */
#include "base/common.h"

#include <pthread.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/units.h"
#include "import/pipe.h"

#define RING 4u

struct pipe {
	struct ugst_shard_file *source;
	ugst_sink *sink;
	void *ctx;
	uint32_t lead_bytes;
	uint64_t chunk_count;
	char *buffers[RING];
	size_t bytes[RING]; /* filled; after the shift, to be taken */

	pthread_mutex_t mutex; /* guards what follows */
	pthread_cond_t changed;
	uint64_t read_count;
	uint64_t ready_count;
	uint64_t taken_count;
	int status; /* the first failure, which ends all three */
	struct ugds_st_error err;
};

/* Wait until *counter has passed target. false: the stream has failed. */
static bool wait_past(struct pipe *pipe, const uint64_t *counter,
                      uint64_t target)
{
	bool going;

	pthread_mutex_lock(&pipe->mutex);
	while (pipe->status == UGDS_ST_OK && *counter <= target)
		pthread_cond_wait(&pipe->changed, &pipe->mutex);
	going = pipe->status == UGDS_ST_OK;
	pthread_mutex_unlock(&pipe->mutex);
	return going;
}

static void advance(struct pipe *pipe, uint64_t *counter)
{
	pthread_mutex_lock(&pipe->mutex);
	++*counter;
	pthread_cond_broadcast(&pipe->changed);
	pthread_mutex_unlock(&pipe->mutex);
}

static void fail(struct pipe *pipe, int status, const struct ugds_st_error *err)
{
	pthread_mutex_lock(&pipe->mutex);
	if (pipe->status == UGDS_ST_OK) {
		pipe->status = status;
		pipe->err = *err;
	}
	pthread_cond_broadcast(&pipe->changed);
	pthread_mutex_unlock(&pipe->mutex);
}

static void *read_all(void *arg)
{
	struct pipe *pipe = arg;
	struct ugds_st_error err = {0};

	for (uint64_t i = 0; i < pipe->chunk_count; i++) {
		unsigned slot = i % RING;
		int status;

		if (i >= RING && !wait_past(pipe, &pipe->taken_count, i - RING))
			break;
		status = ugst_shard_file_read(
			pipe->source, pipe->buffers[slot], UGST_CHUNK_BYTES,
			i * UGST_CHUNK_BYTES, &pipe->bytes[slot], &err);
		if (status != UGDS_ST_OK) {
			fail(pipe, status, &err);
			break;
		}
		advance(pipe, &pipe->read_count);
	}
	return NULL;
}

static void *take_all(void *arg)
{
	struct pipe *pipe = arg;
	struct ugds_st_error err = {0};

	for (uint64_t i = 0; i < pipe->chunk_count; i++) {
		unsigned slot = i % RING;
		int status;

		if (!wait_past(pipe, &pipe->ready_count, i))
			break;
		status = pipe->sink(pipe->ctx, pipe->buffers[slot],
		                    pipe->bytes[slot], i * UGST_CHUNK_BYTES,
		                    &err);
		if (status != UGDS_ST_OK) {
			fail(pipe, status, &err);
			break;
		}
		advance(pipe, &pipe->taken_count);
	}
	return NULL;
}

/*
 * Move a chunk up by the lead. Its last lead bytes go to the next chunk, whose
 * first bytes they are; carry has those of the chunk before, zeros at first.
 * The last chunk keeps all and is filled with zeros.
 */
static void shift(struct pipe *pipe, unsigned slot, bool last, char *carry)
{
	char *buf = pipe->buffers[slot];
	size_t bytes = pipe->bytes[slot];
	size_t lead = pipe->lead_bytes;
	char next[UGST_OBJECT_PAGE_BYTES];

	if (!last)
		memcpy(next, buf + bytes - lead, lead);
	memmove(buf + lead, buf, bytes);
	memcpy(buf, carry, lead);
	if (last) {
		size_t end = (size_t)ugst_align_up(lead + bytes,
		                                   UGST_OBJECT_PAGE_BYTES);

		memset(buf + lead + bytes, 0, end - lead - bytes);
		pipe->bytes[slot] = end;
	} else {
		memcpy(carry, next, lead);
	}
}

/* Hash the part of a chunk that is the shard's header; at its end, is that
 * still the header that was validated? */
static void hash_header(struct pipe *pipe, struct ugst_hasher *hasher,
                        uint64_t off, const char *buf, size_t bytes)
{
	const struct ugst_source_shard *shard = pipe->source->shard;
	uint64_t left =
		shard->header.data_off - ugst_min(off, shard->header.data_off);
	struct ugst_hash found;
	struct ugds_st_error err;

	if (left == 0)
		return;
	ugst_hasher_add(hasher, buf, (size_t)ugst_min(bytes, left));
	if (left > bytes)
		return;
	found = ugst_hasher_result(hasher);
	if (!ugst_hash_equal(&found, &shard->header_hash))
		fail(pipe,
		     ugst_fail(&err, UGDS_ST_MISMATCH,
		               "%s: changed while it was imported: its header "
		               "differs",
		               shard->path),
		     &err);
}

static void hash_all(struct pipe *pipe, struct ugst_hasher *hasher,
                     struct ugst_hasher *header_hasher,
                     void (*moved)(void *ctx, uint64_t bytes))
{
	char carry[UGST_OBJECT_PAGE_BYTES] = {0};

	for (uint64_t i = 0; i < pipe->chunk_count; i++) {
		unsigned slot = i % RING;
		uint64_t bytes;

		if (!wait_past(pipe, &pipe->read_count, i))
			return;
		bytes = pipe->bytes[slot];
		ugst_hasher_add(hasher, pipe->buffers[slot], (size_t)bytes);
		hash_header(pipe, header_hasher, i * UGST_CHUNK_BYTES,
		            pipe->buffers[slot], (size_t)bytes);
		shift(pipe, slot, i + 1 == pipe->chunk_count, carry);
		advance(pipe, &pipe->ready_count);
		moved(pipe->ctx, bytes);
	}
}

/* Both threads, and the caller's part between them. */
static int run_threads(struct pipe *pipe, struct ugst_hasher *hasher,
                       struct ugst_hasher *header_hasher,
                       void (*moved)(void *ctx, uint64_t bytes),
                       struct ugds_st_error *err)
{
	struct ugds_st_error own;
	pthread_t reader;
	pthread_t taker;
	int errnum = pthread_create(&reader, NULL, read_all, pipe);

	if (errnum)
		return ugst_fail_errno(err, UGDS_ST_NO_MEMORY, errnum,
		                       "a thread to read with");
	errnum = pthread_create(&taker, NULL, take_all, pipe);
	if (errnum) {
		fail(pipe,
		     ugst_fail_errno(&own, UGDS_ST_NO_MEMORY, errnum,
		                     "a thread to write with"),
		     &own);
	} else {
		hash_all(pipe, hasher, header_hasher, moved);
		pthread_join(taker, NULL);
	}
	pthread_join(reader, NULL);
	if (pipe->status != UGDS_ST_OK && err)
		*err = pipe->err;
	return pipe->status;
}

int ugst_pipe_run(struct ugst_shard_file *source, uint32_t lead_bytes,
                  ugst_sink *sink, void (*moved)(void *ctx, uint64_t bytes),
                  void *ctx, struct ugst_hash *hash_out,
                  struct ugds_st_error *err)
{
	struct pipe pipe = {.source = source,
	                    .sink = sink,
	                    .ctx = ctx,
	                    .lead_bytes = lead_bytes,
	                    .mutex = PTHREAD_MUTEX_INITIALIZER,
	                    .changed = PTHREAD_COND_INITIALIZER};
	struct ugst_hasher *hasher = ugst_hasher_new();
	struct ugst_hasher *header_hasher = ugst_hasher_new();
	uint64_t bytes = source->shard->stamp.bytes;
	/* Room for a chunk that the lead pushes up by less than a page. */
	size_t buffer_bytes =
		(size_t)ugst_align_up(ugst_min(bytes, UGST_CHUNK_BYTES),
	                              UGST_OBJECT_PAGE_BYTES) +
		UGST_OBJECT_PAGE_BYTES;
	int status = UGDS_ST_OK;

	pipe.chunk_count = ugst_div_up(bytes, UGST_CHUNK_BYTES);
	if (!hasher || !header_hasher)
		status = ugst_fail_memory(err);
	for (unsigned i = 0;
	     i < RING && i < pipe.chunk_count && status == UGDS_ST_OK; i++) {
		pipe.buffers[i] =
			ugst_alloc_aligned(buffer_bytes, UGST_PAGE_BYTES);
		if (!pipe.buffers[i])
			status = ugst_fail_memory(err);
	}
	if (status == UGDS_ST_OK)
		status = run_threads(&pipe, hasher, header_hasher, moved, err);
	if (status == UGDS_ST_OK)
		*hash_out = ugst_hasher_result(hasher);
	for (unsigned i = 0; i < RING; i++)
		free(pipe.buffers[i]);
	ugst_hasher_free(hasher);
	ugst_hasher_free(header_hasher);
	return status;
}
