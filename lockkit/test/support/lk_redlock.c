/*
 * See lk_redlock.h.
 */
#include "lk_redlock.h"

#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

struct lks_server *lkr_nodes[LKR_NODES];

int lkr_start_servers(void **state)
{
    (void)state;
    for (size_t i = 0; i < LKR_NODES; i++)
        lkr_nodes[i] = lks_server_start(NULL);
    return 0;
}

int lkr_stop_servers(void **state)
{
    (void)state;
    for (size_t i = 0; i < LKR_NODES; i++)
        lks_server_stop(lkr_nodes[i]);
    return 0;
}

int lkr_heal_servers(void **state)
{
    (void)state;
    for (size_t i = 0; i < LKR_NODES; i++) {
        if (lkr_nodes[i]->pid == 0) lks_server_restart(lkr_nodes[i]);
        lks_server_resume(lkr_nodes[i]);
        LKS_DO(lkr_nodes[i], "FLUSHALL");
    }
    return 0;
}

const char *lkr_key(const char *name)
{
    return lks_new_key(lkr_nodes[0], name);
}

/* ---- links --------------------------------------------------------------------------------------- */

struct lkr_links {
    pthread_t thread;
    pthread_mutex_t mutex; /* guards the links */
    struct torture_links *of[LKR_NODES];
    atomic_bool is_over;
};

static void *move_bytes(void *arg)
{
    struct lkr_links *links = arg;

    while (!atomic_load(&links->is_over)) {
        (void)pthread_mutex_lock(&links->mutex);
        for (size_t i = 0; i < LKR_NODES; i++)
            torture_links_step(links->of[i], 0);
        (void)pthread_mutex_unlock(&links->mutex);
        (void)usleep(200);
    }
    return NULL;
}

struct lkr_links *lkr_links_open(void)
{
    struct lkr_links *links = calloc(1, sizeof *links);
    char path[96];

    assert_non_null(links);
    (void)pthread_mutex_init(&links->mutex, NULL);
    for (size_t i = 0; i < LKR_NODES; i++) {
        (void)snprintf(path, sizeof path, "%s/s", lkr_nodes[i]->dir);
        links->of[i] = torture_links_open(lkr_nodes[i]->dir, path, 1);
        assert_non_null(links->of[i]);
    }
    assert_int_equal(pthread_create(&links->thread, NULL, move_bytes, links), 0);
    return links;
}

void lkr_links_close(struct lkr_links *links)
{
    char path[96];

    atomic_store(&links->is_over, true);
    assert_int_equal(pthread_join(links->thread, NULL), 0);
    for (size_t i = 0; i < LKR_NODES; i++) {
        torture_links_close(links->of[i]);
        (void)snprintf(path, sizeof path, "%s/0", lkr_nodes[i]->dir);
        (void)unlink(path);
    }
    (void)pthread_mutex_destroy(&links->mutex);
    free(links);
}

void lkr_links_set(struct lkr_links *links, size_t node, enum torture_link_state state)
{
    (void)pthread_mutex_lock(&links->mutex);
    torture_links_set(links->of[node], 0, state);
    (void)pthread_mutex_unlock(&links->mutex);
}

/* ---- clients and locks --------------------------------------------------------------------------- */

void lkr_open_through(struct lkr_clients *clients, const struct lkr_links *links,
                      struct lk_client_options options)
{
    char url[128];
    struct lk_error err = {0};

    options.may_be_down = true;
    if (options.backoff_ms == 0) options.backoff_ms = 20;
    if (options.command_ms == 0) options.command_ms = lks_command_ms;
    for (size_t i = 0; i < LKR_NODES; i++) {
        (void)snprintf(url, sizeof url, "unix://%s/0", lkr_nodes[i]->dir);
        options.url = links ? url : lkr_nodes[i]->url;
        clients->of[i] = lk_client_open(&options, &err);
        if (!clients->of[i]) fail_msg("%s", err.text);
    }
}

void lkr_open(struct lkr_clients *clients, struct lk_client_options options)
{
    lkr_open_through(clients, NULL, options);
}

void lkr_close(struct lkr_clients *clients)
{
    for (size_t i = 0; i < LKR_NODES; i++)
        lk_client_close(clients->of[i]);
}

lk_lock *lkr_lock(const struct lkr_clients *clients, const char *key,
                  const struct lk_redlock_options *options)
{
    struct lk_error err = {0};
    lk_lock *lock = lk_redlock_new(clients->of, LKR_NODES, key, options, &err);

    if (!lock) fail_msg("%s", err.text);
    return lock;
}

bool lkr_exists(size_t node, const char *key)
{
    return LKS_INTEGER(lkr_nodes[node], "EXISTS", key) == 1;
}

size_t lkr_count(const char *key)
{
    size_t count = 0;

    for (size_t i = 0; i < LKR_NODES; i++)
        count += lkr_nodes[i]->pid != 0 && lkr_exists(i, key);
    return count;
}

void lkr_await_count(const char *key, size_t count)
{
    LKS_EVENTUALLY(lkr_count(key) == count, 5000);
}

void lkr_assert_votes(const lk_lock *lock, const lk_status expected[LKR_NODES])
{
    struct lk_redlock_vote votes[LKR_NODES];

    assert_int_equal(lk_redlock_report(lock, NULL, votes, LKR_NODES), LKR_NODES);
    for (size_t i = 0; i < LKR_NODES; i++) {
        if (votes[i].status != expected[i]) {
            fail_msg("server %zu voted %s, not %s", i, lk_status_name(votes[i].status),
                     lk_status_name(expected[i]));
        }
    }
}

size_t lkr_counting(const lk_lock *lock)
{
    struct lk_redlock_vote votes[LKR_NODES];
    size_t count = 0;

    assert_int_equal(lk_redlock_report(lock, NULL, votes, LKR_NODES), LKR_NODES);
    for (size_t i = 0; i < LKR_NODES; i++)
        count += votes[i].remaining_ms > 0;
    return count;
}

lk_status lkr_acquire(lk_lock *lock, int64_t wait_ms, int64_t lease_ms, struct lk_error *err)
{
    return lk_lock_acquire(
        lock, &(struct lk_lock_options){.wait_ms = wait_ms, .lease_ms = lease_ms}, err);
}
