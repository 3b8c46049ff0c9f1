/* SPDX-License-Identifier: BSD-3-Clause */
/* volume_record.c - volumes, identities and places; see volume_record.h. */
#include "base/common.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/err.h"
#include "base/units.h"
#include "pure/label.h"
#include "pure/volume_record.h"

/* Both slots, the tail, and room for one object. */
#define VOLUME_MIN_BYTES \
	(UGST_OBJECTS_OFF + UGST_OBJECT_ALIGN + UGST_VOLUME_TAIL_BYTES)

int ugst_json_get_uuid(const struct ugst_json *object, const char *member,
                       struct ugst_uuid *uuid_out, struct ugds_st_error *err)
{
	char shown[UGST_ESCAPED_BYTES];
	struct ugst_uuid uuid;
	const char *text;
	int status = ugst_json_get_string(object, member, &text, err);

	if (status != UGDS_ST_OK)
		return status;
	if (!ugst_uuid_from_text(text, &uuid) || ugst_uuid_is_nil(&uuid))
		return ugst_fail(
			err, UGDS_ST_FORMAT,
			"member \"%s\": expected a UUID, found \"%s\"", member,
			ugst_escape(text, strlen(text), shown, sizeof(shown)));
	*uuid_out = uuid;
	return UGDS_ST_OK;
}

bool ugst_json_add_uuid(struct ugst_json *parent, const char *name,
                        const struct ugst_uuid *uuid)
{
	char text[UGST_UUID_TEXT_BYTES];

	return ugst_json_add_string(parent, name, ugst_uuid_text(uuid, text));
}

static int get_lba_bytes(const struct ugst_json *json, uint32_t *lba_bytes_out,
                         struct ugds_st_error *err)
{
	uint32_t lba_bytes;
	int status = ugst_json_get_u32(json, "lba_bytes", UGST_LBA_BYTES_MIN,
	                               UINT32_MAX, &lba_bytes, err);

	if (status != UGDS_ST_OK)
		return status;
	if (!ugst_is_pow2(lba_bytes))
		return ugst_fail(err, UGDS_ST_FORMAT,
		                 "member \"lba_bytes\": expected a power of "
		                 "two, found %" PRIu32,
		                 lba_bytes);
	if (lba_bytes > UGST_LBA_BYTES_MAX)
		return ugst_fail(err, UGDS_ST_UNSUPPORTED,
		                 "member \"lba_bytes\": expected a block size "
		                 "of at most %u, found %" PRIu32,
		                 UGST_LBA_BYTES_MAX, lba_bytes);
	*lba_bytes_out = lba_bytes;
	return UGDS_ST_OK;
}

/* ----------------------------------------------------------- identities */

static bool all_zero(const uint8_t *bytes, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (bytes[i])
			return false;
	return true;
}

/* An optional string that fits; absent is "". */
static int get_short_text(const struct ugst_json *json, const char *member,
                          char *text_out, size_t room_bytes,
                          struct ugds_st_error *err)
{
	const char *text = "";
	int status = UGDS_ST_OK;

	if (ugst_json_has(json, member))
		status = ugst_json_get_string(json, member, &text, err);
	if (status != UGDS_ST_OK)
		return status;
	if (strlen(text) >= room_bytes)
		return ugst_fail(err, UGDS_ST_FORMAT,
		                 "member \"%s\": expected at most %zu bytes, "
		                 "found %zu",
		                 member, room_bytes - 1, strlen(text));
	memcpy(text_out, text, strlen(text) + 1);
	return UGDS_ST_OK;
}

static int get_identity(const struct ugst_json *json,
                        struct ugst_identity *identity_out, bool *unknown_out,
                        struct ugds_st_error *err)
{
	static const char *const known[] = {"nsid",  "serial", "model", "nguid",
	                                    "eui64", "uuid",   NULL};
	struct ugst_identity identity = {.known = true};
	int status;

	status = get_short_text(json, "serial", identity.serial,
	                        sizeof(identity.serial), err);
	if (status == UGDS_ST_OK)
		status = get_short_text(json, "model", identity.model,
		                        sizeof(identity.model), err);
	if (status == UGDS_ST_OK && ugst_json_has(json, "nsid"))
		status = ugst_json_get_u32(json, "nsid", 1, UINT32_MAX,
		                           &identity.nsid, err);
	if (status == UGDS_ST_OK && ugst_json_has(json, "nguid"))
		status = ugst_json_get_hex(json, "nguid", identity.nguid,
		                           sizeof(identity.nguid), err);
	if (status == UGDS_ST_OK && ugst_json_has(json, "eui64"))
		status = ugst_json_get_hex(json, "eui64", identity.eui64,
		                           sizeof(identity.eui64), err);
	if (status == UGDS_ST_OK && ugst_json_has(json, "uuid"))
		status = ugst_json_get_uuid(json, "uuid", &identity.uuid, err);
	if (status != UGDS_ST_OK)
		return status;
	if (ugst_json_unknown(json, known))
		*unknown_out = true;
	*identity_out = identity;
	return UGDS_ST_OK;
}

static bool add_identity(const struct ugst_identity *identity,
                         struct ugst_json *json)
{
	struct ugst_json *into = ugst_json_add_object(json, "identity");
	bool ok = into != NULL;

	if (identity->nsid)
		ok &= ugst_json_add_u32(into, "nsid", identity->nsid);
	if (identity->serial[0])
		ok &= ugst_json_add_string(into, "serial", identity->serial);
	if (identity->model[0])
		ok &= ugst_json_add_string(into, "model", identity->model);
	if (!all_zero(identity->nguid, sizeof(identity->nguid)))
		ok &= ugst_json_add_hex(into, "nguid", identity->nguid,
		                        sizeof(identity->nguid));
	if (!all_zero(identity->eui64, sizeof(identity->eui64)))
		ok &= ugst_json_add_hex(into, "eui64", identity->eui64,
		                        sizeof(identity->eui64));
	if (!ugst_uuid_is_nil(&identity->uuid))
		ok &= ugst_json_add_uuid(into, "uuid", &identity->uuid);
	return ok;
}

static int differ_or_same(const char *what, const char *expected,
                          const char *found, const char **what_out,
                          char expected_text[64], char found_text[64])
{
	if (!strcmp(expected, found))
		return 1;
	*what_out = what;
	(void)snprintf(expected_text, 64, "%s", expected);
	(void)snprintf(found_text, 64, "%s", found);
	return 0;
}

static const char *hex_text(const uint8_t *bytes, size_t count, char text[64])
{
	for (size_t i = 0; i < count; i++)
		(void)snprintf(text + 2 * i, 3, "%02x", bytes[i]);
	return text;
}

int ugst_identity_compare(const struct ugst_identity *expected,
                          const struct ugst_identity *found,
                          const char **what_out, char expected_text[64],
                          char found_text[64])
{
	const struct ugst_identity *e = expected;
	const struct ugst_identity *f = found;
	char a[64];
	char b[64];

	if (!e->known || !f->known)
		return -1;
	if (!all_zero(e->nguid, sizeof(e->nguid)) &&
	    !all_zero(f->nguid, sizeof(f->nguid)))
		return differ_or_same("NGUID",
		                      hex_text(e->nguid, sizeof(e->nguid), a),
		                      hex_text(f->nguid, sizeof(f->nguid), b),
		                      what_out, expected_text, found_text);
	if (!all_zero(e->eui64, sizeof(e->eui64)) &&
	    !all_zero(f->eui64, sizeof(f->eui64)))
		return differ_or_same("EUI-64",
		                      hex_text(e->eui64, sizeof(e->eui64), a),
		                      hex_text(f->eui64, sizeof(f->eui64), b),
		                      what_out, expected_text, found_text);
	if (!ugst_uuid_is_nil(&e->uuid) && !ugst_uuid_is_nil(&f->uuid))
		return differ_or_same("namespace UUID",
		                      ugst_uuid_text(&e->uuid, a),
		                      ugst_uuid_text(&f->uuid, b), what_out,
		                      expected_text, found_text);
	if (!e->serial[0] || !f->serial[0] || !e->nsid || !f->nsid)
		return -1;
	(void)snprintf(a, sizeof(a), "%s namespace %" PRIu32, e->serial,
	               e->nsid);
	(void)snprintf(b, sizeof(b), "%s namespace %" PRIu32, f->serial,
	               f->nsid);
	return differ_or_same("serial number and namespace", a, b, what_out,
	                      expected_text, found_text);
}

/* ------------------------------------------------------- volume records */

static bool is_known(const char *name, const char *const *also_known)
{
	static const char *const own[] = {"uuid",        "lba_bytes", "bytes",
	                                  "start_bytes", "identity",  NULL};

	for (size_t i = 0; own[i]; i++)
		if (!strcmp(own[i], name))
			return true;
	for (size_t i = 0; also_known[i]; i++)
		if (!strcmp(also_known[i], name))
			return true;
	return false;
}

int ugst_volume_record_parse(const struct ugst_json *json,
                             const char *const *also_known,
                             struct ugst_volume_record *record_out,
                             bool *unknown_out, struct ugds_st_error *err)
{
	struct ugst_volume_record record = {0};
	const struct ugst_json *identity = NULL;
	int status;

	status = ugst_json_get_uuid(json, "uuid", &record.uuid, err);
	if (status == UGDS_ST_OK)
		status = get_lba_bytes(json, &record.lba_bytes, err);
	if (status == UGDS_ST_OK)
		status = ugst_json_get_u64(json, "bytes", VOLUME_MIN_BYTES,
		                           UGST_OFF_MAX, &record.bytes, err);
	if (status == UGDS_ST_OK)
		status = ugst_json_get_u64(json, "start_bytes", 0,
		                           UGST_OFF_MAX - record.bytes,
		                           &record.start_bytes, err);
	if (status == UGDS_ST_OK && ugst_json_has(json, "identity"))
		status = ugst_json_get_object(json, "identity", &identity, err);
	if (status == UGDS_ST_OK && identity)
		status = get_identity(identity, &record.identity, unknown_out,
		                      err);
	if (status != UGDS_ST_OK)
		return status;
	if (!ugst_is_aligned(record.bytes, UGST_MIB))
		return ugst_fail(err, UGDS_ST_FORMAT,
		                 "member \"bytes\": expected a multiple of "
		                 "1 MiB, found %" PRIu64,
		                 record.bytes);
	if (!ugst_is_aligned(record.start_bytes, UGST_LBA_BYTES_MIN))
		return ugst_fail(err, UGDS_ST_FORMAT,
		                 "member \"start_bytes\": expected a multiple "
		                 "of %u, found %" PRIu64,
		                 UGST_LBA_BYTES_MIN, record.start_bytes);
	for (const struct ugst_json *member = ugst_json_first(json); member;
	     member = ugst_json_next(member))
		if (!is_known(ugst_json_name(member), also_known))
			*unknown_out = true;
	*record_out = record;
	return UGDS_ST_OK;
}

bool ugst_volume_record_print(const struct ugst_volume_record *record,
                              struct ugst_json *json)
{
	bool ok = ugst_json_add_uuid(json, "uuid", &record->uuid);

	ok &= ugst_json_add_u32(json, "lba_bytes", record->lba_bytes);
	ok &= ugst_json_add_u64(json, "bytes", record->bytes);
	ok &= ugst_json_add_u64(json, "start_bytes", record->start_bytes);
	if (record->identity.known)
		ok &= add_identity(&record->identity, json);
	return ok;
}

/* --------------------------------------------------------------- places */

/* false: the run does not lie in the object area. */
static bool run_fits(const struct ugst_place *place,
                     const struct ugst_volume_record *volume,
                     uint64_t shard_bytes)
{
	uint64_t area_end = volume->bytes - UGST_VOLUME_TAIL_BYTES;
	uint64_t base;
	uint64_t end;

	/* end stays below 2^64 - 4096, since area_end passes first. */
	return ugst_lba_to_bytes(place->base_lba, place->lba_bytes, &base) &&
	       base >= UGST_OBJECTS_OFF && base <= area_end &&
	       ugst_add(base + place->lead_bytes, shard_bytes, &end) &&
	       end <= area_end;
}

int ugst_place_parse(const struct ugst_json *json,
                     const struct ugst_volume_record *volume,
                     uint64_t shard_bytes, struct ugst_place *place_out,
                     struct ugds_st_error *err)
{
	struct ugst_place place;
	int status;

	status = get_lba_bytes(json, &place.lba_bytes, err);
	if (status == UGDS_ST_OK)
		status = ugst_json_get_u64(json, "base_lba", 1, UGST_OFF_MAX,
		                           &place.base_lba, err);
	if (status == UGDS_ST_OK)
		status = ugst_json_get_u32(json, "lead_bytes", 0,
		                           UGST_OBJECT_PAGE_BYTES - 1,
		                           &place.lead_bytes, err);
	if (status != UGDS_ST_OK)
		return status;
	if (!run_fits(&place, volume, shard_bytes))
		return ugst_fail(err, UGDS_ST_FORMAT,
		                 "base_lba %" PRIu64 " of %" PRIu32
		                 " bytes, lead %" PRIu32 ", %" PRIu64
		                 " bytes: expected a place between byte "
		                 "%" PRIu64 " and %" PRIu64
		                 " of the volume, found one outside",
		                 place.base_lba, place.lba_bytes,
		                 place.lead_bytes, shard_bytes,
		                 UGST_OBJECTS_OFF,
		                 volume->bytes - UGST_VOLUME_TAIL_BYTES);
	if (!ugst_is_aligned(place.base_lba * place.lba_bytes,
	                     UGST_OBJECT_ALIGN))
		return ugst_fail(err, UGDS_ST_FORMAT,
		                 "base_lba %" PRIu64 " of %" PRIu32
		                 " bytes: expected a multiple of 1 MiB, found "
		                 "byte %" PRIu64,
		                 place.base_lba, place.lba_bytes,
		                 place.base_lba * place.lba_bytes);
	*place_out = place;
	return UGDS_ST_OK;
}
