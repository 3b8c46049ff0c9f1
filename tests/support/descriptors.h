/* SPDX-License-Identifier: BSD-3-Clause */
/* descriptors.h - how many descriptors this process has open: a refusal leaves
 * none behind. */
#ifndef TEST_DESCRIPTORS_H
#define TEST_DESCRIPTORS_H

#include "base/common.h"

#include <fcntl.h>

static inline size_t open_descriptors(void)
{
	size_t count = 0;

	for (int fd = 0; fd < 256; fd++)
		count += fcntl(fd, F_GETFD) != -1;
	return count;
}

#endif /* TEST_DESCRIPTORS_H */
