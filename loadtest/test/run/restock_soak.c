/*
 * Restocks under full load: three instances on one Redis, one or another of which is stopped at random,
 * and many small sales that are sold out, restocked by a unit, sold out again... Whoever has got the
 * unit asks the other instances at once, with the same key and without one: promise 5 says that nobody
 * hears "sold out" who was told 201 before. A crowd of earlier winners keeps every instance's memory of
 * the sell-out warm, and must hear the truth as well. Afterwards each sale is audited.
 *
 * RESTOCKS in the environment: how many, in all (1000).
 */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>

#include "audit/audit.h"
#include "base/clock.h"
#include "test/support/lt_net.h"
#include "test/support/lt_rig.h"
#include "test/support/testing.h"

enum {
    INSTANCES = 3,
    ADMIN = INSTANCES, /* of the first instance: one port more to ask */
    SALES = 40,
    RESTOCKS = 1000,
    CROWD = 6,
    DOUBT_MS = 110,     /* for so long a new winner asks around: a memory counts for 100 ms */
    GIVE_UP_MS = 20000, /* a unit that was put up has to be sold by then */
    STOPS_MAX_MS = 200,
    REPLY_SIZE = 4096,
    NAME_SIZE = 48,
    NS_PER_MS = 1000000,
};

struct client {
    const int *ports; /* borrowed: of the instances, and ADMIN */
    int fds[INSTANCES + 1];
    char reply[REPLY_SIZE];
};

/* A sale, and the one thread that restocks and buys in it. */
struct seller {
    pthread_t thread;
    struct client client;
    const char *token; /* borrowed: the operator's */
    char sale[12];
    unsigned restocks;
    uint64_t chance;
    struct facts facts; /* what this thread asked and heard; later what Redis holds, too */
    unsigned lies, lied_rounds, unsold;
    int64_t longest_lie_ns,
        least_wait_ns; /* after winning; from the restock to the sale of its unit */
    bool is_broken;
    atomic_bool has_winner; /* the first unit is sold */
};

/* One of the crowd: asks as the first winners of all sales. */
struct winner {
    pthread_t thread;
    struct client client;
    const struct seller *sellers;
    atomic_bool *is_over;
    uint64_t chance;
    unsigned answers, lies;
};

struct shop {
    struct lt_rig rig;
    int ports[INSTANCES + 1];
    struct seller sellers[SALES];
    struct winner buyers[CROWD];
    atomic_bool is_over;
    atomic_uint busy; /* sellers */
    unsigned stops;
};

static struct shop shop;

/* ---- asking ---------------------------------------------------------------------------------------- */

static unsigned below(uint64_t *chance, unsigned limit)
{
    *chance = *chance * 6364136223846793005U + 1442695040888963407U;
    return (unsigned)(*chance >> 33) % limit;
}

static void client_init(struct client *self, const int *ports)
{
    self->ports = ports;
    for (size_t i = 0; i <= INSTANCES; i++)
        self->fds[i] = -1;
}

static void hang_up(struct client *self)
{
    for (size_t i = 0; i <= INSTANCES; i++)
        lt_hang_up(&self->fds[i]);
}

/* The status of the answer, which is in self->reply; 0: none came. */
static long exchange(struct client *self, unsigned where, const char *bytes)
{
    return lt_http_ask(&self->fds[where], self->ports[where], bytes, self->reply, REPLY_SIZE);
}

/* What a buyer hears; has_key: "BUYER.1". */
static answer_kind buy(struct client *self, unsigned where, const char *sale, const char *buyer,
                       bool has_key)
{
    char bytes[512];
    char key[NAME_SIZE + 32] = "";
    char type[NAME_SIZE] = "";

    if (has_key) (void)snprintf(key, sizeof key, "Idempotency-Key: %s.1\r\n", buyer);
    (void)snprintf(bytes, sizeof bytes,
                   "POST /api/v1/sales/%s/orders HTTP/1.1\r\nHost: here\r\nX-User-Id: %s\r\n%s"
                   "Content-Length: 0\r\n\r\n",
                   sale, buyer, key);
    long status = exchange(self, where, bytes);
    if (status == 0) return ANSWER_NONE;
    if (status == 201)
        return strstr(self->reply, "Idempotency-Replayed") ? ANSWER_REPLAYED : ANSWER_CREATED;
    (void)lt_find_word(self->reply, "\"type\":\"/problems/", type, sizeof type);
    return facts_answer_from_name(type);
}

/* ---- a sale ---------------------------------------------------------------------------------------- */

static ask_outcome outcome_of(answer_kind kind)
{
    switch ((int)kind) {
    case ANSWER_CREATED:
    case ANSWER_REPLAYED:
        return ASK_OK;
    case ANSWER_ALREADY_ORDERED:
    case ANSWER_SOLD_OUT:
    case ANSWER_LOCK_TIMEOUT:
    case ANSWER_OVERLOADED:
    case ANSWER_STORE_UNAVAILABLE:
        return ASK_FAIL;
    case ANSWER_NONE:
        return ASK_UNANSWERED;
    default:
        return ASK_INFO;
    }
}

/* Ask, and write it down for the auditor. */
static answer_kind ask(struct seller *self, unsigned where, const char *buyer, bool has_key)
{
    char rid[NAME_SIZE + 4];
    char order[24] = "";
    struct ask ask = {.invoked_ns = clock_ns()};

    (void)snprintf(rid, sizeof rid, has_key ? "%s.1" : "~%s", buyer);
    ask.answer = buy(&self->client, where, self->sale, buyer, has_key);
    ask.outcome = outcome_of(ask.answer);
    if (ask.answer != ANSWER_NONE) ask.answered_ns = clock_ns();
    (void)lt_find_word(self->client.reply, ask.outcome == ASK_OK ? "\"id\":\"" : "\"orderId\":\"",
                       order, sizeof order);
    if (order[0]) ask.order = facts_text(&self->facts, order, strlen(order));
    ask.rid = facts_text(&self->facts, rid, strlen(rid));
    ask.buyer = facts_text(&self->facts, buyer, strlen(buyer));
    if (!facts_add_ask(&self->facts, ask)) self->is_broken = true;
    return ask.answer;
}

/* Ask the instances in turn until one sells. */
static bool win(struct seller *self, const char *buyer, unsigned *out_where)
{
    int64_t until_ms = clock_ms() + GIVE_UP_MS;

    *out_where = below(&self->chance, INSTANCES);
    while (clock_ms() < until_ms) {
        if (outcome_of(ask(self, *out_where, buyer, true)) == ASK_OK) return true;
        *out_where = (*out_where + 1) % INSTANCES;
    }
    return false;
}

/* Who has won at one instance asks the others, again and again. */
static void doubt(struct seller *self, const char *buyer, unsigned won_at)
{
    int64_t won_ns = clock_ns();
    unsigned lies = 0;

    for (unsigned i = 0; clock_ns() - won_ns < (int64_t)DOUBT_MS * NS_PER_MS; i++) {
        if (ask(self, (won_at + 1 + i / 2 % 2) % INSTANCES, buyer, i % 2 == 0) != ANSWER_SOLD_OUT)
            continue;
        lies++;
        self->longest_lie_ns = clock_ns() - won_ns;
    }
    self->lies += lies;
    if (lies > 0) self->lied_rounds++;
}

/* One unit more. The key makes it safe to repeat. */
static void restock(struct seller *self, unsigned round)
{
    char bytes[1024];

    (void)snprintf(bytes, sizeof bytes,
                   "POST /api/v1/admin/sales/%s/restock HTTP/1.1\r\nHost: here\r\n"
                   "Authorization: Bearer %s\r\nIdempotency-Key: more-%u\r\n"
                   "Content-Type: application/json\r\nContent-Length: 11\r\n\r\n{\"units\":1}",
                   self->sale, self->token, round);
    for (int tries = 0; tries < 20; tries++) {
        if (exchange(&self->client, ADMIN, bytes) == 200) return;
        clock_sleep_ms(20);
    }
    self->is_broken = true;
}

static void *run_sale(void *arg)
{
    struct seller *self = arg;
    unsigned where = 0;

    for (unsigned round = 0; round <= self->restocks && !self->is_broken; round++) {
        char buyer[NAME_SIZE];
        int64_t put_up_ns = clock_ns();

        if (round > 0) restock(self, round); /* the first unit is there */
        (void)snprintf(buyer, sizeof buyer, "b-%s-%u", self->sale, round);
        if (!win(self, buyer, &where)) {
            self->unsold++;
            continue;
        }
        int64_t wait_ns = clock_ns() - put_up_ns;
        if (round > 0 && wait_ns < self->least_wait_ns) self->least_wait_ns = wait_ns;
        atomic_store(&self->has_winner, true);
        doubt(self, buyer, where);
    }
    hang_up(&self->client);
    atomic_fetch_sub(&shop.busy, 1);
    return NULL;
}

/* ---- the crowd, and the stops ---------------------------------------------------------------------- */

static void *run_winner(void *arg)
{
    struct winner *self = arg;

    while (!atomic_load(self->is_over)) {
        const struct seller *seller = &self->sellers[below(&self->chance, SALES)];
        char buyer[NAME_SIZE];

        if (!atomic_load(&seller->has_winner)) continue;
        (void)snprintf(buyer, sizeof buyer, "b-%s-0", seller->sale);
        answer_kind kind = buy(&self->client, below(&self->chance, INSTANCES), seller->sale, buyer,
                               below(&self->chance, 2) == 0);
        if (kind != ANSWER_NONE) self->answers++;
        if (kind == ANSWER_SOLD_OUT) self->lies++;
    }
    hang_up(&self->client);
    return NULL;
}

static void stop_at_random(uint64_t chance)
{
    while (atomic_load(&shop.busy) > 0) {
        const struct process *process = &shop.rig.instances[below(&chance, INSTANCES)];

        process_signal(process, SIGSTOP);
        clock_sleep_ms(1 + below(&chance, STOPS_MAX_MS));
        process_signal(process, SIGCONT);
        clock_sleep_ms(1 + below(&chance, STOPS_MAX_MS));
        shop.stops++;
    }
}

/* ---- the test -------------------------------------------------------------------------------------- */

BEFORE_EACH()
{
    if (!lt_rig_open(&shop.rig, &(struct lt_rig_options){.instances = INSTANCES}))
        fail_msg("%s", shop.rig.failure.text);
    for (size_t i = 0; i < INSTANCES; i++)
        shop.ports[i] = lt_port_of(shop.rig.service.instances[i].url);
    shop.ports[ADMIN] = lt_port_of(shop.rig.service.admin_url);
}

AFTER_EACH()
{
    for (size_t i = 0; i < SALES; i++)
        facts_done(&shop.sellers[i].facts);
    lt_rig_close(&shop.rig);
}

static void open_sales(unsigned restocks)
{
    for (unsigned i = 0; i < SALES; i++) {
        struct seller *seller = &shop.sellers[i];

        *seller = (struct seller){.token = shop.rig.service.token,
                                  .restocks = restocks / SALES + (i < restocks % SALES),
                                  .chance = i,
                                  .least_wait_ns = INT64_MAX};
        (void)snprintf(seller->sale, sizeof seller->sale, "s%u", i);
        client_init(&seller->client, shop.ports);
        facts_init(&seller->facts);
        if (!lt_rig_create_sale(&shop.rig, seller->sale, "mutex", 1))
            fail_msg("%s", shop.rig.failure.text);
    }
}

static void run_all(void)
{
    atomic_store(&shop.busy, SALES);
    for (unsigned i = 0; i < CROWD; i++) {
        shop.buyers[i] =
            (struct winner){.sellers = shop.sellers, .is_over = &shop.is_over, .chance = SALES + i};
        client_init(&shop.buyers[i].client, shop.ports);
        if (pthread_create(&shop.buyers[i].thread, NULL, run_winner, &shop.buyers[i]) != 0) abort();
    }
    for (unsigned i = 0; i < SALES; i++) {
        struct seller *seller = &shop.sellers[i];

        if (pthread_create(&seller->thread, NULL, run_sale, seller) != 0) abort();
    }
    stop_at_random(4711);
    for (unsigned i = 0; i < SALES; i++)
        (void)pthread_join(shop.sellers[i].thread, NULL);
    atomic_store(&shop.is_over, true);
    for (unsigned i = 0; i < CROWD; i++)
        (void)pthread_join(shop.buyers[i].thread, NULL);
}

/* How many sales do not pass. */
static unsigned audit_all(void)
{
    struct failure failure = {.text = ""};
    struct ledger *ledger = service_open_ledger(&shop.rig.service, &failure);
    unsigned bad = 0;

    if (!ledger) fail_msg("%s", failure.text);
    for (size_t i = 0; i < SALES; i++) {
        struct seller *seller = &shop.sellers[i];
        struct audit_result result = {.verdict = AUDIT_VOID};

        seller->facts.has_clients = true;
        if (!ledger_sale_read(ledger, seller->sale, &seller->facts, &failure) ||
            !lt_sandbox_read_operators(&shop.rig.sandbox, seller->sale, &seller->facts, &failure) ||
            !audit_run(&seller->facts, NULL, &result, &failure))
            fail_msg("%s", failure.text);
        if (result.verdict == AUDIT_PASS) continue;
        bad++;
        for (size_t k = 0; k < AUDIT_CHECK_COUNT; k++) {
            if (result.checks[k].verdict != AUDIT_PASS)
                print_message("# %s: %s: %s\n", seller->sale, result.checks[k].name,
                              result.checks[k].words);
        }
    }
    ledger_close(ledger);
    return bad;
}

TEST(no_winner_is_told_sold_out_after_any_of_a_thousand_restocks)
{
    const char *wish = getenv("RESTOCKS"); /* NOLINT(concurrency-mt-unsafe): nobody sets it */
    unsigned restocks = wish ? (unsigned)strtoul(wish, NULL, 10) : RESTOCKS;
    unsigned lies = 0, rounds = 0, unsold = 0, answers = 0, asked = 0;
    int64_t longest_ns = 0, least_ns = INT64_MAX;
    int64_t began_ms = clock_ms();

    open_sales(restocks);
    run_all();
    for (size_t i = 0; i < SALES; i++) {
        const struct seller *seller = &shop.sellers[i];

        assert_false(seller->is_broken);
        lies += seller->lies;
        rounds += seller->lied_rounds;
        unsold += seller->unsold;
        asked += (unsigned)seller->facts.ask_count;
        if (seller->longest_lie_ns > longest_ns) longest_ns = seller->longest_lie_ns;
        if (seller->least_wait_ns < least_ns) least_ns = seller->least_wait_ns;
    }
    for (size_t i = 0; i < CROWD; i++) {
        answers += shop.buyers[i].answers;
        lies += shop.buyers[i].lies;
    }
    print_message(
        "# %u restocks, %u stops, %u + %u answers in %lld ms; %u lies after %u restocks, the "
        "last %lld ms after winning; a unit sold %lld ms after its restock at the soonest\n",
        restocks, shop.stops, asked, answers, (long long)(clock_ms() - began_ms), lies, rounds,
        (long long)(longest_ns / NS_PER_MS), (long long)(least_ns / NS_PER_MS));
    unsigned bad = audit_all();
    assert_int_equal(lies, 0);
    assert_int_equal(unsold, 0);
    assert_int_equal(bad, 0);
    assert_true(shop.stops > 0 && answers > restocks); /* else it has proved nothing */
}
