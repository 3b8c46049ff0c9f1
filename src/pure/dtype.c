/* SPDX-License-Identifier: BSD-3-Clause */
/* dtype.c - the element types of the safetensors format; see dtype.h. */
#include "base/common.h"

#include "pure/dtype.h"

struct dtype {
	char name[14];
	uint8_t name_bytes;
	uint8_t bits;
};

#define DTYPE(name, bits) \
	[UGDS_ST_DTYPE_## \
		name] = {#name, (uint8_t)(sizeof(#name) - 1), (uint8_t)(bits)}

/* By value; 0 is no dtype. */
static const struct dtype dtypes[] = {
	DTYPE(BOOL, 8),        DTYPE(F4, 4),          DTYPE(F6_E2M3, 6),
	DTYPE(F6_E3M2, 6),     DTYPE(U8, 8),          DTYPE(I8, 8),
	DTYPE(F8_E5M2, 8),     DTYPE(F8_E4M3, 8),     DTYPE(F8_E8M0, 8),
	DTYPE(F8_E4M3FNUZ, 8), DTYPE(F8_E5M2FNUZ, 8), DTYPE(I16, 16),
	DTYPE(U16, 16),        DTYPE(F16, 16),        DTYPE(BF16, 16),
	DTYPE(I32, 32),        DTYPE(U32, 32),        DTYPE(F32, 32),
	DTYPE(C64, 64),        DTYPE(F64, 64),        DTYPE(I64, 64),
	DTYPE(U64, 64),
};

static bool is_dtype(int dtype)
{
	return dtype > 0 && (size_t)dtype < UGST_COUNT(dtypes);
}

UGST_API const char *ugds_st_dtype_name(int dtype)
{
	return is_dtype(dtype) ? dtypes[dtype].name : NULL;
}

UGST_API unsigned ugds_st_dtype_bits(int dtype)
{
	return is_dtype(dtype) ? dtypes[dtype].bits : 0;
}

int ugst_dtype_from_name(const char *name, size_t name_bytes)
{
	if (name_bytes == 0)
		return 0;
	/* The last byte tells most of those apart that are of one length. */
	for (size_t i = 1; i < UGST_COUNT(dtypes); i++)
		if (dtypes[i].name_bytes == name_bytes &&
		    dtypes[i].name[name_bytes - 1] == name[name_bytes - 1] &&
		    memcmp(dtypes[i].name, name, name_bytes) == 0)
			return (int)i;
	return 0;
}
