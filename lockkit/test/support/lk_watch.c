/*
 * See lk_watch.h.
 */
#include "lk_watch.h"

#include "base/slot.h"

struct lks_server *lks_watch_servers[LKS_FLEET];

static void count_event(const struct lk_event *event, void *arg)
{
    struct lks_watch *f = arg;

    if (event->type == LK_EVENT_LOST) atomic_fetch_add(&f->lost, 1);
    if (event->type == LK_EVENT_RENEW && event->status == LK_OK) atomic_fetch_add(&f->renewals, 1);
}

void lks_watch_start(struct lks_watch *f, bool is_cluster)
{
    f->watched = *f->clients[0];
    f->watched.topology = lks_fleet_topology();
    f->watched.options.connect_ms = LKS_WATCH_COMMAND_MS;
    f->watched.options.command_ms = f->command_ms > 0 ? f->command_ms : LKS_WATCH_COMMAND_MS;
    lks_fleet_start(lks_watch_servers, LKS_FLEET, is_cluster);
    f->watchdog = lki_watchdog_new(&f->watched, NULL, NULL);
    assert_non_null(f->watchdog);
    assert_int_equal(pthread_create(&f->thread, NULL, lki_watchdog_main, f->watchdog), 0);
    f->is_running = true;
}

int lks_watch_set_up(void **state)
{
    struct lks_watch *f = calloc(1, sizeof *f);

    assert_non_null(f);
    for (size_t i = 0; i < LKS_FLEET; i++)
        f->clients[i] =
            lks_client_with(lks_watch_servers[i],
                            (struct lk_client_options){
                                .command_ms = 20000, .on_event = count_event, .on_event_arg = f});
    *state = f;
    return 0;
}

void lks_watch_stop(struct lks_watch *f)
{
    if (f->is_running) {
        lki_watchdog_stop(f->watchdog);
        (void)pthread_join(f->thread, NULL);
    }
    f->is_running = false;
}

int lks_watch_tear_down(void **state)
{
    struct lks_watch *f = *state;

    for (size_t i = 0; i < LKS_FLEET; i++)
        lks_server_resume(lks_watch_servers[i]);
    lks_watch_stop(f);
    for (size_t i = 0; i < f->count; i++) {
        lki_watchdog_remove(f->watchdog, f->locks[i]);
        lk_lock_free(f->locks[i]);
    }
    for (size_t i = 0; i < f->rw_count; i++)
        lk_rwlock_free(f->rws[i]);
    lki_watchdog_free(f->watchdog);
    bool is_clean = lks_fleet_stop();
    for (size_t i = 0; i < LKS_FLEET; i++) {
        lk_client_close(f->clients[i]);
        LKS_DO(lks_watch_servers[i], "FLUSHALL");
    }
    free(f);
    return is_clean ? 0 : -1;
}

/* A key whose slot is at a server of a cluster. */
const char *lks_watch_key(struct lks_watch *f, size_t node)
{
    char name[32];
    const char *key = NULL;

    do {
        (void)snprintf(name, sizeof name, "nodes-%u", f->serial++);
        key = lks_key(lks_watch_servers[0], name);
    } while ((size_t)lki_slot_of(key, strlen(key)) % LKS_FLEET != node);
    return key;
}

/* Held, and not watched yet. */
lk_lock *lks_watch_take(struct lks_watch *f, lk_lock *lock, int64_t lease_ms)
{
    struct lk_error err = {0};

    if (lk_lock_acquire(lock, &(struct lk_lock_options){.lease_ms = lease_ms}, &err) != LK_OK)
        fail_msg("%s", err.text);
    lki_watchdog_remove(lock->client->watchdog, lock); /* this one looks after it */
    lki_watchdog_expect(f->watchdog, lock);
    f->locks[f->count++] = lock;
    return lock;
}

void lks_watch_add(struct lks_watch *f, lk_lock *lock, bool is_renewed)
{
    lock->is_renewed = is_renewed;
    lock->on_lost = lks_count_loss;
    lock->on_lost_arg = &f->losses;
    assert_int_equal(lki_watchdog_add(f->watchdog, lock, NULL), LK_OK);
}

lk_lock *lks_watch_mutex(struct lks_watch *f, size_t node, int64_t lease_ms, bool is_renewed)
{
    lk_lock *lock =
        lks_watch_take(f, lks_mutex(f->clients[node], lks_watch_key(f, node)), lease_ms);

    lks_watch_add(f, lock, is_renewed);
    return lock;
}

bool lks_watch_are_held(lk_lock *const *locks, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (!lk_held(locks[i])) return false;
    }
    return true;
}

int lks_watch_start_servers(void **state)
{
    (void)state;
    for (size_t i = 0; i < LKS_FLEET; i++)
        lks_watch_servers[i] = lks_server_start(NULL);
    return 0;
}

int lks_watch_stop_servers(void **state)
{
    (void)state;
    for (size_t i = 0; i < LKS_FLEET; i++)
        lks_server_stop(lks_watch_servers[i]);
    return 0;
}
