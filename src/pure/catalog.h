/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * catalog.h - what lies on a volume: the JSON inside a label slot.
 *
 * An object is one shard, copied byte for byte into a contiguous run of
 * blocks. A record is one generation of one checkpoint: the objects it needs.
 * An object is free when no record lists it; no other rule frees space.
 */
#ifndef UGST_CATALOG_H
#define UGST_CATALOG_H

#include "base/common.h"
#include "pure/hash.h"
#include "pure/uuid.h"

/* Blocks that volumes and objects may have. */
#define UGST_LBA_BYTES_MIN 512u
#define UGST_LBA_BYTES_MAX 4096u
/* lead_bytes is less than this, and a run ends at a multiple of it. */
#define UGST_OBJECT_PAGE_BYTES 4096u
/* A file offset must fit off_t. */
#define UGST_OFF_MAX ((uint64_t)INT64_MAX)

/*
 * Who a namespace is, as NVMe Identify says (NVM Express Base Specification
 * 2.0, 5.17.2). Zeros and empty strings mean absent. known is false where
 * nothing could be asked (no root, a regular file, no kernel device).
 */
struct ugst_identity {
	bool known;
	uint32_t nsid;
	char serial[21]; /* ASCII, trailing spaces cut, ended by NUL */
	char model[41];
	uint8_t nguid[16];
	uint8_t eui64[8];
	struct ugst_uuid uuid;
};

struct ugst_object {
	uint64_t id;       /* never used again on this volume */
	uint64_t base_lba; /* from the start of the volume, in lba_bytes */
	uint32_t lba_bytes;
	uint32_t lead_bytes; /* zeros in front of the shard: 0 to 4095 */
	uint64_t bytes;      /* of the shard */
	struct ugst_hash header_hash; /* of its first 8 + N bytes */
	struct ugst_hash hash;        /* of all its bytes */
	char *name;                   /* of the shard, for people */
};

struct ugst_record {
	struct ugst_uuid checkpoint;
	char *model;    /* for people */
	char *manifest; /* path at which it is published: a hint, by which a
	                   first import that was cut finds its records again */
	uint64_t generation;
	bool committed;
	uint64_t *object_ids; /* growing */
	size_t object_count;
};

struct ugst_volume_record {
	struct ugst_uuid uuid;
	uint32_t lba_bytes;
	uint64_t bytes;       /* of the volume, a multiple of 1 MiB */
	uint64_t start_bytes; /* of the partition on its namespace, else 0 */
	struct ugst_identity identity;
};

struct ugst_catalog {
	struct ugst_volume_record volume;
	uint64_t next_object_id;
	size_t object_count;
	struct ugst_object *objects; /* by growing id */
	size_t record_count;
	struct ugst_record *records;
	bool has_unknown; /* members that this version does not know: a
	                     reader goes on, a writer refuses */
};

/*
 * ugst_catalog_parse() - parse and check a catalog document.
 *
 * Checks types, ranges, that ids grow, that objects lie inside the volume's
 * object area without overlap, that records list known objects.
 *
 * @catalog_out: written on OK only; free with ugst_catalog_free().
 * Return: OK; FORMAT; UNSUPPORTED; NO_MEMORY.
 */
int ugst_catalog_parse(const char *json, size_t json_bytes,
                       struct ugst_catalog *catalog_out,
                       struct ugds_st_error *err);

/* Bytes of the run that an object occupies, from its base to the end of its
 * zeros: a multiple of 4096. The object is one that was parsed or placed. */
uint64_t ugst_object_run_bytes(const struct ugst_object *object);

/* The document as malloc'ed text, ended by a NUL that *bytes_out leaves out. */
int ugst_catalog_print(const struct ugst_catalog *catalog, char **json_out,
                       size_t *bytes_out, struct ugds_st_error *err);

/* Does a record list an object? */
bool ugst_record_lists(const struct ugst_record *record, uint64_t id);

/* A zeroed record is fine; it is zeroed again. */
void ugst_record_free(struct ugst_record *record);

/* A zeroed catalog is fine. */
void ugst_catalog_free(struct ugst_catalog *catalog);

/* Borrowed; NULL: no such object. */
const struct ugst_object *
ugst_catalog_object(const struct ugst_catalog *catalog, uint64_t id);

/* Borrowed; NULL: no such record. */
struct ugst_record *ugst_catalog_record(const struct ugst_catalog *catalog,
                                        const struct ugst_uuid *checkpoint,
                                        uint64_t generation);

/*
 * ugst_identity_compare() - are these two the same namespace?
 *
 * Compares one identifier, NGUID, else EUI-64, else UUID, else serial + NSID,
 * and only one that both have.
 *
 * Return: 1 the same, 0 different (what names the identifier, and its two
 * values as text are written), -1 nothing that both have: not checked.
 */
int ugst_identity_compare(const struct ugst_identity *expected,
                          const struct ugst_identity *found,
                          const char **what_out, char expected_text[64],
                          char found_text[64]);

#endif /* UGST_CATALOG_H */
