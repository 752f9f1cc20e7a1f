/*
 * See lab_documents.h. A run is rendered in lab/show/render_json.c.
 */
#include "lab_documents.h"

#include <string.h>

#include <jansson.h>

#include "guards/guards.h"
#include "lab/plays/scenarios.h"
#include "lab/show/render.h"
#include "lab/stage/servers.h"

bool lab_documents_read_language(const char *query, enum lab_language *out)
{
    *out = query && strcmp(query, "lang=zh") == 0 ? LAB_CHINESE : LAB_ENGLISH;
    return !query || !*query || *out == LAB_CHINESE || strcmp(query, "lang=en") == 0;
}

/* ---- scenarios ----------------------------------------------------------------------------------- */

static json_t *expected_of(const struct lab_scenario *scenario, enum lab_language language)
{
    json_t *list = json_array();

    for (size_t i = 0; i < LAB_BREAKS_MAX; i++) {
        const struct lab_break *one = &scenario->expected[i];

        if (one->promise == LAB_KEPT) break;
        (void)json_array_append_new(
            list, json_pack("{s:s, s:i, s:s}", "promise", lab_promise_name(one->promise), "step",
                            (int)one->step, "meaning",
                            lab_text_in(lab_promise_text(one->promise), language)));
    }
    return list;
}

char *lab_documents_scenarios(enum lab_language language)
{
    json_t *list = json_array();

    for (size_t i = 0; scenarios_at(i); i++) {
        const struct lab_scenario *scenario = scenarios_at(i);
        const char *lesson = lab_text_in(scenario->lesson, language);

        (void)json_array_append_new(
            list, json_pack("{s:s, s:s, s:s, s:s%, s:o, s:s?, s:s?}", "number", scenario->number,
                            "name", scenario->name, "title", lab_text_in(scenario->title, language),
                            "lesson", lesson, lab_lesson_before(lesson), "expected",
                            expected_of(scenario, language), "leadsTo", scenario->leads_to, "lacks",
                            scenarios_lack(scenario)));
    }
    return render_json_dump(json_pack("{s:o}", "scenarios", list));
}

/* ---- guards -------------------------------------------------------------------------------------- */

static json_t *object_of(const struct guard *guard)
{
    return json_pack("{s:s, s:s, s:s?, s:s, s:b, s:s?}", "name", guard->name, "idea", guard->idea,
                     "flaw", guard->flaw, "expected", guard_verdict_name(guard->expected),
                     "needsRedlock", guard->needs == NEED_REDLOCK, "needs",
                     guard->needs ? guard_servers_flag(guard->needs) : NULL);
}

char *lab_documents_guards(const char *fallback, bool has_redlock)
{
    json_t *list = json_array();
    json_t *own = json_array();

    for (size_t i = 0; scenarios_guard_at(i); i++)
        (void)json_array_append_new(guards_at(i) ? list : own, object_of(scenarios_guard_at(i)));
    return render_json_dump(json_pack("{s:s, s:b, s:o, s:o}", "default", fallback, "hasRedlock",
                                      has_redlock, "guards", list, "labOnly", own));
}

char *lab_documents_ways(const char *path)
{
    json_t *root = path ? json_load_file(path, JSON_REJECT_DUPLICATES, NULL) : NULL;
    const char *mode = json_string_value(json_object_get(root, "mode"));

    if (mode && strcmp(mode, "ways") == 0) return render_json_dump(root);
    json_decref(root);
    return NULL;
}

char *lab_documents_sale(const char *id, const char *instance, const char *stored,
                         const struct guard *guard)
{
    return render_json_dump(json_pack("{s:s, s:s, s:s, s:o}", "saleId", id, "instance", instance,
                                      "storedGuard", stored, "guard", object_of(guard)));
}
