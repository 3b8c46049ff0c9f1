/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ugds_watch.h - a table of uGDS's calls that watches who calls.
 *
 * Each call is held against uGDS's rules and passed on to the real library or
 * to compatibility mode. What uGDS itself would not notice, or would answer
 * with wrong data, is noted here, with the first rule that was broken.
 */
#ifndef TEST_UGDS_WATCH_H
#define TEST_UGDS_WATCH_H

#include "base/common.h"
#include "devices/ugds.h"

struct ugds_watch_counts {
	unsigned handle_registers;
	unsigned forced;   /* handles given up with commands in flight */
	unsigned setups;   /* a probe's too */
	unsigned destroys; /* begun */
	unsigned submits;  /* a probe's not, as all below */
	unsigned entries;
	unsigned commands;       /* since the last handle_register */
	uint64_t distance_max;   /* commands, oldest unreported to newest */
	uint64_t used_max;       /* entries since all events had been read */
	unsigned early_failures; /* FAILED, ret >= 0, of several commands */
	unsigned short_events;   /* COMPLETE, ret < bytes */
	unsigned invalid_events; /* FAILED, ret < 0 */
	unsigned submit_failures;
};

/* Forget everything and watch a table. command_bytes: of the drive. */
const struct ugst_ugds *ugds_watch_begin(const struct ugst_ugds *ugds,
                                         uint32_t lba_bytes,
                                         uint32_t command_bytes);

struct ugds_watch_counts ugds_watch_counts(void);

/* The first rule that was broken; NULL: none. */
const char *ugds_watch_broken(void);

/* This rule, and no other, had to be broken: go on. */
void ugds_watch_forgive(const char *broken);

#endif /* TEST_UGDS_WATCH_H */
