/*
 * The latch on a real server: what lies on the wire, who is let through and when. The fallback
 * timer is ten seconds here, so whatever comes sooner came by a message or a break. Numbers in
 * brackets are those of the checklist of cases for clients that share keys with Redisson.
 */
#include "test/support/lk_support.h"

enum { POLL_MS = 10000, WAITERS = 6 };

LKS_SERVER(lks_server_start(NULL));
LKS_PATIENT();

struct fixture {
    lk_client *client, *other_client; /* as two processes would have */
    lk_latch *mine, *other;
    const char *key;
    char channel[160];
};

LKS_NEW(lk_latch, new_latch, lk_latch_new);

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

TEST(it_is_a_number_that_vanishes_at_0, struct fixture *f) /* [62] */
{
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

TEST(counting_down_an_absent_one_leaves_no_key_and_no_message, struct fixture *f) /* [62] */
{
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
    assert_in_range(LKS_INTEGER(server, "PTTL", claim), 50000, 100000);
    lk_reply_free(keys);
}

/* ---- waiting --------------------------------------------------------------------------------- */

/* Waiters of so many processes are subscribed, and have had time to look once more and fall
   asleep. */
static void let_them_sleep(struct fixture *f, long long processes)
{
    LKS_EVENTUALLY(lks_subscribers(server, f->channel) == processes, 5000);
    lks_nap(30);
}

static lk_status await_latch(struct lks_wait *wait)
{
    return lk_latch_await(wait->what, 60000, NULL);
}

static void start_wait(struct lks_wait *wait, lk_latch *latch)
{
    *wait = (struct lks_wait){.run = await_latch, .what = latch};
    lks_wait_begin(wait);
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

TEST(the_last_one_lets_all_through_and_none_before, struct fixture *f) /* [62] */
{
    struct lks_wait waits[WAITERS];

    set(f, 3);
    for (size_t i = 0; i < WAITERS; i++)
        start_wait(&waits[i], new_latch(i % 2 ? f->client : f->other_client, f->key));
    let_them_sleep(f, 2);
    count_down(f->mine);
    count_down(f->mine);
    lks_nap(30);
    for (size_t i = 0; i < WAITERS; i++)
        assert_false(atomic_load(&waits[i].has_ended));
    double opened_at_ms = lks_now_ms();
    count_down(f->other);

    for (size_t i = 0; i < WAITERS; i++) {
        lks_wait_is_woken(&waits[i], opened_at_ms);
        lk_latch_free(waits[i].what);
    }
    LKS_EVENTUALLY(lks_subscribers(server, f->channel) == 0, 5000);
}

TEST(deleting_it_lets_through, struct fixture *f) /* [62] */
{
    struct lks_wait wait;

    assert_int_equal(lk_latch_delete(f->mine, NULL), LK_NOT_OWNER);
    set(f, 2);
    start_wait(&wait, f->mine);
    let_them_sleep(f, 1);
    double opened_at_ms = lks_now_ms();
    assert_int_equal(lk_latch_delete(f->other, NULL), LK_OK);
    lks_wait_is_woken(&wait, opened_at_ms);
}

/* ---- bad use --------------------------------------------------------------------------------- */

TEST(counting_down_needs_no_memory, struct fixture *f)
{
    set(f, 3);
    LKS_DO(server, "CONFIG", "SET", "maxmemory", "1");
    lk_status first = lk_latch_count_down(f->mine, NULL);
    lk_status next = lk_latch_count_down(f->mine, NULL);
    LKS_DO(server, "CONFIG", "SET", "maxmemory", "0");
    assert_int_equal(first, LK_OK);
    assert_int_equal(next, LK_OK);
    assert_count(f, 1);
}

TEST(bad_arguments_are_told, struct fixture *f)
{
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
