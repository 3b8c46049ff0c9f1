/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rig.h - a checkpoint on a modelled drive, read by the real uGDS.
 *
 * The model takes its backing file from the environment when a program starts,
 * so the program first makes the volumes and then runs itself again on them.
 */
#ifndef TEST_RIG_H
#define TEST_RIG_H

#include "support/reading.h"

#include <cuda_runtime.h>

#include "shim/shim.h"
#include "ugds_st_cuda.h"

#define RIG_DEVICE "/dev/ugds_drv0"
#define RIG_OTHER_DEVICE "/dev/ugds_drv1"
#define RIG_THIRD_DEVICE "/dev/ugds_drv2" /* where the model has three */
#define RIG_GPU_PAGE ((size_t)65536)

/* What the drive holds, and CUDA memory. Made before the first test. */
extern struct volumes *rig_volumes;
extern const struct ugds_st_memory_ops *rig_cuda;

/*
 * rig_main() - make volumes, run tests with them on the drive.
 *
 * @tests: runs the tests; returns what main() returns.
 * Return: main()'s; 77 without the model.
 */
int rig_main(const struct volumes_shape *shape, int (*tests)(void));

/* The command size that uGDS makes of the model's MDTS. */
uint32_t rig_command_bytes(void);

/* A store on the drive: opts as the test wants them, but for devices (unless
 * set), memory and arena_bytes (unless set). opts may be NULL. */
ugds_st_store *rig_open(const struct ugds_st_open_opts *opts);

/* Device memory at a multiple of 64 KiB, filled with a byte. */
char *rig_alloc(size_t bytes, int fill);
void rig_free(char *memory, size_t bytes);

/* A tensor's bytes lie at device memory; all else of [from, to) is fill. */
void rig_expect(const ugds_st_tensor *tensor, const char *at);
void rig_expect_fill(const char *from, const char *to, int fill);

/* Teardown of a test that lost nothing: nothing mapped, nothing broken. */
int rig_check_clean(void **state);

#endif /* TEST_RIG_H */
