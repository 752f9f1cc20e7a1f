/*
 * The audit program on a real Redis: a clean sale passes, each doctored one is found, and what
 * cannot be used is refused with a reason.
 */
#include "test/support/lt_place.h"
#include "test/support/testing.h"

enum { LIMIT_MS = 20000 };

#define KEY(part) "seckill:{s}:" part

/* A clean sale of two units: b1 and b2 won, b3 came too late, b2's answer was lost. */
static const char clean_redis[] =
    "FLUSHALL\n"
    "HSET " KEY(
        "sale") " title t initial 2 starts_ms 0 ends_ms 0 state open guard mutex epoch 1\n"
                "SET " KEY(
                    "stock") " 0\n"
                             "HSET " KEY(
                                 "orders") " b1 100:held:k1 b2 101:held:k2\n"
                                           "XADD " KEY(
                                               "ledger") " 1-0 event created by i epoch 1 left 2 "
                                                         "initial 2\n"
                                                         "XADD " KEY(
                                                             "ledger") " 2-0 event sold by i epoch "
                                                                       "1 left 0 order 100:b1:k1 "
                                                                       "order 101:b2:k2\n";

#define INVOKE(t, q, r, b)                                                                         \
    "{\"t\":" #t ",\"e\":\"invoke\",\"req\":\"" q "\",\"rid\":\"" r "\",\"buyer\":\"" b            \
    "\",\"key\":\"" r "\"}\n"
#define OK(t, q, r, o)                                                                             \
    "{\"t\":" #t ",\"e\":\"ok\",\"req\":\"" q "\",\"rid\":\"" r "\",\"status\":201,\"order\":\"" o \
    "\"}\n"
#define REPLAYED(t, q, r, o)                                                                       \
    "{\"t\":" #t ",\"e\":\"ok\",\"req\":\"" q "\",\"rid\":\"" r                                    \
    "\",\"status\":201,\"replayed\":true,\"order\":\"" o "\"}\n"
#define SOLD_OUT(t, q, r)                                                                          \
    "{\"t\":" #t ",\"e\":\"fail\",\"req\":\"" q "\",\"rid\":\"" r                                  \
    "\",\"status\":409,\"type\":\"sold-out\"}\n"
#define NOT_STARTED(t, q, r)                                                                       \
    "{\"t\":" #t ",\"e\":\"fail\",\"req\":\"" q "\",\"rid\":\"" r                                  \
    "\",\"status\":409,\"type\":\"sale-not-started\"}\n"
#define RESOLVED(r, b, o)                                                                          \
    "{\"t\":90,\"e\":\"resolve\",\"rid\":\"" r "\",\"buyer\":\"" b "\",\"order\":" o "}\n"
#define WON   INVOKE(10, "q1", "k1", "b1") OK(15, "q1", "k1", "100")
#define LOST  INVOKE(10, "q2", "k2", "b2")
#define LATE  INVOKE(20, "q3", "k3", "b3") SOLD_OUT(25, "q3", "k3")
#define FOUND RESOLVED("k2", "b2", "\"101\"")

static const char clean_clients[] = WON LOST LATE FOUND;

/* It was put up with that many units. */
#define STEP(result, units)                                                                        \
    "{\"t\":1,\"step\":\"1\",\"what\":\"create\",\"sale\":\"s\",\"key\":\"\",\"result\":\"" result \
    "\",\"units\":" units ",\"epoch\":1}\n"
#define PUT_UP(units) STEP("asked", units) STEP("done", units)

/* What is changed, the exit status, and every check that must fail, each as " NAME ". */
static const struct {
    const char *name;
    const char *redis;   /* commands after clean_redis, or NULL */
    const char *clients; /* instead of clean_clients, or NULL */
    int status;
    const char *failing;
} cases[] = {
    {"clean", NULL, NULL, 0, ""},
    {"order dropped", "HDEL " KEY("orders") " b1\n", NULL, 1, " conservation acknowledged_kept "},
    {"order doubled", "XADD " KEY("ledger") " 3-0 event sold by i epoch 1 left 0 order 100:b1:k1\n",
     NULL, 1, " conservation one_per_buyer one_per_request "},
    {"order invented", "HSET " KEY("orders") " ghost 102:held:k9\n", NULL, 1,
     " conservation no_unaccounted no_phantom "},
    {"stock one too high", "SET " KEY("stock") " 1\n", NULL, 1, " conservation no_undersell "},
    {"stock one too low", "SET " KEY("stock") " -1\n", NULL, 1, " conservation "},
    {"stock is a word", "SET " KEY("stock") " many\n", NULL, 1, " conservation "},
    {"stock is gone", "DEL " KEY("stock") "\n", NULL, 1, " conservation "},
    {"ledger is gone", "DEL " KEY("ledger") "\n", NULL, 1, " conservation operators_agree "},
    {"order is unreadable", "HSET " KEY("orders") " b2 101\n", NULL, 1,
     " conservation unknown_resolved "},
    {"unknown unresolved", NULL, WON LOST LATE, 1, " unknown_resolved "},
    {"unknown denied", NULL, WON LOST LATE RESOLVED("k2", "b2", "null"), 1, " unknown_resolved "},
    {"refusal executed", NULL, WON LOST SOLD_OUT(30, "q2", "k2") LATE, 1,
     " no_unaccounted refused_not_executed "},
    {"refusal replayed", NULL,
     WON LOST SOLD_OUT(30, "q2", "k2") INVOKE(40, "q4", "k2", "b2") REPLAYED(45, "q4", "k2", "101")
         LATE,
     1, " refused_not_executed "},
    {"winner told sold-out", NULL,
     WON LOST LATE FOUND INVOKE(40, "q4", "k4", "b1") SOLD_OUT(45, "q4", "k4"), 1,
     " honest_answers "},
    {"sample below zero", NULL, WON LOST LATE FOUND "{\"t\":20,\"e\":\"sample\",\"left\":-1}\n", 1,
     " conservation "},
    {"nothing sold",
     "DEL " KEY("orders") " " KEY("ledger") "\nSET " KEY("stock") " 2\nXADD " KEY(
         "ledger") " 1-0 event created by i epoch 1 left 2 initial 2\n",
     INVOKE(20, "q3", "k3", "b3") NOT_STARTED(25, "q3", "k3"), 2, ""},
    {"lock left without a lease", "SET " KEY("lock") " token\n", NULL, 1, " no_stuck_lock "},
    {"lock left, its lease ends", "SET " KEY("lock") " token PX 100\n", NULL, 0, ""},
    {"lock left, its lease is long", "SET " KEY("lock") " token PX 3600000\n", NULL, 0, ""},
    {"nothing asked", NULL, "", 2, ""},
    {"last line cut short", NULL, WON LOST LATE FOUND "{\"t\":95,\"e\":\"inv", 0, ""},
};

static char operators[LT_PATH_MAX + 64];

static int open_place(void **state)
{
    static struct lt_place place;
    if (!lt_place_open(&place)) return -1;
    *state = &place;
    return lt_place_start_redis(&place) &&
                   lt_place_write(&place, "operators", PUT_UP("2"), operators)
               ? 0
               : -1;
}

static int close_place(void **state)
{
    lt_place_close(*state);
    return 0;
}

static bool run_audit(const struct lt_place *place, const char *sale, const char *clients,
                      struct lt_outcome *outcome)
{
    const char *const argv[] = {
        "audit",   "--redis",   place->url, "--sale", sale, clients ? "--operators" : NULL,
        operators, "--clients", clients,    NULL};
    return lt_run(place, argv, LIMIT_MS, outcome);
}

/* Every line "  fail  NAME ..." of the output must be wanted, and the other way round. */
static bool fails_as_wanted(const char *output, const char *wanted)
{
    size_t wanted_count = 0;
    size_t found_count = 0;
    char name[64];

    for (const char *at = wanted; *at; at++)
        if (*at == ' ' && at[1]) wanted_count++;
    for (const char *at = output; (at = strstr(at, "\n  fail  ")); at++) {
        const char *word = at + strlen("\n  fail  ");
        (void)snprintf(name, sizeof name, " %.*s ", (int)strcspn(word, " "), word);
        if (!strstr(wanted, name)) return false;
        found_count++;
    }
    return found_count == wanted_count;
}

TEST(each_doctored_sale_is_found)
{
    const struct lt_place *place = *state;
    static struct lt_outcome outcome;
    char clients[LT_PATH_MAX + 64];

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_true(lt_place_tell_redis(place, clean_redis));
        if (cases[i].redis) assert_true(lt_place_tell_redis(place, cases[i].redis));
        const char *text = cases[i].clients ? cases[i].clients : clean_clients;
        assert_true(lt_place_write(place, "clients.jsonl", text, clients));
        assert_true(run_audit(place, "s", clients, &outcome));
        if (outcome.status != cases[i].status || !fails_as_wanted(outcome.output, cases[i].failing))
            print_message("%s: %d\n%s\n", cases[i].name, outcome.status, outcome.output);
        assert_int_equal(cases[i].status, outcome.status);
        assert_true(fails_as_wanted(outcome.output, cases[i].failing));
    }
}

TEST(without_clients_a_clean_sale_is_void)
{
    const struct lt_place *place = *state;
    static struct lt_outcome outcome;

    assert_true(lt_place_tell_redis(place, clean_redis));
    assert_true(run_audit(place, "s", NULL, &outcome));

    assert_int_equal(2, outcome.status);
    assert_non_null(strstr(outcome.output, "pass  conservation"));
    assert_non_null(strstr(outcome.output, "void  acknowledged_kept"));
    assert_non_null(strstr(outcome.output, "void  operators_agree"));
    assert_non_null(strstr(outcome.output, "\ncould not be checked: operators asked for all"));
}

TEST(purchase_without_key_is_matched_by_its_buyer)
{
    const struct lt_place *place = *state;
    static struct lt_outcome outcome;
    char clients[LT_PATH_MAX + 64];

    assert_true(lt_place_tell_redis(place, clean_redis));
    assert_true(lt_place_tell_redis(
        place,
        "HSET " KEY("orders") " b2 101:held:\nXTRIM " KEY(
            "ledger") " MAXLEN 1\n"
                      "DEL " KEY(
                          "ledger") "\n"
                                    "XADD " KEY(
                                        "ledger") " 1-0 event created epoch 1 left 2 initial 2\n"
                                                  "XADD " KEY(
                                                      "ledger") " 2-0 event sold epoch 1 left 0 "
                                                                "order "
                                                                "100:b1:k1 order 101:b2:\n"));
    assert_true(lt_place_write(
        place, "clients.jsonl",
        WON "{\"t\":10,\"e\":\"invoke\",\"req\":\"q2\",\"rid\":\"~b2\",\"buyer\":\"b2\"}\n" OK(
            16, "q2", "~b2", "101") LATE,
        clients));
    assert_true(run_audit(place, "s", clients, &outcome));
    if (outcome.status != 0) print_message("%s\n", outcome.output);

    assert_int_equal(0, outcome.status);
}

/* More than one page of HSCAN and XRANGE. */
TEST(large_sale_is_read_whole)
{
    enum { ORDERS = 2500 };
    const struct lt_place *place = *state;
    static struct lt_outcome outcome;
    char clients[LT_PATH_MAX + 64];

    assert_true(lt_place_tell_redis(
        place,
        "FLUSHALL\nHSET " KEY("sale") " initial 2500 epoch 1 state open\nSET " KEY(
            "stock") " 0\n"
                     "XADD " KEY("ledger") " 1-0 event created epoch 1 left 2500 initial 2500\n"
                                           "EVAL \"for i=1,2500 do "
                                           "redis.call('HSET',KEYS[1],'b'..i,i..':held:k'..i) "
                                           "redis.call('XADD',KEYS[2],'*','event','sold','epoch','"
                                           "1','left',"
                                           "2500-i,'order',"
                                           "i..':b'..i..':k'..i) end\" 2 " KEY("orders") " " KEY(
                                               "ledger") "\n"));
    assert_true(lt_place_write(place, "operators", PUT_UP("2500"), operators));
    (void)snprintf(clients, sizeof clients, "%s/many.jsonl", place->dir);
    FILE *file = fopen(clients, "we");
    assert_non_null(file);
    for (int i = 1; i <= ORDERS; i++)
        (void)fprintf(file,
                      "{\"t\":%d,\"e\":\"invoke\",\"rid\":\"k%d\",\"buyer\":\"b%d\",\"key\":"
                      "\"k%d\"}\n{\"t\":%d,\"e\":\"ok\",\"rid\":\"k%d\",\"status\":201,"
                      "\"order\":\"%d\"}\n",
                      i, i, i, i, i, i, i);
    assert_int_equal(0, fclose(file));
    assert_true(run_audit(place, "s", clients, &outcome));
    if (outcome.status != 0) print_message("%s\n", outcome.output);

    assert_int_equal(0, outcome.status);
    assert_non_null(strstr(outcome.output, "2500 orders + 0 left = 2500"));
}

TEST(what_cannot_be_used_is_refused)
{
    struct lt_place *place = *state;
    static struct lt_outcome outcome;
    char clients[LT_PATH_MAX + 64];

    assert_true(lt_place_tell_redis(place, clean_redis));
    assert_true(run_audit(place, "other", NULL, &outcome));
    assert_int_equal(2, outcome.status);
    assert_non_null(strstr(outcome.output, "audit: no sale \"other\""));

    assert_true(run_audit(place, "Bad_Id", NULL, &outcome));
    assert_int_equal(2, outcome.status);

    assert_true(lt_place_write(place, "bad.jsonl", WON "nonsense\n", clients));
    assert_true(run_audit(place, "s", clients, &outcome));
    assert_int_equal(2, outcome.status);
    assert_non_null(strstr(outcome.output, "bad.jsonl:3: not a JSON object"));

    assert_true(lt_place_write(place, "operators", PUT_UP("2") WON, operators));
    assert_true(lt_place_write(place, "good.jsonl", WON, clients));
    assert_true(run_audit(place, "s", clients, &outcome));
    assert_int_equal(2, outcome.status);
    assert_non_null(strstr(outcome.output, "operators:3: no step of an operator"));

    const char *const unreachable[] = {"audit",  "--redis", "unix:///nonexistent/s",
                                       "--sale", "s",       NULL};
    assert_true(lt_run(place, unreachable, LIMIT_MS, &outcome));
    assert_int_equal(2, outcome.status);
    assert_non_null(strstr(outcome.output, "audit: Redis: /nonexistent/s"));

    const char *const no_sale[] = {"audit", "--redis", place->url, NULL};
    assert_true(lt_run(place, no_sale, LIMIT_MS, &outcome));
    assert_int_equal(2, outcome.status);
}

TEST(several_client_files_and_json)
{
    const struct lt_place *place = *state;
    static struct lt_outcome outcome;
    char first[LT_PATH_MAX + 64], second[LT_PATH_MAX + 64];

    assert_true(lt_place_tell_redis(place, clean_redis));
    assert_true(lt_place_write(place, "a.jsonl", WON LATE, first));
    assert_true(lt_place_write(place, "b.jsonl", LOST FOUND, second));
    const char *const argv[] = {"audit",    "--clients", first, second,        "--json",  "--redis",
                                place->url, "--sale",    "s",   "--operators", operators, NULL};
    assert_true(lt_run(place, argv, LIMIT_MS, &outcome));

    assert_int_equal(0, outcome.status);
    assert_non_null(strstr(outcome.output, "\"verdict\": \"pass\""));
    assert_non_null(strstr(outcome.output, "\"honest_answers\": {"));
}

/* The same sale after a failover that took b1's order back. */
static const char after_failover[] = "HDEL " KEY("orders") " b1\nSET " KEY("stock") " 1\nDEL " KEY(
    "ledger") "\n"
              "XADD " KEY(
                  "ledger") " 1-0 event created by i epoch 1 left 2 initial 2\n"
                            "XADD " KEY(
                                "ledger") " 2-0 event sold by i epoch 1 left 1 order 101:b2:k2\n";

TEST(lost_orders_are_counted_and_named_when_allowed)
{
    const struct lt_place *place = *state;
    static struct lt_outcome outcome;
    char clients[LT_PATH_MAX + 64];

    assert_true(lt_place_tell_redis(place, clean_redis));
    assert_true(lt_place_tell_redis(place, after_failover));
    assert_true(lt_place_write(place, "c.jsonl", clean_clients, clients));
    assert_true(run_audit(place, "s", clients, &outcome));
    assert_int_equal(1, outcome.status);
    assert_true(fails_as_wanted(outcome.output, " acknowledged_kept no_undersell "));

    const char *argv[] = {"audit",     "--allow-lost", "--redis",     place->url, "--sale", "s",
                          "--clients", clients,        "--operators", operators,  NULL,     NULL};
    assert_true(lt_run(place, argv, LIMIT_MS, &outcome));
    if (outcome.status != 0) print_message("%s\n", outcome.output);
    assert_int_equal(0, outcome.status);
    assert_non_null(strstr(outcome.output, "\naccepted orders lost: 1 of 1\n"
                                           "  lost: order 100 of b1 (k1)\npass\n"));

    argv[10] = "--json";
    assert_true(lt_run(place, argv, LIMIT_MS, &outcome));
    assert_int_equal(0, outcome.status);
    assert_non_null(strstr(outcome.output, "\"accepted\": 1"));
    assert_non_null(strstr(outcome.output, "\"order\": \"100\""));
}

FIXTURE(open_place, close_place);
