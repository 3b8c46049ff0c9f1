/* SPDX-License-Identifier: BSD-3-Clause */
/* check.h - test.h, and failures checked by what they say. */
#ifndef UGST_TEST_CHECK_H
#define UGST_TEST_CHECK_H

#include "support/test.h"

/* A call that must fail with a status and a text that has says in it. */
#define check_fails(call, wanted, err, says)                           \
	do {                                                           \
		int check_status_ = (call);                            \
		if (check_status_ != (wanted))                         \
			fail_msg("%s: wanted %s, found %s: %s", #call, \
			         ugds_st_status_name(wanted),          \
			         ugds_st_status_name(check_status_),   \
			         check_status_ ? (err).text : "");     \
		if ((says) && !strstr((err).text, (says)))             \
			fail_msg("%s: wanted \"%s\" in \"%s\"", #call, \
			         (const char *)(says), (err).text);    \
	} while (0)

#endif /* UGST_TEST_CHECK_H */
