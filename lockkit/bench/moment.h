/*
 * The hour and the two ways of being told to stop: nothing in lockbench waits without looking at
 * both.
 */
#ifndef LOCKKIT_BENCH_MOMENT_H
#define LOCKKIT_BENCH_MOMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lockkit/error.h"

/* CLOCK_MONOTONIC, which several processes of a host can compare. */
int64_t moment_ns(void);

/*
 * Two sides that take turns in slices, each going first as often as the other, so that whatever slows
 * the machine slows both.
 */
enum { MOMENT_SLICES_MAX = 20000 };
struct moment_turns {
    double us[2][MOMENT_SLICES_MAX]; /* of one of a slice's `each` steps, on average */
    size_t count, each;
};
/* One call of a side. */
typedef lk_status (*moment_step)(void *arg, size_t side, struct lk_error *err);
/* Until the time is over. What was there is forgotten. */
LK_MUST_CHECK lk_status moment_take_turns(struct moment_turns *turns, int64_t duration_ms,
                                          moment_step step, void *arg, struct lk_error *err);

/* Sleep; cut short by a signal. */
void moment_nap_us(int64_t us);

/* From now on SIGINT and SIGTERM only set a flag, and end naps and polls. */
void moment_interrupt_watch(void);
bool moment_interrupt_came(void);
/* In a child: as it was. */
void moment_interrupt_forget(void);

#endif
