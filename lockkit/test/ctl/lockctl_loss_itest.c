/*
 * lockctl run when something ends early: signals, Ctrl-C in a terminal, lockctl killed, the lock lost
 * in every way, with every --on-lost. This program is also a command that counts the signals it gets.
 */
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test/support/lk_busy.h"
#include "test/support/lk_ctl.h"

enum { SOON_MS = 5000, FLAGS_MAX = 6 };

LKS_SERVER(lks_server_start(NULL));
static const char *self;

/* What a script says when its traps are set: into the file that is its $0. */
#define READY   "echo $$ >$0; "
#define LOOP    "while :; do sleep 0.02; done"
#define FOREVER READY LOOP

/* A test that failed may have left it paused. */
BEFORE_EACH()
{
    lks_server_resume(server);
}

static pid_t pid_in(const char *path)
{
    return (pid_t)strtol(lkc_read(path), NULL, 10);
}

/* A file in the server's folder, gone at first. */
static const char *new_file(const char *name)
{
    const char *path = lkc_file(server, name);

    (void)unlink(path);
    return path;
}

static void make_file(const char *path)
{
    (void)close(open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
}

/* Wait until the file is there; the pid in it. */
static pid_t await_ready(const char *ready)
{
    LKS_EVENTUALLY(pid_in(ready) > 0, SOON_MS);
    return pid_in(ready);
}

static void await_words(const char *path, const char *words)
{
    LKS_EVENTUALLY(strstr(lkc_read(path), words), SOON_MS);
}

/* Until the file is there. */
static const char *await(const char *go)
{
    return lks_format("while [ ! -e %s ]; do sleep 0.02; done", go);
}

/* Start lockctl run with flags and a script; when that is READY: its pid. */
static pid_t start(struct lkc_program *program, const char *lock,
                   const char *const flags[FLAGS_MAX], const char *script)
{
    const char *ready = new_file("ready");
    const char *words[16] = {"run", "--lock", lock};
    size_t count = 3;

    for (size_t i = 0; i < FLAGS_MAX && flags[i]; i++)
        words[count++] = flags[i];
    const char *const rest[] = {LKC_SH(script), ready};
    memcpy((void *)(words + count), (const void *)rest, sizeof rest);
    lkc_start(program, server, NULL, words);
    return await_ready(ready);
}
#define FLAGS(...) ((const char *const[FLAGS_MAX]){__VA_ARGS__})

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

TEST(signals_are_passed_on_once)
{
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2};

    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        struct lkc_program program = {.pid = 0};
        const char *ready = new_file("ready");

        LKC_START(&program, server, "run", "--lock", "sig", "--", self, "count",
                  lks_format("%d", numbers[i]), ready);
        (void)await_ready(ready);
        assert_int_equal(0, kill(program.pid, numbers[i]));
        int count = lkc_finish(&program);
        if (count != 1) fail_msg("signal %d came %d times", numbers[i], count);
        assert_int_equal(0, LKS_INTEGER(server, "EXISTS", "sig"));
    }
}

TEST(the_lock_is_held_until_the_command_has_ended)
{
    struct lkc_program program = {.pid = 0};
    const char *go = new_file("go");

    (void)start(&program, "until", FLAGS(NULL),
                lks_format("trap 'echo ended; %s; exit 9' TERM; " FOREVER, await(go)));
    assert_int_equal(0, kill(program.pid, SIGTERM));
    await_words(program.out_path, "ended");
    assert_int_equal(1, LKS_INTEGER(server, "EXISTS", "until"));
    make_file(go);
    assert_int_equal(9, lkc_finish(&program));
    assert_int_equal(0, LKS_INTEGER(server, "EXISTS", "until"));
}

TEST(ctrl_c_ends_a_wait_and_leaves_nothing_behind)
{
    static const struct {
        const char *lock, *flags[FLAGS_MAX];
        int64_t nap_ms; /* the signal may come before it has begun to wait, and does with 0 */
    } rows[] = {
        {"mutex:wait", {NULL}, 0},
        {"mutex:wait", {NULL}, 30},
        {"fair:wait", {NULL}, 30},
        {"spin:wait", {NULL}, 30},
        {"write:wait", {NULL}, 30},
        {"permits:places", {"--permits", "1"}, 30},
        {"semaphore:seats", {"--permits", "1"}, 30},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct lkc_program holder = {.pid = 0}, waiting = {.pid = 0};

        (void)start(&holder, rows[i].lock, rows[i].flags, READY "exec sleep 60");
        LKC_START(&waiting, server, "run", "--lock", rows[i].lock, "--verbose", "echo", "no");
        await_words(waiting.err_path, "asking for it");
        lks_nap(rows[i].nap_ms);
        assert_int_equal(0, kill(waiting.pid, SIGINT));
        int status = lkc_finish(&waiting); /* long before the holder */
        if (status != 130 || *waiting.out)
            fail_msg("%s: %d: %s%s", rows[i].lock, status, waiting.out, waiting.err);
        assert_int_equal(0, kill(holder.pid, SIGTERM));
        assert_int_equal(128 + SIGTERM, lkc_finish(&holder));
    }
    assert_int_equal(0, LKS_INTEGER(server, "EXISTS", "redisson_lock_queue:{wait}",
                                    "redisson_lock_timeout:{wait}"));
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
    await_words(waiting.err_path, "asking for it");
    LKS_EVENTUALLY(strstr(LKS_TEXT(server, "CLIENT", "LIST"), "cmd=subscribe"), SOON_MS);
    assert_int_equal(0, kill(waiting.pid, SIGHUP));
    struct lks_monitor *monitor = lks_monitor_open(server);
    LKS_EVENTUALLY(strstr(lks_monitor_text(monitor, server), "nohup"),
                   SOON_MS); /* it looks again */
    lks_monitor_close(monitor);
    LKS_DO(server, "DEL", "nohup");
    assert_int_equal(0, lkc_finish(&waiting));
}

/* ---- in a terminal --------------------------------------------------------------------------- */

TEST(ctrl_c_reaches_the_command_once)
{
    const char *ready = new_file("ready");
    int terminal = -1;
    int status = 0;

    pid_t pid = lkc_start_in_terminal(
        &terminal, (const char *const[]){"run", "--lock", "tty", "--redis", server->url, "--", self,
                                         "count", "2", ready, NULL});
    assert_int_equal(pid, getpgid(await_ready(ready))); /* one foreground group */
    assert_int_equal(1, write(terminal, "\x03", 1));
    LKS_EVENTUALLY(waitpid(pid, &status, WNOHANG) == pid, SOON_MS);
    assert_true(WIFEXITED(status));
    assert_int_equal(1, WEXITSTATUS(status));
    (void)close(terminal);
    assert_int_equal(0, LKS_INTEGER(server, "EXISTS", "tty"));
}

/* ---- lockctl is killed ----------------------------------------------------------------------- */

TEST(a_command_outlives_a_killed_lockctl_only_if_losses_are_ignored)
{
    static const struct {
        const char *on_lost, *script;
        bool outlives;
    } rows[] = {{"term", FOREVER, false},
                {"kill", "trap '' TERM; " FOREVER, false},
                {"ignore", READY "exec sleep 60", true}};

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct lkc_program program = {.pid = 0};
        pid_t command =
            start(&program, "orphan", FLAGS("--on-lost", rows[i].on_lost), rows[i].script);

        assert_true(lkc_lives(command));
        assert_int_equal(0, kill(program.pid, SIGKILL));
        assert_int_equal(-SIGKILL, lkc_finish(&program));
        for (int n = 0; n < (rows[i].outlives ? 100 : SOON_MS) && lkc_lives(command); n++)
            lks_nap(1);
        if (lkc_lives(command) != rows[i].outlives) fail_msg("%s", rows[i].on_lost);
        if (rows[i].outlives) assert_int_equal(0, kill(command, SIGKILL));
        assert_int_equal(1, LKS_INTEGER(server, "DEL", "orphan")); /* its lease goes on */
    }
}

/* ---- the lock is lost ------------------------------------------------------------------------ */

/* Start it, and take its lock away. */
static void start_and_lose(struct lkc_program *program, const char *on_lost, const char *grace,
                           const char *script)
{
    (void)start(program, "lost", FLAGS("--lease", "2000", "--on-lost", on_lost, "--grace", grace),
                script);
    LKS_DO(server, "DEL", "lost");
}

TEST(a_loss_ends_the_command_and_is_76)
{
    static const char bye[] = "trap 'echo bye; exit 0' TERM; " FOREVER;
    static const struct {
        const char *on_lost, *grace, *script, *output, *said;
        size_t lines;
    } rows[] = {
        {"term", "20000", bye, "bye\n", "lost: the lock was lost", 1},
        {"term", "200", "trap '' TERM; " FOREVER, "", "has not ended in 200 ms", 2},
        {"kill", "20000", bye, "", "the command is killed", 1},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct lkc_program program = {.pid = 0};

        start_and_lose(&program, rows[i].on_lost, rows[i].grace, rows[i].script);
        int status = lkc_finish(&program);
        if (status != 76 || strcmp(program.out, rows[i].output) != 0 ||
            lks_count(program.err, "\n") != rows[i].lines)
            fail_msg("%s, %s ms: %d: %s%s", rows[i].on_lost, rows[i].grace, status, program.out,
                     program.err);
        lkc_expect(rows[i].said, program.err);
    }
}

TEST(what_the_command_has_started_ends_too)
{
    struct lkc_program program = {.pid = 0};
    const char *child = new_file("child");
    const char *script = /* all of them ignore TERM */
        lks_format("trap '' TERM; sh -c 'sleep 60 & echo $! >%s; sleep 60' & "
                   "while [ ! -s %s ]; do sleep 0.02; done; " READY "wait",
                   child, child);

    start_and_lose(&program, "term", "1000", script);
    assert_int_equal(76, lkc_finish(&program));
    assert_false(lkc_lives(pid_in(child)));
    lkc_expect("has not ended in 1000 ms", program.err);
}

/* ---- lead ------------------------------------------------------------------------------------ */

/* Until it is told to end; who it is, and its fence, go to the file. */
static void lead(struct lkc_program *program, const char *name)
{
    const char *script = lks_format("trap 'exit 3' TERM; echo $$ $LOCKKIT_FENCE >>%s; %s",
                                    lkc_file(server, "led"), LOOP);

    LKC_START(program, server, "lead", name, "--lease", "500", LKC_SH(script));
}

/* So many have led; the pid of the last. */
static pid_t await_leader(size_t count)
{
    const char *path = lkc_file(server, "led");

    LKS_EVENTUALLY(lks_count(lkc_read(path), "\n") == count, SOON_MS);
    const char *line = lkc_read(path);
    for (size_t i = 1; i < count; i++)
        line = strchr(line, '\n') + 1;
    assert_true(strtoull(strchr(line, ' '), NULL, 10) > 0);
    return (pid_t)strtol(line, NULL, 10);
}

TEST(who_leads_is_ended_by_a_loss_and_leads_again)
{
    struct lkc_program program = {.pid = 0};

    (void)new_file("led");
    lead(&program, "elect");
    pid_t first = await_leader(1);
    LKS_DO(server, "DEL", "elect");
    pid_t second = await_leader(2);
    assert_false(lkc_lives(first));
    assert_int_equal(0,
                     kill(program.pid, SIGTERM)); /* passed on; what ended by itself is the end */
    assert_int_equal(3, lkc_finish(&program));
    assert_false(lkc_lives(second));
    assert_int_equal(0, LKS_INTEGER(server, "EXISTS", "elect"));
}

TEST(another_one_leads_when_it_is_killed)
{
    struct lkc_program one = {.pid = 0};
    struct lkc_program other = {.pid = 0};

    (void)new_file("led");
    lead(&one, "fenced:elect");
    (void)await_leader(1);
    lead(&other, "elect");
    double begin = lks_now_ms();
    assert_int_equal(0, kill(one.pid, SIGKILL));
    (void)await_leader(2);
    print_message("# the next leads %.0f ms after the death\n", lks_now_ms() - begin);
    assert_int_equal(0, kill(other.pid, SIGINT));
    assert_int_equal(130, lkc_finish(&other));
    assert_int_equal(-SIGKILL, lkc_finish(&one));
}

TEST(a_signal_ends_a_campaign)
{
    struct lkc_program program = {.pid = 0};

    LKS_DO(server, "SET", "elect", "no hash"); /* which is asked again after a second */
    LKC_START(&program, server, "lead", "elect", "--", "true");
    LKS_EVENTUALLY(lks_count(lkc_read(program.err_path), "\n") >= 2, SOON_MS);
    assert_int_equal(0, kill(program.pid, SIGTERM));
    assert_int_equal(128 + SIGTERM, lkc_finish(&program));
    LKS_DO(server, "DEL", "elect");
    assert_int_equal(0, LKC_DO(server, "lead", "elect", "--", "true"));
}

TEST(without_a_loss_it_is_left_alone)
{
    const char *child = lkc_file(server, "child");

    assert_int_equal(0,
                     LKC_DO(server, "run", "--lock", "left",
                            LKC_SH(lks_format("sleep 60 >/dev/null 2>&1 & echo $! >%s", child))));
    assert_true(lkc_lives(pid_in(child)));
    assert_int_equal(0, kill(pid_in(child), SIGKILL));
}

TEST(a_loss_can_be_ignored)
{
    struct lkc_program program = {.pid = 0};
    const char *go = new_file("go");

    start_and_lose(&program, "ignore", "1", lks_format(READY "%s; exit 5", await(go)));
    await_words(program.err_path, "goes on without it");
    make_file(go);
    assert_int_equal(5, lkc_finish(&program));
}

TEST(a_loss_that_nobody_saw_is_76_all_the_same)
{
    struct lkc_program program = {.pid = 0};
    const char *go = new_file("go");

    (void)start(&program, "lost", FLAGS(NULL), lks_format(READY "%s", await(go)));
    LKS_DO(server, "DEL", "lost"); /* with 10 s to the next renewal */
    make_file(go);
    assert_int_equal(76, lkc_finish(&program));
    lkc_expect("before the command ended", program.err);
}

TEST(a_server_that_stands_still_is_a_loss_when_the_lease_is_over)
{
    struct lkc_program program = {.pid = 0};
    pid_t command = start(&program, "still", FLAGS("--lease", "1500"), READY "exec sleep 60");

    lks_server_pause(server);
    await_words(program.err_path, "the lock was lost");
    LKS_EVENTUALLY(!lkc_lives(command), SOON_MS);
    lks_server_resume(server);
    assert_int_equal(76, lkc_finish(&program));
    LKS_EVENTUALLY(LKS_INTEGER(server, "EXISTS", "still") == 0, SOON_MS);
}

/* What it does not take is offered again, as long as the grace lasts. */
TEST(a_busy_server_gets_the_lock_back_all_the_same)
{
    static const char *const kinds[] = {"busy", "semaphore:busy-2"};
    const char *const flags[][FLAGS_MAX] = {{"--grace", "20000"},
                                            {"--grace", "20000", "--permits", "1"}};

    for (size_t i = 0; i < 2; i++) {
        struct lkc_program program = {.pid = 0};
        const char *go = new_file("go");
        const char *over = new_file("over");

        (void)start(&program, kinds[i], flags[i], lks_format(READY "%s; : >%s", await(go), over));
        pthread_t whose = lks_busy_begin(server);
        make_file(go);
        LKS_EVENTUALLY(access(over, F_OK) == 0, SOON_MS);
        lks_nap(300); /* it has tried */
        lks_busy_end(server, whose);
        assert_int_equal(0, lkc_finish(&program));
        assert_string_equal(program.err, "");
    }
    assert_int_equal(LKS_INTEGER(server, "EXISTS", "busy"), 0);
    assert_string_equal(LKS_TEXT(server, "GET", "busy-2"), "1");
}

TEST(without_renewal_it_ends_with_its_lease)
{
    double begin = lks_now_ms();
    assert_int_equal(76, LKC_DO(server, "run", "--lock", "short", "--lease", "1000", "--no-renew",
                                "--", "sleep", "60"));
    assert_true(lks_now_ms() - begin >= 950);
}

static bool has_grown(long long *left_ms)
{
    long long last_ms = *left_ms;

    *left_ms = LKS_INTEGER(server, "PTTL", "short");
    return *left_ms > last_ms;
}

TEST(with_renewal_it_lasts)
{
    struct lkc_program program = {.pid = 0};
    const char *go = new_file("go");
    long long left_ms = 3000; /* its lease */

    (void)start(&program, "short", FLAGS("--lease", "3s"), lks_format(READY "%s", await(go)));
    LKS_EVENTUALLY(has_grown(&left_ms), 2L * SOON_MS);
    make_file(go);
    assert_int_equal(0, lkc_finish(&program));
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
