/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ugds_real.c - the real uGDS library, loaded once and never unloaded.
 *
 * All state of uGDS belongs to the process, and an engine may have it loaded
 * already. A second copy would construct that state anew, or reset controllers
 * under the first, so exactly one is ever used.
 *
 * Why the window is 63 commands: uGDS numbers a command by its slot in a queue
 * whose depth can be 64, and frees slots in order of submission. A command that
 * is overtaken by 63 younger ones shares its number with the next, and one of
 * the two gets the other's completion.
 */
#include "base/common.h"

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>

#include "base/err.h"
#include "base/opts.h"
#include "devices/ugds.h"

#define LIBRARY_NAME "libugds.so"

struct symbol {
	const char *name;
	size_t table_off;
	size_t lent_off;
};

#define SYMBOL(name, member)                                        \
	{                                                           \
		name, offsetof(struct ugst_ugds, member),           \
			offsetof(struct ugds_st_ugds_calls, member) \
	}

static const struct symbol symbols[] = {
	SYMBOL("uGDSDriverOpen", driver_open),
	SYMBOL("uGDSHandleRegister", handle_register),
	SYMBOL("uGDSHandleDeregisterEx", handle_deregister),
	SYMBOL("uGDSGetDeviceCapacity", device_capacity),
	SYMBOL("uGDSBufRegister", buf_register),
	SYMBOL("uGDSBufDeregister", buf_deregister),
	SYMBOL("uGDSBatchIOSetUp", batch_setup),
	SYMBOL("uGDSBatchIOSubmit", batch_submit),
	SYMBOL("uGDSBatchIOGetStatus", batch_status),
	SYMBOL("uGDSBatchIODestroy", batch_destroy),
};

/* Every member is filled: none is forgotten above. */
_Static_assert(sizeof(struct ugst_ugds) ==
                       UGST_COUNT(symbols) * sizeof(void (*)(void)),
               "one symbol for each member");

/* The one copy that is used, once there is one. */
static struct {
	pthread_mutex_t lock;
	bool taken;
	void *library; /* NULL: its calls were lent; never closed */
	struct ugst_ugds table;
} used = {.lock = PTHREAD_MUTEX_INITIALIZER};

static const char *library_file(void *library)
{
	struct link_map *map;

	if (!library)
		return "calls that were lent";
	if (dlinfo(library, RTLD_DI_LINKMAP, &map) != 0)
		return "?";
	return map->l_name[0] ? map->l_name : "the program itself";
}

/* The copy that this process has, under whatever name. */
static void *find_loaded(void)
{
	void *library = dlopen(LIBRARY_NAME, RTLD_NOW | RTLD_NOLOAD);
	void *symbol;
	Dl_info info;
	void *extra = NULL;
	const struct link_map *map;

	if (library)
		return library;
	/* A bundled copy has another soname, a static one has none. */
	symbol = dlsym(RTLD_DEFAULT, symbols[0].name);
	if (!symbol || !dladdr1(symbol, &info, &extra, RTLD_DL_LINKMAP))
		return NULL;
	map = extra;
	return dlopen(map->l_name[0] ? map->l_name : NULL,
	              RTLD_NOW | RTLD_NOLOAD);
}

/* The copy that is there must be what path asks for. NOLOAD compares files
 * without loading: loading another copy already breaks the first's handles. */
static int check_same(void *library, const char *path,
                      struct ugds_st_error *err)
{
	if (!path ||
	    (library && dlopen(path, RTLD_NOW | RTLD_NOLOAD) == library))
		return UGDS_ST_OK;
	return ugst_fail(err, UGDS_ST_MISMATCH,
	                 "libugds, expected %s, found %s in this process "
	                 "already (two copies reset each other's controllers)",
	                 path, library_file(library));
}

static int resolve(void *library, struct ugst_ugds *table_out,
                   struct ugds_st_error *err)
{
	for (size_t i = 0; i < UGST_COUNT(symbols); i++) {
		void *symbol = dlsym(library, symbols[i].name);

		if (!symbol)
			return ugst_fail(err, UGDS_ST_UNSUPPORTED,
			                 "%s lacks %s: expected uGDS with "
			                 "batches, found another or an older "
			                 "library",
			                 library_file(library),
			                 symbols[i].name);
		/* POSIX: an object pointer from dlsym holds a function's. */
		memcpy((char *)table_out + symbols[i].table_off, &symbol,
		       sizeof(symbol));
	}
	return UGDS_ST_OK;
}

static int find_or_load(const char *path, void **library_out,
                        struct ugds_st_error *err)
{
	const char *name = path ? path : LIBRARY_NAME;
	void *library = find_loaded();
	const char *why;

	*library_out = library;
	if (library)
		return check_same(library, path, err);
	library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
	why = library ? NULL : dlerror();
	*library_out = library;
	if (library)
		return UGDS_ST_OK;
	return ugst_fail(err, UGDS_ST_NOT_FOUND, "uGDS library %s: %s", name,
	                 why ? why : "cannot be loaded");
}

static int load(const char *path, struct ugds_st_error *err)
{
	struct ugst_ugds table = {0};
	void *library;
	int status;

	if (used.taken)
		return check_same(used.library, path, err);
	status = find_or_load(path, &library, err);
	if (status == UGDS_ST_OK)
		status = resolve(library, &table, err);
	if (status != UGDS_ST_OK)
		return status;
	used.table = table;
	used.library = library;
	used.taken = true;
	return UGDS_ST_OK;
}

/* What the engine lends is what it uses itself: nothing is looked for. */
static int take_lent(const struct ugds_st_ugds_calls *lent,
                     struct ugds_st_error *err)
{
	struct ugds_st_ugds_calls calls;
	struct ugst_ugds table;
	int status = ugst_opts_read(&calls, sizeof(calls), lent,
	                            "struct ugds_st_ugds_calls", err);

	if (status != UGDS_ST_OK)
		return status;
	for (size_t i = 0; i < UGST_COUNT(symbols); i++) {
		ugds_st_ugds_call call;

		memcpy(&call, (char *)&calls + symbols[i].lent_off,
		       sizeof(call));
		if (!call)
			return ugst_fail(err, UGDS_ST_INVALID_ARG,
			                 "struct ugds_st_ugds_calls: expected "
			                 "%s, found NULL",
			                 symbols[i].name);
		memcpy((char *)&table + symbols[i].table_off, &call,
		       sizeof(call));
	}
	if (used.taken && memcmp(&table, &used.table, sizeof(table)) != 0)
		return ugst_fail(err, UGDS_ST_MISMATCH,
		                 "libugds, expected the calls that are lent, "
		                 "found %s in use by this process already",
		                 library_file(used.library));
	/* Once only: stores that are open read the table without the lock. */
	if (!used.taken)
		used.table = table;
	used.taken = true;
	return UGDS_ST_OK;
}

int ugst_ugds_load(const struct ugds_st_ugds_calls *lent, const char *path,
                   const struct ugst_ugds **ugds_out, struct ugds_st_error *err)
{
	int status;

	(void)pthread_mutex_lock(&used.lock);
	status = lent ? take_lent(lent, err) : load(path, err);
	(void)pthread_mutex_unlock(&used.lock);
	if (status == UGDS_ST_OK)
		*ugds_out = &used.table;
	return status;
}
