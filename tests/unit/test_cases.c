/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_cases.c - files and model directories that people ran into: verdict,
 * tensors, and what the refusal says.
 */
#include "support/test.h"

#include <unistd.h>

#include "base/le.h"
#include "support/pack.h"
#include "verbs/checkpoint.h"

/* What a reader must find in the text to know what to do. */
static const struct {
	const char *id;
	int status;
	const char *says[3];
} refusals[] = {
	{"C02a", 3, {"header too large", "18446744073709551615"}},
	{"C03a", 3, {"the file is empty"}},
	{"C04a", 3, {"file too short", "104", "incomplete download"}},
	{"C04e", 3, {"file too short", "104 bytes of data, found 103"}},
	{"C05a", 3, {"file too long", "1 trailing"}},
	{"C06a", 3, {"git-lfs pointer", "git lfs pull"}},
	{"C07a", 3, {"an XML document"}},
	{"C08a", 3, {"a zip archive", "pickle"}},
	{"C08c", 3, {"a GGUF model"}},
	{"C09", 3, {"byte 0x00"}},
	{"C10e", 3, {"byte 0x0b"}},
	{"C12a", 3, {"duplicate name", "\"a\"", "first at byte 1"}},
	{"C12b", 3, {"duplicate name", "\"a\""}},
	{"C12e", 3, {"__metadata__ twice"}},
	{"C21a", 3, {"size overflow", "[4294967296,4294967296]"}},
	{"C22a", 3, {"\"t\"", "needs 4000000 bytes", "[0,4]"}},
	{"C23a", 3, {"\"v\"", "overlaps", "\"k\""}},
	{"C23d", 3, {"hole", "expected begin 0"}},
	{"C24a", 3, {"ends before it begins", "[4,0]"}},
	{"C24c", 3, {"fraction", "\"a\""}},
	{"C24g", 3, {"without data_offsets", "\"a\""}},
	{"C25a", 3, {"unknown dtype \"Q8_0\"", "\"q\""}},
	{"C26c", 3, {"not whole bytes", "F4 [3]", "12 bits"}},
	{"C29c", 3, {"half of a surrogate pair"}},
	{"C29e", 3, {"not UTF-8 at byte 3", "0xff"}},
	{"C30b", 3, {"nested too deep"}},
	{"C32a", 2, {"1 of them missing", "model-00002-of-00002.safetensors"}},
	{"C33a", 3, {"\"mtp.fc.weight\"", "model-00002-of-00002", "lacks it"}},
	{"C35b", 3, {"\"ln.bias\"", "model-00001-of", "model-00002-of"}},
	{"C37a", 3, {"2 candidates", "index.json", "model.safetensors)"}},
	{"C38a", 3, {"../outside.safetensors", "\"..\"", "at byte 187"}},
	{"C38b", 3, {"/var/lib/elsewhere", "absolute path"}},
	{"C39b", 2, {"1 of them missing", "model-00002-of-00002", "a link to"}},
	{"C41a", 3, {"expected '{'", "found '['"}},
	{"C41b", 3, {"no weight_map"}},
	{"C41d", 3, {"at byte 192", "found the end"}},
	{"C41g", 3, {"\"scale\"", "at byte 177", "at byte 221"}},
};

static void check_text(const struct pack_case *one, int status,
                       const struct ugds_st_error *err)
{
	for (const char *at = err->text; *at; at++)
		assert_true((unsigned char)*at >= 0x20 && *at != 0x7f);
	for (size_t i = 0; i < UGST_COUNT(refusals); i++) {
		if (strcmp(refusals[i].id, one->id) != 0)
			continue;
		if (status != refusals[i].status)
			fail_msg("%s: status %d: %s", one->id, status,
			         err->text);
		for (size_t k = 0; k < 3 && refusals[i].says[k]; k++)
			if (!strstr(err->text, refusals[i].says[k]))
				fail_msg("%s: wanted \"%s\" in: %s", one->id,
				         refusals[i].says[k], err->text);
	}
}

static bool is_left_out(const struct ugst_source_shard *shard, size_t tensor)
{
	for (size_t i = 0; i < shard->left_out_count; i++)
		if (shard->left_out[i] == tensor)
			return true;
	return false;
}

static const struct pack_tensor *find(const struct pack_case *one,
                                      const struct ugst_header_tensor *tensor)
{
	for (uint32_t i = 0; i < one->tensor_count; i++)
		if (one->tensors[i].name_bytes == tensor->name_bytes &&
		    memcmp(one->tensors[i].name, tensor->name,
		           tensor->name_bytes) == 0)
			return &one->tensors[i];
	fail_msg("%s: tensor %s is not wanted", one->id, tensor->name);
	return NULL;
}

static void check_tensors(const struct pack_case *one,
                          const struct ugst_checkpoint *checkpoint)
{
	size_t count = 0;

	for (size_t i = 0; i < checkpoint->shard_count; i++) {
		const struct ugst_source_shard *shard = &checkpoint->shards[i];

		for (size_t k = 0; k < shard->header.tensor_count; k++) {
			const struct ugst_header_tensor *tensor =
				&shard->header.tensors[k];
			const struct pack_tensor *wanted;

			if (is_left_out(shard, k))
				continue;
			count++;
			wanted = find(one, tensor);
			assert_string_equal(ugds_st_dtype_name(tensor->dtype),
			                    wanted->dtype);
			assert_int_equal(tensor->rank, wanted->rank);
			assert_memory_equal(tensor->dims, wanted->dims,
			                    tensor->rank * sizeof(uint64_t));
			assert_string_equal(shard->name, wanted->shard);
			assert_true(shard->header.data_off + tensor->begin ==
			            wanted->off);
			assert_true(tensor->end - tensor->begin ==
			            wanted->bytes);
		}
	}
	assert_int_equal(count, one->tensor_count);
}

static bool check_case(const struct pack_case *one)
{
	char dir[] = "/tmp/ugst_cases.XXXXXX";
	struct ugst_checkpoint checkpoint;
	struct ugds_st_error err = {0};
	char path[512];
	int status;

	assert_non_null(mkdtemp(dir));
	pack_unpack(one, dir);
	(void)snprintf(path, sizeof(path), "%s/%s", dir, one->path);
	status = ugst_checkpoint_open(path, &checkpoint, &err);
	pack_remove(dir);
	if ((status == UGDS_ST_OK) != one->ok && !one->either)
		fail_msg("%s: wanted %s, found %d: %s", one->id,
		         one->ok ? "accepted" : "refused", status, err.text);
	if (status) {
		check_text(one, status, &err);
		return false;
	}
	check_tensors(one, &checkpoint);
	if (strstr(one->path, "models--org--name"))
		assert_string_equal(checkpoint.model, "org/name");
	ugst_checkpoint_free(&checkpoint);
	return true;
}

static void test_cases(void **state)
{
	struct pack pack;
	struct pack_case one;
	size_t count = 0;
	size_t accepted = 0;

	(void)state;
	pack_open(&pack, "tests/data/cases.pack");
	while (pack_next(&pack, &one)) {
		accepted += check_case(&one);
		count++;
		pack_case_free(&one);
	}
	pack_close(&pack);
	assert_int_equal(count, 79);
	assert_int_equal(accepted, 32);
}

/* A thousand tensors of 0 to 910 bytes, as in a case that is too large to
 * keep. */
static void test_thousand(void **state)
{
	char path[] = "/tmp/ugst_cases.XXXXXX";
	struct ugst_checkpoint checkpoint;
	struct ugds_st_error err = {0};
	char *json = malloc(200000);
	size_t used = 1;
	size_t off = 0;
	int fd = mkstemp(path);
	uint8_t length[8];

	(void)state;
	json[0] = '{';
	for (size_t i = 0; i < 1000; i++) {
		size_t bytes = i * 911 % 1000 % 911;

		used += (size_t)sprintf(json + used,
		                        "\"t%04zu\":{\"dtype\":\"U8\","
		                        "\"shape\":[%zu],\"data_offsets\":"
		                        "[%zu,%zu]}%c",
		                        i, bytes, off, off + bytes,
		                        i < 999 ? ',' : '}');
		off += bytes;
	}
	ugst_put_le64(length, used);
	assert_int_equal(write(fd, length, 8), 8);
	assert_int_equal(write(fd, json, used), (ssize_t)used);
	assert_int_equal(ftruncate(fd, (off_t)(8 + used + off)), 0);
	assert_int_equal(close(fd), 0);
	assert_ok(ugst_checkpoint_open(path, &checkpoint, &err), err);
	assert_int_equal(checkpoint.shards[0].header.tensor_count, 1000);
	ugst_checkpoint_free(&checkpoint);
	assert_int_equal(unlink(path), 0);
	free(json);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cases),
		cmocka_unit_test(test_thousand),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
