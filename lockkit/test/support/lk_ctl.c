/*
 * See lk_ctl.h. Started by fork and exec, with nothing but system calls between the two.
 */
#include "lk_ctl.h"

#include <errno.h>
#include <fcntl.h>
#include <pty.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { FINISH_MS = 20000, WORDS_MAX = 40, FILES = 64 };

static struct lkc_program last;

static const char *path_of(const char *name)
{
    static char path[256];
    const char *build_dir = getenv("BUILD_DIR"); /* NOLINT(concurrency-mt-unsafe): reads only */

    (void)snprintf(path, sizeof path, "%s/%s", build_dir ? build_dir : "build/release", name);
    return path;
}

const char *lkc_path(void)
{
    return path_of("lockctl");
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

static void make_words(char *argv[WORDS_MAX + 2], const char *name, const char *const *words)
{
    const char *path = path_of(name);
    size_t count = 0;

    memcpy(&argv[0], &path, sizeof path); /* exec changes nothing */
    for (; words[count]; count++) {
        assert_true(count < WORDS_MAX);
        memcpy(&argv[count + 1], &words[count], sizeof words[0]);
    }
    argv[count + 1] = NULL;
}

/* A file without a name, but for a path to read it by. */
static int make_file(char *path, size_t size)
{
    int fd = memfd_create("said", MFD_CLOEXEC);

    assert_true(fd >= 0);
    (void)snprintf(path, size, "/proc/self/fd/%d", fd);
    return fd;
}

void lkc_start_program(struct lkc_program *program, const char *name, const char *const *words)
{
    char *argv[WORDS_MAX + 2];
    pid_t parent = getpid();
    int nowhere = open("/dev/null", O_RDONLY | O_CLOEXEC);

    make_words(argv, name, words);
    program->out_fd = make_file(program->out_path, sizeof program->out_path);
    program->err_fd = make_file(program->err_path, sizeof program->err_path);
    program->pid = fork();
    if (program->pid == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != parent) _exit(1);
        (void)dup2(nowhere, 0);
        (void)dup2(program->out_fd, 1);
        (void)dup2(program->err_fd, 2);
        (void)execv(argv[0], argv);
        _exit(99);
    }
    (void)close(nowhere);
    assert_true(program->pid > 0);
}

void lkc_start(struct lkc_program *program, struct lks_server *server, const char *url,
               const char *const *words)
{
    /* NOLINTNEXTLINE(concurrency-mt-unsafe): nobody else reads it */
    (void)setenv("LOCKCTL_REDIS", url ? url : server->url, 1);
    lkc_start_program(program, "lockctl", words);
}

int lkc_finish(struct lkc_program *program)
{
    int status = 0;
    double limit_ms = program->limit_ms > 0 ? (double)program->limit_ms : FINISH_MS;
    double until = lks_now_ms() + limit_ms;

    while (waitpid(program->pid, &status, WNOHANG) == 0) {
        if (lks_now_ms() > until) {
            (void)kill(program->pid, SIGKILL);
            (void)waitpid(program->pid, NULL, 0);
            fail_msg("it does not end; it said: %s", lkc_read(program->err_path));
        }
        lks_nap(1);
    }
    read_text(program->out_path, program->out, sizeof program->out);
    read_text(program->err_path, program->err, sizeof program->err);
    (void)close(program->out_fd);
    (void)close(program->err_fd);
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

void lkc_expect(const char *words, const char *text)
{
    if (!strstr(text, words)) fail_msg("\"%s\" is not in: %s", words, text);
}

pid_t lkc_start_in_terminal(int *out_terminal, const char *const *words)
{
    char *argv[WORDS_MAX + 2];
    pid_t parent = getpid();

    make_words(argv, "lockctl", words);
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
