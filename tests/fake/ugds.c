/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ugds.c - a library with uGDS's names and another binary interface.
 *
 * An entry here has a leading word, as a later uGDS might. It keeps the rule
 * for sizes and bases, and counts what it would have read. FAKE_LACKS leaves
 * one call out.
 */
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct timespec;

struct fake_error {
	int code;
	int gpu_code;
};

struct fake_entry {
	uint64_t version;
	void *base;
	off_t device_off;
	off_t buffer_off;
	size_t bytes;
	int opcode;
	void *cookie;
};

struct fake_event {
	void *cookie;
	int status;
	ssize_t ret;
};

static unsigned reads;

/* How many reads would have reached a device. */
unsigned fake_ugds_reads(void);

struct fake_error uGDSDriverOpen(void);
struct fake_error uGDSHandleRegister(void **handle_out, void *descr);
struct fake_error uGDSHandleDeregisterEx(void *handle, int timeout_s);
struct fake_error uGDSGetDeviceCapacity(void *handle, uint64_t *bytes_out);
struct fake_error uGDSBufRegister(const void *base, size_t bytes, int flags);
struct fake_error uGDSBufDeregister(const void *base);
struct fake_error uGDSBatchIOSetUp(void **batch_out, void *handle,
                                   unsigned count);
struct fake_error uGDSBatchIOSubmit(void *batch, unsigned count,
                                    struct fake_entry *entries, unsigned flags);
struct fake_error uGDSBatchIOGetStatus(void *batch, unsigned min_count,
                                       unsigned *count,
                                       struct fake_event *events,
                                       struct timespec *timeout);
void uGDSBatchIODestroy(void *batch);

static struct fake_error say(int code)
{
	struct fake_error error = {.code = code};

	return error;
}

unsigned fake_ugds_reads(void)
{
	return reads;
}

struct fake_error uGDSDriverOpen(void)
{
	return say(0);
}

struct fake_error uGDSHandleRegister(void **handle_out, void *descr)
{
	(void)descr;
	*handle_out = &reads;
	return say(0);
}

struct fake_error uGDSHandleDeregisterEx(void *handle, int timeout_s)
{
	(void)handle;
	(void)timeout_s;
	return say(0);
}

struct fake_error uGDSGetDeviceCapacity(void *handle, uint64_t *bytes_out)
{
	(void)handle;
	*bytes_out = UINT64_C(1) << 30;
	return say(0);
}

struct fake_error uGDSBufRegister(const void *base, size_t bytes, int flags)
{
	(void)base;
	(void)bytes;
	(void)flags;
	return say(0);
}

struct fake_error uGDSBufDeregister(const void *base)
{
	(void)base;
	return say(0);
}

struct fake_error uGDSBatchIOSetUp(void **batch_out, void *handle,
                                   unsigned count)
{
	(void)handle;
	(void)count;
	*batch_out = &reads;
	return say(0);
}

struct fake_error uGDSBatchIOSubmit(void *batch, unsigned count,
                                    struct fake_entry *entries, unsigned flags)
{
	(void)batch;
	(void)flags;
	for (unsigned i = 0; i < count; i++) {
		if (!entries[i].base || entries[i].bytes == 0 ||
		    entries[i].bytes % 512 != 0)
			return say(5022);
		reads++;
	}
	return say(0);
}

struct fake_error uGDSBatchIOGetStatus(void *batch, unsigned min_count,
                                       unsigned *count,
                                       struct fake_event *events,
                                       struct timespec *timeout)
{
	(void)batch;
	(void)min_count;
	(void)events;
	(void)timeout;
	*count = 0;
	return say(0);
}

#ifndef FAKE_LACKS
void uGDSBatchIODestroy(void *batch)
{
	(void)batch;
}
#endif
