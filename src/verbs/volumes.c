/* SPDX-License-Identifier: BSD-3-Clause */
/* volumes.c - labels against a manifest; see volumes.h. */
#include "base/common.h"

#include "base/err.h"
#include "base/mem.h"
#include "base/units.h"
#include "devices/blockdev.h"
#include "devices/identity_sysfs.h"
#include "pure/label.h"
#include "verbs/volumes.h"

/* A writer may be between its two slots: so often is a label read before what
 * it says is believed to be wrong. */
#define LABEL_TRIES 3

static const struct ugst_device *device_of(const ugds_st_store *store,
                                           uint32_t source)
{
	return ugst_queue_device(store->path.sources[source].queue);
}

/* ------------------------------------------------------------------- labels */

/* Read a slot as far as it is used. A slot that cannot be read is a damaged
 * one: the other may serve. */
static enum ugst_slot_state read_slot(const ugds_st_store *store,
                                      uint32_t source, uint64_t off,
                                      struct ugst_label *label_out,
                                      struct ugds_st_error *err)
{
	enum ugst_slot_state state = UGST_SLOT_DAMAGED;
	char *slot = malloc(UGST_SLOT_HEADER_BYTES);
	size_t catalog_bytes;
	char *grown;

	if (!slot) {
		(void)ugst_fail_memory(err);
		return UGST_SLOT_DAMAGED;
	}
	if (ugst_store_fetch(store, source, off, UGST_SLOT_HEADER_BYTES, slot,
	                     "label", err))
		goto out;
	catalog_bytes = ugst_slot_catalog_bytes(slot);
	grown = realloc(slot, UGST_SLOT_HEADER_BYTES + catalog_bytes);
	if (!grown) {
		(void)ugst_fail_memory(err);
		goto out;
	}
	slot = grown;
	if (catalog_bytes &&
	    ugst_store_fetch(store, source, off + UGST_SLOT_HEADER_BYTES,
	                     catalog_bytes, slot + UGST_SLOT_HEADER_BYTES,
	                     "label", err))
		goto out;
	state = ugst_slot_decode(slot, UGST_SLOT_HEADER_BYTES + catalog_bytes,
	                         label_out, err);
out:
	free(slot);
	return state;
}

/* The label of a volume that starts at start_off of a source. */
static int read_label(const ugds_st_store *store, uint32_t source,
                      uint64_t start_off, struct ugst_label *label_out,
                      struct ugds_st_error *err)
{
	struct ugst_label labels[UGST_SLOT_COUNT] = {0};
	enum ugst_slot_state states[UGST_SLOT_COUNT];
	struct ugds_st_error slot_errs[UGST_SLOT_COUNT] = {0};
	unsigned unreadable_count = 0;
	unsigned chosen;
	int status;

	if (start_off > device_of(store, source)->bytes ||
	    device_of(store, source)->bytes - start_off < UGST_OBJECTS_OFF)
		return ugst_fail(err, UGDS_ST_NOT_FOUND, "%s: has no label",
		                 device_of(store, source)->path);
	for (unsigned i = 0; i < UGST_SLOT_COUNT; i++) {
		states[i] = read_slot(store, source,
		                      start_off + i * UGST_SLOT_BYTES,
		                      &labels[i], &slot_errs[i]);
		if (states[i] != UGST_SLOT_DAMAGED)
			continue;
		unreadable_count += slot_errs[i].status == UGDS_ST_IO;
		/* Lost, busy, out of memory: that says nothing of a slot. A
		 * block that cannot be read is one slot's, unless it is both.
		 */
		if (slot_errs[i].status == UGDS_ST_DEVICE_LOST ||
		    slot_errs[i].status == UGDS_ST_BUSY ||
		    slot_errs[i].status == UGDS_ST_NO_MEMORY ||
		    unreadable_count == UGST_SLOT_COUNT) {
			if (err)
				*err = slot_errs[i];
			status = slot_errs[i].status;
			goto out;
		}
	}
	status = ugst_label_choose(states, labels, &chosen, err);
	if (status)
		ugst_err_prefix(err, device_of(store, source)->path);
	if (status == UGDS_ST_OK) {
		*label_out = labels[chosen];
		memset(&labels[chosen], 0, sizeof(labels[chosen]));
	}
out:
	for (unsigned i = 0; i < UGST_SLOT_COUNT; i++)
		ugst_label_free(&labels[i]);
	return status;
}

/* The label of a source: at its start, or, where a whole namespace is opened
 * whose volume is a partition, where the manifest says that it starts. uGDS
 * opens whole namespaces only. */
static int find_label(const ugds_st_store *store, uint32_t source,
                      const struct ugst_manifest *manifest,
                      struct ugst_label *label_out, uint64_t *start_out,
                      struct ugds_st_error *err)
{
	int status = read_label(store, source, 0, label_out, err);

	*start_out = 0;
	for (size_t i = 0;
	     status == UGDS_ST_NOT_FOUND && i < manifest->volume_count; i++) {
		uint64_t start_off = manifest->volumes[i].record.start_bytes;

		if (start_off == 0)
			continue;
		*start_out = start_off;
		status = read_label(store, source, start_off, label_out, err);
	}
	return status;
}

/* ------------------------------------------------- label against manifest */

static int check_identity(const struct ugst_device *device,
                          const struct ugst_identity *expected,
                          struct ugds_st_error *err)
{
	struct ugst_identity found = {0};
	const char *what = "";
	char expected_text[64] = "";
	char found_text[64] = "";

	if (!device->blockdev || device->blockdev->kind != UGST_DEVICE_BLOCK)
		return UGDS_ST_OK; /* cannot be asked: not checked */
	ugst_identity_sysfs("/sys", device->blockdev->device, &found);
	if (ugst_identity_compare(expected, &found, &what, expected_text,
	                          found_text) != 0)
		return UGDS_ST_OK;
	return ugst_fail(err, UGDS_ST_MISMATCH,
	                 "%s: wrong device: expected %s %s, found %s (if the "
	                 "volume was moved here: ugds-st-import --adopt)",
	                 device->path, what, expected_text, found_text);
}

static int check_volume(const struct ugst_device *device, uint64_t start_off,
                        const struct ugst_label *label,
                        const struct ugst_manifest_volume *volume,
                        struct ugds_st_error *err)
{
	const struct ugst_volume_record *found = &label->catalog.volume;
	const struct ugst_volume_record *expected = &volume->record;

	if (label->sequence < volume->label_sequence)
		return ugst_fail(
			err, UGDS_ST_MISMATCH,
			"%s: an old copy of the volume, or a damaged slot: "
			"expected label sequence %llu or later, found %llu",
			device->path,
			(unsigned long long)volume->label_sequence,
			(unsigned long long)label->sequence);
	if (found->lba_bytes != expected->lba_bytes ||
	    found->bytes != expected->bytes)
		return ugst_fail(
			err, UGDS_ST_MISMATCH,
			"%s: expected a volume of %llu bytes in blocks "
			"of %u, found one of %llu in blocks of %u",
			device->path, (unsigned long long)expected->bytes,
			expected->lba_bytes, (unsigned long long)found->bytes,
			found->lba_bytes);
	if (found->bytes > device->bytes - start_off)
		return ugst_fail(
			err, UGDS_ST_MISMATCH,
			"%s: too small: expected %llu bytes from byte "
			"%llu, found %llu",
			device->path, (unsigned long long)found->bytes,
			(unsigned long long)start_off,
			(unsigned long long)(device->bytes - start_off));
	return check_identity(device, &found->identity, err);
}

static int check_object(const struct ugst_device *device,
                        const struct ugst_label *label,
                        const struct ugst_manifest_shard *shard,
                        const struct ugst_manifest_copy *copy,
                        struct ugds_st_error *err)
{
	const struct ugst_object *object =
		ugst_catalog_object(&label->catalog, copy->object_id);
	char expected[UGST_HASH_TEXT_BYTES];
	char found[UGST_HASH_TEXT_BYTES];

	if (!object)
		return ugst_fail(err, UGDS_ST_MISMATCH,
		                 "%s: stale manifest: expected object %llu "
		                 "(shard %s), found no such object",
		                 device->path,
		                 (unsigned long long)copy->object_id,
		                 shard->name);
	if (object->base_lba != copy->base_lba ||
	    object->lba_bytes != copy->lba_bytes ||
	    object->lead_bytes != copy->lead_bytes ||
	    object->bytes != shard->bytes)
		return ugst_fail(
			err, UGDS_ST_MISMATCH,
			"%s: object %llu (shard %s): expected %llu bytes at "
			"LBA %llu + %u, found %llu at LBA %llu + %u",
			device->path, (unsigned long long)copy->object_id,
			shard->name, (unsigned long long)shard->bytes,
			(unsigned long long)copy->base_lba, copy->lead_bytes,
			(unsigned long long)object->bytes,
			(unsigned long long)object->base_lba,
			object->lead_bytes);
	if (!ugst_hash_equal(&object->header_hash, &shard->header_hash) ||
	    !ugst_hash_equal(&object->hash, &shard->hash))
		return ugst_fail(
			err, UGDS_ST_MISMATCH,
			"%s: object %llu (shard %s): expected hash "
			"%s, found %s",
			device->path, (unsigned long long)copy->object_id,
			shard->name, ugst_hash_text(&shard->hash, expected),
			ugst_hash_text(&object->hash, found));
	return UGDS_ST_OK;
}

static int check_objects(const struct ugst_device *device,
                         const struct ugst_label *label,
                         const struct ugst_manifest *manifest, size_t volume,
                         struct ugds_st_error *err)
{
	for (size_t i = 0; i < manifest->shard_count; i++) {
		const struct ugst_manifest_shard *shard = &manifest->shards[i];

		for (size_t k = 0; k < shard->copy_count; k++) {
			int status;

			if (shard->copies[k].volume != volume)
				continue;
			status = check_object(device, label, shard,
			                      &shard->copies[k], err);
			if (status)
				return status;
		}
	}
	return UGDS_ST_OK;
}

/* ------------------------------------------------------------------ matching
 */

/* Index of the manifest's volume with this UUID; volume_count: none. */
static size_t volume_of(const struct ugst_manifest *manifest,
                        const struct ugst_uuid *uuid)
{
	size_t i = 0;

	while (i < manifest->volume_count &&
	       !ugst_uuid_equal(&manifest->volumes[i].record.uuid, uuid))
		i++;
	return i;
}

static int match_label(const ugds_st_store *store, uint32_t source,
                       const struct ugst_manifest *manifest,
                       const struct ugst_label *label, uint64_t start_off,
                       struct ugst_found_volume *found,
                       struct ugds_st_error *err)
{
	const struct ugst_device *device = device_of(store, source);
	const struct ugst_uuid *uuid = &label->catalog.volume.uuid;
	size_t volume = volume_of(manifest, uuid);
	char text[UGST_UUID_TEXT_BYTES];
	int status;

	if (volume == manifest->volume_count)
		return ugst_fail(err, UGDS_ST_MISMATCH,
		                 "%s: wrong device: expected a volume of the "
		                 "manifest, found volume %s",
		                 device->path, ugst_uuid_text(uuid, text));
	if (found[volume].source != UGST_NO_SOURCE)
		return ugst_fail(err, UGDS_ST_MISMATCH,
		                 "%s: volume %s is on %s too: one is a clone",
		                 device->path, ugst_uuid_text(uuid, text),
		                 device_of(store, found[volume].source)->path);
	status = check_volume(device, start_off, label,
	                      &manifest->volumes[volume], err);
	if (status == UGDS_ST_OK)
		status = check_objects(device, label, manifest, volume, err);
	if (status == UGDS_ST_OK)
		found[volume] = (struct ugst_found_volume){source, start_off};
	return status;
}

static int match_source(const ugds_st_store *store, uint32_t source,
                        const struct ugst_manifest *manifest,
                        struct ugst_found_volume *found,
                        struct ugds_st_error *err)
{
	int status = UGDS_ST_OK;

	for (int i = 0; i < LABEL_TRIES; i++) {
		struct ugst_label label;
		uint64_t start_off;

		status = find_label(store, source, manifest, &label, &start_off,
		                    err);
		if (status == UGDS_ST_OK) {
			status = match_label(store, source, manifest, &label,
			                     start_off, found, err);
			ugst_label_free(&label);
		}
		if (status != UGDS_ST_MISMATCH && status != UGDS_ST_CORRUPT)
			break;
	}
	return status;
}

/* Does a device show no label at all, as if it was not there? One that shows a
 * wrong one is somebody's mistake. */
static bool is_missing(int status)
{
	return status == UGDS_ST_NOT_FOUND || status == UGDS_ST_CORRUPT ||
	       status == UGDS_ST_IO;
}

/* Is a copy of every shard on what was found? */
static bool is_served(const struct ugst_manifest *manifest,
                      const struct ugst_found_volume *found)
{
	for (size_t i = 0; i < manifest->shard_count; i++) {
		const struct ugst_manifest_shard *shard = &manifest->shards[i];
		size_t k = 0;

		while (k < shard->copy_count &&
		       found[shard->copies[k].volume].source == UGST_NO_SOURCE)
			k++;
		if (k == shard->copy_count)
			return false;
	}
	return true;
}

/* Some volumes are not there, which is no failure if the others have all. If
 * not, the first device that showed no label is why, as far as is known. */
static int check_degraded(const struct ugst_manifest *manifest,
                          const struct ugst_found_volume *found,
                          const struct ugds_st_error *why,
                          struct ugds_st_error *err)
{
	if (!why->status || is_served(manifest, found))
		return UGDS_ST_OK;
	if (err)
		*err = *why;
	return why->status;
}

static int check_all_found(const struct ugst_manifest *manifest,
                           const struct ugst_found_volume *found,
                           struct ugds_st_error *err)
{
	char text[UGST_UUID_TEXT_BYTES];
	size_t i = 0;

	while (i < manifest->volume_count && found[i].source != UGST_NO_SOURCE)
		i++;
	if (i == manifest->volume_count)
		return UGDS_ST_OK;
	return ugst_fail(
		err, UGDS_ST_NOT_FOUND,
		"volume %s (was at %s) is on none of the devices given",
		ugst_uuid_text(&manifest->volumes[i].record.uuid, text),
		manifest->volumes[i].path);
}

int ugst_volumes_match(ugds_st_store *store,
                       const struct ugst_manifest *manifest, bool degraded_ok,
                       struct ugst_found_volume *found_out,
                       struct ugds_st_error *err)
{
	struct ugds_st_error first = {0};

	for (size_t i = 0; i < manifest->volume_count; i++)
		found_out[i].source = UGST_NO_SOURCE;
	for (uint32_t i = 0; i < store->path.source_count; i++) {
		struct ugds_st_error why = {0};
		int status = match_source(store, i, manifest, found_out, &why);

		if (status && !(degraded_ok && is_missing(status))) {
			if (err)
				*err = why;
			return status;
		}
		if (status && !first.status)
			first = why;
	}
	if (!degraded_ok)
		return check_all_found(manifest, found_out, err);
	return check_degraded(manifest, found_out, &first, err);
}
