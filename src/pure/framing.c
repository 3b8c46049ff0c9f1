/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * framing.c - the first bytes of a safetensors file, or of what was taken for
 * one; see header.h.
 */
#include "base/common.h"

#include <inttypes.h>
#include <strings.h>

#include "base/err.h"
#include "base/le.h"
#include "pure/header.h"

/* What files called .safetensors turn out to be. None of these beginnings is
 * a length that a safetensors file can have: all are above 2^32. */
static const struct {
	const char *magic;
	uint8_t magic_bytes;
	const char *kind;
} kinds[] = {
	{"version https://git-lfs", 23,
         "a git-lfs pointer, not the file it stands for (fetch it: git lfs "
         "pull)"},
	{"<!doctype", 9, "an HTML page, perhaps a login or error page"},
	{"<html", 5, "an HTML page, perhaps a login or error page"},
	{"<?xml", 5,
         "an XML document, perhaps an error of the storage service"},
	{"<error", 6,
         "an XML document, perhaps an error of the storage service"},
	{"PK\3\4", 4, "a zip archive, perhaps a PyTorch pickle"},
	{"PK\5\6", 4, "a zip archive, perhaps a PyTorch pickle"},
	{"\x80\2", 2, "a Python pickle"},
	{"\x80\3", 2, "a Python pickle"},
	{"\x80\4", 2, "a Python pickle"},
	{"\x80\5", 2, "a Python pickle"},
	{"GGUF", 4, "a GGUF model"},
	{"ggml", 4, "a GGML model"},
	{"lmgg", 4, "a GGML model"},
	{"tjgg", 4, "a GGML model"},
	{"\x89HDF\r\n\x1a\n", 8, "an HDF5 file"},
	{"\x93NUMPY", 6, "a NumPy array"},
	{"\x1f\x8b", 2, "gzip data"},
	{"\x28\xb5\x2f\xfd", 4, "zstd data"},
	{"\xfd"
         "7zXZ",
         5, "xz data"},
	{"BZh", 3, "bzip2 data"},
	{"7z\xbc\xaf", 4, "a 7-zip archive"},
	{"Rar!", 4, "a RAR archive"},
	{"\x7f"
         "ELF",
         4, "an ELF program"},
	{"../", 3,
         "the text of a symbolic link instead of the file it leads to"},
	{"{", 1, "JSON text, perhaps an index or an error message"},
	{"[", 1, "JSON text"},
	{"<", 1, "an HTML or XML document"},
};

const char *ugst_sniff(const char *prefix, size_t prefix_bytes)
{
	while (prefix_bytes && strchr(" \t\r\n", *prefix) && *prefix) {
		prefix++;
		prefix_bytes--;
	}
	if (prefix_bytes >= 3 && memcmp(prefix, "\xef\xbb\xbf", 3) == 0) {
		prefix += 3;
		prefix_bytes -= 3;
	}
	for (size_t i = 0; i < UGST_COUNT(kinds); i++)
		if (prefix_bytes >= kinds[i].magic_bytes &&
		    strncasecmp(prefix, kinds[i].magic, kinds[i].magic_bytes) ==
		            0)
			return kinds[i].kind;
	return NULL;
}

int ugst_header_length(const void *prefix, size_t prefix_bytes,
                       uint64_t file_bytes, uint64_t *json_bytes_out,
                       struct ugds_st_error *err)
{
	const char *kind;
	uint64_t json_bytes = 0;
	uint64_t room = 0;

	if (prefix_bytes >= UGST_HEADER_PREFIX_BYTES &&
	    file_bytes >= UGST_HEADER_PREFIX_BYTES) {
		json_bytes = ugst_get_le64(prefix);
		room = file_bytes - UGST_HEADER_PREFIX_BYTES;
		if (json_bytes <= UGST_HEADER_MAX_BYTES && json_bytes <= room) {
			*json_bytes_out = json_bytes;
			return UGDS_ST_OK;
		}
	}
	kind = ugst_sniff(prefix, prefix_bytes);
	if (kind)
		return ugst_fail_at(err, UGDS_ST_FORMAT, 0,
		                    "not a safetensors file: expected the "
		                    "length of a header, found %s",
		                    kind);
	if (file_bytes < UGST_HEADER_PREFIX_BYTES)
		return ugst_fail_at(err, UGDS_ST_FORMAT, 0,
		                    "file too small: found %" PRIu64
		                    " bytes, expected at least 8, the length "
		                    "of a header%s",
		                    file_bytes,
		                    file_bytes ? "" : " (the file is empty)");
	if (prefix_bytes < UGST_HEADER_PREFIX_BYTES)
		return ugst_fail_at(err, UGDS_ST_INVALID_ARG, 0,
		                    "%zu bytes of a file of %" PRIu64
		                    ", expected 8 or more to tell its header",
		                    prefix_bytes, file_bytes);
	if (json_bytes > UGST_HEADER_MAX_BYTES)
		return ugst_fail_at(err, UGDS_ST_FORMAT, 0,
		                    "header too large: the file says %" PRIu64
		                    " bytes, expected at most %u (not a "
		                    "safetensors file?)",
		                    json_bytes, UGST_HEADER_MAX_BYTES);
	return ugst_fail_at(err, UGDS_ST_FORMAT, 0,
	                    "header cut short: the file says %" PRIu64
	                    " bytes, found %" PRIu64 " in a file of %" PRIu64
	                    " (an incomplete download?)",
	                    json_bytes, room, file_bytes);
}
