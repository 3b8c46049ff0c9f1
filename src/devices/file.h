/* SPDX-License-Identifier: BSD-3-Clause */
/* file.h - a whole small file in memory. */
#ifndef UGST_FILE_H
#define UGST_FILE_H

#include "base/common.h"

/*
 * ugst_file_read() - read a regular file.
 *
 * @max_bytes: larger is refused, before anything is allocated.
 * @text_out: malloc'ed, ended by a NUL that *bytes_out leaves out.
 * Return: OK; NOT_FOUND; FORMAT (no regular file, or too large); NO_MEMORY;
 * IO.
 */
int ugst_file_read(const char *path, uint64_t max_bytes, char **text_out,
                   size_t *bytes_out, struct ugds_st_error *err);

#endif /* UGST_FILE_H */
