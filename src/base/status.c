/* SPDX-License-Identifier: BSD-3-Clause */
/* status.c - names of statuses and of this version, for callers. */
#include "base/common.h"

UGST_API const char *ugds_st_version(void)
{
	return UGDS_ST_VERSION;
}

UGST_API const char *ugds_st_status_name(int status)
{
	static const char *const names[] = {
		[UGDS_ST_OK] = "OK",
		[UGDS_ST_INVALID_ARG] = "INVALID_ARG",
		[UGDS_ST_NOT_FOUND] = "NOT_FOUND",
		[UGDS_ST_FORMAT] = "FORMAT",
		[UGDS_ST_MISMATCH] = "MISMATCH",
		[UGDS_ST_CORRUPT] = "CORRUPT",
		[UGDS_ST_UNSUPPORTED] = "UNSUPPORTED",
		[UGDS_ST_NO_MEMORY] = "NO_MEMORY",
		[UGDS_ST_IO] = "IO",
		[UGDS_ST_BUSY] = "BUSY",
		[UGDS_ST_TIMEOUT] = "TIMEOUT",
		[UGDS_ST_DEVICE_LOST] = "DEVICE_LOST",
		[UGDS_ST_NO_SPACE] = "NO_SPACE",
	};

	if (status < 0 || (size_t)status >= UGST_COUNT(names))
		return "UNKNOWN";
	return names[status];
}
