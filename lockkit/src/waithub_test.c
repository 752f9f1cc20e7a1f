/*
 * The hub's thread on a made-up server: what it is asked, what it says, when it goes away. The
 * asserting thread plays the server.
 * link: -Wl,--wrap=lki_redis_open -Wl,--wrap=lki_redis_close -Wl,--wrap=lki_redis_send
 * link: -Wl,--wrap=lki_redis_receive -Wl,--wrap=lki_redis_fd -Wl,--wrap=lk_reply_at
 * link: -Wl,--wrap=lk_reply_bytes -Wl,--wrap=lk_reply_free -Wl,--wrap=lk_reply_type_of
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cmocka.h>

#include "clock.h"
#include "error.h"
#include "waithub.h"

enum { MESSAGES_MAX = 64, LONG_MS = 5000, BACKOFF_MS = 40 };

/* Stands in for redisReply: an array of three texts, or one of the texts. */
struct lk_reply {
    const struct lk_reply *parts[3];
    bool is_error;
    char text[64];
};

static struct {
    pthread_mutex_t mutex; /* guards all below */
    pthread_cond_t changed;
    int fd;                               /* readable while there is something to receive */
    struct lk_reply *queue[MESSAGES_MAX]; /* owned: from the server */
    size_t queue_count;
    bool is_cut;      /* the connection has ended */
    bool is_refusing; /* lets nobody in */
    bool slams_door;  /* lets everybody in and throws them out at once */
    bool is_denying;  /* answers a SUBSCRIBE by an error */
    unsigned open_count, open_failures, subscribe_count, unsubscribe_count;
} server = {.mutex = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

struct lki_redis {
    int unused;
};

/* The linker's names for what is replaced.
   NOLINTBEGIN(bugprone-reserved-identifier,readability-identifier-naming) */
struct lki_redis *__wrap_lki_redis_open(const struct lki_endpoint *endpoint, int64_t deadline,
                                        struct lk_error *err);
void __wrap_lki_redis_close(struct lki_redis *redis);
lk_status __wrap_lki_redis_send(struct lki_redis *redis, const struct lk_command *commands,
                                size_t count, int64_t deadline, struct lk_error *err);
lk_status __wrap_lki_redis_receive(struct lki_redis *redis, lk_reply **out, struct lk_error *err);
int __wrap_lki_redis_fd(const struct lki_redis *redis);
const lk_reply *__wrap_lk_reply_at(const lk_reply *reply, size_t index);
struct lk_bytes __wrap_lk_reply_bytes(const lk_reply *reply);
void __wrap_lk_reply_free(lk_reply *reply);
lk_reply_type __wrap_lk_reply_type_of(const lk_reply *reply);
/* NOLINTEND(bugprone-reserved-identifier,readability-identifier-naming) */

static void ring_locked(void)
{
    uint64_t one = 1;

    assert_int_equal(write(server.fd, &one, sizeof one), sizeof one);
}

static void drain_locked(void)
{
    uint64_t count = 0;
    ssize_t got = read(server.fd, &count, sizeof count);

    (void)got;
}

struct lki_redis *__wrap_lki_redis_open(const struct lki_endpoint *endpoint, int64_t deadline,
                                        struct lk_error *err)
{
    struct lki_redis *redis = NULL;

    (void)endpoint;
    (void)deadline;
    (void)pthread_mutex_lock(&server.mutex);
    if (server.is_refusing) {
        server.open_failures++;
        (void)LKI_FAIL(err, LK_UNREACHABLE, "refused");
    } else {
        redis = calloc(1, sizeof *redis);
        server.open_count++;
        server.is_cut = server.slams_door;
        if (server.is_cut) ring_locked();
    }
    (void)pthread_cond_broadcast(&server.changed);
    (void)pthread_mutex_unlock(&server.mutex);
    return redis;
}

void __wrap_lki_redis_close(struct lki_redis *redis)
{
    if (!redis) return;
    (void)pthread_mutex_lock(&server.mutex);
    while (server.queue_count > 0)
        free(server.queue[--server.queue_count]);
    drain_locked();
    (void)pthread_mutex_unlock(&server.mutex);
    free(redis);
}

static void say_locked(const char *kind, const char *channel, const char *text)
{
    const char *const texts[] = {kind, channel, text};
    struct lk_reply *reply = calloc(4, sizeof *reply);

    if (!reply || server.queue_count == MESSAGES_MAX) abort();
    for (size_t i = 0; i < 3; i++) {
        reply->parts[i] = &reply[i + 1];
        (void)snprintf(reply[i + 1].text, sizeof reply->text, "%s", texts[i]);
    }
    server.queue[server.queue_count++] = reply;
    ring_locked();
}

lk_status __wrap_lki_redis_send(struct lki_redis *redis, const struct lk_command *commands,
                                size_t count, int64_t deadline, struct lk_error *err)
{
    (void)redis;
    (void)deadline;
    (void)pthread_mutex_lock(&server.mutex);
    for (size_t i = 0; i < count && !server.is_cut; i++) {
        const char *verb = commands[i].args[0].data;

        if (strcmp(verb, "SUBSCRIBE") == 0) {
            server.subscribe_count++;
            say_locked("subscribe", commands[i].args[1].data, "1");
            server.queue[server.queue_count - 1]->is_error = server.is_denying;
        } else if (strcmp(verb, "UNSUBSCRIBE") == 0) {
            server.unsubscribe_count++;
            say_locked("unsubscribe", commands[i].args[1].data, "0");
        }
    }
    bool is_cut = server.is_cut;
    (void)pthread_cond_broadcast(&server.changed);
    (void)pthread_mutex_unlock(&server.mutex);
    return is_cut ? LKI_FAIL(err, LK_UNREACHABLE, "cut") : LK_OK;
}

lk_status __wrap_lki_redis_receive(struct lki_redis *redis, lk_reply **out, struct lk_error *err)
{
    (void)redis;
    *out = NULL;
    (void)pthread_mutex_lock(&server.mutex);
    bool is_cut = server.is_cut;
    if (!is_cut && server.queue_count > 0) {
        *out = server.queue[0];
        server.queue_count--;
        memmove((void *)server.queue, (void *)(server.queue + 1),
                server.queue_count * sizeof(struct lk_reply *));
    } else if (!is_cut) {
        drain_locked();
    }
    (void)pthread_mutex_unlock(&server.mutex);
    return is_cut ? LKI_FAIL(err, LK_UNREACHABLE, "cut") : LK_OK;
}

int __wrap_lki_redis_fd(const struct lki_redis *redis)
{
    (void)redis;
    return server.fd;
}

const lk_reply *__wrap_lk_reply_at(const lk_reply *reply, size_t index)
{
    return reply->parts[index];
}

struct lk_bytes __wrap_lk_reply_bytes(const lk_reply *reply)
{
    return (struct lk_bytes){.data = reply->text, .len = strlen(reply->text)};
}

void __wrap_lk_reply_free(lk_reply *reply)
{
    free(reply);
}

lk_reply_type __wrap_lk_reply_type_of(const lk_reply *reply)
{
    return reply->is_error ? LK_REPLY_ERROR : LK_REPLY_ARRAY;
}

/* ---- the server's side, for the asserting thread ------------------------------------------------- */

static void publish_text(const char *channel, const char *text)
{
    (void)pthread_mutex_lock(&server.mutex);
    say_locked("message", channel, text);
    (void)pthread_mutex_unlock(&server.mutex);
}

static void publish(const char *channel)
{
    publish_text(channel, "0");
}

static void cut_connection(bool refuses_the_next)
{
    (void)pthread_mutex_lock(&server.mutex);
    server.is_cut = true;
    server.is_refusing = refuses_the_next;
    ring_locked();
    (void)pthread_mutex_unlock(&server.mutex);
}

static void let_in(void)
{
    (void)pthread_mutex_lock(&server.mutex);
    server.is_refusing = false;
    (void)pthread_mutex_unlock(&server.mutex);
}

/* True when a counter has reached a value within a long time. */
static bool reaches(const unsigned *counter, unsigned value)
{
    int64_t deadline = lki_clock_after_ms(LONG_MS);

    (void)pthread_mutex_lock(&server.mutex);
    while (*counter < value && lki_clock_wait(&server.changed, &server.mutex, deadline)) {}
    bool is_reached = *counter >= value;
    (void)pthread_mutex_unlock(&server.mutex);
    return is_reached;
}

/* ---- a hub with its thread ------------------------------------------------------------------------ */

static struct {
    struct lki_hub *hub;
    pthread_t thread;
    struct lki_waiter waiters[3];
} world;

static void ignore_event(const struct lk_event *event, void *arg)
{
    (void)event;
    (void)arg;
}

static int start_hub(void **state)
{
    struct lki_hub_options options = {
        .connect_ms = 100, .command_ms = 100, .backoff_ms = BACKOFF_MS, .on_event = ignore_event};

    (void)state;
    server.fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    server.is_cut = server.is_refusing = server.slams_door = server.is_denying = false;
    server.open_count = server.open_failures = 0;
    server.subscribe_count = server.unsubscribe_count = 0;
    for (size_t i = 0; i < 3; i++)
        lki_waiter_init(&world.waiters[i], LKI_WAKE_ONE);
    world.hub = lki_hub_new(&options, NULL);
    if (server.fd < 0 || !world.hub) return -1;
    return pthread_create(&world.thread, NULL, lki_hub_main, world.hub);
}

static int stop_hub(void **state)
{
    (void)state;
    lki_hub_stop(world.hub);
    int failure = pthread_join(world.thread, NULL);
    lki_hub_free(world.hub);
    for (size_t i = 0; i < 3; i++)
        lki_waiter_done(&world.waiters[i]);
    (void)close(server.fd);
    return failure;
}

static void join(size_t i, const char *channel)
{
    assert_int_equal(
        lki_hub_join(world.hub, &world.waiters[i], channel, lki_clock_after_ms(LONG_MS), NULL),
        LK_OK);
}

static void leave(size_t i)
{
    lki_hub_leave(world.hub, &world.waiters[i]);
}

static lk_status wait_long(size_t i)
{
    return lki_hub_wait(world.hub, &world.waiters[i], lki_clock_after_ms(LONG_MS));
}

/* Whether a waiter is asleep: it is not woken now. */
static lk_status look(size_t i)
{
    return lki_hub_wait(world.hub, &world.waiters[i], 0);
}

/* The hub has worked off everything that was said before: a word of its own comes back. */
static void settle(void)
{
    publish("settle");
    assert_int_equal(wait_long(2), LK_OK);
}

static void a_message_wakes_the_longest_waiter_of_its_channel(void **state)
{
    (void)state;
    join(0, "a");
    join(1, "a");
    join(2, "settle");
    publish("a");
    publish("nobody");
    settle();

    assert_int_equal(look(0), LK_OK);
    assert_int_equal(look(1), LK_BUSY);
    leave(0);
    leave(1);
    leave(2);
}

static void two_messages_wake_two(void **state)
{
    (void)state;
    join(0, "a");
    join(1, "a");
    publish("a");
    publish("a");

    assert_int_equal(wait_long(1), LK_OK);
    assert_int_equal(wait_long(0), LK_OK);
    leave(0);
    leave(1);
}

/* Two waiters of one rule and what they need; a message's text; who of them it wakes. */
static const struct {
    enum lki_wake_rule rule;
    size_t units[2];
    const char *text;
    lk_status first, second;
} wakings[] = {
    {LKI_WAKE_ONE, {1, 1}, "5", LK_OK, LK_BUSY},
    {LKI_WAKE_RW, {1, 1}, "0", LK_OK, LK_BUSY},
    {LKI_WAKE_RW, {1, 1}, "1", LK_OK, LK_OK},
    {LKI_WAKE_ALL, {1, 1}, "0", LK_OK, LK_OK},
    {LKI_WAKE_COUNT, {1, 1}, "1", LK_OK, LK_BUSY},
    {LKI_WAKE_COUNT, {1, 1}, "2", LK_OK, LK_OK},
    {LKI_WAKE_COUNT, {2, 1}, "2", LK_OK, LK_BUSY},
    {LKI_WAKE_COUNT, {2, 1}, "3", LK_OK, LK_OK},
    {LKI_WAKE_COUNT, {3, 1}, "1", LK_BUSY, LK_OK}, /* too few for the first are not wasted on it */
    {LKI_WAKE_COUNT, {1, 1}, "0", LK_BUSY, LK_BUSY},
    {LKI_WAKE_COUNT, {1, 1}, "-3", LK_BUSY, LK_BUSY},
    {LKI_WAKE_COUNT, {1, 1}, "nonsense", LK_BUSY, LK_BUSY},
};

static void a_message_wakes_as_many_as_its_channels_rule_says(void **state)
{
    (void)state;
    join(2, "settle");
    for (size_t i = 0; i < sizeof wakings / sizeof wakings[0]; i++) {
        for (size_t k = 0; k < 2; k++) {
            world.waiters[k].rule = wakings[i].rule;
            world.waiters[k].units = wakings[i].units[k];
            join(k, "a");
        }
        publish_text("a", wakings[i].text);
        settle();
        lk_status first = look(0), second = look(1);
        if (first != wakings[i].first || second != wakings[i].second) fail_msg("row %zu", i);
        leave(0);
        leave(1);
    }
    leave(2);
}

static void who_leaves_hands_on_the_wake_up_meant_for_it(void **state)
{
    (void)state;
    join(0, "a");
    join(1, "a");
    join(2, "settle");
    publish("a");
    settle();
    leave(0);

    assert_int_equal(look(1), LK_OK);
    leave(1);
    leave(2);
}

static void who_was_woken_and_could_not_try_hands_it_on(void **state)
{
    (void)state;
    join(0, "a");
    join(1, "a");
    publish("a");
    assert_int_equal(wait_long(0), LK_OK);
    assert_int_equal(look(1), LK_BUSY);
    lki_hub_unwake(world.hub, &world.waiters[0]);
    leave(0);

    assert_int_equal(look(1), LK_OK);
    leave(1);
}

static void who_was_woken_and_tried_takes_it_along(void **state)
{
    (void)state;
    join(0, "a");
    join(1, "a");
    publish("a");
    assert_int_equal(wait_long(0), LK_OK);
    leave(0);

    assert_int_equal(look(1), LK_BUSY);
    leave(1);
}

static void cancelling_wakes_for_good(void **state)
{
    (void)state;
    join(0, "a");
    lki_hub_cancel(world.hub, &world.waiters[0]);
    assert_int_equal(wait_long(0), LK_CANCELLED);
    assert_int_equal(wait_long(0), LK_CANCELLED);
    leave(0);
    lki_hub_cancel(world.hub, &world.waiters[0]); /* not joined: no effect on the next wait */
    join(0, "a");

    assert_int_equal(look(0), LK_BUSY);
    leave(0);
}

static void a_break_wakes_all_and_they_are_subscribed_again(void **state)
{
    (void)state;
    join(0, "a");
    join(1, "b");
    cut_connection(false);

    assert_int_equal(wait_long(0), LK_OK);
    assert_int_equal(wait_long(1), LK_OK);
    assert_true(reaches(&server.subscribe_count, 4));
    publish("b");
    assert_int_equal(wait_long(1), LK_OK);
    leave(0);
    leave(1);
}

/* A release that is published between the break and the new subscription reaches nobody. */
static void who_slept_through_a_break_is_woken_when_subscribed_again(void **state)
{
    (void)state;
    join(0, "a");
    cut_connection(true);
    assert_int_equal(wait_long(0), LK_OK); /* tries, finds it held, sleeps again */
    assert_true(reaches(&server.open_failures, 1));
    assert_int_equal(look(0), LK_BUSY);
    let_in();

    assert_int_equal(wait_long(0), LK_OK);
    leave(0);
}

static void who_slept_before_the_first_confirmation_is_woken_by_it(void **state)
{
    (void)state;
    cut_connection(true);
    assert_int_equal(lki_hub_join(world.hub, &world.waiters[0], "a", 0, NULL), LK_OK);
    assert_int_equal(look(0), LK_BUSY);
    assert_true(reaches(&server.open_failures, 1));
    let_in();

    assert_int_equal(wait_long(0), LK_OK);
    leave(0);
}

static void a_confirmation_in_time_wakes_nobody(void **state)
{
    (void)state;
    join(0, "a");
    join(1, "a");
    join(2, "settle");
    settle();

    assert_int_equal(look(0), LK_BUSY);
    assert_int_equal(look(1), LK_BUSY);
    leave(0);
    leave(1);
    leave(2);
}

/* As a server does whose access rules leave our channels out. */
static void a_refused_subscription_is_asked_for_again_with_pauses(void **state)
{
    (void)state;
    server.is_denying = true; /* no connection yet: the hub's thread sleeps */
    int64_t begin = lki_clock_now();
    assert_int_equal(lki_hub_join(world.hub, &world.waiters[0], "a", 0, NULL), LK_OK);
    assert_true(reaches(&server.subscribe_count, 4));
    int64_t took_ms = (lki_clock_now() - begin) / NS_PER_MS;

    assert_true(took_ms >= 10 + 20 + 20);  /* three pauses at their shortest */
    assert_int_equal(wait_long(0), LK_OK); /* looks again after each */
    leave(0);
}

/* As a server with too many clients does. */
static void a_server_that_throws_us_out_is_not_asked_in_a_spin(void **state)
{
    (void)state;
    server.slams_door = true; /* no connection yet: the hub's thread sleeps */
    int64_t begin = lki_clock_now();
    assert_int_equal(lki_hub_join(world.hub, &world.waiters[0], "a", 0, NULL), LK_OK);
    assert_true(reaches(&server.open_count, 5));
    int64_t took_ms = (lki_clock_now() - begin) / NS_PER_MS;

    assert_true(took_ms >= 10 + 20 + 20 + 20); /* four pauses at their shortest */
    leave(0);
}

static void an_unused_subscription_ends_after_a_while_and_can_come_back(void **state)
{
    (void)state;
    join(0, "a");
    leave(0);
    assert_int_equal(server.subscribe_count, 1);
    join(0, "a"); /* still there: asked for once */
    publish("a");

    assert_int_equal(wait_long(0), LK_OK);
    assert_int_equal(server.subscribe_count, 1);
    leave(0);
}

static void a_channel_that_nobody_else_joins_is_not_kept(void **state)
{
    (void)state;
    join(2, "settle");
    world.waiters[1].is_alone = true;
    join(1, "own");
    leave(1);
    int64_t begin = lki_clock_now();
    settle(); /* something to do: it looks at its channels */

    assert_true(reaches(&server.unsubscribe_count, 1));
    assert_true(lki_clock_now() - begin < 500LL * NS_PER_MS);
    leave(2);
}

#define HUB_TEST(name) cmocka_unit_test_setup_teardown(name, start_hub, stop_hub)

int main(void)
{
    static const struct CMUnitTest tests[] = {
        HUB_TEST(a_message_wakes_the_longest_waiter_of_its_channel),
        HUB_TEST(two_messages_wake_two),
        HUB_TEST(a_message_wakes_as_many_as_its_channels_rule_says),
        HUB_TEST(who_leaves_hands_on_the_wake_up_meant_for_it),
        HUB_TEST(who_was_woken_and_could_not_try_hands_it_on),
        HUB_TEST(who_was_woken_and_tried_takes_it_along),
        HUB_TEST(cancelling_wakes_for_good),
        HUB_TEST(a_break_wakes_all_and_they_are_subscribed_again),
        HUB_TEST(who_slept_through_a_break_is_woken_when_subscribed_again),
        HUB_TEST(who_slept_before_the_first_confirmation_is_woken_by_it),
        HUB_TEST(a_confirmation_in_time_wakes_nobody),
        HUB_TEST(a_refused_subscription_is_asked_for_again_with_pauses),
        HUB_TEST(a_server_that_throws_us_out_is_not_asked_in_a_spin),
        HUB_TEST(an_unused_subscription_ends_after_a_while_and_can_come_back),
        HUB_TEST(a_channel_that_nobody_else_joins_is_not_kept),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
