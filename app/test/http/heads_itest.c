/*
 * Requests that decent clients send in unusual ways, byte by byte. What is refused is in the table of
 * hostile_itest.c, what comes too slowly in slow_clients_soak.c.
 */
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "test/support/app_fixture.h"

#define BUY                                                                                        \
    "POST /api/v1/sales/cup/orders HTTP/1.1\r\nX-User-Id: anna\r\nContent-Type: "                  \
    "application/json\r\n"
#define HOST "Host: here\r\n"
#define NEXT "GET /livez HTTP/1.1\r\nHost: here\r\n\r\n"

APP_SELLS("cup", "--connections", "4", "--deadline-ms", "3000", "--idle-ms", "2000", NULL);

static size_t answers_in(const char *text)
{
    size_t count = 0;

    for (; (text = strstr(text, "HTTP/1.1 ")); text++)
        count++;
    return count;
}

TEST(its_own_name_before_the_path_is_understood, struct app_fixture *self)
{
    char bytes[APP_URL_SIZE + 64];

    (void)snprintf(bytes, sizeof bytes,
                   "GET %s/livez HTTP/1.1\r\nHost: here\r\nConnection: close\r\n\r\n",
                   self->service.buyers);
    assert_true(app_exchange(self->service.buyers, bytes, self->out, sizeof self->out));
    assert_true(strncmp(self->out, "HTTP/1.1 200 ", 13) == 0);
}

TEST(requests_in_one_packet_are_answered_in_order, struct app_fixture *self)
{
    assert_true(app_exchange(self->service.buyers,
                             BUY HOST "Content-Length: 9\r\n\r\n{\"qty\":1}" NEXT
                                      "GET /nothing HTTP/1.1\r\nHost: here\r\n"
                                      "Connection: close\r\n\r\n",
                             self->out, sizeof self->out));

    assert_int_equal(answers_in(self->out), 3);
    assert_true(strncmp(self->out, "HTTP/1.1 201 ", 13) == 0);
    assert_true(strstr(self->out, "HTTP/1.1 200 ") < strstr(self->out, "HTTP/1.1 404 "));
}

/* The first leads a batch that waits for a lock a third party holds; the second will lead the next. */
static void make_others_wait(struct app_fixture *self, int fds[2])
{
    static const char bytes[] = "POST /api/v1/sales/cup/orders HTTP/1.1\r\n" HOST
                                "X-User-Id: other\r\nContent-Length: 0\r\n\r\n";

    app_buy(self->service.buyers, "cup", "first", NULL, &self->reply);
    assert_true(app_hold_lock(self->service.redis, "cup", 60000));
    for (int i = 0; i < 2; i++) {
        fds[i] = app_connect(self->service.buyers);
        assert_true(app_send(fds[i], bytes, sizeof bytes - 1));
        assert_true(app_serves(self, i + 1));
    }
}

/* Behind them: what is sent waits, too, and then the lock is free. All that is answered is in self->out. */
static void wait_with_others(struct app_fixture *self, const char *bytes, bool is_last)
{
    int others[2];

    make_others_wait(self, others);
    int fd = app_connect(self->service.buyers);
    assert_true(app_send(fd, bytes, strlen(bytes)));
    if (is_last) assert_int_equal(shutdown(fd, SHUT_WR), 0);
    assert_true(app_serves(self, 3));
    assert_true(app_hold_lock(self->service.redis, "cup", 0));
    (void)app_receive(fd, self->out, sizeof self->out, is_last ? "}" : NULL, 5000);
    (void)close(fd);
    for (size_t i = 0; i < 2; i++)
        (void)close(others[i]);
}

TEST(what_follows_a_waiting_purchase_is_answered_after_it, struct app_fixture *self)
{
    static const char *const followers[] = {"\x01\r\n\r\n", NEXT};
    char bytes[512];

    for (size_t i = 0; i < 2; i++) {
        (void)snprintf(bytes, sizeof bytes, BUY HOST "Content-Length: 2\r\n\r\n{}%s", followers[i]);
        wait_with_others(self, bytes, false);
        assert_int_equal(answers_in(self->out), 2);
        assert_true(strncmp(self->out, i == 0 ? "HTTP/1.1 201 " : "HTTP/1.1 409 ", 13) == 0);
    }
}

TEST(the_largest_body_is_read_and_asked_for, struct app_fixture *self)
{
    int fd = app_connect(self->service.buyers);
    char body[4097];
    static const char head[] = BUY HOST "Content-Length: 4096\r\nExpect: 100-continue\r\n"
                                        "Connection: close\r\n\r\n";

    (void)snprintf(body, sizeof body, "%-4096s", "{\"qty\":1}");
    assert_true(app_send(fd, head, sizeof head - 1));
    (void)app_receive(fd, self->out, sizeof self->out, "\r\n\r\n", 5000);
    assert_string_equal(self->out, "HTTP/1.1 100 Continue\r\n\r\n");
    assert_true(app_send(fd, body, 2048));
    assert_true(app_send(fd, body + 2048, 2048));
    (void)app_receive(fd, self->out, sizeof self->out, NULL, 5000);
    (void)close(fd);

    assert_true(strncmp(self->out, "HTTP/1.1 201 ", 13) == 0);
}

TEST(idle_connections_are_closed_after_seconds, struct app_fixture *self)
{
    int fd = app_connect(self->service.buyers);
    int64_t began_ms = clock_mono_ms();

    assert_true(app_send(fd, NEXT, sizeof NEXT - 1));
    (void)app_receive(fd, self->out, sizeof self->out, "ok\n", 5000);
    assert_non_null(strstr(self->out, "\r\nConnection: keep-alive\r\n"));
    assert_int_equal(app_receive(fd, self->out, sizeof self->out, NULL, 20000), 0);
    assert_in_range(clock_mono_ms() - began_ms, 1000, 15000); /* it was closed, not given up */
    (void)close(fd);
}

/* A client may close its writing half after its last request; the answer is still due. */
TEST(a_client_that_has_finished_writing_gets_its_answer, struct app_fixture *self)
{
    static const char bytes[] = "POST /api/v1/sales/cup/orders HTTP/1.1\r\n" HOST
                                "X-User-Id: half\r\nContent-Length: 0\r\n\r\n";

    wait_with_others(self, bytes, true);
    assert_int_equal(answers_in(self->out), 1);
}

/* A client that reads later than the service closes, and has sent what nobody will read. */
TEST(an_answer_is_whole_whatever_comes_behind_it, struct app_fixture *self)
{
    enum { BEHIND = 30000, ANSWER_MAX = 1024 * 1024, LATER_MS = 300 };
    static const char head[] = "GET /openapi.json HTTP/1.1\r\n" HOST "Connection: close\r\n\r\n";
    char *behind = calloc(1, BEHIND);
    char *answer = malloc(ANSWER_MAX);
    int fd = app_connect(self->service.buyers);
    int small = 4096;
    size_t len = 0;

    assert_true(behind && answer && fd >= 0);
    assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &small, sizeof small), 0);
    assert_true(app_send(fd, head, sizeof head - 1) && app_send(fd, behind, BEHIND));
    clock_pause_ms(LATER_MS);
    len = app_receive(fd, answer, ANSWER_MAX, NULL, 5000);
    const char *body = strstr(answer, "\r\n\r\n");
    const char *length = strstr(answer, "\r\nContent-Length: ");
    assert_true(body && length);
    assert_int_equal(strtoul(length + 18, NULL, 10), len - (size_t)(body + 4 - answer));
    (void)close(fd);
    free(answer);
    free(behind);
}
