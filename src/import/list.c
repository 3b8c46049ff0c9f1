/* SPDX-License-Identifier: BSD-3-Clause */
/* list.c - what a label says, for callers. */
#include "base/common.h"

#include "base/err.h"
#include "base/mem.h"
#include "base/opts.h"
#include "import/allocate.h"
#include "import/edit.h"
#include "import/volume.h"
#include "ugds_st_import.h"

struct ugds_st_import_volume {
	struct ugst_catalog catalog;
	struct ugst_space space;
	uint64_t sequence;
	int damaged_slots;
};

static int read_label(const char *device, struct ugds_st_import_volume *out,
                      struct ugds_st_error *err)
{
	struct ugst_import_env env;
	struct ugst_volume *volume = NULL;
	int status;

	ugst_env_init(&env);
	status = ugst_volume_open(&env, device, false, &volume, err);
	/* As every reader: so nothing that is listed is dropped meanwhile. */
	if (status == UGDS_ST_OK)
		status = ugst_blockdev_lock(volume->dev, UGST_LOCK_READERS,
		                            false, err);
	if (status == UGDS_ST_OK)
		status = ugst_volume_look(volume, err);
	if (status == UGDS_ST_OK) {
		out->sequence = volume->label.sequence;
		for (unsigned i = 0; i < UGST_SLOT_COUNT; i++)
			out->damaged_slots +=
				volume->states[i] != UGST_SLOT_VALID;
		out->catalog = volume->label.catalog;
		memset(&volume->label.catalog, 0,
		       sizeof(volume->label.catalog));
	}
	ugst_volume_close(volume);
	return status;
}

/* Free space counts what the next writer will drop. */
static int count_space(struct ugds_st_import_volume *volume,
                       struct ugds_st_error *err)
{
	struct ugst_catalog kept = {0};
	int status = ugst_catalog_copy(&volume->catalog, &kept, err);

	if (status != UGDS_ST_OK)
		return status;
	ugst_catalog_drop_free(&kept);
	status = ugst_space_count(&kept, &volume->space, err);
	ugst_catalog_free(&kept);
	return status;
}

UGST_API int ugds_st_import_list(const char *device,
                                 ugds_st_import_volume **volume_out,
                                 struct ugds_st_error *err)
{
	struct ugds_st_import_volume *volume;
	int status;

	if (!device || !volume_out)
		return ugst_fail(err, UGDS_ST_INVALID_ARG,
		                 "expected a device and a place for the "
		                 "result, found NULL");
	volume = ugst_calloc(1, sizeof(*volume));
	if (!volume)
		return ugst_fail_memory(err);
	status = read_label(device, volume, err);
	if (status == UGDS_ST_OK)
		status = count_space(volume, err);
	if (status == UGDS_ST_OK)
		*volume_out = volume;
	else
		ugds_st_import_volume_free(volume);
	return status;
}

UGST_API void ugds_st_import_volume_free(ugds_st_import_volume *volume)
{
	if (!volume)
		return;
	ugst_catalog_free(&volume->catalog);
	free(volume);
}

UGST_API int
ugds_st_import_volume_info(const ugds_st_import_volume *volume,
                           struct ugds_st_import_volume_info *info_out)
{
	const struct ugst_volume_record *record;
	const struct ugst_identity *identity;
	struct ugds_st_import_volume_info info = {0};

	if (!volume || !info_out)
		return UGDS_ST_INVALID_ARG;
	record = &volume->catalog.volume;
	identity = &record->identity;
	memcpy(info.uuid, record->uuid.bytes, sizeof(info.uuid));
	info.label_sequence = volume->sequence;
	info.lba_bytes = record->lba_bytes;
	info.damaged_slots = volume->damaged_slots;
	info.bytes = record->bytes;
	info.start_bytes = record->start_bytes;
	info.free_bytes = volume->space.free_bytes;
	info.largest_gap_bytes = volume->space.largest_bytes;
	info.used_bytes = record->bytes - UGST_OBJECTS_OFF -
	                  UGST_VOLUME_TAIL_BYTES - info.free_bytes;
	info.object_count = volume->catalog.object_count;
	info.checkpoint_count = volume->catalog.record_count;
	info.identity_known = identity->known;
	info.nsid = identity->nsid;
	info.serial = identity->serial;
	info.model = identity->model;
	memcpy(info.nguid, identity->nguid, sizeof(info.nguid));
	memcpy(info.eui64, identity->eui64, sizeof(info.eui64));
	memcpy(info.ns_uuid, identity->uuid.bytes, sizeof(info.ns_uuid));
	return ugst_opts_write(info_out, &info, sizeof(info));
}

UGST_API int
ugds_st_import_volume_object(const ugds_st_import_volume *volume, size_t index,
                             struct ugds_st_import_object_info *info_out)
{
	const struct ugst_object *object;
	struct ugds_st_import_object_info info = {0};

	if (!volume || !info_out || index >= volume->catalog.object_count)
		return UGDS_ST_INVALID_ARG;
	object = &volume->catalog.objects[index];
	info.id = object->id;
	info.name = object->name;
	info.bytes = object->bytes;
	info.base_lba = object->base_lba;
	info.lba_bytes = object->lba_bytes;
	info.lead_bytes = object->lead_bytes;
	memcpy(info.header_hash, object->header_hash.bytes,
	       sizeof(info.header_hash));
	memcpy(info.hash, object->hash.bytes, sizeof(info.hash));
	for (size_t i = 0; i < volume->catalog.record_count; i++)
		info.user_count += ugst_record_lists(
			&volume->catalog.records[i], object->id);
	return ugst_opts_write(info_out, &info, sizeof(info));
}

UGST_API int ugds_st_import_volume_checkpoint(
	const ugds_st_import_volume *volume, size_t index,
	struct ugds_st_import_checkpoint_info *info_out)
{
	const struct ugst_record *record;
	struct ugds_st_import_checkpoint_info info = {0};

	if (!volume || !info_out || index >= volume->catalog.record_count)
		return UGDS_ST_INVALID_ARG;
	record = &volume->catalog.records[index];
	memcpy(info.uuid, record->checkpoint.bytes, sizeof(info.uuid));
	info.model = record->model;
	info.manifest = record->manifest;
	info.generation = record->generation;
	info.committed = record->committed;
	info.object_ids = record->object_ids;
	info.object_count = record->object_count;
	for (size_t i = 0; i < record->object_count; i++)
		info.bytes += ugst_catalog_object(&volume->catalog,
		                                  record->object_ids[i])
		                      ->bytes;
	return ugst_opts_write(info_out, &info, sizeof(info));
}
