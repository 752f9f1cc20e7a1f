/*
 * A connection lent for several round trips: what lives on it works, and nothing of that is left
 * for the next borrower.
 */
#include "test/support/lk_support.h"

static struct lks_server *server;

#define COUNT_OF(array) (sizeof(array) / sizeof(array)[0])

enum { WORDS_MAX = 8, COMMANDS_MAX = 8 };

static lk_client *one_connection(void)
{
    return lks_client_with(server, (struct lk_client_options){.pool_size = 1, .command_ms = 2000});
}

/* Commands as words between blanks, sent in one round trip; the last reply is yours. */
static lk_status call(lk_session *session, lk_reply **last, const char *const *lines, size_t count)
{
    static char copies[COMMANDS_MAX][256];
    struct lk_bytes words[COMMANDS_MAX][WORDS_MAX] = {{{0}}};
    struct lk_command commands[COMMANDS_MAX] = {{0}};
    lk_reply *replies[COMMANDS_MAX] = {0};

    for (size_t i = 0; i < count; i++) {
        char *rest = copies[i];

        (void)snprintf(copies[i], sizeof copies[i], "%s", lines[i]);
        commands[i] = (struct lk_command){.args = words[i]};
        while (rest && commands[i].count < WORDS_MAX)
            words[i][commands[i].count++] = lk_bytes_of(strsep(&rest, " "));
    }
    lk_status status = lk_session_call(session, commands, count, 0, replies, NULL);
    for (size_t i = 0; i + 1 < count; i++)
        lk_reply_free(replies[i]);
    *last = status == LK_OK ? replies[count - 1] : NULL;
    return status;
}

#define CALL(session, last, ...)                                                                   \
    call((session), (last), (const char *const[]){__VA_ARGS__},                                    \
         COUNT_OF(((const char *const[]){__VA_ARGS__})))

static lk_session *open_or_fail(lk_client *client)
{
    struct lk_error err = {0};
    lk_session *session = lk_session_open(client, NULL, 1000, &err);

    if (!session) fail_msg("%s", err.text);
    return session;
}

/* A command of its own, on whatever connection the pool lends; its answer as text. */
static const char *ask(lk_client *client, const char *command, const char *key)
{
    static char text[64];
    struct lk_bytes words[] = {lk_bytes_of(command), lk_bytes_of(key), LK_BYTES("1")};
    lk_reply *reply = NULL;
    size_t count = strcmp(command, "SET") == 0 ? 3 : 2;

    assert_int_equal(lk_client_call(client, &(struct lk_command){words, count}, 1, 0, &reply, NULL),
                     LK_OK);
    const char *bytes = lk_reply_bytes(reply).data;
    (void)snprintf(text, sizeof text, "%s", bytes ? bytes : "nil");
    lk_reply_free(reply);
    return text;
}

/* By a session, or by a call of its own. */
static void leave(lk_client *client, bool by_session, const char *command)
{
    static char copy[64];
    struct lk_bytes words[WORDS_MAX];
    struct lk_command line = {.args = words};
    lk_session *session = by_session ? open_or_fail(client) : NULL;
    lk_reply *reply = NULL;
    char *rest = copy;

    (void)snprintf(copy, sizeof copy, "%s", command);
    while (rest)
        words[line.count++] = lk_bytes_of(strsep(&rest, " "));
    lk_status status = session ? lk_session_call(session, &line, 1, 200, &reply, NULL)
                               : lk_client_call(client, &line, 1, 200, &reply, NULL);
    assert_true(status == LK_OK || status == LK_UNKNOWN);
    lk_reply_free(reply);
    lk_session_close(session);
}

/* Each would make a lock of what is no lock: in another database, only queued, under another name. */
TEST(what_a_caller_leaves_on_a_connection_meets_no_lock)
{
    static const char *const traces[] = {"SELECT 1",         "MULTI",       "WATCH some",
                                         "HELLO 3",          "SUBSCRIBE c", "PSUBSCRIBE c*",
                                         "CLIENT REPLY OFF", "MONITOR",     "QUIT",
                                         "select 2",         "RESET",       "CLIENT TRACKING ON"};
    lk_client *other = lks_client(server);

    for (size_t i = 0; i < 2 * COUNT_OF(traces); i++) {
        lk_client *client = one_connection();
        const char *key = lks_key(server, "left");
        lk_lock *mine = lk_mutex_new(client, key, NULL);
        lk_lock *others = lk_mutex_new(other, key, NULL);

        leave(client, i % 2, traces[i / 2]);
        lk_status status = lks_acquire(mine, 0, 5000);
        if (status != LK_OK || lks_acquire(others, 0, 5000) != LK_BUSY)
            fail_msg("%s%s: %s", traces[i / 2], i % 2 ? " in a session" : "",
                     lk_status_name(status));
        assert_int_equal(lk_lock_release(mine, NULL), LK_OK);
        lk_lock_free(mine);
        lk_lock_free(others);
        lk_client_close(client);
    }
    lk_client_close(other);
}

TEST(a_transaction_is_refused_when_what_it_watches_has_changed)
{
    static const bool changes[] = {false, true};
    lk_client *client = lks_client(server);

    for (size_t i = 0; i < COUNT_OF(changes); i++) {
        const char *key = lks_key(server, changes[i] ? "watched-1" : "watched-0");
        char watch[128];
        char set[128];
        lk_session *session = open_or_fail(client);
        lk_reply *reply = NULL;

        (void)snprintf(watch, sizeof watch, "WATCH %s", key);
        (void)snprintf(set, sizeof set, "SET %s mine", key);
        assert_int_equal(CALL(session, &reply, watch), LK_OK);
        lk_reply_free(reply);
        if (changes[i]) (void)ask(client, "SET", key); /* on another connection */
        assert_int_equal(CALL(session, &reply, "MULTI", set, "EXEC"), LK_OK);
        assert_int_equal(lk_reply_type_of(reply), changes[i] ? LK_REPLY_NIL : LK_REPLY_ARRAY);
        lk_reply_free(reply);
        lk_session_close(session);
        assert_string_equal(ask(client, "GET", key), changes[i] ? "1" : "mine");
    }
    lk_client_close(client);
}

/* One connection, so that the next borrower gets the same. */
TEST(what_was_left_behind_is_ended)
{
    static const struct {
        const char *commands[3];
    } rows[] = {
        {{"MULTI"}},
        {{"WATCH left-behind"}},
        {{"WATCH left-behind", "MULTI", "SET left-behind x"}},
        {{"multi", "nonsense"}},
        {{"MULTI", "UNWATCH"}},
        {{"WATCH left-behind", "EXEC"}},
        {{"WATCH left-behind", "DISCARD"}},
    };
    lk_client *client = one_connection();

    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        lk_session *session = open_or_fail(client);
        lk_reply *reply = NULL;
        size_t count = 0;

        while (count < 3 && rows[i].commands[count])
            count++;
        assert_int_equal(call(session, &reply, rows[i].commands, count), LK_OK);
        lk_reply_free(reply);
        lk_session_close(session);

        /* Neither queued, nor refused because of a key that somebody else watched. */
        assert_string_equal(ask(client, "SET", "left-behind"), "OK");
        session = open_or_fail(client);
        assert_int_equal(CALL(session, &reply, "MULTI", "PING", "EXEC"), LK_OK);
        assert_int_equal(lk_reply_count(reply), 1);
        lk_reply_free(reply);
        lk_session_close(session);
    }
    lk_client_close(client);
}

static unsigned round_trips;

static void count_round_trips(const struct lk_event *event, void *arg)
{
    if (event->type == LK_EVENT_ROUND_TRIP) round_trips++;
}

TEST(closing_costs_a_round_trip_only_when_something_is_left)
{
    static const struct {
        const char *commands[3];
        unsigned expected;
    } rows[] = {
        {{"PING"}, 1},
        {{"MULTI", "PING", "EXEC"}, 1},
        {{"MULTI", "nonsense", "EXEC"}, 1}, /* EXECABORT */
        {{"WATCH k", "UNWATCH"}, 1},
        {{"MULTI", "DISCARD"}, 1},
        {{"WATCH k"}, 2},
        {{"MULTI"}, 2},
        {{NULL}, 0},
    };
    lk_client *client =
        lks_client_with(server, (struct lk_client_options){.on_event = count_round_trips});

    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        lk_session *session = open_or_fail(client);
        lk_reply *reply = NULL;
        size_t count = 0;

        round_trips = 0;
        while (count < 3 && rows[i].commands[count])
            count++;
        if (count > 0) {
            assert_int_equal(call(session, &reply, rows[i].commands, count), LK_OK);
            lk_reply_free(reply);
        }
        lk_session_close(session);
        if (round_trips != rows[i].expected) fail_msg("row %zu: %u", i, round_trips);
    }
    lk_client_close(client);
}

TEST(a_session_takes_its_connection_out_of_the_pool)
{
    lk_client *client = one_connection();
    lk_session *session = open_or_fail(client);
    struct lk_error err = {0};

    assert_null(lk_session_open(client, NULL, 30, &err));
    assert_int_equal(err.code, LK_EXHAUSTED);
    assert_non_null(strstr(err.text, "in use"));
    lk_session_close(session);
    session = open_or_fail(client);
    lk_session_close(session);
    lk_session_close(NULL);
    lk_client_close(client);
}

TEST(a_broken_connection_is_said_and_dropped)
{
    struct lks_server *own = lks_server_start(NULL);
    lk_client *client =
        lks_client_with(own, (struct lk_client_options){.pool_size = 1, .backoff_ms = 10});
    lk_session *session = open_or_fail(client);
    lk_reply *reply = NULL;

    assert_int_equal(CALL(session, &reply, "WATCH k"), LK_OK);
    lk_reply_free(reply);
    lks_server_kill(own);
    lk_status status = CALL(session, &reply, "MULTI", "SET k x", "EXEC");
    assert_true(status == LK_UNKNOWN || status == LK_UNREACHABLE);
    assert_int_equal(CALL(session, &reply, "PING"), LK_UNREACHABLE);
    lk_session_close(session);
    lks_server_restart(own);
    LKS_EVENTUALLY((session = lk_session_open(client, NULL, 100, NULL)), 5000);
    assert_int_equal(CALL(session, &reply, "EXISTS k"), LK_OK);
    assert_int_equal(lk_reply_integer(reply, -1), 0); /* nothing came late */
    lk_reply_free(reply);
    lk_session_close(session);
    lk_client_close(client);
    lks_server_stop(own);
}

/* Its late answers would be taken for those of the next call. */
TEST(a_connection_that_owes_an_answer_is_not_used_again)
{
    struct lks_server *own = lks_server_start(NULL);
    lk_client *client = lks_client_with(own, (struct lk_client_options){.pool_size = 1});
    lk_session *session = open_or_fail(client);
    const struct lk_bytes words[] = {LK_BYTES("ECHO"), LK_BYTES("late")};
    lk_reply *reply = NULL;

    lks_server_pause(own);
    assert_int_equal(lk_session_call(session, &(struct lk_command){words, 2}, 1, 50, &reply, NULL),
                     LK_UNKNOWN);
    lks_server_resume(own);
    assert_int_equal(CALL(session, &reply, "PING"), LK_UNREACHABLE);
    lk_session_close(session);
    session = open_or_fail(client);
    assert_int_equal(CALL(session, &reply, "ECHO new"), LK_OK);
    assert_string_equal(lk_reply_bytes(reply).data, "new");
    lk_reply_free(reply);
    lk_session_close(session);
    lk_client_close(client);
    lks_server_stop(own);
}

BEFORE_ALL()
{
    server = lks_server_any();
    assert_true(server);
}

AFTER_ALL()
{
    lks_server_stop(server);
}
