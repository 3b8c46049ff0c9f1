/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ugds_guest.h - what else this process does with uGDS's devices.
 *
 * uGDS admits any number of users of one device, and each resets the
 * controller under the others. So one looks before one registers. Other
 * processes are looked for in holders.h.
 */
#ifndef UGST_UGDS_GUEST_H
#define UGST_UGDS_GUEST_H

#include <sys/types.h>

#include "base/common.h"

/* Descriptors of this process. Zero, then free() fds. */
struct ugst_fd_list {
	int *fds;
	size_t count;
};

bool ugst_fd_list_has(const struct ugst_fd_list *list, int fd);

/* false: out of memory, the list stays. */
bool ugst_fd_list_add(struct ugst_fd_list *list, int fd);

/*
 * ugst_guest_driver() - the name under which a driver took a device number.
 *
 * Return: false: /proc does not list the number, or cannot be read.
 */
bool ugst_guest_driver(dev_t device, char *name_out, size_t name_bytes);

/*
 * ugst_guest_own_fds() - this process's descriptors of a device.
 *
 * @list_out: free list_out->fds; written on OK only.
 * Return: OK; IO (/proc/self/fd cannot be read); NO_MEMORY.
 */
int ugst_guest_own_fds(dev_t device, struct ugst_fd_list *list_out,
                       struct ugds_st_error *err);

/*
 * ugst_guest_sibling() - another device of the same driver in this process.
 *
 * @known: devices that are not meant, known_count of them.
 * @path_out: what the descriptor's link says.
 * Return: true: there is one.
 */
bool ugst_guest_sibling(dev_t device, const dev_t *known, size_t known_count,
                        char *path_out, size_t path_bytes);

#endif /* UGST_UGDS_GUEST_H */
