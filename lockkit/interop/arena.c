/*
 * See arena.h: the server, the peers, and the table of checks as cmocka's tests.
 */
#include "arena.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { TESTS_MAX = 128 };

/* A check of one kind, as cmocka sees it. */
struct test {
    const struct check *check;
    char kind[24];
    char name[96];
};

static struct {
    const struct arena *plan;
    struct lks_server *server;
    struct peer *lockkit, *rival;
    struct test tests[TESTS_MAX];
    struct CMUnitTest units[TESTS_MAX];
    size_t count;
} arena;

/* ---- peers --------------------------------------------------------------------------------- */

/* Where `prepare` has put the rivals. */
static const char *path_of(char path[256], const char *name)
{
    const char *dir = getenv("INTEROP_DIR"); /* NOLINT(concurrency-mt-unsafe): one thread */

    (void)snprintf(path, 256, "%s/%s", dir ? dir : "build/interop", name);
    return path;
}

struct peer *arena_start_redisson(const struct lks_server *server)
{
    char classes[256], jars[256], class_path[520], watchdog_ms[16], log[256];

    (void)snprintf(class_path, sizeof class_path, "%s:%s", path_of(classes, "classes"),
                   path_of(jars, "lib/*"));
    (void)snprintf(watchdog_ms, sizeof watchdog_ms, "%d", REDISSON_WATCHDOG_MS);
    /* The options only spare the machine: a small heap, no second compiler. */
    return peer_start((const char *const[]){"java", "-Xmx256m", "-XX:+UseSerialGC",
                                            "-XX:TieredStopAtLevel=1", "-cp", class_path,
                                            "RedissonPeer", server->tcp_url, watchdog_ms, NULL},
                      path_of(log, "redisson.log"));
}

struct peer *arena_start_redis_py(const struct lks_server *server)
{
    char python[256], log[256];

    return peer_start((const char *const[]){path_of(python, "venv/bin/python"),
                                            "lockkit/interop/redis_py_peer.py", server->tcp_url,
                                            NULL},
                      path_of(log, "redis-py.log"));
}

struct peer *arena_start_lockkit(const struct lks_server *server, unsigned poll_ms)
{
    char self[256] = "", program[300], poll[16], log[256];
    ssize_t len = readlink("/proc/self/exe", self, sizeof self - 1);

    assert_true(len > 0);
    *strrchr(self, '/') = '\0';
    (void)snprintf(program, sizeof program, "%s/lockkit_peer", self);
    (void)snprintf(poll, sizeof poll, "%u", poll_ms);
    return peer_start((const char *const[]){program, server->url, poll, NULL},
                      path_of(log, "lockkit.log"));
}

/* ---- checks as tests ----------------------------------------------------------------------- */

static void duel_once(const struct test *test, bool is_lockkit_first)
{
    static unsigned serial;
    struct duel duel = {.server = arena.server,
                        .kind = test->kind,
                        .wanted = test->kind,
                        .a = is_lockkit_first ? arena.lockkit : arena.rival,
                        .b = is_lockkit_first ? arena.rival : arena.lockkit,
                        .is_lockkit_first = is_lockkit_first};

    (void)snprintf(duel.key, sizeof duel.key, "duel-%u", serial++);
    test->check->run(&duel);
}

static void run_check(void **state)
{
    const struct test *test = *state;

    if (matrix_begin(test->kind, test->check->what)) {
        peer_change_threads(arena.lockkit);
        peer_change_threads(arena.rival);
    }
    duel_once(test, true);
    if (!test->check->is_once) duel_once(test, false);
    matrix_pass();
}

static void add_test(const struct check *check, const char *kind, size_t kind_len)
{
    struct test *test = &arena.tests[arena.count];

    assert_true(arena.count < TESTS_MAX);
    test->check = check;
    (void)snprintf(test->kind, sizeof test->kind, "%.*s", (int)kind_len, kind);
    (void)snprintf(test->name, sizeof test->name, "%.*s: %s", (int)kind_len, kind, check->what);
    arena.units[arena.count++] =
        (struct CMUnitTest){.name = test->name, .test_func = run_check, .initial_state = test};
}

static void add_tests(const struct check *check)
{
    const char *kind = check->kinds;

    while (*kind) {
        size_t len = strcspn(kind, " ");

        add_test(check, kind, len);
        kind += len + strspn(kind + len, " ");
    }
}

static int open_arena(void **state)
{
    (void)state;
    arena.server = lks_server_start(&(struct lks_server_options){.is_tcp = true});
    arena.lockkit = arena_start_lockkit(arena.server, NO_POLL_MS);
    arena.rival = arena.plan->start_rival(arena.server);
    return 0;
}

static bool write_rows(void)
{
    char name[64], path[256], rival[64];

    (void)snprintf(name, sizeof name, "%s.rows", arena.plan->name);
    (void)snprintf(rival, sizeof rival, "%s", peer_version(arena.rival));
    char *dash = strrchr(rival, '-');
    if (dash) *dash = ' ';
    return matrix_write(path_of(path, name), rival);
}

static int close_arena(void **state)
{
    bool is_written = arena.rival && write_rows();

    (void)state;
    peer_stop(arena.rival);
    peer_stop(arena.lockkit);
    lks_server_stop(arena.server);
    return is_written ? 0 : -1;
}

int arena_run(const struct arena *plan)
{
    arena.plan = plan;
    for (size_t i = 0; i < plan->count; i++)
        add_tests(&plan->checks[i]);
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return _cmocka_run_group_tests(plan->name, arena.units, arena.count, open_arena, close_arena);
}
