/*
 * The table has two lines per guard when there are repeats: medians, and from the least to the most.
 * One thread.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/json_file.h"
#include "measure/compare.h"
#include "report.h"

enum { CELL_MAX = 40 };

/* ---- the screen ---- */

static void print_head(FILE *to)
{
    (void)fprintf(to, "\n  %-18s", "guard");
    for (int i = 0; i < COMPARE_MEASURE_COUNT; i++)
        (void)fprintf(to, " %13s", compare_measures[i].head);
    (void)fputs("  result\n", to);
}

static void print_medians(FILE *to, const struct compare_row *row)
{
    (void)fprintf(to, "  %-18s", row->guard->name);
    for (int i = 0; i < COMPARE_MEASURE_COUNT; i++) {
        struct spread spread;
        if (compare_row_spread(row, (compare_measure)i, &spread))
            (void)fprintf(to, " %13.*f", compare_measures[i].decimals, spread.median);
        else
            (void)fprintf(to, " %13s", "?");
    }
    (void)fprintf(to, "  %s\n", compare_verdict_words(compare_row_verdict(row)));
}

static void print_ranges(FILE *to, const struct compare_row *row)
{
    (void)fprintf(to, "  %-18s", "");
    for (int i = 0; i < COMPARE_MEASURE_COUNT; i++) {
        char range[CELL_MAX] = "";
        struct spread spread;
        int decimals = compare_measures[i].decimals;
        if (compare_row_spread(row, (compare_measure)i, &spread))
            (void)snprintf(range, sizeof range, "%.*f..%.*f", decimals, spread.least, decimals,
                           spread.most);
        (void)fprintf(to, " %13s", range);
    }
    (void)fputc('\n', to);
}

static void print_legend(FILE *to, const struct compare *compare)
{
    static const char legend[] =
        "\n"
        "  p99: of the replies that accept. trips: pipelines that the instances sent to Redis, by\n"
        "  their own count, per order sold. duplicates: buyers with two orders. stuck: runs that\n"
        "  left a lock without an end. inversions: share of pairs recorded in another order than\n"
        "  they came in.\n";
    bool has_spared = false;

    for (int i = 0; i < compare->guards.count; i++)
        has_spared = has_spared || (compare->guards.list[i].finding != GUARD_SOUND &&
                                    compare_row_verdict(&compare->rows[i]) == COMPARE_HELD);
    (void)fputs(legend, to);
    if (has_spared)
        (void)fputs(
            "  A flawed guard that held was not put to its test: nothing crashed or paused.\n", to);
}

static void print_broken(FILE *to, const struct compare *compare)
{
    for (int i = 0; i < compare->cell_count; i++) {
        const struct compare_cell *cell = &compare->cells[i];
        const struct guard_entry *guard = &compare->guards.list[cell->guard];
        if (compare_judge(guard, &cell->run) < COMPARE_VOID) continue;
        for (int id = 0; id < AUDIT_CHECK_COUNT; id++) {
            const struct audit_check *check = &cell->run.audit.checks[id];
            if (check->verdict == AUDIT_PASS) continue;
            (void)fprintf(to, "  %s, round %ld: %s %s: %s\n", guard->name, cell->round,
                          audit_verdict_name(check->verdict), check->name, check->words);
        }
        if (cell->run.trouble[0])
            (void)fprintf(to, "  %s, round %ld: %s\n", guard->name, cell->round, cell->run.trouble);
    }
}

void compare_report_screen(FILE *to, const struct options *options, const struct compare *compare)
{
    static const char *const words[] = {[COMPARE_HELD] = "PASS",
                                        [COMPARE_SHOWED] = "PASS",
                                        [COMPARE_VOID] = "VOID",
                                        [COMPARE_BROKE] = "FAIL"};

    (void)fprintf(to,
                  "\n%ld units, %ld buyers, %ld connections, %ld instances; %ld round%s, seed "
                  "%" PRIu64 ", %.0f s\n",
                  options->stock, options->buyers, options->connections[0], options->instances,
                  options->repeat, options->repeat == 1 ? "" : "s", compare->seed,
                  compare->seconds);
    print_head(to);
    for (int i = 0; i < compare->guards.count; i++) {
        print_medians(to, &compare->rows[i]);
        if (options->repeat > 1) print_ranges(to, &compare->rows[i]);
    }
    print_legend(to, compare);
    print_broken(to, compare);
    (void)fprintf(to, "\n%s\n", words[compare_run_verdict(compare)]);
}

/* ---- result.json ---- */

static json_t *measure_json(const struct compare_row *row, compare_measure measure)
{
    struct spread spread;
    bool is_known = compare_row_spread(row, measure, &spread);
    json_t *object = is_known ? json_file_spread(&spread)
                              : json_pack("{s:n,s:n,s:n}", "median", "least", "most");
    json_t *repeats = json_array();

    for (int i = 0; i < row->count; i++) {
        double value = row->values[measure][i];
        (void)json_array_append_new(repeats, isnan(value) ? json_null() : json_real(value));
    }
    json_file_put(object, "repeats", repeats);
    return object;
}

static json_t *row_json(const struct compare_row *row)
{
    json_t *object = json_object();
    json_t *results = json_array();

    json_file_put(object, "guard", json_string(row->guard->name));
    json_file_put(object, "flaw",
                  row->guard->flaw[0] ? json_string(row->guard->flaw) : json_null());
    json_file_put(object, "expected", json_string(guard_list_finding_name(row->guard->finding)));
    json_file_put(object, "result", json_string(compare_verdict_words(compare_row_verdict(row))));
    for (int i = 0; i < COMPARE_MEASURE_COUNT; i++)
        json_file_put(object, compare_measures[i].name, measure_json(row, (compare_measure)i));
    for (int i = 0; i < row->count; i++)
        (void)json_array_append_new(results, json_string(compare_verdict_words(row->verdicts[i])));
    json_file_put(object, "results", results);
    return object;
}

static json_t *comparison_json(const struct options *options, const struct compare *compare)
{
    json_t *guards = json_array();

    for (int i = 0; i < compare->guards.count; i++)
        (void)json_array_append_new(guards, row_json(&compare->rows[i]));
    return json_pack("{s:I,s:I,s:f,s:s,s:o}", "seed", (json_int_t)compare->seed, "rounds",
                     (json_int_t)options->repeat, "seconds", compare->seconds, "round_trips_are",
                     "pipelines that the instances sent to Redis, by their own count", "guards",
                     guards);
}

bool compare_report_write(const char *path, const struct options *options,
                          const struct compare *compare, struct failure *failure)
{
    static const char *const verdicts[] = {[COMPARE_HELD] = "pass",
                                           [COMPARE_SHOWED] = "pass",
                                           [COMPARE_VOID] = "void",
                                           [COMPARE_BROKE] = "fail"};
    json_t *object = json_object();
    json_t *runs = json_array();

    json_file_put(object, "mode", json_string("compare"));
    json_file_put(object, "verdict", json_string(verdicts[compare_run_verdict(compare)]));
    json_file_put(object, "comparison", comparison_json(options, compare));
    report_json_put_place(object, options, &compare->service, &compare->cells[0].run);
    for (int i = 0; i < compare->cell_count; i++) {
        const struct compare_cell *cell = &compare->cells[i];
        json_t *run = json_object();
        json_file_put(run, "guard", json_string(compare->guards.list[cell->guard].name));
        json_file_put(run, "round", json_integer(cell->round));
        report_json_put_run(run, &cell->run);
        (void)json_array_append_new(runs, run);
    }
    json_file_put(object, "runs", runs);
    return json_file_write(path, object, failure);
}
