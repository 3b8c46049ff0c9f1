/* SPDX-License-Identifier: BSD-3-Clause */
/* envelope.c - payloads and blocks; see envelope.h. */
#include "base/common.h"

#include "base/units.h"
#include "pure/envelope.h"

struct ugst_envelope ugst_envelope(uint64_t payload_off, uint64_t payload_bytes,
                                   uint32_t lba_bytes)
{
	uint64_t off = ugst_align_down(payload_off, lba_bytes);
	uint64_t end = ugst_align_up(payload_off + payload_bytes, lba_bytes);

	return (struct ugst_envelope){
		.off = off,
		.bytes = payload_bytes ? end - off : 0,
		.skew_bytes = payload_off - off,
	};
}

struct ugst_placement ugst_place(uint64_t payload_off, uint64_t payload_bytes,
                                 uint64_t buffer_off, uint32_t lba_bytes,
                                 uint64_t min_bytes)
{
	/* Positions in the buffer. */
	uint64_t middle = ugst_align_up(buffer_off, UGST_PAGE_BYTES);
	uint64_t end = ugst_align_down(buffer_off + payload_bytes, lba_bytes);
	uint64_t head_bytes = middle - buffer_off;

	if (!ugst_is_aligned(payload_off + head_bytes, lba_bytes) ||
	    end < middle || end - middle < ugst_max(min_bytes, 1))
		return (struct ugst_placement){.head_bytes = payload_bytes};
	return (struct ugst_placement){
		.head_bytes = head_bytes,
		.middle_bytes = end - middle,
		.tail_bytes = buffer_off + payload_bytes - end,
	};
}
