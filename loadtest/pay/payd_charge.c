/*
 * The shop is told in up to two events: that a payment was begun, or that an earlier card failed, and
 * what became of it. A tree counts the tries of each order.
 */
#include "payd_charge.h"

#include <pthread.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>

enum { SOON_MS = 60, REORDER_MS = 120 };

struct tries {
    char order[PAYD_WORD_MAX];
    unsigned count;
};

struct payd_charges {
    const struct payd_faults *faults;
    struct payd_post *post;
    FILE *log;
    pthread_mutex_t mutex; /* guards the next */
    void *tries;           /* owned: a tree of struct tries */
};

static int by_order(const void *left, const void *right)
{
    const struct tries *a = left;
    const struct tries *b = right;
    return strcmp(a->order, b->order);
}

/* Which try of that order this is, from 1; 0: out of memory. */
static unsigned count_try(struct payd_charges *charges, const char *order)
{
    struct tries *mine = calloc(1, sizeof *mine);
    unsigned count = 0;

    if (!mine) return 0;
    (void)snprintf(mine->order, sizeof mine->order, "%s", order);
    (void)pthread_mutex_lock(&charges->mutex);
    struct tries *const *found = tsearch(mine, &charges->tries, by_order);
    if (found) count = ++(*found)->count;
    if (!found || *found != mine) free(mine);
    (void)pthread_mutex_unlock(&charges->mutex);
    return count;
}

static json_t *make_event(const struct payd_wish *wish, const struct payd_charge *charge,
                          const char *type)
{
    return json_pack("{s:o,s:s,s:s,s:s,s:s,s:s,s:I,s:s}", "id",
                     json_sprintf("evt-%s-%.4s", charge->payment, strchr(type, '.') + 1), "type",
                     type, "payment", charge->payment, "sale", wish->sale, "order", wish->order,
                     "buyer", wish->buyer, "amount", (json_int_t)charge->amount, "currency",
                     wish->currency);
}

static void post_events(const struct payd_charges *charges, const struct payd_wish *wish,
                        const struct payd_charge *charge)
{
    const struct payd_faults *faults = charges->faults;
    const char *id = charge->payment;
    struct payd_post *post = charges->post;
    bool is_reordered = payd_faults_hit(faults, PAYD_REORDER, id);
    long late_ms = payd_faults_ms(faults, PAYD_LATE, id);
    json_t *other = make_event(wish, charge, is_reordered ? "payment.failed" : "payment.started");
    json_t *last =
        make_event(wish, charge, charge->is_declined ? "payment.failed" : "payment.succeeded");

    if (charge->is_declined && is_reordered)
        json_decref(other); /* it is the same */
    else
        payd_post_send(post, other, PAYD_WHOLE, is_reordered ? late_ms + REORDER_MS : 0);
    if (payd_faults_hit(faults, PAYD_BAD_SIGNATURE, id))
        payd_post_send(post, json_deep_copy(last), PAYD_FORGED, 0);
    if (payd_faults_hit(faults, PAYD_STALE, id))
        payd_post_send(post, json_deep_copy(last), PAYD_OLD, 0);
    if (payd_faults_hit(faults, PAYD_LOSE, id)) {
        payd_post_lose(post, last);
        return;
    }
    if (payd_faults_hit(faults, PAYD_DUPLICATE, id))
        payd_post_send(post, json_deep_copy(last), PAYD_WHOLE, late_ms + SOON_MS);
    payd_post_send(post, last, PAYD_WHOLE, late_ms + SOON_MS);
}

bool payd_charges_take(struct payd_charges *charges, const struct payd_wish *wish,
                       struct payd_charge *out_charge)
{
    const struct payd_faults *faults = charges->faults;
    struct payd_charge charge = {.amount = wish->amount};
    unsigned count = count_try(charges, wish->order);

    if (count == 0) return false;
    (void)snprintf(charge.payment, sizeof charge.payment, "pay-%.40s-%u", wish->order, count);
    charge.is_declined = wish->is_refused || payd_faults_hit(faults, PAYD_DECLINE, charge.payment);
    if (payd_faults_hit(faults, PAYD_MISMATCH, charge.payment)) charge.amount++;
    charge.slow_ms = payd_faults_ms(faults, PAYD_SLOW, charge.payment);
    if (!charge.is_declined)
        payd_post_note(charges->log,
                       json_pack("{s:s,s:s,s:s,s:s,s:s,s:I,s:s}", "e", "charge", "payment",
                                 charge.payment, "sale", wish->sale, "order", wish->order, "buyer",
                                 wish->buyer, "amount", (json_int_t)charge.amount, "currency",
                                 wish->currency));
    post_events(charges, wish, &charge);
    *out_charge = charge;
    return true;
}

struct payd_charges *payd_charges_new(const struct payd_faults *faults, struct payd_post *post,
                                      FILE *log)
{
    struct payd_charges *charges = calloc(1, sizeof *charges);

    if (!charges) return NULL;
    *charges = (struct payd_charges){.faults = faults, .post = post, .log = log};
    (void)pthread_mutex_init(&charges->mutex, NULL);
    return charges;
}

void payd_charges_free(struct payd_charges *charges)
{
    if (!charges) return;
    tdestroy(charges->tries, free);
    (void)pthread_mutex_destroy(&charges->mutex);
    free(charges);
}
