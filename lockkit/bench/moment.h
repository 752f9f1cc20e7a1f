/*
 * The hour and the two ways of being told to stop: nothing in lockbench waits without looking at
 * both.
 */
#ifndef LOCKKIT_BENCH_MOMENT_H
#define LOCKKIT_BENCH_MOMENT_H

#include <stdbool.h>
#include <stdint.h>

/* CLOCK_MONOTONIC, which several processes of a host can compare. */
int64_t moment_ns(void);

/* Sleep; cut short by a signal. */
void moment_nap_us(int64_t us);

/* From now on SIGINT and SIGTERM only set a flag, and end naps and polls. */
void moment_interrupt_watch(void);
bool moment_interrupt_came(void);
/* In a child: as it was. */
void moment_interrupt_forget(void);

#endif
