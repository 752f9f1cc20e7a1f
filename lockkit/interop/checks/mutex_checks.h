/*
 * Checks of the lock that is one string on one server: lockkit's mutex and what shares its keys. Who
 * waits for the other asks again and again, and lockkit is told here to do so as well.
 */
#ifndef LOCKKIT_INTEROP_MUTEX_CHECKS_H
#define LOCKKIT_INTEROP_MUTEX_CHECKS_H

#include "duel.h"

enum { MUTEX_POLL_MS = 20 };

/* What the peer leaves as a value is of its library's form, which the matrix tells. */
void mutex_expect_token(const struct peer *peer, const char *token);

void mutex_exclusion(struct duel *duel);
void mutex_hand_over(struct duel *duel);
void mutex_keys_and_ttl(struct duel *duel);
/* A waiting lockkit that counts on messages finds the rival's release when it next asks. */
void mutex_messages(struct duel *duel);
/* lockkit breaks the rival's lock. */
void mutex_force_unlock(struct duel *duel);
/* Thrown out while its lease runs, the holder neither prolongs nor releases the next one's. */
void mutex_lost_hold(struct duel *duel);
void mutex_prolonged_by_hand(struct duel *duel);
/* By lockkit: redis-py has no watchdog. */
void mutex_renewal(struct duel *duel);

#endif
