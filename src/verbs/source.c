/* SPDX-License-Identifier: BSD-3-Clause */
/* source.c - reading the files of a checkpoint; see source.h. */
#include "base/common.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/units.h"
#include "verbs/source.h"

static struct ugst_file_stamp stamp_of(const struct stat *status)
{
	return (struct ugst_file_stamp){
		.device = status->st_dev,
		.inode = status->st_ino,
		.bytes = (uint64_t)status->st_size,
		.mtime = status->st_mtim,
		.ctime = status->st_ctim,
	};
}

bool ugst_file_stamp(int fd, struct ugst_file_stamp *stamp_out)
{
	struct stat status;

	if (fstat(fd, &status))
		return false;
	*stamp_out = stamp_of(&status);
	return true;
}

static bool equal_times(const struct timespec *a, const struct timespec *b)
{
	return a->tv_sec == b->tv_sec && a->tv_nsec == b->tv_nsec;
}

bool ugst_file_stamp_equal(const struct ugst_file_stamp *a,
                           const struct ugst_file_stamp *b)
{
	return a->device == b->device && a->inode == b->inode &&
	       a->bytes == b->bytes && equal_times(&a->mtime, &b->mtime) &&
	       equal_times(&a->ctime, &b->ctime);
}

static int fail_open(int errnum, struct ugds_st_error *err)
{
	return ugst_fail_errno(err, ugst_errno_status(errnum), errnum,
	                       "cannot open");
}

static const char *kind_of(mode_t mode)
{
	if (S_ISDIR(mode))
		return "a directory";
	if (S_ISFIFO(mode))
		return "a FIFO";
	if (S_ISSOCK(mode))
		return "a socket";
	if (S_ISBLK(mode))
		return "a block device";
	return "a character device";
}

static int check_regular(const struct stat *status, struct ugds_st_error *err)
{
	if (S_ISREG(status->st_mode))
		return UGDS_ST_OK;
	return ugst_fail(err, UGDS_ST_FORMAT,
	                 "expected a regular file, found %s",
	                 kind_of(status->st_mode));
}

int ugst_source_open(const char *path, int *fd_out,
                     struct ugst_file_stamp *stamp_out,
                     struct ugds_st_error *err)
{
	struct stat file;
	int status;
	int fd;

	if (stat(path, &file))
		return fail_open(errno, err);
	status = check_regular(&file, err);
	if (status)
		return status;
	/* Should the file have become a FIFO by now, NONBLOCK keeps us from
	 * hanging until it has a writer. */
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	if (fd < 0)
		return fail_open(errno, err);
	if (fstat(fd, &file))
		status = fail_open(errno, err);
	else
		status = check_regular(&file, err);
	if (status) {
		(void)close(fd);
		return status;
	}
	*stamp_out = stamp_of(&file);
	*fd_out = fd;
	return UGDS_ST_OK;
}

int ugst_source_read(int fd, void *data, size_t bytes, uint64_t off,
                     struct ugds_st_error *err)
{
	size_t done = 0;

	while (done < bytes) {
		ssize_t got = pread(fd, (char *)data + done, bytes - done,
		                    (off_t)(off + done));

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return ugst_fail_errno(err, UGDS_ST_IO, errno,
			                       "cannot read %zu bytes at byte "
			                       "%" PRIu64,
			                       bytes - done, off + done);
		if (got == 0)
			return ugst_fail(err, UGDS_ST_MISMATCH,
			                 "the file was cut while it was read: "
			                 "expected %" PRIu64
			                 " bytes, found %" PRIu64,
			                 off + bytes, off + done);
		done += (size_t)got;
	}
	return UGDS_ST_OK;
}

int ugst_source_unchanged(int fd, const struct ugst_file_stamp *stamp,
                          struct ugds_st_error *err)
{
	struct ugst_file_stamp now;

	if (!ugst_file_stamp(fd, &now))
		return ugst_fail_errno(err, UGDS_ST_IO, errno, "cannot stat");
	if (ugst_file_stamp_equal(stamp, &now))
		return UGDS_ST_OK;
	return ugst_fail(err, UGDS_ST_MISMATCH,
	                 "the file was changed while it was read: expected "
	                 "%" PRIu64 " bytes modified at %lld.%09ld, found "
	                 "%" PRIu64 " bytes modified at %lld.%09ld",
	                 stamp->bytes, (long long)stamp->mtime.tv_sec,
	                 stamp->mtime.tv_nsec, now.bytes,
	                 (long long)now.mtime.tv_sec, now.mtime.tv_nsec);
}

int ugst_source_slurp(const char *path, uint64_t max_bytes, char **data_out,
                      size_t *bytes_out, struct ugds_st_error *err)
{
	struct ugst_file_stamp stamp;
	char *data = NULL;
	int fd = -1;
	int status = ugst_source_open(path, &fd, &stamp, err);

	if (status)
		return status;
	if (stamp.bytes > max_bytes) {
		status = ugst_fail(err, UGDS_ST_FORMAT,
		                   "file too large: found %" PRIu64
		                   " bytes, expected at most %" PRIu64,
		                   stamp.bytes, max_bytes);
		goto out;
	}
	data = ugst_reallocarray(NULL, (size_t)stamp.bytes + 1, 1);
	if (!data) {
		status = ugst_fail_memory(err);
		goto out;
	}
	status = ugst_source_read(fd, data, (size_t)stamp.bytes, 0, err);
	if (!status)
		status = ugst_source_unchanged(fd, &stamp, err);
	if (status)
		goto out;
	data[stamp.bytes] = '\0';
	*data_out = data;
	*bytes_out = (size_t)stamp.bytes;
	data = NULL;
out:
	free(data);
	(void)close(fd);
	return status;
}

/* Length field and JSON, hashed together, parsed once the file has been seen
 * to be the same before and after. */
static int read_header(int fd, struct ugst_source_shard *shard,
                       struct ugds_st_error *err)
{
	char prefix[UGST_HEADER_SNIFF_BYTES];
	size_t prefix_bytes =
		(size_t)ugst_min(sizeof(prefix), shard->stamp.bytes);
	char *bytes = NULL;
	int status = ugst_source_read(fd, prefix, prefix_bytes, 0, err);

	if (!status)
		status = ugst_header_length(prefix, prefix_bytes,
		                            shard->stamp.bytes,
		                            &shard->json_bytes, err);
	if (status)
		return status;
	bytes = ugst_reallocarray(
		NULL, UGST_HEADER_PREFIX_BYTES + (size_t)shard->json_bytes, 1);
	if (!bytes)
		return ugst_fail_memory(err);
	status = ugst_source_read(
		fd, bytes, UGST_HEADER_PREFIX_BYTES + (size_t)shard->json_bytes,
		0, err);
	if (!status)
		status = ugst_source_unchanged(fd, &shard->stamp, err);
	if (!status)
		status = ugst_header_parse(bytes + UGST_HEADER_PREFIX_BYTES,
		                           (size_t)shard->json_bytes,
		                           shard->stamp.bytes, &shard->header,
		                           err);
	if (!status)
		shard->header_hash =
			ugst_hash(bytes, UGST_HEADER_PREFIX_BYTES +
		                                 (size_t)shard->json_bytes);
	free(bytes);
	return status;
}

int ugst_source_header(struct ugst_source_shard *shard,
                       struct ugds_st_error *err)
{
	char printed[UGST_ESCAPED_BYTES];
	const char *shown = strlen(shard->path) < sizeof(printed) / 2
	                            ? shard->path
	                            : shard->name;
	int fd = -1;
	int status = ugst_source_open(shard->path, &fd, &shard->stamp, err);

	if (!status) {
		status = read_header(fd, shard, err);
		(void)close(fd);
	}
	if (status && status != UGDS_ST_NO_MEMORY)
		ugst_err_prefix(err, ugst_escape(shown, strlen(shown), printed,
		                                 sizeof(printed)));
	return status;
}
