/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * header.h - the header of one safetensors file, parsed strictly in one pass.
 *
 * A file is 8 bytes (little-endian N), N bytes of JSON, then data. Verdicts
 * are those of the official loader, or stricter as docs/checkpoints.md says,
 * which also lists the classes of error: each text begins with its class.
 */
#ifndef UGST_HEADER_H
#define UGST_HEADER_H

#include "base/common.h"

/* Bytes of the length field in front of the JSON. */
#define UGST_HEADER_PREFIX_BYTES 8u
/* Largest N that is accepted: the official loader's limit. */
#define UGST_HEADER_MAX_BYTES 100000000u
/* Bytes of a file that are enough to say what it is when it is no
 * safetensors file. */
#define UGST_HEADER_SNIFF_BYTES 64u

/* One tensor as the header has it. begin and end count from the start of the
 * data section. Pointers go into the header's own pools. */
struct ugst_header_tensor {
	const char *name; /* also ended by a NUL that is not counted */
	const uint64_t *dims;
	uint64_t begin;
	uint64_t end;
	uint32_t name_bytes;
	uint32_t name_hash; /* ugst_name_hash() with ugst_hash_seed() */
	uint32_t json_off;  /* of the name's quote, within the JSON */
	uint32_t rank;
	int dtype;
};

/* A parsed header: tensors sorted by (begin, end), then as they appear. */
struct ugst_header {
	uint64_t data_off;   /* 8 + N: where the data section starts */
	uint64_t data_bytes; /* of the data section, which tensors cover */
	size_t tensor_count;
	struct ugst_header_tensor *tensors;
	char *names;    /* pool */
	uint64_t *dims; /* pool */
};

/*
 * ugst_sniff() - what a file is that is not what was expected.
 *
 * Return: for "found ...": "a GGUF model"; NULL: no idea.
 */
const char *ugst_sniff(const char *prefix, size_t prefix_bytes);

/*
 * ugst_header_length() - check the first bytes of a file.
 *
 * @prefix: the file's first prefix_bytes bytes (UGST_HEADER_SNIFF_BYTES are
 * best: what is not a safetensors file is then named, by ugst_sniff()); fewer
 * only where the file has no more.
 * @file_bytes: size of the whole file.
 * @json_bytes_out: N, with 8 + N <= file_bytes and N <= the maximum.
 *
 * Return: OK; FORMAT.
 */
int ugst_header_length(const void *prefix, size_t prefix_bytes,
                       uint64_t file_bytes, uint64_t *json_bytes_out,
                       struct ugds_st_error *err);

/*
 * ugst_header_parse() - parse the JSON of a header.
 *
 * @json: json_bytes bytes (N), without the length in front.
 * @file_bytes: size of the whole file, which the tensors must cover exactly.
 * @header_out: written on OK only; free with ugst_header_free(). Keeps no
 * pointer into json.
 *
 * err->offset is the byte within the JSON.
 * Return: OK; FORMAT; NO_MEMORY.
 */
int ugst_header_parse(const char *json, size_t json_bytes, uint64_t file_bytes,
                      struct ugst_header *header_out,
                      struct ugds_st_error *err);

/*
 * ugst_header_check() - do the tensors cover the data section exactly?
 *
 * The last step of ugst_header_parse(): sorts them by (begin, end), refuses
 * twin names, holes, overlaps, sizes that do not fit shape and dtype, bytes
 * too many or too few.
 *
 * Return: OK; FORMAT; NO_MEMORY.
 */
int ugst_header_check(struct ugst_header *header, struct ugds_st_error *err);

/* A zeroed header is fine. */
void ugst_header_free(struct ugst_header *header);

#endif /* UGST_HEADER_H */
