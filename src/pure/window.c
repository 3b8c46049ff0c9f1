/* SPDX-License-Identifier: BSD-3-Clause */
/* window.c - the submission rule; see window.h. */
#include "base/common.h"

#include <assert.h>

#include "pure/window.h"

void ugst_window_init(struct ugst_window *window, uint32_t limit_commands)
{
	memset(window, 0, sizeof(*window));
	window->limit_commands = limit_commands;
}

bool ugst_window_admits(const struct ugst_window *window, uint32_t commands)
{
	if (window->in_flight == 0)
		return true;
	return window->next < UGST_WINDOW_ENTRIES &&
	       commands <= window->limit_commands &&
	       window->span_commands <= window->limit_commands - commands;
}

unsigned ugst_window_submit(struct ugst_window *window, uint32_t commands)
{
	unsigned position = window->next++;

	assert(position < UGST_WINDOW_ENTRIES);
	window->commands[position] = commands;
	window->reported[position] = false;
	window->span_commands += commands;
	window->in_flight++;
	return position;
}

void ugst_window_report(struct ugst_window *window, unsigned position)
{
	assert(position < window->next && !window->reported[position]);
	window->reported[position] = true;
	window->in_flight--;
	while (window->oldest < window->next &&
	       window->reported[window->oldest])
		window->span_commands -= window->commands[window->oldest++];
	if (window->in_flight == 0)
		ugst_window_init(window, window->limit_commands);
}
