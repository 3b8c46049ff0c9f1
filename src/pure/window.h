/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * window.h - when one more entry may be submitted to a batch.
 *
 * Three facts about uGDS decide it. A command that is overtaken by a queue
 * depth of younger ones shares its command identifier with one of them, and
 * data are corrupted in silence; the depth is not promised, and may be 64. So
 * the commands from the oldest entry whose event has not been read up to the
 * newest are at most a limit (63). Those in flight are among them, so Submit
 * then finds room. And a batch recycles its 128 entries only when every event
 * has been read: after the 128th the window runs empty once.
 */
#ifndef UGST_WINDOW_H
#define UGST_WINDOW_H

#include "base/common.h"

#define UGST_WINDOW_ENTRIES 128u

struct ugst_window {
	uint32_t limit_commands;
	uint32_t span_commands; /* oldest unreported to newest */
	unsigned oldest;        /* position of the oldest unreported */
	unsigned next;          /* position of the next entry: entries since
	                           the window was last empty */
	unsigned in_flight;     /* entries */
	uint32_t commands[UGST_WINDOW_ENTRIES];
	bool reported[UGST_WINDOW_ENTRIES];
};

/* limit_commands >= 1 */
void ugst_window_init(struct ugst_window *window, uint32_t limit_commands);

/* An entry of more commands than the limit is let in alone. */
bool ugst_window_admits(const struct ugst_window *window, uint32_t commands);

/* Admit an entry. Return: its position, which names it until it is reported.
 */
unsigned ugst_window_submit(struct ugst_window *window, uint32_t commands);

/* The event of the entry at position has been read. */
void ugst_window_report(struct ugst_window *window, unsigned position);

#endif /* UGST_WINDOW_H */
