/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * envelope.h - which blocks a byte range needs, and how much of it can go
 * straight to where it is wanted.
 */
#ifndef UGST_ENVELOPE_H
#define UGST_ENVELOPE_H

#include "base/common.h"

/* The smallest run of whole blocks that covers a payload. */
struct ugst_envelope {
	uint64_t off;        /* on the device, a multiple of the LBA size */
	uint64_t bytes;      /* likewise; 0 for a payload of 0 bytes */
	uint64_t skew_bytes; /* payload start minus off */
};

/*
 * ugst_envelope() - the envelope of payload_bytes at payload_off.
 *
 * @payload_off + @payload_bytes must leave room for one block below 2^64.
 */
struct ugst_envelope ugst_envelope(uint64_t payload_off, uint64_t payload_bytes,
                                   uint32_t lba_bytes);

/*
 * A payload in registered memory, cut in three: head and tail are staged, the
 * middle is read by the device. All three add up to the payload.
 */
struct ugst_placement {
	uint64_t head_bytes;
	uint64_t middle_bytes; /* 0: all is staged, and is in head_bytes */
	uint64_t tail_bytes;
};

/*
 * ugst_place() - place a payload without touching a byte beside it.
 *
 * uGDS wants device offset and size in blocks and a buffer offset in pages of
 * 4096. So the middle starts at the payload's first page boundary in the
 * buffer, if that is a block boundary on the device, and ends at the last
 * block boundary.
 *
 * @payload_off: on the device. @buffer_off: of the payload in the
 * registration.
 * @min_bytes: a middle smaller than this is not worth an entry of its own.
 */
struct ugst_placement ugst_place(uint64_t payload_off, uint64_t payload_bytes,
                                 uint64_t buffer_off, uint32_t lba_bytes,
                                 uint64_t min_bytes);

#endif /* UGST_ENVELOPE_H */
