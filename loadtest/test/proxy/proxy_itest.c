/*
 * The fault proxy between a client and a server that are both the test's own: every verb does what
 * it says, to the byte.
 */
#include <errno.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/moment.h"
#include "test/support/lt_net.h"
#include "test/support/lt_proxy.h"
#include "test/support/testing.h"

enum {
    QUIET_MS = 100, /* nothing came in this time: nothing comes */
    SOON_MS = 5000, /* it has come by then, or it never will */
    SLACK_MS = 400, /* a busy machine may be that late, never early */
    STALL_MAX = 64 * 1024 * 1024,
    BLOCK = 64 * 1024,
};

struct rig {
    struct lt_place place;
    struct lt_proxy proxy;
    int listener; /* the server behind link1 */
    int client, server;
};

/* A connection through the proxy, both ends in our hands. */
static void open_pair(struct rig *rig)
{
    rig->client = lt_connect(rig->proxy.ports[0]);
    assert_true(rig->client >= 0);
    rig->server = lt_accept(rig->listener);
    assert_true(rig->server >= 0);
}

static void close_pair(struct rig *rig)
{
    if (rig->client >= 0) (void)close(rig->client);
    if (rig->server >= 0) (void)close(rig->server);
    rig->client = rig->server = -1;
}

static int open_rig(void **state)
{
    static struct rig rig;
    char to[32];
    int port = 0;

    rig = (struct rig){.listener = lt_listen(&port), .client = -1, .server = -1};
    *state = &rig;
    (void)snprintf(to, sizeof to, "127.0.0.1:%d", port);
    const char *const list[] = {to, NULL};
    return rig.listener >= 0 && lt_place_open(&rig.place) &&
                   lt_proxy_start(&rig.place, list, NULL, &rig.proxy)
               ? 0
               : -1;
}

static int close_rig(void **state)
{
    struct rig *rig = *state;

    close_pair(rig);
    if (rig->listener >= 0) (void)close(rig->listener);
    bool is_clean = lt_proxy_stop(&rig->proxy);
    lt_place_close(&rig->place);
    return is_clean ? 0 : -1;
}

static void tell(const struct rig *rig, const char *line)
{
    assert_true(lt_proxy_tell(&rig->proxy, line));
}

/* From sending at one end to receiving at the other, ms. */
static int64_t time_of_passage(int from, int to, const char *text)
{
    int64_t sent_ms = moment_ms();

    assert_true(lt_send(from, text));
    assert_true(lt_receives(to, text));
    return moment_ms() - sent_ms;
}

TEST(without_faults_bytes_and_ends_pass)
{
    struct rig *rig = *state;

    open_pair(rig);
    assert_in_range(time_of_passage(rig->client, rig->server, "question"), 0, SLACK_MS);
    assert_in_range(time_of_passage(rig->server, rig->client, "answer"), 0, SLACK_MS);

    assert_int_equal(0, shutdown(rig->client, SHUT_WR));
    assert_int_equal(LT_END, lt_next(rig->server, SOON_MS));
    assert_true(lt_send(rig->server, "still talking"));
    assert_true(lt_receives(rig->client, "still talking"));
    assert_int_equal(0, shutdown(rig->server, SHUT_WR));
    assert_int_equal(LT_END, lt_next(rig->client, SOON_MS));
    assert_int_equal(8, lt_proxy_count(&rig->proxy, "c2s_bytes"));
    assert_int_equal(19, lt_proxy_count(&rig->proxy, "s2c_bytes"));
    assert_int_equal(0, lt_proxy_count(&rig->proxy, "connections"));
}

TEST(delay_takes_its_time_each_way)
{
    struct rig *rig = *state;

    open_pair(rig);
    tell(rig, "delay 60");
    assert_in_range(time_of_passage(rig->client, rig->server, "question"), 60, 60 + SLACK_MS);
    assert_in_range(time_of_passage(rig->server, rig->client, "answer"), 60, 60 + SLACK_MS);

    tell(rig, "delay 60000");
    assert_true(lt_send(rig->client, "held"));
    assert_int_equal(LT_SILENCE, lt_next(rig->server, QUIET_MS));
    tell(rig, "pass");
    assert_true(lt_receives(rig->server, "held"));
}

TEST(jitter_varies_the_delay_within_its_range)
{
    struct rig *rig = *state;
    int64_t least_ms = INT64_MAX;
    int64_t most_ms = 0;

    open_pair(rig);
    tell(rig, "delay 20 15");
    for (int i = 0; i < 40; i++) {
        int64_t took_ms = time_of_passage(rig->client, rig->server, "x");
        assert_in_range(took_ms, 5, 35 + SLACK_MS);
        if (took_ms < least_ms) least_ms = took_ms;
        if (took_ms > most_ms) most_ms = took_ms;
    }
    assert_true(most_ms - least_ms >= 8);
}

TEST(trickle_keeps_its_rate)
{
    struct rig *rig = *state;
    char text[501];

    memset(text, 't', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    open_pair(rig);
    tell(rig, "trickle 1000");
    assert_in_range(time_of_passage(rig->client, rig->server, text), 450, 500 + SLACK_MS);
}

/* Send the stream until nobody takes more; how much went. */
static size_t send_until_blocked(int fd)
{
    static unsigned char block[BLOCK];
    size_t total = 0;

    while (total < STALL_MAX) {
        for (size_t i = 0; i < sizeof block; i++)
            block[i] = lt_byte(1, total + i);
        ssize_t count = send(fd, block, sizeof block, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (count < 0) break;
        total += (size_t)count;
    }
    return total;
}

static void receive_stream(int fd, size_t total)
{
    static unsigned char block[BLOCK];

    for (size_t received = 0; received < total;) {
        size_t wanted = total - received < sizeof block ? total - received : sizeof block;
        ssize_t count = recv(fd, block, wanted, 0);
        assert_true(count > 0);
        for (size_t i = 0; i < (size_t)count; i++)
            if (block[i] != lt_byte(1, received + i)) fail_msg("byte %zu differs", received + i);
        received += (size_t)count;
    }
}

TEST(stall_closes_the_window_and_loses_nothing)
{
    struct rig *rig = *state;

    open_pair(rig);
    tell(rig, "stall");
    size_t total = send_until_blocked(rig->client);
    assert_true(lt_send(rig->server, "answer"));
    assert_in_range(total, 1, STALL_MAX - 1);
    assert_int_equal(LT_SILENCE, lt_next(rig->server, QUIET_MS));
    assert_int_equal(LT_SILENCE, lt_next(rig->client, 0));

    tell(rig, "pass");

    receive_stream(rig->server, total);
    assert_true(lt_receives(rig->client, "answer"));
}

TEST(a_request_given_up_in_a_stall_still_arrives)
{
    struct rig *rig = *state;

    open_pair(rig);
    tell(rig, "stall");
    assert_true(lt_send(rig->client, "late"));
    (void)close(rig->client);
    rig->client = -1;
    assert_int_equal(LT_SILENCE, lt_next(rig->server, QUIET_MS));

    tell(rig, "pass");

    assert_true(lt_receives(rig->server, "late"));
    assert_int_equal(LT_END, lt_next(rig->server, SOON_MS));
}

TEST(oneway_holds_the_other_way)
{
    struct rig *rig = *state;

    open_pair(rig);
    tell(rig, "oneway c2s");
    assert_true(lt_send(rig->client, "up"));
    assert_true(lt_send(rig->server, "down"));
    assert_true(lt_receives(rig->server, "up"));
    assert_int_equal(LT_SILENCE, lt_next(rig->client, QUIET_MS));

    tell(rig, "oneway s2c");
    assert_true(lt_receives(rig->client, "down"));
    assert_true(lt_send(rig->client, "again"));
    assert_int_equal(LT_SILENCE, lt_next(rig->server, QUIET_MS));

    tell(rig, "pass");
    assert_true(lt_receives(rig->server, "again"));
}

TEST(a_server_that_dies_behind_a_held_way_is_not_heard_of)
{
    struct linger none = {.l_onoff = 1, .l_linger = 0};
    struct rig *rig = *state;

    open_pair(rig);
    tell(rig, "oneway c2s");
    assert_int_equal(0, setsockopt(rig->server, SOL_SOCKET, SO_LINGER, &none, sizeof none));
    (void)close(rig->server); /* a reset */
    rig->server = -1;
    assert_true(lt_send(rig->client, "hello?"));
    assert_int_equal(LT_SILENCE, lt_next(rig->client, QUIET_MS));

    tell(rig, "pass");
    assert_int_equal(LT_RESET, lt_next(rig->client, SOON_MS));
}

TEST(blackhole_swallows_in_silence)
{
    struct rig *rig = *state;
    struct rig idle = *rig;

    open_pair(&idle);
    open_pair(rig);
    tell(rig, "blackhole");
    assert_true(lt_send(rig->client, "lost"));
    assert_true(lt_send(rig->server, "lost too"));
    int newcomer = lt_connect(rig->proxy.ports[0]);
    assert_true(newcomer >= 0);
    assert_true(lt_send(newcomer, "anybody?"));
    assert_false(lt_comes(rig->listener, QUIET_MS));
    assert_int_equal(LT_SILENCE, lt_next(rig->server, 0));
    assert_int_equal(LT_SILENCE, lt_next(rig->client, 0));
    assert_int_equal(LT_SILENCE, lt_next(newcomer, 0));

    tell(rig, "pass");

    /* A stream with a hole cannot go on; the one that lost nothing does. */
    assert_int_equal(LT_RESET, lt_next(rig->client, SOON_MS));
    assert_int_equal(LT_RESET, lt_next(rig->server, SOON_MS));
    assert_int_equal(LT_RESET, lt_next(newcomer, SOON_MS));
    (void)time_of_passage(idle.client, idle.server, "here I am");
    (void)close(newcomer);
    close_pair(&idle);
}

TEST(cut_resets_both_ends_once)
{
    struct rig *rig = *state;

    open_pair(rig);
    (void)time_of_passage(rig->client, rig->server, "fine so far");

    tell(rig, "cut");

    assert_int_equal(LT_RESET, lt_next(rig->client, SOON_MS));
    assert_int_equal(LT_RESET, lt_next(rig->server, SOON_MS));
    assert_int_equal(1, lt_proxy_count(&rig->proxy, "cuts"));
    close_pair(rig);
    open_pair(rig);
    (void)time_of_passage(rig->client, rig->server, "fine again");
}

TEST(refuse_turns_newcomers_away)
{
    struct rig *rig = *state;

    open_pair(rig);
    tell(rig, "refuse");
    assert_int_equal(-1, lt_connect(rig->proxy.ports[0]));
    assert_int_equal(ECONNREFUSED, errno);
    (void)time_of_passage(rig->client, rig->server, "old ones stay");
    tell(rig, "delay 0"); /* some other verb does not heal it */
    assert_int_equal(-1, lt_connect(rig->proxy.ports[0]));

    tell(rig, "pass");

    close_pair(rig);
    open_pair(rig);
    (void)time_of_passage(rig->client, rig->server, "welcome");
}

TEST(a_dead_server_means_a_reset)
{
    struct rig *rig = *state;

    (void)close(rig->listener);
    rig->listener = -1;
    int client = lt_connect(rig->proxy.ports[0]);
    assert_true(client >= 0);
    assert_int_equal(LT_RESET, lt_next(client, SOON_MS));
    assert_int_equal(1, lt_proxy_count(&rig->proxy, "connect_failed"));
    (void)close(client);
}

TEST(an_eaten_reply_leaves_a_reset_and_a_request_carried_out)
{
    struct rig *rig = *state;

    open_pair(rig);
    tell(rig, "eat-reply 1");
    assert_true(lt_send(rig->client, "do it"));
    assert_true(lt_receives(rig->server, "do it"));
    assert_int_equal(LT_SILENCE, lt_next(rig->client, QUIET_MS)); /* not before the answer */
    assert_int_equal(1, lt_proxy_count(&rig->proxy, "eat_left"));
    assert_int_equal(0, lt_proxy_count(&rig->proxy, "replies_eaten"));

    assert_true(lt_send(rig->server, "done"));

    assert_int_equal(LT_RESET, lt_next(rig->client, SOON_MS));
    assert_int_equal(LT_END, lt_next(rig->server, SOON_MS));
    assert_int_equal(0, lt_proxy_count(&rig->proxy, "eat_left"));
    assert_int_equal(1, lt_proxy_count(&rig->proxy, "replies_eaten"));
    const char *const words[] = {"\"e\":\"effect\"", "\"f\":\"eat-reply\"", "\"bytes\":4", NULL};
    assert_true(lt_proxy_has_noted(&rig->proxy, words));
}

TEST(an_early_answer_does_not_stop_the_rest_of_the_request)
{
    struct rig *rig = *state;

    open_pair(rig);
    tell(rig, "eat-reply 1");
    assert_true(lt_send(rig->client, "one"));
    assert_true(lt_receives(rig->server, "one"));
    tell(rig, "delay 60000");
    assert_true(lt_send(rig->client, "two"));
    assert_true(lt_send(rig->server, "done"));

    assert_int_equal(LT_RESET, lt_next(rig->client, SOON_MS));
    assert_true(lt_receives(rig->server, "two"));
    assert_int_equal(LT_END, lt_next(rig->server, SOON_MS));
}

TEST(a_request_already_under_way_keeps_its_reply)
{
    struct rig *rig = *state;

    open_pair(rig);
    assert_true(lt_send(rig->client, "first"));
    assert_true(lt_receives(rig->server, "first"));
    tell(rig, "eat-reply 1");
    assert_true(lt_send(rig->client, "more of it"));
    assert_true(lt_receives(rig->server, "more of it"));
    assert_true(lt_send(rig->server, "reply"));
    assert_true(lt_receives(rig->client, "reply"));

    assert_true(lt_send(rig->client, "second"));
    assert_true(lt_receives(rig->server, "second"));
    assert_true(lt_send(rig->server, "reply"));
    assert_int_equal(LT_RESET, lt_next(rig->client, SOON_MS));
}

static bool one_mark_is_left(void *arg)
{
    const struct rig *rig = arg;
    return lt_proxy_count(&rig->proxy, "connections") == 0 &&
           lt_proxy_count(&rig->proxy, "eat_left") == 1;
}

TEST(a_request_that_is_never_answered_counts_nothing)
{
    struct rig *rig = *state;

    open_pair(rig);
    tell(rig, "eat-reply 1");
    assert_true(lt_send(rig->client, "do it"));
    assert_true(lt_receives(rig->server, "do it"));
    close_pair(rig);
    assert_true(lt_eventually(one_mark_is_left, rig, SOON_MS));

    open_pair(rig);
    assert_true(lt_send(rig->client, "do it"));
    assert_true(lt_receives(rig->server, "do it"));
    assert_true(lt_send(rig->server, "done"));
    assert_int_equal(LT_RESET, lt_next(rig->client, SOON_MS));
    assert_int_equal(1, lt_proxy_count(&rig->proxy, "replies_eaten"));
}

TEST(pass_spares_the_reply_that_was_to_be_eaten)
{
    struct rig *rig = *state;

    open_pair(rig);
    tell(rig, "eat-reply 5");
    assert_true(lt_send(rig->client, "do it"));
    assert_true(lt_receives(rig->server, "do it"));
    tell(rig, "pass");
    assert_true(lt_send(rig->server, "done"));
    assert_true(lt_receives(rig->client, "done"));
    assert_int_equal(0, lt_proxy_count(&rig->proxy, "eat_left"));
}

TEST(verbs_are_answered_and_noted)
{
    static const struct {
        const char *line, *answer;
    } asked[] = {
        {"link1:cut", "ok"},
        {"link9:cut", "error: no link \"link9\""},
        {"link9:status", "error: no link \"link9\""},
        {"delay soon", "error: delay: \"soon\" is not a number from 0 to 3600000"},
        {"", "error: no verb"},
    };
    struct rig *rig = *state;
    char answer[LT_ANSWER_MAX];

    for (size_t i = 0; i < sizeof asked / sizeof *asked; i++) {
        assert_true(lt_proxy_ask(&rig->proxy, asked[i].line, answer));
        assert_string_equal(asked[i].answer, answer);
    }
    tell(rig, "delay 20 5");
    const char *const cut[] = {"\"p\":\"proxy\"",      "\"e\":\"fault\"",    "\"f\":\"cut\"",
                               "\"target\":\"link1\"", "\"by\":\"control\"", NULL};
    const char *const delay[] = {"\"f\":\"delay\"", "\"words\":\"delay 20 5\"", NULL};
    const char *const start[] = {"\"e\":\"start\"", "\"seed\":1", NULL};
    assert_true(lt_proxy_has_noted(&rig->proxy, cut));
    assert_true(lt_proxy_has_noted(&rig->proxy, delay));
    assert_true(lt_proxy_has_noted(&rig->proxy, start));
}

FIXTURE(open_rig, close_rig);
