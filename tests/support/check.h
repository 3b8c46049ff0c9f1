/* SPDX-License-Identifier: BSD-3-Clause */
/* check.h - CMocka in its order of includes, and status assertions. */
#ifndef UGST_TEST_CHECK_H
#define UGST_TEST_CHECK_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

/* A call that must succeed; prints the library's own text where it does not. */
#define check_ok(call, err)                                                 \
	do {                                                                \
		int check_status_ = (call);                                 \
		if (check_status_ != UGDS_ST_OK)                            \
			fail_msg("%s: status %d: %s", #call, check_status_, \
			         (err).text);                               \
	} while (0)

/* A call that must fail with a status and a text that has says in it. */
#define check_fails(call, wanted, err, says)                             \
	do {                                                             \
		int check_status_ = (call);                              \
		if (check_status_ != (wanted))                           \
			fail_msg("%s: expected status %d, found %d: %s", \
			         #call, (int)(wanted), check_status_,    \
			         check_status_ ? (err).text : "");       \
		if ((says) && !strstr((err).text, (says)))               \
			fail_msg("%s: expected \"%s\" in \"%s\"", #call, \
			         (const char *)(says), (err).text);      \
	} while (0)

#endif /* UGST_TEST_CHECK_H */
