/*
 * The inside of lk_client, for the other files of lockkit.
 */
#ifndef LKI_CLIENT_H
#define LKI_CLIENT_H

#include "lockkit/client.h"

#include "script.h"

struct lki_hub;
struct lki_pool;
struct lki_watchdog;

struct lki_pool *lki_client_pool(lk_client *client);
struct lki_hub *lki_client_hub(lk_client *client);
struct lki_watchdog *lki_client_watchdog(lk_client *client);
int64_t lki_client_poll_ms(const lk_client *client);

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

/* Run a script of lockkit's own whose answer is an integer. */
LK_MUST_CHECK lk_status lki_client_eval_integer(lk_client *client, const struct lk_eval *eval,
                                                int64_t deadline, long long *out_value,
                                                struct lk_error *err);

/* A script of lockkit/scripts as this client sends it; aborts on a name that is not there. */
lk_script *lki_client_script(lk_client *client, const char *name);
const struct lki_variant *lki_client_own_script(lk_client *client, const char *name);

/* Tell the hook; at_ns is filled in. */
void lki_client_emit(const lk_client *client, struct lk_event event);

#endif
