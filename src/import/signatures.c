/* SPDX-License-Identifier: BSD-3-Clause */
/* signatures.c - libblkid and the kernel's partitions; see signatures.h. */
#include "base/common.h"

#include <blkid/blkid.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/err.h"
#include "import/signatures.h"

/* ------------------------------------------------------------- libblkid */

static int probe_failed(const struct ugst_blockdev *dev, const char *what,
                        struct ugds_st_error *err)
{
	return ugst_fail_errno(err, UGDS_ST_IO, errno ? errno : EIO, "%s: %s",
	                       dev->path, what);
}

/* libblkid reads at any offset, which O_DIRECT does not take, so it gets a
 * descriptor of its own. */
static int new_probe(const struct ugst_blockdev *dev, int mode, int *fd_out,
                     blkid_probe *probe_out, struct ugds_st_error *err)
{
	blkid_probe probe;

	errno = 0;
	*fd_out = open(dev->path, mode | O_CLOEXEC);
	if (*fd_out < 0)
		return probe_failed(dev, "open", err);
	probe = blkid_new_probe();
	if (!probe)
		return ugst_fail_memory(err);
	*probe_out = probe;
	if (blkid_probe_set_device(probe, *fd_out, 0, 0) ||
	    blkid_probe_enable_superblocks(probe, 1) ||
	    blkid_probe_set_superblocks_flags(
		    probe, BLKID_SUBLKS_TYPE | BLKID_SUBLKS_USAGE |
				   BLKID_SUBLKS_MAGIC | BLKID_SUBLKS_BADCSUM) ||
	    blkid_probe_enable_partitions(probe, 1) ||
	    blkid_probe_set_partitions_flags(probe, BLKID_PARTS_FORCE_GPT |
	                                                    BLKID_PARTS_MAGIC))
		return probe_failed(dev, "probe for signatures", err);
	return UGDS_ST_OK;
}

static uint64_t value_of(blkid_probe probe, const char *name)
{
	const char *text;

	if (blkid_probe_lookup_value(probe, name, &text, NULL))
		return 0;
	return strtoull(text, NULL, 10);
}

static void tell_hit(blkid_probe probe, ugst_found *found, void *ctx)
{
	const char *type;
	char what[64];

	if (!blkid_probe_lookup_value(probe, "TYPE", &type, NULL)) {
		const char *usage = "";

		(void)blkid_probe_lookup_value(probe, "USAGE", &usage, NULL);
		(void)snprintf(what, sizeof(what), "%s %s", type,
		               strcmp(usage, "filesystem") ? "signature"
		                                           : "file system");
		found(ctx, what, value_of(probe, "SBMAGIC_OFFSET"));
	}
	if (!blkid_probe_lookup_value(probe, "PTTYPE", &type, NULL)) {
		(void)snprintf(what, sizeof(what), "%s partition table", type);
		found(ctx, what, value_of(probe, "PTMAGIC_OFFSET"));
	}
}

/* Each hit of a probe; wiped where found is NULL. */
static int each_hit(const struct ugst_blockdev *dev, ugst_found *found,
                    void *ctx, struct ugds_st_error *err)
{
	blkid_probe probe = NULL;
	int fd = -1;
	int hit;
	int status =
		new_probe(dev, found ? O_RDONLY : O_RDWR, &fd, &probe, err);

	while (status == UGDS_ST_OK) {
		errno = 0;
		hit = blkid_do_probe(probe);
		if (hit == 1)
			break;
		if (hit < 0)
			status = probe_failed(dev, "probe for signatures", err);
		else if (found)
			tell_hit(probe, found, ctx);
		else if (blkid_do_wipe(probe, 0))
			status = probe_failed(dev, "wipe a signature", err);
	}
	if (status == UGDS_ST_OK && !found && fsync(fd) < 0)
		status = probe_failed(dev, "flush", err);
	blkid_free_probe(probe);
	if (fd >= 0)
		(void)close(fd);
	return status;
}

int ugst_signatures_wipe(const struct ugst_blockdev *dev,
                         struct ugds_st_error *err)
{
	return each_hit(dev, NULL, NULL, err);
}

/* ----------------------------------------------------------- partitions */

struct extent {
	unsigned long long start; /* 512-byte sectors on the disk */
	unsigned long long end;
};

static bool read_number(const char *folder, const char *name,
                        unsigned long long *value_out)
{
	char path[PATH_MAX];
	FILE *file;
	bool found;

	if ((size_t)snprintf(path, sizeof(path), "%s/%s", folder, name) >=
	    sizeof(path))
		return false;
	file = fopen(path, "re");
	if (!file)
		return false;
	found = fscanf(file, "%llu", value_out) == 1;
	(void)fclose(file);
	return found;
}

static bool read_extent(const char *folder, struct extent *extent_out)
{
	unsigned long long number;
	unsigned long long size;

	if (!read_number(folder, "partition", &number) ||
	    !read_number(folder, "start", &extent_out->start) ||
	    !read_number(folder, "size", &size))
		return false;
	extent_out->end = extent_out->start + size;
	return true;
}

/* Partitions of disk that overlap own, its name left out. */
static void tell_overlaps(const char *disk, const struct extent *own,
                          const char *own_name, ugst_found *found, void *ctx)
{
	struct dirent *entry;
	DIR *dir = opendir(disk);

	if (!dir)
		return;
	while ((entry = readdir(dir))) {
		struct extent other;
		char folder[PATH_MAX];
		char what[128];

		if (entry->d_name[0] == '.' ||
		    !strcmp(entry->d_name, own_name) ||
		    (size_t)snprintf(folder, sizeof(folder), "%s/%s", disk,
		                     entry->d_name) >= sizeof(folder) ||
		    !read_extent(folder, &other) || other.start >= own->end ||
		    other.end <= own->start)
			continue;
		(void)snprintf(what, sizeof(what), "partition %.64s",
		               entry->d_name);
		found(ctx, what,
		      other.start > own->start
		              ? (other.start - own->start) * 512
		              : 0);
	}
	(void)closedir(dir);
}

static void find_partitions(const struct ugst_blockdev *dev, ugst_found *found,
                            void *ctx)
{
	struct extent own = {0, ULLONG_MAX};
	char folder[PATH_MAX];
	char real[PATH_MAX];
	char *slash;

	(void)snprintf(folder, sizeof(folder), "/sys/dev/block/%u:%u",
	               major(dev->device), minor(dev->device));
	if (!realpath(folder, real))
		return;
	slash = strrchr(real, '/');
	if (read_extent(real, &own) && slash) {
		/* A partition: its siblings lie in its disk's folder. */
		*slash = '\0';
		tell_overlaps(real, &own, slash + 1, found, ctx);
	} else {
		tell_overlaps(real, &own, "", found, ctx);
	}
}

int ugst_signatures_find(const struct ugst_blockdev *dev, ugst_found *found,
                         void *ctx, struct ugds_st_error *err)
{
	if (dev->kind == UGST_DEVICE_BLOCK)
		find_partitions(dev, found, ctx);
	return each_hit(dev, found, ctx, err);
}
