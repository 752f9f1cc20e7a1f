/*
 * Requests that no decent client sends, byte by byte: what could be read in two ways is refused and
 * ends the connection. What comes too slowly is in slow_clients_itest.c.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "app_support.h"
#include "clock.h"

enum { OUT_SIZE = 8192 };

#define BUY                                                                                        \
    "POST /api/v1/sales/cup/orders HTTP/1.1\r\nX-User-Id: anna\r\nContent-Type: "                  \
    "application/json\r\n"
#define HOST "Host: here\r\n"
#define NEXT "GET /livez HTTP/1.1\r\nHost: here\r\n\r\n"

struct fixture {
    char dir[APP_PATH_SIZE];
    struct app_process service;
    struct app_reply reply;
    char out[OUT_SIZE];
};

static int set_up(void **state)
{
    static const char *const args[] = {"--connections", "4", NULL};
    struct fixture *fixture = calloc(1, sizeof *fixture);

    if (!fixture) return -1;
    *state = fixture;
    app_folder_make(fixture->dir);
    if (!app_start(&fixture->service, fixture->dir, args)) return -1;
    return app_create_sale(&fixture->service, fixture->dir, "{\"id\":\"cup\",\"stock\":5}") ? 0
                                                                                            : -1;
}

static int tear_down(void **state)
{
    struct fixture *fixture = *state;
    int status = app_stop(&fixture->service);

    app_folder_remove(fixture->dir);
    free(fixture);
    return status;
}

static long long units_left(struct fixture *self)
{
    app_http(&(struct app_call){.base = self->service.buyers, .path = "/api/v1/sales/cup"},
             &self->reply);
    return app_number(&self->reply, "remaining");
}

static size_t answers_in(const char *text)
{
    size_t count = 0;

    for (; (text = strstr(text, "HTTP/1.1 ")); text++)
        count++;
    return count;
}

/* One answer of that status, a problem; and the connection has ended. */
static void assert_refused(struct fixture *self, const char *bytes, const char *status)
{
    char line[64];
    bool is_closed = app_exchange(self->service.buyers, bytes, self->out, sizeof self->out);

    (void)snprintf(line, sizeof line, "HTTP/1.1 %s ", status);
    if (strncmp(self->out, line, strlen(line)) != 0 || answers_in(self->out) != 1 || !is_closed ||
        !strstr(self->out, "\r\nConnection: close\r\n") ||
        !strstr(self->out, "\r\nContent-Type: application/problem+json\r\n"))
        fail_msg("sent:\n%.300s\ngot (closed: %d):\n%s", bytes, is_closed, self->out);
}

static void heads_of_two_meanings_are_refused(void **state)
{
    static const struct {
        const char *bytes, *status;
    } cases[] = {
        {BUY HOST "Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n{}" NEXT, "400"},
        {BUY HOST
         "Transfer-Encoding: chunked\r\nContent-Length: 2\r\n\r\n2\r\n{}\r\n0\r\n\r\n" NEXT,
         "400"},
        {BUY HOST "Content-Length: 2\r\nContent-Length: 9\r\n\r\n{}" NEXT, "400"},
        {BUY HOST "Content-Length: 2\r\nContent-Length: 2\r\n\r\n{}" NEXT, "400"},
        {BUY HOST "Content-Length: 2x\r\n\r\n{}" NEXT, "400"},
        {BUY HOST "Content-Length: 9223372036854775808\r\n\r\n{}", "413"},
        {BUY HOST "Content-Length: 4097\r\n\r\n{}", "413"},
        {BUY HOST "Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n" NEXT, "411"},
        {BUY "Content-Length: 0\r\n\r\n" NEXT, "400"}, /* no Host */
        {BUY HOST HOST "Content-Length: 0\r\n\r\n" NEXT, "400"},
        {BUY HOST "X-User-Id: bert\r\n\r\n" NEXT, "400"},
    };
    struct fixture *self = *state;

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        assert_refused(self, cases[i].bytes, cases[i].status);
    assert_int_equal(units_left(self), 5);
}

static void a_negative_length_buys_nothing(void **state)
{
    struct fixture *self = *state;
    bool is_closed =
        app_exchange(self->service.buyers, BUY HOST "Content-Length: -1\r\n\r\n{}" NEXT, self->out,
                     sizeof self->out);

    assert_true(is_closed);
    assert_true(strncmp(self->out, "HTTP/1.1 4", 10) == 0);
    assert_int_equal(units_left(self), 5);
}

/* GET /livez with so many headers, Host among them. */
static char *request_with_headers(size_t count)
{
    char *bytes = malloc(64 + count * 16);
    size_t len = 0;

    if (!bytes) abort();
    len = (size_t)sprintf(bytes, "GET /livez HTTP/1.1\r\nHost: here\r\n");
    for (size_t i = 1; i < count; i++)
        len += (size_t)sprintf(bytes + len, "X-%zu: 1\r\n", i);
    (void)sprintf(bytes + len, "\r\n");
    return bytes;
}

static void more_headers_than_can_be_read_are_refused(void **state)
{
    static const size_t counts[] = {64, 65, 1000};
    struct fixture *self = *state;

    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        char *bytes = request_with_headers(counts[i]);

        assert_refused(self, bytes, "400");
        free(bytes);
    }
}

static void a_head_of_20_kb_and_garbage_are_refused(void **state)
{
    struct fixture *self = *state;
    char *bytes = malloc(20100);

    assert_non_null(bytes);
    (void)snprintf(bytes, 20100, "GET /livez HTTP/1.1\r\nHost: here\r\nX: %020000d\r\n\r\n", 0);
    (void)app_exchange(self->service.buyers, bytes, self->out, sizeof self->out);
    free(bytes);
    if (self->out[0]) assert_true(strncmp(self->out, "HTTP/1.1 4", 10) == 0);

    (void)app_exchange(self->service.buyers, "\x16\x03\x01\x02\r\n\r\n", self->out,
                       sizeof self->out);
    if (self->out[0]) assert_true(strncmp(self->out, "HTTP/1.1 4", 10) == 0);
    assert_refused(self, "FETCH /livez HTTP/1.1\r\nHost: here\r\n\r\n", "400");
}

static void old_and_absolute_forms_are_understood(void **state)
{
    struct fixture *self = *state;
    char bytes[APP_URL_SIZE + 64];

    assert_true(app_exchange(self->service.buyers, "GET /livez HTTP/1.0\r\n\r\n", self->out,
                             sizeof self->out));
    assert_true(strncmp(self->out, "HTTP/1.1 200 ", 13) == 0);
    assert_non_null(strstr(self->out, "\r\nConnection: close\r\n"));
    (void)snprintf(bytes, sizeof bytes,
                   "GET %s/livez HTTP/1.1\r\nHost: here\r\nConnection: close\r\n\r\n",
                   self->service.buyers);
    assert_true(app_exchange(self->service.buyers, bytes, self->out, sizeof self->out));
    assert_true(strncmp(self->out, "HTTP/1.1 200 ", 13) == 0);
}

static void requests_in_one_packet_are_answered_in_order(void **state)
{
    struct fixture *self = *state;

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
static void make_others_wait(struct fixture *self, int fds[2])
{
    static const char bytes[] = "POST /api/v1/sales/cup/orders HTTP/1.1\r\n" HOST
                                "X-User-Id: other\r\nContent-Length: 0\r\n\r\n";

    app_buy(self->service.buyers, "cup", "first", NULL, &self->reply);
    assert_true(app_hold_lock(self->service.redis, "cup", 900));
    for (size_t i = 0; i < 2; i++) {
        fds[i] = app_connect(self->service.buyers);
        assert_true(app_send(fds[i], bytes, sizeof bytes - 1));
        clock_pause_ms(100); /* until it waits: nothing tells when */
    }
}

static void what_follows_a_waiting_purchase_is_answered_after_it(void **state)
{
    static const char *const followers[] = {"\x01\r\n\r\n", NEXT};
    struct fixture *self = *state;
    char bytes[512];
    int fds[2];

    for (size_t i = 0; i < 2; i++) {
        make_others_wait(self, fds);
        (void)snprintf(bytes, sizeof bytes, BUY HOST "Content-Length: 2\r\n\r\n{}%s", followers[i]);
        (void)app_exchange(self->service.buyers, bytes, self->out, sizeof self->out);
        for (size_t other = 0; other < 2; other++)
            (void)close(fds[other]);

        assert_int_equal(answers_in(self->out), 2);
        assert_true(strncmp(self->out, i == 0 ? "HTTP/1.1 201 " : "HTTP/1.1 409 ", 13) == 0);
    }
}

static void the_largest_body_is_read_and_asked_for(void **state)
{
    struct fixture *self = *state;
    int fd = app_connect(self->service.buyers);
    char body[4097];
    static const char head[] = BUY HOST "Content-Length: 4096\r\nExpect: 100-continue\r\n"
                                        "Connection: close\r\n\r\n";

    (void)snprintf(body, sizeof body, "%-4096s", "{\"qty\":1}");
    assert_true(app_send(fd, head, sizeof head - 1));
    (void)app_receive(fd, self->out, sizeof self->out, "\r\n\r\n", 2000);
    assert_string_equal(self->out, "HTTP/1.1 100 Continue\r\n\r\n");
    assert_true(app_send(fd, body, 2048));
    assert_true(app_send(fd, body + 2048, 2048));
    (void)app_receive(fd, self->out, sizeof self->out, NULL, 5000);
    (void)close(fd);

    assert_true(strncmp(self->out, "HTTP/1.1 201 ", 13) == 0);
}

static void idle_connections_are_closed_after_seconds(void **state)
{
    struct fixture *self = *state;
    int fd = app_connect(self->service.buyers);
    int64_t began_ms = 0;

    assert_true(app_send(fd, NEXT, sizeof NEXT - 1));
    (void)app_receive(fd, self->out, sizeof self->out, "ok\n", 2000);
    assert_non_null(strstr(self->out, "\r\nConnection: keep-alive\r\n"));
    began_ms = clock_mono_ms();
    assert_int_equal(app_receive(fd, self->out, sizeof self->out, NULL, 9000), 0);
    assert_in_range(clock_mono_ms() - began_ms, 1000, 8000);
    (void)close(fd);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
/* A client may close its writing half after its last request; the answer is still due. */
static void a_client_that_has_finished_writing_gets_its_answer(void **state)
{
    static const char bytes[] = "POST /api/v1/sales/cup/orders HTTP/1.1\r\n" HOST
                                "X-User-Id: half\r\nContent-Length: 0\r\n\r\n";
    struct fixture *self = *state;
    int others[2];

    make_others_wait(self, others);
    int fd = app_connect(self->service.buyers);
    assert_true(app_send(fd, bytes, sizeof bytes - 1));
    assert_int_equal(shutdown(fd, SHUT_WR), 0);
    (void)app_receive(fd, self->out, sizeof self->out, "}", 5000);
    (void)close(fd);
    for (size_t other = 0; other < 2; other++)
        (void)close(others[other]);

    assert_int_equal(answers_in(self->out), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(heads_of_two_meanings_are_refused),
        TEST(a_negative_length_buys_nothing),
        TEST(more_headers_than_can_be_read_are_refused),
        TEST(a_head_of_20_kb_and_garbage_are_refused),
        TEST(old_and_absolute_forms_are_understood),
        TEST(requests_in_one_packet_are_answered_in_order),
        TEST(what_follows_a_waiting_purchase_is_answered_after_it),
        TEST(a_client_that_has_finished_writing_gets_its_answer),
        TEST(the_largest_body_is_read_and_asked_for),
        TEST(idle_connections_are_closed_after_seconds),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
