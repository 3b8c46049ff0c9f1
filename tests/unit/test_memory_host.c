/* SPDX-License-Identifier: BSD-3-Clause */
/* test_memory_host.c - host memory as memory operations. */
#include "base/common.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#define MIB ((size_t)UGST_MIB)

static void host_memory_is_memory(void **state)
{
	const struct ugds_st_memory_ops *ops = ugds_st_memory_host();
	const size_t sizes[] = {1, 4096, 65536, 2 * MIB, 5 * MIB + 1};
	uint64_t token = 1;
	void *ptr;

	(void)state;
	assert_int_equal(ops->struct_size, sizeof(*ops));
	assert_int_equal(ops->ugds_register_flags, -1);
	assert_null(ops->fence);
	for (size_t i = 0; i < UGST_COUNT(sizes); i++) {
		assert_int_equal(ops->alloc(ops->ctx, sizes[i], 65536, &ptr),
		                 0);
		assert_int_equal((uintptr_t)ptr % 65536, 0);
		memset(ptr, 1, sizes[i]);
		ops->free(ops->ctx, ptr, sizes[i]);
	}
	assert_int_equal(ops->alloc(ops->ctx, 64, 1, &ptr), 0);
	assert_int_equal(ops->copy(ops->ctx, ptr, "bytes", 6, NULL, &token), 0);
	assert_int_equal(token, 0);
	assert_int_equal(ops->done(ops->ctx, token, 0), 1);
	assert_string_equal(ptr, "bytes");
	ops->free(ops->ctx, ptr, 64);
	ops->free(ops->ctx, NULL, 0);
	assert_non_null(ops->error_text(ops->ctx, 1));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(host_memory_is_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
