/*
 * The load test's door to Redis where Redis is several servers: it finds the primary that Sentinel
 * names and that agrees, and each sale of a cluster where it is, wherever it goes. And says clearly
 * what it cannot find.
 */
#include <pthread.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/topology.h"
#include "evidence/ledger.h"
#include "test/support/lt_net.h"
#include "test/support/lt_place.h"
#include "test/support/testing.h"

enum { HEAL_MS = 15000, SALES = 3, UNITS = 1200, COMMANDS_MAX = 400000 };

struct world {
    struct lt_place place;
    struct topology topology;
    struct failure failure;
};

static int open_world(void **state)
{
    static struct world world;

    *state = &world;
    world = (struct world){.failure.text = ""};
    return lt_place_open(&world.place) ? 0 : -1;
}

static int close_world(void **state)
{
    struct world *world = *state;

    topology_close(&world->topology);
    lt_place_close(&world->place);
    return 0;
}

static void start(struct world *world, const char *const words[])
{
    if (topology_open(&world->topology, words, &world->failure)) return;
    fail_msg("%s", world->failure.text);
}

/* A command of lockkit/tools/redis_set, and what it answers. */
__attribute__((format(printf, 2, 3))) static const char *tell(struct world *world,
                                                              const char *format, ...)
{
    static char answer[TOPOLOGY_LINE_MAX];
    char command[TOPOLOGY_LINE_MAX];
    va_list args;

    va_start(args, format);
    (void)vsnprintf(command, sizeof command, format, args);
    va_end(args);
    if (!topology_tell(&world->topology, command, answer, &world->failure))
        fail_msg("%s: %s", command, world->failure.text);
    return answer;
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
    assert_true(lt_place_tell_port(&world->place, port, commands));
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

static struct ledger *open_or_fail(const char *url)
{
    struct failure failure = {.text = ""};
    struct ledger *ledger = ledger_open(url, &failure);

    if (!ledger) fail_msg("%s: %s", url, failure.text);
    return ledger;
}

static void is_refused(const char *url, const char *words)
{
    struct failure failure = {.text = ""};
    struct ledger *ledger = ledger_open(url, &failure);

    if (ledger || !strstr(failure.text, words)) print_message("%s: %s\n", url, failure.text);
    ledger_close(ledger);
    assert_null(ledger);
    assert_non_null(strstr(failure.text, words));
}

/* ---- Sentinel ---- */

static bool is_replicated(void *arg)
{
    const struct world *world = arg;
    char said[256];

    (void)lt_place_tell_port(&world->place, topology_port(&world->topology, "n1"), "WAIT 2 1000\n");
    lt_place_read(&world->place, "answers", said, sizeof said);
    return said[0] == '2';
}

TEST(the_primary_is_found_and_found_again_after_a_failover)
{
    static const char *const words[] = {"--aof", "everysec", "sentinel", NULL};
    struct world *world = *state;
    char url[TOPOLOGY_LINE_MAX];

    start(world, words);
    make_sale(world, "s", topology_port(&world->topology, "n1"));
    struct ledger *ledger = open_or_fail(world->topology.url);
    check_sale(ledger, "s");
    ledger_close(ledger);
    assert_true(lt_eventually(is_replicated, world, HEAL_MS));

    (void)tell(world, "kill s1"); /* the first of the URL: the next one is asked */
    (void)tell(world, "kill n1");
    (void)tell(world, "restart n1"); /* at once: a primary still, or again a replica */
    (void)tell(world, "restart s1");
    (void)tell(world, "ready");
    const char *primary = tell(world, "failover");
    int port = topology_port(&world->topology, primary);
    ledger = open_or_fail(world->topology.url);
    check_sale(ledger, "s");
    int64_t left = 0;
    assert_true(lt_place_tell_port(&world->place, port, "SET seckill:{s}:stock 9\n"));
    assert_true(ledger_sale_stock(ledger, "s", &left, NULL));
    assert_int_equal(9, left); /* it is really that server which was read */
    ledger_close(ledger);

    int sentinel = topology_port(&world->topology, "s2");
    (void)snprintf(url, sizeof url, "redis+sentinel://127.0.0.1:1,127.0.0.1:%d/main", sentinel);
    ledger_close(open_or_fail(url)); /* one of them answers */
    (void)snprintf(url, sizeof url, "redis+sentinel://127.0.0.1:%d/other", sentinel);
    is_refused(url, "knows no \"other\"");
    is_refused("redis+sentinel://127.0.0.1:1/main", "127.0.0.1:1: Connection refused");
    (void)snprintf(url, sizeof url, "redis+sentinel://127.0.0.1:%d/main", port);
    is_refused(url, "SENTINEL: ERR unknown command");
    (void)snprintf(url, sizeof url, "redis+cluster://127.0.0.1:%d", port);
    is_refused(url, "is in no cluster");
}

/* A Sentinel that knows one address and nothing else; it answers one connection. */
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
        (void)snprintf(said, sizeof said, "*2\r\n$9\r\n127.0.0.1\r\n$%d\r\n%d\r\n",
                       snprintf(NULL, 0, "%d", liar->port), liar->port);
        (void)lt_send(fd, strstr(asked, "SENTINEL") ? said : "+PONG\r\n");
    }
    if (fd >= 0) (void)close(fd);
    return NULL;
}

TEST(a_sentinel_behind_the_times_is_not_believed)
{
    static const char *const words[] = {"--aof", "everysec", "sentinel", NULL};
    struct world *world = *state;
    char url[TOPOLOGY_LINE_MAX];
    struct liar liar;
    pthread_t thread;
    int port = 0;

    start(world, words);
    liar.listener = lt_listen(&port);
    liar.port = topology_port(&world->topology, "n2");
    assert_true(liar.listener >= 0);
    assert_int_equal(0, pthread_create(&thread, NULL, lie, &liar));
    (void)snprintf(url, sizeof url, "redis+sentinel://127.0.0.1:%d/main", port);
    is_refused(url, "named by Sentinel, is no primary");
    (void)pthread_join(thread, NULL);
    (void)close(liar.listener);
}

/* ---- Cluster ---- */

static const char *const sales[SALES] = {"a", "b", "c"}; /* on different masters: see below */

static void check_sales(struct ledger *ledger)
{
    for (int i = 0; i < SALES; i++)
        check_sale(ledger, sales[i]);
}

static const char *other_master(struct world *world, const char *slot)
{
    const char *owner = tell(world, "primary %s", slot);
    return strcmp(owner, "n1") == 0 ? "n2" : "n1";
}

TEST(each_sale_of_a_cluster_is_found_wherever_it_goes)
{
    static const char *const words[] = {"--aof", "everysec", "cluster", "-", "3", "0", NULL};
    struct world *world = *state;
    char slot[TOPOLOGY_LINE_MAX];
    char move[TOPOLOGY_LINE_MAX];
    char owners[SALES + 1] = "";

    start(world, words);
    for (int i = 0; i < SALES; i++) {
        (void)snprintf(move, sizeof move, "seckill:{%s}:sale", sales[i]);
        (void)snprintf(slot, sizeof slot, "%s", tell(world, "slot %s", move));
        owners[i] = tell(world, "primary %s", slot)[1];
        make_sale(world, sales[i], topology_port(&world->topology, "n1"));
    }
    assert_true(owners[0] != owners[1] && owners[1] != owners[2] && owners[0] != owners[2]);
    struct ledger *ledger = open_or_fail(world->topology.url);
    check_sales(ledger);

    (void)snprintf(slot, sizeof slot, "%s", tell(world, "slot %s", "{a}"));
    (void)snprintf(move, sizeof move, "%.100s %s", slot, other_master(world, slot));
    (void)tell(world, "begin %s", move);
    check_sales(ledger); /* all keys are still here */
    (void)tell(world, "move %s", move);
    check_sales(ledger); /* ASK */
    (void)tell(world, "end %s", move);
    check_sales(ledger); /* MOVED, with old connections */
    ledger_close(ledger);
    ledger = open_or_fail(world->topology.url);
    check_sales(ledger);

    struct failure failure = {.text = ""};
    int64_t left = 0;
    (void)tell(world, "kill n%c", owners[1]);
    assert_false(ledger_sale_stock(ledger, "b", &left, &failure));
    assert_true(strstr(failure.text, "Connection refused") ||
                strstr(failure.text, "closed the connection") ||
                strstr(failure.text, "CLUSTERDOWN"));
    ledger_close(ledger);
}

/* ---- a user who may only read ---- */

/* What ledger.h says that it takes. */
static const char reader[] =
    "user auditor on >reader %R~seckill:* -@all "
    "+ping +info +exists +get +hget +hlen +hscan +xrange +pttl +role +asking";

/* The topology's URL with a user in it, who has no password there. */
static const char *reader_url(const struct world *world)
{
    static char url[TOPOLOGY_LINE_MAX + 16];
    const char *hosts = strstr(world->topology.url, "://") + 3;

    (void)snprintf(url, sizeof url, "%.*sauditor@%s", (int)(hosts - world->topology.url),
                   world->topology.url, hosts);
    return url;
}

static struct ledger *open_as_reader(const struct world *world)
{
    struct failure failure = {.text = ""};
    struct ledger *ledger = ledger_open_with(
        reader_url(world), &(struct ledger_access){.password = "reader"}, &failure);

    if (!ledger) fail_msg("%s: %s", reader_url(world), failure.text);
    return ledger;
}

TEST(a_reader_finds_its_way_behind_sentinel)
{
    static const char *const words[] = {"--aof", "everysec", "--set", reader, "sentinel", NULL};
    struct world *world = *state;
    struct failure failure = {.text = ""};

    start(world, words);
    make_sale(world, "s", topology_port(&world->topology, "n1"));
    assert_true(lt_eventually(is_replicated, world, HEAL_MS));
    assert_null(ledger_open_with(reader_url(world), &(struct ledger_access){.password = "other"},
                                 &failure));
    assert_non_null(strstr(failure.text, "WRONGPASS"));
    assert_null(ledger_open(reader_url(world), &failure));
    assert_non_null(strstr(failure.text, "user \"auditor\" has no password"));
    (void)tell(world, "failover");
    (void)tell(world, "kill s1"); /* the first of the URL */
    struct ledger *ledger = open_as_reader(world);
    check_sale(ledger, "s");
    ledger_close(ledger);
}

TEST(a_reader_finds_each_sale_of_a_cluster)
{
    static const char *const words[] = {"--aof", "everysec", "--set", reader, "cluster",
                                        "-",     "3",        "0",     NULL};
    struct world *world = *state;
    char slot[TOPOLOGY_LINE_MAX];
    char move[TOPOLOGY_LINE_MAX];

    start(world, words);
    for (int i = 0; i < SALES; i++)
        make_sale(world, sales[i], topology_port(&world->topology, "n1"));
    struct ledger *ledger = open_as_reader(world);
    check_sales(ledger);
    (void)snprintf(slot, sizeof slot, "%s", tell(world, "slot %s", "{a}"));
    (void)snprintf(move, sizeof move, "%.100s %s", slot, other_master(world, slot));
    (void)tell(world, "begin %s", move);
    (void)tell(world, "move %s", move);
    check_sales(ledger); /* ASK */
    (void)tell(world, "end %s", move);
    check_sales(ledger);
    ledger_close(ledger);
}

FIXTURE(open_world, close_world);
GROUP(testing_ignore_sigpipe, NULL);
