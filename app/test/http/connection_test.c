/*
 * A connection and the leader that answers for it: who may touch it when. Socket pairs stand for
 * clients; only the main thread asserts.
 */
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "http/connection.h"
#include "test/support/testing.h"

static int ends[2]; /* ours of the connection, and the client's */

BEFORE_EACH()
{
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
}

AFTER_EACH()
{
    (void)close(ends[0]);
    (void)close(ends[1]);
}

static struct connection *waiting_connection(int fd)
{
    struct http_request request = {.request_id = "r-1", .method = "POST"};
    struct connection *connection = connection_new();

    assert_non_null(connection);
    connection->fd = fd;
    connection_begin(connection, &request, "phones");
    return connection;
}

TEST(what_a_purchase_needs_is_copied)
{
    struct connection *connection = waiting_connection(-1);

    assert_string_equal(connection->sale_id, "phones");
    assert_ptr_equal(connection->request.request_id, connection->request_id);
    assert_string_equal(connection->request_id, "r-1");
    assert_true(connection->request.is_detached);
    assert_ptr_equal(connection->purchase.buyer, connection->buyer);

    connection_answered(connection);
    connection_settle(connection); /* comes back at once */
    connection_close(connection);
}

static void *answer(void *arg)
{
    struct connection *connection = arg;

    connection_send(connection, "answer", 6);
    connection_answered(connection);
    return NULL;
}

static void settle_and_close(struct connection *connection)
{
    connection_settle(connection);
    connection_close(connection);
}

/* Many rounds, because the meeting with the answer is the race. */
TEST(settling_and_closing_wait_until_the_answer_is_out)
{
    static void (*const ways[])(struct connection *) = {settle_and_close, connection_close};
    char got[6];

    for (int round = 0; round < 400; round++) {
        struct connection *connection = waiting_connection(ends[0]);
        pthread_t leader;

        assert_int_equal(pthread_create(&leader, NULL, answer, connection), 0);
        ways[round % 2](connection);
        assert_int_equal(recv(ends[1], got, sizeof got, MSG_DONTWAIT), sizeof got);
        assert_int_equal(pthread_join(leader, NULL), 0);
    }
}

TEST(who_does_not_read_is_cut_off_and_nobody_waits)
{
    char block[4096] = {0};
    char drain[4096];
    struct connection connection = {0};
    ssize_t got = 0;

    connection.fd = ends[0];
    for (int i = 0; i < 1000; i++)
        connection_send(&connection, block, sizeof block); /* would block for ever if it could */
    do {
        got = recv(ends[1], drain, sizeof drain, MSG_DONTWAIT);
    } while (got > 0);

    assert_int_equal(got, 0); /* the end of the stream, not "nothing yet" */
}

struct far_end {
    int fd;
    size_t want;
};

/* Read what is wanted, in small pieces, then hang up. */
static void *read_slowly(void *arg)
{
    struct far_end *self = arg;
    char piece[512];

    while (self->want > 0) {
        ssize_t got = recv(self->fd, piece, sizeof piece, 0);

        if (got <= 0) break;
        self->want -= (size_t)got;
    }
    (void)shutdown(self->fd, SHUT_RDWR);
    return NULL;
}

TEST(a_stream_waits_for_its_reader_within_limits)
{
    static const char large[1 << 20]; /* more than a socket holds */
    struct connection connection = {0};
    struct far_end far = {.want = sizeof large};
    pthread_t reader;

    connection.fd = ends[0];
    far.fd = ends[1];
    assert_int_equal(pthread_create(&reader, NULL, read_slowly, &far), 0);
    assert_int_equal(connection_write(&connection, large, sizeof large, 5000), CONNECTION_FINE);
    assert_int_equal(pthread_join(reader, NULL), 0);
    assert_int_equal(far.want, 0);
    assert_int_equal(connection_write(&connection, large, 1, 5000), CONNECTION_GONE);

    (void)close(ends[0]);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    connection.fd = ends[0];
    assert_int_equal(connection_write(&connection, large, sizeof large, 20), CONNECTION_SLOW);
}

TEST(a_stream_waits_for_news_or_the_end)
{
    int wake = eventfd(0, EFD_NONBLOCK);
    struct connection connection = {0};

    connection.fd = ends[0];
    assert_int_equal(connection_wait(&connection, wake, 1), CONNECTION_FINE);
    assert_int_equal(send(ends[1], "x", 1, 0), 1); /* what a client still says is no news */
    assert_int_equal(connection_wait(&connection, wake, 1), CONNECTION_FINE);
    assert_int_equal(eventfd_write(wake, 1), 0);
    assert_int_equal(connection_wait(&connection, wake, 5000), CONNECTION_WOKEN);
    assert_int_equal(connection_wait(&connection, -1, 1), CONNECTION_FINE);
    (void)shutdown(ends[1], SHUT_RDWR);
    assert_int_equal(connection_wait(&connection, wake, 5000), CONNECTION_GONE);
    (void)close(wake);
}
