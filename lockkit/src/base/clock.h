/*
 * Time: one monotonic clock, in nanoseconds; the seam that tests replace (--wrap). A "deadline" is a
 * moment of this clock. It counts suspend too, so that a lease ends while a laptop sleeps.
 */
#ifndef LKI_CLOCK_H
#define LKI_CLOCK_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

enum { NS_PER_US = 1000, NS_PER_MS = 1000000 };

int64_t lki_clock_now(void);

/* now + ms, without overflow for any ms. */
int64_t lki_clock_after_ms(int64_t ms);

/* Milliseconds until the deadline, rounded up, as poll() wants them; 0 when it has passed. */
int lki_clock_left_ms(int64_t deadline);

void lki_clock_sleep_ms(int64_t ms);

/* True when fd is ready for events (of poll()) before the deadline; false with errno set (ETIMEDOUT). */
bool lki_clock_poll(int fd, short events, int64_t deadline);

/* pthread_cond_wait() until the deadline; false when it has passed. May wake early. */
bool lki_clock_wait(pthread_cond_t *cond, pthread_mutex_t *mutex, int64_t deadline);

#endif
