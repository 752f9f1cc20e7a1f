/*
 * Masters that are killed or stand still while locks are wanted and renewed. Numbers in brackets are
 * those of the checklist of cases for clients that share keys with Redisson.
 */
#include <pthread.h>

#include "base/slot.h"
#include "test/support/lk_crew.h"
#include "test/support/lk_topology.h"

enum {
    SWITCH_MS = 20000,
    TURNS = 100,
    CLIENTS = 4,
    THREADS = 2,
    LOCKS = 10000,
    TAKERS = 8,
    RENEWED_MS = 6000, /* lease: renewed every 2 s */
    QUIET_MS = 9000,   /* four renewals and more */
    PAUSE_MS = 2500,
};

static struct lkt *start_cluster(void)
{
    return lkt_start(
        &(struct lkt_options){.is_cluster = true, .setting = "cluster-require-full-coverage no"});
}

/* ---- a master is killed -------------------------------------------------------------------------------- */

/* Replication is asynchronous: a hold that the replica has not got yet may overlap with one given by
   it. At most one hold of each thread can be of that kind. */
TEST(a_killed_master_under_contention_is_bounded)
{
    struct lkt *topology = start_cluster();
    struct lks_crew_report report;
    struct lks_crew *crew = lks_crew_start(&(struct lks_crew_options){.url = topology->url,
                                                                      .key = "contended",
                                                                      .clients = CLIENTS,
                                                                      .threads = THREADS,
                                                                      .lease_ms = 2000});
    char master[8];
    int slot = lki_slot_of("contended", strlen("contended"));

    (void)snprintf(master, sizeof master, "%s", lkt_tell(topology, "primary %d", slot));
    lks_crew_go_on(crew, TURNS, SWITCH_MS);
    (void)lkt_tell(topology, "kill %s", master);
    (void)lkt_tell(topology, "ready");
    assert_string_not_equal(lkt_tell(topology, "primary %d", slot), master);
    lks_crew_go_on(crew, TURNS, SWITCH_MS);
    print_message("# master killed under contention (overlaps are allowed here, and bounded):\n");
    lks_crew_stop(crew, &report);
    lkt_stop(topology);

    assert_true(report.turns >= 2L * TURNS);
    assert_true(report.overlaps <= (long)CLIENTS * THREADS);
    assert_int_equal(report.acquires[LK_SERVER] + report.releases[LK_SERVER], 0);
    assert_true(report.gap_ms < SWITCH_MS);
}

/* ---- many leases ----------------------------------------------------------------------------------------- */

static lk_lock *locks[LOCKS];
static int owners[LOCKS]; /* which third of the slots */

struct taker {
    pthread_t thread;
    size_t first, last;
    int acquired;
};

static void *take(void *arg)
{
    struct taker *taker = arg;
    struct lk_lock_options options = {.lease_ms = RENEWED_MS, .is_renewed = true};

    for (size_t i = taker->first; i < taker->last; i++)
        taker->acquired += lk_lock_acquire(locks[i], &options, NULL) == LK_OK;
    return NULL;
}

static void take_all(lk_client *client)
{
    struct taker takers[TAKERS] = {{0}};
    int acquired = 0;

    for (size_t i = 0; i < LOCKS; i++) {
        char key[32];

        (void)snprintf(key, sizeof key, "many-%zu", i);
        locks[i] = lk_reentrant_new(client, key, NULL);
        assert_non_null(locks[i]);
        owners[i] = lki_slot_of(key, strlen(key)) * 3 / LKI_SLOTS;
    }
    for (size_t i = 0; i < TAKERS; i++) {
        takers[i].first = i * LOCKS / TAKERS;
        takers[i].last = (i + 1) * LOCKS / TAKERS;
        assert_int_equal(pthread_create(&takers[i].thread, NULL, take, &takers[i]), 0);
    }
    for (size_t i = 0; i < TAKERS; i++) {
        assert_int_equal(pthread_join(takers[i].thread, NULL), 0);
        acquired += takers[i].acquired;
    }
    assert_int_equal(acquired, LOCKS);
}

/* Look at all of them again and again; the least that was left of a lease outside of `except`. */
static int64_t watch(int64_t span_ms, int except)
{
    double until_ms = lks_now_ms() + (double)span_ms;
    int64_t least_ms = INT64_MAX;

    while (lks_now_ms() < until_ms) {
        for (size_t i = 0; i < LOCKS; i++) {
            int64_t left_ms = owners[i] == except ? INT64_MAX : lk_lock_remaining_ms(locks[i]);

            if (left_ms < least_ms) least_ms = left_ms;
        }
        lks_nap(20);
    }
    return least_ms;
}

static int held(int owner)
{
    int count = 0;

    for (size_t i = 0; i < LOCKS; i++)
        count += owners[i] == owner && lk_held(locks[i]);
    return count;
}

/* By the servers themselves. */
static long long keys_of(struct lkt *topology, const char *const names[], size_t count)
{
    long long keys = 0;

    for (size_t i = 0; i < count; i++)
        keys += LKS_INTEGER(lkt_server(topology, names[i]), "DBSIZE");
    return keys;
}

/* [28] */
TEST(many_leases_over_all_slots_are_renewed_in_time)
{
    static const char *const masters[] = {"n1", "n2", "n3"};
    struct lkt *topology = start_cluster();
    lk_client *client = lkt_client_with(topology, (struct lk_client_options){.backoff_ms = 100});

    double begin = lks_now_ms();
    take_all(client);
    double took_ms = lks_now_ms() - begin;
    int64_t least_ms = watch(QUIET_MS, -1);
    print_message("# %d locks taken in %.0f ms; for %d ms the least that was left of a lease of %d "
                  "ms: %lld ms\n",
                  LOCKS, took_ms, QUIET_MS, RENEWED_MS, (long long)least_ms);
    assert_true(least_ms > 0);
    assert_int_equal(keys_of(topology, masters, 3), LOCKS);

    int of_first = held(0);
    (void)lkt_tell(topology, "pause n1");
    int64_t paused_ms = watch(PAUSE_MS, 0);
    (void)lkt_tell(topology, "resume n1");
    int64_t after_ms = watch(RENEWED_MS / 2, 0);
    print_message("# one master stood for %d ms: the least left on the others %lld ms; of its own "
                  "%d holds %d are held after that\n",
                  PAUSE_MS, (long long)(paused_ms < after_ms ? paused_ms : after_ms), of_first,
                  held(0));
    assert_true(paused_ms > 0 && after_ms > 0);
    for (size_t i = 0; i < LOCKS; i++)
        lk_lock_free(locks[i]);
    lk_client_close(client);
    lkt_stop(topology);
}
