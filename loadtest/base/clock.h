/*
 * The runner's clock: monotonic, the same one the clients' ledgers use.
 */
#ifndef LOADTEST_CLOCK_H
#define LOADTEST_CLOCK_H

#include <stddef.h>
#include <stdint.h>

int64_t clock_ns(void);
int64_t clock_ms(void);

/* Returns early when a signal arrives. */
void clock_sleep_ms(int64_t span_ms);

/* Wall clock, UTC: "20261120-101530" for names of runs, RFC 3339 for reports. */
void clock_file_stamp(char *out, size_t size);
void clock_rfc3339(char *out, size_t size);

#endif
