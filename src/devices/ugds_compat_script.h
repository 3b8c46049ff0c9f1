/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ugds_compat_script.h - tell compatibility mode to misbehave, and ask it what
 * its client did. For tests.
 *
 *	ugst_compat_script_begin(&(struct ugst_compat_script){
 *	    .command_bytes = 128 * 1024, .window_commands = 63 });
 *	ugst_compat_script_fault(&(struct ugst_compat_fault){
 *	    .kind = UGST_COMPAT_FAIL, .skip = 7, .count = 1 });
 *	... open a store, read ...
 *	counts = ugst_compat_script_counts();
 *	assert_int_equal(counts.violations, 0);
 *	ugst_compat_script_end();
 *
 * Process-wide, as everything behind the uGDS calls. Every function may be
 * called from any thread at any time, but begin and end belong between tests:
 * no handle should be registered then. Without a script none of this costs
 * more than one pointer looked at per command.
 *
 * While a script is in place the provider has uGDS's known bad habits too:
 * an entry of several commands is reported FAILED with its first bad one,
 * while others still run.
 */
#ifndef UGST_UGDS_COMPAT_SCRIPT_H
#define UGST_UGDS_COMPAT_SCRIPT_H

#include "base/common.h"

/* What handles registered from now on say of themselves; 0: unchanged. */
struct ugst_compat_script {
	uint32_t lba_bytes;
	uint32_t command_bytes;   /* a multiple of 4096 */
	uint32_t window_commands; /* also the bound of the rules WINDOW and
	                             IN_FLIGHT; they bind in any case */
	/* How long batch_destroy waits for commands that do not end, before it
	 * wedges the handle and leaks the batch; 0: 500 ms. */
	uint32_t destroy_ms;
};

/* Begin with no faults and all counters 0; ends a script that is in place. */
void ugst_compat_script_begin(const struct ugst_compat_script *script);

/*
 * ugst_compat_script_end() - back to production behaviour.
 *
 * Forgets faults, drops what was held back (its data never arrive), and
 * forgets force-deregistered handles and stuck registrations, so that the next
 * test may register the same addresses. Stuck memory itself stays the
 * client's; a list keeps it reachable for leak checkers.
 */
void ugst_compat_script_end(void);

enum ugst_compat_fault_kind {
	/* The device reports an error: nothing arrives, the entry is FAILED
	 * with ret >= 0 (0 while other commands of it run). */
	UGST_COMPAT_FAIL = 1,
	/* The entry is COMPLETE although this command brought only
	 * short_bytes: ret < size (contract: B2). */
	UGST_COMPAT_SHORT,
	/* Neither data nor completion before ugst_compat_script_release(). */
	UGST_COMPAT_LATE,
	/* The data arrive at once, the completion is late as above. */
	UGST_COMPAT_LATE_EVENT,
	/* As LATE, and lands by itself when `after` younger or older commands
	 * of this handle have ended since, or nothing else is under way. */
	UGST_COMPAT_AFTER,
	/* The completion never comes, nor do the data. release() skips it. */
	UGST_COMPAT_LOSE,
	/* One byte in the middle arrives inverted; COMPLETE. */
	UGST_COMPAT_CORRUPT
};

/*
 * Which commands suffer: of those that match device_off, device_bytes and
 * device_id, `skip` are spared and the next `count` suffer. Faults are tried
 * in the order in which they were added; the first that takes a command has
 * it, but each counts every command that matches.
 */
struct ugst_compat_fault {
	int kind; /* enum ugst_compat_fault_kind */
	uint64_t skip;
	uint64_t count;        /* 0: all that follow */
	uint64_t device_off;   /* commands that touch this range ... */
	uint64_t device_bytes; /* ... 0: anywhere */
	uint64_t device_id;    /* st_ino of a file, st_rdev of a block device;
	                          0: any */
	uint32_t after;        /* AFTER */
	uint32_t short_bytes;  /* SHORT; at most the command's */
};

/* Room for 32 in a script; more are an assertion. */
void ugst_compat_script_fault(const struct ugst_compat_fault *fault);

/* Forget the faults: no further command suffers. What is held stays so. */
void ugst_compat_script_heal(void);

/*
 * ugst_compat_script_submit() - the submit after the next `skip`, and `count`
 * - 1 after it, return code.
 *
 * UGST_UGDS_BUSY and UGST_UGDS_BATCH_CAPACITY_EXCEEDED take nothing.
 * UGST_UGDS_INTERNAL_ERROR is a device that took none in time: the entries
 * stay in the batch, their events never come, their buffers stay busy.
 */
void ugst_compat_script_submit(int code, unsigned skip, unsigned count);

/* Let up to count of what is held land, oldest first; 0: all. How many. Also
 * lands after the client force-deregistered, until the device is registered
 * anew. */
unsigned ugst_compat_script_release(unsigned count);

/* From now on no command ends on the handles that are registered now, as if
 * their drives had been pulled. device_id 0: all; else those of this device.
 */
void ugst_compat_script_remove(uint64_t device_id);

/*
 * ugst_compat_script_memory_busy() - may a command still write there?
 *
 * True for queued, running, late and lost commands, until they have ended or
 * their device was registered anew.
 */
bool ugst_compat_script_memory_busy(const void *memory, size_t bytes);

/* For a test's free(): notes GIVEN_BACK if the memory is busy. */
void ugst_compat_script_given_back(const void *memory, size_t bytes);

/* What a client must not do; ugst_compat_counts.broken[] is indexed so. */
enum ugst_compat_rule {
	/* Oldest unreported to newest command: more than window_commands. */
	UGST_COMPAT_RULE_WINDOW,
	/* Commands submitted and not ended: more than window_commands. */
	UGST_COMPAT_RULE_IN_FLIGHT,
	/* More entries than the batch has room for (5040). */
	UGST_COMPAT_RULE_CAPACITY,
	/* Submitted to a batch that reported an entry of several commands as
	 * FAILED: its late commands would be counted for the new one. */
	UGST_COMPAT_RULE_BROKEN_BATCH,
	/* Submitted for memory that another command may still write to. */
	UGST_COMPAT_RULE_OVERLAP,
	/* buf_deregister of a buffer in use (5042). */
	UGST_COMPAT_RULE_DEREGISTER,
	/* batch_destroy with commands that never ended: wedged the handle. */
	UGST_COMPAT_RULE_DESTROY_LOST,
	/* batch_destroy with another thread inside submit or status. */
	UGST_COMPAT_RULE_DESTROY_SHARED,
	/* Forced deregistration with a thread inside the batch's calls. */
	UGST_COMPAT_RULE_FORCE_INSIDE,
	/* ugst_compat_script_given_back() of busy memory. */
	UGST_COMPAT_RULE_GIVEN_BACK,
	UGST_COMPAT_RULE_COUNT
};

struct ugst_compat_counts {
	uint64_t submits; /* calls that were accepted */
	uint64_t polls;   /* calls of batch_status */
	uint64_t entries; /* accepted, without those that were invalid */
	uint64_t invalid; /* entries that were FAILED, -EINVAL; a probe's too */
	uint64_t commands;      /* of the entries */
	uint64_t ended;         /* commands */
	uint64_t faults;        /* commands that suffered one */
	uint64_t read_bytes;    /* by commands that ended well */
	uint64_t in_flight_max; /* commands, per handle */
	uint64_t distance_max;  /* commands, oldest unreported to newest */
	unsigned held;          /* late ones, now */
	unsigned handles;       /* registered now */
	unsigned bufs;          /* registered now, stuck ones too */
	unsigned bufs_busy;     /* of these, referenced */
	uint64_t violations;    /* all of broken[] */
	uint64_t broken[UGST_COMPAT_RULE_COUNT];
};

struct ugst_compat_counts ugst_compat_script_counts(void);

#endif /* UGST_UGDS_COMPAT_SCRIPT_H */
