/* SPDX-License-Identifier: BSD-3-Clause */
/* test_identity_sysfs.c - attributes as kernels print them, in a tree of our
 * own. */
#include "support/check.h"

#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "devices/identity_sysfs.h"
#include "support/scene.h"

static int enter(void **state)
{
	*state = scene_new();
	return 0;
}

static int leave(void **state)
{
	scene_free(*state);
	return 0;
}

static void put(struct scene *scene, const char *name, const char *text)
{
	scene_write(scene_path(scene, name), text, strlen(text));
}

/* The folders of a namespace, 259:0, and its partition, 259:1. */
static void make_tree(struct scene *scene)
{
	static const char *const folders[] = {"dev", "dev/block", "ns",
	                                      "ns/device", "ns/p1"};

	for (size_t i = 0; i < UGST_COUNT(folders); i++)
		assert_int_equal(mkdir(scene_path(scene, folders[i]), 0777), 0);
	assert_int_equal(
		symlink("../../ns", scene_path(scene, "dev/block/259:0")), 0);
	assert_int_equal(
		symlink("../../ns/p1", scene_path(scene, "dev/block/259:1")),
		0);
	put(scene, "ns/p1/partition", "1\n");
	put(scene, "ns/nsid", "1\n");
	put(scene, "ns/device/serial", "S4EVNX0R100000      \n");
	put(scene, "ns/device/model", "A drive of 1 TB                 \n");
	put(scene, "ns/eui", "00 25 38 5c 01 91 2f 8a \n");
	put(scene, "ns/uuid", "919108f7-52d1-4320-9bac-f847db4148a8\n");
	put(scene, "ns/nguid", "00253800-0000-0000-0000-00385c01912f\n");
}

static void everything(void **state)
{
	struct scene *scene = *state;

	make_tree(scene);
	for (unsigned minor = 0; minor < 2; minor++) {
		struct ugst_identity id;

		ugst_identity_sysfs(scene->dir, makedev(259, minor), &id);
		assert_true(id.known);
		assert_int_equal(id.nsid, 1);
		assert_string_equal(id.serial, "S4EVNX0R100000");
		assert_string_equal(id.model, "A drive of 1 TB");
		assert_memory_equal(id.eui64,
		                    "\x00\x25\x38\x5c\x01\x91\x2f\x8a", 8);
		assert_int_equal(id.nguid[1], 0x25);
		assert_int_equal(id.nguid[15], 0x2f);
		assert_int_equal(id.uuid.bytes[0], 0x91);
		assert_int_equal(id.uuid.bytes[15], 0xa8);
	}
}

/* Kernels print the NGUID as UUID where there is none. */
static void uuid_that_is_nguid(void **state)
{
	struct scene *scene = *state;
	const struct ugst_uuid nil = {{0}};
	struct ugst_identity id;

	make_tree(scene);
	put(scene, "ns/uuid", "00253800-0000-0000-0000-00385c01912f\n");
	ugst_identity_sysfs(scene->dir, makedev(259, 0), &id);
	assert_true(ugst_uuid_equal(&id.uuid, &nil));
	assert_int_equal(id.nguid[1], 0x25);
}

static void odd_attributes(void **state)
{
	struct scene *scene = *state;
	struct ugst_identity id;
	uint8_t zeros[16] = {0};

	make_tree(scene);
	put(scene, "ns/eui", "00 25 38 5c 01 91 2f\n");
	put(scene, "ns/nguid", "00253800-0000-0000-0000-00385c01912fff\n");
	put(scene, "ns/uuid", "none\n");
	put(scene, "ns/device/serial", "a serial of far too many bytes\n");
	put(scene, "ns/device/model", "bad \x01 byte\n");
	ugst_identity_sysfs(scene->dir, makedev(259, 0), &id);
	assert_true(id.known);
	assert_memory_equal(id.eui64, zeros, 8);
	assert_memory_equal(id.nguid, zeros, 16);
	assert_memory_equal(id.uuid.bytes, zeros, 16);
	assert_string_equal(id.serial, "");
	assert_string_equal(id.model, "");
}

/* No NVMe namespace: nothing is known. */
static void others(void **state)
{
	static const char *const bad[] = {"", "0\n", "x\n", "4294967295\n"};
	struct scene *scene = *state;
	struct ugst_identity id;

	make_tree(scene);
	ugst_identity_sysfs(scene->dir, makedev(7, 0), &id);
	assert_false(id.known);
	for (size_t i = 0; i < UGST_COUNT(bad); i++) {
		put(scene, "ns/nsid", bad[i]);
		ugst_identity_sysfs(scene->dir, makedev(259, 0), &id);
		assert_false(id.known);
	}
	assert_int_equal(unlink(scene_path(scene, "ns/nsid")), 0);
	ugst_identity_sysfs(scene->dir, makedev(259, 0), &id);
	assert_false(id.known);
	assert_string_equal(id.serial, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(everything, enter, leave),
		cmocka_unit_test_setup_teardown(uuid_that_is_nguid, enter,
	                                        leave),
		cmocka_unit_test_setup_teardown(odd_attributes, enter, leave),
		cmocka_unit_test_setup_teardown(others, enter, leave),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
