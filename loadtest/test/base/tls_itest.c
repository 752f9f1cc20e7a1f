/*
 * The load test's programs and Redis over TLS: whom they trust, whom they do not, and in which words. And
 * whole runs on each topology that speaks nothing else.
 */
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/topology.h"
#include "test/support/lt_net.h"
#include "test/support/lt_place.h"
#include "test/support/testing.h"

enum {
    LIMIT_MS = 60000,
    READY_MS = 10000,
    STOP_MS = 2000,
    LINE_MAX_LENGTH = 1200,
    LT_WORD_MAX = LT_PATH_MAX + 1004
};

typedef enum server_id { GOOD, ELSEWHERE, EXPIRED, STRICT, PLAIN, SERVER_COUNT, MUTE } server_id;

static const struct {
    const char *certificate; /* NULL: no TLS */
    const char *clients;     /* tls-auth-clients */
} servers[SERVER_COUNT] = {
    [GOOD] = {"server", "optional"}, [ELSEWHERE] = {"elsewhere", "no"},
    [EXPIRED] = {"expired", "no"},   [STRICT] = {"server", "yes"},
    [PLAIN] = {NULL, NULL},
};

struct world {
    struct lt_place place;
    struct process running[SERVER_COUNT];
    struct topology topology;
    int ports[MUTE + 1];
    int mute; /* listens, and never says a word */
};

struct line {
    const char *argv[LT_WORDS_MAX + 1];
    char text[LT_WORDS_MAX][LT_WORD_MAX];
    size_t count;
};

/* Words with spaces between; the names of files of the place get its folder before them. */
static void split(const struct world *world, const char *words, struct line *line)
{
    char copy[LINE_MAX_LENGTH];
    char *rest = copy;

    (void)snprintf(copy, sizeof copy, "%s", words);
    for (const char *word = strsep(&rest, " "); word && *word; word = strsep(&rest, " ")) {
        bool is_file = strstr(word, ".crt") || strstr(word, ".key");
        (void)snprintf(line->text[line->count], LT_WORD_MAX, "%s%s%.1000s",
                       is_file ? world->place.dir : "", is_file ? "/" : "", word);
        line->argv[line->count] = line->text[line->count];
        line->count++;
    }
}

static bool start_server(struct world *world, int which)
{
    struct line line = {.count = 0};
    char words[LINE_MAX_LENGTH];
    char log[LT_PATH_MAX + 16];
    const char *name = servers[which].certificate;
    int port = lt_free_port();

    (void)snprintf(log, sizeof log, "%s/redis-%d", world->place.dir, which);
    (void)snprintf(words, sizeof words, "redis-server --save '' --rename-command AUTH '' --port %d",
                   name ? 0 : port);
    split(world, words, &line);
    if (name) {
        (void)snprintf(words, sizeof words,
                       "--tls-port %d --tls-cert-file %s.crt --tls-key-file server.key "
                       "--tls-ca-cert-file ca.crt --tls-auth-clients %s",
                       port, name, servers[which].clients);
        split(world, words, &line);
    }
    world->ports[which] = port;
    return process_start(&world->running[which], line.argv, log, log, NULL);
}

static int open_world(void **state)
{
    static struct world world;
    const char *const argv[] = {"lockkit/tools/certificates", world.place.dir, NULL};
    struct process maker;

    *state = &world;
    if (!lt_place_open(&world.place)) return -1;
    if (!process_start(&maker, argv, "/dev/null", "/dev/null", NULL)) return -1;
    if (!process_wait(&maker, READY_MS) || maker.wait_status != 0) return -1;
    for (int i = 0; i < SERVER_COUNT; i++)
        if (!start_server(&world, i)) return -1;
    world.mute = lt_listen(&world.ports[MUTE]);
    return world.mute < 0 ? -1 : 0;
}

static int close_world(void **state)
{
    struct world *world = *state;

    for (int i = 0; i < SERVER_COUNT; i++)
        process_stop(&world->running[i], STOP_MS);
    (void)close(world->mute);
    topology_close(&world->topology);
    lt_place_close(&world->place);
    return 0;
}

static bool listens(void *port)
{
    int fd = lt_connect(*(int *)port);

    if (fd >= 0) (void)close(fd);
    return fd >= 0;
}

static void await_servers(struct world *world)
{
    for (int i = 0; i < SERVER_COUNT; i++)
        assert_true(lt_eventually(listens, &world->ports[i], READY_MS));
}

/* A program with these words ends so, and says that. */
static bool ends(const struct world *world, const char *words, int status, const char *says)
{
    static struct lt_outcome outcome;
    struct line line = {.count = 0};

    split(world, words, &line);
    assert_true(lt_run(&world->place, line.argv, LIMIT_MS, &outcome));
    if (outcome.status == status && strstr(outcome.output, says)) return true;
    print_message("%s: %d %s\n", words, outcome.status, outcome.output);
    return false;
}

TEST(whom_it_trusts_and_whom_not)
{
    static const char let_in[] = "no sale \"s\" in this Redis";
    static const struct {
        server_id server;
        const char *url;
        const char *flags, *words;
    } rows[] = {
        {GOOD, "rediss://localhost", "--redis-ca ca.crt", let_in},
        {GOOD, "rediss://127.0.0.1", "--redis-ca ca.crt", let_in},
        {GOOD, "rediss://127.0.0.1", "--redis-ca ca.crt --redis-server-name localhost", let_in},
        {GOOD, "rediss://localhost", "--redis-insecure", let_in},
        {GOOD, "rediss://localhost", "", "give who signed it, --redis-ca FILE"},
        {GOOD, "rediss://localhost", "--redis-ca stranger.crt", "not signed by --redis-ca"},
        {GOOD, "rediss://localhost", "--redis-ca none.crt", "none.crt: No such file"},
        {GOOD, "rediss://localhost", "--redis-ca server.key", "--redis-ca: /tmp/loadtest-itest"},
        {GOOD, "rediss://localhost", "--redis-ca ca.crt --redis-key client.key",
         "--redis-key: give --redis-cert, too"},
        {GOOD, "rediss://localhost",
         "--redis-ca ca.crt --redis-cert client.crt --redis-key server.key",
         "server.key: key values mismatch"},
        {GOOD, "rediss://localhost", "--redis-ca ca.crt --redis-server-name .localhost",
         "\".localhost\" is no server name"},
        {GOOD, "rediss://localhost", "--redis-ca ca.crt --redis-server-name elsewhere.test",
         "the certificate for elsewhere.test: hostname mismatch: --redis-server-name NAME"},
        {ELSEWHERE, "rediss://localhost", "--redis-ca ca.crt",
         "the certificate for localhost: hostname mismatch: --redis-server-name NAME"},
        {ELSEWHERE, "rediss://127.0.0.1", "--redis-ca ca.crt",
         "the certificate for 127.0.0.1: IP address mismatch"},
        {ELSEWHERE, "rediss://localhost", "--redis-ca ca.crt --redis-server-name elsewhere.test",
         let_in},
        {EXPIRED, "rediss://localhost", "--redis-ca ca.crt", "certificate has expired"},
        {EXPIRED, "rediss://localhost", "--redis-insecure", let_in},
        {STRICT, "rediss://localhost", "--redis-ca ca.crt",
         "if it wants a certificate, --redis-cert FILE"},
        {STRICT, "rediss://localhost",
         "--redis-ca ca.crt --redis-cert client.crt --redis-key client.key", let_in},
        {PLAIN, "rediss://localhost", "--redis-ca ca.crt",
         "does it speak TLS? if not, its URL is redis, not rediss"},
        {MUTE, "rediss://localhost", "--redis-ca ca.crt", "TLS handshake: no answer in time"},
        {PLAIN, "redis://localhost", "--redis-ca ca.crt",
         "--redis-ca: goes with --redis rediss://"},
        {GOOD, "redis://localhost", "", "Redis: localhost:"},
        {PLAIN, "redis://:secret@localhost", "", "unknown command 'AUTH'\n"}, /* and no more */
        {GOOD, "rediss+cluster://localhost", "--redis-ca ca.crt", "is in no cluster"},
        {GOOD, "rediss+sentinel://localhost", "--redis-ca ca.crt", "unknown command 'SENTINEL'"},
    };
    struct world *world = *state;
    char line[LINE_MAX_LENGTH];
    unsigned wrong = 0;

    await_servers(world);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        (void)snprintf(line, sizeof line, "audit --sale s --redis %s:%d%s %s", rows[i].url,
                       world->ports[rows[i].server], strstr(rows[i].url, "+s") ? "/main" : "",
                       rows[i].flags);
        wrong += !ends(world, line, 2, rows[i].words);
    }
    assert_int_equal(0, wrong);
}

TEST(the_service_says_at_its_start_what_is_wrong)
{
    static const struct {
        server_id server;
        const char *flags, *words;
    } rows[] = {
        {GOOD, "--redis-ca stranger.crt", "(no CA of ours): --redis-ca FILE tells who"},
        {GOOD, "", "(no CA of ours): --redis-ca FILE tells who signs them"},
        {ELSEWHERE, "--redis-ca ca.crt", "hostname mismatch: --redis-server-name NAME"},
        {EXPIRED, "--redis-ca ca.crt", "certificate has expired"},
        {STRICT, "--redis-ca ca.crt", ": --redis-cert FILE"},
        {PLAIN, "--redis-ca ca.crt", "its URL is redis"},
        {MUTE, "--redis-ca ca.crt", "its URL is redis"},
    };
    struct world *world = *state;
    char line[LINE_MAX_LENGTH];
    unsigned wrong = 0;

    await_servers(world);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        (void)snprintf(line, sizeof line,
                       "seckilld --lab --data %s --listen 127.0.0.1:0 --admin-listen 127.0.0.1:0 "
                       "--redis rediss://localhost:%d %s",
                       world->place.dir, world->ports[rows[i].server], rows[i].flags);
        wrong += !ends(world, line, 1, rows[i].words);
    }
    assert_int_equal(0, wrong);
}

/* Sell and audit, all over TLS. */
static void run_on(struct world *world, const char *url)
{
    char line[LINE_MAX_LENGTH];

    (void)snprintf(
        line, sizeof line,
        "loadtest --redis %s --redis-ca ca.crt --redis-cert client.crt --redis-key "
        "client.key --buyers 1500 --stock 100 --connections 100 --allow-lost --out %s/out",
        url, world->place.dir);
    assert_true(ends(world, line, 0, "accepted orders lost: 0 of 100"));
}

TEST(a_whole_run_where_clients_show_certificates)
{
    struct world *world = *state;
    char url[100];

    await_servers(world);
    (void)snprintf(url, sizeof url, "rediss://localhost:%d", world->ports[STRICT]);
    run_on(world, url);
}

static void run_on_several(struct world *world, const char *kind)
{
    const char *const words[] = {"--tls", world->place.dir, kind, NULL};
    struct failure failure = {.text = ""};

    if (!topology_open(&world->topology, words, &failure)) fail_msg("%s", failure.text);
    assert_int_equal(0, strncmp(world->topology.url, "rediss+", 7));
    run_on(world, world->topology.url);
}

TEST(a_whole_run_on_sentinel)
{
    run_on_several(*state, "sentinel");
}

TEST(a_whole_run_on_a_cluster)
{
    run_on_several(*state, "cluster");
}

FIXTURE(open_world, close_world);
GROUP(testing_ignore_sigpipe, NULL);
