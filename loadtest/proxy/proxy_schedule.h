/*
 * Faults by the clock. A schedule is a text of lines:
 *
 *     500 stall                        once, 500 ms after the start
 *     every 300..900 link1:cut         again and again, after 300 to 900 ms each, drawn by the seed
 *     # a comment; blank lines are fine
 *
 * The same text and seed give the same verbs at the same moments. Each line draws from a stream of
 * its own, so another line does not shift the rest. Knows no sockets and no clock.
 */
#ifndef LOADTEST_PROXY_SCHEDULE_H
#define LOADTEST_PROXY_SCHEDULE_H

#include "proxy_command.h"

struct proxy_schedule;

/* Returns  NULL   `failure` names line and reason. */
struct proxy_schedule *proxy_schedule_new(const char *text, uint64_t seed, struct failure *failure);
/* The same from a file. */
struct proxy_schedule *proxy_schedule_read(const char *path, uint64_t seed,
                                           struct failure *failure);
void proxy_schedule_free(struct proxy_schedule *schedule);

/* When the next verb comes, ms after the start; INT64_MAX: none any more. */
int64_t proxy_schedule_next_ms(const struct proxy_schedule *schedule);

/* Take that verb; the lines that are due together come in the order of the text. Borrowed, until
 * the schedule is freed. */
const struct proxy_command *proxy_schedule_take(struct proxy_schedule *schedule);

/* The command of each line, in order; NULL behind the last. To check the names of links. */
const struct proxy_command *proxy_schedule_line(const struct proxy_schedule *schedule,
                                                size_t index);

#endif
