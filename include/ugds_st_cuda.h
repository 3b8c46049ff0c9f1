/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ugds_st_cuda.h - tensors in CUDA device memory.
 *
 * In a library of its own, so that libugds_st links no GPU code:
 *
 *	const struct ugds_st_memory_ops *cuda;
 *	struct ugds_st_open_opts opts = UGDS_ST_OPEN_OPTS_INIT;
 *
 *	if (ugds_st_memory_cuda_open(0, &cuda, &err))
 *		return complain(err.text);
 *	opts.memory = cuda;
 *	ugds_st_open("llama.json", &opts, &store, &err);
 *
 * The calling thread's current device is the same after each call, and a CUDA
 * error that one of these functions reports is not left for the caller's next
 * cudaGetLastError(). See ugds_st.h for threads, errors and ownership.
 */
#ifndef UGDS_ST_CUDA_H
#define UGDS_ST_CUDA_H

#include "ugds_st.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The calling thread's current device. */
#define UGDS_ST_CUDA_CURRENT (-1)

/*
 * ugds_st_memory_cuda_open() - memory of one CUDA device.
 *
 * Allocations come from cudaMalloc: pools and expandable segments cannot be
 * registered with uGDS. Streams given to reads must be this device's.
 *
 * @device: CUDA's number of it, or UGDS_ST_CUDA_CURRENT.
 * @memory_out: close with ugds_st_memory_cuda_close() after every store and
 * array that uses it.
 *
 * Return: OK; INVALID_ARG (no such device); UNSUPPORTED (no GPU, no driver, or
 * one too old: the text says which); NO_MEMORY.
 */
int ugds_st_memory_cuda_open(int device,
                             const struct ugds_st_memory_ops **memory_out,
                             struct ugds_st_error *err);

/*
 * ugds_st_memory_cuda_close() - end what open began. NULL is fine.
 *
 * Return: OK; BUSY (memory that it allocated is in use, or a copy is).
 */
int ugds_st_memory_cuda_close(const struct ugds_st_memory_ops *memory,
                              struct ugds_st_error *err);

/*
 * ugds_st_memory_cuda_check() - can memory be registered with uGDS?
 *
 * ugds_st_register() asks this by itself. uGDS checks neither alignment nor
 * end: it rounds both to 64 KiB in silence.
 *
 * Return: OK; INVALID_ARG (base or bytes no multiple of 64 KiB, or not all in
 * one allocation); UNSUPPORTED (host or managed memory, another device's, from
 * a pool).
 */
int ugds_st_memory_cuda_check(const struct ugds_st_memory_ops *memory,
                              const void *base, size_t bytes,
                              struct ugds_st_error *err);

#ifdef __cplusplus
}
#endif
#endif /* UGDS_ST_CUDA_H */
