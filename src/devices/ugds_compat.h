/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ugds_compat.h - inside compatibility mode: what its files share.
 *
 * ugds_compat.c has the driver, the handles and the table, ugds_compat_buf.c
 * the registrations, ugds_compat_batch.c the batches, ugds_compat_work.c the
 * threads that read; ugds_compat_script.c and ugds_compat_judge.c serve tests.
 * One process-wide lock guards everything below, as uGDS's state is
 * process-wide: at one short critical section per command of some MiB it is
 * never the bottleneck. No lock is held over a read.
 *
 * A command is what the device would be given at once: an entry is cut into
 * pieces of limits.command_bytes, and each piece is one pread. Nothing is
 * allocated per command: the queue is a list of entries, of which the threads
 * take the next piece.
 */
#ifndef UGST_UGDS_COMPAT_H
#define UGST_UGDS_COMPAT_H

#include <pthread.h>

#include "base/common.h"
#include "devices/ugds.h"
#include "devices/ugds_compat_script.h"

/* Threads per handle, hence reads in flight. */
#define UGST_COMPAT_THREADS 16u

/* A registered buffer. */
struct ugst_compat_buf {
	struct ugst_compat_buf *next;
	uint8_t *base;
	size_t bytes;
	unsigned refs; /* entries that may still write to it */
};

/* An entry of a batch. */
struct ugst_compat_slot {
	struct ugst_compat_batch *batch;
	struct ugst_compat_slot *queue_next;
	void *cookie;
	struct ugst_compat_buf *buf; /* referenced; NULL once released */
	uint8_t *memory;
	uint64_t device_off;
	size_t bytes;
	size_t issued_bytes;
	size_t good_bytes;      /* arrived without error */
	uint64_t first_number;  /* of its commands, counted per batch */
	uint32_t command_count; /* 0: refused, never issued */
	uint32_t unfinished;    /* commands, those not yet issued too */
	bool failed;
	bool done;     /* in batch->done */
	bool polled;   /* somebody looked since it was done */
	bool reported; /* its event was given out */
};

struct ugst_compat_batch {
	struct ugst_compat_handle *handle;
	unsigned capacity;
	unsigned used; /* slots taken since all events had been read */
	unsigned done_count;
	unsigned polled_count;
	unsigned reported_count;
	unsigned unfinished; /* slots with commands that did not end */
	unsigned callers;    /* threads inside submit and status */
	unsigned wake_at;    /* events that the least patient waiter wants */
	uint64_t next_number;
	bool broken; /* reported an entry of several commands as FAILED */
	uint8_t done[UGST_UGDS_BATCH_ENTRIES]; /* slots as they ended */
	struct ugst_compat_slot slots[UGST_UGDS_BATCH_ENTRIES];
};

struct ugst_compat_handle {
	struct ugst_compat_handle *next;
	int fd; /* a duplicate of the caller's, close-on-exec */
	bool direct;
	uint64_t device_id; /* inode of a file, st_rdev of a device */
	uint64_t capacity_bytes;
	struct ugst_ugds_limits limits;
	struct ugst_compat_batch *batch; /* the one that may live */
	struct ugst_compat_slot *queue_head;
	struct ugst_compat_slot **queue_tail;
	pthread_cond_t work;    /* the queue has a piece, or stop */
	pthread_cond_t changed; /* an event, a batch gone, a call left */
	pthread_t threads[UGST_COMPAT_THREADS];
	unsigned thread_count;
	unsigned running; /* threads that read now */
	bool stop;
	bool closing; /* somebody waits in handle_deregister */
	bool wedged;  /* batch_destroy gave up on lost commands */
	bool dead;    /* force-deregistered */
	/* Scripts only: */
	bool removed; /* commands vanish */
	bool reset;   /* dead, and its device was registered anew */
};

/* One piece of an entry, on its way. */
struct ugst_compat_command {
	struct ugst_compat_handle *handle;
	struct ugst_compat_slot *slot;
	uint8_t *memory;
	uint64_t device_off;
	size_t bytes;
	size_t got_bytes;
	int error; /* errno; 0 with got_bytes < bytes is scripts' doing */
	/* Scripts only: */
	uint64_t number;
	const struct ugst_compat_fault *fault;
};

/* What a script (ugds_compat_script.c) is asked; NULL in production. All but
 * run are called with the lock held. */
struct ugst_compat_hooks {
	void (*limits)(struct ugst_ugds_limits *limits);
	/* A handle for this device is about to work: a controller reset. */
	void (*reset_device)(uint64_t device_id);
	/* A valid submit: 0, or the code to answer. */
	int (*submit)(void);
	/* This entry was accepted, or was FAILED at once (command_count 0). */
	void (*queued)(struct ugst_compat_slot *slot);
	/* A command left the queue. */
	void (*taken)(struct ugst_compat_command *command);
	/* Execute in place of ugst_compat_read(). false: it is withheld, its
	 * end comes by ugst_compat_finish() or never. */
	bool (*run)(struct ugst_compat_command *command);
	/* ugst_compat_finish() was called. */
	void (*finished)(struct ugst_compat_command *command);
	/* Somebody asks for events. */
	void (*polled)(void);
	/* A rule of enum ugst_compat_rule was broken. */
	void (*broke)(int rule);
	/* An entry fails with its first bad command, not with its last. */
	bool fail_early;
	/* How long batch_destroy waits before it wedges the handle. */
	unsigned destroy_ms;
};

struct ugst_compat_state {
	pthread_mutex_t lock;
	bool driver_open;
	struct ugst_compat_handle *handles;
	/* Force-deregistered: kept, since their commands may still end. */
	struct ugst_compat_handle *dead;
	struct ugst_compat_buf *bufs;
	const struct ugst_compat_hooks *hooks;
};

extern struct ugst_compat_state ugst_compat;

static inline struct ugst_ugds_error ugst_compat_code(int code)
{
	return (struct ugst_ugds_error){code, 0};
}

/* A moment on CLOCK_MONOTONIC, now + relative. */
struct timespec ugst_compat_deadline(const struct timespec *relative);

/* ugds_compat.c; NULL: no such handle. */
struct ugst_compat_handle *ugst_compat_find(const void *handle);
/* Its threads have ended. */
void ugst_compat_free_handle(struct ugst_compat_handle *handle);

/* ugds_compat_buf.c */
struct ugst_ugds_error ugst_compat_buf_register(const void *base, size_t bytes,
                                                int flags);
struct ugst_ugds_error ugst_compat_buf_deregister(const void *base);
/* NULL: no registration has this base. */
struct ugst_compat_buf *ugst_compat_buf_find(const void *base);

/* ugds_compat_batch.c */
struct ugst_ugds_error ugst_compat_batch_setup(void **batch_out, void *handle,
                                               unsigned count);
struct ugst_ugds_error ugst_compat_batch_submit(void *batch, unsigned count,
                                                struct ugst_ugds_params *params,
                                                unsigned flags);
struct ugst_ugds_error ugst_compat_batch_status(void *batch, unsigned min_count,
                                                unsigned *count,
                                                struct ugst_ugds_event *events,
                                                struct timespec *timeout);
void ugst_compat_batch_destroy(void *batch);
/* A command ended; wakes whoever waits for that. */
void ugst_compat_finish(struct ugst_compat_command *command);

/* ugds_compat_work.c */
/* How many threads could be started. */
unsigned ugst_compat_start(struct ugst_compat_handle *handle);
/* Ends and joins them. Takes the lock off while it waits. */
void ugst_compat_stop(struct ugst_compat_handle *handle);
/* Read a command's bytes to its memory; sets got_bytes and error. No lock. */
void ugst_compat_read(struct ugst_compat_command *command);
void ugst_compat_enqueue(struct ugst_compat_handle *handle,
                         struct ugst_compat_slot *slot);

/* ugds_compat_script.c: commands held back now, without those that are lost. */
unsigned ugst_compat_held(void);

/* ugds_compat_judge.c: the hooks queued and broke, and what they count. */
extern struct ugst_compat_counts ugst_compat_counted;
void ugst_compat_judge(struct ugst_compat_slot *slot);
void ugst_compat_broke(int rule);

#endif /* UGST_UGDS_COMPAT_H */
