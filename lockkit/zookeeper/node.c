/*
 * A lock is the place of a node in the queue below the lock's path. A waiter's node is created once and keeps its place; the
 * waiter watches only the place before its own. After a create without an answer, any node with that UUID becomes a pending
 * undo (pending_undo.c), and a new node is created, which waits for the old one as for any other. Threads as lock.h says; what
 * the session's mutex guards here is also used by watchers, the keeper and the watchdog.
 *
 * The lease of a hold is kept by the client, as ZooKeeper has none; and no hold outlasts the proven life of its session.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "counters/permit_list.h"
#include "locks/lock.h"
#include "wait/hub_internal.h"
#include "zookeeper.h"

enum { NO_SESSION = -1 };

struct zookeeper_node {
    lk_lock base;
    const struct zookeeper_rule *rule; /* NULL: a permit, whose node is among the leases */
    unsigned long id;                  /* of the waiter; also the name of its channel */
    char parent[ZOOKEEPER_PATH_MAX];
    char prefix[ZOOKEEPER_NAME_MAX]; /* of our node's name */
    bool is_beside; /* a read by the holder of the write: the prefix is the whole name */
    /* Guarded by the session's mutex: */
    struct zookeeper_node *next;
    char path[ZOOKEEPER_NODE_MAX]; /* of our node, in that session; "": none */
    int64_t session;
    atomic_bool is_watching; /* a watch is set on the place before ours: wait until it changes */
    atomic_bool is_watched;  /* a watch is set on our node, which holds the lock */
};

static struct zookeeper_node *node_of(lk_lock *lock)
{
    return (struct zookeeper_node *)(void *)lock;
}

static const struct zookeeper_node *known_node_of(const lk_lock *lock)
{
    return (const struct zookeeper_node *)(const void *)lock;
}

static struct zookeeper *state_of(const struct zookeeper_node *node)
{
    return zookeeper_of(node->base.client);
}

static pthread_mutex_t *mutex_of(const struct zookeeper_node *node)
{
    return &state_of(node)->session.mutex;
}

/* ---- all of a client -------------------------------------------------------------------------------- */

static void wake(lk_client *client, const char *channel)
{
    struct lki_hub *hub = client->hub;

    (void)pthread_mutex_lock(&hub->mutex);
    for (struct lki_channel *at = hub->channels.newest; at; at = at->older) {
        if (!channel || strcmp(at->name, channel) == 0) lki_channel_wake(at, SIZE_MAX);
    }
    (void)pthread_mutex_unlock(&hub->mutex);
}

void zookeeper_node_wake_all(lk_client *client)
{
    struct zookeeper *self = zookeeper_of(client);

    (void)pthread_mutex_lock(&self->session.mutex);
    for (struct zookeeper_node *node = self->nodes; node; node = node->next)
        node->is_watching = node->is_watched = false;
    (void)pthread_mutex_unlock(&self->session.mutex);
    wake(client, NULL);
}

void zookeeper_node_changed(lk_client *client, unsigned long id, const char *path, bool is_gone)
{
    struct zookeeper *self = zookeeper_of(client);
    char channel[LKI_NUMBER_MAX];
    bool is_own = false;

    (void)pthread_mutex_lock(&self->session.mutex);
    struct zookeeper_node *node = self->nodes;
    while (node && node->id != id)
        node = node->next;
    if (node && strcmp(node->path, path) != 0) node->is_watching = false;
    if (node && strcmp(node->path, path) == 0) {
        is_own = atomic_load(&node->base.state) == LOCK_HELD;
        node->is_watched = false;
        if (is_gone) node->session = NO_SESSION;
    }
    (void)pthread_mutex_unlock(&self->session.mutex);
    if (is_gone) zookeeper_renewal_conn_alarm(client);
    if (is_own) lki_hub_poke(client->hub); /* the keeper checks whether it still exists */
    wake(client, lki_number(channel, (long long)id).data);
}

/* Find a node that is to be deleted (*id is 0) or watched: its path, session and number. False: there is none. */
static bool find_unwatched(struct zookeeper *self, char *path, int64_t *session, unsigned long *id)
{
    bool is_found = false;

    (void)pthread_mutex_lock(&self->session.mutex);
    for (struct zookeeper_node *node = self->nodes; node && !is_found; node = node->next) {
        int state = atomic_load(&node->base.state);

        if (!node->path[0]) continue;
        is_found = state == LOCK_LOST || (state == LOCK_HELD && !node->is_watched);
        (void)stpcpy(path, node->path);
        *session = node->session;
        *id = state == LOCK_LOST ? 0 : node->id;
        if (is_found) node->is_watched = true;
        if (is_found && *id == 0) node->path[0] = '\0';
    }
    (void)pthread_mutex_unlock(&self->session.mutex);
    return is_found;
}

void zookeeper_node_sweep(lk_client *client)
{
    char path[ZOOKEEPER_NODE_MAX];
    int64_t session = 0;
    unsigned long id = 0;

    while (find_unwatched(zookeeper_of(client), path, &session, &id)) {
        if (id > 0) {
            zookeeper_watch_own(client, path, id);
        } else {
            zookeeper_pending_undo_add(client, path, session, false);
        }
    }
}

/* ---- our node --------------------------------------------------------------------------------------- */

static bool is_there(const struct zookeeper_node *node)
{
    (void)pthread_mutex_lock(mutex_of(node));
    bool is_so = node->path[0] && node->session == atomic_load(&state_of(node)->session.id);
    (void)pthread_mutex_unlock(mutex_of(node));
    return is_so;
}

/* Forget our node: returns its session and path, or "". */
static int64_t take_path(struct zookeeper_node *node, char path[sizeof node->path])
{
    (void)pthread_mutex_lock(mutex_of(node));
    (void)stpcpy(path, node->path);
    node->path[0] = '\0';
    node->is_watching = node->is_watched = false;
    int64_t session = node->session;
    (void)pthread_mutex_unlock(mutex_of(node));
    return session;
}

static void become(struct zookeeper_node *node, const char *path, int64_t session, int64_t czxid)
{
    (void)pthread_mutex_lock(mutex_of(node));
    (void)snprintf(node->path, sizeof node->path, "%s", path);
    node->session = session;
    (void)pthread_mutex_unlock(mutex_of(node));
    node->base.fence = node->is_beside ? lk_lock_fence(node->base.other) : (uint64_t)czxid;
}

/* Leave our node to the pending undos; a later one has another name. */
static void leave_to_undo(struct zookeeper_node *node)
{
    char path[sizeof node->path];
    int64_t session = take_path(node, path);

    if (path[0]) zookeeper_pending_undo_add(node->base.client, path, session, false);
}

/* A read beside our write, at the same place: waiters behind it stay behind when the write is released (Curator 5.5). */
static lk_status prepare_beside(struct zookeeper_node *node, struct lk_error *err)
{
    const struct zookeeper_node *write = known_node_of(node->base.other);
    const char *number = NULL;

    if (!node->rule->is_shared)
        return LKI_FAIL(err, LK_DEADLOCK, "%s: it is held for reading by this handle",
                        node->base.key);
    (void)pthread_mutex_lock(mutex_of(node));
    number = zookeeper_queue_number(write->path);
    if (number) (void)stpcpy(node->prefix + strlen(node->prefix), number);
    (void)pthread_mutex_unlock(mutex_of(node));
    node->is_beside = number != NULL;
    return LK_OK;
}

static lk_status node_prepare(lk_lock *lock, struct lk_error *err)
{
    struct zookeeper_node *node = node_of(lock);
    char uuid[LKI_UUID_LEN + 1];

    leave_to_undo(node);
    node->is_beside = false;
    if (!node->rule) return lki_random_token(lock->token, err);
    lk_status status = lki_random_uuid(uuid, err);
    if (status != LK_OK) return status;
    (void)stpcpy(lock->token, uuid);
    zookeeper_queue_name(node->rule, uuid, node->prefix);
    return lk_held(lock->other) ? prepare_beside(node, err) : LK_OK;
}

static lk_status ask(struct zookeeper_node *node, enum zookeeper_verb verb, const char *path,
                     int64_t deadline, struct zookeeper_answer *out, struct lk_error *err)
{
    return zookeeper_ask(node->base.client,
                         &(struct zookeeper_question){.verb = verb,
                                                      .path = path,
                                                      .node = verb == ZOOKEEPER_GET ? node->id : 0},
                         deadline, out, err);
}

/* Create our node. UNREACHABLE: there is none, or it was left to the pending undos. */
static lk_status make_node(struct zookeeper_node *node, int64_t deadline, struct lk_error *err)
{
    char path[sizeof node->path];
    struct zookeeper_answer answer = {0};

    (void)snprintf(path, sizeof path, "%s/%s", node->parent, node->prefix);
    lk_status status =
        zookeeper_create(node->base.client,
                         &(struct zookeeper_question){
                             .verb = ZOOKEEPER_CREATE,
                             .path = path,
                             .mode = node->is_beside ? ZOO_EPHEMERAL : ZOO_EPHEMERAL_SEQUENTIAL},
                         deadline, &answer, err);
    if (status == LK_UNKNOWN) {
        zookeeper_pending_undo_add(node->base.client, path, answer.session, true);
        status = node_prepare(&node->base, err);
        return status == LK_OK ? zookeeper_ask_again(LK_UNKNOWN, err) : status;
    }
    if (status == LK_OK && answer.code == ZOK) {
        become(node, answer.path, answer.session, answer.czxid);
    } else if (status == LK_OK) {
        status = LKI_FAIL(err, LK_SERVER, "%s: %s", node->parent, zerror(answer.code));
    }
    zookeeper_answer_done(&answer);
    return status;
}

/* Make sure that our node exists in the current session. */
static lk_status have_node(struct zookeeper_node *node, int64_t deadline, struct lk_error *err)
{
    lk_status status = LK_OK;

    if (is_there(node)) return LK_OK;
    if (node->path[0])
        status = node_prepare(&node->base, err); /* it was deleted with its session */
    return status == LK_OK ? make_node(node, deadline, err) : status;
}

/* ---- whose turn it is ------------------------------------------------------------------------------- */

/* OK: the lock is ours. BUSY: we wait for out_before; or, if that is "", our node does not exist any more. */
static lk_status look(struct zookeeper_node *node, int64_t deadline,
                      char out_before[sizeof node->path], struct lk_error *err)
{
    struct zookeeper_answer answer = {0};
    lk_status status = ask(node, ZOOKEEPER_CHILDREN, node->parent, deadline, &answer, err);
    const char *const *names = (const char *const *)answer.names.data;

    if (status != LK_OK) return zookeeper_ask_again(status, err);
    int before = zookeeper_queue_before(node->rule, names, (size_t)answer.names.count,
                                        strrchr(node->path, '/') + 1);
    out_before[0] = '\0';
    if (before >= 0) {
        (void)snprintf(out_before, sizeof node->path, "%s/%s", node->parent, names[before]);
        bool is_lock = zookeeper_queue_number(names[before]) != NULL;
        status = LKI_FAIL(err, LK_BUSY, "%s: %s%.40s", node->base.key,
                          is_lock ? "held by " : "blocked by what is no lock's: ", names[before]);
    } else if (before == ZOOKEEPER_MISSING) {
        status = LK_BUSY;
    }
    zookeeper_answer_done(&answer);
    return status;
}

/* Watch the place before ours. BUSY: the watch is set. OK: it does not exist any more, look again. */
static lk_status watch(struct zookeeper_node *node, const char *before, int64_t deadline,
                       struct lk_error *err)
{
    struct zookeeper_answer answer = {0};

    node->is_watching = true; /* beforehand, as the watch may fire before the answer comes */
    lk_status status = ask(node, ZOOKEEPER_GET, before, deadline, &answer, err);
    bool is_set = status == LK_OK && answer.code == ZOK;
    zookeeper_answer_done(&answer);
    if (!is_set) node->is_watching = false;
    if (status == LK_UNKNOWN) return zookeeper_ask_again(status, err);
    return node->is_watching ? LK_BUSY : status;
}

/* OK: our node exists, and the session is proven. */
static lk_status watch_hold(struct zookeeper_node *node, int64_t deadline, struct lk_error *err)
{
    node->is_watched = true;
    zookeeper_watch_own(node->base.client, node->path, node->id);
    lk_status status = zookeeper_session_await_valid(node->base.client, deadline, err);
    return status == LK_OK && !is_there(node)
               ? LKI_FAIL(err, LK_UNREACHABLE, "%s: the session has ended", node->base.key)
               : status;
}

static lk_status take_turn(struct zookeeper_node *node, bool is_waiting, int64_t deadline,
                           struct lk_error *err)
{
    char before[sizeof node->path] = "";
    lk_status status = LK_BUSY;

    for (;;) {
        status = have_node(node, deadline, err);
        if (status != LK_OK || node->is_beside) break;
        status = look(node, deadline, before, err);
        if (status == LK_OK) break;
        if (status == LK_BUSY && !before[0]) {
            status = node_prepare(&node->base, err); /* our node was deleted */
        } else if (status == LK_BUSY && is_waiting) {
            status = watch(node, before, deadline, err);
        }
        if (status != LK_OK) return status;
    }
    return status == LK_OK ? watch_hold(node, deadline, err) : status;
}

/* ---- a permit --------------------------------------------------------------------------------------- */

static struct lki_permit_list permit_of(const struct zookeeper_node *node, int64_t deadline,
                                        struct lki_permit_id *out_id)
{
    (void)lki_permit_list_parse(node->base.token, out_id); /* prepared */
    return (struct lki_permit_list){.client = node->base.client,
                                    .key = node->base.key,
                                    .channel = node->base.wake_channel,
                                    .ids = out_id,
                                    .count = 1,
                                    .deadline = deadline};
}

static lk_status take_permit(struct zookeeper_node *node, bool is_waiting, int64_t deadline,
                             struct lk_error *err)
{
    char path[sizeof node->path];
    struct lki_permit_id id;
    struct lki_permit_list list = permit_of(node, deadline, &id);
    int64_t session = atomic_load(&state_of(node)->session.id);

    list.is_waited_for = is_waiting;
    lk_status status = zookeeper_permits_take(&list, path, err);
    if (status != LK_OK) return status;
    become(node, path, session, 0);
    return watch_hold(node, deadline, err);
}

/* ---- the verbs -------------------------------------------------------------------------------------- */

static void node_abandon(lk_lock *lock, int64_t deadline)
{
    struct zookeeper_node *node = node_of(lock);
    struct zookeeper_answer answer = {0};
    struct lki_permit_id id;
    struct lki_permit_list permit = permit_of(node, deadline, &id);

    if (!node->rule) zookeeper_permits_undo(&permit);
    if (!is_there(node) ||
        ask(node, ZOOKEEPER_DELETE, node->path, deadline, &answer, NULL) != LK_OK) {
        leave_to_undo(node);
        return;
    }
    char path[sizeof node->path];
    (void)take_path(node, path);
}

static lk_status node_try_acquire(lk_lock *lock, int64_t *out_ttl_ms, int64_t deadline,
                                  struct lk_error *err)
{
    struct zookeeper_node *node = node_of(lock);

    if (out_ttl_ms) *out_ttl_ms = -1;
    if (node->is_watching) return LKI_FAIL(err, LK_BUSY, "%s: held by somebody else", lock->key);
    lk_status status =
        (node->rule ? take_turn : take_permit)(node, out_ttl_ms != NULL, deadline, err);
    if (status != LK_OK && lock->wait_ms == 0)
        node_abandon(lock, lki_context_deadline(lock->client, 0));
    return status;
}

static lk_status node_renew(lk_lock *lock, int64_t lease_ms, int64_t deadline, struct lk_error *err)
{
    struct zookeeper_node *node = node_of(lock);
    struct zookeeper_answer answer = {0};

    (void)lease_ms; /* lock.c keeps it */
    if (!is_there(node)) return LK_LOST;
    lk_status status = ask(node, ZOOKEEPER_EXISTS, node->path, deadline, &answer, err);
    if (status == LK_OK) status = zookeeper_session_await_valid(lock->client, deadline, err);
    if (status == LK_OK && (answer.code != ZOK || !is_there(node))) status = LK_LOST;
    zookeeper_answer_done(&answer);
    return status;
}

/* Only this handle counts its holds. */
static lk_status node_leave(lk_lock *lock, unsigned depth, int64_t deadline, struct lk_error *err)
{
    (void)depth;
    (void)deadline;
    if (is_there(node_of(lock))) return LK_OK;
    return LKI_FAIL(err, LK_NOT_OWNER, "%s: the session had ended before the release", lock->key);
}

static lk_status node_release(lk_lock *lock, int64_t deadline, struct lk_error *err)
{
    struct zookeeper_node *node = node_of(lock);
    struct zookeeper_answer answer = {0};
    char path[sizeof node->path];
    lk_status status = LK_OK;

    if (is_there(node)) status = ask(node, ZOOKEEPER_DELETE, node->path, deadline, &answer, err);
    bool is_ours = is_there(node) && answer.code == ZOK;
    if (is_ours && (status == LK_UNKNOWN || status == LK_UNREACHABLE)) {
        zookeeper_pending_undo_add(lock->client, node->path, node->session, false);
        if (err) err->code = LK_UNKNOWN; /* a pending undo repeats it */
        return LK_UNKNOWN;
    }
    (void)take_path(node, path);
    if (is_ours) return status;
    return LKI_FAIL(err, LK_NOT_OWNER, "%s: node or session had ended before the release",
                    lock->key);
}

/* Delete the node of the first place, whoever the owner is. */
static lk_status node_force(lk_lock *lock, int64_t deadline, struct lk_error *err)
{
    struct zookeeper_node *node = node_of(lock);
    struct zookeeper_answer answer = {0}, deleted = {0};
    char path[sizeof node->path];
    int first = ZOOKEEPER_GRANTED;
    const struct zookeeper_question all = {.verb = ZOOKEEPER_CHILDREN, .path = node->parent};
    lk_status status = zookeeper_ask_latest(lock->client, &all, deadline, &answer, err);
    const char *const *names = (const char *const *)answer.names.data;

    for (int32_t i = 0; i < answer.names.count; i++) {
        size_t count = (size_t)answer.names.count;

        if (zookeeper_queue_number(names[i]) &&
            zookeeper_queue_before(node->rule, names, count, names[i]) == ZOOKEEPER_GRANTED)
            first = i;
    }
    if (first >= 0) {
        (void)snprintf(path, sizeof path, "%s/%s", node->parent, names[first]);
        status = ask(node, ZOOKEEPER_DELETE, path, deadline, &deleted, err);
    }
    zookeeper_answer_done(&answer);
    if (status == LK_OK && (first < 0 || deleted.code != ZOK))
        status = LKI_FAIL(err, LK_NOT_OWNER, "%s: nobody held it", lock->key);
    return status;
}

static int64_t node_remaining_ms(const lk_lock *lock)
{
    int64_t ends = atomic_load(&lock->expires_at);
    int64_t valid_until = atomic_load(&zookeeper_of(lock->client)->session.valid_until);

    if (valid_until < ends) ends = valid_until;
    int64_t left = ends - lki_clock_now();
    if (left <= 0 || !is_there(known_node_of(lock))) return 0;
    return (left + NS_PER_MS - 1) / NS_PER_MS;
}

/* ---- the kinds -------------------------------------------------------------------------------------- */

static void node_free(lk_lock *lock)
{
    struct zookeeper_node *node = node_of(lock);

    if (lock->client && !lki_context_is_foreign(lock->client) && node->id > 0) {
        leave_to_undo(node);
        (void)pthread_mutex_lock(mutex_of(node));
        struct zookeeper_node **at = &state_of(node)->nodes;
        while (*at != node)
            at = &(*at)->next;
        *at = node->next;
        (void)pthread_mutex_unlock(mutex_of(node));
    }
    lki_lock_done(lock);
    free(lock);
}

#define NODE_OPS                                                                                   \
    .prepare = node_prepare, .try_acquire = node_try_acquire, .abandon = node_abandon,             \
    .release = node_release, .renew = node_renew, .free = node_free,                               \
    .remaining_ms = node_remaining_ms
#define LOCK_OPS    NODE_OPS, .force = node_force
#define COUNTED_OPS LOCK_OPS, .reenter = node_renew, .leave = node_leave

#define CURATOR     .prefix = "_c_"
#define KAZOO       .prefix = "", .is_plain = true
#define BOTH                                                                                       \
    {                                                                                              \
        "__READ__", "__WRIT__"                                                                     \
    }
#define PLAIN                                                                                      \
    {                                                                                              \
        "__lock__", "__rlock__"                                                                    \
    }

static const struct zookeeper_rule exclusive = {CURATOR, .mark = "-lock-", .cuts = {"lock-"}};
static const struct zookeeper_rule writing = {CURATOR, .mark = "-__WRIT__", .cuts = BOTH};
static const struct zookeeper_rule reading = {CURATOR, .mark = "-__READ__", .cuts = BOTH,
                                              .awaited = {"__WRIT__"}, .is_shared = true};
static const struct zookeeper_rule kazoo_exclusive = {
    KAZOO, .mark = "__lock__", .cuts = {"__lock__"}, .awaited = {"__lock__"}};
static const struct zookeeper_rule kazoo_writing = {KAZOO, .mark = "__lock__", .cuts = PLAIN,
                                                    .awaited = PLAIN};
static const struct zookeeper_rule kazoo_reading = {KAZOO, .mark = "__rlock__", .cuts = PLAIN,
                                                    .awaited = {"__lock__"}, .is_shared = true};

static const struct {
    struct lki_lock_ops ops;
    const struct zookeeper_rule *curator, *kazoo;
} kinds[] = {
    {{.kind = "mutex", LOCK_OPS}, &exclusive, &kazoo_exclusive},
    {{.kind = "non-reentrant", LOCK_OPS}, &exclusive, &kazoo_exclusive},
    {{.kind = "reentrant", COUNTED_OPS}, &exclusive, &kazoo_exclusive},
    {{.kind = "fenced", COUNTED_OPS}, &exclusive, &kazoo_exclusive},
    {{.kind = "read", COUNTED_OPS}, &reading, &kazoo_reading},
    {{.kind = "write", COUNTED_OPS}, &writing, &kazoo_writing},
    {{.kind = "permits", NODE_OPS}, NULL, NULL},
};

lk_lock *zookeeper_node_new(lk_client *client, const char *kind, const char *key,
                            struct lk_error *err)
{
    struct zookeeper *self = zookeeper_of(client);
    size_t at = 0;

    while (at < sizeof kinds / sizeof kinds[0] && strcmp(kinds[at].ops.kind, kind) != 0)
        at++;
    if (at == sizeof kinds / sizeof kinds[0]) {
        (void)LKI_FAIL(err, LK_INVALID, "ZooKeeper has no %s here", kind);
        return NULL;
    }
    struct zookeeper_node *node = calloc(1, sizeof *node);
    if (!node) {
        (void)LKI_FAIL(err, LK_NO_MEMORY, "a lock");
        return NULL;
    }
    node->rule = self->is_kazoo ? kinds[at].kazoo : kinds[at].curator;
    node->base.wake_channel = lki_context_own_channel(client);
    lk_status status = lki_lock_init(&node->base, &kinds[at].ops, client, key, err);
    if (status == LK_OK) status = zookeeper_queue_path(self->base, key, node->parent, err);
    if (status == LK_OK && !node->base.wake_channel) (void)LKI_FAIL(err, LK_NO_MEMORY, "%s", key);
    if (status != LK_OK || !node->base.wake_channel) {
        node_free(&node->base);
        return NULL;
    }
    node->base.waiter.is_alone = true;
    node->id = strtoul(node->base.wake_channel, NULL, 10);
    (void)pthread_mutex_lock(mutex_of(node));
    node->next = self->nodes;
    self->nodes = node;
    (void)pthread_mutex_unlock(mutex_of(node));
    return &node->base;
}
