/*
 * The fault proxy under load, in front of an echo server: many connections, big transfers, and
 * memory that stays bounded when a reader does not read.
 */
#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "test/support/lt_net.h"
#include "test/support/lt_proxy.h"
#include "test/support/testing.h"

enum {
    CONNECTIONS = 500,
    ROUNDS = 5,
    STREAMS = 8,
    STREAM_BYTES = 4 * 1024 * 1024,
    BLOCK = 32 * 1024,
    TRANSFER_MS = 30000,
    DEAF_CONNECTIONS = 10,
    DEAF_MAX = 64 * 1024 * 1024,
    MOST_KB = DEAF_CONNECTIONS * 512 + 4096, /* both directions of each full, and some slack */
    CHATTERS = 20,
    CHAOS_MS = 1500,
};

struct rig {
    struct lt_sandbox sandbox;
    struct lt_proxy proxy;
    struct lt_echo *echo;
};

static void start_proxy(struct rig *rig, const char *schedule)
{
    char path[LT_PATH_MAX + 64];
    char to[32];
    int port = 0;

    rig->echo = lt_echo_start(&port);
    (void)snprintf(to, sizeof to, "127.0.0.1:%d", port);
    const char *const list[] = {to, NULL};
    const char *const extra[] = {"--schedule", path, "--seed", "7", NULL};
    assert_true(rig->echo && lt_sandbox_open(&rig->sandbox));
    assert_true(lt_sandbox_write(&rig->sandbox, "schedule", schedule, path));
    assert_true(lt_proxy_start(&rig->sandbox, list, extra, &rig->proxy));
}

TEAR_DOWN(struct rig, rig)
{
    bool is_clean = lt_proxy_stop(&rig->proxy);

    lt_echo_stop(rig->echo);
    lt_sandbox_close(&rig->sandbox);
    assert_true(is_clean);
}

SET_UP(struct rig, rig)
{
    start_proxy(rig, "");
}

TEST(five_hundred_connections_get_their_own_bytes, struct rig *rig)
{
    static int clients[CONNECTIONS];
    char text[64];

    assert_true(lt_proxy_command(&rig->proxy, "delay 2 2"));
    for (int i = 0; i < CONNECTIONS; i++) {
        clients[i] = lt_connect(rig->proxy.ports[0]);
        assert_true(clients[i] >= 0);
    }
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < CONNECTIONS; i++) {
            (void)snprintf(text, sizeof text, "round %d of client %d\n", round, i);
            assert_true(lt_send(clients[i], text));
        }
        for (int i = 0; i < CONNECTIONS; i++) {
            (void)snprintf(text, sizeof text, "round %d of client %d\n", round, i);
            assert_true(lt_receives(clients[i], text));
        }
    }
    assert_int_equal(CONNECTIONS, lt_proxy_count(&rig->proxy, "connections"));
    for (int i = 0; i < CONNECTIONS; i++)
        (void)close(clients[i]);
}

TEST(a_deaf_reader_does_not_cost_memory, struct rig *rig)
{
    static char block[BLOCK];
    int clients[DEAF_CONNECTIONS];
    int64_t before_kb = process_status(rig->proxy.process.pid, "VmRSS:");

    assert_true(lt_proxy_command(&rig->proxy, "trickle 1")); /* as good as deaf */
    for (int i = 0; i < DEAF_CONNECTIONS; i++) {
        size_t total = 0;
        clients[i] = lt_connect(rig->proxy.ports[0]);
        assert_true(clients[i] >= 0);
        for (ssize_t count = 0; count >= 0 && total < DEAF_MAX; total += (size_t)count) {
            count = send(clients[i], block, sizeof block, MSG_DONTWAIT | MSG_NOSIGNAL);
            if (count < 0) break;
        }
        assert_true(total > 0 && total < DEAF_MAX);
    }
    int64_t after_kb = process_status(rig->proxy.process.pid, "VmRSS:");
    for (int i = 0; i < DEAF_CONNECTIONS; i++)
        (void)close(clients[i]);

    assert_true(before_kb > 0);
    assert_in_range(after_kb, 1, before_kb + MOST_KB);
}

/* A client that talks to the echo server, and connects again with a new stream when it is cut. */
struct chatter {
    int fd; /* -1: not connected */
    unsigned stream;
    uint64_t sent, received;
};

struct chaos {
    struct chatter chatters[CHATTERS];
    size_t count, block, in_flight; /* of chatters; of bytes at once, and on their way at most */
    uint64_t most;                  /* bytes of a stream */
    unsigned streams;               /* begun so far */
    unsigned resets;
    uint64_t echoed;
    bool has_differed;
};

static struct chaos make_chaos(void)
{
    struct chaos chaos = {.count = CHATTERS, .block = 200, .in_flight = 20000, .most = UINT64_MAX};

    for (size_t i = 0; i < CHATTERS; i++)
        chaos.chatters[i].fd = -1;
    return chaos;
}

static void hang_up(struct chatter *chatter)
{
    if (chatter->fd >= 0) (void)close(chatter->fd);
    chatter->fd = -1;
}

static void lose(struct chaos *chaos, struct chatter *chatter)
{
    chaos->resets++;
    hang_up(chatter);
}

static void listen_to(struct chaos *chaos, struct chatter *chatter)
{
    static unsigned char block[BLOCK];
    ssize_t count = recv(chatter->fd, block, sizeof block, MSG_DONTWAIT);

    if (count < 0 && errno == EAGAIN) return;
    if (count <= 0) {
        lose(chaos, chatter);
        return;
    }
    for (size_t i = 0; i < (size_t)count; i++)
        if (block[i] != lt_byte(chatter->stream, chatter->received + i)) chaos->has_differed = true;
    chatter->received += (uint64_t)count;
    chaos->echoed += (uint64_t)count;
}

static void talk(struct chaos *chaos, struct chatter *chatter)
{
    static unsigned char block[BLOCK];
    uint64_t left = chaos->most - chatter->sent;
    size_t length = left < chaos->block ? (size_t)left : chaos->block;

    if (chatter->fd < 0 || chatter->sent - chatter->received > chaos->in_flight || !length) return;
    for (size_t i = 0; i < length; i++)
        block[i] = lt_byte(chatter->stream, chatter->sent + i);
    ssize_t count = send(chatter->fd, block, length, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (count > 0) chatter->sent += (uint64_t)count;
    if (count < 0 && errno != EAGAIN) lose(chaos, chatter);
}

/* One turn of every chatter. */
static void chat(const struct rig *rig, struct chaos *chaos)
{
    for (size_t i = 0; i < chaos->count; i++) {
        struct chatter *chatter = &chaos->chatters[i];
        if (chatter->fd < 0)
            *chatter =
                (struct chatter){.fd = lt_connect(rig->proxy.ports[0]), .stream = ++chaos->streams};
        talk(chaos, chatter);
        if (chatter->fd >= 0) listen_to(chaos, chatter);
    }
    clock_sleep_ms(1);
}

static bool all_are_echoed(const struct chaos *chaos, uint64_t least)
{
    for (size_t i = 0; i < chaos->count; i++)
        if (chaos->chatters[i].fd < 0 || chaos->chatters[i].received < least) return false;
    return true;
}

/* Until each has got so much back. */
static void chat_until(const struct rig *rig, struct chaos *chaos, uint64_t least)
{
    int64_t until_ms = clock_ms() + TRANSFER_MS;

    while (!all_are_echoed(chaos, least) && clock_ms() < until_ms)
        chat(rig, chaos);
    bool are_echoed = all_are_echoed(chaos, least);
    for (size_t i = 0; i < chaos->count; i++)
        hang_up(&chaos->chatters[i]);
    assert_true(are_echoed);
    assert_false(chaos->has_differed);
}

TEST(big_transfers_are_exact_under_delay_and_jitter, struct rig *rig)
{
    struct chaos chaos = make_chaos();

    chaos.count = STREAMS;
    chaos.block = chaos.in_flight = BLOCK;
    chaos.most = STREAM_BYTES;
    assert_true(lt_proxy_command(&rig->proxy, "delay 5 3"));
    chat_until(rig, &chaos, STREAM_BYTES);
    assert_int_equal(0, chaos.resets);
    assert_int_equal((int64_t)STREAMS * STREAM_BYTES, lt_proxy_count(&rig->proxy, "c2s_bytes"));
    assert_int_equal((int64_t)STREAMS * STREAM_BYTES, lt_proxy_count(&rig->proxy, "s2c_bytes"));
}

static int start_chaos(void **state)
{
    *state = calloc(1, sizeof(struct rig));
    start_proxy(*state, "every 10..60 pass\n"
                        "every 20..90 stall\n"
                        "every 30..150 blackhole\n"
                        "every 20..90 oneway c2s\n"
                        "every 20..90 oneway s2c\n"
                        "every 10..50 delay 3 3\n"
                        "every 20..90 trickle 20000\n"
                        "every 20..60 cut\n"
                        "every 50..200 refuse\n"
                        "every 10..40 eat-reply 2\n");
    return 0;
}

/* Without activity it proves nothing. */
static bool is_too_quiet(const struct rig *rig, const struct chaos *chaos)
{
    return chaos->echoed < 100000 || chaos->resets < 50 ||
           lt_proxy_count(&rig->proxy, "replies_eaten") < 5 ||
           lt_proxy_count(&rig->proxy, "cuts") < 50;
}

TEST_WITH(chaos_loses_connections_but_never_bytes_within_one, start_chaos, testing_tear_down)
{
    struct rig *rig = *state;
    struct chaos chaos = make_chaos();
    int64_t least_ms = clock_ms() + CHAOS_MS;
    int64_t most_ms = clock_ms() + TRANSFER_MS;

    do {
        chat(rig, &chaos);
    } while (clock_ms() < least_ms || (is_too_quiet(rig, &chaos) && clock_ms() < most_ms));
    assert_false(is_too_quiet(rig, &chaos));
    chat_until(rig, &chaos, 0);
}

TEST(healed_all_goes_on, struct rig *rig)
{
    static const char *const verbs[] = {"delay 3 3",   "trickle 20000", "stall",     "oneway s2c",
                                        "eat-reply 9", "refuse",        "blackhole", "pass"};
    struct chaos chaos = make_chaos();

    for (size_t i = 0; i < sizeof verbs / sizeof *verbs; i++) {
        assert_true(lt_proxy_command(&rig->proxy, verbs[i]));
        for (int turn = 0; turn < 20; turn++)
            chat(rig, &chaos);
    }
    chat_until(rig, &chaos, 1000);
}
