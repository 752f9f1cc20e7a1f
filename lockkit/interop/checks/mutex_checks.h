/*
 * Checks of the lock that is one string on one server: lockkit's mutex and what shares its keys. Who
 * waits for the other asks again and again, and lockkit is told here to do so as well.
 */
#ifndef LOCKKIT_INTEROP_MUTEX_CHECKS_H
#define LOCKKIT_INTEROP_MUTEX_CHECKS_H

#include "arena.h"

enum { MUTEX_POLL_MS = 20 };

/* What the peer leaves as a value is of its library's form, which the matrix tells. */
void mutex_expect_token(const struct peer *peer, const char *token);
/* By whoever has a watchdog; `has_one` tells whether a does. */
void mutex_renewal(struct duel *duel, bool has_one);

extern const struct check mutex_checks[];

#endif
