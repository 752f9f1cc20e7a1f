/*
 * A client and its server: URLs, log-in, the pool, large answers, closing.
 */
#include <dirent.h>
#include <pthread.h>

#include "common/port.h"
#include "test/support/lk_net.h"
#include "test/support/lk_support.h"

#define SECRET "s3cr3t-0f-th3-t3st"

static struct lks_server *server; /* TCP and unix socket, no password */

static lk_client *open_url(const char *url, struct lk_error *err)
{
    return lk_client_open(&(struct lk_client_options){.url = url}, err);
}

/* One round of lock and unlock. */
static lk_status use(lk_client *client, const char *key, struct lk_error *err)
{
    lk_lock *lock = lks_mutex(client, key);
    lk_status status = lk_lock_acquire(lock, &(struct lk_lock_options){.lease_ms = 1000}, err);

    if (status == LK_OK) status = lk_lock_release(lock, err);
    lk_lock_free(lock);
    return status;
}

static size_t open_files(void)
{
    size_t count = 0;
    DIR *folder = opendir("/proc/self/fd");

    assert_non_null(folder);
    while (readdir(folder)) /* NOLINT(concurrency-mt-unsafe): a folder of our own */
        count++;
    (void)closedir(folder);
    return count;
}

/* ---- opening ------------------------------------------------------------------------------------------ */

TEST(both_kinds_of_url_reach_the_same_server)
{
    lk_client *by_path = lks_client(server);
    lk_client *by_port =
        lks_client_with(server, (struct lk_client_options){.url = server->tcp_url});
    const char *key = lks_key(server, "both");
    lk_lock *first = lks_mutex(by_path, key);
    lk_lock *second = lks_mutex(by_port, key);

    assert_int_equal(lk_lock_acquire(first, NULL, NULL), LK_OK);
    assert_int_equal(lk_lock_acquire(second, NULL, NULL), LK_BUSY);
    assert_int_equal(lk_lock_release(first, NULL), LK_OK);
    assert_int_equal(lk_lock_acquire(second, NULL, NULL), LK_OK);
    assert_int_equal(lk_lock_release(second, NULL), LK_OK);
    lk_lock_free(first);
    lk_lock_free(second);
    lk_client_close(by_path);
    lk_client_close(by_port);
}

TEST(the_database_is_chosen)
{
    static const char in_database_7[] =
        "redis.call('SELECT', 7) return redis.call('EXISTS', KEYS[1])";
    char url[300];
    const char *key = lks_key(server, "db");

    for (int kind = 0; kind < 2; kind++) {
        (void)snprintf(url, sizeof url, kind ? "%s/7" : "%s?db=7",
                       kind ? server->tcp_url : server->url);
        lk_client *client = lks_client_with(server, (struct lk_client_options){.url = url});
        lk_lock *lock = lks_mutex(client, key);
        assert_int_equal(lk_lock_acquire(lock, NULL, NULL), LK_OK);
        assert_int_equal(LKS_INTEGER(server, "EXISTS", key), 0); /* in database 0 */
        assert_int_equal(LKS_INTEGER(server, "EVAL", in_database_7, "1", key), 1);
        assert_int_equal(lk_lock_release(lock, NULL), LK_OK);
        lk_lock_free(lock);
        lk_client_close(client);
    }
}

TEST(a_database_that_is_not_there_is_the_servers_refusal)
{
    char url[300];
    struct lk_error err = {0};

    (void)snprintf(url, sizeof url, "%s/9999", server->tcp_url);
    assert_null(open_url(url, &err));

    assert_int_equal(err.code, LK_SERVER);
    assert_non_null(strstr(err.text, "out of range"));
}

TEST(a_closed_port_is_unreachable_in_time_and_named)
{
    char url[64];
    char name[32];
    struct lk_error err = {0};
    int port = port_free();

    (void)snprintf(url, sizeof url, "redis://127.0.0.1:%d", port);
    (void)snprintf(name, sizeof name, "127.0.0.1:%d", port);
    double begin = lks_now_ms();
    assert_null(open_url(url, &err));

    assert_true(lks_now_ms() - begin < 5000); /* a restart may end within its connect_ms, 1000 */
    assert_int_equal(err.code, LK_UNREACHABLE);
    assert_non_null(strstr(err.text, name));
    assert_non_null(strstr(err.text, "refused"));
}

TEST(a_socket_that_is_not_there_is_unreachable_and_named)
{
    struct lk_error err = {0};

    assert_null(open_url("unix:///tmp/lockkit-no-such-socket", &err));

    assert_int_equal(err.code, LK_UNREACHABLE);
    assert_non_null(strstr(err.text, "/tmp/lockkit-no-such-socket"));
}

TEST(bad_options_are_refused)
{
    static const struct lk_client_options rows[] = {
        {.url = "nonsense"},
        {.url = "redis://"},
        {.connect_ms = -1},
        {.command_ms = -1},
        {.backoff_ms = -1},
        {.poll_ms = -1},
        {.command_ms = 1000LL * 86400 + 1},
        {.pool_size = 10001},
        {.receive_spin_us = 10001},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct lk_error err = {0};

        assert_null(lk_client_open(&rows[i], &err));
        assert_int_equal(err.code, LK_INVALID);
        assert_null(lk_client_open(&rows[i], NULL));
    }
}

/* ---- log-in ------------------------------------------------------------------------------------------- */

TEST(the_password_opens_and_never_shows)
{
    struct lks_server *guarded =
        lks_server_start(&(struct lks_server_options){.is_tcp = true, .password = SECRET});
    const struct {
        const char *format;
        lk_status expected;
    } rows[] = {
        {"redis://:" SECRET "@127.0.0.1:%d", LK_OK},
        {"redis://default:" SECRET "@127.0.0.1:%d", LK_OK},
        {"redis://:" SECRET "x@127.0.0.1:%d", LK_SERVER},
        {"redis://nobody:" SECRET "@127.0.0.1:%d", LK_SERVER},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char url[128];
        struct lk_error err = {0};
        lk_status status = LK_OK;

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
        (void)snprintf(url, sizeof url, rows[i].format, guarded->port);
#pragma GCC diagnostic pop
        lk_client *client = open_url(url, &err);
        status = client ? use(client, "guarded", &err) : err.code;
        lk_client_close(client);
        assert_int_equal(status, rows[i].expected);
        assert_null(strstr(err.text, SECRET));
        if (status == LK_SERVER) assert_non_null(strstr(err.text, "WRONGPASS"));
    }
    lks_server_stop(guarded);
}

TEST(without_the_password_the_server_refuses_in_its_words)
{
    struct lks_server *guarded =
        lks_server_start(&(struct lks_server_options){.is_tcp = true, .password = SECRET});
    struct lk_error err = {0};
    lk_client *client = lks_client(guarded); /* connecting asks nothing */

    assert_int_equal(use(client, "guarded", &err), LK_SERVER);

    assert_non_null(strstr(err.text, "NOAUTH"));
    lk_client_close(client);
    lks_server_stop(guarded);
}

/* ---- the pool ------------------------------------------------------------------------------------------- */

struct sleeper {
    lk_client *client;
    const char *for_s;
    lk_status status;
    lk_reply *reply;
};

static void *sleep_main(void *arg)
{
    struct sleeper *sleeper = arg;
    struct lk_bytes words[] = {LK_BYTES("BLPOP"), LK_BYTES("nothing-comes"),
                               lk_bytes_of(sleeper->for_s)};

    sleeper->status = lk_client_call(sleeper->client, &(struct lk_command){words, 3}, 1, 20000,
                                     &sleeper->reply, NULL);
    return NULL;
}

TEST(an_exhausted_pool_says_so_in_time)
{
    enum { SIZE = 2 };
    lk_client *client = lks_client_with(server, (struct lk_client_options){.pool_size = SIZE});
    struct lk_bytes ping = LK_BYTES("PING");
    struct sleeper sleepers[SIZE];
    pthread_t threads[SIZE];
    struct lk_error err = {0};
    lk_reply *reply = NULL;

    for (size_t i = 0; i < SIZE; i++) {
        sleepers[i] = (struct sleeper){.client = client, .for_s = "2.5"};
        assert_int_equal(pthread_create(&threads[i], NULL, sleep_main, &sleepers[i]), 0);
    }
    LKS_EVENTUALLY(lks_info(server, "clients", "blocked_clients") == SIZE, 2000);
    lk_status status = lk_client_call(client, &(struct lk_command){&ping, 1}, 1, 50, &reply, &err);
    long long still_out = lks_info(server, "clients", "blocked_clients");
    lk_status patient =
        lk_client_call(client, &(struct lk_command){&ping, 1}, 1, 20000, &reply, NULL);
    for (size_t i = 0; i < SIZE; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
        assert_int_equal(sleepers[i].status, LK_OK);
        lk_reply_free(sleepers[i].reply);
    }

    assert_int_equal(status, LK_EXHAUSTED);
    assert_non_null(strstr(err.text, "all 2 connections are in use"));
    assert_int_equal(still_out, SIZE);
    assert_int_equal(patient, LK_OK); /* who waits longer is served by a return */
    lk_reply_free(reply);
    lk_client_close(client);
}

TEST(a_pool_is_no_larger_than_it_may_be)
{
    enum { SIZE = 3, THREADS = 8 };
    lk_client *client = lks_client_with(server, (struct lk_client_options){.pool_size = SIZE});
    struct sleeper sleepers[THREADS];
    pthread_t threads[THREADS];

    for (size_t i = 0; i < THREADS; i++) {
        sleepers[i] = (struct sleeper){.client = client, .for_s = "0.4"};
        assert_int_equal(pthread_create(&threads[i], NULL, sleep_main, &sleepers[i]), 0);
    }
    LKS_EVENTUALLY(lks_info(server, "clients", "blocked_clients") == SIZE, 2000);
    LKS_EVENTUALLY(lks_info(server, "clients", "connected_clients") == SIZE + 1, 5000); /* ours */
    for (size_t i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
        assert_int_equal(sleepers[i].status, LK_OK); /* 8 of them, 3 at a time */
        lk_reply_free(sleepers[i].reply);
    }
    lk_client_close(client);
}

TEST(an_error_answer_is_an_answer)
{
    lk_client *client = lks_client(server);
    struct lk_bytes bad[] = {LK_BYTES("NO-SUCH-COMMAND"), LK_BYTES("x")};
    struct lk_bytes good = LK_BYTES("PING");
    struct lk_command commands[] = {{&good, 1}, {bad, 2}, {&good, 1}};
    lk_reply *replies[3] = {NULL};

    assert_int_equal(lk_client_call(client, commands, 3, 0, replies, NULL), LK_OK);

    assert_string_equal(lk_reply_bytes(replies[0]).data, "PONG");
    assert_int_equal(lk_reply_type_of(replies[1]), LK_REPLY_ERROR);
    assert_string_equal(lk_reply_bytes(replies[2]).data, "PONG");
    for (size_t i = 0; i < 3; i++)
        lk_reply_free(replies[i]);
    lk_client_close(client);
}

TEST(words_of_any_length_and_number_arrive_as_they_are)
{
    static const size_t lens[] = {0, 1, 9, 10, 11, 99, 100, 999, 1000};
    enum { COUNT = sizeof lens / sizeof lens[0] };
    static const char bytes[1000] = "\r\n$3\r\n\0*1";
    lk_client *client = lks_client(server);
    struct lk_bytes push[2 + COUNT] = {LK_BYTES("RPUSH"), lk_bytes_of(lks_key(server, "words"))};
    struct lk_bytes range[] = {LK_BYTES("LRANGE"), push[1], LK_BYTES("0"), LK_BYTES("-1")};
    struct lk_command commands[] = {{push, 2 + COUNT}, {range, 4}};
    lk_reply *replies[2] = {NULL};

    for (size_t i = 0; i < COUNT; i++)
        push[2 + i] = (struct lk_bytes){lens[i] > 0 ? bytes : NULL, lens[i]};
    assert_int_equal(lk_client_call(client, commands, 2, 0, replies, NULL), LK_OK);

    assert_int_equal(lk_reply_integer(replies[0], 0), COUNT);
    assert_int_equal(lk_reply_count(replies[1]), COUNT);
    for (size_t i = 0; i < COUNT; i++) {
        struct lk_bytes word = lk_reply_bytes(lk_reply_at(replies[1], i));

        assert_int_equal(word.len, lens[i]);
        assert_memory_equal(word.data, bytes, lens[i]);
    }
    lk_reply_free(replies[0]);
    lk_reply_free(replies[1]);
    lk_client_close(client);
}

TEST(megabytes_go_out_and_come_back_whole)
{
    enum { LEN = 3000001 };
    const char *urls[] = {server->url, server->tcp_url};
    const char *key = lks_key(server, "large");
    char *large = malloc(LEN);

    assert_non_null(large);
    for (size_t i = 0; i < LEN; i++)
        large[i] = (char)(i * 7 + i / 256);
    for (size_t i = 0; i < 2; i++) {
        lk_client *client = lks_client_with(server, (struct lk_client_options){.url = urls[i]});
        struct lk_bytes set[] = {LK_BYTES("SET"), lk_bytes_of(key), {large, LEN}};
        struct lk_bytes get[] = {LK_BYTES("GET"), lk_bytes_of(key)};
        struct lk_command commands[] = {{set, 3}, {get, 2}, {get, 2}};
        lk_reply *replies[3] = {NULL};

        assert_int_equal(lk_client_call(client, commands, 3, 10000, replies, NULL), LK_OK);
        for (size_t k = 1; k < 3; k++) {
            assert_int_equal(lk_reply_bytes(replies[k]).len, LEN);
            assert_memory_equal(lk_reply_bytes(replies[k]).data, large, LEN);
        }
        for (size_t k = 0; k < 3; k++)
            lk_reply_free(replies[k]);
        lk_client_close(client);
    }
    free(large);
}

/* ---- closing ------------------------------------------------------------------------------------------- */

TEST(closing_leaves_nothing_behind)
{
    (void)LKS_INTEGER(server, "DBSIZE"); /* our own connection is there before we count */
    size_t before = open_files();
    for (int i = 0; i < 5; i++) {
        lk_client *client = lks_client(server);
        lk_lock *lock = lks_mutex(client, "closing");
        struct lk_lock_options options = {.lease_ms = 60000, .is_renewed = true};

        assert_true(lk_lock_lost_fd(lock) >= 0);
        assert_int_equal(lk_lock_acquire(lock, &options, NULL), LK_OK);
        lks_nap(250); /* the watchdog has its connection */
        assert_int_equal(lk_lock_release(lock, NULL), LK_OK);
        lk_lock_free(lock);
        double begin = lks_now_ms();
        lk_client_close(client);
        assert_true(lks_now_ms() - begin < 5000); /* nothing is waited for, least of all a lease */
    }

    assert_int_equal(open_files(), before);
    LKS_EVENTUALLY(lks_info(server, "clients", "connected_clients") == 1, 5000);
    lk_client_close(NULL);
}

/* Connections, the subscriber's, the watchdog's, and what waits and tells. */
TEST(nothing_is_inherited_by_programs_we_start)
{
    const struct lk_lock_options renewed = {.lease_ms = 600, .is_renewed = true};
    unsigned before = lks_inheritable();
    lk_client *client = lks_client(server);
    lk_client *by_path = lks_client_with(server, (struct lk_client_options){.url = server->url});
    lk_lock *lock = lks_mutex(client, "inherited"), *rival = lks_mutex(by_path, "inherited");
    lk_lock *redlock = lk_redlock_new(&by_path, 1, "by-redlock", NULL, NULL);
    size_t files = open_files();

    assert_true(lk_lock_lost_fd(lock) >= 0);
    assert_int_equal(lk_lock_acquire(lock, &renewed, NULL), LK_OK);
    assert_int_equal(lk_lock_acquire(redlock, &renewed, NULL), LK_OK);
    assert_int_equal(lk_lock_acquire(rival, &(struct lk_lock_options){.wait_ms = 100}, NULL),
                     LK_BUSY);
    LKS_EVENTUALLY(open_files() >= files + 3, 5000); /* the watchdog has its connection */
    assert_int_equal(lks_inheritable(), before);
    (void)lk_lock_release(lock, NULL);
    (void)lk_lock_release(redlock, NULL);
    lk_lock_free(lock);
    lk_lock_free(rival);
    lk_lock_free(redlock);
    lk_client_close(client);
    lk_client_close(by_path);
}

BEFORE_ALL()
{
    server = lks_server_start(&(struct lks_server_options){.is_tcp = true});
}

AFTER_ALL()
{
    lks_server_stop(server);
}
