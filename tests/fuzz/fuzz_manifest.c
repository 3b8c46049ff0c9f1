/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fuzz_manifest.c - a manifest that is accepted keeps what it says.
 *
 * Properties of every accepted manifest: every copy lies in the object area of
 * a volume of the manifest; printing it, parsing that and printing again gives
 * the same text.
 */
#include "fuzz.h"

#include "pure/label.h"
#include "pure/manifest.h"

static void check_copy(const struct ugst_manifest *manifest,
                       const struct ugst_manifest_shard *shard,
                       const struct ugst_manifest_copy *copy)
{
	const struct ugst_volume_record *volume;
	__uint128_t base;

	FUZZ_CHECK(copy->volume < manifest->volume_count);
	volume = &manifest->volumes[copy->volume].record;
	base = (__uint128_t)copy->base_lba * copy->lba_bytes;
	FUZZ_CHECK(base % UGST_OBJECT_ALIGN == 0 && base >= UGST_OBJECTS_OFF);
	FUZZ_CHECK(copy->lead_bytes < 4096 && copy->lba_bytes >= 512 &&
	           copy->lba_bytes <= 4096);
	FUZZ_CHECK(base + copy->lead_bytes + shard->bytes <=
	           volume->bytes - UGST_VOLUME_TAIL_BYTES);
	FUZZ_CHECK(volume->bytes + volume->start_bytes <= INT64_MAX);
}

static void check_round_trip(const struct ugst_manifest *manifest)
{
	struct ugst_manifest again;
	char *first;
	char *second;
	size_t first_bytes;
	size_t second_bytes;

	FUZZ_CHECK(ugst_manifest_print(manifest, &first, &first_bytes, NULL) ==
	           UGDS_ST_OK);
	FUZZ_CHECK(ugst_manifest_parse(first, first_bytes, &again, NULL) ==
	           UGDS_ST_OK);
	FUZZ_CHECK(ugst_manifest_print(&again, &second, &second_bytes, NULL) ==
	           UGDS_ST_OK);
	FUZZ_CHECK(first_bytes == second_bytes &&
	           memcmp(first, second, first_bytes) == 0);
	ugst_manifest_free(&again);
	free(first);
	free(second);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	struct ugds_st_error err = {0};
	struct ugst_manifest manifest = {0};
	int status =
		ugst_manifest_parse((const char *)data, bytes, &manifest, &err);

	if (status) {
		FUZZ_CHECK(status == UGDS_ST_FORMAT ||
		           status == UGDS_ST_UNSUPPORTED);
		fuzz_check_error(&err, status, bytes);
		FUZZ_CHECK(!manifest.shards && !manifest.model);
		return 0;
	}
	for (size_t i = 0; i < manifest.shard_count; i++) {
		const struct ugst_manifest_shard *shard = &manifest.shards[i];

		FUZZ_CHECK(shard->copy_count > 0);
		FUZZ_CHECK(shard->json_bytes + 8 <= shard->bytes);
		for (size_t k = 0; k < shard->copy_count; k++)
			check_copy(&manifest, shard, &shard->copies[k]);
	}
	check_round_trip(&manifest);
	ugst_manifest_free(&manifest);
	return 0;
}
