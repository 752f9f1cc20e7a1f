/*
 * The counters of this instance, for Prometheus. Every metric and label value is present from the start.
 */
#ifndef SECKILL_METRICS_H
#define SECKILL_METRICS_H

#include "lockkit/client.h"
#include "lockkit/event.h"

#include "base/list.h"
#include "events/events.h"
#include "sale/purchase.h"
#include "store/store_pay.h"

struct metrics; /* opaque; safe for any number of threads, never blocks */

/* The method and path of the routes, in order; false past the end. Static strings. */
typedef bool (*metrics_route_at)(size_t index, const char **out_method, const char **out_path);

/* route_at: NULL for none. NULL when out of memory. */
struct metrics *metrics_new(metrics_route_at route_at);
void metrics_free(struct metrics *self);

/* A request was answered with this status. route: 1 + its index; 0: no route matched. */
void metrics_count_request(struct metrics *self, unsigned route, int status);
/* X(value, name, help): what is counted, and nothing more. */
#define METRICS_COUNTER_LIST(X)                                                                    \
    X(METRICS_RATE_LIMITED, "seckill_rate_limited_total", "Requests of buyers over --rate.")       \
    X(METRICS_ADDRESS_LIMITED, "seckill_address_limited_total",                                    \
      "Requests of addresses over --address-rate.")                                                \
    X(METRICS_CANCELLED, "seckill_orders_cancelled_total", "Orders that buyers let go here.")      \
    X(METRICS_EXPIRED, "seckill_orders_expired_total",                                             \
      "Orders that ended here: not paid in time.")                                                 \
    X(METRICS_DUE_STALE, "seckill_due_stale_total",                                                \
      "Found among what is due, and not held: must stay 0.")                                       \
    X(METRICS_WEBHOOK_REFUSED, "seckill_payment_events_refused_total",                             \
      "Events whose signature or moment was not good.")                                            \
    X(METRICS_WAITING_JOINED, "seckill_waiting_joined_total",                                      \
      "Places that were asked for in waiting rooms.")                                              \
    X(METRICS_WAITING_REFUSED, "seckill_waiting_refused_total",                                    \
      "Purchases without a ticket, or before its turn.")                                           \
    X(METRICS_WAITING_FAILED, "seckill_waiting_failures_total",                                    \
      "Steps of waiting rooms of which the store said nothing, or refused them.")                  \
    X(METRICS_BOOKED, "seckill_book_entries_total",                                                \
      "Entries of ledgers that were put in the book.")                                             \
    X(METRICS_BOOK_FAILED, "seckill_book_failures_total",                                          \
      "Batches of entries that the book did not take; they are tried again.")                      \
    X(METRICS_TOPOLOGY_CHANGES, "seckill_topology_changes_total",                                  \
      "Times that another server became the primary, or slots moved.")

typedef enum metrics_counter {
    METRICS_COUNTER_LIST(LIST_VALUE) METRICS_COUNTER_COUNT
} metrics_counter;

void metrics_count(struct metrics *self, metrics_counter which);
void metrics_add(struct metrics *self, metrics_counter which, int64_t count);
/* A payment provider's event was processed. */
void metrics_count_payment(struct metrics *self, pay_result result);
/* A purchase ended; guard "" when the sale was not known. */
void metrics_count_order(struct metrics *self, const char *guard, outcome result);
/* The time from the reading of a purchase's request to its answer. */
void metrics_time_purchase(struct metrics *self, int64_t took_ns);

/*
 * Callbacks; `arg` is the struct metrics. A batch's callback follows the events of its locks on the same thread:
 * so the waiting and holding times of the locks can be attributed to the guard.
 */
void metrics_on_batch(const char *guard, size_t count, int64_t waited_ns, int64_t ran_ns,
                      void *arg);
void metrics_on_event(const struct lk_event *event, void *arg);

/* The stock of one sale that is selling, or was a short time ago. */
struct metrics_stock {
    char sale_id[SALE_ID_MAX + 1];
    int64_t initial; /* restocks included */
    int64_t left;    /* in stock, those that cool too */
    int64_t orders;
    int64_t cooling; /* units that are not for sale yet */
    int64_t held;    /* orders that are to be paid; 0 where they are final */
    int64_t paid;
    int64_t book_entries; /* that are not in the book yet; and for how long the first was not */
    int64_t book_s;
};

/* Values that the caller reads at the moment of the rendering. */
struct metrics_now {
    unsigned queue_depth;          /* purchases */
    unsigned requests;             /* being answered */
    unsigned streams;              /* of events, open */
    unsigned buyer_connections;    /* open */
    unsigned operator_connections; /* open */
    struct lk_pool_usage redis;    /* connections to it */
    bool is_store_up;              /* else no stock is shown */
    bool is_readiness_known;       /* else it is not shown */
    bool is_ready;
    const struct metrics_stock *stock;
    size_t stock_count;
    unsigned left_out; /* sales that there was no room for in it */
};

/* X(value, label): why this instance refused or ended an event stream. */
#define METRICS_DROP_LIST(X)                                                                       \
    X(METRICS_DROP_FULL, "full")         /* --streams are open */                                  \
    X(METRICS_DROP_SLOW, "slow")         /* the client does not read */                            \
    X(METRICS_DROP_STOPPING, "stopping") /* the service stops */

typedef enum metrics_drop { METRICS_DROP_LIST(LIST_VALUE) METRICS_DROP_COUNT } metrics_drop;

void metrics_count_events(struct metrics *self, event_kind kind, unsigned count);
void metrics_count_drop(struct metrics *self, metrics_drop reason);

/*
 * Render all metrics in Prometheus' text format.
 *
 * Owns     the result is yours (free); NULL when out of memory.
 */
char *metrics_render(const struct metrics *self, const struct metrics_now *now, size_t *out_len);

#endif
