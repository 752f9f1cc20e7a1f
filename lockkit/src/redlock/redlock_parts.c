/*
 * What all steps of a redlock share: which servers may vote, the calls to them, and the end of their leases.
 * A server that two clients are connected to would vote twice, and a replica would vote for its primary:
 * neither may. The identity is checked on every new connection, as another server may answer there.
 *
 * Threads: as redlock_hold.c says. Locks: none of its own.
 */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "redlock.h"
#include "wire/endpoint.h"
#include "wire/pending_undo.h"
#include "wire/reply.h"

enum {
    NODE_FLOOR_MS = 50, /* redis.io: 5 to 50 ms, for a lease of 10 s */
    NODE_PART = 100,    /* this part of the lease, if that is more... */
    NODE_MOST_PART = 3, /* ...but never more than this part of it */
};

struct redlock *lki_redlock_of(lk_lock *lock)
{
    return (struct redlock *)(void *)lock;
}

int64_t lki_redlock_node_ms(const struct redlock *self, int64_t lease_ms)
{
    int64_t most_ms = lease_ms / NODE_MOST_PART;
    int64_t node_ms = lease_ms / NODE_PART > NODE_FLOOR_MS ? lease_ms / NODE_PART : NODE_FLOOR_MS;

    if (self->options.node_ms > 0) node_ms = self->options.node_ms;
    return node_ms < most_ms ? node_ms : most_ms;
}

struct lki_call lki_redlock_call(const struct redlock_member *member, const char *script,
                                 const char *other_key)
{
    const lk_lock *whole = &member->redlock->base;

    return (struct lki_call){.script = script,
                             .keys = {lk_bytes_of(whole->key),
                                      other_key ? lk_bytes_of(other_key) : (struct lk_bytes){0}},
                             .key_count = other_key ? 2 : 1,
                             .args = {lk_bytes_of(whole->token)},
                             .arg_count = 1};
}

struct lki_pending_undo *lki_redlock_pending_undo(const struct redlock_member *member,
                                                  const char *token, const char *script,
                                                  int64_t until)
{
    lk_client *client = member->base.client;
    bool is_told = strcmp(script, "mutex_release") == 0;
    struct lki_call call =
        lki_redlock_call(member, script, is_told ? member->base.wake_channel : NULL);

    call.args[0] = lk_bytes_of(token);
    return lki_pending_undo_new(lki_call_request(client, &call), client->has_loader, until);
}

/* ---- which servers ------------------------------------------------------------------------------- */

lk_status lki_redlock_check(void *arg, size_t place, const struct lki_identity *identity,
                            struct lk_error *err)
{
    struct redlock *self = *(struct redlock **)arg;
    struct redlock_member *member = &self->members[place];
    const char *label = member->base.client->url.seeds[0].label;

    member->is_checked = identity->run_id[0] != '\0';
    if (identity->is_replica)
        return LKI_FAIL(err, LK_INVALID, "%s: a replica, which votes for its primary", label);
    for (size_t i = 0; i < self->count && member->is_checked; i++) {
        if (i == place || strcmp(self->members[i].run_id, identity->run_id) != 0) continue;
        return LKI_FAIL(err, LK_INVALID, "%s: the same server as %s", label,
                        self->servers[i].client->url.seeds[0].label);
    }
    (void)snprintf(member->run_id, sizeof member->run_id, "%s", identity->run_id);
    return LK_OK;
}

/* ---- the local view ------------------------------------------------------------------------------ */

int64_t lki_redlock_member_ends_at(const struct redlock_member *member)
{
    bool counts = atomic_load(&member->vote) == LKI_VOTE_COUNTED &&
                  atomic_load(&member->base.state) == LOCK_HELD;

    return counts ? atomic_load(&member->base.expires_at) : 0;
}

int64_t lki_redlock_majority(const struct redlock *self, const int64_t *moments)
{
    int64_t latest = 0;

    for (size_t i = 0; i < self->count; i++) {
        size_t as_late = 0;

        for (size_t k = 0; k < self->count; k++)
            as_late += moments[k] >= moments[i];
        if (as_late >= self->quorum && moments[i] > latest) latest = moments[i];
    }
    return latest;
}

int64_t lki_redlock_ends_at(const struct redlock *self)
{
    int64_t ends[LKI_QUORUM_SERVERS_MAX];

    for (size_t i = 0; i < self->count; i++)
        ends[i] = lki_redlock_member_ends_at(&self->members[i]);
    return lki_redlock_majority(self, ends);
}

int64_t lki_redlock_remaining_ms(const lk_lock *lock)
{
    int64_t left =
        lki_redlock_ends_at((const struct redlock *)(const void *)lock) - lki_clock_now();

    return left > 0 ? (left + NS_PER_MS - 1) / NS_PER_MS : 0;
}

size_t lki_redlock_count(const struct redlock *self, enum lki_vote vote)
{
    size_t count = 0;

    for (size_t i = 0; i < self->count; i++)
        count += atomic_load(&self->members[i].vote) == (int)vote;
    return count;
}
