/*
 * Signals that come while a lock is waited for. The lock is one of this file: kinds.c is not linked.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "ctl/wait.h"

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
    (void)hold;
    (void)err;
    for (int i = 0; i < TRIES && loses_first_cancel && atomic_load(&cancels) == 0; i++)
        nap();
    atomic_store(&is_cancelled, false);
    for (int i = 0; i < TRIES && answer == LK_BUSY && !atomic_load(&is_cancelled); i++)
        nap();
    return atomic_load(&is_cancelled) ? LK_CANCELLED : answer;
}

void kinds_cancel(struct kinds_hold *hold)
{
    (void)hold;
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

static void without_a_signal_it_is_the_locks_answer(void **state)
{
    int signal = 4711;

    (void)state;
    loses_first_cancel = false;
    answer = LK_OK;
    assert_int_equal(LK_OK, acquire(&signal, 0));
    assert_int_equal(0, signal);
    assert_int_equal(0, atomic_load(&cancels));
}

static void a_signal_ends_the_wait_and_is_told(void **state)
{
    int signal = 0;

    (void)state;
    loses_first_cancel = false;
    answer = LK_BUSY;
    assert_int_equal(LK_CANCELLED, acquire(&signal, SIGINT));
    assert_int_equal(SIGINT, signal);
}

static void also_one_that_comes_before_the_wait_has_begun(void **state)
{
    int signal = 0;

    (void)state;
    loses_first_cancel = true;
    answer = LK_BUSY;
    assert_int_equal(LK_CANCELLED, acquire(&signal, SIGTERM));
    assert_int_equal(SIGTERM, signal);
    assert_true(atomic_load(&cancels) > 1);
}

static void the_end_of_a_child_is_none(void **state)
{
    int signal = 0;

    (void)state;
    loses_first_cancel = false;
    answer = LK_OK;
    assert_int_equal(LK_OK, acquire(&signal, SIGCHLD));
    assert_int_equal(0, signal);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_a_signal_it_is_the_locks_answer),
        cmocka_unit_test(a_signal_ends_the_wait_and_is_told),
        cmocka_unit_test(also_one_that_comes_before_the_wait_has_begun),
        cmocka_unit_test(the_end_of_a_child_is_none),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
