/* SPDX-License-Identifier: BSD-3-Clause */
/* async_memory.c - copies that take their time; see async_memory.h. */
#include "support/test.h"

#include "base/mem.h"
#include "support/async_memory.h"
#include "support/random.h"

/* A test that lets allocations fail means the library's. */
#define COPIES_AT_FIRST 8192u

static void broke(struct async_memory *memory, const char *what)
{
	if (memory->violations++ == 0)
		memory->violation = what;
}

static void end_copy(struct async_memory *memory, struct async_copy *copy,
                     bool good)
{
	if (good && !copy->moved)
		memcpy(copy->dst, copy->src, copy->bytes);
	copy->over = true;
	memory->pending--;
}

static bool touches(const struct async_copy *copy, const char *ptr,
                    size_t bytes)
{
	return (copy->dst < ptr + bytes && ptr < copy->dst + copy->bytes) ||
	       (copy->src < ptr + bytes && ptr < copy->src + copy->bytes);
}

/* Lock held. */
static bool is_busy(const struct async_memory *memory, const char *ptr,
                    size_t bytes)
{
	for (size_t i = 0; i < memory->copy_count; i++)
		if (!memory->copies[i].over && !memory->copies[i].moved &&
		    touches(&memory->copies[i], ptr, bytes))
			return true;
	return false;
}

static int async_alloc(void *ctx, size_t bytes, size_t align, void **ptr_out)
{
	struct async_memory *memory = ctx;
	int code = 0;
	size_t i = 0;

	if (memory->on_alloc)
		memory->on_alloc(memory->on_alloc_ctx);
	(void)pthread_mutex_lock(&memory->lock);
	if (++memory->alloc_count == memory->fail_alloc) {
		code = ASYNC_NO_MEMORY;
		goto out;
	}
	while (i < UGST_COUNT(memory->blocks) && memory->blocks[i].ptr)
		i++;
	*ptr_out = i < UGST_COUNT(memory->blocks)
	                   ? ugst_alloc_aligned(bytes, align)
	                   : NULL;
	if (!*ptr_out) {
		code = ASYNC_NO_MEMORY;
		goto out;
	}
	memory->blocks[i] = (struct async_block){*ptr_out, bytes};
	memory->live_blocks++;
out:
	(void)pthread_mutex_unlock(&memory->lock);
	return code;
}

static void async_free(void *ctx, void *ptr, size_t bytes)
{
	struct async_memory *memory = ctx;
	size_t i = 0;

	(void)pthread_mutex_lock(&memory->lock);
	while (i < UGST_COUNT(memory->blocks) && memory->blocks[i].ptr != ptr)
		i++;
	if (i == UGST_COUNT(memory->blocks) || memory->blocks[i].bytes != bytes)
		broke(memory, "free: no such block of this size");
	else
		memory->blocks[i].ptr = NULL;
	if (is_busy(memory, ptr, bytes))
		broke(memory, "free: a copy still uses it");
	memory->live_blocks--;
	(void)pthread_mutex_unlock(&memory->lock);
	free(ptr);
}

static int async_copy(void *ctx, void *dst, const void *src, size_t bytes,
                      void *stream, uint64_t *token_out)
{
	struct async_memory *memory = ctx;
	struct async_copy *copies;
	int code = 0;

	(void)pthread_mutex_lock(&memory->lock);
	copies = ugst_grow(memory->copies, memory->copy_count,
	                   &memory->copy_capacity, sizeof(*copies));
	if (!copies) {
		code = ASYNC_NO_MEMORY;
		goto out;
	}
	memory->copies = copies;
	copies += memory->copy_count++;
	*copies = (struct async_copy){
		.dst = dst,
		.src = src,
		.bytes = bytes,
		.stream = stream,
		.over = true,
	};
	if (memory->copy_count == memory->refuse_copy) {
		code = ASYNC_COPY_REFUSED;
		goto out;
	}
	if (memory->max_asks)
		copies->asks_left = (unsigned)random_below(
			&memory->seed, memory->max_asks + 1);
	copies->over = false;
	memory->pending++;
	*token_out = memory->copy_count;
out:
	(void)pthread_mutex_unlock(&memory->lock);
	return code;
}

/* Lock held. */
static int ask(struct async_memory *memory, uint64_t token, int wait)
{
	struct async_copy *copy;

	if (token == 0 || token > memory->copy_count) {
		broke(memory, "done: no such token");
		return 1;
	}
	copy = &memory->copies[token - 1];
	if (copy->over) {
		broke(memory, "done: asked after the token was over");
		return 1;
	}
	if (copy->stream && copy->stream == memory->held) {
		if (!wait)
			return 0;
		memory->stream_waits++;
	}
	if (!wait && copy->asks_left) {
		copy->asks_left--;
		return 0;
	}
	end_copy(memory, copy, token != memory->fail_copy);
	return token == memory->fail_copy ? -ASYNC_COPY_FAILED : 1;
}

static int async_done(void *ctx, uint64_t token, int wait)
{
	struct async_memory *memory = ctx;
	int result;

	(void)pthread_mutex_lock(&memory->lock);
	result = ask(memory, token, wait);
	(void)pthread_mutex_unlock(&memory->lock);
	return result;
}

static int async_fence(void *ctx)
{
	struct async_memory *memory = ctx;
	int code;

	(void)pthread_mutex_lock(&memory->lock);
	code = ++memory->fence_count == memory->fail_fence ? ASYNC_FENCE_FAILED
	                                                   : 0;
	(void)pthread_mutex_unlock(&memory->lock);
	return code;
}

static const char *async_error_text(void *ctx, int code)
{
	(void)ctx;
	switch (code < 0 ? -code : code) {
	case ASYNC_NO_MEMORY:
		return "async: no memory";
	case ASYNC_COPY_REFUSED:
		return "async: copy refused";
	case ASYNC_COPY_FAILED:
		return "async: copy failed";
	case ASYNC_FENCE_FAILED:
		return "async: fence failed";
	default:
		return "async: no such code";
	}
}

void async_memory_init(struct async_memory *memory, int register_flags)
{
	*memory = (struct async_memory){
		.ops = {.struct_size = sizeof(memory->ops),
	                .ctx = memory,
	                .ugds_register_flags = register_flags,
	                .alloc = async_alloc,
	                .free = async_free,
	                .copy = async_copy,
	                .done = async_done,
	                .fence = async_fence,
	                .error_text = async_error_text},
		.seed = 1,
	};
	(void)pthread_mutex_init(&memory->lock, NULL);
	memory->copy_capacity = COPIES_AT_FIRST;
	memory->copies = ugst_calloc(COPIES_AT_FIRST, sizeof(*memory->copies));
	assert_non_null(memory->copies);
}

void async_memory_release(struct async_memory *memory)
{
	(void)pthread_mutex_lock(&memory->lock);
	memory->held = NULL;
	for (size_t i = 0; i < memory->copy_count; i++) {
		struct async_copy *copy = &memory->copies[i];

		if (copy->over || !copy->stream)
			continue;
		memcpy(copy->dst, copy->src, copy->bytes);
		copy->moved = true;
		copy->asks_left = 0;
	}
	(void)pthread_mutex_unlock(&memory->lock);
}

bool async_memory_busy(struct async_memory *memory, const void *ptr,
                       size_t bytes)
{
	bool busy;

	(void)pthread_mutex_lock(&memory->lock);
	busy = is_busy(memory, ptr, bytes);
	(void)pthread_mutex_unlock(&memory->lock);
	return busy;
}

void async_memory_end(struct async_memory *memory)
{
	if (memory->violations)
		fail_msg("%s (%llu rules broken)", memory->violation,
		         (unsigned long long)memory->violations);
	assert_int_equal(memory->pending, 0);
	assert_int_equal(memory->live_blocks, 0);
	free(memory->copies);
	(void)pthread_mutex_destroy(&memory->lock);
}
