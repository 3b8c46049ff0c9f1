/* SPDX-License-Identifier: BSD-3-Clause */
/* loop.h - a loop device on a file of the test's own, for root. */
#ifndef TEST_LOOP_H
#define TEST_LOOP_H

#include "base/common.h"

struct loop {
	char path[64]; /* "/dev/loop7" */
};

/*
 * Make or take the file at image, give it bytes (0: as it is), and put it
 * behind a loop device with this block size, with direct I/O where the file
 * system has it.
 *
 * false: not root, or no loop devices here.
 */
bool loop_new(struct loop *loop, const char *image, uint64_t bytes,
              uint32_t lba_bytes);

/* Detach. */
void loop_free(struct loop *loop);

#endif /* TEST_LOOP_H */
