/*
 * The edge: a request's head and body come in here, answers and problems go out, and nowhere else
 * do outcomes become HTTP codes. Handlers see requests through this header, never civetweb.
 */
#ifndef SECKILL_HTTP_H
#define SECKILL_HTTP_H

#include "base/list.h"
#include "base/text.h"
#include "net/client_address.h"
#include "sale/purchase.h"

struct mg_connection; /* civetweb's */

enum {
    HTTP_BODY_MAX = 4096,
    HTTP_BODY_WAIT_MS = 2000, /* all of a body has come by then */
    HTTP_TOKEN_MAX = 64,      /* request ids, idempotency keys */
    HTTP_OPERATOR_MAX = 32    /* bytes of an operator's name */
};

/* X(value, status, name, title): every problem that is no outcome of a purchase */
#define PROBLEM_LIST(X)                                                                            \
    X(PROBLEM_INVALID_REQUEST, 400, "invalid-request", "The request is not valid")                 \
    X(PROBLEM_WEBHOOK_SIGNATURE, 400, "webhook-signature",                                         \
      "The event is not signed by a known key")                                                    \
    X(PROBLEM_WEBHOOK_STALE, 400, "webhook-stale", "The event was signed at another time")         \
    X(PROBLEM_BAD_SCHEDULE, 400, "bad-schedule", "The schedule cannot be played to its end")       \
    X(PROBLEM_UNAUTHENTICATED, 401, "unauthenticated", "Who is asking is not known")               \
    X(PROBLEM_TICKET_REQUIRED, 403, "ticket-required", "The sale has a waiting room")              \
    X(PROBLEM_NOT_YOUR_TURN, 403, "not-your-turn", "It is not your turn yet")                      \
    X(PROBLEM_FORBIDDEN, 403, "forbidden", "Not allowed")                                          \
    X(PROBLEM_NOT_FOUND, 404, "not-found", "There is no such thing")                               \
    X(PROBLEM_METHOD_NOT_ALLOWED, 405, "method-not-allowed", "This path has other methods")        \
    X(PROBLEM_REQUEST_TIMEOUT, 408, "request-timeout", "The request came too slowly")              \
    X(PROBLEM_CONFLICT, 409, "conflict", "It conflicts with what is there")                        \
    X(PROBLEM_ORDER_PAID, 409, "order-paid", "The order is paid")                                  \
    X(PROBLEM_TOO_LATE_TO_PAY, 409, "too-late-to-pay", "There is too little time left to pay")     \
    X(PROBLEM_LENGTH_REQUIRED, 411, "length-required", "A body needs a Content-Length")            \
    X(PROBLEM_PRECONDITION_FAILED, 412, "precondition-failed", "It is another one")                \
    X(PROBLEM_PAYLOAD_TOO_LARGE, 413, "payload-too-large", "The body is too large")                \
    X(PROBLEM_UNSUPPORTED_MEDIA_TYPE, 415, "unsupported-media-type", "The body has to be JSON")    \
    X(PROBLEM_QUOTA_EXCEEDED, 429, "quota-exceeded", "Too many requests")                          \
    X(PROBLEM_VERSION_NOT_SUPPORTED, 505, "version-not-supported", "HTTP/1.1 and 1.0 are spoken")  \
    X(PROBLEM_INTERNAL, 500, "internal", "Something went wrong here")                              \
    X(PROBLEM_LAB_FAILED, 500, "lab-failed", "The scenario did not come to its end")               \
    X(PROBLEM_LAB_BUSY, 503, "lab-busy", "Another scenario plays")                                 \
    X(PROBLEM_LAB_UNAVAILABLE, 503, "lab-unavailable", "The lab cannot be opened")                 \
    X(PROBLEM_PAYMENT_UNAVAILABLE, 503, "payment-unavailable", "Nothing can be paid here")         \
    X(PROBLEM_OVERLOADED, 503, "overloaded", "Too much is going on here")                          \
    X(PROBLEM_STORE_UNAVAILABLE, 503, "store-unavailable", "The store is out of reach")            \
    X(PROBLEM_OUTCOME_UNKNOWN, 503, "outcome-unknown", "Whether it was executed is not known")

typedef enum http_problem { PROBLEM_LIST(LIST_VALUE) PROBLEM_COUNT } http_problem;

/* A problem as it is told: its name in /problems/NAME, its title, and what the rest follows from. */
struct http_problem_text {
    int status;
    const char *name;
    const char *title;
};

/* Every problem there is, outcomes of purchases among them, each name once; false past the end. */
bool http_problem_at(size_t index, struct http_problem_text *out);

/* One request. Strings are borrowed from the connection and live until the handler returns. */
struct http_request {
    struct mg_connection *conn;
    struct connection *connection; /* connection.h; NULL: civetweb's thread answers everything */
    bool is_detached;              /* that thread has moved on: the answer goes to the socket */
    const char *method;
    const char *path;    /* as sent: not decoded, without the query */
    const char *query;   /* as sent; NULL: there is none */
    const char *user_id; /* headers; NULL: not there */
    const char *authorization;
    const char *idempotency_key;
    const char *content_type;
    const char *request_id; /* valid, to be echoed; else NULL */
    const char *match;      /* If-Match */
    const char *none_match; /* If-None-Match */
    const char *payment_signature;
    const char *waiting_ticket;
    const char *cookie;
    const char *origin; /* Origin; NULL: it is no page of another origin */
    const char *
        allowed_origin; /* that may read the answer (cors.h); lives on; NULL: none more than ours */
    int64_t idle_ms;    /* how long the connection may be idle behind the answer, as it is told */
    size_t body_len;    /* what Content-Length announces */
    bool is_http_1_0;
    bool is_head; /* the answer goes out without its body */
    bool expects_continue;
    bool must_close;  /* the connection ends with this answer */
    bool is_told_all; /* of the service itself: on the operators' port, or with --public-metrics */
    struct {          /* for the access log; zeros without one */
        int64_t began_ns;          /* monotonic: its head was read; 0: it is not logged */
        const char *method, *path; /* of the route; static; NULL: none fits */
        char client[CLIENT_TEXT_SIZE];
        char sale[SALE_ID_MAX + 1];
    } trace;
    char operator_name[HTTP_OPERATOR_MAX + 1]; /* who asks; "": no operator */
    const char *operator_role;                 /* static */
    unsigned seat;                             /* in the class; 0: none */
    unsigned route;   /* 1 + its place in the table of routes; 0: none fits */
    int status;       /* of the answer; 0: none yet */
    int64_t began_ns; /* monotonic: a purchase's handler began; else 0 */
};

struct http_answer {
    int status;
    const char *type;    /* Content-Type; NULL: the answer is 204 or 304, and has no body */
    const char *headers; /* more header lines, each with its CRLF; NULL: none */
    const char *caching; /* Cache-Control; NULL: no-store */
    const char *policy;  /* Content-Security-Policy; NULL: nothing at all is allowed */
    const char *body;    /* borrowed */
    size_t body_len;
};

struct http_body {
    size_t len;
    char data[HTTP_BODY_MAX];
};

/* What a problem says besides its name and title. NULL: left out. */
struct http_detail {
    const char *detail;
    const char *field;   /* the member, header or part of the path that is wrong */
    const char *headers; /* as above */
    const char *more;    /* members of its own, as JSON, each behind a comma */
};

#define HTTP_JSON "application/json"

/*
 * Read the head of a request into *out (zeroed; connection and must_close may be set before), and
 * answer at once what must not go on: a head that is not, to its last byte, what RFC 9112 calls one,
 * CL and TE together, two lengths, no Host, too many headers, a body too large or of unknown length.
 *
 * Returns  whether it may go on; if not, it has been answered.
 */
bool http_read_head(struct mg_connection *conn, struct http_request *out);

/* Whose request it is: the peer, or whom the proxies of `trusted` name. While its head is there. */
void http_find_client(const struct http_request *request, const struct networks *trusted,
                      struct client_address *out);

/*
 * Read the whole body, with one deadline for all of it.
 *
 * Returns  false when it was not JSON by its type or did not come in time: answered.
 */
bool http_read_body(struct http_request *request, struct http_body *out);

/*
 * The idempotency key into `out`, without its quotes; "" when there is none.
 *
 * Returns  false when it is malformed: answered.
 */
bool http_read_idempotency_key(struct http_request *request, char out[IDEMPOTENCY_KEY_MAX + 1]);

/*
 * Whether this request may be answered by another thread, through its connection (connection.h).
 * Not one that ends its connection: civetweb's own thread has to do that after the answer.
 */
bool http_can_detach(const struct http_request *request);

/* Send a whole answer in one write. */
void http_send(struct http_request *request, const struct http_answer *answer);
/* Send a JSON body. */
void http_send_json(struct http_request *request, int status, const struct text *body);
/* Send application/problem+json; detail may be NULL. */
void http_send_problem(struct http_request *request, http_problem problem,
                       const struct http_detail *detail);
/* The same of what is refused: its field and why, either may be NULL. False, so that refusing is one line. */
bool http_refuse(struct http_request *request, http_problem problem, const char *field,
                 const char *detail);
/* The answer to a purchase, whatever became of it. */
void http_send_outcome(struct http_request *request, const char *sale_id,
                       const struct purchase *purchase);
/* The problem that an outcome is, said of an order that is there. */
void http_refuse_order(struct http_request *request, outcome which);

/* An order as JSON; its moment comes out of its id. */
struct order_view {
    const char *id, *sale_id, *buyer, *state;
    int64_t pay_by_ms;  /* it is held until then; 0: it is not */
    int64_t now_ms;     /* by the same clock; 0: not known */
    const char *refund; /* how far one is that is owed for it; NULL: none */
    int64_t refund_amount;
    const char *refund_currency;
};
void http_add_order(struct text *out, const struct order_view *order);

/* An answer of unknown length, in pieces. Once begun it can only be ended or broken off. */
struct http_stream {
    struct http_request *request; /* borrowed */
    bool is_broken;               /* the client has gone */
};
void http_stream_begin(struct http_stream *stream, struct http_request *request, const char *type);
bool http_stream_add(struct http_stream *stream, const char *bytes, size_t len);
void http_stream_end(struct http_stream *stream);
/* Close the connection without the end mark, so that the client sees that it is not whole. */
void http_stream_break(struct http_stream *stream);

/* Send the head of a stream of events; the connection's socket takes the rest (connection.h). */
void http_begin_events(struct http_request *request);

/* Whether the connection has a socket of its own for that. */
bool http_has_socket(const struct http_request *request);

/* Answer in the library's stead when it could not read a request. */
void http_send_library_error(struct mg_connection *conn, int status);
/*
 * The library says nothing to a request for "*" or for another server, and closes: answer before that.
 *
 * Returns  the status of the answer; 0: nothing was to be said.
 */
int http_answer_unserved(int fd, const struct mg_connection *conn);
/* Tell a client why it is not served; the library never saw it. Does not wait. */
void http_refuse_socket(int fd, http_problem problem);

/* http_parse.c: is it application/json? a token of [A-Za-z0-9_.-]{1,64}? */
bool http_type_is_json(const char *content_type);
bool http_token_is_valid(const char *token);
/* Take a header's value without the double quotes around it, if valid. */
bool http_unquote_key(const char *value, char out[IDEMPOTENCY_KEY_MAX + 1]);

#endif
