/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * plan.c - payloads to batch entries; see plan.h.
 *
 * Segments are sorted, neighbours whose destinations are neighbours too become
 * one span, and each span is cut into at most three ranges: staged head,
 * direct middle, staged tail. Staged ranges that touch grow together.
 */
#include "base/common.h"

#include "base/err.h"
#include "base/mem.h"
#include "base/units.h"
#include "pure/envelope.h"
#include "pure/plan.h"

#define ENTRY_BYTES UGST_MIB
#define ENTRY_MAX_COMMANDS 9u

/* Segments [first, end) that are read as one. */
struct span {
	size_t first;
	size_t end;
	uint64_t off;        /* device, of the first payload byte */
	uint64_t end_off;    /* device, past the last payload byte */
	uint64_t direct_off; /* device blocks that go straight ... */
	uint64_t direct_end; /* ... up to here; equal: none */
};

uint64_t ugst_plan_entry_bytes(uint32_t command_bytes)
{
	uint64_t commands = ENTRY_BYTES / command_bytes;

	if (commands < 1)
		commands = 1;
	return ugst_min(commands, ENTRY_MAX_COMMANDS) * command_bytes;
}

uint64_t ugst_plan_slot_bytes(uint32_t command_bytes)
{
	return ugst_min(ugst_plan_entry_bytes(command_bytes), ENTRY_BYTES);
}

static uint64_t segment_end(const struct ugst_segment *segment)
{
	return segment->device_off + segment->bytes;
}

static int compare_segments(const void *left, const void *right)
{
	const struct ugst_segment *a = left;
	const struct ugst_segment *b = right;

	if (a->device_off != b->device_off)
		return a->device_off < b->device_off ? -1 : 1;
	if (a->request != b->request)
		return a->request < b->request ? -1 : 1;
	return 0;
}

/* Sort, and find which payloads overlap: the bytes of those can have no single
 * destination, so they are staged. It is enough to remember who reaches
 * farthest: whoever else overlaps the newcomer overlaps that one as well, and
 * was marked when the later of the two came. */
static void sort_segments(struct ugst_plan *plan)
{
	struct ugst_segment *segments = plan->segments;
	size_t farthest = 0;
	bool sorted = true;

	for (size_t i = 1; sorted && i < plan->segment_count; i++)
		sorted = compare_segments(&segments[i - 1], &segments[i]) < 0;
	if (!sorted)
		qsort(segments, plan->segment_count, sizeof(*segments),
		      compare_segments);

	for (size_t i = 0; i < plan->segment_count; i++) {
		uint64_t reach = i ? segments[i - 1].reach : 0;

		if (segments[i].device_off < reach) {
			segments[i].shared = true;
			segments[farthest].shared = true;
		}
		if (segment_end(&segments[i]) >= reach)
			farthest = i;
		segments[i].reach = ugst_max(reach, segment_end(&segments[i]));
		if (i &&
		    ugst_align_down(segments[i].device_off, plan->lba_bytes) <=
		            ugst_align_up(reach, plan->lba_bytes))
			plan->merge_count++;
	}
}

static uint64_t buffer_off(const struct ugst_segment *segment,
                           uint64_t device_off)
{
	return (uint64_t)(segment->dst - segment->base) + device_off -
	       segment->device_off;
}

/* May b, the next on the device, be read by the entries that read a? */
static bool joins(const struct ugst_plan *plan, const struct ugst_segment *a,
                  const struct ugst_segment *b)
{
	uint64_t a_end = segment_end(a);

	if (!a->base || a->base != b->base || a->shared || b->shared ||
	    buffer_off(a, b->device_off) != buffer_off(b, b->device_off))
		return false;
	if (b->device_off == a_end)
		return true;
	return a->slack && b->slack &&
	       ugst_align_down(b->device_off, plan->lba_bytes) <=
	               ugst_align_up(a_end, plan->lba_bytes);
}

static struct span next_span(const struct ugst_plan *plan, size_t first)
{
	const struct ugst_segment *segments = plan->segments;
	size_t end = first + 1;

	while (end < plan->segment_count &&
	       joins(plan, &segments[end - 1], &segments[end]))
		end++;
	return (struct span){
		.first = first,
		.end = end,
		.off = segments[first].device_off,
		.end_off = segment_end(&segments[end - 1]),
	};
}

/* Our own memory: whole blocks, outward, less the blocks that another span
 * needs too; those are staged, so that no block is read twice. */
static void place_outward(const struct ugst_plan *plan, struct span *span)
{
	uint32_t lba_bytes = plan->lba_bytes;
	uint64_t off = ugst_align_down(span->off, lba_bytes);
	uint64_t end = ugst_align_up(span->end_off, lba_bytes);
	uint64_t reach =
		span->first ? plan->segments[span->first - 1].reach : 0;

	reach = ugst_align_up(reach, lba_bytes);
	if (off < reach)
		off += ugst_align_up(reach - off, UGST_PAGE_BYTES);
	if (span->end < plan->segment_count)
		end = ugst_min(
			end,
			ugst_align_down(plan->segments[span->end].device_off,
		                        lba_bytes));
	if (off < end) {
		span->direct_off = off;
		span->direct_end = end;
	}
}

/* Which blocks of a span go straight to their destination. */
static void place_span(const struct ugst_plan *plan, struct span *span)
{
	const struct ugst_segment *segment = &plan->segments[span->first];
	uint64_t skew = span->off % plan->lba_bytes;
	struct ugst_placement placement;
	uint64_t at;

	if (!segment->base || segment->shared)
		return;
	at = buffer_off(segment, span->off);
	if (segment->slack && at >= skew &&
	    ugst_is_aligned(at - skew, UGST_PAGE_BYTES)) {
		place_outward(plan, span);
		return;
	}
	placement = ugst_place(span->off, span->end_off - span->off, at,
	                       plan->lba_bytes, UGST_DIRECT_MIN_BYTES);
	if (placement.middle_bytes) {
		span->direct_off = span->off + placement.head_bytes;
		span->direct_end = span->direct_off + placement.middle_bytes;
	}
}

static struct ugst_range *last_range(struct ugst_plan *plan)
{
	return plan->range_count ? &plan->ranges[plan->range_count - 1] : NULL;
}

/* Blocks [off, end) through the arena, less what earlier ranges read. */
static void add_staged(struct ugst_plan *plan, uint64_t off, uint64_t end)
{
	struct ugst_range *last = last_range(plan);
	uint64_t covered = last ? last->device_off + last->bytes : 0;

	off = ugst_max(off, covered);
	if (off >= end)
		return;
	if (last && !last->base && off == covered) {
		last->bytes += end - off;
		return;
	}
	plan->ranges[plan->range_count++] =
		(struct ugst_range){.device_off = off, .bytes = end - off};
}

static void add_direct(struct ugst_plan *plan, const struct span *span)
{
	const struct ugst_segment *segment = &plan->segments[span->first];

	if (span->direct_off == span->direct_end)
		return;
	plan->ranges[plan->range_count++] = (struct ugst_range){
		.device_off = span->direct_off,
		.bytes = span->direct_end - span->direct_off,
		.base = segment->base,
		.buffer_off = buffer_off(segment, span->direct_off),
	};
}

static void add_span(struct ugst_plan *plan, const struct span *span)
{
	uint64_t off = ugst_align_down(span->off, plan->lba_bytes);
	uint64_t end = ugst_align_up(span->end_off, plan->lba_bytes);

	if (span->direct_off == span->direct_end) {
		add_staged(plan, off, end);
		return;
	}
	add_staged(plan, off, span->direct_off);
	add_direct(plan, span);
	add_staged(plan, span->direct_end, end);
}

int ugst_plan_build(struct ugst_plan *plan, struct ugst_segment *segments,
                    size_t segment_count, const struct ugst_ugds_limits *limits,
                    struct ugds_st_error *err)
{
	*plan = (struct ugst_plan){
		.lba_bytes = limits->lba_bytes,
		.command_bytes = limits->command_bytes,
		.entry_bytes = ugst_plan_entry_bytes(limits->command_bytes),
		.slot_bytes = ugst_plan_slot_bytes(limits->command_bytes),
		.segments = segments,
		.segment_count = segment_count,
	};
	/* A span has three ranges at most, and at least one segment. */
	plan->ranges = ugst_calloc(segment_count, 3 * sizeof(*plan->ranges));
	if (!plan->ranges)
		return ugst_fail_memory(err);
	sort_segments(plan);
	for (size_t at = 0; at < segment_count;) {
		struct span span = next_span(plan, at);

		place_span(plan, &span);
		add_span(plan, &span);
		at = span.end;
	}
	return UGDS_ST_OK;
}

void ugst_plan_free(struct ugst_plan *plan)
{
	free(plan->segments);
	free(plan->ranges);
	memset(plan, 0, sizeof(*plan));
}

bool ugst_plan_peek(const struct ugst_plan *plan, struct ugst_entry *entry_out)
{
	const struct ugst_range *range = &plan->ranges[plan->range_at];
	uint64_t bytes;

	if (plan->range_at == plan->range_count)
		return false;
	bytes = ugst_min(range->bytes - plan->range_off,
	                 range->base ? plan->entry_bytes : plan->slot_bytes);
	*entry_out = (struct ugst_entry){
		.device_off = range->device_off + plan->range_off,
		.bytes = bytes,
		.base = range->base,
		.buffer_off = range->buffer_off + plan->range_off,
		.commands = (uint32_t)ugst_div_up(bytes, plan->command_bytes),
	};
	return true;
}

void ugst_plan_advance(struct ugst_plan *plan, const struct ugst_entry *entry)
{
	plan->range_off += entry->bytes;
	if (plan->range_off == plan->ranges[plan->range_at].bytes) {
		plan->range_at++;
		plan->range_off = 0;
	}
}

void ugst_plan_segments(const struct ugst_plan *plan, uint64_t device_off,
                        uint64_t bytes, size_t *first_out, size_t *end_out)
{
	const struct ugst_segment *segments = plan->segments;
	size_t low = 0;
	size_t high = plan->segment_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (segments[middle].reach > device_off)
			high = middle;
		else
			low = middle + 1;
	}
	*first_out = low;
	while (low < plan->segment_count &&
	       segments[low].device_off < device_off + bytes)
		low++;
	*end_out = low;
}
