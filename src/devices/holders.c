/* SPDX-License-Identifier: BSD-3-Clause */
/* holders.c - a walk over /proc; see holders.h. */
#include "base/common.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "devices/holders.h"

/* Does a descriptor of a process count? */
typedef bool descriptor_test(pid_t pid, int number, const void *ctx);

static void name_holder(pid_t pid, struct ugst_holder *holder_out)
{
	char path[64];
	char comm[64] = "";
	FILE *file;

	(void)snprintf(path, sizeof(path), "/proc/%ld/comm", (long)pid);
	file = fopen(path, "re");
	if (file) {
		if (!fgets(comm, sizeof(comm), file))
			comm[0] = '\0';
		(void)fclose(file);
	}
	comm[strcspn(comm, "\n")] = '\0';
	holder_out->pid = pid;
	ugst_escape(comm, strlen(comm), holder_out->command,
	            sizeof(holder_out->command));
}

/* A name of digits as its number; -1: any other name. */
static long number_of(const char *name)
{
	char *end;
	long number = strtol(name, &end, 10);

	return name[0] >= '0' && name[0] <= '9' && !*end ? number : -1;
}

static bool any_descriptor(pid_t pid, descriptor_test *test, const void *ctx)
{
	char path[64];
	struct dirent *entry;
	bool found = false;
	DIR *dir;

	(void)snprintf(path, sizeof(path), "/proc/%ld/fd", (long)pid);
	dir = opendir(path);
	if (!dir)
		return false;
	while (!found && (entry = readdir(dir))) {
		long number = number_of(entry->d_name);

		if (number >= 0)
			found = test(pid, (int)number, ctx);
	}
	(void)closedir(dir);
	return found;
}

static bool any_process(descriptor_test *test, const void *ctx,
                        struct ugst_holder *holder_out)
{
	struct dirent *entry;
	bool found = false;
	DIR *dir = opendir("/proc");

	if (!dir)
		return false;
	while (!found && (entry = readdir(dir))) {
		long pid = number_of(entry->d_name);

		if (pid > 0 && any_descriptor((pid_t)pid, test, ctx)) {
			name_holder((pid_t)pid, holder_out);
			found = true;
		}
	}
	(void)closedir(dir);
	return found;
}

struct wanted {
	struct stat file;
	int fd;
	int spare_fd;
	int byte;
	bool elsewhere; /* this process does not count */
};

static bool is_same_file(const struct stat *a, const struct stat *b)
{
	if (S_ISBLK(a->st_mode) || S_ISCHR(a->st_mode))
		return (a->st_mode & S_IFMT) == (b->st_mode & S_IFMT) &&
		       a->st_rdev == b->st_rdev;
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

static bool holds_file(pid_t pid, int number, const void *ctx)
{
	const struct wanted *wanted = ctx;
	struct stat file;
	char path[64];

	if (pid == getpid() && (wanted->elsewhere || number == wanted->fd ||
	                        number == wanted->spare_fd))
		return false;
	(void)snprintf(path, sizeof(path), "/proc/%ld/fd/%d", (long)pid,
	               number);
	return stat(path, &file) == 0 && is_same_file(&wanted->file, &file);
}

/* One line of fdinfo: "lock: 1: OFDLCK ADVISORY WRITE -1 00:2a:77 0 0", where
 * the last two are the first and last byte, or EOF; flock() covers all. */
static bool line_covers(const char *line, int byte)
{
	long long first;
	char kind[16];
	char last[32];

	if (sscanf(line, "lock: %*s %15s %*s %*s %*s %*s %lld %31s", kind,
	           &first, last) != 3 ||
	    (strcmp(kind, "OFDLCK") && strcmp(kind, "FLOCK")))
		return false;
	return byte >= first &&
	       (!strcmp(last, "EOF") || byte <= strtoll(last, NULL, 10));
}

static bool holds_lock(pid_t pid, int number, const void *ctx)
{
	const struct wanted *wanted = ctx;
	char path[64];
	char line[256];
	bool found = false;
	FILE *file;

	if (!holds_file(pid, number, ctx))
		return false;
	(void)snprintf(path, sizeof(path), "/proc/%ld/fdinfo/%d", (long)pid,
	               number);
	file = fopen(path, "re");
	if (!file)
		return false;
	while (!found && fgets(line, sizeof(line), file))
		found = line_covers(line, wanted->byte);
	(void)fclose(file);
	return found;
}

bool ugst_holder_of_lock(int fd, int byte, struct ugst_holder *holder_out)
{
	struct wanted wanted = {.fd = fd, .spare_fd = -1, .byte = byte};

	return fstat(fd, &wanted.file) == 0 &&
	       any_process(holds_lock, &wanted, holder_out);
}

bool ugst_holder_of_file(int fd, int spare_fd, struct ugst_holder *holder_out)
{
	struct wanted wanted = {.fd = fd, .spare_fd = spare_fd};

	return fstat(fd, &wanted.file) == 0 &&
	       any_process(holds_file, &wanted, holder_out);
}

bool ugst_holder_elsewhere(int fd, struct ugst_holder *holder_out)
{
	struct wanted wanted = {.fd = fd, .spare_fd = -1, .elsewhere = true};

	return fstat(fd, &wanted.file) == 0 &&
	       any_process(holds_file, &wanted, holder_out);
}
