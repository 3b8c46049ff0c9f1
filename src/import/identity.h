/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * identity.h - what Identify says about a namespace. The only includer of
 * libnvme is identity.c; without root the kernel's sysfs has to do.
 */
#ifndef UGST_IMPORT_IDENTITY_H
#define UGST_IMPORT_IDENTITY_H

#include "base/common.h"
#include "devices/blockdev.h"
#include "pure/catalog.h"

struct ugst_namespace {
	struct ugst_identity identity;
	/* From Identify only; zeros where it could not be asked. */
	bool identified;
	uint32_t metadata_bytes; /* per block, in the format in use */
	uint64_t size_nlb;       /* NSZE */
	uint64_t capacity_nlb;   /* NCAP: less than NSZE where thin */
};

/* Never fails: what cannot be known is left empty. */
void ugst_namespace_identify(const struct ugst_blockdev *dev,
                             struct ugst_namespace *ns_out);

#endif /* UGST_IMPORT_IDENTITY_H */
