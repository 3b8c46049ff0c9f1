/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ugds_probe.c - what a uGDS handle can do, found without any I/O.
 *
 * uGDS tells neither the LBA size nor the command size, and promises no ABI.
 * But it judges an entry's size before it looks at the buffer: a refused size
 * fails the call, an accepted one becomes an event of its own, FAILED with
 * -EINVAL, because its base was never registered. No entry here can reach the
 * device, whatever the library makes of its fields.
 */
#include "base/common.h"

#include <errno.h>
#include <inttypes.h>

#include "base/err.h"
#include "base/units.h"
#include "devices/ugds.h"

/* An entry is refused when it would be more commands than this. */
#define ENTRY_COMMANDS UINT64_C(65535)
/* Larger LBA sizes are looked for only to be named in the refusal. */
#define LBA_BYTES_SUPPORTED 4096u
#define LBA_BYTES_TRIED 65536u
/* Above the largest command that uGDS makes (513 pages). Were there a larger
 * one, this would count too many commands, which only narrows the window. */
#define COMMAND_PAGES_TRIED 1024u
#define LAYOUT_ENTRIES 3u
/* Room on both sides for a library whose structs are larger than ours. */
#define SPARE_ENTRIES 16u
/* The events are there when Submit returns; this only bounds a library that
 * is another one. */
#define PROBE_WAIT_S 1

/* Its address is the base of every entry, and never registered. */
static char nowhere;

struct probe {
	const struct ugst_ugds *ugds;
	void *batch;
	struct ugds_st_error *err;
};

static int other_layout(const struct probe *probe, const char *what,
                        uint64_t expected, uint64_t found)
{
	return ugst_fail(probe->err, UGDS_ST_UNSUPPORTED,
	                 "libugds has another binary interface than this "
	                 "library: %s, expected %" PRIu64 ", found %" PRIu64,
	                 what, expected, found);
}

/* Cookies that no field of a shifted struct would hold by chance. */
static void *cookie_of(unsigned entry)
{
	return (void *)(uintptr_t)(UINT64_C(0x5ca1ab1e0badf00d) + entry);
}

/* The answers must be those of entries on unregistered memory, in order. */
static int check_events(const struct probe *probe,
                        const struct ugst_ugds_event *events, unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		if (events[i].cookie != cookie_of(i))
			return other_layout(probe, "cookie of an event",
			                    (uintptr_t)cookie_of(i),
			                    (uintptr_t)events[i].cookie);
		if (events[i].status != UGST_UGDS_FAILED)
			return other_layout(probe, "status of an event",
			                    UGST_UGDS_FAILED,
			                    (uint64_t)events[i].status);
		if (events[i].ret != -EINVAL)
			return other_layout(probe, "result of an event",
			                    (uint64_t)-EINVAL,
			                    (uint64_t)events[i].ret);
	}
	return UGDS_ST_OK;
}

/* Submit count entries of bytes each; *accepted_out: the size was. */
static int try_size(const struct probe *probe, uint64_t bytes, unsigned count,
                    bool *accepted_out)
{
	struct ugst_ugds_params params[SPARE_ENTRIES] = {0};
	struct ugst_ugds_event events[SPARE_ENTRIES] = {0};
	struct timespec wait = {.tv_sec = PROBE_WAIT_S};
	struct ugst_ugds_error ugds_err;
	unsigned found = count;

	for (unsigned i = 0; i < count; i++) {
		params[i].base = &nowhere;
		params[i].bytes = (size_t)bytes;
		params[i].opcode = UGST_UGDS_READ;
		params[i].cookie = cookie_of(i);
	}
	ugds_err = probe->ugds->batch_submit(probe->batch, count, params, 0);
	*accepted_out = ugds_err.code == UGST_UGDS_OK;
	if (ugds_err.code == UGST_UGDS_INVALID_VALUE)
		return UGDS_ST_OK;
	if (ugds_err.code == UGST_UGDS_BUSY)
		return ugst_fail_ugds(probe->err, UGDS_ST_BUSY, ugds_err.code,
		                      "probe of the uGDS handle");
	if (ugds_err.code != UGST_UGDS_OK)
		return ugst_fail_ugds(probe->err, UGDS_ST_IO, ugds_err.code,
		                      "probe of the uGDS handle");
	ugds_err = probe->ugds->batch_status(probe->batch, count, &found,
	                                     events, &wait);
	if (ugds_err.code != UGST_UGDS_OK)
		return ugst_fail_ugds(probe->err, UGDS_ST_IO, ugds_err.code,
		                      "events of the uGDS probe");
	if (found != count)
		return other_layout(probe, "events of a probe", count, found);
	return check_events(probe, events, count);
}

/* The smallest size that is taken is the LBA size. */
static int find_lba(const struct probe *probe, uint32_t *lba_bytes_out)
{
	bool accepted;
	int status;

	for (uint32_t bytes = 512; bytes <= LBA_BYTES_TRIED; bytes *= 2) {
		status = try_size(probe, bytes, 1, &accepted);
		if (status != UGDS_ST_OK)
			return status;
		if (!accepted)
			continue;
		if (bytes > LBA_BYTES_SUPPORTED)
			return ugst_fail(probe->err, UGDS_ST_UNSUPPORTED,
			                 "LBA size of the uGDS device, "
			                 "expected 512 to %u bytes, found "
			                 "%" PRIu32,
			                 LBA_BYTES_SUPPORTED, bytes);
		*lba_bytes_out = bytes;
		return UGDS_ST_OK;
	}
	return ugst_fail(probe->err, UGDS_ST_UNSUPPORTED,
	                 "libugds refuses reads of every size: expected one "
	                 "of 512 to %u bytes to be taken, found none (another "
	                 "binary interface than this library's?)",
	                 LBA_BYTES_TRIED);
}

/* The smallest c pages for which 65535 c and one block are too many commands:
 * as many commands as are allowed then end just before that block. */
static int find_command(const struct probe *probe, uint32_t lba_bytes,
                        uint32_t *command_bytes_out)
{
	uint64_t low = 1;
	uint64_t high = COMMAND_PAGES_TRIED;

	while (low < high) {
		uint64_t pages = (low + high) / 2;
		bool accepted;
		int status;

		status = try_size(probe,
		                  ENTRY_COMMANDS * pages * UGST_PAGE_BYTES +
		                          lba_bytes,
		                  1, &accepted);
		if (status != UGDS_ST_OK)
			return status;
		if (accepted)
			low = pages + 1;
		else
			high = pages;
	}
	*command_bytes_out = (uint32_t)(low * UGST_PAGE_BYTES);
	return UGDS_ST_OK;
}

static int probe_batch(const struct probe *probe,
                       struct ugst_ugds_limits *limits_out)
{
	struct ugst_ugds_limits limits = {
		.window_commands = UGST_UGDS_WINDOW_COMMANDS,
		.fails_early = true,
		.wait_sleeps = false,
	};
	bool accepted;
	int status;

	status = find_lba(probe, &limits.lba_bytes);
	if (status != UGDS_ST_OK)
		return status;
	status = try_size(probe, limits.lba_bytes, LAYOUT_ENTRIES, &accepted);
	if (status != UGDS_ST_OK)
		return status;
	/* One entry was taken, three of the same are not: the library does
	 * not step from entry to entry as we do. */
	if (!accepted)
		return other_layout(probe, "entries of a batch taken",
		                    LAYOUT_ENTRIES, 1);
	status = find_command(probe, limits.lba_bytes, &limits.command_bytes);
	if (status != UGDS_ST_OK)
		return status;
	*limits_out = limits;
	return UGDS_ST_OK;
}

int ugst_ugds_probe(const struct ugst_ugds *ugds, void *handle,
                    struct ugst_ugds_limits *limits_out,
                    struct ugds_st_error *err)
{
	struct probe probe = {.ugds = ugds, .err = err};
	struct ugst_ugds_error ugds_err;
	int status;

	ugds_err = ugds->batch_setup(&probe.batch, handle,
	                             UGST_UGDS_BATCH_ENTRIES);
	/* One code for a batch that is in use and for a handle that is gone;
	 * only the first can be waited for, so say that one. */
	if (ugds_err.code == UGST_UGDS_INVALID_VALUE ||
	    ugds_err.code == UGST_UGDS_BUSY)
		return ugst_fail_ugds(err, UGDS_ST_BUSY, ugds_err.code,
		                      "the uGDS handle's batch is in use, or "
		                      "the handle is closed");
	if (ugds_err.code != UGST_UGDS_OK)
		return ugst_fail_ugds(err, UGDS_ST_IO, ugds_err.code,
		                      "batch of the uGDS handle");
	status = probe_batch(&probe, limits_out);
	ugds->batch_destroy(probe.batch);
	return status;
}
