/* SPDX-License-Identifier: BSD-3-Clause */
/* pack.c - reading packs of files and verdicts; see pack.h. */
#include "support/test.h"

#include <ftw.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/le.h"
#include "support/pack.h"

static const char *take(struct pack *pack, size_t bytes)
{
	const char *at = pack->data + pack->at;

	assert_true(bytes <= pack->bytes - pack->at);
	pack->at += bytes;
	return at;
}

static uint32_t take_u32(struct pack *pack)
{
	return ugst_get_le32(take(pack, 4));
}

static uint64_t take_u64(struct pack *pack)
{
	return ugst_get_le64(take(pack, 8));
}

static char *take_string(struct pack *pack, size_t *bytes_out)
{
	size_t bytes = take_u32(pack);
	const char *from = take(pack, bytes);
	char *text = malloc(bytes + 1);

	assert_non_null(text);
	memcpy(text, from, bytes);
	text[bytes] = '\0';
	if (bytes_out)
		*bytes_out = bytes;
	return text;
}

void pack_open(struct pack *pack, const char *path)
{
	FILE *file = fopen(path, "rb");

	if (!file)
		fail_msg("%s: not there; run from the top of the source", path);
	assert_int_equal(fseek(file, 0, SEEK_END), 0);
	pack->bytes = (size_t)ftell(file);
	rewind(file);
	pack->data = malloc(pack->bytes);
	assert_non_null(pack->data);
	assert_int_equal(fread(pack->data, 1, pack->bytes, file), pack->bytes);
	(void)fclose(file);
	pack->at = 0;
	assert_memory_equal(take(pack, 8), "UGSTPACK", 8);
}

void pack_close(struct pack *pack)
{
	free(pack->data);
	memset(pack, 0, sizeof(*pack));
}

static void take_tensor(struct pack *pack, struct pack_tensor *tensor)
{
	tensor->name = take_string(pack, &tensor->name_bytes);
	tensor->dtype = take_string(pack, NULL);
	tensor->shard = take_string(pack, NULL);
	tensor->rank = take_u32(pack);
	tensor->dims = calloc(tensor->rank + 1, sizeof(*tensor->dims));
	assert_non_null(tensor->dims);
	for (uint32_t i = 0; i < tensor->rank; i++)
		tensor->dims[i] = take_u64(pack);
	tensor->off = take_u64(pack);
	tensor->bytes = take_u64(pack);
}

bool pack_next(struct pack *pack, struct pack_case *one)
{
	if (pack->at == pack->bytes)
		return false;
	one->id = take_string(pack, NULL);
	one->path = take_string(pack, NULL);
	one->ok = *take(pack, 1) != 0;
	one->either = *take(pack, 1) != 0;
	one->error = take_string(pack, NULL);
	one->tensor_count = take_u32(pack);
	one->tensors = calloc(one->tensor_count + 1, sizeof(*one->tensors));
	assert_non_null(one->tensors);
	for (uint32_t i = 0; i < one->tensor_count; i++)
		take_tensor(pack, &one->tensors[i]);
	one->file_count = take_u32(pack);
	one->files = calloc(one->file_count + 1, sizeof(*one->files));
	assert_non_null(one->files);
	for (uint32_t i = 0; i < one->file_count; i++) {
		struct pack_file *file = &one->files[i];

		file->path = take_string(pack, NULL);
		file->kind = *take(pack, 1);
		file->data = take_string(pack, &file->bytes);
	}
	return true;
}

void pack_case_free(struct pack_case *one)
{
	for (uint32_t i = 0; i < one->tensor_count; i++) {
		free(one->tensors[i].name);
		free(one->tensors[i].dtype);
		free(one->tensors[i].shard);
		free(one->tensors[i].dims);
	}
	for (uint32_t i = 0; i < one->file_count; i++) {
		free(one->files[i].path);
		free(one->files[i].data);
	}
	free(one->tensors);
	free(one->files);
	free(one->id);
	free(one->path);
	free(one->error);
	memset(one, 0, sizeof(*one));
}

static void make_parents(char *path)
{
	for (char *at = strchr(path + 1, '/'); at; at = strchr(at + 1, '/')) {
		*at = '\0';
		(void)mkdir(path, 0777);
		*at = '/';
	}
}

void pack_unpack(const struct pack_case *one, const char *dir)
{
	for (uint32_t i = 0; i < one->file_count; i++) {
		const struct pack_file *from = &one->files[i];
		char path[1024];
		FILE *file;

		(void)snprintf(path, sizeof(path), "%s/%s", dir, from->path);
		make_parents(path);
		if (from->kind == 'l') {
			assert_int_equal(symlink(from->data, path), 0);
			continue;
		}
		file = fopen(path, "wb");
		assert_non_null(file);
		assert_int_equal(fwrite(from->data, 1, from->bytes, file),
		                 from->bytes);
		assert_int_equal(fclose(file), 0);
	}
}

static int remove_one(const char *path, const struct stat *status, int flag,
                      struct FTW *where)
{
	(void)status;
	(void)flag;
	(void)where;
	return remove(path);
}

void pack_remove(const char *dir)
{
	(void)nftw(dir, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}
