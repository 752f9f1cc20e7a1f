/*
 * Introductions on a connection whose other end is this test: whatever becomes of them, each answer
 * is its command's.
 * link: -Wl,--wrap=malloc
 */
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"
#include "test/support/testing.h"
#include "wire/redis.h"

enum { LIMIT_MS = 300 };

static bool has_no_memory;

FAKE(void *, malloc, size_t size)
{
    return has_no_memory ? NULL : __real_malloc(size);
}

static char name_app[] = "app";
static char name_loader[] = "loader";
static char secret[] = "geheim";

struct fixture {
    char dir[32];
    char path[64];
    int listener;
    int server; /* the other end */
    struct lki_endpoint endpoint;
    struct lki_redis *redis;
};

SET_UP(struct fixture, self)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};

    (void)snprintf(self->dir, sizeof self->dir, "/tmp/redis_test.XXXXXX");
    assert_non_null(mkdtemp(self->dir));
    (void)snprintf(self->path, sizeof self->path, "%s/sock", self->dir);
    (void)snprintf(address.sun_path, sizeof address.sun_path, "%s", self->path);
    self->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(self->listener, (struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(listen(self->listener, 1), 0);
    self->endpoint = (struct lki_endpoint){.path = self->path};
    self->redis = lki_redis_open(&self->endpoint, lki_clock_after_ms(LIMIT_MS), NULL);
    assert_non_null(self->redis);
    self->server = accept(self->listener, NULL, NULL);
    assert_true(self->server >= 0);
    self->endpoint.user = name_app;
    self->endpoint.password = secret;
    self->endpoint.loader = name_loader;
    self->endpoint.loader_password = secret;
}

TEAR_DOWN(struct fixture, self)
{
    lki_redis_close(self->redis);
    (void)close(self->server);
    (void)close(self->listener);
    (void)unlink(self->path);
    (void)rmdir(self->dir);
}

static void answer(const struct fixture *self, const char *text)
{
    assert_int_equal(write(self->server, text, strlen(text)), (ssize_t)strlen(text));
}

static lk_status load_first(const struct fixture *self)
{
    return lki_redis_load_script(self->redis, &self->endpoint, "return 1",
                                 lki_clock_after_ms(LIMIT_MS), NULL);
}

/* PING, and its answer as a text; "": none. */
static lk_status ping(const struct fixture *self, char out[128])
{
    const struct lk_bytes word = LK_BYTES("PING");
    lk_reply *reply = NULL;
    lk_status status = lki_redis_exchange(self->redis, &(struct lk_command){&word, 1}, 1,
                                          lki_clock_after_ms(LIMIT_MS), &reply, NULL);

    (void)snprintf(out, 128, "%s", reply ? lk_reply_bytes(reply).data : "");
    lk_reply_free(reply);
    return status;
}

TEST(answers_to_introductions_are_nobodys, const struct fixture *self)
{
    char text[128];

    assert_int_equal(load_first(self), LK_OK);
    assert_int_equal(load_first(self), LK_OK);
    answer(self, "+1\r\n+2\r\n+3\r\n+4\r\n-NOPERM 5\r\n+6\r\n+mine\r\n");
    assert_int_equal(ping(self, text), LK_OK);
    assert_string_equal(text, "mine");
    assert_int_equal(lki_redis_refusal(self->redis)->code, LK_SERVER);
    answer(self, "+next\r\n");
    assert_int_equal(ping(self, text), LK_OK);
    assert_string_equal(text, "next");
}

/* Redis 6.2 tells of the script first, and Redis 7 last. */
TEST(the_word_of_an_error_in_a_script_comes_first)
{
#define IN_SCRIPT "ERR Error running script (call to f_0a1b): @user_script:31: "
    static const char *const rows[][2] = {
        {IN_SCRIPT "WRONGTYPE Operation", "WRONGTYPE Operation"},
        {IN_SCRIPT "@user_script: 31: -READONLY You can't", "READONLY You can't"},
        {IN_SCRIPT "@user_script: 31: Unknown Redis", IN_SCRIPT "@user_script: 31: Unknown Redis"},
        {IN_SCRIPT "user_script:31: x", IN_SCRIPT "user_script:31: x"},
        {IN_SCRIPT, IN_SCRIPT},
        {IN_SCRIPT "X", IN_SCRIPT "X"},
        {"READONLY of @user_script:3: OOM x", "READONLY of @user_script:3: OOM x"},
    };
    char line[160];
    char text[128];

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        (void)snprintf(line, sizeof line, "-%s\r\n", rows[i][0]);
        answer(*state, line);
        assert_int_equal(ping(*state, text), LK_OK);
        assert_string_equal(text, rows[i][1]);
    }
}

static lk_status ping_nested(const struct fixture *self, size_t depth)
{
    static char nested[32768];
    char text[128];

    nested[0] = '\0';
    for (char *end = nested; depth > 0; depth--)
        end = stpcpy(end, "*1\r\n");
    answer(self, nested);
    answer(self, "+x\r\n");
    return ping(self, text);
}

TEST(replies_are_nested_so_deep_and_no_deeper, const struct fixture *self)
{
    assert_int_equal(ping_nested(self, 7), LK_OK);
    assert_int_equal(ping_nested(self, 4000), LK_UNKNOWN);
}

TEST(one_deeper_is_refused)
{
    assert_int_equal(ping_nested(*state, 8), LK_UNKNOWN);
}

/* hiredis 0.14 refuses it by itself. */
TEST(what_is_pushed_is_nobodys_answer, const struct fixture *self)
{
    char text[128];

    answer(self, ">2\r\n+invalidate\r\n+key\r\n+mine\r\n");
    assert_int_equal(ping(self, text), LK_UNKNOWN);
}

TEST(one_that_could_not_be_sent_leaves_nothing_behind, const struct fixture *self)
{
    char text[128];

    has_no_memory = true;
    lk_status status = load_first(self);
    has_no_memory = false;
    assert_int_equal(status, LK_NO_MEMORY);
    answer(self, "+mine\r\n");
    assert_int_equal(ping(self, text), LK_OK);
    assert_string_equal(text, "mine");
}

/* It accepts, says so and hangs up: nothing was done, whatever was sent; a login hears the same. */
TEST(a_server_without_room_is_out_of_reach, struct fixture *self)
{
    static const char full[] = "-ERR max number of clients reached\r\n";
    const struct lk_bytes ping = LK_BYTES("PING");
    const struct lk_command commands[] = {{&ping, 1}, {&ping, 1}};
    lk_reply *replies[2] = {NULL};
    struct lk_error err = {0};
    short events = 0;

    answer(self, full);
    assert_int_equal(
        lki_redis_exchange(self->redis, commands, 2, lki_clock_after_ms(LIMIT_MS), replies, &err),
        LK_UNREACHABLE);
    assert_non_null(strstr(err.text, "max number of clients"));
    assert_true(lki_redis_is_unadmitted(self->redis) && lki_redis_is_broken(self->redis));

    struct lki_redis *other =
        lki_redis_open_begin(&self->endpoint, lki_clock_after_ms(LIMIT_MS), NULL);
    assert_int_equal(lki_redis_open_go_on(other, &self->endpoint, &events, &err), LK_BUSY);
    (void)close(self->server);
    self->server = accept(self->listener, NULL, NULL);
    answer(self, full);
    assert_int_equal(lki_redis_open_go_on(other, &self->endpoint, &events, &err), LK_UNREACHABLE);
    assert_non_null(strstr(err.text, "max number of clients"));
    lki_redis_close(other);
}

TEST(who_cannot_log_in_again_is_not_heard, const struct fixture *self)
{
    char text[128];

    assert_int_equal(load_first(self), LK_OK);
    answer(self, "+1\r\n+2\r\n-WRONGPASS\r\n+not as the user\r\n");
    assert_int_equal(ping(self, text), LK_UNKNOWN);
    assert_string_equal(text, "");
    assert_true(lki_redis_is_broken(self->redis));
}

/* A server that knows no AUTH repeats what it was told. */
TEST(what_a_server_repeats_is_not_told, struct fixture *self)
{
    static const char parrot[] = "-ERR unknown command 'AUTH', with args beginning with: 'app' "
                                 "'geheim' \r\n";
    struct lk_error err = {0};
    short events = 0;
    char text[128];

    assert_int_equal(load_first(self), LK_OK);
    answer(self, parrot);
    answer(self, "+2\r\n+3\r\n+mine\r\n");
    assert_int_equal(ping(self, text), LK_OK);
    assert_non_null(strstr(lki_redis_refusal(self->redis)->text, "unknown command 'AUTH'"));
    assert_null(strstr(lki_redis_refusal(self->redis)->text, secret));

    struct lki_redis *other =
        lki_redis_open_begin(&self->endpoint, lki_clock_after_ms(LIMIT_MS), NULL);
    assert_int_equal(lki_redis_open_go_on(other, &self->endpoint, &events, &err), LK_BUSY);
    (void)close(self->server);
    self->server = accept(self->listener, NULL, NULL);
    answer(self, parrot);
    assert_int_equal(lki_redis_open_go_on(other, &self->endpoint, &events, &err), LK_SERVER);
    assert_non_null(strstr(err.text, "unknown command 'AUTH'"));
    assert_null(strstr(err.text, secret));
    lki_redis_close(other);
}
