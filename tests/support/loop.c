/* SPDX-License-Identifier: BSD-3-Clause */
/* loop.c - loop devices; see loop.h. */
#include "support/loop.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/loop.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* Another test may take the number that the kernel has named as free. */
#define TRIES 100

bool loop_new(struct loop *loop, const char *image, uint64_t bytes,
              uint32_t lba_bytes)
{
	int control = open("/dev/loop-control", O_RDWR | O_CLOEXEC);
	int file = open(image, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	struct loop_config config = {.fd = (uint32_t)file,
	                             .block_size = lba_bytes};
	bool done = false;
	int fd = -1;

	if (file >= 0 && bytes && ftruncate(file, (off_t)bytes) != 0)
		goto out;
	config.info.lo_flags = LO_FLAGS_PARTSCAN;
	for (int i = 0; i < TRIES && !done && control >= 0 && file >= 0; i++) {
		int number = ioctl(control, LOOP_CTL_GET_FREE);

		if (number < 0)
			break;
		(void)snprintf(loop->path, sizeof(loop->path), "/dev/loop%d",
		               number);
		fd = open(loop->path, O_RDWR | O_CLOEXEC);
		if (fd < 0)
			break;
		done = ioctl(fd, LOOP_CONFIGURE, &config) == 0;
		if (!done && errno != EBUSY)
			i = TRIES;
		if (done)
			(void)ioctl(fd, LOOP_SET_DIRECT_IO, 1ul);
		/* A descriptor that stays would count as a holder. */
		(void)close(fd);
	}
out:
	if (control >= 0)
		(void)close(control);
	if (file >= 0)
		(void)close(file);
	return done;
}

void loop_free(struct loop *loop)
{
	int fd = open(loop->path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return;
	(void)ioctl(fd, LOOP_CLR_FD);
	(void)close(fd);
}
