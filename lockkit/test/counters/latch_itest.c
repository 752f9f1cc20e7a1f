/*
 * The latch on a real server: what lies on the wire, who is let through and when. The fallback
 * timer is ten seconds here, so whatever comes sooner came by a message or a break. Numbers in
 * brackets are those of the checklist of cases for clients that share keys with Redisson.
 */
#include <pthread.h>
#include <stdatomic.h>

#include "test/support/lk_support.h"

enum { POLL_MS = 10000, SOON_MS = 2500, CROWD = 1000, WAITERS = 6, KILLS = 10 };

LKS_SERVER(lks_server_start(NULL));

struct fixture {
    lk_client *client, *other_client; /* as two processes would have */
    lk_latch *mine, *other;
    const char *key;
    char channel[160];
};

static lk_latch *new_latch(lk_client *client, const char *key)
{
    struct lk_error err = {0};
    lk_latch *latch = lk_latch_new(client, key, &err);

    if (!latch) fail_msg("%s", err.text);
    return latch;
}

SET_UP(struct fixture, f)
{
    struct lk_client_options options = {.poll_ms = POLL_MS};

    f->key = lks_new_key(server, "latch");
    (void)snprintf(f->channel, sizeof f->channel, "redisson_countdownlatch__channel__{%s}", f->key);
    f->client = lks_client_with(server, options);
    f->other_client = lks_client_with(server, options);
    f->mine = new_latch(f->client, f->key);
    f->other = new_latch(f->other_client, f->key);
}

TEAR_DOWN(struct fixture, f)
{
    lk_latch_free(f->mine);
    lk_latch_free(f->other);
    lk_client_close(f->client);
    lk_client_close(f->other_client);
    LKS_DO(server, "DEL", f->key);
}

static void set(struct fixture *f, int64_t count)
{
    assert_int_equal(lk_latch_try_set(f->mine, count, NULL), LK_OK);
}

static void count_down(lk_latch *latch)
{
    assert_int_equal(lk_latch_count_down(latch, NULL), LK_OK);
}

static void assert_count(struct fixture *f, int64_t count)
{
    int64_t number = -4711;

    assert_int_equal(lk_latch_count(f->other, &number, NULL), LK_OK);
    assert_int_equal(number, count);
}

static size_t messages(struct fixture *f, const char *text, const char *payload)
{
    char word[256];

    (void)snprintf(word, sizeof word, "lua] \"PUBLISH\" \"%s\" \"%s\"", f->channel, payload);
    return lks_count(text, word);
}

/* ---- on the wire ----------------------------------------------------------------------------- */

TEST(it_is_a_number_that_vanishes_at_0) /* [62] */
{
    struct fixture *f = *state;
    struct lks_monitor *monitor = lks_monitor_open(server);

    set(f, 3);
    assert_string_equal(LKS_TEXT(server, "GET", f->key), "3");
    assert_int_equal(LKS_INTEGER(server, "PTTL", f->key), -1);
    assert_int_equal(lk_latch_try_set(f->other, 5, NULL), LK_BUSY);
    assert_count(f, 3);
    count_down(f->mine);
    count_down(f->other);
    assert_string_equal(LKS_TEXT(server, "GET", f->key), "1");
    assert_int_equal(messages(f, lks_monitor_text(monitor, server), "0"), 0);
    count_down(f->mine);

    assert_int_equal(LKS_INTEGER(server, "EXISTS", f->key), 0);
    assert_count(f, 0);
    const char *text = lks_monitor_text(monitor, server);
    assert_int_equal(messages(f, text, "1"), 1); /* from setting it */
    assert_int_equal(messages(f, text, "0"), 1);
    assert_int_equal(lks_count(text, "lua] \"PUBLISH\""), 2);
    lks_monitor_close(monitor);
    set(f, 1); /* and may be set again */
    assert_count(f, 1);
}

TEST(counting_down_an_absent_one_leaves_no_key_and_no_message) /* [62] */
{
    struct fixture *f = *state;
    struct lks_monitor *monitor = lks_monitor_open(server);
    char pattern[160];

    count_down(f->mine);
    (void)snprintf(pattern, sizeof pattern, "*%s*", f->key);
    lk_reply *keys = LKS_ASK(server, "KEYS", pattern);
    assert_int_equal(lk_reply_count(keys), 0);
    lk_reply_free(keys);
    assert_int_equal(lks_count(lks_monitor_text(monitor, server), "PUBLISH"), 0);
    lks_monitor_close(monitor);
}

TEST(its_channel_has_braces_whatever_the_key, struct fixture *f)
{
    const char *key = lks_key(server, "app:{t}:latch");
    lk_latch *latch = new_latch(f->client, key);
    struct lks_monitor *monitor = lks_monitor_open(server);
    char word[256];

    assert_int_equal(lk_latch_try_set(latch, 1, NULL), LK_OK);
    (void)snprintf(word, sizeof word,
                   "\"PUBLISH\" \"redisson_countdownlatch__channel__{%s}\" \"1\"", key);
    assert_int_equal(lks_count(lks_monitor_text(monitor, server), word), 1);
    lks_monitor_close(monitor);
    lk_latch_free(latch);
}

TEST(what_it_leaves_ends_by_itself, struct fixture *f)
{
    char pattern[160];

    set(f, 1);
    count_down(f->mine);
    (void)snprintf(pattern, sizeof pattern, "*%s*", f->key);
    lk_reply *keys = LKS_ASK(server, "KEYS", pattern);
    assert_int_equal(lk_reply_count(keys), 1);
    const char *claim = lk_reply_bytes(lk_reply_at(keys, 0)).data;
    assert_non_null(strstr(claim, "}:lockkit_claim:"));
    assert_in_range(LKS_INTEGER(server, "PTTL", claim), 30000, 70000);
    lk_reply_free(keys);
}

/* ---- waiting --------------------------------------------------------------------------------- */

struct wait {
    lk_latch *latch;
    int64_t wait_ms;
    pthread_t thread;
    lk_status status; /* below: written by the thread, read after the join */
    atomic_bool is_begun, is_over;
    double ended_at_ms;
};

static void *await_main(void *arg)
{
    struct wait *wait = arg;

    atomic_store(&wait->is_begun, true);
    wait->status = lk_latch_await(wait->latch, wait->wait_ms, NULL);
    wait->ended_at_ms = lks_now_ms();
    atomic_store(&wait->is_over, true);
    return NULL;
}

static void start_wait(struct wait *wait, lk_latch *latch)
{
    *wait = (struct wait){.latch = latch, .wait_ms = 60000};
    assert_int_equal(pthread_create(&wait->thread, NULL, await_main, wait), 0);
}

static void finish_wait(struct wait *wait)
{
    assert_int_equal(pthread_join(wait->thread, NULL), 0);
}

static long long subscribers(const char *channel)
{
    lk_reply *reply = LKS_ASK(server, "PUBSUB", "NUMSUB", channel);
    long long count = lk_reply_integer(lk_reply_at(reply, 1), -1);

    lk_reply_free(reply);
    return count;
}

/* Waiters of so many processes are subscribed, and have had time to look once more and fall
   asleep. */
static void let_them_sleep(struct fixture *f, long long processes)
{
    LKS_EVENTUALLY(subscribers(f->channel) == processes, 5000);
    lks_nap(30);
}

static void assert_let_through(struct wait *wait, double since_ms)
{
    finish_wait(wait);
    assert_int_equal(wait->status, LK_OK);
    assert_true(wait->ended_at_ms - since_ms < SOON_MS);
}

TEST(an_open_one_is_passed_at_once, struct fixture *f)
{
    assert_int_equal(lk_latch_await(f->mine, 0, NULL), LK_OK); /* never set */
    set(f, 1);
    assert_int_equal(lk_latch_await(f->mine, 0, NULL), LK_BUSY);
    assert_int_equal(lk_latch_await(f->mine, 50, NULL), LK_BUSY);
    count_down(f->other);
    assert_int_equal(lk_latch_await(f->mine, 0, NULL), LK_OK);
}

TEST(the_last_one_lets_all_through_and_none_before) /* [62] */
{
    struct fixture *f = *state;
    struct wait waits[WAITERS];

    set(f, 3);
    for (size_t i = 0; i < WAITERS; i++)
        start_wait(&waits[i], new_latch(i % 2 ? f->client : f->other_client, f->key));
    let_them_sleep(f, 2);
    count_down(f->mine);
    count_down(f->mine);
    lks_nap(30);
    for (size_t i = 0; i < WAITERS; i++)
        assert_false(atomic_load(&waits[i].is_over));
    double opened_at_ms = lks_now_ms();
    count_down(f->other);

    for (size_t i = 0; i < WAITERS; i++) {
        assert_let_through(&waits[i], opened_at_ms);
        lk_latch_free(waits[i].latch);
    }
    LKS_EVENTUALLY(subscribers(f->channel) == 0, 5000);
}

TEST(a_peer_that_counts_down_lets_through) /* [62] */
{
    struct fixture *f = *state;
    struct wait wait;

    LKS_DO(server, "SET", f->key, "2");
    start_wait(&wait, f->mine);
    let_them_sleep(f, 1);
    count_down(f->other);
    double opened_at_ms = lks_now_ms();
    LKS_DO(server, "DEL", f->key);
    LKS_DO(server, "PUBLISH", f->channel, "0");
    assert_let_through(&wait, opened_at_ms);
}

TEST(deleting_it_lets_through) /* [62] */
{
    struct fixture *f = *state;
    struct wait wait;

    assert_int_equal(lk_latch_delete(f->mine, NULL), LK_NOT_OWNER);
    set(f, 2);
    start_wait(&wait, f->mine);
    let_them_sleep(f, 1);
    double opened_at_ms = lks_now_ms();
    assert_int_equal(lk_latch_delete(f->other, NULL), LK_OK);
    assert_let_through(&wait, opened_at_ms);
}

TEST(a_message_that_never_comes_is_made_up_for) /* [62] */
{
    struct fixture *f = *state;
    lk_client *client = lks_client_with(server, (struct lk_client_options){.poll_ms = 100});
    lk_latch *latch = new_latch(client, f->key);
    struct wait wait;

    set(f, 1);
    start_wait(&wait, latch);
    let_them_sleep(f, 1);
    double opened_at_ms = lks_now_ms();
    LKS_DO(server, "DEL", f->key); /* and nobody is told */
    finish_wait(&wait);

    assert_int_equal(wait.status, LK_OK);
    assert_true(wait.ended_at_ms - opened_at_ms < 100 + 25 + 1000);
    lk_latch_free(latch);
    lk_client_close(client);
}

TEST(an_opening_during_a_break_is_not_slept_through, struct fixture *f)
{
    struct wait wait;

    for (int i = 0; i < KILLS; i++) {
        set(f, 1);
        start_wait(&wait, f->mine);
        let_them_sleep(f, 1);
        assert_int_equal(LKS_INTEGER(server, "CLIENT", "KILL", "TYPE", "pubsub"), 1);
        if (i % 4) lks_nap(i % 4); /* before, while and after it subscribes again */
        double opened_at_ms = lks_now_ms();
        count_down(f->other);
        assert_let_through(&wait, opened_at_ms);
    }
}

/* All threads are about to wait: a cancel before the wait has no effect. */
static bool has_begun(struct wait *waits)
{
    size_t begun = 0;

    while (begun < CROWD && atomic_load(&waits[begun].is_begun))
        begun++;
    if (begun == CROWD) lks_nap(50);
    return begun == CROWD;
}

TEST(a_thousand_waiters_are_cancelled_at_once, struct fixture *f)
{
    struct wait *waits = calloc(CROWD, sizeof *waits);

    assert_non_null(waits);
    set(f, 1);
    for (size_t i = 0; i < CROWD; i++)
        start_wait(&waits[i], new_latch(f->client, f->key));
    LKS_EVENTUALLY(has_begun(waits), 20000); /* some are not subscribed so far */
    double cancelled_at_ms = lks_now_ms();
    for (size_t i = 0; i < CROWD; i++)
        lk_latch_cancel(waits[i].latch);
    for (size_t i = 0; i < CROWD; i++) {
        finish_wait(&waits[i]);
        assert_int_equal(waits[i].status, LK_CANCELLED);
        lk_latch_free(waits[i].latch);
    }

    assert_true(lks_now_ms() - cancelled_at_ms < SOON_MS);
    assert_count(f, 1);
    LKS_EVENTUALLY(subscribers(f->channel) == 0, 5000);
    free(waits);
}

/* ---- bad use --------------------------------------------------------------------------------- */

TEST(bad_arguments_are_told, struct fixture *f)
{
    lk_client *closed = lks_client(server);
    lk_latch *latch = new_latch(closed, f->key);
    int64_t count = 0;
    static const int64_t bad_counts[] = {0, -1, INT64_MIN, (int64_t)INT32_MAX + 1};

    for (size_t i = 0; i < sizeof bad_counts / sizeof bad_counts[0]; i++)
        assert_int_equal(lk_latch_try_set(f->mine, bad_counts[i], NULL), LK_INVALID);
    assert_int_equal(lk_latch_await(f->mine, -1, NULL), LK_INVALID);
    assert_int_equal(lk_latch_count(f->mine, NULL, NULL), LK_INVALID);
    assert_null(lk_latch_new(f->client, "", NULL));
    assert_null(lk_latch_new(f->client, NULL, NULL));
    assert_null(lk_latch_new(NULL, f->key, NULL));
    assert_int_equal(lk_latch_try_set(NULL, 1, NULL), LK_INVALID);
    assert_int_equal(lk_latch_count_down(NULL, NULL), LK_INVALID);
    assert_int_equal(lk_latch_count(NULL, &count, NULL), LK_INVALID);
    assert_int_equal(lk_latch_await(NULL, 0, NULL), LK_INVALID);
    assert_int_equal(lk_latch_delete(NULL, NULL), LK_INVALID);
    lk_latch_cancel(NULL);
    lk_latch_free(NULL);

    lk_client_close(closed);
    assert_int_equal(lk_latch_count_down(latch, NULL), LK_INVALID);
    assert_int_equal(lk_latch_await(latch, 100, NULL), LK_INVALID);
    lk_latch_cancel(latch);
    lk_latch_free(latch);
}

TEST(a_key_that_is_no_number_is_an_error_and_stays, struct fixture *f)
{
    struct lk_error err = {0};
    int64_t count = -4711;

    LKS_DO(server, "SET", f->key, "many");
    assert_int_equal(lk_latch_count_down(f->mine, &err), LK_SERVER);
    assert_int_equal(lk_latch_await(f->mine, 100, &err), LK_SERVER);
    assert_int_equal(err.code, LK_SERVER);
    assert_int_equal(lk_latch_count(f->mine, &count, NULL), LK_SERVER);
    assert_int_equal(lk_latch_try_set(f->mine, 1, NULL), LK_BUSY);
    assert_string_equal(LKS_TEXT(server, "GET", f->key), "many");
    LKS_DO(server, "DEL", f->key);
    LKS_DO(server, "RPUSH", f->key, "a list");
    assert_int_equal(lk_latch_count_down(f->mine, &err), LK_SERVER);
    assert_int_equal(lk_latch_await(f->mine, 0, &err), LK_SERVER);
    assert_string_equal(LKS_TEXT(server, "TYPE", f->key), "list");
}

static void note_event(const struct lk_event *event, void *arg)
{
    char *line = arg;
    size_t len = strlen(line);

    if (!event->kind || strcmp(event->kind, "latch") != 0) return;
    (void)snprintf(line + len, 200 - len, "%s %s %lld, ", lk_event_name(event->type),
                   lk_status_name(event->status), (long long)event->count);
}

TEST(the_hook_is_told_who_arrives_and_who_passes, struct fixture *f)
{
    char line[200] = "";
    lk_client *client = lks_client_with(
        server, (struct lk_client_options){.on_event = note_event, .on_event_arg = line});
    lk_latch *latch = new_latch(client, f->key);

    set(f, 1);
    assert_int_equal(lk_latch_await(latch, 0, NULL), LK_BUSY);
    count_down(latch);
    assert_int_equal(lk_latch_await(latch, 0, NULL), LK_OK);
    assert_string_equal(line, "acquire busy 0, release ok 1, acquire ok 0, ");
    lk_latch_free(latch);
    lk_client_close(client);
}
