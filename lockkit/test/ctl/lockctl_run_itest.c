/*
 * lockctl run as a script meets it: exit statuses, what the command is told, exclusion, waiting, how
 * wrong use and missing servers are answered. Signals and losses: lockctl_loss_itest.c.
 */
#include <signal.h>
#include <unistd.h>

#include "test/support/lk_ctl.h"

enum { CROWD = 20 };

LKS_SERVER(lks_server_start(NULL));

/* One call each. */
struct call {
    const char *words[8]; /* behind run --lock a */
    int status;
    const char *said, *output;
};

static void do_calls(const struct call *calls, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const char *words[16] = {"run", "--lock", "a"};

        memcpy((void *)(words + 3), (const void *)calls[i].words, sizeof calls[i].words);
        int status = lkc_do(server, NULL, words);
        if (status != calls[i].status || strcmp(calls[i].output, lkc_output()) != 0 ||
            strcmp(calls[i].said, lkc_said()) != 0)
            fail_msg("call %zu, %s: %d: %s%s", i, calls[i].words[0], status, lkc_output(),
                     lkc_said());
    }
    assert_int_equal(0, LKS_INTEGER(server, "EXISTS", "a"));
}

/* ---- the command ----------------------------------------------------------------------------- */

TEST(the_exit_status_and_output_are_those_of_the_command)
{
    static const struct call calls[] = {
        {{"--", "true"}, 0, "", ""},
        {{LKC_SH("exit 7")}, 7, "", ""},
        {{LKC_SH("exit 75")}, 75, "", ""},
        {{LKC_SH("kill -TERM $$")}, 128 + SIGTERM, "", ""},
        {{LKC_SH("kill -KILL $$")}, 128 + SIGKILL, "", ""},
        {{"--", "/no/such/command"}, 127, "lockctl: /no/such/command: not found\n", ""},
        {{"no-such-command"}, 127, "lockctl: no-such-command: not found\n", ""},
        {{"--", "/"}, 126, "lockctl: /: Permission denied\n", ""},
        {{LKC_SH("echo out; echo err >&2; exit 3")}, 3, "err\n", "out\n"},
        {{"echo", "--help", "--lock", "b"}, 0, "", "--help --lock b\n"},
    };

    do_calls(calls, sizeof calls / sizeof calls[0]);
}

/* What ls sees of its own under lockctl is what it sees without. */
TEST(the_command_has_no_descriptor_of_ours)
{
    const char *bare = lkc_file(server, "bare");
    const char *line = lks_format("ls /proc/self/fd >%s </dev/null 2>/dev/null", bare);

    assert_int_equal(0, system(line)); /* NOLINT(cert-env33-c,concurrency-mt-unsafe): fixed words */
    size_t count = lks_count(lkc_read(bare), "\n");
    assert_int_equal(0, LKC_DO(server, "run", "--lock=a", "--", "ls", "/proc/self/fd"));
    assert_int_equal(count, lks_count(lkc_output(), "\n"));
}

/* ---- what it is told ------------------------------------------------------------------------- */

static const char tell_all[] = "echo \"$LOCKKIT_KIND/$LOCKKIT_LOCK/$LOCKKIT_TOKEN/$LOCKKIT_FENCE\"";

TEST(the_command_is_told_what_it_holds)
{
    static const char *const kinds[] = {"mutex", "fair",  "reentrant", "spin",
                                        "read",  "write", "fair-read", "fair-write"};

    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        const char *begin = lks_format("%s/told:%zu/", kinds[i], i);

        assert_int_equal(0, LKC_DO(server, "run", "--lock", lks_format("%s:told:%zu", kinds[i], i),
                                   LKC_SH(tell_all)));
        if (strncmp(begin, lkc_output(), strlen(begin)) != 0) fail_msg("%s", lkc_output());
        assert_true(strlen(lkc_output()) > strlen(begin) + 32); /* a token, */
        LKC_PUT_OUT("/\n");                                     /* no fence */
    }
}

static unsigned long fence_of_a_run(const char *lock)
{
    assert_int_equal(0, LKC_DO(server, "run", "--lock", lock, LKC_SH("echo $LOCKKIT_FENCE")));
    return strtoul(lkc_output(), NULL, 10);
}

TEST(the_fencing_token_grows)
{
    unsigned long first = fence_of_a_run("fenced:f");

    assert_true(first > 0);
    assert_true(fence_of_a_run("fenced:f") > first);
}

TEST(a_run_inside_a_run_is_told_of_its_own_lock_alone)
{
    const char *script = lks_format("%s run --lock inner -- sh -c '%s'", lkc_path(), tell_all);

    assert_int_equal(0, LKC_DO(server, "run", "--lock", "fenced:outer", LKC_SH(script)));
    assert_memory_equal("mutex/inner/", lkc_output(), 12);
    LKC_PUT_OUT("/\n"); /* the outer one's fence is none of the inner one's */
}

/* ---- exclusion and waiting ------------------------------------------------------------------- */

/* Everybody adds 1 to a number in a file, in two steps. */
static void add_up(const char *lock, const char *permits)
{
    static struct lkc_program crowd[CROWD];
    const char *counter = lkc_file(server, "counter");
    const char *script = lks_format(
        "mkdir %s.in || exit 9; n=$(cat %s 2>/dev/null); echo $((n + 1)) >%s; rmdir %s.in", counter,
        counter, counter, counter);

    (void)unlink(counter);
    for (size_t i = 0; i < CROWD; i++) {
        if (permits) {
            LKC_START(&crowd[i], server, "run", "--lock", lock, "--permits", permits,
                      LKC_SH(script));
        } else {
            LKC_START(&crowd[i], server, "run", "--lock", lock, LKC_SH(script));
        }
    }
    for (size_t i = 0; i < CROWD; i++) {
        int status = lkc_finish(&crowd[i]);

        if (status != 0) fail_msg("%s: %d: %s", lock, status, crowd[i].err);
    }
    assert_int_equal(CROWD, strtol(lkc_read(counter), NULL, 10));
}

TEST(twenty_at_once_lose_no_update)
{
    add_up("mutex:crowd-mutex", NULL);
    add_up("fair:crowd-fair", NULL);
    add_up("spin:crowd-spin", NULL);
    add_up("write:crowd-write", NULL);
    add_up("permits:crowd-permits", "1");
    add_up("semaphore:crowd-semaphore", "1");
    assert_string_equal("1", LKS_TEXT(server, "GET", "crowd-semaphore"));
}

TEST(who_does_not_get_it_in_time_gets_75)
{
    LKS_DO(server, "SET", "busy", "0123456789abcdef0123456789abcdef", "PX", "60000");
    assert_int_equal(75, LKC_DO(server, "run", "--lock", "busy", "--wait", "0", "echo", "no"));
    assert_string_equal("", lkc_output());
    assert_string_equal("lockctl: busy: held by somebody else\n", lkc_said());

    double begin = lks_now_ms();
    assert_int_equal(75, LKC_DO(server, "run", "--lock", "busy", "--wait", "300ms", "true"));
    assert_true(lks_now_ms() - begin >= 300);
}

/* The command is over at once, lockctl too, and the lock is held until the time is over: so says its lease. */
TEST(a_lock_is_held_at_least_so_long)
{
    static const char *const kinds[] = {"mutex", "fair", "fenced", "reentrant", "spin", "write"};

    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        const char *key = lks_format("least:%s", kinds[i]);
        const char *lock = lks_format("--lock=%s:%s", kinds[i], key);

        assert_int_equal(3, LKC_DO(server, "run", lock, "--at-least", "60s", LKC_SH("exit 3")));
        assert_in_range(LKS_INTEGER(server, "PTTL", key), 40000, 60000);
        assert_int_equal(75, LKC_DO(server, "run", lock, "--wait=0", "--", "true"));
        LKS_DO(server, "PEXPIRE", key, "100");
        assert_int_equal(0, LKC_DO(server, "run", lock, "--wait=15s", "--", "true"));
        assert_int_equal(0, LKS_INTEGER(server, "EXISTS", key));
        /* Longer than its lease; and not when the command took longer itself. */
        assert_int_equal(0, LKC_DO(server, "run", lock, "--at-least=2h", "--", "true"));
        assert_in_range(LKS_INTEGER(server, "PTTL", key), 7190000, 7200000);
        LKS_DO(server, "DEL", key);
        assert_int_equal(0, LKC_DO(server, "run", lock, "--at-least=50", "--", "sleep", "0.1"));
        assert_int_equal(0, LKS_INTEGER(server, "EXISTS", key));
    }
}

TEST(a_permit_is_out_at_least_so_long_and_what_has_no_end_is_refused)
{
    assert_int_equal(0, LKC_DO(server, "run", "--lock=permits:least", "--permits=1",
                               "--at-least=3s", "--", "true"));
    assert_int_equal(75, LKC_DO(server, "run", "--lock=permits:least", "--wait=0", "--", "true"));
    assert_int_equal(0, LKC_DO(server, "run", "--lock=permits:least", "--wait=15s", "--", "true"));
    LKS_DO(server, "DEL", "least", "{least}:timeout");
    assert_int_equal(64, LKC_DO(server, "run", "--lock=read:r", "--at-least=1s", "--", "true"));
    assert_int_equal(64,
                     LKC_DO(server, "run", "--lock=semaphore:s", "--at-least=1s", "--", "true"));
    /* Another's by now, and left as it is. */
    const char *steal = lks_format("redis-cli -s %s/s SET a other PX 60000", server->dir);
    assert_int_equal(76, LKC_DO(server, "run", "--lock=a", "--at-least=1h", LKC_SH(steal)));
    assert_in_range(LKS_INTEGER(server, "PTTL", "a"), 50000, 60000);
    LKS_DO(server, "DEL", "a");
}

TEST(who_waits_goes_on_when_it_is_free)
{
    struct lkc_program waiting = {.pid = 0};

    LKS_DO(server, "SET", "soon", "0123456789abcdef0123456789abcdef", "PX", "60000");
    LKC_START(&waiting, server, "run", "--lock", "soon", "echo", "in");
    LKS_EVENTUALLY(strstr(LKS_TEXT(server, "CLIENT", "LIST"), "cmd=subscribe"), 5000);
    assert_true(lkc_lives(waiting.pid));
    assert_int_equal(0, LKC_DO(server, "break", "soon", "--yes"));
    assert_int_equal(0, lkc_finish(&waiting));
    assert_string_equal("in\n", waiting.out);
}

TEST(so_many_are_let_in_as_there_are_permits)
{
    static const char *const kinds[] = {"permits", "semaphore"};

    for (size_t i = 0; i < 2; i++) {
        const char *lock = lks_format("%s:places-%s", kinds[i], kinds[i]);
        const char *inner = lks_format("%s run --lock %s --wait 0 --", lkc_path(), lock);

        assert_int_equal(75, LKC_DO(server, "run", "--lock", lock, "--wait", "0", "true"));
        LKC_SAID("--permits N");
        assert_int_equal(75, LKC_DO(server, "run", "--lock", lock, "--permits", "2",
                                    LKC_SH(lks_format("%s %s echo third", inner, inner))));
        assert_string_equal("", lkc_output());
        assert_int_equal(
            0, LKC_DO(server, "run", "--lock", lock, LKC_SH(lks_format("%s echo second", inner))));
        assert_string_equal("second\n", lkc_output());
    }
}

TEST(readers_share_and_writers_do_not)
{
    const char *script = lks_format("%s run --lock read:rw --wait 0 -- echo two", lkc_path());

    assert_int_equal(0, LKC_DO(server, "run", "--lock", "read:rw", LKC_SH(script)));
    assert_int_equal(75, LKC_DO(server, "run", "--lock", "write:rw", LKC_SH(script)));
}

/* ---- several servers ------------------------------------------------------------------------- */

enum { VOTERS = 3 };

static struct lks_server *voters[VOTERS];
static char voter_urls[800];

static void start_voters(void)
{
    for (size_t i = 0; i < VOTERS; i++)
        voters[i] = lks_server_start(&(struct lks_server_options){.is_tcp = true});
    (void)snprintf(voter_urls, sizeof voter_urls, "%s %s %s", voters[0]->tcp_url,
                   voters[1]->tcp_url, voters[2]->tcp_url);
}

static void stop_voters(void)
{
    for (size_t i = 0; i < VOTERS; i++)
        lks_server_stop(voters[i]);
}

TEST(a_redlock_is_held_by_the_majority)
{
    const char *script = lks_format(
        "echo $LOCKKIT_KIND; %s run --lock leader --wait 0 echo two; [ $? = 75 ]", lkc_path());

    start_voters();
    assert_int_equal(0, LKC_DO_AT(server, voter_urls, "run", "--lock", "leader", LKC_SH(script)));
    assert_string_equal("redlock\n", lkc_output());
    assert_int_equal(
        0, LKC_DO_AT(server, voter_urls, "run", "--lock=least", "--at-least=9s", "--", "true"));
    for (size_t i = 0; i < VOTERS; i++)
        assert_in_range(LKS_INTEGER(voters[i], "PTTL", "least"), 5000, 9000);
    lks_server_kill(voters[1]);
    assert_int_equal(
        0, LKC_DO_AT(server, voter_urls, "run", "--lock", "redlock:leader", LKC_SH(script)));
    assert_string_equal("redlock\n", lkc_output());
    lks_server_kill(voters[2]);
    assert_int_equal(
        69, LKC_DO_AT(server, voter_urls, "run", "--lock", "leader", "--wait", "0", "true"));
    stop_voters();
}

/* The server that is slowest to give its part back is waited for, too. */
TEST(a_redlock_leaves_nothing_on_any_server)
{
    start_voters();
    for (size_t round = 0; round < 20; round++) {
        for (size_t i = 0; i < VOTERS; i++)
            LKS_DO(voters[i], "SCRIPT", "FLUSH"); /* it has to be asked twice */
        assert_int_equal(0, LKC_DO_AT(server, voter_urls, "run", "--lock", "leader", "true"));
        for (size_t i = 0; i < VOTERS; i++)
            assert_int_equal(0, LKS_INTEGER(voters[i], "EXISTS", "leader"));
    }
    stop_voters();
}

/* ---- what cannot work ------------------------------------------------------------------------ */

TEST(hostile_names_are_names)
{
    char longest[513] = "";

    memset(longest, 'n', sizeof longest - 1);
    const char *const names[] = {" a b ", "line\nbreak", "{",         "}{",       "a{b}c",
                                 "{}",    "-dash",       "\"'$(id)`", "\xff\xfe", longest};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        assert_int_equal(0, LKC_DO(server, "run", "--lock", lks_format("fair:%s", names[i]),
                                   LKC_SH("printf %s \"$LOCKKIT_LOCK\"")));
        assert_string_equal(names[i], lkc_output());
        assert_string_equal("", lkc_said());
    }
    char too_long[514] = "";
    memset(too_long, 'n', sizeof too_long - 1);
    assert_int_equal(64, LKC_DO(server, "run", "--lock", too_long, "true"));
    LKC_SAID("1 to 512 bytes");
}

TEST(a_server_that_is_not_there_is_69)
{
    assert_int_equal(
        69, LKC_DO_AT(server, "unix:///no/such/socket", "run", "--lock", "a", "echo", "no"));
    assert_string_equal("", lkc_output());
    LKC_SAID("/no/such/socket: ");
    LKC_SAID("LOCKCTL_REDIS");
    assert_int_equal(1, lks_count(lkc_said(), "\n"));
}

TEST(a_bad_url_is_64_and_no_password_is_told)
{
    static const char *const urls[] = {"http://u:secret@h", "redis://u:secret@h:99999",
                                       "redis://u:secret@:1", "redis://secret@@@h:x"};

    for (size_t i = 0; i < sizeof urls / sizeof urls[0]; i++) {
        assert_int_equal(64, LKC_DO_AT(server, urls[i], "run", "--lock", "a", "true"));
        assert_null(strstr(lkc_said(), "secret"));
        assert_int_equal(64, LKC_DO(server, "run", "--lock", "a", "--redis", urls[i], "true"));
        assert_null(strstr(lkc_said(), "secret"));
    }
}

TEST(a_wrong_password_is_70)
{
    struct lks_server *closed =
        lks_server_start(&(struct lks_server_options){.password = "right", .is_tcp = true});
    const char *wrong = lks_format("redis://:wrong@127.0.0.1:%d", closed->port);
    const char *right = lks_format("redis://:right@127.0.0.1:%d", closed->port);

    assert_int_equal(70, LKC_DO_AT(server, wrong, "run", "--lock", "a", "true"));
    assert_null(strstr(lkc_said(), "wrong@"));
    assert_int_equal(0, LKC_DO_AT(server, right, "run", "--lock", "a", "true"));
    lks_server_stop(closed);
}

TEST(a_key_of_another_type_is_70)
{
    LKS_DO(server, "RPUSH", "list", "x");
    assert_int_equal(70, LKC_DO(server, "run", "--lock", "fair:list", "--wait", "0", "true"));
    LKC_SAID("list: ");
}
