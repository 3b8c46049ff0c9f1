/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rules.h - the rules of uGDS, one test each, whoever plays the drive.
 *
 * The same tests run with the real library over a model of its driver
 * (shim/test_shim_rules.c) and over compatibility mode with its scripts
 * (unit/test_ugds_rules.c). In both, ugds_watch.h looks at every call.
 */
#ifndef TEST_RULES_H
#define TEST_RULES_H

#include "base/common.h"
#include "devices/ugds.h"
#include "support/volumes.h"

struct rules_rig {
	const char *device;
	const struct volumes *volumes;
	const struct ugds_st_memory_ops *memory; /* device memory */
	const struct ugst_ugds *ugds;            /* as an engine has it */
	uint32_t lba_bytes;
	uint32_t command_bytes;
	bool slow; /* also what takes most of a minute */

	/* Faults of the drive. The nth read command from now on, from 1 ... */
	void (*fail_nth)(unsigned nth);           /* ... fails */
	void (*delay)(unsigned nth, unsigned ms); /* ... is late */
	void (*lose)(unsigned nth);               /* ... never ends */
	void (*fail_block)(uint64_t device_off);  /* this one, always */
	void (*heal)(void);                       /* no more faults */
	/* The first entry of the next read is COMPLETE with ret < bytes. NULL:
	 * that cannot be had. */
	void (*shorten)(ugds_st_store *store);
	/* The Submit of the next read waits ms; 0: until uGDS gives it up.
	 * NULL: that cannot be had. */
	void (*block_submit)(ugds_st_store *store, unsigned ms);

	/* Around each test. The table is what the library is to find. */
	void (*begin)(const struct ugst_ugds *watched);
	/* lost: a drive was, and keeps what it may still write to. */
	void (*end)(bool lost);
};

extern struct rules_rig rules_rig;

/* What a rig's volumes must be like. */
extern const struct volumes_shape rules_shape;

/* Read a tensor of one command; for rigs. */
void rules_read_small(ugds_st_store *store);

/* Return: CMocka's. */
int rules_run(void);

#endif /* TEST_RULES_H */
