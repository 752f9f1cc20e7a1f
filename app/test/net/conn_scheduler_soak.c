/*
 * A hostile crowd, ten times as many connections as the service has, from one address and from fifty,
 * each renewed as soon as it ends: somebody else who asks meanwhile is answered within a second. And
 * the streams of events, of which one client takes all.
 *
 * CROWD_SECONDS says how long each row goes on; make test is content with a little over a second.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "test/support/app_fixture.h"

enum {
    CROWD = 320, /* of --connections 32 */
    PROBES_MIN = 5,
    PROBES_MAX = 4000,
    PROBE_EVERY_MS = 40,
    ANSWERED_MS = 1000,
    GIVE_UP_MS = 10000,
    STEP_MS = 10,
    OUT_SIZE = 8192,
    PAGES = 300,
};

#define HOST "Host: here\r\n"
#define GET  "GET /livez HTTP/1.1\r\n" HOST "\r\n"
#define PAGE "GET / HTTP/1.1\r\n" HOST "\r\n"
#define BODY                                                                                       \
    "POST /api/v1/sales/cup/orders HTTP/1.1\r\n" HOST                                              \
    "X-User-Id: anna\r\nContent-Type: application/json\r\nContent-Length: 4000\r\n\r\n{"
#define BUY "POST /api/v1/sales/cup/orders HTTP/1.1\r\n" HOST "X-User-Id: anna\r\n\r\n"

struct row {
    const char *name;
    const char *opening; /* what each says at once */
    const char *then;    /* and now and then; NULL: nothing */
    bool answers_only;   /* `then` only after an answer */
    bool does_not_read;
    unsigned times; /* the opening */
};

static const struct row rows[] = {
    {.name = "silent", .opening = ""},
    {.name = "a head that drips", .opening = "GET / HTTP/1.1\r\nX-", .then = "x"},
    {.name = "a head that civetweb waits for", .opening = "GET / HTTP/1.1\nHost: here\n\r\n"},
    {.name = "a body that drips", .opening = BODY, .then = " "},
    {.name = "idle after an answer", .opening = GET},
    {.name = "a second head that drips", .opening = GET "GET / HTTP/1.1\r\nX-", .then = "x"},
    {.name = "a second body that drips", .opening = GET BODY, .then = " "},
    {.name = "does not read", .opening = PAGE, .does_not_read = true, .times = PAGES},
    {.name = "asks all the time", .opening = GET, .then = GET, .answers_only = true},
    {.name = "buys all the time", .opening = BUY, .then = BUY, .answers_only = true},
};

APP_SELLS("cup", "--connections", "32", "--streams", "4", NULL);

/* From 127.0.1.1 + index; nonblocking if wanted. */
static int connect_from(const char *base, unsigned index, int flags)
{
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    struct sockaddr_in from = {.sin_family = AF_INET, .sin_addr = {htonl(0x7f000101U + index)}};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | flags, 0);

    to.sin_port = htons((uint16_t)strtoul(strrchr(base, ':') + 1, NULL, 10));
    if (fd >= 0 && bind(fd, (const struct sockaddr *)&from, sizeof from) == 0 &&
        (connect(fd, (const struct sockaddr *)&to, sizeof to) == 0 || errno == EINPROGRESS))
        return fd;
    if (fd >= 0) (void)close(fd);
    return -1;
}

struct conn_scheduler {
    const struct row *row;
    const char *base;
    unsigned addresses;
    char *opening;
    int fds[CROWD];
    atomic_bool is_over;
    atomic_uint opened;
};

static void renew(struct conn_scheduler *self, unsigned index)
{
    if (self->fds[index] >= 0) (void)close(self->fds[index]);
    self->fds[index] = connect_from(self->base, index % self->addresses, 0);
    atomic_fetch_add(&self->opened, 1);
    if (self->fds[index] >= 0)
        (void)send(self->fds[index], self->opening, strlen(self->opening),
                   MSG_NOSIGNAL | MSG_DONTWAIT);
}

/* Read what there is; false: the end. */
static bool hears(int fd, bool *heard)
{
    char bytes[OUT_SIZE];
    ssize_t got = recv(fd, bytes, sizeof bytes, MSG_DONTWAIT);

    *heard = got > 0;
    return got > 0 || (got < 0 && errno == EAGAIN);
}

static void drive(struct conn_scheduler *self, unsigned index)
{
    const struct row *row = self->row;
    int fd = self->fds[index];
    bool heard = false;
    bool goes_on = fd >= 0 && (row->does_not_read || hears(fd, &heard));

    if (goes_on && row->then && (heard || !row->answers_only))
        goes_on = send(fd, row->then, strlen(row->then), MSG_NOSIGNAL | MSG_DONTWAIT) > 0;
    if (goes_on && row->does_not_read)
        goes_on = send(fd, self->opening, strlen(self->opening), MSG_NOSIGNAL | MSG_DONTWAIT) > 0 ||
                  errno == EAGAIN;
    if (!goes_on) renew(self, index);
}

static void *run_crowd(void *arg)
{
    struct conn_scheduler *self = arg;

    for (unsigned i = 0; i < CROWD; i++) {
        self->fds[i] = -1;
        renew(self, i);
    }
    while (!atomic_load(&self->is_over)) {
        for (unsigned i = 0; i < CROWD; i++)
            drive(self, i);
        clock_pause_ms(STEP_MS);
    }
    for (unsigned i = 0; i < CROWD; i++)
        if (self->fds[i] >= 0) (void)close(self->fds[i]);
    return NULL;
}

static int64_t ask(struct app_fixture *self, unsigned index)
{
    static const char question[] = "GET /livez HTTP/1.1\r\n" HOST "Connection: close\r\n\r\n";
    int64_t began_ms = clock_mono_ms();
    int fd = connect_from(self->service.buyers, index, 0);

    if (fd < 0 || !app_send(fd, question, sizeof question - 1)) return GIVE_UP_MS;
    (void)app_receive(fd, self->out, sizeof self->out, NULL, GIVE_UP_MS);
    (void)close(fd);
    return strncmp(self->out, "HTTP/1.1 200 ", 13) == 0 ? clock_mono_ms() - began_ms : GIVE_UP_MS;
}

static int by_size(const void *left, const void *right)
{
    int64_t a = *(const int64_t *)left;
    int64_t b = *(const int64_t *)right;

    return (a > b) - (a < b);
}

static void check_row(struct app_fixture *self, const struct row *row, unsigned addresses)
{
    static int64_t waits[PROBES_MAX];
    const char *seconds = secure_getenv("CROWD_SECONDS");
    int64_t until_ms = clock_mono_ms() + (seconds ? strtol(seconds, NULL, 10) * 1000 : 1200);
    size_t opening_len = strlen(row->opening);
    unsigned times = row->times ? row->times : 1;
    struct conn_scheduler crowd = {
        .row = row, .base = self->service.buyers, .addresses = addresses};
    pthread_t thread;
    size_t count = 0;

    crowd.opening = calloc(times, opening_len + 1);
    assert_non_null(crowd.opening);
    for (unsigned i = 0; i < times; i++)
        memcpy(crowd.opening + i * opening_len, row->opening, opening_len);
    assert_int_equal(pthread_create(&thread, NULL, run_crowd, &crowd), 0);
    while (atomic_load(&crowd.opened) < CROWD)
        clock_pause_ms(1);
    while ((count < PROBES_MIN || clock_mono_ms() < until_ms) && count < PROBES_MAX) {
        waits[count++] = ask(self, 200);
        clock_pause_ms(PROBE_EVERY_MS);
    }
    atomic_store(&crowd.is_over, true);
    (void)pthread_join(thread, NULL);
    free(crowd.opening);
    qsort(waits, count, sizeof waits[0], by_size);
    print_message("# %s, %u addresses: %zu probes beside %u connections, p99 %lld ms\n", row->name,
                  addresses, count, atomic_load(&crowd.opened),
                  (long long)waits[(count - 1) * 99 / 100]);
    if (waits[(count - 1) * 99 / 100] > ANSWERED_MS)
        fail_msg("%s, %u addresses: p99 %lld ms", row->name, addresses,
                 (long long)waits[(count - 1) * 99 / 100]);
}

TEST(a_crowd_from_one_address_keeps_nobody_else_out)
{
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        check_row(*state, &rows[i], 1);
}

TEST(a_crowd_from_fifty_addresses_keeps_nobody_else_out)
{
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        check_row(*state, &rows[i], 50);
}

/* The status of the answer. */
static long open_stream(struct app_fixture *self, unsigned index, int *out_fd)
{
    static const char question[] = "GET /api/v1/sales/cup/events HTTP/1.1\r\n" HOST "\r\n";

    *out_fd = connect_from(self->service.buyers, index, 0);
    assert_true(*out_fd >= 0 && app_send(*out_fd, question, sizeof question - 1));
    (void)app_receive(*out_fd, self->out, sizeof self->out, "\r\n\r\n", GIVE_UP_MS);
    return strncmp(self->out, "HTTP/1.1 ", 9) == 0 ? strtol(self->out + 9, NULL, 10) : 0;
}

static bool has_ended(int fd)
{
    char bytes[OUT_SIZE];

    (void)app_receive(fd, bytes, sizeof bytes, NULL, 300);
    return recv(fd, bytes, 1, MSG_DONTWAIT | MSG_PEEK) == 0;
}

TEST(one_client_that_has_all_streams_gives_some_to_others, struct app_fixture *self)
{
    int first[4];
    int other[3];

    for (size_t i = 0; i < 4; i++)
        assert_int_equal(open_stream(self, 0, &first[i]), 200);
    assert_int_equal(open_stream(self, 1, &other[0]), 200); /* the oldest of the four has to go */
    assert_true(has_ended(first[0]));
    assert_int_equal(open_stream(self, 1, &other[1]), 200);
    assert_true(has_ended(first[1]));
    assert_int_equal(open_stream(self, 1, &other[2]), 503); /* two each: that is fair */
    assert_false(has_ended(first[2]));
    assert_false(has_ended(first[3]));
    for (size_t i = 0; i < 4; i++)
        (void)close(first[i]);
    for (size_t i = 0; i < 3; i++)
        (void)close(other[i]);
}

/* Its body is read by a thread, so it holds a place until the body is there. */
static int hold_place(struct app_fixture *self, unsigned index)
{
    static const char opening[] = "POST /api/v1/sales/cup/orders HTTP/1.1\r\n" HOST
                                  "X-User-Id: anna\r\nExpect: 100-continue\r\n"
                                  "Content-Type: application/json\r\nContent-Length: 9\r\n\r\n";
    int fd = connect_from(self->service.buyers, index, 0);

    assert_true(fd >= 0 && app_send(fd, opening, sizeof opening - 1));
    return fd;
}

TEST(an_address_holds_no_more_than_its_bound, struct app_fixture *self)
{
    static const char *const args[] = {
        "--connections", "32", "--address-connections", "2", "--address-streams", "1", NULL};
    int streams[2];
    int holders[3];

    assert_int_equal(app_stop(&self->service), 0);
    app_fixture_start(self, args, NULL);
    assert_int_equal(open_stream(self, 0, &streams[0]), 200);
    assert_int_equal(open_stream(self, 0, &streams[1]), 503);
    for (size_t i = 0; i < 2; i++) {
        holders[i] = hold_place(self, 0);
        (void)app_receive(holders[i], self->out, sizeof self->out, "Continue\r\n\r\n", GIVE_UP_MS);
        assert_int_equal(strncmp(self->out, "HTTP/1.1 100 ", 13), 0);
    }
    holders[2] = hold_place(self, 0); /* waits until one of the others has let others wait enough */
    (void)app_receive(holders[0], self->out, sizeof self->out, NULL, GIVE_UP_MS);
    assert_int_equal(strncmp(self->out, "HTTP/1.1 408 ", 13), 0);
    (void)app_receive(holders[2], self->out, sizeof self->out, "Continue\r\n\r\n", GIVE_UP_MS);
    assert_int_equal(strncmp(self->out, "HTTP/1.1 100 ", 13), 0);
    assert_true(ask(self, 1) < ANSWERED_MS);
    for (size_t i = 0; i < 3; i++)
        (void)close(holders[i]);
    for (size_t i = 0; i < 2; i++)
        (void)close(streams[i]);
}
