/*
 * See arena.h: the server, the peers, and the table of checks as cmocka's tests.
 */
#include "arena.h"

#include <unistd.h>

enum { TESTS_MAX = 128, WORDS_MAX = 16 };

/* A check of one kind, as cmocka sees it. */
struct test {
    const struct check *check;
    char kind[24];
    char name[96];
};

static struct {
    const struct arena *plan;
    struct lks_server *server;
    struct lkt *cluster; /* behind the server, which is nothing but its URL then; or NULL */
    struct lks_server *nodes[ARENA_NODES_MAX];
    struct peer *lockkit, *rival;
    struct test tests[TESTS_MAX];
    struct CMUnitTest units[TESTS_MAX];
    size_t count;
} arena;

/* ---- peers --------------------------------------------------------------------------------- */

/* Where `run` has put the rivals. */
static const char *path_of(const char *name)
{
    const char *dir = getenv("INTEROP_DIR"); /* NOLINT(concurrency-mt-unsafe): one thread */

    return lks_format("%s/%s", dir ? dir : "build/interop", name);
}

/* A program that is told the redlock's servers after its other words. */
static struct peer *start_with_nodes(const char *const *words, bool is_tcp, const char *log)
{
    const char *argv[WORDS_MAX + ARENA_NODES_MAX + 1] = {NULL};
    size_t count = 0;

    for (; words[count]; count++) {
        assert_true(count < WORDS_MAX);
        argv[count] = words[count];
    }
    for (size_t i = 0; i < arena.plan->nodes; i++)
        argv[count + i] = is_tcp ? arena.nodes[i]->tcp_url : arena.nodes[i]->url;
    return peer_start(argv, path_of(log));
}
#define START(is_tcp, log, ...)                                                                    \
    start_with_nodes((const char *const[]){__VA_ARGS__, NULL}, (is_tcp), (log))

/* The options only spare the machine: a small heap, no second compiler. */
struct peer *arena_start_redisson(const struct lks_server *server)
{
    return START(true, "redisson.log", "java", "-Xmx256m", "-XX:+UseSerialGC",
                 "-XX:TieredStopAtLevel=1", "-cp",
                 lks_format("%s:%s", path_of("classes"), path_of("lib/*")), "RedissonPeer",
                 server->tcp_url, lks_format("%d", REDISSON_WATCHDOG_MS));
}

struct peer *arena_start_redis_py(const struct lks_server *server)
{
    return START(true, "redis-py.log", path_of("venv/bin/python"),
                 "lockkit/interop/rivals/redis_py_peer.py", server->tcp_url);
}

static struct peer *start_node_redlock(const struct lks_server *server, const char *library)
{
    return START(true, "node-redlock.log", "env",
                 lks_format("NODE_PATH=%s", path_of("node/node_modules")), "node",
                 "lockkit/interop/rivals/node_redlock_peer.js", library, server->tcp_url);
}

struct peer *arena_start_node_redlock(const struct lks_server *server)
{
    return start_node_redlock(server, "redlock");
}

struct peer *arena_start_node_redlock_4(const struct lks_server *server)
{
    return start_node_redlock(server, "redlock-4");
}

struct peer *arena_start_redsync(const struct lks_server *server)
{
    return START(true, "redsync.log", path_of("redsync_peer"), server->tcp_url);
}

struct peer *arena_start_rival(const struct lks_server *server)
{
    return arena.plan->start_rival(server);
}

struct peer *arena_start_lockkit(const struct lks_server *server, unsigned poll_ms)
{
    char self[256] = "";
    ssize_t len = readlink("/proc/self/exe", self, sizeof self - 1);

    assert_true(len > 0);
    *strrchr(self, '/') = '\0';
    return START(false, "lockkit.log", lks_format("%s/../../../../lockkit_peer", self), server->url,
                 lks_format("%u", poll_ms));
}

/* ---- checks as tests ----------------------------------------------------------------------- */

static void duel_once(const struct test *test, bool is_lockkit_first)
{
    static unsigned serial;
    struct duel duel = {.server = arena.server,
                        .cluster = arena.cluster,
                        .nodes = arena.nodes,
                        .node_count = arena.plan->nodes,
                        .kind = test->kind,
                        .wanted = test->kind,
                        .a = is_lockkit_first ? arena.lockkit : arena.rival,
                        .b = is_lockkit_first ? arena.rival : arena.lockkit,
                        .is_lockkit_first = is_lockkit_first};

    (void)snprintf(duel.key, sizeof duel.key, arena.cluster ? "{duel-%u}" : "duel-%u", serial++);
    test->check->run(&duel);
}

/* A check that failed may have left some dead or standing still. */
static void revive_nodes(void)
{
    for (size_t i = 0; i < arena.plan->nodes; i++) {
        if (arena.nodes[i]->pid == 0) lks_server_restart(arena.nodes[i]);
        lks_server_resume(arena.nodes[i]);
    }
}

static void run_check(void **state)
{
    const struct test *test = *state;

    revive_nodes();
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

static bool is_wanted(const char *kind, size_t len)
{
    const char *at = arena.plan->kinds;

    for (; at && *at; at += strspn(at, " ")) {
        size_t own = strcspn(at, " ");

        if (own == len && memcmp(at, kind, len) == 0) return true;
        at += own;
    }
    return !arena.plan->kinds;
}

static void add_tests(const struct check *check)
{
    for (const char *kind = check->kinds; *kind; kind += strspn(kind, " ")) {
        size_t len = strcspn(kind, " ");

        if (is_wanted(kind, len)) add_test(check, kind, len);
        kind += len;
    }
}

static struct lks_server *start_cluster(void)
{
    struct lks_server *server = calloc(1, sizeof *server);

    assert_non_null(server);
    arena.cluster = lkt_start(&(struct lkt_options){.is_cluster = true});
    (void)snprintf(server->url, sizeof server->url, "%s", arena.cluster->url);
    (void)snprintf(server->tcp_url, sizeof server->tcp_url, "%s", arena.cluster->url);
    return server;
}

static void stop_server(void)
{
    if (!arena.cluster) {
        lks_server_stop(arena.server);
        return;
    }
    lk_client_close(arena.server->raw);
    free(arena.server);
    lkt_stop(arena.cluster);
}

static int open_arena(void **state)
{
    (void)state;
    const struct lks_server_options options = {.is_tcp = true};
    arena.server = arena.plan->is_cluster ? start_cluster() : lks_server_start(&options);
    for (size_t i = 0; i < arena.plan->nodes; i++)
        arena.nodes[i] = lks_server_start(&options);
    arena.lockkit = arena_start_lockkit(arena.server, NO_POLL_MS);
    arena.rival = arena.plan->start_rival(arena.server);
    return 0;
}

static bool write_rows(void)
{
    const char *version = peer_version(arena.rival);
    int len = (int)peer_name_len(arena.rival);
    const char *number = version + len + (version[len] ? 1 : 0);

    return matrix_write(path_of(lks_format("%s.rows", arena.plan->name)),
                        lks_format("%.*s %s", len, version, number));
}

static int close_arena(void **state)
{
    bool is_written = arena.rival && write_rows();

    (void)state;
    peer_stop(arena.rival);
    peer_stop(arena.lockkit);
    for (size_t i = 0; i < arena.plan->nodes; i++)
        lks_server_stop(arena.nodes[i]);
    stop_server();
    return is_written ? 0 : -1;
}

int arena_run(const struct arena *plan)
{
    arena.plan = plan;
    for (const struct check *const *table = plan->tables; *table; table++)
        for (const struct check *check = *table; check->what; check++)
            add_tests(check);
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return _cmocka_run_group_tests(plan->name, arena.units, arena.count, open_arena, close_arena);
}
