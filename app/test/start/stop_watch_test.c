/*
 * When the watch has had enough: of a step that does not end, of a signal that nobody takes.
 */
#include <semaphore.h>
#include <unistd.h>

#include "start/stop_watch.h"
#include "test/support/testing.h"

enum { SOON_MS = 20, LATE_MS = 60000 };

static struct {
    sigset_t signals;
    sem_t has_left;
    const char *step;
} world;

static void leave(const char *step, void *arg)
{
    world.step = step;
    (void)sem_post(&world.has_left);
}

static struct stop_watch *start(int64_t untaken_ms)
{
    struct stop_watch *self = stop_watch_new(&(struct stop_watch_options){
        .signals = &world.signals, .untaken_ms = untaken_ms, .leave = leave});

    assert_non_null(self);
    return self;
}

TEST(a_step_that_hangs_is_named)
{
    struct stop_watch *self = start(LATE_MS);

    stop_watch_begin(self, SOON_MS);
    stop_watch_step(self, "one");
    stop_watch_step(self, "two");
    assert_int_equal(sem_wait(&world.has_left), 0);
    assert_string_equal(world.step, "two");
    stop_watch_free(self);
}

TEST(a_signal_that_nobody_takes_is_a_stop_that_hangs)
{
    struct stop_watch *self = start(SOON_MS);
    const struct timespec at_once = {0};

    assert_int_equal(kill(getpid(), SIGTERM), 0);
    assert_int_equal(sem_wait(&world.has_left), 0);
    assert_int_equal(sigtimedwait(&world.signals, NULL, &at_once), SIGTERM);
    stop_watch_free(self);
}

TEST(a_stop_in_time_is_left_alone)
{
    struct stop_watch *self = start(LATE_MS);

    stop_watch_begin(self, LATE_MS);
    stop_watch_free(self);
    assert_int_equal(sem_trywait(&world.has_left), -1);
    stop_watch_begin(NULL, SOON_MS);
    stop_watch_step(NULL, "none");
    stop_watch_free(NULL);
}

int main(int argc, char **argv)
{
    (void)sigemptyset(&world.signals);
    (void)sigaddset(&world.signals, SIGTERM);
    if (sem_init(&world.has_left, 0, 0) != 0 ||
        pthread_sigmask(SIG_BLOCK, &world.signals, NULL) != 0)
        return 2;
    return testing_run(argc, argv);
}
