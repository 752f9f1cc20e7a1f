/*
 * Signals that come while a lock is waited for. The lock is one of this file: kinds.c is not linked.
 */
#include <stdatomic.h>
#include <time.h>
#include <unistd.h>

#include "ctl/wait.h"
#include "test/support/testing.h"

enum { TRIES = 5000 };

static atomic_bool is_cancelled;
static atomic_uint cancels;
static bool loses_first_cancel;
static lk_status answer; /* when it is not cancelled; BUSY: waits to be */

static void nap(void)
{
    (void)nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
}

/* As lk_lock_acquire() does it: a cancel from before its begin is forgotten. */
lk_status kinds_acquire(struct kinds_hold *hold, struct lk_error *err)
{
    for (int i = 0; i < TRIES && loses_first_cancel && atomic_load(&cancels) == 0; i++)
        nap();
    atomic_store(&is_cancelled, false);
    for (int i = 0; i < TRIES && answer == LK_BUSY && !atomic_load(&is_cancelled); i++)
        nap();
    return atomic_load(&is_cancelled) ? LK_CANCELLED : answer;
}

void kinds_cancel(struct kinds_hold *hold)
{
    atomic_store(&is_cancelled, true);
    atomic_fetch_add(&cancels, 1);
}

static lk_status acquire(int *out_signal, int number)
{
    struct kinds_hold hold = {0};
    struct signals signals;

    atomic_store(&cancels, 0);
    assert_true(signals_open(&signals));
    if (number) assert_int_equal(0, kill(getpid(), number));
    lk_status status = wait_for(&hold, &signals, out_signal, NULL);
    signals_close(&signals);
    return status;
}

TEST(without_a_signal_it_is_the_locks_answer)
{
    int signal = 4711;

    loses_first_cancel = false;
    answer = LK_OK;
    assert_int_equal(LK_OK, acquire(&signal, 0));
    assert_int_equal(0, signal);
    assert_int_equal(0, atomic_load(&cancels));
}

TEST(a_signal_ends_the_wait_and_is_told)
{
    int signal = 0;

    loses_first_cancel = false;
    answer = LK_BUSY;
    assert_int_equal(LK_CANCELLED, acquire(&signal, SIGINT));
    assert_int_equal(SIGINT, signal);
}

TEST(also_one_that_comes_before_the_wait_has_begun)
{
    int signal = 0;

    loses_first_cancel = true;
    answer = LK_BUSY;
    assert_int_equal(LK_CANCELLED, acquire(&signal, SIGTERM));
    assert_int_equal(SIGTERM, signal);
    assert_true(atomic_load(&cancels) > 1);
}

TEST(the_end_of_a_child_is_none)
{
    int signal = 0;

    loses_first_cancel = false;
    answer = LK_OK;
    assert_int_equal(LK_OK, acquire(&signal, SIGCHLD));
    assert_int_equal(0, signal);
}
