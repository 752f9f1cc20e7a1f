/*
 * What the parts of a client of ZooKeeper share.
 */
#ifndef LKI_ZOOKEEPER_ZOOKEEPER_H
#define LKI_ZOOKEEPER_ZOOKEEPER_H

#include "lease/renewal_conn.h"
#include "queue.h"
#include "session.h"

extern const struct lki_backend lki_backend_zookeeper;

enum { ZOOKEEPER_NODE_MAX = ZOOKEEPER_PATH_MAX + 256 };

struct zookeeper_node;

/* A node of ours that is to be deleted, or those whose paths begin so: the caller has done with it. */
struct zookeeper_pending_undo {
    struct zookeeper_pending_undo *next;
    char *path; /* owned */
    int64_t session;
    bool is_prefix;
};

struct zookeeper {
    struct zookeeper_session session;
    char *base;                           /* owned; "" or "/path" */
    bool is_kazoo;                        /* whose names and rules; else Curator's */
    int conn_fd;                          /* eventfd: the watchdog's line is to look up */
    struct zookeeper_node *nodes;         /* guarded by session.mutex: all of this client */
    struct zookeeper_pending_undo *undos; /* guarded by session.mutex; owned */
};

static inline struct zookeeper *zookeeper_of(const lk_client *client)
{
    return client->backend_state;
}

/* The hub's thread (arg: the client): lets waiters be found, keeps the session proven, and pays undos. */
void *zookeeper_keep_main(void *arg);
/* This node is not needed any more (or all that begin so): the keeper deletes it while that session lives. */
void zookeeper_pending_undo_add(lk_client *client, const char *path, int64_t session,
                                bool is_prefix);
/* Delete all whose paths begin so, now. */
LK_MUST_CHECK lk_status zookeeper_pending_undo_delete(lk_client *client, const char *prefix,
                                                      int64_t deadline, unsigned *out_deleted);
/* Those of a session that has none to ask now wait for its end, or its next connection. False: some are left. */
bool zookeeper_pending_undo_run_all(lk_client *client);

/* Ask a CREATE, and again with what parents it wants: as zookeeper_ask(). */
LK_MUST_CHECK lk_status zookeeper_create(lk_client *client,
                                         const struct zookeeper_question *question,
                                         int64_t deadline, struct zookeeper_answer *out,
                                         struct lk_error *err);

/* A node's number, as Curator's SharedCount has it: the highest byte first. */
enum { ZOOKEEPER_NUMBER_LEN = 4 };
void zookeeper_number_write(long long number, char out[ZOOKEEPER_NUMBER_LEN]);
/* Of a GET's answer; false: it is none. */
bool zookeeper_number_read(const struct zookeeper_answer *answer, long long *out);
/* A persistent node, unless it is there: as zookeeper_ask(); SERVER. */
LK_MUST_CHECK lk_status zookeeper_number_create(lk_client *client, const char *path,
                                                long long number, long long *out_is_made,
                                                struct lk_error *err);

/* lki_backend's. */
lk_status zookeeper_permits(const struct lki_permit_list *list, const char *script,
                            long long out_answer[2], struct lk_error *err);
lk_status zookeeper_latch(const struct lki_counter *counter, const char *script, int64_t number,
                          long long *out_answer, struct lk_error *err);
/* What is left to count down of the latch that a GET found; 0: it is open. */
long long zookeeper_latch_read(const struct zookeeper_answer *seen);
/* Take them: OK, BUSY, UNREACHABLE, SERVER. *out_path: of the last one's node. */
LK_MUST_CHECK lk_status zookeeper_permits_take(const struct lki_permit_list *list,
                                               char out_path[ZOOKEEPER_NODE_MAX],
                                               struct lk_error *err);
/* What there may be of them: gone, or owed. */
void zookeeper_permits_undo(const struct lki_permit_list *list);

struct lki_renewal_conn *zookeeper_renewal_conn_new(lk_client *client);
/* Have the watchdog doubt every hold. */
void zookeeper_renewal_conn_alarm(lk_client *client);

lk_status zookeeper_inspect(lk_client *client, const char *key, bool is_next,
                            struct lk_inspection *out, struct lk_error *err);

lk_lock *zookeeper_node_new(lk_client *client, const char *kind, const char *key,
                            struct lk_error *err);
/* The connection is another one: whoever waits looks again. */
void zookeeper_node_wake_all(lk_client *client);
/* Something has become of the node at this path, which the waiter or holder with this number watches, or it is gone. */
void zookeeper_node_changed(lk_client *client, unsigned long id, const char *path, bool is_gone);
/* Owe the nodes of holds that have ended unreleased, and have the others watched. */
void zookeeper_node_sweep(lk_client *client);

#endif
