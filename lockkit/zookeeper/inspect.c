/*
 * Inspect a queue: the first place holds the lock, the others wait. The kind of lock cannot be seen. Permits are
 * recognised by the nodes around theirs, a latch by its number. The next lock by name is searched directly below the
 * URL's path.
 */
#include "lockkit/inspect.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "zookeeper.h"

/* By number; foreign names last. */
static int compare_names(const void *a, const void *b)
{
    const char *one = zookeeper_queue_number(*(char *const *)a);
    const char *other = zookeeper_queue_number(*(char *const *)b);

    return one && other ? strcmp(one, other) : (other != NULL) - (one != NULL);
}

static void read_places(char *const *names, size_t count, struct lk_inspection *out)
{
    out->layout = LK_LAYOUT_FAIR;
    out->holder_count = 1;
    out->holders[0].holds = 1;
    out->left_ms = out->holders[0].left_ms = LK_INSPECT_FOREVER; /* as long as its session */
    (void)snprintf(out->holders[0].owner, LK_INSPECT_OWNER_MAX, "%s", names[0]);
    for (size_t i = 1; i < count && zookeeper_queue_number(names[i]); i++) {
        size_t waiter = out->waiter_count++;

        if (waiter >= LK_INSPECT_ROWS) continue;
        (void)snprintf(out->waiters[waiter].owner, LK_INSPECT_OWNER_MAX, "%s", names[i]);
        out->waiters[waiter].left_ms = LK_INSPECT_FOREVER;
    }
}

static lk_status list(lk_client *client, const char *path, int64_t deadline,
                      struct zookeeper_answer *out, struct lk_error *err)
{
    const struct zookeeper_question ask = {.verb = ZOOKEEPER_CHILDREN, .path = path};

    return zookeeper_ask_latest(client, &ask, deadline, out, err);
}

static lk_status read_leases(lk_client *client, const char *path, int64_t deadline,
                             struct lk_inspection *out, struct lk_error *err)
{
    char at[ZOOKEEPER_NODE_MAX];
    const struct zookeeper_question get = {.verb = ZOOKEEPER_GET, .path = at};
    struct zookeeper_answer leases = {0}, count = {0};
    long long most = 0;

    (void)snprintf(at, sizeof at, "%s/leases", path);
    lk_status status = list(client, at, deadline, &leases, err);
    (void)snprintf(at, sizeof at, "%s/count", path);
    if (status == LK_OK) status = zookeeper_ask(client, &get, deadline, &count, err);
    if (status == LK_OK) (void)zookeeper_number_read(&count, &most);
    out->holder_count = (size_t)leases.names.count;
    out->layout = out->holder_count > 0 ? LK_LAYOUT_PERMITS : LK_LAYOUT_NUMBER;
    out->number = most - leases.names.count;
    out->left_ms = LK_INSPECT_FOREVER;
    for (size_t i = 0; i < out->holder_count && i < LK_INSPECT_ROWS; i++) {
        out->holders[i].holds = 1;
        out->holders[i].left_ms = LK_INSPECT_FOREVER;
        zookeeper_queue_id(leases.names.data[i], out->holders[i].owner);
    }
    zookeeper_answer_done(&leases);
    zookeeper_answer_done(&count);
    return status;
}

static lk_status read_latch(lk_client *client, const char *path, int64_t deadline,
                            struct lk_inspection *out, struct lk_error *err)
{
    const struct zookeeper_question get = {.verb = ZOOKEEPER_GET, .path = path};
    struct zookeeper_answer answer = {0};
    lk_status status = zookeeper_ask(client, &get, deadline, &answer, err);

    if (status == LK_OK && answer.len > 0) {
        out->layout = LK_LAYOUT_NUMBER;
        out->number = zookeeper_latch_read(&answer);
        out->left_ms = LK_INSPECT_FOREVER;
    }
    zookeeper_answer_done(&answer);
    return status;
}

static bool is_semaphore(const struct zookeeper_answer *answer)
{
    bool is_so = false;

    for (int32_t i = 0; i < answer->names.count; i++)
        is_so |= strcmp(answer->names.data[i], "leases") == 0 ||
                 strcmp(answer->names.data[i], "count") == 0;
    return is_so;
}

static lk_status read_queue(lk_client *client, const char *path, int64_t deadline,
                            struct lk_inspection *out, struct lk_error *err)
{
    struct zookeeper_answer answer = {0}, first = {0};
    char holder[ZOOKEEPER_NODE_MAX];
    lk_status status = list(client, path, deadline, &answer, err);
    bool has_leases = is_semaphore(&answer);
    char **names = answer.names.data;
    size_t count = (size_t)answer.names.count;

    if (count > 0) qsort((void *)names, count, sizeof *names, compare_names);
    if (status == LK_OK && count > 0 && zookeeper_queue_number(names[0])) {
        const struct zookeeper_question ask = {.verb = ZOOKEEPER_EXISTS, .path = holder};

        (void)snprintf(holder, sizeof holder, "%s/%s", path, names[0]);
        status = zookeeper_ask(client, &ask, deadline, &first, err);
        if (status == LK_OK && first.code == ZOK) read_places(names, count, out);
        if (status == LK_OK) out->fence = (uint64_t)first.czxid;
    } else if (status == LK_OK && answer.code == ZOK) {
        status = (has_leases ? read_leases : read_latch)(client, path, deadline, out, err);
    }
    zookeeper_answer_done(&first);
    zookeeper_answer_done(&answer);
    return status;
}

static lk_status read_one(lk_client *client, const char *key, int64_t deadline,
                          struct lk_inspection *out, struct lk_error *err)
{
    char path[ZOOKEEPER_PATH_MAX];
    lk_status status = zookeeper_queue_path(zookeeper_of(client)->base, key, path, err);

    memset(out, 0, sizeof *out);
    (void)snprintf(out->key, sizeof out->key, "%s", key);
    return status == LK_OK ? read_queue(client, path, deadline, out, err) : status;
}

/* Find the first key by name, below the URL's path, that is held. */
static lk_status read_next(lk_client *client, const char *key, int64_t deadline,
                           struct lk_inspection *found, struct lk_error *err)
{
    const char *base = zookeeper_of(client)->base;
    struct zookeeper_answer answer = {0};
    char *last = NULL;
    lk_status status = list(client, *base ? base : "/", deadline, &answer, err);

    while (status == LK_OK && found->layout == LK_LAYOUT_NONE) {
        const char *after = last ? last : key;
        char *next = NULL;

        for (int32_t i = 0; i < answer.names.count; i++) {
            char *name = answer.names.data[i];

            if (strcmp(name, after) <= 0 || (!*base && strcmp(name, "zookeeper") == 0)) continue;
            if (!next || strcmp(name, next) < 0) next = name;
        }
        if (!next) break;
        status = read_one(client, next, deadline, found, err);
        last = next;
    }
    zookeeper_answer_done(&answer);
    return status;
}

lk_status zookeeper_inspect(lk_client *client, const char *key, bool is_next,
                            struct lk_inspection *out, struct lk_error *err)
{
    struct lk_inspection *found = calloc(1, sizeof *found);
    int64_t deadline = lki_context_deadline(client, 0);

    if (!found) return LKI_FAIL(err, LK_NO_MEMORY, "an inspection");
    lk_status status = is_next ? read_next(client, key, deadline, found, err)
                               : read_one(client, key, deadline, found, err);
    if (status == LK_OK) *out = *found;
    free(found);
    return zookeeper_ask_again(status, err);
}
