/*
 * The load test's door to Redis where Redis is several servers: it finds the primary that Sentinel
 * names and that agrees, and each sale of a cluster where it is, wherever it goes; so does a user who may
 * only read. And says clearly what it cannot find.
 */
#include <pthread.h>
#include <signal.h>
#include <sys/socket.h>

#include "test/support/lt_fault_run.h"
#include "test/support/lt_net.h"
#include "test/support/testing.h"

enum { HEAL_MS = 15000, SALES = 3, UNITS = 1200, COMMANDS_MAX = 400000 };

struct world {
    struct lt_sandbox sandbox;
    struct topology topology;
};

SET_UP(struct world, world)
{
    assert_true(lt_sandbox_open(&world->sandbox));
}

TEAR_DOWN(struct world, world)
{
    topology_close(&world->topology);
    lt_sandbox_close(&world->sandbox);
}

/* What ledger.h says that it takes. */
static const char reader[] =
    "user auditor on >reader %R~seckill:* -@all "
    "+ping +info +exists +get +hget +hlen +hscan +xrange +pttl +role +cluster|slots +asking";

/* Servers with an append-only file and a user who may only read; the words of a topology. */
static void start(struct world *world, const char *const words[4])
{
    const char *const all[] = {"--aof",  "everysec", "--set",  reader, words[0],
                               words[1], words[2],   words[3], NULL};
    struct failure failure = {.text = ""};

    if (!topology_open(&world->topology, all, &failure)) fail_msg("%s", failure.text);
}

/* The topology's URL with that user in it, who has no password there. */
static const char *reader_url(const struct world *world)
{
    static char url[TOPOLOGY_LINE_MAX + 16];
    const char *hosts = strstr(world->topology.url, "://") + 3;

    (void)snprintf(url, sizeof url, "%.*sauditor@%s", (int)(hosts - world->topology.url),
                   world->topology.url, hosts);
    return url;
}

static int port_of(const struct world *world, const char *name)
{
    return topology_port(&world->topology, name);
}

/* A sale of UNITS with all but ten sold, by hand. */
static void make_sale(const struct world *world, const char *sale, int port)
{
    static char commands[COMMANDS_MAX];
    int length = snprintf(commands, sizeof commands,
                          "HSET seckill:{%s}:sale initial %d\nSET seckill:{%s}:stock 10\n"
                          "XADD seckill:{%s}:ledger * event created left %d initial %d\n",
                          sale, UNITS, sale, sale, UNITS, UNITS);

    for (int i = 0; i < UNITS - 10; i++)
        length += snprintf(commands + length, sizeof commands - (size_t)length,
                           "HSET seckill:{%s}:orders b%d %d:confirmed:k%d\n"
                           "XADD seckill:{%s}:ledger * event sold left %d order %d:b%d:k%d\n",
                           sale, i, i, i, sale, UNITS - 1 - i, i, i, i);
    assert_true(lt_sandbox_port_commands(&world->sandbox, port, commands));
}

static void check_sale(struct ledger *ledger, const char *sale)
{
    struct failure failure = {.text = ""};
    struct facts facts;

    facts_init(&facts);
    if (!ledger_sale_read(ledger, sale, &facts, &failure)) fail_msg("%s: %s", sale, failure.text);
    assert_int_equal(UNITS, facts.initial);
    assert_int_equal(UNITS - 10, facts.order_count);
    assert_int_equal(UNITS - 10, facts.sold_count);
    assert_true(facts.has_stock);
    assert_int_equal(10, facts.left);
    assert_null(facts.malformed);
    facts_done(&facts);
}

static void is_refused(const char *words, const char *password, const char *url)
{
    struct failure failure = {.text = ""};
    struct ledger *ledger =
        ledger_open_with(url, &(struct ledger_access){.password = password}, &failure);

    if (ledger || !strstr(failure.text, words)) fail_msg("%s: %s", url, failure.text);
}

/* Two who may read, and their way: everybody, and the user. */
struct readers {
    struct ledger *ledgers[2];
};

static struct readers open_readers(const struct world *world)
{
    struct failure failure = {.text = ""};
    struct readers readers = {
        {ledger_open(world->topology.url, &failure),
         ledger_open_with(reader_url(world), &(struct ledger_access){.password = "reader"},
                          &failure)}};

    if (!readers.ledgers[0] || !readers.ledgers[1]) fail_msg("%s", failure.text);
    return readers;
}

static void close_readers(struct readers *readers)
{
    for (int i = 0; i < 2; i++)
        ledger_close(readers->ledgers[i]);
}

/* ---- Sentinel ---- */

static bool is_replicated(void *arg)
{
    const struct world *world = arg;
    char said[256];

    (void)lt_sandbox_port_commands(&world->sandbox, port_of(world, "n1"), "WAIT 2 1000\n");
    lt_sandbox_read(&world->sandbox, "answers", said, sizeof said);
    return said[0] == '2';
}

static void find_primary(const struct world *world)
{
    struct readers readers = open_readers(world);

    check_sale(readers.ledgers[0], "s");
    check_sale(readers.ledgers[1], "s");
    close_readers(&readers);
}

/* Which is which: the stock of that server is the one that is read. */
static void check_it_is(const struct world *world, int port)
{
    struct ledger *ledger = ledger_open(world->topology.url, NULL);
    int64_t left = 0;

    assert_true(lt_sandbox_port_commands(&world->sandbox, port, "SET seckill:{s}:stock 9\n"));
    assert_true(ledger && ledger_sale_stock(ledger, "s", &left, NULL));
    assert_int_equal(9, left);
    ledger_close(ledger);
    assert_true(lt_sandbox_port_commands(&world->sandbox, port, "SET seckill:{s}:stock 10\n"));
}

TEST(the_primary_is_found_and_found_again_after_a_failover, struct world *world)
{
    static const char *const words[4] = {"sentinel"};
    char url[TOPOLOGY_LINE_MAX];
    char told[64];

    start(world, words);
    make_sale(world, "s", port_of(world, "n1"));
    assert_true(lt_eventually(is_replicated, world, HEAL_MS));
    find_primary(world);
    is_refused("WRONGPASS", "other", reader_url(world));
    is_refused("a user without a password", NULL, reader_url(world));

    (void)lt_topology_command(&world->topology,
                              "kill s1"); /* the first of the URL: the next one is asked */
    (void)lt_topology_command(&world->topology, "kill n1");
    (void)lt_topology_command(&world->topology,
                              "restart n1"); /* at once: a primary still, or again a replica */
    (void)lt_topology_command(&world->topology, "restart s1");
    (void)lt_topology_command(&world->topology, "ready");
    int port = port_of(world, lt_topology_command(&world->topology, "failover"));
    find_primary(world);
    check_it_is(world, port);
    (void)lt_topology_command(&world->topology, "kill s1");
    find_primary(world);

    int sentinel = port_of(world, "s2");
    (void)snprintf(url, sizeof url, "redis+sentinel://127.0.0.1:1,127.0.0.1:%d/main", sentinel);
    struct ledger *ledger = ledger_open(url, NULL); /* one of them answers */
    assert_non_null(ledger);
    ledger_close(ledger);
    (void)snprintf(url, sizeof url, "redis+sentinel://127.0.0.1:%d/other", sentinel);
    is_refused("knows no primary called \"other\"", NULL, url);
    is_refused("127.0.0.1:1: Connection refused", NULL, "redis+sentinel://127.0.0.1:1/main");
    (void)snprintf(url, sizeof url, "redis+sentinel://127.0.0.1:%d/main", port);
    (void)snprintf(told, sizeof told, "Sentinel 127.0.0.1:%d: ERR unknown command", port);
    is_refused(told, NULL, url);
    (void)snprintf(url, sizeof url, "redis+cluster://127.0.0.1:%d", port);
    is_refused("cluster support disabled", NULL, url);
}

/* A Sentinel that knows one address and nothing else; it is asked two questions at once, on one connection. */
struct liar {
    int listener;
    int port; /* of whom it calls the primary */
};

static void *lie(void *arg)
{
    const struct liar *liar = arg;
    int fd = lt_accept(liar->listener);
    char asked[512];
    char said[128];
    ssize_t got = 0;

    while (fd >= 0 && (got = recv(fd, asked, sizeof asked - 1, 0)) > 0) {
        asked[got] = '\0';
        (void)snprintf(said, sizeof said,
                       "*2\r\n$9\r\n127.0.0.1\r\n$%d\r\n%d\r\n"
                       "*2\r\n$12\r\nconfig-epoch\r\n$1\r\n0\r\n",
                       snprintf(NULL, 0, "%d", liar->port), liar->port);
        (void)lt_send(fd, said);
    }
    lt_hang_up(&fd);
    return NULL;
}

TEST(a_sentinel_behind_the_times_is_not_believed, struct world *world)
{
    static const char *const words[4] = {"sentinel"};
    char url[TOPOLOGY_LINE_MAX];
    struct liar liar;
    pthread_t thread;
    int port = 0;

    start(world, words);
    liar.listener = lt_listen(&port);
    liar.port = port_of(world, "n2");
    assert_true(liar.listener >= 0);
    assert_int_equal(0, pthread_create(&thread, NULL, lie, &liar));
    (void)snprintf(url, sizeof url, "redis+sentinel://127.0.0.1:%d/main", port);
    is_refused("named by Sentinel, is no primary", NULL, url);
    (void)pthread_join(thread, NULL);
    lt_hang_up(&liar.listener);
}

/* ---- Cluster ---- */

static const char *const sales[SALES] = {"a", "b", "c"}; /* on different masters: see below */

static void check_sales(const struct readers *readers)
{
    for (int i = 0; i < 2 * SALES; i++)
        check_sale(readers->ledgers[i % 2], sales[i / 2]);
}

TEST(each_sale_of_a_cluster_is_found_wherever_it_goes, struct world *world)
{
    static const char *const words[4] = {"cluster", "-", "3", "0"};
    struct topology *topology = &world->topology;
    char slot[TOPOLOGY_LINE_MAX];
    char move[TOPOLOGY_LINE_MAX];
    char owners[SALES + 1] = "";

    start(world, words);
    for (int i = 0; i < SALES; i++) {
        (void)snprintf(slot, sizeof slot, "%s",
                       lt_topology_command(topology, "slot seckill:{%s}:sale", sales[i]));
        owners[i] = lt_topology_command(topology, "primary %s", slot)[1];
        make_sale(world, sales[i], port_of(world, "n1"));
    }
    assert_true(owners[0] != owners[1] && owners[1] != owners[2] && owners[0] != owners[2]);
    struct readers readers = open_readers(world);
    check_sales(&readers);

    (void)snprintf(slot, sizeof slot, "%s", lt_topology_command(topology, "slot {a}"));
    (void)snprintf(move, sizeof move, "%.100s %s", slot, owners[0] == '1' ? "n2" : "n1");
    (void)lt_topology_command(topology, "begin %s", move);
    check_sales(&readers); /* all keys are still here */
    (void)lt_topology_command(topology, "move %s", move);
    check_sales(&readers); /* ASK */
    (void)lt_topology_command(topology, "end %s", move);
    check_sales(&readers); /* MOVED, with old connections */
    close_readers(&readers);
    readers = open_readers(world);
    check_sales(&readers);

    struct failure failure = {.text = ""};
    int64_t left = 0;
    (void)lt_topology_command(topology, "kill n%c", owners[1]);
    assert_false(ledger_sale_stock(readers.ledgers[0], "b", &left, &failure));
    assert_true(strstr(failure.text, "Connection refused") ||
                strstr(failure.text, "closed the connection") ||
                strstr(failure.text, "CLUSTERDOWN"));
    close_readers(&readers);
}

GROUP(testing_ignore_sigpipe, NULL);
