/* SPDX-License-Identifier: BSD-3-Clause */
/* shard_file.c - a shard's file while it is copied; see shard_file.h. */
#include "base/common.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <unistd.h>

#include "base/err.h"
#include "base/units.h"
#include "import/shard_file.h"

static const char *what_changed(const struct ugst_file_stamp *before,
                                const struct ugst_file_stamp *after)
{
	if (before->device != after->device || before->inode != after->inode)
		return "another file has its name";
	if (before->bytes != after->bytes)
		return "its size";
	if (before->mtime.tv_sec != after->mtime.tv_sec ||
	    before->mtime.tv_nsec != after->mtime.tv_nsec)
		return "its modification time";
	return "its change time";
}

int ugst_shard_file_check(const struct ugst_shard_file *source,
                          struct ugds_st_error *err)
{
	const struct ugst_source_shard *shard = source->shard;
	struct ugst_file_stamp now;

	if (!ugst_file_stamp(source->fd, &now))
		return ugst_fail_errno(err, UGDS_ST_IO, errno, "%s",
		                       shard->path);
	if (ugst_file_stamp_equal(&shard->stamp, &now))
		return UGDS_ST_OK;
	if (shard->stamp.bytes != now.bytes)
		return ugst_fail(err, UGDS_ST_MISMATCH,
		                 "%s: changed while it was imported: expected "
		                 "%" PRIu64 " bytes, found %" PRIu64,
		                 shard->path, shard->stamp.bytes, now.bytes);
	return ugst_fail(err, UGDS_ST_MISMATCH,
	                 "%s: changed while it was imported: %s differs",
	                 shard->path, what_changed(&shard->stamp, &now));
}

int ugst_shard_file_open(const struct ugst_source_shard *shard,
                         struct ugst_shard_file *source_out,
                         struct ugds_st_error *err)
{
	struct ugst_shard_file source = {.shard = shard, .direct = true};
	int status;

	source.fd = open(shard->path, O_RDONLY | O_CLOEXEC | O_DIRECT);
	if (source.fd < 0 && errno == EINVAL) {
		source.direct = false;
		source.fd = open(shard->path, O_RDONLY | O_CLOEXEC);
	}
	if (source.fd < 0)
		return ugst_fail_errno(err, ugst_errno_status(errno), errno,
		                       "%s", shard->path);
	status = ugst_shard_file_check(&source, err);
	if (status != UGDS_ST_OK)
		ugst_shard_file_close(&source);
	else
		*source_out = source;
	return status;
}

void ugst_shard_file_close(struct ugst_shard_file *source)
{
	/* Read once, in order, and not again. */
	if (!source->direct)
		(void)posix_fadvise(source->fd, 0, 0, POSIX_FADV_DONTNEED);
	(void)close(source->fd);
	source->fd = -1;
}

/* Where the file system takes O_DIRECT at open but not at the transfer, or not
 * at the odd end of the file. */
static bool leave_direct(struct ugst_shard_file *source)
{
	int flags = fcntl(source->fd, F_GETFL);

	if (!source->direct || flags < 0 ||
	    fcntl(source->fd, F_SETFL, flags & ~O_DIRECT) < 0)
		return false;
	source->direct = false;
	return true;
}

int ugst_shard_file_read(struct ugst_shard_file *source, void *buf,
                         size_t bytes, uint64_t off, size_t *done_out,
                         struct ugds_st_error *err)
{
	uint64_t left = source->shard->stamp.bytes - off;
	size_t wanted = (size_t)ugst_min(bytes, left);
	/* Also past the end: O_DIRECT wants whole pages. */
	size_t pages = (size_t)ugst_align_up(wanted, UGST_PAGE_BYTES);
	size_t done = 0;
	int status;

	while (done < wanted) {
		ssize_t got = pread(source->fd, (char *)buf + done,
		                    pages - done, (off_t)(off + done));

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0 && errno == EINVAL && leave_direct(source))
			continue;
		if (got < 0)
			return ugst_fail_errno(err, UGDS_ST_IO, errno,
			                       "%s: read at byte %" PRIu64,
			                       source->shard->path, off + done);
		if (got == 0)
			return ugst_fail(
				err, UGDS_ST_MISMATCH,
				"%s: changed while it was imported: "
				"expected %" PRIu64 " bytes, found %" PRIu64,
				source->shard->path, source->shard->stamp.bytes,
				off + done);
		done += (size_t)got;
		if (done >= wanted || ugst_is_aligned(done, UGST_PAGE_BYTES))
			continue;
		/* An end between pages is the file's end, as a rule. */
		status = ugst_shard_file_check(source, err);
		if (status != UGDS_ST_OK)
			return status;
		done = (size_t)ugst_align_down(done, UGST_PAGE_BYTES);
	}
	*done_out = wanted;
	return UGDS_ST_OK;
}
