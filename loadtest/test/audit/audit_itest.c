/*
 * The audit program on a real Redis, by hand-made sales: its words and exit statuses, what proves nothing,
 * and what cannot be used, refused with a reason. Which lie is found by which check: corruption_itest.c.
 */
#include "test/support/lt_command.h"
#include "test/support/testing.h"

/* A clean sale of two units: b1 and b2 won, b3 came too late, b2's answer was lost. */
#define SALE                                                                                       \
    "FLUSHALL\n"                                                                                   \
    "HSET seckill:{s}:sale title t initial 2 starts_ms 0 ends_ms 0 state open guard mutex "        \
    "epoch 1\n"
#define PUT_UP_2 "XADD seckill:{s}:ledger 1-0 event created by i epoch 1 left 2 initial 2\n"

static const char clean_redis[] = SALE
    "SET seckill:{s}:stock 0\n"
    "HSET seckill:{s}:orders b1 100:held:k1 b2 101:held:k2\n" PUT_UP_2
    "XADD seckill:{s}:ledger 2-0 event sold by i epoch 1 left 0 order 100:b1:k1 order 101:b2:k2\n";

#define SOLD_OUT                                                                                   \
    "{\"t\":20,\"e\":\"invoke\",\"rid\":\"k3\",\"buyer\":\"b3\",\"key\":\"k3\"}\n"                 \
    "{\"t\":25,\"e\":\"fail\",\"rid\":\"k3\",\"status\":409,\"type\":\"sold-out\"}\n"
#define WON                                                                                        \
    "{\"t\":10,\"e\":\"invoke\",\"rid\":\"k1\",\"buyer\":\"b1\",\"key\":\"k1\"}\n"                 \
    "{\"t\":15,\"e\":\"ok\",\"rid\":\"k1\",\"status\":201,\"order\":\"100\"}\n"
#define LOST  "{\"t\":10,\"e\":\"invoke\",\"rid\":\"k2\",\"buyer\":\"b2\",\"key\":\"k2\"}\n"
#define FOUND "{\"t\":90,\"e\":\"resolve\",\"rid\":\"k2\",\"buyer\":\"b2\",\"order\":\"101\"}\n"
#define CLEAN WON LOST SOLD_OUT FOUND

/* It was put up with that many units. */
#define STEP(result, units)                                                                        \
    "{\"t\":1,\"step\":\"1\",\"what\":\"create\",\"sale\":\"s\",\"key\":\"\",\"result\":\"" result \
    "\",\"units\":" units ",\"epoch\":1}\n"
#define PUT_UP(units) STEP("asked", units) STEP("done", units)

#define AUDIT         "audit --redis %s --sale s --operators @operators --clients @clients"

SET_UP(struct lt_sandbox, sandbox)
{
    assert_true(lt_sandbox_open(sandbox) && lt_sandbox_start_redis(sandbox));
}

TEAR_DOWN(struct lt_sandbox, sandbox)
{
    lt_sandbox_close(sandbox);
}

static void write(const struct lt_sandbox *sandbox, const char *name, const char *text)
{
    char path[LT_PATH_MAX + 64];

    assert_true(lt_sandbox_write(sandbox, name, text, path));
}

/* The clean sale, changed by more commands, and what its clients and its operator wrote down. */
static void make(const struct lt_sandbox *sandbox, const char *redis, const char *clients,
                 const char *units)
{
    assert_true(lt_sandbox_redis_commands(sandbox, clean_redis));
    assert_true(lt_sandbox_redis_commands(sandbox, redis));
    write(sandbox, "clients", clients);
    write(sandbox, "operators", units);
}

/* Every line "  fail  NAME ..." of the output must be wanted, and the other way round. */
static bool fails_as_wanted(const char *output, const char *wanted)
{
    size_t length = 0;
    char found[400] = "";

    for (const char *at = output; (at = strstr(at, "\n  fail  ")); at++) {
        const char *word = at + strlen("\n  fail  ");
        length += (size_t)snprintf(found + length, sizeof found - length, "%.*s ",
                                   (int)strcspn(word, " "), word);
    }
    return strcmp(found, wanted) == 0;
}

TEST(a_sale_ends_with_its_status, struct lt_sandbox *sandbox)
{
    static const struct {
        const char *name;
        const char *redis;   /* commands after clean_redis */
        const char *clients; /* what they wrote down */
        int status;
        const char *failing; /* checks */
    } rows[] = {
        {"clean", "", CLEAN, 0, ""},
        {"order dropped", "HDEL seckill:{s}:orders b1\n", CLEAN, 1,
         "conservation acknowledged_kept "},
        {"nothing sold", SALE "SET seckill:{s}:stock 2\n" PUT_UP_2,
         "{\"t\":20,\"e\":\"invoke\",\"rid\":\"k3\",\"buyer\":\"b3\",\"key\":\"k3\"}\n"
         "{\"t\":25,\"e\":\"fail\",\"rid\":\"k3\",\"status\":409,\"type\":\"sale-not-started\"}\n",
         2, ""},
        {"lock left without a lease", "SET seckill:{s}:lock token\n", CLEAN, 1, "no_stuck_lock "},
        {"lock left, its lease ends", "SET seckill:{s}:lock token PX 100\n", CLEAN, 0, ""},
        {"lock left, its lease is long", "SET seckill:{s}:lock token PX 3600000\n", CLEAN, 0, ""},
        {"nothing asked", "", "", 2, ""},
        {"last line cut short", "", CLEAN "{\"t\":95,\"e\":\"inv", 0, ""},
        {"a purchase without a key is matched by its buyer",
         "HSET seckill:{s}:orders b2 101:held:\nDEL seckill:{s}:ledger\n" PUT_UP_2
         "XADD seckill:{s}:ledger 2-0 event sold epoch 1 left 0 order 100:b1:k1 order 101:b2:\n",
         WON SOLD_OUT "{\"t\":10,\"e\":\"invoke\",\"rid\":\"~b2\",\"buyer\":\"b2\"}\n"
                      "{\"t\":16,\"e\":\"ok\",\"rid\":\"~b2\",\"status\":201,\"order\":\"101\"}\n",
         0, ""},
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        make(sandbox, rows[i].redis, rows[i].clients, PUT_UP("2"));
        const struct lt_outcome *outcome = lt_try(sandbox, AUDIT, sandbox->url);
        if (outcome->status != rows[i].status || !fails_as_wanted(outcome->output, rows[i].failing))
            fail_msg("%s: %d\n%s\n", rows[i].name, outcome->status, outcome->output);
    }
}

TEST(without_clients_a_clean_sale_is_void, struct lt_sandbox *sandbox)
{
    static const char *const said[] = {
        "pass  conservation",
        "\nas far as Redis alone can tell nothing is wrong: 6 checks pass, 8 need "
        "--clients, or --operators\nvoid"};

    make(sandbox, "", "", "");
    const char *output = lt_must(sandbox, 2, "audit --redis %s --sale s", sandbox->url);
    for (size_t i = 0; i < sizeof said / sizeof *said; i++)
        if (!strstr(output, said[i])) fail_msg("no %s in: %s", said[i], output);
}

/* Of two units, both held: one is paid, the other expires, is paid late, and so is owed back. */
#define PAID_LATER                                                                                 \
    "DEL seckill:{s}:ledger\n" PUT_UP_2                                                            \
    "HSET seckill:{s}:sale window_ms 5 amount 9 currency CNY paid 1 expired 1\n"                   \
    "HSET seckill:{s}:orders b1 100:paid:k1 b2 101:expired:k2\nSET seckill:{s}:stock 1\n"          \
    "HSET seckill:{s}:refunds p2 101:b2:9:CNY:late:sent:8 order:101 p2\n"                          \
    "XADD seckill:{s}:ledger 2-0 event sold epoch 1 left 0 pay_by 7 order 100:b1:k1 order "        \
    "101:b2:k2\n"                                                                                  \
    "XADD seckill:{s}:ledger 3-0 event payment-failed epoch 1 left 0 order 100:b1:p0\n"            \
    "XADD seckill:{s}:ledger 4-0 event paid epoch 1 left 0 order 100:b1:p1\n"                      \
    "XADD seckill:{s}:ledger 7-0 event expired epoch 1 left 1 order 101:b2\n"                      \
    "XADD seckill:{s}:ledger 8-0 event refund-owed epoch 1 left 1 refund p2:101:b2:9:CNY:late\n"   \
    "XADD seckill:{s}:ledger 9-0 event refund-sent epoch 1 left 1 refund p2:101:b2:9:CNY:late\n"
#define CHARGED(payment, order, buyer)                                                             \
    "{\"e\":\"charge\",\"payment\":\"" payment "\",\"sale\":\"s\",\"order\":\"" order              \
    "\",\"buyer\":\"" buyer "\",\"amount\":9,\"currency\":\"CNY\"}\n"
#define TOLD "{\"t\":91,\"e\":\"told\",\"buyer\":\"b1\",\"order\":\"100\",\"state\":\"paid\"}\n"

TEST(a_sale_that_is_paid_for_later_has_laws_of_its_own, struct lt_sandbox *sandbox)
{
    static const struct {
        const char *name, *redis, *failing;
    } rows[] = {
        {"clean", "", ""},
        {"a refund is gone", "HDEL seckill:{s}:refunds p2\n", "payment_explained refund_once "},
        {"less is owed", "HSET seckill:{s}:refunds p2 101:b2:8:CNY:late:sent:8\n",
         "payment_explained refund_once "},
        {"paid is held again", "HSET seckill:{s}:orders b1 100:held:k1\n",
         "one_final_state told_paid_is_paid "},
        {"somebody is due for ever", "ZADD seckill:{s}:due 7 b1\n", "unit_conservation "},
        {"a unit comes back twice",
         "SET seckill:{s}:stock 2\nHSET seckill:{s}:sale expired 2\n"
         "XADD seckill:{s}:ledger 10-0 event expired epoch 1 left 2 order 101:b2\n",
         "unit_conservation one_final_state return_matches_hold "},
        {"no state that is one", "HSET seckill:{s}:orders b1 100:owed:k1\n",
         "conservation told_paid_is_paid "},
    };

    write(sandbox, "charges", CHARGED("p1", "100", "b1") CHARGED("p2", "101", "b2"));
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        make(sandbox, PAID_LATER, CLEAN TOLD, PUT_UP("2"));
        assert_true(lt_sandbox_redis_commands(sandbox, rows[i].redis));
        const struct lt_outcome *outcome =
            lt_try(sandbox, AUDIT " --charges @charges", sandbox->url);
        if (!fails_as_wanted(outcome->output, rows[i].failing))
            fail_msg("%s: %d\n%s\n", rows[i].name, outcome->status, outcome->output);
    }
    make(sandbox, PAID_LATER, CLEAN TOLD, PUT_UP("2"));
    assert_non_null(
        strstr(lt_must(sandbox, 2, AUDIT, sandbox->url), "\n  void  payment_explained "));
}

/* More than one page of HSCAN and XRANGE. */
TEST(large_sale_is_read_whole, struct lt_sandbox *sandbox)
{
    enum { ORDERS = 2500, LINE = 150 };
    char *clients = calloc(ORDERS, LINE);
    size_t length = 0;

    assert_non_null(clients);
    for (int i = 1; i <= ORDERS; i++)
        length += (size_t)sprintf(clients + length,
                                  "{\"t\":%d,\"e\":\"invoke\",\"rid\":\"k%d\",\"buyer\":\"b%d\","
                                  "\"key\":\"k%d\"}\n{\"t\":%d,\"e\":\"ok\",\"rid\":\"k%d\","
                                  "\"status\":201,\"order\":\"%d\"}\n",
                                  i, i, i, i, i, i, i);
    make(sandbox,
         "FLUSHALL\nHSET seckill:{s}:sale initial 2500 epoch 1 state open\n"
         "SET seckill:{s}:stock 0\n"
         "XADD seckill:{s}:ledger 1-0 event created epoch 1 left 2500 initial 2500\n"
         "EVAL \"for i=1,2500 do redis.call('HSET',KEYS[1],'b'..i,i..':held:k'..i) "
         "redis.call('XADD',KEYS[2],'*','event','sold','epoch','1','left',2500-i,'order',"
         "i..':b'..i..':k'..i) end\" 2 seckill:{s}:orders seckill:{s}:ledger\n",
         clients, PUT_UP("2500"));
    free(clients);
    assert_non_null(
        strstr(lt_must(sandbox, 0, AUDIT, sandbox->url), "2500 orders + 0 left = 2500"));
}

TEST(what_cannot_be_used_is_refused, struct lt_sandbox *sandbox)
{
    static const struct lt_case rows[] = {
        {"--sale other", 2, "audit: no sale \"other\""},
        {"--sale Bad_Id", 2, "--sale: must match [a-z0-9-]{1,40}, not Bad_Id"},
        {"--sale s --clients @nonsense", 2, "nonsense:3: not a JSON object"},
        {"--sale s --operators @mixed --clients @clients", 2, "mixed:3: no step of an operator"},
        {"--sale s --redis unix:///nonexistent/s", 2, "audit: Redis: /nonexistent/s"},
        {"", 2, "--sale is missing"},
        {NULL, 0, NULL},
    };
    char program[LT_PATH_MAX + 64];

    make(sandbox, "", WON, "");
    write(sandbox, "nonsense", WON "nonsense\n");
    write(sandbox, "mixed", PUT_UP("2") WON);
    (void)snprintf(program, sizeof program, "audit --redis %s", sandbox->url);
    lt_must_all(sandbox, program, rows);
}

TEST(several_client_files_and_json, struct lt_sandbox *sandbox)
{
    make(sandbox, "", WON SOLD_OUT, PUT_UP("2"));
    write(sandbox, "b.jsonl", LOST FOUND);
    const char *said = lt_must(sandbox, 0,
                               "audit --clients @clients @b.jsonl --json --redis %s --sale s "
                               "--operators @operators",
                               sandbox->url);
    assert_non_null(strstr(said, "\"verdict\": \"pass\""));
    assert_non_null(strstr(said, "\"honest_answers\": {"));
}

/* The same sale after a failover that took b1's order back. */
TEST(lost_orders_are_counted_and_named_when_allowed, struct lt_sandbox *sandbox)
{
    make(sandbox,
         "HDEL seckill:{s}:orders b1\nSET seckill:{s}:stock 1\nDEL seckill:{s}:ledger\n" PUT_UP_2
         "XADD seckill:{s}:ledger 2-0 event sold by i epoch 1 left 1 order 101:b2:k2\n",
         CLEAN, PUT_UP("2"));
    assert_true(fails_as_wanted(lt_must(sandbox, 1, AUDIT, sandbox->url),
                                "acknowledged_kept no_undersell "));
    assert_non_null(strstr(lt_must(sandbox, 0, AUDIT " --allow-lost", sandbox->url),
                           "\naccepted orders lost: 1 of 1\n"
                           "  lost: order 100 of b1 (k1)\npass\n"));
    const char *said = lt_must(sandbox, 0, AUDIT " --allow-lost --json", sandbox->url);
    assert_non_null(strstr(said, "\"accepted\": 1"));
    assert_non_null(strstr(said, "\"order\": \"100\""));
}

/* b1 was told 201 of an order that is not there. */
TEST(the_story_of_who_was_wronged_is_told_in_lines_and_as_data, struct lt_sandbox *sandbox)
{
    make(sandbox, "HDEL seckill:{s}:orders b1\n", CLEAN, PUT_UP("2"));
    const char *said = lt_must(sandbox, 1, AUDIT, sandbox->url);
    assert_non_null(strstr(said, "    what b1 asked (ms), was told, and has:\n"
                                 "         0.0   k1: at 0.0 created, order 100\n"
                                 "               ledger: order 100, asked for by k1\n"));
    said = lt_must(sandbox, 1, AUDIT " --json", sandbox->url);
    assert_non_null(strstr(said, "\"mode\": \"audit\""));
    assert_non_null(strstr(said, "\"words\": \"order 100, asked for by k1\""));
}
