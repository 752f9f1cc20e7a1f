/*
 * fork, exec, kill. Between fork and exec stand only system calls. A child of our own writes one record
 * into a pipe and ends. One thread.
 */
#include "process.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "moment.h"
#include "works.h"

enum { WORDS_MAX = 24 };

pid_t process_start(const char *const *argv, int in, int out, int errors, struct lk_error *err)
{
    char *words[WORDS_MAX] = {NULL}; /* exec changes nothing, its prototype is older than const */
    pid_t parent = getpid();

    for (size_t i = 0; i < WORDS_MAX - 1 && argv[i]; i++)
        memcpy(&words[i], &argv[i], sizeof words[i]);
    pid_t pid = fork();

    if (pid > 0) return pid;
    if (pid < 0) {
        (void)LKI_FAIL_ERRNO(err, LK_NO_MEMORY, "fork");
        return 0;
    }
    int nowhere = open("/dev/null", O_RDWR | O_CLOEXEC);
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(1); /* it ended before we asked */
    (void)setsid();                    /* Ctrl-C in the terminal is for the parent */
    moment_interrupt_forget();
    (void)dup2(in < 0 ? nowhere : in, 0);
    (void)dup2(out < 0 ? nowhere : out, 1);
    (void)dup2(errors < 0 ? nowhere : errors, 2);
    closefrom(STDERR_FILENO + 1); /* libzookeeper's connection is not close-on-exec */
    if (words[0]) (void)execvp(words[0], words);
    _exit(127);
}

void process_beside(const char *name, char out[PROCESS_PATH_MAX])
{
    char self[PROCESS_PATH_MAX - 40] = "";

    if (readlink("/proc/self/exe", self, sizeof self - 1) < 0) self[0] = '\0';
    char *slash = strrchr(self, '/');
    if (slash) *slash = '\0';
    (void)snprintf(out, PROCESS_PATH_MAX, "%s/%s", self, name);
}

void process_kill(pid_t pid)
{
    if (pid <= 0) return;
    (void)kill(pid, SIGKILL);
    while (waitpid(pid, NULL, 0) < 0 && errno == EINTR) {}
}

/* ---- children of our own -------------------------------------------------------------------------- */

struct record {
    lk_status status;
    double values[VALUES_MAX];
    struct lk_error err; /* where: good in the parent too, it is the same program */
};
_Static_assert(sizeof(struct record) <= 4096, "a pipe takes it in one piece");

static void be_child(work_function *body, struct stage *stage, const struct task *task, int to,
                     pid_t parent)
{
    struct record record = {.status = LK_OK};

    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(1); /* it ended before we asked */
    moment_interrupt_forget();
    record.status = body(stage, task, record.values, &record.err);
    _exit(write(to, &record, sizeof record) == (ssize_t)sizeof record ? 0 : 1);
}

lk_status process_measure(work_function *body, struct stage *stage, const struct task *task,
                          double *out_values, struct lk_error *err)
{
    struct record record = {.status = LK_OK};
    pid_t parent = getpid();
    ssize_t got = -1;
    int ends[2];

    if (pipe2(ends, O_CLOEXEC) != 0) return LKI_FAIL_ERRNO(err, LK_NO_MEMORY, "pipe");
    pid_t pid = fork();
    if (pid == 0) be_child(body, stage, task, ends[1], parent);
    (void)close(ends[1]);
    while (pid > 0 && (got = read(ends[0], &record, sizeof record)) < 0 && errno == EINTR &&
           !moment_interrupt_came()) {}
    (void)close(ends[0]);
    process_kill(pid);
    if (moment_interrupt_came()) return LKI_FAIL(err, LK_CANCELLED, "interrupted");
    if (got != (ssize_t)sizeof record)
        return LKI_FAIL(err, LK_SERVER, "the measuring process died");
    for (size_t i = 0; i < VALUES_MAX; i++)
        out_values[i] = record.values[i];
    if (err && record.status != LK_OK) *err = record.err;
    return record.status;
}
