/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * headers.c - our verdicts on many files, for tests/diff/headers.py.
 *
 * Standard input: u64 bytes and the file, again and again. Standard output,
 * for each: "! <text>", or "= <tensors>" and a line for each tensor in order
 * of its offset: name in hex, dtype, offsets in the file, dims.
 */
#include "base/common.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/le.h"
#include "pure/header.h"

static void print_tensor(const struct ugst_header *header,
                         const struct ugst_header_tensor *tensor)
{
	for (uint32_t i = 0; i < tensor->name_bytes; i++)
		printf("%02x", (unsigned char)tensor->name[i]);
	printf(" %s %" PRIu64 " %" PRIu64, ugds_st_dtype_name(tensor->dtype),
	       header->data_off + tensor->begin,
	       header->data_off + tensor->end);
	for (uint32_t i = 0; i < tensor->rank; i++)
		printf(" %" PRIu64, tensor->dims[i]);
	putchar('\n');
}

static void judge(const char *file, size_t bytes)
{
	struct ugds_st_error err = {0};
	struct ugst_header header;
	uint64_t json_bytes = 0;
	int status = ugst_header_length(file, bytes, bytes, &json_bytes, &err);

	if (!status)
		status = ugst_header_parse(file + 8, (size_t)json_bytes, bytes,
		                           &header, &err);
	if (status) {
		printf("! %s\n", err.text);
		return;
	}
	printf("= %zu\n", header.tensor_count);
	for (size_t i = 0; i < header.tensor_count; i++)
		print_tensor(&header, &header.tensors[i]);
	ugst_header_free(&header);
}

int main(void)
{
	uint8_t length[8];

	while (fread(length, 1, sizeof(length), stdin) == sizeof(length)) {
		size_t bytes = (size_t)ugst_get_le64(length);
		char *file = malloc(bytes ? bytes : 1);

		if (!file || fread(file, 1, bytes, stdin) != bytes)
			return 1;
		judge(file, bytes);
		free(file);
	}
	return fflush(stdout) != 0;
}
