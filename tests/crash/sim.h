/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * sim.h - a disk and a folder that can lose power.
 *
 * Method. A disk is three copies of its bytes: what was there at the start,
 * what is durable, and what a process sees. A write changes what is seen and
 * joins the list of writes since the last flush; a flush makes what is seen
 * durable and empties the list. At a power cut each write on the list is, by
 * seed, kept, dropped, or torn: then each of its 512-byte sectors is kept or
 * dropped by itself, and may become unreadable until it is written again.
 *
 * A folder is a list of names, each with a file. Names change at once for the
 * process; a journalling file system makes these changes durable in order, so
 * a cut keeps some first part of those since the folder was last synced. A
 * file's bytes are durable when the file was synced; else a cut leaves some
 * first part of them.
 *
 * Every change (write, flush, create, fsync, rename, unlink) is an operation
 * with a number. sim_arm() says what happens at one of them. After a cut every
 * operation fails: the process has no disk any more.
 */
#ifndef TEST_SIM_H
#define TEST_SIM_H

#include "base/common.h"
#include "import/env.h"

#define SIM_DISKS_MAX 2u

enum sim_fault {
	SIM_NONE,
	SIM_CUT,         /* power is lost before the operation */
	SIM_CUT_AFTER,   /* and after it */
	SIM_FAIL,        /* it fails and did nothing */
	SIM_FAIL_LANDED, /* a write that fails but landed; else as FAIL */
	SIM_FAIL_ON      /* it and all later ones fail */
};

/* Take over the volume files at paths, as they are now, and the folder that
 * manifests are published in. */
void sim_begin(const char *const *paths, size_t count, const char *folder);

/* Put disks and folder back as they were at sim_begin(). */
void sim_reset(void);

/* Forget everything; files keep what is on them. */
void sim_end(void);

/* Device and file system calls go here. */
void sim_attach(struct ugst_import_env *env);

/* Operation number at gets the fault; 0: none does. Counting begins anew. */
void sim_arm(enum sim_fault fault, unsigned long at, uint64_t seed);

/* Operations since sim_arm(). */
unsigned long sim_operations(void);

/* Lose power now: what is seen becomes what has survived. */
void sim_lose_power(void);

/* Write what is seen to the volume files, for plain system calls. */
void sim_store(void);

#endif /* TEST_SIM_H */
