/*
 * The routes of the lab, which are there with --lab alone: scenarios are listed and played, and a sale
 * is sold by another guard. Runs on civetweb's threads.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "guards/guards.h"
#include "http/connection.h"
#include "lab/plays/scenarios.h"
#include "lab/schedule/schedule.h"
#include "lab/served/guard_sources.h"
#include "lab/served/lab_documents.h"
#include "lab/served/lab_runner.h"
#include "serve/handlers.h"
#include "serve/lab/classroom.h"

enum { WHY_SIZE = 256 };

static bool read_language(struct http_request *request, enum lab_language *out)
{
    if (lab_documents_read_language(request->query, out)) return true;
    return http_refuse(request, PROBLEM_INVALID_REQUEST, "lang",
                       "The query may be lang=en or lang=zh.");
}

void lab_routes_list_scenarios(struct service *service, struct http_request *request,
                               const char *id)
{
    enum lab_language language = LAB_ENGLISH;

    (void)service;
    (void)id;
    if (!read_language(request, &language)) return;
    handlers_send_made(request, &(struct http_answer){.status = 200},
                       lab_documents_scenarios(language));
}

void lab_routes_list_guards(struct service *service, struct http_request *request, const char *id)
{
    (void)id;
    handlers_send_made(request, &(struct http_answer){.status = 200},
                       lab_documents_guards(service->config->guard,
                                            service->config->servers[NEED_REDLOCK] != NULL));
}

void lab_routes_show_ways(struct service *service, struct http_request *request, const char *id)
{
    char *text = lab_documents_ways(service->config->lab_ways);

    (void)id;
    if (text) {
        handlers_send_made(request, &(struct http_answer){.status = 200}, text);
    } else {
        (void)http_refuse(request, PROBLEM_NOT_FOUND, "ways",
                          "Nothing was compared yet: lockcompare --json FILE, then seckilld "
                          "--lab --lab-ways FILE.");
    }
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
    if (!request->content_type || !http_type_is_json(request->content_type)) {
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
                                    {.detail =
                                         "The lab could not start a server of its own; the log "
                                         "of this one says why. Is redis-server installed, "
                                         "and on the PATH, and what the scenario lacks?",
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

/* In a class, one after the other of each learner. False: answered. */
static bool take_turn(struct service *service, struct http_request *request, const char *run,
                      const char *schedule)
{
    if (classroom_begin_play(service->classroom, request->seat, run, schedule)) return true;
    send_run(request, LAB_RUNNER_BUSY, &(struct lab_runner_answer){0});
    return false;
}

void lab_routes_run_scenario(struct service *service, struct http_request *request, const char *id)
{
    const struct lab_scenario *scenario = scenarios_named(id);
    enum lab_language language = LAB_ENGLISH;
    struct lab_runner_answer answer;

    if (!read_language(request, &language) || !body_is_empty_json(request)) return;
    if (!scenario) {
        (void)http_refuse(
            request, PROBLEM_NOT_FOUND, "name",
            "There is no scenario of this name; GET /api/v1/lab/scenarios lists them.");
        return;
    }
    if (!take_turn(service, request, scenario->name, "")) return;
    lab_runner_status status = lab_runner_play(
        service->lab, &(struct lab_wish){.scenario = scenario, .language = language}, &answer);
    classroom_end_play(service->classroom, request->seat, false);
    log_run(scenario->name, status, &answer.why);
    send_run(request, status, &answer);
}

/* ---- a play by a schedule ------------------------------------------------------------------------ */

static void refuse_schedule(struct http_request *request, const struct schedule *schedule)
{
    char buffer[8 * SCHEDULE_ENABLED_MAX];
    struct text more = TEXT_OVER(buffer);

    TEXT_ADD(&more, ",\"at\":");
    text_add_number(&more, (long long)schedule->len);
    TEXT_ADD(&more, ",\"choices\":[");
    for (size_t i = 0; i < schedule->choice_count; i++) {
        if (i > 0) TEXT_ADD(&more, ",");
        text_add_json(&more, schedule->choices[i].text);
    }
    text_add(&more, "]", sizeof "]");
    http_send_problem(request, PROBLEM_BAD_SCHEDULE, &(struct http_detail){.more = buffer});
}

/* A guard of that name, that can be played by a schedule; NULL: answered. */
static const struct guard *find_guard(struct http_request *request, const char *name)
{
    const struct guard *guard = scenarios_guard(name);

    if (!guard) {
        (void)http_refuse(request, PROBLEM_INVALID_REQUEST, "guard",
                          "There is no guard of this name.");
    } else if (schedule_refusal(guard)) {
        (void)http_refuse(request, PROBLEM_FORBIDDEN, "guard", schedule_refusal(guard));
        guard = NULL;
    }
    return guard;
}

void lab_routes_play(struct service *service, struct http_request *request, const char *id)
{
    struct json_play play = {.actors = 0};
    enum lab_language language = LAB_ENGLISH;
    struct lab_runner_answer answer;

    (void)id;
    if (!read_language(request, &language) || !handlers_read_body(request, json_read_play, &play))
        return;
    struct schedule schedule = {.guard = find_guard(request, play.sale.guard),
                                .text = play.schedule,
                                .actors = play.actors,
                                .units = play.sale.initial};
    if (!schedule.guard || !take_turn(service, request, schedule.guard->name, play.schedule))
        return;
    lab_runner_status status = lab_runner_play(
        service->lab, &(struct lab_wish){.schedule = &schedule, .language = language}, &answer);
    classroom_end_play(service->classroom, request->seat, answer.is_broken);
    if (status != LAB_RUNNER_PLAYED) log_run(schedule.guard->name, status, &answer.why);
    if (status == LAB_RUNNER_PLAYED && play.schedule[schedule.len]) {
        refuse_schedule(request, &schedule);
        free(answer.json);
    } else {
        send_run(request, status, &answer);
    }
}

/* ---- a search ------------------------------------------------------------------------------------ */

enum { TELL_MS = 200, WRITE_MS = 1000, EVENT_SIZE = 256 };

/* Who waits for it: told of it by the runner's thread while it searches, by his own at its end. */
struct searcher {
    struct http_request *request;
    bool wants_events, has_begun;
    bool has_gone; /* or does not read */
    int64_t next_event_ms;
};

static void send_event(struct searcher *self, const char *name, const char *data)
{
    const char *const parts[] = {"event: ", name, "\ndata: ", data, "\n\n"};

    if (!self->has_begun) {
        http_begin_events(self->request);
        connection_begin_stream(self->request->connection);
        self->has_begun = true;
    }
    for (size_t i = 0; !self->has_gone && i < sizeof parts / sizeof parts[0]; i++)
        self->has_gone = connection_write(self->request->connection, parts[i], strlen(parts[i]),
                                          WRITE_MS) != CONNECTION_FINE;
}

/* Nobody is searched for who has hung up. */
static bool goes_on(const struct explore *search, void *arg)
{
    struct searcher *self = arg;
    int64_t now_ms = clock_mono_ms();
    char data[EVENT_SIZE];

    if (now_ms < self->next_event_ms) return true;
    self->next_event_ms = now_ms + TELL_MS;
    (void)snprintf(data, sizeof data,
                   "{\"depth\":%u,\"plays\":%zu,\"schedules\":%zu,\"states\":%zu}", search->reached,
                   search->plays, search->schedules, search->states);
    if (self->wants_events) send_event(self, "progress", data);
    return !self->has_gone && connection_wait(self->request->connection, -1, 0) != CONNECTION_GONE;
}

/* The stream has begun: what else were a status is its last event. */
static void send_end(struct searcher *self, lab_runner_status status,
                     const struct lab_runner_answer *answer)
{
    char why[WHY_SIZE];
    char data[3 * WHY_SIZE];
    struct text text = TEXT_OVER(data);

    TEXT_ADD(&text, "{\"type\":\"/problems/");
    text_add_string(&text, status == LAB_RUNNER_FAILED ? "lab-failed" : "lab-unavailable");
    TEXT_ADD(&text, "\",\"detail\":");
    log_escape(answer->why.text, why, sizeof why);
    text_add_json(&text, why);
    text_add(&text, "}", sizeof "}");
    send_event(self, answer->json ? "found" : "problem", answer->json ? answer->json : data);
    free(answer->json);
    connection_end_stream(self->request->connection);
}

void lab_routes_explore(struct service *service, struct http_request *request, const char *id)
{
    struct json_search wanted = {.play = {.actors = 2, .sale = {.initial = 1}},
                                 .faults = JSON_FAULTS_MAX,
                                 .seconds = JSON_SEARCH_SECONDS_MAX,
                                 .kinds = "tk"};
    struct lab_runner_answer answer;

    (void)id;
    if (!handlers_read_body(request, json_read_search, &wanted)) return;
    struct searcher searcher = {.request = request, .wants_events = wanted.events};
    struct explore search = {.guard = find_guard(request, wanted.play.sale.guard),
                             .actors = wanted.play.actors,
                             .units = wanted.play.sale.initial,
                             .faults = wanted.faults,
                             .depth = SCHEDULE_CHOICES_MAX,
                             .kinds = wanted.kinds,
                             .limit_ms = wanted.seconds * 1000LL,
                             .goes_on = http_has_socket(request) ? goes_on : NULL,
                             .goes_on_arg = &searcher};
    if (!search.guard || !take_turn(service, request, search.guard->name, "")) return;
    lab_runner_status status =
        lab_runner_play(service->lab, &(struct lab_wish){.search = &search}, &answer);
    classroom_end_play(service->classroom, request->seat, false); /* it is not his own doing */
    log_run(search.guard->name, status, &answer.why);
    if (searcher.has_begun)
        send_end(&searcher, status, &answer);
    else
        send_run(request, status, &answer);
}

/* ---- a sale's guard ------------------------------------------------------------------------------ */

/* The guard that is asked for, and can run here; NULL: answered. */
static const struct guard *read_guard(struct service *service, struct http_request *request)
{
    char name[SALE_GUARD_MAX + 1] = "";

    if (!handlers_read_body(request, json_read_guard, name)) return NULL;
    const struct guard *guard = guards_find(name);
    if (!guard->needs || service->config->servers[guard->needs]) return guard;
    (void)http_refuse(request, PROBLEM_FORBIDDEN, "guard", guard_servers_refusal(guard->needs));
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
    if (sale.payment.window_ms > 0 || sale.segments.count > 0) {
        (void)http_refuse(request, PROBLEM_CONFLICT, "guard",
                          "What is paid for later, or in segments, keeps its guard.");
        return;
    }
    if (!group_commit_switch_guard(service->commit, id, guard)) {
        http_send_problem(request, PROBLEM_INTERNAL, NULL);
        return;
    }
    log_event(LOG_WARN, &(struct log_fields){.event = "guard", .sale = id},
              "sale %s: sold here by guard %s from now on; its own is %s", id, guard->name,
              sale.guard);
    handlers_send_made(request, &(struct http_answer){.status = 200},
                       lab_documents_sale(id, service->config->instance, sale.guard, guard));
}
