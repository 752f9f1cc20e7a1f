/*
 * One thread.
 */
#include "operators_log.h"

#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/json_file.h"

struct reader {
    struct facts *facts; /* borrowed, as the next */
    const char *sale;
    size_t first; /* step of this file */
};

static step_result result_of(const char *word)
{
    static const char *const doubts[] = {"asked", "unknown", "failed"};

    for (size_t i = 0; i < sizeof doubts / sizeof *doubts; i++)
        if (strcmp(word, doubts[i]) == 0) return STEP_MAYBE;
    if (strcmp(word, "done") == 0) return STEP_DONE;
    return strcmp(word, "repeated") == 0 ? STEP_REPEATED : STEP_REFUSED;
}

static bool take_line(void *arg, json_t *line, struct failure *why)
{
    struct reader *reader = arg;
    struct facts *facts = reader->facts;
    const char *id = NULL, *what = NULL, *sale = NULL, *key = NULL, *result = NULL;
    json_int_t at_ms = 0, units = 0, epoch = 0;

    if (json_unpack(line, "{s:I,s:s,s:s,s:s,s:I,s:s,s:s,s:I}", "t", &at_ms, "step", &id, "what",
                    &what, "sale", &sale, "units", &units, "key", &key, "result", &result, "epoch",
                    &epoch) != 0)
        return failure_set(why, "no step of an operator");
    if (strcmp(sale, reader->sale) != 0) return true;
    struct operator_step step = {.id = facts_text(facts, id, strlen(id)),
                                 .what = facts_text(facts, what, strlen(what)),
                                 .key = facts_text(facts, key, strlen(key)),
                                 .units = units,
                                 .asked_ms = at_ms,
                                 .told_ms = at_ms,
                                 .epoch = epoch,
                                 .result = result_of(result)};
    if (!step.id || !step.what || !step.key) return failure_set(why, "out of memory");
    for (size_t i = facts->step_count; i-- > reader->first;) {
        if (strcmp(facts->steps[i].id, id) != 0) continue;
        step.asked_ms = facts->steps[i].asked_ms;
        facts->steps[i] = step;
        return true;
    }
    return facts_add_step(facts, step) || failure_set(why, "out of memory");
}

bool operators_log_read(struct facts *facts, const char *sale, const char *path,
                        struct failure *failure)
{
    struct reader reader = {.facts = facts, .sale = sale, .first = facts->step_count};

    facts->has_operators = true;
    return json_file_read_lines(path, take_line, &reader, failure);
}

bool operators_log_write(const char *path, const char *sale, const struct operator_step *step,
                         struct failure *failure)
{
    json_t *line =
        json_pack("{s:I,s:s,s:s,s:s,s:s,s:s,s:I,s:s,s:s,s:I}", "t", (json_int_t)time(NULL) * 1000,
                  "step", step->id, "instance", "loadtest", "who", "loadtest", "what", step->what,
                  "sale", sale, "units", (json_int_t)step->units, "key", step->key, "result",
                  step->result == STEP_DONE ? "done" : "asked", "epoch", (json_int_t)step->epoch);
    FILE *file = line ? fopen(path, "ae") : NULL;
    bool is_kept = file && json_dumpf(line, file, JSON_COMPACT) == 0 && fputc('\n', file) != EOF &&
                   fflush(file) == 0 && fsync(fileno(file)) == 0;

    if (file) is_kept = fclose(file) == 0 && is_kept;
    json_decref(line);
    return is_kept || failure_set(failure, "%s: could not be written", path);
}
