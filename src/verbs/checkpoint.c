/* SPDX-License-Identifier: BSD-3-Clause */
/* checkpoint.c - shards and index together; see checkpoint.h. */
#include "base/common.h"

#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "pure/index.h"
#include "pure/nameset.h"
#include "verbs/checkpoint.h"
#include "verbs/resolve.h"
#include "verbs/source.h"

#define NAME_ROOM 96u

static const char *printable(const char *name, size_t name_bytes,
                             char text[NAME_ROOM])
{
	return ugst_escape(name, name_bytes, text, NAME_ROOM);
}

/* ------------------------------------------------------------------ files */

/* Give the shards their names and paths. */
static int add_shards(struct ugst_checkpoint *checkpoint, const char *dir,
                      char *const *names, size_t count,
                      struct ugds_st_error *err)
{
	checkpoint->shards = ugst_calloc(count, sizeof(*checkpoint->shards));
	if (!checkpoint->shards)
		return ugst_fail_memory(err);
	checkpoint->shard_count = count;
	for (size_t i = 0; i < count; i++) {
		struct ugst_source_shard *shard = &checkpoint->shards[i];

		shard->name = ugst_strdup(names[i]);
		shard->path = ugst_join_path(dir, names[i]);
		if (!shard->name || !shard->path)
			return ugst_fail_memory(err);
	}
	return UGDS_ST_OK;
}

static bool is_missing(const char *path)
{
	struct stat file;

	return stat(path, &file) != 0 &&
	       (errno == ENOENT || errno == ENOTDIR || errno == ELOOP);
}

/* Of the first missing shard: a link that leads nowhere says more. */
static void add_link_target(const char *path, struct ugds_st_error *err)
{
	char target[NAME_ROOM];
	char printed[NAME_ROOM];
	ssize_t bytes = readlink(path, target, sizeof(target));
	size_t used;

	if (!err || bytes <= 0)
		return;
	used = strlen(err->text);
	(void)snprintf(err->text + used, sizeof(err->text) - used,
	               " (the first is a link to %s, which is not there: an "
	               "incomplete download?)",
	               printable(target, (size_t)bytes, printed));
}

/* All that are missing are named before anything is read. */
static int check_present(const struct ugst_checkpoint *checkpoint,
                         const char *index, struct ugds_st_error *err)
{
	size_t count = checkpoint->shard_count;
	char **missing = ugst_calloc(count, sizeof(*missing));
	const char *first = NULL;
	size_t missing_count = 0;
	char list[256];
	int status = UGDS_ST_OK;

	if (!missing)
		return ugst_fail_memory(err);
	for (size_t i = 0; i < count; i++) {
		const struct ugst_source_shard *shard = &checkpoint->shards[i];

		if (!is_missing(shard->path))
			continue;
		first = first ? first : shard->path;
		missing[missing_count++] = shard->name;
	}
	if (missing_count) {
		status = ugst_fail(
			err, UGDS_ST_NOT_FOUND,
			"%s lists %zu shards, %zu of them missing: %s", index,
			count, missing_count,
			ugst_list_names(missing, missing_count, list,
		                        sizeof(list)));
		add_link_target(first, err);
	}
	free(missing);
	return status;
}

static int read_headers(struct ugst_checkpoint *checkpoint,
                        struct ugds_st_error *err)
{
	for (size_t i = 0; i < checkpoint->shard_count; i++) {
		int status = ugst_source_header(&checkpoint->shards[i], err);

		if (status)
			return status;
	}
	return UGDS_ST_OK;
}

/* ------------------------------------------------------------ with an index */

/* What became of the index's entries, by their number. */
struct claims {
	bool *met;           /* the shard that is named has the tensor */
	uint32_t *elsewhere; /* another shard that has it, plus 1 */
};

static int add_left_out(struct ugst_source_shard *shard, size_t *capacity,
                        uint64_t tensor, struct ugds_st_error *err)
{
	uint64_t *left_out = ugst_grow(shard->left_out, shard->left_out_count,
	                               capacity, sizeof(*left_out));

	if (!left_out)
		return ugst_fail_memory(err);
	shard->left_out = left_out;
	left_out[shard->left_out_count++] = tensor;
	return UGDS_ST_OK;
}

/* Tensors that the index does not give to this shard are left out. */
static int claim_shard(struct ugst_checkpoint *checkpoint, uint32_t number,
                       const struct ugst_index *index, struct claims *claims,
                       struct ugds_st_error *err)
{
	struct ugst_source_shard *shard = &checkpoint->shards[number];
	size_t capacity = 0;

	for (size_t i = 0; i < shard->header.tensor_count; i++) {
		const struct ugst_header_tensor *tensor =
			&shard->header.tensors[i];
		const struct ugst_index_entry *entry =
			ugst_index_find(index, tensor->name, tensor->name_bytes,
		                        tensor->name_hash);
		int status;

		if (entry && entry->shard == number) {
			claims->met[entry - index->entries] = true;
			continue;
		}
		if (entry)
			claims->elsewhere[entry - index->entries] = number + 1;
		status = add_left_out(shard, &capacity, i, err);
		if (status)
			return status;
	}
	return UGDS_ST_OK;
}

static int check_claims(const struct ugst_checkpoint *checkpoint,
                        const struct ugst_index *index,
                        const struct claims *claims, struct ugds_st_error *err)
{
	const struct ugst_index_entry *unmet = NULL;
	const char *other = NULL;
	size_t unmet_count = 0;
	char name[NAME_ROOM];
	char shard[NAME_ROOM];
	char has[NAME_ROOM];

	for (size_t i = 0; i < index->entry_count; i++) {
		if (claims->met[i])
			continue;
		if (unmet_count++ == 0)
			unmet = &index->entries[i];
	}
	if (!unmet)
		return UGDS_ST_OK;
	if (claims->elsewhere[unmet - index->entries])
		other = checkpoint
		                ->shards[claims->elsewhere[unmet -
		                                           index->entries] -
		                         1]
		                .name;
	return ugst_fail(err, UGDS_ST_FORMAT,
	                 "the index maps tensor \"%s\" to shard %s, which "
	                 "lacks it%s%s%s "
	                 "(%zu of %zu tensors that the index lists are not in "
	                 "their shard)",
	                 printable(unmet->name, unmet->name_bytes, name),
	                 printable(index->shards[unmet->shard],
	                           strlen(index->shards[unmet->shard]), shard),
	                 other ? "; shard " : "",
	                 other ? printable(other, strlen(other), has) : "",
	                 other ? " has it" : "", unmet_count,
	                 index->entry_count);
}

static int apply_index(struct ugst_checkpoint *checkpoint,
                       const struct ugst_index *index,
                       struct ugds_st_error *err)
{
	struct claims claims = {
		ugst_calloc(index->entry_count, sizeof(*claims.met)),
		ugst_calloc(index->entry_count, sizeof(*claims.elsewhere)),
	};
	int status = UGDS_ST_OK;

	if (!claims.met || !claims.elsewhere) {
		status = ugst_fail_memory(err);
		goto out;
	}
	for (size_t i = 0; i < checkpoint->shard_count && !status; i++)
		status = claim_shard(checkpoint, (uint32_t)i, index, &claims,
		                     err);
	if (!status)
		status = check_claims(checkpoint, index, &claims, err);
out:
	free(claims.met);
	free(claims.elsewhere);
	return status;
}

static int read_index(const struct ugst_resolved *resolved,
                      struct ugst_index *index_out, struct ugds_st_error *err)
{
	char *path = ugst_join_path(resolved->dir, resolved->index);
	char printed[UGST_ESCAPED_BYTES];
	char *json = NULL;
	size_t json_bytes = 0;
	int status;

	if (!path)
		return ugst_fail_memory(err);
	status = ugst_source_slurp(path, UGST_INDEX_MAX_BYTES, &json,
	                           &json_bytes, err);
	if (!status)
		status = ugst_index_parse(json, json_bytes, index_out, err);
	if (status && status != UGDS_ST_NO_MEMORY)
		ugst_err_prefix(err, ugst_escape(resolved->index,
		                                 strlen(resolved->index),
		                                 printed, sizeof(printed)));
	free(json);
	free(path);
	return status;
}

static bool lists_shard(const struct ugst_index *index, const char *name)
{
	for (size_t i = 0; i < index->shard_count; i++)
		if (strcmp(index->shards[i], name) == 0)
			return true;
	return false;
}

static int open_with_index(struct ugst_checkpoint *checkpoint,
                           const struct ugst_resolved *resolved,
                           struct ugds_st_error *err)
{
	struct ugst_index index = {0};
	char *rivals[2] = {resolved->index, resolved->rival};
	char printed[NAME_ROOM];
	int status = read_index(resolved, &index, err);

	if (!status && resolved->rival && !lists_shard(&index, resolved->rival))
		status = ugst_resolve_ambiguous(resolved->dir, rivals, 2, err);
	if (!status)
		status = add_shards(checkpoint, resolved->dir, index.shards,
		                    index.shard_count, err);
	if (!status)
		status = check_present(checkpoint,
		                       printable(resolved->index,
		                                 strlen(resolved->index),
		                                 printed),
		                       err);
	if (!status)
		status = read_headers(checkpoint, err);
	if (!status)
		status = apply_index(checkpoint, &index, err);
	ugst_index_free(&index);
	return status;
}

/* --------------------------------------------------------- without an index */

/* A tensor by its number over all shards. */
struct place {
	const struct ugst_header_tensor *tensor;
	const char *shard;
};

static bool equal_place(const void *owner, uint32_t number, const char *name,
                        size_t name_bytes)
{
	const struct place *places = owner;

	return places[number].tensor->name_bytes == name_bytes &&
	       memcmp(places[number].tensor->name, name, name_bytes) == 0;
}

static int add_place(struct ugst_nameset *set, struct place *places,
                     const struct place *place, struct ugds_st_error *err)
{
	const struct ugst_header_tensor *tensor = place->tensor;
	struct ugst_name_slot *slot =
		ugst_nameset_find(set, tensor->name_hash, tensor->name,
	                          tensor->name_bytes, equal_place, places);
	char name[NAME_ROOM];
	char one[NAME_ROOM];
	char two[NAME_ROOM];
	const char *first;

	if (slot->number == 0) {
		slot->hash = tensor->name_hash;
		places[set->count++] = *place;
		slot->number = (uint32_t)set->count;
		return UGDS_ST_OK;
	}
	first = places[slot->number - 1].shard;
	return ugst_fail(err, UGDS_ST_FORMAT,
	                 "duplicate name: tensor \"%s\" is in shard %s and in "
	                 "shard %s, and no index says which one counts",
	                 printable(tensor->name, tensor->name_bytes, name),
	                 printable(first, strlen(first), one),
	                 printable(place->shard, strlen(place->shard), two));
}

/* Where nothing says which of two tensors counts, none does. */
static int check_distinct(const struct ugst_checkpoint *checkpoint,
                          struct ugds_st_error *err)
{
	struct ugst_nameset set = {0};
	struct place *places = NULL;
	size_t count = 0;
	int status = UGDS_ST_OK;

	if (checkpoint->shard_count < 2)
		return UGDS_ST_OK;
	for (size_t i = 0; i < checkpoint->shard_count; i++)
		count += checkpoint->shards[i].header.tensor_count;
	places = ugst_calloc(count, sizeof(*places));
	if (!places || !ugst_nameset_reserve(&set, count)) {
		free(places);
		return ugst_fail_memory(err);
	}
	for (size_t i = 0; i < checkpoint->shard_count && !status; i++) {
		const struct ugst_source_shard *shard = &checkpoint->shards[i];
		struct place place = {.shard = shard->name};

		for (size_t k = 0; k < shard->header.tensor_count && !status;
		     k++) {
			place.tensor = &shard->header.tensors[k];
			status = add_place(&set, places, &place, err);
		}
	}
	ugst_nameset_free(&set);
	free(places);
	return status;
}

static int open_without_index(struct ugst_checkpoint *checkpoint,
                              const struct ugst_resolved *resolved,
                              struct ugds_st_error *err)
{
	int status = add_shards(checkpoint, resolved->dir, resolved->shards,
	                        resolved->shard_count, err);

	if (!status)
		status = read_headers(checkpoint, err);
	if (!status)
		status = check_distinct(checkpoint, err);
	return status;
}

int ugst_checkpoint_open(const char *path,
                         struct ugst_checkpoint *checkpoint_out,
                         struct ugds_st_error *err)
{
	struct ugst_checkpoint checkpoint = {0};
	struct ugst_resolved resolved = {0};
	int status = ugst_resolve(path, &resolved, err);

	if (!status)
		status = resolved.index
		                 ? open_with_index(&checkpoint, &resolved, err)
		                 : open_without_index(&checkpoint, &resolved,
		                                      err);
	if (status) {
		ugst_checkpoint_free(&checkpoint);
	} else {
		checkpoint.model = resolved.model;
		resolved.model = NULL;
		*checkpoint_out = checkpoint;
	}
	ugst_resolved_free(&resolved);
	return status;
}

void ugst_checkpoint_free(struct ugst_checkpoint *checkpoint)
{
	for (size_t i = 0; i < checkpoint->shard_count; i++) {
		struct ugst_source_shard *shard = &checkpoint->shards[i];

		ugst_header_free(&shard->header);
		free(shard->name);
		free(shard->path);
		free(shard->left_out);
	}
	free(checkpoint->shards);
	free(checkpoint->model);
	memset(checkpoint, 0, sizeof(*checkpoint));
}
