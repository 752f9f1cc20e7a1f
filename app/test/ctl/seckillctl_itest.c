/*
 * The operator's command against a real seckilld: what it prints, and its exit statuses.
 */
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <jansson.h>

#include "base/clock.h"
#include "test/support/app_fixture.h"

enum { WORDS_MAX = 12 };

APP_SELLS(NULL, "--connections", "8", NULL);

/* seckillctl with these words, and where the service and its token are. */
static int ctl(struct app_fixture *self, const char *const *words)
{
    const char *args[WORDS_MAX + 5] = {"--admin", self->service.admin, "--admin-token",
                                       self->token};
    size_t count = 4;

    for (; *words && count < WORDS_MAX + 4; words++)
        args[count++] = *words;
    return app_run("seckillctl", args, self->out, sizeof self->out);
}

#define CTL(self, ...) ctl((self), (const char *const[]){__VA_ARGS__, NULL})

TEST(a_sale_is_created_listed_shown_and_ended, struct app_fixture *self)
{
    assert_int_equal(CTL(self, "sale", "create", "tea", "--stock", "7", "--title", "Grün",
                         "--guard", "script", "--starts", "+3600", "--ends=2199-01-01T00:00:00Z"),
                     0);
    assert_non_null(strstr(self->out, "state      upcoming\n"));
    assert_non_null(strstr(self->out, "stock      7 of 7 left\n"));
    assert_int_equal(CTL(self, "sale", "list"), 0);
    assert_non_null(strstr(self->out, "tea "));
    assert_non_null(strstr(self->out, "Grün\n"));
    assert_int_equal(CTL(self, "sale", "show", "tea", "--json"), 0);
    assert_non_null(strstr(self->out, "\"endsAt\":\"2199-01-01T00:00:00.000Z\""));
    assert_int_equal(CTL(self, "sale", "end", "tea"), 0);
    assert_non_null(strstr(self->out, "state      ended\n"));
}

TEST(a_sale_is_edited_paused_resumed_and_restocked, struct app_fixture *self)
{
    assert_int_equal(CTL(self, "sale", "create", "tea", "--stock", "7", "--starts", "+3600"), 0);
    assert_int_equal(CTL(self, "sale", "edit", "tea", "--title", "Gr\xc3\xbcn", "--starts",
                         "2020-01-01T00:00:00Z", "--ends", "2199-01-01T00:00:00Z"),
                     0);
    assert_non_null(strstr(self->out, "title      Gr\xc3\xbcn\n"));
    assert_non_null(strstr(self->out, "state      active\n"));
    assert_non_null(strstr(self->out, "ends       2199-01-01T00:00:00.000Z"));
    assert_int_equal(CTL(self, "sale", "edit", "tea", "--ends", "none"), 0);
    assert_non_null(strstr(self->out, "ends       -\n"));
    assert_int_equal(CTL(self, "sale", "pause", "tea"), 0);
    assert_non_null(strstr(self->out, "state      paused\n"));
    assert_int_equal(CTL(self, "sale", "resume", "tea"), 0);
    assert_int_equal(CTL(self, "sale", "resume", "tea"), 1);
    assert_non_null(strstr(self->out, "The sale is not paused."));
    for (int i = 0; i < 2; i++)
        assert_int_equal(CTL(self, "sale", "restock", "tea", "--units", "5", "--key", "k"), 0);
    assert_non_null(strstr(self->out, " of 12 left\n"));
    for (int i = 0; i < 2; i++) { /* each under a key of its own */
        assert_int_equal(CTL(self, "sale", "restock", "tea", "--units", "1"), 0);
        assert_non_null(strstr(self->out, " units, for sale from 2"));
    }
    assert_non_null(strstr(self->out, " of 14 left\n"));
}

TEST(orders_and_audits_are_printed, struct app_fixture *self)
{
    struct app_reply *reply = malloc(sizeof *reply);
    char path[APP_URL_SIZE];

    assert_non_null(reply);
    assert_int_equal(CTL(self, "sale", "create", "tea", "--stock", "7"), 0);
    assert_int_equal(CTL(self, "sale", "orders", "tea"), 0);
    assert_string_equal(self->out, "");
    app_buy(self->service.buyers, "tea", "anna", "k", reply);
    app_buy(self->service.buyers, "tea", "bert", NULL, reply);
    assert_int_equal(CTL(self, "sale", "orders", "tea"), 0);
    assert_non_null(strstr(self->out, "\"buyer\":\"anna\",\"state\":\"held\",\"key\":\"k\"}\n"));
    assert_non_null(strstr(self->out, "\"buyer\":\"bert\""));
    assert_int_equal(CTL(self, "sale", "orders", "nothing"), 1);
    assert_non_null(strstr(self->out, "(404)"));
    assert_int_equal(CTL(self, "sale", "audit", "tea"), 0);
    assert_non_null(strstr(self->out, "  pass     not-oversold        2 orders for 7 units\n"));
    assert_non_null(strstr(self->out, "\npass\n"));

    (void)snprintf(path, sizeof path, "seckill:{tea}:stock");
    assert_int_equal(app_ask_redis(self->service.redis, "INCR", path), 6);
    assert_int_equal(CTL(self, "sale", "audit", "tea"), 1);
    assert_non_null(strstr(self->out, "  fail     units-add-up "));
    assert_int_equal(CTL(self, "sale", "audit", "tea", "--json"), 1);
    assert_non_null(strstr(self->out, "\"verdict\":\"fail\""));
    free(reply);
}

TEST(a_refusal_is_exit_1_and_says_why, struct app_fixture *self)
{
    assert_int_equal(CTL(self, "sale", "show", "nothing"), 1);
    assert_non_null(strstr(self->out, "(404)"));
    assert_int_equal(CTL(self, "sale", "create", "tea", "--stock", "0"), 1);
    assert_non_null(strstr(self->out, "(400): stock: "));
}

#define HOSTILE "\x1b]0;x\x07\xc2\x9bJ\x7f\n\xe2\x80\xaeturned\xe2\x80\xac"
#define SHOWN   "\\u001b]0;x\\u0007\\u009bJ\\u007f\\u000a\\u202eturned\\u202c"

/* Nothing in it but what is seen, and ends of lines. */
static void assert_seen(const char *out)
{
    static const char *const obeyed[] = {"\x1b", "\x07", "\x7f", "\r", "\xc2\x9b", "\xe2\x80"};

    for (size_t i = 0; i < sizeof obeyed / sizeof obeyed[0]; i++)
        if (strstr(out, obeyed[i])) fail_msg("byte %02x in: %s", (unsigned char)obeyed[i][0], out);
}

TEST(titles_are_shown_not_obeyed, struct app_fixture *self)
{
    json_t *json = NULL;

    assert_int_equal(CTL(self, "sale", "create", "tea", "--stock", "7", "--title", HOSTILE), 0);
    assert_non_null(strstr(self->out, "title      " SHOWN "\n"));
    assert_seen(self->out);
    assert_int_equal(CTL(self, "sale", "list"), 0);
    assert_non_null(strstr(self->out, " " SHOWN "\n"));
    assert_seen(self->out);
    assert_int_equal(CTL(self, "sale", "show", "tea", "--json"), 0);
    assert_seen(self->out);
    json = json_loads(self->out, 0, NULL);
    assert_string_equal(json_string_value(json_object_get(json, "title")), HOSTILE);
    json_decref(json);
    assert_int_equal(CTL(self, "sale", "show", HOSTILE), 2);
    assert_seen(self->out);
    assert_int_equal(CTL(self, "sale", "create", "b", "--stock", "1", "--guard", HOSTILE), 1);
    assert_seen(self->out);
}

/* A child that gives one client these bytes, by and by, and ends; its address. */
static pid_t serve_once(const char *answer, char out[APP_URL_SIZE])
{
    struct sockaddr_in where = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof where;
    char asked[4096];
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    assert_int_equal(bind(listener, (const struct sockaddr *)&where, sizeof where), 0);
    assert_int_equal(listen(listener, 1), 0);
    assert_int_equal(getsockname(listener, (struct sockaddr *)&where, &size), 0);
    (void)snprintf(out, APP_URL_SIZE, "http://127.0.0.1:%d", ntohs(where.sin_port));
    pid_t pid = fork();
    if (pid == 0) {
        (void)alarm(20);
        int fd = accept(listener, NULL, NULL);

        if (read(fd, asked, sizeof asked) <= 0) _exit(1);
        for (; *answer; answer++) {
            if (send(fd, answer, 1, MSG_NOSIGNAL) != 1) _exit(1);
            clock_pause_ms(strchr(answer, '\n') ? 0 : 1); /* the last line in many pieces */
        }
        _exit(0);
    }
    (void)close(listener);
    return pid;
}

#define HEAD "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n"

TEST(another_server_is_not_obeyed_either, struct app_fixture *self)
{
    static const struct {
        const char *words[5];
        const char *answer, *shown;
        int status;
    } cases[] = {
        {{"sale", "orders", "tea"},
         HEAD "{\"id\":\"" HOSTILE "\"}\n{\"id\":\"\xc2\x9b\xe4\xb8\xad\xe2\x80\xac\"}",
         "\\u202c\"}\n{\"id\":\"\\u009b\xe4\xb8\xad\\u202c\"}",
         0},
        {{"sale", "show", "tea", "--json"}, HEAD "\x1b[2J\xc2\x9b", "\\u001b[2J\\u009b\n", 0},
        {{"sale", "list"}, HEAD "{\"sales\":[{\"id\":\"\\u001b\"}]}", "\n\\u001b ", 0},
        {{"sale", "show", "tea"}, HEAD "[[[[[[[[[[[[[[[[[[[[", "title      -\n", 0},
    };
    char url[APP_URL_SIZE];

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const char *args[] = {"--admin",
                              url,
                              "--admin-token",
                              self->token,
                              cases[i].words[0],
                              cases[i].words[1],
                              cases[i].words[2],
                              cases[i].words[3],
                              NULL};
        pid_t pid = serve_once(cases[i].answer, url);

        assert_int_equal(app_run("seckillctl", args, self->out, sizeof self->out), cases[i].status);
        assert_int_equal(waitpid(pid, NULL, 0), pid);
        if (!strstr(self->out, cases[i].shown)) fail_msg("%s: %s", cases[i].shown, self->out);
        assert_seen(self->out);
    }
}

TEST(wrong_usage_is_exit_2, struct app_fixture *self)
{
    assert_int_equal(CTL(self, "sale"), 2);
    assert_int_equal(CTL(self, "sale", "burn", "tea"), 2);
    assert_int_equal(CTL(self, "sale", "create"), 2);
    assert_int_equal(CTL(self, "sale", "create", "tea"), 2);
    assert_int_equal(CTL(self, "sale", "create", "tea", "--stock", "many"), 2);
    assert_int_equal(CTL(self, "sale", "create", "tea", "--stock", "1", "--starts", "soon"), 2);
    assert_int_equal(CTL(self, "sale", "show", "../x"), 2);
    assert_int_equal(CTL(self, "sale", "pause", "../x"), 2);
    assert_int_equal(CTL(self, "sale", "pause"), 2);
    assert_int_equal(CTL(self, "sale", "edit", "tea"), 2);
    assert_int_equal(CTL(self, "sale", "edit", "tea", "--starts", "none"), 2);
    assert_int_equal(CTL(self, "sale", "restock", "tea"), 2);
    assert_int_equal(CTL(self, "sale", "restock", "tea", "--units", "1x"), 2);
    assert_int_equal(CTL(self, "sale", "list", "--colour", "red"), 2);
    assert_int_equal(CTL(self, "sale", "list", "--admin-token", "/nothing"), 2);
}

TEST(a_service_that_is_not_there_is_exit_3, struct app_fixture *self)
{
    assert_int_equal(CTL(self, "sale", "list", "--admin", "http://127.0.0.1:1"), 3);
}

TEST(help_is_there_on_each_level, struct app_fixture *self)
{
    assert_int_equal(CTL(self, "--help"), 0);
    assert_non_null(strstr(self->out, "sale create ID"));
    assert_int_equal(app_run("seckillctl", (const char *const[]){"sale", "end", "--help", NULL},
                             self->out, sizeof self->out),
                     0);
    assert_non_null(strstr(self->out, "sale end ID"));
    assert_null(strstr(self->out, "sale create ID"));
}
