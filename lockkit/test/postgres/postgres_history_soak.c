/*
 * Locks in PostgreSQL among cut links, lost answers, a server that is stopped, killed, or ends sessions: threads of several
 * clients take and give back a few keys, each client through a link of its own, and the history of all that they were
 * told is judged as a torture's is.
 */
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include "history/judge.h"
#include "lk_postgres.h"
#include "torture/torture_links.h"

enum {
    CLIENTS = 4,
    THREADS = 12,
    KEYS = 3,
    RUN_MS = 15000,
    QUIET_MS = 400, /* between two faults */
    LEASE_MS = 1200,
    STUCK_MS = 5000,
};

static struct {
    struct lkp_server *server;
    struct torture_links *conns;
    struct history_writer writer;
    char history[96];
    lk_client *clients[CLIENTS];
    atomic_bool is_over;
    atomic_uint seed;
} world;

/* ---- clients ------------------------------------------------------------------------------------------------- */

/* libpq wants the socket's name: it leads to the link. */
static void open_client(size_t i)
{
    char dir[96], name[128], url[256];
    struct lk_error err = {0};

    (void)snprintf(dir, sizeof dir, "%s/client-%zu", world.server->dir, i);
    assert_int_equal(mkdir(dir, 0755), 0);
    (void)snprintf(name, sizeof name, "%s/.s.PGSQL.5432", dir);
    assert_int_equal(symlink(lks_format("%s/%zu", world.server->dir, i), name), 0);
    (void)snprintf(url, sizeof url, "postgres:///postgres?user=postgres&host=%s", dir);
    world.clients[i] = lk_client_open(&(struct lk_client_options){.url = url,
                                                                  .connect_ms = 500,
                                                                  .command_ms = 400,
                                                                  .poll_ms = 200,
                                                                  .backoff_ms = 50,
                                                                  .may_be_down = true,
                                                                  .on_event = history_on_event,
                                                                  .on_event_arg = &world.writer},
                                      &err);
    if (!world.clients[i]) fail_msg("%s", err.text);
}

static int64_t draw(unsigned *seed, int64_t least, int64_t most)
{
    return least + rand_r(seed) % (most - least + 1);
}

/* A release that nobody confirms is asked for again. */
static void give_back(lk_lock *lock)
{
    lk_status status = LK_UNKNOWN;

    while (status == LK_UNKNOWN || status == LK_UNREACHABLE || status == LK_BUSY ||
           status == LK_EXHAUSTED) {
        status = lk_lock_release(lock, NULL);
        if (status != LK_OK) lks_nap(20);
    }
}

static lk_status take_turns(struct lks_wait *wait)
{
    lk_lock *locks[KEYS];
    unsigned seed = atomic_fetch_add(&world.seed, 1);

    for (size_t i = 0; i < KEYS; i++)
        locks[i] = lk_fenced_new(world.clients[(size_t)wait->count % CLIENTS],
                                 lks_format("key-%zu", i), NULL);
    while (!atomic_load(&world.is_over)) {
        lk_lock *lock = locks[draw(&seed, 0, KEYS - 1)];
        struct lk_lock_options options = {.wait_ms = draw(&seed, 0, 3) * 300,
                                          .lease_ms = LEASE_MS,
                                          .is_renewed = draw(&seed, 0, 1) == 1};

        if (lk_lock_acquire(lock, &options, NULL) != LK_OK) continue;
        lks_nap((int)draw(&seed, 0, 20));
        if (draw(&seed, 0, 200) == 0) lks_nap(LEASE_MS + 200);
        give_back(lock);
    }
    for (size_t i = 0; i < KEYS; i++)
        lk_lock_free(locks[i]);
    return LK_OK;
}

/* ---- faults -------------------------------------------------------------------------------------------------- */

static void hold_link(size_t conn)
{
    torture_links_set(world.conns, conn, LINK_HELD);
}

static void deafen_link(size_t conn)
{
    torture_links_set(world.conns, conn, LINK_DEAF);
}

static void close_link(size_t conn)
{
    torture_links_set(world.conns, conn, LINK_CLOSED);
}

static void heal_link(size_t conn)
{
    torture_links_set(world.conns, conn, LINK_PASSES);
}

static void pause_server(size_t conn)
{
    lkp_server_signal(world.server, SIGSTOP);
}

static void resume_server(size_t conn)
{
    lkp_server_signal(world.server, SIGCONT);
}

static void kill_server(size_t conn)
{
    lkp_server_kill(world.server);
}

static void restart_server(size_t conn)
{
    lkp_server_restart(world.server);
}

static void end_sessions(size_t conn)
{
    (void)lkp_ask(world.server, "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity"
                                " WHERE application_name LIKE 'lockkit %%'");
}

static const struct {
    const char *name;
    void (*begin)(size_t conn);
    void (*end)(size_t conn);
    int ms;
} faults[] = {
    {"a link held past the lease", hold_link, heal_link, LEASE_MS + 500},
    {"answers of a link lost", deafen_link, heal_link, 300},
    {"a link closed", close_link, heal_link, 300},
    {"the server stopped", pause_server, resume_server, 700},
    {"the server stopped past the lease", pause_server, resume_server, LEASE_MS + 500},
    {"the server killed", kill_server, restart_server, 100},
    {"sessions ended", end_sessions, heal_link, 1},
};

enum { FAULTS = sizeof faults / sizeof faults[0] };

static void pass_on(int ms)
{
    for (double until = lks_now_ms() + ms; lks_now_ms() < until;)
        torture_links_step(world.conns, 5);
}

static void have_faults(unsigned seed)
{
    double until = lks_now_ms() + RUN_MS;

    for (size_t i = 0; lks_now_ms() < until; i++) {
        size_t conn = (size_t)draw(&seed, 0, CLIENTS - 1);

        pass_on(QUIET_MS);
        history_note(&world.writer, 0, "mark cut");
        faults[i % FAULTS].begin(conn);
        pass_on(faults[i % FAULTS].ms);
        faults[i % FAULTS].end(conn);
        pass_on(100);
        history_note(&world.writer, 0, "mark healed");
    }
}

/* ---- the judgement ------------------------------------------------------------------------------------------- */

static void judge(struct history_report *out)
{
    struct history history = {0};
    const char *why = NULL;
    FILE *file = fopen(world.history, "re");
    const struct history_check_options options = {
        .stuck_ms = STUCK_MS, .findings = stderr, .drawing = stderr};

    assert_non_null(file);
    assert_int_equal(history_read(&history, file, &why), 0);
    assert_true(history_check(&history, &options, out));
    (void)fclose(file);
    history_done(&history);
    print_message(
        "# %zu holds, %zu acquires without an answer, %zu holds lost, %zu of %zu fences\n",
        out->holds, out->unknown, out->lost, out->found[CHECK_FENCE], out->examined[CHECK_FENCE]);
}

static void take_turns_amid_faults(unsigned seed)
{
    struct lks_wait crowd[THREADS] = {0};

    atomic_store(&world.seed, seed);
    atomic_store(&world.is_over, false);
    for (size_t i = 0; i < THREADS; i++) {
        crowd[i].run = take_turns;
        crowd[i].count = (int64_t)i;
        lks_wait_begin(&crowd[i]);
    }
    have_faults(seed);
    atomic_store(&world.is_over, true);
    for (size_t i = 0; i < THREADS; i++) {
        while (!atomic_load(&crowd[i].has_ended))
            pass_on(5);
        (void)lks_wait_end(&crowd[i]);
    }
    pass_on(LEASE_MS + 300);
}

/* Chance may lose no hold, some one time of fifty: then there is more of it. */
TEST(no_fault_lets_two_in_or_a_fence_fall)
{
    struct history_report report = {0};

    for (unsigned round = 0; round < 4 && report.lost == 0; round++) {
        take_turns_amid_faults((unsigned)getpid() + round);
        assert_string_equal(
            lkp_ask(world.server, "SELECT count(*) FROM lockkit.lock WHERE expires > now()"), "0");
        judge(&report);
    }
    assert_true(report.holds > 200 && report.unknown > 0 && report.lost > 0);
    assert_int_equal(history_found(&report), 0);
}

BEFORE_ALL()
{
    world.server = lkp_server_start();
    (void)chmod(world.server->dir, 0777); /* the server may be nobody; this is not */
    world.conns = torture_links_open(
        world.server->dir, lks_format("%s/.s.PGSQL.%d", world.server->dir, world.server->port),
        CLIENTS);
    assert_non_null(world.conns);
    (void)snprintf(world.history, sizeof world.history, "%s/history", world.server->dir);
    assert_true(history_open(&world.writer, world.history));
    lk_client_close(lk_client_open(&(struct lk_client_options){.url = world.server->url}, NULL));
    for (size_t i = 0; i < CLIENTS; i++)
        open_client(i); /* none of which gets through yet */
}

AFTER_ALL()
{
    for (size_t i = 0; i < CLIENTS; i++)
        lk_client_close(world.clients[i]);
    history_close(&world.writer);
    torture_links_close(world.conns);
    lkp_server_stop(world.server);
}
