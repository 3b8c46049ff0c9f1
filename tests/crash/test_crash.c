/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_crash.c [SEEDS] - power is lost at every operation of every command.
 *
 * After each cut: the volumes load, and every object that a label lists is
 * there, whole; the manifest is the old one or the new one, whole, and every
 * byte that it names is there, of every copy; so are those of a checkpoint that
 * nobody touched; if the command had said success, it is the new one. Then the
 * command is run again, cut again now and then, and at last succeeds; an import
 * has then copied what was missing and nothing else. So it goes also where the
 * process is killed and power is lost in the next run, which has seen what was
 * not durable.
 */
#include "support/check.h"

#include <sys/stat.h>
#include <unistd.h>

#include "base/units.h"
#include "crash/sim.h"
#include "import/copy.h"
#include "import/import.h"
#include "import/volume.h"
#include "support/random.h"
#include "support/scene.h"

#define VOLUME_BYTES (24 * UGST_MIB)
#define SHARDS 3u

/* Each seed is some 1,500 runs. Sanitizers make them ten times slower. */
#ifdef __SANITIZE_ADDRESS__
static unsigned seeds = 1;
#else
static unsigned seeds = 3;
#endif
static unsigned long runs;

enum command {
	COMMAND_IMPORT,
	COMMAND_PRUNE,
	COMMAND_REMOVE,
	COMMAND_FORMAT
};

static struct scenario {
	const char *name;
	enum command command;
	size_t volumes;
	unsigned imports; /* before: 0 nothing, 1 "c", 2 "c" then "d" */
	bool cut; /* and then an import of "e" that was cut before its end */
	uint32_t copies_before; /* of each shard, by those; 0: 1 */
	uint32_t copies;        /* by the command; likewise */
} scenarios[] = {
	{"first import", COMMAND_IMPORT, 1, 0, false, 0, 0},
	{"first import, two volumes", COMMAND_IMPORT, 2, 0, false, 0, 0},
	{"new generation", COMMAND_IMPORT, 1, 1, false, 0, 0},
	{"new generation, two volumes", COMMAND_IMPORT, 2, 1, false, 0, 0},
	{"first import after another was cut", COMMAND_IMPORT, 1, 0, true, 0,
         0},
	{"new generation after another was cut", COMMAND_IMPORT, 1, 1, true, 0,
         0},
	{"prune after an import was cut", COMMAND_PRUNE, 1, 2, true, 0, 0},
	{"prune", COMMAND_PRUNE, 1, 2, false, 0, 0},
	{"prune, two volumes", COMMAND_PRUNE, 2, 2, false, 0, 0},
	{"remove", COMMAND_REMOVE, 1, 1, false, 0, 0},
	{"remove, two volumes", COMMAND_REMOVE, 2, 1, false, 0, 0},
	{"format anew", COMMAND_FORMAT, 1, 0, false, 0, 0},
	{"first import, two copies", COMMAND_IMPORT, 2, 0, false, 0, 2},
	{"new generation, two copies", COMMAND_IMPORT, 2, 1, false, 2, 2},
	{"a second copy", COMMAND_IMPORT, 2, 1, false, 1, 2},
	{"one copy less", COMMAND_IMPORT, 2, 1, false, 2, 1},
	{"two copies after another was cut", COMMAND_IMPORT, 2, 1, true, 2, 2},
	{"prune, two copies", COMMAND_PRUNE, 2, 2, false, 2, 2},
	{"remove, two copies", COMMAND_REMOVE, 2, 1, false, 2, 2},
};

struct state {
	struct scene *scene;
	const struct scenario *scenario;
	struct ugst_uuid volume_uuid; /* before */
	struct ugst_uuid checkpoint_uuid;
};

/* ------------------------------------------------------------- commands */

static int drop(struct state *state, bool remove, bool by_uuid)
{
	struct ugds_st_import_drop_opts opts = UGDS_ST_IMPORT_DROP_OPTS_INIT;
	struct scene *scene = state->scene;

	opts.devices = scene->devices;
	opts.device_count = scene->device_count;
	if (by_uuid)
		memcpy(opts.checkpoint_uuid, state->checkpoint_uuid.bytes, 16);
	else
		opts.manifest = scene_path(scene, "m");
	return ugst_drop(&scene->env, remove, &opts, NULL, &scene->err);
}

static int format(struct state *state)
{
	struct ugds_st_import_format_opts opts =
		UGDS_ST_IMPORT_FORMAT_OPTS_INIT;

	opts.flags = UGDS_ST_IMPORT_FORCE;
	memcpy(opts.replace_uuid, state->volume_uuid.bytes, 16);
	return ugst_format(&state->scene->env, state->scene->devices[0], &opts,
	                   NULL, &state->scene->err);
}

static int run_command(struct state *state)
{
	switch (state->scenario->command) {
	case COMMAND_IMPORT:
		return scene_import(state->scene, "m", "d");
	case COMMAND_PRUNE:
		return drop(state, false, false);
	case COMMAND_REMOVE:
		return drop(state, true, false);
	default:
		return format(state);
	}
}

/* Once more, after a cut: what a person would type. */
static int run_again(struct state *state)
{
	struct scene *scene = state->scene;
	int status;

	if (state->scenario->command == COMMAND_REMOVE &&
	    access(scene_path(scene, "m"), F_OK) != 0) {
		status = drop(state, true, true);
		return status == UGDS_ST_NOT_FOUND ? UGDS_ST_OK : status;
	}
	return run_command(state);
}

/* --------------------------------------------------------------- checks */

static struct ugst_volume *load(struct state *state, const char *path)
{
	struct ugst_volume *volume;
	struct ugds_st_error err;

	assert_ok(ugst_volume_open(&state->scene->env, path, false, &volume,
	                           &err),
	          err);
	assert_ok(ugst_volume_load(volume, &err), err);
	return volume;
}

/* The volume's UUID; every object of its label has the bytes it should. */
static struct ugst_uuid load_uuid(struct state *state, size_t device)
{
	struct ugst_volume *volume = load(state, state->scene->devices[device]);
	struct ugst_uuid uuid = volume->label.catalog.volume.uuid;
	struct ugds_st_error err;

	for (size_t i = 0; i < volume->label.catalog.object_count; i++)
		assert_ok(ugst_verify_object(&state->scene->env, volume->dev,
		                             &volume->label.catalog.objects[i],
		                             &err),
		          err);
	ugst_volume_close(volume);
	return uuid;
}

static void check_copy(struct state *state,
                       const struct ugst_manifest *document,
                       const struct ugst_manifest_copy *copy)
{
	const struct ugst_manifest_volume *known =
		&document->volumes[copy->volume];
	struct ugst_volume *volume = load(state, known->path);
	const struct ugst_object *object =
		ugst_catalog_object(&volume->label.catalog, copy->object_id);

	assert_non_null(object);
	assert_int_equal(object->base_lba, copy->base_lba);
	assert_true(volume->label.sequence >= known->label_sequence);
	ugst_volume_close(volume);
}

/* Every object that a manifest names is in the catalogs, at that place. */
static void check_listed(struct state *state, const char *manifest)
{
	struct ugst_manifest document =
		scene_manifest(scene_path(state->scene, manifest));

	for (size_t i = 0; i < document.shard_count; i++)
		for (size_t k = 0; k < document.shards[i].copy_count; k++)
			check_copy(state, &document,
			           &document.shards[i].copies[k]);
	ugst_manifest_free(&document);
}

/* Volumes on which a record lists an object with these bytes. */
static size_t copies_there(struct state *state, const struct ugst_hash *hash)
{
	size_t count = 0;

	for (size_t v = 0; v < state->scenario->volumes; v++) {
		struct ugst_volume *volume =
			load(state, state->scene->devices[v]);
		const struct ugst_catalog *catalog = &volume->label.catalog;
		bool found = false;

		for (size_t i = 0; i < catalog->record_count; i++)
			for (size_t k = 0; k < catalog->object_count; k++)
				found |= ugst_record_lists(
						 &catalog->records[i],
						 catalog->objects[k].id) &&
				         ugst_hash_equal(
						 &catalog->objects[k].hash,
						 hash);
		count += found;
		ugst_volume_close(volume);
	}
	return count;
}

/* What an import of "d" still has to copy. */
static size_t copies_missing(struct state *state)
{
	struct scene *scene = state->scene;
	const char *folder = scene_path(scene, "d");
	size_t wanted = ugst_max(state->scenario->copies, 1);
	size_t missing = 0;

	for (unsigned i = 0; i < SHARDS; i++) {
		size_t bytes;
		char *shard = scene_slurp(
			scene_shard_path(scene, folder, i, SHARDS), &bytes);
		struct ugst_hash hash = ugst_hash(shard, bytes);

		missing +=
			wanted - ugst_min(copies_there(state, &hash), wanted);
		free(shard);
	}
	return missing;
}

/* The command once more, without a fault: it does what is left to do, and no
 * more. */
static void run_to_end(struct state *state)
{
	bool import = state->scenario->command == COMMAND_IMPORT;
	size_t missing = import ? copies_missing(state) : 0;

	assert_ok(run_again(state), state->scene->err);
	if (import)
		assert_int_equal(state->scene->result.copied_count, missing);
}

/* Generation of the manifest; 0: there is none. */
static uint64_t published(struct state *state)
{
	struct ugst_manifest document;
	uint64_t generation;

	if (access(scene_path(state->scene, "m"), F_OK) != 0)
		return 0;
	document = scene_manifest(scene_path(state->scene, "m"));
	generation = document.generation;
	ugst_manifest_free(&document);
	return generation;
}

/* The state after a cut, where success says that the command had succeeded. */
static void check_state(struct state *state, bool success)
{
	const struct scenario *scenario = state->scenario;
	uint64_t generation = published(state);
	uint64_t old = scenario->imports;
	bool done = false;

	sim_store();
	for (size_t i = 0; i < scenario->volumes; i++)
		(void)load_uuid(state, i);
	switch (scenario->command) {
	case COMMAND_IMPORT:
		assert_true(generation == old || generation == old + 1);
		done = generation == old + 1;
		break;
	case COMMAND_PRUNE:
		assert_int_equal(generation, old);
		done = true;
		break;
	case COMMAND_REMOVE:
		assert_true(generation == old || generation == 0);
		done = generation == 0;
		break;
	default: {
		struct ugst_uuid uuid = load_uuid(state, 0);

		done = !ugst_uuid_equal(&uuid, &state->volume_uuid);
		break;
	}
	}
	assert_true(done || !success);
	if (generation) {
		check_listed(state, "m");
		assert_true(scene_holds(
			state->scene, "m",
			done && scenario->command != COMMAND_REMOVE ? "d"
								    : "c"));
	}
	if (scenario->command != COMMAND_FORMAT) {
		check_listed(state, "other/m");
		assert_true(scene_holds(state->scene, "other/m", "o"));
	}
}

/* After success at last. */
static void check_end(struct state *state)
{
	const struct scenario *scenario = state->scenario;

	check_state(state, true);
	if (scenario->command == COMMAND_REMOVE)
		assert_int_equal(scene_objects(state->scene), 2);
	if (scenario->command == COMMAND_PRUNE)
		assert_int_equal(scene_records(state->scene, 1) +
		                         scene_records(state->scene, 0),
		                 2 * scenario->volumes);
	if (scenario->command == COMMAND_IMPORT)
		assert_int_equal(scene_records(state->scene, 0), 0);
}

/* ---------------------------------------------------------------- sweep */

static void one_run(struct state *state, enum sim_fault fault, unsigned long at,
                    uint64_t seed)
{
	uint64_t random = seed * 77 + at + 1;
	int status;

	runs++;
	sim_reset();
	sim_arm(fault, at, seed);
	status = run_command(state);
	sim_lose_power();
	sim_arm(SIM_NONE, 0, seed);
	check_state(state, status == UGDS_ST_OK);
	/* A second and third cut, anywhere. */
	for (int i = 0; i < 2 && random_below(&random, 3) == 0; i++) {
		sim_arm(SIM_CUT, 1 + random_below(&random, 40), seed + 1);
		status = run_again(state);
		sim_lose_power();
		sim_arm(SIM_NONE, 0, seed);
		check_state(state, status == UGDS_ST_OK);
	}
	if (state->scenario->command == COMMAND_FORMAT) {
		struct ugst_uuid uuid = load_uuid(state, 0);

		if (!ugst_uuid_equal(&uuid, &state->volume_uuid))
			return;
	}
	run_to_end(state);
	sim_lose_power();
	check_end(state);
}

/* Killed at one operation, and power lost at another of the next run. */
static void one_kill(struct state *state, unsigned long at, unsigned long then,
                     uint64_t seed)
{
	int status;

	runs++;
	sim_reset();
	sim_arm(SIM_FAIL_ON, at, seed);
	(void)run_command(state);
	sim_arm(SIM_CUT, then, seed);
	status = run_again(state);
	sim_lose_power();
	sim_arm(SIM_NONE, 0, seed);
	check_state(state, status == UGDS_ST_OK);
	if (state->scenario->command == COMMAND_FORMAT)
		return;
	run_to_end(state);
	check_end(state);
}

/* Leaves a pending record with two of three objects, or with one on each of
 * two volumes. */
static void cut_import(struct state *state)
{
	struct scene *scene = state->scene;
	struct ugst_import_env env = scene->env;

	scene_checkpoint(scene, "e", 90, SHARDS, 30000);
	sim_begin(scene->devices, state->scenario->volumes, scene->dir);
	sim_attach(&scene->env);
	sim_arm(SIM_CUT, 18, 1);
	assert_int_equal(scene_import(scene, "m", "e"), UGDS_ST_IO);
	sim_lose_power();
	sim_store();
	sim_end();
	scene->env = env;
	assert_int_equal(scene_records(scene, 0), state->scenario->volumes);
}

static void prepare(struct state *state)
{
	struct scene *scene = state->scene;
	const struct scenario *scenario = state->scenario;
	const char *names[] = {"v", "w"};
	struct ugds_st_error err;

	(void)err;
	for (size_t i = 0; i < scenario->volumes; i++)
		scene_volume(scene, names[i], VOLUME_BYTES);
	assert_int_equal(mkdir(scene_path(scene, "other"), 0777), 0);
	scene_checkpoint(scene, "o", 500, 2, 20000);
	scene_checkpoint(scene, "c", 1, SHARDS, 30000);
	scene_checkpoint(scene, "d", 1, SHARDS, 30000);
	/* Same header, other bytes; and a shard of another size. */
	scene_shard(scene,
	            scene_shard_path(scene, scene_path(scene, "d"), 1, SHARDS),
	            1002, 17, 31000);
	scene_shard(scene,
	            scene_shard_path(scene, scene_path(scene, "d"), 2, SHARDS),
	            1003, 24, 32000);
	if (scenario->command != COMMAND_FORMAT)
		assert_ok(scene_import(scene, "other/m", "o"), scene->err);
	scene->copies = scenario->copies_before;
	if (scenario->imports > 0)
		assert_ok(scene_import(scene, "m", "c"), scene->err);
	if (scenario->imports > 1)
		assert_ok(scene_import(scene, "m", "d"), scene->err);
	if (scenario->cut)
		cut_import(state);
	if (scenario->imports)
		memcpy(state->checkpoint_uuid.bytes,
		       scene->result.checkpoint_uuid, 16);
	scene->copies = scenario->copies;
}

static void sweep(const struct scenario *scenario)
{
	static const enum sim_fault faults[] = {SIM_CUT, SIM_FAIL,
	                                        SIM_FAIL_LANDED, SIM_FAIL_ON};
	struct state state = {.scene = scene_new(), .scenario = scenario};
	unsigned long operations;

	prepare(&state);
	sim_begin(state.scene->devices, scenario->volumes, state.scene->dir);
	sim_attach(&state.scene->env);
	state.volume_uuid = load_uuid(&state, 0);
	assert_ok(run_command(&state), state.scene->err);
	operations = sim_operations();
	for (size_t f = 0; f < UGST_COUNT(faults); f++) {
		/* One past the last: a cut right after success. */
		for (unsigned long at = 1; at <= operations + 1; at++) {
			for (uint64_t seed = 0;
			     seed < (faults[f] == SIM_CUT ? seeds : 1);
			     seed++) {
				(void)snprintf(state.scene->notes, 64,
				               "%s: fault %d at %lu, seed %d",
				               scenario->name, (int)f, at,
				               (int)seed);
				one_run(&state, faults[f], at, seed);
			}
		}
	}
	for (unsigned long at = 1; at <= operations; at++)
		for (unsigned long then = 1; then <= 5; then++)
			for (uint64_t seed = 0; seed < seeds; seed++)
				one_kill(&state, at, then, seed);
	sim_end();
	scene_free(state.scene);
	print_message("%s: %lu operations\n", scenario->name, operations);
}

static void all_scenarios(void **state)
{
	(void)state;
	for (size_t i = 0; i < UGST_COUNT(scenarios); i++)
		sweep(&scenarios[i]);
	print_message("%lu runs\n", runs);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_scenarios),
	};

	/* Thousands of runs: no test of the machine's own disk. */
	if (access("/dev/shm", W_OK) == 0)
		(void)setenv("TMPDIR", "/dev/shm", 0);
	if (argc > 1)
		seeds = (unsigned)strtoul(argv[1], NULL, 10);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
