/* SPDX-License-Identifier: BSD-3-Clause */
/* test_err.c - an error text is one line of valid UTF-8, whatever is in it. */
#include "support/test.h"

#include <errno.h>

#include "base/err.h"

static void one_line(void **state)
{
	struct ugds_st_error err;

	(void)state;
	assert_int_equal(ugst_fail(&err, UGDS_ST_FORMAT, "shard %s: %d",
	                           "a\nb\x1b[2J\x7f\xc2\x9b\xff", 7),
	                 UGDS_ST_FORMAT);
	assert_string_equal(err.text, "shard a?b?[2J????: 7");
	ugst_err_prefix(&err, "dir\r\nname");
	assert_string_equal(err.text, "dir??name: shard a?b?[2J????: 7");
	assert_int_equal(ugst_fail_errno(&err, UGDS_ST_IO, ENOENT, "\t%s", "x"),
	                 UGDS_ST_IO);
	assert_string_equal(err.text, "?x: No such file or directory");
	assert_int_equal(err.sys_errno, ENOENT);
	assert_int_equal(ugst_fail(&err, UGDS_ST_FORMAT, "Größe 1 µ"),
	                 UGDS_ST_FORMAT);
	assert_string_equal(err.text, "Größe 1 µ");
}

/* A text that is cut is not cut within a character. */
static void cut_between_characters(void **state)
{
	struct ugds_st_error err;
	char text[600];

	(void)state;
	for (size_t odd = 0; odd < 2; odd++) {
		for (size_t i = odd; i < sizeof(text) - 2; i += 2)
			memcpy(text + i, "µ", 2);
		memset(text, 'x', odd);
		text[sizeof(text) - 2 + odd] = '\0';
		(void)ugst_fail(&err, UGDS_ST_FORMAT, "%s", text);
		assert_true(strlen(err.text) >= sizeof(err.text) - 2);
		for (size_t i = odd; err.text[i] && err.text[i] != '?'; i += 2)
			assert_memory_equal(err.text + i, "µ", 2);
		ugst_err_prefix(&err, "12");
		assert_true(strlen(err.text) < sizeof(err.text));
	}
	ugst_err_prefix(NULL, "nobody listens");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_line),
		cmocka_unit_test(cut_between_characters),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
