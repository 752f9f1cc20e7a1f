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

/* A node of ours that is not needed any more and must be deleted; or all whose paths begin so. */
struct zookeeper_pending_undo {
    struct zookeeper_pending_undo *next;
    char *path; /* owned */
    int64_t session;
    bool is_prefix;
};

struct zookeeper {
    struct zookeeper_session session;
    char *base;                           /* owned; "" or "/path" */
    bool is_kazoo;                        /* kazoo's names and rules; else Curator's */
    int conn_fd;                          /* eventfd: alarms for the watchdog's connection */
    struct zookeeper_node *nodes;         /* guarded by session.mutex: all of this client */
    struct zookeeper_pending_undo *undos; /* guarded by session.mutex; owned */
};

static inline struct zookeeper *zookeeper_of(const lk_client *client)
{
    return client->backend_state;
}

/* The body of the hub's thread (arg: the client): makes channels live, keeps the session proven, runs undos. */
void *zookeeper_keep_main(void *arg);
/* Add a node, or all whose paths begin so: the keeper deletes it, unless the session ends first. */
void zookeeper_pending_undo_add(lk_client *client, const char *path, int64_t session,
                                bool is_prefix);
/* Delete all nodes whose paths begin so, now. */
LK_MUST_CHECK lk_status zookeeper_pending_undo_delete(lk_client *client, const char *prefix,
                                                      int64_t deadline, unsigned *out_deleted);
/* Run all undos. Without a connection they wait for the next one, or for the end of the session. False: some are
   left. */
bool zookeeper_pending_undo_run_all(lk_client *client);

/* Create a node, and missing parents: as zookeeper_ask(). */
LK_MUST_CHECK lk_status zookeeper_create(lk_client *client,
                                         const struct zookeeper_question *question,
                                         int64_t deadline, struct zookeeper_answer *out,
                                         struct lk_error *err);

/* The number in a node, as in Curator's SharedCount: the highest byte first. */
enum { ZOOKEEPER_NUMBER_LEN = 4 };
void zookeeper_number_write(long long number, char out[ZOOKEEPER_NUMBER_LEN]);
/* Read it from the answer to a GET; false: it is no number. */
bool zookeeper_number_read(const struct zookeeper_answer *answer, long long *out);
/* Create a persistent node unless it exists: as zookeeper_ask(); SERVER. */
LK_MUST_CHECK lk_status zookeeper_number_create(lk_client *client, const char *path,
                                                long long number, long long *out_is_made,
                                                struct lk_error *err);

lk_status zookeeper_permits(const struct lki_permit_list *list, const char *script,
                            long long out_answer[2], struct lk_error *err);
lk_status zookeeper_latch(const struct lki_counter *counter, const char *script, int64_t number,
                          long long *out_answer, struct lk_error *err);
/* The count of the latch in the answer to a GET; 0: it is open. */
long long zookeeper_latch_read(const struct zookeeper_answer *seen);
/* Acquire them: OK, BUSY, UNREACHABLE, SERVER. *out_path: the node of the last one. */
LK_MUST_CHECK lk_status zookeeper_permits_take(const struct lki_permit_list *list,
                                               char out_path[ZOOKEEPER_NODE_MAX],
                                               struct lk_error *err);
/* Release whatever exists of them, now or as pending undos. */
void zookeeper_permits_undo(const struct lki_permit_list *list);

struct lki_renewal_conn *zookeeper_renewal_conn_new(lk_client *client);
void zookeeper_renewal_conn_alarm(lk_client *client);

lk_status zookeeper_inspect(lk_client *client, const char *key, bool is_next,
                            struct lk_inspection *out, struct lk_error *err);

lk_lock *zookeeper_node_new(lk_client *client, const char *kind, const char *key,
                            struct lk_error *err);
/* There is a new connection: wake all waiters. */
void zookeeper_node_wake_all(lk_client *client);
/* The node at this path, which the waiter or holder with this id watches, has changed or was deleted. */
void zookeeper_node_changed(lk_client *client, unsigned long id, const char *path, bool is_gone);
/* Make the nodes of lost holds pending undos, and watch those of others. */
void zookeeper_node_sweep(lk_client *client);

#endif
