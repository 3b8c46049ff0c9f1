/* SPDX-License-Identifier: BSD-3-Clause */
/* volumes.c - a random checkpoint on volume files; see volumes.h. */
#include "support/test.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/le.h"
#include "base/mem.h"
#include "base/units.h"
#include "support/random.h"
#include "support/volumes.h"

#define VOLUME_LBA_BYTES 4096u

static void write_at(const char *path, const void *bytes, size_t count,
                     uint64_t off)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	while (count) {
		ssize_t done = pwrite(fd, bytes, count, (off_t)off);

		assert_true(done > 0);
		bytes = (const char *)bytes + done;
		count -= (size_t)done;
		off += (uint64_t)done;
	}
	/* A direct read waits for what is not written back yet; on a busy disk
	 * for longer than a test calls silence. */
	assert_int_equal(fdatasync(fd), 0);
	assert_int_equal(close(fd), 0);
}

/* A size of 0 to max, small ones often; 2-dimensional where it is even. */
static size_t print_tensor(char *out, size_t room, unsigned shard,
                           unsigned index, uint64_t begin, uint64_t bytes)
{
	int used = bytes && bytes % 4 == 0
	                   ? snprintf(out, room,
	                              "%s\"s%u.t%u\":{\"dtype\":\"BF16\","
	                              "\"shape\":[2,%llu],"
	                              "\"data_offsets\":[%llu,%llu]}",
	                              index ? "," : "", shard, index,
	                              (unsigned long long)bytes / 4,
	                              (unsigned long long)begin,
	                              (unsigned long long)(begin + bytes))
	                   : snprintf(out, room,
	                              "%s\"s%u.t%u\":{\"dtype\":\"U8\","
	                              "\"shape\":[%llu],"
	                              "\"data_offsets\":[%llu,%llu]}",
	                              index ? "," : "", shard, index,
	                              (unsigned long long)bytes,
	                              (unsigned long long)begin,
	                              (unsigned long long)(begin + bytes));

	assert_true(used > 0 && (size_t)used < room);
	return (size_t)used;
}

static uint64_t random_bytes(const struct volumes_shape *shape, uint64_t *seed)
{
	uint64_t max = random_below(seed, 3) ? shape->max_tensor_bytes : 2000;

	if (random_below(seed, 12) == 0)
		return 0;
	return 1 + random_below(seed, ugst_min(max, shape->max_tensor_bytes));
}

static void make_shard(const struct volumes_shape *shape, unsigned number,
                       uint64_t *seed, struct volumes_shard *shard,
                       struct ugst_manifest_shard *document)
{
	size_t room = 200 + 160 * shape->tensor_count;
	char *json = malloc(room);
	uint64_t data_bytes = 0;
	size_t json_bytes = 1;

	assert_non_null(json);
	json[0] = '{';
	for (unsigned i = 0; i < shape->tensor_count; i++) {
		uint64_t bytes = random_bytes(shape, seed);

		json_bytes += print_tensor(json + json_bytes, room - json_bytes,
		                           number, i, data_bytes, bytes);
		data_bytes += bytes;
	}
	json[json_bytes++] = '}';
	document->json_bytes = json_bytes;
	document->bytes = 8 + json_bytes + data_bytes;
	document->name = ugst_printf("shard-%u.safetensors", number);
	shard->bytes = malloc(document->bytes + 8);
	assert_non_null(shard->bytes);
	ugst_put_le64(shard->bytes, json_bytes);
	memcpy(shard->bytes + 8, json, json_bytes);
	for (uint64_t i = 0; i < data_bytes; i += 8) {
		uint64_t value = random_next(seed);

		memcpy(shard->bytes + 8 + json_bytes + i, &value,
		       ugst_min(8, data_bytes - i));
	}
	document->header_hash = ugst_hash(shard->bytes, 8 + json_bytes);
	document->hash = ugst_hash(shard->bytes, document->bytes);
	free(json);
}

static struct ugst_uuid random_uuid(uint64_t *seed)
{
	uint8_t bytes[16];

	for (int i = 0; i < 16; i++)
		bytes[i] = (uint8_t)random_next(seed);
	return ugst_uuid_from_random(bytes);
}

/* Put a shard behind the others of its volume. */
static void place_shard(struct volumes *volumes, size_t number, unsigned volume,
                        uint64_t *end, uint32_t lead_bytes)
{
	struct ugst_catalog *catalog = &volumes->labels[volume].catalog;
	struct ugst_record *record = &catalog->records[0];
	struct ugst_manifest_shard *document =
		&volumes->document.shards[number];
	struct ugst_object *object = &catalog->objects[catalog->object_count++];

	*object = (struct ugst_object){
		.id = catalog->next_object_id++,
		.base_lba = *end / VOLUME_LBA_BYTES,
		.lba_bytes = VOLUME_LBA_BYTES,
		.lead_bytes = lead_bytes,
		.bytes = document->bytes,
		.header_hash = document->header_hash,
		.hash = document->hash,
		.name = ugst_strdup(document->name),
	};
	record->object_ids[record->object_count++] = object->id;
	document->copies[document->copy_count++] = (struct ugst_manifest_copy){
		.volume = volume,
		.lead_bytes = lead_bytes,
		.object_id = object->id,
		.base_lba = object->base_lba,
		.lba_bytes = object->lba_bytes,
	};
	if (document->copy_count == 1) {
		volumes->shards[number].volume = volume;
		volumes->shards[number].volume_off = *end + lead_bytes;
	}
	write_at(volumes->devices[volume], volumes->shards[number].bytes,
	         document->bytes, *end + lead_bytes);
	*end = ugst_align_up(*end + lead_bytes + document->bytes, UGST_MIB);
}

static void start_volume(struct volumes *volumes,
                         const struct volumes_shape *shape, unsigned number,
                         uint64_t *seed)
{
	struct ugst_label *label = &volumes->labels[number];
	struct ugst_catalog *catalog = &label->catalog;

	volumes->devices[number] =
		ugst_printf("%s/volume-%u", volumes->dir, number);
	label->sequence = 2;
	catalog->volume.uuid = random_uuid(seed);
	catalog->volume.lba_bytes = VOLUME_LBA_BYTES;
	catalog->next_object_id = 1;
	catalog->objects =
		ugst_calloc(shape->shard_count, sizeof(*catalog->objects));
	catalog->records = ugst_calloc(1, sizeof(*catalog->records));
	catalog->record_count = 1;
	catalog->records[0] = (struct ugst_record){
		.checkpoint = volumes->document.checkpoint,
		.model = ugst_strdup("test/model"),
		.manifest = ugst_strdup(volumes->manifest),
		.generation = 1,
		.committed = true,
		.object_ids = ugst_calloc(shape->shard_count, sizeof(uint64_t)),
	};
}

static void end_volume(struct volumes *volumes, unsigned number, uint64_t end)
{
	struct ugst_manifest_volume *volume =
		&volumes->document.volumes[number];
	struct ugst_catalog *catalog = &volumes->labels[number].catalog;

	catalog->volume.bytes = end + UGST_VOLUME_TAIL_BYTES;
	assert_int_equal(truncate(volumes->devices[number],
	                          (off_t)catalog->volume.bytes),
	                 0);
	volumes_write_label(volumes, number);
	volume->record = catalog->volume;
	volume->label_sequence = volumes->labels[number].sequence;
	volume->path = ugst_strdup(volumes->devices[number]);
}

struct volumes *volumes_new(const struct volumes_shape *shape)
{
	const char *tmp = getenv("TMPDIR");
	struct volumes *volumes = ugst_calloc(1, sizeof(*volumes));
	struct ugst_manifest *document = &volumes->document;
	uint64_t ends[4];
	uint64_t seed = shape->seed * 2 + 1;

	volumes->dir = ugst_printf("%s/ugds-st-XXXXXX", tmp ? tmp : "/tmp");
	assert_non_null(mkdtemp(volumes->dir));
	volumes->manifest = ugst_printf("%s/manifest.json", volumes->dir);
	document->checkpoint = random_uuid(&seed);
	document->model = ugst_strdup("test/model");
	document->generation = 1;
	document->created = ugst_strdup("2026-01-02T03:04:05Z");
	document->tool = ugst_strdup("test");
	document->volume_count = shape->volume_count;
	document->volumes =
		ugst_calloc(shape->volume_count, sizeof(*document->volumes));
	document->shard_count = shape->shard_count;
	document->shards =
		ugst_calloc(shape->shard_count, sizeof(*document->shards));
	volumes->shards =
		ugst_calloc(shape->shard_count, sizeof(*volumes->shards));
	for (unsigned i = 0; i < shape->volume_count; i++) {
		start_volume(volumes, shape, i, &seed);
		ends[i] = UGST_OBJECTS_OFF + shape->hole_bytes;
	}
	for (unsigned i = 0; i < shape->shard_count; i++) {
		unsigned copies = shape->copy_count ? shape->copy_count : 1;
		uint64_t data_off;

		make_shard(shape, i, &seed, &volumes->shards[i],
		           &document->shards[i]);
		data_off = 8 + document->shards[i].json_bytes;
		document->shards[i].copies =
			ugst_calloc(copies, sizeof(struct ugst_manifest_copy));
		for (unsigned k = 0; k < copies; k++) {
			unsigned volume = (i + k) % shape->volume_count;

			place_shard(volumes, i, volume, &ends[volume],
			            shape->lead ? (uint32_t)(-data_off % 4096)
			                        : (uint32_t)random_below(&seed,
			                                                 4096));
		}
	}
	for (unsigned i = 0; i < shape->volume_count; i++)
		end_volume(volumes, i, ends[i]);
	volumes_publish(volumes);
	return volumes;
}

void volumes_write_label(struct volumes *volumes, unsigned volume)
{
	struct ugds_st_error err;
	size_t bytes;
	void *slot;

	assert_ok(
		ugst_slot_encode(&volumes->labels[volume], &slot, &bytes, &err),
		err);
	for (unsigned i = 0; i < UGST_SLOT_COUNT; i++)
		write_at(volumes->devices[volume], slot, bytes,
		         i * UGST_SLOT_BYTES);
	free(slot);
}

void volumes_publish(struct volumes *volumes)
{
	struct ugds_st_error err;
	size_t bytes;
	char *text;

	assert_ok(ugst_manifest_print(&volumes->document, &text, &bytes, &err),
	          err);
	(void)unlink(volumes->manifest);
	write_at(volumes->manifest, text, bytes, 0);
	free(text);
}

const void *volumes_expected(const struct volumes *volumes,
                             const ugds_st_tensor *tensor)
{
	struct ugds_st_info info = {.struct_size = sizeof(info)};
	unsigned number;

	assert_int_equal(ugds_st_info(tensor, &info), UGDS_ST_OK);
	assert_int_equal(sscanf(info.shard, "shard-%u.", &number), 1);
	return volumes->shards[number].bytes + info.file_off;
}

void volumes_free(struct volumes *volumes)
{
	for (size_t i = 0; i < volumes->document.shard_count; i++)
		free(volumes->shards[i].bytes);
	for (size_t i = 0; i < volumes->document.volume_count; i++) {
		(void)unlink(volumes->devices[i]);
		free(volumes->devices[i]);
		ugst_label_free(&volumes->labels[i]);
	}
	(void)unlink(volumes->manifest);
	(void)rmdir(volumes->dir);
	free(volumes->manifest);
	free(volumes->dir);
	free(volumes->shards);
	ugst_manifest_free(&volumes->document);
	free(volumes);
}
