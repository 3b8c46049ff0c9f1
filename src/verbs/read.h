/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * read.h - lists of requests: what ugds_st_read_many() and arrays share.
 */
#ifndef UGST_READ_H
#define UGST_READ_H

#include "base/common.h"
#include "verbs/store.h"

/* A request after it was checked. */
struct ugst_request {
	const ugds_st_tensor *tensor;
	uint64_t shard_off; /* of what is wanted, within the shard */
	uint64_t bytes;
	char *dst;
	char *base;             /* registration that holds dst; NULL: staged */
	ugds_st_buffer *buffer; /* its registration by the caller; or NULL */
	bool slack;             /* memory around dst is ours */
	bool told;              /* the ready callback knows */
	uint32_t turn;          /* the copy that is tried */
	int status; /* in: not OK is not read, nor is the rest of this looked
	               at; out */
	int placement;
};

/*
 * ugst_read_requests() - carry out a list.
 *
 * @err: has the text of the first request that has a status already.
 * Return: OK if every request is; else the status of the first that is not,
 * which err describes; each has its own, and was told of once.
 */
int ugst_read_requests(ugds_st_store *store, struct ugst_request *requests,
                       size_t count, const struct ugds_st_read_opts *opts,
                       struct ugds_st_error *err);

/* Take and check a caller's options. Return: OK; INVALID_ARG. */
int ugst_read_opts(const struct ugds_st_read_opts *opts,
                   struct ugds_st_read_opts *opts_out,
                   struct ugds_st_error *err);

/* A tensor by a name that ends with NUL. Return: OK; NOT_FOUND. */
int ugst_read_find(const ugds_st_store *store, const char *name,
                   const ugds_st_tensor **tensor_out,
                   struct ugds_st_error *err);

#endif /* UGST_READ_H */
