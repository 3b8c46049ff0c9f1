/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * json.h - the small documents: index, manifest, catalog. The only includer of
 * cJSON is json.c.
 *
 * Reading: every getter checks presence, type and range, and says on failure
 * which member is wrong, what was expected and what was found; the caller
 * puts the place ("objects[3]") in front with ugst_err_prefix().
 *
 * Writing: every adder takes a NULL parent and then does nothing, so that a
 * document is built without a check per member, and one at its end.
 *
 * Numbers that may pass 2^32 are decimal strings, as docs/format.md says: JSON
 * readers may keep 53 bits, and cJSON prints 15 digits.
 */
#ifndef UGST_JSON_H
#define UGST_JSON_H

#include "base/common.h"

/* A value in a document: object, array, string or number. */
struct ugst_json;

/*
 * ugst_json_parse() - a strict document whose root is an object.
 *
 * @root_out: written on OK only; free with ugst_json_free().
 * Return: OK; FORMAT; NO_MEMORY.
 */
int ugst_json_parse(const char *text, size_t bytes, struct ugst_json **root_out,
                    struct ugds_st_error *err);

/* A root, and all that is in it. NULL is fine. */
void ugst_json_free(struct ugst_json *root);

/* ------------------------------------------------------------- reading */

bool ugst_json_has(const struct ugst_json *object, const char *member);

/* A member that is none of known (ended by NULL); NULL: there is none. The
 * name is borrowed from the document. */
const char *ugst_json_unknown(const struct ugst_json *object,
                              const char *const *known);

/* Getters return OK or FORMAT and write their output on OK only. */
int ugst_json_get_object(const struct ugst_json *object, const char *member,
                         const struct ugst_json **object_out,
                         struct ugds_st_error *err);
int ugst_json_get_array(const struct ugst_json *object, const char *member,
                        const struct ugst_json **array_out, size_t *count_out,
                        struct ugds_st_error *err);
/* Borrowed from the document. */
int ugst_json_get_string(const struct ugst_json *object, const char *member,
                         const char **text_out, struct ugds_st_error *err);
/* A string of 2 x bytes lower-case hex digits. */
int ugst_json_get_hex(const struct ugst_json *object, const char *member,
                      uint8_t *bytes_out, size_t bytes,
                      struct ugds_st_error *err);
/* A decimal string without leading zeros, min to max. */
int ugst_json_get_u64(const struct ugst_json *object, const char *member,
                      uint64_t min, uint64_t max, uint64_t *value_out,
                      struct ugds_st_error *err);
/* A whole JSON number, min to max. */
int ugst_json_get_u32(const struct ugst_json *object, const char *member,
                      uint32_t min, uint32_t max, uint32_t *value_out,
                      struct ugds_st_error *err);

/* Elements of an array: for (e = first(a); e; e = next(e)). */
const struct ugst_json *ugst_json_first(const struct ugst_json *array);
const struct ugst_json *ugst_json_next(const struct ugst_json *element);

/* The name of a member; of an object the members are its elements. */
const char *ugst_json_name(const struct ugst_json *member);

/* The values of elements, checked as members are. */
bool ugst_json_is_object(const struct ugst_json *value);
/* NULL: not a string. */
const char *ugst_json_string(const struct ugst_json *value);
/* false: not a decimal string as ugst_json_get_u64() takes it. */
bool ugst_json_u64(const struct ugst_json *value, uint64_t *value_out);
/* false: not a whole number of 32 bits. */
bool ugst_json_u32(const struct ugst_json *value, uint32_t *value_out);

/* ------------------------------------------------------------- writing */

/* An empty object. NULL: out of memory. */
struct ugst_json *ugst_json_new(void);

/* Add an object or array under a name; in an array name is NULL. Return: the
 * new value, owned by parent; NULL: out of memory. */
struct ugst_json *ugst_json_add_object(struct ugst_json *parent,
                                       const char *name);
struct ugst_json *ugst_json_add_array(struct ugst_json *parent,
                                      const char *name);

/* false: out of memory. */
bool ugst_json_add_string(struct ugst_json *parent, const char *name,
                          const char *text);
bool ugst_json_add_hex(struct ugst_json *parent, const char *name,
                       const uint8_t *bytes, size_t count);
bool ugst_json_add_u64(struct ugst_json *parent, const char *name,
                       uint64_t value);
bool ugst_json_add_u32(struct ugst_json *parent, const char *name,
                       uint32_t value);

/*
 * ugst_json_print() - the document as text, ended by a NUL.
 *
 * @pretty: for people: a member a line, and a newline at the end.
 * @text_out: free() it. @bytes_out: without the NUL.
 * Return: OK; NO_MEMORY.
 */
int ugst_json_print(const struct ugst_json *root, bool pretty, char **text_out,
                    size_t *bytes_out, struct ugds_st_error *err);

#endif /* UGST_JSON_H */
