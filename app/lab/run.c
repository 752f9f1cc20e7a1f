/*
 * See run.h.
 */
#include "run.h"

#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name;
    struct lab_text text;
} promises[] = {
#define PROMISE_ENTRY(value, name, en, zh) [value] = {(name), {(en), (zh)}},
    LAB_PROMISE_LIST(PROMISE_ENTRY)
#undef PROMISE_ENTRY
};

const char *lab_text_in(struct lab_text text, enum lab_language language)
{
    return language == LAB_CHINESE ? text.zh : text.en;
}

const char *lab_promise_name(enum lab_promise promise)
{
    return promises[promise].name;
}

struct lab_text lab_promise_text(enum lab_promise promise)
{
    return promises[promise].text;
}

size_t lab_lesson_before(const char *lesson)
{
    return strcspn(lesson, "\n");
}

const char *lab_lesson_after(const char *lesson)
{
    const char *end = strchr(lesson, '\n');

    return end ? end + 1 : NULL;
}

void lab_run_free(struct lab_run *run)
{
    if (!run) return;
    for (size_t i = 0; i < run->step_count; i++)
        tap_calls_free(&run->steps[i].calls);
    free(run);
}

const struct lab_break *lab_run_break(const struct lab_run *run, enum lab_promise promise)
{
    for (size_t i = 0; i < run->break_count; i++) {
        if (run->breaks[i].promise == promise) return &run->breaks[i];
    }
    return NULL;
}

bool lab_run_is_expected(const struct lab_run *run)
{
    size_t count = 0;

    while (count < LAB_BREAKS_MAX && run->scenario->expected[count].promise != LAB_KEPT)
        count++;
    if (run->failure.text[0] || run->break_count != count) return false;
    for (size_t i = 0; i < count; i++) {
        if (run->breaks[i].promise != run->scenario->expected[i].promise ||
            run->breaks[i].step != run->scenario->expected[i].step)
            return false;
    }
    return true;
}
