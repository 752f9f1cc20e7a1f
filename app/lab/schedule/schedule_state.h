/*
 * What a state of a play is, in 128 bits: all keys of its Redis (type, value, whether there is an expiry, no
 * times), and of each actor all that it has asked and heard: what it does next is a function of that.
 */
#ifndef SECKILL_LAB_SCHEDULE_STATE_H
#define SECKILL_LAB_SCHEDULE_STATE_H

#include <stddef.h>
#include <stdint.h>

struct stage;
struct lab_run;

/* Two states with equal keys have the same future. */
struct schedule_key {
    uint64_t high, low;
};

void schedule_state_key(struct stage *stage, struct schedule_key *out);
/* Of all that was asked, heard and told in so many steps: the same, when they are played again. */
void schedule_state_past(const struct lab_run *run, size_t steps, struct schedule_key *out);
/* And something more. */
void schedule_state_mix(struct schedule_key *key, unsigned value);

#endif
