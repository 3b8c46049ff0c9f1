/* SPDX-License-Identifier: BSD-3-Clause */
/* sim.c - a disk and a folder that can lose power; see sim.h. */
#include "support/test.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "crash/sim.h"
#include "support/random.h"
#include "support/scene.h"

#define PAGE 4096u
#define SECTOR 512u

struct sim_write {
	uint64_t off;
	size_t bytes;
	char *data;
};

struct disk {
	char *path;
	size_t bytes;
	char *base;
	char *durable;
	char *seen;
	unsigned char *dirty; /* pages that may differ from base or file */
	unsigned char *bad;   /* sectors that cannot be read */
	struct sim_write *writes;
	size_t write_count;
};

#define FILES_MAX 4096u
#define NAMES_MAX 8u
#define STATES_MAX 64u

struct file {
	ino_t inode;
	char *data; /* seen */
	size_t bytes;
	char *durable;
	size_t durable_bytes;
	bool synced; /* since the last write */
};

/* The folder at one moment: names and the number of their file. */
struct names {
	size_t count;
	char name[NAMES_MAX][64];
	size_t file[NAMES_MAX];
};

static struct disk disks[SIM_DISKS_MAX];
static size_t disk_count;
static char *folder;
static struct file files[FILES_MAX];
static size_t file_count;
/* states[0] is durable, each later one a change more. */
static struct names states[STATES_MAX];
static size_t state_count;
static struct names base_names;
static size_t base_file_count;

static enum sim_fault fault;
static unsigned long fault_at;
static unsigned long operations;
static bool dead;
static uint64_t random_state;

/* ----------------------------------------------------------- operations */

enum verdict {
	GO,
	REFUSE,      /* fail, nothing done */
	LAND,        /* fail, done */
	GO_THEN_DIE, /* done, then power is lost */
};

static enum verdict next_operation(void)
{
	operations++;
	if (dead)
		return REFUSE;
	if (operations < fault_at || fault == SIM_NONE)
		return GO;
	if (operations > fault_at)
		return fault == SIM_FAIL_ON ? REFUSE : GO;
	if (fault == SIM_CUT)
		dead = true;
	if (fault == SIM_CUT_AFTER) {
		dead = true;
		return GO_THEN_DIE;
	}
	return fault == SIM_FAIL_LANDED ? LAND : REFUSE;
}

static int failed(void)
{
	errno = EIO;
	return -1;
}

/* ---------------------------------------------------------------- disks */

static struct disk *disk_of(const struct ugst_blockdev *dev)
{
	for (size_t i = 0; i < disk_count; i++)
		if (!strcmp(disks[i].path, dev->path))
			return &disks[i];
	fail_msg("%s: no such disk", dev->path);
	return NULL;
}

static ssize_t sim_pread(struct ugst_blockdev *dev, void *buf, size_t bytes,
                         uint64_t off)
{
	struct disk *disk = disk_of(dev);

	if (off + bytes > disk->bytes)
		bytes = off < disk->bytes ? disk->bytes - (size_t)off : 0;
	for (size_t at = 0; at < bytes; at += SECTOR)
		if (disk->bad[(off + at) / SECTOR])
			return failed();
	memcpy(buf, disk->seen + off, bytes);
	return (ssize_t)bytes;
}

static void mark_dirty(struct disk *disk, uint64_t off, size_t bytes)
{
	for (size_t at = 0; at < bytes; at += PAGE)
		disk->dirty[(off + at) / PAGE] = 1;
}

static ssize_t sim_pwrite(struct ugst_blockdev *dev, const void *buf,
                          size_t bytes, uint64_t off)
{
	struct disk *disk = disk_of(dev);
	enum verdict verdict = next_operation();
	struct sim_write *write;

	assert_true(off % PAGE == 0 && bytes % PAGE == 0);
	assert_true(off + bytes <= disk->bytes);
	if (verdict == REFUSE)
		return failed();
	disk->writes =
		realloc(disk->writes, (disk->write_count + 1) * sizeof(*write));
	write = &disk->writes[disk->write_count++];
	*write = (struct sim_write){off, bytes, malloc(bytes)};
	memcpy(write->data, buf, bytes);
	memcpy(disk->seen + off, buf, bytes);
	memset(disk->bad + off / SECTOR, 0, bytes / SECTOR);
	mark_dirty(disk, off, bytes);
	return verdict == LAND ? failed() : (ssize_t)bytes;
}

static void forget_writes(struct disk *disk)
{
	while (disk->write_count)
		free(disk->writes[--disk->write_count].data);
}

static void make_durable(struct disk *disk)
{
	for (size_t i = 0; i < disk->write_count; i++) {
		const struct sim_write *write = &disk->writes[i];

		memcpy(disk->durable + write->off, write->data, write->bytes);
	}
	forget_writes(disk);
}

static int sim_flush(struct ugst_blockdev *dev)
{
	struct disk *disk = disk_of(dev);
	enum verdict verdict = next_operation();

	if (verdict == REFUSE || verdict == LAND)
		return failed();
	make_durable(disk);
	return 0;
}

/* What becomes of one write that was not flushed. */
static void lose_write(struct disk *disk, const struct sim_write *write)
{
	uint64_t fate = random_below(&random_state, 4);

	if (fate == 0)
		return;
	for (size_t at = 0; at < write->bytes; at += SECTOR) {
		uint64_t sector = random_next(&random_state);

		if (fate > 1 && (sector & 1))
			continue;
		memcpy(disk->durable + write->off + at, write->data + at,
		       SECTOR);
		if (fate == 3 && (sector & 0xf0) == 0)
			disk->bad[(write->off + at) / SECTOR] = 1;
	}
}

static void lose_disk(struct disk *disk)
{
	for (size_t i = 0; i < disk->write_count; i++)
		lose_write(disk, &disk->writes[i]);
	forget_writes(disk);
	for (size_t page = 0; page < disk->bytes / PAGE; page++)
		if (disk->dirty[page])
			memcpy(disk->seen + page * PAGE,
			       disk->durable + page * PAGE, PAGE);
}

/* --------------------------------------------------------------- folder */

static struct names *now(void)
{
	return &states[state_count - 1];
}

static size_t find_name(const struct names *names, const char *path)
{
	const char *name = strrchr(path, '/');
	size_t i = 0;

	name = name ? name + 1 : path;
	while (i < names->count && strcmp(names->name[i], name))
		i++;
	return i;
}

static struct names *new_state(void)
{
	assert_true(state_count < STATES_MAX);
	states[state_count] = states[state_count - 1];
	return &states[state_count++];
}

static void drop_name(struct names *names, size_t i)
{
	names->count--;
	for (; i < names->count; i++) {
		memcpy(names->name[i], names->name[i + 1],
		       sizeof(names->name[i]));
		names->file[i] = names->file[i + 1];
	}
}

static void put_name(struct names *names, const char *path, size_t file)
{
	const char *name = strrchr(path, '/');
	size_t i = find_name(names, path);

	name = name ? name + 1 : path;
	assert_true(i < NAMES_MAX && strlen(name) < sizeof(names->name[0]));
	if (i == names->count)
		names->count++;
	(void)snprintf(names->name[i], sizeof(names->name[i]), "%s", name);
	names->file[i] = file;
}

static ino_t inode_of(int fd)
{
	struct stat status;

	assert_int_equal(fstat(fd, &status), 0);
	return status.st_ino;
}

/* The newest: a number may have been used before. */
static struct file *file_of(int fd)
{
	ino_t inode = inode_of(fd);

	for (size_t i = file_count; i-- > 0;)
		if (files[i].inode == inode)
			return &files[i];
	return NULL;
}

static void free_file(struct file *file)
{
	free(file->data);
	free(file->durable);
	memset(file, 0, sizeof(*file));
}

static int sim_create(void *ctx, const char *path, mode_t mode)
{
	enum verdict verdict = next_operation();
	int fd;

	(void)ctx;
	if (verdict == REFUSE || verdict == LAND)
		return failed();
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
	assert_true(fd >= 0);
	assert_true(file_count < FILES_MAX);
	files[file_count] = (struct file){.inode = inode_of(fd)};
	put_name(new_state(), path, file_count++);
	return fd;
}

static ssize_t sim_write_file(void *ctx, int fd, const void *buf, size_t bytes)
{
	enum verdict verdict = next_operation();
	struct file *file = file_of(fd);

	(void)ctx;
	if (verdict == REFUSE || verdict == LAND)
		return failed();
	assert_non_null(file);
	file->data = realloc(file->data, file->bytes + bytes + 1);
	memcpy(file->data + file->bytes, buf, bytes);
	file->bytes += bytes;
	file->synced = false;
	return write(fd, buf, bytes);
}

static int sim_fsync(void *ctx, int fd)
{
	enum verdict verdict = next_operation();
	struct file *file = file_of(fd);

	(void)ctx;
	if (verdict == REFUSE || verdict == LAND)
		return failed();
	if (!file) {
		states[0] = *now();
		state_count = 1;
		return 0;
	}
	free(file->durable);
	file->durable = malloc(file->bytes + 1);
	memcpy(file->durable, file->data, file->bytes);
	file->durable_bytes = file->bytes;
	file->synced = true;
	return 0;
}

static int sim_rename(void *ctx, const char *from, const char *to)
{
	enum verdict verdict = next_operation();
	struct names *names;
	size_t i;
	size_t file;

	(void)ctx;
	if (verdict == REFUSE || verdict == LAND)
		return failed();
	names = new_state();
	i = find_name(names, from);
	assert_true(i < names->count);
	file = names->file[i];
	drop_name(names, i);
	put_name(names, to, file);
	return rename(from, to);
}

static int sim_unlink(void *ctx, const char *path)
{
	enum verdict verdict = next_operation();
	size_t i;

	(void)ctx;
	if (verdict == REFUSE || verdict == LAND)
		return failed();
	i = find_name(now(), path);
	if (i < now()->count)
		drop_name(new_state(), i);
	return unlink(path);
}

static void write_folder(const struct names *names, const struct names *old)
{
	char path[512];

	for (size_t i = 0; i < old->count; i++) {
		(void)snprintf(path, sizeof(path), "%s/%s", folder,
		               old->name[i]);
		(void)unlink(path);
	}
	for (size_t i = 0; i < names->count; i++) {
		struct file *file = &files[names->file[i]];
		struct stat status;

		(void)snprintf(path, sizeof(path), "%s/%s", folder,
		               names->name[i]);
		scene_write(path, file->data ? file->data : "", file->bytes);
		assert_int_equal(stat(path, &status), 0);
		file->inode = status.st_ino;
	}
}

static void lose_folder(void)
{
	struct names old = *now();
	size_t kept = (size_t)random_below(&random_state, state_count);

	states[0] = states[kept];
	state_count = 1;
	for (size_t i = 0; i < states[0].count; i++) {
		struct file *file = &files[states[0].file[i]];

		if (file->synced)
			continue;
		file->bytes =
			(size_t)random_below(&random_state, file->bytes + 1);
		free(file->durable);
		file->durable = NULL;
		file->synced = true;
	}
	write_folder(&states[0], &old);
}

/* ------------------------------------------------------------ the whole */

void sim_begin(const char *const *paths, size_t count, const char *path)
{
	static const char *const known[] = {"m", "m.ugds-st-new"};

	disk_count = count;
	for (size_t i = 0; i < count; i++) {
		struct disk *disk = &disks[i];

		memset(disk, 0, sizeof(*disk));
		disk->path = strdup(paths[i]);
		disk->base = scene_slurp(paths[i], &disk->bytes);
		disk->durable = malloc(disk->bytes);
		disk->seen = malloc(disk->bytes);
		memcpy(disk->durable, disk->base, disk->bytes);
		memcpy(disk->seen, disk->base, disk->bytes);
		disk->dirty = calloc(1, disk->bytes / PAGE);
		disk->bad = calloc(1, disk->bytes / SECTOR);
	}
	folder = strdup(path);
	file_count = 0;
	memset(&states[0], 0, sizeof(states[0]));
	state_count = 1;
	for (size_t i = 0; i < UGST_COUNT(known); i++) {
		struct file file = {.synced = true};
		struct stat status;
		char name[512];

		(void)snprintf(name, sizeof(name), "%s/%s", folder, known[i]);
		file.data = scene_slurp(name, &file.bytes);
		if (!file.data)
			continue;
		assert_int_equal(stat(name, &status), 0);
		file.inode = status.st_ino;
		files[file_count] = file;
		put_name(&states[0], known[i], file_count++);
	}
	base_names = states[0];
	base_file_count = file_count;
	sim_arm(SIM_NONE, 0, 1);
}

void sim_reset(void)
{
	struct names old = *now();

	for (size_t i = 0; i < disk_count; i++) {
		struct disk *disk = &disks[i];

		forget_writes(disk);
		memset(disk->bad, 0, disk->bytes / SECTOR);
		for (size_t page = 0; page < disk->bytes / PAGE; page++) {
			size_t off = page * PAGE;

			if (!disk->dirty[page])
				continue;
			memcpy(disk->durable + off, disk->base + off, PAGE);
			memcpy(disk->seen + off, disk->base + off, PAGE);
		}
	}
	while (file_count > base_file_count)
		free_file(&files[--file_count]);
	states[0] = base_names;
	state_count = 1;
	write_folder(&states[0], &old);
}

void sim_end(void)
{
	for (size_t i = 0; i < disk_count; i++) {
		struct disk *disk = &disks[i];

		forget_writes(disk);
		free(disk->writes);
		free(disk->path);
		free(disk->base);
		free(disk->durable);
		free(disk->seen);
		free(disk->dirty);
		free(disk->bad);
		memset(disk, 0, sizeof(*disk));
	}
	disk_count = 0;
	while (file_count)
		free_file(&files[--file_count]);
	free(folder);
	folder = NULL;
}

void sim_attach(struct ugst_import_env *env)
{
	static const struct ugst_blockdev_ops ops = {
		.pread = sim_pread, .pwrite = sim_pwrite, .flush = sim_flush};
	static const struct ugst_fs fs = {.create = sim_create,
	                                  .write = sim_write_file,
	                                  .fsync = sim_fsync,
	                                  .rename = sim_rename,
	                                  .unlink = sim_unlink};

	env->dev_ops = &ops;
	env->fs = &fs;
}

void sim_arm(enum sim_fault what, unsigned long at, uint64_t seed)
{
	fault = what;
	fault_at = at;
	operations = 0;
	dead = false;
	random_state = seed * 0x9e3779b97f4a7c15u + 0x1234567;
}

unsigned long sim_operations(void)
{
	return operations;
}

void sim_lose_power(void)
{
	for (size_t i = 0; i < disk_count; i++)
		lose_disk(&disks[i]);
	lose_folder();
	dead = false;
}

void sim_store(void)
{
	for (size_t i = 0; i < disk_count; i++) {
		struct disk *disk = &disks[i];
		int fd = open(disk->path, O_WRONLY | O_CLOEXEC);

		assert_true(fd >= 0);
		for (size_t page = 0; page < disk->bytes / PAGE; page++)
			if (disk->dirty[page])
				assert_int_equal(
					pwrite(fd, disk->seen + page * PAGE,
				               PAGE, (off_t)(page * PAGE)),
					PAGE);
		(void)close(fd);
	}
}
