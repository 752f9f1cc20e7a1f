/*
 * What operators do to a sale that is there: end, pause, resume, patch, restock, remove; and the service's
 * report about it. Every step is logged once, also one that was refused. Runs on civetweb's threads.
 */
#include <stdio.h>

#include "base/clock.h"
#include "handlers.h"
#include "store/store_admin.h"

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
    [SALE_STEP_NOT_OVER] = {PROBLEM_CONFLICT, {.detail = "The sale is not over."}},
    [SALE_STEP_IS_HELD] = {PROBLEM_CONFLICT, {.detail = "Some orders are held still."}},
    [SALE_STEP_OWES] = {PROBLEM_CONFLICT, {.detail = "Money is owed back still."}},
    [SALE_STEP_NOT_BOOKED] = {PROBLEM_CONFLICT,
                              {.detail = "The book has not got all of it yet. Ask again."}},
    [SALE_STEP_NO_WAITING] = {PROBLEM_CONFLICT,
                              {.detail = "The sale has no waiting room.", .field = "waitingRoom"}},
};

/* What became of one step on one sale. */
struct step_end {
    struct operator_step asked;
    store_status status;
    struct sale_step_end taken; /* with STORE_OK */
    struct lk_error err;
};

static void log_step(const struct step_end *end)
{
    const struct operator_step *asked = &end->asked;
    char units[IDEMPOTENCY_KEY_MAX + 64] = "";
    const char *came_to = "failed";
    log_level level = LOG_WARN;

    if (end->status == STORE_OK || end->status == STORE_NOT_FOUND) {
        level = LOG_INFO;
        came_to = end->status == STORE_OK ? store_step_name(end->taken.step) : "no such sale";
    } else if (end->status == STORE_UNKNOWN) {
        came_to = "sent, no answer";
    }
    if (asked->key)
        (void)snprintf(units, sizeof units, " of %lld units, key \"%s\"", (long long)asked->units,
                       asked->key);
    log_event(level,
              &(struct log_fields){.event = asked->what,
                                   .sale = asked->sale,
                                   .who = asked->who,
                                   .from = asked->client,
                                   .units = asked->units,
                                   .duration_ns = clock_mono_ns() - asked->began_ns},
              "sale %s: %s%s: %s, by %s at %s", asked->sale, asked->what, units, came_to,
              asked->who, asked->client);
}

bool operator_steps_begin(struct service *service, struct http_request *request,
                          struct operator_step *step)
{
    struct start_error why = {0};

    (void)handlers_client(service, request, step->client);
    step->who = request->operator_name;
    step->began_ns = clock_mono_ns();
    if (operators_log_add(service->operators_log, service->config->instance, step, &why))
        return true;
    log_event(LOG_ERROR,
              &(struct log_fields){.event = step->what, .sale = step->sale, .who = step->who},
              "sale %s: %s: not done: %s", step->sale, step->what, why.text);
    http_send_problem(
        request, PROBLEM_STORE_UNAVAILABLE,
        &(struct http_detail){.detail = "The operators' log cannot be written: nothing was done.",
                              .headers = "Retry-After: 1\r\n"});
    return false;
}

void operator_steps_note_end(struct service *service, struct operator_step *step,
                             store_status status, const struct sale_step_end *taken)
{
    static const char *const results[] = {[STORE_NOT_FOUND] = "no-such-sale",
                                          [STORE_EXISTS] = "exists",
                                          [STORE_UNAVAILABLE] = "unavailable",
                                          [STORE_UNKNOWN] = "unknown",
                                          [STORE_FAILED] = "failed"};
    struct start_error why = {0};

    step->result = status == STORE_OK ? store_step_name(taken->step) : results[status];
    if (status == STORE_OK) step->epoch = taken->epoch;
    if (!operators_log_add(service->operators_log, service->config->instance, step, &why))
        log_event(LOG_ERROR,
                  &(struct log_fields){.event = step->what, .sale = step->sale, .who = step->who},
                  "sale %s: %s: its end is in no log: %s", step->sale, step->what, why.text);
}

static void note_step(struct service *service, struct step_end *end)
{
    operator_steps_note_end(service, &end->asked, end->status, &end->taken);
    log_step(end);
}

/* Log it, and answer with the sale as it is now, or with why not. */
static void end_step(struct service *service, struct http_request *request, struct step_end *end)
{
    note_step(service, end);
    if (end->status != STORE_OK) {
        handlers_send_store_failure(request, end->status, &end->err);
    } else if (refusals[end->taken.step].detail.detail) {
        http_send_problem(request, refusals[end->taken.step].problem,
                          &refusals[end->taken.step].detail);
    } else {
        handlers_send_sale(service, request, end->asked.sale, JSON_FOR_OPERATORS, &end->taken);
    }
}

/* A step that needs no words. */
typedef store_status plain_step(struct store *store, const char *id, struct sale_step_end *out_end,
                                struct lk_error *err);

static void take_plain(struct service *service, struct http_request *request,
                       struct operator_step asked, plain_step *take)
{
    struct step_end end = {.asked = asked};

    if (!handlers_read_body(request, json_read_nothing, NULL) ||
        !operator_steps_begin(service, request, &end.asked))
        return;
    end.status = take(service->store, asked.sale, &end.taken, &end.err);
    end_step(service, request, &end);
}

void operator_steps_end(struct service *service, struct http_request *request, const char *id)
{
    take_plain(service, request, (struct operator_step){.sale = id, .what = "end"}, store_end_sale);
}

void operator_steps_pause(struct service *service, struct http_request *request, const char *id)
{
    take_plain(service, request, (struct operator_step){.sale = id, .what = "pause"},
               store_pause_sale);
}

void operator_steps_resume(struct service *service, struct http_request *request, const char *id)
{
    take_plain(service, request, (struct operator_step){.sale = id, .what = "resume"},
               store_resume_sale);
}

void operator_steps_patch(struct service *service, struct http_request *request, const char *id)
{
    struct step_end end = {.asked = {.sale = id, .what = "patch"}};
    struct json_patch patch;

    if (!handlers_read_body(request, json_read_patch, &patch) ||
        !operator_steps_begin(service, request, &end.asked))
        return;
    end.status = store_patch_sale(service->store, id, &patch.patch, &end.taken, &end.err);
    if (end.status == STORE_OK && end.taken.step == SALE_STEP_ENDS_TOO_EARLY &&
        patch.patch.ends_ms < 0) {
        note_step(service, &end); /* the end is the old one: it is the new start that is late */
        (void)http_refuse(request, PROBLEM_INVALID_REQUEST, "startsAt",
                          "It has to come before endsAt.");
        return;
    }
    end_step(service, request, &end);
}

void operator_steps_restock(struct service *service, struct http_request *request, const char *id)
{
    char key[IDEMPOTENCY_KEY_MAX + 1];
    struct step_end end = {.asked = {.sale = id, .what = "restock", .key = key}};

    if (!http_read_idempotency_key(request, key) ||
        !handlers_read_body(request, json_read_restock, &end.asked.units))
        return;
    if (!key[0]) { /* what was lost on its way could come late, behind the one that was asked again */
        (void)http_refuse(
            request, PROBLEM_INVALID_REQUEST, "Idempotency-Key",
            "A restock needs an Idempotency-Key of its own, or it could happen twice.");
        return;
    }
    if (!operator_steps_begin(service, request, &end.asked)) return;
    end.status = store_restock_sale(
        service->store, id, &(struct sale_restock){end.asked.units, key}, &end.taken, &end.err);
    end_step(service, request, &end);
}

/* With a book it is kept there first, under another name: from then on nobody makes it again. */
static void remove_sale(struct service *service, struct step_end *end)
{
    const char *id = end->asked.sale;

    end->status = store_begin_removal(service->store, id, &end->taken, &end->err);
    if (end->status != STORE_OK || end->taken.step != SALE_STEP_DONE) return;
    if (book_remove(service->book, id))
        end->status = store_end_removal(service->store, id, &end->taken, &end->err);
    else
        end->taken.step = SALE_STEP_NOT_BOOKED;
}

/* Of a sale in segments that is not whole: somebody died amid this, or a server has lost some. */
static store_status remove_rest(struct service *service, struct step_end *end)
{
    const char *id = end->asked.sale;
    store_status status = store_begin_removal(service->store, id, &end->taken, NULL);

    if (status == STORE_OK && end->taken.step != SALE_STEP_DONE) return status;
    if (status == STORE_OK || status == STORE_NOT_FOUND)
        (void)store_clear_segments(service->store, id, &end->taken, NULL);
    return STORE_NOT_FOUND;
}

void operator_steps_remove(struct service *service, struct http_request *request, const char *id)
{
    struct step_end end = {.asked = {.sale = id, .what = "remove"}};
    struct sale sale = {0};

    if (!handlers_read_body(request, json_read_nothing, NULL) ||
        !operator_steps_begin(service, request, &end.asked))
        return;
    end.status = store_load_sale(service->store, id, &sale, &end.err);
    if (end.status == STORE_OK)
        remove_sale(service, &end);
    else if (end.status == STORE_NOT_FOUND)
        end.status = remove_rest(service, &end);
    if (end.status == STORE_OK && end.taken.step == SALE_STEP_DONE) {
        note_step(service, &end);
        handlers_send_made(request, &(struct http_answer){.status = 200},
                           json_of_sale(&sale, JSON_FOR_OPERATORS));
    } else {
        end_step(service, request, &end);
    }
}

static bool send_line(const char *line, size_t len, void *arg)
{
    struct handlers_listing *listing = arg;

    return handlers_listing_line(listing) && http_stream_add(&listing->stream, line, len);
}

/* From then on nothing happens to it any more: what is told is all, however often it is asked for. */
void operator_steps_archive(struct service *service, struct http_request *request, const char *id)
{
    struct step_end end = {.asked = {.sale = id, .what = "archive"}};
    struct handlers_listing listing;
    struct sale whole;

    if (!handlers_read_body(request, json_read_nothing, NULL) ||
        !operator_steps_begin(service, request, &end.asked))
        return;
    end.status = store_load_sale(service->store, id, &whole, &end.err);
    if (end.status == STORE_OK)
        end.status = store_begin_removal(service->store, id, &end.taken, &end.err);
    if (end.status != STORE_OK || end.taken.step != SALE_STEP_DONE) {
        end_step(service, request, &end);
        return;
    }
    note_step(service, &end);
    handlers_listing_open(&listing, request);
    end.status = store_archive_sale(service->store, id, send_line, &listing, &end.err);
    handlers_listing_close(&listing, id, end.status, &end.err);
}

void operator_steps_audit(struct service *service, struct http_request *request, const char *id)
{
    struct sale_audit audit;
    struct lk_error err = {0};
    char client[CLIENT_TEXT_SIZE];
    store_status status = store_audit_sale(service->store, id, &audit, &err);

    if (handlers_has_failed(request, status, &err)) return;
    (void)handlers_client(service, request, client);
    log_event(audit.verdict == AUDIT_PASS ? LOG_DEBUG : LOG_WARN,
              &(struct log_fields){
                  .event = "audit", .sale = id, .who = request->operator_name, .from = client},
              "sale %s: audit: %s, by %s at %s", id, sale_audit_verdict_name(audit.verdict),
              request->operator_name, client);
    handlers_send_made(request, &(struct http_answer){.status = 200},
                       json_of_audit(&audit, id, service->config->instance));
}
