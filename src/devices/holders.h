/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * holders.h - which process has a file open or locked, as /proc tells.
 *
 * Best effort: another user's descriptors are seen by root only.
 */
#ifndef UGST_HOLDERS_H
#define UGST_HOLDERS_H

#include <sys/types.h>

#include "base/common.h"

struct ugst_holder {
	pid_t pid;
	char command[64]; /* escaped for printing */
};

/* Who holds a lock that covers byte of the file that fd is open on? fd's own
 * locks do not count. false: nobody that can be seen. */
bool ugst_holder_of_lock(int fd, int byte, struct ugst_holder *holder_out);

/*
 * ugst_holder_of_file() - who else has open what fd is open on?
 *
 * A block device is looked for by its number, so that it is found through
 * every node that stands for it. fd itself, and spare_fd (-1: none), both of
 * this process, do not count.
 * false: nobody that can be seen.
 */
bool ugst_holder_of_file(int fd, int spare_fd, struct ugst_holder *holder_out);

/* As ugst_holder_of_file(), in other processes only. */
bool ugst_holder_elsewhere(int fd, struct ugst_holder *holder_out);

#endif /* UGST_HOLDERS_H */
