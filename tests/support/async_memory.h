/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * async_memory.h - memory whose copies take their time, and may fail.
 *
 * A copy moves its bytes at the last moment that the rules allow: when its
 * token is found to be done. So whoever publishes a tensor, or lets a source
 * or a destination go, before that moment has the wrong bytes. Copies end in
 * any order. What breaks a rule of struct ugds_st_memory_ops is counted.
 */
#ifndef TEST_ASYNC_MEMORY_H
#define TEST_ASYNC_MEMORY_H

#include <pthread.h>

#include "base/common.h"

/* Codes of its functions; done() negates them. */
#define ASYNC_NO_MEMORY 11
#define ASYNC_COPY_REFUSED 12
#define ASYNC_COPY_FAILED 13
#define ASYNC_FENCE_FAILED 14

struct async_copy {
	char *dst;
	const char *src;
	size_t bytes;
	void *stream;
	unsigned asks_left; /* answers "not yet" before it is done */
	bool moved; /* its bytes are there, its token was not asked yet */
	bool over;
};

struct async_block {
	char *ptr;
	size_t bytes;
};

struct async_memory {
	struct ugds_st_memory_ops ops;
	/* Set by a test. */
	uint64_t seed;
	unsigned max_asks; /* a copy is asked up to so often; 0: it is done
	                      when it is first asked */
	void *held; /* copies on this stream wait for async_memory_release() */
	uint64_t refuse_copy;        /* the Nth copy() fails, from 1; 0: none */
	uint64_t fail_copy;          /* the Nth copy fails when it is asked */
	uint64_t fail_alloc;         /* the Nth alloc() fails */
	uint64_t fail_fence;         /* the Nth fence() fails */
	void (*on_alloc)(void *ctx); /* called by alloc(), without the lock */
	void *on_alloc_ctx;
	/* Counted. */
	uint64_t copy_count;
	uint64_t alloc_count;
	uint64_t fence_count;
	uint64_t live_blocks;
	uint64_t pending;      /* copies that are not over */
	uint64_t stream_waits; /* done(wait) of a copy on a held stream */
	uint64_t violations;
	const char *violation; /* the first */
	/* Its own. */
	pthread_mutex_t lock;
	struct async_copy *copies; /* a token is index + 1 */
	size_t copy_capacity;
	struct async_block blocks[64];
};

/* register_flags: -1 as host memory, 0 as memory of a device. */
void async_memory_init(struct async_memory *memory, int register_flags);

/* Streams run on: what was enqueued on them is done, and later copies end as
 * all do. */
void async_memory_release(struct async_memory *memory);

/* May a copy still write to, or read from, this memory? */
bool async_memory_busy(struct async_memory *memory, const void *ptr,
                       size_t bytes);

/* Frees; fails the test if a rule was broken, or a copy or a block is left. */
void async_memory_end(struct async_memory *memory);

#endif /* TEST_ASYNC_MEMORY_H */
