/* SPDX-License-Identifier: BSD-3-Clause */
/* numbered.c - numbered shard names; see numbered.h. */
#include "base/common.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/err.h"
#include "base/mem.h"
#include "verbs/numbered.h"
#include "verbs/resolve.h"

/* More digits than any set has shards. */
#define DIGITS_MAX 9u
/* Missing names that are made at most: more do not fit a line anyway. */
#define MISSING_MAX 1024u

/* The number that ends at end, and its digits. Return: its first byte. */
static const char *number_before(const char *start, const char *end,
                                 uint64_t *number_out)
{
	const char *at = end;
	uint64_t number = 0;

	while (at > start && at[-1] >= '0' && at[-1] <= '9')
		at--;
	for (const char *digit = at; digit < end; digit++)
		number = number * 10 + (uint64_t)(*digit - '0');
	*number_out = number;
	return at;
}

bool ugst_numbered(const char *name, struct ugst_numbered *number_out)
{
	static const char ending[] = ".safetensors";
	size_t bytes = strlen(name);
	struct ugst_numbered number;
	const char *of;
	const char *at;
	const char *end;

	if (bytes < sizeof(ending) ||
	    strcmp(name + bytes - strlen(ending), ending) != 0)
		return false;
	end = name + bytes - strlen(ending);
	of = number_before(name, end, &number.of);
	if (of == end || end - of > DIGITS_MAX || of - name < 4 ||
	    memcmp(of - 4, "-of-", 4) != 0)
		return false;
	at = number_before(name, of - 4, &number.number);
	number.digits_bytes = (size_t)(of - 4 - at);
	if (number.digits_bytes == 0 || number.digits_bytes > DIGITS_MAX ||
	    at == name || at[-1] != '-')
		return false;
	number.stem_bytes = (size_t)(at - 1 - name);
	*number_out = number;
	return true;
}

/* Same stem, same total, same width. */
static bool same_set(const char *a, const struct ugst_numbered *of_a,
                     const char *b, const struct ugst_numbered *of_b)
{
	return of_a->stem_bytes == of_b->stem_bytes && of_a->of == of_b->of &&
	       of_a->digits_bytes == of_b->digits_bytes &&
	       memcmp(a, b, of_a->stem_bytes) == 0;
}

bool ugst_numbered_next(const char *a, const char *b)
{
	struct ugst_numbered of_a;
	struct ugst_numbered of_b;

	return ugst_numbered(a, &of_a) && ugst_numbered(b, &of_b) &&
	       same_set(a, &of_a, b, &of_b) && of_b.number == of_a.number + 1;
}

bool ugst_numbered_set(char *const *names, size_t count)
{
	struct ugst_numbered first;
	struct ugst_numbered other;

	if (count == 0 || !ugst_numbered(names[0], &first))
		return false;
	for (size_t i = 1; i < count; i++)
		if (!ugst_numbered(names[i], &other) ||
		    !same_set(names[0], &first, names[i], &other))
			return false;
	return true;
}

static char *name_of(const char *name, const struct ugst_numbered *set,
                     uint64_t number)
{
	const char *behind = name + set->stem_bytes + 1 + set->digits_bytes;

	return ugst_printf("%.*s-%0*" PRIu64 "%s", (int)set->stem_bytes, name,
	                   (int)set->digits_bytes, number, behind);
}

int ugst_numbered_missing(char *const *names, size_t count,
                          struct ugds_st_error *err)
{
	struct ugst_numbered set;
	struct ugst_numbered have;
	char *missing[MISSING_MAX] = {NULL};
	size_t missing_count = 0;
	size_t at = 0;
	uint64_t first;
	char list[320];

	if (!ugst_numbered(names[0], &set))
		return UGDS_ST_OK;
	first = set.number == 0 ? 0 : 1;
	for (uint64_t number = first;
	     number < first + set.of && missing_count < MISSING_MAX; number++) {
		if (at < count && ugst_numbered(names[at], &have) &&
		    have.number == number) {
			at++;
			continue;
		}
		missing[missing_count] = name_of(names[0], &set, number);
		if (!missing[missing_count])
			break;
		missing_count++;
	}
	if (missing_count == 0 && at == count && count == set.of)
		return UGDS_ST_OK;
	if (missing_count == 0)
		return ugst_fail(err, UGDS_ST_FORMAT,
		                 "expected %" PRIu64 " shards numbered from "
		                 "%" PRIu64 ", found %zu",
		                 set.of, first, count);
	(void)ugst_fail(
		err, UGDS_ST_NOT_FOUND,
		"expected %" PRIu64 " shards, found %zu, missing: %s", set.of,
		count,
		ugst_list_names(missing, missing_count, list, sizeof(list)));
	for (size_t i = 0; i < missing_count; i++)
		free(missing[i]);
	return UGDS_ST_NOT_FOUND;
}

/* Bytes of the run of consecutive names that starts at first. */
static size_t run_count(char *const *names, size_t count, size_t first)
{
	size_t last = first;

	while (last + 1 < count &&
	       ugst_numbered_next(names[last], names[last + 1]))
		last++;
	return last + 1 - first;
}

char *ugst_list_names(char *const *names, size_t count, char *text,
                      size_t text_bytes)
{
	size_t used = 0;
	size_t at = 0;

	text[0] = '\0';
	while (at < count) {
		char one[UGST_ESCAPED_BYTES];
		char two[UGST_ESCAPED_BYTES];
		size_t run = run_count(names, count, at);
		const char *last = names[at + run - 1];
		size_t wanted;

		(void)ugst_escape(names[at], strlen(names[at]), one,
		                  sizeof(one));
		(void)ugst_escape(last, strlen(last), two, sizeof(two));
		wanted = strlen(one) + (run > 1 ? strlen(two) + 4 : 0) + 2;
		/* Room for " and N more" must stay. */
		if (used + wanted + 32 > text_bytes) {
			(void)snprintf(text + used, text_bytes - used,
			               "%s%zu more", used ? " and " : "",
			               count - at);
			break;
		}
		used += (size_t)snprintf(text + used, text_bytes - used,
		                         "%s%s%s%s", used ? ", " : "", one,
		                         run > 1 ? " to " : "",
		                         run > 1 ? two : "");
		at += run;
	}
	return text;
}
