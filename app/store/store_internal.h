/*
 * The definition of struct store, and helpers that its files share: first for an unsharded sale, then for segments,
 * then those that work for both.
 */
#ifndef SECKILL_STORE_INTERNAL_H
#define SECKILL_STORE_INTERNAL_H

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
    X(STORE_REMOVE, "remove_sale")                                                                 \
    X(STORE_CREATE_SEGMENTS, "create_segments")                                                    \
    X(STORE_FORGET_SEGMENTS, "forget_segments")                                                    \
    X(STORE_WITHDRAW, "withdraw_units")                                                            \
    X(STORE_DEPOSIT, "deposit_units")                                                              \
    X(STORE_SETTLE, "settle_move")                                                                 \
    X(STORE_CONFIRM, "confirm")                                                                    \
    X(STORE_RESOLVE, "resolve")                                                                    \
    X(STORE_CANCEL, "cancel_order")                                                                \
    X(STORE_PAY, "pay_orders")                                                                     \
    X(STORE_REFUND, "refund_order")                                                                \
    X(STORE_EXPIRE, "expire_orders")                                                               \
    X(STORE_EXPIRE_FENCED, "expire_orders") /* with fence_check.lua in front */                    \
    X(STORE_WAITING_STEP, "waiting_step")                                                          \
    X(STORE_WAITING_JOIN, "waiting_join")                                                          \
    X(STORE_CHECK, "fork_check")                                                                   \
    X(STORE_NOTE_CHECKED, "note_checked")                                                          \
    X(STORE_REBUILD_BEGIN, "rebuild_begin")                                                        \
    X(STORE_REBUILD_STEP, "rebuild_step")                                                          \
    X(STORE_REBUILD_END, "rebuild_end")

enum store_script { STORE_SCRIPT_LIST(LIST_VALUE) STORE_SCRIPT_COUNT };

struct store {
    lk_client *client;                      /* borrowed */
    const char *instance;                   /* borrowed */
    const struct deployment *deployment;    /* borrowed; may be NULL */
    int64_t wait_ms;                        /* for reads; 0: as the client does */
    bool is_booked;                         /* see store_keep_book() */
    lk_script *scripts[STORE_SCRIPT_COUNT]; /* owned */
    char process[96];                       /* our field in void hashes, of cancels alone */
    _Atomic int64_t attempts;
    int flaw; /* a store_flaw; for the lab alone */
    int64_t flaw_pause_ms;
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
/* Put an id on the list of all sales; take it off. */
store_status store_list_id(struct store *store, const char *id, struct lk_error *err);
store_status store_unlist_id(struct store *store, const char *id, struct lk_error *err);
/* Put Redis' error, or "malformed answer", into *err. Returns STORE_FAILED. */
store_status store_failed(struct lk_error *err, const lk_reply *reply);

/* Digits, with a sign or without; text that fits, with its NUL. False and untouched if it is not. */
bool store_to_number(const lk_reply *reply, int64_t *out);
bool store_to_text(const lk_reply *reply, char *out, size_t size);
/* { seconds, microseconds } of TIME. */
bool store_to_time_ms(const lk_reply *reply, int64_t *out_ms);

/* The questions about one sale, to be asked in one moment; their words point into the keys. */
enum { STORE_SALE_FIELDS = 19 };
enum { ABOUT_FIELDS, ABOUT_STOCK, ABOUT_TIME, ABOUT_ORDERS, ABOUT_COUNT };
struct sale_question {
    struct sale_keys keys;
    struct lk_bytes fields[2 + STORE_SALE_FIELDS];
    struct lk_bytes stock[2];
    struct lk_bytes orders[2];
};
void store_ask_about(struct sale_question *self, const char *id,
                     struct lk_command out[ABOUT_COUNT]);
/* Read the sale from their answers, the first ones of an array. OK, NOT_FOUND or FAILED. */
store_status store_read_about(const char *id, const lk_reply *answers, struct sale *out,
                              struct lk_error *err);

/* ---- a sale in one piece, or a segment; not on the list ---------------------------------------------------- */

store_status store_create_piece(struct store *store, const struct sale *sale, struct lk_error *err);
/* As store_load_sales(). */
store_status store_load_pieces(struct store *store, const struct sale_id *ids, size_t count,
                               struct sale *out_sales, struct lk_error *err);
/* The field "moving"; nil: no move. False: it makes no sense. */
bool store_read_move(const lk_reply *reply, struct sale_move *out);

/* ---- sales in segments: what the others do with what they did not find under a sale's own id ---- */

/* The segment a buyer's order is in. */
store_status store_find_home(struct store *store, const char *id, const char *buyer,
                             struct sale_id *out, struct lk_error *err);
/* All segments' ids. STORE_NOT_FOUND: the sale is in one piece, or none. */
struct store_pieces {
    unsigned count;
    struct sale_id ids[SALE_SEGMENTS_MAX];
    char generation[17];
};
store_status store_find_pieces(struct store *store, const char *id, struct store_pieces *out,
                               struct lk_error *err);
/* Delete the remaining keys of segments that were removed. */
store_status store_forget_pieces(struct store *store, const char *id,
                                 const struct store_pieces *pieces, struct lk_error *err);
store_status store_create_segmented(struct store *store, const struct sale *sale,
                                    struct lk_error *err);
store_status store_load_segmented(struct store *store, const char *id, struct sale *out,
                                  struct lk_error *err);
#endif
