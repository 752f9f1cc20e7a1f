/*
 * The verbs of peer.h, done by lockkit's locks. Each owner's thread has its own handles, for a
 * handle is what owns a lock of lockkit.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "lockkit_peer.h"

enum {
    PAUSE_US = 2000, /* outside, so that others get their turn */
    RETRY_MS = 10,   /* of a redlock: it has no messages, like the others of its kind */
    MEMBERS_MAX = 8,
    LINE_ROOM = 256,
};

typedef void *object_maker(const struct servers *servers, const char *key, struct lk_error *err);

struct object {
    object_maker *make; /* that it comes from */
    char *key;          /* owned */
    union {             /* owned */
        void *any;
        lk_lock *lock;
        lk_rwlock *rwlock;
        lk_semaphore *semaphore;
        lk_permits *permits;
        lk_latch *latch;
    };
    struct object *next;
};

struct objects {
    struct object *first; /* owned */
};

struct kind {
    const char *name;
    object_maker *make; /* kinds with the same share an object */
    void (*use)(const struct object *object, const struct deed *deed, struct outcome *out);
};

int64_t now_ns(void)
{
    struct timespec now = {0};

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* ---- words --------------------------------------------------------------------------------- */

const char *deed_text(const struct deed *deed, const char *name, const char *otherwise)
{
    size_t len = strlen(name);

    for (size_t i = 0; i < DEED_OPTIONS_MAX && deed->options[i]; i++) {
        const char *option = deed->options[i];

        if (strncmp(option, name, len) == 0 && option[len] == '=') return option + len + 1;
    }
    return otherwise;
}

int64_t deed_number(const struct deed *deed, const char *name, int64_t otherwise)
{
    const char *text = deed_text(deed, name, NULL);

    return text ? strtoll(text, NULL, 10) : otherwise;
}

void outcome_number(struct outcome *out, int64_t number)
{
    out->result = "ok";
    (void)snprintf(out->value, sizeof out->value, "%" PRId64, number);
}

static void outcome_error(struct outcome *out, const char *text)
{
    out->result = "error";
    (void)snprintf(out->value, sizeof out->value, "%s", text);
}

void outcome_status(struct outcome *out, lk_status status, const struct lk_error *err)
{
    out->result = lk_status_name(status);
    (void)snprintf(out->value, sizeof out->value, "%s", status == LK_OK ? "-" : err->text);
}

/* ---- locks --------------------------------------------------------------------------------- */

static void take_lock(lk_lock *lock, const struct deed *deed, struct outcome *out)
{
    struct lk_error err = {0};
    struct lk_lock_options options = {.wait_ms = deed_number(deed, "wait", DEED_LONG_MS),
                                      .lease_ms = deed_number(deed, "lease", 0)};

    options.is_renewed = options.lease_ms == 0 || deed_number(deed, "renewed", 0) > 0;
    lk_status status = lk_lock_acquire(lock, &options, &err);
    outcome_status(out, status, &err);
    if (status != LK_OK) return;
    if (strcmp(deed->kind, "redlock") == 0) outcome_number(out, lk_lock_remaining_ms(lock));
    if (lk_lock_fence(lock) > 0) outcome_number(out, (int64_t)lk_lock_fence(lock));
}

static bool is(const struct deed *deed, const char *verb)
{
    return strcmp(deed->verb, verb) == 0;
}

static void do_lock(lk_lock *lock, const struct deed *deed, struct outcome *out)
{
    struct lk_error err = {.text = "no such verb"};
    lk_status status = LK_INVALID;

    if (is(deed, "lock")) {
        take_lock(lock, deed, out);
        return;
    }
    if (is(deed, "count")) {
        outcome_number(out, lk_lock_hold_count(lock));
        return;
    }
    if (is(deed, "unlock")) status = lk_lock_release(lock, &err);
    if (is(deed, "force")) status = lk_lock_force_release(lock, &err);
    if (is(deed, "renew")) status = lk_lock_renew(lock, deed_number(deed, "lease", 0), &err);
    outcome_status(out, status, &err);
}

/* The members live as long as the program. */
static void *make_multi(const struct servers *servers, const char *key, struct lk_error *err)
{
    lk_lock *members[MEMBERS_MAX] = {NULL};
    size_t count = 0;
    char keys[LINE_ROOM];
    char *rest = keys;

    (void)snprintf(keys, sizeof keys, "%s", key);
    for (const char *name = NULL; count < MEMBERS_MAX && (name = strtok_r(rest, ",", &rest));) {
        members[count] = lk_reentrant_new(servers->first, name, err);
        if (!members[count++]) return NULL;
    }
    return lk_multi_new(members, count, NULL, err);
}

/* ---- objects ------------------------------------------------------------------------------- */

#define MAKER(type, ...)                                                                           \
    static void *make_##type(const struct servers *servers, const char *key, struct lk_error *err) \
    {                                                                                              \
        return lk_##type##_new(__VA_ARGS__);                                                       \
    }
MAKER(reentrant, servers->first, key, err)
MAKER(non_reentrant, servers->first, key, err)
MAKER(spin, servers->first, key, err)
MAKER(fenced, servers->first, key, err)
MAKER(mutex, servers->first, key, err)
MAKER(fair, servers->first, key, NULL, err)
MAKER(rwlock, servers->first, key, err)
MAKER(semaphore, servers->first, key, err)
MAKER(permits, servers->first, key, err)
MAKER(latch, servers->first, key, err)
MAKER(redlock, servers->nodes, servers->node_count, key,
      &(struct lk_redlock_options){.retry_ms = RETRY_MS}, err)

#define USER(name, use, thing)                                                                     \
    static void use_##name(const struct object *object, const struct deed *deed,                   \
                           struct outcome *out)                                                    \
    {                                                                                              \
        use(thing, deed, out);                                                                     \
    }
USER(lock, do_lock, object->lock)
USER(read, do_lock, lk_rwlock_read(object->rwlock))
USER(write, do_lock, lk_rwlock_write(object->rwlock))
USER(semaphore, semaphore_do, object->semaphore)
USER(permits, permits_do, object->permits)
USER(latch, latch_do, object->latch)

static const struct kind kinds[] = {
    {"reentrant", make_reentrant, use_lock},
    {"non-reentrant", make_non_reentrant, use_lock},
    {"spin", make_spin, use_lock},
    {"fenced", make_fenced, use_lock},
    {"mutex", make_mutex, use_lock},
    {"redlock", make_redlock, use_lock},
    {"fair", make_fair, use_lock},
    {"multi", make_multi, use_lock},
    {"read", make_rwlock, use_read},
    {"write", make_rwlock, use_write},
    {"semaphore", make_semaphore, use_semaphore},
    {"permits", make_permits, use_permits},
    {"latch", make_latch, use_latch},
};

static const struct kind *kind_named(const char *name)
{
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        if (strcmp(kinds[i].name, name) == 0) return &kinds[i];
    return NULL;
}

static struct object *object_new(const struct servers *servers, const struct kind *kind,
                                 const char *key, struct lk_error *err)
{
    struct object *object = calloc(1, sizeof *object);

    if (!object) return NULL;
    object->make = kind->make;
    object->key = strdup(key);
    object->any = kind->make(servers, key, err);
    if (object->key && object->any) return object;
    free(object->key);
    free(object);
    return NULL;
}

static struct object *object_of(struct objects *objects, const struct servers *servers,
                                const struct kind *kind, const char *key, struct lk_error *err)
{
    for (struct object *object = objects->first; object; object = object->next)
        if (object->make == kind->make && strcmp(object->key, key) == 0) return object;
    struct object *object = object_new(servers, kind, key, err);
    if (!object) return NULL;
    object->next = objects->first;
    objects->first = object;
    return object;
}

/* ---- verbs that are many steps --------------------------------------------------------------- */

/* Run a script of the test's; its number. */
static long long call(const struct servers *servers, const struct deed *deed, const char *script)
{
    const struct lk_bytes args[] = {
        LK_BYTES("EVALSHA"),     lk_bytes_of(deed_text(deed, script, "")),
        LK_BYTES("1"),           lk_bytes_of(deed->key),
        lk_bytes_of(deed->kind), LK_BYTES("lockkit")};
    const struct lk_command command = {.args = args, .count = sizeof args / sizeof args[0]};
    lk_reply *reply = NULL;

    if (lk_client_call(servers->first, &command, 1, 0, &reply, NULL) != LK_OK) return 1;
    long long number = lk_reply_integer(reply, 1);
    lk_reply_free(reply);
    return number;
}

/*
 * Take it and give it back. To contend is to look around inside, too; the value is how often the look
 * found a fault. To bench is to be quick; the value is how often.
 */
static void take_turns(struct objects **objects, const struct servers *servers,
                       const struct deed *deed, struct outcome *out)
{
    struct deed take = {"lock", deed->kind, deed->key, {"wait=30000", "lease=30000"}};
    int64_t until_ns = now_ns() + deed_number(deed, "ms", 0) * 1000000;
    bool is_bench = is(deed, "bench");
    long long number = 0;

    do {
        char id[sizeof out->value + 3];
        struct deed give = {"unlock", deed->kind, deed->key, {id}};

        objects_do(objects, servers, &take, out);
        if (strcmp(out->result, "ok") != 0) return;
        (void)snprintf(id, sizeof id, "id=%s", out->value);
        number += is_bench ? 1 : call(servers, deed, "enter");
        if (!is_bench) number += call(servers, deed, "leave");
        objects_do(objects, servers, &give, out);
        if (strcmp(out->result, "ok") != 0) return;
        if (!is_bench) (void)usleep(PAUSE_US);
    } while (now_ns() < until_ns);
    outcome_number(out, number);
}

/* Do it with each of KEY:0, KEY:1... */
static void do_each(struct objects **objects, const struct servers *servers,
                    const struct deed *deed, const char *verb, struct outcome *out)
{
    char key[LINE_ROOM];
    struct deed one = *deed;

    one.verb = verb;
    one.key = key;
    out->result = "ok";
    for (int64_t i = 0; i < deed_number(deed, "n", 1) && strcmp(out->result, "ok") == 0; i++) {
        (void)snprintf(key, sizeof key, "%s:%" PRId64, deed->key, i);
        objects_do(objects, servers, &one, out);
    }
}

void objects_do(struct objects **objects, const struct servers *servers, const struct deed *deed,
                struct outcome *out)
{
    struct lk_error err = {0};

    if (!*objects) *objects = calloc(1, sizeof **objects);
    if (!*objects) return;
    if (is(deed, "version")) {
        out->result = "ok";
        (void)snprintf(out->value, sizeof out->value, "lockkit-%s", LK_VERSION);
        return;
    }
    if (is(deed, "contend") || is(deed, "bench")) {
        take_turns(objects, servers, deed, out);
        return;
    }
    if (is(deed, "hold") || is(deed, "drop")) {
        do_each(objects, servers, deed, is(deed, "hold") ? "lock" : "unlock", out);
        return;
    }
    const struct kind *kind = kind_named(deed->kind);
    struct object *object = kind ? object_of(*objects, servers, kind, deed->key, &err) : NULL;
    if (object) {
        kind->use(object, deed, out);
    } else {
        outcome_error(out, kind ? err.text : "no such kind");
    }
}
