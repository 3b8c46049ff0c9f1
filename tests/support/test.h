/* SPDX-License-Identifier: BSD-3-Clause */
/* test.h - first include of every unit test: CMocka and what it needs. */
#ifndef TEST_H
#define TEST_H

#include "base/common.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

/* A call must succeed; its error text is shown if it does not. */
#define assert_ok(call, err)                                            \
	do {                                                            \
		int assert_ok_status = (call);                          \
		if (assert_ok_status != UGDS_ST_OK)                     \
			fail_msg("%s: %s: %s", #call,                   \
			         ugds_st_status_name(assert_ok_status), \
			         (err).text);                           \
	} while (0)

/* A call must fail with a status, and say so in err with a text. */
#define assert_fails(call, wanted, err)                                    \
	do {                                                               \
		int assert_fails_status;                                   \
		memset(&(err), 0, sizeof(err));                            \
		assert_fails_status = (call);                              \
		if (assert_fails_status != (wanted))                       \
			fail_msg("%s: wanted %s, found %s: %s", #call,     \
			         ugds_st_status_name(wanted),              \
			         ugds_st_status_name(assert_fails_status), \
			         (err).text);                              \
		assert_int_equal((err).status, (wanted));                  \
		assert_true((err).text[0] != '\0');                        \
	} while (0)

#endif /* TEST_H */
