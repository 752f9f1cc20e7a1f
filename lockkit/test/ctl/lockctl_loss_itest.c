/*
 * lockctl run when something ends early: signals, Ctrl-C in a terminal, lockctl killed, the lock lost
 * in every way, with every --on-lost. This program is also a command that counts the signals it gets.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pty.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test/support/lk_ctl.h"

enum { SOON_MS = 5000 };

LKS_SERVER(lks_server_start(NULL));
static const char *self;

#define SH(...) "--", "sh", "-c", __VA_ARGS__

static void assert_in(const char *words, const char *text)
{
    if (!strstr(text, words)) fail_msg("\"%s\" is not in: %s", words, text);
}

static pid_t pid_in(const char *path)
{
    return (pid_t)strtol(lkc_read(path), NULL, 10);
}

/* A file that the command makes when it is ready, with its pid; gone at first. */
static const char *ready_file(void)
{
    const char *path = lkc_file(server, "ready");

    (void)unlink(path);
    return path;
}

/* Wait until it is there; the pid. */
static pid_t await_ready(const char *ready)
{
    LKS_EVENTUALLY(pid_in(ready) > 0, SOON_MS);
    return pid_in(ready);
}

static void make_file(const char *path)
{
    (void)close(open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
}

/* ---- a command that counts ------------------------------------------------------------------- */

static volatile sig_atomic_t signals_got;

static void count_signal(int number)
{
    signals_got++;
}

/* Count a signal for a while after the first one, and end with the count. */
static int count_signals(int number, const char *ready)
{
    struct sigaction action = {.sa_handler = count_signal};
    double until = lks_now_ms() + 10000;

    (void)sigaction(number, &action, NULL);
    FILE *file = fopen(ready, "we");
    if (!file || fprintf(file, "%d\n", (int)getpid()) < 0 || fclose(file) != 0) return 90;
    while (signals_got == 0 && lks_now_ms() < until)
        lks_nap(1);
    lks_nap(300);
    return (int)signals_got;
}

/* ---- signals --------------------------------------------------------------------------------- */

static void pass_on_once(int number)
{
    struct lkc_program program = {.pid = 0};
    const char *ready = ready_file();
    char word[16];

    (void)snprintf(word, sizeof word, "%d", number);
    LKC_START(&program, server, "run", "--lock", "sig", "--", self, "count", word, ready);
    (void)await_ready(ready);
    assert_int_equal(0, kill(program.pid, number));
    assert_int_equal(1, lkc_finish(&program));
    assert_int_equal(0, LKS_INTEGER(server, "EXISTS", "sig"));
}

TEST(signals_are_passed_on_once)
{
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2};

    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        pass_on_once(numbers[i]);
}

TEST(the_lock_is_held_until_the_command_has_ended)
{
    struct lkc_program program = {.pid = 0};
    const char *ready = ready_file();
    const char *go = lkc_file(server, "go");
    char script[400];

    (void)unlink(go);
    (void)snprintf(script, sizeof script,
                   "trap 'echo ended; while [ ! -e %s ]; do sleep 0.02; done; exit 9' TERM; "
                   "echo $$ >%s; while :; do sleep 0.02; done",
                   go, ready);
    LKC_START(&program, server, "run", "--lock", "until", SH(script));
    (void)await_ready(ready);
    assert_int_equal(0, kill(program.pid, SIGTERM));
    LKS_EVENTUALLY(strstr(lkc_read(program.out_path), "ended"), SOON_MS);
    assert_int_equal(1, LKS_INTEGER(server, "EXISTS", "until"));
    make_file(go);
    assert_int_equal(9, lkc_finish(&program));
    assert_int_equal(0, LKS_INTEGER(server, "EXISTS", "until"));
}

/* nap_ms: 0: the signal may come before it has begun to wait. */
static void interrupt_a_wait(const char *lock, const char *permits, int64_t nap_ms)
{
    struct lkc_program holder = {.pid = 0};
    struct lkc_program waiting = {.pid = 0};
    const char *ready = ready_file();
    char script[256];

    (void)snprintf(script, sizeof script, "echo $$ >%s; exec sleep 60", ready);
    if (permits) {
        LKC_START(&holder, server, "run", "--lock", lock, "--permits", permits, SH(script));
    } else {
        LKC_START(&holder, server, "run", "--lock", lock, SH(script));
    }
    (void)await_ready(ready);
    LKC_START(&waiting, server, "run", "--lock", lock, "--verbose", "echo", "no");
    LKS_EVENTUALLY(strstr(lkc_read(waiting.err_path), "asking for it"), SOON_MS);
    lks_nap(nap_ms);
    double begin = lks_now_ms();
    assert_int_equal(0, kill(waiting.pid, SIGINT));
    assert_int_equal(130, lkc_finish(&waiting));
    assert_true(lks_now_ms() - begin < SOON_MS);
    assert_string_equal("", waiting.out);
    assert_int_equal(0, kill(holder.pid, SIGTERM));
    assert_int_equal(128 + SIGTERM, lkc_finish(&holder));
}

TEST(ctrl_c_ends_a_wait_and_leaves_nothing_behind)
{
    interrupt_a_wait("mutex:wait", NULL, 0);
    interrupt_a_wait("mutex:wait", NULL, 30);
    interrupt_a_wait("fair:wait", NULL, 30);
    assert_int_equal(0, LKS_INTEGER(server, "EXISTS", "redisson_lock_queue:{wait}",
                                    "redisson_lock_timeout:{wait}"));
    interrupt_a_wait("spin:wait", NULL, 30);
    interrupt_a_wait("write:wait", NULL, 30);
    interrupt_a_wait("permits:places", "1", 30);
    interrupt_a_wait("semaphore:seats", "1", 30);
    assert_string_equal("1", LKS_TEXT(server, "GET", "places"));
    assert_string_equal("1", LKS_TEXT(server, "GET", "seats"));
}

TEST(what_was_ignored_does_not_end_a_wait)
{
    struct lkc_program waiting = {.pid = 0};

    LKS_DO(server, "SET", "nohup", "0123456789abcdef0123456789abcdef", "PX", "60000");
    (void)signal(SIGHUP, SIG_IGN); /* as nohup does */
    LKC_START(&waiting, server, "run", "--lock", "nohup", "--verbose", "--", "true");
    (void)signal(SIGHUP, SIG_DFL);
    LKS_EVENTUALLY(strstr(lkc_read(waiting.err_path), "asking for it"), SOON_MS);
    lks_nap(30);
    assert_int_equal(0, kill(waiting.pid, SIGHUP));
    lks_nap(100);
    LKS_DO(server, "DEL", "nohup");
    assert_int_equal(0, lkc_finish(&waiting));
}

/* ---- in a terminal --------------------------------------------------------------------------- */

/* lockctl as the foreground job of a new terminal. */
static pid_t start_in_terminal(const char *ready, int *out_terminal)
{
    char redis[300];
    pid_t parent = getpid();
    const char *path = lkc_path();

    (void)snprintf(redis, sizeof redis, "%s", server->url);
    pid_t pid = forkpty(out_terminal, NULL, NULL, NULL);
    if (pid == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != parent) _exit(1);
        (void)execl(path, path, "run", "--lock", "tty", "--redis", redis, "--", self, "count", "2",
                    ready, (char *)NULL);
        _exit(99);
    }
    assert_true(pid > 0);
    return pid;
}

TEST(ctrl_c_reaches_the_command_once)
{
    const char *ready = ready_file();
    int terminal = -1;
    int status = 0;

    pid_t pid = start_in_terminal(ready, &terminal);
    (void)await_ready(ready);
    assert_int_equal(pid, getpgid(pid_in(ready))); /* one foreground group */
    assert_int_equal(1, write(terminal, "\x03", 1));
    LKS_EVENTUALLY(waitpid(pid, &status, WNOHANG) == pid, SOON_MS);
    assert_true(WIFEXITED(status));
    assert_int_equal(1, WEXITSTATUS(status));
    (void)close(terminal);
    assert_int_equal(0, LKS_INTEGER(server, "EXISTS", "tty"));
}

/* ---- lockctl is killed ----------------------------------------------------------------------- */

static void kill_lockctl(const char *on_lost, const char *trap)
{
    struct lkc_program program = {.pid = 0};
    const char *ready = ready_file();
    char script[300];

    (void)snprintf(script, sizeof script, "%s echo $$ >%s; while :; do sleep 0.02; done", trap,
                   ready);
    LKC_START(&program, server, "run", "--lock", "orphan", "--lease", "500", "--on-lost", on_lost,
              SH(script));
    pid_t command = await_ready(ready);
    assert_true(lkc_lives(command));
    assert_int_equal(0, kill(program.pid, SIGKILL));
    assert_int_equal(-SIGKILL, lkc_finish(&program));
    LKS_EVENTUALLY(!lkc_lives(command), SOON_MS);
    LKS_EVENTUALLY(LKS_INTEGER(server, "EXISTS", "orphan") == 0, SOON_MS);
}

TEST(a_command_does_not_outlive_a_killed_lockctl)
{
    kill_lockctl("term", "");
    kill_lockctl("kill", "trap '' TERM;");
}

TEST(unless_a_loss_is_to_be_ignored)
{
    struct lkc_program program = {.pid = 0};
    const char *ready = ready_file();
    char script[300];

    (void)snprintf(script, sizeof script, "echo $$ >%s; exec sleep 60", ready);
    LKC_START(&program, server, "run", "--lock", "orphan", "--on-lost", "ignore", SH(script));
    pid_t command = await_ready(ready);
    assert_int_equal(0, kill(program.pid, SIGKILL));
    assert_int_equal(-SIGKILL, lkc_finish(&program));
    lks_nap(100);
    assert_true(lkc_lives(command));
    assert_int_equal(0, kill(command, SIGKILL));
    LKS_DO(server, "DEL", "orphan");
}

/* ---- the lock is lost ------------------------------------------------------------------------ */

static void start_and_lose(struct lkc_program *program, const char *on_lost, const char *grace,
                           const char *script_end)
{
    const char *ready = ready_file();
    char script[512];

    (void)snprintf(script, sizeof script, "echo $$ >%s; %s", ready, script_end);
    LKC_START(program, server, "run", "--lock", "lost", "--lease", "300", "--on-lost", on_lost,
              "--grace", grace, SH(script));
    (void)await_ready(ready);
    LKS_DO(server, "DEL", "lost");
}

TEST(a_loss_ends_the_command_and_is_76)
{
    struct lkc_program program = {.pid = 0};

    start_and_lose(&program, "term", "20000",
                   "trap 'echo bye; exit 0' TERM; while :; do sleep 0.02; done");
    assert_int_equal(76, lkc_finish(&program));
    assert_string_equal("bye\n", program.out);
    assert_in("lost: the lock was lost", program.err);
    assert_int_equal(1, lks_count(program.err, "\n"));
}

TEST(who_does_not_end_in_its_grace_is_killed)
{
    struct lkc_program program = {.pid = 0};

    start_and_lose(&program, "term", "200", "trap '' TERM; while :; do sleep 0.02; done");
    assert_int_equal(76, lkc_finish(&program));
    assert_in("has not ended in 200 ms", program.err);
}

TEST(a_loss_can_kill_at_once)
{
    struct lkc_program program = {.pid = 0};

    start_and_lose(&program, "kill", "20000",
                   "trap 'echo bye; exit 0' TERM; while :; do sleep 0.02; done");
    assert_int_equal(76, lkc_finish(&program));
    assert_string_equal("", program.out);
}

TEST(what_the_command_has_started_ends_too)
{
    struct lkc_program program = {.pid = 0};
    const char *child = lkc_file(server, "child");
    char script[400];

    (void)unlink(child); /* all of them ignore TERM */
    (void)snprintf(script, sizeof script,
                   "trap '' TERM; sh -c 'sleep 60 & echo $! >%s; sleep 60' & wait", child);
    start_and_lose(&program, "term", "1000", script);
    LKS_EVENTUALLY(pid_in(child) > 0, SOON_MS);
    assert_int_equal(76, lkc_finish(&program));
    assert_false(lkc_lives(pid_in(child)));
    assert_in("has not ended in 1000 ms", program.err);
}

TEST(without_a_loss_it_is_left_alone)
{
    const char *child = lkc_file(server, "child");
    char script[200];

    (void)snprintf(script, sizeof script, "sleep 60 >/dev/null 2>&1 & echo $! >%s", child);
    assert_int_equal(0, LKC_DO(server, "run", "--lock", "left", SH(script)));
    assert_true(lkc_lives(pid_in(child)));
    assert_int_equal(0, kill(pid_in(child), SIGKILL));
}

TEST(a_loss_can_be_ignored)
{
    struct lkc_program program = {.pid = 0};
    const char *go = lkc_file(server, "go");
    char script[200];

    (void)unlink(go);
    (void)snprintf(script, sizeof script, "while [ ! -e %s ]; do sleep 0.02; done; exit 5", go);
    start_and_lose(&program, "ignore", "1", script);
    LKS_EVENTUALLY(strstr(lkc_read(program.err_path), "goes on without it"), SOON_MS);
    make_file(go);
    assert_int_equal(5, lkc_finish(&program));
}

TEST(a_loss_that_nobody_saw_is_76_all_the_same)
{
    struct lkc_program program = {.pid = 0};
    const char *ready = ready_file();
    const char *go = lkc_file(server, "go");
    char script[300];

    (void)unlink(go);
    (void)snprintf(script, sizeof script, "echo $$ >%s; while [ ! -e %s ]; do sleep 0.02; done",
                   ready, go);
    LKC_START(&program, server, "run", "--lock", "lost", SH(script));
    (void)await_ready(ready);
    LKS_DO(server, "DEL", "lost"); /* with 10 s to the next renewal */
    make_file(go);
    assert_int_equal(76, lkc_finish(&program));
    assert_in("before the command ended", program.err);
}

TEST(a_server_that_stands_still_is_a_loss_when_the_lease_is_over)
{
    struct lkc_program program = {.pid = 0};
    const char *ready = ready_file();
    char script[300];

    (void)snprintf(script, sizeof script, "echo $$ >%s; exec sleep 60", ready);
    LKC_START(&program, server, "run", "--lock", "still", "--lease", "500", SH(script));
    (void)await_ready(ready);
    lks_server_pause(server);
    LKS_EVENTUALLY(strstr(lkc_read(program.err_path), "the lock was lost"), SOON_MS);
    LKS_EVENTUALLY(!lkc_lives(pid_in(ready)), SOON_MS);
    lks_server_resume(server);
    assert_int_equal(76, lkc_finish(&program));
    LKS_EVENTUALLY(LKS_INTEGER(server, "EXISTS", "still") == 0, SOON_MS);
}

TEST(without_renewal_it_ends_with_its_lease)
{
    double begin = lks_now_ms();
    assert_int_equal(76, LKC_DO(server, "run", "--lock", "short", "--lease", "300", "--no-renew",
                                "--", "sleep", "60"));
    assert_true(lks_now_ms() - begin >= 250);

    /* The same, renewed, lasts. */
    assert_int_equal(
        0, LKC_DO(server, "run", "--lock", "short", "--lease", "300", "--", "sleep", "0.8"));
}

int main(int argc, char **argv)
{
    static char path[PATH_MAX];

    if (argc == 4 && strcmp(argv[1], "count") == 0)
        return count_signals((int)strtol(argv[2], NULL, 10), argv[3]);
    if (!realpath("/proc/self/exe", path)) return 1;
    self = path;
    return testing_run(argc, argv);
}
