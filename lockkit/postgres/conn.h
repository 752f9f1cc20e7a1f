/*
 * One connection to PostgreSQL. libpq blocks without a limit; this gives up at a deadline.
 */
#ifndef LKI_POSTGRES_CONN_H
#define LKI_POSTGRES_CONN_H

#include <libpq-fe.h>

#include "base/number.h"
#include "call/context.h"

enum { POSTGRES_NAME_MAX = 64, POSTGRES_TEXT_MAX = 160, POSTGRES_HOSTS_MAX = 1024 };

struct postgres_conn {
    PGconn *pg;                   /* owned */
    char name[POSTGRES_NAME_MAX]; /* its application_name: no other connection has it */
    PGresult *last;               /* owned; of an answer that is not complete */
    bool has_ended;
    bool has_pending_undo; /* an undo was sent, and is not answered */
    bool lacks_table;      /* the last error was that the table does not exist */
    bool is_warned;        /* an answer came with a warning; the caller resets it */
    int64_t connected_at;  /* when the attempt to connect began */
    int64_t undo_since;
    atomic_uint *turn; /* borrowed: incremented when its server did not answer in time */
    struct postgres_conn *next;
};

/* A statement with its parameters, as text; and macros to write one. */
struct postgres_statement {
    const char *sql;
    const char *const *params;
    int count;
    /* If no answer comes in time this is sent on the same connection, where it runs later; the connection is kept
       until a server that only stood still has done both. NULL: nothing. */
    const struct postgres_statement *undo;
    char *out_conn; /* out: the name of the connection, POSTGRES_NAME_MAX bytes; may be NULL */
};

#define POSTGRES_STATEMENT(text, ...)                                                              \
    {                                                                                              \
        .sql = (text), .params = (const char *const[]){__VA_ARGS__},                               \
        .count = sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *)                       \
    }
#define POSTGRES_NUMBER(number) lki_number((char[LKI_NUMBER_MAX]){0}, (number)).data

/* Begin to connect. NULL with err: INVALID (the URL), NO_MEMORY. */
struct postgres_conn *postgres_conn_begin(lk_client *client, struct lk_error *err);
/* Continue without blocking. OK; BUSY: call again when the socket is ready for *out_events; else it failed. */
LK_MUST_CHECK lk_status postgres_conn_go_on(struct postgres_conn *conn, short *out_events,
                                            struct lk_error *err);
/* Both of these, blocking until the deadline. */
LK_MUST_CHECK lk_status postgres_conn_open(lk_client *client, int64_t deadline,
                                           struct postgres_conn **out, struct lk_error *err);
/* Mark it as ended; its user closes it. */
void postgres_conn_end(struct postgres_conn *conn);
/* NULL is fine. */
void postgres_conn_close(struct postgres_conn *conn);
/* Close all of a list, which is empty then. */
void postgres_conns_close(struct postgres_conn **conns);

/* Whether the connection has not ended. */
bool postgres_conn_is_usable(struct postgres_conn *conn);

/* Send it. UNREACHABLE: nothing was sent. */
LK_MUST_CHECK lk_status postgres_conn_send(struct postgres_conn *conn,
                                           const struct postgres_statement *statement,
                                           struct lk_error *err);
/* Read the answer as far as it has come; false: it is not complete. *out_status is OK: *out (may be NULL) is yours;
   UNKNOWN: no answer will come; else the status of the server's error: nothing was done. */
LK_MUST_CHECK bool postgres_conn_receive(struct postgres_conn *conn, PGresult **out,
                                         lk_status *out_status, struct lk_error *err);
/* The events for poll() until then. */
short postgres_conn_events(struct postgres_conn *conn);
/* Send, and receive until the deadline; UNKNOWN: the connection has ended. */
LK_MUST_CHECK lk_status postgres_conn_ask(struct postgres_conn *conn,
                                          const struct postgres_statement *statement,
                                          int64_t deadline, PGresult **out, struct lk_error *err);

#endif
