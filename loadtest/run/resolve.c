/*
 * One GET per unknown purchase, on one instance after the other until one answers. What does not
 * answer may be starting again, and a proxy may not have noticed: it is waited for, but not for ever,
 * however many are unknown. One thread.
 */
#include "resolve.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <jansson.h>

#include "audit/audit.h"
#include "base/clock.h"
#include "base/interrupt.h"
#include "evidence/client_log.h"

enum {
    PATIENCE_MS = 20000, /* waited in all for instances that do not answer */
    PAUSE_MS = 200,      /* between two rounds of asking */
    FUTILE_MAX = 5,      /* unknowns given up one after the other: nobody is there any more */
};

struct asker {
    const struct service *service;
    const char *sale;
    FILE *file;
    int next;            /* instance to ask first */
    int64_t patience_ms; /* what is left of it */
    int futile;          /* unknowns in a row that nobody answered about */
};

static void write_line(FILE *file, const char *event, int64_t at_ns, const struct ask *ask,
                       const char *order)
{
    json_t *line = json_pack("{s:I,s:s,s:s,s:s,s:s?}", "t", (json_int_t)at_ns, "e", event, "rid",
                             ask->rid, "buyer", ask->buyer, "order", order);
    (void)json_dumpf(line, file, JSON_COMPACT); /* ferror() tells later */
    (void)fputc('\n', file);
    json_decref(line);
}

/* 200 with an order, or the service's own 404 not-found, is an answer; anything else is none. */
static bool take_answer(const struct asker *asker, const struct ask *ask,
                        const struct http_reply *reply)
{
    json_t *said = json_loads(reply->body, 0, NULL);
    const char *order = json_string_value(json_object_get(said, "id"));
    const char *type = json_string_value(json_object_get(said, "type"));
    bool has_none = reply->status == 404 && type && strcmp(type, "/problems/not-found") == 0;
    bool is_answer = has_none || (reply->status == 200 && order);

    if (is_answer)
        write_line(asker->file, "resolve", clock_ns(), ask, reply->status == 200 ? order : NULL);
    json_decref(said);
    return is_answer;
}

/* Each instance, until one answers. */
static bool ask_each(const struct asker *asker, const struct ask *ask)
{
    const struct service *service = asker->service;
    struct http_reply reply = {.status = 0};
    char url[URL_MAX + 80];

    for (int tries = 0; tries < 2 * service->count && !interrupt_came(); tries++) {
        const struct instance *instance =
            &service->instances[(asker->next + tries) % service->count];
        (void)snprintf(url, sizeof url, "%s/api/v1/sales/%s/orders/me", instance->url, asker->sale);
        struct http_request request = {.url = url};
        if (service->tokens)
            request.token = tokens_find(service->tokens, ask->buyer);
        else
            request.buyer = ask->buyer;
        if (http_client_send(service->http, &request, &reply, NULL) &&
            take_answer(asker, ask, &reply))
            return true;
    }
    return false;
}

static bool ask_again(const struct ask *ask, void *arg)
{
    struct asker *asker = arg;
    bool is_answered = ask_each(asker, ask);

    while (!is_answered && asker->patience_ms > 0 && !interrupt_came()) {
        int64_t begin_ms = clock_ms();
        clock_sleep_ms(PAUSE_MS);
        is_answered = ask_each(asker, ask);
        asker->patience_ms -= clock_ms() - begin_ms;
    }
    asker->next++;
    asker->futile = is_answered ? 0 : asker->futile + 1;
    return !interrupt_came() && asker->futile < FUTILE_MAX;
}

static bool close_file(FILE *file, const char *path, struct failure *failure)
{
    bool is_written = !ferror(file);

    return (fclose(file) == 0 && is_written) ||
           failure_set(failure, "%s: could not be written", path);
}

bool resolve_unknowns(const struct service *service, const char *sale, const char *path,
                      struct facts *facts, struct failure *failure)
{
    struct asker asker = {.service = service, .sale = sale, .patience_ms = PATIENCE_MS};

    asker.file = fopen(path, "ae");
    if (!asker.file) return failure_set(failure, "%s: %s", path, failure_errno_text());
    bool is_asked = audit_each_unknown(facts, ask_again, &asker, failure);
    return close_file(asker.file, path, failure) && is_asked &&
           client_log_read(facts, path, failure);
}

static bool name_lost(const struct ask *ask, void *arg)
{
    write_line(arg, "lost", ask->answered_ns, ask, ask->order);
    return true;
}

bool resolve_name_lost(const struct facts *facts, const char *path, struct failure *failure)
{
    FILE *file = fopen(path, "we");

    if (!file) return failure_set(failure, "%s: %s", path, failure_errno_text());
    bool is_listed = audit_each_lost(facts, name_lost, file, failure);
    return close_file(file, path, failure) && is_listed;
}
