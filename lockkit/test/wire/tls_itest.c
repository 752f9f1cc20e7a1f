/*
 * Redis over TLS: whom a client trusts and in which words it refuses, within connect_ms; that locks,
 * messages, renewals and big pipelines go through; what is known when a server dies; sessions; and
 * Sentinels and clusters that speak nothing else.
 */
#include <errno.h>
#include <netinet/in.h>
#include <pthread.h>
#include <spawn.h>
#include <stdatomic.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "call/context.h"
#include "common/port.h"
#include "test/support/lk_ctl.h"
#include "test/support/lk_net.h"
#include "test/support/lk_topology.h"
#include "test/support/lk_vip.h"
#include "wire/endpoint.h"
#include "wire/tls.h"

enum {
    CONNECT_MS = 2000,
    SLACK_MS = 3000, /* who waits for a server that is mute waits for ever */
    LEASE_MS = 3000,
    PATIENT_MS = 8000,
    POLL_MS = 20000, /* nothing here comes by the fallback timer */
    SWITCH_MS = 20000,
    BIG = 100000,
    BIG_COUNT = 20,
};

typedef enum server_id {
    GOOD,
    ELSEWHERE,
    EXPIRED,
    STRICT,
    FORGETFUL, /* hands out tickets, and answers one with an alert */
    TLS_SERVERS,
    PLAIN = TLS_SERVERS, /* a Redis without TLS */
    MUTE,                /* accepts, and says nothing */
    HALF,                /* stops in the middle of its first record */
    RUDE,                /* answers at once, but no TLS */
    SERVERS,
} server_id;

static const struct {
    const char *certificate;
    const char *clients; /* tls-auth-clients */
    const char *more;    /* settings */
} tls_servers[TLS_SERVERS] = {
    [GOOD] = {"server", "optional", ""},
    [ELSEWHERE] = {"elsewhere", "no", ""},
    [EXPIRED] = {"expired", "no", ""},
    [STRICT] = {"server", "yes", ""},
    [FORGETFUL] = {"server", "optional", "tls-session-caching no\n"},
};

/* What they say to whoever comes. */
static const struct {
    const char *words;
    size_t len;
} fakes[SERVERS] = {[HALF] = {"\x16\x03\x03\x00\x7a\x02\x00", 7}, [RUDE] = {"-ERR what?\r\n", 12}};

static struct {
    struct lks_server *servers[TLS_SERVERS + 1];
    int listeners[SERVERS];
    pthread_t threads[SERVERS];
    int ports[SERVERS];
    char dir[96]; /* with the certificates */
} world;

/* ---- the world ------------------------------------------------------------------------------------ */

static const char *file(const char *name)
{
    static char paths[8][160];
    static size_t next;
    char *path = paths[next++ % 8];

    (void)snprintf(path, sizeof paths[0], "%s/%s", world.dir, name);
    return path;
}

static void make_certificates(void)
{
    char program[] = "lockkit/tools/certificates";
    char *argv[] = {program, world.dir, NULL};
    pid_t pid = 0;
    int status = -1;

    assert_int_equal(posix_spawn(&pid, program, NULL, NULL, argv, environ), 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    if (status != 0) fail_msg("%s fails", program);
}

static struct lks_server *start_tls(server_id id)
{
    static char paths[TLS_SERVERS][160];
    char name[32];

    (void)snprintf(name, sizeof name, "%d.conf", (int)id);
    (void)snprintf(paths[id], sizeof paths[id], "%s", file(name));
    FILE *conf = fopen(paths[id], "we");
    assert_non_null(conf);
    world.ports[id] = port_free();
    (void)fprintf(conf,
                  "tls-port %d\ntls-cert-file %s/%s.crt\ntls-key-file %s/server.key\n"
                  "tls-ca-cert-file %s/ca.crt\ntls-auth-clients %s\n%s",
                  world.ports[id], world.dir, tls_servers[id].certificate, world.dir, world.dir,
                  tls_servers[id].clients, tls_servers[id].more);
    assert_int_equal(fclose(conf), 0);
    return lks_server_start(
        &(struct lks_server_options){.setting = "--include", .value = paths[id]});
}

/* Says its words to each who comes, and keeps it until it goes. */
static void *play_fake(void *arg)
{
    const server_id id = *(const server_id *)arg;
    char bytes[1024];

    for (;;) {
        int fd = accept4(world.listeners[id], NULL, NULL, SOCK_CLOEXEC);

        if (fd < 0) return NULL;
        (void)!recv(fd, bytes, sizeof bytes, 0);
        (void)!send(fd, fakes[id].words, fakes[id].len, MSG_NOSIGNAL);
        while (recv(fd, bytes, sizeof bytes, 0) > 0) {}
        (void)close(fd);
    }
}

static void listen_as(server_id id)
{
    static server_id ids[SERVERS];
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof address;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    assert_int_equal(bind(fd, (struct sockaddr *)&address, len), 0);
    assert_int_equal(listen(fd, 16), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &len), 0);
    world.ports[id] = ntohs(address.sin_port);
    world.listeners[id] = fd;
    ids[id] = id;
    if (fakes[id].words)
        assert_int_equal(pthread_create(&world.threads[id], NULL, play_fake, &ids[id]), 0);
}

static int start_world(void **state)
{
    world.servers[PLAIN] = lks_server_start(&(struct lks_server_options){.is_tcp = true});
    world.ports[PLAIN] = world.servers[PLAIN]->port;
    (void)snprintf(world.dir, sizeof world.dir, "%s/tls", world.servers[PLAIN]->dir);
    make_certificates();
    for (size_t id = 0; id < TLS_SERVERS; id++)
        world.servers[id] = start_tls((server_id)id);
    for (size_t id = PLAIN + 1; id < SERVERS; id++)
        listen_as((server_id)id);
    return 0;
}

static int end_world(void **state)
{
    for (size_t id = PLAIN + 1; id < SERVERS; id++) {
        (void)shutdown(world.listeners[id], SHUT_RDWR);
        if (fakes[id].words) (void)pthread_join(world.threads[id], NULL);
        (void)close(world.listeners[id]);
    }
    for (size_t id = 0; id <= PLAIN; id++)
        lks_server_stop(world.servers[id]);
    return 0;
}

static const char *url_of(server_id id)
{
    static char url[64];

    (void)snprintf(url, sizeof url, "rediss://127.0.0.1:%d", world.ports[id]);
    return url;
}

/* Of the one that is as it should be. Nothing comes by the fallback timer. */
static lk_client *open_good(void)
{
    return lks_client_with(world.servers[GOOD],
                           (struct lk_client_options){.url = url_of(GOOD),
                                                      .tls.ca_file = file("ca.crt"),
                                                      .backoff_ms = 20,
                                                      .poll_ms = POLL_MS});
}

/* ---- whom to trust --------------------------------------------------------------------------------- */

static const struct row {
    server_id server;
    const char *url; /* up to the port */
    const char *ca, *cert, *key;
    const char *name;
    bool is_unverified;
    lk_status status;
    const char *word; /* of its message */
} rows[] = {
    {GOOD, "rediss://127.0.0.1", "ca.crt", NULL, NULL, NULL, false, LK_OK, NULL},
    {GOOD, "rediss://localhost", "ca.crt", NULL, NULL, NULL, false, LK_OK, NULL},
    {GOOD, "rediss://127.0.0.1", "ca.crt", NULL, NULL, "localhost", false, LK_OK, NULL},
    {GOOD, "rediss://127.0.0.1", NULL, NULL, NULL, NULL, true, LK_OK, NULL},
    {GOOD, "rediss://127.0.0.1", "ca.crt", "client.crt", "client.key", NULL, false, LK_OK, NULL},
    {ELSEWHERE, "rediss://localhost", "ca.crt", NULL, NULL, "elsewhere.test", false, LK_OK, NULL},
    {ELSEWHERE, "rediss://127.0.0.1", "ca.crt", NULL, NULL, NULL, false, LK_SERVER,
     "for \"127.0.0.1\": IP address mismatch"},
    {ELSEWHERE, "rediss://localhost", "ca.crt", NULL, NULL, NULL, false, LK_SERVER,
     "for \"localhost\": hostname mismatch"},
    {GOOD, "rediss://localhost", "ca.crt", NULL, NULL, "elsewhere.test", false, LK_SERVER,
     "for \"elsewhere.test\": hostname mismatch"},
    {EXPIRED, "rediss://127.0.0.1", "ca.crt", NULL, NULL, NULL, false, LK_SERVER, "has expired"},
    {EXPIRED, "rediss://127.0.0.1", "ca.crt", NULL, NULL, NULL, true, LK_OK, NULL},
    {GOOD, "rediss://127.0.0.1", "stranger.crt", NULL, NULL, NULL, false, LK_SERVER,
     "(no CA of ours)"},
    {GOOD, "rediss://127.0.0.1", NULL, NULL, NULL, NULL, false, LK_SERVER, "(no CA of ours)"},
    {STRICT, "rediss://127.0.0.1", "ca.crt", NULL, NULL, NULL, false, LK_SERVER,
     "wants a certificate of the client"},
    {STRICT, "rediss://127.0.0.1", "ca.crt", "client.crt", "client.key", NULL, false, LK_OK, NULL},
    {STRICT, "rediss://127.0.0.1", "ca.crt", "stranger.crt", "stranger.key", NULL, false, LK_SERVER,
     "unknown ca"},
    {PLAIN, "rediss://127.0.0.1", "ca.crt", NULL, NULL, NULL, false, LK_UNREACHABLE,
     "a server without TLS?"},
    {MUTE, "rediss://127.0.0.1", "ca.crt", NULL, NULL, NULL, false, LK_UNREACHABLE,
     "the TLS handshake does not end"},
    {HALF, "rediss://127.0.0.1", "ca.crt", NULL, NULL, NULL, false, LK_UNREACHABLE,
     "the TLS handshake does not end"},
    {RUDE, "rediss://127.0.0.1", "ca.crt", NULL, NULL, NULL, false, LK_SERVER,
     "it does not speak TLS"},
    {GOOD, "redis://:x@127.0.0.1", NULL, NULL, NULL, NULL, false, LK_UNREACHABLE, "rediss://"},
    {GOOD, "redis://127.0.0.1", "ca.crt", NULL, NULL, NULL, false, LK_INVALID, "rediss"},
    {GOOD, "redis://127.0.0.1", NULL, NULL, NULL, NULL, true, LK_INVALID, "rediss"},
    {GOOD, "rediss://127.0.0.1", "ca.crt", NULL, NULL, "", false, LK_INVALID,
     "\"\" is no server name"},
    {GOOD, "rediss://127.0.0.1", "ca.crt", NULL, NULL, ".test", false, LK_INVALID,
     "\".test\" is no server name"},
    {GOOD, "rediss://127.0.0.1", "missing.crt", NULL, NULL, NULL, false, LK_INVALID,
     "missing.crt: No such file"},
    {GOOD, "rediss://127.0.0.1", "ca.key", NULL, NULL, NULL, false, LK_INVALID, "ca.key: "},
    {GOOD, "rediss://127.0.0.1", "ca.crt", "missing.crt", NULL, NULL, false, LK_INVALID,
     "missing.crt: No such file"},
    {GOOD, "rediss://127.0.0.1", "ca.crt", "client.crt", NULL, NULL, false, LK_INVALID,
     "client.crt: "},
    {GOOD, "rediss://127.0.0.1", "ca.crt", "client.crt", "server.key", NULL, false, LK_INVALID,
     "server.key: key values mismatch"},
    {GOOD, "rediss://127.0.0.1", "ca.crt", NULL, "client.key", NULL, false, LK_INVALID,
     "client.key: a key without a certificate"},
};

static lk_client *open_row(const struct row *row, const char *url, struct lk_error *err)
{
    const struct lk_tls_options tls = {.ca_file = row->ca ? file(row->ca) : NULL,
                                       .cert_file = row->cert ? file(row->cert) : NULL,
                                       .key_file = row->key ? file(row->key) : NULL,
                                       .server_name = row->name,
                                       .is_unverified = row->is_unverified};

    return lk_client_open(
        &(struct lk_client_options){.url = url, .connect_ms = CONNECT_MS, .tls = tls}, err);
}

static void a_server_is_trusted_or_refused_in_time_and_in_words(void **state)
{
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct row *row = &rows[i];
        char url[80];
        char port[16];
        struct lk_error err = {0};
        double begin = lks_now_ms();

        (void)snprintf(port, sizeof port, ":%d", world.ports[row->server]);
        (void)snprintf(url, sizeof url, "%s%s", row->url, port);
        lk_client *client = open_row(row, url, &err);
        if (err.code != row->status || (client != NULL) != (row->status == LK_OK))
            fail_msg("row %zu, %s: %s: %s", i, url, lk_status_name(err.code), err.text);
        if (row->word && !strstr(err.text, row->word)) fail_msg("row %zu: %s", i, err.text);
        if (row->word && row->status != LK_INVALID && !strstr(err.text, port))
            fail_msg("row %zu: whose? %s", i, err.text);
        if (lks_now_ms() - begin > CONNECT_MS + 2 * SLACK_MS) fail_msg("row %zu is late", i);
        lk_client_close(client);
    }
}

/* ---- all that goes over it --------------------------------------------------------------------------- */

static void locks_are_renewed_and_waiters_woken(void **state)
{
    lk_client *holder = open_good();
    lk_client *waiter = open_good();
    lk_lock *held = lks_mutex(holder, lks_key(world.servers[GOOD], "m"));
    lk_lock *wanted = lks_mutex(waiter, lks_key(world.servers[GOOD], "m"));
    struct lk_error err = {0};

    const struct lk_lock_options renewed = {.lease_ms = LEASE_MS, .is_renewed = true};
    assert_int_equal(lk_lock_acquire(held, &renewed, &err), LK_OK);
    assert_int_equal(
        lk_lock_acquire(wanted, &(struct lk_lock_options){.wait_ms = LEASE_MS + 1000}, &err),
        LK_BUSY); /* it was renewed all the time, and is listened for */
    assert_int_equal(lk_lock_release(held, &err), LK_OK);
    lk_lock_free(held);
    assert_int_equal(lk_lock_acquire(wanted, &(struct lk_lock_options){.wait_ms = 1}, &err), LK_OK);
    assert_int_equal(lk_lock_release(wanted, &err), LK_OK);
    lk_lock_free(wanted);
    lk_client_close(waiter);
    lk_client_close(holder);
}

struct release {
    lk_lock *lock;
    atomic_bool is_done;
    lk_status status;
};

static void *release_soon(void *arg)
{
    struct release *release = arg;

    lks_nap(200);
    release->status = lk_lock_release(release->lock, NULL);
    return NULL;
}

static void a_release_wakes_who_waits(void **state)
{
    lk_client *holder = open_good();
    lk_client *waiter = open_good();
    struct release release = {.lock = lks_mutex(holder, lks_key(world.servers[GOOD], "w"))};
    lk_lock *wanted = lks_mutex(waiter, lks_key(world.servers[GOOD], "w"));
    pthread_t thread;
    double begin = lks_now_ms();

    assert_int_equal(
        lk_lock_acquire(release.lock, &(struct lk_lock_options){.lease_ms = 60000}, NULL), LK_OK);
    assert_int_equal(pthread_create(&thread, NULL, release_soon, &release), 0);
    lk_status status =
        lk_lock_acquire(wanted, &(struct lk_lock_options){.wait_ms = POLL_MS / 2}, NULL);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(release.status, LK_OK);
    assert_int_equal(status, LK_OK);
    assert_true(lks_now_ms() - begin < POLL_MS / 4.0);
    assert_int_equal(lk_lock_release(wanted, NULL), LK_OK);
    lk_lock_free(wanted);
    lk_lock_free(release.lock);
    lk_client_close(waiter);
    lk_client_close(holder);
}

/* Many records each way, and answers while there is still something to send. */
static void a_big_pipeline_goes_both_ways(void **state)
{
    static char value[BIG];
    const char *key = lks_key(world.servers[GOOD], "big");
    const struct lk_bytes set[] = {LK_BYTES("SET"), lk_bytes_of(key), {value, BIG}};
    const struct lk_bytes get[] = {LK_BYTES("GET"), lk_bytes_of(key)};
    struct lk_command commands[2 * BIG_COUNT];
    lk_reply *replies[2 * BIG_COUNT];
    const size_t count = sizeof commands / sizeof commands[0];
    lk_client *client = open_good();
    struct lk_error err = {0};

    for (size_t i = 0; i < BIG; i++)
        value[i] = (char)(i * 7 + i / 256);
    for (size_t i = 0; i < BIG_COUNT; i++) {
        commands[2 * i] = (struct lk_command){set, 3};
        commands[2 * i + 1] = (struct lk_command){get, 2};
    }
    if (lk_client_call(client, commands, count, 10000, replies, &err) != LK_OK)
        fail_msg("%s", err.text);
    for (size_t i = 0; i < BIG_COUNT; i++) {
        struct lk_bytes got = lk_reply_bytes(replies[2 * i + 1]);

        assert_int_equal(got.len, BIG);
        assert_memory_equal(got.data, value, BIG);
    }
    for (size_t i = 0; i < count; i++)
        lk_reply_free(replies[i]);
    lk_client_close(client);
}

/* ---- what is known when a server goes ---------------------------------------------------------------- */

struct call {
    lk_client *client;
    lk_status status;
    struct lk_error err;
};

static void *call_blocking(void *arg)
{
    const struct lk_bytes words[] = {LK_BYTES("BLPOP"), LK_BYTES("nothing"), LK_BYTES("0")};
    struct call *call = arg;
    lk_reply *reply = NULL;

    call->status =
        lk_client_call(call->client, &(struct lk_command){words, 3}, 1, 10000, &reply, &call->err);
    return NULL;
}

static lk_status ping(lk_client *client, int64_t limit_ms)
{
    const struct lk_bytes word = LK_BYTES("PING");
    lk_reply *reply = NULL;
    lk_status status =
        lk_client_call(client, &(struct lk_command){&word, 1}, 1, limit_ms, &reply, NULL);

    if (status == LK_OK) lk_reply_free(reply);
    return status;
}

static void a_server_that_dies_leaves_unknown_what_was_asked_only(void **state)
{
    struct lks_server *server = world.servers[GOOD];
    struct call call = {.client = open_good()};
    pthread_t thread;

    assert_int_equal(pthread_create(&thread, NULL, call_blocking, &call), 0);
    LKS_EVENTUALLY(lks_info(server, "clients", "blocked_clients") == 1, 5000);
    lks_server_kill(server);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(call.status, LK_UNKNOWN);
    assert_non_null(strstr(call.err.text, "127.0.0.1:"));
    assert_int_equal(ping(call.client, 0), LK_UNREACHABLE);
    lks_server_restart(server);
    LKS_EVENTUALLY(ping(call.client, 0) == LK_OK, 5000);
    lk_client_close(call.client);
}

/* An answer that comes after the deadline meets nobody. */
static void a_server_that_stands_still_is_unknown_in_time(void **state)
{
    struct lks_server *server = world.servers[GOOD];
    lk_client *client = open_good();

    assert_int_equal(ping(client, 0), LK_OK);
    lks_server_pause(server);
    double begin = lks_now_ms();
    lk_status status = ping(client, 300);
    double took_ms = lks_now_ms() - begin;
    lks_server_resume(server);
    assert_int_equal(status, LK_UNKNOWN);
    assert_true(took_ms >= 250 && took_ms < 300 + SLACK_MS);
    LKS_EVENTUALLY(ping(client, 0) == LK_OK, 5000);
    lk_client_close(client);
}

/* Each byte is in time for the next one, so nobody who waits for the record's end ever sees silence. */
static void an_answer_that_drips_is_unknown_in_time(void **state)
{
    struct lks_server *server = world.servers[GOOD];
    struct lks_vip *vip = lks_vip_open(NULL, 0, world.ports[GOOD]);
    const struct lk_bytes get[] = {LK_BYTES("GETRANGE"), LK_BYTES("drips"), LK_BYTES("0"),
                                   LK_BYTES("499")};
    char url[64];
    lk_reply *reply = NULL;

    LKS_DO(server, "SETRANGE", "drips", "499", "x");
    (void)snprintf(url, sizeof url, "rediss://127.0.0.1:%d", lks_vip_port(vip));
    lk_client *client = lks_client_with(
        server, (struct lk_client_options){.url = url, .tls.ca_file = file("ca.crt")});
    assert_int_equal(ping(client, 0), LK_OK);
    lks_vip_drip(vip);
    double begin = lks_now_ms();
    lk_status status = lk_client_call(client, &(struct lk_command){get, 4}, 1, 300, &reply, NULL);
    double took_ms = lks_now_ms() - begin;
    lk_client_close(client);
    lks_vip_close(vip);
    assert_int_equal(status, LK_UNKNOWN);
    if (took_ms >= 300 + SLACK_MS) fail_msg("after %.0f ms", took_ms);
}

static void lose_connections(lk_client *client)
{
    LKS_DO(world.servers[GOOD], "CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes");
    LKS_EVENTUALLY(ping(client, 0) == LK_OK, 5000);
}

static void a_reconnection_resumes_the_session(void **state)
{
    lk_client *client = open_good();
    const struct lki_tls *tls = client->url.seeds[0].tls;

    assert_int_equal(ping(client, 0), LK_OK);
    assert_int_equal(lki_tls_resumed(tls), 0);
    for (int i = 1; i <= 3; i++) {
        lose_connections(client);
        assert_true(lki_tls_resumed(tls) >= i);
    }
    lk_client_close(client);
}

/* Some who check certificates want each one anew, and end a handshake that goes on where another ended. */
static void who_refuses_a_session_is_asked_without(void **state)
{
    enum { COUNT = 5 };
    struct lks_vip *vip = lks_vip_open(NULL, 0, world.ports[FORGETFUL]);
    char url[64];
    lk_session *sessions[COUNT];

    (void)snprintf(url, sizeof url, "rediss://127.0.0.1:%d", lks_vip_port(vip));
    lk_client *client = lk_client_open(&(struct lk_client_options){.url = url,
                                                                   .connect_ms = PATIENT_MS,
                                                                   .tls.ca_file = file("ca.crt")},
                                       NULL);
    assert_non_null(client);
    assert_int_equal(ping(client, 0), LK_OK);
    for (size_t i = 0; i < COUNT; i++) {
        struct lk_error err = {0};

        sessions[i] = lk_session_open(client, NULL, 0, &err);
        if (!sessions[i]) fail_msg("connection %zu: %s", i, err.text);
    }
    for (size_t i = 0; i < COUNT; i++)
        lk_session_close(sessions[i]);
    /* one was refused, and from then on nobody tries */
    assert_int_equal(lks_vip_taken(vip), COUNT + 1);
    lk_client_close(client);
    lks_vip_close(vip);
}

/* ---- several servers ------------------------------------------------------------------------------- */

static void use_locks(lk_client *client)
{
    for (int i = 0; i < 12; i++) {
        char key[32];
        struct lk_error err = {0};

        (void)snprintf(key, sizeof key, "tls-%d", i);
        lk_lock *lock = lks_mutex(client, key);
        lk_status status = lk_lock_acquire(lock, &(struct lk_lock_options){.wait_ms = 5000}, &err);
        if (status == LK_OK) status = lk_lock_release(lock, &err);
        if (status != LK_OK) fail_msg("%s: %s", key, err.text);
        lk_lock_free(lock);
    }
}

static const char *write_secret(const char *name, const char *secret)
{
    const char *path = file(name);
    FILE *out = fopen(path, "we");

    assert_non_null(out);
    (void)fprintf(out, "%s\n", secret);
    assert_int_equal(fclose(out), 0);
    return path;
}

static void lockctl_has_a_flag_for_each(const char *url)
{
    struct lks_server *plain = world.servers[PLAIN]; /* its folder */
    const char *ca = file("ca.crt");
    const char *strict = url_of(STRICT);

    assert_int_equal(LKC_DO_AT(plain, url, "list", "--redis-ca", ca, "--redis-password",
                               write_secret("app", "server-word"), "--sentinel-password",
                               write_secret("guard", "guard:guard-word")),
                     0);
    assert_int_equal(LKC_DO_AT(plain, strict, "run", "--lock", "l", "--redis-ca", ca,
                               "--redis-server-name", "localhost", "--redis-cert",
                               file("client.crt"), "--redis-key", file("client.key"), "true"),
                     0);
    assert_int_equal(LKC_DO_AT(plain, strict, "list", "--redis-insecure"), 70);
    assert_non_null(strstr(lkc_said(), "wants a certificate of the client"));
    assert_int_equal(LKC_DO_AT(plain, strict, "list", "--redis-ca", file("none.crt")), 64);
    assert_non_null(strstr(lkc_said(), "none.crt: No such file"));
}

static void sentinels_and_servers_have_users_of_their_own(void **state)
{
    struct lkt *topology = lkt_start(&(struct lkt_options){
        .tls = world.dir, .password = "server-word", .sentinel_password = "guard-word"});
    const char *hosts = strstr(topology->url, "://") + 3;
    char url[sizeof topology->url + 32];
    struct lk_client_options options = {.url = url,
                                        .password = "server-word",
                                        .sentinel_password = "guard:guard-word",
                                        .connect_ms = PATIENT_MS,
                                        .command_ms = PATIENT_MS,
                                        .poll_ms = POLL_MS,
                                        .backoff_ms = 100,
                                        .tls.ca_file = file("ca.crt")};
    struct lk_client_options wrong = options;
    struct lk_error err = {0};

    (void)snprintf(url, sizeof url, "rediss+sentinel://app@%s", hosts);
    wrong.sentinel_password = NULL;
    assert_null(lk_client_open(&wrong, &err));
    if (err.code != LK_SERVER || !strstr(err.text, "NOAUTH")) fail_msg("%s", err.text);
    wrong.sentinel_password = "guard:server-word";
    assert_null(lk_client_open(&wrong, &err));
    if (err.code != LK_SERVER || !strstr(err.text, "WRONGPASS")) fail_msg("%s", err.text);
    lk_client *client = lkt_client_with(topology, options);
    use_locks(client);
    lockctl_has_a_flag_for_each(url);
    (void)lkt_tell(topology, "kill n1");
    LKS_EVENTUALLY(strcmp(lkt_tell(topology, "primary"), "n1") != 0, SWITCH_MS);
    LKS_EVENTUALLY(ping(client, 0) == LK_OK, SWITCH_MS);
    use_locks(client);
    lk_client_close(client);
    lkt_stop(topology);
}

static void a_cluster_is_used_over_tls(void **state)
{
    struct lkt *topology =
        lkt_start(&(struct lkt_options){.is_cluster = true, .replicas = "0", .tls = world.dir});
    lk_client *client =
        lkt_client_with(topology, (struct lk_client_options){.connect_ms = PATIENT_MS,
                                                             .command_ms = PATIENT_MS,
                                                             .tls.ca_file = file("ca.crt"),
                                                             .poll_ms = POLL_MS});

    assert_int_equal(lk_client_primaries(client), 3);
    use_locks(client);
    lk_client_close(client);
    lkt_stop(topology);
}

static void without_openssl_a_url_of_tls_is_refused(void **state)
{
    static const char *const urls[] = {"rediss://h", "rediss+sentinel://h", "rediss+cluster://h"};

    for (size_t i = 0; i < sizeof urls / sizeof urls[0]; i++) {
        struct lk_error err = {0};

        assert_null(lk_client_open(&(struct lk_client_options){.url = urls[i]}, &err));
        assert_int_equal(err.code, LK_INVALID);
        assert_non_null(strstr(err.text, "built without TLS (WITH_TLS=0)"));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_server_is_trusted_or_refused_in_time_and_in_words),
        cmocka_unit_test(locks_are_renewed_and_waiters_woken),
        cmocka_unit_test(a_release_wakes_who_waits),
        cmocka_unit_test(a_big_pipeline_goes_both_ways),
        cmocka_unit_test(a_server_that_dies_leaves_unknown_what_was_asked_only),
        cmocka_unit_test(a_server_that_stands_still_is_unknown_in_time),
        cmocka_unit_test(an_answer_that_drips_is_unknown_in_time),
        cmocka_unit_test(a_reconnection_resumes_the_session),
        cmocka_unit_test(who_refuses_a_session_is_asked_without),
        cmocka_unit_test(sentinels_and_servers_have_users_of_their_own),
        cmocka_unit_test(a_cluster_is_used_over_tls),
    };

    static const struct CMUnitTest without[] = {
        cmocka_unit_test(without_openssl_a_url_of_tls_is_refused)};

    if (!WITH_TLS) return cmocka_run_group_tests(without, NULL, NULL);
    return cmocka_run_group_tests(tests, start_world, end_world);
}
