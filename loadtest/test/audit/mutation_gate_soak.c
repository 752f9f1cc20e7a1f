/*
 * The proof is proven: the load test must find each flawed guard once the fault is there that its
 * flaw waits for, and must find nothing in any sound guard under the same faults. A row of the table
 * is a fault; its cells are the flawed guards that it must bring down, and all sound ones, as the
 * service itself lists them. A flawed guard without a row is a failure.
 *
 * A cell: two instances of seckilld on a real Redis, a sale, a crowd half as large again that asks
 * until it is told for sure, the fault, the audit. Where a pause opens the window, --lab-pause does,
 * and what happens in it waits for signs (nobody is served any more), not for the clock. A cell in
 * which the fault did nothing proves nothing: it is void and tried again, VOIDS times, as is one
 * whose flaw kept still, TRIES times in all; its line says how often. A sound guard that fails once
 * has failed.
 *
 * An argument is a pattern for the names of the faults to do.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/moment.h"
#include "count/guard_list.h"
#include "measure/bench_servers.h"
#include "test/support/lt_course.h"

enum {
    TRIES = 3,
    VOIDS = 6, /* a purchase takes so little that on a busy machine one instance may sell all */
    STOPS = 3,
    THINK_MS = 20,  /* of buyers whom nothing slows down: the fault shall find them there */
    UNDER_WAY = 60, /* buyers; more than there are threads */
    LOCK_SERVERS = 3,
    FLAWED_MAX = 4,
    LOOK_EVERY_MS = 10,
    STILL_MS = 400, /* nobody was served for so long: the holder sleeps */
    STILL_LIMIT_MS = 3000,
    STOP_MS = 1300,  /* well past the lease */
    PAUSE_MS = 500,  /* of --lab-pause under "pause"; past the lease */
    STUCK_MS = 1500, /* nobody sells for so long after a crash, though the lease would be over */
};

struct cell;

struct fault {
    const char *name;
    const char *flawed[FLAWED_MAX]; /* those that it must bring down */
    const char *spared[FLAWED_MAX]; /* sound ones that it cannot touch */
    long stock;
    const char *seckilld[LT_RIG_WORDS_MAX - 6];  /* flags of both instances */
    const char *first[LT_RIG_FIRST_MAX];         /* of the first alone */
    bool is_crash;                               /* every cell wants instances of its own */
    void (*inflict)(struct cell *cell);          /* NULL: the load and the flags are the fault */
    bool (*has_bitten)(const struct cell *cell); /* asked when all is over */
};

/* What the instances have counted. */
struct counts {
    long created[LT_RIG_INSTANCES]; /* orders under this guard */
    long lost;                      /* leases that ended before they were given back */
};

/* One guard under one fault. */
struct cell {
    const struct fault *fault;
    const struct guard_entry *guard;
    struct lt_rig *rig; /* borrowed */
    char sale[24];
    struct lt_crowd crowd;
    struct audit_result audit;
    struct counts counts; /* since the sale began */
    unsigned elsewhere;   /* sold while the holder stood still */
    bool has_come;        /* the holder was seen to sleep */
    bool is_finished;     /* everybody was told for sure */
    unsigned tries;
};

enum { CELLS_MAX = 4 * GUARDS_MAX, NAME_MAX_LEN = 80 };

/* What the whole program shares. */
struct gate {
    struct lt_place place; /* of the lock servers */
    struct bench_servers servers;
    char redlock[BENCH_URLS_MAX];
    struct own_server own[OWN_KINDS];
    struct guard_list guards;
    struct lt_rig rig;
    const struct fault *rig_fault; /* whose flags the instances run with; NULL: there are none */
    unsigned sales;                /* so far: each has a name of its own */
    struct cell cells[CELLS_MAX];
    struct CMUnitTest tests[CELLS_MAX];
    char names[CELLS_MAX][NAME_MAX_LEN];
    size_t count;
};

static struct gate gate;

/* ---- faults ------------------------------------------------------------------------------------------- */

static bool is_one_of(const char *const *names, size_t most, const char *name)
{
    for (size_t i = 0; i < most && names[i]; i++)
        if (strcmp(names[i], name) == 0) return true;
    return false;
}

/* Does it keep the others out while it pauses? */
static bool holds_over_pause(const struct cell *cell)
{
    static const char *const others[] = {"mutex", "script", "watch", /* one round trip; no lock */
                                         "database", "skip-locked"};

    return !is_one_of(others, sizeof others / sizeof *others, cell->guard->name);
}

static bool is_on_sale(const struct cell *cell)
{
    return atomic_load(&cell->crowd.next_buyer) < cell->fault->stock;
}

/* Until nobody has been served for STILL_MS though somebody waits; false: it does not come to that. */
static bool await_standstill(const struct cell *cell)
{
    int64_t deadline_ms = moment_ms() + STILL_LIMIT_MS;
    int64_t since_ms = moment_ms();
    unsigned before = atomic_load(&cell->crowd.counts.answers);

    while (moment_ms() < deadline_ms && is_on_sale(cell)) {
        unsigned now = atomic_load(&cell->crowd.counts.answers);
        bool is_still = now == before && atomic_load(&cell->crowd.counts.in_flight) > 0;
        if (!is_still) since_ms = moment_ms();
        if (moment_ms() - since_ms >= STILL_MS) return true;
        before = now;
        moment_sleep_ms(LOOK_EVERY_MS);
    }
    return false;
}

/* The first instance sleeps with the lock; where it cannot, the sale is well under way. */
static bool await_holder(const struct cell *cell)
{
    return holds_over_pause(cell) ? await_standstill(cell)
                                  : lt_course_wait_for(&cell->crowd.next_buyer, UNDER_WAY);
}

/* Both instances were at it. */
static bool has_raced(const struct cell *cell)
{
    return cell->counts.created[0] > 0 && cell->counts.created[1] > 0;
}

static bool has_paused(const struct cell *cell)
{
    return atomic_load(&cell->crowd.counts.slowest_ms) >= PAUSE_MS;
}

/* The holder dies: while it sleeps with the lock, where a pause makes it. */
static void kill_the_holder(struct cell *cell)
{
    struct process *first = &cell->rig->instances[0];

    cell->has_come = await_holder(cell);
    process_signal(first, SIGKILL);
    (void)process_wait(first, LT_FINISH_MS);
}

static bool has_killed(const struct cell *cell)
{
    return cell->has_come && atomic_load(&cell->crowd.counts.unanswered) > 0;
}

/* The holder sleeps; then all of its process stands still until its lease is long over. */
static void stop_the_holder(struct cell *cell)
{
    struct process *first = &cell->rig->instances[0];
    int most = cell->guard->finding == GUARD_SOUND ? 1 : STOPS;

    for (int stops = 0; stops < most && is_on_sale(cell); stops++) {
        (void)await_holder(cell);
        process_signal(first, SIGSTOP);
        unsigned before = atomic_load(&cell->crowd.counts.sold);
        moment_sleep_ms(STOP_MS);
        cell->elsewhere += atomic_load(&cell->crowd.counts.sold) - before;
        process_signal(first, SIGCONT);
        moment_sleep_ms(STILL_MS); /* it finishes what it was at */
    }
}

static bool has_stopped(const struct cell *cell)
{
    bool has_lost = cell->counts.lost > 0 || !holds_over_pause(cell);

    return has_lost && cell->elsewhere > 0 &&
           atomic_load(&cell->crowd.counts.slowest_ms) >= STOP_MS / 2;
}

/*
 * The race is that of single purchases. Else an instance sells in batches, as it is meant to, and
 * waits for the lock as one: of the fair lock, each dead waiter keeps its place until its window ends
 * (locks.h), and one per purchase would do so for half a minute.
 */
static const struct fault faults[] = {
    {.name = "race of two instances",
     .flawed = {"none", "thread", "file", "select-then-update"},
     .stock = 200,
     .seckilld = {"--batch", "1"},
     .has_bitten = has_raced},
    {.name = "pause past the lease",
     .flawed = {"set-del", "get-del", "mutex-unchecked", "unlock-before-commit"},
     .spared = {"mutex", "script"}, /* one round trip: there is no moment to pause in */
     .stock = 600,
     .seckilld = {"--batch", "8", "--lease-ms", "200", "--lab-pause", "500:15"},
     .has_bitten = has_paused},
    {.name = "kill -9 of the holder",
     .flawed = {"setnx", "setnx-expire"},
     .stock = 600,
     .seckilld = {"--batch", "8", "--lease-ms", "1200"},
     .first = {"--lab-pause", "60000:2"},
     .is_crash = true,
     .inflict = kill_the_holder,
     .has_bitten = has_killed},
    {.name = "SIGSTOP of the holder",
     .flawed = {"watchdog-unchecked"},
     .stock = 600,
     .seckilld = {"--batch", "8", "--lease-ms", "600"},
     .first = {"--lab-pause", "2000:3"},
     .inflict = stop_the_holder,
     .has_bitten = has_stopped},
};
enum { FAULT_COUNT = sizeof faults / sizeof *faults };

/* ---- a cell ------------------------------------------------------------------------------------------- */

static bool is_found(const struct cell *cell, audit_check_id id)
{
    return cell->audit.checks[id].verdict == AUDIT_FAIL;
}

/* Did the cell end as it must? */
static bool is_as_expected(const struct cell *cell)
{
    switch (cell->guard->finding) {
    case GUARD_SOUND:
        return cell->is_finished && cell->audit.verdict == AUDIT_PASS && cell->audit.left == 0 &&
               atomic_load(&cell->crowd.counts.broken) == 0;
    case GUARD_OVERSELLS:
        return is_found(cell, AUDIT_CONSERVATION);
    case GUARD_STUCK:
        return is_found(cell, AUDIT_NO_STUCK_LOCK) && is_found(cell, AUDIT_NO_UNDERSELL) &&
               cell->audit.undersold > 0;
    }
    return false;
}

static void print_cell(const struct cell *cell, const char *ending)
{
    const struct lt_crowd_counts *counts = &cell->crowd.counts;
    const struct audit_result *audit = &cell->audit;

    print_message("# %s, %s: %u sold meanwhile; %zu of %ld sold, %zu oversold, %zu "
                  "undersold, %zu buyers with two "
                  "orders%s; %ld leases lost; %u refused, %u unavailable, %u unknown, %u "
                  "unanswered, slowest %u ms, "
                  "%.1f s; try %u: %s\n",
                  cell->fault->name, cell->guard->name, cell->elsewhere, audit->sold,
                  cell->fault->stock, audit->oversold, audit->undersold, audit->duplicate_buyers,
                  audit->has_stuck_lock ? ", a stuck lock" : "", cell->counts.lost, counts->refused,
                  counts->unavailable, counts->unknown, counts->unanswered, counts->slowest_ms,
                  (double)(moment_ms() - cell->crowd.began_ms) / 1000, cell->tries, ending);
    for (int id = 0; id < AUDIT_CHECK_COUNT; id++)
        if (audit->checks[id].verdict != AUDIT_PASS)
            print_message("#   %s %s: %s\n", audit_verdict_name(audit->checks[id].verdict),
                          audit->checks[id].name, audit->checks[id].words);
}

/* Instances with the flags of this fault: those that run, unless it kills them. */
static bool open_rig(const struct fault *fault)
{
    struct lt_rig_options options = {.has_proxy = false};
    size_t count = 0;

    if (gate.rig_fault == fault && !fault->is_crash) return true;
    if (gate.rig_fault) lt_rig_close(&gate.rig);
    for (; fault->seckilld[count]; count++)
        options.seckilld[count] = fault->seckilld[count];
    options.seckilld[count++] = "--redlock";
    options.seckilld[count++] = gate.redlock;
    for (int kind = 0; kind < OWN_KINDS; kind++) {
        if (!gate.own[kind].dir[0]) continue;
        options.seckilld[count++] = own_server_flag((own_kind)kind);
        options.seckilld[count++] = gate.own[kind].url;
    }
    memcpy(options.first, fault->first, sizeof options.first);
    gate.rig_fault = fault; /* closes what was opened, too */
    if (lt_rig_open(&gate.rig, &options)) return true;
    print_message("%s: %s\n", fault->name, gate.rig.failure.text);
    return false;
}

static void count(const struct cell *cell, struct counts *out)
{
    static const char *const lost[] = {"seckill_lock_acquire_total{result=\"lost\"} ",
                                       "seckill_lock_renewals_total{result=\"not-owner\"} ",
                                       "seckill_lock_release_total{result=\"not-owner\"} "};
    char created[120];

    (void)snprintf(created, sizeof created,
                   "seckill_orders_total{guard=\"%s\",outcome=\"created\"} ", cell->guard->name);
    for (int i = 0; i < LT_RIG_INSTANCES; i++)
        out->created[i] = lt_rig_metric_of(cell->rig, i, created);
    out->lost = 0;
    for (size_t i = 0; i < sizeof lost / sizeof *lost; i++)
        out->lost += lt_rig_metric(cell->rig, lost[i]);
}

static void count_since(struct cell *cell, const struct counts *before)
{
    count(cell, &cell->counts);
    for (int i = 0; i < LT_RIG_INSTANCES; i++)
        cell->counts.created[i] -= before->created[i];
    cell->counts.lost -= before->lost;
}

static bool sell(struct cell *cell)
{
    const struct fault *fault = cell->fault;
    bool is_stuck = cell->guard->finding == GUARD_STUCK;
    bool is_calm = fault->inflict && !holds_over_pause(cell);

    cell->elsewhere = 0;
    (void)snprintf(cell->sale, sizeof cell->sale, "gate-%u", ++gate.sales);
    if (!lt_rig_create_sale(cell->rig, cell->sale, cell->guard->name, fault->stock)) {
        print_message("%s: %s\n", cell->guard->name, cell->rig->failure.text);
        return false;
    }
    const struct lt_crowd_options crowd = {.service = &cell->rig->service,
                                           .place = &cell->rig->place,
                                           .sale = cell->sale,
                                           .threads = LT_THREADS,
                                           .buyers = (unsigned)(fault->stock + fault->stock / 2),
                                           .think_ms = is_calm ? THINK_MS : 0};
    struct counts before;
    count(cell, &before);
    if (!lt_crowd_start(&cell->crowd, &crowd)) return false;
    if (fault->inflict) fault->inflict(cell);
    cell->is_finished = lt_crowd_finish(&cell->crowd, is_stuck ? STUCK_MS : LT_FINISH_MS);
    count_since(cell, &before);
    if (lt_crowd_judge(&cell->crowd, &cell->audit, &cell->rig->failure)) return true;
    print_message("%s: %s\n", cell->guard->name, cell->rig->failure.text);
    return false;
}

/* A sound guard may not fail once; a void cell, and a flaw that kept still, are tried again. */
static void run_cell(void **state)
{
    struct cell *cell = *state;
    unsigned voids = 0;

    for (cell->tries = 1; cell->tries <= TRIES + voids && voids <= VOIDS; cell->tries++) {
        if (!open_rig(cell->fault)) break;
        cell->rig = &gate.rig;
        if (!sell(cell)) break;
        bool is_good = is_as_expected(cell);
        bool was_active = cell->fault->has_bitten(cell);
        print_cell(cell, !was_active ? "void" : is_good ? "as expected" : "NOT as expected");
        if (was_active && is_good) return;
        if (was_active && cell->guard->finding == GUARD_SOUND) fail();
        if (!was_active) voids++;
    }
    fail_msg("%s, %s: nothing was proven", cell->fault->name, cell->guard->name);
}

/* ---- all cells ---------------------------------------------------------------------------------------- */

static bool must_bring_down(const struct fault *fault, const struct guard_entry *guard)
{
    return is_one_of(fault->flawed, FLAWED_MAX, guard->name);
}

static void add_cell(const struct fault *fault, const struct guard_entry *guard)
{
    size_t i = gate.count++;

    gate.cells[i] = (struct cell){.fault = fault, .guard = guard};
    (void)snprintf(gate.names[i], NAME_MAX_LEN, "%s: %s %s", fault->name, guard->name,
                   guard->finding == GUARD_SOUND ? "holds" : "is found");
    gate.tests[i] = (struct CMUnitTest){
        .name = gate.names[i], .test_func = run_cell, .initial_state = &gate.cells[i]};
}

/* Each flawed guard has the fault that brings it down. */
static void every_flawed_guard_has_its_fault(void **state)
{
    (void)state;
    for (int i = 0; i < gate.guards.count; i++) {
        const struct guard_entry *guard = &gate.guards.list[i];
        unsigned count = 0;

        for (size_t k = 0; k < FAULT_COUNT; k++)
            if (must_bring_down(&faults[k], guard)) count++;
        if (count != (guard->finding == GUARD_SOUND ? 0 : 1))
            fail_msg("%s: %u faults that must bring it down", guard->name, count);
    }
}

static bool read_guards(void)
{
    const char *const argv[] = {"seckilld", "--help", NULL};
    static struct lt_outcome outcome;

    return lt_run(&gate.place, argv, LT_FINISH_MS, &outcome) &&
           guard_list_parse(outcome.output, &gate.guards);
}

static void list_cells(void)
{
    gate.tests[gate.count++] =
        (struct CMUnitTest)cmocka_unit_test(every_flawed_guard_has_its_fault);
    for (size_t k = 0; k < FAULT_COUNT; k++) {
        for (int i = 0; i < gate.guards.count; i++) {
            const struct guard_entry *guard = &gate.guards.list[i];
            bool is_wanted = guard->finding == GUARD_SOUND
                                 ? !is_one_of(faults[k].spared, FLAWED_MAX, guard->name)
                                 : must_bring_down(&faults[k], guard);
            if (is_wanted) add_cell(&faults[k], guard);
        }
    }
}

/* Of guards whose server is not installed here nothing is asked. */
static bool start_own_servers(void)
{
    guard_list_drop_not_here(&gate.guards);
    for (int kind = 0; kind < OWN_KINDS; kind++)
        if (own_server_is_here((own_kind)kind) &&
            !own_server_start(&gate.own[kind], (own_kind)kind, gate.place.dir, NULL))
            return false;
    /* What counts there of a process that stands still is its session, not its lease. */
    (void)strncat(gate.own[OWN_ZOOKEEPER].url, "/gate?session_ms=600",
                  sizeof gate.own[0].url - strlen(gate.own[OWN_ZOOKEEPER].url) - 1);
    return true;
}

static int close_gate(void **state)
{
    (void)state;
    if (gate.rig_fault) lt_rig_close(&gate.rig);
    bench_servers_stop(&gate.servers);
    for (int kind = 0; kind < OWN_KINDS; kind++)
        own_server_stop(&gate.own[kind]);
    lt_place_close(&gate.place);
    return 0;
}

int main(int argc, char **argv)
{
    int failed = 1;

    (void)signal(SIGPIPE, SIG_IGN);
    cmocka_set_message_output(CM_OUTPUT_TAP);
    if (argc > 1) cmocka_set_test_filter(argv[1]);
    if (lt_place_open(&gate.place) && read_guards() &&
        bench_servers_add_locks(&gate.servers, gate.place.dir, LOCK_SERVERS, gate.redlock, NULL) &&
        start_own_servers()) {
        list_cells();
        failed = _cmocka_run_group_tests("mutation gate", gate.tests, gate.count, NULL, NULL);
    }
    (void)close_gate(NULL);
    return failed;
}
