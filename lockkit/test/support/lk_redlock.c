/*
 * See lk_redlock.h.
 */
#include "lk_redlock.h"

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

static const char *link_path(size_t node)
{
    static char paths[LKR_NODES][96];

    (void)snprintf(paths[node], sizeof paths[0], "%s/0", lkr_nodes[node]->dir);
    return paths[node];
}

void lkr_links_open(struct torture_links *links)
{
    char servers[LKR_NODES][96], control[96];

    links->count = LKR_NODES;
    for (size_t i = 0; i < LKR_NODES; i++) {
        (void)snprintf(servers[i], sizeof servers[0], "%s/s", lkr_nodes[i]->dir);
        links->list[i] = (struct torture_link){.path = link_path(i), .server = servers[i]};
    }
    (void)snprintf(control, sizeof control, "%s/control", lkr_nodes[0]->dir);
    assert_true(torture_links_open(links, control));
}

/* ---- clients and locks --------------------------------------------------------------------------- */

static void open_at(struct lkr_clients *clients, bool is_linked, struct lk_client_options options)
{
    struct lk_error err = {0};
    char url[128];

    options.may_be_down = true;
    if (options.backoff_ms == 0) options.backoff_ms = 20;
    for (size_t i = 0; i < LKR_NODES; i++) {
        (void)snprintf(url, sizeof url, "unix://%s", link_path(i));
        options.url = is_linked ? url : lkr_nodes[i]->url;
        clients->of[i] = lk_client_open(&options, &err);
        if (!clients->of[i]) fail_msg("%s", err.text);
    }
}

void lkr_open_through_links(struct lkr_clients *clients)
{
    open_at(clients, true, (struct lk_client_options){0});
}

void lkr_open(struct lkr_clients *clients, struct lk_client_options options)
{
    open_at(clients, false, options);
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
