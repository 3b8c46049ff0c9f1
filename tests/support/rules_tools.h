/* SPDX-License-Identifier: BSD-3-Clause */
/* rules_tools.h - what the tests of uGDS's rules share; see rules.h. */
#ifndef TEST_RULES_TOOLS_H
#define TEST_RULES_TOOLS_H

#include "support/rules.h"

#define RULES_FILL 0x33
#define RULES_SILENCE_MS 1000u
#define RULES_MEMORY_BYTES ((size_t)4 << 20)

#define RULE(name) \
	cmocka_unit_test_setup_teardown(name, rules_setup, rules_teardown)

/* Return: CMocka's. */
int rules_of_events(void);
int rules_of_guests(void);

/* Around each test. */
int rules_setup(void **state);
int rules_teardown(void **state);

/* This test gives a drive up. */
void rules_lose_drive(void);

void rules_sleep_ms(unsigned ms);
uint64_t rules_ms_since(uint64_t begin_ns);

/* A store on the rig's drive, in its memory unless opts say another. */
int rules_try_open(struct ugds_st_open_opts opts, ugds_st_store **store_out,
                   struct ugds_st_error *err);
ugds_st_store *rules_open_store(uint32_t silence_ms);

/* Commands of a full entry. */
unsigned rules_entry_commands(void);

/* Skip the test where entries have one command. */
void rules_needs_long_entries(void);

/* The tensor with the most bytes, or the least. */
const ugds_st_tensor *rules_extreme(ugds_st_store *store, bool most);

/* A request into host memory, which is the caller's to free. */
struct ugds_st_read rules_staged(const ugds_st_tensor *tensor);

/* Nothing was written to these bytes. */
void rules_expect_fill(const char *bytes, size_t count);

/* All tensors of a store, and their bytes are right. */
void rules_read_all(ugds_st_store *store);

/* A request for the largest tensor, straight into device memory. */
struct rules_direct {
	char *memory;
	ugds_st_buffer *buffer;
	struct ugds_st_read read;
	unsigned head;       /* commands before its first direct entry */
	uint64_t device_off; /* of that entry */
};

/* flags: of ugds_st_register(). */
void rules_new_direct(struct rules_direct *direct, ugds_st_store *store,
                      unsigned flags);
void rules_free_direct(struct rules_direct *direct);

/* Fill its memory; is it filled still, or has it the tensor? */
void rules_fill_direct(const struct rules_direct *direct);
void rules_check_direct(const struct rules_direct *direct, bool filled);

/* Abandon a store, open its drive again and read all of it. */
void rules_give_up(ugds_st_store *store);

#endif /* TEST_RULES_TOOLS_H */
