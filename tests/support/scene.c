/* SPDX-License-Identifier: BSD-3-Clause */
/* scene.c - a folder for tests of the importer; see scene.h. */
#include "support/test.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/le.h"
#include "base/mem.h"
#include "import/import.h"
#include "support/random.h"
#include "support/scene.h"

/* Paths that a scene has handed out. */
static char *paths[256];
static size_t path_count;

static int remove_one(const char *path, const struct stat *status, int flag,
                      struct FTW *at)
{
	(void)status;
	(void)flag;
	(void)at;
	return remove(path);
}

static void take_note(void *ctx, const char *text)
{
	struct scene *scene = ctx;
	size_t used = strlen(scene->notes);

	(void)snprintf(scene->notes + used, sizeof(scene->notes) - used, "%s\n",
	               text);
}

struct scene *scene_new(void)
{
	const char *tmp = getenv("TMPDIR");
	struct scene *scene = calloc(1, sizeof(*scene));

	assert_non_null(scene);
	ugst_env_init(&scene->env);
	scene->dir = ugst_printf("%s/ugds-st-XXXXXX", tmp ? tmp : "/tmp");
	assert_non_null(scene->dir);
	assert_non_null(mkdtemp(scene->dir));
	scene->result.struct_size = sizeof(scene->result);
	return scene;
}

void scene_free(struct scene *scene)
{
	(void)nftw(scene->dir, remove_one, 16, FTW_DEPTH | FTW_PHYS);
	while (path_count)
		free(paths[--path_count]);
	free(scene->dir);
	free(scene);
}

const char *scene_path(struct scene *scene, const char *name)
{
	char path[1024];

	(void)snprintf(path, sizeof(path), "%s%s%s",
	               name[0] == '/' ? "" : scene->dir,
	               name[0] == '/' ? "" : "/", name);
	for (size_t i = 0; i < path_count; i++)
		if (!strcmp(paths[i], path))
			return paths[i];
	assert_true(path_count < UGST_COUNT(paths));
	paths[path_count] = strdup(path);
	assert_non_null(paths[path_count]);
	return paths[path_count++];
}

void scene_write(const char *path, const void *data, size_t bytes)
{
	FILE *file = fopen(path, "we");

	assert_non_null(file);
	assert_int_equal(fwrite(data, 1, bytes, file), bytes);
	assert_int_equal(fclose(file), 0);
}

char *scene_slurp(const char *path, size_t *bytes_out)
{
	FILE *file = fopen(path, "re");
	struct stat status;
	char *data;

	if (!file)
		return NULL;
	assert_int_equal(fstat(fileno(file), &status), 0);
	data = malloc((size_t)status.st_size + 1);
	assert_non_null(data);
	*bytes_out = fread(data, 1, (size_t)status.st_size, file);
	data[*bytes_out] = '\0';
	(void)fclose(file);
	return data;
}

void scene_shard(struct scene *scene, const char *path, uint64_t seed,
                 size_t name_bytes, size_t data_bytes)
{
	size_t room = name_bytes + data_bytes + 256;
	unsigned char *file = calloc(1, room);
	uint64_t random = seed * 0x9e3779b97f4a7c15u + 1;
	size_t json_bytes;

	(void)scene;
	assert_non_null(file);
	json_bytes =
		(size_t)snprintf((char *)file + 8, room - 8,
	                         "{\"%0*u\":{\"dtype\":\"U8\",\"shape\":[%zu],"
	                         "\"data_offsets\":[0,%zu]}}",
	                         (int)name_bytes, (unsigned)(seed % 1000),
	                         data_bytes, data_bytes);
	ugst_put_le64(file, json_bytes);
	for (size_t i = 0; i < data_bytes; i++)
		file[8 + json_bytes + i] = (unsigned char)random_next(&random);
	scene_write(path, file, 8 + json_bytes + data_bytes);
	free(file);
}

const char *scene_shard_path(struct scene *scene, const char *checkpoint,
                             unsigned i, unsigned count)
{
	char name[512];

	(void)snprintf(name, sizeof(name), "%s/model-%05u-of-%05u.safetensors",
	               checkpoint, i + 1, count);
	return scene_path(scene, name);
}

const char *scene_checkpoint(struct scene *scene, const char *name,
                             uint64_t seed, unsigned count, size_t data_bytes)
{
	const char *folder = scene_path(scene, name);
	char *index_path =
		ugst_printf("%s/model.safetensors.index.json", folder);
	FILE *index;

	assert_non_null(index_path);
	assert_true(mkdir(folder, 0777) == 0 || errno == EEXIST);
	index = fopen(index_path, "we");
	assert_non_null(index);
	(void)fputs("{\"weight_map\":{", index);
	for (unsigned i = 0; i < count; i++) {
		const char *path = scene_shard_path(scene, folder, i, count);

		scene_shard(scene, path, seed + i, 10 + 7 * i,
		            data_bytes + 1000 * i);
		(void)fprintf(index, "%s\"%0*u\":\"%s\"", i ? "," : "",
		              (int)(10 + 7 * i), (unsigned)((seed + i) % 1000),
		              strrchr(path, '/') + 1);
	}
	(void)fputs("}}", index);
	assert_int_equal(fclose(index), 0);
	free(index_path);
	return folder;
}

const char *scene_volume(struct scene *scene, const char *name, uint64_t bytes)
{
	struct ugds_st_import_format_opts opts =
		UGDS_ST_IMPORT_FORMAT_OPTS_INIT;
	const char *path = scene_path(scene, name);

	opts.file_bytes = bytes;
	opts.flags = UGDS_ST_IMPORT_SPARSE;
	memset(&scene->err, 0, sizeof(scene->err));
	assert_ok(ugst_format(&scene->env, path, &opts, NULL, &scene->err),
	          scene->err);
	assert_int_equal(scene->err.status, UGDS_ST_OK);
	assert_true(scene->device_count < SCENE_VOLUMES_MAX);
	scene->devices[scene->device_count++] = path;
	return path;
}

int scene_import(struct scene *scene, const char *manifest,
                 const char *checkpoint)
{
	struct ugds_st_import_opts opts = UGDS_ST_IMPORT_OPTS_INIT;
	int status;

	opts.checkpoint = scene_path(scene, checkpoint);
	opts.manifest = scene_path(scene, manifest);
	opts.devices = scene->devices;
	opts.device_count = scene->device_count;
	opts.flags = scene->flags;
	opts.copies = scene->copies;
	opts.note = take_note;
	opts.ctx = scene;
	memset(&scene->err, 0, sizeof(scene->err));
	status = ugst_import(&scene->env, &opts, &scene->result, &scene->err);
	/* Success leaves err alone. */
	assert_int_equal(scene->err.status, status);
	return status;
}

struct ugst_manifest scene_manifest(const char *path)
{
	struct ugst_manifest manifest;
	struct ugds_st_error err;
	size_t bytes;
	char *text = scene_slurp(path, &bytes);

	assert_non_null(text);
	assert_ok(ugst_manifest_parse(text, bytes, &manifest, &err), err);
	free(text);
	return manifest;
}

/* Does the volume have lead, shard and padding from the copy's base on? */
static bool holds_shard(const struct ugst_manifest_shard *shard,
                        const struct ugst_manifest_copy *copy,
                        const char *device, const char *source)
{
	size_t bytes = 0;
	char *wanted = scene_slurp(source, &bytes);
	size_t run = (copy->lead_bytes + shard->bytes + 4095) / 4096 * 4096;
	char *found = calloc(1, run);
	int fd = open(device, O_RDONLY | O_CLOEXEC);
	bool equal;

	equal = wanted && found && fd >= 0 && bytes == shard->bytes &&
	        pread(fd, found, run,
	              (off_t)(copy->base_lba * copy->lba_bytes)) ==
	                (ssize_t)run &&
	        memcmp(found + copy->lead_bytes, wanted, bytes) == 0;
	for (size_t i = 0; equal && i < run; i++)
		if (i < copy->lead_bytes || i >= copy->lead_bytes + bytes)
			equal = found[i] == 0;
	if (fd >= 0)
		(void)close(fd);
	free(found);
	free(wanted);
	return equal;
}

bool scene_holds(struct scene *scene, const char *manifest,
                 const char *checkpoint)
{
	struct ugst_manifest document =
		scene_manifest(scene_path(scene, manifest));
	struct stat status;
	bool holds = true;

	checkpoint = scene_path(scene, checkpoint);
	assert_int_equal(stat(checkpoint, &status), 0);
	for (size_t i = 0; i < document.shard_count; i++) {
		const struct ugst_manifest_shard *shard = &document.shards[i];
		char *source =
			S_ISDIR(status.st_mode)
				? ugst_printf("%s/%s", checkpoint, shard->name)
				: ugst_strdup(checkpoint);

		assert_non_null(source);
		for (size_t k = 0; k < shard->copy_count; k++) {
			const struct ugst_manifest_copy *copy =
				&shard->copies[k];
			const char *device =
				document.volumes[copy->volume].path;

			if (holds_shard(shard, copy, device, source))
				continue;
			(void)fprintf(stderr, "%s: %s is not as %s\n", manifest,
			              device, source);
			holds = false;
		}
		free(source);
	}
	ugst_manifest_free(&document);
	return holds;
}

size_t scene_records(struct scene *scene, int committed)
{
	size_t count = 0;

	for (size_t i = 0; i < scene->device_count; i++) {
		struct ugds_st_import_volume_info info = {.struct_size =
		                                                  sizeof(info)};
		ugds_st_import_volume *volume;

		assert_ok(ugds_st_import_list(scene->devices[i], &volume,
		                              &scene->err),
		          scene->err);
		assert_int_equal(ugds_st_import_volume_info(volume, &info), 0);
		for (size_t k = 0; k < info.checkpoint_count; k++) {
			struct ugds_st_import_checkpoint_info record = {
				.struct_size = sizeof(record)};

			assert_int_equal(ugds_st_import_volume_checkpoint(
						 volume, k, &record),
			                 0);
			count += record.committed == committed;
		}
		ugds_st_import_volume_free(volume);
	}
	return count;
}

size_t scene_objects(struct scene *scene)
{
	size_t count = 0;

	for (size_t i = 0; i < scene->device_count; i++) {
		struct ugds_st_import_volume_info info = {.struct_size =
		                                                  sizeof(info)};
		ugds_st_import_volume *volume;

		assert_ok(ugds_st_import_list(scene->devices[i], &volume,
		                              &scene->err),
		          scene->err);
		assert_int_equal(ugds_st_import_volume_info(volume, &info), 0);
		count += info.object_count;
		ugds_st_import_volume_free(volume);
	}
	return count;
}
