/*
 * What operators do to a sale that is there: end, pause, resume, patch, restock; and the service's
 * report about it. Every step is logged once, also one that was refused. Runs on civetweb's threads.
 */
#include <stdio.h>

#include "handlers.h"
#include "store_admin.h"

struct refusal_row {
    http_problem problem;
    struct http_detail detail;
};

/* Why a step was not taken; NULL detail: it was. */
static const struct refusal_row refusals[SALE_STEP_COUNT] = {
    [SALE_STEP_HAS_ENDED] = {PROBLEM_CONFLICT, {.detail = "The sale has ended."}},
    [SALE_STEP_NOT_PAUSED] = {PROBLEM_CONFLICT, {.detail = "The sale is not paused."}},
    [SALE_STEP_HAS_STARTED] = {PROBLEM_CONFLICT,
                               {.detail = "The sale has started already.", .field = "startsAt"}},
    [SALE_STEP_ENDS_IN_PAST] = {PROBLEM_INVALID_REQUEST,
                                {.detail = "It has to be in the future.", .field = "endsAt"}},
    [SALE_STEP_ENDS_TOO_EARLY] = {PROBLEM_INVALID_REQUEST,
                                  {.detail = "endsAt has to come after startsAt.",
                                   .field = "endsAt"}},
    [SALE_STEP_KEY_REUSED] = {PROBLEM_CONFLICT,
                              {.detail = "This key was used for another number of units.",
                               .field = "Idempotency-Key"}},
    [SALE_STEP_TOO_MANY] = {PROBLEM_CONFLICT,
                            {.detail = "More than 100000000 units would be left.",
                             .field = "units"}},
};

/* What became of one step on one sale. */
struct step_end {
    const char *id;
    const char *what; /* "pause" */
    store_status status;
    sale_step step; /* with STORE_OK */
    struct lk_error err;
};

static void log_step(const struct service *service, const struct http_request *request,
                     const struct step_end *end)
{
    char client[CLIENT_TEXT_SIZE];
    const char *came_to = "failed";
    log_level level = LOG_WARN;

    if (end->status == STORE_OK || end->status == STORE_NOT_FOUND) {
        level = LOG_INFO;
        came_to = end->status == STORE_OK ? sale_step_name(end->step) : "no such sale";
    } else if (end->status == STORE_UNKNOWN) {
        came_to = "sent, no answer";
    }
    log_line(level, "sale %s: %s: %s, by %s", end->id, end->what, came_to,
             handlers_client(service, request, client));
}

static void send_repeated(struct service *service, struct http_request *request, const char *id)
{
    struct sale sale = {0};
    struct lk_error err = {0};
    store_status status = store_load_sale(service->store, id, &sale, &err);

    if (status != STORE_OK) {
        handlers_send_store_failure(request, status, &err);
        return;
    }
    handlers_note_guard(service, &sale);
    handlers_send_made(
        request, &(struct http_answer){.status = 200, .headers = "Idempotency-Replayed: true\r\n"},
        json_of_sale(&sale, JSON_FOR_OPERATORS));
}

/* Log it, and answer with the sale as it is now, or with why not. */
static void end_step(struct service *service, struct http_request *request,
                     const struct step_end *end)
{
    log_step(service, request, end);
    if (end->status != STORE_OK) {
        handlers_send_store_failure(request, end->status, &end->err);
    } else if (refusals[end->step].detail.detail) {
        http_send_problem(request, refusals[end->step].problem, &refusals[end->step].detail);
    } else if (end->step == SALE_STEP_REPEATED) {
        send_repeated(service, request, end->id);
    } else {
        handlers_send_sale(service, request, end->id, JSON_FOR_OPERATORS);
    }
}

static void refuse_body(struct http_request *request, const struct json_error *error)
{
    http_send_problem(request, PROBLEM_INVALID_REQUEST,
                      &(struct http_detail){.detail = error->detail, .field = error->field});
}

static bool body_is_nothing(struct http_request *request)
{
    struct http_body body;
    struct json_error error = {0};

    if (!http_read_body(request, &body)) return false;
    if (json_read_nothing(body.data, body.len, &error)) return true;
    refuse_body(request, &error);
    return false;
}

void operators_end_sale(struct service *service, struct http_request *request, const char *id)
{
    struct step_end end = {.id = id, .what = "end", .step = SALE_STEP_DONE};

    if (!body_is_nothing(request)) return;
    end.status = store_end_sale(service->store, id, &end.err);
    end_step(service, request, &end);
}

void operators_pause_sale(struct service *service, struct http_request *request, const char *id)
{
    struct step_end end = {.id = id, .what = "pause"};

    if (!body_is_nothing(request)) return;
    end.status = store_pause_sale(service->store, id, &end.step, &end.err);
    end_step(service, request, &end);
}

void operators_resume_sale(struct service *service, struct http_request *request, const char *id)
{
    struct step_end end = {.id = id, .what = "resume"};

    if (!body_is_nothing(request)) return;
    end.status = store_resume_sale(service->store, id, &end.step, &end.err);
    end_step(service, request, &end);
}

void operators_patch_sale(struct service *service, struct http_request *request, const char *id)
{
    struct step_end end = {.id = id, .what = "patch"};
    struct http_body body;
    struct json_patch patch;
    struct json_error error = {0};

    if (!http_read_body(request, &body)) return;
    if (!json_read_patch(body.data, body.len, &patch, &error)) {
        refuse_body(request, &error);
        return;
    }
    end.status = store_patch_sale(service->store, id, &patch.patch, &end.step, &end.err);
    if (end.status == STORE_OK && end.step == SALE_STEP_ENDS_TOO_EARLY && patch.patch.ends_ms < 0) {
        log_step(service, request,
                 &end); /* the end is the old one: it is the new start that comes too late */
        http_send_problem(
            request, PROBLEM_INVALID_REQUEST,
            &(struct http_detail){.detail = "It has to come before endsAt.", .field = "startsAt"});
        return;
    }
    end_step(service, request, &end);
}

void operators_restock_sale(struct service *service, struct http_request *request, const char *id)
{
    char what[IDEMPOTENCY_KEY_MAX + 64];
    char key[IDEMPOTENCY_KEY_MAX + 1];
    struct step_end end = {.id = id, .what = what};
    struct http_body body;
    struct json_error error = {0};
    int64_t units = 0;

    if (!http_read_idempotency_key(request, key) || !http_read_body(request, &body)) return;
    if (!json_read_restock(body.data, body.len, &units, &error)) {
        refuse_body(request, &error);
        return;
    }
    (void)snprintf(what, sizeof what, "restock of %lld units, key \"%s\"", (long long)units, key);
    end.status = store_restock_sale(service->store, id, units, key, &end.step, &end.err);
    end_step(service, request, &end);
}

void operators_audit_sale(struct service *service, struct http_request *request, const char *id)
{
    struct sale_audit audit;
    struct lk_error err = {0};
    char client[CLIENT_TEXT_SIZE];
    store_status status = store_audit_sale(service->store, id, &audit, &err);

    if (status != STORE_OK) {
        handlers_send_store_failure(request, status, &err);
        return;
    }
    log_line(LOG_INFO, "sale %s: audit: %s, by %s", id, audit_verdict_name(audit.verdict),
             handlers_client(service, request, client));
    handlers_send_made(request, &(struct http_answer){.status = 200},
                       json_of_audit(&audit, id, service->config->instance));
}
