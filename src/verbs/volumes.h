/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * volumes.h - which device holds which volume of a manifest, and is it as the
 * manifest says.
 */
#ifndef UGST_VOLUMES_H
#define UGST_VOLUMES_H

#include "base/common.h"
#include "pure/manifest.h"
#include "verbs/store.h"

/* A volume of the manifest that no device has. */
#define UGST_NO_SOURCE UINT32_MAX

/* Where a volume of the manifest was found. */
struct ugst_found_volume {
	uint32_t source;    /* UGST_NO_SOURCE: missing */
	uint64_t start_off; /* of the volume on that device */
};

/*
 * ugst_volumes_match() - read every source's label and match it.
 *
 * Checks sequence, geometry, identity, bounds, and that each object the
 * manifest names is in the catalog at that place with those hashes.
 *
 * @found_out: manifest->volume_count of them.
 * @degraded_ok: a volume that is missing, or a device that shows no label, is
 * no failure here, unless that is why a shard has no copy.
 * Return: OK; NOT_FOUND; MISMATCH; CORRUPT; UNSUPPORTED; IO; NO_MEMORY;
 * DEVICE_LOST.
 */
int ugst_volumes_match(ugds_st_store *store,
                       const struct ugst_manifest *manifest, bool degraded_ok,
                       struct ugst_found_volume *found_out,
                       struct ugds_st_error *err);

#endif /* UGST_VOLUMES_H */
