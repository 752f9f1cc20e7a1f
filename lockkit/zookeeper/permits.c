/*
 * Permits as in Curator's InterProcessSemaphoreV2. Each is a node in "leases"; its id is the UUID in the node's name. An
 * acquire takes a place in "locks", as for a mutex; the first one there creates its leases, and waits until there are no
 * more than "count", a SharedCount, allows. Only that one watches the leases.
 *
 * There is no local state between two tries: our nodes are found by their UUIDs, also after a create without an answer, and
 * all of them are deleted with the session.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lockkit/semaphore.h"

#include "base/clock.h"
#include "base/error.h"
#include "counters/permit_list.h"
#include "zookeeper.h"

enum { DIR_MAX = ZOOKEEPER_PATH_MAX + 8 };

static const struct zookeeper_rule place = {.prefix = "_c_", .mark = "-lock-", .cuts = {"lock-"}};
static const struct zookeeper_rule lease = {.prefix = "_c_", .mark = "-lease-"};

struct wish {
    const struct lki_permit_list *list;
    lk_client *client;
    unsigned long watcher; /* the id of the waiter; 0: none */
    char locks[DIR_MAX], leases[DIR_MAX], count[DIR_MAX];
    long long most;
};

static lk_status read_wish(const struct lki_permit_list *list, struct wish *out,
                           struct lk_error *err)
{
    const struct zookeeper *self = zookeeper_of(list->client);
    char path[ZOOKEEPER_PATH_MAX];

    *out = (struct wish){.list = list, .client = list->client};
    if (self->is_kazoo)
        return LKI_FAIL(err, LK_INVALID, "permits in ZooKeeper are Curator's: dialect=curator");
    lk_status status = zookeeper_queue_path(self->base, list->key, path, err);
    if (status != LK_OK) return status;
    if (list->is_waited_for) out->watcher = strtoul(list->channel, NULL, 10);
    (void)snprintf(out->locks, sizeof out->locks, "%s/locks", path);
    (void)snprintf(out->leases, sizeof out->leases, "%s/leases", path);
    (void)snprintf(out->count, sizeof out->count, "%s/count", path);
    return LK_OK;
}

/* Write "/path/leases/_c_<uuid>-lease-" of the permit at that index, or "/path/locks/..."; returns where the name begins. */
static const char *write_path(const struct wish *wish, const struct zookeeper_rule *rule, size_t at,
                              char out[ZOOKEEPER_NODE_MAX])
{
    const struct lki_permit_id *id = &wish->list->ids[at];
    const char *dir = rule == &lease ? wish->leases : wish->locks;
    char uuid[LKI_UUID_LEN + 1], name[ZOOKEEPER_NAME_MAX];
    char *end = uuid;

    for (size_t i = 0; i < sizeof id->bytes; i++)
        end += sprintf(end, "%s%02x", i >= 4 && i <= 10 && i % 2 == 0 ? "-" : "", id->bytes[i]);
    zookeeper_queue_name(rule, uuid, name);
    (void)snprintf(out, ZOOKEEPER_NODE_MAX, "%s/%s", dir, name);
    return out + strlen(dir) + 1;
}

static int find(const struct zookeeper_answer *among, const char *prefix)
{
    for (int i = 0; i < among->names.count; i++)
        if (strncmp(among->names.data[i], prefix, strlen(prefix)) == 0) return i;
    return -1;
}

/* Create a node; after a lost answer the next try finds it. */
static lk_status ask(const struct wish *wish, const struct zookeeper_question *question,
                     struct zookeeper_answer *out, struct lk_error *err)
{
    zookeeper_answer_done(out);
    lk_status status = (question->verb == ZOOKEEPER_CREATE ? zookeeper_create : zookeeper_ask)(
        wish->client, question, wish->list->deadline, out, err);
    return zookeeper_ask_again(status, err);
}

static lk_status list_latest(const struct wish *wish, const char *dir, struct zookeeper_answer *out,
                             struct lk_error *err)
{
    const struct zookeeper_question all = {.verb = ZOOKEEPER_CHILDREN, .path = dir};
    lk_status status = zookeeper_ask_latest(wish->client, &all, wish->list->deadline, out, err);

    return zookeeper_ask_again(status, err);
}

static lk_status make(const struct wish *wish, const char *path, struct lk_error *err)
{
    struct zookeeper_answer answer = {0};
    const struct zookeeper_question create = {
        .verb = ZOOKEEPER_CREATE, .path = path, .mode = ZOO_EPHEMERAL_SEQUENTIAL};
    lk_status status = ask(wish, &create, &answer, err);

    if (status == LK_OK && answer.code != ZOK)
        status = LKI_FAIL(err, LK_SERVER, "%s: %s", path, zerror(answer.code));
    zookeeper_answer_done(&answer);
    return status;
}

static lk_status read_most(struct wish *wish, struct lk_error *err)
{
    struct zookeeper_answer answer = {0};
    const struct zookeeper_question get = {
        .verb = ZOOKEEPER_GET, .path = wish->count, .node = wish->watcher};
    lk_status status = zookeeper_ask_latest(wish->client, &get, wish->list->deadline, &answer, err);

    if (status == LK_OK && answer.code == ZOK && !zookeeper_number_read(&answer, &wish->most))
        status = LKI_FAIL(err, LK_SERVER, "%s: no SharedCount", wish->count);
    zookeeper_answer_done(&answer);
    return zookeeper_ask_again(status, err);
}

/* Delete our nodes. OK: they are deleted; else they are pending undos. */
static lk_status give_back(const struct wish *wish, const struct zookeeper_rule *rule, size_t at)
{
    int64_t session = atomic_load(&zookeeper_of(wish->client)->session.id);
    char prefix[ZOOKEEPER_NODE_MAX];
    unsigned deleted = 0;

    (void)write_path(wish, rule, at, prefix);
    lk_status status =
        zookeeper_pending_undo_delete(wish->client, prefix, wish->list->deadline, &deleted);
    if (status != LK_OK) zookeeper_pending_undo_add(wish->client, prefix, session, true);
    return status;
}

/* ---- acquire ----------------------------------------------------------------------------------------- */

/* Become the first in "locks". OK: we are; BUSY: the place before ours is watched. */
static lk_status become_first(const struct wish *wish, struct lk_error *err)
{
    char prefix[ZOOKEEPER_NODE_MAX], path[ZOOKEEPER_NODE_MAX];
    const char *name = write_path(wish, &place, 0, prefix);
    const struct zookeeper_question get = {
        .verb = ZOOKEEPER_GET, .path = path, .node = wish->watcher};
    struct zookeeper_answer answer = {0};
    lk_status status = list_latest(wish, wish->locks, &answer, err);

    if (status == LK_OK && find(&answer, name) < 0) {
        zookeeper_answer_done(&answer);
        status = make(wish, prefix, err);
        if (status == LK_OK) status = list_latest(wish, wish->locks, &answer, err);
    }
    while (status == LK_OK) {
        const char *const *names = (const char *const *)answer.names.data;
        int own = find(&answer, name);
        int before =
            own < 0 ? ZOOKEEPER_MISSING
                    : zookeeper_queue_before(&place, names, (size_t)answer.names.count, names[own]);

        if (before == ZOOKEEPER_GRANTED) break;
        (void)snprintf(path, sizeof path, "%s/%s", wish->locks, before < 0 ? name : names[before]);
        status = before < 0 ? LKI_FAIL(err, LK_UNREACHABLE, "%s: our place has gone", path)
                            : ask(wish, &get, &answer, err);
        if (status == LK_OK && answer.code == ZOK)
            status = LKI_FAIL(err, LK_BUSY, "%s: others came first", wish->list->key);
        zookeeper_answer_done(&answer);
        if (status == LK_OK) status = list_latest(wish, wish->locks, &answer, err);
    }
    zookeeper_answer_done(&answer);
    return status;
}

/* OK: with ours there are not too many leases. */
static lk_status have_leases(const struct wish *wish, char out_path[ZOOKEEPER_NODE_MAX],
                             struct lk_error *err)
{
    struct zookeeper_question all = {.verb = ZOOKEEPER_CHILDREN, .path = wish->leases};
    struct zookeeper_answer answer = {0};
    size_t count = wish->list->count;
    lk_status status = ask(wish, &all, &answer, err);

    for (size_t i = 0; i < count && status == LK_OK; i++) {
        if (find(&answer, write_path(wish, &lease, i, out_path)) < 0)
            status = make(wish, out_path, err);
    }
    all.node = wish->watcher;
    if (status == LK_OK) status = ask(wish, &all, &answer, err);
    if (status == LK_OK && answer.names.count > wish->most)
        status = LKI_FAIL(err, LK_BUSY, "%s: fewer than %zu permits are available", wish->list->key,
                          count);
    for (size_t i = 0; i < count && status == LK_OK; i++) {
        int at = find(&answer, write_path(wish, &lease, i, out_path));

        if (at < 0) status = LKI_FAIL(err, LK_UNREACHABLE, "%s: ours is not there", wish->leases);
        if (at >= 0)
            (void)snprintf(out_path, ZOOKEEPER_NODE_MAX, "%s/%s", wish->leases,
                           answer.names.data[at]);
    }
    zookeeper_answer_done(&answer);
    return status;
}

lk_status zookeeper_permits_take(const struct lki_permit_list *list,
                                 char out_path[ZOOKEEPER_NODE_MAX], struct lk_error *err)
{
    const struct zookeeper_session *session = &zookeeper_of(list->client)->session;
    int64_t id = atomic_load(&session->id);
    struct wish wish;
    lk_status status = read_wish(list, &wish, err);

    if (status == LK_OK) status = read_most(&wish, err);
    if (status == LK_OK && wish.most < (long long)list->count)
        status = LKI_FAIL(err, LK_BUSY, "%s: it has only %lld permits", list->key, wish.most);
    if (status == LK_OK) status = become_first(&wish, err);
    if (status == LK_OK) status = have_leases(&wish, out_path, err);
    if (status != LK_OK) return status;
    (void)give_back(&wish, &place, 0);
    status = zookeeper_session_await_valid(list->client, list->deadline, err);
    if (status == LK_OK && id != atomic_load(&session->id))
        status = LKI_FAIL(err, LK_UNREACHABLE, "%s: the session has ended", list->key);
    return status;
}

void zookeeper_permits_undo(const struct lki_permit_list *list)
{
    struct wish wish;

    if (read_wish(list, &wish, NULL) != LK_OK) return;
    for (size_t i = 0; i < list->count; i++)
        (void)give_back(&wish, &lease, i);
    (void)give_back(&wish, &place, 0);
}

/* ---- the steps --------------------------------------------------------------------------------------- */

static lk_status step_acquire(struct wish *wish, long long out[2], struct lk_error *err)
{
    char path[ZOOKEEPER_NODE_MAX];
    lk_status status = zookeeper_permits_take(wish->list, path, err);

    out[0] = status == LK_OK;
    return status;
}

/* Count these permits; for an empty list, the free ones and all. */
static lk_status step_count(struct wish *wish, long long out[2], struct lk_error *err)
{
    char prefix[ZOOKEEPER_NODE_MAX];
    struct zookeeper_answer answer = {0};
    lk_status status = list_latest(wish, wish->leases, &answer, err);

    if (status == LK_OK) status = read_most(wish, err);
    out[0] = wish->list->count > 0 ? 0 : wish->most - answer.names.count;
    out[1] = answer.names.count;
    for (size_t i = 0; i < wish->list->count && status == LK_OK; i++)
        out[0] += find(&answer, write_path(wish, &lease, i, prefix)) >= 0;
    zookeeper_answer_done(&answer);
    return status;
}

static lk_status step_left(struct wish *wish, long long out[2], struct lk_error *err)
{
    lk_status status = step_count(wish, out, err);

    out[0] = -out[0]; /* they have no expiry */
    return status;
}

/* Release; what is not confirmed becomes a pending undo. */
static lk_status step_release(struct wish *wish, long long out[2], struct lk_error *err)
{
    size_t count = wish->list->count;
    lk_status status = step_count(wish, out, err);
    bool are_some_gone = status == LK_OK && out[0] < (long long)count;

    out[0] = !are_some_gone ? 1 : (out[0] == 0 ? 2 : 0);
    for (size_t i = 0; i < count && !are_some_gone; i++)
        if (give_back(wish, &lease, i) != LK_OK) status = LK_UNKNOWN;
    if (status == LK_OK) return LK_OK;
    return LKI_FAIL(err, LK_UNKNOWN, "%s: no answer to the release", wish->list->key);
}

static lk_status step_try_set(struct wish *wish, long long out[2], struct lk_error *err)
{
    return zookeeper_number_create(wish->client, wish->count, strtoll(wish->list->number, NULL, 10),
                                   out, err);
}

static lk_status step_set(struct wish *wish, long long out[2], struct lk_error *err)
{
    char data[ZOOKEEPER_NUMBER_LEN];
    struct zookeeper_answer answer = {0};
    const struct zookeeper_question set = {
        .verb = ZOOKEEPER_SET, .path = wish->count, .data = data, .len = sizeof data};
    lk_status status = step_try_set(wish, out, err);

    zookeeper_number_write(strtoll(wish->list->number, NULL, 10), data);
    if (status == LK_OK && out[0] == 0) status = ask(wish, &set, &answer, err);
    zookeeper_answer_done(&answer);
    return status;
}

static lk_status step_delete(struct wish *wish, long long out[2], struct lk_error *err)
{
    const struct zookeeper_question count = {.verb = ZOOKEEPER_DELETE, .path = wish->count};
    char prefix[ZOOKEEPER_NODE_MAX];
    struct zookeeper_answer answer = {0};
    unsigned deleted = 0;
    lk_status status = ask(wish, &count, &answer, err);

    out[0] = answer.code == ZOK;
    (void)snprintf(prefix, sizeof prefix, "%s/", wish->leases);
    if (status == LK_OK)
        status =
            zookeeper_pending_undo_delete(wish->client, prefix, wish->list->deadline, &deleted);
    return status;
}

static const struct {
    const char *script;
    lk_status (*step)(struct wish *wish, long long out[2], struct lk_error *err);
    bool has_lease; /* the number is one */
} steps[] = {
    {"permits_acquire", step_acquire, true}, {"permits_release", step_release, false},
    {"permits_renew", step_count, true},     {"permits_lease", step_left, false},
    {"permits_usage", step_count, false},    {"permits_try_set", step_try_set, false},
    {"permits_set", step_set, false},        {"permits_delete", step_delete, false},
};

lk_status zookeeper_permits(const struct lki_permit_list *list, const char *script,
                            long long out_answer[2], struct lk_error *err)
{
    struct wish wish;
    size_t at = 0;
    lk_status status = read_wish(list, &wish, err);

    while (strcmp(steps[at].script, script) != 0)
        at++;
    if (status != LK_OK) return status;
    if (steps[at].has_lease && strtoll(list->number, NULL, 10) != LK_PERMIT_NO_LEASE)
        return LKI_FAIL(err, LK_INVALID,
                        "%s: a permit in ZooKeeper has no lease: it ends with its session",
                        list->key);
    if (list->undo_until == 0) return steps[at].step(&wish, out_answer, err);
    zookeeper_permits_undo(list);
    return LK_OK;
}
