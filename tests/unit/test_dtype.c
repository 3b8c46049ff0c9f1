/* SPDX-License-Identifier: BSD-3-Clause */
/* test_dtype.c - every element type of the format: spelling and size. */
#include "base/common.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "pure/dtype.h"

/* As the official loader's documentation lists them. */
static const struct {
	int dtype;
	const char *name;
	unsigned bits;
} dtypes[] = {
	{UGDS_ST_DTYPE_BOOL, "BOOL", 8},
	{UGDS_ST_DTYPE_F4, "F4", 4},
	{UGDS_ST_DTYPE_F6_E2M3, "F6_E2M3", 6},
	{UGDS_ST_DTYPE_F6_E3M2, "F6_E3M2", 6},
	{UGDS_ST_DTYPE_U8, "U8", 8},
	{UGDS_ST_DTYPE_I8, "I8", 8},
	{UGDS_ST_DTYPE_F8_E5M2, "F8_E5M2", 8},
	{UGDS_ST_DTYPE_F8_E4M3, "F8_E4M3", 8},
	{UGDS_ST_DTYPE_F8_E8M0, "F8_E8M0", 8},
	{UGDS_ST_DTYPE_F8_E4M3FNUZ, "F8_E4M3FNUZ", 8},
	{UGDS_ST_DTYPE_F8_E5M2FNUZ, "F8_E5M2FNUZ", 8},
	{UGDS_ST_DTYPE_I16, "I16", 16},
	{UGDS_ST_DTYPE_U16, "U16", 16},
	{UGDS_ST_DTYPE_F16, "F16", 16},
	{UGDS_ST_DTYPE_BF16, "BF16", 16},
	{UGDS_ST_DTYPE_I32, "I32", 32},
	{UGDS_ST_DTYPE_U32, "U32", 32},
	{UGDS_ST_DTYPE_F32, "F32", 32},
	{UGDS_ST_DTYPE_C64, "C64", 64},
	{UGDS_ST_DTYPE_F64, "F64", 64},
	{UGDS_ST_DTYPE_I64, "I64", 64},
	{UGDS_ST_DTYPE_U64, "U64", 64},
};

static void test_all(void **state)
{
	(void)state;
	for (size_t i = 0; i < UGST_COUNT(dtypes); i++) {
		const char *name = dtypes[i].name;

		assert_string_equal(ugds_st_dtype_name(dtypes[i].dtype), name);
		assert_int_equal(ugds_st_dtype_bits(dtypes[i].dtype),
		                 dtypes[i].bits);
		assert_int_equal(ugst_dtype_from_name(name, strlen(name)),
		                 dtypes[i].dtype);
		assert_int_equal(ugst_dtype_from_name(name, strlen(name) - 1),
		                 0);
		assert_int_equal(ugst_dtype_from_name(name, strlen(name) + 1),
		                 0);
	}
}

static void test_none(void **state)
{
	static const int none[] = {0, -1, 23, 1000, INT32_MAX, INT32_MIN};

	(void)state;
	for (size_t i = 0; i < UGST_COUNT(none); i++) {
		assert_null(ugds_st_dtype_name(none[i]));
		assert_int_equal(ugds_st_dtype_bits(none[i]), 0);
	}
	assert_int_equal(ugst_dtype_from_name("", 0), 0);
	assert_int_equal(ugst_dtype_from_name("f32", 3), 0);
	assert_int_equal(ugst_dtype_from_name("Q8_0", 4), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all),
		cmocka_unit_test(test_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
