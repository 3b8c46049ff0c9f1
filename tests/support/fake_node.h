/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fake_node.h - character devices that pass for uGDS's, without uGDS.
 *
 * A pseudo-terminal is a character device of this process alone: here two of
 * them stand for drives, which compatibility mode, with its scripts, reads from
 * files. So what the library does with uGDS's devices runs anywhere.
 *
 * A program that uses this is linked with --wrap=ugst_ugds_load,
 * --wrap=ugst_guest_driver and --wrap=mmap64.
 */
#ifndef TEST_FAKE_NODE_H
#define TEST_FAKE_NODE_H

#include "base/common.h"
#include "devices/ugds.h"

#define FAKE_NODES 2u

struct fake_node {
	char path[64];    /* of the character device */
	const char *file; /* what is on the drive */
	unsigned resets;  /* times that a handle was registered for it */
};

extern struct fake_node fake_nodes[FAKE_NODES];

/* What the next calls do. */
extern struct fake_node_troubles {
	const struct ugst_ugds *loaded; /* what is found as libugds.so */
	const char *driver;             /* in /proc/devices; NULL: unknown */
	bool no_registers;              /* nothing can be mapped */
	int register_code;              /* of handle_register; 0: it works */
	int capacity_code;              /* of device_capacity */
	unsigned submit_ms;             /* how long the next Submit waits */
} fake_node_troubles;

/* Make the devices. false: this machine has no pseudo-terminals. */
bool fake_node_begin(void);
void fake_node_end(void);

/* The library as it would be loaded; trouble.loaded at first. */
const struct ugst_ugds *fake_node_ugds(void);

#endif /* TEST_FAKE_NODE_H */
