/*
 * The inside of lk_client, for the other files of lockkit.
 */
#ifndef LKI_CLIENT_H
#define LKI_CLIENT_H

#include "lockkit/client.h"

#include "script.h"
#include "token.h"

struct lki_endpoint;
struct lki_hub;
struct lki_pool;
struct lki_watchdog;

struct lki_pool *lki_client_pool(lk_client *client);
struct lki_hub *lki_client_hub(lk_client *client);
struct lki_watchdog *lki_client_watchdog(lk_client *client);
int64_t lki_client_poll_ms(const lk_client *client);

/* Keep the memory of a client while something still points to it, whatever becomes of the client. */
lk_client *lki_client_ref(lk_client *client);
void lki_client_unref(lk_client *client); /* NULL is fine */

/* INVALID when the client is closed, or this process was forked from the one that opened it. */
LK_MUST_CHECK lk_status lki_client_check(const lk_client *client, struct lk_error *err);

/* Whether this process is not the one that opened it: its mutexes may be held for ever here. */
bool lki_client_is_foreign(const lk_client *client);

/* A name for an owner that no other has or had: the client's UUID, a colon, a number. */
void lki_client_owner(lk_client *client, char out_owner[LKI_OWNER_MAX]);

/* Where its server is. Borrowed. */
const struct lki_endpoint *lki_client_endpoint(const lk_client *client);

/* The moment until which a call with this limit may take; 0 means command_ms. */
int64_t lki_client_deadline(const lk_client *client, int64_t limit_ms);

/* lk_client_call() with a deadline. */
LK_MUST_CHECK lk_status lki_client_exchange(lk_client *client, const struct lk_command *commands,
                                            size_t count, int64_t deadline, lk_reply **replies,
                                            struct lk_error *err);

/*
 * Run one variant of a script; by digest, then by text if the server does not know it. With
 * lock_key, an error that begins with NOTOWNER becomes NOT_OWNER.
 */
LK_MUST_CHECK lk_status lki_client_eval_variant(lk_client *client, const struct lk_eval *eval,
                                                const struct lki_variant *variant,
                                                const char *lock_key, const char *token,
                                                int64_t deadline, lk_reply **out_reply,
                                                struct lk_error *err);

/* One of lockkit's own scripts with its keys and arguments, as its caller fills it in. */
struct lki_call {
    const char *script;
    struct lk_bytes keys[6];
    size_t key_count;
    struct lk_bytes args[8];
    size_t arg_count;
};

/* As the functions for evals want it; borrows the call. */
struct lk_eval lki_eval_of(lk_client *client, const struct lki_call *call);

/* Run it; the answer is the integer (0 when it is none), or yours to free. */
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
