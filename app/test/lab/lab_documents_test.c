/*
 * What the lab's routes say: nothing is left out, each language is its own, queries are strict.
 */
#include <stdlib.h>
#include <unistd.h>

#include <jansson.h>

#include "guards/guards.h"
#include "lab/plays/scenarios.h"
#include "lab/served/lab_documents.h"
#include "test/support/testing.h"

static json_t *parse(char *text)
{
    json_t *root = json_loads(text, JSON_REJECT_DUPLICATES, NULL);

    assert_non_null(root);
    free(text);
    return root;
}

static const char *member(const json_t *object, const char *name)
{
    return json_string_value(json_object_get(object, name));
}

TEST(a_language_is_read_from_nothing_else_than_its_query)
{
    static const struct {
        const char *query;
        bool is_valid;
        enum lab_language language;
    } cases[] = {
        {NULL, true, LAB_ENGLISH},      {"", true, LAB_ENGLISH},
        {"lang=en", true, LAB_ENGLISH}, {"lang=zh", true, LAB_CHINESE},
        {"lang=", false, LAB_ENGLISH},  {"lang=fr", false, LAB_ENGLISH},
        {"lang", false, LAB_ENGLISH},   {"lang=zh&lang=en", false, LAB_ENGLISH},
        {"x=1", false, LAB_ENGLISH},    {"lang=zh%00", false, LAB_ENGLISH},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        enum lab_language language = LAB_ENGLISH;

        assert_int_equal(lab_documents_read_language(cases[i].query, &language), cases[i].is_valid);
        if (cases[i].is_valid) assert_int_equal(language, cases[i].language);
    }
}

TEST(every_scenario_is_listed_in_its_order)
{
    json_t *root = parse(lab_documents_scenarios(LAB_ENGLISH));
    const json_t *list = json_object_get(root, "scenarios");
    size_t count = 0;

    for (; scenarios_at(count); count++) {
        const struct lab_scenario *scenario = scenarios_at(count);
        const json_t *one = json_array_get(list, count);

        assert_string_equal(member(one, "number"), scenario->number);
        assert_string_equal(member(one, "name"), scenario->name);
        assert_string_equal(member(one, "title"), scenario->title.en);
        size_t len = lab_lesson_before(scenario->lesson.en); /* what is told before it is played */
        assert_int_equal(strlen(member(one, "lesson")), len);
        assert_memory_equal(member(one, "lesson"), scenario->lesson.en, len);
        if (scenario->leads_to) assert_string_equal(member(one, "leadsTo"), scenario->leads_to);
        assert_non_null(json_object_get(one, "leadsTo"));
        assert_non_null(json_object_get(one, "lacks"));
    }
    assert_int_equal(json_array_size(list), count);
    json_decref(root);
}

static const json_t *named(const json_t *list, const char *name)
{
    size_t i = 0;
    json_t *one = NULL;

    json_array_foreach(list, i, one)
    {
        if (strcmp(member(one, "name"), name) == 0) return one;
    }
    return NULL;
}

TEST(what_a_scenario_must_come_to_is_told)
{
    json_t *root = parse(lab_documents_scenarios(LAB_CHINESE));
    const json_t *list = json_object_get(root, "scenarios");
    const json_t *oversold = json_object_get(named(list, "thread-lock"), "expected");
    const json_t *first = json_array_get(oversold, 0);

    assert_int_equal(json_array_size(oversold), 1);
    assert_string_equal(member(first, "promise"), "oversold");
    assert_int_equal(json_integer_value(json_object_get(first, "step")), 4);
    assert_string_equal(member(first, "meaning"), lab_promise_text(LAB_OVERSOLD).zh);
    assert_int_equal(json_array_size(json_object_get(named(list, "atomic-release"), "expected")),
                     0);
    json_decref(root);
}

TEST(every_guard_is_listed_with_its_flaw)
{
    json_t *root = parse(lab_documents_guards("mutex", true));
    const json_t *list = json_object_get(root, "guards");
    size_t count = 0;

    assert_string_equal(member(root, "default"), "mutex");
    assert_true(json_is_true(json_object_get(root, "hasRedlock")));
    for (; guards_at(count); count++) {
        const struct guard *guard = guards_at(count);
        const json_t *one = json_array_get(list, count);

        assert_string_equal(member(one, "name"), guard->name);
        assert_string_equal(member(one, "idea"), guard->idea);
        assert_int_equal(json_is_null(json_object_get(one, "flaw")), guard->flaw == NULL);
        assert_int_equal(json_is_true(json_object_get(one, "needsRedlock")),
                         guard->needs == NEED_REDLOCK);
        assert_int_equal(json_is_null(json_object_get(one, "needs")), !guard->needs);
    }
    assert_int_equal(json_array_size(list), count);
    for (list = json_object_get(root, "labOnly"), count = 0; json_array_get(list, count); count++)
        assert_non_null(scenarios_guard(member(json_array_get(list, count), "name")));
    assert_string_equal(member(named(list, "setex"), "expected"), "oversells");
    list = json_object_get(root, "guards");
    assert_string_equal(member(named(list, "mutex"), "expected"), "sound");
    assert_string_equal(member(named(list, "none"), "expected"), "oversells");
    json_decref(root);
}

TEST(only_a_file_of_lockcompare_is_shown)
{
    static const struct {
        const char *text;
        bool is_shown;
    } files[] = {{"{\"mode\": \"ways\", \"rows\": []}", true},
                 {"{\"mode\": \"verify\"}", false},
                 {"no JSON", false}};
    char path[] = "/tmp/lab-ways-XXXXXX";
    int fd = mkstemp(path);

    assert_null(lab_documents_ways(NULL));
    assert_null(lab_documents_ways("/nowhere/ways.json"));
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        assert_int_equal(ftruncate(fd, 0), 0);
        assert_int_equal(pwrite(fd, files[i].text, strlen(files[i].text), 0),
                         strlen(files[i].text));
        char *text = lab_documents_ways(path);
        assert_int_equal(text != NULL, files[i].is_shown);
        free(text);
    }
    (void)close(fd);
    (void)unlink(path);
}

TEST(a_sale_tells_both_its_guards)
{
    json_t *root = parse(lab_documents_sale("cup", "here", "mutex", guards_find("none")));

    assert_string_equal(member(root, "saleId"), "cup");
    assert_string_equal(member(root, "instance"), "here");
    assert_string_equal(member(root, "storedGuard"), "mutex");
    assert_string_equal(member(json_object_get(root, "guard"), "name"), "none");
    assert_string_equal(member(json_object_get(root, "guard"), "flaw"), guards_find("none")->flaw);
    json_decref(root);
}
