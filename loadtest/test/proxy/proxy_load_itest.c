/*
 * The fault proxy under load, in front of an echo server: many connections, big transfers, and
 * memory that stays bounded when a reader does not read.
 */
#include <errno.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/moment.h"
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
    IN_FLIGHT = 20000,
};

struct rig {
    struct lt_place place;
    struct lt_proxy proxy;
    struct lt_echo *echo;
};

static int open_with(void **state, const char *schedule)
{
    static struct rig rig;
    char path[LT_PATH_MAX + 64];
    char to[32];
    int port = 0;

    rig = (struct rig){.echo = lt_echo_start(&port)};
    *state = &rig;
    (void)snprintf(to, sizeof to, "127.0.0.1:%d", port);
    const char *const list[] = {to, NULL};
    const char *const extra[] = {"--schedule", path, "--seed", "7", NULL};
    return rig.echo && lt_place_open(&rig.place) &&
                   (!schedule || lt_place_write(&rig.place, "schedule", schedule, path)) &&
                   lt_proxy_start(&rig.place, list, schedule ? extra : NULL, &rig.proxy)
               ? 0
               : -1;
}

static int open_rig(void **state)
{
    return open_with(state, NULL);
}

static int close_rig(void **state)
{
    struct rig *rig = *state;
    bool is_clean = lt_proxy_stop(&rig->proxy);

    lt_echo_stop(rig->echo);
    lt_place_close(&rig->place);
    return is_clean ? 0 : -1;
}

TEST(five_hundred_connections_get_their_own_bytes)
{
    struct rig *rig = *state;
    static int clients[CONNECTIONS];
    char text[64];

    assert_true(lt_proxy_tell(&rig->proxy, "delay 2 2"));
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

struct stream {
    int fd;
    uint64_t sent, received;
};

static void push(struct stream *stream, unsigned number)
{
    static unsigned char block[BLOCK];
    size_t length = STREAM_BYTES - stream->sent < BLOCK ? STREAM_BYTES - stream->sent : BLOCK;

    for (size_t i = 0; i < length; i++)
        block[i] = lt_byte(number, stream->sent + i);
    ssize_t count = send(stream->fd, block, length, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (count > 0) stream->sent += (uint64_t)count;
    if (stream->sent == STREAM_BYTES) (void)shutdown(stream->fd, SHUT_WR);
}

static void pull(struct stream *stream, unsigned number)
{
    static unsigned char block[BLOCK];
    ssize_t count = recv(stream->fd, block, sizeof block, MSG_DONTWAIT);

    assert_true(count > 0); /* poll() said so */
    for (size_t i = 0; i < (size_t)count; i++)
        if (block[i] != lt_byte(number, stream->received + i))
            fail_msg("stream %u, byte %zu differs", number, (size_t)stream->received + i);
    stream->received += (uint64_t)count;
}

static bool pump(struct stream *streams)
{
    struct pollfd polled[STREAMS];
    bool is_done = true;

    for (unsigned i = 0; i < STREAMS; i++) {
        polled[i] = (struct pollfd){.fd = streams[i].fd, .events = POLLIN};
        if (streams[i].sent < STREAM_BYTES) polled[i].events |= POLLOUT;
        if (streams[i].received == STREAM_BYTES) polled[i].fd = -1;
        if (streams[i].received < STREAM_BYTES) is_done = false;
    }
    if (is_done) return true;
    (void)poll(polled, STREAMS, 1000);
    for (unsigned i = 0; i < STREAMS; i++) {
        if (polled[i].revents & POLLOUT) push(&streams[i], i);
        if (polled[i].revents & POLLIN) pull(&streams[i], i);
    }
    return false;
}

TEST(big_transfers_are_exact_under_delay_and_jitter)
{
    struct rig *rig = *state;
    struct stream streams[STREAMS] = {{.fd = -1}};
    int64_t deadline_ms = moment_ms() + TRANSFER_MS;

    assert_true(lt_proxy_tell(&rig->proxy, "delay 5 3"));
    for (unsigned i = 0; i < STREAMS; i++) {
        streams[i] = (struct stream){.fd = lt_connect(rig->proxy.ports[0])};
        assert_true(streams[i].fd >= 0);
    }
    while (!pump(streams))
        assert_true(moment_ms() < deadline_ms);
    for (unsigned i = 0; i < STREAMS; i++)
        (void)close(streams[i].fd);
    assert_int_equal((int64_t)STREAMS * STREAM_BYTES, lt_proxy_count(&rig->proxy, "c2s_bytes"));
    assert_int_equal((int64_t)STREAMS * STREAM_BYTES, lt_proxy_count(&rig->proxy, "s2c_bytes"));
}

static int64_t resident_kb(const struct rig *rig)
{
    char path[64];
    char line[256];
    int64_t resident = -1;

    (void)snprintf(path, sizeof path, "/proc/%d/status", (int)rig->proxy.process.pid);
    FILE *file = fopen(path, "re");
    while (file && fgets(line, sizeof line, file))
        if (strncmp(line, "VmRSS:", 6) == 0) resident = strtoll(line + 6, NULL, 10);
    if (file) (void)fclose(file); /* read only */
    return resident;
}

TEST(a_deaf_reader_does_not_cost_memory)
{
    struct rig *rig = *state;
    static char block[BLOCK];
    int clients[DEAF_CONNECTIONS];
    int64_t before_kb = resident_kb(rig);

    assert_true(lt_proxy_tell(&rig->proxy, "trickle 1")); /* as good as deaf */
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
    int64_t after_kb = resident_kb(rig);
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
    unsigned streams; /* begun so far */
    unsigned resets;
    uint64_t echoed;
    bool has_differed;
};

static void hang_up(struct chatter *chatter)
{
    if (chatter->fd >= 0) (void)close(chatter->fd);
    chatter->fd = -1;
}

static void listen_to(struct chaos *chaos, struct chatter *chatter)
{
    static unsigned char block[BLOCK];
    ssize_t count = recv(chatter->fd, block, sizeof block, MSG_DONTWAIT);

    if (count < 0 && errno == EAGAIN) return;
    if (count <= 0) {
        chaos->resets++;
        hang_up(chatter);
        return;
    }
    for (size_t i = 0; i < (size_t)count; i++)
        if (block[i] != lt_byte(chatter->stream, chatter->received + i)) chaos->has_differed = true;
    chatter->received += (uint64_t)count;
    chaos->echoed += (uint64_t)count;
}

static void talk(struct chaos *chaos, struct chatter *chatter)
{
    unsigned char block[200];

    if (chatter->fd < 0 || chatter->sent - chatter->received > IN_FLIGHT) return;
    for (size_t i = 0; i < sizeof block; i++)
        block[i] = lt_byte(chatter->stream, chatter->sent + i);
    ssize_t count = send(chatter->fd, block, sizeof block, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (count > 0) chatter->sent += (uint64_t)count;
    if (count >= 0 || errno == EAGAIN) return;
    chaos->resets++;
    hang_up(chatter);
}

/* One turn of every chatter. */
static void chat(const struct rig *rig, struct chaos *chaos)
{
    for (size_t i = 0; i < CHATTERS; i++) {
        struct chatter *chatter = &chaos->chatters[i];
        if (chatter->fd < 0)
            *chatter =
                (struct chatter){.fd = lt_connect(rig->proxy.ports[0]), .stream = ++chaos->streams};
        talk(chaos, chatter);
        if (chatter->fd >= 0) listen_to(chaos, chatter);
    }
    moment_sleep_ms(1);
}

static const char chaos_schedule[] = "every 10..60 pass\n"
                                     "every 20..90 stall\n"
                                     "every 30..150 blackhole\n"
                                     "every 20..90 oneway c2s\n"
                                     "every 20..90 oneway s2c\n"
                                     "every 10..50 delay 3 3\n"
                                     "every 20..90 trickle 20000\n"
                                     "every 20..60 cut\n"
                                     "every 50..200 refuse\n"
                                     "every 10..40 eat-reply 2\n";

static bool all_are_echoed(struct chaos *chaos)
{
    for (size_t i = 0; i < CHATTERS; i++)
        if (chaos->chatters[i].fd < 0 || chaos->chatters[i].received < 1000) return false;
    return true;
}

static int start_chaos(void **state)
{
    return open_with(state, chaos_schedule);
}

/* Without activity it proves nothing. */
static bool is_too_quiet(const struct rig *rig, const struct chaos *chaos)
{
    return chaos->echoed < 100000 || chaos->resets < 50 ||
           lt_proxy_count(&rig->proxy, "replies_eaten") < 5 ||
           lt_proxy_count(&rig->proxy, "cuts") < 50;
}

TEST_WITH(chaos_loses_connections_but_never_bytes_within_one, start_chaos, close_rig)
{
    struct rig *rig = *state;
    struct chaos chaos = {.streams = 0};
    int64_t least_ms = moment_ms() + CHAOS_MS;
    int64_t most_ms = moment_ms() + TRANSFER_MS;

    for (size_t i = 0; i < CHATTERS; i++)
        chaos.chatters[i].fd = -1;
    do {
        chat(rig, &chaos);
    } while (moment_ms() < least_ms || (is_too_quiet(rig, &chaos) && moment_ms() < most_ms));
    bool is_void = is_too_quiet(rig, &chaos);
    for (size_t i = 0; i < CHATTERS; i++)
        hang_up(&chaos.chatters[i]);

    assert_false(chaos.has_differed);
    assert_false(is_void);
}

TEST(healed_all_goes_on)
{
    struct rig *rig = *state;
    struct chaos chaos = {.streams = 0};
    static const char *const verbs[] = {"delay 3 3",   "trickle 20000", "stall",     "oneway s2c",
                                        "eat-reply 9", "refuse",        "blackhole", "pass"};
    int64_t until_ms = moment_ms() + TRANSFER_MS;

    for (size_t i = 0; i < CHATTERS; i++)
        chaos.chatters[i].fd = -1;
    for (size_t i = 0; i < sizeof verbs / sizeof *verbs; i++) {
        assert_true(lt_proxy_tell(&rig->proxy, verbs[i]));
        for (int turn = 0; turn < 20; turn++)
            chat(rig, &chaos);
    }
    while (!all_are_echoed(&chaos) && moment_ms() < until_ms)
        chat(rig, &chaos);
    bool are_echoed = all_are_echoed(&chaos);
    for (size_t i = 0; i < CHATTERS; i++)
        hang_up(&chaos.chatters[i]);

    assert_true(are_echoed);
    assert_false(chaos.has_differed);
}

FIXTURE(open_rig, close_rig);
