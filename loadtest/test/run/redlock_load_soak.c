/*
 * The guard redlock under full load, on five independent lock servers: one is killed, one stopped,
 * then a third one, so that no quorum is left for a while; one comes back empty. The stock's own
 * Redis is alone and safe, so the audit forgives nothing.
 */
#include <signal.h>
#include <unistd.h>

#include "base/clock.h"
#include "test/support/lt_command.h"
#include "test/support/lt_fault_run.h"
#include "test/support/testing.h"

enum {
    LOCK_SERVERS = 5,
    READY_MS = 10000,
    STOP_MS = 5000,
    SETTLE_MS = 2200, /* what had its lock before the quorum went has been answered */
    STILL_MS = 1500,  /* without a quorum */
    SOLD_MIN = 500,   /* purchases with one dead, and after the last fault */
    REFUSED_MIN = 10, /* without a quorum */
};

struct lock_servers {
    struct lt_sandbox sandbox;
    struct process processes[LOCK_SERVERS];
    char urls[LOCK_SERVERS][LT_PATH_MAX + 32];
    char all[LOCK_SERVERS * (LT_PATH_MAX + 32)]; /* for --redlock */
};

/* Start a server, empty. */
static void start(struct lock_servers *servers, int i)
{
    struct lt_command line;
    char log[LT_PATH_MAX + 16];

    (void)snprintf(log, sizeof log, "%s/l%d.log", servers->sandbox.dir, i + 1);
    (void)unlink(servers->urls[i] + strlen("unix://"));
    lt_command_make(&line, &servers->sandbox,
                    "redis-server --port 0 --unixsocket @l%d.sock --save '' --dir @", i + 1);
    assert_true(process_start(&servers->processes[i], line.argv, log, log, NULL));
    assert_true(lt_eventually(lt_redis_answers, servers->urls[i], READY_MS));
}

SET_UP(struct lock_servers, servers)
{
    size_t length = 0;

    assert_true(lt_sandbox_open(&servers->sandbox));
    for (int i = 0; i < LOCK_SERVERS; i++) {
        (void)snprintf(servers->urls[i], sizeof servers->urls[i], "unix://%s/l%d.sock",
                       servers->sandbox.dir, i + 1);
        start(servers, i);
        length += (size_t)snprintf(servers->all + length, sizeof servers->all - length, "%s%s",
                                   i ? "," : "", servers->urls[i]);
    }
}

TEAR_DOWN(struct lock_servers, servers)
{
    for (int i = 0; i < LOCK_SERVERS; i++) {
        process_signal(&servers->processes[i], SIGCONT);
        process_stop(&servers->processes[i], STOP_MS);
    }
    lt_sandbox_close(&servers->sandbox);
}

static void signal_server(struct lt_fault_run *run, struct lock_servers *servers, int i, int number)
{
    lt_fault_run_note_fault(run);
    process_signal(&servers->processes[i], number);
}

TEST(lock_servers_die_and_stop_and_no_order_is_wrong, struct lock_servers *servers)
{
    static struct lt_fault_run run;
    struct lt_plan plan = {.name = "redlock, 5 lock servers",
                           .guard = "redlock",
                           .stock = 12000,
                           .think_ms = 10,
                           .slowest_ms = 6500, /* giving back what stopped servers may hold, too */
                           .rig = {.seckilld = {"--redlock", servers->all}}};
    const struct lt_buyers_counts *counts = &run.buyers.counts;

    lt_fault_run_begin(&run, &plan);
    lt_fault_run_wait_for_buyers(&run, 10);
    signal_server(&run, servers, 0, SIGKILL);
    unsigned sold = counts->sold;
    lt_fault_run_wait_for_buyers(&run, 20);
    signal_server(&run, servers, 1, SIGSTOP);
    lt_fault_run_wait_for_buyers(&run, 30);
    unsigned with_quorum = counts->sold - sold;

    unsigned refused = counts->unavailable;
    signal_server(&run, servers, 2, SIGSTOP);
    clock_sleep_ms(SETTLE_MS);
    sold = counts->sold;
    clock_sleep_ms(STILL_MS);
    unsigned without_quorum = counts->sold - sold;
    refused = counts->unavailable - refused;
    process_signal(&servers->processes[2], SIGCONT);

    lt_fault_run_wait_for_buyers(&run, 50);
    (void)process_wait(&servers->processes[0], STOP_MS);
    start(servers, 0);
    process_signal(&servers->processes[1], SIGCONT);
    sold = counts->sold;
    (void)lt_fault_run_wait_for(&counts->sold, sold + SOLD_MIN);
    lt_fault_run_add_note(&run,
                          "%u sold with 4 and 3 of 5, %u with 2 (%u refused), %u+ after the heal",
                          with_quorum, without_quorum, refused, counts->sold - sold);
    bool was_active = with_quorum >= SOLD_MIN && refused >= REFUSED_MIN && without_quorum == 0 &&
                      counts->sold >= sold + SOLD_MIN;
    lt_fault_run_end(&run, was_active);
    assert_int_equal(0, run.audit.lost);
}

GROUP(testing_ignore_sigpipe, NULL);
