/* SPDX-License-Identifier: BSD-3-Clause */
/* file.c - a whole small file in memory; see file.h. */
#include "base/common.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "devices/file.h"

static int read_all(int fd, const char *path, char *text, size_t bytes,
                    struct ugds_st_error *err)
{
	size_t done = 0;

	while (done < bytes) {
		ssize_t got = read(fd, text + done, bytes - done);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return ugst_fail_errno(err, UGDS_ST_IO, errno,
			                       "%s: byte %zu", path, done);
		if (got == 0)
			return ugst_fail(err, UGDS_ST_IO,
			                 "%s: expected %zu bytes, found %zu: "
			                 "it changed while it was read",
			                 path, bytes, done);
		done += (size_t)got;
	}
	text[bytes] = '\0';
	return UGDS_ST_OK;
}

int ugst_file_read(const char *path, uint64_t max_bytes, char **text_out,
                   size_t *bytes_out, struct ugds_st_error *err)
{
	struct stat st;
	char *text = NULL;
	int status;
	/* O_NONBLOCK: a FIFO must not hold us up before it is refused. */
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

	if (fd < 0 || fstat(fd, &st) < 0) {
		status = ugst_fail_errno(err, ugst_errno_status(errno), errno,
		                         "%s", path);
		goto out;
	}
	if (!S_ISREG(st.st_mode)) {
		status = ugst_fail(err, UGDS_ST_FORMAT,
		                   "%s: expected a regular file", path);
		goto out;
	}
	if ((uint64_t)st.st_size > max_bytes) {
		status = ugst_fail(err, UGDS_ST_FORMAT,
		                   "%s: expected at most %llu bytes, found "
		                   "%llu",
		                   path, (unsigned long long)max_bytes,
		                   (unsigned long long)st.st_size);
		goto out;
	}
	text = malloc((size_t)st.st_size + 1);
	status = text ? read_all(fd, path, text, (size_t)st.st_size, err)
	              : ugst_fail_memory(err);
out:
	if (fd >= 0)
		(void)close(fd);
	if (status) {
		free(text);
		return status;
	}
	*text_out = text;
	*bytes_out = (size_t)st.st_size;
	return UGDS_ST_OK;
}
