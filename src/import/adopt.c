/* SPDX-License-Identifier: BSD-3-Clause */
/* adopt.c - a volume on another device than the one it was made on. */
#include "base/common.h"

#include <inttypes.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/opts.h"
#include "import/copy.h"
#include "import/edit.h"
#include "import/identity.h"
#include "import/import.h"
#include "import/volume_set.h"

/* A label can come over without its objects: is every header there? */
static int check_headers(struct ugst_volume *volume, struct ugds_st_error *err)
{
	const struct ugst_catalog *catalog = &volume->label.catalog;
	int status = UGDS_ST_OK;

	for (size_t i = 0; i < catalog->object_count && status == UGDS_ST_OK;
	     i++)
		status = ugst_verify_header(volume->dev, &catalog->objects[i],
		                            err);
	return status;
}

static bool is_recorded(const struct ugst_volume_record *record,
                        const struct ugst_identity *found,
                        const struct ugst_blockdev *dev)
{
	const char *what;
	char expected_text[64];
	char found_text[64];

	if (dev->kind == UGST_DEVICE_FILE)
		return true;
	return record->start_bytes == dev->start_bytes &&
	       record->identity.known == found->known &&
	       ugst_identity_compare(&record->identity, found, &what,
	                             expected_text, found_text) != 0;
}

static int adopt(const struct ugst_import_env *env, struct ugst_volume *volume,
                 struct ugds_st_error *err)
{
	const struct ugst_blockdev *dev = volume->dev;
	struct ugst_catalog catalog = {0};
	struct ugst_namespace ns;
	int status;

	ugst_namespace_identify(dev, &ns);
	status = check_headers(volume, err);
	if (status != UGDS_ST_OK)
		return status;
	if (is_recorded(&volume->label.catalog.volume, &ns.identity, dev)) {
		ugst_env_note(env, "%s: recorded as it is, nothing to adopt",
		              dev->path);
		return UGDS_ST_OK;
	}
	if (!ns.identity.known)
		ugst_env_note(env,
		              "%s: its identity cannot be asked, it is "
		              "recorded as unknown",
		              dev->path);
	status = ugst_volume_begin(volume, err);
	if (status == UGDS_ST_OK)
		status = ugst_catalog_copy(&volume->label.catalog, &catalog,
		                           err);
	if (status != UGDS_ST_OK)
		return status;
	catalog.volume.identity = ns.identity;
	catalog.volume.start_bytes = dev->start_bytes;
	status = ugst_volume_commit(volume, &catalog, err);
	ugst_catalog_free(&catalog);
	return status;
}

int ugst_adopt(const struct ugst_import_env *env, const char *device,
               const struct ugds_st_import_adopt_opts *opts,
               struct ugds_st_error *err)
{
	struct ugds_st_import_adopt_opts own = {0};
	struct ugst_import_env own_env = *env;
	struct ugst_volume_set set = {0};
	const struct ugst_volume_set_opts set_opts = {.paths = &device,
	                                              .path_count = 1,
	                                              .alone = true,
	                                              .adopt = true};
	int status = ugst_opts_read(&own, sizeof(own), opts, "opts", err);

	if (status == UGDS_ST_OK && !device)
		status = ugst_fail(err, UGDS_ST_INVALID_ARG,
		                   "device: expected a path, found NULL");
	if (status != UGDS_ST_OK)
		return status;
	own_env.note = own.note;
	own_env.ctx = own.ctx;
	status = ugst_volume_set_open(&own_env, &set_opts, &set, err);
	if (status == UGDS_ST_OK)
		status = adopt(&own_env, set.members[0].volume, err);
	ugst_volume_set_close(&set);
	return status;
}

UGST_API int ugds_st_import_adopt(const char *device,
                                  const struct ugds_st_import_adopt_opts *opts,
                                  struct ugds_st_error *err)
{
	struct ugst_import_env env;

	ugst_env_init(&env);
	return ugst_adopt(&env, device, opts, err);
}
