/* SPDX-License-Identifier: BSD-3-Clause */
/* cat_show.h - tensors as text or JSON, and their bytes in pieces. */
#ifndef UGDS_ST_CAT_SHOW_H
#define UGDS_ST_CAT_SHOW_H

#include <stdbool.h>
#include <stddef.h>

#include "ugds_st.h"

struct cat_show {
	ugds_st_store *store;
	bool json;
	bool values; /* read each tensor, print its values */
	size_t shown_count;
};

/* @named: tensors are described one by one, not as rows of a table. */
void cat_show_begin(struct cat_show *show, bool named);

/* One tensor in full. Return: CLI_DONE; CLI_FAILED (said). */
int cat_show_tensor(struct cat_show *show, const ugds_st_tensor *tensor);

/* Every tensor of the store, a line or an object each. */
void cat_show_all(struct cat_show *show);

void cat_show_end(struct cat_show *show);

/*
 * cat_read() - a tensor's bytes in order, in pieces of whole rows.
 *
 * Memory is bounded by a piece or by one row, whichever is larger.
 *
 * @take: called for each piece; CLI_DONE to go on, else cat_read() ends with
 * that.
 * Return: CLI_DONE; CLI_FAILED (said).
 */
int cat_read(ugds_st_store *store, const ugds_st_tensor *tensor,
             int (*take)(void *ctx, const void *data, size_t bytes), void *ctx);

#endif /* UGDS_ST_CAT_SHOW_H */
