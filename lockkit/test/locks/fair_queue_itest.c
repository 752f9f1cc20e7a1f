/*
 * The fair lock's queue as it lies in the server: shared with foreign clients, with dead owners in
 * it, damaged by hand, older than its windows. Waiters ask again every second here.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#include "test/support/lk_fair.h"
#include "test/support/lk_net.h"

enum { WINDOW_MS = 3000, SOON_MS = 10000, LEASE_MS = 30000, LOCKS = 4 };
enum {
    ROOM_MS = 4000
}; /* for a slow machine: less than what tells one sum of spans from another */

LKS_SERVER(lks_server_start(NULL));
LKS_PATIENT();
static const struct lk_lock_options long_wait = {.wait_ms = 60000};

struct fixture {
    lk_client *client;
    lk_lock *locks[LOCKS];
    struct lkf_keys keys;
    const char *tokens[LOCKS]; /* of those who were started to wait */
    struct lks_wait waits[LOCKS];
    atomic_int places; /* LK_EVENT_QUEUED */
};

static void count_places(const struct lk_event *event, void *arg)
{
    if (event->type == LK_EVENT_QUEUED) atomic_fetch_add((atomic_int *)arg, 1);
}

SET_UP(struct fixture, f)
{
    lkf_keys_init(&f->keys, server, "queue");
    f->client = lks_client_with(
        server, (struct lk_client_options){.on_event = count_places, .on_event_arg = &f->places});
    for (size_t i = 0; i < LOCKS; i++)
        f->locks[i] = lkf_lock(f->client, &f->keys, WINDOW_MS);
}

/* Every test leaves the lock free and the queue empty. */
TEAR_DOWN(struct fixture, f)
{
    if (!lkf_is_gone(&f->keys)) fail_msg("left in the queue: %s", lkf_queue(&f->keys));
    for (size_t i = 0; i < LOCKS; i++)
        lk_lock_free(f->locks[i]);
    lk_client_close(f->client);
}

/* ---- steps ----------------------------------------------------------------------------------- */

static void take(struct fixture *f, size_t i)
{
    assert_int_equal(lk_lock_acquire(f->locks[i], NULL, NULL), LK_OK);
}

static void give_back(struct fixture *f, size_t i)
{
    assert_int_equal(lk_lock_release(f->locks[i], NULL), LK_OK);
}

static void wait_with(struct fixture *f, size_t i, const struct lk_lock_options *options)
{
    lkf_wait_start(&f->waits[i], &f->keys, f->locks[i], options);
    f->tokens[i] = lk_lock_token(f->locks[i]);
}

static void wait_for(struct fixture *f, size_t i)
{
    wait_with(f, i, &long_wait);
}

/* It gets the lock, and gives it back. */
static void is_served(struct fixture *f, size_t i)
{
    assert_int_equal(lks_wait_end(&f->waits[i]), LK_OK);
    give_back(f, i);
}

static void is_cancelled(struct fixture *f, size_t i)
{
    LKS_EVENTUALLY(lkf_listeners(&f->keys, f->tokens[i]) == 1, 5000);
    lk_lock_cancel(f->locks[i]);
    assert_int_equal(lks_wait_end(&f->waits[i]), LK_CANCELLED);
}

/* The queue is these owners, in this order. */
static bool queue_is(struct fixture *f, const char *first, const char *second)
{
    char text[256];

    (void)snprintf(text, sizeof text, "%s%s%s", first, second ? "," : "", second ? second : "");
    return strcmp(lkf_queue(&f->keys), text) == 0;
}

/* ---- beside foreign clients ------------------------------------------------------------------ */

/* What was published to a channel from now on. */
static int listen_to(struct fixture *f, const char *owner)
{
    char path[96];
    char command[400];

    (void)snprintf(path, sizeof path, "%s/s", server->dir);
    (void)snprintf(command, sizeof command, "SUBSCRIBE %s:%s\r\n", f->keys.channel, owner);
    int fd = lk_net_connect(path);
    assert_true(fd >= 0);
    assert_true(lk_net_send(fd, command));
    LKS_EVENTUALLY(lkf_listeners(&f->keys, owner) == 1, 5000);
    return fd;
}

static void is_told(int fd)
{
    char *text = NULL;
    size_t len = 0;

    LKS_EVENTUALLY((text = lk_net_read(fd, text, &len)) && strstr(text, "$1\r\n0\r\n"), SOON_MS);
    assert_int_equal(lks_count(text, "$7\r\nmessage\r\n"), 1);
    free(text);
}

/* Checklist 45 and 46. Of section 5.4 and 5.6: a foreign score is the last one's and its wait. */
TEST(foreign_clients_queue_with_ours, struct fixture *f)
{
    enum { FOREIGN_MS = 300000, OURS_MS = 5000 };
    const struct lk_lock_options wait = {.wait_ms = FOREIGN_MS};
    struct lkf_foreign foreign = {.owner = "f:2", .lease_ms = LEASE_MS, .wait_ms = FOREIGN_MS};
    lk_lock *patient[2] = {lkf_lock(f->client, &f->keys, 0), lkf_lock(f->client, &f->keys, 0)};
    struct lks_wait waits[2];

    take(f, 0);
    long long before_ms = lkf_server_ms(&f->keys);
    lkf_wait_start(&waits[0], &f->keys, patient[0], &wait);
    const char *b = lk_lock_token(patient[0]);
    assert_in_range(lkf_score(&f->keys, b) - before_ms, OURS_MS, OURS_MS + ROOM_MS);
    assert_in_range(lkf_foreign_try(&f->keys, &foreign), OURS_MS - ROOM_MS, OURS_MS);
    assert_in_range(lkf_foreign_try(&f->keys, &foreign), LEASE_MS - 10000, LEASE_MS);
    lkf_wait_start(&waits[1], &f->keys, patient[1], &wait);
    const char *d = lk_lock_token(patient[1]);
    long long foreign_ms = lkf_score(&f->keys, "f:2");

    assert_in_range(foreign_ms - before_ms, OURS_MS + FOREIGN_MS, OURS_MS + FOREIGN_MS + ROOM_MS);
    assert_in_range(lkf_score(&f->keys, d) - foreign_ms, OURS_MS, OURS_MS + ROOM_MS);
    lk_lock_cancel(patient[0]);
    assert_int_equal(lks_wait_end(&waits[0]), LK_CANCELLED);
    assert_true(queue_is(f, "f:2", d));
    assert_int_equal(lkf_score(&f->keys, "f:2"), foreign_ms);

    int fd = listen_to(f, "f:2");
    give_back(f, 0);
    is_told(fd);
    assert_int_equal(lkf_foreign_try(&f->keys, &foreign), LKF_TAKEN);
    assert_true(lkf_score(&f->keys, d) > lkf_server_ms(&f->keys) + 2000); /* it has time to ask */
    assert_int_equal(lk_lock_acquire(f->locks[0], NULL, NULL), LK_BUSY);
    assert_int_equal(lkf_foreign_unlock(&f->keys, &foreign), 1);
    assert_int_equal(lks_wait_end(&waits[1]), LK_OK);
    assert_int_equal(lk_lock_release(patient[1], NULL), LK_OK);
    (void)close(fd);
    lk_lock_free(patient[0]);
    lk_lock_free(patient[1]);
}

/* The lease that its score began with is long over when the foreign one takes the lock, gives it back at
   once, and sweeps. */
TEST(a_place_behind_a_foreign_client_outlasts_a_long_hold, struct fixture *f)
{
    struct lkf_foreign holder = {.owner = "f:1", .lease_ms = LEASE_MS};
    struct lkf_foreign foreign = {.owner = "f:2", .lease_ms = LEASE_MS, .wait_ms = 300000};

    assert_int_equal(lkf_foreign_try(&f->keys, &holder), LKF_TAKEN);
    assert_true(lkf_foreign_try(&f->keys, &foreign) >= 0);
    LKS_DO(server, "ZINCRBY", f->keys.timeouts, "-30000", "f:2"); /* that was renewed since */
    wait_for(f, 1);
    long long since_ms = lkf_score(&f->keys, "f:2") - foreign.wait_ms; /* the end of that lease */
    LKS_EVENTUALLY(lkf_server_ms(&f->keys) > since_ms + WINDOW_MS, SOON_MS);
    assert_int_equal(lkf_foreign_unlock(&f->keys, &holder), 1);
    assert_int_equal(lkf_foreign_try(&f->keys, &foreign), LKF_TAKEN);
    assert_int_equal(lkf_foreign_unlock(&f->keys, &foreign), 1);
    is_served(f, 1);
    assert_int_equal(atomic_load(&f->places), 1);
}

/* Foreign, ours, foreign, ours... and never empty: what ours get behind the foreign is taken off again. */
TEST(scores_do_not_grow_with_those_who_pass, struct fixture *f)
{
    struct lkf_foreign foreign[2] = {{.owner = "f:0", .lease_ms = LEASE_MS, .wait_ms = 60000},
                                     {.owner = "f:1", .lease_ms = LEASE_MS, .wait_ms = 60000}};
    size_t i = 1;

    assert_int_equal(lkf_foreign_try(&f->keys, &foreign[0]), LKF_TAKEN);
    wait_for(f, i);
    for (int round = 0; round < 20; round++, i = 3 - i) {
        struct lkf_foreign *holder = &foreign[round % 2], *next = &foreign[(round + 1) % 2];

        assert_true(lkf_foreign_try(&f->keys, next) >= 0);
        assert_int_equal(lkf_foreign_unlock(&f->keys, holder), 1);
        assert_int_equal(lks_wait_end(&f->waits[i]), LK_OK);
        long long left_ms = lkf_score(&f->keys, next->owner) - lkf_server_ms(&f->keys);
        assert_in_range(left_ms, 60000 - ROOM_MS, 60000 + 2 * 5000);
        wait_for(f, 3 - i);
        give_back(f, i);
        assert_int_equal(lkf_foreign_try(&f->keys, next), LKF_TAKEN);
    }
    assert_int_equal(lkf_foreign_unlock(&f->keys, &foreign[0]), 1);
    is_served(f, i);
}

/* ---- the dead -------------------------------------------------------------------------------- */

/* How often fair_acquire ran, told by a step that only it takes. */
static size_t questions(struct lks_monitor *monitor)
{
    return lks_count(lks_monitor_text(monitor, server), "lua] \"PTTL\"");
}

/* Checklist 47. */
TEST(a_dead_head_is_waited_for_without_spinning, struct fixture *f)
{
    struct lks_monitor *monitor = lks_monitor_open(server);
    double begin = lks_now_ms();

    lkf_add_dead(&f->keys, "dead", 3000);
    wait_for(f, 1);
    assert_int_equal(lks_wait_end(&f->waits[1]), LK_OK);

    assert_true(f->waits[1].ended_at_ms - begin > 2990); /* two clocks */
    assert_in_range(questions(monitor), 2, 12); /* one in a second, and two at the beginning */
    lks_monitor_close(monitor);
    give_back(f, 1);
}

TEST(a_release_passes_over_the_dead, struct fixture *f)
{
    take(f, 0);
    lkf_add_dead(&f->keys, "dead", -1);
    lkf_add_dead(&f->keys, "dead too", -1);
    lkf_add_dead(&f->keys, "alive", 60000);
    int fd = listen_to(f, "alive");
    give_back(f, 0);
    is_told(fd);
    assert_true(queue_is(f, "alive", NULL));
    lkf_foreign_give_up(&f->keys, &(struct lkf_foreign){.owner = "alive", .wait_ms = 1});
    (void)close(fd);
}

/* ---- damage (checklist 51) ------------------------------------------------------------------- */

TEST(a_head_without_a_timeout_gets_one, struct fixture *f)
{
    struct lks_monitor *monitor = lks_monitor_open(server);
    double begin = lks_now_ms();

    LKS_DO(server, "RPUSH", f->keys.queue, "lost");
    wait_for(f, 1);
    long long left_ms = lkf_score(&f->keys, "lost") - lkf_server_ms(&f->keys);
    assert_in_range(left_ms, 5000 - ROOM_MS, 5000);
    LKS_EVENTUALLY(questions(monitor) >= 3, SOON_MS);
    assert_true(lks_now_ms() - begin > 900); /* two at the beginning, the third after a second */
    assert_true(queue_is(f, "lost", f->tokens[1]));        /* it has its time */
    LKS_DO(server, "ZADD", f->keys.timeouts, "1", "lost"); /* which is over now */
    is_served(f, 1);
    lks_monitor_close(monitor);
}

/* All in the same window: one after the other each would block the lock for one of its own. */
TEST(all_that_lack_a_timeout_get_one_with_the_head, struct fixture *f)
{
    static const char *const lost[] = {"lost", "lost too", "lost as well"};

    LKS_DO(server, "RPUSH", f->keys.queue, lost[0], lost[1], lost[2]);
    wait_for(f, 1);
    for (size_t i = 0; i < sizeof lost / sizeof lost[0]; i++) {
        assert_true(lkf_score(&f->keys, lost[i]) > 0);
        LKS_DO(server, "ZADD", f->keys.timeouts, "XX", "1", lost[i]); /* which is over now */
    }
    is_served(f, 1);
}

TEST(a_head_without_a_timeout_keeps_its_place_while_it_blocks_nobody, struct fixture *f)
{
    take(f, 0);
    LKS_DO(server, "RPUSH", f->keys.queue, "lost");
    wait_for(f, 1);
    assert_int_equal(lkf_score(&f->keys, "lost"), -1);
    int fd = listen_to(f, "lost");
    give_back(f, 0);
    is_told(fd);
    assert_true(lkf_score(&f->keys, "lost") > 0);
    struct lkf_foreign lost = {.owner = "lost", .lease_ms = LEASE_MS, .wait_ms = 1000};
    assert_int_equal(lkf_foreign_try(&f->keys, &lost), LKF_TAKEN); /* it was alive */
    assert_int_equal(lkf_foreign_unlock(&f->keys, &lost), 1);
    is_served(f, 1);
    (void)close(fd);
}

TEST(a_waiter_whose_timeout_vanished_keeps_its_place, struct fixture *f)
{
    take(f, 0);
    wait_for(f, 1);
    wait_for(f, 2);
    LKS_DO(server, "ZREM", f->keys.timeouts, f->tokens[1]);
    LKS_EVENTUALLY(lkf_score(&f->keys, f->tokens[1]) > 0, SOON_MS);
    assert_true(queue_is(f, f->tokens[1], f->tokens[2]));
    assert_int_equal(atomic_load(&f->places), 2);
    give_back(f, 0);
    is_served(f, 1);
    is_served(f, 2);
}

TEST(a_waiter_whose_place_vanished_gets_another, struct fixture *f)
{
    take(f, 0);
    wait_for(f, 1);
    wait_for(f, 2);
    LKS_DO(server, "LREM", f->keys.queue, "0", f->tokens[1]);
    LKS_EVENTUALLY(queue_is(f, f->tokens[2], f->tokens[1]), SOON_MS);
    LKS_EVENTUALLY(atomic_load(&f->places) == 3, SOON_MS); /* and it is told */
    give_back(f, 0);
    is_served(f, 2);
    is_served(f, 1);
}

TEST(a_waiter_whose_place_vanished_and_finds_the_lock_free_tells_a_place_too, struct fixture *f)
{
    take(f, 0);
    wait_for(f, 1);
    LKS_DO(server, "DEL", f->keys.lock, f->keys.queue, f->keys.timeouts);
    is_served(f, 1);
    assert_int_equal(atomic_load(&f->places), 2); /* so who came between did not overtake it */
    assert_int_equal(lk_lock_release(f->locks[0], NULL), LK_NOT_OWNER);
}

TEST(a_queue_that_vanished_is_built_again, struct fixture *f)
{
    take(f, 0);
    for (size_t i = 1; i < LOCKS; i++)
        wait_for(f, i);
    LKS_DO(server, "DEL", f->keys.queue, f->keys.timeouts);
    LKS_EVENTUALLY(lkf_length(&f->keys) == LOCKS - 1, SOON_MS);
    LKS_EVENTUALLY(LKS_INTEGER(server, "ZCARD", f->keys.timeouts) == LOCKS - 1, SOON_MS);
    for (size_t i = 1; i < LOCKS; i++)
        is_cancelled(f, i);
    give_back(f, 0);
}

/* Its owner, if it lives, asks again and gets a place. With Redisson alone it waits for ever. */
TEST(a_timeout_without_a_place_is_dropped, struct fixture *f)
{
    struct lkf_foreign stray = {.owner = "stray", .lease_ms = LEASE_MS, .wait_ms = 60000};

    take(f, 0);
    LKS_DO(server, "ZADD", f->keys.timeouts, "9999999999999", "stray");
    assert_true(lkf_foreign_try(&f->keys, &stray) >= 0);
    assert_int_equal(lkf_length(&f->keys), 0); /* told that it waits, and does not */
    wait_for(f, 1);
    assert_int_equal(lkf_score(&f->keys, "stray"), -1);
    assert_true(lkf_foreign_try(&f->keys, &stray) >= 0);
    assert_true(queue_is(f, f->tokens[1], "stray"));
    lkf_foreign_give_up(&f->keys, &stray);
    give_back(f, 0);
    is_served(f, 1);
}

TEST(a_place_that_is_there_twice_counts_once, struct fixture *f)
{
    take(f, 0);
    wait_for(f, 1);
    LKS_DO(server, "RPUSH", f->keys.queue, f->tokens[1]);
    wait_for(f, 2);
    LKS_DO(server, "RPUSH", f->keys.queue, f->tokens[2]);
    give_back(f, 0);
    assert_int_equal(lks_wait_end(&f->waits[1]), LK_OK);
    assert_true(queue_is(f, f->tokens[2], f->tokens[2]));
    is_cancelled(f, 2);
    assert_int_equal(lkf_length(&f->keys), 0);
    give_back(f, 1);
}

TEST(keys_of_another_type_are_an_error, struct fixture *f)
{
    const char *const keys[] = {f->keys.lock, f->keys.queue, f->keys.timeouts};

    for (size_t i = 0; i < 3; i++) {
        struct lk_error err = {0};

        LKS_DO(server, "SET", keys[i], "a text");
        assert_int_equal(lk_lock_acquire(f->locks[0], &long_wait, &err), LK_SERVER);
        assert_non_null(strstr(err.text, "WRONGTYPE"));
        assert_int_equal(LKS_INTEGER(server, "EXISTS", keys[0], keys[1], keys[2]), 1);
        LKS_DO(server, "DEL", keys[i]);
    }
}

/* ---- windows and clocks ---------------------------------------------------------------------- */

/* Checklist 49: by the server's clock they would be dead, had they not asked. */
TEST(those_who_live_outlast_their_windows, struct fixture *f)
{
    take(f, 0);
    wait_for(f, 1);
    wait_for(f, 2);
    long long until_ms = lkf_score(&f->keys, f->tokens[2]);
    while (lkf_server_ms(&f->keys) <= until_ms) {
        assert_true(queue_is(f, f->tokens[1], f->tokens[2]));
        lks_nap(5);
    }
    assert_true(lkf_score(&f->keys, f->tokens[1]) > until_ms);
    assert_int_equal(atomic_load(&f->places), 2);
    give_back(f, 0);
    is_served(f, 1);
    is_served(f, 2);
}

/* Checklist 50. */
TEST(who_is_dropped_by_a_clock_that_is_ahead_queues_again, struct fixture *f)
{
    struct lkf_foreign foreign = {
        .owner = "f:1", .lease_ms = LEASE_MS, .wait_ms = 1000, .ahead_ms = 600000};

    take(f, 0);
    wait_for(f, 1);
    assert_true(lkf_foreign_try(&f->keys, &foreign) >= 0);
    LKS_EVENTUALLY(queue_is(f, "f:1", f->tokens[1]), SOON_MS);
    lkf_foreign_give_up(&f->keys, &foreign);
    give_back(f, 0);
    is_served(f, 1);
}

/* Whether a client sent a word; the steps of scripts are left out: they have the server's clock. */
static bool has_sent(char *text, const char *word)
{
    char *rest = NULL;

    for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
        if (!strstr(line, " lua] ") && strstr(line, word)) return true;
    }
    return false;
}

TEST(no_clock_of_ours_is_sent, struct fixture *f)
{
    struct lks_monitor *monitor = lks_monitor_open(server);
    char epoch[16];

    take(f, 0);
    wait_for(f, 1);
    wait_for(f, 2);
    is_cancelled(f, 1);
    give_back(f, 0);
    is_served(f, 2);
    char *text = strdup(lks_monitor_text(monitor, server));
    char *again = strdup(lks_monitor_text(monitor, server));
    (void)snprintf(epoch, sizeof epoch, "\"%lld", lkf_server_ms(&f->keys) / 100000000);

    assert_true(lks_count(text, epoch) > 0); /* the scripts do write such times */
    assert_false(has_sent(text, epoch));
    assert_true(has_sent(again, "\"EVALSHA\""));
    free(text);
    free(again);
    lks_monitor_close(monitor);
}
