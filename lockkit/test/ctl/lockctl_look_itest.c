/*
 * lockctl inspect, list and break: what they print and what they answer, for every kind, for names of
 * any bytes, for what is no lock, and for several servers.
 */
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test/support/lk_ctl.h"

enum { SOON_MS = 5000 };

LKS_SERVER(lks_server_start(NULL));

static const char token[] = "0123456789abcdef0123456789abcdef";

static size_t lines_put_out(void)
{
    return lks_count(lkc_output(), "\n");
}

/* ---- every kind ------------------------------------------------------------------------------ */

static const struct {
    const char *kind;
    const char *layout;
} kinds[] = {
    {"mutex", "mutex"},    {"fair", "reentrant"}, {"fenced", "fenced"}, {"reentrant", "reentrant"},
    {"spin", "reentrant"}, {"read", "read"},      {"write", "write"},   {"permits", "permits"},
};

enum { KINDS = sizeof kinds / sizeof kinds[0] };

/* Held by a lockctl whose command waits; once ready, its token is in the file "token". */
static void start_holder(struct lkc_program *holder, size_t kind)
{
    const char *path = lkc_file(server, "token");
    const char *lock = lks_format("%s:held by %s", kinds[kind].kind, kinds[kind].kind);
    const char *script = lks_format(
        "trap 'exit 0' TERM; echo $LOCKKIT_TOKEN >%s; while :; do sleep 0.02; done", path);

    (void)unlink(path);
    if (strcmp(kinds[kind].kind, "permits") == 0) {
        LKC_START(holder, server, "run", "--lock", lock, "--lease", "600", "--permits", "3",
                  LKC_SH(script));
    } else {
        LKC_START(holder, server, "run", "--lock", lock, "--lease", "600", LKC_SH(script));
    }
    LKS_EVENTUALLY(strchr(lkc_read(path), '\n'), SOON_MS);
}

TEST(each_kind_is_inspected_listed_and_broken)
{
    for (size_t i = 0; i < KINDS; i++) {
        struct lkc_program holder = {.pid = 0};
        const char *name = lks_format("held by %s", kinds[i].kind);

        start_holder(&holder, i);
        const char *token_line = lkc_read(lkc_file(server, "token"));
        const char *owner = lks_format("%.*s", (int)strcspn(token_line, "\n"), token_line);

        assert_int_equal(0, LKC_DO(server, "inspect", name));
        LKC_PUT_OUT(lks_format("name     %s\nkind     %s\n", name, kinds[i].layout));
        LKC_PUT_OUT(lks_format("holder   %s, ", owner));
        LKS_EVENTUALLY(LKC_DO(server, "inspect", name) == 0 &&
                           strstr(lkc_output(), "\nby       pid "),
                       SOON_MS); /* it is noted once the command runs */
        LKC_PUT_OUT(": sh, for 0 s\n");

        assert_int_equal(0, LKC_DO(server, "inspect", "--json", name));
        LKC_PUT_OUT(
            lks_format("{\"name\":\"%s\",\"kind\":\"%s\",\"held\":true", name, kinds[i].layout));
        LKC_PUT_OUT(lks_format("{\"owner\":\"%s\",", owner));
        LKC_PUT_OUT(": sh\",\"for_ms\":");

        assert_int_equal(0, LKC_DO(server, "list", "--match", name));
        const char *words = lks_format("%-9s ", kinds[i].layout);
        assert_memory_equal(words, lkc_output(), strlen(words));
        LKC_PUT_OUT(name);
        assert_int_equal(1, lines_put_out());

        assert_int_equal(0, LKC_DO(server, "break", name, "--yes"));
        assert_string_equal(lks_format("%s: taken from %s\n", name, owner), lkc_output());
        assert_int_equal(76, lkc_finish(&holder)); /* it learns of it at its next renewal */
        assert_int_not_equal(0, LKC_DO(server, "break", name, "--yes"));
    }
    assert_string_equal("3", LKS_TEXT(server, "GET", "held by permits"));
}

TEST(a_queue_is_told)
{
    struct lkc_program holder = {.pid = 0};
    struct lkc_program waiting = {.pid = 0};

    start_holder(&holder, 1);
    LKC_START(&waiting, server, "run", "--lock", "fair:held by fair", "true");
    LKS_EVENTUALLY(LKS_INTEGER(server, "LLEN", "redisson_lock_queue:{held by fair}") == 1, SOON_MS);
    assert_int_equal(0, LKC_DO(server, "inspect", "held by fair"));
    LKC_PUT_OUT("kind     fair\n");
    LKC_PUT_OUT("waiter   ");
    assert_int_equal(0, LKC_DO(server, "list"));
    LKC_PUT_OUT("1 held     1 waiting  held by fair\n");
    assert_int_equal(0, LKC_DO(server, "break", "held by fair", "--yes"));
    assert_int_equal(0, lkc_finish(&waiting)); /* the next one is woken */
    assert_int_equal(76, lkc_finish(&holder));
}

/* ---- what is no lock ------------------------------------------------------------------------- */

TEST(nothing_is_1)
{
    assert_int_equal(1, LKC_DO(server, "inspect", "nothing"));
    LKC_PUT_OUT("kind     none\n");
    assert_int_equal(1, LKC_DO(server, "inspect", "nothing", "--json"));
    LKC_PUT_OUT("\"held\":false");
    assert_int_equal(1, LKC_DO(server, "break", "nothing", "--yes"));
    assert_string_equal("lockctl: nothing: nobody holds it\n", lkc_said());
}

TEST(other_data_is_65_and_is_left_alone)
{
    LKS_DO(server, "RPUSH", "data", "x");
    LKS_DO(server, "SET", "words", "some words", "PX", "60000");
    assert_int_equal(65, LKC_DO(server, "inspect", "data"));
    LKC_PUT_OUT("kind     other\n");
    assert_int_equal(65, LKC_DO(server, "break", "data", "--yes"));
    LKC_SAID("no lock; it is left alone");
    assert_int_equal(65, LKC_DO(server, "break", "words", "--yes"));
    assert_int_equal(2, LKS_INTEGER(server, "EXISTS", "data", "words"));
}

TEST(a_number_is_told_but_has_nobody_to_take_it_from)
{
    LKS_DO(server, "SET", "number", "17");
    assert_int_equal(0, LKC_DO(server, "inspect", "number"));
    LKC_PUT_OUT("number   17\n");
    assert_int_equal(65, LKC_DO(server, "break", "number", "--yes"));
    assert_int_equal(0, LKC_DO(server, "list", "--match", "number"));
    assert_string_equal("", lkc_output());
    assert_int_equal(0, LKC_DO(server, "list", "--match", "number", "--all"));
    LKC_PUT_OUT("17  number\n");
}

/* ---- names ----------------------------------------------------------------------------------- */

TEST(any_name_stays_on_its_line)
{
    LKS_DO(server, "FLUSHALL");
    LKS_DO(server, "SET", "two\nlines \x1b[31m \\ \"q\" \xc3\xa9", token, "PX", "60000");
    LKS_DO(server, "SET", "\xff{", token, "PX", "60000");
    LKS_DO(server, "SET", "a\xc2\x9b\xe2\x80\xac", token, "PX", "60000");
    assert_int_equal(0, LKC_DO(server, "list"));
    assert_int_equal(3, lines_put_out());
    LKC_PUT_OUT("a\\xc2\\x9b\\xe2\\x80\\xac\n");
    LKC_PUT_OUT("two\\x0alines \\x1b[31m \\x5c \"q\" \xc3\xa9\n");
    LKC_PUT_OUT("\\xff{\n");
    assert_int_equal(0, LKC_DO(server, "list", "--json"));
    assert_int_equal(3, lines_put_out());
    LKC_PUT_OUT("{\"name\":\"a\\u009b\\u202c\",");
    LKC_PUT_OUT("{\"name\":\"two\\u000alines \\u001b[31m \\u005c \\u0022q\\u0022 \xc3\xa9\",");
    LKC_PUT_OUT("{\"name\":\"\\ufffd{\",\"name_hex\":\"ff7b\",");
    assert_int_equal(0, LKC_DO(server, "break", "--yes", "--", "\xff{"));
    assert_int_equal(0, LKC_DO(server, "inspect", "two\nlines \x1b[31m \\ \"q\" \xc3\xa9"));

    char longest[514] = "";
    memset(longest, 'n', 513);
    assert_int_equal(64, LKC_DO(server, "inspect", longest));
    longest[512] = '\0';
    assert_int_equal(1, LKC_DO(server, "inspect", longest));
}

/* ---- confirmation ---------------------------------------------------------------------------- */

/* lockctl break in a terminal, with an answer; what it showed is in *out. */
static int break_in_terminal(const char *name, const char *before_answer, const char *answer)
{
    char shown[4096];
    size_t len = 0;
    int terminal = -1;
    int status = 0;
    double until = lks_now_ms() + 2.0 * SOON_MS;
    pid_t pid = lkc_start_in_terminal(
        &terminal, (const char *const[]){"break", name, "--redis", server->url, NULL});

    do {
        ssize_t got = read(terminal, shown + len, sizeof shown - 1 - len);

        if (got > 0) len += (size_t)got;
        shown[len] = '\0';
    } while (!strstr(shown, "[y/N]") && lks_now_ms() < until && len < sizeof shown - 1);
    if (!strstr(shown, token)) fail_msg("the holder is not shown: %s", shown);
    if (before_answer) LKS_DO(server, "SET", name, before_answer, "PX", "60000");
    assert_int_equal(strlen(answer), write(terminal, answer, strlen(answer)));
    LKS_EVENTUALLY(waitpid(pid, &status, WNOHANG) == pid, SOON_MS);
    (void)close(terminal);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

TEST(break_asks_at_a_terminal)
{
    LKS_DO(server, "SET", "ask", token, "PX", "60000");
    assert_int_equal(1, break_in_terminal("ask", NULL, "\n"));
    assert_int_equal(1, LKS_INTEGER(server, "EXISTS", "ask"));
    assert_int_equal(0, break_in_terminal("ask", NULL, "y\n"));
    assert_int_equal(0, LKS_INTEGER(server, "EXISTS", "ask"));
}

TEST(who_came_while_it_asked_is_left_alone)
{
    LKS_DO(server, "SET", "ask", token, "PX", "60000");
    assert_int_equal(75, break_in_terminal("ask", "fedcba9876543210fedcba9876543210", "y\n"));
    assert_string_equal("fedcba9876543210fedcba9876543210", LKS_TEXT(server, "GET", "ask"));
}

TEST(without_a_terminal_it_needs_yes)
{
    LKS_DO(server, "SET", "ask", token, "PX", "60000");
    assert_int_equal(64, LKC_DO(server, "break", "ask"));
    LKC_SAID("--yes");
    assert_int_equal(1, LKS_INTEGER(server, "EXISTS", "ask"));
}

/* ---- several servers ------------------------------------------------------------------------- */

TEST(several_servers_are_asked_each)
{
    struct lks_server *other = lks_server_start(NULL);

    LKS_DO(server, "FLUSHALL");
    LKS_DO(server, "SET", "both", token, "PX", "60000");
    LKS_DO(other, "SET", "both", token, "PX", "60000");
    const char *urls = lks_format("%s  %s unix:///no/such/socket", server->url, other->url);
    assert_int_equal(69, LKC_DO_AT(server, urls, "list")); /* one is missing: it says so */
    assert_int_equal(2, lines_put_out());
    LKC_PUT_OUT(lks_format("%s  both\n", other->url));
    assert_int_equal(
        0, LKC_DO(server, "break", "both", "--yes", "--redis", server->url, "--redis", other->url));
    assert_int_equal(2, lines_put_out());
    assert_int_equal(0, LKS_INTEGER(server, "EXISTS", "both"));
    assert_int_equal(0, LKS_INTEGER(other, "EXISTS", "both"));
    lks_server_stop(other);
}

TEST(a_full_disk_is_said)
{
    LKS_DO(server, "SET", "full", token, "PX", "60000");
    const char *line = lks_format("%s list --redis %s >/dev/full 2>%s", lkc_path(), server->url,
                                  lkc_file(server, "said"));
    int status = system(line); /* NOLINT(cert-env33-c,concurrency-mt-unsafe): fixed words */
    assert_int_equal(71, WEXITSTATUS(status));
    lkc_expect("standard output", lkc_read(lkc_file(server, "said")));
}
