/*
 * One sell of a whole batch, with the n-th exchange of its thread with Redis going wrong, for every n
 * until the sell passes untouched: refused, cut in the middle, answered by errors, done but the reply
 * lost, sent but never arrived. What never arrived is kept, byte for byte, and does arrive later: once
 * the sell has said that it was not executed, it must not be executed any more.
 *
 * The faults sit below lockkit, at the system's calls; the server is a real one.
 * link: -Wl,--wrap=send,--wrap=recv
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "guards/guards.h"
#include "store/app_scripts.h"
#include "store/store_admin.h"
#include "store/store_pay.h"
#include "store/store_segments.h"
#include "store/store_waiting.h"
#include "test/support/sale_instances.h"
#include "test/support/testing.h"

#define COUNT_OF(array) (sizeof(array) / sizeof(array)[0])

enum {
    UNITS = 9,
    BATCH = 3,
    LATE_MAX = 64,      /* exchanges kept */
    EXCHANGES_MAX = 12, /* at most, of one sell and what it takes to settle it */
    FOR_EVER = 1000,
    LIMIT_MS = 20000, /* of a sell, generous */
};

/* ---- exchanges that go wrong -------------------------------------------------------------------------- */

typedef enum fault {
    FAULT_REFUSED,       /* not one byte was sent */
    FAULT_HALF_SENT,     /* the connection broke in the middle */
    FAULT_ERROR,         /* the server answers, with errors */
    FAULT_REPLY_LOST,    /* done, and nobody hears of it */
    FAULT_NEVER_ARRIVED, /* sent, stuck on the way; kept */
    FAULT_KINDS
} fault;

static const char *const fault_names[FAULT_KINDS] = {"refused", "half-sent", "error-reply",
                                                     "reply-lost", "never-arrived"};

/* One kind of fault at the exchanges first .. first + count - 1, counted from 1. */
struct fault_plan {
    fault kind;
    unsigned first, count;
    unsigned hits; /* how often it came */
};

/* Of the thread that sells: lockkit's own threads are left in peace. */
static _Thread_local struct {
    struct fault_plan *plans; /* NULL: none */
    size_t plan_count;
    unsigned exchanges;
    bool is_cut;                    /* the next send fails */
    enum { HEARS, LOSES, CUT } ear; /* what becomes of the next answer */
} faults;

/* Bytes on their way, and the connection they are in: the server does not know yet that it is dead. */
static struct {
    char *bytes; /* owned */
    size_t len;
    int fd;
} late[LATE_MAX];
static size_t late_count;

static void keep(int fd, const char *bytes, size_t len)
{
    if (late_count == LATE_MAX) abort();
    late[late_count].bytes = malloc(len);
    if (!late[late_count].bytes) abort();
    memcpy(late[late_count].bytes, bytes, len);
    late[late_count].fd = dup(fd);
    late[late_count++].len = len;
}

static void set_faults(struct fault_plan *plans, size_t count)
{
    faults.plans = plans;
    faults.plan_count = count;
    faults.exchanges = 0;
    faults.is_cut = false;
    faults.ear = HEARS;
    for (size_t i = 0; i < count; i++)
        plans[i].hits = 0;
}

static void forget_late(void)
{
    while (late_count > 0) {
        free(late[--late_count].bytes);
        (void)close(late[late_count].fd);
    }
}

/* The number behind '*' or '$', and the place behind its line. */
static long read_count(const char **at)
{
    char *end = NULL;
    long count = strtol(*at + 1, &end, 10);

    *at = end + 2;
    return count;
}

/* How many commands a pipeline has. */
static size_t count_commands(const char *bytes, size_t len)
{
    const char *end = bytes + len;
    size_t count = 0;

    for (; bytes < end; count++) {
        for (long words = read_count(&bytes); words > 0; words--)
            bytes += read_count(&bytes) + 2;
    }
    return count;
}

static ssize_t reset(void)
{
    errno = ECONNRESET;
    return -1;
}

static ssize_t go_wrong(fault kind, int fd, const void *bytes, size_t len, int flags);

FAKE(ssize_t, send, int fd, const void *bytes, size_t len, int flags)
{
    if (!faults.plans) return __real_send(fd, bytes, len, flags);
    if (faults.is_cut) {
        faults.is_cut = false;
        return reset();
    }
    unsigned number = ++faults.exchanges;
    for (size_t i = 0; i < faults.plan_count; i++) {
        struct fault_plan *plan = &faults.plans[i];

        if (number < plan->first || number - plan->first >= plan->count) continue;
        plan->hits++;
        return go_wrong(plan->kind, fd, bytes, len, flags);
    }
    return __real_send(fd, bytes, len, flags);
}

static ssize_t go_wrong(fault kind, int fd, const void *bytes, size_t len, int flags)
{
    static const char nonsense[] = "*1\r\n$4\r\nNONE\r\n";

    switch (kind) {
    case FAULT_REFUSED:
        return reset();
    case FAULT_HALF_SENT:
        faults.is_cut = true;
        return __real_send(fd, bytes, len / 2, flags);
    case FAULT_ERROR:
        for (size_t i = count_commands(bytes, len); i > 0; i--)
            if (__real_send(fd, nonsense, sizeof nonsense - 1, flags) < 0) abort();
        return (ssize_t)len;
    case FAULT_REPLY_LOST:
        faults.ear = LOSES;
        return __real_send(fd, bytes, len, flags);
    case FAULT_NEVER_ARRIVED:
        faults.ear = CUT;
        keep(fd, bytes, len);
        return (ssize_t)len;
    case FAULT_KINDS:
        break;
    }
    abort();
}

FAKE(ssize_t, recv, int fd, void *buffer, size_t size, int flags)
{
    ssize_t got = faults.ear == CUT ? 1 : __real_recv(fd, buffer, size, flags);

    if (!faults.plans || faults.ear == HEARS || got < 0) return got;
    faults.ear = HEARS;
    return reset();
}

/* Let the i-th bytes arrive at last; the server's answers as one text. */
static void deliver(size_t i, char *answers, size_t size)
{
    static const char quit[] = "*1\r\n$4\r\nQUIT\r\n"; /* it answers all before it hangs up */
    int fd = late[i].fd;
    size_t used = 0;
    ssize_t got = 0;

    assert_int_equal(fcntl(fd, F_SETFL, 0), 0); /* nobody else has it any more: it may block */
    assert_int_equal(write(fd, late[i].bytes, late[i].len), late[i].len);
    assert_int_equal(write(fd, quit, sizeof quit - 1), sizeof quit - 1);
    while (used + 1 < size && (got = read(fd, answers + used, size - 1 - used)) > 0)
        used += (size_t)got;
    answers[used] = '\0';
}

/* Everything that was stuck arrives now; how many answers said that it was refused as void. */
static unsigned let_late_arrive(void)
{
    unsigned refused = 0;

    for (size_t i = 0; i < late_count; i++) {
        char answers[4096];

        deliver(i, answers, sizeof answers);
        for (const char *at = answers; (at = strstr(at, "-VOID ")) != NULL; at++)
            refused++;
        if (strstr(answers, "+QUEUED") && strstr(answers, "*-1"))
            refused++; /* WATCH saw the mark */
    }
    return refused;
}

/* ---- one sell ------------------------------------------------------------------------------------------ */

struct sell {
    const struct guard *guard;
    lk_script *purchase; /* owned */
    lk_script *resolve;  /* owned */
    lk_script *fenced;   /* owned */
    int64_t attempt;
    int64_t limit_ms;
    struct purchase purchases[BATCH];
};

static const char *const buyers[BATCH] = {"ann", "bob", "cid"};
static const char *const keys[BATCH] = {"", "k", ""};

/* The whole batch with order ids of its own, by the first shop's client. */
static struct guard_result sell_batch(struct sale_world *world, struct sell *sell,
                                      struct fault_plan *plans, size_t plan_count)
{
    struct purchase *list[BATCH];
    const struct guard_ctx ctx = {.client = world->shops[0].client,
                                  .guard = sell->guard,
                                  .purchase = sell->purchase,
                                  .resolve = sell->resolve,
                                  .fenced = sell->fenced,
                                  .sale_id = "s",
                                  .instance = "first",
                                  .process = "first.1",
                                  .attempt = ++sell->attempt,
                                  .lease_ms = 60000, /* no lease helps out */
                                  .limit_ms = sell->limit_ms,
                                  .wait_ms = sell->limit_ms};

    for (size_t i = 0; i < BATCH; i++) {
        struct purchase *purchase = &sell->purchases[i];

        *purchase = (struct purchase){.buyer = buyers[i], .key = keys[i], .outcome = OUTCOME_COUNT};
        (void)snprintf(purchase->order_id, sizeof purchase->order_id, "%d",
                       (int)sell->attempt * 10 + (int)i);
        list[i] = purchase;
    }
    set_faults(plans, plan_count);
    struct guard_result result = sell->guard->sell(&ctx, list, BATCH);
    faults.plans = NULL;
    return result;
}

/* A new sale in which ann has bought already; the server knows the scripts only if it is_warm. */
static void begin(struct sale_world *world, struct sell *sell, const char *guard, bool is_warm)
{
    forget_late();
    SALE_INSTANCES(world, guard, UNITS, .batch = 8);
    *sell = (struct sell){.guard = guards_find(guard),
                          .purchase = lk_script_new(app_scripts_named("purchase")),
                          .resolve = lk_script_new(app_scripts_named("resolve")),
                          .fenced = APP_SCRIPTS_JOIN("fence_check", "purchase"),
                          .limit_ms = LIMIT_MS};
    assert_true(sell->guard && sell->purchase && sell->resolve && sell->fenced);
    assert_int_equal(sale_instances_buy(world, "ann", "").outcome, OUTCOME_CREATED);
    if (!is_warm) assert_true(sale_do(world->client, "SCRIPT FLUSH"));
}

static void finish(struct sell *sell)
{
    forget_late();
    lk_script_free(sell->purchase);
    lk_script_free(sell->resolve);
    lk_script_free(sell->fenced);
}

/* ---- what must hold ---------------------------------------------------------------------------------- */

static bool has_order(struct sale_world *world, const struct purchase *purchase)
{
    lk_reply *held =
        sale_ask(world->client, "HGET %s %s", world->keys.text[KEY_ORDERS], purchase->buyer);
    const char *text = lk_reply_bytes(held).data;
    size_t len = strlen(purchase->order_id);
    bool is_his = text && strncmp(text, purchase->order_id, len) == 0 && text[len] == ':';

    lk_reply_free(held);
    return is_his;
}

/* Whether the sell told nothing but the truth, as Redis has it now. */
static bool is_true(struct sale_world *world, const struct sell *sell,
                    const struct guard_result *result)
{
    for (size_t i = 0; i < BATCH; i++) {
        const struct purchase *purchase = &sell->purchases[i];
        bool is_held = has_order(world, purchase);

        if (result->status == GUARD_UNKNOWN) continue;
        if (result->status != GUARD_DONE || purchase->outcome == OUTCOME_STORE_UNAVAILABLE) {
            if (is_held) return false;
        } else if (i == 0) {
            if (purchase->outcome != OUTCOME_ALREADY_ORDERED || !is_held) return false;
        } else if (purchase->outcome != OUTCOME_CREATED || !is_held) {
            return false;
        }
    }
    return true;
}

/* Each buyer has one order, each order one unit and one row. */
static void books_fit(struct sale_world *world)
{
    int64_t orders = sale_ask_number(world->client, "HLEN %s", world->keys.text[KEY_ORDERS]);
    char *dump = sale_dump(world->client, "s");
    int64_t rows = 0;

    for (const char *at = dump; (at = strstr(at, " order ")) != NULL; at++)
        rows++;
    free(dump);
    assert_int_equal(sale_ask_number(world->client, "GET %s", world->keys.text[KEY_STOCK]),
                     UNITS - orders);
    assert_int_equal(rows, orders);
}

/* All is well again: another instance gets the lock, and who asks again gets his order. */
static void all_is_well(struct sale_world *world, struct sell *sell)
{
    struct purchase other = {.buyer = "dan", .key = "", .outcome = OUTCOME_COUNT};

    (void)group_commit_sell(world->shops[1].group, "s", &other);
    assert_string_equal(sale_outcome_name(other.outcome), sale_outcome_name(OUTCOME_CREATED));
    sell->limit_ms = LIMIT_MS;
    assert_int_equal(sell_batch(world, sell, NULL, 0).status, GUARD_DONE);
    for (size_t i = 0; i < BATCH; i++) {
        const struct purchase *purchase = &sell->purchases[i];

        assert_true(purchase->outcome == OUTCOME_CREATED || purchase->outcome == OUTCOME_REPLAYED ||
                    purchase->outcome == OUTCOME_ALREADY_ORDERED);
        assert_true(has_order(world, purchase));
    }
    books_fit(world);
    assert_int_equal(sale_ask_number(world->client, "HLEN %s", world->keys.text[KEY_ORDERS]), 4);
    assert_int_equal(sale_ask_number(world->client, "EXISTS %s", world->keys.text[KEY_LOCK]), 0);
}

/* A lock that could not be given back ends by its lease: it has one, and that is over now. */
static bool end_lease(struct sale_world *world)
{
    if (sale_ask_number(world->client, "PTTL %s", world->keys.text[KEY_LOCK]) <= 0) return false;
    return sale_do(world->client, "DEL %s", world->keys.text[KEY_LOCK]);
}

/* All keys of the sale but its lock, which a late release may still delete, and its fence, which late
   bytes may still show a token. */
static char *dump_books(struct sale_world *world)
{
    char *dump = sale_dump(world->client, "s");
    char *fence = dump ? strstr(dump, world->keys.text[KEY_FENCE]) : NULL;

    if (!fence) abort();
    *fence = '\0';
    return dump;
}

struct tally {
    unsigned sells, hits, created, refused, unknown, late, voided, leases;
};

/* Sell through these faults. */
static void sell_through(struct sale_world *world, struct sell *sell, struct fault_plan *plans,
                         size_t plan_count, struct tally *tally)
{
    struct guard_result result = sell_batch(world, sell, plans, plan_count);
    bool was_true = is_true(world, sell, &result);
    char *before = dump_books(world);
    unsigned voided = let_late_arrive();
    char *after = dump_books(world);
    bool is_final = result.status == GUARD_UNKNOWN || strcmp(before, after) == 0;

    if (!is_final) print_message("before:\n%safter:\n%s", before, after);
    free(before);
    free(after);
    tally->sells++;
    for (size_t i = 0; i < plan_count; i++)
        tally->hits += plans[i].hits;
    tally->late += (unsigned)late_count;
    tally->voided += voided;
    tally->unknown += result.status == GUARD_UNKNOWN;
    tally->created += result.status == GUARD_DONE && sell->purchases[1].outcome == OUTCOME_CREATED;
    tally->refused += result.status != GUARD_UNKNOWN && !has_order(world, &sell->purchases[1]);
    if (!was_true || !is_final) {
        fail_msg("%s, %s at exchange %u: status %d, bob %s%s", sell->guard->name,
                 fault_names[plans[0].kind], plans[0].first, (int)result.status,
                 sale_outcome_name(sell->purchases[1].outcome),
                 is_final ? "" : "; late bytes changed the sale");
    }
    tally->leases += end_lease(world);
}

/* In round trips of its own, and gives it back in one try. */
static bool holds_a_lock(const char *guard)
{
    static const char *const names[] = {"mutex-watchdog", "reentrant", "fair", "spin", "fenced"};
    bool is_any = false;

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        is_any |= strcmp(guard, names[i]) == 0;
    return is_any;
}

static const char *const sound[] = {"mutex", "mutex-watchdog", "reentrant", "fair",
                                    "spin",  "fenced",         "script",    "watch"};

/* A new sale, one sell through these faults, and all is well afterwards. */
static void try_faults(struct sale_world *world, const char *guard, bool is_warm, int64_t limit_ms,
                       struct fault_plan *plans, size_t plan_count, struct tally *tally)
{
    unsigned leases = tally->leases;
    struct sell sell;

    begin(world, &sell, guard, is_warm);
    sell.limit_ms = limit_ms;
    sell_through(world, &sell, plans, plan_count, tally);
    if (is_warm && plan_count == 1 && plans[0].count == 1 && !holds_a_lock(guard))
        assert_int_equal(tally->leases, leases);
    all_is_well(world, &sell);
    finish(&sell);
}

static void print_tally(const char *what, const struct tally *tally)
{
    print_message("# %s: %u sells, %u faults; %u executed, %u not, %u unknown; %u exchanges came "
                  "late, %u purchases in them were void; %u locks left to their lease\n",
                  what, tally->sells, tally->hits, tally->created, tally->refused, tally->unknown,
                  tally->late, tally->voided, tally->leases);
}

TEST(the_nth_exchange_may_fail_and_the_sell_still_tells_the_truth, struct sale_world *world)
{
    struct tally tally = {0};

    for (size_t i = 0; i < COUNT_OF(sound) * 2 * FAULT_KINDS; i++) {
        struct fault_plan plan = {.kind = i % FAULT_KINDS, .count = 1};

        do {
            plan.first++;
            try_faults(world, sound[i / FAULT_KINDS / 2], i / FAULT_KINDS % 2, LIMIT_MS, &plan, 1,
                       &tally);
        } while (plan.hits > 0);
        assert_in_range(plan.first, 2, EXCHANGES_MAX);
    }
    print_tally("one fault", &tally);
    assert_int_equal(tally.unknown, 0); /* with Redis in reach nothing stays unknown */
    assert_true(tally.voided > 0 && tally.created > 0 && tally.refused > 0);
}

/* The answer to resolve.lua gets lost too, or the way to it is gone for a while. */
TEST(two_faults_in_one_sell_are_no_different, struct sale_world *world)
{
    struct tally tally = {0};

    for (size_t i = 0; i < COUNT_OF(sound) * FAULT_KINDS * FAULT_KINDS; i++) {
        struct fault_plan plans[] = {{.kind = i % FAULT_KINDS, .count = 1},
                                     {.kind = i / FAULT_KINDS % FAULT_KINDS, .count = 1}};

        do {
            plans[1].first = ++plans[0].first;
            do {
                plans[1].first++;
                try_faults(world, sound[i / FAULT_KINDS / FAULT_KINDS], true, LIMIT_MS, plans, 2,
                           &tally);
            } while (plans[1].hits > 0);
        } while (plans[0].hits > 0);
        assert_in_range(plans[0].first, 2, EXCHANGES_MAX);
    }
    print_tally("two faults", &tally);
    assert_int_equal(tally.unknown, 0);
    assert_true(tally.voided > 0 && tally.created > 0 && tally.refused > 0);
}

/* From the n-th exchange on nothing works, longer than the limit: then unknown is the truth. */
TEST(a_redis_that_stays_away_leaves_it_unknown_at_worst, struct sale_world *world)
{
    struct tally tally = {0};

    for (size_t i = 0; i < COUNT_OF(sound) * FAULT_KINDS; i++) {
        struct fault_plan plan = {.kind = i % FAULT_KINDS, .count = FOR_EVER};

        /* It insists on leaving its queue for as long as a command may take, which is much longer. */
        if (strcmp(sound[i / FAULT_KINDS], "fair") == 0) continue;
        do {
            plan.first++;
            try_faults(world, sound[i / FAULT_KINDS], true, 60, &plan, 1, &tally);
        } while (plan.hits > 0);
        assert_in_range(plan.first, 2, EXCHANGES_MAX);
    }
    print_tally("faults for ever", &tally);
    assert_true(tally.unknown > 0);
}

/* The test's ammunition is live: such bytes do sell when nobody has given the attempt up. */
TEST(late_bytes_would_sell_if_nobody_had_given_the_attempt_up, struct sale_world *world)
{
    static const struct lk_script_source deaf = {.name = "deaf",
                                                 .source = "return {false, false, false}"};
    /* Not mutex-watchdog: its late bytes find the lock given back, too. */
    static const char *const guards[] = {"mutex", "script", "watch"};

    for (size_t i = 0; i < COUNT_OF(guards); i++) {
        struct fault_plan plan = {.kind = FAULT_NEVER_ARRIVED, .count = 1};
        struct sell sell;
        bool has_sold = false;

        do { /* the exchange with the purchase in it is one of the first */
            plan.first++;
            begin(world, &sell, guards[i], true);
            lk_script_free(sell.resolve);
            sell.resolve = lk_script_new(&deaf);
            assert_non_null(sell.resolve);
            (void)sell_batch(world, &sell, &plan, 1);
            (void)let_late_arrive();
            has_sold = sell.purchases[1].outcome == OUTCOME_STORE_UNAVAILABLE &&
                       has_order(world, &sell.purchases[1]);
            finish(&sell);
        } while (!has_sold && plan.hits > 0);
        assert_true(has_sold);
    }
}

/* ---- cancels ----------------------------------------------------------------------------------------- */

static bool is_state(struct sale_world *world, const char *state)
{
    lk_reply *row = sale_ask(world->client, "HGET %s ann", world->keys.text[KEY_ORDERS]);
    const char *text = lk_reply_bytes(row).data;
    bool is_so = text && strncmp(strchr(text, ':') + 1, state, strlen(state)) == 0;

    lk_reply_free(row);
    return is_so;
}

/* Ann's order of a sale that is paid for later is cancelled through a fault; what she is told stays true,
   whatever arrives afterwards. */
static store_status cancel_through(struct sale_world *world, struct fault_plan *plan)
{
    struct order order = {.buyer = "ann"};
    cancel_end end = CANCEL_NO_ORDER;

    forget_late();
    SALE_INSTANCES(world, "mutex", UNITS, .batch = 8);
    assert_true(sale_do(world->client, "HSET %s window_ms 60000 amount 5 currency CNY",
                        world->keys.text[KEY_SALE]));
    struct purchase bought = sale_instances_buy(world, "ann", "");
    assert_int_equal(bought.outcome, OUTCOME_CREATED);
    (void)snprintf(order.id, sizeof order.id, "%s", bought.order_id);
    set_faults(plan, 1);
    store_status status = store_cancel_order(world->shops[0].store, "s", &order, &end, NULL);
    faults.plans = NULL;
    bool was_held = is_state(world, "held");
    (void)let_late_arrive();
    if (is_state(world, "held") != was_held && status != STORE_UNKNOWN)
        fail_msg("%s at %u: told %d, and late bytes cancelled it", fault_names[plan->kind],
                 plan->first, (int)status);
    if (status == STORE_OK && (end != CANCEL_DONE || was_held)) fail_msg("told OK, and it is held");
    if (status != STORE_OK && status != STORE_UNKNOWN && !was_held)
        fail_msg("told %d, and it is cancelled", (int)status);
    return status;
}

TEST(a_cancel_through_any_fault_is_told_the_truth_and_is_final, struct sale_world *world)
{
    unsigned cancelled = 0;
    unsigned refused = 0;

    for (fault kind = 0; kind < FAULT_KINDS; kind++) {
        struct fault_plan plan = {.kind = kind, .count = 1};

        do {
            plan.first++;
            store_status status = cancel_through(world, &plan);

            assert_int_not_equal(status, STORE_UNKNOWN); /* with Redis in reach nothing stays so */
            cancelled += status == STORE_OK;
            refused += status != STORE_OK;
        } while (plan.hits > 0);
        assert_in_range(plan.first, 2, EXCHANGES_MAX);
    }
    forget_late();
    print_message("# %u cancelled, %u not\n", cancelled, refused);
    assert_true(cancelled > FAULT_KINDS && refused > 0);
}

/* ---- places in a waiting room ------------------------------------------------------------------------- */

static int64_t place_of(struct sale_world *world, const char *buyer)
{
    int64_t number = 0;

    assert_int_equal(store_waiting_join(world->shops[1].store, "s", buyer, &number, NULL),
                     STORE_OK);
    return number;
}

/* Whoever asks again has the place that he was given, or was not told of; nobody else has. */
TEST(a_place_asked_for_through_any_fault_is_one_place, struct sale_world *world)
{
    unsigned told = 0;

    for (fault kind = 0; kind < FAULT_KINDS; kind++) {
        struct fault_plan plan = {.kind = kind, .count = 1};

        do {
            int64_t number = 0;

            plan.first++;
            forget_late();
            SALE_INSTANCES(world, "mutex", UNITS, .batch = 8);
            assert_true(sale_do(world->client, "HSET %s admit 1", world->keys.text[KEY_SALE]));
            set_faults(&plan, 1);
            store_status status =
                store_waiting_join(world->shops[0].store, "s", "ann", &number, NULL);
            faults.plans = NULL;
            told += status == STORE_OK;
            int64_t others = place_of(world, "bob");
            (void)let_late_arrive();
            int64_t hers = place_of(world, "ann");
            assert_true(status != STORE_OK || hers == number);
            assert_int_equal(place_of(world, "bob"), others);
            assert_int_equal(hers + others, 3); /* 1 and 2 */
            assert_int_equal(
                sale_ask_number(world->client, "HGET %s last", world->keys.text[KEY_WAITING]), 2);
        } while (plan.hits > 0);
        assert_in_range(plan.first, 2, EXCHANGES_MAX);
    }
    forget_late();
    assert_true(told >= FAULT_KINDS);
}

/* ---- units fetched from another segment --------------------------------------------------------------- */

static struct sale_id home_of(struct store *store, const char *buyer)
{
    struct sale sale;
    struct sale_id id;

    assert_int_equal(store_find_segments(store, "m", &sale, NULL), STORE_OK);
    segment_id("m", sale.segments.generation, segment_home(buyer, sale.segments.count), &id);
    return id;
}

/* Two units in two segments; the one at Ann's home is sold to her neighbour. */
static void put_up_segments(struct sale_world *world)
{
    struct sale sale = {.id = "m", .title = "t", .guard = "mutex", .initial = 2};
    struct purchase purchase = {.buyer = "cid", .key = "", .outcome = OUTCOME_COUNT};

    assert_int_equal(segment_home("ann", 2), segment_home("cid", 2));
    assert_int_not_equal(segment_home("ann", 2), segment_home("bob", 2));
    SALE_INSTANCES(world, "mutex", UNITS, .batch = 1);
    sale.segments.count = 2;
    assert_int_equal(store_create_sale(world->shops[0].store, &sale, NULL), STORE_OK);
    (void)group_commit_sell(world->shops[0].group, "m", &purchase);
    assert_int_equal(purchase.outcome, OUTCOME_CREATED);
}

static void conserve(struct sale_world *world, int64_t orders)
{
    struct sale_audit audit;

    assert_int_equal(store_audit_sale(world->shops[1].store, "m", &audit, NULL), STORE_OK);
    for (size_t i = 0; i < AUDIT_CHECK_COUNT; i++)
        if (audit.checks[i].verdict != AUDIT_PASS)
            fail_msg("%s: %s", sale_audit_check_name((enum audit_check)i), audit.checks[i].words);
    assert_int_equal(audit.reading.orders, orders);
}

/* Ann fetches through a fault; what she is told stays true, and the unit is sold once, to her or to Bob. */
static outcome fetch_through(struct sale_world *world, struct fault_plan *plan)
{
    struct purchase ann = {.buyer = "ann", .key = "", .outcome = OUTCOME_COUNT};
    struct purchase bob = {.buyer = "bob", .key = "", .outcome = OUTCOME_COUNT};
    struct order order;

    forget_late();
    put_up_segments(world);
    set_faults(plan, 1);
    (void)group_commit_sell(world->shops[0].group, "m", &ann);
    faults.plans = NULL;
    bool has_it = ann.outcome == OUTCOME_CREATED;
    if (!has_it && (ann.outcome == OUTCOME_SOLD_OUT || ann.outcome == OUTCOME_UNKNOWN))
        fail_msg("%s at %u: told %s", fault_names[plan->kind], plan->first,
                 sale_outcome_name(ann.outcome));
    (void)let_late_arrive();
    conserve(world, 1 + has_it);
    assert_int_equal(store_find_order(world->shops[1].store, "m", "ann", &order, NULL),
                     has_it ? STORE_OK : STORE_NOT_FOUND);
    /* Whoever could not give its turn or a lock back is waited for by lease. */
    (void)sale_do(world->client, "DEL seckill:{%s}:turn seckill:{%s}:lock",
                  home_of(world->shops[1].store, "bob").text,
                  home_of(world->shops[1].store, "bob").text);
    (void)sale_do(world->client, "DEL seckill:{%s}:turn seckill:{%s}:lock",
                  home_of(world->shops[1].store, "ann").text,
                  home_of(world->shops[1].store, "ann").text);
    (void)group_commit_sell(world->shops[1].group, "m", &bob);
    assert_string_equal(sale_outcome_name(bob.outcome),
                        sale_outcome_name(has_it ? OUTCOME_SOLD_OUT : OUTCOME_CREATED));
    conserve(world, 2);
    return ann.outcome;
}

TEST(units_fetched_through_any_fault_are_sold_once, struct sale_world *world)
{
    enum { FETCH_EXCHANGES_MAX = 40 };
    unsigned sold = 0;
    unsigned refused = 0;

    for (fault kind = 0; kind < FAULT_KINDS; kind++) {
        struct fault_plan plan = {.kind = kind, .count = 1};

        do {
            plan.first++;
            bool is_sold = fetch_through(world, &plan) == OUTCOME_CREATED;

            sold += is_sold;
            refused += !is_sold;
        } while (plan.hits > 0);
        assert_in_range(plan.first, 8, FETCH_EXCHANGES_MAX);
    }
    forget_late();
    print_message("# %u fetched, %u not\n", sold, refused);
    assert_true(sold > FAULT_KINDS && refused > FAULT_KINDS);
}

GROUP(sale_world_open, sale_world_close);
