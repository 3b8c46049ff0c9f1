/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_window.c - the submission rule, against a model of the controller.
 *
 * The model gives each command the next identifier modulo a depth of 64, as
 * uGDS's queue does, and counts an identifier that is still in use as a
 * conflict: the corruption that the window exists to prevent.
 */
#include "support/test.h"

#include "pure/window.h"
#include "support/random.h"

#define DEPTH 64
#define LIMIT 63

struct model {
	uint64_t next_command;
	bool busy[DEPTH]; /* identifier is of an unreported entry */
	uint64_t first[UGST_WINDOW_ENTRIES]; /* command, by position */
	uint32_t count[UGST_WINDOW_ENTRIES];
	bool live[UGST_WINDOW_ENTRIES];
	unsigned live_count;
	unsigned since_empty;
};

static void model_submit(struct model *m, unsigned position, uint32_t commands)
{
	assert_true(position < UGST_WINDOW_ENTRIES);
	assert_false(m->live[position]);
	m->since_empty++;
	assert_true(m->since_empty <= 128);
	m->first[position] = m->next_command;
	m->count[position] = commands;
	m->live[position] = true;
	m->live_count++;
	for (uint32_t i = 0; i < commands; i++) {
		unsigned id = (unsigned)(m->next_command++ % DEPTH);

		assert_false(m->busy[id]);
		m->busy[id] = true;
	}
}

static void model_report(struct model *m, unsigned position)
{
	assert_true(m->live[position]);
	m->live[position] = false;
	for (uint32_t i = 0; i < m->count[position]; i++)
		m->busy[(m->first[position] + i) % DEPTH] = false;
	if (--m->live_count == 0)
		m->since_empty = 0;
}

static unsigned random_live(const struct model *m, uint64_t *seed)
{
	unsigned nth = (unsigned)random_below(seed, m->live_count);

	for (unsigned i = 0;; i++)
		if (m->live[i] && nth-- == 0)
			return i;
}

/* Entries of every mix of sizes, reported in any order. */
static void never_overtaken(void **state)
{
	uint64_t seed = 7;

	(void)state;
	for (uint32_t largest = 1; largest <= 9; largest++) {
		struct ugst_window window;
		struct model model = {0};
		uint64_t admitted = 0;

		ugst_window_init(&window, LIMIT);
		for (int step = 0; step < 200000; step++) {
			uint32_t commands =
				1 + (uint32_t)random_below(&seed, largest);

			if (ugst_window_admits(&window, commands)) {
				model_submit(
					&model,
					ugst_window_submit(&window, commands),
					commands);
				admitted++;
			} else {
				unsigned position;

				assert_true(model.live_count > 0);
				position = random_live(&model, &seed);
				model_report(&model, position);
				ugst_window_report(&window, position);
			}
			assert_int_equal(window.in_flight, model.live_count);
		}
		assert_true(admitted > 50000);
	}
}

/* One entry at the front stays; 62 commands may pass it, the 63rd may not. */
static void distance_counts_reported_ones(void **state)
{
	struct ugst_window window;
	unsigned oldest;

	(void)state;
	ugst_window_init(&window, LIMIT);
	oldest = ugst_window_submit(&window, 1);
	for (int i = 0; i < 62; i++) {
		assert_true(ugst_window_admits(&window, 1));
		ugst_window_report(&window, ugst_window_submit(&window, 1));
	}
	assert_int_equal(window.in_flight, 1);
	assert_false(ugst_window_admits(&window, 1));
	ugst_window_report(&window, oldest);
	assert_true(ugst_window_admits(&window, 1));
}

/* 128 entries, then only an empty window goes on. */
static void runs_empty_once(void **state)
{
	struct ugst_window window;

	(void)state;
	ugst_window_init(&window, 1000);
	for (int i = 0; i < 128; i++) {
		assert_true(ugst_window_admits(&window, 1));
		(void)ugst_window_submit(&window, 1);
	}
	for (unsigned i = 0; i < 128; i++) {
		assert_false(ugst_window_admits(&window, 1));
		ugst_window_report(&window, i);
	}
	assert_true(ugst_window_admits(&window, 1));
	assert_int_equal(ugst_window_submit(&window, 1), 0);
}

/* A queue shallower than one entry: that entry goes alone. */
static void oversized_entry_goes_alone(void **state)
{
	struct ugst_window window;

	(void)state;
	ugst_window_init(&window, 4);
	assert_true(ugst_window_admits(&window, 9));
	ugst_window_report(&window, ugst_window_submit(&window, 9));
	(void)ugst_window_submit(&window, 1);
	assert_false(ugst_window_admits(&window, 9));
	assert_true(ugst_window_admits(&window, 3));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(never_overtaken),
		cmocka_unit_test(distance_counts_reported_ones),
		cmocka_unit_test(runs_empty_once),
		cmocka_unit_test(oversized_entry_goes_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
