/*
 * fork, exec, wait. One thread.
 */
#include "process.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clock.h"

enum { LOOK_EVERY_MS = 10, EXEC_FAILED = 127, WORDS_MAX = 62 };

static void reset_signals(void)
{
    static const int handled[] = {SIGINT, SIGTERM, SIGPIPE};
    struct sigaction plain = {.sa_handler = SIG_DFL};
    sigset_t none;

    for (size_t i = 0; i < sizeof handled / sizeof *handled; i++)
        (void)sigaction(handled[i], &plain, NULL);
    (void)sigemptyset(&none);
    (void)pthread_sigmask(SIG_SETMASK, &none, NULL);
}

/* In the child, between fork and exec: async-signal-safe calls alone. */
static void become(char *const words[], const char *stdout_path, const char *stderr_path,
                   pid_t parent)
{
    int flags = O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC;
    int input = open("/dev/null", O_RDONLY | O_CLOEXEC);
    int output = open(stdout_path, flags, 0644);
    int errors = open(stderr_path, flags, 0644);

    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(EXEC_FAILED); /* died before prctl took effect */
    (void)setpgid(0, 0);
    reset_signals();
    if (input < 0 || output < 0 || errors < 0) _exit(EXEC_FAILED);
    if (dup2(input, 0) < 0 || dup2(output, 1) < 0 || dup2(errors, 2) < 0) _exit(EXEC_FAILED);
    closefrom(STDERR_FILENO + 1); /* libcurl's sockets are not close-on-exec */
    if (words[0]) (void)execvp(words[0], words);
    _exit(EXEC_FAILED);
}

bool process_start(struct process *process, const char *const argv[], const char *stdout_path,
                   const char *stderr_path, struct failure *failure)
{
    char *words[WORDS_MAX + 1] = {NULL}; /* execvp wants them without const */
    pid_t parent = getpid();

    for (size_t i = 0; i < WORDS_MAX && argv[i]; i++)
        memcpy(&words[i], &argv[i], sizeof words[i]);
    *process = (struct process){.pid = 0};
    pid_t pid = fork();
    if (pid < 0) return failure_set(failure, "fork: %s", failure_errno_text());
    if (pid == 0) become(words, stdout_path, stderr_path, parent);
    process->pid = pid;
    return true;
}

bool process_is_running(struct process *process)
{
    if (process->pid == 0) return false;
    pid_t ended = waitpid(process->pid, &process->wait_status, WNOHANG);
    if (ended == 0 || (ended < 0 && errno == EINTR)) return true;
    process->pid = 0;
    process->has_ended = true;
    return false;
}

void process_signal(const struct process *process, int signal)
{
    if (process->pid > 0) (void)kill(process->pid, signal); /* gone already is fine */
}

bool process_wait(struct process *process, int64_t limit_ms)
{
    int64_t deadline_ms = clock_ms() + limit_ms;

    while (process_is_running(process)) {
        if (clock_ms() >= deadline_ms) return false;
        clock_sleep_ms(LOOK_EVERY_MS);
    }
    return true;
}

void process_ask(struct process *process)
{
    if (!process->is_asked) process_signal(process, SIGTERM); /* a second one means "at once" */
    process->is_asked = true;
}

void process_stop(struct process *process, int64_t grace_ms)
{
    process_ask(process);
    if (process_wait(process, grace_ms)) return;
    process_signal(process, SIGKILL);
    (void)process_wait(process, 60000); /* the kernel does not refuse SIGKILL */
}

long process_status(pid_t pid, const char *label)
{
    char path[40], line[256];
    long number = -1;

    (void)snprintf(path, sizeof path, "/proc/%ld/status", (long)pid);
    FILE *file = pid > 0 ? fopen(path, "re") : NULL;
    while (file && number < 0 && fgets(line, sizeof line, file))
        if (strncmp(line, label, strlen(label)) == 0)
            number = strtol(line + strlen(label), NULL, 10);
    if (file) (void)fclose(file); /* read only */
    return number;
}

void process_ending(const struct process *process, char *out, size_t size)
{
    int status = process->wait_status;

    if (!process->has_ended)
        (void)snprintf(out, size, "running");
    else if (WIFSIGNALED(status))
        (void)snprintf(out, size, "signal %d", WTERMSIG(status));
    else if (WEXITSTATUS(status) == EXEC_FAILED)
        (void)snprintf(out, size, "could not be started");
    else
        (void)snprintf(out, size, "exit status %d", WEXITSTATUS(status));
}
