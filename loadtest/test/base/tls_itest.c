/*
 * The load test's programs and Redis over TLS: whom they trust, whom they do not, and in which words. Whole
 * runs are in tls_soak.c.
 */
#include <unistd.h>

#include "common/port.h"
#include "test/support/lt_command.h"
#include "test/support/lt_net.h"
#include "test/support/testing.h"

enum {
    STOP_MS = 2000,
    LINE_MAX_LENGTH = 1200,
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
    struct lt_sandbox sandbox;
    struct process running[SERVER_COUNT];
    int ports[MUTE + 1];
    int mute; /* listens, and never says a word */
};

SET_UP(struct world, world)
{
    assert_true(lt_sandbox_open(&world->sandbox));
    assert_true(lt_sandbox_certify(&world->sandbox));
    for (int i = 0; i < SERVER_COUNT; i++) {
        world->ports[i] = port_free();
        assert_true(lt_start_redis(&world->running[i], &world->sandbox, world->ports[i],
                                   servers[i].certificate, servers[i].clients));
    }
    world->mute = lt_listen(&world->ports[MUTE]);
    assert_true(world->mute >= 0);
}

TEAR_DOWN(struct world, world)
{
    for (int i = 0; i < SERVER_COUNT; i++)
        process_stop(&world->running[i], STOP_MS);
    (void)close(world->mute);
    lt_sandbox_close(&world->sandbox);
}

/* A program with these words and flags ends so, and says that. */
static bool ends(const struct world *world, const char *words, const char *flags, int status,
                 const char *says)
{
    const struct lt_outcome *outcome = lt_try(&world->sandbox, "%s %s", words, flags);

    if (outcome->status == status && strstr(outcome->output, says)) return true;
    print_message("%s %s: %d %s\n", words, flags, outcome->status, outcome->output);
    return false;
}

TEST(whom_it_trusts_and_whom_not, struct world *world)
{
    static const char let_in[] = "no sale \"s\" in this Redis";
    static const struct {
        server_id server;
        const char *url;
        const char *flags, *words;
    } rows[] = {
        {GOOD, "rediss://localhost", "--redis-ca @ca.crt", let_in},
        {GOOD, "rediss://127.0.0.1", "--redis-ca @ca.crt", let_in},
        {GOOD, "rediss://127.0.0.1", "--redis-ca @ca.crt --redis-server-name localhost", let_in},
        {GOOD, "rediss://localhost", "--redis-insecure", let_in},
        {GOOD, "rediss://localhost", "", "give who signed it, --redis-ca FILE"},
        {GOOD, "rediss://localhost", "--redis-ca @stranger.crt",
         "(no CA of ours): give who signed it, --redis-ca FILE"},
        {GOOD, "rediss://localhost", "--redis-ca @none.crt", "none.crt: No such file"},
        {GOOD, "rediss://localhost", "--redis-ca @server.key", "--redis: /tmp/loadtest-itest"},
        {GOOD, "rediss://localhost", "--redis-ca @ca.crt --redis-key @client.key",
         "client.key: a key without a certificate: give --redis-cert, too"},
        {GOOD, "rediss://localhost",
         "--redis-ca @ca.crt --redis-cert @client.crt --redis-key @server.key",
         "server.key: key values mismatch"},
        {GOOD, "rediss://localhost", "--redis-ca @ca.crt --redis-server-name .localhost",
         "\".localhost\" is no server name"},
        {GOOD, "rediss://localhost", "--redis-ca @ca.crt --redis-server-name elsewhere.test",
         "its certificate, for \"elsewhere.test\": hostname mismatch: --redis-server-name NAME"},
        {ELSEWHERE, "rediss://localhost", "--redis-ca @ca.crt",
         "its certificate, for \"localhost\": hostname mismatch: --redis-server-name NAME"},
        {ELSEWHERE, "rediss://127.0.0.1", "--redis-ca @ca.crt",
         "its certificate, for \"127.0.0.1\": IP address mismatch"},
        {ELSEWHERE, "rediss://localhost", "--redis-ca @ca.crt --redis-server-name elsewhere.test",
         let_in},
        {EXPIRED, "rediss://localhost", "--redis-ca @ca.crt", "certificate has expired"},
        {EXPIRED, "rediss://localhost", "--redis-insecure", let_in},
        {STRICT, "rediss://localhost", "--redis-ca @ca.crt",
         "it wants a certificate of the client: --redis-cert FILE"},
        {STRICT, "rediss://localhost",
         "--redis-ca @ca.crt --redis-cert @client.crt --redis-key @client.key", let_in},
        {PLAIN, "rediss://localhost", "--redis-ca @ca.crt",
         ": its URL is redis"}, /* Redis 7.0 lets it wait, 8.0 ends the connection */
        {MUTE, "rediss://localhost", "--redis-ca @ca.crt", "the TLS handshake does not end"},
        {PLAIN, "redis://localhost", "--redis-ca @ca.crt",
         "--redis-ca: goes with --redis rediss://"},
        {GOOD, "redis://localhost", "", "Redis: localhost:"},
        {PLAIN, "redis://:secret@localhost", "", "unknown command 'AUTH'\n"}, /* and no more */
        {GOOD, "rediss+cluster://localhost", "--redis-ca @ca.crt", "cluster support disabled"},
        {GOOD, "rediss+sentinel://localhost", "--redis-ca @ca.crt", "unknown command 'SENTINEL'"},
    };
    char line[LINE_MAX_LENGTH];
    unsigned wrong = 0;

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        (void)snprintf(line, sizeof line, "audit --sale s --redis %s:%d%s", rows[i].url,
                       world->ports[rows[i].server], strstr(rows[i].url, "+s") ? "/main" : "");
        wrong += !ends(world, line, rows[i].flags, 2, rows[i].words);
    }
    assert_int_equal(0, wrong);
}

TEST(the_service_says_at_its_start_what_is_wrong, struct world *world)
{
    static const struct {
        server_id server;
        const char *flags, *words;
    } rows[] = {
        {GOOD, "--redis-ca @stranger.crt", "(no CA of ours): --redis-ca FILE tells who"},
        {GOOD, "", "(no CA of ours): --redis-ca FILE tells who signs them"},
        {ELSEWHERE, "--redis-ca @ca.crt", "hostname mismatch: --redis-server-name NAME"},
        {EXPIRED, "--redis-ca @ca.crt", "certificate has expired"},
        {STRICT, "--redis-ca @ca.crt", ": --redis-cert FILE"},
        {PLAIN, "--redis-ca @ca.crt", "its URL is redis"},
        {MUTE, "--redis-ca @ca.crt", "its URL is redis"},
    };
    char line[LINE_MAX_LENGTH];
    unsigned wrong = 0;

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        (void)snprintf(line, sizeof line,
                       "seckilld --lab --data @ --listen 127.0.0.1:0 --admin-listen 127.0.0.1:0 "
                       "--redis rediss://localhost:%d",
                       world->ports[rows[i].server]);
        wrong += !ends(world, line, rows[i].flags, 1, rows[i].words);
    }
    assert_int_equal(0, wrong);
}

GROUP(testing_ignore_sigpipe, NULL);
