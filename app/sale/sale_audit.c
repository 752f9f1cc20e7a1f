/*
 * See sale_audit.h. Pure; any thread.
 */
#include "sale_audit.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "ledger.h"

const char *sale_audit_check_name(enum audit_check check)
{
    static const char *const names[] = {AUDIT_CHECK_LIST(LIST_NAME)};

    return (unsigned)check < AUDIT_CHECK_COUNT ? names[check] : "?";
}

const char *sale_audit_verdict_name(enum audit_verdict verdict)
{
    static const char *const names[] = {
        [AUDIT_PASS] = "pass", [AUDIT_FAIL] = "fail", [AUDIT_UNKNOWN] = "unknown"};

    return names[verdict];
}

/* ---- the walk -------------------------------------------------------------------------------- */

/* In which way an entry's units change the stock. */
static int adds_units(const struct audit_entry *entry)
{
    if (strcmp(entry->event, "moved-out") == 0) return -1;
    return strcmp(entry->event, "restocked") == 0 || strcmp(entry->event, "moved-in") == 0;
}

static bool follows(const struct audit_ledger *ledger, const struct audit_entry *entry)
{
    bool is_created = strcmp(entry->event, "created") == 0;
    int adds = adds_units(entry);

    if (ledger->has_ended && !ledger_event_is_of_payment(entry->event)) return false;
    if (entry->left == AUDIT_NONE) return false;
    if (ledger->left == AUDIT_NONE) return is_created && entry->left == entry->initial;
    if (is_created || (adds != 0 && entry->units == AUDIT_NONE)) return false;
    return entry->left == ledger->left + (adds != 0 ? adds * entry->units : 0) - entry->orders;
}

void sale_audit_walk(struct audit_ledger *ledger, const struct audit_entry *entry)
{
    if (!follows(ledger, entry) && ledger->breaks++ == 0)
        (void)snprintf(ledger->first_break, sizeof ledger->first_break, "%s", entry->id);
    if (strcmp(entry->event, "created") == 0 && entry->initial != AUDIT_NONE)
        ledger->initial = entry->initial;
    if (strcmp(entry->event, "restocked") == 0 && entry->units != AUDIT_NONE)
        ledger->restocked += entry->units;
    else if (entry->units != AUDIT_NONE)
        ledger->moved += adds_units(entry) * entry->units;
    if (strcmp(entry->event, "ended") == 0) ledger->has_ended = true;
    ledger->entries++;
    ledger->orders += entry->orders;
    ledger->left = entry->left;
}

/* A sum with AUDIT_NONE is AUDIT_NONE. */
static void add_number(int64_t *sum, int64_t number)
{
    *sum = *sum == AUDIT_NONE || number == AUDIT_NONE ? AUDIT_NONE : *sum + number;
}

void sale_audit_add(struct audit_reading *all, const struct audit_reading *one)
{
    const struct audit_ledger *of = &one->ledger;
    struct audit_ledger *ledger = &all->ledger;

    if (all->parts == 0) *all = *one;
    if (all->parts++ == 0) return;
    all->now_ms = one->now_ms;
    add_number(&all->orders, one->orders);
    add_number(&all->left, one->left);
    add_number(&all->initial, one->initial);
    add_number(&all->restocked, one->restocked);
    add_number(&all->moved, one->moved);
    add_number(&all->epoch,
               one->epoch == AUDIT_NONE ? AUDIT_NONE : one->epoch - 1); /* each begins in 1 */
    add_number(&all->entries, one->entries);
    add_number(&all->last_left, one->last_left);
    add_number(&all->last_epoch, one->last_epoch == AUDIT_NONE ? AUDIT_NONE : one->last_epoch - 1);
    if (!one->last_id[0]) all->last_id[0] = '\0';
    add_number(&ledger->initial, of->initial);
    add_number(&ledger->left, of->left);
    if (ledger->breaks == 0) memcpy(ledger->first_break, of->first_break, sizeof of->first_break);
    ledger->is_walked &= of->is_walked;
    ledger->entries += of->entries;
    ledger->restocked += of->restocked;
    ledger->moved += of->moved;
    ledger->orders += of->orders;
    ledger->breaks += of->breaks;
}

/* ---- the checks ------------------------------------------------------------------------------ */

/* Say how a check ended. */
__attribute__((format(printf, 4, 5))) static void say(struct sale_audit *audit,
                                                      enum audit_check check,
                                                      enum audit_verdict verdict,
                                                      const char *format, ...)
{
    va_list args;

    va_start(args, format);
    audit->checks[check].verdict = verdict;
    /* clang-tidy 14 does not see va_start through the macro. */
    /* NOLINTNEXTLINE(clang-analyzer-valist.Uninitialized) */
    (void)vsnprintf(audit->checks[check].words, sizeof audit->checks[check].words, format, args);
    va_end(args);
}

static enum audit_verdict pass_if(bool holds)
{
    return holds ? AUDIT_PASS : AUDIT_FAIL;
}

static void judge_stock(struct sale_audit *audit)
{
    int64_t left = audit->reading.left;

    if (left == AUDIT_NONE) {
        say(audit, AUDIT_STOCK, AUDIT_FAIL, "the stock is no number");
    } else {
        say(audit, AUDIT_STOCK, pass_if(left >= 0), "%" PRId64 " units left", left);
    }
}

static void judge_units(struct sale_audit *audit)
{
    const struct audit_reading *is = &audit->reading;
    int64_t put_up = is->initial + is->restocked;

    audit->oversold = AUDIT_NONE;
    if (is->initial == AUDIT_NONE || is->restocked == AUDIT_NONE) {
        say(audit, AUDIT_OVERSOLD, AUDIT_UNKNOWN, "how many units were put up is not known");
        say(audit, AUDIT_UNITS, AUDIT_UNKNOWN, "how many units were put up is not known");
        return;
    }
    audit->oversold = is->orders > put_up ? is->orders - put_up : 0;
    say(audit, AUDIT_OVERSOLD, pass_if(audit->oversold == 0),
        "%" PRId64 " orders for %" PRId64 " units", is->orders, put_up);
    if (is->left == AUDIT_NONE) {
        say(audit, AUDIT_UNITS, AUDIT_UNKNOWN, "the stock is no number");
        return;
    }
    if (is->moved != -is->on_way) {
        say(audit, AUDIT_UNITS, is->is_still ? AUDIT_FAIL : AUDIT_UNKNOWN,
            "%" PRId64 " units left segments, %" PRId64 " are on their way%s", -is->moved,
            is->on_way, is->is_still ? "" : ": they moved while it was read");
        return;
    }
    say(audit, AUDIT_UNITS, pass_if(is->orders + is->left - is->moved == put_up),
        "%" PRId64 " orders + %" PRId64 " left, of %" PRId64 " + %" PRId64 " restocked", is->orders,
        is->left - is->moved, is->initial, is->restocked);
}

static void judge_ledger_end(struct sale_audit *audit)
{
    const struct audit_reading *is = &audit->reading;

    if (is->lost > 0) {
        say(audit, AUDIT_LEDGER_END, AUDIT_FAIL, "%u segments are not there", is->lost);
    } else if (!is->last_id[0]) {
        say(audit, AUDIT_LEDGER_END, AUDIT_FAIL, "the ledger is empty");
    } else if (is->last_left == AUDIT_NONE || is->last_epoch == AUDIT_NONE) {
        say(audit, AUDIT_LEDGER_END, AUDIT_FAIL, "entry %s has no left or no epoch", is->last_id);
    } else if (is->left == AUDIT_NONE || is->epoch == AUDIT_NONE) {
        say(audit, AUDIT_LEDGER_END, AUDIT_UNKNOWN, "the stock or the epoch is no number");
    } else {
        say(audit, AUDIT_LEDGER_END,
            pass_if(is->last_left == is->left && is->last_epoch == is->epoch),
            "%" PRId64 " left in epoch %" PRId64 "; the sale says %" PRId64 " in %" PRId64,
            is->last_left, is->last_epoch, is->left, is->epoch);
    }
}

static void judge_ledger(struct sale_audit *audit)
{
    static const char not_walked[] = "the ledger is too long to be read here, or changed meanwhile";
    const struct audit_reading *is = &audit->reading;
    const struct audit_ledger *ledger = &is->ledger;

    if (!ledger->is_walked) {
        say(audit, AUDIT_LEDGER_CHAIN, AUDIT_UNKNOWN, "%s", not_walked);
        say(audit, AUDIT_LEDGER_ORDERS, AUDIT_UNKNOWN, "%s", not_walked);
        return;
    }
    if (ledger->breaks > 0) {
        say(audit, AUDIT_LEDGER_CHAIN, AUDIT_FAIL, "%" PRId64 " entries do not follow; first: %s",
            ledger->breaks, ledger->first_break);
    } else {
        say(audit, AUDIT_LEDGER_CHAIN, AUDIT_PASS, "%" PRId64 " entries", ledger->entries);
    }
    say(audit, AUDIT_LEDGER_ORDERS,
        pass_if(ledger->orders == is->orders && ledger->initial == is->initial &&
                ledger->restocked == is->restocked && ledger->moved == is->moved),
        "%" PRId64 " orders, %" PRId64 " + %" PRId64 " units in it; %" PRId64 " orders in the sale",
        ledger->orders, ledger->initial, ledger->restocked, is->orders);
}

void sale_audit_judge(struct sale_audit *out)
{
    judge_stock(out);
    judge_units(out);
    judge_ledger_end(out);
    judge_ledger(out);
    out->verdict = AUDIT_PASS;
    for (size_t i = 0; i < AUDIT_CHECK_COUNT; i++) {
        enum audit_verdict verdict = out->checks[i].verdict;

        if (verdict == AUDIT_FAIL || out->verdict == AUDIT_PASS) out->verdict = verdict;
        if (out->verdict == AUDIT_FAIL) break;
    }
}
