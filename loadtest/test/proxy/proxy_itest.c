/*
 * The fault proxy between a client and a server that are both the test's own: every verb does what
 * it says, to the byte. Most of it are plays: what is done at the two ends of one connection, and
 * seen there.
 */
#include <errno.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "test/support/lt_net.h"
#include "test/support/lt_proxy.h"
#include "test/support/testing.h"

enum {
    SOON_MS = 5000, /* it has come by then, or it never will */
    SLACK_MS =
        2500, /* a machine may stand still so long; how late exactly is proxy_pipe_test.c's */
    STALL_MAX = 64 * 1024 * 1024,
    BLOCK = 64 * 1024,
    STEPS_MAX = 16,
};

struct rig {
    struct lt_sandbox sandbox;
    struct lt_proxy proxy;
    int listener; /* the server behind link1 */
    int client, server;
};

/* A connection through the proxy, both ends in our hands. */
static void open_pair(struct rig *rig)
{
    lt_hang_up(&rig->client);
    lt_hang_up(&rig->server);
    rig->client = lt_connect(rig->proxy.ports[0]);
    assert_true(rig->client >= 0);
    rig->server = lt_accept(rig->listener);
    assert_true(rig->server >= 0);
}

SET_UP(struct rig, rig)
{
    char to[32];
    int port = 0;

    *rig = (struct rig){.listener = lt_listen(&port), .client = -1, .server = -1};
    (void)snprintf(to, sizeof to, "127.0.0.1:%d", port);
    const char *const list[] = {to, NULL};
    assert_true(rig->listener >= 0 && lt_sandbox_open(&rig->sandbox));
    assert_true(lt_proxy_start(&rig->sandbox, list, NULL, &rig->proxy));
    open_pair(rig);
}

TEAR_DOWN(struct rig, rig)
{
    lt_hang_up(&rig->client);
    lt_hang_up(&rig->server);
    lt_hang_up(&rig->listener);
    bool is_clean = lt_proxy_stop(&rig->proxy);
    lt_sandbox_close(&rig->sandbox);
    assert_true(is_clean);
}

static void tell(const struct rig *rig, const char *line)
{
    assert_true(lt_proxy_command(&rig->proxy, line));
}

/* From sending at one end to receiving at the other, ms. */
static int64_t time_of_passage(int from, int to, const char *text)
{
    int64_t sent_ms = clock_ms();

    assert_true(lt_send(from, text));
    assert_true(lt_receives(to, text));
    return clock_ms() - sent_ms;
}

/* ---- plays ------------------------------------------------------------------------------------ */

struct counted {
    const struct rig *rig;
    char name[32];
    long number;
};

static bool is_counted(void *arg)
{
    const struct counted *counted = arg;
    return lt_proxy_count(&counted->rig->proxy, counted->name) == counted->number;
}

/* "NAME NUMBER" of link1's status, soon. */
static bool counts(const struct rig *rig, const char *text)
{
    struct counted counted = {.rig = rig, .number = strtol(strchr(text, ' '), NULL, 10)};

    (void)snprintf(counted.name, sizeof counted.name, "%.*s", (int)strcspn(text, " "), text);
    return lt_eventually(is_counted, &counted, SOON_MS);
}

/* A line of the history has all of these words. */
static bool is_noted(const struct rig *rig, const char *text)
{
    const char *words[STEPS_MAX + 1] = {NULL};
    char copy[256];
    char *rest = copy;

    (void)snprintf(copy, sizeof copy, "%s", text);
    for (size_t i = 0; rest && i < STEPS_MAX; i++)
        words[i] = strsep(&rest, " ");
    return lt_proxy_has_logged(&rig->proxy, words);
}

/* "MS TEXT": passes, after so long. */
static bool passes(int from, int to, const char *text)
{
    char *behind = NULL;
    int64_t due_ms = strtol(text, &behind, 10);
    int64_t took_ms = time_of_passage(from, to, behind + 1);

    return took_ms >= due_ms && took_ms <= due_ms + SLACK_MS;
}

/* What happens at one end: how it ends, or what is done to it. */
static bool is_at_end(int *fd, const char *word)
{
    static const struct {
        const char *word;
        lt_ending ending;
        int limit_ms;
    } endings[] = {
        {"end", LT_END, SOON_MS}, {"reset", LT_RESET, SOON_MS}, {"silent", LT_SILENCE, 0}};
    const struct linger none = {.l_onoff = 1, .l_linger = 0};

    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++)
        if (strcmp(word, endings[i].word) == 0)
            return lt_next(*fd, endings[i].limit_ms) == endings[i].ending;
    if (strcmp(word, "shut") == 0) return shutdown(*fd, SHUT_WR) == 0;
    if (strcmp(word, "kill") == 0) (void)setsockopt(*fd, SOL_SOCKET, SO_LINGER, &none, sizeof none);
    lt_hang_up(fd);
    return strcmp(word, "kill") == 0 || strcmp(word, "close") == 0;
}

/* What was sent before has been read, and gone on if it may: the proxy has one thread, and has answered. */
static bool has_settled(const struct rig *rig)
{
    bool is_answered = true;

    for (int i = 0; i < 2; i++) /* its loop may see the first together with what was sent */
        is_answered &= lt_proxy_command(&rig->proxy, "status");
    return is_answered;
}

static bool is_refused(const struct rig *rig)
{
    return lt_connect(rig->proxy.ports[0]) == -1 && errno == ECONNREFUSED;
}

/* ! VERB: the proxy is told. = NAME NUMBER: it counts. ? WORDS: it has noted. -: it refuses. +: a new
 * pair. c is the client's end, s the server's: "c> TEXT" sends, "c< TEXT" gets, "c>s MS TEXT" both. */
static bool act(struct rig *rig, const char *step)
{
    bool is_client = step[0] == 'c';
    int *near = is_client ? &rig->client : &rig->server;
    int *far = is_client ? &rig->server : &rig->client;

    switch (step[0]) {
    case '!':
        return lt_proxy_command(&rig->proxy, step + 2);
    case '=':
        return counts(rig, step + 2);
    case '?':
        return is_noted(rig, step + 2);
    case '-':
        return is_refused(rig);
    case '+':
        open_pair(rig);
        return true;
    }
    if (strcmp(step + 1, " silent") == 0 && !has_settled(rig)) return false;
    if (step[1] == '>' && step[2] != ' ') return passes(*near, *far, step + 4);
    if (step[1] == '>') return lt_send(*near, step + 3);
    return step[1] == '<' ? lt_receives(*near, step + 3) : is_at_end(near, step + 2);
}

#define PLAY(name, ...)                                                                            \
    TEST(name, struct rig *rig)                                                                    \
    {                                                                                              \
        static const char *const steps[] = {__VA_ARGS__};                                          \
                                                                                                   \
        for (size_t i = 0; i < sizeof steps / sizeof *steps; i++)                                  \
            if (!act(rig, steps[i])) fail_msg("step %zu: %s", i + 1, steps[i]);                    \
    }                                                                                              \
    _Static_assert(true, "")

#define TEXT_50 "tttttttttttttttttttttttttttttttttttttttttttttttttt"

PLAY(without_faults_bytes_and_ends_pass, "c>s 0 question", "s>c 0 answer", "c shut", "s end",
     "s>c 0 still talking", "s shut", "c end", "= c2s_bytes 8", "= s2c_bytes 19",
     "= connections 0");

PLAY(delay_takes_its_time_each_way, "! delay 60", "c>s 60 question", "s>c 60 answer",
     "! delay 60000", "c> held", "s silent", "! pass", "s< held");

PLAY(trickle_keeps_its_rate, "! trickle 1000",
     "c>s 450 " TEXT_50 TEXT_50 TEXT_50 TEXT_50 TEXT_50 TEXT_50 TEXT_50 TEXT_50 TEXT_50 TEXT_50);

PLAY(a_request_given_up_in_a_stall_still_arrives, "! stall", "c> late", "c close", "s silent",
     "! pass", "s< late", "s end");

PLAY(oneway_holds_the_other_way, "! oneway c2s", "c> up", "s> down", "s< up", "c silent",
     "! oneway s2c", "c< down", "c> again", "s silent", "! pass", "s< again");

PLAY(a_server_that_dies_behind_a_held_way_is_not_heard_of, "! oneway c2s", "s kill", "c> hello?",
     "c silent", "! pass", "c reset");

PLAY(cut_resets_both_ends_once, "c>s 0 fine so far", "! cut", "c reset", "s reset", "= cuts 1", "+",
     "c>s 0 fine again");

/* Some other verb does not heal it. */
PLAY(refuse_turns_newcomers_away, "! refuse", "-", "c>s 0 old ones stay", "! delay 0", "-",
     "! pass", "+", "c>s 0 welcome");

/* Not before the answer. */
PLAY(an_eaten_reply_leaves_a_reset_and_a_request_carried_out, "! eat-reply 1", "c> do it",
     "s< do it", "c silent", "= eat_left 1", "= replies_eaten 0", "s> done", "c reset", "s end",
     "= eat_left 0", "= replies_eaten 1", "? \"e\":\"effect\" \"f\":\"eat-reply\" \"bytes\":4");

PLAY(an_early_answer_does_not_stop_the_rest_of_the_request, "! eat-reply 1", "c> one", "s< one",
     "! delay 60000", "c> two", "s> done", "c reset", "s< two", "s end");

PLAY(a_request_already_under_way_keeps_its_reply, "c>s 0 first", "! eat-reply 1",
     "c>s 0 more of it", "s>c 0 reply", "c>s 0 second", "s> reply", "c reset");

PLAY(a_request_that_is_never_answered_counts_nothing, "! eat-reply 1", "c>s 0 do it", "c close",
     "s close", "= connections 0", "= eat_left 1", "+", "c>s 0 do it", "s> done", "c reset",
     "= replies_eaten 1");

PLAY(pass_spares_the_reply_that_was_to_be_eaten, "! eat-reply 5", "c>s 0 do it", "! pass",
     "s>c 0 done", "= eat_left 0");

/* ---- what takes more than steps ---------------------------------------------------------------- */

TEST(jitter_varies_the_delay_within_its_range, struct rig *rig)
{
    int64_t least_ms = INT64_MAX;
    int64_t most_ms = 0;

    tell(rig, "delay 20 15");
    for (int i = 0; i < 40; i++) {
        int64_t took_ms = time_of_passage(rig->client, rig->server, "x");
        assert_in_range(took_ms, 5, 35 + SLACK_MS);
        if (took_ms < least_ms) least_ms = took_ms;
        if (took_ms > most_ms) most_ms = took_ms;
    }
    assert_true(most_ms - least_ms >= 8);
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

TEST(stall_closes_the_window_and_loses_nothing, struct rig *rig)
{
    tell(rig, "stall");
    size_t total = send_until_blocked(rig->client);
    assert_true(lt_send(rig->server, "answer"));
    assert_in_range(total, 1, STALL_MAX - 1);
    assert_true(act(rig, "s silent") && act(rig, "c silent"));

    tell(rig, "pass");

    receive_stream(rig->server, total);
    assert_true(lt_receives(rig->client, "answer"));
}

/* A stream with a hole cannot go on; the one that lost nothing does. */
TEST(blackhole_swallows_in_silence, struct rig *rig)
{
    struct rig idle = *rig;

    rig->client = rig->server = -1;
    open_pair(rig);
    tell(rig, "blackhole");
    assert_true(lt_send(rig->client, "lost"));
    assert_true(lt_send(rig->server, "lost too"));
    int newcomer = lt_connect(rig->proxy.ports[0]);
    assert_true(newcomer >= 0);
    assert_true(lt_send(newcomer, "anybody?"));
    assert_true(has_settled(rig));
    assert_false(lt_comes(rig->listener, 0));
    assert_true(act(rig, "s silent") && act(rig, "c silent") && is_at_end(&newcomer, "silent"));

    tell(rig, "pass");

    assert_true(act(rig, "c reset") && act(rig, "s reset") && is_at_end(&newcomer, "reset"));
    assert_true(act(&idle, "c>s 0 here I am"));
    lt_hang_up(&newcomer);
    lt_hang_up(&idle.client);
    lt_hang_up(&idle.server);
}

TEST(a_dead_server_means_a_reset, struct rig *rig)
{
    lt_hang_up(&rig->listener);
    lt_hang_up(&rig->client);
    rig->client = lt_connect(rig->proxy.ports[0]);
    assert_true(rig->client >= 0);
    assert_true(act(rig, "c reset") && act(rig, "= connect_failed 1"));
}

TEST(verbs_are_answered_and_noted, struct rig *rig)
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
    char answer[LT_ANSWER_MAX];

    for (size_t i = 0; i < sizeof asked / sizeof *asked; i++) {
        assert_true(lt_proxy_ask(&rig->proxy, asked[i].line, answer));
        assert_string_equal(asked[i].answer, answer);
    }
    assert_true(is_noted(rig, "\"p\":\"proxy\" \"e\":\"fault\" \"f\":\"cut\" \"target\":\"link1\" "
                              "\"by\":\"control\""));
    tell(rig, "delay 20 5");
    const char *const delay[] = {"\"f\":\"delay\"", "\"words\":\"delay 20 5\"", NULL};
    assert_true(lt_proxy_has_logged(&rig->proxy, delay));
    assert_true(is_noted(rig, "\"e\":\"start\" \"seed\":1"));
}
