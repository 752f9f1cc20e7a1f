/*
 * What is the same for every sale: the description of the API, embedded at build, and a page for
 * each type of problem. Runs on civetweb's threads, reads tables only.
 */
#include "documents.h"

#include <assert.h>
#include <string.h>

#include "lockkit/script.h"

#include "handlers.h"

enum { PAGE_SIZE = 1024 };

/* Made by embed.awk: text files by name. */
extern const struct lk_script_source app_documents[];

/* What somebody who met a problem wants to know: what it means, and what to do. */
static const struct {
    const char *name;
    const char *meaning;
    const char *advice;
} pages[] = {
    {"invalid-request", "The request is malformed. The member \"field\" names what is wrong.",
     "Correct it; asking again unchanged gives the same answer."},
    {"unauthenticated", "The server does not know who is asking.",
     "Send a valid token in the Authorization header."},
    {"forbidden", "The server knows who is asking, or what is asked for, and does not allow it.",
     "Use the operator's token; flawed guards need a server started with --lab, some "
     "guards one that was given the servers they need (--redlock, --postgres, --zookeeper)."},
    {"not-found", "There is no such path, no such sale, or no order of this buyer in it.",
     "Check the address."},
    {"method-not-allowed", "This path exists, and is asked with other methods.",
     "The Allow header lists them."},
    {"request-timeout", "The body of the request did not come in time. Nothing was executed.",
     "Send it again, faster."},
    {"conflict", "What is to be made exists already, or its state does not allow this change.",
     "Look at it first."},
    {"length-required", "A body was announced without its length.",
     "Send Content-Length; chunked bodies are not taken."},
    {"payload-too-large", "The body is larger than 4096 bytes. Nothing was executed.",
     "Send a smaller one."},
    {"unsupported-media-type", "The body is of a type that is not read here.",
     "Send application/json."},
    {"quota-exceeded",
     "This buyer has sent more requests than the server allows. Nothing was "
     "executed.",
     "Ask again after the seconds in Retry-After."},
    {"internal", "The server failed in a way it did not foresee.",
     "Look your order up before you ask again; tell the operator."},
    {"version-not-supported", "The request line names another version of HTTP.",
     "Speak HTTP/1.1; the connection ends with this answer."},
    {"bad-schedule",
     "A schedule has a choice that is none, or is not enabled there: at says where, choices are "
     "those "
     "that are.",
     "Send the schedule up to there, or with one of the choices. Nothing is kept between two "
     "plays."},
    {"lab-failed", "The scenario was interrupted, or an actor was not where it should be.",
     "Ask again; tell us if it happens twice. The lab was set up anew."},
    {"lab-busy", "The lab plays one scenario at a time, and plays one now.",
     "Ask again after the seconds in Retry-After."},
    {"lab-unavailable",
     "The lab plays on a redis-server of its own, which could not be started; or this server is "
     "stopping.",
     "Install redis-server on the machine of the server, within its PATH. The log of the server "
     "says what went wrong."},
    {"store-unavailable",
     "The store of orders is out of reach, or this server cannot run the guard of the sale. "
     "Nothing "
     "was executed.",
     "Ask again after the seconds in Retry-After."},
    {"outcome-unknown",
     "The purchase was sent to the store and no answer came: it may have been executed or not. Or "
     "it "
     "was, but too few replicas of the store have it yet, so it may still be lost.",
     "Look your order up at the address in \"lookup\", or ask again with the same Idempotency-Key: "
     "you cannot get two."},
    {"already-ordered", "You have an order in this sale already; a buyer gets one.",
     "It is at the address in \"order\"."},
    {"sold-out", "No unit is left.",
     "Asking again helps only after a restock; or after the seconds in Retry-After, if it is "
     "there: "
     "some are held and not paid yet."},
    {"order-cancelled", "You let your order go, and its unit may be another's by now.",
     "This sale has no second order for you."},
    {"order-expired", "Your order was not paid in time, and its unit may be another's by now.",
     "This sale has no second order for you. Should you have paid after all, the money is owed "
     "back."},
    {"precondition-failed",
     "Your order is another one than the request names (If-Match): nothing was cancelled.",
     "Look your order up, and name that one if it is meant."},
    {"order-paid", "The order is paid: it can be neither paid again nor cancelled.",
     "Look it up: it is yours."},
    {"too-late-to-pay", "A payment that began now would end after your order does.",
     "There is nothing to do; until then you may cancel it."},
    {"payment-unavailable", "This instance was not told how orders are paid.",
     "Ask another instance; operators: --payment-key and --pay-url."},
    {"webhook-signature", "The event's signature is by no key that is known here.",
     "Sign \"t.BODY\" with HMAC-SHA-256 and one of the keys of --payment-key, over the bytes as "
     "sent."},
    {"webhook-stale", "The event was signed more than 300 s ago, or ahead of this server's clock.",
     "Sign it again when it is sent again; look at the clocks."},
    {"ticket-required",
     "More people come than can be served at once: this sale has a waiting room, and the request "
     "brought no ticket of this buyer for it. Nothing was executed.",
     "POST to the sale's waiting-room gives a ticket; send it in the header Waiting-Ticket."},
    {"not-your-turn",
     "Others are before you in the waiting room of this sale. Nothing was executed.",
     "Ask again after the seconds in Retry-After; your place is kept, and the waiting-room of the "
     "sale says how far it is."},
    {"sale-not-started", "The sale has not begun.",
     "Ask again after the seconds in Retry-After; \"retryAfterMs\" is more precise."},
    {"sale-ended", "The sale is over, for good.", "There is nothing to do."},
    {"sale-paused", "The operator has paused the sale. Nothing was executed.",
     "Ask again after the seconds in Retry-After."},
    {"lock-timeout", "Others held the lock of this sale for too long. Nothing was executed.",
     "Ask again after the seconds in Retry-After."},
    {"overloaded", "Too many are waiting. Nothing was executed.",
     "Ask again after the seconds in Retry-After."},
};

const char *documents_api(size_t *out_len)
{
    const struct lk_script_source *document = app_documents;

    while (document->name && strcmp(document->name, "openapi.json") != 0)
        document++;
    assert(document->name);
    *out_len = strlen(document->source);
    return document->source;
}

void documents_show_api(struct service *service, struct http_request *request, const char *id)
{
    struct http_answer answer = {.status = 200, .type = HTTP_JSON};

    (void)service;
    (void)id;
    answer.body = documents_api(&answer.body_len);
    http_send(request, &answer);
}

static bool find_problem(const char *name, struct http_problem_text *out)
{
    for (size_t i = 0; http_problem_at(i, out); i++) {
        if (strcmp(out->name, name) == 0) return true;
    }
    return false;
}

static void add_paragraph(struct text *out, const char *sentence)
{
    TEXT_ADD(out, "<p>");
    text_add_string(out, sentence); /* from the table above: no <, no & */
    TEXT_ADD(out, "</p>\n");
}

bool documents_add_problem(const char *name, struct text *out)
{
    struct http_problem_text problem;
    size_t i = 0;

    while (i < sizeof pages / sizeof pages[0] && strcmp(pages[i].name, name) != 0)
        i++;
    if (i == sizeof pages / sizeof pages[0] || !find_problem(name, &problem)) return false;
    TEXT_ADD(out, "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n<title>");
    text_add_string(out, problem.title);
    TEXT_ADD(out, "</title>\n<h1>");
    text_add_string(out, problem.title);
    TEXT_ADD(out, "</h1>\n<p><code>/problems/");
    text_add_string(out, name);
    TEXT_ADD(out, "</code>, HTTP status ");
    text_add_number(out, problem.status);
    TEXT_ADD(out, "</p>\n");
    add_paragraph(out, pages[i].meaning);
    add_paragraph(out, pages[i].advice);
    TEXT_ADD(out, "</html>\n");
    return true;
}

void documents_show_problem(struct service *service, struct http_request *request, const char *id)
{
    char buffer[PAGE_SIZE];
    struct text page = TEXT_OVER(buffer);

    (void)service;
    if (!documents_add_problem(id, &page)) {
        (void)http_refuse(request, PROBLEM_NOT_FOUND, NULL, "There is no problem of this name.");
        return;
    }
    assert(!page.is_cut);
    http_send(request, &(struct http_answer){.status = 200,
                                             .type = "text/html; charset=utf-8",
                                             .body = page.data,
                                             .body_len = page.len});
}
