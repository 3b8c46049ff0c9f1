/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * store.h - the inside of an open checkpoint.
 */
#ifndef UGST_STORE_H
#define UGST_STORE_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/common.h"
#include "pure/hash.h"
#include "pure/manifest.h"
#include "pure/table.h"
#include "verbs/transfer.h"

/* A copy of a shard that can be read. */
struct ugst_store_copy {
	uint32_t source;
	uint64_t device_off; /* of the shard's first byte */
};

struct ugst_store_shard {
	char *name;
	uint64_t bytes;
	uint64_t json_bytes;
	struct ugst_store_copy *copies; /* on volumes that are there */
	uint32_t copy_count;
	struct ugst_hash header_hash;
	struct ugst_hash hash;
};

struct ugds_st_buffer {
	ugds_st_store *store;
	char *base;
	uint64_t bytes;
	bool ours;         /* to deregister: not the engine's registration */
	atomic_uint users; /* reads that are running */
	struct ugds_st_buffer *next;
};

struct ugds_st_store {
	char *model;
	struct ugst_uuid checkpoint;
	uint64_t generation;
	size_t left_out_count;
	struct ugst_table *table;
	struct ugst_store_shard *shards;
	size_t shard_count;

	/* Of an imported checkpoint only. */
	int provider; /* enum ugds_st_provider; 0: not imported */
	struct ugst_path path;
	size_t volume_count; /* that were found on the path's sources */
	struct ugst_counters counters;
	const struct ugst_ugds *ugds; /* of every source */
	/* The caller's, in full size whatever its own is; the path's. */
	struct ugds_st_memory_ops memory;
	/* Of the arena: the same, or host memory in compatibility mode. */
	struct ugds_st_memory_ops arena_memory;
	char *arena;
	uint64_t arena_bytes;
	bool arena_registered;

	atomic_uint calls;    /* that are running */
	pthread_mutex_t lock; /* buffers */
	struct ugds_st_buffer *buffers;
};

/* What open and inspect begin with; close frees it. NULL: out of memory. */
ugds_st_store *ugst_store_new(void);

/* Free what needs no device: the last step of close, and of a failed open. */
void ugst_store_free(ugds_st_store *store);

/*
 * ugst_store_check_pages() - is this what uGDS takes for what it is?
 *
 * uGDS rounds an unaligned base down, and data then land below the buffer.
 * Return: OK; INVALID_ARG.
 */
int ugst_store_check_pages(const void *base, uint64_t bytes,
                           struct ugds_st_error *err);

/*
 * ugst_store_register() - register memory with the store's provider.
 *
 * @memory: whose it is.
 * Return: OK; INVALID_ARG; UNSUPPORTED (cannot be registered); NO_MEMORY;
 * DEVICE_LOST.
 */
int ugst_store_register(const ugds_st_store *store,
                        const struct ugds_st_memory_ops *memory, void *base,
                        uint64_t bytes, struct ugds_st_error *err);

/* Return: OK; BUSY; DEVICE_LOST. */
int ugst_store_deregister(const ugds_st_store *store, void *base,
                          struct ugds_st_error *err);

/* Is imported, or say that it is not. */
int ugst_store_check_readable(const ugds_st_store *store,
                              struct ugds_st_error *err);

/*
 * ugst_store_copy() - the copy of its shard that a tensor is read from.
 *
 * Copies share the work by stripes of 64 MiB, so that a tensor, and as a rule
 * an expert's matrices, come from one device, and the same at every open.
 *
 * @turn: 0 for the first to be tried, then the others in order.
 * Return: NULL: there is no further one.
 */
const struct ugst_store_copy *ugst_store_copy(const ugds_st_store *store,
                                              const ugds_st_tensor *tensor,
                                              uint32_t turn);

/* The device that holds a copy. */
const struct ugst_device *ugst_store_device(const ugds_st_store *store,
                                            const struct ugst_store_copy *copy);

/* A call begins and ends: close says BUSY between. */
static inline void ugst_store_enter(ugds_st_store *store)
{
	atomic_fetch_add(&store->calls, 1);
}

static inline void ugst_store_leave(ugds_st_store *store)
{
	atomic_fetch_sub(&store->calls, 1);
}

/* A tensor's store; the table keeps it as an untyped owner. */
static inline const ugds_st_store *
ugst_tensor_store(const ugds_st_tensor *tensor)
{
	return tensor->owner;
}

/*
 * ugst_store_fetch() - read bytes of a source into host memory.
 *
 * @off, @bytes: any; whole blocks around them are read. @what: for the text.
 * Return: OK; IO (names device and LBA); NO_MEMORY; BUSY; DEVICE_LOST.
 */
int ugst_store_fetch(const ugds_st_store *store, uint32_t source, uint64_t off,
                     uint64_t bytes, void *dst, const char *what,
                     struct ugds_st_error *err);

/* The text of a want that failed: what is "tensor x: shard y". */
int ugst_store_say(const ugds_st_store *store, const struct ugst_want *want,
                   const char *what, struct ugds_st_error *err);

#endif /* UGST_STORE_H */
