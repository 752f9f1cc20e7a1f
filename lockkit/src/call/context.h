/*
 * What the calls of one client share. lockkit/src/client.c fills it; all others ask.
 */
#ifndef LKI_CONTEXT_H
#define LKI_CONTEXT_H

#include <pthread.h>
#include <stdatomic.h>
#include <sys/types.h>

#include "lockkit/client.h"

#include "base/random.h"
#include "wire/script.h"
#include "wire/url.h"

struct lki_hub;
struct lki_node;
struct lki_pool;
struct lki_topology;
struct lki_watchdog;

enum { LKI_SCRIPTS_MAX = 64, LKI_KEY_MAX = 512 };

struct lk_client {
    struct lk_client_options options;
    pid_t pid;                    /* who opened it: a fork has the memory, not the threads */
    char uuid[LKI_UUID_LEN + 1];  /* of its owners */
    _Atomic unsigned long owners; /* named so far */
    _Atomic unsigned long references;
    _Atomic bool is_closed;
    struct lki_url url;
    bool has_loader;
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

struct lki_topology *lki_context_topology(lk_client *client);
/* Of a client with one server: its pool. NULL: it has several, or follows them. */
struct lki_pool *lki_context_pool(lk_client *client);
struct lki_hub *lki_context_hub(lk_client *client);
struct lki_watchdog *lki_context_watchdog(lk_client *client);
/* As they were given, zeroes replaced; url and secrets are NULL. */
const struct lk_client_options *lki_context_options(const lk_client *client);
int64_t lki_context_poll_ms(const lk_client *client);
bool lki_context_is_impatient(const lk_client *client);
/* Whether scripts are brought to servers by a user of their own: script texts go by
   lki_redis_introduce() alone then, and EVAL is never sent. */
bool lki_context_has_loader(const lk_client *client);

/* Keep the memory of a client while something still points to it, whatever becomes of the client. */
lk_client *lki_context_ref(lk_client *client);
void lki_context_unref(lk_client *client); /* NULL is fine */

/* INVALID when the client is closed, or this process was forked from the one that opened it. */
LK_MUST_CHECK lk_status lki_context_check(const lk_client *client, struct lk_error *err);

/* Whether this process is not the one that opened it: its mutexes may be held for ever here. */
bool lki_context_is_foreign(const lk_client *client);

/* A name for an owner that no other has or had: the client's UUID, a colon, a number. */
void lki_context_owner(lk_client *client, char out_owner[LKI_OWNER_MAX]);

/* Where its server is, or the first of those in the URL. Borrowed. */
const struct lki_endpoint *lki_context_endpoint(const lk_client *client);

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
