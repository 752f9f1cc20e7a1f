/*
 * The fault matrix on ZooKeeper: one server, behind a link that can be cut; and three, whose leader is lost.
 * Round trips are faulty as lk_fault.h says; what watchdogs ask nobody is asked here.
 * link: -Wl,--wrap=lki_redis_exchange -Wl,--wrap=lki_redis_send -Wl,--wrap=zookeeper_ask
 */
#include <signal.h>
#include <sys/wait.h>

#include "base/error.h"
#include "lk_zookeeper.h"
#include "test/matrix/cells.h"

enum { SESSION_MS = 6000, LEFT_MS = 1000, CUT_MS = 50 };

enum {
    OF_OTHERS = 1U << CELL_FIRST_READ | 1U << CELL_FIRST_WRITE | 1U << CELL_FAIR_READ |
                1U << CELL_FAIR_WRITE | 1U << CELL_REDLOCK | 1U << CELL_SEMAPHORE |
                1U << LKS_ANY_MULTI | 1U << LKS_SPIN | 1U << LKS_FAIR,
};

/* ---- servers ----------------------------------------------------------------------------------------------- */

static void start_one(struct world *world)
{
    world->zookeeper = lkz_server_start(1);
    world->link = calloc(1, sizeof *world->link);
    assert_non_null(world->link);
    lkz_link_start(world->link, world->zookeeper);
    (void)snprintf(world->url, sizeof world->url, "zookeeper://127.0.0.1:%d/t?session_ms=%d",
                   world->link->port, SESSION_MS);
}

static void start_three(struct world *world)
{
    world->zookeeper = lkz_server_start(LKZ_MEMBERS_MAX);
    (void)snprintf(world->url, sizeof world->url, "%s/t?session_ms=%d", world->zookeeper->url,
                   SESSION_MS);
}

static void stop(struct world *world)
{
    if (world->link) lkz_link_stop(world->link);
    free(world->link);
    lkz_server_stop(world->zookeeper);
}

static bool has_children(struct world *world, const char *key, const char *below)
{
    double until = lks_now_ms() + LEFT_MS; /* what was owed is paid by then */
    char path[128];
    int count = 0;

    (void)snprintf(path, sizeof path, "/t/%s%s", key, below);
    do {
        count = lkz_count(world->zookeeper, path);
    } while (count > 0 && lks_now_ms() < until);
    return count > 0;
}

static bool is_left(struct world *world, const char *key, bool is_counted)
{
    if (!is_counted) return has_children(world, key, "");
    return has_children(world, key, "/leases") || has_children(world, key, "/locks");
}

static void signal_all(const struct world *world, int signal)
{
    for (size_t i = 0; i < world->zookeeper->count; i++)
        (void)kill(world->zookeeper->members[i].pid, signal);
}

static void pause_it(struct world *world)
{
    signal_all(world, SIGSTOP);
}

static void resume_it(struct world *world)
{
    signal_all(world, SIGCONT);
}

static void kill_it(struct world *world)
{
    for (size_t i = 0; i < world->zookeeper->count; i++)
        lkz_server_kill(world->zookeeper, i);
}

/*
 * Who comes while a server begins may be forgotten by it (3.8 looks into a database that it has not opened yet), and
 * waits for two thirds of its session: then luck decides what is left of that. So the link lets nobody in before.
 */
static void restart_it(struct world *world)
{
    if (world->link) atomic_store(&world->link->fault, LKZ_CUT);
    for (size_t i = 0; i < world->zookeeper->count; i++)
        lkz_server_begin(world->zookeeper, i);
    for (size_t i = 0; i < world->zookeeper->count; i++)
        lkz_server_await(world->zookeeper, i);
    if (world->link) atomic_store(&world->link->fault, LKZ_NONE);
}

static void wipe_it(struct world *world)
{
    lkz_server_wipe(world->zookeeper);
}

static size_t lost; /* the leader that was */

static void lose_leader(struct world *world)
{
    lost = lkz_server_leader(world->zookeeper);
    lkz_server_kill(world->zookeeper, lost);
}

static void find_leader(struct world *world)
{
    lkz_server_begin(world->zookeeper, lost);
    lkz_server_await(world->zookeeper, lost);
}

static void cut_all(struct world *world)
{
    atomic_store(&world->link->fault, LKZ_CUT);
    lks_nap(CUT_MS);
    atomic_store(&world->link->fault, LKZ_NONE);
}

#define OPS   .stop = stop, .is_left = is_left
#define DEEDS [PAUSE] = {pause_it, resume_it}, [WIPE] = {wipe_it, restart_it}

static const struct world_ops one = {
    OPS, .start = start_one,
    .deeds = {DEEDS, [RESTART] = {kill_it, restart_it}, [CUT] = {cut_all, NULL}}};
static const struct world_ops three = {OPS, .start = start_three,
                                       .deeds = {DEEDS, [REPLACE] = {lose_leader, find_leader}}};

struct world worlds[] = {
    {.name = "ZooKeeper", .ops = &one, .lacks = OF_OTHERS, .late = 1U << LK_BUSY},
    {.name = "three ZooKeepers",
     .ops = &three,
     .lacks = OF_OTHERS | 1U << LKS_REENTRANT | 1U << LKS_NON_REENTRANT | 1U << LKS_FENCED |
              1U << LKS_ANY_READ}, /* they are as mutex and write */
};
const size_t worlds_count = sizeof worlds / sizeof worlds[0];

CELLS_OF_WORLDS()

/* ---- round trips ------------------------------------------------------------------------------------------- */

FAKE(lk_status, zookeeper_ask, lk_client *client, const struct zookeeper_question *question,
     int64_t deadline, struct zookeeper_answer *out, struct lk_error *err)
{
    enum lks_fault_kind kind = lks_fault_strikes();

    if (kind == LKS_REFUSED) return LKI_FAIL(err, LK_UNREACHABLE, "refused");
    if (kind == LKS_LATE) out->session = atomic_load(&zookeeper_of(client)->session.id);
    if (kind == LKS_LATE) return LKI_FAIL(err, LK_UNKNOWN, "nothing came back");
    lk_status status = __real_zookeeper_ask(client, question, deadline, out, err);
    if (kind != LKS_REPLY_LOST || status != LK_OK) return status;
    int64_t session = out->session;
    zookeeper_answer_done(out);
    out->session = session;
    return LKI_FAIL(err, LK_UNKNOWN, "the reply was lost");
}
