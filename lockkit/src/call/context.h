/*
 * What the calls of one client share. client.c fills it; other files only read it.
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

/* Locks on another server than Redis: a library of its own, liblockkit-NAME, which exports this as lki_backend_NAME. */
struct lki_backend {
    const char *name; /* "PostgreSQL" */
    /* Connect, by the options. It sets hub, watchdog and backend_state of the client, also when it fails half-way.
       Statuses of lk_client_open(). */
    lk_status (*open)(lk_client *client, const struct lk_client_options *options,
                      struct lk_error *err);
    void *(*hub_thread)(void *client);
    /* INVALID: there is no such kind. */
    lk_lock *(*lock_new)(lk_client *client, const char *kind, const char *key,
                         struct lk_error *err);
    /* Do what the script of that name does with a list of permits, and answer its integers, or 0. An acquire that ends
       as UNKNOWN is undone, now or as soon as the server can. NULL: there are no permits. */
    lk_status (*permits)(const struct lki_permit_list *list, const char *script,
                         long long out_answer[2], struct lk_error *err);
    /* Do what the script of that name does with a latch and a number. NULL: there are no latches. */
    lk_status (*latch)(const struct lki_counter *counter, const char *script, int64_t number,
                       long long *out_answer, struct lk_error *err);
    /* A hold lasts as long as a session; each waiter has a place in a queue, and a notification of its own. */
    bool is_by_session;
    /* Inspect the lock of this key, or the next one by name that is held. Layout NONE: there is none. */
    lk_status (*inspect)(lk_client *client, const char *key, bool is_next,
                         struct lk_inspection *out, struct lk_error *err);
    void (*destroy)(lk_client *client); /* frees backend_state */
};

struct lk_client {
    const struct lki_backend *backend; /* NULL: Redis */
    void *backend_state;
    struct lk_client_options options; /* zeroes replaced; url and secrets are NULL */
    pid_t pid; /* that opened it: a child process has the memory, not the threads */
    char uuid[LKI_UUID_LEN + 1];  /* the first part of its owner names */
    _Atomic unsigned long owners; /* number of owner names so far */
    _Atomic unsigned long references;
    _Atomic bool is_closed;
    struct lki_url url; /* seeds[0]: its server, or the first of them */
    bool has_loader;    /* scripts are loaded by lki_redis_load_script(), and EVAL is never sent */
    void (*destroy)(lk_client *client); /* frees it, after the last reference */
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

/* Make hub and watchdog; the latter with a backend's connection (taken; NULL: no memory). OK, NO_MEMORY. */
LK_MUST_CHECK lk_status lki_client_make_parts(lk_client *client, struct lki_renewal_conn *conn,
                                              struct lk_error *err);

/* The pool of a client with a single server. NULL: it uses Sentinels or a cluster. */
struct lki_pool *lki_context_pool(lk_client *client);

/* References to the memory of a client, which may be closed meanwhile. */
lk_client *lki_context_ref(lk_client *client);
void lki_context_unref(lk_client *client); /* NULL is fine */

/* INVALID: its servers are not Redis; `what` is available with Redis alone. */
LK_MUST_CHECK lk_status lki_context_check_redis(const lk_client *client, const char *what,
                                                struct lk_error *err);

/* INVALID: the client is closed, or was opened by the parent process. */
LK_MUST_CHECK lk_status lki_context_check(const lk_client *client, struct lk_error *err);

/* Whether the parent process opened it: in this process its mutexes may be held for ever. */
bool lki_context_is_foreign(const lk_client *client);

/* A new, unique owner name: the client's UUID, a colon, a number. */
void lki_context_owner(lk_client *client, char out_owner[LKI_OWNER_MAX]);

/* A new, unique channel name: a number. Yours; NULL: no memory. */
char *lki_context_own_channel(lk_client *client);

/* is_by_session of a client's backend. NULL is fine. */
static inline bool lki_context_is_by_session(const lk_client *client)
{
    return client && client->backend && client->backend->is_by_session;
}

/* The deadline of a call with this limit; 0 means command_ms. */
int64_t lki_context_deadline(const lk_client *client, int64_t limit_ms);

/* INVALID: in a cluster, a lock of this name would have its helper keys in another slot. */
LK_MUST_CHECK lk_status lki_context_check_name(lk_client *client, const char *key,
                                               struct lk_error *err);

/* The same for a helper key that is not derived as those of locks are. */
LK_MUST_CHECK lk_status lki_context_check_helper(lk_client *client, const char *key,
                                                 const char *helper, struct lk_error *err);

/* A script of lockkit/scripts as this client sends it; aborts if there is none of that name. */
lk_script *lki_context_script(lk_client *client, const char *name);
const struct lki_variant *lki_context_own_script(lk_client *client, const char *name);

/* Call the event hook. at_ns: the end of duration_ns, by the same reading of the clock; 0: now. */
void lki_context_emit(const lk_client *client, struct lk_event event);

#endif
