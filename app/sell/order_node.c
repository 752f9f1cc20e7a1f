/*
 * See order_node.h. One thread leases a number, without the mutex; the others wait for its result, a failure
 * included (single-flight): if the server hangs, all threads wait for the same answer.
 *
 * A failover can lose the lease, and then another process may get the number: so whenever the servers have
 * changed, the lease is renewed before the next id is made. One case is left: a failover loses the lease between
 * the making of an id and the writing of its order, and another process leases this very number. To make that
 * unlikely, a new number is not used before a replica has the lease, if one has it soon.
 *
 * If a clock were set back between two processes, the ids of one number could repeat: so the number has a mark in
 * Redis, a moment after all its ids, which is advanced every few seconds while ids are made.
 */
#include "order_node.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "sale/order_id.h"

enum {
    LEASE_MS = 30000,
    REPLICA_MS = 200,
    MARK_MS = 5000,  /* ahead of the next id, when it is set */
    SPARE_MS = 1000, /* ...at least, when ids are made */
};

struct order_node {
    lk_client *client;                   /* borrowed */
    const struct deployment *deployment; /* borrowed; may be NULL */
    struct order_ids *ids;               /* borrowed */
    pthread_mutex_t mutex;               /* guards all below */
    pthread_cond_t taken;                /* is_taking has become false */
    bool is_taking;
    lk_lock *lock; /* owned; NULL: none held */
    int number;
    unsigned changes; /* of the deployment, when the lock was last known to be there */
    int64_t mark_ms;  /* Unix milliseconds; ids may be made until SPARE_MS before */
};

struct order_node *order_node_new(lk_client *client, const struct deployment *deployment,
                                  struct order_ids *ids)
{
    struct order_node *node = calloc(1, sizeof *node);

    if (!node) return NULL;
    node->client = client;
    node->deployment = deployment;
    node->ids = ids;
    (void)pthread_mutex_init(&node->mutex, NULL);
    (void)pthread_cond_init(&node->taken, NULL);
    return node;
}

static void give_back(lk_lock *lock)
{
    (void)lk_lock_release(lock, NULL); /* what cannot be confirmed, the lease ends */
    lk_lock_free(lock);
}

void order_node_free(struct order_node *node)
{
    if (!node) return;
    give_back(node->lock);
    (void)pthread_cond_destroy(&node->taken);
    (void)pthread_mutex_destroy(&node->mutex);
    free(node);
}

/* Wait briefly for a replica to have the key. The pipeline has a write, because WAIT is about a connection's writes. */
static void wait_for_a_replica(lk_client *client, const char *key)
{
    const struct lk_bytes expire[] = {LK_BYTES("PEXPIRE"), lk_bytes_of(key), LK_BYTES("30000")};
    const struct lk_bytes wait[] = {LK_BYTES("WAIT"), LK_BYTES("1"), LK_BYTES("200")};
    const struct lk_command commands[] = {{expire, 3}, {wait, 3}};
    lk_reply *replies[2] = {0};

    _Static_assert(LEASE_MS == 30000 && REPLICA_MS == 200, "the words say so");
    if (lk_client_call(client, commands, 2, 0, replies, NULL) != LK_OK) return;
    lk_reply_free(replies[0]);
    lk_reply_free(replies[1]);
}

/* Run a command on the sorted set of marks, with this number as the last argument; the caller frees the reply. */
static lk_status ask_marks(const struct order_node *node, int number, struct lk_bytes *words,
                           size_t count, lk_reply **reply)
{
    char member[12]; /* any int: gcc 14 does not see that these are small */

    (void)snprintf(member, sizeof member, "%d", number);
    words[1] = LK_BYTES("seckill:nodes");
    words[count - 1] = lk_bytes_of(member);
    lk_status status =
        lk_client_call(node->client, &(struct lk_command){words, count}, 1, 0, reply, NULL);
    if (status != LK_OK || lk_reply_type_of(*reply) != LK_REPLY_ERROR) return status;
    lk_reply_free(*reply);
    return LK_SERVER;
}

/* Begin after the ids of the number's previous holders. */
static lk_status read_mark(const struct order_node *node, int number)
{
    struct lk_bytes words[3] = {LK_BYTES("ZSCORE")};
    lk_reply *reply = NULL;
    lk_status status = ask_marks(node, number, words, 3, &reply);

    if (status != LK_OK) return status;
    const char *score = lk_reply_bytes(reply).data;
    if (score) order_ids_raise(node->ids, strtoll(score, NULL, 10));
    lk_reply_free(reply);
    return LK_OK;
}

/* The mark never moves back: a late write may be of a previous holder. */
static lk_status move_mark(const struct order_node *node, int number, int64_t mark_ms)
{
    char score[24];
    struct lk_bytes words[5] = {LK_BYTES("ZADD"), {0}, LK_BYTES("GT"), {0}};
    lk_reply *reply = NULL;

    (void)snprintf(score, sizeof score, "%" PRId64, mark_ms);
    words[3] = lk_bytes_of(score);
    lk_status status = ask_marks(node, number, words, 5, &reply);
    if (status == LK_OK) lk_reply_free(reply);
    return status;
}

/* OK: the lock is held; BUSY: another process holds the number. */
static lk_status try_number(const struct order_node *node, int number, lk_lock **out_lock)
{
    char key[32];

    (void)snprintf(key, sizeof key, "seckill:node:%d", number);
    lk_lock *lock = lk_mutex_new(node->client, key, NULL);
    if (!lock) return LK_NO_MEMORY;
    lk_status status = lk_lock_acquire(
        lock, &(struct lk_lock_options){.lease_ms = LEASE_MS, .is_renewed = true}, NULL);
    if (status != LK_OK) {
        lk_lock_free(lock);
        return status;
    }
    status = read_mark(node, number);
    if (status != LK_OK) {
        give_back(lock);
        return status;
    }
    if (deployment_may_go_back(node->deployment)) wait_for_a_replica(node->client, key);
    *out_lock = lock;
    return LK_OK;
}

/* Lease any free number; -1 when there is none. */
static int take(const struct order_node *node, lk_lock **out_lock)
{
    /* Begin at a number of this process's own, so that processes that start together do not all try 0. */
    unsigned first = (unsigned)getpid();

    for (unsigned i = 0; i < ORDER_NODES; i++) {
        int number = (int)((first + i) % ORDER_NODES);
        lk_status status = try_number(node, number, out_lock);

        if (status == LK_OK) return number;
        if (status != LK_BUSY) break;
    }
    return -1;
}

/*
 * Renew the lock, or acquire another one. *lock may become NULL.
 *
 * Returns  the number, or -1; if a lock is left then, its renewal had no answer and has to be repeated.
 */
static int renew_or_take(const struct order_node *node, lk_lock **lock)
{
    lk_status status = lk_held(*lock) ? lk_lock_renew(*lock, LEASE_MS, NULL) : LK_LOST;

    if (status == LK_OK) return node->number;
    if (status != LK_LOST && lk_held(*lock)) return -1; /* no answer: it may be ours, or not */
    give_back(*lock);
    *lock = NULL;
    return take(node, lock);
}

static bool is_good_locked(const struct order_node *node)
{
    return lk_held(node->lock) && node->changes == deployment_changes(node->deployment) &&
           order_ids_next_ms(node->ids) + SPARE_MS < node->mark_ms;
}

int order_node_number(struct order_node *node)
{
    bool has_waited = false;

    (void)pthread_mutex_lock(&node->mutex);
    for (; node->is_taking; has_waited = true)
        (void)pthread_cond_wait(&node->taken, &node->mutex);
    if (!is_good_locked(node) && !has_waited) {
        unsigned changes = deployment_changes(node->deployment); /* before asking */
        lk_lock *lock = node->lock;

        node->is_taking = true;
        node->lock = NULL;
        (void)pthread_mutex_unlock(&node->mutex);
        int number = renew_or_take(node, &lock);
        int64_t mark_ms = order_ids_next_ms(node->ids) + MARK_MS;
        bool is_good = number >= 0 && move_mark(node, number, mark_ms) == LK_OK;
        (void)pthread_mutex_lock(&node->mutex);
        node->lock = lock;
        if (number >= 0) node->number = number;
        if (is_good) node->changes = changes;
        node->mark_ms = is_good ? mark_ms : 0;
        node->is_taking = false;
        (void)pthread_cond_broadcast(&node->taken);
    }
    int number = is_good_locked(node) ? node->number : -1;
    (void)pthread_mutex_unlock(&node->mutex);
    return number;
}
