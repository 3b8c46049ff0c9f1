/* SPDX-License-Identifier: BSD-3-Clause */
/* publish.c - replacing a manifest; see publish.h. */
#include "base/common.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "devices/holders.h"
#include "import/publish.h"

/* As many as the kernel follows. */
#define LINKS_MAX 40

/* ----------------------------------------------------------- the place */

/* Path of a link's target: beside the link, unless it is absolute. */
static char *follow(const char *path)
{
	char target[PATH_MAX];
	ssize_t bytes = readlink(path, target, sizeof(target) - 1);
	const char *slash = strrchr(path, '/');

	if (bytes < 0)
		return NULL;
	target[bytes] = '\0';
	if (target[0] == '/' || !slash)
		return ugst_strdup(target);
	return ugst_printf("%.*s/%s", (int)(slash - path), path, target);
}

/* Follow links at the end of a path, also to what does not exist yet. */
static int resolve_links(const char *path, char **path_out,
                         struct ugds_st_error *err)
{
	char *at = ugst_strdup(path);
	struct stat status;

	for (int i = 0; at && i < LINKS_MAX; i++) {
		char *next;

		if (lstat(at, &status) < 0 || !S_ISLNK(status.st_mode)) {
			*path_out = at;
			return UGDS_ST_OK;
		}
		next = follow(at);
		free(at);
		at = next;
	}
	if (!at)
		return ugst_fail_memory(err);
	free(at);
	return ugst_fail_errno(err, UGDS_ST_IO, ELOOP, "%s", path);
}

/* Fill path and folder, both absolute. */
static int locate(const char *path, struct ugst_publication *publication,
                  struct ugds_st_error *err)
{
	char *resolved = NULL;
	char *folder = NULL;
	const char *slash;
	const char *name;
	int status = resolve_links(path, &resolved, err);

	if (status != UGDS_ST_OK)
		return status;
	slash = strrchr(resolved, '/');
	name = slash ? slash + 1 : resolved;
	if (!*name || !strcmp(name, ".") || !strcmp(name, "..")) {
		status = ugst_fail(err, UGDS_ST_INVALID_ARG,
		                   "%s: expected the name of a file", path);
		goto out;
	}
	folder = slash ? ugst_strndup(resolved, (size_t)(name - resolved))
	               : ugst_strdup(".");
	if (!folder) {
		status = ugst_fail_memory(err);
		goto out;
	}
	publication->folder = realpath(folder, NULL);
	if (!publication->folder) {
		status = ugst_fail_errno(err, ugst_errno_status(errno), errno,
		                         "%s", folder);
		goto out;
	}
	publication->path = ugst_printf(
		"%s/%s",
		strcmp(publication->folder, "/") ? publication->folder : "",
		name);
	if (!publication->path)
		status = ugst_fail_memory(err);
out:
	free(folder);
	free(resolved);
	return status;
}

static int lock_folder(struct ugst_publication *publication,
                       struct ugds_st_error *err)
{
	struct ugst_holder holder = {0};

	publication->folder_fd =
		open(publication->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (publication->folder_fd < 0)
		return ugst_fail_errno(err, ugst_errno_status(errno), errno,
		                       "%s", publication->folder);
	/* The other kinds of lock need a descriptor for writing. */
	if (flock(publication->folder_fd, LOCK_EX | LOCK_NB) == 0)
		return UGDS_ST_OK;
	if (errno != EWOULDBLOCK)
		return ugst_fail_errno(err, UGDS_ST_IO, errno, "%s: lock",
		                       publication->folder);
	(void)ugst_holder_of_lock(publication->folder_fd, 0, &holder);
	return ugst_fail(err, UGDS_ST_BUSY,
	                 "%s: expected no other import of a manifest in this "
	                 "folder, found process %ld (%s)",
	                 publication->folder, (long)holder.pid, holder.command);
}

/* ------------------------------------------------------- what is there */

static int slurp(const char *path, char **text_out, size_t *bytes_out,
                 struct stat *status_out, struct ugds_st_error *err)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
	char *text = NULL;
	size_t used = 0;
	size_t room;
	int status = UGDS_ST_OK;

	if (fd < 0)
		return ugst_fail_errno(err, ugst_errno_status(errno), errno,
		                       "%s", path);
	if (fstat(fd, status_out) < 0)
		status = ugst_fail_errno(err, UGDS_ST_IO, errno, "%s", path);
	else if (!S_ISREG(status_out->st_mode) ||
	         (uint64_t)status_out->st_size > UGST_MANIFEST_MAX_BYTES)
		status = ugst_fail(err, UGDS_ST_MISMATCH,
		                   "%s: expected a manifest, found something "
		                   "else, which stays",
		                   path);
	room = status == UGDS_ST_OK ? (size_t)status_out->st_size : 0;
	if (status == UGDS_ST_OK && !(text = ugst_calloc(room + 1, 1)))
		status = ugst_fail_memory(err);
	while (status == UGDS_ST_OK && used < room) {
		ssize_t got = read(fd, text + used, room - used);

		if (got < 0 && errno != EINTR)
			status = ugst_fail_errno(err, UGDS_ST_IO, errno, "%s",
			                         path);
		if (got == 0)
			break;
		used += got > 0 ? (size_t)got : 0;
	}
	(void)close(fd);
	if (status != UGDS_ST_OK) {
		free(text);
		return status;
	}
	*text_out = text;
	*bytes_out = used;
	return UGDS_ST_OK;
}

/* A slip such as --manifest model.safetensors.index.json must not destroy the
 * file: only a manifest is ever replaced. */
static int read_manifest(const char *path, struct ugst_manifest *manifest_out,
                         struct stat *status_out, struct ugds_st_error *err)
{
	struct ugds_st_error why = {0};
	char *text = NULL;
	size_t bytes = 0;
	int status = slurp(path, &text, &bytes, status_out, err);

	if (status != UGDS_ST_OK)
		return status;
	status = ugst_manifest_parse(text, bytes, manifest_out, &why);
	free(text);
	if (status == UGDS_ST_FORMAT)
		return ugst_fail(err, UGDS_ST_MISMATCH,
		                 "%s: expected a manifest, found something "
		                 "else, which stays: %.200s",
		                 path, why.text);
	if (status != UGDS_ST_OK)
		return ugst_fail(err, status, "%s: %.300s", path, why.text);
	return UGDS_ST_OK;
}

int ugst_publication_begin(const char *path,
                           struct ugst_publication *publication,
                           struct ugds_st_error *err)
{
	struct stat there;
	int status = locate(path, publication, err);

	if (status == UGDS_ST_OK)
		status = lock_folder(publication, err);
	if (status != UGDS_ST_OK)
		return status;
	if (lstat(publication->path, &there) < 0) {
		if (errno == ENOENT)
			return UGDS_ST_OK;
		return ugst_fail_errno(err, ugst_errno_status(errno), errno,
		                       "%s", publication->path);
	}
	status = read_manifest(publication->path, &publication->manifest,
	                       &there, err);
	if (status != UGDS_ST_OK)
		return status;
	publication->exists = true;
	publication->mode = there.st_mode & 07777;
	publication->owner = there.st_uid;
	publication->group = there.st_gid;
	return UGDS_ST_OK;
}

void ugst_publication_end(struct ugst_publication *publication)
{
	if (publication->folder_fd >= 0)
		(void)close(publication->folder_fd);
	publication->folder_fd = -1;
	free(publication->path);
	free(publication->folder);
	publication->path = NULL;
	publication->folder = NULL;
	ugst_manifest_free(&publication->manifest);
}

/* ------------------------------------------------------------- replace */

/* The lock is advisory: is the place still as it was found? */
static int check_place(const struct ugst_publication *publication,
                       struct ugds_st_error *err)
{
	struct ugst_manifest manifest;
	struct stat status;
	int result;
	bool same;

	if (lstat(publication->path, &status) < 0) {
		if (errno == ENOENT)
			return UGDS_ST_OK;
		return ugst_fail_errno(err, UGDS_ST_IO, errno, "%s",
		                       publication->path);
	}
	result = read_manifest(publication->path, &manifest, &status, err);
	if (result != UGDS_ST_OK)
		return result;
	same = publication->exists &&
	       ugst_uuid_equal(&manifest.checkpoint,
	                       &publication->manifest.checkpoint) &&
	       manifest.generation == publication->manifest.generation;
	ugst_manifest_free(&manifest);
	if (!same)
		return ugst_fail(err, UGDS_ST_MISMATCH,
		                 "%s: expected what was there when the import "
		                 "began, found another manifest, which stays",
		                 publication->path);
	return UGDS_ST_OK;
}

static int sync_folder(const struct ugst_import_env *env,
                       const struct ugst_publication *publication,
                       const char *what, struct ugds_st_error *err)
{
	if (env->fs->fsync(env->fs->ctx, publication->folder_fd) == 0)
		return UGDS_ST_OK;
	return ugst_fail_errno(err, UGDS_ST_IO, errno, "%s: %s",
	                       publication->path, what);
}

/* Write and flush the new file beside the old one. */
static int write_new(const struct ugst_import_env *env,
                     const struct ugst_publication *publication,
                     const char *path, const char *text, size_t bytes,
                     struct ugds_st_error *err)
{
	const struct ugst_fs *fs = env->fs;
	int fd = fs->create(fs->ctx, path, 0666);
	int errnum = 0;

	if (fd < 0)
		return ugst_fail_errno(err, ugst_errno_status(errno), errno,
		                       "%s", path);
	/* Only root can give a file away; whoever else may write here keeps
	 * what is theirs. */
	if (publication->exists) {
		if (fchown(fd, publication->owner, publication->group) < 0)
			ugst_env_note(env, "%s: its owner could not be kept",
			              publication->path);
		if (fchmod(fd, publication->mode) < 0)
			errnum = errno;
	}
	if (!errnum && ugst_fs_write_all(fs, fd, text, bytes) < 0)
		errnum = errno;
	if (!errnum && fs->fsync(fs->ctx, fd) < 0)
		errnum = errno;
	if (close(fd) < 0 && !errnum)
		errnum = errno;
	if (!errnum)
		return UGDS_ST_OK;
	return ugst_fail_errno(err, ugst_errno_status(errnum), errnum,
	                       "%s: the manifest could not be written, the "
	                       "old one stays",
	                       publication->path);
}

int ugst_publication_replace(const struct ugst_import_env *env,
                             const struct ugst_publication *publication,
                             const struct ugst_manifest *manifest,
                             struct ugds_st_error *err)
{
	const struct ugst_fs *fs = env->fs;
	/* One name, since the folder is locked: what a cut run left behind is
	 * replaced, not gathered. */
	char *beside = ugst_printf("%s.ugds-st-new", publication->path);
	char *text = NULL;
	size_t bytes = 0;
	int status;

	if (!beside)
		return ugst_fail_memory(err);
	status = ugst_manifest_print(manifest, &text, &bytes, err);
	if (status != UGDS_ST_OK)
		goto out;
	if (fs->unlink(fs->ctx, beside) < 0 && errno != ENOENT) {
		status = ugst_fail_errno(err, UGDS_ST_IO, errno, "%s", beside);
		goto out;
	}
	status = write_new(env, publication, beside, text, bytes, err);
	if (status == UGDS_ST_OK)
		status = check_place(publication, err);
	if (status == UGDS_ST_OK &&
	    fs->rename(fs->ctx, beside, publication->path) < 0)
		status = ugst_fail_errno(err, ugst_errno_status(errno), errno,
		                         "%s: rename", publication->path);
	if (status != UGDS_ST_OK) {
		(void)fs->unlink(fs->ctx, beside);
		goto out;
	}
	status = sync_folder(env, publication,
	                     "published, not known to be durable", err);
out:
	free(text);
	free(beside);
	return status;
}

int ugst_publication_sync(const struct ugst_import_env *env,
                          const struct ugst_publication *publication,
                          struct ugds_st_error *err)
{
	int fd = open(publication->path, O_RDONLY | O_CLOEXEC);
	int status = UGDS_ST_OK;

	if (fd < 0 || env->fs->fsync(env->fs->ctx, fd) < 0)
		status = ugst_fail_errno(err, UGDS_ST_IO, errno, "%s: fsync",
		                         publication->path);
	if (fd >= 0)
		(void)close(fd);
	if (status != UGDS_ST_OK)
		return status;
	return sync_folder(env, publication, "fsync of its folder", err);
}

int ugst_publication_remove(const struct ugst_import_env *env,
                            const struct ugst_publication *publication,
                            struct ugds_st_error *err)
{
	if (env->fs->unlink(env->fs->ctx, publication->path) < 0)
		return ugst_fail_errno(err, UGDS_ST_IO, errno, "%s: unlink",
		                       publication->path);
	return sync_folder(env, publication,
	                   "unlinked, not known to be durable", err);
}

void ugst_publication_sync_folder(const struct ugst_import_env *env,
                                  const char *path)
{
	const char *slash = strrchr(path, '/');
	char *folder =
		slash ? ugst_strndup(path, (size_t)(slash - path + 1)) : NULL;
	int fd = folder ? open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;

	if (fd >= 0) {
		(void)env->fs->fsync(env->fs->ctx, fd);
		(void)close(fd);
	}
	free(folder);
}
