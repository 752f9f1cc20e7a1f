/*
 * The routes of the lab, which are there with --lab alone: scenarios are listed and played, and a sale
 * is sold by another guard. Runs on civetweb's threads.
 */
#include <stdlib.h>
#include <string.h>

#include "guards/guards.h"
#include "handlers.h"
#include "lab/plays/scenarios.h"
#include "lab/served/guard_sources.h"
#include "lab/served/lab_documents.h"
#include "lab/served/lab_runner.h"

enum { WHY_SIZE = 256 };

static bool language_is_read(struct http_request *request, enum lab_language *out)
{
    if (lab_documents_language_is_read(request->query, out)) return true;
    return http_refuse(request, PROBLEM_INVALID_REQUEST, "lang",
                       "The query may be lang=en or lang=zh.");
}

void lab_routes_list_scenarios(struct service *service, struct http_request *request,
                               const char *id)
{
    enum lab_language language = LAB_ENGLISH;

    (void)service;
    (void)id;
    if (!language_is_read(request, &language)) return;
    handlers_send_made(request, &(struct http_answer){.status = 200},
                       lab_documents_scenarios(language));
}

void lab_routes_list_guards(struct service *service, struct http_request *request, const char *id)
{
    (void)id;
    handlers_send_made(
        request, &(struct http_answer){.status = 200},
        lab_documents_guards(service->config->guard, service->config->redlock != NULL));
}

void lab_routes_show_guard_source(struct service *service, struct http_request *request,
                                  const char *id)
{
    bool is_known = false;
    char *text = guard_sources_text(id, &is_known);

    (void)service;
    if (!is_known) {
        (void)http_refuse(request, PROBLEM_NOT_FOUND, "name",
                          "There is no guard of this name; GET /api/v1/lab/guards lists them.");
        return;
    }
    if (!text) {
        http_send_problem(request, PROBLEM_INTERNAL, NULL);
        return;
    }
    http_send(request, &(struct http_answer){.status = 200,
                                             .type = "text/plain; charset=utf-8",
                                             .body = text,
                                             .body_len = strlen(text)});
    free(text);
}

/* ---- a run --------------------------------------------------------------------------------------- */

/*
 * Nothing to say, but it has to be said as JSON: there is no token here, and what a foreign page sends
 * without asking first is of another type.
 */
static bool body_is_empty_json(struct http_request *request)
{
    if (!request->content_type) {
        return http_refuse(request, PROBLEM_UNSUPPORTED_MEDIA_TYPE, "Content-Type",
                           "Send Content-Type: application/json; the body may be empty.");
    }
    return handlers_read_body(request, json_read_nothing, NULL);
}

static void send_run(struct http_request *request, lab_runner_status status,
                     const struct lab_runner_answer *answer)
{
    static const struct {
        http_problem problem;
        struct http_detail detail;
    } refusals[] = {
        [LAB_RUNNER_BUSY] = {PROBLEM_LAB_BUSY,
                             {.detail = "One scenario plays at a time. Nothing was played.",
                              .headers = "Retry-After: 1\r\n"}},
        [LAB_RUNNER_STOPPED] = {PROBLEM_LAB_UNAVAILABLE,
                                {.detail = "This server is stopping, and ended the run.",
                                 .headers = "Retry-After: 5\r\n"}},
        [LAB_RUNNER_UNAVAILABLE] = {PROBLEM_LAB_UNAVAILABLE,
                                    {.detail = "The lab could not start a redis-server of its own; "
                                               "the log of this server says why. Is redis-server "
                                               "installed, and on the PATH?",
                                     .headers = "Retry-After: 5\r\n"}},
        [LAB_RUNNER_FAILED] = {PROBLEM_LAB_FAILED, {0}},
    };
    struct http_detail detail = refusals[status].detail;
    char why[WHY_SIZE];

    if (status == LAB_RUNNER_PLAYED) {
        handlers_send_made(request, &(struct http_answer){.status = 200}, answer->json);
        return;
    }
    log_escape(answer->why.text, why, sizeof why); /* cut to what fits into an answer */
    if (!detail.detail) detail.detail = why;
    http_send_problem(request, refusals[status].problem, &detail);
}

static void log_run(const char *name, lab_runner_status status, const struct start_error *why)
{
    static const char *const words[] = {
        [LAB_RUNNER_PLAYED] = "played",
        [LAB_RUNNER_BUSY] = "another one plays",
        [LAB_RUNNER_STOPPED] = "ended before its end",
        [LAB_RUNNER_UNAVAILABLE] = "no lab",
        [LAB_RUNNER_FAILED] = "did not come to its end",
    };

    log_line(why->text[0] ? LOG_WARN : LOG_INFO, "lab: scenario %s: %s%s%s", name, words[status],
             why->text[0] ? ": " : "", why->text);
}

void lab_routes_run_scenario(struct service *service, struct http_request *request, const char *id)
{
    const struct lab_scenario *scenario = scenarios_named(id);
    enum lab_language language = LAB_ENGLISH;
    struct lab_runner_answer answer;

    if (!language_is_read(request, &language) || !body_is_empty_json(request)) return;
    if (!scenario) {
        (void)http_refuse(
            request, PROBLEM_NOT_FOUND, "name",
            "There is no scenario of this name; GET /api/v1/lab/scenarios lists them.");
        return;
    }
    lab_runner_status status = lab_runner_play(service->lab, scenario, language, &answer);
    log_run(scenario->name, status, &answer.why);
    send_run(request, status, &answer);
}

/* ---- a sale's guard ------------------------------------------------------------------------------ */

/* The guard that is asked for, and can run here; NULL: answered. */
static const struct guard *read_guard(struct service *service, struct http_request *request)
{
    char name[SALE_GUARD_MAX + 1] = "";

    if (!handlers_read_body(request, json_read_guard, name)) return NULL;
    const struct guard *guard = guards_find(name);
    if (!guard->needs_redlock || service->config->redlock) return guard;
    (void)http_refuse(request, PROBLEM_FORBIDDEN, "guard",
                      "This guard runs only with the servers of --redlock.");
    return NULL;
}

void lab_routes_switch_guard(struct service *service, struct http_request *request, const char *id)
{
    const struct guard *guard = read_guard(service, request);
    struct sale sale = {0};
    struct lk_error err = {0};

    if (!guard) return;
    store_status status = store_load_sale(service->store, id, &sale, &err);
    if (handlers_has_failed(request, status, &err)) return;
    if (!group_commit_switch_guard(service->commit, id, guard)) {
        http_send_problem(request, PROBLEM_INTERNAL, NULL);
        return;
    }
    log_line(LOG_WARN, "sale %s: sold here by guard %s from now on; its own is %s", id, guard->name,
             sale.guard);
    handlers_send_made(request, &(struct http_answer){.status = 200},
                       lab_documents_sale(&(struct lab_sale){.id = id,
                                                             .instance = service->config->instance,
                                                             .stored = sale.guard,
                                                             .guard = guard}));
}
