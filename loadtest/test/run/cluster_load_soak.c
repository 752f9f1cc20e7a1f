/*
 * Six nodes, six sales spread over the masters, a crowd at each: the slot of a running sale goes to
 * another master and on to a third one, then a master is killed and its replica takes over. Each
 * sale is audited: what the failover lost is counted, printed and named, all else must hold; a sale
 * that only moved loses nothing; and those on the other masters go on selling meanwhile.
 */
#include <signal.h>

#include "base/clock.h"
#include "test/support/lt_fault_run.h"
#include "test/support/testing.h"

enum {
    MASTERS = 3,
    SALES = 2 * MASTERS,
    THREADS = 8, /* of each crowd */
    STOCK = 3000,
    THINK_MS = 15,
    RATE_MIN = 200,       /* answers per second before the first fault, of all */
    SOLD_MEANWHILE = 100, /* by each sale on another master, while one is away */
    SOLD_AFTER_MIN = 300, /* by each sale that a fault struck */
    SLOWEST_MS = 2000 + 1000 + 1500,
};

struct sale {
    char name[4];
    int slot;
    char home[8]; /* its master */
    struct lt_buyers buyers;
    unsigned sold_before, sold_until; /* of the outage */
    struct audit_result audit;
};

struct world {
    struct lt_rig rig;
    struct sale sales[SALES];
    double rate;
    unsigned in_flight; /* at the faults, the fewest */
    unsigned faults;
    int64_t reshard_ms, outage_ms;
};

/* ---- setting out ---- */

static int homed_at(const struct world *world, int count, const char *master)
{
    int found = 0;

    for (int i = 0; i < count; i++)
        if (strcmp(world->sales[i].home, master) == 0) found++;
    return found;
}

/* Names whose slots lie so that each master has as many sales. */
static void name_sales(struct world *world)
{
    int count = 0;

    for (int letter = 0; letter < 26 && count < SALES; letter++) {
        struct sale *sale = &world->sales[count];

        (void)snprintf(sale->name, sizeof sale->name, "s%c", 'a' + letter);
        sale->slot =
            (int)strtol(lt_topology_command(&world->rig.topology, "slot %s", sale->name), NULL, 10);
        (void)snprintf(sale->home, sizeof sale->home, "%s",
                       lt_topology_command(&world->rig.topology, "primary %d", sale->slot));
        if (homed_at(world, count, sale->home) < SALES / MASTERS) count++;
    }
    assert_int_equal(SALES, count);
}

SET_UP(struct world, world)
{
    static const struct lt_rig_options options = {
        .topology = {"--set", "cluster-require-full-coverage no", "cluster"}};

    world->in_flight = UINT32_MAX;
    if (!lt_rig_open(&world->rig, &options)) fail_msg("%s", world->rig.failure.text);
    name_sales(world);
    for (int i = 0; i < SALES; i++)
        if (!lt_rig_create_sale(&world->rig, world->sales[i].name, "mutex", STOCK))
            fail_msg("%s", world->rig.failure.text);
    for (int i = 0; i < SALES; i++) {
        const struct lt_buyers_options buyers = {.service = &world->rig.service,
                                                 .sandbox = &world->rig.sandbox,
                                                 .sale = world->sales[i].name,
                                                 .threads = THREADS,
                                                 .buyers = STOCK + STOCK / 2,
                                                 .think_ms = THINK_MS,
                                                 .allow_lost = true};
        assert_true(lt_buyers_start(&world->sales[i].buyers, &buyers));
    }
}

/* ---- progress ---- */

static void wait_for_buyers(struct sale *sale, unsigned percent)
{
    assert_true(lt_fault_run_wait_for(&sale->buyers.next_buyer, STOCK * percent / 100));
}

struct burst {
    const struct world *world;
    unsigned in_flight;
};

static bool is_busy(void *arg)
{
    struct burst *burst = arg;

    for (int i = 0; i < SALES; i++)
        burst->in_flight += atomic_load(&burst->world->sales[i].buyers.counts.in_flight);
    return burst->in_flight > 0;
}

static void note_fault(struct world *world)
{
    double rate = 0;

    for (int i = 0; i < SALES; i++)
        rate += lt_buyers_rate(&world->sales[i].buyers);
    if (world->faults++ == 0) world->rate = rate;
    struct burst burst = {.world = world};
    (void)lt_eventually(is_busy, &burst, LT_PROGRESS_MS);
    if (burst.in_flight < world->in_flight) world->in_flight = burst.in_flight;
}

/* ---- faults ---- */

/* A master other than these two. */
static const char *third_master(const char *one, const char *other)
{
    static const char *const masters[MASTERS] = {"n1", "n2", "n3"};
    int i = 0;

    while (i + 1 < MASTERS && (strcmp(masters[i], one) == 0 || strcmp(masters[i], other) == 0))
        i++;
    return masters[i];
}

static void move_twice(struct world *world, struct sale *sale)
{
    int64_t began_ms = clock_ms();
    const char *first = third_master(sale->home, sale->home);
    const char *second = third_master(sale->home, first);

    note_fault(world);
    (void)lt_topology_command(&world->rig.topology, "reshard %d %s", sale->slot, first);
    note_fault(world);
    (void)lt_topology_command(&world->rig.topology, "reshard %d %s", sale->slot, second);
    world->reshard_ms = clock_ms() - began_ms;
    assert_string_equal(second,
                        lt_topology_command(&world->rig.topology, "primary %d", sale->slot));
    (void)snprintf(sale->home, sizeof sale->home, "%s", second);
}

/* Until the victim's sales sell again: more than could be on its way. */
static void kill_master(struct world *world, const char *master)
{
    note_fault(world);
    for (int i = 0; i < SALES; i++)
        world->sales[i].sold_before = world->sales[i].buyers.counts.sold;
    world->outage_ms = -clock_ms();
    (void)lt_topology_command(&world->rig.topology, "kill %s", master);
    for (int i = 0; i < SALES; i++)
        if (strcmp(world->sales[i].home, master) == 0)
            (void)lt_fault_run_wait_for(&world->sales[i].buyers.counts.sold,
                                        world->sales[i].sold_before + THREADS + 1);
    world->outage_ms += clock_ms();
    for (int i = 0; i < SALES; i++)
        world->sales[i].sold_until = world->sales[i].buyers.counts.sold;
}

/* ---- the end ---- */

static void print_sale(const struct sale *sale, const char *verdict)
{
    const struct lt_buyers_counts *counts = &sale->buyers.counts;

    print_message(
        "# sale %s at %s: %u of %d sold, %u of them during the outage; %u unavailable, %u "
        "unknown, %u unanswered, %u promises broken; slowest answer %u ms; audit %s\n",
        sale->name, sale->home, counts->sold, STOCK, sale->sold_until - sale->sold_before,
        counts->unavailable, counts->unknown, counts->unanswered, counts->broken,
        counts->slowest_ms, verdict);
    for (size_t i = 0; i < AUDIT_CHECK_COUNT; i++)
        if (sale->audit.checks[i].verdict != AUDIT_PASS && sale->audit.checks[i].name)
            print_message("# %s: %s\n", sale->audit.checks[i].name, sale->audit.checks[i].words);
}

static bool judge(struct sale *sale)
{
    struct failure failure = {.text = ""};
    bool is_finished = lt_buyers_finish(&sale->buyers, LT_FINISH_MS);
    bool is_judged = lt_buyers_judge(&sale->buyers, &sale->audit, &failure);

    print_sale(sale, is_judged ? audit_verdict_name(sale->audit.verdict) : failure.text);
    if (is_judged) lt_fault_run_print_lost(&sale->buyers, sale->name, &sale->audit);
    return is_finished && is_judged && sale->audit.verdict == AUDIT_PASS &&
           sale->buyers.counts.broken == 0 && sale->buyers.counts.slowest_ms <= SLOWEST_MS;
}

static void check_activity(const struct world *world, const char *killed)
{
    bool is_void = world->rate < RATE_MIN || world->in_flight == 0 || world->faults < 3;

    for (int i = 0; i < SALES; i++) {
        const struct sale *sale = &world->sales[i];
        bool was_struck = strcmp(sale->home, killed) == 0;

        if (was_struck && sale->buyers.counts.sold < sale->sold_before + SOLD_AFTER_MIN)
            is_void = true;
        if (was_struck) continue;
        assert_int_equal(0, sale->audit.lost); /* moved, or left alone */
        assert_true(sale->sold_until >= sale->sold_before + SOLD_MEANWHILE);
    }
    if (is_void) fail_msg("void, for want of activity");
}

TEST(sales_survive_resharding_and_a_killed_master, struct world *world)
{
    struct sale *moved = &world->sales[0];
    bool is_good = true;

    wait_for_buyers(moved, 10);
    move_twice(world, moved);
    const char *killed = third_master(moved->home, moved->home);
    wait_for_buyers(&world->sales[SALES - 1], 30);
    kill_master(world, killed);
    for (int i = 0; i < SALES; i++)
        is_good = judge(&world->sales[i]) && is_good;
    print_message(
        "# cluster: %.0f answers/s before, %u faults, at least %u in flight; sale %s moved "
        "twice in %lld ms; %s killed, its sales sold again after %lld ms\n",
        world->rate, world->faults, world->in_flight, moved->name, (long long)world->reshard_ms,
        killed, (long long)world->outage_ms);
    assert_true(is_good);
    check_activity(world, killed);
}

TEAR_DOWN(struct world, world)
{
    lt_rig_close(&world->rig);
}

GROUP(testing_ignore_sigpipe, NULL);
