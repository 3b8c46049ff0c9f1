/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * volume_record.h - a volume record and a place on it as JSON: what catalog
 * and manifest have in common.
 */
#ifndef UGST_VOLUME_RECORD_H
#define UGST_VOLUME_RECORD_H

#include "base/common.h"
#include "pure/catalog.h"
#include "pure/json.h"

/*
 * ugst_volume_record_parse() - read and check the members of a volume record.
 *
 * @json: the object that has them.
 * @also_known: members that the caller reads itself, ended by NULL.
 * @unknown_out: set to true where there are members that nobody knows, else
 * left alone.
 * Return: OK; FORMAT; UNSUPPORTED (block size above 4096).
 */
int ugst_volume_record_parse(const struct ugst_json *json,
                             const char *const *also_known,
                             struct ugst_volume_record *record_out,
                             bool *unknown_out, struct ugds_st_error *err);

bool ugst_volume_record_print(const struct ugst_volume_record *record,
                              struct ugst_json *json);

/* An "uuid" that is not nil. */
int ugst_json_get_uuid(const struct ugst_json *object, const char *member,
                       struct ugst_uuid *uuid_out, struct ugds_st_error *err);

bool ugst_json_add_uuid(struct ugst_json *parent, const char *name,
                        const struct ugst_uuid *uuid);

/* A place on a volume. */
struct ugst_place {
	uint64_t base_lba;
	uint32_t lba_bytes;
	uint32_t lead_bytes;
};

/*
 * ugst_place_parse() - read "base_lba", "lba_bytes" and "lead_bytes".
 *
 * Checks that bytes of shard, at this place, lie in the object area of the
 * volume, and that the base is aligned.
 * Return: OK; FORMAT; UNSUPPORTED (block size above 4096).
 */
int ugst_place_parse(const struct ugst_json *json,
                     const struct ugst_volume_record *volume,
                     uint64_t shard_bytes, struct ugst_place *place_out,
                     struct ugds_st_error *err);

#endif /* UGST_VOLUME_RECORD_H */
