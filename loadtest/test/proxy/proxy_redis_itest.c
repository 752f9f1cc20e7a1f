/*
 * eat-reply in front of a real Redis: each eaten command has happened exactly once, and its client
 * cannot know. Commands are sent inline, as text.
 */
#include <sys/socket.h>
#include <unistd.h>

#include "test/support/lt_net.h"
#include "test/support/lt_proxy.h"
#include "test/support/testing.h"

enum { SOON_MS = 5000, EATEN = 1000, CROWD = 50, CROWD_EATEN = 20, VALUE_BYTES = 1000000 };

struct rig {
    struct lt_sandbox sandbox;
    struct lt_proxy proxy;
};

SET_UP(struct rig, rig)
{
    assert_true(lt_sandbox_open(&rig->sandbox) && lt_sandbox_start_redis(&rig->sandbox));
    const char *const to[] = {rig->sandbox.url, NULL};
    assert_true(lt_proxy_start(&rig->sandbox, to, NULL, &rig->proxy));
}

TEAR_DOWN(struct rig, rig)
{
    bool is_clean = lt_proxy_stop(&rig->proxy);

    lt_sandbox_close(&rig->sandbox);
    assert_true(is_clean);
}

static void tell(const struct rig *rig, const char *line)
{
    assert_true(lt_proxy_command(&rig->proxy, line));
}

static int connect_to(const struct rig *rig)
{
    int fd = lt_connect(rig->proxy.ports[0]);
    assert_true(fd >= 0);
    return fd;
}

static void await_reset(int fd)
{
    assert_int_equal(LT_RESET, lt_next(fd, SOON_MS));
    (void)close(fd);
}

/* The number Redis answers to an inline command; -1: none. */
static int64_t ask(const struct rig *rig, const char *command)
{
    char reply[64] = "";
    int fd = connect_to(rig);

    assert_true(lt_send(fd, command));
    ssize_t count = recv(fd, reply, sizeof reply - 1, 0);
    (void)close(fd);
    return count > 1 && reply[0] == ':' ? strtoll(reply + 1, NULL, 10) : -1;
}

struct wanted {
    const struct rig *rig;
    const char *command;
    int64_t number;
};

static bool is_answered(void *arg)
{
    const struct wanted *wanted = arg;
    return ask(wanted->rig, wanted->command) == wanted->number;
}

static void await(const struct rig *rig, const char *command, int64_t number)
{
    assert_true(lt_eventually(is_answered, &(struct wanted){rig, command, number}, SOON_MS));
}

TEST(a_thousand_eaten_replies_are_a_thousand_increments, struct rig *rig)
{
    char line[32];

    (void)snprintf(line, sizeof line, "eat-reply %d", EATEN);
    tell(rig, line);
    for (int i = 0; i < EATEN; i++) {
        int fd = connect_to(rig);
        assert_true(lt_send(fd, "INCR eaten\r\n"));
        await_reset(fd);
    }

    assert_int_equal(EATEN + 1, ask(rig, "INCR eaten\r\n"));
    assert_int_equal(EATEN, lt_proxy_count(&rig->proxy, "replies_eaten"));
    assert_int_equal(0, lt_proxy_count(&rig->proxy, "eat_left"));
}

TEST(a_crowd_loses_as_many_replies_as_were_ordered, struct rig *rig)
{
    int clients[CROWD];
    char line[32];
    int resets = 0;
    int replies = 0;

    for (int i = 0; i < CROWD; i++)
        clients[i] = connect_to(rig);
    (void)snprintf(line, sizeof line, "eat-reply %d", CROWD_EATEN);
    tell(rig, line);
    for (int i = 0; i < CROWD; i++)
        assert_true(lt_send(clients[i], "INCR crowd\r\n"));
    for (int i = 0; i < CROWD; i++) {
        lt_ending ending = lt_next(clients[i], SOON_MS);
        if (ending == LT_RESET) resets++;
        if (ending == LT_BYTES) replies++;
        (void)close(clients[i]);
    }

    assert_int_equal(CROWD_EATEN, resets);
    assert_int_equal(CROWD - CROWD_EATEN, replies);
    assert_int_equal(CROWD + 1, ask(rig, "INCR crowd\r\n"));
}

TEST(a_whole_burst_is_delivered_before_the_end, struct rig *rig)
{
    char burst[100 * 12 + 1] = "";
    int fd = connect_to(rig);

    for (size_t i = 0; i < 100; i++)
        (void)snprintf(burst + 12 * i, sizeof burst - 12 * i, "INCR burst\r\n");
    tell(rig, "eat-reply 1");
    assert_true(lt_send(fd, burst));
    await_reset(fd);

    await(rig, "INCRBY burst 0\r\n", 100);
}

TEST(a_large_request_is_carried_out_whole, struct rig *rig)
{
    char *value = calloc(1, VALUE_BYTES + 3);
    int fd = connect_to(rig);

    assert_non_null(value);
    memset(value, 'v', VALUE_BYTES);
    (void)snprintf(value + VALUE_BYTES, 3, "\r\n");
    tell(rig, "eat-reply 1");
    tell(rig, "delay 3 2");
    assert_true(lt_send(fd, "*3\r\n$3\r\nSET\r\n$5\r\nlarge\r\n$1000000\r\n"));
    bool is_sent = lt_send(fd, value);
    free(value);
    assert_true(is_sent);
    await_reset(fd);

    await(rig, "STRLEN large\r\n", VALUE_BYTES);
}

TEST(a_cut_client_reconnects_to_the_same_redis, struct rig *rig)
{
    int fd = connect_to(rig);

    assert_true(lt_send(fd, "INCR cut\r\n"));
    assert_true(lt_receives(fd, ":1\r\n"));
    tell(rig, "cut");
    await_reset(fd);

    assert_int_equal(2, ask(rig, "INCR cut\r\n"));
}
