/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_adopt.c - the identity of namespaces, with Identify played by this file,
 * on loop devices.
 */
#include "support/check.h"

#include <fcntl.h>
#include <unistd.h>

#include "import/identity.h"
#include "import/import.h"
#include "support/loop.h"
#include "support/scene.h"

/* What every device is. */
static struct ugst_namespace played;

void ugst_namespace_identify(const struct ugst_blockdev *dev,
                             struct ugst_namespace *ns_out)
{
	(void)dev;
	*ns_out = played;
}

static struct ugst_namespace drive(const char *serial, uint8_t nguid)
{
	struct ugst_namespace ns = {.identified = true,
	                            .size_nlb = 1000,
	                            .capacity_nlb = 1000,
	                            .identity = {.known = true, .nsid = 1}};

	(void)snprintf(ns.identity.serial, sizeof(ns.identity.serial), "%s",
	               serial);
	memset(ns.identity.nguid, nguid, sizeof(ns.identity.nguid));
	return ns;
}

static struct loop loop;

static int enter(void **state)
{
	struct scene *scene = scene_new();

	*state = scene;
	loop.path[0] = '\0';
	return 0;
}

static int leave(void **state)
{
	if (loop.path[0])
		loop_free(&loop);
	scene_free(*state);
	return 0;
}

static bool take_loop(struct scene *scene)
{
	if (!loop_new(&loop, scene_path(scene, "image"), 32 * UGST_MIB, 512)) {
		loop.path[0] = '\0';
		return false;
	}
	scene->devices[0] = loop.path;
	scene->device_count = 1;
	return true;
}

static char notes[1024];

static void take_note(void *ctx, const char *text)
{
	(void)ctx;
	(void)snprintf(notes, sizeof(notes), "%s", text);
}

static int format(struct scene *scene)
{
	struct ugds_st_import_format_opts opts =
		UGDS_ST_IMPORT_FORMAT_OPTS_INIT;
	int status = UGDS_ST_BUSY;

	notes[0] = '\0';
	opts.note = take_note;
	for (int i = 0; i < 200 && status == UGDS_ST_BUSY; i++) {
		status = ugst_format(&scene->env, loop.path, &opts, NULL,
		                     &scene->err);
		if (status == UGDS_ST_BUSY)
			(void)usleep(10000);
	}
	return status;
}

static int adopt(struct scene *scene)
{
	struct ugds_st_import_adopt_opts opts = UGDS_ST_IMPORT_ADOPT_OPTS_INIT;
	int status = UGDS_ST_BUSY;

	notes[0] = '\0';
	opts.note = take_note;
	for (int i = 0; i < 200 && status == UGDS_ST_BUSY; i++) {
		status = ugst_adopt(&scene->env, loop.path, &opts, &scene->err);
		if (status == UGDS_ST_BUSY)
			(void)usleep(10000);
	}
	return status;
}

static void moved_to_another_drive(void **state)
{
	struct scene *scene = *state;
	struct ugds_st_import_volume_info info = {.struct_size = sizeof(info)};
	ugds_st_import_volume *volume;

	if (!take_loop(scene))
		skip();
	played = drive("S1", 0x11);
	assert_ok(format(scene), scene->err);
	scene_checkpoint(scene, "c", 1, 2, 1000);
	assert_ok(scene_import(scene, "m", "c"), scene->err);

	played = drive("S2", 0x22);
	scene_checkpoint(scene, "c", 50, 2, 1000);
	check_fails(scene_import(scene, "m", "c"), UGDS_ST_MISMATCH, scene->err,
	            "expected NGUID 11111111111111111111111111111111, found "
	            "22222222222222222222222222222222");
	assert_ok(adopt(scene), scene->err);
	assert_ok(scene_import(scene, "m", "c"), scene->err);
	assert_int_equal(scene->result.generation, 2);
	assert_true(scene_holds(scene, "m", "c"));

	assert_ok(ugds_st_import_list(loop.path, &volume, &scene->err),
	          scene->err);
	assert_int_equal(ugds_st_import_volume_info(volume, &info), 0);
	assert_int_equal(info.identity_known, 1);
	assert_string_equal(info.serial, "S2");
	assert_int_equal(info.nguid[0], 0x22);
	ugds_st_import_volume_free(volume);

	/* Adopting what is recorded already writes nothing. */
	assert_ok(adopt(scene), scene->err);
	assert_non_null(strstr(notes, "nothing to adopt"));
}

/* Where nothing can be asked, nothing is refused: it is said. */
static void not_checked(void **state)
{
	struct scene *scene = *state;

	if (!take_loop(scene))
		skip();
	played = drive("S1", 0x11);
	assert_ok(format(scene), scene->err);
	memset(&played, 0, sizeof(played));
	scene_checkpoint(scene, "c", 1, 2, 1000);
	scene->notes[0] = '\0';
	assert_ok(scene_import(scene, "m", "c"), scene->err);
	assert_non_null(strstr(scene->notes, "could not be checked"));
}

/* The label came over, an object did not. */
static void header_missing(void **state)
{
	struct scene *scene = *state;
	int fd;

	if (!take_loop(scene))
		skip();
	played = drive("S1", 0x11);
	assert_ok(format(scene), scene->err);
	scene_checkpoint(scene, "c", 1, 2, 1000);
	assert_ok(scene_import(scene, "m", "c"), scene->err);
	played = drive("S2", 0x22);
	/* Header of the second object, at 9 MiB plus its lead. */
	fd = open(loop.path, O_RDWR | O_CLOEXEC);
	for (int i = 0; i < 8192; i += 64)
		assert_int_equal(pwrite(fd, "Q", 1, 9 * 1048576 + i), 1);
	assert_int_equal(fsync(fd), 0);
	(void)close(fd);
	assert_int_equal(adopt(scene), UGDS_ST_CORRUPT);
	assert_non_null(strstr(scene->err.text, "object 2"));
	check_fails(scene_import(scene, "m", "c"), UGDS_ST_MISMATCH, scene->err,
	            "NGUID");
}

static void namespaces_that_will_not_do(void **state)
{
	struct scene *scene = *state;

	if (!take_loop(scene))
		skip();
	played = drive("S1", 0x11);
	played.metadata_bytes = 8;
	assert_int_equal(format(scene), UGDS_ST_UNSUPPORTED);
	assert_non_null(strstr(scene->err.text, "without metadata, found 8"));
	played = drive("S1", 0x11);
	played.capacity_nlb = 999;
	assert_int_equal(format(scene), UGDS_ST_UNSUPPORTED);
	assert_non_null(strstr(scene->err.text, "capacity of 999: it is thin"));
	/* Another namespace than 1 is taken, with a word about uGDS. */
	played = drive("S1", 0x11);
	played.identity.nsid = 2;
	assert_ok(format(scene), scene->err);
	assert_non_null(strstr(notes, "namespace 2"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(moved_to_another_drive, enter,
	                                        leave),
		cmocka_unit_test_setup_teardown(not_checked, enter, leave),
		cmocka_unit_test_setup_teardown(header_missing, enter, leave),
		cmocka_unit_test_setup_teardown(namespaces_that_will_not_do,
	                                        enter, leave),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
