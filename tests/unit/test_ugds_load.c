/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_ugds_load.c - which copy of uGDS is used, and which is refused.
 *
 * Loading cannot be undone, so each case runs in a process of its own. The
 * libraries are made for this test (fake/ugds.c): they have uGDS's names, and
 * another struct layout.
 */
#include "support/test.h"

#include <dlfcn.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include "devices/ugds.h"

/* Two files with soname libugds.so, one with another, one with a call less. */
static const char *const first_path = FAKE_UGDS_DIR "/libugds.so";
static const char *const second_path = FAKE_UGDS_DIR "/copy/libugds.so";
static const char *const bundled_path = FAKE_UGDS_DIR "/libugds-bundled.so";
static const char *const lacking_path = FAKE_UGDS_DIR "/lacking/libugds.so";

/* Checks in a child, where CMocka's cannot be used. */
#define CHECK(condition)                                               \
	do {                                                           \
		if (!(condition)) {                                    \
			print_error("%s:%d: %s\n", __FILE__, __LINE__, \
			            #condition);                       \
			return 1;                                      \
		}                                                      \
	} while (0)

static void run_alone(int (*body)(void))
{
	pid_t child = fork();
	int status;

	assert_true(child >= 0);
	if (child == 0)
		_exit(body());
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

/* Does a table belong to a library? */
static bool is_table_of(const struct ugst_ugds *ugds, void *library)
{
	void *symbol = dlsym(library, "uGDSBatchIODestroy");

	return symbol &&
	       memcmp(&ugds->batch_destroy, &symbol, sizeof(symbol)) == 0;
}

static int by_path(void)
{
	const struct ugst_ugds *ugds = NULL;
	const struct ugst_ugds *again = NULL;
	struct ugds_st_error err;
	void *library;

	CHECK(ugst_ugds_load(NULL, first_path, &ugds, &err) == UGDS_ST_OK);
	library = dlopen(first_path, RTLD_NOW | RTLD_NOLOAD);
	CHECK(library && is_table_of(ugds, library));
	/* kept to ourselves: no symbol of it in the engine's way */
	CHECK(!dlsym(RTLD_DEFAULT, "uGDSDriverOpen"));
	CHECK(ugst_ugds_load(NULL, first_path, &again, &err) == UGDS_ST_OK);
	CHECK(again == ugds);
	CHECK(ugst_ugds_load(NULL, NULL, &again, &err) == UGDS_ST_OK);
	CHECK(again == ugds);
	CHECK(ugst_ugds_load(NULL, second_path, &again, &err) ==
	      UGDS_ST_MISMATCH);
	CHECK(strstr(err.text, first_path) && strstr(err.text, second_path));
	CHECK(!dlopen(second_path, RTLD_NOW | RTLD_NOLOAD));
	return 0;
}

static int with_engines(const char *path, int scope)
{
	void *library = dlopen(path, RTLD_NOW | scope);
	const struct ugst_ugds *ugds = NULL;
	struct ugds_st_error err;

	CHECK(library);
	CHECK(ugst_ugds_load(NULL, second_path, &ugds, &err) ==
	      UGDS_ST_MISMATCH);
	CHECK(strstr(err.text, path) && strstr(err.text, second_path));
	CHECK(!dlopen(second_path, RTLD_NOW | RTLD_NOLOAD));
	CHECK(ugst_ugds_load(NULL, "/nowhere/libugds.so", &ugds, &err) ==
	      UGDS_ST_MISMATCH);
	CHECK(!ugds);
	CHECK(ugst_ugds_load(NULL, NULL, &ugds, &err) == UGDS_ST_OK);
	CHECK(is_table_of(ugds, library));
	ugds = NULL;
	CHECK(ugst_ugds_load(NULL, path, &ugds, &err) == UGDS_ST_OK);
	CHECK(is_table_of(ugds, library));
	return 0;
}

static int engines_local(void)
{
	return with_engines(first_path, RTLD_LOCAL);
}

static int engines_global(void)
{
	return with_engines(first_path, RTLD_GLOBAL);
}

static int engines_bundled(void)
{
	return with_engines(bundled_path, RTLD_GLOBAL);
}

/* Calls that are somebody's: only their addresses matter here. */
static struct ugds_st_ugds_calls calls_of(ugds_st_ugds_call call)
{
	return (struct ugds_st_ugds_calls){
		sizeof(struct ugds_st_ugds_calls),
		call,
		call,
		call,
		call,
		call,
		call,
		call,
		call,
		call,
		call,
	};
}

static void engines_call(void)
{
}

static void another_call(void)
{
}

static int lent(void)
{
	struct ugds_st_ugds_calls calls = calls_of(engines_call);
	struct ugds_st_ugds_calls others = calls_of(another_call);
	struct ugds_st_ugds_calls lacks = calls;
	const struct ugst_ugds *ugds = NULL;
	struct ugds_st_error err;
	ugds_st_ugds_call call;

	lacks.batch_status = NULL;
	CHECK(ugst_ugds_load(&lacks, NULL, &ugds, &err) == UGDS_ST_INVALID_ARG);
	CHECK(strstr(err.text, "uGDSBatchIOGetStatus"));
	lacks = calls;
	lacks.struct_size = offsetof(struct ugds_st_ugds_calls, batch_destroy);
	CHECK(ugst_ugds_load(&lacks, NULL, &ugds, &err) == UGDS_ST_INVALID_ARG);
	CHECK(strstr(err.text, "uGDSBatchIODestroy"));
	CHECK(!ugds);

	CHECK(ugst_ugds_load(&calls, NULL, &ugds, &err) == UGDS_ST_OK);
	memset(&calls, 0, sizeof(calls)); /* it was copied */
	for (size_t at = 0; at < sizeof(*ugds); at += sizeof(call)) {
		memcpy(&call, (const char *)ugds + at, sizeof(call));
		CHECK(call == engines_call);
	}
	/* It is the copy in use, for whoever lends it, or names none. */
	calls = calls_of(engines_call);
	CHECK(ugst_ugds_load(&calls, NULL, &ugds, &err) == UGDS_ST_OK);
	CHECK(ugst_ugds_load(NULL, NULL, &ugds, &err) == UGDS_ST_OK);
	CHECK(ugst_ugds_load(&others, NULL, &ugds, &err) == UGDS_ST_MISMATCH);
	CHECK(ugst_ugds_load(NULL, first_path, &ugds, &err) ==
	      UGDS_ST_MISMATCH);
	CHECK(strstr(err.text, first_path) && strstr(err.text, "lent"));
	CHECK(!dlopen(first_path, RTLD_NOW | RTLD_NOLOAD));
	return 0;
}

static void *lend_again(void *calls)
{
	const struct ugst_ugds *ugds = NULL;
	struct ugds_st_error err;

	for (int i = 0; i < 1000; i++)
		if (ugst_ugds_load(calls, NULL, &ugds, &err) != UGDS_ST_OK)
			return calls;
	return NULL;
}

/* A store is opened while another one reads: what it calls is not touched. The
 * thread sanitizer's to judge. */
static int lent_while_in_use(void)
{
	struct ugds_st_ugds_calls calls = calls_of(engines_call);
	const struct ugst_ugds *ugds = NULL;
	struct ugds_st_error err;
	ugds_st_ugds_call call;
	pthread_t thread;
	void *result;

	CHECK(ugst_ugds_load(&calls, NULL, &ugds, &err) == UGDS_ST_OK);
	CHECK(pthread_create(&thread, NULL, lend_again, &calls) == 0);
	for (int i = 0; i < 1000; i++) {
		memcpy(&call, &ugds->batch_status, sizeof(call));
		CHECK(call == engines_call);
	}
	CHECK(pthread_join(thread, &result) == 0);
	CHECK(!result);
	return 0;
}

static int lent_beside_loaded(void)
{
	struct ugds_st_ugds_calls calls = calls_of(engines_call);
	const struct ugst_ugds *ugds = NULL;
	struct ugds_st_error err;

	CHECK(ugst_ugds_load(NULL, first_path, &ugds, &err) == UGDS_ST_OK);
	CHECK(ugst_ugds_load(&calls, NULL, &ugds, &err) == UGDS_ST_MISMATCH);
	CHECK(strstr(err.text, first_path) && strstr(err.text, "lent"));
	/* The same functions are the same copy. */
	memcpy(&calls.driver_open, ugds, sizeof(*ugds));
	CHECK(ugst_ugds_load(&calls, NULL, &ugds, &err) == UGDS_ST_OK);
	return 0;
}

static int lacking(void)
{
	const struct ugst_ugds *ugds = NULL;
	struct ugds_st_error err;

	CHECK(ugst_ugds_load(NULL, lacking_path, &ugds, &err) ==
	      UGDS_ST_UNSUPPORTED);
	CHECK(strstr(err.text, lacking_path));
	CHECK(strstr(err.text, "uGDSBatchIODestroy"));
	CHECK(!ugds);
	return 0;
}

/* Refused by the probe, before anything could be read. */
static int other_layout(void)
{
	const struct ugst_ugds *ugds = NULL;
	struct ugst_ugds_limits limits;
	struct ugds_st_error err;
	unsigned (*reads)(void);
	void *symbol;

	CHECK(ugst_ugds_load(NULL, first_path, &ugds, &err) == UGDS_ST_OK);
	symbol = dlsym(dlopen(first_path, RTLD_NOW | RTLD_NOLOAD),
	               "fake_ugds_reads");
	CHECK(symbol);
	memcpy(&reads, &symbol, sizeof(reads));
	CHECK(ugst_ugds_probe(ugds, &limits, &limits, &err) ==
	      UGDS_ST_UNSUPPORTED);
	CHECK(strstr(err.text, "binary interface"));
	CHECK(reads() == 0);
	return 0;
}

static void test_by_path(void **state)
{
	(void)state;
	run_alone(by_path);
}

static void test_engines_copy(void **state)
{
	(void)state;
	run_alone(engines_local);
	run_alone(engines_global);
	run_alone(engines_bundled);
}

static void test_lent(void **state)
{
	(void)state;
	run_alone(lent);
	run_alone(lent_while_in_use);
	run_alone(lent_beside_loaded);
}

static void test_lacking(void **state)
{
	(void)state;
	run_alone(lacking);
}

static void test_other_layout(void **state)
{
	(void)state;
	run_alone(other_layout);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_by_path),
		cmocka_unit_test(test_engines_copy),
		cmocka_unit_test(test_lent),
		cmocka_unit_test(test_lacking),
		cmocka_unit_test(test_other_layout),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
