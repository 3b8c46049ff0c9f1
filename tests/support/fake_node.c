/* SPDX-License-Identifier: BSD-3-Clause */
/* fake_node.c - character devices without uGDS; see fake_node.h. */
#include "support/test.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "support/fake_node.h"

/* What uGDS keeps for a handle. */
struct handle {
	void *id; /* compatibility mode's */
	int dup_fd;
};

struct fake_node fake_nodes[FAKE_NODES];
struct fake_node_troubles fake_node_troubles;

static int terminals[FAKE_NODES] = {-1, -1};
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct handle handles[8];
static void *owner; /* whose controller buffers are mapped for */

int __wrap_ugst_ugds_load(const struct ugds_st_ugds_calls *lent,
                          const char *path, const struct ugst_ugds **ugds_out,
                          struct ugds_st_error *err);
bool __wrap_ugst_guest_driver(dev_t device, char *name_out, size_t name_bytes);
void *__wrap_mmap64(void *addr, size_t bytes, int prot, int flags, int fd,
                    off_t off);
void *__real_mmap64(void *addr, size_t bytes, int prot, int flags, int fd,
                    off_t off);

static struct fake_node *find_node(int fd)
{
	struct stat of_fd;
	struct stat of_path;

	if (fd < 0 || fstat(fd, &of_fd) || !S_ISCHR(of_fd.st_mode))
		return NULL;
	for (size_t i = 0; i < FAKE_NODES; i++)
		if (stat(fake_nodes[i].path, &of_path) == 0 &&
		    of_path.st_rdev == of_fd.st_rdev)
			return &fake_nodes[i];
	return NULL;
}

/* ------------------------------------------------ what the library looks at */

int __wrap_ugst_ugds_load(const struct ugds_st_ugds_calls *lent,
                          const char *path, const struct ugst_ugds **ugds_out,
                          struct ugds_st_error *err)
{
	(void)lent;
	(void)path;
	(void)err;
	*ugds_out = fake_node_troubles.loaded;
	return UGDS_ST_OK;
}

bool __wrap_ugst_guest_driver(dev_t device, char *name_out, size_t name_bytes)
{
	(void)device;
	if (!fake_node_troubles.driver)
		return false;
	(void)snprintf(name_out, name_bytes, "%s", fake_node_troubles.driver);
	return true;
}

void *__wrap_mmap64(void *addr, size_t bytes, int prot, int flags, int fd,
                    off_t off)
{
	if (!find_node(fd))
		return __real_mmap64(addr, bytes, prot, flags, fd, off);
	if (fake_node_troubles.no_registers) {
		errno = ENODEV;
		return MAP_FAILED;
	}
	return __real_mmap64(NULL, bytes, prot, MAP_PRIVATE | MAP_ANONYMOUS, -1,
	                     0);
}

/* ------------------------------------------------------ uGDS over compat mode
 */

static struct ugst_ugds_error say(int code)
{
	return (struct ugst_ugds_error){.code = code};
}

static struct handle *find_handle(const void *id)
{
	for (size_t i = 0; i < UGST_COUNT(handles); i++)
		if (handles[i].id == id)
			return &handles[i];
	return NULL;
}

/* As uGDS: a duplicate without close-on-exec; the first handle of the process
 * owns the buffers. */
static struct ugst_ugds_error handle_register(void **handle_out,
                                              struct ugst_ugds_descr *descr)
{
	struct fake_node *node = find_node(descr->u.fd);
	struct ugst_ugds_descr on_file = {.type = UGST_UGDS_HANDLE_TYPE_FD};
	struct ugst_ugds_error error;

	if (fake_node_troubles.register_code)
		return say(fake_node_troubles.register_code);
	if (!node)
		return say(UGST_UGDS_INTERNAL_ERROR);
	on_file.u.fd = open(node->file, O_RDONLY | O_CLOEXEC);
	error = ugst_ugds_compat()->handle_register(handle_out, &on_file);
	(void)close(on_file.u.fd);
	if (error.code)
		return error;
	(void)pthread_mutex_lock(&lock);
	node->resets++;
	*find_handle(NULL) = (struct handle){*handle_out, dup(descr->u.fd)};
	if (!owner)
		owner = *handle_out;
	(void)pthread_mutex_unlock(&lock);
	return error;
}

static struct ugst_ugds_error handle_deregister(void *id, int timeout_s)
{
	struct ugst_ugds_error error =
		ugst_ugds_compat()->handle_deregister(id, timeout_s);
	struct handle *handle;

	if (error.code)
		return error;
	(void)pthread_mutex_lock(&lock);
	handle = find_handle(id);
	if (handle) {
		(void)close(handle->dup_fd);
		handle->id = NULL;
	}
	if (owner == id)
		owner = NULL;
	(void)pthread_mutex_unlock(&lock);
	return error;
}

static struct ugst_ugds_error device_capacity(void *handle, uint64_t *bytes_out)
{
	if (fake_node_troubles.capacity_code)
		return say(fake_node_troubles.capacity_code);
	return ugst_ugds_compat()->device_capacity(handle, bytes_out);
}

static struct ugst_ugds_error buf_register(const void *base, size_t bytes,
                                           int flags)
{
	bool owned;

	(void)pthread_mutex_lock(&lock);
	owned = owner != NULL;
	(void)pthread_mutex_unlock(&lock);
	if (!owned)
		return say(UGST_UGDS_DRIVER_NOT_INITIALIZED);
	return ugst_ugds_compat()->buf_register(base, bytes, flags);
}

static struct ugst_ugds_error batch_submit(void *batch, unsigned count,
                                           struct ugst_ugds_params *params,
                                           unsigned flags)
{
	struct timespec nap =
		ugst_timespec(fake_node_troubles.submit_ms * UGST_NS_PER_MS);

	fake_node_troubles.submit_ms = 0;
	(void)nanosleep(&nap, NULL);
	return ugst_ugds_compat()->batch_submit(batch, count, params, flags);
}

const struct ugst_ugds *fake_node_ugds(void)
{
	static struct ugst_ugds table;

	table = *ugst_ugds_compat();
	table.handle_register = handle_register;
	table.handle_deregister = handle_deregister;
	table.device_capacity = device_capacity;
	table.buf_register = buf_register;
	table.batch_submit = batch_submit;
	return &table;
}

/* ----------------------------------------------------------- begin and end */

bool fake_node_begin(void)
{
	memset(fake_nodes, 0, sizeof(fake_nodes));
	fake_node_troubles = (struct fake_node_troubles){
		.loaded = fake_node_ugds(),
		.driver = "ugds_drv",
	};
	for (size_t i = 0; i < FAKE_NODES; i++) {
		int terminal = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);

		terminals[i] = terminal;
		if (terminal < 0 || grantpt(terminal) || unlockpt(terminal) ||
		    ptsname_r(terminal, fake_nodes[i].path,
		              sizeof(fake_nodes[i].path)))
			return false;
	}
	return true;
}

void fake_node_end(void)
{
	for (size_t i = 0; i < FAKE_NODES; i++) {
		if (terminals[i] >= 0)
			(void)close(terminals[i]);
		terminals[i] = -1;
	}
	for (size_t i = 0; i < UGST_COUNT(handles); i++)
		handles[i].id = NULL;
	owner = NULL;
}
