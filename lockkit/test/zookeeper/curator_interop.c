/*
 * lockkit's Curator dialect, and Curator: also its semaphore and its barrier.
 */
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lk_rival.h"

enum { SOON_MS = 2000, LONG_MS = 30000 };

LKS_NEW(lk_lock, permit, lk_permit_lock_new);
LKS_NEW(lk_latch, latch, lk_latch_new);

static void set_permits(const char *key, int64_t count)
{
    lk_permits *permits = lk_permits_new(lkz_rival_arena().client, key, NULL);

    assert_int_equal(lk_permits_set(permits, count, NULL), LK_OK);
    lk_permits_free(permits);
}

static void they(const char *result, const char *words)
{
    (void)peer_must(lkz_rival_arena().peer, result, "%s", words);
}

TEST(a_semaphore_of_one_is_handed_over_and_shared)
{
    struct meeting meeting = {.peer = lkz_rival_arena().peer,
                              .lock = permit(lkz_rival_arena().client, "one"),
                              .kind = "permits",
                              .key = "/t/one"};

    set_permits("one", 1);
    meeting_excludes(&meeting);
    meeting_hands_over(&meeting);
    meeting_contends(&meeting, 2000);
    assert_int_equal(lk_lock_close(meeting.lock, NULL), LK_OK);
}

TEST(both_count_the_same_and_hear_when_there_are_more)
{
    lk_lock *first = permit(lkz_rival_arena().client, "two"),
            *second = permit(lkz_rival_arena().client, "two");
    struct lks_wait wait;

    (void)matrix_begin("permits", "number, raised by either");
    set_permits("two", 2);
    assert_int_equal(lks_acquire(first, 0, LONG_MS), LK_OK);
    they("ok", "1 lock permits /t/two wait=1000");
    assert_int_equal(lks_acquire(second, 300, LONG_MS), LK_BUSY);
    they("busy", "2 lock permits /t/two wait=300");
    lks_wait_start(&wait, second, LONG_MS);
    LKS_EVENTUALLY(lkz_count(lkz_rival_arena().server, "/t/two/leases") == 3, SOON_MS);
    they("ok", "3 set permits /t/two n=3");
    assert_int_equal(lks_wait_end(&wait), LK_OK);
    unsigned waiter = peer_send(lkz_rival_arena().peer, "2 lock permits /t/two wait=20000");
    LKS_EVENTUALLY(lkz_count(lkz_rival_arena().server, "/t/two/leases") == 4, SOON_MS);
    set_permits("two", 4);
    (void)peer_await(lkz_rival_arena().peer, waiter, "ok", SOON_MS);
    they("ok", "1 unlock permits /t/two");
    they("ok", "2 unlock permits /t/two");
    assert_int_equal(lk_lock_close(second, NULL), LK_OK);
    assert_int_equal(lk_lock_close(first, NULL), LK_OK);
    matrix_pass();
}

TEST(a_permit_of_a_rival_that_dies_or_sleeps_too_long_comes_back)
{
    lk_lock *lock = permit(lkz_rival_arena().client, "dies");

    set_permits("dies", 1);
    for (int i = 0; i < 2; i++) {
        struct peer *dying = lkz_rival_start();

        (void)matrix_begin("permits", i == 0 ? "killed holder" : "paused holder");
        (void)peer_must(dying, "ok", "1 lock permits /t/dies wait=1000");
        double begin = lks_now_ms();
        if (i == 0) peer_kill(dying);
        if (i == 1) (void)kill(peer_pid(dying), SIGSTOP);
        assert_int_equal(lks_acquire(lock, RIVAL_SESSION_MS + SOON_MS, LONG_MS), LK_OK);
        assert_true(lks_now_ms() - begin > RIVAL_SESSION_MS / 3.0);
        matrix_note("%.0f ms of a session of %d", lks_now_ms() - begin, RIVAL_SESSION_MS);
        if (i == 1) (void)kill(peer_pid(dying), SIGCONT);
        if (i == 1) (void)peer_must(dying, "ok", "1 unlock permits /t/dies");
        they("busy", "1 lock permits /t/dies wait=0");
        assert_int_equal(lk_lock_release(lock, NULL), LK_OK);
        peer_stop(dying);
        matrix_pass();
    }
    lk_lock_free(lock);
}

/* In a process that sleeps past its session; what it sees then is its exit status. */
static pid_t hold_in_a_child(const char *key)
{
    int fds[2] = {-1, -1};
    char word = 0;

    assert_int_equal(pipe(fds), 0);
    pid_t pid = fork();
    if (pid == 0) {
        lk_lock *lock = permit(lkz_client(lkz_rival_arena().server, NULL), key);

        word = lks_acquire(lock, SOON_MS, LONG_MS) == LK_OK ? 'h' : '?';
        (void)!write(fds[1], &word, 1);
        while (lk_held(lock))
            lks_nap(1);
        _exit(lk_lock_release(lock, NULL) == LK_OK);
    }
    (void)close(fds[1]);
    assert_int_equal(read(fds[0], &word, 1), 1);
    assert_int_equal(word, 'h');
    (void)close(fds[0]);
    return pid;
}

TEST(the_rival_has_the_permit_of_a_holder_of_ours_that_sleeps_past_its_session)
{
    int status = -1;

    (void)matrix_begin("permits", "lockkit paused");
    set_permits("sleeps", 1);
    pid_t pid = hold_in_a_child("sleeps");
    they("busy", "1 lock permits /t/sleeps wait=0");
    (void)kill(pid, SIGSTOP);
    they("ok", "1 lock permits /t/sleeps wait=8000");
    (void)kill(pid, SIGCONT);
    (void)waitpid(pid, &status, 0);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    assert_int_equal(lkz_count(lkz_rival_arena().server, "/t/sleeps/leases"), 1);
    they("ok", "1 unlock permits /t/sleeps");
    matrix_pass();
}

TEST(a_create_without_answer_takes_one_permit_before_the_rival)
{
    struct lkz_link link = {0};

    lkz_link_start(&link, lkz_rival_arena().server);
    lk_client *client = lkz_link_client(&link);
    lk_lock *lock = permit(client, "unanswered");
    (void)matrix_begin("permits", "lost reply to a create");
    set_permits("unanswered", 1);
    they("ok", "1 lock permits /t/unanswered wait=0");
    they("ok", "1 unlock permits /t/unanswered");
    for (int spared = 0; spared < 2; spared++) { /* the place in the queue, the lease */
        atomic_store(&link.spared, spared);
        atomic_store(&link.fault, LKZ_EAT_CREATE);
        assert_int_equal(lks_acquire(lock, LONG_MS, LONG_MS), LK_OK);
        assert_int_equal(link.eaten, spared + 1);
        they("busy", "1 lock permits /t/unanswered wait=300");
        assert_int_equal(lkz_count(lkz_rival_arena().server, "/t/unanswered/leases"), 1);
        assert_int_equal(lk_lock_release(lock, NULL), LK_OK);
        they("ok", "1 lock permits /t/unanswered wait=1000");
        they("ok", "1 unlock permits /t/unanswered");
    }
    lk_lock_free(lock);
    lk_client_close(client);
    lkz_link_stop(&link);
    matrix_pass();
}

static lk_status await_latch(struct lks_wait *wait)
{
    return lk_latch_await(wait->what, LONG_MS, NULL);
}

TEST(a_barrier_of_either_opens_for_both)
{
    lk_latch *ours = latch(lkz_rival_arena().client, "barrier"),
             *waiting = latch(lkz_rival_arena().client, "barrier");
    struct lks_wait wait = {.run = await_latch, .what = waiting};
    int64_t count = -1;

    (void)matrix_begin("latch", "barrier set and opened by either");
    assert_int_equal(lk_latch_try_set(ours, 2, NULL), LK_OK);
    unsigned waiter = peer_send(lkz_rival_arena().peer, "1 await latch /t/barrier wait=20000");
    assert_int_equal(lk_latch_count_down(ours, NULL), LK_OK);
    lks_nap(300);
    assert_false(peer_has_answered(lkz_rival_arena().peer, waiter));
    assert_int_equal(lk_latch_count_down(ours, NULL), LK_OK);
    (void)peer_await(lkz_rival_arena().peer, waiter, "ok", SOON_MS);
    they("ok", "1 set latch /t/barrier");
    assert_int_equal(lk_latch_count(ours, &count, NULL), LK_OK);
    assert_int_equal(count, 1);
    assert_int_equal(lk_latch_try_set(ours, 2, NULL), LK_BUSY);
    lks_wait_begin(&wait);
    LKS_EVENTUALLY(strstr(lkz_says(lkz_rival_arena().server, 0, "wchp"), "/t/barrier"), SOON_MS);
    double begin = lks_now_ms();
    they("ok", "1 down latch /t/barrier");
    assert_int_equal(lks_wait_end(&wait), LK_OK);
    assert_true(lks_now_ms() - begin < 500);
    they("ok", "1 set latch /t/barrier");
    waiter = peer_send(lkz_rival_arena().peer, "1 await latch /t/barrier wait=20000");
    assert_int_equal(lk_latch_count_down(ours, NULL), LK_OK);
    (void)peer_await(lkz_rival_arena().peer, waiter, "ok", SOON_MS);
    lk_latch_free(waiting);
    lk_latch_free(ours);
    matrix_pass();
}

static struct peer *start(const char *hosts)
{
    return meeting_java("CuratorPeer", hosts);
}

int main(int argc, char **argv)
{
    return lkz_rival_run(
        &(const struct lkz_rival){.name = "curator", .start = start, .sees_strangers = true}, argc,
        argv);
}
