/*
 * What the proxy did, and when: one JSON line per verb and per effect, mergeable by `t` with the
 * clients' histories (all on CLOCK_MONOTONIC, ns).
 *
 *     {"t":..,"p":"proxy","e":"fault","f":"cut","target":"link1","by":"control","words":"cut","connections":3}
 *     {"t":..,"p":"proxy","e":"effect","f":"eat-reply","target":"link1","connection":17,"bytes":4}
 *
 * Each line is one write() to a file opened for appending: a kill loses the last line at most.
 */
#ifndef LOADTEST_PROXY_HISTORY_H
#define LOADTEST_PROXY_HISTORY_H

#include <stdint.h>

#include "proxy_command.h"

struct proxy_history {
    int fd; /* owned; -1: nobody asked for a history */
};

/* `path` NULL: no history. */
bool proxy_history_open(struct proxy_history *history, const char *path, struct failure *failure);
void proxy_history_close(struct proxy_history *history);

/* The proxy is ready; what its faults will be depends on `seed`. */
void proxy_history_start(const struct proxy_history *history, uint64_t seed);

/* A verb was carried out on a link that had so many connections; `by`: control, schedule. */
void proxy_history_fault(const struct proxy_history *history, const struct proxy_command *command,
                         const char *link, const char *by, uint64_t connections);

/* It did something to a connection: `bytes` of reply were eaten. */
void proxy_history_eaten(const struct proxy_history *history, const char *link, uint64_t connection,
                         uint64_t bytes);

/* `pass` had to reset connections that a blackhole had left with a hole in their stream. */
void proxy_history_reset(const struct proxy_history *history, const char *link,
                         uint64_t connections);

#endif
