/*
 * Processes and folders for the service's tests. Main thread of a test program only.
 */
#include "app_support.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "common/folder.h"

enum { START_LIMIT_MS = 60000, STOP_LIMIT_MS = 15000 };

void app_folder_make(char out[APP_PATH_SIZE])
{
    const char *base = secure_getenv("TMPDIR");

    (void)snprintf(out, APP_PATH_SIZE, "%s/seckill-XXXXXX",
                   base && strlen(base) < 60 ? base : "/tmp");
    if (!mkdtemp(out)) abort();
}

void app_folder_remove(const char *path)
{
    if (strstr(path, "/seckill-")) folder_remove(path);
}

const char *app_file(const char *dir, const char *name)
{
    static _Thread_local char text[65536];
    char path[APP_PATH_SIZE + 64];

    (void)snprintf(path, sizeof path, "%s/%s", dir, name);
    FILE *file = fopen(path, "re");
    text[file ? fread(text, 1, sizeof text - 1, file) : 0] = '\0';
    if (file) (void)fclose(file);
    return text;
}

static void program_path(const char *program, char out[APP_PATH_SIZE])
{
    const char *folder = secure_getenv("BUILD_DIR"); /* of make itest */

    (void)snprintf(out, APP_PATH_SIZE, "%s/%s", folder ? folder : "build/release", program);
}

/* In the child: die with the test program, write to these files, become the program. */
static _Noreturn void become(const char *path, char **argv, int out_fd, int err_fd)
{
    pid_t parent = getppid();

    if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != parent) _exit(126);
    if (dup2(out_fd, STDOUT_FILENO) < 0 || dup2(err_fd, STDERR_FILENO) < 0) _exit(126);
    (void)execvp(path, argv);
    _exit(127);
}

/* Fork from the main thread; tests start no threads while they start processes. */
static pid_t spawn(const char *path, char **argv, int out_fd, int err_fd)
{
    pid_t pid = fork();

    if (pid == 0) become(path, argv, out_fd, err_fd);
    return pid;
}

/* The first line that comes, within the limit. */
static bool read_line(int fd, char *out, size_t size)
{
    int64_t deadline_ms = clock_mono_ms() + START_LIMIT_MS;
    size_t len = 0;

    while (len + 1 < size) {
        struct pollfd wait = {.fd = fd, .events = POLLIN};
        int64_t left_ms = deadline_ms - clock_mono_ms();

        if (left_ms <= 0 || poll(&wait, 1, (int)left_ms) != 1) return false;
        if (read(fd, out + len, 1) != 1) return false;
        if (out[len] == '\n') break;
        len++;
    }
    out[len] = '\0';
    return true;
}

static int open_log(const char *dir)
{
    char path[APP_PATH_SIZE + 16];

    (void)snprintf(path, sizeof path, "%s/seckilld.log", dir);
    return open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
}

static size_t add_args(char **argv, size_t count, const char *const *args)
{
    for (; args && *args; args++) {
        if (count == APP_ARGS_MAX - 1) abort(); /* a test that says less than it means */
        argv[count++] = strdup(*args);
    }
    argv[count] = NULL;
    return count;
}

static void free_args(char **argv)
{
    for (; *argv; argv++)
        free(*argv);
}

bool app_start(struct app_process *out, const char *dir, const char *const *args)
{
    bool is_lab = !args || !*args || strcmp(*args, "no-lab") != 0;
    bool has_address = false; /* of its own; a second --listen is one more */
    const char *const first[] = {
        "seckilld", "--admin-listen",        "127.0.0.1:0", "--data", dir, "--connections",
        "64",       is_lab ? "--lab" : NULL, NULL};
    const char *const anywhere[] = {"--listen", "127.0.0.1:0", NULL};
    char *argv[APP_ARGS_MAX];
    char path[APP_PATH_SIZE];
    char line[512] = "";
    const char *words = NULL;
    int pipe_fds[2];
    int log_fd = open_log(dir);
    size_t count = 0;
    bool good = false;

    *out = (struct app_process){0};
    for (const char *const *arg = args; arg && *arg; arg++)
        has_address = has_address || strcmp(*arg, "--listen") == 0;
    count = add_args(argv, 0, first);
    count = add_args(argv, count, has_address ? NULL : anywhere);
    (void)add_args(argv, count, is_lab ? args : args + 1);
    program_path("seckilld", path);
    if (log_fd < 0 || pipe2(pipe_fds, O_CLOEXEC) != 0) abort();
    out->pid = spawn(path, argv, pipe_fds[1], log_fd);
    (void)close(pipe_fds[1]);
    (void)close(log_fd);
    free_args(argv);
    good = read_line(pipe_fds[0], line, sizeof line) && (words = strstr(line, "seckilld ")) &&
           sscanf(words, "seckilld %*[^:]: buyers %190[^,], admin %190[^,], redis %190[^\"\n]",
                  out->buyers, out->admin, out->redis) == 3;
    (void)close(pipe_fds[0]);
    if (!good) app_kill(out);
    return good;
}

void app_start_program(struct app_process *out, const char *program, const char *const *args,
                       const char *dir)
{
    char *argv[APP_ARGS_MAX];
    int log_fd = open_log(dir);

    if (log_fd < 0) abort();
    (void)add_args(argv, add_args(argv, 0, (const char *const[]){program, NULL}), args);
    *out = (struct app_process){.pid = spawn(program, argv, log_fd, log_fd)};
    free_args(argv);
    (void)close(log_fd);
}

bool app_start_redis(struct app_process *out, const char *dir)
{
    return app_start_redis_with(out, dir, NULL);
}

bool app_start_redis_with(struct app_process *out, const char *dir, const char *const *more)
{
    char socket[APP_PATH_SIZE + 16];
    const char *const args[] = {"--port", "0", "--unixsocket", socket, "--dir",         dir,
                                "--save", "",  "--appendonly", "yes",  "--appendfsync", "always",
                                NULL};
    const char *all[APP_ARGS_MAX] = {NULL};
    int64_t deadline_ms = clock_mono_ms() + START_LIMIT_MS;
    size_t count = sizeof args / sizeof args[0] - 1;

    memcpy(all, args, sizeof args);
    for (; more && *more; more++)
        all[count++] = *more;
    (void)snprintf(socket, sizeof socket, "%s/own.sock", dir);
    (void)unlink(socket);
    app_start_program(out, "redis-server", all, dir);
    (void)snprintf(out->redis, sizeof out->redis, "unix://%s", socket);
    while (access(socket, F_OK) != 0) { /* it listens from then on */
        if (clock_mono_ms() > deadline_ms || app_wait(out, 0) >= 0) return false;
        clock_pause_ms(10);
    }
    return true;
}

static size_t read_all(int fd, char *output, size_t size)
{
    size_t len = 0;
    ssize_t got = 0;

    while (len + 1 < size && (got = read(fd, output + len, size - len - 1)) > 0)
        len += (size_t)got;
    output[len] = '\0';
    return len;
}

int app_run(const char *program, const char *const *args, char *output, size_t size)
{
    char path[APP_PATH_SIZE];
    char *argv[APP_ARGS_MAX];
    struct app_process process = {0};
    int pipe_fds[2];

    (void)add_args(argv, add_args(argv, 0, (const char *const[]){program, NULL}), args);
    program_path(program, path);
    if (pipe2(pipe_fds, O_CLOEXEC) != 0) abort();
    process.pid = spawn(path, argv, pipe_fds[1], pipe_fds[1]);
    (void)close(pipe_fds[1]);
    (void)read_all(pipe_fds[0], output, size);
    (void)close(pipe_fds[0]);
    free_args(argv);
    return app_wait(&process, STOP_LIMIT_MS);
}

int app_wait(struct app_process *process, int64_t limit_ms)
{
    int64_t deadline_ms = clock_mono_ms() + limit_ms;
    int status = 0;

    if (!process->pid) return 0;
    while (waitpid(process->pid, &status, WNOHANG) == 0) {
        if (clock_mono_ms() >= deadline_ms) return -1;
        clock_pause_ms(5);
    }
    process->pid = 0;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

void app_kill(struct app_process *process)
{
    if (!process->pid) return;
    (void)kill(process->pid, SIGKILL);
    (void)app_wait(process, STOP_LIMIT_MS);
}

int app_stop(struct app_process *process)
{
    int status = 0;

    if (!process->pid) return 0;
    (void)kill(process->pid, SIGTERM);
    status = app_wait(process, STOP_LIMIT_MS);
    app_kill(process);
    return status;
}

static bool is_redis(long pid)
{
    char folder[32];

    (void)snprintf(folder, sizeof folder, "/proc/%ld", pid);
    return strcmp(app_file(folder, "comm"), "redis-server\n") == 0;
}

size_t app_redis_children_of(const struct app_process *process, pid_t *out, size_t max)
{
    char folder[64];
    char list[256];
    char *rest = list;
    size_t count = 0;

    (void)snprintf(folder, sizeof folder, "/proc/%d/task/%d", process->pid, process->pid);
    (void)snprintf(list, sizeof list, "%.255s", app_file(folder, "children"));
    while (*rest && count < max) {
        long pid = strtol(rest, &rest, 10);

        if (pid > 0 && is_redis(pid)) out[count++] = (pid_t)pid;
        rest += strspn(rest, " \n");
    }
    return count;
}

pid_t app_redis_child_of(const struct app_process *process)
{
    pid_t pid = 0;

    return app_redis_children_of(process, &pid, 1) == 1 ? pid : 0;
}

bool app_eventually(bool (*claim)(void *arg), void *arg, int64_t limit_ms)
{
    int64_t deadline_ms = clock_mono_ms() + limit_ms;

    while (!claim(arg)) {
        if (clock_mono_ms() >= deadline_ms) return false;
        clock_pause_ms(10);
    }
    return true;
}

void app_pause_until(int64_t at_ns)
{
    const struct timespec at = {.tv_sec = at_ns / 1000000000, .tv_nsec = at_ns % 1000000000};

    (void)clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL);
}
