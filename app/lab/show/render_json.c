/*
 * A run as JSON. Any thread.
 */
#include <stdlib.h>
#include <string.h>

#include "aside.h"
#include "common/utf8.h"
#include "decided.h"
#include "lease.h"
#include "render.h"

json_t *render_json_text(const char *text)
{
    char *shown = text ? utf8_show(text, "\n\r\t") : NULL;
    json_t *value = shown ? json_string(shown) : json_null();

    free(shown);
    return value;
}

static const char *lease_name(enum lab_lease lease)
{
    static const char *const names[] = {"free", "lease", "for-ever", "down", "session"};

    return names[lease];
}

static json_t *actors_of(const struct lab_run *run)
{
    json_t *list = json_array();

    for (size_t i = 0; i < run->actor_count; i++) {
        (void)json_array_append_new(list,
                                    json_pack("{s:s, s:s, s:s}", "name", run->actors[i].name, "way",
                                              run->actors[i].way, "runs",
                                              run->actors[i].is_process ? "process" : "thread"));
    }
    return list;
}

/* Only where there are several it is said which one. */
static json_t *with_server(const struct lab_run *run, json_t *object, unsigned server)
{
    if (run->server_count > 0)
        (void)json_object_set_new(object, "server", json_string(tap_server_name(server)));
    return object;
}

/* The script of a call: its place among those of the run, the line that decided, and those worth reading. */
static void add_script(json_t *object, const struct tap_call *call, json_t *scripts)
{
    size_t len = 0;
    size_t at = 0;
    const char *name = decided_name(call, &len);
    json_t *lines = json_array();

    while (name && at < json_array_size(scripts) &&
           strcmp(call->script,
                  json_string_value(json_object_get(json_array_get(scripts, at), "text"))) != 0)
        at++;
    if (name && at == json_array_size(scripts))
        (void)json_array_append_new(scripts, json_pack("{s:s%, s:o}", "name", name, len, "text",
                                                       render_json_text(call->script)));
    for (unsigned line = 1; name && decided_find_line(call->script, line); line++) {
        if (decided_is_worth(call, line)) (void)json_array_append_new(lines, json_integer(line));
    }
    if (name)
        (void)json_object_set_new(object, "script",
                                  json_pack("{s:i, s:i, s:O}", "at", (int)at, "decided",
                                            (int)decided_line(call), "lines", lines));
    json_decref(lines);
}

static json_t *calls_of(const struct lab_run *run, const struct lab_step *step,
                        enum lab_language language, json_t *scripts)
{
    json_t *list = json_array();

    for (size_t i = 0; i < step->calls.count; i++) {
        const struct tap_call *call = &step->calls.list[i];
        struct lab_text about = aside_of(run, step, call);
        json_t *object =
            with_server(run,
                        json_pack("{s:o, s:o}", "command", render_json_text(call->command), "reply",
                                  render_json_text(call->reply)),
                        call->server);

        if (about.en)
            (void)json_object_set_new(object, "aside", json_string(lab_text_in(about, language)));
        add_script(object, call, scripts);
        (void)json_array_append_new(list, object);
    }
    return list;
}

static json_t *locks_of(const struct lab_run *run, size_t number)
{
    const struct lab_step *step = &run->steps[number];
    json_t *list = json_array();

    for (size_t i = 0; i < run->lock_count; i++) {
        json_t *object = json_pack("{s:s, s:o, s:s}", "key", run->locks[i], "owner",
                                   render_json_text(step->state.lock[i].owner), "ttl",
                                   lease_name(step->state.lock[i].lease));
        long long ms = lease_ms(run, number, i);

        if (ms != LEASE_UNKNOWN) (void)json_object_set_new(object, "ms", json_integer(ms));
        (void)json_array_append_new(list, with_server(run, object, run->lock_servers[i]));
    }
    return list;
}

static json_t *step_of(const struct lab_run *run, size_t i, enum lab_language language,
                       json_t *scripts)
{
    const struct lab_step *step = &run->steps[i];
    bool is_time = step->actor == LAB_TIME;

    return json_pack("{s:i, s:s?, s:s, s:o, s:s?, s:o, s:I, s:i, s:s?}", "step", (int)i + 1,
                     "actor", is_time ? NULL : run->actors[step->actor].name, "did",
                     lab_text_in(step->did, language), "calls",
                     calls_of(run, step, language, scripts), "told", step->told, "locks",
                     locks_of(run, i), "stock", (json_int_t)step->state.stock, "orders",
                     (int)(step->state.order_count - step->state.over_count), "breaks",
                     step->broken == LAB_KEPT ? NULL : lab_promise_name(step->broken));
}

static json_t *breaks_of(const struct lab_break *breaks, size_t count)
{
    json_t *list = json_array();

    for (size_t i = 0; i < count && breaks[i].promise != LAB_KEPT; i++) {
        (void)json_array_append_new(list, json_pack("{s:s, s:i}", "promise",
                                                    lab_promise_name(breaks[i].promise), "step",
                                                    (int)breaks[i].step));
    }
    return list;
}

static json_t *verdict_of(const struct lab_run *run)
{
    return json_pack("{s:o, s:o, s:b, s:o}", "broken", breaks_of(run->breaks, run->break_count),
                     "expected", breaks_of(run->scenario->expected, LAB_BREAKS_MAX), "isExpected",
                     lab_run_is_expected(run), "failure",
                     render_json_text(run->failure.text[0] ? run->failure.text : NULL));
}

json_t *render_json_run(const struct lab_run *run, enum lab_language language)
{
    const struct lab_scenario *scenario = run->scenario;
    json_t *steps = json_array();
    json_t *scripts = json_array();
    const char *lesson = lab_text_in(scenario->lesson, language);

    for (size_t i = 0; i < run->step_count; i++)
        (void)json_array_append_new(steps, step_of(run, i, language, scripts));
    return json_pack("{s:s, s:s, s:s, s:s%, s:s?, s:o, s:I, s:o, s:o, s:o, s:s?}", "number",
                     scenario->number, "name", scenario->name, "title",
                     lab_text_in(scenario->title, language), "lesson", lesson,
                     lab_lesson_before(lesson), "explanation", lab_lesson_after(lesson), "actors",
                     actors_of(run), "units", (json_int_t)run->units, "steps", steps, "scripts",
                     scripts, "verdict", verdict_of(run), "leadsTo", scenario->leads_to);
}

char *render_json_dump(json_t *value)
{
    char *text = value ? json_dumps(value, JSON_COMPACT | JSON_REAL_PRECISION(6)) : NULL;

    json_decref(value);
    return text;
}

char *render_json(const struct lab_run *run, enum lab_language language)
{
    return render_json_dump(render_json_run(run, language));
}
