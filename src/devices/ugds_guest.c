/* SPDX-License-Identifier: BSD-3-Clause */
/* ugds_guest.c - the devices that this process has open; see ugds_guest.h. */
#include "base/common.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "devices/ugds_guest.h"

#define PROC_PATH_BYTES 64

bool ugst_fd_list_has(const struct ugst_fd_list *list, int fd)
{
	for (size_t i = 0; i < list->count; i++) {
		if (list->fds[i] == fd)
			return true;
	}
	return false;
}

bool ugst_fd_list_add(struct ugst_fd_list *list, int fd)
{
	int *fds = ugst_reallocarray(list->fds, list->count + 1, sizeof(*fds));

	if (!fds)
		return false;
	fds[list->count++] = fd;
	list->fds = fds;
	return true;
}

/* "240 ugds_drv" */
static bool parse_driver(char *line, unsigned number, char *name_out,
                         size_t name_bytes)
{
	char *end;
	unsigned long found = strtoul(line, &end, 10);

	if (end == line || *end != ' ' || found != number)
		return false;
	end[strcspn(end, "\n")] = '\0';
	(void)ugst_escape(end + 1, strlen(end + 1), name_out, name_bytes);
	return true;
}

bool ugst_guest_driver(dev_t device, char *name_out, size_t name_bytes)
{
	FILE *file = fopen("/proc/devices", "re");
	char *line = NULL;
	size_t line_bytes = 0;
	bool found = false;

	if (!file)
		return false;
	/* Character devices come first; block devices have a list, and
	 * numbers, of their own. */
	while (!found && getline(&line, &line_bytes, file) > 0) {
		if (strncmp(line, "Block devices:", 14) == 0)
			break;
		found = parse_driver(line, major(device), name_out, name_bytes);
	}
	free(line);
	(void)fclose(file);
	return found;
}

/* Called for each descriptor of a character device; true: stop. */
typedef bool (*visit_fn)(void *ctx, int fd, dev_t device);

/* Return: 0; an errno. *stopped_out: a visit said so. */
static int walk_fds(const char *path, visit_fn visit, void *ctx,
                    bool *stopped_out)
{
	DIR *dir = opendir(path);
	const struct dirent *entry;
	bool stopped = false;

	*stopped_out = false;
	if (!dir)
		return errno;
	while (!stopped && (entry = readdir(dir))) {
		struct stat st;

		if (entry->d_name[0] == '.')
			continue;
		/* It may have been closed since; then it is nobody's. */
		if (fstatat(dirfd(dir), entry->d_name, &st, 0) != 0 ||
		    !S_ISCHR(st.st_mode))
			continue;
		stopped = visit(ctx, (int)strtol(entry->d_name, NULL, 10),
		                st.st_rdev);
	}
	(void)closedir(dir);
	*stopped_out = stopped;
	return 0;
}

struct collect {
	dev_t device;
	struct ugst_fd_list list;
};

static bool collect_fd(void *ctx, int fd, dev_t device)
{
	struct collect *collect = ctx;

	if (device != collect->device)
		return false;
	return !ugst_fd_list_add(&collect->list, fd);
}

int ugst_guest_own_fds(dev_t device, struct ugst_fd_list *list_out,
                       struct ugds_st_error *err)
{
	struct collect collect = {.device = device};
	bool no_memory;
	int errnum =
		walk_fds("/proc/self/fd", collect_fd, &collect, &no_memory);

	if (errnum == 0 && !no_memory) {
		*list_out = collect.list;
		return UGDS_ST_OK;
	}
	free(collect.list.fds);
	if (no_memory)
		return ugst_fail_memory(err);
	return ugst_fail_errno(err, UGDS_ST_IO, errnum,
	                       "/proc/self/fd, to see which devices this "
	                       "process has open");
}

struct sibling {
	dev_t device;
	const dev_t *known;
	size_t known_count;
	char *path_out;
	size_t path_bytes;
};

static bool is_sibling(void *ctx, int fd, dev_t device)
{
	const struct sibling *sibling = ctx;
	char link[256];
	char fd_path[PROC_PATH_BYTES];
	ssize_t link_bytes;

	if (device == sibling->device ||
	    major(device) != major(sibling->device))
		return false;
	for (size_t i = 0; i < sibling->known_count; i++) {
		if (device == sibling->known[i])
			return false;
	}
	(void)snprintf(fd_path, sizeof(fd_path), "/proc/self/fd/%d", fd);
	link_bytes = readlink(fd_path, link, sizeof(link));
	(void)ugst_escape(link, link_bytes > 0 ? (size_t)link_bytes : 0,
	                  sibling->path_out, sibling->path_bytes);
	return true;
}

bool ugst_guest_sibling(dev_t device, const dev_t *known, size_t known_count,
                        char *path_out, size_t path_bytes)
{
	struct sibling sibling = {
		.device = device,
		.known = known,
		.known_count = known_count,
		.path_out = path_out,
		.path_bytes = path_bytes,
	};
	bool found;

	return walk_fds("/proc/self/fd", is_sibling, &sibling, &found) == 0 &&
	       found;
}
