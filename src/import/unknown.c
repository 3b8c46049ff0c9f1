/* SPDX-License-Identifier: BSD-3-Clause */
/* unknown.c - bytes that nobody has put a name on; see signatures.h. */
#include "base/common.h"

#include <stdio.h>

#include "base/err.h"
#include "base/le.h"
#include "base/mem.h"
#include "base/units.h"
#include "import/signatures.h"
#include "pure/label.h"

#define PIECE_BYTES ((size_t)UGST_MIB)
#define SAMPLE_BYTES ((size_t)4096)
#define SAMPLE_COUNT 64u

/* A device is blank in pieces of this: each all zeros, or all ones as some
 * drives read where they were erased. */
#define GRAIN_BYTES ((size_t)512)

/* Index of the first byte of the first grain that is not blank; bytes: none. */
static size_t first_used(const unsigned char *buf, size_t bytes)
{
	for (size_t at = 0; at < bytes; at += GRAIN_BYTES) {
		const unsigned char *grain = buf + at;

		if ((grain[0] != 0 && grain[0] != 0xff) ||
		    memcmp(grain, grain + 1, GRAIN_BYTES - 1) != 0)
			return at;
	}
	return bytes;
}

/* What a raw file at the start of a device is called. */
static const char *name_start(const unsigned char *buf)
{
	uint64_t length = ugst_get_le64(buf);

	if (!memcmp(buf, "GGUF", 4))
		return "GGUF model";
	if (buf[8] == '{' && length > 1 && length < UGST_GIB)
		return "safetensors file";
	if (!memcmp(buf, "PK\x03\x04", 4))
		return "zip archive";
	return "unknown bytes";
}

/* Look at a range piece by piece; *told: something was found in it. */
static int look(struct ugst_blockdev *dev, unsigned char *buf, uint64_t off,
                uint64_t bytes, bool *told, ugst_found *found, void *ctx,
                struct ugds_st_error *err)
{
	while (bytes) {
		size_t piece = (size_t)ugst_min(bytes, PIECE_BYTES);
		int status = ugst_blockdev_read(dev, buf, piece, off, err);
		size_t at;

		if (status != UGDS_ST_OK)
			return status;
		at = first_used(buf, piece);
		if (at < piece && !*told) {
			found(ctx,
			      off + at == 0 ? name_start(buf) : "unknown bytes",
			      off + at);
			*told = true;
		}
		off += piece;
		bytes -= piece;
	}
	return UGDS_ST_OK;
}

int ugst_bytes_find(struct ugst_blockdev *dev, ugst_found *found, void *ctx,
                    struct ugds_st_error *err)
{
	uint64_t first = ugst_min(dev->bytes, UGST_OBJECTS_OFF);
	uint64_t last = dev->bytes -
	                ugst_min(dev->bytes - first, UGST_VOLUME_TAIL_BYTES);
	uint64_t between = last - first;
	unsigned char *buf = ugst_alloc_aligned(PIECE_BYTES, UGST_PAGE_BYTES);
	bool told = false;
	int status;

	if (!buf)
		return ugst_fail_memory(err);
	status = look(dev, buf, 0, first, &told, found, ctx, err);
	told = false;
	for (unsigned i = 0; i < SAMPLE_COUNT && status == UGDS_ST_OK; i++) {
		uint64_t off = ugst_align_down(
			first + between / SAMPLE_COUNT * i, SAMPLE_BYTES);

		if (off + SAMPLE_BYTES <= last)
			status = look(dev, buf, off, SAMPLE_BYTES, &told, found,
			              ctx, err);
	}
	told = false;
	if (status == UGDS_ST_OK)
		status = look(dev, buf, last, dev->bytes - last, &told, found,
		              ctx, err);
	free(buf);
	return status;
}
