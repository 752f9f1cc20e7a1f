/*
 * The order of one run: create the sale, let wrk run its plan, collect what was written, ask about
 * the unknown, read Redis, judge. Redis is read last, when nothing is in flight any more. One
 * thread.
 */
#include "verify.h"

#include <math.h>
#include <stdio.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/interrupt.h"
#include "drive.h"
#include "evidence/charge_log.h"
#include "evidence/client_log.h"
#include "evidence/ledger.h"
#include "evidence/operators_log.h"
#include "monitor.h"
#include "operator.h"
#include "payers.h"
#include "provider.h"
#include "resolve.h"
#include "stats/hgrm.h"
#include "stats/service_counts.h"

enum {
    LOOK_EVERY_MS = 20,
    STALL_MS = 8000,  /* no reply for so long: the rest will stay unanswered */
    DEAD_MS = 4000,   /* ... under a fault, which leaves some so */
    AWAY_MS = 30000,  /* a proxy's own replies alone for so long: nobody comes back */
    SETTLE_MS = 3000, /* longer than the service's deadline: what is in flight ends */
    FIND_MS = 15000,  /* a failover may still be under way */
};

/* One run: what it uses and what it has so far. */
struct verifying {
    const struct drive_target *target; /* borrowed */
    const char *sale;                  /* borrowed */
    char tag[24];
    char samples[RUN_PATH_MAX];
    char resolutions[RUN_PATH_MAX];
    char operators[RUN_PATH_MAX];
    char payers_ledger[RUN_PATH_MAX];
    struct payers *payers; /* owned; NULL: the sale is not paid for later */
    struct provider provider;
    struct drive drive;
    struct facts facts; /* owned */
    struct inflict inflict;
    struct failure trouble;
    struct failure *failure; /* borrowed */
};

static void name_files(struct verifying *run, int number)
{
    const char *dir = run->target->run_dir;
    (void)snprintf(run->tag, sizeof run->tag, "r%d", number);
    (void)snprintf(run->samples, sizeof run->samples, "%.900s/clients-%s-monitor.jsonl", dir,
                   run->tag);
    (void)snprintf(run->resolutions, sizeof run->resolutions, "%.900s/clients-%s-resolve.jsonl",
                   dir, run->tag);
    (void)snprintf(run->payers_ledger, sizeof run->payers_ledger, "%.900s/clients-%s-payers.jsonl",
                   dir, run->tag);
    (void)snprintf(run->operators, sizeof run->operators, "%.900s/operators-%s.ndjson", dir,
                   run->tag);
}

/* latency.hgrm beside result.json; of further sales latency-2.hgrm, and so on. */
static void name_latencies(const struct options *options, int number, char out[RUN_PATH_MAX])
{
    char tail[16] = "";

    if (number > 1) (void)snprintf(tail, sizeof tail, "-%d", number);
    (void)snprintf(out, RUN_PATH_MAX, "%.900s/latency%s.hgrm", options->out, tail);
}

/* We are the operator: what we ask for and are told is written down, for the auditor. */
static bool put_up(const struct verifying *run)
{
    const struct options *options = run->target->options;
    struct operator_step step = {
        .id = "1", .what = "create", .key = "", .units = options->stock, .epoch = 1};

    if (!operators_log_write(run->operators, run->sale, &step, run->failure) ||
        !operator_create_sale(run->target->service, run->sale, options->guard, options->stock,
                              run->failure))
        return false;
    step.result = STEP_DONE;
    return operators_log_write(run->operators, run->sale, &step, run->failure);
}

static bool has_stalled(const struct verifying *run, const struct monitor *monitor)
{
    int64_t silent_ms = clock_ms() - monitor->changed_ms;
    int64_t most_ms = run->target->options->fault ? DEAD_MS : STALL_MS;

    return silent_ms > AWAY_MS || (silent_ms > most_ms && clock_ms() - monitor->stray_ms > most_ms);
}

/* Is there nothing more to come: of wrk, which may stand still, and of those who pay? */
static bool is_over(struct verifying *run, const struct monitor *monitor)
{
    if (drive_is_running(&run->drive) && !has_stalled(run, monitor)) return false;
    return !run->payers || payers_are_done(run->payers);
}

/* Until the plan is done, everything stands still, or we are interrupted. */
static void watch(struct verifying *run, struct monitor *monitor)
{
    while (!is_over(run, monitor) && !interrupt_came()) {
        if (run->payers) monitor->paid = payers_paid(run->payers);
        monitor_tick(monitor, &run->drive);
        inflict_tick(&run->inflict, monitor, &run->trouble);
        if (!run->trouble.text[0]) (void)service_has_died(run->target->service, &run->trouble);
        clock_sleep_ms(LOOK_EVERY_MS);
    }
    inflict_end(&run->inflict, &run->trouble);
    drive_stop(&run->drive);
}

static bool start_payers(struct verifying *run, struct monitor *monitor)
{
    if (!run->target->service->window_ms) return true;
    run->payers = payers_start(run->target, run->sale, run->payers_ledger, run->failure);
    monitor->hear = payers_on_line;
    monitor->hear_arg = run->payers;
    return run->payers && provider_start(&run->provider, run->target, run->tag, run->failure);
}

/* What is still on its way to the service is played in: the end of the sale is the truth. */
static void stop_payers(struct verifying *run, struct monitor *monitor)
{
    monitor->hear = NULL;
    (void)payers_stop(run->payers, &run->trouble);
    (void)provider_stop(&run->provider, run->target, &run->trouble);
    run->payers = NULL;
}

static bool run_buyers(struct verifying *run)
{
    struct monitor monitor;

    if (!monitor_open(&monitor, run->target, run->sale, run->samples, run->failure)) return false;
    bool is_good = start_payers(run, &monitor) &&
                   drive_purchases(&run->drive, run->target, run->sale, run->tag, run->failure);
    if (is_good) watch(run, &monitor);
    stop_payers(run, &monitor);
    is_good = monitor_close(&monitor, &run->drive, is_good ? run->failure : NULL) && is_good;
    if (is_good && interrupt_came()) return failure_set(run->failure, "interrupted");
    if (is_good && !run->trouble.text[0]) (void)drive_went_well(&run->drive, &run->trouble);
    return is_good;
}

static bool read_clients(struct verifying *run)
{
    for (int i = 0; i < run->drive.count; i++)
        if (access(run->drive.ledgers[i], F_OK) == 0 &&
            !client_log_read(&run->facts, run->drive.ledgers[i], run->failure))
            return false;
    if (run->target->service->window_ms &&
        (!client_log_read(&run->facts, run->payers_ledger, run->failure) ||
         !charge_log_read(&run->facts, run->sale, run->provider.log, run->failure)))
        return false;
    return client_log_read(&run->facts, run->samples, run->failure) &&
           operators_log_read(&run->facts, run->sale, run->operators, run->failure);
}

static bool has_unanswered(const struct facts *facts)
{
    for (size_t i = 0; i < facts->ask_count; i++)
        if (facts->asks[i].outcome == ASK_UNANSWERED) return true;
    return false;
}

/* A connection that answers about this sale: in a cluster its node may be the one that is down. */
static struct ledger *try_redis(struct verifying *run)
{
    struct ledger *ledger = service_open_ledger(run->target->service, run->failure);
    int64_t orders = 0;

    if (!ledger || ledger_sale_order_count(ledger, run->sale, &orders, run->failure)) return ledger;
    ledger_close(ledger);
    return NULL;
}

static struct ledger *find_redis(struct verifying *run)
{
    int64_t deadline_ms = clock_ms() + (run->target->options->redis ? FIND_MS : 0);
    struct ledger *ledger = try_redis(run);

    while (!ledger && clock_ms() < deadline_ms && !interrupt_came()) {
        clock_sleep_ms(LOOK_EVERY_MS);
        ledger = try_redis(run);
    }
    return ledger;
}

static bool read_redis(struct verifying *run)
{
    struct ledger *ledger = find_redis(run);
    if (!ledger) return false;
    bool is_read = ledger_sale_read(ledger, run->sale, &run->facts, run->failure);
    ledger_close(ledger);
    return is_read;
}

static bool gather(struct verifying *run)
{
    if (!read_clients(run)) return false;
    if (has_unanswered(&run->facts)) clock_sleep_ms(SETTLE_MS);
    if (!resolve_unknowns(run->target->service, run->sale, run->resolutions, &run->facts,
                          run->failure))
        return false;
    if (interrupt_came()) return failure_set(run->failure, "interrupted");
    return read_redis(run);
}

static bool judge(const struct verifying *run, struct verify_run *out_run)
{
    const struct audit_options strictness = {.allow_lost = run->target->options->allow_lost};

    if (!audit_run(&run->facts, &strictness, &out_run->audit, run->failure)) return false;
    if (!summary_count(&run->facts, &out_run->summary, run->failure)) return false;
    if (out_run->audit.lost == 0) return true;
    (void)snprintf(out_run->lost, sizeof out_run->lost, "%.900s/lost-%s.jsonl",
                   run->target->run_dir, run->tag);
    return resolve_name_lost(&run->facts, out_run->lost, run->failure);
}

/* The same processes before and after, or what they counted is of no use. */
static void forget_counts_of_others(struct verify_run *run, double stamp_before,
                                    const struct service *service)
{
    if (service->is_ours) return;
    if (stamp_before > 0 && stamp_before == service_counts_same_process(service)) return;
    run->round_trips = -1;
    run->has_locks = false;
}

static void count_load(const struct verifying *run, struct verify_run *out_run)
{
    const struct options *options = run->target->options;

    out_run->load = drive_read_load(&run->drive);
    out_run->load.asked = options->connections[0]; /* also of a wrk that said nothing */
    out_run->buyers = options->buyers;
    if (!options->allow_errors) verify_load(out_run);
}

/* One that came too late, or paused nobody, proves nothing. */
static void count_fault(const struct verifying *run, struct verify_run *out_run)
{
    const struct fault *fault = run->target->options->fault;
    double slowest_ms = 0;

    if (!fault) return;
    for (int kind = 0; kind < ANSWER_COUNT; kind++)
        slowest_ms = fmax(slowest_ms, out_run->summary.latency[kind].most_ms);
    (void)snprintf(out_run->fault, sizeof out_run->fault, "%s", run->inflict.words);
    bool has_come =
        fault->kind == FAULT_PAUSE ? slowest_ms >= FAULT_PAUSE_MS : run->inflict.count > 0;
    if (!has_come)
        (void)snprintf(out_run->shortage, sizeof out_run->shortage,
                       "the fault did not come: %s, of %s", fault->name, fault->what);
}

/* A guest leaves nothing behind; what was there stays in a file. */
static void leave(const struct verifying *run)
{
    const struct drive_target *target = run->target;
    char path[RUN_PATH_MAX];
    struct failure why = {.text = ""};

    if (target->service->is_ours || target->options->has_to_keep) return;
    (void)snprintf(path, sizeof path, "%.900s/%s.ndjson", target->run_dir, run->sale);
    if (!operator_remove_sale(target->service, run->sale, path, &why) && !target->options->is_quiet)
        (void)printf("  the sale is left there: %s\n", why.text);
}

bool verify_sale(const struct drive_target *target, int number, struct verify_run *out_run,
                 struct failure *failure)
{
    struct verifying run = {
        .target = target, .sale = out_run->sale, .inflict = {.target = target}, .failure = failure};
    struct service *service = target->service;
    struct service_costs costs = {
        .service = service, .instance = ALL_INSTANCES, .guard = target->options->guard};
    struct service_counts since;
    char stamp[32];

    *out_run = (struct verify_run){.is_paid_for = service->window_ms > 0};
    bench_machine_host(&out_run->machine, target->run_dir);
    clock_file_stamp(stamp, sizeof stamp);
    (void)snprintf(out_run->sale, sizeof out_run->sale, "l-%.15s-%05lx-%d", stamp,
                   (long)getpid() & 0xfffff, number); /* segments want a short one */
    name_files(&run, number);
    if (!put_up(&run)) return false;
    double stamp_before = service->is_ours ? 0 : service_counts_same_process(service);
    bool has_before = service_counts_begin(&costs, NULL);
    if (!run_buyers(&run)) return false;
    service_measure_memory(service);
    out_run->has_locks = has_before && service_counts_end(&costs, &since, NULL);
    out_run->round_trips = out_run->has_locks ? since.round_trips : -1;
    if (out_run->has_locks) out_run->locks = since.locks;
    forget_counts_of_others(out_run, stamp_before, service);
    facts_init(&run.facts);
    name_latencies(target->options, number, out_run->latencies);
    bool is_done =
        gather(&run) && judge(&run, out_run) && hgrm_write(out_run->latencies, &run.facts, failure);
    facts_done(&run.facts);
    leave(&run);
    count_load(&run, out_run);
    count_fault(&run, out_run);
    (void)snprintf(out_run->trouble, sizeof out_run->trouble, "%s", run.trouble.text);
    return is_done;
}

long long verify_failed(const struct verify_run *run)
{
    return (long long)run->summary.unanswered + run->load.connect_errors + run->load.timeouts;
}

void verify_load_words(const struct verify_run *run, char out[VERIFY_WORDS_MAX])
{
    const struct load_count *load = &run->load;

    (void)snprintf(
        out, VERIFY_WORDS_MAX,
        "%s%s%s%lld of %lld connections established, %zu of %ld buyers came, %lld of %zu "
        "requests got no answer; socket errors: connect %lld, read %lld, write %lld, "
        "time-out %lld",
        run->shortage[0] ? "VOID, less load than was asked for: " : "", run->shortage,
        run->shortage[0] ? "; " : "", load->established, load->asked, run->summary.buyers,
        run->buyers, verify_failed(run), run->summary.requests, load->connect_errors,
        load->read_errors, load->write_errors, load->timeouts);
}

void verify_load(struct verify_run *run)
{
    const struct summary *summary = &run->summary;
    long long failed = verify_failed(run);
    char *words = run->shortage;

    if (!drive_is_established(&run->load))
        (void)snprintf(words, sizeof run->shortage, "%lld of %lld connections were established",
                       run->load.established, run->load.asked);
    else if (failed * 100 > (long long)summary->requests)
        (void)snprintf(words, sizeof run->shortage, "%lld of %zu requests got no answer", failed,
                       summary->requests);
    else if ((long)summary->buyers * 100 < run->buyers * 99)
        (void)snprintf(words, sizeof run->shortage, "%zu of %ld buyers came", summary->buyers,
                       run->buyers);
}

audit_verdict verify_verdict(const struct verify_run *run)
{
    if (run->audit.verdict == AUDIT_PASS && (run->trouble[0] || run->shortage[0]))
        return AUDIT_VOID;
    return run->audit.verdict;
}
