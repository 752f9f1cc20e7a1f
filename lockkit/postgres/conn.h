/*
 * One connection to PostgreSQL. libpq blocks without end; this gives up at a deadline.
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
    PGresult *last;               /* owned; of an answer that has not all come */
    bool has_ended;
    bool has_pending_undo; /* an undo is under way */
    bool lacks_table;      /* it has just said so */
    bool is_warned;        /* by an answer, since that was set to false */
    int64_t connected_at;  /* when that began */
    int64_t undo_since;
    atomic_uint *turn; /* borrowed: counts on when its server did not say a word in time */
    struct postgres_conn *next;
};

/* A statement with its parameters, as text; and how to write one that has some, and a number among them. */
struct postgres_statement {
    const char *sql;
    const char *const *params;
    int count;
    /* If no answer comes in time this is sent on the same connection, where it cannot overtake; then that stands
       until a server that only stood still has done both. NULL: nothing. */
    const struct postgres_statement *undo;
    char *out_conn; /* whose name is wanted, POSTGRES_NAME_MAX; NULL: nobody asks */
};

#define POSTGRES_STATEMENT(text, ...)                                                              \
    {                                                                                              \
        .sql = (text), .params = (const char *const[]){__VA_ARGS__},                               \
        .count = sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *)                       \
    }
#define POSTGRES_NUMBER(number) lki_number((char[LKI_NUMBER_MAX]){0}, (number)).data

/* Begin to connect. NULL with err: INVALID (the URL), NO_MEMORY. */
struct postgres_conn *postgres_conn_begin(lk_client *client, struct lk_error *err);
/* Go on as far as goes without waiting. OK; BUSY: when *out_events come, go on; else why not. */
LK_MUST_CHECK lk_status postgres_conn_go_on(struct postgres_conn *conn, short *out_events,
                                            struct lk_error *err);
/* Both, until the deadline. */
LK_MUST_CHECK lk_status postgres_conn_open(lk_client *client, int64_t deadline,
                                           struct postgres_conn **out, struct lk_error *err);
/* It has ended: whoever has it lent closes it. */
void postgres_conn_end(struct postgres_conn *conn);
/* NULL is fine. */
void postgres_conn_close(struct postgres_conn *conn);
/* All of a list, which is empty then. */
void postgres_conns_close(struct postgres_conn **conns);

/* Nothing has arrived that nobody asked for: it has not ended. */
bool postgres_conn_is_usable(struct postgres_conn *conn);

/* Send it. UNREACHABLE: nothing was sent. */
LK_MUST_CHECK lk_status postgres_conn_send(struct postgres_conn *conn,
                                           const struct postgres_statement *statement,
                                           struct lk_error *err);
/* Take what has come of its answer; false: not all yet. *out_status is OK: *out (NULL: nobody wants it) is yours; UNKNOWN:
   there will be none; else what the server says is wrong: nothing was done. */
LK_MUST_CHECK bool postgres_conn_receive(struct postgres_conn *conn, PGresult **out,
                                         lk_status *out_status, struct lk_error *err);
/* What to wait for until then, for poll(). */
short postgres_conn_events(struct postgres_conn *conn);
/* Send, and receive until the deadline; UNKNOWN: the connection has ended. */
LK_MUST_CHECK lk_status postgres_conn_ask(struct postgres_conn *conn,
                                          const struct postgres_statement *statement,
                                          int64_t deadline, PGresult **out, struct lk_error *err);

#endif
