/*
 * Leases that are renewed, leases that end, and how their holders learn of it: the watchdog on a
 * real server that is paused, emptied and lied to.
 */
#include <poll.h>
#include <stdatomic.h>
#include <time.h>

#include "test/support/lk_net.h"
#include "test/support/lk_support.h"

enum { LOCKS = 20, LEASE_MS = 3000, LONG_MS = 60000, PATIENT_MS = 20000 };

LKS_SERVER(lks_server_start(NULL));

struct fixture {
    lk_client *client;
    lk_lock *lock;
    const char *key;
    atomic_int losses;   /* calls of on_lost */
    atomic_int renewals; /* that the server confirmed */
    atomic_int failures; /* of other renewals */
    atomic_int connects;
    atomic_uint largest; /* round trip, in commands */
};

static void count_event(const struct lk_event *event, void *arg)
{
    struct fixture *f = arg;

    if (event->type == LK_EVENT_RENEW)
        atomic_fetch_add(event->status == LK_OK ? &f->renewals : &f->failures, 1);
    if (event->type == LK_EVENT_CONNECT) atomic_fetch_add(&f->connects, 1);
    if (event->type == LK_EVENT_ROUND_TRIP && event->attempts > atomic_load(&f->largest))
        atomic_store(&f->largest, event->attempts); /* one thread has more than one command */
}

static void open_all(struct fixture *f, int64_t command_ms)
{
    f->key = lks_new_key(server, "loss");
    f->client = lks_client_with(server, (struct lk_client_options){.command_ms = command_ms,
                                                                   .on_event = count_event,
                                                                   .on_event_arg = f});
    f->lock = lks_mutex(f->client, f->key);
}

static void close_all(struct fixture *f)
{
    lk_lock_free(f->lock);
    lk_client_close(f->client);
}

SET_UP(struct fixture, f)
{
    open_all(f, PATIENT_MS);
}

TEAR_DOWN(struct fixture, f)
{
    lks_server_resume(server);
    LKS_DO(server, "CONFIG", "SET", "maxclients", "10000");
    close_all(f);
}

/* No answer is waited for longer than that. */
static void be_hasty(struct fixture *f, int64_t command_ms)
{
    close_all(f);
    open_all(f, command_ms);
}

static lk_status try_renewed(struct fixture *f, lk_lock *lock, int64_t lease_ms,
                             int64_t max_hold_ms, struct lk_error *err)
{
    struct lk_lock_options options = {.lease_ms = lease_ms,
                                      .is_renewed = true,
                                      .max_hold_ms = max_hold_ms,
                                      .on_lost = lks_count_loss,
                                      .on_lost_arg = &f->losses};

    return lk_lock_acquire(lock, &options, err);
}

static void acquire_renewed(struct fixture *f, lk_lock *lock, int64_t lease_ms, int64_t max_hold_ms)
{
    struct lk_error err = {0};

    if (try_renewed(f, lock, lease_ms, max_hold_ms, &err) != LK_OK) fail_msg("%s", err.text);
}

static bool is_readable(int fd, int wait_ms)
{
    struct pollfd poll_fd = {.fd = fd, .events = POLLIN};

    return poll(&poll_fd, 1, wait_ms) == 1;
}

/* All holds are asked for, as their connection has ended. */
static void ask_now(void)
{
    LKS_DO(server, "CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes");
}

static void ask_and_see_renewed(struct fixture *f, int count)
{
    int before = atomic_load(&f->renewals);

    ask_now();
    LKS_EVENTUALLY(atomic_load(&f->renewals) >= before + count, 5000);
}

/* The same of a server that stands from now on: it gets the question, and does not answer. */
static void ask_in_vain(struct fixture *f)
{
    int before = atomic_load(&f->connects);

    lks_server_pause(server);
    lk_net_cut(server->url + strlen("unix://"));
    LKS_EVENTUALLY(atomic_load(&f->connects) > before, 5000);
}

/* ---- the hold lasts --------------------------------------------------------------------------------- */

TEST(the_watchdog_keeps_it_longer_than_its_lease, struct fixture *f)
{
    double begin = lks_now_ms();

    acquire_renewed(f, f->lock, LEASE_MS, 0);
    while (lks_now_ms() - begin < LEASE_MS + 300) {
        assert_true(lk_held(f->lock));
        assert_in_range(LKS_INTEGER(server, "PTTL", f->key), 1, LEASE_MS);
        lks_nap(5);
    }

    assert_true(atomic_load(&f->renewals) >= 1); /* every third of the lease, and not more often */
    assert_true(atomic_load(&f->renewals) <= (lks_now_ms() - begin) / (LEASE_MS / 3.0));
    assert_int_equal(atomic_load(&f->losses), 0);
    assert_int_equal(lk_lock_release(f->lock, NULL), LK_OK);
    assert_int_equal(LKS_INTEGER(server, "EXISTS", f->key), 0);
}

TEST(max_hold_ends_it, struct fixture *f)
{
    acquire_renewed(f, f->lock, 2400, 1000);
    LKS_EVENTUALLY(atomic_load(&f->losses) == 1, 10000);

    assert_true(atomic_load(&f->renewals) <= 1); /* after 800 ms, and none after 1600 */
    assert_false(lk_held(f->lock));
    LKS_EVENTUALLY(LKS_INTEGER(server, "EXISTS", f->key) == 0, 5000);
    assert_int_equal(lk_lock_release(f->lock, NULL), LK_NOT_OWNER);
}

TEST(a_broken_connection_does_not_end_it, struct fixture *f)
{
    acquire_renewed(f, f->lock, LONG_MS, 0);
    for (int i = 0; i < 12; i++)
        ask_and_see_renewed(f, 1);

    assert_true(lk_held(f->lock));
    assert_int_equal(atomic_load(&f->losses), 0);
    assert_int_equal(lk_lock_release(f->lock, NULL), LK_OK);
}

/* The connection whose last command was this one. */
static void kill_who_said(const char *command)
{
    char *list = strdup(LKS_TEXT(server, "CLIENT", "LIST", "TYPE", "normal"));
    char *rest = list;
    char needle[32];
    unsigned killed = 0;

    (void)snprintf(needle, sizeof needle, " cmd=%s ", command);
    for (char *row = strsep(&rest, "\n"); row; row = strsep(&rest, "\n")) {
        if (!strstr(row, needle)) continue;
        LKS_DO(server, "CLIENT", "KILL", "ID", strsep(&row, " ") + 3); /* "id=7" */
        killed++;
    }
    free(list);
    assert_int_equal(killed, 1);
}

/* Its files, too, may be at their limit: for the watchdog it is the same refusal. */
TEST(no_room_for_another_connection_does_not_end_it, struct fixture *f)
{
    acquire_renewed(f, f->lock, LEASE_MS, 0);
    LKS_DO(server, "CONFIG", "SET", "maxclients", "1");   /* who is there stays */
    LKS_EVENTUALLY(atomic_load(&f->renewals) >= 1, 5000); /* by a connection that was made before */
    kill_who_said("evalsha");
    int renewals = atomic_load(&f->renewals);
    LKS_EVENTUALLY(atomic_load(&f->renewals) > renewals, 5000); /* by one of the pool */

    assert_true(lk_held(f->lock));
    assert_int_equal(atomic_load(&f->losses), 0);
}

/* ---- the hold ends ---------------------------------------------------------------------------------- */

TEST(a_paused_server_cannot_hide_the_end, struct fixture *f)
{
    int fd = lk_lock_lost_fd(f->lock);
    double begin = lks_now_ms();

    acquire_renewed(f, f->lock, 1500, 0);
    lks_server_pause(server);
    assert_true(is_readable(fd, 10000)); /* while it stands */

    assert_true(lks_now_ms() - begin > 1400);
    assert_false(lk_held(f->lock));
    LKS_EVENTUALLY(atomic_load(&f->losses) == 1, 5000);
    lks_server_resume(server);
    (void)lk_lock_release(f->lock, NULL);
}

TEST(a_renewal_without_answer_does_not_hide_the_end_of_another, struct fixture *f)
{
    lk_lock *other = lks_mutex(f->client, lks_key(server, "not-renewed"));
    int fd = lk_lock_lost_fd(other);

    acquire_renewed(f, f->lock, LEASE_MS * 3 / 2,
                    0); /* asked for after half of that, till its end */
    assert_int_equal(lks_acquire(other, 0, LEASE_MS * 3 / 5), LK_OK);
    lks_server_pause(server);
    assert_true(is_readable(fd, 10000));

    assert_true(lk_held(f->lock));
    lks_server_resume(server);
    (void)lk_lock_release(other, NULL);
    (void)lk_lock_release(f->lock, NULL);
    lk_lock_free(other);
}

/* It is given up at its own end; those who were asked for with it have time. */
TEST(a_short_lease_does_not_fail_the_renewals_of_its_neighbours, struct fixture *f)
{
    enum { NEIGHBOURS = 100 };
    lk_lock *neighbours[NEIGHBOURS];

    for (size_t i = 0; i < NEIGHBOURS; i++) {
        neighbours[i] = lks_mutex(f->client, lks_new_key(server, "patient"));
        acquire_renewed(f, neighbours[i], LONG_MS, 0);
    }
    ask_and_see_renewed(f, NEIGHBOURS);
    acquire_renewed(f, f->lock, 1500, 0);
    atomic_store(&f->renewals, 0);
    atomic_store(&f->failures, 0);
    ask_in_vain(f);
    LKS_EVENTUALLY(atomic_load(&f->losses) == 1, 5000);
    lks_server_resume(server);
    LKS_EVENTUALLY(atomic_load(&f->renewals) >= NEIGHBOURS, 5000);

    assert_int_equal(atomic_load(&f->failures), 1); /* its own */
    for (size_t i = 0; i < NEIGHBOURS; i++) {
        assert_int_equal(lk_lock_release(neighbours[i], NULL), LK_OK);
        lk_lock_free(neighbours[i]);
    }
}

/* Nothing here can suspend the machine; but a timer of another clock would stand still meanwhile. */
TEST(the_watchdog_sleeps_by_a_clock_that_never_stands_still, struct fixture *f)
{
    enum { THE_CLOCK = CLOCK_BOOTTIME };
    char words[32];
    unsigned timers = 0;

    acquire_renewed(f, f->lock, 1000, 0);
    (void)snprintf(words, sizeof words, "clockid: %d", THE_CLOCK);
    for (int fd = 0; fd < 64; fd++) {
        char text[512] = "", path[40];

        (void)snprintf(path, sizeof path, "/proc/self/fdinfo/%d", fd);
        FILE *file = fopen(path, "re");
        if (!file) continue;
        text[fread(text, 1, sizeof text - 1, file)] = '\0';
        (void)fclose(file);
        if (strstr(text, "clockid: ")) timers += strstr(text, words) ? 1 : 100;
    }
    assert_in_range(timers, 1, 99); /* the server's own client has one, too */
    assert_int_equal(lk_lock_release(f->lock, NULL), LK_OK);
}

TEST(a_deleted_key_is_noticed_and_not_made_again, struct fixture *f)
{
    int fd = lk_lock_lost_fd(f->lock);

    acquire_renewed(f, f->lock, LONG_MS, 0);
    assert_false(is_readable(fd, 0));
    LKS_DO(server, "DEL", f->key);
    ask_now();
    assert_true(is_readable(fd, 5000));

    assert_false(lk_held(f->lock));
    LKS_EVENTUALLY(atomic_load(&f->losses) == 1, 5000);
    assert_int_equal(LKS_INTEGER(server, "EXISTS", f->key), 0);
    assert_int_equal(lk_lock_release(f->lock, NULL), LK_NOT_OWNER);
    acquire_renewed(f, f->lock, LONG_MS, 0);
    assert_false(is_readable(fd, 0)); /* a new hold, a new beginning */
    assert_int_equal(lk_lock_release(f->lock, NULL), LK_OK);
    assert_int_equal(atomic_load(&f->losses), 1);
}

/* Long before its next renewal, and long after its first look. */
TEST(a_server_that_is_back_and_empty_is_asked_at_once, struct fixture *f)
{
    acquire_renewed(f, f->lock, 30000, 0);
    lks_nap(500);
    lks_server_kill(server);
    lks_server_restart(server);
    LKS_EVENTUALLY(atomic_load(&f->losses) == 1, 2000);

    assert_int_equal(lk_lock_release(f->lock, NULL), LK_NOT_OWNER);
}

TEST(failing_keys_do_not_stop_the_others, struct fixture *f)
{
    lk_lock *locks[LOCKS];
    const char *keys[LOCKS];
    char name[32];

    for (size_t i = 0; i < LOCKS; i++) {
        (void)snprintf(name, sizeof name, "many-%zu", i);
        keys[i] = lks_key(server, name);
        locks[i] = lks_mutex(f->client, keys[i]);
        acquire_renewed(f, locks[i], LONG_MS, 0);
    }
    LKS_DO(server, "DEL", keys[3]);
    LKS_DO(server, "RPUSH", keys[3], "another type");
    LKS_DO(server, "SET", keys[7], "another token");
    LKS_DO(server, "DEL", keys[11]);
    for (int i = 0; i < 3; i++)
        ask_and_see_renewed(f, LOCKS - 3); /* no later renewal brings anything back */

    assert_int_equal(atomic_load(&f->losses), 3);
    for (size_t i = 0; i < LOCKS; i++) {
        bool is_ours = i != 3 && i != 7 && i != 11;

        assert_int_equal(lk_held(locks[i]), is_ours);
        assert_int_equal(lk_lock_release(locks[i], NULL) == LK_OK, is_ours);
        lk_lock_free(locks[i]);
    }
    assert_string_equal(LKS_TEXT(server, "TYPE", keys[3]), "list");
    assert_int_equal(LKS_INTEGER(server, "PTTL", keys[7]), -1);
    assert_int_equal(LKS_INTEGER(server, "EXISTS", keys[11]), 0);
}

TEST(leases_taken_one_by_one_are_renewed_together, struct fixture *f)
{
    lk_lock *locks[LOCKS];
    char name[32];

    for (size_t i = 0; i < LOCKS; i++) {
        (void)snprintf(name, sizeof name, "step-%zu", i);
        locks[i] = lks_mutex(f->client, lks_key(server, name));
        acquire_renewed(f, locks[i], LEASE_MS, 0);
        lks_nap(1); /* they are due one after the other */
    }
    LKS_EVENTUALLY(atomic_load(&f->renewals) >= LOCKS, 5000);

    assert_true(atomic_load(&f->largest) >= LOCKS / 2); /* all, on a machine that is not busy */
    for (size_t i = 0; i < LOCKS; i++) {
        assert_int_equal(lk_lock_release(locks[i], NULL), LK_OK);
        lk_lock_free(locks[i]);
    }
}

/* ---- release and renewal ------------------------------------------------------------------------------ */

TEST(no_renewal_arrives_after_a_release, struct fixture *f)
{
    enum { CYCLES = 40 };
    char tokens[CYCLES][33];
    struct lks_monitor *monitor = lks_monitor_open(server);

    for (size_t i = 0; i < CYCLES; i++) {
        struct lk_error err = {0};
        lk_status status = try_renewed(f, f->lock, 90, 0, &err); /* renewed every 30 ms */

        tokens[i][0] = '\0';
        if (status == LK_LOST) continue; /* a slow machine took longer than the lease */
        if (status != LK_OK) fail_msg("%s", err.text);
        (void)snprintf(tokens[i], sizeof tokens[i], "%s", LKS_TEXT(server, "GET", f->key));
        lks_nap(20 + (int64_t)i % 25);
        if (lk_lock_release(f->lock, NULL) != LK_OK) tokens[i][0] = '\0'; /* likewise */
    }
    lks_nap(60);

    const char *text = lks_monitor_text(monitor, server);
    int released = 0;
    for (size_t i = 0; i < CYCLES; i++) {
        const char *last = NULL;

        if (strlen(tokens[i]) != 32) continue; /* lost before we looked */
        for (const char *at = strstr(text, tokens[i]); at; at = strstr(at + 1, tokens[i]))
            last = at;
        assert_non_null(last);
        while (last > text && last[-1] != '\n')
            last--;
        assert_int_equal(lks_count(last, "\n") > 0, 1);
        const char *channel = strstr(last, "lockkit_wake"); /* only a release names it */
        assert_true(channel && channel < strchr(last, '\n'));
        released++;
    }
    assert_true(released > CYCLES / 4);
    assert_true(atomic_load(&f->renewals) > CYCLES / 4);
    lks_monitor_close(monitor);
}

TEST(releasing_while_a_renewal_hangs_takes_no_longer_than_its_limit, struct fixture *f)
{
    enum { COMMAND_MS = 3000 };

    be_hasty(f, COMMAND_MS);
    acquire_renewed(f, f->lock, LONG_MS, 0);
    ask_in_vain(f);
    lks_nap(COMMAND_MS / 3);
    double begin = lks_now_ms();
    assert_int_equal(lk_lock_release(f->lock, NULL), LK_UNKNOWN);
    double took_ms = lks_now_ms() - begin;

    if (took_ms > 1.6 * COMMAND_MS) fail_msg("took %.0f ms", took_ms); /* both: more than that */
    lks_server_resume(server);
    LKS_EVENTUALLY(LKS_INTEGER(server, "EXISTS", f->key) == 0, 5000); /* it did arrive */
    assert_int_equal(lk_lock_release(f->lock, NULL), LK_OK); /* repeated: the first has done it */
}
