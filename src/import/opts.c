/* SPDX-License-Identifier: BSD-3-Clause */
/* opts.c - structs with a size; see opts.h. */
#include "base/common.h"

#include "base/err.h"
#include "import/opts.h"

int ugst_opts_read(void *own, size_t known_bytes, const void *given,
                   struct ugds_st_error *err)
{
	const unsigned char *bytes = given;
	size_t given_bytes;

	if (!given)
		return UGDS_ST_OK;
	memcpy(&given_bytes, given, sizeof(given_bytes));
	if (given_bytes < sizeof(given_bytes))
		return ugst_fail(err, UGDS_ST_INVALID_ARG,
		                 "struct_size: expected at least %zu, found "
		                 "%zu",
		                 sizeof(given_bytes), given_bytes);
	for (size_t i = known_bytes; i < given_bytes; i++)
		if (bytes[i])
			return ugst_fail(err, UGDS_ST_INVALID_ARG,
			                 "options: expected zeros past byte "
			                 "%zu, found an option of a newer "
			                 "header at byte %zu",
			                 known_bytes, i);
	memcpy(own, given,
	       given_bytes < known_bytes ? given_bytes : known_bytes);
	return UGDS_ST_OK;
}

int ugst_opts_write(void *given, void *own, size_t known_bytes)
{
	size_t given_bytes;

	memcpy(&given_bytes, given, sizeof(given_bytes));
	if (given_bytes < sizeof(given_bytes))
		return UGDS_ST_INVALID_ARG;
	memcpy(own, &given_bytes, sizeof(given_bytes));
	memcpy(given, own,
	       given_bytes < known_bytes ? given_bytes : known_bytes);
	return UGDS_ST_OK;
}
