/*
 * See sale_audit.h. Pure; any thread.
 */
#include "sale_audit.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

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

static bool follows(const struct audit_ledger *ledger, const struct audit_entry *entry)
{
    bool is_created = strcmp(entry->event, "created") == 0;
    bool is_restock = strcmp(entry->event, "restocked") == 0;

    if (entry->left == AUDIT_NONE || ledger->has_ended) return false;
    if (ledger->left == AUDIT_NONE) return is_created && entry->left == entry->initial;
    if (is_created || (is_restock && entry->units == AUDIT_NONE)) return false;
    return entry->left == ledger->left + (is_restock ? entry->units : 0) - entry->orders;
}

void sale_audit_walk(struct audit_ledger *ledger, const struct audit_entry *entry)
{
    if (!follows(ledger, entry) && ledger->breaks++ == 0)
        (void)snprintf(ledger->first_break, sizeof ledger->first_break, "%s", entry->id);
    if (strcmp(entry->event, "created") == 0 && entry->initial != AUDIT_NONE)
        ledger->initial = entry->initial;
    if (strcmp(entry->event, "restocked") == 0 && entry->units != AUDIT_NONE)
        ledger->restocked += entry->units;
    if (strcmp(entry->event, "ended") == 0) ledger->has_ended = true;
    ledger->entries++;
    ledger->orders += entry->orders;
    ledger->left = entry->left;
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
    say(audit, AUDIT_UNITS, pass_if(is->orders + is->left == put_up),
        "%" PRId64 " orders + %" PRId64 " left, of %" PRId64 " + %" PRId64 " restocked", is->orders,
        is->left, is->initial, is->restocked);
}

static void judge_ledger_end(struct sale_audit *audit)
{
    const struct audit_reading *is = &audit->reading;

    if (!is->last_id[0]) {
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
                ledger->restocked == is->restocked),
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
