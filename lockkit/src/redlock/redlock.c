/*
 * A lock over several independent servers (redis.io, "Distributed locks"): its constructor and its report.
 * How it is acquired: redlock_acquire.c; how it is renewed: redlock_hold.c.
 *
 * Threads: as lock.h says. Locks: none of its own.
 */
#include "redlock.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/name.h"
#include "base/options.h"
#include "wire/endpoint.h"

enum {
    RETRY_MS = 200, /* as node-redlock; redsync pauses 150 on average */
    FIRST_CHECK_MS =
        200, /* limit of the constructor's check; a later server is checked by the acquire */
    OPTION_MAX_MS = 60000,
};

/* ---- which servers ------------------------------------------------------------------------------- */

/* The constructor's check of the servers that can be reached. */
struct startup_check {
    struct redlock *self;
    struct lk_error why;
};

static enum lki_quorum_state note_check(void *arg, size_t place)
{
    struct startup_check *startup_check = arg;
    const struct lki_quorum_server *checked = &startup_check->self->servers[place];

    if (checked->why.code != LK_INVALID) return LKI_QUORUM_UNDECIDED;
    startup_check->why = checked->why;
    return LKI_QUORUM_DECIDED;
}

static lk_status check_servers(struct redlock *self, struct lk_error *err)
{
    struct startup_check startup_check = {.self = self};
    struct lki_quorum quorum = {.servers = self->servers,
                                .count = self->count,
                                .deadline = lki_clock_after_ms(FIRST_CHECK_MS),
                                .arg = &startup_check,
                                .check = lki_redlock_check,
                                .settle = note_check};

    lki_quorum_ask(&quorum);
    for (size_t i = 0; i < self->count; i++) {
        lki_quorum_server_detach(&self->servers[i], NULL, lki_clock_after_ms(FIRST_CHECK_MS));
        self->servers[i].ticket = 0;
    }
    if (startup_check.why.code != LK_OK && err) *err = startup_check.why;
    return startup_check.why.code;
}

/* The order of members: by host, port and database, which are the same in all clients and after a restart. */
static int compare_servers(const lk_client *one, const lk_client *other)
{
    const struct lki_endpoint *here = &one->url.seeds[0];
    const struct lki_endpoint *there = &other->url.seeds[0];
    int order = strcmp(here->label, there->label);

    return order != 0 ? order : (here->db > there->db) - (here->db < there->db);
}

static lk_status check_clients(lk_client *const *clients, size_t count,
                               const struct lk_redlock_options *options, struct lk_error *err)
{
    if (!clients || count < 1 || count > LKI_QUORUM_SERVERS_MAX)
        return LKI_FAIL(err, LK_INVALID, "a redlock has 1 to %d servers", LKI_QUORUM_SERVERS_MAX);
    if (count % 2 == 0 && !options->allow_even) {
        return LKI_FAIL(err, LK_INVALID,
                        "%zu servers survive no more failures than %zu: take an odd number", count,
                        count - 1);
    }
    if (options->node_ms < 0 || options->node_ms > OPTION_MAX_MS || options->retry_ms < 0 ||
        options->retry_ms > OPTION_MAX_MS) {
        return LKI_FAIL(err, LK_INVALID, "node_ms and retry_ms are between 0 and %d",
                        OPTION_MAX_MS);
    }
    for (size_t i = 0; i < count; i++) {
        lk_status status = lki_context_check(clients[i], err);
        if (status == LK_OK) status = lki_context_check_redis(clients[i], "redlock", err);

        if (status != LK_OK) return status;
        if (!lki_context_pool(clients[i])) {
            return LKI_FAIL(err, LK_INVALID, "%s: not one server, but a deployment of several",
                            clients[i]->url.seeds[0].label);
        }
        for (size_t k = 0; k < i; k++) {
            if (strcmp(clients[i]->url.seeds[0].label, clients[k]->url.seeds[0].label) == 0) {
                return LKI_FAIL(err, LK_INVALID, "%s: twice in a redlock",
                                clients[i]->url.seeds[0].label);
            }
        }
    }
    return LK_OK;
}

/* ---- life ---------------------------------------------------------------------------------------- */

static void redlock_free(lk_lock *lock)
{
    struct redlock *self = lki_redlock_of(lock);

    if (lock->client && !lki_context_is_foreign(lock->client))
        (void)lki_redlock_unwatch(self, INT64_MAX);
    for (size_t i = 0; i < self->count; i++) {
        if (self->members[i].base.ops) lki_lock_done(&self->members[i].base);
        lk_reply_free(self->servers[i].reply);
    }
    free(self->members_key);
    lki_lock_done(lock);
    (void)pthread_mutex_destroy(&self->mutex);
    free(self);
}

static const struct lki_lock_ops redlock_ops = {
    .kind = "redlock",
    .free = redlock_free,
    .force = lki_redlock_force,
    .acquire_all = lki_redlock_acquire,
    .release_all = lki_redlock_release,
    .renew_all = lki_redlock_renew,
    .remaining_ms = lki_redlock_remaining_ms,
    .cancel = lki_redlock_cancel,
};

/* FNV-1a: enough to detect mistakes; no protection against attacks. */
static uint64_t add_to_hash(uint64_t hash, const char *text)
{
    for (; *text; text++)
        hash = (hash ^ (uint8_t)*text) * 0x100000001b3U;
    return hash;
}

static void hash_members(struct redlock *self)
{
    uint64_t hash = 0xcbf29ce484222325U;
    char db[LKI_NUMBER_MAX + 2];

    for (size_t i = 0; i < self->count; i++) {
        const struct lki_endpoint *endpoint = &self->servers[i].client->url.seeds[0];

        (void)snprintf(db, sizeof db, "/%d\n", endpoint->db);
        hash = add_to_hash(add_to_hash(hash, endpoint->label), db);
    }
    (void)snprintf(self->members_hash, sizeof self->members_hash, "%016llx",
                   (unsigned long long)hash);
}

static lk_status bind_to_members(struct redlock *self, struct lk_error *err)
{
    self->members_key = lki_name_prefix("lockkit_members", self->base.key);
    if (!self->members_key) return LKI_FAIL(err, LK_NO_MEMORY, "a lock");
    hash_members(self);
    return LK_OK;
}

/* Members are sorted, so that all clients ask in the same order: the first at one server is mostly the first at
   the next. */
static void init_servers(struct redlock *self, lk_client *const *clients)
{
    for (size_t place = 0; place < self->count; place++) {
        size_t at = place;

        while (at > 0 && compare_servers(clients[place], self->servers[at - 1].client) < 0) {
            self->servers[at] = self->servers[at - 1];
            self->members[at].place = self->members[at - 1].place;
            at--;
        }
        self->servers[at] = (struct lki_quorum_server){.client = clients[place],
                                                       .pool = lki_context_pool(clients[place]),
                                                       .round_trip_ns = -1};
        self->members[at].place = place;
    }
}

static lk_status make_members(struct redlock *self, const char *key, struct lk_error *err)
{
    bool is_bound = self->options.is_bound_to_members;
    lk_status status = LK_OK;

    self->member_ops = is_bound ? &lki_redlock_bound_member_ops : &lki_redlock_member_ops;
    self->regain_ops = is_bound ? NULL : &lki_redlock_regain_ops;
    for (size_t i = 0; i < self->count && status == LK_OK; i++) {
        struct redlock_member *member = &self->members[i];

        member->redlock = self;
        member->status = LK_CANCELLED;
        member->base.wake_channel = lki_name_prefix("lockkit_wake", key);
        if (!member->base.wake_channel) return LKI_FAIL(err, LK_NO_MEMORY, "a lock");
        status = lki_lock_init(&member->base, self->member_ops, self->servers[i].client, key, err);
        if (status == LK_OK && self->members_key) {
            member->base.renew_key = strdup(self->members_key);
            if (!member->base.renew_key) status = LKI_FAIL(err, LK_NO_MEMORY, "a lock");
        }
        member->base.waiter.cancelled_by = &self->base.is_cancelled;
        member->base.on_lost = lki_redlock_member_lost;
        member->base.on_lost_arg = self;
    }
    return status;
}

lk_lock *lk_redlock_new(lk_client *const *clients, size_t count, const char *key,
                        const struct lk_redlock_options *options, struct lk_error *err)
{
    struct lk_redlock_options known;
    struct redlock *self = NULL;

    if (LKI_OPTIONS_COPY(&known, options, is_bound_to_members, err) != LK_OK) return NULL;
    options = &known;
    if (check_clients(clients, count, options, err) != LK_OK) return NULL;
    self = calloc(1, sizeof *self + count * sizeof self->members[0]);
    if (!self) {
        (void)LKI_FAIL(err, LK_NO_MEMORY, "a lock");
        return NULL;
    }
    (void)pthread_mutex_init(&self->mutex, NULL);
    self->options = *options;
    if (self->options.retry_ms == 0) self->options.retry_ms = RETRY_MS;
    self->count = count;
    self->quorum = count / 2 + 1;
    init_servers(self, clients);
    lk_status status = lki_lock_init(&self->base, &redlock_ops, clients[0], key, err);
    if (status == LK_OK && options->is_bound_to_members) status = bind_to_members(self, err);
    if (status == LK_OK) status = make_members(self, key, err);
    if (status == LK_OK) status = check_servers(self, err);
    if (status == LK_OK) return &self->base;
    redlock_free(&self->base);
    return NULL;
}

/* ---- report -------------------------------------------------------------------------------------- */

static struct lk_redlock_vote vote_of(const struct redlock *self, size_t i)
{
    const struct redlock_member *member = &self->members[i];
    int64_t left = lki_redlock_member_ends_at(member) - lki_clock_now();
    int64_t round_trip = self->servers[i].round_trip_ns;

    return (struct lk_redlock_vote){
        .server = self->servers[i].client->url.seeds[0].label,
        .status = member->status,
        .sys_errno = member->sys_errno,
        .round_trip_us = round_trip < 0 ? -1 : round_trip / 1000,
        .remaining_ms = left > 0 ? (left + NS_PER_MS - 1) / NS_PER_MS : 0,
        .is_checked = member->is_checked,
    };
}

size_t lk_redlock_report(const lk_lock *lock, struct lk_redlock_report *out,
                         struct lk_redlock_vote *out_votes, size_t room)
{
    const struct redlock *self = (const struct redlock *)(const void *)lock;

    if (!lock || lock->ops != &redlock_ops) return 0;
    if (out) {
        *out = (struct lk_redlock_report){.servers = self->count,
                                          .quorum = self->quorum,
                                          .agreed = self->agreed,
                                          .attempts = self->attempts,
                                          .validity_ms = self->validity_ms};
    }
    for (size_t i = 0; i < self->count && out_votes; i++) {
        if (self->members[i].place < room) out_votes[self->members[i].place] = vote_of(self, i);
    }
    return self->count;
}
