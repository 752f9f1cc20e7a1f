/*
 * Two finished sales, made once by a real service: two instances, a pause, a restock, an answer that
 * was lost, an end; and one in segments, between which units moved. Then tables of corruptions, each on a
 * copy of its keys, of what the clients wrote down or of what the operators' log says; and the check that
 * must find it. What is only doubtful passes.
 */
#include <inttypes.h>

#include <jansson.h>

#include "base/clock.h"
#include "test/support/lt_command.h"
#include "test/support/lt_rig.h"
#include "test/support/testing.h"

enum { LIMIT_MS = 20000, LOOK_EVERY_MS = 20, FILE_MAX = 65536, COOL_MS = 400 };

typedef char path_text[LT_PATH_MAX + 64];

/* A finished sale: how its keys are kept and come back, and what was written down of it. */
struct finished {
    const char *sale;
    const char *keep, *back; /* commands */
    char about[2][FILE_MAX]; /* what the clients wrote down, and the operators' log */
};

static struct {
    struct lt_rig rig;
    FILE *clients;    /* while a sale goes on */
    const char *sale; /* likewise */
} world;

/* ---- the sale ------------------------------------------------------------------------------------ */

/* POST as this buyer, or as the operator; the words of the answer. It must be of this status; 0: any. */
static json_t *post(const char *path, const char *json, const char *key, const char *buyer,
                    long status)
{
    static struct http_reply reply;
    const struct service *service = &world.rig.service;
    char url[URL_MAX + 96];
    const struct http_request request = {.url = url,
                                         .json = json,
                                         .key = key,
                                         .buyer = buyer,
                                         .token = buyer ? NULL : service->token};

    (void)snprintf(url, sizeof url, "%s/api/v1/%s",
                   buyer ? service->instances[strlen(buyer) % 2].url : service->admin_url, path);
    assert_true(http_client_send(service->http, &request, &reply, &world.rig.failure));
    if (status && reply.status != status)
        fail_msg("%s: %s %s: %ld %s", buyer ? buyer : "operator", path, json, reply.status,
                 reply.body);
    json_t *said = json_loads(reply.body, 0, NULL);
    assert_non_null(said);
    return said;
}

/* A line of the clients: EVENT and what more it says. */
__attribute__((format(printf, 2, 3))) static void note(const char *event, const char *format, ...)
{
    va_list args;

    (void)fprintf(world.clients, "{\"t\":%" PRId64 ",\"e\":\"%s\",", clock_ns(), event);
    va_start(args, format);
    (void)vfprintf(world.clients, format, args);
    va_end(args);
    (void)fputs("}\n", world.clients);
}

/* One purchase, written down as clients do; with `is_lost` nobody hears the answer. Its status. */
static long buy(const char *buyer, const char *key, long status, bool is_lost)
{
    note("invoke", "\"rid\":\"%s\",\"buyer\":\"%s\",\"key\":\"%s\"", key, buyer, key);
    char path[24];
    (void)snprintf(path, sizeof path, "sales/%s/orders", world.sale);
    json_t *said = post(path, "{}", key, buyer, status);
    const char *id = json_string_value(json_object_get(said, "id"));
    long said_status = id ? 201 : (long)json_integer_value(json_object_get(said, "status"));
    if (is_lost)
        note("resolve", "\"rid\":\"%s\",\"buyer\":\"%s\",\"order\":\"%s\"", key, buyer, id);
    else if (id)
        note("ok", "\"rid\":\"%s\",\"status\":201,\"order\":\"%s\"", key, id);
    else
        note("fail", "\"rid\":\"%s\",\"status\":%ld,\"type\":\"%s\"", key, said_status,
             strrchr(json_string_value(json_object_get(said, "type")), '/') + 1);
    json_decref(said);
    return said_status;
}

/* A restock's units are not sold at once everywhere, nor does everybody know at once of the end. */
static void buy_until(const char *buyer, long status)
{
    int64_t deadline_ms = clock_ms() + LIMIT_MS;
    char key[24];
    unsigned n = 0;

    do {
        (void)snprintf(key, sizeof key, "l-%s-%u", buyer, n++);
        assert_true(clock_ms() < deadline_ms);
        if (n > 1) clock_sleep_ms(LOOK_EVERY_MS);
    } while (buy(buyer, key, 0, false) != status);
}

static void step(const char *what, const char *json, const char *key)
{
    char path[64];

    (void)snprintf(path, sizeof path, "admin/sales/%s/%s", world.sale, what);
    json_decref(post(path, json, key, NULL, 200));
}

static void sell(void)
{
    static const char *const early[] = {"b1", "b2", "b3", "b44", "b55"};
    static const char *const late[] = {"b7", "b8", "b9", "b10"};

    json_decref(
        post("admin/sales", "{\"id\":\"s\",\"stock\":6,\"guard\":\"mutex\"}", NULL, NULL, 201));
    for (size_t i = 0; i < 5; i++) {
        if (i == 3) step("pause", "{}", NULL);
        if (i == 3) (void)buy("p1", "kp", 503, false);
        if (i == 3) step("resume", "{}", NULL);
        char key[8];
        (void)snprintf(key, sizeof key, "k-%s", early[i]);
        (void)buy(early[i], key, 201, false);
    }
    (void)buy("b66", "k-b66", 201, true);
    note("sample", "\"left\":0");
    (void)buy("b7", "k-b7", 409, false);
    step("restock", "{\"units\":4}", "r1");
    note("sample", "\"left\":4");
    for (size_t i = 0; i < 4; i++)
        buy_until(late[i], 201);
    (void)buy("b11", "k-b11", 409, false);
    step("end", "{}", NULL);
    buy_until("b12", 410);
}

/* Three units each, and six buyers of one segment, to which units of the others move; one is left. */
static void sell_segments(void)
{
    static const char *const homed[] = {
        "c4", "c1",  "c2",  "c6",  "c8", /* 0, 1, 2, and then 0 all */
        "c9", "c13", "c16", "c17", "c19"};

    json_decref(post("admin/sales", "{\"id\":\"t\",\"stock\":9,\"guard\":\"mutex\",\"segments\":3}",
                     NULL, NULL, 201));
    for (size_t i = 0; i < sizeof homed / sizeof *homed; i++) {
        char key[8];
        if (i == 2) step("restock", "{\"units\":2}", "r2");
        if (i == 2) clock_sleep_ms(COOL_MS);
        (void)snprintf(key, sizeof key, "k-%s", homed[i]);
        (void)buy(homed[i], key, 201, false);
    }
    step("end", "{}", NULL);
}

static bool is_free(void *arg)
{
    static struct ledger *ledger;
    const struct finished *finished = arg;
    struct facts facts;

    if (!ledger) ledger = ledger_open(world.rig.sandbox.url, NULL);
    facts_init(&facts);
    bool is_read = ledger && ledger_sale_read(ledger, finished->sale, &facts, NULL);
    bool is_gone = is_read && facts.lock == LOCK_NONE;
    facts_done(&facts);
    if (is_gone) ledger_close(ledger);
    if (is_gone) ledger = NULL;
    return is_gone;
}

static void finish(struct finished *finished, void (*sell_it)(void))
{
    path_text path;

    (void)snprintf(path, sizeof path, "%s/clients", world.rig.sandbox.dir);
    world.clients = fopen(path, "we");
    world.sale = finished->sale;
    assert_non_null(world.clients);
    sell_it();
    assert_int_equal(0, fclose(world.clients));
    lt_sandbox_read(&world.rig.sandbox, "clients", finished->about[0], FILE_MAX);
    lt_sandbox_read(&world.rig.sandbox, "i1/operators.ndjson", finished->about[1], FILE_MAX);
    assert_true(lt_eventually(is_free, finished, LIMIT_MS));
    assert_true(lt_sandbox_redis_commands(&world.rig.sandbox, finished->keep));
}

/* Lua on the keys of segment i: S(i), K(i), O(i), L(i). */
#define SEGMENTS(body)                                                                             \
    "EVAL \"local C=redis.call local G=string.match(C('GET','seckill:{t}:segments'),':(.*)') "     \
    "local function key(i,p) return 'seckill:{t.'..G..'.'..i..'}:'..p end "                        \
    "local function S(i) return key(i,'sale') end local function K(i) return key(i,'stock') end "  \
    "local function O(i) return key(i,'orders') end "                                              \
    "local function L(i) return key(i,'ledger') end " body "\" 0\n"
#define OF_ALL(body)                                                                               \
    SEGMENTS("for i=0,2 do for _,p in ipairs({'sale','stock','orders','ledger'}) do "              \
             "local k,kept=key(i,p),'kept:'..i..p " body " end end")

static struct finished whole = {.sale = "s",
                                .keep = "COPY seckill:{s}:sale kept:sale\n"
                                        "COPY seckill:{s}:stock kept:stock\n"
                                        "COPY seckill:{s}:orders kept:orders\n"
                                        "COPY seckill:{s}:ledger kept:ledger\n",
                                .back = "COPY kept:sale seckill:{s}:sale REPLACE\n"
                                        "COPY kept:stock seckill:{s}:stock REPLACE\n"
                                        "COPY kept:orders seckill:{s}:orders REPLACE\n"
                                        "COPY kept:ledger seckill:{s}:ledger REPLACE\n"
                                        "DEL seckill:{s}:lock\n"};
static struct finished in_segments = {.sale = "t",
                                      .keep = OF_ALL("C('COPY',k,kept)"),
                                      .back = OF_ALL("C('COPY',kept,k,'REPLACE') "
                                                     "C('DEL',key(i,'turn'),key(i,'lock'))")};

BEFORE_ALL()
{
    if (!lt_rig_open(&world.rig, &(struct lt_rig_options){.seckilld = {"--lab"}}))
        fail_msg("%s", world.rig.failure.text);
    finish(&whole, sell);
    finish(&in_segments, sell_segments);
}

AFTER_ALL()
{
    lt_rig_close(&world.rig);
}

/* ---- the corruptions ------------------------------------------------------------------------------- */

/* Lua on the four keys. */
#define LUA(body)                                                                                  \
    "EVAL \"local S,K,O,L='seckill:{s}:sale','seckill:{s}:stock','seckill:{s}:orders',"            \
    "'seckill:{s}:ledger' local C=redis.call " body "\" 0\n"
/* The ledger as a list of { id, fields }, changed and written again under the same ids. get, set:
   a field of an entry; at(E, n): where the n-th entry of event E is; swap: what two entries say. */
#define LEDGER(body)                                                                               \
    LUA("local all=C('XRANGE',L,'-','+') C('DEL',L) "                                              \
        "local function get(i,n) local f=all[i][2] for k=1,#f,2 do if f[k]==n then return f[k+1] " \
        "end end end "                                                                             \
        "local function set(i,n,v) local f=all[i][2] for k=1,#f,2 do if f[k]==n then f[k+1]=v "    \
        "end "                                                                                     \
        "end end "                                                                                 \
        "local function at(e,n) for i=1,#all do if get(i,'event')==e then n=n-1 if n==0 then "     \
        "return i end end end end "                                                                \
        "local function add(i,n) for k=i,#all do if get(k,'event')~='created' or n>99 then "       \
        "set(k,'left',get(k,'left')+n) end end end "                                               \
        "local function swap(a,b) all[a][2],all[b][2]=all[b][2],all[a][2] end " body               \
        " for i=1,#all do C('XADD',L,all[i][1],unpack(all[i][2])) end")
/* A buyer who was told sold-out has an order after all, and the clients were told so. */
#define SOLD_TO_B11(epoch, left)                                                                   \
    "XADD seckill:{s}:ledger * event sold by i1 epoch " epoch " left " left                        \
    " order 77:b11:k-b11\n"                                                                        \
    "HSET seckill:{s}:orders b11 77:held:k-b11\n"
#define B11_WAS_TOLD                                                                               \
    {                                                                                              \
        CLIENTS, "\"fail\",\"rid\":\"k-b11\"",                                                     \
            "\"fail\",\"rid\":\"k-b11\",\"status\":409,\"type\":\"sold-out\"",                     \
            "\"ok\",\"rid\":\"k-b11\",\"status\":201,\"order\":\"77\""                             \
    }

/* In the lines that have the words `line`, `from` becomes `to`; from NULL: they are dropped. */
struct edit {
    enum { NO_FILE, CLIENTS, OPERATORS } file;
    const char *line, *from, *to;
};

struct corruption {
    const char *name;
    const char *check; /* that must find it; NULL: it passes */
    const char *redis; /* commands, or NULL */
    struct edit edit;
};

#define OPERATOR(line, from, to)                                                                   \
    {                                                                                              \
        OPERATORS, line, from, to                                                                  \
    }
#define CLIENT(line, from, to)                                                                     \
    {                                                                                              \
        CLIENTS, line, from, to                                                                    \
    }
#define RESTOCK "\"what\":\"restock\""

/* A line about another restock. */
#define STEP(result, epoch)                                                                        \
    "{\"t\":9999999999999,\"step\":\"x\",\"what\":\"restock\",\"sale\":\"s\",\"key\":\"r7\","      \
    "\"result\":\"" result "\",\"units\":2,\"epoch\":" epoch "}\n"

static const struct corruption corruptions[] = {
    {"nothing", NULL, .redis = NULL},

    /* The sale, its stock and its orders. */
    {"an order is gone", "conservation", .redis = LUA("C('HDEL',O,'b1')")},
    {"an order has another id", "acknowledged_kept",
     .redis = "HSET seckill:{s}:orders b1 5:held:k-b1\n"},
    {"an order has another key", "conservation",
     .redis = LUA("C('HSET',O,'b1',(string.gsub(C('HGET',O,'b1'),':k','#:x')))")},
    {"an order has another buyer", "no_phantom",
     .redis = LUA("C('HSET',O,'eve',C('HGET',O,'b1')) C('HDEL',O,'b1')")},
    {"an order is invented", "no_phantom", .redis = "HSET seckill:{s}:orders eve 9:held:k9\n"},
    {"an order of two words", "conservation", .redis = "HSET seckill:{s}:orders b1 9\n"},
    {"the stock is higher", "conservation", .redis = "INCR seckill:{s}:stock\n"},
    {"the stock is below zero", "conservation", .redis = "DECR seckill:{s}:stock\n"},
    {"the stock is no number", "conservation", .redis = "SET seckill:{s}:stock many\n"},
    {"the stock is gone", "conservation", .redis = "DEL seckill:{s}:stock\n"},
    {"initial is higher", "conservation", .redis = "HSET seckill:{s}:sale initial 7\n"},
    {"initial is gone", "conservation", .redis = "HDEL seckill:{s}:sale initial\n"},
    {"restocked is higher", "restocks_add_up", .redis = "HSET seckill:{s}:sale restocked 5\n"},
    {"restocked is lower", "restocks_add_up", .redis = "HSET seckill:{s}:sale restocked 3\n"},
    {"restocked is gone", "restocks_add_up", .redis = "HDEL seckill:{s}:sale restocked\n"},
    {"the epoch is higher", "restocks_add_up", .redis = "HINCRBY seckill:{s}:sale epoch 1\n"},
    {"the epoch is gone", "restocks_add_up", .redis = "HDEL seckill:{s}:sale epoch\n"},
    {"the sale is open again", "nothing_after_end", .redis = "HSET seckill:{s}:sale state open\n"},
    {"the state is gone", "nothing_after_end", .redis = "HDEL seckill:{s}:sale state\n"},
    {"it ended by the clock before its last unit", "nothing_after_end",
     .redis = "HSET seckill:{s}:sale ends_ms 1700000000000\n"},
    {"it started by the clock after its first unit", "nothing_after_end",
     .redis = "HSET seckill:{s}:sale starts_ms 95617584000000\n"},
    {"a lock that never ends is left", "no_stuck_lock", .redis = "SET seckill:{s}:lock x\n"},

    /* The ledger. */
    {"the ledger is gone", "conservation", .redis = "DEL seckill:{s}:ledger\n"},
    {"its first entry is gone", "conservation", .redis = LEDGER("table.remove(all,1)")},
    {"its last entry is gone", "nothing_after_end", .redis = LEDGER("table.remove(all)")},
    {"an entry of a sale is gone", "conservation",
     .redis = LEDGER("table.remove(all,at('sold',2))")},
    {"an entry of a sale comes twice", "one_per_buyer",
     .redis = LEDGER("all[#all+1]={'*',all[at('sold',2)][2]}")},
    {"an entry has another left", "conservation", .redis = LEDGER("set(3,'left','0')")},
    {"an entry has no number left", "conservation", .redis = LEDGER("set(3,'left','few')")},
    {"an entry has another epoch", "restocks_add_up", .redis = LEDGER("set(3,'epoch','2')")},
    {"an entry has no epoch", "restocks_add_up", .redis = LEDGER("set(3,'epoch','one')")},
    {"a restock without a new epoch", "restocks_add_up",
     .redis = LEDGER("for i=1,#all do set(i,'epoch','1') end C('HSET',S,'epoch','1')")},
    {"two restocks under one key", "restocks_add_up",
     .redis = LEDGER(
         "local r=at('restocked',1) table.insert(all,r+1,{all[r][1]..'9',{unpack(all[r][2])}}) "
         "for i=r+1,#all do set(i,'epoch','3') set(i,'left',get(i,'left')+4) end "
         "C('HSET',S,'epoch','3','restocked','8') C('SET',K,'4')")},
    {"an oversell behind a forged restock", "operators_agree",
     "XADD seckill:{s}:ledger * event restocked by i1 epoch 3 left 1 units 1 key r2\n" SOLD_TO_B11(
         "3", "0") "HSET seckill:{s}:sale epoch 3 restocked 5 restock:r2 1\n",
     B11_WAS_TOLD},
    {"the same, before the end", "operators_agree",
     LEDGER("local e=table.remove(all) local id=e[1] "
            "all[#all+1]={id..'1',{'event','restocked','by','i1',"
            "'epoch','3','left','1','units','1','key','r2'}} "
            "all[#all+1]={id..'2',{'event','sold','by',"
            "'i1','epoch','3','left','0','order','77:b11:k-b11'}} e[1]=id..'3' all[#all+1]=e "
            "set(#all,'epoch','3') C('HSET',S,'epoch','3','restocked','5','restock:r2','1') "
            "C('HSET',O,'b11','77:held:k-b11')"),
     B11_WAS_TOLD},
    {"a restock of more units", "operators_agree",
     .redis = LEDGER("local r=at('restocked',1) set(r,'units','5') for i=r,#all do "
                     "set(i,'left',get(i,'left')+1) "
                     "end C('SET',K,'1') C('HSET',S,'restocked','5')")},
    {"a restock under another key", "operators_agree",
     .redis = LEDGER("set(at('restocked',1),'key','r9')")},
    {"a sale of more units from the start", "operators_agree",
     .redis = LEDGER("for i=1,#all do set(i,'left',get(i,'left')+1) end set(1,'initial','7') "
                     "C('SET',K,'1') C('HSET',S,'initial','7')")},
    {"no restock, but more units from the start", "operators_agree",
     .redis =
         LEDGER("local r=at('restocked',1) for i=1,r do set(i,'left',get(i,'left')+4) end "
                "set(1,'initial','10') table.remove(all,r) for i=1,#all do set(i,'epoch','1') end "
                "C('HSET',S,'initial','10','epoch','1') C('HDEL',S,'restocked')")},
    {"a unit sold after the end", "nothing_after_end",
     .redis = LEDGER("swap(#all,#all-1) local a,b=#all-1,#all "
                     "set(a,'left','1') set(b,'left','0')")},
    {"the end is moved behind a sale", "operators_agree",
     .redis = LEDGER(
         "all[#all][1]=string.format('%.0f',string.match(all[#all][1],'%d+')+3600000)..'-0'")},
    {"an order made an hour after the end, put before it", "nothing_after_end",
     .redis = LEDGER(
         "for i=1,#all do local o=get(i,'order') if o and string.find(o,':b10:') then "
         "local late=string.format('%.0f',tonumber((string.match(o,'^%d+')))+3600000*4194304) "
         "set(i,'order',(string.gsub(o,'^%d+',late))) "
         "C('HSET',O,'b10',(string.gsub(C('HGET',O,'b10'),'^%d+',late))) end end")},
    {"a restock after the end", "nothing_after_end",
     SOLD_TO_B11("3", "0")
         LEDGER("table.insert(all,#all,{all[#all-1][1]..'1',{'event','restocked','by',"
                "'i1','epoch','3','left','1','units','1','key','r2'}}) "
                "C('HSET',S,'epoch','3','restocked','5')"),
     B11_WAS_TOLD},
    {"it was never ended", "operators_agree",
     .redis = LEDGER("table.remove(all) C('HSET',S,'state','open')")},
    {"a unit sold while it was paused", "nothing_after_end",
     .redis = LEDGER(
         "local r=at('resumed',1) swap(r,r+1) set(r,'left',get(r,'left')) local a=get(r,'left') "
         "set(r+1,'left',a)")},
    {"a pause that nobody asked for", "operators_agree",
     .redis = LEDGER(
         "local e=all[#all] table.insert(all,#all,{all[#all-1][1]..'1',{'event','paused','by','i1',"
         "'epoch','2','left','0'}})")},

    /* What the clients wrote down. */
    {"a winner was told another order", "acknowledged_kept", NULL,
     CLIENT("\"ok\",\"rid\":\"k-b1\"", "\"order\":\"", "\"order\":\"9")},
    {"a winner is told sold-out", "refused_not_executed", NULL,
     CLIENT("\"ok\",\"rid\":\"k-b1\"", "\"ok\",\"rid\":\"k-b1\",\"status\":201",
            "\"fail\",\"rid\":\"k-b1\",\"status\":409,\"type\":\"sold-out\"")},
    {"a winner never asked", "no_phantom", NULL, CLIENT("\"rid\":\"k-b1\"", NULL, NULL)},
    {"another buyer asked", "no_phantom", NULL,
     CLIENT("\"invoke\",\"rid\":\"k-b1\"", "\"b1\"", "\"b99\"")},
    {"what was unknown is never told", "unknown_resolved", NULL, CLIENT("\"resolve\"", NULL, NULL)},
    {"what was unknown is denied", "unknown_resolved", NULL,
     CLIENT("\"resolve\"", "\"order\":\"", "\"order\":\"9")},
    {"the stock was seen below zero", "conservation", NULL,
     CLIENT("\"sample\"", "\"left\":0", "\"left\":-1")},
    {"a loser is told already-ordered", "honest_answers", NULL,
     CLIENT("\"rid\":\"k-b11\"", "sold-out", "already-ordered")},
    {"a unit asked for after somebody was told it had ended", "nothing_after_end", NULL,
     CLIENT("\"rid\":\"kp\"", "503,\"type\":\"sale-paused", "410,\"type\":\"sale-ended")},

    /* What the operators' log says. */
    {"nobody created it", "operators_agree", NULL, OPERATOR("\"what\":\"create\"", NULL, NULL)},
    {"it was created with fewer units", "operators_agree", NULL,
     OPERATOR("\"what\":\"create\"", "\"units\":6", "\"units\":5")},
    {"nobody restocked it", "operators_agree", NULL, OPERATOR(RESTOCK, NULL, NULL)},
    {"it was restocked by fewer units", "operators_agree", NULL,
     OPERATOR(RESTOCK, "\"units\":4", "\"units\":3")},
    {"it was restocked under another key", "operators_agree", NULL,
     OPERATOR(RESTOCK, "\"r1\"", "\"r2\"")},
    {"it was restocked in another epoch", "operators_agree", NULL,
     OPERATOR(RESTOCK, "\"epoch\":2", "\"epoch\":3")},
    {"the restock was refused", "operators_agree", NULL,
     OPERATOR(RESTOCK, "\"done\"", "\"has-ended\"")},
    {"the restock was a repetition", "operators_agree", NULL,
     OPERATOR(RESTOCK, "\"done\"", "\"repeated\"")},
    {"a restock more was done", "operators_agree", NULL,
     OPERATOR("\"what\":\"create\"", "\"epoch\":1}\n",
              "\"epoch\":1}\n" STEP("asked", "0") STEP("done", "3"))},
    {"nobody ended it", "operators_agree", NULL, OPERATOR("\"what\":\"end\"", NULL, NULL)},
    {"it was ended an hour before", "operators_agree", NULL,
     OPERATOR("\"what\":\"end\"", "{\"t\":1", "{\"t\":")},
    {"nobody resumed it", "operators_agree", NULL, OPERATOR("\"what\":\"resume\"", NULL, NULL)},
    {"another sale's log", "operators_agree", NULL,
     OPERATOR("\"sale\":\"s\"", "\"sale\":\"s\"", "\"sale\":\"t\"")},

    /* What proves nothing. */
    {"the answer to the restock was lost", NULL, NULL,
     OPERATOR("\"result\":\"done\",\"units\":4", NULL, NULL)},
    {"nobody knows whether it was restocked", NULL, NULL,
     OPERATOR(RESTOCK, "\"result\":\"done\"", "\"result\":\"unknown\"")},
    {"another restock was asked for, and not answered", NULL, NULL,
     OPERATOR("\"what\":\"end\"", "\"epoch\":2}\n", "\"epoch\":2}\n" STEP("asked", "0"))},
    {"the log ends within a line", NULL, NULL,
     OPERATOR("\"what\":\"end\"", "\"epoch\":2}\n", "\"ep")},
};

/* M: the segment that has the unit which is left; out(u): it leaves, the number of that move; arrives(u, n). */
#define MOVES(body)                                                                                \
    SEGMENTS("local M for i=0,2 do if C('GET',K(i))=='1' then M=i end end "                        \
             "local function has(i,f,v) C('HSET',S(i),f,v) end "                                   \
             "local function get(i,f) return tonumber(C('HGET',S(i),f) or 0) end "                 \
             "local function move(i,e,left,units,n,way,peer) "                                     \
             "C('XADD',L(i),'*','event',e,'epoch',get(i,'epoch'),'left',left,'units',units,"       \
             "'move',n,way,peer) C('SET',K(i),left) end "                                          \
             "local function out(units) local n=get(M,'moves')+1 "                                 \
             "move(M,'moved-out',1-units,units,n,'to',(M+1)%3) has(M,'moves',n) "                  \
             "C('HINCRBY',S(M),'moved',-units) return n end "                                      \
             "local function arrives(units,n) local i=(M+1)%3 "                                    \
             "move(i,'moved-in',C('GET',K(i))+units,units,n,'from',M) "                            \
             "C('HINCRBY',S(i),'moved',units) end " body)

static const struct corruption of_segments[] = {
    {"nothing", NULL, .redis = NULL},
    {"a unit is on its way", NULL, .redis = MOVES("has(M,'moving',out(1)..':1:'..(M+1)%3)")},
    {"it has arrived", NULL, .redis = MOVES("arrives(1,out(1))")},
    {"it has arrived, and is pending still", NULL,
     .redis = MOVES("local n=out(1) arrives(1,n) has(M,'moving',n..':1:'..(M+1)%3)")},

    {"a unit left and nobody knows where to", "moves_arrive", .redis = MOVES("out(1)")},
    {"another move is pending", "moves_arrive",
     .redis = MOVES("has(M,'moving',out(1)+1 ..':1:'..(M+1)%3)")},
    {"it is pending with more units", "moves_arrive",
     .redis = MOVES("has(M,'moving',out(1)..':2:'..(M+1)%3)")},
    {"it is pending for another", "moves_arrive",
     .redis = MOVES("has(M,'moving',out(1)..':1:'..(M+2)%3)")},
    {"a move that never left is pending", "moves_arrive",
     .redis = MOVES("has(M,'moving',get(M,'moves')+1 ..':1:'..(M+1)%3)")},
    {"a unit came out of nothing", "moves_arrive", .redis = MOVES("arrives(1,get(M,'moves')+1)")},
    {"a unit arrived twice", "moves_arrive",
     .redis = MOVES("local n=out(1) arrives(1,n) arrives(1,n)")},
    {"two units arrived of one", "moves_arrive", .redis = MOVES("arrives(2,out(1))")},
    {"it left for no segment", "moves_arrive",
     .redis = MOVES("C('XADD',L(M),'*','event','moved-out','epoch',get(M,'epoch'),'left',0,"
                    "'units',1,'move',get(M,'moves')+1,'to',3) C('SET',K(M),0)")},
    {"a move has another number", "moves_arrive",
     .redis = MOVES("has(M,'moves',get(M,'moves')+1) arrives(1,out(1))")},
    {"more moves than its ledger has", "moves_arrive",
     .redis = MOVES("has(M,'moves',get(M,'moves')+1)")},
    {"none moved", "conservation",
     .redis = MOVES("move(M,'moved-out',1,0,get(M,'moves')+1,'to',(M+1)%3)")},

    {"a stock is higher", "conservation", .redis = SEGMENTS("C('INCR',K(1))")},
    {"a unit is in another segment's stock", "segments_add_up",
     .redis = MOVES("C('DECR',K(M)) C('INCR',K((M+1)%3))")},
    {"more has moved than its ledger says", "segments_add_up", .redis = MOVES("has(M,'moved',7)")},
    {"moved is no number", "conservation", .redis = MOVES("has(M,'moved','x')")},
    {"moving is no move", "conservation", .redis = MOVES("has(M,'moving','1:1')")},
    {"an order is gone from its segment", "segments_add_up",
     .redis = SEGMENTS("C('HDEL',O(0),'c4')")},
    {"a segment is open again", "nothing_after_end",
     .redis = SEGMENTS("C('HSET',S(1),'state','open')")},
    {"one segment alone was never ended", "segments_add_up",
     .redis =
         SEGMENTS("local e=C('XREVRANGE',L(2),'+','-') for _,x in ipairs(e) do if x[2][2]=='ended' "
                  "then C('XDEL',L(2),x[1]) end end C('HSET',S(2),'state','open')")},
    {"a restock in two segments", "restocks_add_up",
     .redis =
         MOVES("C('XADD',L(0),'*','event','restocked','epoch',2,'left',C('GET',K(0))+2,'units',2,"
               "'key','r2') C('INCRBY',K(0),2) has(0,'restocked',2) has(0,'epoch',2)")},
    {"a lock for moves that never ends is left", "no_stuck_lock",
     .redis = SEGMENTS("C('SET',key(0,'turn'),'x')")},

    {"an order is away from home", "orders_at_home",
     .redis = SEGMENTS("C('HSET',O(1),'c4',C('HGET',O(0),'c4')) C('HDEL',O(0),'c4')")},
    {"a buyer has orders in two segments", "one_per_buyer",
     .redis = MOVES(
         "local i=M if M==0 then i=1 arrives(1,out(1)) end C('HSET',O(i),'c4','77:paid:k-c4b') "
         "C('XADD',L(i),'*','event','sold','epoch',get(i,'epoch'),'left',0,"
         "'order','77:c4:k-c4b') C('SET',K(i),0)")},
};

/* ---- each is found --------------------------------------------------------------------------------- */

/* `text` with the edit made; false: no line has the words. */
static bool edit_lines(const struct edit *edit, const char *text, char out[FILE_MAX])
{
    bool is_made = false;
    size_t used = 0;

    while (*text) {
        size_t length = strcspn(text, "\n") + 1;
        char line[1024];
        (void)snprintf(line, sizeof line, "%.*s", (int)length, text);
        text += length;
        char *from = strstr(line, edit->line) && edit->from ? strstr(line, edit->from) : NULL;
        if (strstr(line, edit->line) && (from || !edit->from)) is_made = true;
        if (strstr(line, edit->line) && !edit->from) continue;
        if (from)
            used += (size_t)snprintf(out + used, FILE_MAX - used, "%.*s%s%s", (int)(from - line),
                                     line, edit->to, from + strlen(edit->from));
        else
            used += (size_t)snprintf(out + used, FILE_MAX - used, "%s", line);
    }
    out[used] = '\0';
    return is_made;
}

static void write_file(const struct finished *finished, int file, const struct edit *edit,
                       const char *name)
{
    static char text[FILE_MAX];
    path_text path;
    const char *about = finished->about[file - CLIENTS];

    if ((int)edit->file == file) {
        if (!edit_lines(edit, about, text)) fail_msg("no \"%s\" in:\n%s", edit->line, about);
        about = text;
    }
    assert_true(lt_sandbox_write(&world.rig.sandbox, name, about, path));
}

static const struct lt_outcome *audit(const struct finished *finished, const struct corruption *row)
{
    static char commands[FILE_MAX];

    (void)snprintf(commands, sizeof commands, "%s%s", finished->back, row->redis ? row->redis : "");
    assert_true(lt_sandbox_redis_commands(&world.rig.sandbox, commands));
    write_file(finished, CLIENTS, &row->edit, "c.jsonl");
    write_file(finished, OPERATORS, &row->edit, "o.ndjson");
    return lt_try(&world.rig.sandbox,
                  "audit --redis %s --sale %s --operators @o.ndjson --clients @c.jsonl",
                  world.rig.sandbox.url, finished->sale);
}

static void find_each(const struct finished *finished, const struct corruption *rows, size_t count)
{
    size_t missed = 0;

    for (size_t i = 0; i < count; i++) {
        const struct corruption *row = &rows[i];
        char wanted[64] = "";
        const struct lt_outcome *outcome = audit(finished, row);
        if (row->check) (void)snprintf(wanted, sizeof wanted, "\n  fail  %s ", row->check);
        if (outcome->status == (row->check ? 1 : 0) && strstr(outcome->output, wanted)) continue;
        print_message("%s: %d\n%s", row->name, outcome->status, outcome->output);
        missed++;
    }
    assert_int_equal(missed, 0);
}

TEST(each_corruption_is_found_by_its_check)
{
    find_each(&whole, corruptions, sizeof corruptions / sizeof *corruptions);
}

TEST(each_corruption_of_segments_is_found_by_its_check)
{
    find_each(&in_segments, of_segments, sizeof of_segments / sizeof *of_segments);
}
