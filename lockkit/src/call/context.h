/*
 * What the calls of one client share. lockkit/src/client.c fills it; all others ask.
 */
#ifndef LKI_CONTEXT_H
#define LKI_CONTEXT_H

#include <pthread.h>
#include <stdatomic.h>
#include <sys/types.h>

#include "lockkit/client.h"
#include "lockkit/lock.h"

#include "base/random.h"
#include "wire/script.h"
#include "wire/url.h"

struct lk_inspection;
struct lki_counter;
struct lki_hub;
struct lki_renewal_conn;
struct lki_permit_list;
struct lki_node;
struct lki_pool;
struct lki_topology;
struct lki_watchdog;

enum { LKI_SCRIPTS_MAX = 64, LKI_KEY_MAX = 512 };

/* Locks on something else than Redis: a library of its own, liblockkit-NAME, which shows this as lki_backend_NAME. */
struct lki_backend {
    const char *name; /* "PostgreSQL" */
    /* Connect, as the options say. What it makes it hangs into the client, also half-way: hub, watchdog,
       backend_state. Statuses of lk_client_open(). */
    lk_status (*open)(lk_client *client, const struct lk_client_options *options,
                      struct lk_error *err);
    void *(*hub_thread)(void *client);
    /* INVALID: there is no such kind. */
    lk_lock *(*lock_new)(lk_client *client, const char *kind, const char *key,
                         struct lk_error *err);
    /* What the script of that name does with a list of permits; its integers, or 0. UNKNOWN of an acquire: it is undone,
       or will be as soon as the server comes to it. NULL: there are no permits. */
    lk_status (*permits)(const struct lki_permit_list *list, const char *script,
                         long long out_answer[2], struct lk_error *err);
    /* What the script of that name does with a latch and a number; what it answers. NULL: there are no latches. */
    lk_status (*latch)(const struct lki_counter *counter, const char *script, int64_t number,
                       long long *out_answer, struct lk_error *err);
    /* What is taken lasts as long as a session; who waits has a place, and hears for himself. */
    bool is_by_session;
    /* The lock of this key; or the next one by name that is held. None: layout NONE. */
    lk_status (*inspect)(lk_client *client, const char *key, bool is_next,
                         struct lk_inspection *out, struct lk_error *err);
    void (*destroy)(lk_client *client); /* its backend_state */
};

struct lk_client {
    const struct lki_backend *backend; /* NULL: Redis */
    void *backend_state;
    struct lk_client_options options; /* zeroes replaced; url and secrets are NULL */
    pid_t pid;                        /* who opened it: a fork has the memory, not the threads */
    char uuid[LKI_UUID_LEN + 1];      /* of its owners */
    _Atomic unsigned long owners;     /* named so far */
    _Atomic unsigned long references;
    _Atomic bool is_closed;
    struct lki_url url; /* seeds[0]: where its server is, or the first of them */
    bool has_loader;    /* scripts are brought to servers by a user of their own: their texts go by
                           lki_redis_load_script() alone then, and EVAL is never sent */
    void (*destroy)(lk_client *client); /* frees it, when nobody knows it any more */
    struct lki_topology *topology;      /* owned */
    struct lki_hub *hub;                /* owned */
    struct lki_watchdog *watchdog;      /* owned */
    struct {
        const char *name;  /* borrowed, static */
        lk_script *script; /* owned */
    } scripts[LKI_SCRIPTS_MAX];
    struct {
        pthread_t id;
        bool is_started;
    } threads[3];
};

/* Give it a hub and a watchdog, of a backend with its line (taken; NULL: no memory). OK, NO_MEMORY. */
LK_MUST_CHECK lk_status lki_client_equip(lk_client *client, struct lki_renewal_conn *line,
                                         struct lk_error *err);

/* Of a client with one server: its pool. NULL: it has several, or follows them. */
struct lki_pool *lki_context_pool(lk_client *client);

/* Keep the memory of a client while something still points to it, whatever becomes of the client. */
lk_client *lki_context_ref(lk_client *client);
void lki_context_unref(lk_client *client); /* NULL is fine */

/* INVALID when its servers are not of Redis, and only those have this. */
LK_MUST_CHECK lk_status lki_context_check_redis(const lk_client *client, const char *what,
                                                struct lk_error *err);

/* INVALID when the client is closed, or this process was forked from the one that opened it. */
LK_MUST_CHECK lk_status lki_context_check(const lk_client *client, struct lk_error *err);

/* Whether this process is not the one that opened it: its mutexes may be held for ever here. */
bool lki_context_is_foreign(const lk_client *client);

/* A name for an owner that no other has or had: the client's UUID, a colon, a number. */
void lki_context_owner(lk_client *client, char out_owner[LKI_OWNER_MAX]);

/* A channel that no other waiter has: a number. Yours; NULL: no memory. */
char *lki_context_own_channel(lk_client *client);

/* Of a backend's client, what is_by_session says. NULL is fine. */
static inline bool lki_context_is_by_session(const lk_client *client)
{
    return client && client->backend && client->backend->is_by_session;
}

/* The moment until which a call with this limit may take; 0 means command_ms. */
int64_t lki_context_deadline(const lk_client *client, int64_t limit_ms);

/* INVALID when, in a cluster, a lock of this name would have its helper keys in another slot. */
LK_MUST_CHECK lk_status lki_context_check_name(lk_client *client, const char *key,
                                               struct lk_error *err);

/* The same when one of its helper keys is not derived as those of locks. */
LK_MUST_CHECK lk_status lki_context_check_helper(lk_client *client, const char *key,
                                                 const char *helper, struct lk_error *err);

/* A script of lockkit/scripts as this client sends it; aborts on a name that is not there. */
lk_script *lki_context_script(lk_client *client, const char *name);
const struct lki_variant *lki_context_own_script(lk_client *client, const char *name);

/* Tell the hook. at_ns: of the same look at the clock as duration_ns, or the begin is told wrong;
   0: now. */
void lki_context_emit(const lk_client *client, struct lk_event event);

#endif
