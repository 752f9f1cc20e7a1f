/*
 * Sorts the facts once, and finds in what is sorted. One thread.
 */
#include "audit_view.h"

#include <stdlib.h>
#include <string.h>

/* ---- sorting ---- */

/* By the first two; where they are the same, by what else was found. */
static int by_name(const char *a, const char *b, int otherwise)
{
    int order = strcmp(a, b);
    return order ? order : otherwise;
}

static int compare_rows(const struct row *a, const struct row *b)
{
    return by_name(a->order, b->order, by_name(a->buyer, b->buyer, strcmp(a->rid, b->rid)));
}

static int by_time(const struct ask *a, const struct ask *b)
{
    return (a->invoked_ns > b->invoked_ns) - (a->invoked_ns < b->invoked_ns);
}

/* For qsort() and bsearch(): of pointers, but for rows and samples. */
#define ORDER(name, type, ...)                                                                     \
    static int name(const void *left, const void *right)                                           \
    {                                                                                              \
        const type *a = left;                                                                      \
        const type *b = right;                                                                     \
        return __VA_ARGS__;                                                                        \
    }                                                                                              \
    _Static_assert(true, "")

ORDER(row_by_all, struct row, compare_rows(a, b));
ORDER(view_row_by_buyer, struct audit_row *const,
      by_name((*a)->buyer, (*b)->buyer, strcmp((*a)->order, (*b)->order)));
ORDER(view_row_by_rid, struct audit_row *const,
      by_name((*a)->rid, (*b)->rid, strcmp((*a)->order, (*b)->order)));
ORDER(ask_by_rid, struct ask *const, by_name((*a)->rid, (*b)->rid, by_time(*a, *b)));
ORDER(ask_by_buyer, struct ask *const, by_name((*a)->buyer, (*b)->buyer, by_time(*a, *b)));
ORDER(ask_by_order, struct ask *const, by_name((*a)->order, (*b)->order, by_time(*a, *b)));
ORDER(lost_by_order, struct ask *const, strcmp((*a)->order, (*b)->order));
ORDER(resolution_by_rid, struct resolution *const, strcmp((*a)->rid, (*b)->rid));
/* As they were read, where the rest is the same: the ledger's in its order. */
static int by_source(const struct pay_fact *a, const struct pay_fact *b)
{
    return a->source != b->source ? (a->source > b->source) - (a->source < b->source)
                                  : (a > b) - (a < b);
}

ORDER(pay_by_order, struct pay_fact *const, by_name((*a)->order, (*b)->order, by_source(*a, *b)));
ORDER(pay_by_payment, struct pay_fact *const,
      by_name((*a)->payment, (*b)->payment, by_source(*a, *b)));
ORDER(sample_by_time, struct sample, (a->at_ns > b->at_ns) - (a->at_ns < b->at_ns));

static struct row *sorted_rows(const struct row *rows, size_t count)
{
    struct row *sorted = malloc((count + 1) * sizeof *sorted);
    if (!sorted || count == 0) return sorted;
    memcpy(sorted, rows, count * sizeof *sorted);
    qsort(sorted, count, sizeof *sorted, row_by_all);
    return sorted;
}

static void add_row(struct audit_view *view, const struct row *row, bool in_orders, bool in_ledger)
{
    view->rows[view->row_count++] = (struct audit_row){
        .order = row->order,
        .buyer = row->buyer,
        .rid = row->rid,
        .in_orders = in_orders,
        .in_ledger = in_ledger,
    };
}

/* Merge hash and stream: equal rows meet one to one, the rest stand alone. */
static void merge_rows(struct audit_view *view, const struct row *hashed, const struct row *sold)
{
    const struct row *hashed_end = hashed + view->facts->order_count;
    const struct row *sold_end = sold + view->facts->sold_count;

    while (hashed < hashed_end && sold < sold_end) {
        int order = compare_rows(hashed, sold);
        add_row(view, order > 0 ? sold : hashed, order <= 0, order >= 0);
        if (order <= 0) hashed++;
        if (order >= 0) sold++;
    }
    for (; hashed < hashed_end; hashed++)
        add_row(view, hashed, true, false);
    for (; sold < sold_end; sold++)
        add_row(view, sold, false, true);
}

static bool view_rows(struct audit_view *view)
{
    const struct facts *facts = view->facts;
    size_t most = facts->order_count + facts->sold_count + 1;
    struct row *hashed = sorted_rows(facts->orders, facts->order_count);
    struct row *sold = sorted_rows(facts->sold, facts->sold_count);

    view->rows = malloc(most * sizeof *view->rows);
    view->by_buyer = malloc(most * sizeof *view->by_buyer);
    view->by_rid = malloc(most * sizeof *view->by_rid);
    bool is_ready = hashed && sold && view->rows && view->by_buyer && view->by_rid;
    if (is_ready) merge_rows(view, hashed, sold);
    for (size_t i = 0; is_ready && i < view->row_count; i++)
        view->by_buyer[i] = view->by_rid[i] = &view->rows[i];
    free(hashed);
    free(sold);
    if (!is_ready) return false;
    qsort(view->by_buyer, view->row_count, sizeof *view->by_buyer, view_row_by_buyer);
    qsort(view->by_rid, view->row_count, sizeof *view->by_rid, view_row_by_rid);
    return true;
}

static bool view_asks(struct audit_view *view)
{
    const struct facts *facts = view->facts;

    view->asks_by_rid = malloc((facts->ask_count + 1) * sizeof *view->asks_by_rid);
    view->asks_by_buyer = malloc((facts->ask_count + 1) * sizeof *view->asks_by_buyer);
    if (!view->asks_by_rid || !view->asks_by_buyer) return false;
    for (size_t i = 0; i < facts->ask_count; i++)
        view->asks_by_rid[i] = view->asks_by_buyer[i] = &facts->asks[i];
    qsort(view->asks_by_rid, facts->ask_count, sizeof *view->asks_by_rid, ask_by_rid);
    qsort(view->asks_by_buyer, facts->ask_count, sizeof *view->asks_by_buyer, ask_by_buyer);
    return true;
}

static bool view_resolutions(struct audit_view *view)
{
    const struct facts *facts = view->facts;
    size_t count = facts->resolution_count;

    view->resolutions = malloc((count + 1) * sizeof *view->resolutions);
    if (!view->resolutions) return false;
    for (size_t i = 0; i < count; i++)
        view->resolutions[i] = &facts->resolutions[i];
    qsort(view->resolutions, count, sizeof *view->resolutions, resolution_by_rid);
    return true;
}

static bool view_samples(struct audit_view *view)
{
    const struct facts *facts = view->facts;
    size_t count = facts->sample_count;

    view->samples = malloc((count + 1) * sizeof *view->samples);
    if (!view->samples) return false;
    if (count == 0) return true;
    memcpy(view->samples, facts->samples, count * sizeof *view->samples);
    qsort(view->samples, count, sizeof *view->samples, sample_by_time);
    return true;
}

static bool view_pays(struct audit_view *view)
{
    const struct facts *facts = view->facts;

    view->pays_by_order = malloc((facts->pay_count + 1) * sizeof *view->pays_by_order);
    view->pays_by_payment = malloc((facts->pay_count + 1) * sizeof *view->pays_by_payment);
    if (!view->pays_by_order || !view->pays_by_payment) return false;
    for (size_t i = 0; i < facts->pay_count; i++) {
        view->pays_by_order[i] = &facts->pays[i];
        if (facts->pays[i].payment) view->pays_by_payment[view->payment_count++] = &facts->pays[i];
    }
    qsort(view->pays_by_order, facts->pay_count, sizeof *view->pays_by_order, pay_by_order);
    qsort(view->pays_by_payment, view->payment_count, sizeof *view->pays_by_payment,
          pay_by_payment);
    return true;
}

/* Of the answers 201, by order id, keep the first of each order that is in L no more. */
static bool view_lost(struct audit_view *view)
{
    const struct facts *facts = view->facts;
    size_t count = 0;

    view->lost = malloc((facts->ask_count + 1) * sizeof *view->lost);
    if (!view->lost) return false;
    for (size_t i = 0; i < facts->ask_count; i++)
        if (facts->asks[i].outcome == ASK_OK && facts->asks[i].order)
            view->lost[count++] = &facts->asks[i];
    if (count) qsort(view->lost, count, sizeof *view->lost, ask_by_order);
    const char *before = NULL;
    for (size_t i = 0; i < count; i++) {
        const struct ask *ask = view->lost[i];
        bool is_new = !before || strcmp(before, ask->order) != 0;
        before = ask->order;
        if (is_new) view->accepted++;
        if (is_new && !audit_has_order(view, ask->order)) view->lost[view->lost_count++] = ask;
    }
    return true;
}

void audit_view_done(struct audit_view *view)
{
    free(view->rows);
    free(view->by_buyer);
    free(view->by_rid);
    free(view->asks_by_rid);
    free(view->asks_by_buyer);
    free(view->resolutions);
    free(view->samples);
    free(view->lost);
    free(view->acts);
    free(view->pays_by_order);
    free(view->pays_by_payment);
}

bool audit_view_init(struct audit_view *view, const struct facts *facts)
{
    *view = (struct audit_view){.facts = facts};
    if (facts->segment_count == 0) view->whole = facts_piece(facts);
    view->pieces = facts->segment_count ? facts->segments : &view->whole;
    view->piece_count = facts->segment_count ? facts->segment_count : 1;
    return view_rows(view) && view_asks(view) && view_resolutions(view) && view_samples(view) &&
           view_pays(view) && view_lost(view);
}

/* ---- finding ---- */

struct ask_run audit_rid_run(const struct audit_view *view, size_t from)
{
    const struct ask *const *asks = view->asks_by_rid;
    size_t end = from;
    while (end < view->facts->ask_count && strcmp(asks[end]->rid, asks[from]->rid) == 0)
        end++;
    return (struct ask_run){.asks = asks + from, .count = end - from};
}

struct ask_run audit_buyer_run(const struct audit_view *view, size_t from)
{
    const struct ask *const *asks = view->asks_by_buyer;
    size_t end = from;
    while (end < view->facts->ask_count && strcmp(asks[end]->buyer, asks[from]->buyer) == 0)
        end++;
    return (struct ask_run){.asks = asks + from, .count = end - from};
}

static const char *rid_of_ask(const struct audit_view *view, size_t at)
{
    return view->asks_by_rid[at]->rid;
}

static const char *rid_of_row(const struct audit_view *view, size_t at)
{
    return view->by_rid[at]->rid;
}

static const char *buyer_of_row(const struct audit_view *view, size_t at)
{
    return view->by_buyer[at]->buyer;
}

static const char *order_of_row(const struct audit_view *view, size_t at)
{
    return view->rows[at].order;
}

/* The first of `count` sorted ones that is called so; count when none is. */
static size_t find_first(const struct audit_view *view, size_t count, const char *name,
                         const char *(*name_of)(const struct audit_view *view, size_t at))
{
    size_t low = 0;
    size_t high = count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (strcmp(name_of(view, middle), name) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low < count && strcmp(name_of(view, low), name) == 0 ? low : count;
}

struct ask_run audit_find_rid(const struct audit_view *view, const char *rid)
{
    size_t at = find_first(view, view->facts->ask_count, rid, rid_of_ask);
    return at < view->facts->ask_count ? audit_rid_run(view, at) : (struct ask_run){.count = 0};
}

const struct audit_row *const *audit_row_of_rid(const struct audit_view *view, const char *rid)
{
    size_t at = find_first(view, view->row_count, rid, rid_of_row);
    return at < view->row_count ? &view->by_rid[at] : NULL;
}

const struct audit_row *const *audit_row_of_buyer(const struct audit_view *view, const char *buyer)
{
    size_t at = find_first(view, view->row_count, buyer, buyer_of_row);
    return at < view->row_count ? &view->by_buyer[at] : NULL;
}

bool audit_has_resolution(const struct audit_view *view, const char *rid)
{
    struct resolution wanted = {.rid = rid};
    const struct resolution *key = &wanted;
    return bsearch(&key, view->resolutions, view->facts->resolution_count,
                   sizeof *view->resolutions, resolution_by_rid) != NULL;
}

bool audit_has_order(const struct audit_view *view, const char *order)
{
    return find_first(view, view->row_count, order, order_of_row) < view->row_count;
}

bool audit_is_excused(const struct audit_view *view, const struct ask *ask)
{
    if (!view->allow_lost || !ask->order || view->lost_count == 0) return false;
    const struct ask *const *first =
        bsearch(&ask, view->lost, view->lost_count, sizeof *view->lost, lost_by_order);
    return first && strcmp((*first)->buyer, ask->buyer) == 0;
}

bool audit_has_excused(const struct audit_view *view, struct ask_run run)
{
    for (size_t i = 0; i < run.count; i++)
        if (run.asks[i]->outcome == ASK_OK && audit_is_excused(view, run.asks[i])) return true;
    return false;
}

size_t audit_given_back(const struct audit_view *view, size_t unheard)
{
    return view->allow_lost ? view->lost_count + unheard : 0;
}

bool audit_run_has(struct ask_run run, ask_outcome outcome)
{
    for (size_t i = 0; i < run.count; i++)
        if (run.asks[i]->outcome == outcome) return true;
    return false;
}

bool audit_is_doubtful(struct ask_run run)
{
    return audit_run_has(run, ASK_INFO) || audit_run_has(run, ASK_UNANSWERED);
}

bool audit_is_unknown(struct ask_run run)
{
    return !audit_run_has(run, ASK_OK) && audit_is_doubtful(run);
}
