/*
 * One direction under delay, jitter and pace, on socket pairs, with the clock in the test's hand.
 */
#include <sys/socket.h>
#include <unistd.h>

#include "proxy/proxy_pipe.h"
#include "test/support/testing.h"

static const int64_t ms = 1000000;
static const int64_t start_ns = 1000000000000;

/* source[0] -> source[1] is read by the pipe, written to sink[0], read by us at sink[1]. */
struct rig {
    int source[2], sink[2];
    struct proxy_pipe pipe;
    struct random random;
};

SET_UP(struct rig, rig)
{
    int kind = SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC;

    rig->random = random_stream(1, 0);
    assert_int_equal(0, socketpair(AF_UNIX, kind, 0, rig->source));
    assert_int_equal(0, socketpair(AF_UNIX, kind, 0, rig->sink));
}

TEAR_DOWN(struct rig, rig)
{
    proxy_queue_clear(&rig->pipe.queue);
    for (int i = 0; i < 2; i++) {
        (void)close(rig->source[i]);
        (void)close(rig->sink[i]);
    }
}

static struct proxy_conditions at(struct rig *rig, const struct proxy_shape *shape, int64_t now_ns)
{
    return (struct proxy_conditions){.shape = shape, .random = &rig->random, .now_ns = now_ns};
}

/* What the pipe reads and writes now; the flow must be well. */
static size_t read_once(struct rig *rig, const struct proxy_shape *shape, int64_t now_ns)
{
    const struct proxy_conditions now = at(rig, shape, now_ns);
    size_t count = 0;

    assert_int_equal(PROXY_FLOW_OK, proxy_pipe_read(&rig->pipe, rig->source[1], &now, &count));
    return count;
}

static size_t write_once(struct rig *rig, const struct proxy_shape *shape, int64_t now_ns)
{
    const struct proxy_conditions now = at(rig, shape, now_ns);
    size_t count = 0;

    assert_int_equal(PROXY_FLOW_OK, proxy_pipe_write(&rig->pipe, rig->sink[0], &now, &count));
    return count;
}

static void feed(struct rig *rig, const struct proxy_shape *shape, const char *text, int64_t now_ns)
{
    assert_int_equal(strlen(text), send(rig->source[0], text, strlen(text), 0));
    assert_int_equal(strlen(text), read_once(rig, shape, now_ns));
}

/* What comes out at `now_ns`, compared with `wanted`. */
static void expect(struct rig *rig, const struct proxy_shape *shape, const char *wanted,
                   int64_t now_ns)
{
    char got[256] = "";
    size_t count = write_once(rig, shape, now_ns);

    (void)recv(rig->sink[1], got, sizeof got - 1, 0);
    assert_string_equal(wanted, got);
    assert_int_equal(strlen(wanted), count);
}

TEST(without_faults_bytes_pass_at_once, struct rig *rig)
{
    const struct proxy_shape shape = {.delay_ms = 0};

    feed(rig, &shape, "hello", start_ns);

    expect(rig, &shape, "hello", start_ns);
    assert_int_equal(INT64_MAX, proxy_pipe_next_ns(&rig->pipe, &shape));
}

TEST(delay_holds_bytes_and_the_end, struct rig *rig)
{
    const struct proxy_shape shape = {.delay_ms = 20};
    char rest = 0;

    feed(rig, &shape, "one", start_ns);
    feed(rig, &shape, "two", start_ns + 5 * ms);
    assert_int_equal(0, shutdown(rig->source[0], SHUT_WR));
    assert_int_equal(0, read_once(rig, &shape, start_ns + 8 * ms));
    assert_int_equal(start_ns + 20 * ms, proxy_pipe_next_ns(&rig->pipe, &shape));

    expect(rig, &shape, "", start_ns + 19 * ms);
    expect(rig, &shape, "one", start_ns + 20 * ms);
    expect(rig, &shape, "two", start_ns + 27 * ms);
    assert_false(rig->pipe.is_shut);
    assert_int_equal(start_ns + 28 * ms, proxy_pipe_next_ns(&rig->pipe, &shape));
    expect(rig, &shape, "", start_ns + 28 * ms);
    assert_true(rig->pipe.is_shut);
    assert_int_equal(0, recv(rig->sink[1], &rest, 1, 0));
}

TEST(jitter_stays_in_its_range_and_is_drawn_from_the_seed, struct rig *rig)
{
    const struct proxy_shape shape = {.delay_ms = 20, .jitter_ms = 5};
    int64_t first_ns = 0;
    bool has_varied = false;

    for (int64_t i = 0; i < 200; i++) {
        int64_t now_ns = start_ns + i * 100 * ms;
        feed(rig, &shape, "x", now_ns);
        int64_t delay_ns = proxy_pipe_next_ns(&rig->pipe, &shape) - now_ns;
        assert_in_range(delay_ns, 15 * ms, 25 * ms);
        if (i == 0) first_ns = delay_ns;
        if (delay_ns != first_ns) has_varied = true;
        expect(rig, &shape, "x", now_ns + 25 * ms);
    }
    assert_true(has_varied);

    rig->random = random_stream(1, 0);
    feed(rig, &shape, "x", start_ns);
    assert_int_equal(first_ns, proxy_pipe_next_ns(&rig->pipe, &shape) - start_ns);
}

TEST(trickle_lets_bytes_go_one_by_one, struct rig *rig)
{
    const struct proxy_shape shape = {.bytes_per_s = 100};

    feed(rig, &shape, "abcdefghij", start_ns);

    expect(rig, &shape, "a", start_ns);
    assert_int_equal(start_ns + 10 * ms, proxy_pipe_next_ns(&rig->pipe, &shape));
    expect(rig, &shape, "", start_ns + 9 * ms);
    expect(rig, &shape, "b", start_ns + 10 * ms);
    expect(rig, &shape, "cd", start_ns + 35 * ms); /* late: what was missed is made up for */
    expect(rig, &shape, "e", start_ns + 40 * ms);
}

TEST(a_long_rest_earns_no_burst, struct rig *rig)
{
    const struct proxy_shape shape = {.bytes_per_s = 100};

    feed(rig, &shape, "a", start_ns);
    expect(rig, &shape, "a", start_ns);

    feed(rig, &shape, "bcd", start_ns + 5000 * ms);

    expect(rig, &shape, "b", start_ns + 5000 * ms);
}

TEST(what_waits_goes_when_the_faults_end, struct rig *rig)
{
    const struct proxy_shape slow = {.delay_ms = 500, .bytes_per_s = 1};
    const struct proxy_shape none = {.delay_ms = 0};

    feed(rig, &slow, "hello", start_ns);
    expect(rig, &slow, "", start_ns + ms);

    proxy_pipe_reshape(&rig->pipe, &none, start_ns + 2 * ms);

    expect(rig, &none, "hello", start_ns + 2 * ms);
}

TEST(a_sink_that_takes_no_more_is_waited_for, struct rig *rig)
{
    const struct proxy_shape shape = {.delay_ms = 0};
    static char block[4096];

    memset(block, 'z', sizeof block);
    while (proxy_pipe_can_read(&rig->pipe)) {
        assert_int_equal(sizeof block, send(rig->source[0], block, sizeof block, 0));
        (void)read_once(rig, &shape, start_ns);
        (void)write_once(rig, &shape, start_ns);
    }

    assert_int_equal(PROXY_QUEUE_MAX, rig->pipe.queue.length);
    assert_true(rig->pipe.is_blocked);
    assert_int_equal(INT64_MAX, proxy_pipe_next_ns(&rig->pipe, &shape));
}

TEST(a_dead_sink_is_reported, struct rig *rig)
{
    const struct proxy_shape shape = {.delay_ms = 0};
    const struct proxy_conditions now = at(rig, &shape, start_ns);
    size_t count = 0;

    feed(rig, &shape, "hello", start_ns);
    assert_int_equal(0, shutdown(rig->sink[0], SHUT_RDWR));

    assert_int_equal(PROXY_FLOW_BROKEN, proxy_pipe_write(&rig->pipe, rig->sink[0], &now, &count));
}
