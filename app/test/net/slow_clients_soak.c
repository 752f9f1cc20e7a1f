/*
 * Clients that take their time, one more than there are threads: whatever they hold back, and
 * however they drip, somebody who asks next is answered within a second.
 */
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "test/support/app_fixture.h"

enum {
    THREADS = 5, /* of --connections 4 --streams 0 */
    CLIENTS = THREADS + 1,
    WAIT_MAX_MS = 1000,
    GIVE_UP_MS = 10000,
    OUT_SIZE = 2048,
};

#define HOST "Host: here\r\n"
#define HEAD "GET /livez HTTP/1.1\r\n" HOST
#define BODY                                                                                       \
    "POST /api/v1/sales/cup/orders HTTP/1.1\r\n" HOST                                              \
    "X-User-Id: anna\r\nContent-Type: application/json\r\nContent-Length: 4000\r\n\r\n{"

APP_SELLS("cup", "--connections", "4", "--streams", "0", NULL);

struct row {
    const char *name;
    const char *opening; /* what a client sends at once */
    const char *answer;  /* how the answer to it begins; NULL: there is none */
    const char *drop;    /* then this, over and over; NULL: nothing */
    int64_t drop_ms;
    const char *ending; /* how what he is told in the end begins; "": nothing; NULL: whatever */
};

/* Nothing begins with nothing alone. */
static bool begins_with(const char *text, const char *beginning)
{
    return *beginning ? strncmp(text, beginning, strlen(beginning)) == 0 : *text == '\0';
}

static void connect_clients(const struct app_fixture *self, const struct row *row, int fds[CLIENTS])
{
    char out[OUT_SIZE];

    for (size_t i = 0; i < CLIENTS; i++) {
        fds[i] = app_connect(self->service.buyers);
        assert_true(fds[i] >= 0 && app_send(fds[i], row->opening, strlen(row->opening)));
        if (!row->answer || i >= THREADS) continue; /* the last one waits for a thread */
        (void)app_receive(fds[i], out, sizeof out, "ok\n", GIVE_UP_MS);
        assert_true(begins_with(out, row->answer));
    }
    if (!row->answer) clock_pause_ms(100); /* until each thread has one: nothing tells when */
}

/* Drip until the probe is answered, or it takes too long. */
static void drip_until_answered(const struct row *row, const int fds[CLIENTS], int probe)
{
    struct pollfd answer = {.fd = probe, .events = POLLIN};
    int64_t begin_ms = clock_mono_ms();
    int64_t step_ms = row->drop ? row->drop_ms : GIVE_UP_MS;

    while (poll(&answer, 1, (int)step_ms) == 0 && clock_mono_ms() - begin_ms < GIVE_UP_MS) {
        for (size_t i = 0; i < CLIENTS && row->drop; i++)
            (void)app_send(fds[i], row->drop, strlen(row->drop)); /* he may have been given up */
    }
}

static void check_row(struct app_fixture *self, const struct row *row)
{
    static const char question[] = HEAD "Connection: close\r\n\r\n";
    char out[OUT_SIZE];
    int fds[CLIENTS];

    connect_clients(self, row, fds);
    int64_t begin_ms = clock_mono_ms();
    int probe = app_connect(self->service.buyers);
    assert_true(probe >= 0 && app_send(probe, question, sizeof question - 1));
    drip_until_answered(row, fds, probe);
    int64_t waited_ms = clock_mono_ms() - begin_ms;
    (void)app_receive(probe, out, sizeof out, NULL, GIVE_UP_MS);
    (void)close(probe);
    if (!begins_with(out, "HTTP/1.1 200 ") || waited_ms >= WAIT_MAX_MS)
        fail_msg("%s: answered after %lld ms: %s", row->name, (long long)waited_ms, out);

    (void)app_receive(fds[0], out, sizeof out, NULL, GIVE_UP_MS);
    if (row->ending && !begins_with(out, row->ending)) fail_msg("%s: told: %s", row->name, out);
    for (size_t i = 0; i < CLIENTS; i++)
        (void)close(fds[i]);
}

TEST(whoever_is_slow_holds_nobody_up_for_long, struct app_fixture *self)
{
    static const struct row rows[] = {
        {"silence", "", NULL, NULL, 0, ""},
        {"a head that stops", HEAD "X-", NULL, NULL, 0, NULL},
        {"a head that drips", HEAD "X-", NULL, "x", 200, NULL},
        {"a head that drips slowly", HEAD "X-", NULL, "x", 1200, NULL},
        {"a head that drips more slowly", HEAD "X-", NULL, "x", 1700, NULL},
        {"a body that stops", BODY, NULL, NULL, 0, "HTTP/1.1 408 "},
        {"a body that drips", BODY, NULL, " ", 200, "HTTP/1.1 408 "},
        {"a body that drips slowly", BODY, NULL, " ", 1200, "HTTP/1.1 408 "},
        {"silence after an answer", HEAD "\r\n", "HTTP/1.1 200 ", NULL, 0, ""},
        {"a second head that drips", HEAD "\r\n", "HTTP/1.1 200 ", "x", 200, NULL},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        check_row(self, &rows[i]);
    (void)app_get(self, self->service.buyers, "/api/v1/sales/cup");
    assert_int_equal(app_number(&self->reply, "remaining"), 5);
}

TEST(a_body_that_drips_is_refused_though_nobody_waits, struct app_fixture *self)
{
    char out[OUT_SIZE] = "";
    int64_t begin_ms = clock_mono_ms();
    int fd = app_connect(self->service.buyers);

    assert_true(fd >= 0 && app_send(fd, BODY, sizeof BODY - 1));
    while (!out[0] && clock_mono_ms() - begin_ms < GIVE_UP_MS) {
        (void)app_receive(fd, out, sizeof out, "}", 700);
        (void)app_send(fd, " ", 1);
    }
    (void)close(fd);
    assert_true(begins_with(out, "HTTP/1.1 408 "));
    assert_in_range(clock_mono_ms() - begin_ms, 500, 4000);
}
