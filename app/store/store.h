/*
 * How sales and orders sit in Redis: names of keys, layout of values, one function per step.
 * Purchases do not come this way: they go through a guard (guard.h).
 *
 * Layout (KEY is seckill:{ID}:...)
 *   :sale    hash    title initial starts_ms ends_ms state guard epoch; once restocked also restocked
 *                    (units put up later, in sum), restock:KEY (units, per idempotency key) and
 *                    cool ("SELLABLE_MS:UNITS ...": how much of the stock is for sale later); if it
 *                    is paid for later window_ms amount currency, and paid cancelled expired (orders);
 *                    replid (fork_check.lua); ended_ms (end_sale.lua); removing (remove_sale.lua)
 *   :stock   string  units left, those that cool too
 *   :orders  hash    buyer -> "ORDER_ID:STATE:IDEMPOTENCY_KEY" (the key may be empty)
 *   :ledger  stream  event created|sold|paused|resumed|patched|restocked|ended, by INSTANCE, epoch N,
 *                    left N; created: initial; sold: one field "order" =
 *                    "ORDER_ID:BUYER:IDEMPOTENCY_KEY" per order of the batch, and pay_by if they are
 *                    held until then; patched: title, starts_ms, ends_ms as they were changed;
 *                    restocked: units, key, sellable_ms. What payment adds: store_pay.h
 *   :void    hash    process -> highest attempt given up after a lost answer (resolve.lua)
 *   :lock    string  the guard's lock
 *   seckill:sales    set of all ids
 */
#ifndef SECKILL_STORE_H
#define SECKILL_STORE_H

#include "lockkit/lockkit.h"

#include "deployment.h"
#include "sale/purchase.h"

struct store; /* opaque; safe for any number of threads */

typedef enum store_status {
    STORE_OK,
    STORE_NOT_FOUND,   /* no such sale, or no such order */
    STORE_EXISTS,      /* a sale of that id is there already */
    STORE_UNAVAILABLE, /* Redis could not be reached, or does not serve now; nothing was executed */
    STORE_UNKNOWN,     /* sent, no answer; or too few replicas have it yet (LK_UNSYNCED) */
    STORE_FAILED,      /* Redis answered with an error (err->text) */
} store_status;

/* All are borrowed and must outlive the store; deployment may be NULL. NULL when out of memory. */
struct store *store_new(lk_client *client, const char *instance,
                        const struct deployment *deployment);
void store_free(struct store *store);
/* Give up reads after so long, instead of what the client waits. Before other threads know it. */
void store_set_wait(struct store *store, int64_t wait_ms);
/* There is a book: until Redis was compared with it (fork_check.lua), or while a sale is made again, what becomes of
   orders and their money is STORE_UNAVAILABLE. Before other threads know it. False: out of memory. */
bool store_keep_book(struct store *store);

store_status store_ping(struct store *store, struct lk_error *err);
/* Of sale: id, title, guard, initial, starts_ms (0: now), ends_ms are read. It begins in epoch 1.
   (Operators' other steps: store_admin.h.) */
store_status store_create_sale(struct store *store, const struct sale *sale, struct lk_error *err);
store_status store_load_sale(struct store *store, const char *id, struct sale *out_sale,
                             struct lk_error *err);
/* In one round trip; the id of one that is not there is "" then. When only some make no sense, the
   others are read, and that is STORE_FAILED. */
store_status store_load_sales(struct store *store, const struct sale_id *ids, size_t count,
                              struct sale *out_sales, struct lk_error *err);
/* Of all sales, sorted; also of one that is being created. Owns: *out_ids is yours (free). */
store_status store_list_ids(struct store *store, struct sale_id **out_ids, size_t *out_count,
                            struct lk_error *err);
/* Where replicas are waited for: an order that too few of them have is STORE_UNKNOWN. */
store_status store_find_order(struct store *store, const char *id, const char *buyer,
                              struct order *out_order, struct lk_error *err);
/*
 * Call `each` for every order, in no order; a buyer may come twice while sales go on (HSCAN).
 * Stops early when `each` returns false. When the servers change meanwhile, what was found is perhaps
 * not all, and that is STORE_UNKNOWN: each server has an order of its own.
 */
typedef bool store_each(const struct order *order, void *arg);
store_status store_scan_orders(struct store *store, const char *id, store_each *each, void *arg,
                               struct lk_error *err);
/* Redis' clock. */
store_status store_time_ms(struct store *store, int64_t *out_ms, struct lk_error *err);

/* "ORDER_ID:STATE:KEY" -> *out_order (buyer is not touched); false when it is not that. */
bool store_parse_order(struct lk_bytes value, struct order *out_order);

#endif
