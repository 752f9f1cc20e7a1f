/*
 * One JSON object per line. Requests and answers meet through `req`, the request's own id: a tree
 * of the requests still in flight (as many as connections, not as many as lines) finds the ask an
 * answer belongs to. One thread.
 */
#include "client_log.h"

#include <search.h>
#include <stdlib.h>
#include <string.h>

#include "base/json_file.h"

/* A request in flight. */
struct flight {
    const char *req; /* borrowed from the facts' arena */
    size_t index;    /* of the ask */
};

struct reader {
    struct facts *facts;
    void *flights;       /* owned: a tree of struct flight */
    struct failure *why; /* borrowed */
};

static bool malformed(const struct reader *reader, const char *what)
{
    return failure_set(reader->why, "%s", what);
}

static bool no_memory(const struct reader *reader)
{
    return failure_set(reader->why, "out of memory");
}

static int by_req(const void *left, const void *right)
{
    const struct flight *a = left;
    const struct flight *b = right;
    return strcmp(a->req, b->req);
}

static struct flight *find(const struct reader *reader, const char *req)
{
    void *found = tfind(&(struct flight){.req = req}, &reader->flights, by_req);
    return found ? *(struct flight **)found : NULL;
}

/* The last ask is in flight. */
static bool add(struct reader *reader, const char *req)
{
    struct flight *flight = malloc(sizeof *flight);

    if (!flight) return false;
    *flight = (struct flight){.req = req, .index = reader->facts->ask_count - 1};
    if (tsearch(flight, &reader->flights, by_req)) return true;
    free(flight);
    return false;
}

static void forget(struct reader *reader, struct flight *flight)
{
    (void)tdelete(flight, &reader->flights, by_req);
    free(flight);
}

static const char *keep(struct reader *reader, const char *text)
{
    return facts_text(reader->facts, text, strlen(text));
}

static bool take_invoke(struct reader *reader, const json_t *line, int64_t at_ns)
{
    const char *rid = json_file_lines_text(line, "rid");
    const char *buyer = json_file_lines_text(line, "buyer");
    const char *key = json_file_lines_text(line, "key");
    const char *req = json_file_lines_text(line, "req");

    if (!rid) return malformed(reader, "invoke without \"rid\"");
    if (!buyer) return malformed(reader, "invoke without \"buyer\"");
    if (key && strcmp(key, rid) != 0) return malformed(reader, "\"key\" and \"rid\" differ");
    if (!key && (rid[0] != '~' || strcmp(rid + 1, buyer) != 0))
        return malformed(reader, "without \"key\" the \"rid\" is \"~\" and the buyer");
    if (find(reader, req ? req : rid))
        return malformed(reader, "\"req\": this request is already in flight");

    struct ask ask = {.invoked_ns = at_ns,
                      .rid = keep(reader, rid),
                      .buyer = keep(reader, buyer),
                      .outcome = ASK_UNANSWERED,
                      .answer = ANSWER_NONE};
    const char *kept_req = req ? keep(reader, req) : ask.rid;
    if (!ask.rid || !ask.buyer || !kept_req) return no_memory(reader);
    return (facts_add_ask(reader->facts, ask) && add(reader, kept_req)) || no_memory(reader);
}

/* What status and type may say under each outcome: a writer that mixes them up is not believed. */
static bool fits(ask_outcome outcome, json_int_t status, answer_kind answer)
{
    bool is_sure_503 = answer == ANSWER_LOCK_TIMEOUT || answer == ANSWER_OVERLOADED ||
                       answer == ANSWER_STORE_UNAVAILABLE || answer == ANSWER_PAUSED;

    if (outcome == ASK_OK) return status == 201;
    if (outcome == ASK_FAIL && status == 409 && answer == ANSWER_OTHER) return false; /* misspelt */
    if (outcome == ASK_FAIL)
        return (status >= 400 && status < 500) || (status == 503 && is_sure_503);
    return true;
}

static answer_kind answer_of(ask_outcome outcome, const json_t *line)
{
    const char *type = json_file_lines_text(line, "type");

    if (outcome == ASK_OK)
        return json_is_true(json_object_get(line, "replayed")) ? ANSWER_REPLAYED : ANSWER_CREATED;
    return type ? facts_answer_from_name(type) : ANSWER_OTHER;
}

static bool take_answer(struct reader *reader, const json_t *line, int64_t at_ns,
                        ask_outcome outcome)
{
    const char *rid = json_file_lines_text(line, "rid");
    const char *req = json_file_lines_text(line, "req");
    const char *order = json_file_lines_text(line, "order");

    if (!rid) return malformed(reader, "answer without \"rid\"");
    if (!order && json_object_get(line, "order"))
        return malformed(reader, "\"order\" is not a text");
    if (outcome == ASK_FAIL && !json_file_lines_text(line, "type"))
        return malformed(reader, "refused without \"type\"");
    struct flight *flight = find(reader, req ? req : rid);
    if (!flight) return malformed(reader, "\"req\": answers a request that is not in flight");
    struct ask *ask = &reader->facts->asks[flight->index];
    if (strcmp(ask->rid, rid) != 0)
        return malformed(reader, "\"rid\": answers the request of another");
    if (at_ns < ask->invoked_ns) return malformed(reader, "\"t\": answered before it was asked");
    answer_kind said = answer_of(outcome, line);
    if (!fits(outcome, json_integer_value(json_object_get(line, "status")), said))
        return malformed(reader, "\"status\" and \"type\" do not make this outcome");
    if (outcome == ASK_OK && !order) return malformed(reader, "ok without \"order\"");

    ask->answered_ns = at_ns;
    ask->outcome = outcome;
    ask->answer = said;
    if (order && !(ask->order = keep(reader, order))) return no_memory(reader);
    forget(reader, flight);
    return true;
}

static bool take_resolve(struct reader *reader, const json_t *line)
{
    const char *rid = json_file_lines_text(line, "rid");
    const char *buyer = json_file_lines_text(line, "buyer");
    const char *order = json_file_lines_text(line, "order");
    struct resolution resolution = {.order = NULL};

    if (!rid || !buyer) return malformed(reader, "resolve without \"rid\" or \"buyer\"");
    if (!order && !json_is_null(json_object_get(line, "order")))
        return malformed(reader, "resolve without \"order\" (an id, or null for none)");
    resolution.rid = keep(reader, rid);
    resolution.buyer = keep(reader, buyer);
    if (order) resolution.order = keep(reader, order);
    if (!resolution.rid || !resolution.buyer || (order && !resolution.order))
        return no_memory(reader);
    return facts_add_resolution(reader->facts, resolution) || no_memory(reader);
}

static bool take_sample(struct reader *reader, const json_t *line, int64_t at_ns)
{
    const json_t *left = json_object_get(line, "left");

    if (!json_is_integer(left)) return malformed(reader, "sample without a number \"left\"");
    struct sample sample = {.at_ns = at_ns, .left = json_integer_value(left)};
    return facts_add_sample(reader->facts, sample) || no_memory(reader);
}

/* What a buyer was told became of an order that is paid for later. */
static bool take_told(struct reader *reader, const json_t *line)
{
    const char *buyer = json_file_lines_text(line, "buyer");
    const char *order = json_file_lines_text(line, "order");
    const char *state = json_file_lines_text(line, "state");
    struct pay_fact told = {.source = PAY_BY_BUYER, .step = PAY_PAID, .amount = -1};

    if (!buyer || !order || !state)
        return malformed(reader, "told without \"buyer\", \"order\" or \"state\"");
    if (strcmp(state, "cancelled") == 0)
        told.step = PAY_CANCELLED;
    else if (strcmp(state, "paid") != 0)
        return malformed(reader, "\"state\" is neither paid nor cancelled");
    told.buyer = keep(reader, buyer);
    told.order = keep(reader, order);
    return (told.buyer && told.order && facts_add_pay(reader->facts, told)) || no_memory(reader);
}

static bool take_stray(struct reader *reader, const json_t *line)
{
    const json_t *status = json_object_get(line, "status");

    if (!json_is_integer(status)) return malformed(reader, "stray without a number \"status\"");
    /* No proxy sells: an order was told, and nobody could hold the service to it. */
    if (json_integer_value(status) == 201)
        return malformed(reader,
                         "\"status\" 201 for no request: a proxy must pass X-Request-Id both ways");
    reader->facts->stray_count++;
    return true;
}

static bool take_event(void *arg, json_t *line, struct failure *why)
{
    struct reader *reader = arg;
    const char *event = json_file_lines_text(line, "e");
    const json_t *at = json_object_get(line, "t");

    reader->why = why;
    if (!json_is_integer(at) || json_integer_value(at) < 0)
        return malformed(reader, "no time \"t\" in nanoseconds");
    int64_t at_ns = json_integer_value(at);
    if (!event) return malformed(reader, "no event \"e\"");
    if (strcmp(event, "invoke") == 0) return take_invoke(reader, line, at_ns);
    if (strcmp(event, "ok") == 0) return take_answer(reader, line, at_ns, ASK_OK);
    if (strcmp(event, "fail") == 0) return take_answer(reader, line, at_ns, ASK_FAIL);
    if (strcmp(event, "info") == 0) return take_answer(reader, line, at_ns, ASK_INFO);
    if (strcmp(event, "resolve") == 0) return take_resolve(reader, line);
    if (strcmp(event, "sample") == 0) return take_sample(reader, line, at_ns);
    if (strcmp(event, "told") == 0) return take_told(reader, line);
    if (strcmp(event, "stray") == 0) return take_stray(reader, line);
    return malformed(reader, "unknown event \"e\"");
}

bool client_log_read(struct facts *facts, const char *path, struct failure *failure)
{
    struct reader reader = {.facts = facts};

    bool is_good = json_file_read_lines(path, take_event, &reader, failure);
    facts->has_clients = true;
    tdestroy(reader.flights, free);
    return is_good;
}

static int by_row(const void *left, const void *right)
{
    const struct row *a = left;
    const struct row *b = right;
    int order = strcmp(a->order, b->order);

    if (order == 0) order = strcmp(a->buyer, b->buyer);
    return order ? order : strcmp(a->rid, b->rid);
}

bool client_log_stand_in(struct facts *facts, int64_t units, struct failure *failure)
{
    struct row *told = malloc((facts->ask_count + 1) * sizeof *told);
    int64_t doubtful = 0;
    size_t count = 0;
    bool is_good = told != NULL;

    for (size_t i = 0; is_good && i < facts->ask_count; i++) {
        const struct ask *ask = &facts->asks[i];
        if (ask->outcome == ASK_OK) told[count++] = (struct row){ask->order, ask->buyer, ask->rid};
        if (ask->outcome == ASK_UNANSWERED || ask->outcome == ASK_INFO) doubtful++;
    }
    if (is_good) qsort(told, count, sizeof *told, by_row);
    for (size_t i = 0; is_good && i < count; i++)
        if (i == 0 || by_row(&told[i - 1], &told[i]) != 0)
            is_good = facts_add_order(facts, told[i]);
    free(told);
    facts->is_alone = facts->has_stock = true;
    facts->initial = units;
    facts->left = units - (int64_t)facts->order_count;
    if (facts->left > 0) facts->left = facts->left > doubtful ? facts->left - doubtful : 0;
    return is_good || failure_set(failure, "out of memory");
}
