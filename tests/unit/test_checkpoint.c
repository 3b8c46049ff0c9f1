/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_checkpoint.c - which files a path stands for, rule by rule, each in a
 * directory made for it.
 */
#include "support/test.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/le.h"
#include "support/pack.h"
#include "verbs/checkpoint.h"
#include "verbs/resolve.h"
#include "verbs/source.h"

static char dir[64];

static int set_up(void **state)
{
	(void)state;
	(void)snprintf(dir, sizeof(dir), "/tmp/ugst_checkpoint.XXXXXX");
	return mkdtemp(dir) && chdir(dir) == 0 ? 0 : -1;
}

static int tear_down(void **state)
{
	(void)state;
	if (chdir("/"))
		return -1;
	pack_remove(dir);
	return 0;
}

static void put(const char *path, const char *text, size_t bytes)
{
	FILE *file = fopen(path, "wb");

	assert_non_null(file);
	assert_int_equal(fwrite(text, 1, bytes, file), bytes);
	assert_int_equal(fclose(file), 0);
}

/* A shard with tensors of one byte each; names is a string of letters. */
static void put_shard(const char *path, const char *names)
{
	char file[2048];
	size_t used = 8;

	file[used++] = '{';
	for (size_t i = 0; names[i]; i++)
		used += (size_t)snprintf(file + used, sizeof(file) - used,
		                         "%s\"%c\":[\"U8\",[1],[%zu,%zu]]",
		                         i ? "," : "", names[i], i, i + 1);
	file[used++] = '}';
	ugst_put_le64(file, used - 8);
	memset(file + used, 'd', strlen(names));
	put(path, file, used + strlen(names));
}

static void put_index(const char *path, const char *weight_map)
{
	char text[2048];
	int bytes = snprintf(text, sizeof(text), "{\"weight_map\":{%s}}",
	                     weight_map);

	put(path, text, (size_t)bytes);
}

/* Names of the shards that were taken, with what was left out of each. */
static void takes(const char *path, const char *model, const char *shards)
{
	struct ugst_checkpoint checkpoint;
	struct ugds_st_error err = {0};
	char text[512] = "";

	assert_ok(ugst_checkpoint_open(path, &checkpoint, &err), err);
	for (size_t i = 0; i < checkpoint.shard_count; i++) {
		const struct ugst_source_shard *shard = &checkpoint.shards[i];
		size_t used = strlen(text);

		(void)snprintf(text + used, sizeof(text) - used, "%s%s%.*s",
		               i ? " " : "", shard->name,
		               (int)shard->left_out_count, "---------");
	}
	assert_string_equal(text, shards);
	if (model)
		assert_string_equal(checkpoint.model, model);
	ugst_checkpoint_free(&checkpoint);
}

static void refuses(const char *path, int wanted, const char *says)
{
	struct ugst_checkpoint checkpoint = {0};
	struct ugds_st_error err;

	assert_fails(ugst_checkpoint_open(path, &checkpoint, &err), wanted,
	             err);
	assert_null(checkpoint.shards);
	assert_null(strchr(err.text, '\n'));
	if (!strstr(err.text, says))
		fail_msg("wanted \"%s\" in: %s", says, err.text);
}

static void test_single_file(void **state)
{
	(void)state;
	put_shard("a.safetensors", "xy");
	put_shard("no_ending", "xy");
	takes("a.safetensors", "a", "a.safetensors");
	takes("./a.safetensors", "a", "a.safetensors");
	takes("no_ending", "no_ending", "no_ending");
	takes(".", strrchr(dir, '/') + 1, "a.safetensors");
	refuses("b.safetensors", UGDS_ST_NOT_FOUND, "b.safetensors");
	refuses("", UGDS_ST_NOT_FOUND, "empty");
	refuses("a.safetensors/x", UGDS_ST_NOT_FOUND, "a.safetensors/x");
	put("broken.safetensors", "\2\0\0\0\0\0\0\0{x", 10);
	refuses("broken.safetensors", UGDS_ST_FORMAT,
	        "broken.safetensors: bad header at byte 1");
}

static void test_directory(void **state)
{
	(void)state;
	assert_int_equal(mkdir("d", 0777), 0);
	refuses("d", UGDS_ST_NOT_FOUND, "no file in it ends in .safetensors");
	put("d/config.json", "{}", 2);
	put("d/.model.safetensors", "x", 1);
	put("d/model.safetensors.incomplete", "x", 1);
	refuses("d", UGDS_ST_NOT_FOUND, "no file in it ends in .safetensors");
	put_shard("d/any.safetensors", "a");
	takes("d", "d", "any.safetensors");
	takes("d/", "d", "any.safetensors");
	put_shard("d/other.safetensors", "a");
	refuses("d", UGDS_ST_FORMAT,
	        "d: expected one checkpoint, found 2 candidates "
	        "(any.safetensors, other.safetensors): name one");
	/* The default name is no guess. */
	put_shard("d/model.safetensors", "ab");
	put_shard("d/model.fp16.safetensors", "ab");
	takes("d", "d", "model.safetensors");
	takes("d/model.fp16.safetensors", "model.fp16",
	      "model.fp16.safetensors");
}

static void test_numbered(void **state)
{
	(void)state;
	assert_int_equal(mkdir("d", 0777), 0);
	put_shard("d/m-00001-of-00003.safetensors", "a");
	refuses("d", UGDS_ST_NOT_FOUND,
	        "d: expected 3 shards, found 1, missing: "
	        "m-00002-of-00003.safetensors to "
	        "m-00003-of-00003.safetensors");
	put_shard("d/m-00003-of-00003.safetensors", "c");
	refuses("d", UGDS_ST_NOT_FOUND, "missing: m-00002-of-00003");
	put_shard("d/m-00002-of-00003.safetensors", "b");
	takes("d", "d",
	      "m-00001-of-00003.safetensors m-00002-of-00003.safetensors "
	      "m-00003-of-00003.safetensors");
	/* One shard alone may be looked at by its name. */
	takes("d/m-00002-of-00003.safetensors", NULL,
	      "m-00002-of-00003.safetensors");
	/* Without an index nothing says which of twins counts. */
	put_shard("d/m-00003-of-00003.safetensors", "ca");
	refuses("d", UGDS_ST_FORMAT,
	        "tensor \"a\" is in shard m-00001-of-00003.safetensors and in "
	        "shard m-00003-of-00003.safetensors");
	/* From zero is a numbering, too; a total that is passed is not. */
	put_shard("d/m-00003-of-00003.safetensors", "c");
	put_shard("d/m-00000-of-00003.safetensors", "z");
	refuses("d", UGDS_ST_FORMAT, "d: expected 3 shards numbered from 0");
	assert_int_equal(unlink("d/m-00003-of-00003.safetensors"), 0);
	takes("d", NULL,
	      "m-00000-of-00003.safetensors m-00001-of-00003.safetensors "
	      "m-00002-of-00003.safetensors");
	/* Two sets are two candidates. */
	put_shard("d/n-00001-of-00001.safetensors", "a");
	refuses("d", UGDS_ST_FORMAT, "4 candidates");
	/* Numbered shards beside a single file of their name. */
	assert_int_equal(mkdir("e", 0777), 0);
	put_shard("e/model.safetensors", "a");
	put_shard("e/model-00001-of-00001.safetensors", "b");
	refuses("e", UGDS_ST_FORMAT, "2 candidates");
}

static void test_index_choice(void **state)
{
	(void)state;
	assert_int_equal(mkdir("d", 0777), 0);
	put_shard("d/one.safetensors", "ab");
	put_shard("d/two.safetensors", "cd");
	put_index("d/model.safetensors.index.json",
	          "\"a\":\"one.safetensors\",\"b\":\"one.safetensors\","
	          "\"c\":\"two.safetensors\",\"d\":\"two.safetensors\"");
	takes("d", "d", "one.safetensors two.safetensors");
	takes("d/model.safetensors.index.json", "d",
	      "one.safetensors two.safetensors");
	/* What the index does not list is not part of the checkpoint. */
	put_shard("d/consolidated.safetensors", "abcd");
	takes("d", "d", "one.safetensors two.safetensors");
	/* Nor is a variant, unless it is named. */
	put_index("d/model.fp16.safetensors.index.json",
	          "\"a\":\"one.safetensors\",\"b\":\"one.safetensors\"");
	takes("d", "d", "one.safetensors two.safetensors");
	takes("d/model.fp16.safetensors.index.json", "d", "one.safetensors");
	/* Both default names: which one is meant? */
	put_shard("d/model.safetensors", "abcd");
	refuses("d", UGDS_ST_FORMAT,
	        "2 candidates (model.safetensors.index.json, "
	        "model.safetensors)");
	takes("d/model.safetensors", "model", "model.safetensors");
	takes("d/model.safetensors.index.json", "d",
	      "one.safetensors two.safetensors");
	/* No question where the index lists it. */
	put_index("d/model.safetensors.index.json",
	          "\"a\":\"model.safetensors\"");
	takes("d", "d", "model.safetensors---");
	/* Other indexes: one is taken, of two none. */
	assert_int_equal(unlink("d/model.safetensors.index.json"), 0);
	assert_int_equal(unlink("d/model.safetensors"), 0);
	takes("d", "d", "one.safetensors");
	put_index("d/model.fp8.safetensors.index.json",
	          "\"a\":\"one.safetensors\"");
	refuses("d", UGDS_ST_FORMAT,
	        "2 candidates (model.fp16.safetensors.index.json, "
	        "model.fp8.safetensors.index.json)");
}

static void test_map(void **state)
{
	(void)state;
	put_shard("one", "ab");
	put_shard("two", "bc");
	/* An overlay: b counts in two, and is left out of one. */
	put_index("i.json", "\"a\":\"one\",\"b\":\"two\",\"c\":\"two\"");
	takes("i.json", NULL, "one- two");
	/* An allow-list: c is not part of it. */
	put_index("i.json", "\"a\":\"one\",\"b\":\"two\"");
	takes("i.json", NULL, "one- two-");
	put_index("i.json", "\"a\":\"one\",\"x\":\"one\",\"y\":\"two\"");
	refuses("i.json", UGDS_ST_FORMAT,
	        "the index maps tensor \"x\" to shard one, which lacks it (2 "
	        "of 3 tensors");
	put_index("i.json", "\"a\":\"one\",\"c\":\"one\",\"b\":\"two\"");
	refuses("i.json", UGDS_ST_FORMAT,
	        "the index maps tensor \"c\" to shard one, which lacks it; "
	        "shard two has it (1 of 3 tensors");
}

static void test_shard_paths(void **state)
{
	(void)state;
	assert_int_equal(mkdir("m", 0777), 0);
	assert_int_equal(mkdir("m/sub", 0777), 0);
	assert_int_equal(mkdir("blobs", 0777), 0);
	put_shard("m/sub/a.safetensors", "a");
	put_shard("blobs/b", "b");
	assert_int_equal(symlink("../blobs/b", "m/b.safetensors"), 0);
	put_index("m/model.safetensors.index.json",
	          "\"a\":\"sub/a.safetensors\",\"b\":\"b.safetensors\"");
	takes("m", "m", "b.safetensors sub/a.safetensors");
	/* The name is checked, not where a link leads; a link that leads
	 * nowhere, or round, is a shard that is missing. */
	assert_int_equal(unlink("blobs/b"), 0);
	refuses("m", UGDS_ST_NOT_FOUND,
	        "model.safetensors.index.json lists 2 shards, 1 of them "
	        "missing: b.safetensors (the first is a link to ../blobs/b");
	assert_int_equal(symlink("b", "blobs/b"), 0);
	refuses("m", UGDS_ST_NOT_FOUND, "1 of them missing: b.safetensors");
	put_index("m/model.safetensors.index.json",
	          "\"a\":\"x/../sub/a.safetensors\"");
	refuses("m", UGDS_ST_FORMAT, "a path with \"..\"");
}

/* All that are missing are named, runs of numbers in short. */
static void test_all_missing(void **state)
{
	char map[16384] = "";
	size_t used = 0;
	char text[16500];

	(void)state;
	for (int i = 1; i <= 163; i++)
		used += (size_t)sprintf(
			map + used,
			"%s\"t%d\":\"model-%05d-of-00163.safetensors\"",
			i > 1 ? "," : "", i, i);
	put("i.json", text,
	    (size_t)sprintf(text, "{\"weight_map\":{%s}}", map));
	put_shard("model-00002-of-00163.safetensors", "a");
	put_shard("model-00100-of-00163.safetensors", "a");
	refuses("i.json", UGDS_ST_NOT_FOUND,
	        "i.json lists 163 shards, 161 of them missing: "
	        "model-00001-of-00163.safetensors, "
	        "model-00003-of-00163.safetensors to "
	        "model-00099-of-00163.safetensors, "
	        "model-00101-of-00163.safetensors to "
	        "model-00163-of-00163.safetensors");
}

static void test_long_list(void **state)
{
	char *names[] = {(char[]){"aaaaaaaaaaaaaaaaaaaa"},
	                 (char[]){"bbbbbbbbbbbbbbbbbbbb"},
	                 (char[]){"cccccccccccccccccccc"},
	                 (char[]){"dddddddddddddddddddd"}};
	char text[80];

	(void)state;
	assert_string_equal(ugst_list_names(names, 4, text, sizeof(text)),
	                    "aaaaaaaaaaaaaaaaaaaa, bbbbbbbbbbbbbbbbbbbb and 2 "
	                    "more");
	assert_string_equal(ugst_list_names(names, 2, text, sizeof(text)),
	                    "aaaaaaaaaaaaaaaaaaaa, bbbbbbbbbbbbbbbbbbbb");
	assert_string_equal(ugst_list_names(names, 0, text, sizeof(text)), "");
}

/* Nothing that is no regular file is opened: a FIFO would hang. */
static void test_special_files(void **state)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	(void)state;
	assert_int_equal(mkfifo("fifo.safetensors", 0666), 0);
	refuses("fifo.safetensors", UGDS_ST_FORMAT,
	        "fifo.safetensors: expected a regular file, found a FIFO");
	refuses(".", UGDS_ST_FORMAT, "found a FIFO");
	put_index("i.json", "\"a\":\"fifo.safetensors\"");
	refuses("i.json", UGDS_ST_FORMAT, "found a FIFO");
	assert_int_equal(mkfifo("fifo.json", 0666), 0);
	refuses("fifo.json", UGDS_ST_FORMAT, "found a FIFO");
	put_index("i.json", "\"a\":\"d\"");
	assert_int_equal(mkdir("d", 0777), 0);
	refuses("i.json", UGDS_ST_FORMAT,
	        "d: expected a regular file, found "
	        "a directory");
	refuses("/dev/zero", UGDS_ST_FORMAT, "found a character device");
	(void)snprintf(address.sun_path, sizeof(address.sun_path), "sock");
	assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)),
	                 0);
	refuses("sock", UGDS_ST_FORMAT, "found a socket");
	assert_int_equal(close(fd), 0);
}

static void test_model_names(void **state)
{
	static const char *const parts[] = {"models--org--my-name",
	                                    "models--org--my-name/snapshots",
	                                    "models--org--my-name/snapshots/r"};

	(void)state;
	for (size_t i = 0; i < UGST_COUNT(parts); i++)
		assert_int_equal(mkdir(parts[i], 0777), 0);
	put_shard("models--org--my-name/snapshots/r/model.safetensors", "a");
	takes("models--org--my-name/snapshots/r", "org/my-name",
	      "model.safetensors");
	takes("models--org--my-name/snapshots/r/model.safetensors",
	      "org/my-name", "model.safetensors");
	assert_int_equal(symlink(parts[2], "link"), 0);
	takes("link", "org/my-name", "model.safetensors");
	assert_int_equal(mkdir("plain", 0777), 0);
	put_shard("plain/model.safetensors", "a");
	takes("plain", "plain", "model.safetensors");
	takes("plain/../plain/.", "plain", "model.safetensors");
	assert_int_equal(chdir("plain"), 0);
	takes(".", "plain", "model.safetensors");
	takes("model.safetensors", "model", "model.safetensors");
	assert_int_equal(chdir(".."), 0);
	assert_int_equal(rename("plain", "a\x1b\xff\"b"), 0);
	takes("a\x1b\xff\"b", "a___b", "model.safetensors");
}

static void test_stamps(void **state)
{
	struct ugst_file_stamp before;
	struct ugst_file_stamp after;
	struct ugds_st_error err = {0};
	char bytes[16];
	int fd = -1;

	(void)state;
	put("file", "0123456789", 10);
	assert_ok(ugst_source_open("file", &fd, &before, &err), err);
	assert_int_equal(before.bytes, 10);
	assert_true(ugst_file_stamp(fd, &after));
	assert_true(ugst_file_stamp_equal(&before, &after));
	assert_ok(ugst_source_unchanged(fd, &before, &err), err);
	assert_ok(ugst_source_read(fd, bytes, 4, 6, &err), err);
	assert_memory_equal(bytes, "6789", 4);
	assert_fails(ugst_source_read(fd, bytes, 8, 6, &err), UGDS_ST_MISMATCH,
	             err);
	assert_int_equal(truncate("file", 9), 0);
	assert_fails(ugst_source_unchanged(fd, &before, &err), UGDS_ST_MISMATCH,
	             err);
	assert_non_null(strstr(err.text, "expected 10 bytes"));
	assert_non_null(strstr(err.text, "found 9 bytes"));
	assert_int_equal(close(fd), 0);
}

static void test_header_facts(void **state)
{
	struct ugst_checkpoint checkpoint;
	struct ugds_st_error err = {0};
	char text[UGST_HASH_TEXT_BYTES];
	struct ugst_hash wanted;

	(void)state;
	put("e.safetensors", "\2\0\0\0\0\0\0\0{}", 10);
	wanted = ugst_hash("\2\0\0\0\0\0\0\0{}", 10);
	assert_ok(ugst_checkpoint_open("e.safetensors", &checkpoint, &err),
	          err);
	assert_int_equal(checkpoint.shards[0].json_bytes, 2);
	assert_int_equal(checkpoint.shards[0].stamp.bytes, 10);
	assert_true(
		ugst_hash_equal(&checkpoint.shards[0].header_hash, &wanted));
	assert_int_equal(
		strlen(ugst_hash_text(&checkpoint.shards[0].header_hash, text)),
		32);
	ugst_checkpoint_free(&checkpoint);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_single_file),   TEST(test_directory),
		TEST(test_numbered),      TEST(test_index_choice),
		TEST(test_map),           TEST(test_shard_paths),
		TEST(test_all_missing),   TEST(test_long_list),
		TEST(test_special_files), TEST(test_model_names),
		TEST(test_stamps),        TEST(test_header_facts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
