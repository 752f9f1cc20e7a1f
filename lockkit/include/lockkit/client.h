/*
 * lk_client: a Redis server, or several that act as one (Sentinel, Cluster), as seen by one process.
 * It owns a bounded pool of connections to each, subscriber connections on which all waiters are
 * woken, and one watchdog that renews all leases.
 *
 * Example
 *     struct lk_error err = {0};
 *     lk_client *client = lk_client_open(LK_OPTIONS(client, .url = "redis://10.0.0.7"), &err);
 *     if (!client) fprintf(stderr, "%s\n", err.text);
 *     lk_client_close(client);
 */
#ifndef LOCKKIT_CLIENT_H
#define LOCKKIT_CLIENT_H

#include "lockkit/error.h"
#include "lockkit/event.h"
#include "lockkit/reply.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct lk_client lk_client;

/* Zero means the default given in brackets. */
struct lk_tls_options {      /* of rediss URLs: TLS 1.2 or newer */
    const char *ca_file;     /* PEM: who signs the servers' certificates [the system's store] */
    const char *cert_file;   /* PEM: the client's certificate and chain [none] */
    const char *key_file;    /* PEM, without a passphrase: its key [in cert_file] */
    const char *server_name; /* SNI, and what certificates must be for [the host of the URL, or as a
                             Sentinel or the cluster names it, which may be an IP address] */
    bool is_unverified;      /* accept any certificate: encrypted, but not authenticated [false] */
};

/* Zero means the default given in brackets. */
struct lk_client_options {
    size_t size;          /* LK_OPTIONS() [0: that of version 0.1] */
    const char *url;      /* [redis://127.0.0.1:6379]
                        redis://[user[:pass]@]host[:port][/db] or unix:///path[?db=N]
                        redis+sentinel://[user[:pass]@]host[:port],host...[/NAME[/db]]
                        redis+cluster://[user[:pass]@]host[:port],host...
                        behind a host's name or address another server may take over
                        rediss://, rediss+sentinel://, rediss+cluster://: the same over TLS
                        Sentinels have a password of their own, below */
    const char *password; /* instead of one in the URL, which then names the user (user@host) or
                          nobody: the default user. As it is, without %XX [none] */
    /* "password" or "user:password" of the Sentinels [none: they are asked without] */
    const char *sentinel_password;
    const char *loader; /* "user:password" of a user that may load scripts (+script|load is enough):
                          it loads scripts that a server does not know, so the user of the URL
                          needs neither EVAL nor SCRIPT LOAD [none] */
    struct lk_tls_options tls; /* anything here with a URL that is not rediss is INVALID */
    unsigned pool_size; /* connections at most to a server, besides subscriber and watchdog [16] */
    int64_t connect_ms; /* limit of one connection attempt with its name look-up, in which all
                        addresses of the name are tried, and of opening while the server is away
                        [1000] */
    int64_t command_ms; /* limit of one round trip [1000] */
    int64_t backoff_ms; /* longest pause between attempts to reconnect [1000] */
    int64_t idle_ms;    /* a connection idle for longer is pinged before it is lent [1000] */
    int64_t poll_ms;    /* a waiter looks again at least this often, woken or not [1000] */
    bool may_be_down;   /* open also when no server can be reached now; a cluster must [false] */
    union {
        bool fail_fast; /* a wait for a lock or a permit ends as soon as a server is out of reach or
                           does not answer, instead of at wait_ms [false] */
        bool is_impatient; /* deprecated: the name of fail_fast in version 0.1 */
    };
    unsigned
        sync_replicas; /* acquires and evals wait until so many replicas have them (WAIT) [0] */
    int64_t sync_ms;   /* ...at most this long; else they are UNSYNCED [100] */
    lk_event_hook on_event;
    void *on_event_arg; /* must outlive the client */
    int64_t
        receive_spin_us; /* where answers come soon, a thread looks for its answer so long at most before
                             it sleeps: about twice as fast on a machine with an idle processor, at the
                             price of that; where none is idle, or it is in vain, it sleeps at once.
                             Negative: always [50] */
};

/*
 * Connect to a server and start the client's threads.
 *
 * Owns     the result is yours; end it with lk_client_close(). Options are copied.
 * Returns  NULL with err filled: INVALID (URL or option, a file of tls too), UNREACHABLE, SERVER (log-in
 *          refused, also that of the loader, which is named then; or no TLS with it), NO_MEMORY.
 * Threads  everything on a client may be called from any thread.
 */
lk_client *lk_client_open(const struct lk_client_options *options, struct lk_error *err);

/*
 * Stop the threads, join them, close the connections. A name look-up that is under way ends by itself,
 * later (so the shared library stays loaded).
 *
 * Owns     takes the client; NULL is fine. Free its locks first: a lock must not outlive its client.
 */
void lk_client_close(lk_client *client);

/*
 * Send commands in one round trip and read their answers. For data that lives beside the locks.
 *
 * Shape    replies[i] answers commands[i]; a server's error answer is a reply of type ERROR. In a
 *          cluster every command goes to the server of its first key (all keys of one command have
 *          one slot), one without a key along with the one before it, MULTI with the one behind; then
 *          it is one round trip per server. What commands leave on a connection (MULTI without EXEC,
 *          WATCH, SELECT, AUTH ...) ends with the call: such a connection is closed.
 * Units    limit_ms bounds waiting for a connection and the round trip; 0 means command_ms.
 * Owns     on OK the replies are yours (lk_reply_free each).
 * Returns  OK           all were answered, perhaps with errors.
 *          BUSY         nothing was sent: no connection became free within half the limit.
 *          UNREACHABLE  nothing was sent: no server.
 *          UNKNOWN      sent, but not all was answered; no reply is handed out. In a cluster, some
 *                       servers may have answered, and another was not reached.
 *          INVALID      nothing was sent: no client, one that is closed, or a parent process's.
 *          NO_MEMORY
 */
LK_MUST_CHECK lk_status lk_client_call(lk_client *client, const struct lk_command *commands,
                                       size_t count, int64_t limit_ms, lk_reply **replies,
                                       struct lk_error *err);

/* The client's pool of connections at one moment; its subscriber and its watchdog are not in it. */
struct lk_pool_usage {
    unsigned open;       /* made, or being made */
    unsigned busy;       /* of these: lent, or being made; the others are idle */
    unsigned max;        /* pool_size; when as many are busy, the next call waits */
    uint64_t reconnects; /* since lk_client_open(): made in place of one that broke */
};

/*
 * Tell how much of the client's pool is in use.
 *
 * Threads  any; asks no server and does not wait for one.
 */
void lk_client_pool_usage(const lk_client *client, struct lk_pool_usage *out);

/*
 * Whether a release, or the undo of an acquire, is pending: it had a temporary error, or no answer. The client
 * repeats it by itself, until the lease is over; a program that ends soon can wait for that.
 *
 * Threads  any; asks no server and does not wait for one. On something else than Redis: false.
 */
bool lk_client_has_pending_undo(lk_client *client);
bool lk_client_owes(lk_client *client); /* deprecated: its name in version 0.1 */

/* One connection of the client's pool, lent for several round trips. */
typedef struct lk_session lk_session;

/*
 * Borrow a connection, for what lives on a connection: WATCH, MULTI, EXEC.
 *
 * Shape    key: in a cluster, the connection is to the server that has it; NULL: to any. One that
 *          was changed (AUTH, SELECT, HELLO, SUBSCRIBE, CLIENT ...) is closed when it is given back, so
 *          that no other call inherits that, and the next borrower waits for another.
 * Units    limit_ms bounds the wait for a free connection; 0 means command_ms.
 * Owns     the result is yours; end it with lk_session_close(), soon, and before the client.
 * Returns  NULL with err filled: UNREACHABLE, BUSY, SERVER, INVALID, NO_MEMORY.
 * Threads  one at a time.
 */
lk_session *lk_session_open(lk_client *client, const char *key, int64_t limit_ms,
                            struct lk_error *err);

/* How many servers take writes: 1, or as many masters as the cluster has by now. */
size_t lk_client_primaries(lk_client *client);

/* As lk_session_open(), to the n-th of them, from 0. INVALID: there are not so many. */
lk_session *lk_session_open_at(lk_client *client, size_t primary, int64_t limit_ms,
                               struct lk_error *err);

/* "127.0.0.1:7001": the server that it is connected to. Borrowed from the session. */
const char *lk_session_server(const lk_session *session);

/*
 * One round trip on it; as lk_client_call(). UNREACHABLE, UNKNOWN: the connection is broken, and
 * what was watched on it is no longer; close the session.
 */
LK_MUST_CHECK lk_status lk_session_call(lk_session *session, const struct lk_command *commands,
                                        size_t count, int64_t limit_ms, lk_reply **replies,
                                        struct lk_error *err);

/*
 * Give the connection back. What was watched or begun and not ended by EXEC, DISCARD or UNWATCH is
 * ended here, which costs a round trip.
 *
 * Owns     takes the session; NULL is fine.
 */
void lk_session_close(lk_session *session);

#ifdef __cplusplus
}
#endif
#endif
