/*
 * What the parts of a client of PostgreSQL share.
 */
#ifndef LKI_POSTGRES_POSTGRES_H
#define LKI_POSTGRES_POSTGRES_H

#include "conn.h"
#include "lease/renewal_conn.h"

/* lki_backend's name: no other has it. */
extern const char postgres_name[];

static inline bool postgres_is(const lk_client *client)
{
    return client->backend && client->backend->name == postgres_name;
}

struct postgres {
    char *url;                 /* owned */
    char *password;            /* owned; NULL: in the URL, or none */
    char *lists[3];            /* owned: the URL's host, hostaddr, port; NULL: not a list */
    atomic_uint turn;          /* which of them is asked first */
    char owner[96];            /* host:process, for who reads the table */
    char tcp_user_timeout[16]; /* ms */
    int ends_fd;               /* epoll: a session that somebody holds a lock by has ended */
    atomic_ulong conns;        /* made so far */
    atomic_bool is_known;      /* whether a pooler is between: another session for each statement */
    atomic_bool is_pooled;
    atomic_bool has_table; /* it has been looked at, and made */
    pthread_mutex_t mutex; /* guards the rest */
    pthread_cond_t freed;
    struct postgres_conn *idle;    /* owned list */
    unsigned open;                 /* the idle ones, and the lent */
    struct postgres_conn *undoing; /* owned list: closed when it is not theirs to undo any more */
};

/*
 * Ask on a connection of the client's pool.
 *
 * Owns     on OK *out (NULL: nobody wants it) is yours.
 * Returns  OK; EXHAUSTED (no connection became free); UNREACHABLE, BUSY (the row is in use), DEADLOCK, SERVER:
 *          nothing was done; UNKNOWN.
 */
LK_MUST_CHECK lk_status postgres_ask(lk_client *client, const struct postgres_statement *statement,
                                     int64_t deadline, PGresult **out, struct lk_error *err);

/* The same; NOT_OWNER: it has touched no row. */
LK_MUST_CHECK lk_status postgres_touch(lk_client *client,
                                       const struct postgres_statement *statement, int64_t deadline,
                                       struct lk_error *err);
/* Tell the hook of what began then and ends now. */
void postgres_emit(const lk_client *client, lk_event_type type, lk_status status, int64_t begin,
                   unsigned attempts);

/* Lend a connection: OK, EXHAUSTED, UNREACHABLE, SERVER. One that has ended is closed when it is given back. */
LK_MUST_CHECK lk_status postgres_borrow(lk_client *client, int64_t deadline,
                                        struct postgres_conn **out, struct lk_error *err);
void postgres_return(lk_client *client, struct postgres_conn *conn);
/* End the session of that connection, and what it may be at. OK: it is not there; else why nobody knows, and that
   undo (or NULL) is behind. */
lk_status postgres_end_session(lk_client *client, const char *conn,
                               const struct postgres_statement *undo, int64_t deadline,
                               struct lk_error *err);

/*
 * Undo what a statement without an answer may have done: end its session, `connection`, unless that is "", and then do `undo`.
 * This is tried for as long as a command may take, as a server that recovers from a crash refuses connections.
 */
lk_status postgres_undo(lk_client *client, const char *conn, const struct postgres_statement *undo,
                        struct lk_error *err);

/* The watchdog's connection; NULL: no memory. */
struct lki_renewal_conn *postgres_renewal_conn_new(lk_client *client);

/* The hub's thread: hears who is released (arg: the client). */
void *postgres_listen_main(void *arg);

/* lki_backend's: what the table says. */
lk_status postgres_inspect(lk_client *client, const char *key, bool is_next,
                           struct lk_inspection *out, struct lk_error *err);

/* A transaction as its server knows it, while the numbers are its own: "4711 00000001". */
#define POSTGRES_TIMELINE                                                                          \
    "left(pg_catalog.pg_walfile_name(pg_catalog.pg_current_wal_insert_lsn()), 8)"
#define POSTGRES_TRANSACTION "pg_catalog.pg_current_xact_id() || ' ' || " POSTGRES_TIMELINE

/* The number that stands for name $1: of no hash that may change. */
#define POSTGRES_ADVISORY_KEY                                                                      \
    "('x' || encode(substr(sha256(convert_to('lockkit:' || $1, 'UTF8')), 1, 8), 'hex'))"           \
    "::bit(64)::bigint"
lk_lock *postgres_advisory_new(lk_client *client, const char *key, struct lk_error *err);

/* lki_backend's: permits are rows beside that of the lock, one each. */
lk_status postgres_permits(const struct lki_permit_list *list, const char *script,
                           long long out_answer[2], struct lk_error *err);

/* The statements of a lease row: what each is told, and answers, row.c says. */
struct postgres_words {
    const char *make, *acquire, *renew, *release;
    const char *check; /* POSTGRES_TRANSACTION, in which the row is locked; no row: not held */
    bool has_fence;    /* and is renewed by the watchdog */
};
extern const struct postgres_words postgres_shedlock;

/* NULL: it is no lease row; and a new one of this kind. */
const char *postgres_row_check(const lk_lock *lock);
lk_lock *postgres_row_new(lk_client *client, const char *kind, const char *key,
                          struct lk_error *err);

#endif
