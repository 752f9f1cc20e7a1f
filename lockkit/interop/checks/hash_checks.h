/*
 * Checks of the locks that are one hash with a field for the holder: reentrant and its relatives.
 * Numbers in brackets are the cases of Redisson's checklist that a check covers.
 */
#ifndef LOCKKIT_INTEROP_HASH_CHECKS_H
#define LOCKKIT_INTEROP_HASH_CHECKS_H

#include "duel.h"

/* The field, its value and the TTL; the other side is refused, and sees them. [1] */
void hash_keys_and_ttl(struct duel *duel);
/* Waiters are told once per release, those of the silent kind never. [3] */
void hash_messages(struct duel *duel);
/* Counts go up and down; nobody else gets in between. [6] */
void hash_re_entry(struct duel *duel);
/* What a re-entry with a shorter lease does to the hold. */
void hash_leases_of_re_entry(struct duel *duel);
/* Other threads, other clients, nobody's lock. [7] */
void hash_release_by_others(struct duel *duel);
/* The other side breaks the lock: waiters get it, and it is not renewed any more. [8] */
void hash_force_unlock(struct duel *duel);

#endif
