/* SPDX-License-Identifier: BSD-3-Clause */
/* opts.c - structs that grow; see opts.h. */
#include "base/common.h"

#include "base/err.h"
#include "base/opts.h"

/* No struct grows to this; a size that was never set is not followed. */
#define STRUCT_MAX_BYTES 4096u

int ugst_opts_read(void *opts_out, size_t known_bytes, const void *opts,
                   const char *what, struct ugds_st_error *err)
{
	size_t struct_size;

	memset(opts_out, 0, known_bytes);
	if (!opts)
		return UGDS_ST_OK;
	memcpy(&struct_size, opts, sizeof(struct_size));
	if (struct_size < sizeof(struct_size) || struct_size > STRUCT_MAX_BYTES)
		return ugst_fail(err, UGDS_ST_INVALID_ARG,
		                 "%s: expected struct_size to be set (use its "
		                 "INIT macro), found %zu",
		                 what, struct_size);
	for (size_t i = known_bytes; i < struct_size; i++)
		if (((const unsigned char *)opts)[i])
			return ugst_fail(err, UGDS_ST_INVALID_ARG,
			                 "%s: byte %zu is set, but this "
			                 "library knows only %zu bytes of it",
			                 what, i, known_bytes);
	memcpy(opts_out, opts,
	       struct_size < known_bytes ? struct_size : known_bytes);
	return UGDS_ST_OK;
}

int ugst_opts_write(void *opts_out, const void *filled, size_t known_bytes)
{
	size_t struct_size;

	memcpy(&struct_size, opts_out, sizeof(struct_size));
	if (struct_size < sizeof(struct_size))
		return UGDS_ST_INVALID_ARG;
	if (struct_size < known_bytes)
		known_bytes = struct_size;
	if (known_bytes > sizeof(struct_size))
		memcpy((char *)opts_out + sizeof(struct_size),
		       (const char *)filled + sizeof(struct_size),
		       known_bytes - sizeof(struct_size));
	return UGDS_ST_OK;
}
