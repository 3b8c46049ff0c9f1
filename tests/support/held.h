/* SPDX-License-Identifier: BSD-3-Clause */
/* held.h - wait for what a script of compatibility mode holds back: a command
 * is held when a thread has taken it, and on a busy machine that is later. */
#ifndef TEST_HELD_H
#define TEST_HELD_H

#include "support/test.h"

#include <unistd.h>

#include "devices/ugds_compat_script.h"

/* Until so many commands are held back. */
static inline void await_held(unsigned held)
{
	for (int i = 0; i < 10000 && ugst_compat_script_counts().held != held;
	     i++)
		usleep(1000);
	assert_int_equal(ugst_compat_script_counts().held, held);
}

/* Let the one that is, or is about to be, held back land. */
static inline void release_one(void)
{
	await_held(1);
	assert_int_equal(ugst_compat_script_release(0), 1);
}

#endif /* TEST_HELD_H */
