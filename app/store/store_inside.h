/*
 * The inside of struct store and the small steps that its files share: store.c (sales, orders),
 * store_admin.c (operators' steps), store_audit.c and store_ledger.c.
 */
#ifndef SECKILL_STORE_INSIDE_H
#define SECKILL_STORE_INSIDE_H

#include "base/list.h"
#include "sale/sale_keys.h"
#include "store.h"

/* X(value, file in app/scripts) */
#define STORE_SCRIPT_LIST(X)                                                                       \
    X(STORE_CREATE, "create_sale")                                                                 \
    X(STORE_END, "end_sale")                                                                       \
    X(STORE_PAUSE, "pause_sale")                                                                   \
    X(STORE_RESUME, "resume_sale")                                                                 \
    X(STORE_PATCH, "patch_sale")                                                                   \
    X(STORE_RESTOCK, "restock_sale")                                                               \
    X(STORE_CONFIRM, "confirm")

enum store_script { STORE_SCRIPT_LIST(LIST_VALUE) STORE_SCRIPT_COUNT };

struct store {
    lk_client *client;                      /* borrowed */
    const char *instance;                   /* borrowed */
    const struct deployment *deployment;    /* borrowed; may be NULL */
    int64_t wait_ms;                        /* for reads; 0: as the client does */
    lk_script *scripts[STORE_SCRIPT_COUNT]; /* owned */
};

/* Send commands; on STORE_OK none of the replies is an error, and they are the caller's; else NULL. */
store_status store_ask(struct store *store, const struct lk_command *commands, size_t count,
                       lk_reply **replies, struct lk_error *err);
/*
 * The same of one moment, in a transaction: for reads. Not a script, which waits for replicas, as a
 * report must not.
 *
 * Shape    at most STORE_AT_ONCE_MAX commands, on keys of one sale. *answers: an array of as many.
 */
enum { STORE_AT_ONCE_MAX = 6 };
store_status store_ask_at_once(struct store *store, const struct lk_command *commands, size_t count,
                               lk_reply **answers, struct lk_error *err);
/* Run one of the scripts; on STORE_OK the reply is the caller's. eval->script is set here. */
store_status store_run(struct store *store, enum store_script which, struct lk_eval eval,
                       lk_reply **reply, struct lk_error *err);
/* Redis' words, or that its answer makes no sense, into *err. Gives STORE_FAILED. */
store_status store_failed(struct lk_error *err, const lk_reply *reply);

/* Digits, with a sign or without; text that fits, with its NUL. False and untouched if it is not. */
bool store_to_number(const lk_reply *reply, int64_t *out);
bool store_to_text(const lk_reply *reply, char *out, size_t size);
/* { seconds, microseconds } of TIME. */
bool store_to_time_ms(const lk_reply *reply, int64_t *out_ms);

/* The questions about one sale, to be asked in one moment; their words point into the keys. */
enum { STORE_SALE_FIELDS = 9 };
enum { ABOUT_FIELDS, ABOUT_STOCK, ABOUT_TIME, ABOUT_ORDERS, ABOUT_COUNT };
struct sale_question {
    struct sale_keys keys;
    struct lk_bytes fields[2 + STORE_SALE_FIELDS];
    struct lk_bytes stock[2];
    struct lk_bytes orders[2];
};
void store_ask_about(struct sale_question *self, const char *id,
                     struct lk_command out[ABOUT_COUNT]);
/* The sale that their answers, the first of an array, tell. OK, NOT_FOUND or FAILED. */
store_status store_read_about(const char *id, const lk_reply *answers, struct sale *out,
                              struct lk_error *err);

#endif
