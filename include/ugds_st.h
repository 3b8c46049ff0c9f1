/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ugds_st.h - read the tensors of imported safetensors checkpoints.
 *
 * A checkpoint is imported once with ugds-st-import: its shards lie byte for
 * byte on one or several volumes, and a manifest says where. This header
 * opens the manifest as a store, looks tensors up by name and reads them into
 * host or GPU memory through uGDS, or through the same calls served over
 * files and block devices ("compatibility mode") where there is no uGDS.
 *
 *	ugds_st_store *store;
 *	struct ugds_st_error err;
 *
 *	if (ugds_st_open("llama.json", NULL, &store, &err))
 *		return complain(err.text);
 *	ugds_st_read_into(store, "lm_head.weight", dst, dst_bytes, &err);
 *	ugds_st_close(store, 0, &err);
 *
 * Units    All sizes and offsets are bytes unless a name ends in _lba (logical
 *          block address), _nlb (number of logical blocks) or _count.
 * Threads  Every function may be called from any thread. A store is immutable
 *          after open: look-ups take no lock, reads run side by side.
 * Structs  A struct that the caller fills begins with struct_size; use its
 *          INIT macro. The library reads no more than that many bytes, takes
 *          defaults for the rest, and refuses (INVALID_ARG) a larger struct
 *          whose unknown bytes are not zero. A struct that the library fills
 *          begins with struct_size too, and no more is written.
 * Errors   Functions return an enum ugds_st_status. The last parameter, err,
 *          may be NULL; it is written on failure only. The library never
 *          prints, exits or aborts because of input.
 * Strings  Tensor names are UTF-8 with a length; they may hold NUL bytes.
 */
#ifndef UGDS_ST_H
#define UGDS_ST_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define UGDS_ST_VERSION_MAJOR 0
#define UGDS_ST_VERSION_MINOR 1
#define UGDS_ST_VERSION_PATCH 0
#define UGDS_ST_VERSION "0.1.0"

/* ------------------------------------------------------------------ base */

/* An open checkpoint. */
typedef struct ugds_st_store ugds_st_store;
/* One tensor of a store: borrowed, dies with its store. */
typedef struct ugds_st_tensor ugds_st_tensor;
/* The registration of caller memory: must be unregistered before its store
 * is closed. */
typedef struct ugds_st_buffer ugds_st_buffer;
/* Memory that the library allocated, with tensors in it: owned by the caller,
 * independent of the store, which may be closed first. */
typedef struct ugds_st_array ugds_st_array;

/*
 * What a call says. One value is one thing that the caller does about it.
 * Values are pinned and never renumbered.
 */
enum ugds_st_status {
	UGDS_ST_OK = 0,
	/* Mend the program: NULL, a size, a destination that is too small. */
	UGDS_ST_INVALID_ARG = 1,
	/* No such tensor, file or device. */
	UGDS_ST_NOT_FOUND = 2,
	/* A file, index or manifest is malformed: get it again. */
	UGDS_ST_FORMAT = 3,
	/* The wrong, stale, cloned or changed device or source. */
	UGDS_ST_MISMATCH = 4,
	/* Stored bytes fail their hash: verify, import again. */
	UGDS_ST_CORRUPT = 5,
	/* A version, dtype, feature or device that this build cannot serve. */
	UGDS_ST_UNSUPPORTED = 6,
	UGDS_ST_NO_MEMORY = 7,
	/* The device or file system failed; the text names place and LBA. */
	UGDS_ST_IO = 8,
	/* Device, batch or buffer is in use: retry later. */
	UGDS_ST_BUSY = 9,
	/* Deadline over, nothing published; the destination is the caller's. */
	UGDS_ST_TIMEOUT = 10,
	/* The device is silent. Destinations that were read directly are NOT
	 * the caller's until the device has been opened anew. */
	UGDS_ST_DEVICE_LOST = 11,
	/* Volume or catalog is full: prune, or take a larger one. */
	UGDS_ST_NO_SPACE = 12
};

/* struct ugds_st_error.offset when no byte offset applies. */
#define UGDS_ST_NO_OFFSET UINT64_MAX

/*
 * What went wrong, in full. Caller-owned, nothing in it needs freeing, and
 * its size (512 bytes) never changes.
 */
struct ugds_st_error {
	int32_t status;    /* enum ugds_st_status */
	int32_t sys_errno; /* errno of the failed system call, or 0 */
	int32_t ugds_code; /* uGDSOpError (5000 + n) or 0 */
	int32_t reserved0;
	uint64_t offset; /* byte in the thing named, or UGDS_ST_NO_OFFSET */
	uint64_t reserved[4];
	char text[456]; /* one line: the thing, the place, both values */
};

/*
 * ugds_st_version() - version of the library that runs, as "0.1.0".
 *
 * Compare with UGDS_ST_VERSION to find a header of another version.
 * Return: a static string.
 */
const char *ugds_st_version(void);

/*
 * ugds_st_status_name() - the name of a status, as "NOT_FOUND".
 *
 * Return: a static string; "UNKNOWN" for a value that is no status.
 */
const char *ugds_st_status_name(int status);

/*
 * Element types of the safetensors format. Pinned values; F4, F6_E2M3 and
 * F6_E3M2 are packed below one byte: their bytes are read whole, elements are
 * not addressed.
 */
enum ugds_st_dtype {
	UGDS_ST_DTYPE_BOOL = 1,
	UGDS_ST_DTYPE_F4 = 2,
	UGDS_ST_DTYPE_F6_E2M3 = 3,
	UGDS_ST_DTYPE_F6_E3M2 = 4,
	UGDS_ST_DTYPE_U8 = 5,
	UGDS_ST_DTYPE_I8 = 6,
	UGDS_ST_DTYPE_F8_E5M2 = 7,
	UGDS_ST_DTYPE_F8_E4M3 = 8,
	UGDS_ST_DTYPE_F8_E8M0 = 9,
	UGDS_ST_DTYPE_F8_E4M3FNUZ = 10,
	UGDS_ST_DTYPE_F8_E5M2FNUZ = 11,
	UGDS_ST_DTYPE_I16 = 12,
	UGDS_ST_DTYPE_U16 = 13,
	UGDS_ST_DTYPE_F16 = 14,
	UGDS_ST_DTYPE_BF16 = 15,
	UGDS_ST_DTYPE_I32 = 16,
	UGDS_ST_DTYPE_U32 = 17,
	UGDS_ST_DTYPE_F32 = 18,
	UGDS_ST_DTYPE_C64 = 19,
	UGDS_ST_DTYPE_F64 = 20,
	UGDS_ST_DTYPE_I64 = 21,
	UGDS_ST_DTYPE_U64 = 22
};

/*
 * ugds_st_dtype_name() - the format's spelling of a dtype, as "BF16".
 *
 * Return: a static string; NULL for a value that is no dtype.
 */
const char *ugds_st_dtype_name(int dtype);

/*
 * ugds_st_dtype_bits() - size of one element in bits: 4, 6, 8, 16, 32 or 64.
 *
 * Return: bits; 0 for a value that is no dtype.
 */
unsigned ugds_st_dtype_bits(int dtype);

/* ---------------------------------------------------------------- memory */

/*
 * Where arenas and arrays live, and how bytes move. The library has one for
 * host memory; ugds_st_cuda.h has one for CUDA. An engine with an allocator
 * of its own fills this in. All functions may be called from any thread, and
 * a struct must outlive every store and array that uses it.
 */
struct ugds_st_memory_ops {
	size_t struct_size;
	void *ctx;
	/* Flags for uGDSBufRegister: 0 CUDA, 1 dma-buf (HIP). -1: host memory,
	 * which uGDS cannot take and compatibility mode reads directly. */
	int ugds_register_flags;
	/* Allocate bytes at a multiple of align (a power of two <= 64 KiB).
	 * 0, or a code for error_text. */
	int (*alloc)(void *ctx, size_t bytes, size_t align, void **ptr_out);
	void (*free)(void *ctx, void *ptr, size_t bytes);
	/* Copy in any direction between this memory and host memory. May only
	 * enqueue (on stream, or on a stream of its own when that is NULL),
	 * then *token_out names the moment of completion. 0 or a code. */
	int (*copy)(void *ctx, void *dst, const void *src, size_t bytes,
	            void *stream, uint64_t *token_out);
	/* 1: the token's copy is done; 0: not yet (wait == 0 only); < 0: a
	 * code. Each token is asked until it is done or failed, then never
	 * again. Never waits for other work of a stream. */
	int (*done)(void *ctx, uint64_t token, int wait);
	/* Make what a third party wrote by DMA visible to later work on the
	 * device. NULL where nothing is needed. 0 or a code. */
	int (*fence)(void *ctx);
	/* Text for a code of this struct's functions: static or thread-local.
	 */
	const char *(*error_text)(void *ctx, int code);
	/* Can this memory be registered with uGDS? OK, or a status and why
	 * not. NULL: uGDS alone decides. */
	int (*registrable)(void *ctx, const void *base, size_t bytes,
	                   struct ugds_st_error *err);
	/* For arenas in compatibility mode, which reads into host memory only:
	 * host memory that copy reaches fastest. Unused where this is host
	 * memory. NULL: ugds_st_memory_host(). */
	const struct ugds_st_memory_ops *staging;
};

/*
 * ugds_st_memory_host() - host memory.
 *
 * Return: a static struct.
 */
const struct ugds_st_memory_ops *ugds_st_memory_host(void);

/* ----------------------------------------------------------------- store */

/* Which implementation of the uGDS calls serves a store. */
enum ugds_st_provider {
	UGDS_ST_PROVIDER_AUTO = 0, /* character device: uGDS, else compat */
	UGDS_ST_PROVIDER_UGDS = 1,
	UGDS_ST_PROVIDER_COMPAT = 2
};

/* open flags */
/* Devices of different controllers share one bus address space (no IOMMU), so
 * one registration serves them all. Without it a second uGDS device in one
 * process is refused. */
#define UGDS_ST_OPEN_COMMON_BUS 1u
/* Open although a volume is missing, or its device shows no label that can be
 * read, if every shard has a copy on another. A wrong label is refused. */
#define UGDS_ST_OPEN_DEGRADED_OK 2u

/* Any function of uGDS: called as what uGDS's header declares. */
typedef void (*ugds_st_ugds_call)(void);

/*
 * The uGDS calls that the library makes, lent by an engine that has uGDS
 * linked in, bundled or wrapped where the loader cannot find it. Every member
 * is needed. They must stay for the life of the process.
 */
struct ugds_st_ugds_calls {
	size_t struct_size;
	ugds_st_ugds_call driver_open;       /* uGDSDriverOpen */
	ugds_st_ugds_call handle_register;   /* uGDSHandleRegister */
	ugds_st_ugds_call handle_deregister; /* uGDSHandleDeregisterEx */
	ugds_st_ugds_call device_capacity;   /* uGDSGetDeviceCapacity */
	ugds_st_ugds_call buf_register;      /* uGDSBufRegister */
	ugds_st_ugds_call buf_deregister;    /* uGDSBufDeregister */
	ugds_st_ugds_call batch_setup;       /* uGDSBatchIOSetUp */
	ugds_st_ugds_call batch_submit;      /* uGDSBatchIOSubmit */
	ugds_st_ugds_call batch_status;      /* uGDSBatchIOGetStatus */
	ugds_st_ugds_call batch_destroy;     /* uGDSBatchIODestroy */
};
/* For a file that includes uGDS's header. */
#define UGDS_ST_UGDS_CALLS_INIT                                    \
	{                                                          \
		sizeof(struct ugds_st_ugds_calls),                 \
			(ugds_st_ugds_call)uGDSDriverOpen,         \
			(ugds_st_ugds_call)uGDSHandleRegister,     \
			(ugds_st_ugds_call)uGDSHandleDeregisterEx, \
			(ugds_st_ugds_call)uGDSGetDeviceCapacity,  \
			(ugds_st_ugds_call)uGDSBufRegister,        \
			(ugds_st_ugds_call)uGDSBufDeregister,      \
			(ugds_st_ugds_call)uGDSBatchIOSetUp,       \
			(ugds_st_ugds_call)uGDSBatchIOSubmit,      \
			(ugds_st_ugds_call)uGDSBatchIOGetStatus,   \
			(ugds_st_ugds_call)uGDSBatchIODestroy      \
	}

struct ugds_st_open_opts {
	size_t struct_size;
	/* Paths of the devices that hold the volumes, in any order: they are
	 * matched by the UUID in their label. NULL, 0: the paths that the
	 * manifest recorded, except character devices, which are opened only
	 * where the caller names them. */
	const char *const *devices;
	size_t device_count;
	int provider; /* enum ugds_st_provider; a mismatch with the path is
	                 refused, never silently changed */
	/* Path of libugds.so; NULL: the one that is in use or loaded already,
	 * else the loader's search for "libugds.so". */
	const char *libugds_path;
	/* A uGDSHandle_t that the engine has registered for
	 * devices[ugds_handle_device] and keeps open while the store is. Never
	 * closed by the library. NULL: none. */
	void *ugds_handle;
	size_t ugds_handle_device;
	/* Where arena and arrays live; NULL: host memory. */
	const struct ugds_st_memory_ops *memory;
	/* Staging memory, allocated and registered once at open; 0: 32 MiB, or
	 * 4 MiB a volume where that is more. Rounded up to 64 KiB; too small
	 * for two slots a volume, of 1 MiB at most, is INVALID_ARG. */
	uint64_t arena_bytes;
	/* A command older than this, in milliseconds, means that the device
	 * is lost. Time in which no call waited for it, or the process was
	 * stopped, does not count. 0: 30,000. */
	uint32_t silence_ms;
	uint32_t flags; /* UGDS_ST_OPEN_* */
	/* uGDS's functions, instead of a libugds_path; copied. NULL: none.
	 * A process reads through one copy of uGDS: other functions than those
	 * in use are a MISMATCH. */
	const struct ugds_st_ugds_calls *ugds_calls;
};
#define UGDS_ST_OPEN_OPTS_INIT                                               \
	{                                                                    \
		sizeof(struct ugds_st_open_opts), 0, 0, 0, 0, 0, 0, 0, 0, 0, \
			0, 0                                                 \
	}

/*
 * ugds_st_open() - open an imported checkpoint by its manifest.
 *
 * Matches devices to volumes, checks identity, geometry, label, catalog and
 * bounds, reads every shard's header through the batch path, compares its
 * hash and parses it. Nothing is served from a device that differs from the
 * manifest in any of this.
 *
 * @manifest: path of the manifest.
 * @opts: NULL for defaults.
 * @store_out: set on success; close with ugds_st_close().
 *
 * Return: OK; INVALID_ARG; NOT_FOUND (manifest, device); FORMAT (manifest,
 * header); MISMATCH (wrong, stale or changed device, another uGDS); CORRUPT
 * (header hash); UNSUPPORTED; NO_MEMORY; IO; BUSY (a writer has the volume);
 * DEVICE_LOST.
 */
int ugds_st_open(const char *manifest, const struct ugds_st_open_opts *opts,
                 ugds_st_store **store_out, struct ugds_st_error *err);

/*
 * ugds_st_inspect() - the tensor table of a checkpoint that is not imported.
 *
 * @checkpoint: a .safetensors file, an index file, or a directory. Every
 * header and the index are validated as for an import. The store answers
 * look-ups; its tensors have no device, and reads of them are UNSUPPORTED.
 * No file stays open.
 *
 * Return: OK; INVALID_ARG; NOT_FOUND (file, shard); FORMAT; UNSUPPORTED;
 * NO_MEMORY; IO.
 */
int ugds_st_inspect(const char *checkpoint, ugds_st_store **store_out,
                    struct ugds_st_error *err);

/* close flags */
/* The device is lost: force the handle closed, keep what it may still write
 * to for the life of the process, so that the device can be opened anew. */
#define UGDS_ST_CLOSE_ABANDON 1u

/*
 * ugds_st_close() - close a store. NULL is fine.
 *
 * Waits until nothing is in flight. Arrays live on.
 *
 * Return: OK; BUSY (a call runs on the store, or caller memory is
 * registered), DEVICE_LOST (close again with UGDS_ST_CLOSE_ABANDON): in both
 * cases the store is still open.
 */
int ugds_st_close(ugds_st_store *store, unsigned flags,
                  struct ugds_st_error *err);

struct ugds_st_store_info {
	size_t struct_size;
	const char *model;           /* borrowed from the store */
	uint8_t checkpoint_uuid[16]; /* zeros: not imported */
	uint64_t generation;         /* 0: not imported */
	size_t tensor_count;
	size_t left_out_count; /* tensors in the shards that the index does
	                          not list */
	size_t shard_count;
	size_t volume_count; /* those that are there; 0: not imported */
	int provider;        /* in use; AUTO (0): not imported */
};

/*
 * ugds_st_store_info() - what is open, and how it is read. No I/O.
 *
 * @info_out: set struct_size first.
 * Return: OK; INVALID_ARG.
 */
int ugds_st_store_info(const ugds_st_store *store,
                       struct ugds_st_store_info *info_out);

/* Number of tensors in a store. */
size_t ugds_st_count(const ugds_st_store *store);

/*
 * ugds_st_at() - the tensor at an index, in file order, shard by shard.
 *
 * Return: borrowed from the store; NULL past the end.
 */
const ugds_st_tensor *ugds_st_at(const ugds_st_store *store, size_t index);

/*
 * ugds_st_find() - look a tensor up by name.
 *
 * @name: name_bytes bytes; need not end with NUL.
 * Takes no lock, allocates nothing.
 * Return: borrowed from the store; NULL: no such tensor.
 */
const ugds_st_tensor *ugds_st_find(const ugds_st_store *store, const char *name,
                                   size_t name_bytes);

/* ---------------------------------------------------------- what and where */

/*
 * A tensor in full. Pointers are borrowed: from the store, or from the array
 * for ugds_st_array_info(). The place is enough to drive uGDS yourself.
 */
struct ugds_st_info {
	size_t struct_size;
	const char *name; /* also ended by a NUL that is not counted */
	size_t name_bytes;
	int dtype; /* enum ugds_st_dtype */
	unsigned rank;
	const uint64_t *dims; /* rank of them; dim 0 varies slowest */
	uint64_t payload_bytes;
	const char *shard;
	uint64_t file_off; /* of the payload in the unchanged shard */
	/* Envelope: the smallest run of whole blocks that holds the payload.
	 * device is NULL and all is 0 where the checkpoint is not imported.
	 * Of several copies, the one that is read first. */
	const char *device;
	uint32_t lba_bytes;
	uint64_t device_off; /* start of the envelope on the device opened */
	uint64_t envelope_bytes;
	uint64_t skew_bytes; /* payload start minus envelope start */
};

/*
 * ugds_st_info() - describe a tensor. No I/O.
 *
 * @info_out: set struct_size first.
 * Return: OK; INVALID_ARG.
 */
int ugds_st_info(const ugds_st_tensor *tensor, struct ugds_st_info *info_out);

/*
 * ugds_st_layout() - offsets for several tensors in one arena.
 *
 * Each tensor gets an offset that is a multiple of align and, where its place
 * on the device allows that at all, is such that it is read directly into a
 * registered arena. Tensors that are neighbours on the device stay so.
 *
 * @tensors: count of them, of one store, in any order.
 * @align: a power of two <= 4096; 0: 256.
 * @offs_out: count offsets. @bytes_out: arena size, a multiple of 64 KiB.
 *
 * Return: OK; INVALID_ARG; NO_MEMORY.
 */
int ugds_st_layout(const ugds_st_tensor *const *tensors, size_t count,
                   size_t align, uint64_t *offs_out, uint64_t *bytes_out);

/* ---------------------------------- caller memory that is read into directly
 */

/* register flags */
/* The engine has registered base with uGDSBufRegister itself. */
#define UGDS_ST_REGISTERED 1u

/*
 * ugds_st_register() - let reads go directly into caller memory.
 *
 * @base: of the kind that the store's memory_ops describe; a multiple of
 * 64 KiB. @bytes: a multiple of 64 KiB. The memory must stay until
 * ugds_st_unregister(). Two registrations may not overlap.
 *
 * Return: OK; INVALID_ARG; UNSUPPORTED (this memory cannot be registered: read
 * into it without a registration); NO_MEMORY; DEVICE_LOST.
 */
int ugds_st_register(ugds_st_store *store, void *base, size_t bytes,
                     unsigned flags, ugds_st_buffer **buf_out,
                     struct ugds_st_error *err);

/*
 * ugds_st_unregister() - end a registration. NULL is fine.
 *
 * Return: OK; BUSY (a read uses it); DEVICE_LOST (the device may still write
 * to it: close the store with UGDS_ST_CLOSE_ABANDON).
 */
int ugds_st_unregister(ugds_st_buffer *buf, struct ugds_st_error *err);

/* ----------------------------------------------------------------- reads */

/* How a tensor reached its destination. */
enum ugds_st_placement {
	UGDS_ST_PLACED_NONE = 0,   /* not read, or of zero bytes */
	UGDS_ST_PLACED_DIRECT = 1, /* every byte by the device */
	UGDS_ST_PLACED_EDGES = 2,  /* ends staged, middle by the device */
	UGDS_ST_PLACED_STAGED = 3  /* through the arena */
};

/*
 * One request: a tensor, or rows of it, into a destination.
 *
 * Bytes outside [dst, dst + wanted bytes) are never written. Bytes inside may
 * hold anything until status is OK.
 */
struct ugds_st_read {
	size_t struct_size; /* also the stride of a list of requests */
	const ugds_st_tensor *tensor;
	/* Rows along dimension 0; row_count 0: the whole tensor. */
	uint64_t row_first;
	uint64_t row_count;
	void *dst; /* host memory, or memory that the copy op reaches */
	uint64_t dst_bytes;  /* room at dst; must hold what is wanted */
	ugds_st_buffer *buf; /* registration that holds dst; NULL: staged */
	int status;          /* out: enum ugds_st_status */
	int placement;       /* out: enum ugds_st_placement */
};
#define UGDS_ST_READ_INIT                                           \
	{                                                           \
		sizeof(struct ugds_st_read), 0, 0, 0, 0, 0, 0, 0, 0 \
	}

/* Priorities: all demand entries go before any background entry. */
#define UGDS_ST_DEMAND 0u
#define UGDS_ST_BACKGROUND 1u

struct ugds_st_read_opts {
	size_t struct_size;
	/* Milliseconds from the call; 0: none. With a deadline everything is
	 * staged, so that TIMEOUT can give the destination back at once. */
	uint32_t deadline_ms;
	uint32_t priority; /* UGDS_ST_DEMAND or UGDS_ST_BACKGROUND */
	/* Stream on which copies are ordered; the call then returns when they
	 * are enqueued, and a destination is the caller's in the order of that
	 * stream, also of a request that failed. NULL: the library's; the call
	 * returns when all is done. */
	void *stream;
	/* Called on the calling thread, once for each request, when it is over:
	 * in the order in which they end, and those that failed after the
	 * others, when nothing is under way to their destinations. May not
	 * call into the store. NULL: none. */
	void (*ready)(void *ctx, size_t index, int status);
	void *ctx;
};
#define UGDS_ST_READ_OPTS_INIT                                  \
	{                                                       \
		sizeof(struct ugds_st_read_opts), 0, 0, 0, 0, 0 \
	}

/*
 * ugds_st_read_many() - read a list of tensors: the form that is fast.
 *
 * Requests are sorted by device and address, neighbours are merged, and the
 * device is kept busy up to what uGDS allows. Each request succeeds or fails
 * on its own.
 *
 * @reads: count requests, reads[0].struct_size bytes apart. On return every
 * .status and .placement is set (unless INVALID_ARG about reads itself).
 * @opts: NULL for defaults.
 *
 * Return: OK if every request is; else the status of the first that is not,
 * in list order, which err describes: INVALID_ARG; UNSUPPORTED; NO_MEMORY; IO;
 * TIMEOUT; DEVICE_LOST; BUSY (a lent handle's batch is in use).
 */
int ugds_st_read_many(ugds_st_store *store, struct ugds_st_read *reads,
                      size_t count, const struct ugds_st_read_opts *opts,
                      struct ugds_st_error *err);

/*
 * ugds_st_read_into() - read one tensor into caller memory.
 *
 * ugds_st_read_many() with one request; staged.
 *
 * @name: ends with NUL; use ugds_st_find() for other names.
 * @dst_bytes: room at dst, at least the payload.
 *
 * Return: as ugds_st_read_many(), and NOT_FOUND.
 */
int ugds_st_read_into(ugds_st_store *store, const char *name, void *dst,
                      uint64_t dst_bytes, struct ugds_st_error *err);

/*
 * ugds_st_get_tensors() - allocate one array for several tensors, read them.
 *
 * All or nothing. The array's memory comes from the store's memory_ops, which
 * must outlive it; the store need not.
 *
 * @align: of each tensor's first byte, a power of two <= 4096; 0: 256.
 *
 * Return: as ugds_st_read_many().
 */
int ugds_st_get_tensors(ugds_st_store *store,
                        const ugds_st_tensor *const *tensors, size_t count,
                        size_t align, const struct ugds_st_read_opts *opts,
                        ugds_st_array **array_out, struct ugds_st_error *err);

/*
 * ugds_st_get_tensor() - ugds_st_get_tensors() of one tensor, by name.
 *
 * Return: as ugds_st_get_tensors(), and NOT_FOUND.
 */
int ugds_st_get_tensor(ugds_st_store *store, const char *name,
                       ugds_st_array **array_out, struct ugds_st_error *err);

/* First byte of tensor index of an array; NULL past the end. A tensor of zero
 * bytes has a pointer that must not be read. */
void *ugds_st_array_data(const ugds_st_array *array, size_t index);

/* The tensor at index as it was read; names and dims are the array's own.
 * NULL past the end. */
const struct ugds_st_info *ugds_st_array_info(const ugds_st_array *array,
                                              size_t index);

/* Free an array and its memory: from any thread, also after the store was
 * closed. NULL is fine. */
void ugds_st_array_free(ugds_st_array *array);

/* ---------------------------------------------------------------- looking in
 */

/* Counters of a store since open. */
struct ugds_st_stats {
	size_t struct_size;
	uint64_t payload_bytes; /* published */
	uint64_t device_bytes;  /* read, whole blocks, repairs included */
	uint64_t entries;       /* batch entries submitted */
	uint64_t commands;      /* NVMe commands these were */
	uint64_t merges;        /* requests that share a device range */
	uint64_t direct_bytes;  /* device bytes read to their destination */
	uint64_t staged_bytes;  /* device bytes read to the arena */
	uint64_t retries;       /* entries read again after a failure */
	uint64_t fallbacks;     /* reads served by another copy */
	uint64_t waits;         /* times that nothing could be done but wait */
};

/*
 * ugds_st_get_stats() - counters so far; a snapshot, not an atomic one.
 *
 * @stats_out: set struct_size first.
 * Return: OK; INVALID_ARG.
 */
int ugds_st_get_stats(const ugds_st_store *store,
                      struct ugds_st_stats *stats_out);

/*
 * ugds_st_verify() - read whole shards through the batch path and compare
 * their hashes with the manifest.
 *
 * Every copy of every shard is read. Stops at the first that differs.
 *
 * @progress: called after each piece with bytes done and in all; NULL: none.
 *
 * Return: OK; CORRUPT (names shard and both hashes); and as read_many.
 */
int ugds_st_verify(ugds_st_store *store,
                   void (*progress)(void *ctx, uint64_t done_bytes,
                                    uint64_t all_bytes),
                   void *ctx, struct ugds_st_error *err);

#ifdef __cplusplus
}
#endif
#endif /* UGDS_ST_H */
