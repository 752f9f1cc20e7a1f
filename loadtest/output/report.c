/*
 * The screen: numbers first, then one line per promise with the checks behind it, then the words of
 * every check that did not pass, then the verdict. One thread.
 */
#include "report.h"

#include <inttypes.h>
#include <stdio.h>

#include "table.h"

const struct verify_run *report_worst(const struct verify_run *runs, int count)
{
    for (int i = 0; i < count; i++)
        if (verify_verdict(&runs[i]) == AUDIT_FAIL) return &runs[i];
    for (int i = 0; i < count; i++)
        if (verify_verdict(&runs[i]) == AUDIT_VOID) return &runs[i];
    return &runs[count - 1];
}

static void print_outcomes(FILE *to, const struct summary *summary)
{
    (void)fprintf(to, "\n  %-20s %9s %10s %10s\n", "answer", "replies", "p50 ms", "p99 ms");
    for (int kind = 0; kind < ANSWER_COUNT; kind++) {
        const struct latency *latency = &summary->latency[kind];
        if (latency->count == 0) continue;
        (void)fprintf(to, "  %-20s %9zu %10.1f %10.1f\n", facts_answer_name((answer_kind)kind),
                      latency->count, latency->p50_ms, latency->p99_ms);
    }
    if (summary->unanswered) (void)fprintf(to, "  %-20s %9zu\n", "no answer", summary->unanswered);
    if (summary->strays)
        (void)fprintf(to, "  %zu answers named no request: a proxy's own, and prove nothing\n",
                      summary->strays);
}

static void print_memory(FILE *to, const struct service *service)
{
    if (!service->is_ours) return;
    (void)fprintf(to, "\n  peak memory:");
    for (int i = 0; i < service->count; i++) {
        const struct instance *instance = &service->instances[i];
        (void)fprintf(to, "%s %s ", i ? "," : "", instance->name);
        if (instance->memory_kib < 0)
            (void)fputs("gone", to);
        else
            (void)fprintf(to, "%.1f MiB", (double)instance->memory_kib / 1024.0);
    }
    (void)fputc('\n', to);
}

/* With --allow-lost the audit passes, but of this promise it can only count the breaches. */
static const char *verdict_words(const struct promise *promise, const struct audit_result *audit)
{
    audit_verdict verdict = audit_promise_verdict(promise, audit);
    bool is_broken = promise->checks[0] == AUDIT_ACKNOWLEDGED_KEPT && audit->lost > 0;

    return verdict == AUDIT_PASS && is_broken ? "LOST" : audit_verdict_name(verdict);
}

static void print_lost(FILE *to, const struct verify_run *run)
{
    const struct audit_result *audit = &run->audit;

    (void)fprintf(to, "\n  accepted orders lost: %zu of %zu%s%s\n", audit->lost, audit->accepted,
                  audit->lost ? ", named in " : "", run->lost);
}

/* What was looked at; of a promise that does not hold only what says so. */
static void print_checks(FILE *to, const struct promise *promise, const struct audit_result *audit)
{
    audit_verdict verdict = audit_promise_verdict(promise, audit);
    const char *between = verdict == AUDIT_PASS ? "" : "by ";

    for (int n = 0; n < promise->check_count; n++) {
        const struct audit_check *check = &audit->checks[promise->checks[n]];
        if (!check->name || check->verdict != verdict) continue;
        (void)fprintf(to, "%s%s", between, check->name);
        between = ", ";
    }
    (void)fputc('\n', to);
}

static void print_promises(FILE *to, const struct audit_result *audit)
{
    (void)fputc('\n', to);
    for (int i = 0; i < audit->promise_count; i++) {
        const struct promise *promise = &promises[i];
        (void)fprintf(to, "  %d %-24s %-4s  ", i + 1, promise->text, verdict_words(promise, audit));
        print_checks(to, promise, audit);
    }
    for (int i = 0; i < audit->check_count; i++) {
        const struct audit_check *check = &audit->checks[i];
        if (check->verdict == AUDIT_PASS) continue;
        (void)fprintf(to, "    %s %s: %s\n", audit_verdict_name(check->verdict), check->name,
                      check->words);
    }
    audit_story_write(&audit->story, to);
}

/* Which promise fell by what. */
static void print_fallen(FILE *to, const struct fault *fault, const struct audit_result *audit)
{
    int count = 0;

    for (int i = 0; fault && i < audit->promise_count; i++)
        if (audit_promise_verdict(&promises[i], audit) == AUDIT_FAIL)
            (void)fprintf(to, "%s%s", count++ ? ", " : "\n  fallen: ", promises[i].text);
    if (count) (void)fprintf(to, " (by %s)\n", fault->name);
}

static void print_payments(FILE *to, const struct audit_payments *payments)
{
    (void)fprintf(to, "\n  held %zu = paid %zu + cancelled %zu + expired %zu", payments->held,
                  payments->paid, payments->cancelled, payments->expired);
    size_t over = payments->paid + payments->cancelled + payments->expired;
    if (payments->held > over) (void)fprintf(to, " + still held %zu", payments->held - over);
    (void)fprintf(to, "; refunds owed %zu\n", payments->owed);
}

const char *report_verdict(audit_verdict verdict)
{
    static const char *const words[] = {
        [AUDIT_PASS] = "PASS", [AUDIT_FAIL] = "FAIL", [AUDIT_VOID] = "VOID"};
    return words[verdict];
}

void report_screen(FILE *to, const struct drive_target *target, const struct verify_run *run)
{
    const struct options *options = target->options;
    const struct service *service = target->service;
    const struct summary *summary = &run->summary;
    char load[VERIFY_WORDS_MAX];

    (void)fprintf(to, "\nSale %s: guard %s, %d %s%s, %ld connections", run->sale, options->guard,
                  service->count, service->is_ours ? "instance" : "address",
                  service->count == 1 ? ""
                  : service->is_ours  ? "s"
                                      : "es",
                  options->connections[0]);
    if (options->segments) (void)fprintf(to, ", %ld segments", options->segments);
    verify_load_words(run, load);
    (void)fprintf(to, "\n  load: %s\n", load);
    if (run->fault[0]) (void)fprintf(to, "  fault: %s\n", run->fault);
    (void)fputc('\n', to);
    (void)fprintf(
        to, "  sold %zu of %" PRId64 ", %" PRId64 " left; %zu buyers, %zu requests in %.1f s\n",
        summary->sold, summary->initial, summary->left, summary->buyers, summary->requests,
        summary->seconds);
    (void)fprintf(to, "  %.0f purchases/s until the last unit, %.0f replies/s\n",
                  summary->purchases_per_s, summary->replies_per_s);
    print_outcomes(to, summary);
    print_memory(to, service);
    if (run->is_paid_for) print_payments(to, &run->audit.payments);
    if (options->allow_lost || run->audit.lost) print_lost(to, run);
    print_promises(to, &run->audit);
    if (run->trouble[0]) (void)fprintf(to, "    %s\n", run->trouble);
    print_fallen(to, options->fault, &run->audit);
    (void)fprintf(to, "\n%s\n", report_verdict(verify_verdict(run)));
}

void report_speed_screen(FILE *to, const struct drive_target *target, const struct speed_run *run)
{
    const struct options *options = target->options;
    const struct service *service = target->service;
    char texts[3][SPREAD_TEXT_MAX];
    struct table table;

    if (run->doubt[0]) (void)fprintf(to, "\nVOID: %s\n", run->doubt);
    (void)fprintf(to, "\nguard %s, %d instance%s, %ld s per round; median (least .. most)\n\n",
                  options->guard, service->count, service->count == 1 ? "" : "s",
                  options->duration_s);
    table_open(&table, to);
    (void)fprintf(table.rows, "connections\tpurchases/s\t%s\tratio\n", options->against);
    for (int i = 0; i < run->step_count; i++) {
        const struct speed_step *step = &run->steps[i];
        (void)fprintf(table.rows, "%ld\t%s\t%s\t%s\n", step->connections,
                      spread_text(&step->purchases_per_s, 0, texts[0]),
                      spread_text(&step->pages_per_s, 0, texts[1]),
                      spread_text(&step->ratio, 3, texts[2]));
    }
    table_close(&table);
    print_memory(to, service);
}
