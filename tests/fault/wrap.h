/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * wrap.h - make the Nth call fail: allocations, and the system calls that read
 * or change something. The linker's --wrap sends the library's calls here.
 */
#ifndef TEST_WRAP_H
#define TEST_WRAP_H

#include <stdbool.h>
#include <stddef.h>

enum wrap_class {
	WRAP_MEMORY, /* ENOMEM */
	WRAP_CALLS,  /* EIO */
	/* Nothing fails, but every read and write is interrupted or short
	 * every other time. */
	WRAP_SHORT
};

/* Call number at of the class fails; with on, and all later ones. 0: none. */
void wrap_arm(enum wrap_class what, unsigned long at, bool on);
void wrap_disarm(void);

/* Calls of the class since wrap_arm(). */
unsigned long wrap_calls(void);

/* Allocations since wrap_arm() that were not freed. */
size_t wrap_live(void);

#endif /* TEST_WRAP_H */
