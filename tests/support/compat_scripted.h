/* SPDX-License-Identifier: BSD-3-Clause */
/* compat_scripted.h - compatibility mode with a script in place, for tests of
 * what it does then. */
#ifndef TEST_COMPAT_SCRIPTED_H
#define TEST_COMPAT_SCRIPTED_H

#include "support/compat_fixture.h"

#include <pthread.h>

#include "support/held.h"

#define FAULT(...) \
	ugst_compat_script_fault(&(struct ugst_compat_fault){__VA_ARGS__})

static inline int setup(void **state)
{
	struct fixture *f = new_fixture();

	ugst_compat_script_begin(&(struct ugst_compat_script){
		.command_bytes = MIB,
		.window_commands = 63,
		.destroy_ms = 200,
	});
	connect_fixture(f);
	*state = f;
	return 0;
}

/* The handle is given up, whatever became of it. */
static inline int teardown(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(f->ugds->handle_deregister(f->handle, -2).code, 0);
	f->ugds->buf_deregister(f->buf);
	ugst_compat_script_end();
	assert_int_equal(ugst_compat_script_counts().handles, 0);
	assert_int_equal(ugst_compat_script_counts().bufs, 0);
	free_fixture(f);
	return 0;
}

static inline struct ugst_compat_counts counts(void)
{
	return ugst_compat_script_counts();
}

static inline uint64_t broken(int rule)
{
	return counts().broken[rule];
}

static inline void await_ended(uint64_t ended)
{
	for (int i = 0; i < 10000 && counts().ended != ended; i++)
		usleep(1000);
	assert_int_equal(counts().ended, ended);
}

static inline void reconnect(struct fixture *f,
                             const struct ugst_compat_script *now)
{
	f->ugds->batch_destroy(f->batch);
	assert_int_equal(f->ugds->buf_deregister(f->buf).code, 0);
	assert_int_equal(f->ugds->handle_deregister(f->handle, 0).code, 0);
	ugst_compat_script_begin(now);
	connect_fixture(f);
}

#define SCRIPTED(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

#endif /* TEST_COMPAT_SCRIPTED_H */
