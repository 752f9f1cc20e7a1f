/*
 * Walks the table of checks, adds up the verdict. The facts are sorted in audit_view.c; the checks
 * themselves are in audit_stock.c (Redis alone), audit_segments.c (what is in several pieces), audit_steps.c
 * (what operators did), audit_answers.c (what clients were told) and audit_payment.c (what is paid for
 * later). One thread.
 */
#include "audit.h"

#include <string.h>

#include "audit_view.h"
#include "verdict.h"

const char *audit_verdict_name(audit_verdict verdict)
{
    static const char *const names[] = {
        [AUDIT_PASS] = "pass", [AUDIT_FAIL] = "fail", [AUDIT_VOID] = "void"};
    return names[verdict];
}

static const struct {
    const char *name, *claim;
    bool needs_clients;
    void (*judge)(const struct audit_view *view, struct audit_check *check);
} checks[AUDIT_CHECK_COUNT] = {
#define AUDIT_CHECK_ROW(value, check, needs, claimed)                                              \
    [value] = {#check, claimed, needs, audit_##check},
    AUDIT_CHECK_LIST(AUDIT_CHECK_ROW)
#undef AUDIT_CHECK_ROW
};

/* Fail before void before pass. */
static audit_verdict worse_of(audit_verdict verdict, audit_verdict more)
{
    return more == AUDIT_FAIL || verdict == AUDIT_PASS ? more : verdict;
}

/* What shows without the store, of a sale that nobody restocks. */
static bool is_of_clients(const struct facts *facts, audit_check_id id)
{
    return id == AUDIT_CONSERVATION || id == AUDIT_ONE_PER_BUYER || id == AUDIT_ONE_PER_REQUEST ||
           id == AUDIT_REFUSED_NOT_EXECUTED || id == AUDIT_NO_UNDERSELL ||
           id == AUDIT_HONEST_ANSWERS ||
           (id == AUDIT_UNKNOWN_RESOLVED && facts->resolution_count > 0);
}

static bool is_asked_of(const struct facts *facts, audit_check_id id)
{
    if (facts->is_alone) return is_of_clients(facts, id);
    if (id >= AUDIT_FIRST_OF_PAYMENT) return facts->window_ms > 0;
    return id < AUDIT_FIRST_OF_SEGMENTS || facts->segment_count > 0;
}

static void judge_one(const struct audit_view *view, audit_check_id id, struct audit_check *check)
{
    const struct facts *facts = view->facts;

    if (!is_asked_of(facts, id)) return;
    *check = (struct audit_check){.name = checks[id].name, .claim = checks[id].claim};
    if (checks[id].needs_clients && !facts->has_clients)
        audit_say(check, AUDIT_VOID, "no client ledger was given");
    else if (checks[id].needs_clients && facts->ask_count == 0)
        audit_say(check, AUDIT_VOID, "the client ledger holds no purchase");
    else
        checks[id].judge(view, check);
}

static void count_for_report(const struct audit_view *view, struct audit_result *result)
{
    for (size_t i = 1; i < view->row_count; i++) {
        bool is_more = strcmp(view->by_buyer[i]->buyer, view->by_buyer[i - 1]->buyer) == 0;
        bool is_third =
            i > 1 && strcmp(view->by_buyer[i]->buyer, view->by_buyer[i - 2]->buyer) == 0;
        if (is_more && !is_third) result->duplicate_buyers++;
    }
    for (size_t i = 0; i < view->facts->ask_count;) {
        struct ask_run run = audit_rid_run(view, i);
        if (audit_is_unknown(run)) result->unknown++;
        i += run.count;
    }
    result->accepted = view->accepted;
    result->lost = view->lost_count;
    result->sold = view->row_count;
    result->oversold = audit_count_oversold(view);
    result->undersold = audit_count_undersold(view);
    result->has_stuck_lock = audit_has_stuck_lock(view);
    result->payments = audit_count_payments(view);
    result->left = view->facts->left;
}

bool audit_run(const struct facts *facts, const struct audit_options *options,
               struct audit_result *out_result, struct failure *failure)
{
    struct audit_view view;
    struct audit_result result = {.verdict = AUDIT_PASS};
    bool is_paid_for = facts->window_ms > 0;

    bool is_ready = audit_view_init(&view, facts) && audit_match_steps(&view) &&
                    audit_count_fairness(&view, &result.fairness);
    view.allow_lost = options && options->allow_lost;
    result.check_count = is_paid_for ? AUDIT_CHECK_COUNT : AUDIT_FIRST_OF_PAYMENT;
    if (!is_paid_for && facts->segment_count == 0) result.check_count = AUDIT_FIRST_OF_SEGMENTS;
    result.promise_count = is_paid_for ? PROMISE_COUNT : PROMISE_COUNT - 1;
    if (!is_ready) (void)failure_set(failure, "audit: out of memory");
    for (audit_check_id id = 0; is_ready && (int)id < result.check_count; id++) {
        judge_one(&view, id, &result.checks[id]);
        result.verdict = worse_of(result.verdict, result.checks[id].verdict);
    }
    if (is_ready) count_for_report(&view, &result);
    if (is_ready) audit_fill_story(facts, &result);
    audit_view_done(&view);
    if (is_ready) *out_result = result;
    return is_ready;
}

bool audit_each_lost(const struct facts *facts, bool (*each)(const struct ask *ask, void *arg),
                     void *arg, struct failure *failure)
{
    struct audit_view view;
    bool is_ready = audit_view_init(&view, facts);
    bool goes_on = is_ready;

    for (size_t i = 0; goes_on && i < view.lost_count; i++)
        goes_on = each(view.lost[i], arg);
    audit_view_done(&view);
    return is_ready || failure_set(failure, "audit: out of memory");
}

bool audit_each_unknown(const struct facts *facts, bool (*each)(const struct ask *ask, void *arg),
                        void *arg, struct failure *failure)
{
    struct audit_view view;
    bool is_ready = audit_view_init(&view, facts);
    bool goes_on = is_ready;

    for (size_t i = 0; goes_on && i < facts->ask_count;) {
        struct ask_run run = audit_rid_run(&view, i);
        if (audit_is_unknown(run)) goes_on = each(run.asks[0], arg);
        i += run.count;
    }
    audit_view_done(&view);
    return is_ready || failure_set(failure, "audit: out of memory");
}

/* ---- promises ---- */

const struct promise promises[PROMISE_COUNT] = {
    {"never oversold",
     {AUDIT_CONSERVATION, AUDIT_RESTOCKS_ADD_UP, AUDIT_NOTHING_AFTER_END, AUDIT_OPERATORS_AGREE,
      AUDIT_NO_UNACCOUNTED, AUDIT_NO_PHANTOM, AUDIT_SEGMENTS_ADD_UP, AUDIT_MOVES_ARRIVE},
     8},
    {"one order per buyer", {AUDIT_ONE_PER_BUYER, AUDIT_ONE_PER_REQUEST, AUDIT_ORDERS_AT_HOME}, 3},
    {"no accepted order lost", {AUDIT_ACKNOWLEDGED_KEPT}, 1},
    {"no undersell",
     {AUDIT_NO_UNDERSELL, AUDIT_NO_STUCK_LOCK, AUDIT_CONSERVATION, AUDIT_MOVES_ARRIVE},
     4},
    {"an honest answer",
     {AUDIT_HONEST_ANSWERS, AUDIT_REFUSED_NOT_EXECUTED, AUDIT_UNKNOWN_RESOLVED},
     3},
    {"each payment counts once",
     {AUDIT_UNIT_CONSERVATION, AUDIT_ONE_FINAL_STATE, AUDIT_RETURN_MATCHES_HOLD,
      AUDIT_NO_EARLY_EXPIRY, AUDIT_PAYMENT_EXPLAINED, AUDIT_REFUND_ONCE, AUDIT_TOLD_PAID_IS_PAID},
     7},
};

audit_verdict audit_promise_verdict(const struct promise *promise,
                                    const struct audit_result *result)
{
    audit_verdict verdict = AUDIT_PASS;

    for (int i = 0; i < promise->check_count; i++)
        verdict = worse_of(verdict, result->checks[promise->checks[i]].verdict);
    return verdict;
}
