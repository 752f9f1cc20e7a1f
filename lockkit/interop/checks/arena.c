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

/* Where `prepare` has put the rivals. */
static const char *path_of(char path[256], const char *name)
{
    const char *dir = getenv("INTEROP_DIR"); /* NOLINT(concurrency-mt-unsafe): one thread */

    (void)snprintf(path, 256, "%s/%s", dir ? dir : "build/interop", name);
    return path;
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
    return peer_start(argv, log);
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
                                            "lockkit/interop/rivals/redis_py_peer.py",
                                            server->tcp_url, NULL},
                      path_of(log, "redis-py.log"));
}

static struct peer *start_node_redlock(const struct lks_server *server, const char *library)
{
    char modules[256], modules_option[300], log[256];

    (void)snprintf(modules_option, sizeof modules_option, "NODE_PATH=%s",
                   path_of(modules, "node/node_modules"));
    return start_with_nodes((const char *const[]){"env", modules_option, "node",
                                                  "lockkit/interop/rivals/node_redlock_peer.js",
                                                  library, server->tcp_url, NULL},
                            true, path_of(log, "node-redlock.log"));
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
    char program[256], log[256];

    return start_with_nodes(
        (const char *const[]){path_of(program, "redsync_peer"), server->tcp_url, NULL}, true,
        path_of(log, "redsync.log"));
}

struct peer *arena_start_rival(const struct lks_server *server)
{
    return arena.plan->start_rival(server);
}

struct peer *arena_start_lockkit(const struct lks_server *server, unsigned poll_ms)
{
    char self[256] = "", program[300], poll[16], log[256];
    ssize_t len = readlink("/proc/self/exe", self, sizeof self - 1);

    assert_true(len > 0);
    *strrchr(self, '/') = '\0';
    (void)snprintf(program, sizeof program, "%s/../../../../lockkit_peer", self);
    (void)snprintf(poll, sizeof poll, "%u", poll_ms);
    return start_with_nodes((const char *const[]){program, server->url, poll, NULL}, false,
                            path_of(log, "lockkit.log"));
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

static void add_tests(const struct check *check)
{
    const char *kind = check->kinds;

    while (*kind) {
        size_t len = strcspn(kind, " ");

        add_test(check, kind, len);
        kind += len + strspn(kind + len, " ");
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
    char name[64], path[256], rival[64] = "";

    (void)snprintf(name, sizeof name, "%s.rows", arena.plan->name);
    (void)snprintf(rival, sizeof rival, "%s", peer_version(arena.rival));
    size_t name_len = peer_name_len(arena.rival);
    if (name_len < sizeof rival - 1) rival[name_len] = ' ';
    return matrix_write(path_of(path, name), rival);
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
    for (size_t i = 0; i < plan->count; i++)
        add_tests(&plan->checks[i]);
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return _cmocka_run_group_tests(plan->name, arena.units, arena.count, open_arena, close_arena);
}
