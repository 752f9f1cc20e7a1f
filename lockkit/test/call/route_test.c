/*
 * Which slot a command is sent to; and redirections, on two made-up servers and a clock that moves only
 * when somebody waits. (On real clusters: cluster_move_itest.c.)
 * link: -Wl,--wrap=lki_exchange_at -Wl,--wrap=lki_topology_node -Wl,--wrap=lki_topology_at
 * link: -Wl,--wrap=lki_topology_moved -Wl,--wrap=lki_topology_refresh_soon -Wl,--wrap=lki_node_unref
 * link: -Wl,--wrap=lk_reply_bytes -Wl,--wrap=lki_reply_is_error -Wl,--wrap=lki_reply_error_class
 * link: -Wl,--wrap=lk_reply_free
 * link: -Wl,--wrap=lki_clock_left_ms -Wl,--wrap=lki_clock_sleep_ms
 */
#include "base/clock.h"
#include "base/error.h"
#include "call/route.h"
#include "test/support/testing.h"
#include "wire/reply.h"

enum { WORDS_MAX = 8 };

/* Commands, and the key that decides; NULL: none. */
static const struct {
    const char *words[WORDS_MAX];
    const char *key;
} cases[] = {
    {{"GET", "foo"}, "foo"},
    {{"SET", "foo", "bar", "NX"}, "foo"},
    {{"hmget", "{a}x", "f"}, "a"},
    {{"EVAL", "return 1", "0"}, NULL},
    {{"EVALSHA", "abc", "2", "k", "l", "arg"}, "k"},
    {{"evalsha", "abc", "1"}, NULL},
    {{"XREAD", "COUNT", "5", "STREAMS", "s", "0"}, "s"},
    {{"xread", "block", "5", "streams", "s", "0"}, "s"},
    {{"SPUBLISH", "channel", "x"}, "channel"},
    {{"PUBLISH", "channel", "x"}, NULL},
    {{"TIME"}, NULL},
    {{"ping"}, NULL},
    {{"PING", "word"}, NULL},
    {{"SCRIPT", "LOAD", "return 1"}, NULL},
    {{"INFO", "server"}, NULL},
    {{"CONFIG", "GET", "save"}, NULL},
    {{"WAIT", "1", "100"}, NULL},
    {{"MULTI"}, NULL},
    {{"WATCH", "k"}, "k"},
    {{"RANDOMKEY"}, NULL},
};

TEST_WITH(a_command_goes_where_its_first_key_is, NULL, NULL)
{
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct lk_bytes words[WORDS_MAX];
        struct lk_command command = {words, 0};
        const char *key = cases[i].key;

        while (command.count < WORDS_MAX && cases[i].words[command.count]) {
            words[command.count] = lk_bytes_of(cases[i].words[command.count]);
            command.count++;
        }
        int expected = key ? lki_slot_of(key, strlen(key)) : LKI_NO_SLOT;
        if (lki_route_slot(&command) != expected)
            fail_msg("%s: %d, not %d", cases[i].words[0], lki_route_slot(&command), expected);
    }
}

/* ---- two servers ------------------------------------------------------------------------------------- */

enum { SERVERS = 2, COMMANDS_MAX = 8, LIMIT_MS = 1000 };

struct lk_reply {
    bool is_error;
    char text[96];
};

/* Keys that begin with "gone" are at the other server already, while their slot is on its way. */
static struct world {
    struct lki_node nodes[SERVERS];
    int owners[LKI_SLOTS]; /* the truth */
    int known[LKI_SLOTS];  /* as the client knows it */
    int64_t now_ns;
    bool is_moving;        /* every slot is on its way to the other server */
    bool is_down[SERVERS]; /* not reached */
    bool is_unsynced[SERVERS];
    bool is_refusing; /* CLUSTERDOWN */
    bool is_confused; /* every server says that another has it */
    unsigned exchanges;
    char done[512]; /* "A SET, B GET, ": what was executed */
    /* of the connection in use */
    bool is_asking, is_queueing, is_aborted;
    char queue[256];
} world;

FAKE_RETURNS(int, lki_clock_left_ms, (int64_t deadline),
             deadline > world.now_ns ? (int)((deadline - world.now_ns) / NS_PER_MS) : 0);

FAKE(void, lki_clock_sleep_ms, int64_t ms)
{
    world.now_ns += ms * NS_PER_MS;
}

FAKE_RETURNS(struct lk_bytes, lk_reply_bytes, (const lk_reply *reply),
             reply ? lk_bytes_of(reply->text) : (struct lk_bytes){0});

FAKE(bool, lki_reply_is_error, const lk_reply *reply, const char *code)
{
    return reply && reply->is_error && strncmp(reply->text, code, strlen(code)) == 0;
}

FAKE(enum lki_error_class, lki_reply_error_class, const lk_reply *reply)
{
    static const char *const of_cluster[] = {"MOVED ", "ASK ", "TRYAGAIN ", "CLUSTERDOWN "};

    for (size_t i = 0; i < sizeof of_cluster / sizeof of_cluster[0]; i++)
        if (__wrap_lki_reply_is_error(reply, of_cluster[i])) return LKI_ERROR_OF_CLUSTER;
    return LKI_ERROR_ANY;
}

FAKE(void, lk_reply_free, lk_reply *reply)
{
    free(reply);
}

FAKE(void, lki_node_unref, struct lki_node *node)
{
    if (node) node->references--;
}

static struct lki_node *refer_to(int server)
{
    world.nodes[server].references++;
    return &world.nodes[server];
}

FAKE_RETURNS(struct lki_node *, lki_topology_node,
             (struct lki_topology * topology, int slot, struct lk_error *err),
             refer_to(slot == LKI_NO_SLOT ? 0 : world.known[slot]));

FAKE(struct lki_node *, lki_topology_at, struct lki_topology *topology, struct lk_bytes address,
     const struct lki_node *told_by, struct lk_error *err)
{
    if (address.len == 3 && (address.data[0] == 'A' || address.data[0] == 'B'))
        return refer_to(address.data[0] - 'A');
    (void)LKI_FAIL(err, LK_INVALID, "no address");
    return NULL;
}

FAKE(void, lki_topology_moved, struct lki_topology *topology, int slot, struct lk_bytes address,
     const struct lki_node *told_by)
{
    struct lki_node *node = __wrap_lki_topology_at(topology, address, told_by, NULL);

    if (node) world.known[slot] = (int)(node - world.nodes);
    __wrap_lki_node_unref(node);
}

FAKE(void, lki_topology_refresh_soon, struct lki_topology *topology)
{
}

static void append(char *to, size_t room, int server, struct lk_bytes name)
{
    size_t len = strlen(to);

    (void)snprintf(to + len, room - len, "%c %.*s, ", 'A' + server, (int)name.len, name.data);
}

/* As a server finds the slot of a command that route.c does not know. */
static struct lk_bytes key_of(const struct lk_command *command)
{
    bool is_object = strcmp(command->args[0].data, "OBJECT") == 0;

    return command->args[is_object ? 2 : 1];
}

/* The refusal of a keyed command; false: none. */
static bool refuse(int server, const struct lk_command *command, char *out, size_t room)
{
    struct lk_bytes key = key_of(command);
    int slot = lki_slot_of(key.data, key.len);
    char other = server == 0 ? 'B' : 'A';

    if (world.is_refusing) {
        (void)snprintf(out, room, "CLUSTERDOWN The cluster is down");
    } else if (world.is_confused || (world.owners[slot] != server && !world.is_asking)) {
        (void)snprintf(out, room, "MOVED %d %c:1", slot, other);
    } else if (world.is_moving && !world.is_asking && strncmp(key.data, "gone", 4) == 0) {
        (void)snprintf(out, room, "ASK %d %c:1", slot, other);
    } else {
        return false;
    }
    return true;
}

static void end_transaction(lk_reply *reply)
{
    size_t len = strlen(world.done);

    world.is_queueing = false;
    reply->is_error = world.is_aborted;
    (void)snprintf(reply->text, sizeof reply->text, world.is_aborted ? "EXECABORT" : "done");
    if (!world.is_aborted)
        (void)snprintf(world.done + len, sizeof world.done - len, "%s", world.queue);
    world.is_aborted = false;
    world.queue[0] = '\0';
}

static lk_reply *answer(int server, const struct lk_command *command)
{
    struct lk_bytes name = command->args[0];
    lk_reply *reply = calloc(1, sizeof *reply);
    bool has_key = lki_route_slot(command) != LKI_NO_SLOT;

    assert_non_null(reply);
    (void)snprintf(reply->text, sizeof reply->text, "%c", 'A' + server);
    if (strcmp(name.data, "ASKING") == 0) {
        world.is_asking = true;
        return reply;
    }
    if (strcmp(name.data, "MULTI") == 0) {
        world.is_queueing = true;
        return reply;
    }
    if (strcmp(name.data, "EXEC") == 0) {
        end_transaction(reply);
    } else if (has_key && refuse(server, command, reply->text, sizeof reply->text)) {
        reply->is_error = true;
        world.is_aborted = world.is_queueing;
    } else if (world.is_queueing) {
        append(world.queue, sizeof world.queue, server, name);
    } else {
        append(world.done, sizeof world.done, server, name);
    }
    if (!world.is_queueing) world.is_asking = false;
    return reply;
}

FAKE(lk_status, lki_exchange_at, lk_client *client, struct lki_node *node,
     const struct lki_pipeline *pipeline, lk_reply **replies, struct lk_error *err)
{
    int server = (int)(node - world.nodes);

    world.exchanges++;
    world.now_ns += NS_PER_MS;
    __wrap_lki_node_unref(node); /* it outlives the world */
    if (world.is_down[server]) return LKI_FAIL(err, LK_UNREACHABLE, "down");
    for (size_t i = 0; i < pipeline->count; i++)
        replies[i] = answer(server, &pipeline->commands[i]);
    for (size_t i = 0; i < pipeline->count; i++)
        (void)lki_exchange_learn(NULL, replies[i], node);
    if (pipeline->out_is_synced) *pipeline->out_is_synced = !world.is_unsynced[server];
    assert_false(world.is_queueing); /* else whoever has the connection next is only queued */
    assert_false(world.is_asking);
    return LK_OK;
}

/* ---- what is asked of them ----------------------------------------------------------------------------- */

static lk_reply *replies[COMMANDS_MAX];
static bool is_synced;
static struct lk_error error;

static int start(void **state)
{
    memset(&world, 0, sizeof world);
    is_synced = true;
    return 0;
}

/* No reference is left. */
static int end(void **state)
{
    for (size_t i = 0; i < COMMANDS_MAX; i++) {
        free(replies[i]);
        replies[i] = NULL;
    }
    return world.nodes[0].references + world.nodes[1].references == 0 ? 0 : -1;
}

static void move(const char *key)
{
    world.owners[lki_slot_of(key, strlen(key))] = 1;
}

/* "SET k v; GET k" */
static lk_status route(const char *text)
{
    static lk_client client; /* a cluster's; what else is asked of it is faked */
    static char copy[256];
    static struct lk_bytes words[COMMANDS_MAX][WORDS_MAX];
    struct lk_command commands[COMMANDS_MAX];
    struct lki_pipeline pipeline = {.commands = commands,
                                    .deadline = (int64_t)LIMIT_MS * NS_PER_MS,
                                    .out_is_synced = &is_synced};
    char *rest = NULL;

    (void)snprintf(copy, sizeof copy, "%s", text);
    for (char *one = strtok_r(copy, ";", &rest); one; one = strtok_r(NULL, ";", &rest)) {
        char *rest_of_one = NULL;
        struct lk_command *command = &commands[pipeline.count];

        *command = (struct lk_command){words[pipeline.count], 0};
        for (char *w = strtok_r(one, " ", &rest_of_one); w; w = strtok_r(NULL, " ", &rest_of_one))
            words[pipeline.count][command->count++] = lk_bytes_of(w);
        pipeline.count++;
    }
    return lki_route(&client, &pipeline, replies, &error);
}

/* Keys a and b are in slots of their own. */
static const struct {
    const char *commands;
    const char *moved[2]; /* keys whose slots are at B, and the client does not know */
    bool is_moving;
    const char *done;
} redirections[] = {
    {"SET a 1", {"a"}, false, "B SET, "},
    {"SET a 1;GET a", {"a"}, false, "B SET, B GET, "},
    {"SET a 1;SET b 1", {"a"}, false, "A SET, B SET, "},
    {"SET gone 1", {NULL}, true, "B SET, "},
    {"INCR {gone}x;SET gone 1", {NULL}, true, "A INCR, B SET, "},
    /* whose key is not where first_key() thinks */
    {"OBJECT ENCODING a", {"a"}, false, "B OBJECT, "},
    /* a transaction is sent again as a whole; what was done before it is not */
    {"MULTI;SET a 1;GET a;EXEC", {"a"}, false, "B SET, B GET, "},
    {"INCR b;MULTI;SET a 1;EXEC", {"a"}, false, "A INCR, B SET, "},
    {"INCR {gone}x;MULTI;SET gone 1;EXEC;GET {gone}x", {NULL}, true, "A INCR, A GET, B SET, "},
    {"MULTI;INCR b;EXEC;MULTI;INCR a;EXEC", {"a"}, false, "A INCR, B INCR, "},
    {"MULTI;PING;SET gone 1;EXEC", {NULL}, true, "B PING, B SET, "},
    /* WAIT is asked on the connection that wrote, or it counts nothing */
    {"SET a 1;WAIT 1 100", {"a"}, false, "A WAIT, B SET, B WAIT, "},
    {"SET gone 1;WAIT 1 100", {NULL}, true, "A WAIT, B SET, B WAIT, "},
};

TEST_WITH(what_was_refused_is_sent_again_and_nothing_else, NULL, NULL)
{
    for (size_t i = 0; i < sizeof redirections / sizeof redirections[0]; i++) {
        (void)start(state);
        for (size_t k = 0; k < 2 && redirections[i].moved[k]; k++)
            move(redirections[i].moved[k]);
        world.is_moving = redirections[i].is_moving;

        if (route(redirections[i].commands) != LK_OK)
            fail_msg("%s: %s", redirections[i].commands, error.text);
        if (strcmp(world.done, redirections[i].done) != 0)
            fail_msg("%s: %s", redirections[i].commands, world.done);
        assert_int_equal(end(state), 0);
    }
}

/* A server refuses it; but not begun on one and ended on the other. */
TEST(a_transaction_over_two_slots_goes_to_one_server)
{
    move("b");
    world.known[lki_slot_of("b", 1)] = 1;

    assert_int_equal(route("MULTI;SET a 1;SET b 1;EXEC;GET b"), LK_OK);
    assert_string_equal(replies[3]->text, "EXECABORT");
    assert_string_equal(world.done, "B GET, ");
    assert_true(world.exchanges <= 3); /* another time will not help */
}

TEST(what_is_refused_until_the_deadline_is_the_answer)
{
    world.is_refusing = true;
    assert_int_equal(route("SET a 1"), LK_OK);
    assert_true(strncmp(replies[0]->text, "CLUSTERDOWN", 11) == 0);
    assert_in_range(world.now_ns, LIMIT_MS / 2 * NS_PER_MS, LIMIT_MS * NS_PER_MS);
    assert_true(world.exchanges < 50);
}

TEST(servers_that_point_at_each_other_are_asked_with_pauses)
{
    world.is_confused = true;
    assert_int_equal(route("SET a 1;GET a"), LK_OK);
    assert_true(strncmp(replies[0]->text, "MOVED", 5) == 0);
    assert_true(world.now_ns < (int64_t)LIMIT_MS * NS_PER_MS);
    assert_true(world.exchanges < 60);
}

TEST(what_is_redirected_to_nobody_was_not_done)
{
    move("a");
    world.is_down[1] = true;
    assert_int_equal(route("SET a 1"), LK_UNREACHABLE);
    assert_int_equal(error.code, LK_UNREACHABLE);
    assert_null(replies[0]);
}

/* Before it or behind it, on the same server. */
TEST(it_is_unknown_when_something_else_was_done)
{
    static const char *const pipelines[] = {"SET a 1;SET b 1", "SET b 1;SET a 1"};

    for (size_t i = 0; i < 2; i++) {
        (void)start(state);
        move("a");
        world.is_down[1] = true;
        assert_int_equal(route(pipelines[i]), LK_UNKNOWN);
        assert_int_equal(error.code, LK_UNKNOWN);
        assert_string_equal(world.done, "A SET, ");
        assert_null(replies[0]);
        assert_null(replies[1]);
    }
}

TEST(it_is_synced_when_every_server_that_did_something_says_so)
{
    static const struct {
        const char *commands;
        bool is_unsynced[SERVERS];
        bool is_synced;
    } expected[] = {
        {"SET a 1", {true, false}, true}, /* A has not done it */
        {"SET a 1", {false, true}, false},         {"SET a 1;SET b 1", {true, false}, false},
        {"SET a 1;SET b 1", {false, true}, false}, {"SET a 1;SET b 1", {false, false}, true},
    };

    for (size_t i = 0; i < sizeof expected / sizeof expected[0]; i++) {
        (void)start(state);
        move("a");
        memcpy(world.is_unsynced, expected[i].is_unsynced, sizeof world.is_unsynced);
        assert_int_equal(route(expected[i].commands), LK_OK);
        assert_int_equal(is_synced, expected[i].is_synced);
        assert_int_equal(end(state), 0);
    }
}

FIXTURE(start, end);
