/*
 * A seckilld that is told to stop, and a thread that serves a connection stands still for ever: it ends in time
 * all the same, says what hangs, and its Redis has time to save.
 */
#include <dirent.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "test/support/app_support.h"
#include "test/support/testing.h"

enum { LIMIT_MS = 15000 + 10000 /* with its default --drain-ms; and its Redis */ };

struct stuck {
    char dir[APP_PATH_SIZE];
    struct app_process service;
    pid_t thread;
};

/* The first thread of the process whose name begins so; 0: there is none. */
static pid_t find_thread(pid_t pid, const char *name)
{
    char path[300];
    char comm[32] = "";
    const struct dirent *entry = NULL;
    pid_t found = 0;

    (void)snprintf(path, sizeof path, "/proc/%ld/task", (long)pid);
    DIR *all = opendir(path);
    while (all && !found &&
           (entry = readdir(all))) { /* NOLINT(concurrency-mt-unsafe): one thread */
        (void)snprintf(path, sizeof path, "/proc/%ld/task/%.20s/comm", (long)pid, entry->d_name);
        FILE *file = entry->d_name[0] == '.' ? NULL : fopen(path, "re");

        if (file && fgets(comm, sizeof comm, file) &&
            strncmp(comm, name, strnlen(name, sizeof "civetweb-worke" - 1)) == 0)
            found = (pid_t)strtol(entry->d_name, NULL, 10);
        if (file) (void)fclose(file);
    }
    if (all) (void)closedir(all);
    return found;
}

static void stand_still(pid_t thread)
{
    int status = 0;

    assert_int_equal(ptrace(PTRACE_SEIZE, thread, NULL, NULL), 0);
    assert_int_equal(ptrace(PTRACE_INTERRUPT, thread, NULL, NULL), 0);
    assert_int_equal(waitpid(thread, &status, __WALL), thread);
    assert_true(WIFSTOPPED(status));
}

/* Who is traced is gone only when we have heard of it. */
static int end_of(struct stuck *self)
{
    int64_t deadline_ms = clock_mono_ms() + LIMIT_MS;
    int status = -1;

    while (status < 0 && clock_mono_ms() < deadline_ms) {
        (void)waitpid(self->thread, NULL, WNOHANG | __WALL);
        status = app_wait(&self->service, 10);
    }
    return status;
}

static bool redis_has_saved(void *arg)
{
    const struct stuck *self = arg;

    return strstr(app_file(self->dir, "redis.log"), "bye bye") != NULL;
}

TEST(a_stop_ends_whatever_hangs)
{
    struct stuck stuck = {.thread = 0};

    app_folder_make(stuck.dir);
    assert_true(app_start(&stuck.service, stuck.dir, NULL));
    stuck.thread = find_thread(stuck.service.pid, "civetweb-worker");
    assert_true(stuck.thread > 0);
    stand_still(stuck.thread);
    assert_int_equal(kill(stuck.service.pid, SIGTERM), 0);
    assert_int_equal(end_of(&stuck), 1);
    assert_non_null(strstr(app_file(stuck.dir, "seckilld.log"), "the stop hangs: connections:"));
    assert_true(app_eventually(redis_has_saved, &stuck, LIMIT_MS));
    app_folder_remove(stuck.dir);
}
