/*
 * seckillctl lab: plays the scenarios of the lock lab on a Redis of its own. Asks no service. The
 * actors' threads are the lab's; here is one.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "ctl.h"
#include "lab/lab.h"
#include "lab/plays/scenarios.h"
#include "lab/show/columns.h"
#include "lab/show/render.h"
#include "lab/stage/servers.h"

bool ctl_lab_language(const struct ctl_request *request, enum lab_language *out)
{
    const char *text = request->lang;

    *out = text && strcmp(text, "zh") == 0 ? LAB_CHINESE : LAB_ENGLISH;
    if (!text || strcmp(text, "zh") == 0 || strcmp(text, "en") == 0) return true;
    (void)ctl_complain("--lang %s: en or zh", text);
    return false;
}

/* ---- list ------------------------------------------------------------------------------------------ */

static const char *verdict_of(const struct lab_scenario *scenario)
{
    return scenario->expected[0].promise == LAB_KEPT
               ? "sound"
               : lab_promise_name(scenario->expected[0].promise);
}

static void list_one(const struct lab_scenario *scenario, enum lab_language language, bool is_json)
{
    const char *title = lab_text_in(scenario->title, language);
    const char *lacks = scenarios_lack(scenario);

    if (!is_json) {
        (void)printf("%-4s %-24s %-16s %s", scenario->number, scenario->name, verdict_of(scenario),
                     title);
        if (lacks) (void)printf(" (not available: install %s)", lacks);
        (void)putchar('\n');
        return;
    }
    json_t *object =
        json_pack("{s:s, s:s, s:s, s:s, s:s, s:s?}", "number", scenario->number, "name",
                  scenario->name, "title", title, "lesson", lab_text_in(scenario->lesson, language),
                  "expected", verdict_of(scenario), "lacks", lacks);

    (void)json_dumpf(object, stdout, JSON_COMPACT);
    json_decref(object);
}

int ctl_lab_list(const struct ctl_request *request)
{
    enum lab_language language = LAB_ENGLISH;

    if (!ctl_lab_language(request, &language)) return CTL_USAGE;
    if (request->is_json) (void)putchar('[');
    for (size_t i = 0; scenarios_at(i); i++) {
        if (request->is_json && i > 0) (void)putchar(',');
        list_one(scenarios_at(i), language, request->is_json);
    }
    if (request->is_json) (void)puts("]");
    return CTL_OK;
}

/* ---- run ------------------------------------------------------------------------------------------- */

static void on_signal(int number)
{
    (void)number;
    tap_interrupt();
}

/* Ctrl-C ends the scenario; then everything is put away as usual. */
static void catch_signals(void)
{
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
    struct sigaction action = {.sa_handler = on_signal};

    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        (void)sigaction(numbers[i], &action, NULL);
}

struct lab *ctl_lab_open(void)
{
    struct start_error why = {0};

    catch_signals();
    struct lab *lab = lab_open(&why);
    if (!lab) (void)ctl_complain("%s", why.text);
    return lab;
}

/* CTL_OK when its verdict is the expected one. */
static int play(struct lab *lab, const struct lab_scenario *scenario, enum lab_language language,
                bool is_json)
{
    struct lab_run *run = lab_play(lab, scenario);
    bool is_expected = run && lab_run_is_expected(run);
    char *json = NULL;

    if (run && is_json) {
        json = render_json(run, language);
        if (json) (void)fputs(json, stdout);
        free(json);
    } else if (run) {
        render_text(run, language, stdout);
    }
    if (!is_expected)
        (void)ctl_complain("scenario %s: %s", scenario->name,
                           run && run->failure.text[0] ? run->failure.text
                                                       : "the verdict is not the expected one");
    lab_run_free(run);
    return is_expected ? CTL_OK : CTL_REFUSED;
}

static int play_all(struct lab *lab, enum lab_language language, bool is_json)
{
    int status = CTL_OK;
    size_t played = 0;
    size_t i = 0;

    if (is_json) (void)putchar('[');
    for (; scenarios_at(i) && !tap_is_interrupted(); i++) {
        const char *lacks = scenarios_lack(scenarios_at(i));

        if (lacks)
            (void)ctl_complain("scenario %s is not played: install %s", scenarios_at(i)->name,
                               lacks);
        if (lacks) continue;
        if (played++ > 0) (void)fputs(is_json ? "," : "\n\n", stdout);
        if (play(lab, scenarios_at(i), language, is_json) != CTL_OK) status = CTL_REFUSED;
    }
    if (is_json) (void)puts("]");
    if (!is_json) (void)printf("\n%zu scenarios\n", played);
    if (!scenarios_at(i)) return status;
    (void)ctl_complain("interrupted");
    return CTL_REFUSED;
}

int ctl_lab_run(const struct ctl_request *request)
{
    const struct lab_scenario *scenario = scenarios_named(request->id);
    bool is_all = strcmp(request->id, "all") == 0;
    enum lab_language language = LAB_ENGLISH;

    if (!ctl_lab_language(request, &language)) return CTL_USAGE;
    if (!scenario && !is_all)
        return ctl_complain("\"%s\" is no scenario; seckillctl lab list names them", request->id);
    struct lab *lab = ctl_lab_open();
    if (!lab) return CTL_UNREACHABLE;
    int status = is_all ? play_all(lab, language, request->is_json)
                        : play(lab, scenario, language, request->is_json);
    if (!is_all && request->is_json) (void)putchar('\n');
    lab_close(lab);
    return status;
}
