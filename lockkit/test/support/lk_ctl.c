/*
 * See lk_ctl.h. Started by fork and exec, with nothing but system calls between the two.
 */
#include "lk_ctl.h"

#include <errno.h>
#include <fcntl.h>
#include <pty.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { FINISH_MS = 20000, WORDS_MAX = 40, FILES = 64, TEXTS = 16 };

static struct lkc_program last;

const char *lkc_path(void)
{
    static char path[256];
    const char *build_dir = getenv("BUILD_DIR"); /* NOLINT(concurrency-mt-unsafe): reads only */

    (void)snprintf(path, sizeof path, "%s/lockctl", build_dir ? build_dir : "build/release");
    return path;
}

const char *lkc_file(const struct lks_server *server, const char *name)
{
    static char paths[FILES][128];
    static size_t count;
    char *path = paths[count++ % FILES];

    (void)snprintf(path, sizeof paths[0], "%s/%s", server->dir, name);
    return path;
}

static void read_text(const char *path, char *out, size_t size)
{
    FILE *file = fopen(path, "re");
    size_t len = file ? fread(out, 1, size - 1, file) : 0;

    out[len] = '\0';
    if (file) (void)fclose(file);
}

const char *lkc_read(const char *path)
{
    static char text[LKC_TEXT_MAX];

    read_text(path, text, sizeof text);
    return text;
}

/* Our environment with another LOCKCTL_REDIS in front: the first one counts. */
static void make_environment(char *redis, char **out, size_t max)
{
    size_t count = 0;

    out[count++] = redis;
    for (char **at = environ; *at && count + 1 < max; at++)
        if (strncmp(*at, "LOCKCTL_REDIS=", 14) != 0) out[count++] = *at;
    out[count] = NULL;
}

static void make_words(char *argv[WORDS_MAX + 2], const char *const *words)
{
    const char *path = lkc_path();
    size_t count = 0;

    memcpy(&argv[0], &path, sizeof path); /* exec changes nothing */
    for (; words[count]; count++) {
        assert_true(count < WORDS_MAX);
        memcpy(&argv[count + 1], &words[count], sizeof words[0]);
    }
    argv[count + 1] = NULL;
}

void lkc_start(struct lkc_program *program, struct lks_server *server, const char *url,
               const char *const *words)
{
    static unsigned serial;
    char redis[512];
    char *environment[512];
    char *argv[WORDS_MAX + 2];
    pid_t parent = getpid();

    make_words(argv, words);
    (void)snprintf(redis, sizeof redis, "LOCKCTL_REDIS=%s", url ? url : server->url);
    make_environment(redis, environment, sizeof environment / sizeof environment[0]);
    (void)snprintf(program->out_path, sizeof program->out_path, "%s/out%u", server->dir, serial);
    (void)snprintf(program->err_path, sizeof program->err_path, "%s/err%u", server->dir, serial++);
    int nowhere = open("/dev/null", O_RDONLY | O_CLOEXEC);
    int out = open(program->out_path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    int err = open(program->err_path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    assert_true(nowhere >= 0 && out >= 0 && err >= 0);
    program->pid = fork();
    if (program->pid == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != parent) _exit(1);
        (void)dup2(nowhere, 0);
        (void)dup2(out, 1);
        (void)dup2(err, 2);
        (void)execve(argv[0], argv, environment);
        _exit(99);
    }
    (void)close(nowhere);
    (void)close(out);
    (void)close(err);
    assert_true(program->pid > 0);
}

int lkc_finish(struct lkc_program *program)
{
    int status = 0;
    double until = lks_now_ms() + FINISH_MS;

    while (waitpid(program->pid, &status, WNOHANG) == 0) {
        if (lks_now_ms() > until) {
            (void)kill(program->pid, SIGKILL);
            (void)waitpid(program->pid, NULL, 0);
            fail_msg("lockctl does not end; it said: %s", lkc_read(program->err_path));
        }
        lks_nap(1);
    }
    read_text(program->out_path, program->out, sizeof program->out);
    read_text(program->err_path, program->err, sizeof program->err);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

int lkc_do(struct lks_server *server, const char *url, const char *const *words)
{
    lkc_start(&last, server, url, words);
    return lkc_finish(&last);
}

const char *lkc_said(void)
{
    return last.err;
}

const char *lkc_output(void)
{
    return last.out;
}

bool lkc_lives(pid_t pid)
{
    char path[32];
    char line[256] = "";

    (void)snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    read_text(path, line, sizeof line);
    const char *name_end = strrchr(line, ')');
    return name_end && name_end[1] && name_end[2] != 'Z' && name_end[2] != 'X';
}

const char *lkc_text(const char *format, ...)
{
    static char texts[TEXTS][700];
    static size_t count;
    char *text = texts[count++ % TEXTS];
    va_list args;

    va_start(args, format);
    int len = vsnprintf(text, sizeof texts[0], format, args);
    va_end(args);
    assert_in_range(len, 0, sizeof texts[0] - 1);
    return text;
}

void lkc_expect(const char *words, const char *text)
{
    if (!strstr(text, words)) fail_msg("\"%s\" is not in: %s", words, text);
}

pid_t lkc_start_in_terminal(int *out_terminal, const char *const *words)
{
    char *argv[WORDS_MAX + 2];
    pid_t parent = getpid();

    make_words(argv, words);
    pid_t pid = forkpty(out_terminal, NULL, NULL, NULL);
    if (pid == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != parent) _exit(1);
        (void)execv(argv[0], argv);
        _exit(99);
    }
    assert_true(pid > 0);
    return pid;
}
