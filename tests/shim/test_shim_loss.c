/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_shim_loss.c - a drive that falls silent, is given up and opened again.
 *
 * What a lost drive may still write to stays mapped for ever: exactly that,
 * and the pages of its batch. Everything else is given back, and the drive is
 * read again in the same process.
 */
#include "shim/rig.h"

#include "base/clock.h"

#define SILENCE_MS 700u

static const struct volumes_shape shape = {
	.seed = 8,
	.volume_count = 1,
	.shard_count = 1,
	.tensor_count = 30,
	.max_tensor_bytes = 1500000,
};

/* Mappings that stay for ever: those of one store, and uGDS's batch. */
static uint64_t stuck_maps;

static double seconds_since(uint64_t begin_ns)
{
	return (double)(ugst_now_ns() - begin_ns) / 1e9;
}

static ugds_st_store *open_impatient(void)
{
	struct ugds_st_open_opts opts = UGDS_ST_OPEN_OPTS_INIT;

	opts.silence_ms = SILENCE_MS;
	return rig_open(&opts);
}

/* Everything is there, staged and direct. */
static void expect_all(ugds_st_store *store)
{
	size_t count = ugds_st_count(store);
	struct ugds_st_read *reads = reading_list(store);
	struct ugds_st_error err;

	assert_ok(ugds_st_read_many(store, reads, count, NULL, &err), err);
	for (size_t i = 0; i < count; i++)
		reading_expect(rig_volumes, reads[i].tensor, reads[i].dst);
	reading_free(reads, count);
}

/* @refusal: why it cannot be closed otherwise. */
static void give_up(ugds_st_store *store, int refusal, const char *what)
{
	struct ugds_st_error err;
	uint64_t begin_ns;

	assert_fails(ugds_st_close(store, 0, &err), refusal, err);
	begin_ns = ugst_now_ns();
	assert_ok(ugds_st_close(store, UGDS_ST_CLOSE_ABANDON, &err), err);
	print_message("%s: abandoned in %.3f s\n", what,
	              seconds_since(begin_ns));
}

static void read_again(const char *what)
{
	uint64_t begin_ns = ugst_now_ns();
	ugds_st_store *store = open_impatient();

	print_message("%s: open again in %.3f s\n", what,
	              seconds_since(begin_ns));
	expect_all(store);
	reading_close(store);
	assert_shim_clean();
	print_message("%s: %llu maps stay\n", what,
	              (unsigned long long)shim_sum("live_maps"));
	assert_int_equal(shim_sum("live_maps"), stuck_maps);
}

static void lose_staged(const char *fault, const char *what)
{
	ugds_st_store *store = open_impatient();
	size_t count = ugds_st_count(store);
	struct ugds_st_read *reads = reading_list(store);
	struct ugds_st_error err;
	uint64_t begin_ns;
	double took;

	assert_int_equal(ugds_shim_ctl(0, fault), 0);
	begin_ns = ugst_now_ns();
	assert_fails(ugds_st_read_many(store, reads, count, NULL, &err),
	             UGDS_ST_DEVICE_LOST, err);
	took = seconds_since(begin_ns);
	print_message("%s: lost after %.3f s\n", what, took);
	assert_true(took > 0.69 && took < 2);
	for (size_t i = 0; i < count; i++) {
		if (reads[i].status == UGDS_ST_OK)
			reading_expect(rig_volumes, reads[i].tensor,
			               reads[i].dst);
		else
			assert_int_equal(reads[i].status, UGDS_ST_DEVICE_LOST);
	}
	/* it stays lost, at once */
	begin_ns = ugst_now_ns();
	assert_fails(ugds_st_read_many(store, reads, count, NULL, &err),
	             UGDS_ST_DEVICE_LOST, err);
	assert_true(seconds_since(begin_ns) < 0.2);
	reading_free(reads, count);
	assert_int_equal(ugds_shim_ctl(0, "clear"), 0);
	give_up(store, UGDS_ST_DEVICE_LOST, what);
}

static void dropped_completion(void **state)
{
	(void)state;
	lose_staged("fault read:5=drop", "drop");
	stuck_maps += 2; /* arena, batch */
	read_again("drop");
}

static void hanging_command(void **state)
{
	(void)state;
	lose_staged("fault read:5=hang", "hang");
	stuck_maps += 2;
	read_again("hang");
}

/* Destinations that were read directly are the drive's until it was opened
 * anew; the arena was not in use and goes back. */
static void direct_destination(void **state)
{
	ugds_st_store *store = open_impatient();
	size_t bytes = 2 << 20;
	char *memory = rig_alloc(bytes, 0);
	ugds_st_buffer *buffer;
	struct ugds_st_error err;
	struct ugds_st_read read = UGDS_ST_READ_INIT;

	(void)state;
	assert_ok(ugds_st_register(store, memory, bytes, 0, &buffer, &err),
	          err);
	read.buf = buffer;
	for (size_t i = 0; i < ugds_st_count(store); i++) {
		struct ugds_st_info info = reading_info(ugds_st_at(store, i));

		if (info.payload_bytes < 800000)
			continue;
		read.tensor = ugds_st_at(store, i);
		/* as far into a page as the payload is on the drive */
		read.dst = memory + (info.device_off + info.skew_bytes) % 4096;
		read.dst_bytes = info.payload_bytes;
	}
	assert_non_null(read.tensor);
	assert_int_equal(ugds_shim_ctl(0, "fault read:*=hang"), 0);
	assert_fails(ugds_st_read_many(store, &read, 1, NULL, &err),
	             UGDS_ST_DEVICE_LOST, err);
	assert_int_equal(ugds_shim_ctl(0, "clear"), 0);
	assert_fails(ugds_st_unregister(buffer, &err), UGDS_ST_DEVICE_LOST,
	             err);
	/* it is still registered */
	give_up(store, UGDS_ST_BUSY, "direct");
	stuck_maps += 3; /* buffer, arena (its ends), batch */
	read_again("direct");
	/* memory is never freed: uGDS has it mapped */
}

/* One store of two is closed; the other one's loss is not its own. */
static void shared_device(void **state)
{
	ugds_st_store *first = open_impatient();
	ugds_st_store *second = open_impatient();
	struct ugds_st_read *reads = reading_list(first);
	size_t count = ugds_st_count(first);
	struct ugds_st_error err;

	(void)state;
	assert_int_equal(ugds_shim_ctl(0, "fault read:5=drop"), 0);
	assert_fails(ugds_st_read_many(first, reads, count, NULL, &err),
	             UGDS_ST_DEVICE_LOST, err);
	assert_int_equal(ugds_shim_ctl(0, "clear"), 0);
	assert_fails(ugds_st_verify(second, NULL, NULL, &err),
	             UGDS_ST_DEVICE_LOST, err);
	/* as long as one of them has it, it cannot be opened anew */
	assert_ok(ugds_st_close(first, UGDS_ST_CLOSE_ABANDON, &err), err);
	assert_ok(ugds_st_close(second, UGDS_ST_CLOSE_ABANDON, &err), err);
	stuck_maps += 2;
	read_again("shared");
	reading_free(reads, count);
}

/* Somebody else resets the controller: uGDS's deletes wait for each answer. */
static void foreign_reset(void **state)
{
	(void)state;
	if (!getenv("TEST_SHIM_SLOW"))
		skip();
	lose_staged("reset", "reset");
	stuck_maps += 2;
	read_again("reset");
}

static void surprise_removal(void **state)
{
	static const char *const devices[] = {RIG_DEVICE};
	struct ugds_st_open_opts opts = UGDS_ST_OPEN_OPTS_INIT;
	ugds_st_store *store = NULL;
	struct ugds_st_error err;

	(void)state;
	if (!getenv("TEST_SHIM_SLOW"))
		skip();
	lose_staged("remove", "removal");
	opts.devices = devices;
	opts.device_count = 1;
	opts.memory = rig_cuda;
	assert_fails(ugds_st_open(rig_volumes->manifest, &opts, &store, &err),
	             UGDS_ST_NOT_FOUND, err);
	assert_non_null(strstr(err.text, RIG_DEVICE));
}

static int run(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(dropped_completion),
		cmocka_unit_test(hanging_command),
		cmocka_unit_test(direct_destination),
		cmocka_unit_test(shared_device),
		cmocka_unit_test(foreign_reset),
		cmocka_unit_test(surprise_removal), /* last: it is gone */
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

int main(void)
{
	return rig_main(&shape, run);
}
