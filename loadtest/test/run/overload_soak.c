/*
 * Ten times the load that the service can serve: two instances behind a slow link, so that what they
 * can serve is small and known, and a crowd that does not give up. Those who are let in are served
 * as fast as without the crowd, the others are refused at once and told when to come again, and the
 * audit finds that whoever was refused got nothing and whoever was accepted got one.
 */
#include <signal.h>

#include "base/clock.h"
#include "evidence/client_log.h"
#include "test/support/lt_net.h"
#include "test/support/lt_rig.h"
#include "test/support/testing.h"

/* Each instance serves a batch of 4 per round trip of 80 ms: 100 purchases/s in all. */
#define SERVICE                                                                                    \
    {                                                                                              \
        "--batch", "4", "--queue-ms", "160"                                                        \
    }
#define SLOW_LINK "delay 40"

enum {
    FINISH_MS = 40000,
    TIMES = 10,    /* more than it can serve */
    SLACK_MS = 80, /* for a busy machine; without a bound the crowd would wait 1,300 ms */
    PROBES_MAX = 200,
};

/* One run, and what was measured while the middle of its stock was sold. */
struct run {
    struct lt_rig rig;
    struct lt_buyers buyers;
    long stock;
    int64_t began_ns, ended_ns;
    double asked;    /* requests answered per second */
    double accepted; /* of them */
    int64_t p99_ms;  /* of the accepted */
    struct audit_result audit;
};

/* ---- the course of a run ------------------------------------------------------------------------------ */

struct plan {
    unsigned threads;
    int64_t think_ms;
    long stock;
};

static void begin(struct run *run, const struct plan *plan)
{
    static const struct lt_rig_options rig = {.has_proxy = true, .seckilld = SERVICE};

    *run = (struct run){.stock = plan->stock};
    if (!lt_rig_open(&run->rig, &rig) ||
        !lt_rig_create_sale(&run->rig, "s", "mutex", plan->stock) ||
        !lt_rig_proxy(&run->rig, SLOW_LINK)) {
        print_message("%s\n", run->rig.failure.text);
        lt_rig_close(&run->rig);
        fail();
    }
    assert_true(lt_buyers_start(
        &run->buyers,
        &(struct lt_buyers_options){.service = &run->rig.service,
                                    .sandbox = &run->rig.sandbox,
                                    .sale = "s",
                                    .threads = plan->threads,
                                    .buyers = (unsigned)(plan->stock + plan->stock / 2),
                                    .think_ms = plan->think_ms}));
}

struct progress {
    const struct run *run;
    long percent;
};

static bool has_sold(void *arg)
{
    const struct progress *progress = arg;
    const struct run *run = progress->run;

    return atomic_load(&run->buyers.counts.sold) >= run->stock * progress->percent / 100;
}

static bool wait_until_sold(const struct run *run, long percent)
{
    return lt_eventually(has_sold, &(struct progress){run, percent}, FINISH_MS);
}

/* Sell the middle 80 % of the stock, and meanwhile do `look`. */
static void measure(struct run *run, void (*look)(struct run *run))
{
    const struct lt_buyers_counts *counts = &run->buyers.counts;

    assert_true(wait_until_sold(run, 10));
    run->began_ns = clock_ns();
    unsigned asked = atomic_load(&counts->answers);
    unsigned accepted = atomic_load(&counts->sold);
    if (look) look(run);
    assert_true(wait_until_sold(run, 90));
    run->ended_ns = clock_ns();
    double span_s = (double)(run->ended_ns - run->began_ns) / 1e9;
    run->asked = (atomic_load(&counts->answers) - asked) / span_s;
    run->accepted = (atomic_load(&counts->sold) - accepted) / span_s;
}

static int by_size(const void *left, const void *right)
{
    int64_t a = *(const int64_t *)left;
    int64_t b = *(const int64_t *)right;

    return (a > b) - (a < b);
}

/* How long the accepted purchases took, as the clients wrote it down. */
static bool read_spans(struct run *run, struct failure *failure)
{
    size_t count = 0;
    struct facts facts;
    char path[LT_PATH_MAX + 64];
    bool is_read = true;

    facts_init(&facts);
    for (unsigned i = 0; i < run->buyers.options.threads && is_read; i++) {
        (void)snprintf(path, sizeof path, "%s/clients-s-%u.jsonl", run->rig.sandbox.dir, i);
        is_read = client_log_read(&facts, path, failure);
    }
    int64_t *spans_ms = calloc(facts.ask_count + 1, sizeof *spans_ms);
    if (!spans_ms) abort();
    for (size_t i = 0; i < facts.ask_count; i++) {
        const struct ask *ask = &facts.asks[i];

        if (ask->answer == ANSWER_CREATED && ask->invoked_ns > run->began_ns &&
            ask->answered_ns < run->ended_ns)
            spans_ms[count++] = (ask->answered_ns - ask->invoked_ns) / 1000000;
    }
    qsort(spans_ms, count, sizeof *spans_ms, by_size);
    run->p99_ms = spans_ms[count * 99 / 100];
    free(spans_ms);
    facts_done(&facts);
    return is_read;
}

/* Everybody is told for sure, the audit passes, no accepted order was asked for in vain. */
static void end(struct run *run, const char *name)
{
    const struct lt_buyers_counts *counts = &run->buyers.counts;
    struct failure failure = {.text = ""};
    bool is_finished = lt_buyers_finish(&run->buyers, FINISH_MS);
    bool is_judged =
        lt_buyers_judge(&run->buyers, &run->audit, &failure) && read_spans(run, &failure);

    print_message("# %s: %.0f answers/s, %.0f/s accepted with p99 %lld ms; %u of %ld sold, %u "
                  "unavailable, %u unknown, %u unanswered, %u promises broken; audit %s\n",
                  name, run->asked, run->accepted, (long long)run->p99_ms, counts->sold, run->stock,
                  counts->unavailable, counts->unknown, counts->unanswered, counts->broken,
                  is_judged ? audit_verdict_name(run->audit.verdict) : failure.text);
    lt_rig_close(&run->rig);
    assert_true(is_finished);
    assert_true(is_judged);
    assert_int_equal(run->audit.verdict, AUDIT_PASS);
    assert_int_equal(counts->sold, run->stock);
    assert_int_equal(counts->broken + counts->unknown + counts->unanswered, 0);
}

/* ---- what is seen meanwhile --------------------------------------------------------------------------- */

/* Somebody who has an order already: if let in, he gets no other. */
static void find_winner(const struct run *run, char *out, size_t size)
{
    assert_true(lt_sandbox_redis_commands(&run->rig.sandbox, "HRANDFIELD seckill:{s}:orders\n"));
    lt_sandbox_read(&run->rig.sandbox, "answers", out, size);
    out[strcspn(out, "\r\n")] = '\0';
    assert_true(out[0] != '\0');
}

static void ask_as(const struct run *run, const char *buyer, char *out, size_t size)
{
    char request[256];
    int fd = -1;

    (void)snprintf(request, sizeof request,
                   "POST /api/v1/sales/s/orders HTTP/1.1\r\nHost: many\r\nX-User-Id: %s\r\n"
                   "Connection: close\r\nContent-Length: 0\r\n\r\n",
                   buyer);
    assert_true(
        lt_http_ask(&fd, lt_port_of(run->rig.service.instances[0].url), request, out, size));
    lt_hang_up(&fd);
}

static void who_is_refused_is_told_when_to_come_again(struct run *run)
{
    char winner[64];
    char answer[2048] = "";
    unsigned probes = 0;

    find_winner(run, winner, sizeof winner);
    while (!strstr(answer, "/problems/overloaded") && probes++ < PROBES_MAX)
        ask_as(run, winner, answer, sizeof answer);
    assert_true(probes <= PROBES_MAX);
    assert_int_equal(strncmp(answer, "HTTP/1.1 503 ", 13), 0);
    assert_non_null(strstr(answer, "\r\nRetry-After: 1\r\n"));
}

static void look_around(struct run *run)
{
    long threads = process_status(run->rig.instances[0].pid, "Threads:");

    who_is_refused_is_told_when_to_come_again(run);
    assert_true(wait_until_sold(run, 80));
    assert_true(threads > 0);
    assert_int_equal(process_status(run->rig.instances[0].pid, "Threads:"), threads);
}

/* ---- tests -------------------------------------------------------------------------------------------- */

TEST(ten_times_too_many_cost_those_let_in_no_time_and_nobody_an_order)
{
    static const struct plan calm = {.threads = 16, .stock = 300};
    static const struct plan rush = {.threads = 128, .think_ms = 40, .stock = 500};
    static struct run alone;
    static struct run crowded;

    begin(&alone, &calm);
    measure(&alone, NULL);
    end(&alone, "what it can serve");
    begin(&crowded, &rush);
    measure(&crowded, look_around);
    end(&crowded, "ten times that");

    assert_in_range(crowded.p99_ms, 0, 2 * alone.p99_ms + SLACK_MS);
    assert_true(crowded.accepted >= alone.accepted * 0.8); /* being asked does not keep it busy */
    if (crowded.asked < TIMES * alone.asked) fail_msg("void: that was no rush");
}

GROUP(testing_ignore_sigpipe, NULL);
