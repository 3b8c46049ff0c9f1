/* SPDX-License-Identifier: BSD-3-Clause */
/* edit.h - changes to a catalog in memory, before it is committed. */
#ifndef UGST_IMPORT_EDIT_H
#define UGST_IMPORT_EDIT_H

#include "base/common.h"
#include "pure/catalog.h"

/* catalog_out is written on OK only. Return: OK; NO_MEMORY. */
int ugst_catalog_copy(const struct ugst_catalog *catalog,
                      struct ugst_catalog *catalog_out,
                      struct ugds_st_error *err);

/*
 * ugst_catalog_add_object() - list a new object, last.
 *
 * @object: everything but id and name; name is copied, the id is the next one.
 * @id_out: its id.
 * Return: OK; NO_MEMORY.
 */
int ugst_catalog_add_object(struct ugst_catalog *catalog,
                            const struct ugst_object *object, uint64_t *id_out,
                            struct ugds_st_error *err);

/*
 * ugst_catalog_add_record() - a new pending record without objects, last.
 *
 * @record_out: borrowed, until the next record is added or dropped.
 * Return: OK; NO_MEMORY.
 */
int ugst_catalog_add_record(struct ugst_catalog *catalog,
                            const struct ugst_uuid *checkpoint,
                            const char *model, const char *manifest,
                            uint64_t generation,
                            struct ugst_record **record_out,
                            struct ugds_st_error *err);

/* List an object in a record, in its place by id; once. Return: OK;
 * NO_MEMORY. */
int ugst_record_add(struct ugst_record *record, uint64_t id,
                    struct ugds_st_error *err);

void ugst_catalog_drop_record(struct ugst_catalog *catalog, size_t index);

/* Drop the objects that no record lists. */
void ugst_catalog_drop_free(struct ugst_catalog *catalog);

/* A copy of text that JSON takes: what is not UTF-8 is escaped as a whole.
 * NULL: out of memory. */
char *ugst_json_text(const char *text);

#endif /* UGST_IMPORT_EDIT_H */
