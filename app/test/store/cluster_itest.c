/*
 * seckilld on a cluster of three masters and their replicas: every sale is on one of them, or in segments on all,
 * an unfit master is found at the start, a sale goes on while its slot moves, and after its master was killed.
 */
#include "store/store_segments.h"
#include "test/support/app_fixture.h"
#include "test/support/app_stream.h"
#include "test/support/app_topology.h"

enum { SOON_MS = 10000, FAILOVER_MS = 30000, SALES = 9, OUT_SIZE = 8192, NAME_SIZE = 32 };

static const char *const guards[] = {"mutex", "mutex-watchdog", "fenced",  "script",
                                     "watch", "none",           "get-del", "mutex-unchecked"};
enum { GUARDS = sizeof guards / sizeof guards[0] };

static struct app_topology many;

BEFORE_ALL()
{
    many.topology = lkt_start(&(struct lkt_options){.is_cluster = true});
}

AFTER_ALL()
{
    lkt_stop(many.topology);
}

BEFORE_EACH()
{
    app_topology_begin(&many);
}

AFTER_EACH()
{
    app_topology_end(&many);
}

static int slot_of(const char *sale)
{
    return (int)strtol(lkt_tell(many.topology, "slot seckill:{%s}:sale", sale), NULL, 10);
}

static void sell_out(const char *sale, const char *guard)
{
    assert_int_equal(app_topology_create(&many, sale, 2, guard), 201);
    assert_int_equal(app_topology_buy(&many, sale, "ann", "k1"), 201);
    assert_int_equal(app_topology_buy(&many, sale, "ann", "k1"), 201);
    assert_int_equal(app_topology_buy(&many, sale, "bob", NULL), 201);
    assert_int_equal(app_topology_buy(&many, sale, "cid", NULL), 409);
    assert_true(app_is_problem(&many.reply, 409, "sold-out"));
    assert_int_equal(app_topology_look_up(&many, sale, "bob"), 200);
    assert_int_equal(app_topology_look_up(&many, sale, "cid"), 404);
    app_topology_assert_books(&many, sale, 2, 0);
}

TEST(sales_are_spread_over_the_masters)
{
    unsigned on_master[3] = {0};
    char sale[NAME_SIZE];

    APP_MANY_START(&many, "--lease-ms", "3000");
    for (unsigned i = 0; i < SALES; i++) {
        (void)snprintf(sale, sizeof sale, "spread-%u", i);
        sell_out(sale, guards[i % GUARDS]);
        const char *master = lkt_tell(many.topology, "primary %d", slot_of(sale));
        assert_true(master[0] == 'n' && master[1] >= '1' && master[1] <= '3');
        on_master[master[1] - '1']++;
    }
    for (size_t i = 0; i < 3; i++)
        assert_true(on_master[i] > 0); /* or this test has shown nothing */
    assert_int_equal(app_topology_get(&many, "/api/v1/admin/sales"), 200);
    for (unsigned i = 0; i < SALES; i++) {
        char sample[96];

        (void)snprintf(sale, sizeof sale, "\"spread-%u\"", i);
        assert_int_equal(app_topology_get(&many, "/api/v1/admin/sales"), 200);
        assert_non_null(strstr(many.reply.body, sale));
        (void)snprintf(sample, sizeof sample, "seckill_stock_initial_units{sale=%s}", sale);
        assert_true(app_topology_metric(&many, sample) == 2);
    }
}

TEST(sales_of_several_masters_are_watched_together)
{
    static struct app_stream streams[3];
    struct app_event event;
    char sale[NAME_SIZE];

    APP_MANY_START(&many, "--lease-ms", "3000");
    for (unsigned i = 0; i < 3; i++) {
        (void)snprintf(sale, sizeof sale, "watched-%u", i);
        assert_int_equal(app_topology_create(&many, sale, 5, "mutex"), 201);
        assert_true(app_stream_open(&streams[i], many.service.buyers, sale));
        assert_true(app_stream_find(&streams[i], "snapshot", &event, SOON_MS));
    }
    for (unsigned i = 0; i < 3; i++) {
        (void)snprintf(sale, sizeof sale, "watched-%u", i);
        assert_int_equal(app_topology_buy(&many, sale, "ann", NULL), 201);
        assert_true(app_stream_find(&streams[i], "stock", &event, SOON_MS));
        assert_int_equal(app_event_number(&event, "remaining"), 4);
        app_stream_close(&streams[i]);
    }
}

TEST(it_tells_what_it_runs_on)
{
    APP_MANY_START(&many, "--lease-ms", "3000");
    assert_int_equal(app_topology_get(&many, "/version"), 200);
    app_assert_answer(&many.reply, 200,
                      "{`topology`:`cluster`,`primaries`:3,`durability`:`appendfsync-always`}");
}

static void configure(const char *server, const char *name, const char *value)
{
    LKS_DO(lkt_server(many.topology, server), "CONFIG", "SET", name, value);
}

static void assert_refused(const char *url, const char *says)
{
    static char out[OUT_SIZE];
    const char *const args[] = {"--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0",
                                "--data",   many.dir,      "--redis",        url,
                                "--lab",    "--log-level", "error",          NULL};

    assert_int_equal(app_run("seckilld", args, out, sizeof out), 1);
    assert_string_equal(out, says);
}

TEST(one_master_that_evicts_is_named_and_refused)
{
    char says[256];

    configure("n2", "maxmemory-policy", "allkeys-lru");
    configure("n2", "maxmemory", "104857600");
    (void)snprintf(
        says, sizeof says,
        "seckilld: redis 127.0.0.1:%d: maxmemory 104857600 with maxmemory-policy "
        "allkeys-lru: orders and locks could be evicted; set maxmemory-policy noeviction\n",
        lkt_server(many.topology, "n2")->port);
    assert_refused(many.topology->url, says);
    configure("n2", "maxmemory-policy", "noeviction");
    configure("n2", "maxmemory", "0");
}

TEST(a_server_of_a_cluster_is_not_taken_for_a_single_one)
{
    assert_refused(
        lkt_server(many.topology, "n1")->url,
        "seckilld: redis: it is one of a cluster; give --redis redis+cluster:// and some "
        "of its addresses\n");
}

TEST(of_the_masters_the_lowest_durability_is_told)
{
    configure("n3", "appendfsync", "everysec");
    APP_MANY_START(&many, "--lease-ms", "3000");
    assert_int_equal(app_topology_get(&many, "/version"), 200);
    configure("n3", "appendfsync", "always");
    assert_string_equal(app_member(&many.reply, "durability"), "appendfsync-everysec");
}

/* A buyer asks until there is an order: not executed, or not known, may be said meanwhile. */
static void buy_until_sold(const char *sale, const char *user)
{
    double until = lks_now_ms() + FAILOVER_MS;

    while (app_topology_buy(&many, sale, user, user) != 201) {
        if (many.reply.status != 503) fail_msg("%s", many.reply.body);
        if (lks_now_ms() > until) fail_msg("no end of it: %s", many.reply.body);
        lks_nap(20);
    }
}

TEST(a_sale_goes_on_when_its_slot_has_moved)
{
    APP_MANY_START(&many, "--lease-ms", "3000");
    assert_int_equal(app_topology_create(&many, "mover", 3, "mutex"), 201);
    buy_until_sold("mover", "ann");
    double before = app_topology_metric(&many, "seckill_topology_changes_total");
    int slot = slot_of("mover");
    const char *from = lkt_tell(many.topology, "primary %d", slot);
    const char *to = strcmp(from, "n1") == 0 ? "n2" : "n1";
    (void)lkt_tell(many.topology, "reshard %d %s", slot, to);
    buy_until_sold("mover", "bob");
    assert_int_equal(app_topology_look_up(&many, "mover", "ann"), 200);
    buy_until_sold("mover", "cid");
    assert_int_equal(app_topology_buy(&many, "mover", "dan", NULL), 409);
    app_topology_assert_books(&many, "mover", 3, 0);
    assert_true(app_topology_metric(&many, "seckill_topology_changes_total") > before);
}

static bool readiness_says(const char *words)
{
    return app_topology_get(&many, "/readyz") == 200 && strcmp(many.reply.body, words) == 0;
}

static void set_node_timeout(const char *timeout_ms)
{
    static const char *const names[] = {"n1", "n2", "n3", "n4", "n5", "n6"};

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        LKS_DO(lkt_server(many.topology, names[i]), "CONFIG", "SET", "cluster-node-timeout",
               timeout_ms);
}

/* "pause" or "resume" all masters but one. */
static void tell_others(const char *what, size_t but)
{
    for (size_t i = 0; i < 3; i++) {
        if (i != but) (void)lkt_tell(many.topology, "%s n%zu", what, i + 1);
    }
}

static bool is_ready_with_one_alone(size_t which)
{
    LKS_EVENTUALLY(readiness_says("ready\n"), SOON_MS);
    tell_others("pause", which);
    double until = lks_now_ms() + SOON_MS;
    bool is_said = false;
    while (!is_said && lks_now_ms() < until) /* what was found out before counts for a second */
        is_said = readiness_says("ready, but for the sales of a server that is away\n");
    tell_others("resume", which);
    return is_said;
}

/* Whichever they are: who is asked last is asked, too. */
TEST(masters_that_hang_do_not_hide_one_that_serves)
{
    bool is_said = true;

    APP_MANY_START(&many, "--lease-ms", "3000");
    set_node_timeout("30000"); /* no failover, and no cluster that is down */
    for (size_t which = 0; which < 3 && is_said; which++)
        is_said = is_ready_with_one_alone(which);
    set_node_timeout("1000");
    if (!is_said) fail_msg("%s", many.reply.body);
}

/* ---- one sale on all of them ------------------------------------------------------------------------ */

enum { SEGMENTS = 6, UNITS = 30, MOVED_AT = 8, KILLED_AT = 16 };

static struct sale_id segment_of(const char *id, unsigned number)
{
    lk_client *client = lkt_client_with(many.topology, (struct lk_client_options){.pool_size = 1});
    struct store *store = store_new(client, "test", NULL);
    struct sale sale;
    struct sale_id segment;

    assert_int_equal(store_find_segments(store, id, &sale, NULL), STORE_OK);
    segment_id(id, sale.segments.generation, number, &segment);
    store_free(store);
    lk_client_close(client);
    return segment;
}

static long create_segmented(const char *sale)
{
    char body[96];

    (void)snprintf(body, sizeof body, "{\"id\":\"%s\",\"stock\":%d,\"segments\":%d}", sale, UNITS,
                   SEGMENTS);
    return app_http(&(struct app_call){.base = many.service.admin,
                                       .path = "/api/v1/admin/sales",
                                       .token = app_token(many.dir),
                                       .body = body},
                    &many.reply);
}

static bool has_changed(double before)
{
    (void)app_topology_get(&many, "/api/v1/admin/sales/cut"); /* each segment is asked for */
    return app_topology_metric(&many, "seckill_topology_changes_total") > before;
}

/* Its replica takes over, and it is that one's replica then. */
static void kill_and_restart(int slot)
{
    double before = app_topology_metric(&many, "seckill_topology_changes_total");
    char victim[NAME_SIZE];

    (void)snprintf(victim, sizeof victim, "%s", lkt_tell(many.topology, "primary %d", slot));
    (void)lkt_tell(many.topology, "kill %s", victim);
    LKS_EVENTUALLY(has_changed(before), FAILOVER_MS);
    (void)lkt_tell(many.topology, "restart %s", victim);
}

TEST(segments_need_replicas_that_have_what_moves)
{
    APP_MANY_START(&many, "--lease-ms", "3000");
    assert_int_equal(create_segmented("cut"), 400);
    app_assert_answer(&many.reply, 400, "{`field`:`segments`}");
}

/* All of it is sold, whatever becomes of the servers meanwhile, and no more. */
TEST(a_sale_in_segments_goes_on_when_a_slot_moves_and_a_master_dies)
{
    char user[NAME_SIZE];
    bool is_on[3] = {false};

    APP_MANY_START(&many, "--lease-ms", "3000", "--sync-replicas", "1");
    assert_int_equal(create_segmented("cut"), 201);
    for (unsigned i = 0; i < SEGMENTS; i++)
        is_on[lkt_tell(many.topology, "primary %d", slot_of(segment_of("cut", i).text))[1] - '1'] =
            true;
    assert_true(is_on[0] && is_on[1] && is_on[2]); /* their ids were chosen so */
    for (unsigned i = 0; i < UNITS; i++) {
        if (i == MOVED_AT) {
            int slot = slot_of(segment_of("cut", 0).text);
            bool is_first = strcmp(lkt_tell(many.topology, "primary %d", slot), "n1") == 0;

            (void)lkt_tell(many.topology, "reshard %d %s", slot, is_first ? "n2" : "n1");
        }
        if (i == KILLED_AT) kill_and_restart(slot_of(segment_of("cut", 1).text));
        (void)snprintf(user, sizeof user, "u%u", i);
        buy_until_sold("cut", user);
    }
    LKS_EVENTUALLY(app_topology_buy(&many, "cut", "late", NULL) == 409, FAILOVER_MS);
    assert_true(app_is_problem(&many.reply, 409, "sold-out"));
    assert_int_equal(app_topology_look_up(&many, "cut", "u0"), 200);
    app_topology_assert_books(&many, "cut", UNITS, 0);
}

TEST(when_a_master_is_killed_its_sales_go_on_at_its_replica)
{
    char sale[NAME_SIZE];
    char user[NAME_SIZE];

    APP_MANY_START(&many, "--lease-ms", "3000");
    for (unsigned i = 0; i < 4; i++) {
        (void)snprintf(sale, sizeof sale, "killed-%u", i);
        assert_int_equal(app_topology_create(&many, sale, 10, "mutex"), 201);
        buy_until_sold(sale, "first");
    }
    const char *victim = lkt_tell(many.topology, "primary %d", slot_of("killed-0"));
    (void)lkt_tell(many.topology, "kill %s", victim);
    double killed_ms = lks_now_ms();
    LKS_EVENTUALLY(readiness_says("ready, but for the sales of a server that is away\n"), SOON_MS);
    buy_until_sold("killed-0", "second");
    print_message("# sold again %.0f ms after its master was killed\n", lks_now_ms() - killed_ms);
    for (unsigned i = 0; i < 4; i++) {
        (void)snprintf(sale, sizeof sale, "killed-%u", i);
        for (unsigned k = 0; k < 4; k++) {
            (void)snprintf(user, sizeof user, "u%u", k);
            buy_until_sold(sale, user);
        }
        app_topology_assert_books(&many, sale, i == 0 ? 6 : 5, i == 0 ? 4 : 5);
    }
    LKS_EVENTUALLY(readiness_says("ready\n"), SOON_MS);
}
