/*
 * A line per guard with all measures; and the same as JSON. One thread.
 */
#include <inttypes.h>
#include <stdio.h>

#include "base/json_file.h"
#include "measure/compare.h"
#include "report.h"
#include "table.h"

/* ---- the screen ---- */

static void print_table(FILE *to, const struct compare *compare)
{
    struct table table;

    table_open(&table, to);
    (void)fputs("guard\tfault", table.rows);
    for (int i = 0; i < COMPARE_MEASURE_COUNT; i++)
        (void)fprintf(table.rows, "\t%s", compare_measures[i].head);
    (void)fputs("\tresult\tpromises that fell\n", table.rows);
    for (int at = 0; at < compare->row_count; at++) {
        const struct compare_row *row = &compare->rows[at];
        char fallen[COMPARE_WORDS_MAX];
        (void)fprintf(table.rows, "%s\t%s", row->guard->name, compare_row_weather(row));
        for (int i = 0; i < COMPARE_MEASURE_COUNT; i++) {
            char text[SPREAD_TEXT_MAX];
            (void)fprintf(table.rows, "\t%s",
                          spread_text(&row->measures[i], compare_measures[i].decimals, text));
        }
        compare_row_fallen(row, fallen);
        (void)fprintf(table.rows, "\t%s\t%s\n", compare_verdict_words(compare_row_verdict(row)),
                      fallen[0] ? fallen : "-");
    }
    table_close(&table);
}

static void print_legend(FILE *to, const struct compare *compare)
{
    static const char legend[] =
        "\n"
        "  p99: of the replies that accept. trips: pipelines that the instances sent to Redis, by\n"
        "  their own count, per order sold. duplicates: buyers with two orders. stuck: runs that\n"
        "  left a lock without an end. inversions: share of pairs recorded in another order than\n"
        "  they came in.\n";
    bool has_hidden = false, has_fault[FAULT_COUNT] = {false};

    for (int i = 0; i < compare->row_count; i++) {
        const struct compare_row *row = &compare->rows[i];
        has_hidden = has_hidden || (row->guard->finding != GUARD_SOUND &&
                                    compare_row_verdict(row) == COMPARE_HELD);
        if (row->fault) has_fault[row->fault->kind] = true;
    }
    (void)fputs(legend, to);
    for (int kind = 0; kind < FAULT_COUNT; kind++)
        if (has_fault[kind])
            (void)fprintf(to, "  %s: %s.\n", fault_list[kind].name, fault_list[kind].what);
    if (has_hidden) (void)fputs("  A flawed guard that held there was not put to its test.\n", to);
}

static void print_broken(FILE *to, const struct compare *compare)
{
    for (int i = 0; i < compare->cell_count; i++) {
        const struct compare_cell *cell = &compare->cells[i];
        const struct compare_row *row = &compare->rows[cell->row];
        if (compare_judge(row->guard, &cell->run) < COMPARE_VOID) continue;
        for (int id = 0; id < AUDIT_CHECK_COUNT; id++) {
            const struct audit_check *check = &cell->run.audit.checks[id];
            if (check->verdict == AUDIT_PASS) continue;
            (void)fprintf(to, "  %s, %s, round %ld: %s %s: %s\n", row->guard->name,
                          compare_row_weather(row), cell->round, audit_verdict_name(check->verdict),
                          check->name, check->words);
        }
        const char *words = cell->run.trouble[0] ? cell->run.trouble : cell->run.shortage;
        if (words[0])
            (void)fprintf(to, "  %s, %s, round %ld: %s\n", row->guard->name,
                          compare_row_weather(row), cell->round, words);
    }
}

void compare_report_screen(FILE *to, const struct options *options, const struct compare *compare)
{
    (void)fprintf(to,
                  "\n%ld units, %ld buyers, %ld connections, %ld instances; %ld round%s, seed "
                  "%" PRIu64 ", %.0f s\n\n",
                  options->stock, options->buyers, options->connections[0], options->instances,
                  options->repeat, options->repeat == 1 ? "" : "s", compare->seed,
                  compare->seconds);
    print_table(to, compare);
    print_legend(to, compare);
    print_broken(to, compare);
    (void)fprintf(to, "\n%s\n", report_verdict(compare_run_verdict(compare)));
}

/* ---- result.json ---- */

static json_t *row_json(const struct compare_row *row)
{
    json_t *object = json_object();
    json_t *results = json_array();
    json_t *fallen = json_array();

    json_file_put(object, "guard", json_string(row->guard->name));
    json_file_put(object, "fault", json_file_words_or_null(row->fault ? row->fault->name : ""));
    json_file_put(object, "flaw", json_file_words_or_null(row->guard->flaw));
    json_file_put(object, "expected", json_string(guard_list_finding_name(row->guard->finding)));
    json_file_put(object, "result", json_string(compare_verdict_words(compare_row_verdict(row))));
    for (int i = 0; i < COMPARE_MEASURE_COUNT; i++)
        json_file_put(object, compare_measures[i].name, json_file_repeats(&row->measures[i]));
    for (int i = 0; i < row->count; i++)
        (void)json_array_append_new(results, json_string(compare_verdict_words(row->verdicts[i])));
    json_file_put(object, "results", results);
    for (int i = 0; i < PROMISE_COUNT; i++)
        if (row->has_fallen[i]) (void)json_array_append_new(fallen, json_string(promises[i].text));
    json_file_put(object, "fallen", fallen);
    return object;
}

static json_t *comparison_json(const struct options *options, const struct compare *compare)
{
    json_t *guards = json_array();

    for (int i = 0; i < compare->row_count; i++)
        (void)json_array_append_new(guards, row_json(&compare->rows[i]));
    return json_pack("{s:I,s:I,s:f,s:s,s:o}", "seed", (json_int_t)compare->seed, "rounds",
                     (json_int_t)options->repeat, "seconds", compare->seconds, "round_trips_are",
                     "pipelines that the instances sent to Redis, by their own count", "guards",
                     guards);
}

bool compare_report_write(const char *path, const struct options *options,
                          const struct compare *compare, struct failure *failure)
{
    json_t *object = json_object();
    json_t *runs = json_array();

    json_file_put(object, "mode", json_string("compare"));
    json_file_put(object, "verdict", json_string(audit_verdict_name(compare_run_verdict(compare))));
    json_file_put(object, "comparison", comparison_json(options, compare));
    report_json_put_place(object, options, &compare->service, &compare->cells[0].run);
    for (int i = 0; i < compare->cell_count; i++) {
        const struct compare_cell *cell = &compare->cells[i];
        json_t *run = json_object();
        json_file_put(run, "guard", json_string(compare->rows[cell->row].guard->name));
        json_file_put(run, "round", json_integer(cell->round));
        report_json_put_run(run, &cell->run);
        (void)json_array_append_new(runs, run);
    }
    json_file_put(object, "runs", runs);
    return json_file_write(path, object, failure);
}
