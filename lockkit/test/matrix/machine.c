/*
 * See machine.h.
 */
#include "machine.h"

#include "test/support/lk_support.h"

enum { LOOK_MS = 2, LATE_MS = 40 }; /* beside some hundred threads it comes later than it should */

static struct {
    pthread_t thread;
    atomic_bool is_over;
    pthread_mutex_t mutex; /* guards these two */
    double looked_ms;      /* last */
    double stood_ms;
} machine = {.mutex = PTHREAD_MUTEX_INITIALIZER};

/* Since the last look. */
static double stood_since_locked(double now_ms)
{
    double gap_ms = now_ms - machine.looked_ms;

    return gap_ms > LATE_MS ? gap_ms : 0;
}

static void *machine_main(void *arg)
{
    while (!atomic_load(&machine.is_over)) {
        (void)pthread_mutex_lock(&machine.mutex);
        double now_ms = lks_now_ms();
        machine.stood_ms += stood_since_locked(now_ms);
        machine.looked_ms = now_ms;
        (void)pthread_mutex_unlock(&machine.mutex);
        lks_nap(LOOK_MS);
    }
    return arg;
}

void machine_watch(void)
{
    machine.looked_ms = lks_now_ms();
    assert_int_equal(pthread_create(&machine.thread, NULL, machine_main, NULL), 0);
}

void machine_let_be(void)
{
    atomic_store(&machine.is_over, true);
    assert_int_equal(pthread_join(machine.thread, NULL), 0);
}

double machine_stood_ms(void)
{
    (void)pthread_mutex_lock(&machine.mutex);
    double stood_ms = machine.stood_ms + stood_since_locked(lks_now_ms());
    (void)pthread_mutex_unlock(&machine.mutex);
    return stood_ms;
}
