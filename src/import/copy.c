/* SPDX-License-Identifier: BSD-3-Clause */
/* copy.c - shards onto blocks, and back; see copy.h. */
#include "base/common.h"

#include <inttypes.h>

#include "base/err.h"
#include "base/le.h"
#include "base/mem.h"
#include "base/units.h"
#include "import/copy.h"
#include "import/pipe.h"
#include "pure/header.h"

uint32_t ugst_lead_bytes(uint64_t data_off)
{
	uint64_t past = data_off % UGST_OBJECT_PAGE_BYTES;

	return past ? (uint32_t)(UGST_OBJECT_PAGE_BYTES - past) : 0;
}

/* What the sinks share. */
struct target {
	struct ugst_import_env *env;
	struct ugst_blockdev *dev;
	uint64_t base_off;
	char *buf; /* to compare with */
	bool differs;
};

static void moved(void *ctx, uint64_t bytes)
{
	struct target *target = ctx;

	ugst_env_progress(target->env, bytes);
}

static int write_sink(void *ctx, const void *buf, size_t bytes,
                      uint64_t run_off, struct ugds_st_error *err)
{
	struct target *target = ctx;

	return ugst_blockdev_write(target->dev, buf, bytes,
	                           target->base_off + run_off, err);
}

int ugst_copy_shard(struct ugst_import_env *env, struct ugst_shard_file *source,
                    struct ugst_blockdev *dev, uint64_t base_off,
                    uint32_t lead_bytes, struct ugst_hash *hash_out,
                    struct ugds_st_error *err)
{
	struct target target = {.env = env, .dev = dev, .base_off = base_off};

	return ugst_pipe_run(source, lead_bytes, write_sink, moved, &target,
	                     hash_out, err);
}

/* Any failure here means "not equal", which is no error: the status only
 * stops the stream. */
static int compare_sink(void *ctx, const void *buf, size_t bytes,
                        uint64_t run_off, struct ugds_st_error *err)
{
	struct target *target = ctx;

	if (ugst_blockdev_read(target->dev, target->buf, bytes,
	                       target->base_off + run_off,
	                       NULL) != UGDS_ST_OK ||
	    memcmp(target->buf, buf, bytes) != 0) {
		target->differs = true;
		return ugst_fail(err, UGDS_ST_MISMATCH, "differs");
	}
	return UGDS_ST_OK;
}

int ugst_compare_shard(struct ugst_import_env *env,
                       struct ugst_shard_file *source,
                       struct ugst_blockdev *dev, uint64_t base_off,
                       uint32_t lead_bytes, bool *equal_out,
                       struct ugst_hash *hash_out, struct ugds_st_error *err)
{
	struct target target = {.env = env, .dev = dev, .base_off = base_off};
	struct ugds_st_error why;
	int status;

	/* The last chunk may be a page longer than the others. */
	target.buf = ugst_alloc_aligned(
		(size_t)ugst_min(source->shard->stamp.bytes, UGST_CHUNK_BYTES) +
			2 * UGST_OBJECT_PAGE_BYTES,
		UGST_PAGE_BYTES);
	if (!target.buf)
		return ugst_fail_memory(err);
	status = ugst_pipe_run(source, lead_bytes, compare_sink, moved, &target,
	                       hash_out, &why);
	free(target.buf);
	*equal_out = status == UGDS_ST_OK;
	if (target.differs)
		return UGDS_ST_OK;
	if (status != UGDS_ST_OK && err)
		*err = why;
	return status;
}

/* Hash bytes of the shard from its start. */
static int hash_object(struct ugst_import_env *env, struct ugst_blockdev *dev,
                       const struct ugst_object *object, uint64_t bytes,
                       struct ugst_hash *hash_out, struct ugds_st_error *err)
{
	uint64_t base_off = object->base_lba * object->lba_bytes;
	uint64_t end = object->lead_bytes + bytes;
	uint64_t run_bytes = ugst_align_up(end, UGST_OBJECT_PAGE_BYTES);
	struct ugst_hasher *hasher = ugst_hasher_new();
	char *buf = ugst_alloc_aligned(
		(size_t)ugst_min(run_bytes, UGST_CHUNK_BYTES), UGST_PAGE_BYTES);
	int status = UGDS_ST_OK;

	if (!hasher || !buf)
		status = ugst_fail_memory(err);
	for (uint64_t off = 0; off < run_bytes && status == UGDS_ST_OK;
	     off += UGST_CHUNK_BYTES) {
		uint64_t piece = ugst_min(UGST_CHUNK_BYTES, run_bytes - off);
		uint64_t first = ugst_max(off, object->lead_bytes);
		uint64_t past = ugst_min(off + piece, end);

		status = ugst_blockdev_read(dev, buf, (size_t)piece,
		                            base_off + off, err);
		if (status != UGDS_ST_OK || past <= first)
			continue;
		ugst_hasher_add(hasher, buf + (first - off),
		                (size_t)(past - first));
		if (env)
			ugst_env_progress(env, past - first);
	}
	if (status == UGDS_ST_OK)
		*hash_out = ugst_hasher_result(hasher);
	free(buf);
	ugst_hasher_free(hasher);
	return status;
}

static int check_hash(const struct ugst_blockdev *dev,
                      const struct ugst_object *object, const char *what,
                      const struct ugst_hash *expected,
                      const struct ugst_hash *found, struct ugds_st_error *err)
{
	char expected_text[UGST_HASH_TEXT_BYTES];
	char found_text[UGST_HASH_TEXT_BYTES];

	if (ugst_hash_equal(expected, found))
		return UGDS_ST_OK;
	return ugst_fail(err, UGDS_ST_CORRUPT,
	                 "%s: object %" PRIu64 ": %s: expected %s, found %s",
	                 dev->path, object->id, what,
	                 ugst_hash_text(expected, expected_text),
	                 ugst_hash_text(found, found_text));
}

int ugst_verify_object(struct ugst_import_env *env, struct ugst_blockdev *dev,
                       const struct ugst_object *object,
                       struct ugds_st_error *err)
{
	struct ugst_hash found;
	int status = hash_object(env, dev, object, object->bytes, &found, err);

	if (status != UGDS_ST_OK)
		return status;
	return check_hash(dev, object, "hash", &object->hash, &found, err);
}

int ugst_verify_header(struct ugst_blockdev *dev,
                       const struct ugst_object *object,
                       struct ugds_st_error *err)
{
	uint64_t base_off = object->base_lba * object->lba_bytes;
	char *buf =
		ugst_alloc_aligned(2 * UGST_OBJECT_PAGE_BYTES, UGST_PAGE_BYTES);
	uint64_t json_bytes;
	struct ugst_hash found;
	int status;

	if (!buf)
		return ugst_fail_memory(err);
	/* The length may lie across the first page's end; a shard of a few
	 * bytes need not have a second page. */
	status = ugst_blockdev_read(
		dev, buf,
		(size_t)ugst_min(ugst_object_run_bytes(object),
	                         2 * UGST_OBJECT_PAGE_BYTES),
		base_off, err);
	json_bytes = status == UGDS_ST_OK
	                     ? ugst_get_le64(buf + object->lead_bytes)
	                     : 0;
	free(buf);
	if (status != UGDS_ST_OK)
		return status;
	if (json_bytes > UGST_HEADER_MAX_BYTES ||
	    json_bytes > object->bytes - UGST_HEADER_PREFIX_BYTES)
		return ugst_fail(err, UGDS_ST_CORRUPT,
		                 "%s: object %" PRIu64
		                 ": expected a header of at most %" PRIu64
		                 " bytes, found a length of %" PRIu64,
		                 dev->path, object->id,
		                 object->bytes - UGST_HEADER_PREFIX_BYTES,
		                 json_bytes);
	status =
		hash_object(NULL, dev, object,
	                    UGST_HEADER_PREFIX_BYTES + json_bytes, &found, err);
	if (status != UGDS_ST_OK)
		return status;
	return check_hash(dev, object, "header hash", &object->header_hash,
	                  &found, err);
}
