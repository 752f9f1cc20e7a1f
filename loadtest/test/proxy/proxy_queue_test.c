/*
 * The queue of bytes on their way: order, due moments, the bound, and no memory when it is empty.
 */
#include "base/random.h"
#include "proxy/proxy_queue.h"
#include "test/support/testing.h"

/* Byte number `n` of an endless stream. */
static unsigned char byte_at(uint64_t n)
{
    return (unsigned char)(n * 31 + n / 251);
}

/* Put up to `length` bytes of the stream in; for how many there was room. */
static size_t put(struct proxy_queue *queue, uint64_t from, size_t length, int64_t due_ns)
{
    unsigned char bytes[10000];
    size_t room = proxy_queue_room(queue);

    if (room < length) length = room;
    for (size_t i = 0; i < length; i++)
        bytes[i] = byte_at(from + i);
    if (length) assert_true(proxy_queue_add(queue, bytes, length, due_ns));
    return length;
}

/* Take up to `length` due bytes out, piece by piece, and compare them with the stream; how many there
 * were. */
static size_t take(struct proxy_queue *queue, uint64_t from, size_t length, int64_t now_ns)
{
    const unsigned char *bytes = NULL;
    size_t taken = 0;
    size_t due = 0;

    while (taken < length && (due = proxy_queue_due(queue, now_ns, &bytes))) {
        if (due > length - taken) due = length - taken;
        for (size_t i = 0; i < due; i++)
            assert_int_equal(byte_at(from + taken + i), bytes[i]);
        proxy_queue_drop(queue, due);
        taken += due;
    }
    return taken;
}

TEST(bytes_come_out_when_they_are_due)
{
    struct proxy_queue queue = {.length = 0};

    assert_int_equal(10, put(&queue, 0, 10, 100));
    assert_int_equal(10, put(&queue, 10, 10, 200));
    assert_int_equal(100, proxy_queue_next_ns(&queue));

    assert_int_equal(0, take(&queue, 0, 100, 99));
    assert_int_equal(10, take(&queue, 0, 100, 150));
    assert_int_equal(200, proxy_queue_next_ns(&queue));
    assert_int_equal(10, take(&queue, 10, 100, 200));
    assert_int_equal(INT64_MAX, proxy_queue_next_ns(&queue));
}

TEST(a_short_delay_does_not_overtake_a_long_one)
{
    struct proxy_queue queue = {.length = 0};

    assert_int_equal(5, put(&queue, 0, 5, 300));
    assert_int_equal(5, put(&queue, 5, 5, 100));

    assert_int_equal(0, take(&queue, 0, 10, 200));
    assert_int_equal(10, take(&queue, 0, 10, 300));
}

TEST(hurry_makes_all_due)
{
    struct proxy_queue queue = {.length = 0};

    proxy_queue_release_all(&queue);
    assert_int_equal(INT64_MAX, proxy_queue_next_ns(&queue));
    assert_int_equal(5, put(&queue, 0, 5, 1000));
    assert_int_equal(5, put(&queue, 5, 5, 2000));

    proxy_queue_release_all(&queue);

    assert_int_equal(10, take(&queue, 0, 10, 1));
}

TEST(it_grows_to_its_bound_and_no_further)
{
    struct proxy_queue queue = {.length = 0};
    uint64_t total = 0;

    for (size_t count = 0; (count = put(&queue, total, 5000, (int64_t)total / 7 + 1));)
        total += count;

    assert_int_equal(PROXY_QUEUE_MAX, total);
    assert_int_equal(0, proxy_queue_room(&queue));
    for (uint64_t taken = 0; taken < total;) {
        size_t count = take(&queue, taken, 7777, INT64_MAX - 1);
        assert_true(count > 0);
        taken += count;
    }
    assert_int_equal(0, queue.length);
}

TEST(many_small_pieces_are_bounded_too)
{
    struct proxy_queue queue = {.length = 0};
    uint64_t total = 0;

    while (put(&queue, total, 1, (int64_t)total + 1))
        total++;

    assert_int_equal(PROXY_QUEUE_PIECES_MAX, total);
    assert_int_equal(1, take(&queue, 0, 10, 1));
    assert_int_equal(1, put(&queue, total, 1, (int64_t)total + 1));
    proxy_queue_clear(&queue);
}

TEST(an_empty_queue_owns_nothing)
{
    struct proxy_queue queue = {.length = 0};

    assert_int_equal(5, put(&queue, 0, 5, 1));
    assert_non_null(queue.first);

    assert_int_equal(5, take(&queue, 0, 5, 1));

    assert_null(queue.first);
    assert_null(queue.last);
}

TEST(any_mixture_of_puts_and_takes_keeps_the_stream)
{
    struct proxy_queue queue = {.length = 0};
    struct random random = random_stream(11, 0);
    uint64_t in = 0;
    uint64_t out = 0;

    for (int64_t now = 1; now < 5000; now++) {
        size_t length = (size_t)random_between(&random, 1, 9000);
        in += put(&queue, in, length, now + random_between(&random, 0, 50));
        out += take(&queue, out, (size_t)random_between(&random, 1, 9000), now);
        assert_int_equal(in - out, queue.length);
    }
    assert_true(out > 1000000);
    proxy_queue_clear(&queue);
}
