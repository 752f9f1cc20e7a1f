/*
 * The inside of lk_client, for the other files of lockkit.
 */
#ifndef LKI_CLIENT_H
#define LKI_CLIENT_H

#include "lockkit/client.h"

#include "base/token.h"
#include "wire/script.h"

struct lki_endpoint;
struct lki_compare;
struct lki_hub;
struct lki_node;
struct lki_pool;
struct lki_topology;
struct lki_watchdog;

struct lki_topology *lki_client_topology(lk_client *client);
/* Of a client with one server: its pool. NULL: it has several, or follows them. */
struct lki_pool *lki_client_pool(lk_client *client);
struct lki_hub *lki_client_hub(lk_client *client);
struct lki_watchdog *lki_client_watchdog(lk_client *client);
/* As they were given, zeroes replaced; url and secrets are NULL. */
const struct lk_client_options *lki_client_options(const lk_client *client);
int64_t lki_client_poll_ms(const lk_client *client);
/* Whether scripts are brought to servers by a user of their own: script texts go by
   lki_redis_introduce() alone then, and EVAL is never sent. */
bool lki_client_has_loader(const lk_client *client);

/* Keep the memory of a client while something still points to it, whatever becomes of the client. */
lk_client *lki_client_ref(lk_client *client);
void lki_client_unref(lk_client *client); /* NULL is fine */

/* INVALID when the client is closed, or this process was forked from the one that opened it. */
LK_MUST_CHECK lk_status lki_client_check(const lk_client *client, struct lk_error *err);

/* Whether this process is not the one that opened it: its mutexes may be held for ever here. */
bool lki_client_is_foreign(const lk_client *client);

/* A name for an owner that no other has or had: the client's UUID, a colon, a number. */
void lki_client_owner(lk_client *client, char out_owner[LKI_OWNER_MAX]);

/* Whether other servers may take over (Sentinel, Cluster). */
bool lki_client_may_move(const lk_client *client);

/* Whether all its servers are there to be asked, as far as is known. */
bool lki_client_is_in_reach(const lk_client *client);

/* Where its server is, or the first of those in the URL. Borrowed. */
const struct lki_endpoint *lki_client_endpoint(const lk_client *client);

/* The moment until which a call with this limit may take; 0 means command_ms. */
int64_t lki_client_deadline(const lk_client *client, int64_t limit_ms);

/* lk_client_call() with a deadline. */
LK_MUST_CHECK lk_status lki_client_exchange(lk_client *client, const struct lk_command *commands,
                                            size_t count, int64_t deadline, lk_reply **replies,
                                            struct lk_error *err);

/* Commands of one round trip. */
struct lki_pipeline {
    const struct lk_command *commands;
    size_t count;
    int64_t deadline;
    bool
        *out_is_synced; /* not NULL: WAIT for the client's sync_replicas behind them; false: too few
                            (it stays as it is for a client without) */
    const struct lki_compare *native; /* not NULL: the same as the only command, for servers that
                                         have it */
    const struct lki_variant *introduce[2]; /* not NULL: brought to whoever is asked, before */
    struct lk_error *out_refusal;           /* why they were not taken there; else as it was. May be
                                               NULL */
};

/* The verb by which waiters are told: "PUBLISH", or "SPUBLISH". */
const char *lki_client_publish_verb(lk_client *client);

/* To whom its keys are, and in a cluster perhaps to several. */
LK_MUST_CHECK lk_status lki_client_send(lk_client *client, const struct lki_pipeline *pipeline,
                                        lk_reply **replies, struct lk_error *err);

/* To this server. */
LK_MUST_CHECK lk_status lki_client_exchange_at(lk_client *client, struct lki_node *node,
                                               const struct lki_pipeline *pipeline,
                                               lk_reply **replies, struct lk_error *err);

/* INVALID when, in a cluster, a lock of this name would have its helper keys in another slot. */
LK_MUST_CHECK lk_status lki_client_check_name(lk_client *client, const char *key,
                                              struct lk_error *err);

/* The same when one of its helper keys is not derived as those of locks. */
LK_MUST_CHECK lk_status lki_client_check_helper(lk_client *client, const char *key,
                                                const char *helper, struct lk_error *err);

/* What an error answer to a lock's or script's command means. UNREACHABLE: nothing was done, and another
   server, or this one later, may do it; else SERVER. */
lk_status lki_client_fail_reply(const lk_client *client, const lk_reply *reply,
                                struct lk_error *err);

/* UNSYNCED when it was not; text for err. */
LK_MUST_CHECK lk_status lki_client_check_synced(const lk_client *client, bool is_synced,
                                                struct lk_error *err);

/*
 * Run one variant of a script; by digest, then by text (or, with a loader, introduced) if the server
 * does not know it. With lock_key, an error that begins with NOTOWNER becomes NOT_OWNER.
 */
struct lki_run {
    const struct lki_variant *variant;
    const char *lock_key; /* and token: the owner check's; NULL for none */
    const char *token;
    int64_t deadline;
    bool *out_is_synced;              /* as in a pipeline */
    const struct lki_compare *native; /* as in a pipeline */
};
LK_MUST_CHECK lk_status lki_client_eval_variant(lk_client *client, const struct lk_eval *eval,
                                                const struct lki_run *run, lk_reply **out_reply,
                                                struct lk_error *err);

/* The same for a user's script: UNSYNCED when too few replicas have confirmed what it wrote. */
LK_MUST_CHECK lk_status lki_client_eval_synced(lk_client *client, const struct lk_eval *eval,
                                               struct lki_run run, lk_reply **out_reply,
                                               struct lk_error *err);

/* One of lockkit's own scripts with its keys and arguments, as its caller fills it in. */
struct lki_call {
    const char *script;
    struct lk_bytes keys[6];
    size_t key_count;
    struct lk_bytes args[8];
    size_t arg_count;
    bool *out_is_synced;              /* as in a pipeline */
    const struct lki_compare *native; /* as in a pipeline */
};

/* As the functions for evals want it; borrows the call. */
struct lk_eval lki_eval_of(lk_client *client, const struct lki_call *call);

/* Run it; the answer is the integer (1 for "OK", 0 when it is neither), or yours to free. */
LK_MUST_CHECK lk_status lki_call_integer(lk_client *client, const struct lki_call *call,
                                         int64_t deadline, long long *out_answer,
                                         struct lk_error *err);
LK_MUST_CHECK lk_status lki_call_reply(lk_client *client, const struct lki_call *call,
                                       int64_t deadline, lk_reply **out_reply,
                                       struct lk_error *err);

/* A script of lockkit/scripts as this client sends it; aborts on a name that is not there. */
lk_script *lki_client_script(lk_client *client, const char *name);
const struct lki_variant *lki_client_own_script(lk_client *client, const char *name);

/* Tell the hook. at_ns: of the same look at the clock as duration_ns, or the begin is told wrong;
   0: now. */
void lki_client_emit(const lk_client *client, struct lk_event event);

#endif
