/*
 * A row for each kind, with how it is made. What they have in common is below. The thread that runs
 * lockctl; kinds_cancel() is for the one that waits for signals.
 */
#include "kinds.h"

#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "secrets.h"

enum { LOOK_MS = 5, AGAIN_MS = 50, REDLOCK_LINGER_MS = 500 };

/* ---- how each is made ------------------------------------------------------------------------ */

static bool make_fair(struct kinds_hold *hold, struct lk_error *err)
{
    hold->lock = lk_fair_new(hold->clients[0], hold->request->name, NULL, err);
    return hold->lock != NULL;
}

static lk_rwlock *make_rwlock(struct kinds_hold *hold, lk_rwlock_order order, struct lk_error *err)
{
    struct lk_rwlock_options options = {.order = order};

    hold->rwlock = lk_rwlock_new_with(hold->clients[0], hold->request->name, &options, err);
    return hold->rwlock;
}

static bool make_read(struct kinds_hold *hold, struct lk_error *err)
{
    hold->lock = lk_rwlock_read(make_rwlock(hold, LK_RWLOCK_UNORDERED, err));
    return hold->lock != NULL;
}

static bool make_write(struct kinds_hold *hold, struct lk_error *err)
{
    hold->lock = lk_rwlock_write(make_rwlock(hold, LK_RWLOCK_UNORDERED, err));
    return hold->lock != NULL;
}

static bool make_fair_read(struct kinds_hold *hold, struct lk_error *err)
{
    hold->lock = lk_rwlock_read(make_rwlock(hold, LK_RWLOCK_FAIR, err));
    return hold->lock != NULL;
}

static bool make_fair_write(struct kinds_hold *hold, struct lk_error *err)
{
    hold->lock = lk_rwlock_write(make_rwlock(hold, LK_RWLOCK_FAIR, err));
    return hold->lock != NULL;
}

static bool make_semaphore(struct kinds_hold *hold, struct lk_error *err)
{
    lk_status status = LK_OK;

    hold->semaphore = lk_semaphore_new(hold->clients[0], hold->request->name, err);
    if (!hold->semaphore) return false;
    if (hold->request->permits > 0)
        status = lk_semaphore_try_set(hold->semaphore, hold->request->permits, err);
    return status == LK_OK || status == LK_BUSY;
}

static bool make_permits(struct kinds_hold *hold, struct lk_error *err)
{
    lk_status status = LK_OK;

    if (hold->request->permits > 0) {
        lk_permits *permits = lk_permits_new(hold->clients[0], hold->request->name, err);

        if (!permits) return false;
        status = lk_permits_try_set(permits, hold->request->permits, err);
        lk_permits_free(permits);
    }
    if (status != LK_OK && status != LK_BUSY) return false;
    hold->lock = lk_permit_lock_new(hold->clients[0], hold->request->name, err);
    return hold->lock != NULL;
}

static bool make_redlock(struct kinds_hold *hold, struct lk_error *err)
{
    hold->lock = lk_redlock_new(hold->clients, hold->client_count, hold->request->name, NULL, err);
    return hold->lock != NULL;
}

/* ---- the table ------------------------------------------------------------------------------- */

static const struct ctl_kind kinds[] = {
    {"mutex", "one holder", .make_lock = lk_mutex_new},
    {"fair", "one holder; who came first is served first", .make = make_fair},
    {"fenced", "one holder, with a number that grows: LOCKKIT_FENCE", .make_lock = lk_fenced_new},
    {"reentrant", "one holder; the lock that Redisson calls RLock", .make_lock = lk_reentrant_new},
    {"spin", "the same, without messages to those who wait", .make_lock = lk_spin_new},
    {"read", "any number of readers, while nobody writes", .make = make_read, .has_no_end = true},
    {"write", "one writer, while nobody reads", .make = make_write},
    {"fair-read", "readers, in the order of coming: no stream of them keeps a writer out",
     .make = make_fair_read, .has_no_end = true},
    {"fair-write", "one writer, in the order of coming", .make = make_fair_write},
    {"permits", "N holders (--permits N), each with a lease", .make = make_permits,
     .has_permits = true},
    {"semaphore", "N holders without lease: one killed with -9 takes its place along",
     .make = make_semaphore, .has_permits = true, .has_no_end = true},
    {"advisory", "one holder, by PostgreSQL's own session lock", .make_lock = lk_advisory_new,
     .has_no_end = true},
    {"redlock", "one holder, by the majority of several servers (--redis, each)",
     .make = make_redlock, .is_redlock = true},
};

enum { KIND_COUNT = sizeof kinds / sizeof kinds[0] };

const struct ctl_kind *kinds_at(size_t index)
{
    return index < KIND_COUNT ? &kinds[index] : NULL;
}

const struct ctl_kind *kinds_find(const char *name, size_t len)
{
    for (size_t i = 0; i < KIND_COUNT; i++)
        if (strlen(kinds[i].name) == len && memcmp(kinds[i].name, name, len) == 0) return &kinds[i];
    return NULL;
}

/* ---- a hold ---------------------------------------------------------------------------------- */

/* Of several servers any may be down now. */
static int connect_all(struct kinds_hold *hold, const struct secrets *secrets)
{
    const struct ctl_request *request = hold->request;

    for (size_t i = 0; i < request->url_count; i++) {
        struct lk_client_options options = {.url = request->urls[i],
                                            .password = secrets->password,
                                            .loader = secrets->loader,
                                            .sentinel_password = secrets->sentinel,
                                            .tls = request->tls,
                                            .may_be_down = request->kind->is_redlock};
        struct lk_error err = {0};

        hold->clients[i] = lk_client_open(&options, &err);
        if (!hold->clients[i]) return ctl_complain_of("", &err);
        hold->client_count++;
    }
    return CTL_OK;
}

static bool make(struct kinds_hold *hold, struct lk_error *err)
{
    const struct ctl_request *request = hold->request;

    if (request->kind->make) return request->kind->make(hold, err);
    hold->lock = request->kind->make_lock(hold->clients[0], request->name, err);
    return hold->lock != NULL;
}

int kinds_open(const struct ctl_request *request, struct kinds_hold *out)
{
    struct secrets secrets;
    struct lk_error err = {0};

    *out = (struct kinds_hold){.request = request, .lost_fd = -1};
    int status = secrets_read(request, &secrets);
    if (status == CTL_OK) status = connect_all(out, &secrets);
    secrets_done(&secrets);
    if (status != CTL_OK) return status;
    if (!make(out, &err)) return ctl_complain_of(request->name, &err);
    if (!out->lock) return CTL_OK;
    out->lost_fd = lk_lock_lost_fd(out->lock);
    if (out->lost_fd >= 0) return CTL_OK;
    (void)ctl_complain("no descriptor is left to be told of a loss");
    return CTL_SYSTEM;
}

/* A wait without limit is one that nobody lives to see the end of. */
static int64_t limit_of(const struct ctl_request *request)
{
    return request->wait_ms == CTL_FOREVER ? INT64_MAX : request->wait_ms;
}

lk_status kinds_acquire(struct kinds_hold *hold, struct lk_error *err)
{
    const struct ctl_request *request = hold->request;
    struct lk_lock_options options = {.wait_ms = limit_of(request),
                                      .lease_ms = request->lease_ms,
                                      .is_renewed = !request->is_not_renewed};

    if (hold->lock) return lk_lock_acquire(hold->lock, &options, err);
    return lk_semaphore_acquire(hold->semaphore, 1, options.wait_ms, err);
}

void kinds_cancel(struct kinds_hold *hold)
{
    lk_lock_cancel(hold->lock);
    lk_semaphore_cancel(hold->semaphore);
}

/* A server that is away, stands still or refuses for now is asked again, as long as the grace lasts. */
static bool is_to_repeat(const struct kinds_hold *hold, lk_status status, int64_t began_ms)
{
    if (status != LK_UNKNOWN && status != LK_UNREACHABLE && status != LK_EXHAUSTED) return false;
    if (ctl_now_ms() - began_ms >= hold->request->grace_ms) return false;
    (void)poll(NULL, 0, AGAIN_MS);
    return true;
}

lk_status kinds_release(struct kinds_hold *hold, struct lk_error *err)
{
    int64_t began_ms = ctl_now_ms();
    bool is_worth_it = !hold->lock || lk_held(hold->lock); /* else it is gone anyway */
    lk_status status = LK_OK;

    do
        status = hold->lock ? lk_lock_release(hold->lock, err)
                            : lk_semaphore_release(hold->semaphore, 1, err);
    while (is_worth_it && is_to_repeat(hold, status, began_ms));
    return status;
}

static void free_lock(struct kinds_hold *hold)
{
    if (hold->rwlock) {
        lk_rwlock_free(hold->rwlock);
    } else {
        lk_lock_free(hold->lock);
    }
    hold->rwlock = NULL;
    hold->lock = NULL;
}

/* Ends the owner's hold, a string's or a field's, so many ms from now. KEYS: 1 lock. ARGV: 1 token, 2 ms. */
static const char leave_script[] =
    "local kind = redis.call('TYPE', KEYS[1]).ok\n"
    "local is_ours = kind == 'string' and redis.call('GET', KEYS[1]) == ARGV[1]\n"
    "  or kind == 'hash' and redis.call('HEXISTS', KEYS[1], ARGV[1]) == 1\n"
    "return is_ours and redis.call('PEXPIRE', KEYS[1], ARGV[2]) or 0\n";

/* 1 in *out_count more if it is there, and ours. */
static lk_status leave_at(lk_client *client, const struct lk_eval *eval, size_t *out_count,
                          struct lk_error *err)
{
    lk_reply *reply = NULL;
    lk_status status = lk_client_eval(client, eval, 0, &reply, err);

    if (status == LK_OK) *out_count += lk_reply_integer(reply, 0) == 1;
    lk_reply_free(reply);
    return status;
}

static lk_status leave_permit(struct kinds_hold *hold, const char *token, int64_t rest_ms,
                              struct lk_error *err)
{
    struct lk_permit permit = {0};
    lk_permits *permits = lk_permits_new(hold->clients[0], hold->request->name, err);
    lk_status status = LK_NO_MEMORY;

    (void)snprintf(permit.id, sizeof permit.id, "%.*s", LK_PERMIT_ID_MAX - 1, token);
    if (permits) status = lk_permits_renew(permits, &permit, rest_ms, err);
    lk_permits_free(permits);
    return status == LK_LOST ? LK_NOT_OWNER : status;
}

static lk_status leave_lock(struct kinds_hold *hold, const char *token, int64_t rest_ms,
                            struct lk_error *err)
{
    char ms[24];
    struct lk_bytes key = lk_bytes_of(hold->request->name), args[] = {lk_bytes_of(token), {0}};
    struct lk_eval eval = {.keys = &key, .key_count = 1, .args = args, .arg_count = 2};
    size_t count = 0;
    lk_status status = LK_NO_MEMORY;

    (void)snprintf(ms, sizeof ms, "%" PRId64, rest_ms);
    args[1] = lk_bytes_of(ms);
    eval.script =
        lk_script_new(&(struct lk_script_source){.name = "leave", .source = leave_script});
    for (size_t i = 0; i < hold->client_count && eval.script; i++)
        status = leave_at(hold->clients[i], &eval, &count, err);
    lk_script_free(eval.script);
    if (count > hold->client_count / 2) return LK_OK;
    return status == LK_OK ? LK_NOT_OWNER : status;
}

lk_status kinds_leave(struct kinds_hold *hold, int64_t rest_ms, struct lk_error *err)
{
    char token[128];
    int64_t began_ms = ctl_now_ms();
    lk_status status = LK_OK;

    (void)snprintf(token, sizeof token, "%s", lk_lock_token(hold->lock));
    free_lock(hold); /* or its renewal would put back what is cut */
    do
        status = hold->request->kind->has_permits ? leave_permit(hold, token, rest_ms, err)
                                                  : leave_lock(hold, token, rest_ms, err);
    while (is_to_repeat(hold, status, began_ms));
    return status;
}

bool kinds_is_unset(struct kinds_hold *hold)
{
    const struct ctl_request *request = hold->request;
    struct lk_inspection found;

    return request->kind->has_permits &&
           lk_inspect(hold->clients[0], request->name, &found, NULL) == LK_OK &&
           found.layout == LK_LAYOUT_NONE;
}

/* What is still to be given back, after an acquire that failed or on servers that a redlock did not wait for (and of
   which some may be away), lasts as long as its lease when nobody is there to do it. */
static void linger(const struct kinds_hold *hold)
{
    int64_t until_ms = ctl_now_ms() + hold->request->grace_ms;

    if (hold->request->kind->is_redlock) until_ms = ctl_now_ms() + REDLOCK_LINGER_MS;
    for (size_t i = 0; i < hold->client_count; i++)
        while (lk_client_has_pending_undo(hold->clients[i]) && ctl_now_ms() < until_ms)
            (void)poll(NULL, 0, LOOK_MS);
}

void kinds_close(struct kinds_hold *hold)
{
    free_lock(hold);
    linger(hold);
    lk_semaphore_free(hold->semaphore);
    for (size_t i = 0; i < hold->client_count; i++)
        lk_client_close(hold->clients[i]);
}
