/* SPDX-License-Identifier: BSD-3-Clause */
/* import_show.c - what ugds-st-import prints; see import_show.h. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli.h"
#include "import_show.h"

static const uint8_t zeros[16];

static void put_string(const char *name, const char *text)
{
	(void)printf("\"%s\": ", name);
	cli_put_json(stdout, text, strlen(text));
}

/* Numbers that may pass 2^53 are strings, as in the formats. */
static void put_u64(const char *name, uint64_t value)
{
	(void)printf("\"%s\": \"%" PRIu64 "\"", name, value);
}

static void put_hex(const uint8_t *bytes, size_t count)
{
	for (size_t i = 0; i < count; i++)
		(void)printf("%02x", bytes[i]);
}

static void put_text(const char *text)
{
	(void)cli_put_name(stdout, text, strlen(text));
}

void show_formatted(const char *device, const uint8_t uuid[16], bool json)
{
	char text[CLI_UUID_BYTES];

	if (json) {
		(void)fputs("{", stdout);
		put_string("device", device);
		(void)printf(", \"uuid\": \"%s\"}\n", cli_uuid(uuid, text));
		return;
	}
	put_text(device);
	(void)printf(": volume %s\n", cli_uuid(uuid, text));
}

void show_result(const struct ugds_st_import_result *result, uint32_t copies,
                 const char *manifest, bool json)
{
	char uuid[CLI_UUID_BYTES];
	char copied[CLI_HUMAN_BYTES];
	char reused[CLI_HUMAN_BYTES];

	(void)cli_uuid(result->checkpoint_uuid, uuid);
	if (json) {
		(void)fputs("{", stdout);
		put_string("manifest", manifest);
		(void)printf(", \"checkpoint\": \"%s\", ", uuid);
		put_u64("generation", result->generation);
		(void)printf(", \"published\": %s, \"shards\": %zu, "
		             "\"copies\": %" PRIu32 ", \"copied\": %zu, ",
		             result->published ? "true" : "false",
		             result->shard_count, copies, result->copied_count);
		put_u64("copied_bytes", result->copied_bytes);
		(void)printf(", \"reused\": %zu, ", result->reused_count);
		put_u64("reused_bytes", result->reused_bytes);
		(void)fputs("}\n", stdout);
		return;
	}
	put_text(manifest);
	(void)printf(": %s generation %" PRIu64 " of checkpoint %s\n%zu shards",
	             result->published ? "published" : "unchanged,",
	             result->generation, uuid, result->shard_count);
	if (copies > 1)
		(void)printf(", %" PRIu32 " copies of each", copies);
	(void)printf(": %zu copied (%s), %zu already there (%s)\n",
	             result->copied_count,
	             cli_human_bytes(result->copied_bytes, copied),
	             result->reused_count,
	             cli_human_bytes(result->reused_bytes, reused));
}

void show_dropped(const struct ugds_st_import_drop_result *result, bool json)
{
	char uuid[CLI_UUID_BYTES];
	char freed[CLI_HUMAN_BYTES];

	(void)cli_uuid(result->checkpoint_uuid, uuid);
	if (json) {
		(void)printf("{\"checkpoint\": \"%s\", \"records\": %zu, "
		             "\"objects\": %zu, ",
		             uuid, result->record_count, result->object_count);
		put_u64("freed_bytes", result->freed_bytes);
		(void)fputs("}\n", stdout);
		return;
	}
	(void)printf("checkpoint %s: %zu records dropped, %zu objects freed "
	             "(%s)\n",
	             uuid, result->record_count, result->object_count,
	             cli_human_bytes(result->freed_bytes, freed));
}

/* ----------------------------------------------------------------- list */

static struct ugds_st_import_object_info
object_at(const ugds_st_import_volume *volume, size_t index)
{
	struct ugds_st_import_object_info info = {.struct_size = sizeof(info)};

	(void)ugds_st_import_volume_object(volume, index, &info);
	return info;
}

static struct ugds_st_import_checkpoint_info
checkpoint_at(const ugds_st_import_volume *volume, size_t index)
{
	struct ugds_st_import_checkpoint_info info = {.struct_size =
	                                                      sizeof(info)};

	(void)ugds_st_import_volume_checkpoint(volume, index, &info);
	return info;
}

static void json_hex(const char *name, const uint8_t *bytes, size_t count)
{
	if (!memcmp(bytes, zeros, count))
		return;
	(void)printf(", \"%s\": \"", name);
	put_hex(bytes, count);
	(void)fputs("\"", stdout);
}

static void json_identity(const struct ugds_st_import_volume_info *info)
{
	char uuid[CLI_UUID_BYTES];

	(void)printf("{\"nsid\": %" PRIu32 ", ", info->nsid);
	put_string("serial", info->serial);
	(void)fputs(", ", stdout);
	put_string("model", info->model);
	json_hex("nguid", info->nguid, sizeof(info->nguid));
	json_hex("eui64", info->eui64, sizeof(info->eui64));
	if (memcmp(info->ns_uuid, zeros, sizeof(info->ns_uuid)))
		(void)printf(", \"uuid\": \"%s\"",
		             cli_uuid(info->ns_uuid, uuid));
	(void)fputs("}", stdout);
}

static void json_object(const struct ugds_st_import_object_info *info)
{
	(void)fputs("{", stdout);
	put_u64("id", info->id);
	(void)fputs(", ", stdout);
	put_string("name", info->name);
	(void)fputs(", ", stdout);
	put_u64("bytes", info->bytes);
	(void)fputs(", ", stdout);
	put_u64("base_lba", info->base_lba);
	(void)printf(", \"lba_bytes\": %" PRIu32 ", \"lead_bytes\": %" PRIu32
	             ", \"users\": %zu",
	             info->lba_bytes, info->lead_bytes, info->user_count);
	(void)fputs(", \"header_hash\": \"", stdout);
	put_hex(info->header_hash, sizeof(info->header_hash));
	(void)fputs("\", \"hash\": \"", stdout);
	put_hex(info->hash, sizeof(info->hash));
	(void)fputs("\"}", stdout);
}

static void json_checkpoint(const struct ugds_st_import_checkpoint_info *info)
{
	char uuid[CLI_UUID_BYTES];

	(void)printf("{\"uuid\": \"%s\", ", cli_uuid(info->uuid, uuid));
	put_string("model", info->model);
	(void)fputs(", ", stdout);
	put_string("manifest", info->manifest);
	(void)fputs(", ", stdout);
	put_u64("generation", info->generation);
	(void)printf(", \"state\": \"%s\", ",
	             info->committed ? "committed" : "pending");
	put_u64("bytes", info->bytes);
	(void)fputs(", \"objects\": [", stdout);
	for (size_t i = 0; i < info->object_count; i++)
		(void)printf("%s\"%" PRIu64 "\"", i ? ", " : "",
		             info->object_ids[i]);
	(void)fputs("]}", stdout);
}

static void list_json(const ugds_st_import_volume *volume, const char *device,
                      const struct ugds_st_import_volume_info *info)
{
	char uuid[CLI_UUID_BYTES];

	(void)fputs("{", stdout);
	put_string("device", device);
	(void)printf(", \"uuid\": \"%s\", ", cli_uuid(info->uuid, uuid));
	put_u64("label_sequence", info->label_sequence);
	(void)printf(", \"damaged_slots\": %d, \"lba_bytes\": %" PRIu32 ", ",
	             info->damaged_slots, info->lba_bytes);
	put_u64("bytes", info->bytes);
	(void)fputs(", ", stdout);
	put_u64("start_bytes", info->start_bytes);
	(void)fputs(", ", stdout);
	put_u64("used_bytes", info->used_bytes);
	(void)fputs(", ", stdout);
	put_u64("free_bytes", info->free_bytes);
	(void)fputs(", ", stdout);
	put_u64("largest_gap_bytes", info->largest_gap_bytes);
	(void)fputs(", \"identity\": ", stdout);
	if (info->identity_known)
		json_identity(info);
	else
		(void)fputs("null", stdout);
	(void)fputs(", \"checkpoints\": [", stdout);
	for (size_t i = 0; i < info->checkpoint_count; i++) {
		struct ugds_st_import_checkpoint_info checkpoint =
			checkpoint_at(volume, i);

		(void)fputs(i ? ", " : "", stdout);
		json_checkpoint(&checkpoint);
	}
	(void)fputs("], \"objects\": [", stdout);
	for (size_t i = 0; i < info->object_count; i++) {
		struct ugds_st_import_object_info object = object_at(volume, i);

		(void)fputs(i ? ", " : "", stdout);
		json_object(&object);
	}
	(void)fputs("]}\n", stdout);
}

static void text_identity(const struct ugds_st_import_volume_info *info)
{
	char uuid[CLI_UUID_BYTES];

	if (!info->identity_known)
		return;
	(void)printf("namespace   %" PRIu32 " of ", info->nsid);
	put_text(info->serial);
	(void)fputs(" (", stdout);
	put_text(info->model);
	(void)fputs(")", stdout);
	if (memcmp(info->nguid, zeros, sizeof(info->nguid))) {
		(void)fputs(", NGUID ", stdout);
		put_hex(info->nguid, sizeof(info->nguid));
	}
	if (memcmp(info->eui64, zeros, sizeof(info->eui64))) {
		(void)fputs(", EUI-64 ", stdout);
		put_hex(info->eui64, sizeof(info->eui64));
	}
	if (memcmp(info->ns_uuid, zeros, sizeof(info->ns_uuid)))
		(void)printf(", UUID %s", cli_uuid(info->ns_uuid, uuid));
	(void)fputs("\n", stdout);
}

static void list_text(const ugds_st_import_volume *volume, const char *device,
                      const struct ugds_st_import_volume_info *info)
{
	char text[CLI_UUID_BYTES];
	char a[CLI_HUMAN_BYTES];
	char b[CLI_HUMAN_BYTES];
	char c[CLI_HUMAN_BYTES];

	(void)fputs("volume      ", stdout);
	put_text(device);
	(void)printf(", %s\n", cli_uuid(info->uuid, text));
	(void)printf("size        %s in blocks of %" PRIu32
	             " bytes, from byte %" PRIu64 " of its disk\n",
	             cli_human_bytes(info->bytes, a), info->lba_bytes,
	             info->start_bytes);
	(void)printf("label       sequence %" PRIu64 "%s\n",
	             info->label_sequence,
	             info->damaged_slots
	                     ? ", one slot damaged: the next import repairs it"
	                     : "");
	text_identity(info);
	(void)printf("space       %s used, %s free, largest gap %s\n",
	             cli_human_bytes(info->used_bytes, a),
	             cli_human_bytes(info->free_bytes, b),
	             cli_human_bytes(info->largest_gap_bytes, c));
	for (size_t i = 0; i < info->checkpoint_count; i++) {
		struct ugds_st_import_checkpoint_info checkpoint =
			checkpoint_at(volume, i);

		(void)printf("checkpoint  %s generation %" PRIu64
		             " %s: %zu objects, %s, ",
		             cli_uuid(checkpoint.uuid, text),
		             checkpoint.generation,
		             checkpoint.committed ? "committed" : "pending",
		             checkpoint.object_count,
		             cli_human_bytes(checkpoint.bytes, a));
		put_text(checkpoint.model);
		(void)fputs(", ", stdout);
		put_text(checkpoint.manifest);
		(void)fputs("\n", stdout);
	}
	for (size_t i = 0; i < info->object_count; i++) {
		struct ugds_st_import_object_info object = object_at(volume, i);

		(void)printf("object      %" PRIu64 " at LBA %" PRIu64
		             ", lead %" PRIu32 ": %s, used by %zu, ",
		             object.id, object.base_lba, object.lead_bytes,
		             cli_human_bytes(object.bytes, a),
		             object.user_count);
		put_text(object.name);
		(void)fputs("\n", stdout);
	}
}

void show_volume(const ugds_st_import_volume *volume, const char *device,
                 bool json)
{
	struct ugds_st_import_volume_info info = {.struct_size = sizeof(info)};

	(void)ugds_st_import_volume_info(volume, &info);
	if (json)
		list_json(volume, device, &info);
	else
		list_text(volume, device, &info);
}
