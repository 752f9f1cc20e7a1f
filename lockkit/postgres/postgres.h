/*
 * What the parts of a client of PostgreSQL share.
 */
#ifndef LKI_POSTGRES_POSTGRES_H
#define LKI_POSTGRES_POSTGRES_H

#include "conn.h"
#include "lease/renewal_conn.h"

/* The name in lki_backend, compared by its address. */
extern const char postgres_name[];

static inline bool postgres_is(const lk_client *client)
{
    return client->backend && client->backend->name == postgres_name;
}

struct postgres {
    char *url;                 /* owned */
    char *password;            /* owned; NULL: in the URL, or none */
    char *lists[3];            /* owned: the URL's host, hostaddr, port; NULL: not a list */
    atomic_uint turn;          /* the index of the host to ask first */
    char owner[96];            /* host:process, for people that read the table */
    char tcp_user_timeout[16]; /* ms */
    int ends_fd;               /* epoll of sessions that hold locks: one has ended */
    atomic_ulong conns;        /* number of connections made so far */
    atomic_bool is_known; /* is_pooled is known: a pooler may use another session per statement */
    atomic_bool is_pooled;
    atomic_bool has_table; /* the table exists */
    pthread_mutex_t mutex; /* guards the rest */
    pthread_cond_t freed;
    struct postgres_conn *idle; /* owned list */
    unsigned open;              /* number of idle and lent ones */
    struct postgres_conn
        *undoing; /* owned list: with pending undos, closed when those are too old */
};

/*
 * Ask on a connection of the client's pool.
 *
 * Owns     on OK *out (may be NULL) is yours.
 * Returns  OK; EXHAUSTED (no connection became free); UNREACHABLE, BUSY (the row is in use), DEADLOCK, SERVER:
 *          nothing was done; UNKNOWN.
 */
LK_MUST_CHECK lk_status postgres_ask(lk_client *client, const struct postgres_statement *statement,
                                     int64_t deadline, PGresult **out, struct lk_error *err);

/* The same; NOT_OWNER: no row was affected. */
LK_MUST_CHECK lk_status postgres_touch(lk_client *client,
                                       const struct postgres_statement *statement, int64_t deadline,
                                       struct lk_error *err);
/* Call the event hook for a step that began then and ends now. */
void postgres_emit(const lk_client *client, lk_event_type type, lk_status status, int64_t begin,
                   unsigned attempts);

/* Borrow a connection: OK, EXHAUSTED, UNREACHABLE, SERVER. One that has ended is closed when it is returned. */
LK_MUST_CHECK lk_status postgres_borrow(lk_client *client, int64_t deadline,
                                        struct postgres_conn **out, struct lk_error *err);
void postgres_return(lk_client *client, struct postgres_conn *conn);
/* End the session of that connection, and its statement. OK: it has ended; else that is unknown, and `undo` (may be
   NULL) was sent behind. */
lk_status postgres_end_session(lk_client *client, const char *conn,
                               const struct postgres_statement *undo, int64_t deadline,
                               struct lk_error *err);

/*
 * Undo a statement without an answer: end its session, `conn`, unless that is "", and then run `undo`. This is tried for
 * the time of a command, as a server that recovers from a crash refuses connections.
 */
lk_status postgres_undo(lk_client *client, const char *conn, const struct postgres_statement *undo,
                        struct lk_error *err);

/* The watchdog's connection; NULL: no memory. */
struct lki_renewal_conn *postgres_renewal_conn_new(lk_client *client);

/* The body of the hub's thread: receives notifications of releases (arg: the client). */
void *postgres_listen_main(void *arg);

/* lki_backend's. */
lk_status postgres_inspect(lk_client *client, const char *key, bool is_next,
                           struct lk_inspection *out, struct lk_error *err);

/* The id of a transaction on its server, with the timeline: "4711 00000001". */
#define POSTGRES_TIMELINE                                                                          \
    "left(pg_catalog.pg_walfile_name(pg_catalog.pg_current_wal_insert_lsn()), 8)"
#define POSTGRES_TRANSACTION "pg_catalog.pg_current_xact_id() || ' ' || " POSTGRES_TIMELINE

/* The number of name $1, by a hash that never changes. */
#define POSTGRES_ADVISORY_KEY                                                                      \
    "('x' || encode(substr(sha256(convert_to('lockkit:' || $1, 'UTF8')), 1, 8), 'hex'))"           \
    "::bit(64)::bigint"
lk_lock *postgres_advisory_new(lk_client *client, const char *key, struct lk_error *err);

/* lki_backend's: permits are rows beside that of the lock, one each. */
lk_status postgres_permits(const struct lki_permit_list *list, const char *script,
                           long long out_answer[2], struct lk_error *err);

/* The statements of a lease row; row.c documents their parameters and answers. */
struct postgres_words {
    const char *make, *acquire, *renew, *release;
    const char *check; /* answers POSTGRES_TRANSACTION, which locks the row; no row: not held */
    bool has_fence;    /* it has a fence, and is renewed by the watchdog */
};
extern const struct postgres_words postgres_shedlock;

/* The check of a lock; NULL: it is no lease row. And a new lease row of this kind. */
const char *postgres_row_check(const lk_lock *lock);
lk_lock *postgres_row_new(lk_client *client, const char *kind, const char *key,
                          struct lk_error *err);

#endif
