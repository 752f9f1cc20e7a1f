/*
 * See node.h. One thread takes a number, without the mutex; others wait for it, and share its
 * failure too: with a server that hangs, each waits for one answer, not for one after the other.
 */
#include "node.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "order_id.h"

enum { LEASE_MS = 30000 };

struct node {
    lk_client *client;     /* borrowed */
    pthread_mutex_t mutex; /* guards all below */
    pthread_cond_t taken;  /* is_taking has become false */
    bool is_taking;
    lk_lock *lock; /* owned; NULL: none held */
    int number;
};

struct node *node_new(lk_client *client)
{
    struct node *node = calloc(1, sizeof *node);

    if (!node) return NULL;
    node->client = client;
    (void)pthread_mutex_init(&node->mutex, NULL);
    (void)pthread_cond_init(&node->taken, NULL);
    return node;
}

static void give_back(lk_lock *lock)
{
    (void)lk_lock_release(lock, NULL); /* what cannot be confirmed, the lease ends */
    lk_lock_free(lock);
}

void node_free(struct node *node)
{
    if (!node) return;
    give_back(node->lock);
    (void)pthread_cond_destroy(&node->taken);
    (void)pthread_mutex_destroy(&node->mutex);
    free(node);
}

/* OK with a lock held, BUSY when the number is somebody else's. */
static lk_status try_number(lk_client *client, int number, lk_lock **out_lock)
{
    char key[32];

    (void)snprintf(key, sizeof key, "seckill:node:%d", number);
    lk_lock *lock = lk_mutex_new(client, key, NULL);
    if (!lock) return LK_NO_MEMORY;
    lk_status status = lk_lock_acquire(
        lock, &(struct lk_lock_options){.lease_ms = LEASE_MS, .is_renewed = true}, NULL);
    if (status == LK_OK) {
        *out_lock = lock;
    } else {
        lk_lock_free(lock);
    }
    return status;
}

/* Any free number, with its lock; -1 when there is none to be had. */
static int take(lk_client *client, lk_lock **out_lock)
{
    /* Start somewhere of our own, so that processes starting together do not all ask for 0. */
    unsigned first = (unsigned)getpid();

    for (unsigned i = 0; i < ORDER_NODES; i++) {
        int number = (int)((first + i) % ORDER_NODES);
        lk_status status = try_number(client, number, out_lock);

        if (status == LK_OK) return number;
        if (status != LK_BUSY) break;
    }
    return -1;
}

int node_number(struct node *node)
{
    bool has_waited = false;

    (void)pthread_mutex_lock(&node->mutex);
    for (; node->is_taking; has_waited = true)
        (void)pthread_cond_wait(&node->taken, &node->mutex);
    if (!lk_held(node->lock) && !has_waited) {
        lk_lock *old = node->lock;
        lk_lock *lock = NULL;

        node->is_taking = true;
        node->lock = NULL;
        (void)pthread_mutex_unlock(&node->mutex);
        give_back(old);
        int number = take(node->client, &lock);
        (void)pthread_mutex_lock(&node->mutex);
        node->lock = lock;
        node->number = number;
        node->is_taking = false;
        (void)pthread_cond_broadcast(&node->taken);
    }
    int number = lk_held(node->lock) ? node->number : -1;
    (void)pthread_mutex_unlock(&node->mutex);
    return number;
}
