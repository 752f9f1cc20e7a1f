/*
 * A failover that loses orders, made to happen: both replicas are away while the last units are sold,
 * and then the primary is gone for good. What was accepted is lost, as is said of Sentinel without
 * replicas waited for; but nobody may be told afterwards what was true before it.
 */
#include "base/clock.h"
#include "test/support/app_stream.h"
#include "test/support/app_topology.h"

enum { SOON_MS = 10000, FAILOVER_MS = 40000, FRESH_MS = 100 };

static struct app_topology many;

BEFORE_EACH()
{
    many.topology = lkt_start(NULL);
    app_topology_begin(&many);
}

AFTER_EACH()
{
    app_topology_end(&many);
    lkt_stop(many.topology);
}

/* n1 is the primary. Cid and Dan are the last two, and no replica hears of them. */
static void sell_the_last_unheard(struct app_stream *stream)
{
    struct app_event event;

    assert_int_equal(app_topology_create(&many, "cup", 4, "mutex"), 201);
    assert_int_equal(app_topology_buy(&many, "cup", "ann", "a"), 201);
    assert_int_equal(app_topology_buy(&many, "cup", "bob", "b"), 201);
    /* WAIT is for what its own connection has written. */
    LKS_DO(lkt_server(many.topology, "n1"), "SET", "last", "1");
    LKS_EVENTUALLY(LKS_INTEGER(lkt_server(many.topology, "n1"), "WAIT", "2", "1000") == 2, SOON_MS);
    (void)lkt_tell(many.topology, "kill n2");
    (void)lkt_tell(many.topology, "kill n3");
    assert_true(app_stream_open(stream, many.service.buyers, "cup"));
    assert_true(app_stream_find(stream, "snapshot", &event, SOON_MS));
    assert_int_equal(app_event_number(&event, "remaining"), 2);
    assert_int_equal(app_topology_buy(&many, "cup", "cid", "c"), 201);
    assert_int_equal(app_topology_buy(&many, "cup", "dan", "d"), 201);
    assert_int_equal(app_topology_buy(&many, "cup", "eve", "e"), 409);
    assert_true(app_is_problem(&many.reply, 409, "sold-out"));
    clock_pause_ms(2 * (int64_t)FRESH_MS); /* the book is in memory now, with Cid and Dan */
    assert_int_equal(app_topology_buy(&many, "cup", "cid", "other"), 409);
    assert_true(app_is_problem(&many.reply, 409, "already-ordered"));
}

/* One replica comes back, and becomes the primary: no other can take its place again. */
static void lose_the_primary(void)
{
    (void)lkt_tell(many.topology, "kill n1");
    (void)lkt_tell(many.topology, "restart n2");
}

static bool is_sold_to_eve(void)
{
    long status = app_topology_buy(&many, "cup", "eve", "e");

    /* She was told "sold out" before. Now units are there again, or nothing can be told. */
    if (status != 201 && status != 503 && !app_is_problem(&many.reply, 409, "sold-out"))
        fail_msg("%s", many.reply.body);
    return status == 201;
}

TEST(nobody_is_told_what_was_true_before_it)
{
    static struct app_stream stream;
    struct app_event event;

    APP_MANY_START(&many, "--lease-ms", "3000");
    sell_the_last_unheard(&stream);
    lose_the_primary();
    LKS_EVENTUALLY(is_sold_to_eve(), FAILOVER_MS);
    assert_int_equal(app_topology_look_up(&many, "cup", "ann"), 200);
    assert_int_equal(app_topology_look_up(&many, "cup", "cid"), 404); /* lost, and told so */
    assert_int_equal(app_topology_buy(&many, "cup", "fay", NULL), 201);
    clock_pause_ms(FRESH_MS);
    for (unsigned i = 0; i < 20; i++) { /* sold out again: with another book */
        assert_int_equal(app_topology_buy(&many, "cup", "cid", "c"), 409);
        assert_true(app_is_problem(&many.reply, 409, "sold-out"));
        assert_int_equal(app_topology_buy(&many, "cup", "fay", NULL), 409);
        assert_true(app_is_problem(&many.reply, 409, "already-ordered"));
        clock_pause_ms(10);
    }
    app_topology_assert_books(&many, "cup", 4, 0);
    assert_true(app_stream_find(&stream, "snapshot", &event, SOON_MS)); /* the thread was lost */
    app_stream_close(&stream);
}
