/*
 * result.json of a verification or a speed run. One thread.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <jansson.h>

#include "base/clock.h"
#include "base/json_file.h"
#include "report.h"

static json_t *text(const char *words)
{
    return json_string(words);
}

static json_t *number(double value)
{
    return json_real(value);
}

static json_t *count_of(size_t value)
{
    return json_integer((json_int_t)value);
}

static json_t *counts_by_answer(const size_t counts[ANSWER_COUNT])
{
    json_t *object = json_object();
    for (int kind = 0; kind < ANSWER_COUNT; kind++)
        if (counts[kind])
            json_file_put(object, facts_answer_name((answer_kind)kind), count_of(counts[kind]));
    return object;
}

static json_t *latencies(const struct summary *summary)
{
    json_t *object = json_object();
    for (int kind = 0; kind < ANSWER_COUNT; kind++) {
        const struct latency *latency = &summary->latency[kind];
        if (latency->count == 0) continue;
        json_file_put(object, facts_answer_name((answer_kind)kind),
                      json_pack("{s:I,s:f,s:f,s:f,s:f,s:f}", "count", (json_int_t)latency->count,
                                "p50_ms", latency->p50_ms, "p90_ms", latency->p90_ms, "p99_ms",
                                latency->p99_ms, "p999_ms", latency->p999_ms, "most_ms",
                                latency->most_ms));
    }
    return object;
}

static json_t *series_json(const struct series *series)
{
    json_t *replies = json_object();

    for (int kind = 0; kind < ANSWER_COUNT; kind++) {
        json_t *counts = json_array();
        int64_t sum = 0;
        for (int i = 0; i < series->count; i++) {
            sum += series->replies[kind][i];
            (void)json_array_append_new(counts, json_integer(series->replies[kind][i]));
        }
        if (sum)
            json_file_put(replies, facts_answer_name((answer_kind)kind), counts);
        else
            json_decref(counts);
    }
    return json_pack("{s:I,s:i,s:o,s:o}", "slice_ms", (json_int_t)series->slice_ms, "slices",
                     series->count, "replies", replies, "sold_out_ms",
                     series->sold_out_ms < 0 ? json_null() : json_real(series->sold_out_ms));
}

static void put_audit(json_t *object, const struct audit_result *audit)
{
    json_t *verdicts = json_object();
    json_t *words = json_object();
    json_t *kept = json_array();

    for (int i = 0; i < audit->check_count; i++) {
        const struct audit_check *check = &audit->checks[i];
        if (!check->name) continue;
        json_file_put(verdicts, check->name, text(audit_verdict_name(check->verdict)));
        json_file_put(words, check->name, text(check->words));
    }
    for (int i = 0; i < audit->promise_count; i++)
        (void)json_array_append_new(
            kept, json_pack("{s:i,s:s,s:s}", "promise", i + 1, "text", promises[i].text, "verdict",
                            audit_verdict_name(audit_promise_verdict(&promises[i], audit))));
    json_file_put(object, "audit", verdicts);
    json_file_put(object, "audit_words", words);
    json_file_put(object, "promises", kept);
    json_file_put(object, "story", audit_story_json(&audit->story));
}

static json_t *payments(const struct audit_payments *payments)
{
    return json_pack("{s:I,s:I,s:I,s:I,s:I,s:I}", "held", (json_int_t)payments->held, "paid",
                     (json_int_t)payments->paid, "cancelled", (json_int_t)payments->cancelled,
                     "expired", (json_int_t)payments->expired, "refunds",
                     (json_int_t)payments->refunds, "refunds_owed", (json_int_t)payments->owed);
}

static json_t *load_json(const struct load_count *load)
{
    return json_pack("{s:I,s:I,s:I,s:I,s:I,s:I}", "connections", (json_int_t)load->asked,
                     "established", (json_int_t)load->established, "connect_errors",
                     (json_int_t)load->connect_errors, "read_errors", (json_int_t)load->read_errors,
                     "write_errors", (json_int_t)load->write_errors, "timeouts",
                     (json_int_t)load->timeouts);
}

/* What was asked for and what was sent comes first: all else is worth as much; and each answer's time. */
static void put_load(json_t *object, const struct verify_run *run)
{
    json_t *load = load_json(&run->load);
    char words[VERIFY_WORDS_MAX];

    verify_load_words(run, words);
    json_file_put(load, "failed", json_integer(verify_failed(run)));
    json_file_put(load, "buyers_asked", json_integer(run->buyers));
    json_file_put(load, "words", text(words));
    json_file_put(load, "void", run->shortage[0] ? text(run->shortage) : json_null());
    json_file_put(object, "load", load);
    json_file_put(object, "fault", json_file_words_or_null(run->fault));
    json_file_put(object, "latency_hgrm", text(run->latencies));
}

void report_json_put_run(json_t *object, const struct verify_run *run)
{
    const struct summary *summary = &run->summary;

    put_load(object, run);
    json_file_put(object, "sale", text(run->sale));
    json_file_put(object, "initial", json_integer(summary->initial));
    json_file_put(object, "sold", count_of(summary->sold));
    json_file_put(object, "left", json_integer(summary->left));
    json_file_put(object, "buyers", count_of(summary->buyers));
    json_file_put(object, "requests", count_of(summary->requests));
    json_file_put(object, "replies", count_of(summary->replies));
    json_file_put(object, "unanswered", count_of(summary->unanswered));
    json_file_put(object, "strays", count_of(summary->strays));
    json_file_put(object, "accepted", count_of(summary->accepted));
    json_file_put(object, "replayed", count_of(summary->replayed));
    json_file_put(object, "refused", counts_by_answer(summary->refused));
    json_file_put(object, "uncertain", counts_by_answer(summary->uncertain));
    json_file_put(object, "unknown", count_of(run->audit.unknown));
    json_file_put(object, "accepted_orders", count_of(run->audit.accepted));
    json_file_put(object, "lost", count_of(run->audit.lost));
    json_file_put(object, "lost_named_in", run->lost[0] ? text(run->lost) : json_null());
    json_file_put(object, "duplicates", count_of(run->audit.duplicate_buyers));
    json_file_put(object, "oversold", count_of(run->audit.oversold));
    json_file_put(object, "undersold", count_of(run->audit.undersold));
    json_file_put(object, "stuck_lock", json_boolean(run->audit.has_stuck_lock));
    json_file_put(object, "inversions", number(fairness_share(&run->audit.fairness)));
    json_file_put(object, "round_trips",
                  run->round_trips < 0 ? json_null() : number(run->round_trips));
    json_file_put(object, "seconds", number(summary->seconds));
    json_file_put(object, "purchases_per_s", number(summary->purchases_per_s));
    json_file_put(object, "replies_per_s", number(summary->replies_per_s));
    json_file_put(object, "latency", latencies(summary));
    json_file_put(object, "series", series_json(&run->summary.series));
    json_file_put(object, "locks", run->has_locks ? lock_times_json(&run->locks) : json_null());
    if (run->is_paid_for) json_file_put(object, "payments", payments(&run->audit.payments));
    put_audit(object, &run->audit);
    if (run->trouble[0]) json_file_put(object, "trouble", text(run->trouble));
    json_file_put(object, "verdict", text(audit_verdict_name(verify_verdict(run))));
}

/* A URL for people to read: USER[:PASS]@ is left out. */
static json_t *without_login(const char *url)
{
    const char *start = strstr(url, "://");
    const char *at = start ? strrchr(start, '@') : NULL;

    return at ? json_sprintf("%.*s%s", (int)(start + 3 - url), url, at + 1) : text(url);
}

static json_t *settings(const struct options *options, const struct service *service)
{
    json_t *object = json_object();
    json_t *connections = json_array();

    for (int i = 0; i < options->connection_steps; i++)
        (void)json_array_append_new(connections, json_integer(options->connections[i]));
    json_file_put(object, "guard", text(options->guard));
    json_file_put(object, "batch", options->batch ? json_integer(options->batch) : json_null());
    json_file_put(object, "instances", json_integer(service->count));
    json_file_put(object, "connections", connections);
    json_file_put(object, "stock", json_integer(options->stock));
    json_file_put(object, "repeat", json_integer(options->repeat));
    json_file_put(object, "redis", options->redis ? without_login(options->redis) : json_null());
    json_file_put(object, "sync_replicas", json_integer(options->sync_replicas));
    if (options->against) {
        json_file_put(object, "against", text(options->against));
        json_file_put(object, "duration_s", json_integer(options->duration_s));
        return object;
    }
    json_file_put(object, "segments", json_integer(options->segments));
    json_file_put(object, "buyers", json_integer(options->buyers));
    json_file_put(object, "retry_share", number(options->retry_share));
    json_file_put(object, "tokens", json_boolean(options->has_tokens));
    json_file_put(object, "pace", options->pace ? json_integer(options->pace) : json_null());
    json_file_put(object, "allow_lost", json_boolean(options->allow_lost));
    return object;
}

static json_t *environment(const struct service *service)
{
    struct utsname system = {.sysname = ""};
    char now[40];

    clock_rfc3339(now, sizeof now);
    (void)uname(&system); /* empty names then */
    return json_pack("{s:s,s:s,s:s,s:s,s:s,s:I}", "loadtest", SECKILL_VERSION, "seckilld",
                     service->version, "redis", service->redis_version, "kernel", system.release,
                     "finished_at", now, "cpus", (json_int_t)sysconf(_SC_NPROCESSORS_ONLN));
}

json_t *report_json_host(const struct bench_machine *machine)
{
    return json_pack("{s:s,s:I,s:I,s:s,s:s,s:s}", "cpu", machine->cpu, "cores",
                     (json_int_t)machine->cores, "memory_mib", (json_int_t)machine->memory_mib,
                     "kernel", machine->kernel, "wrk", machine->wrk, "commit", machine->commit);
}

void report_json_put_place(json_t *object, const struct options *options,
                           const struct service *service, const struct verify_run *run)
{
    json_file_put(object, "settings", settings(options, service));
    json_file_put(object, "versions", environment(service));
    json_file_put(object, "machine", report_json_host(&run->machine));
}

static json_t *memory(const struct service *service)
{
    json_t *object = json_object();
    for (int i = 0; i < service->count; i++) {
        const struct instance *instance = &service->instances[i];
        json_file_put(object, instance->name,
                      instance->memory_kib >= 0 ? json_integer(instance->memory_kib) : json_null());
    }
    return object;
}

bool report_json_write(const char *path, const struct drive_target *target,
                       const struct verify_run *runs, int count, struct failure *failure)
{
    json_t *object = json_object();
    json_t *all = json_array();

    json_file_put(object, "mode", text("verify"));
    report_json_put_run(object, report_worst(runs, count));
    report_json_put_place(object, target->options, target->service, report_worst(runs, count));
    json_file_put(object, "peak_memory_kib", memory(target->service));
    for (int i = 0; i < count; i++) {
        json_t *run = json_object();
        report_json_put_run(run, &runs[i]);
        (void)json_array_append_new(all, run);
    }
    json_file_put(object, "runs", all);
    return json_file_write(path, object, failure);
}

static json_t *count_json(const struct speed_count *count)
{
    return json_pack("{s:f,s:I,s:I,s:o,s:I,s:I}", "per_s", count->per_s, "requests",
                     (json_int_t)count->requests, "status_errors", (json_int_t)count->status_errors,
                     "load", load_json(&count->load), "p50_us", (json_int_t)count->p50_us, "p99_us",
                     (json_int_t)count->p99_us);
}

static json_t *step_json(const struct speed_step *step)
{
    json_t *object = json_object();
    json_t *rounds = json_array();

    for (int i = 0; i < step->rounds; i++)
        (void)json_array_append_new(rounds, json_pack("{s:o,s:o,s:f}", "purchase",
                                                      count_json(&step->pairs[i].purchase), "page",
                                                      count_json(&step->pairs[i].page), "ratio",
                                                      step->ratio.values[i]));
    json_file_put(object, "connections", json_integer(step->connections));
    json_file_put(object, "purchases_per_s", json_file_repeats(&step->purchases_per_s));
    json_file_put(object, "pages_per_s", json_file_repeats(&step->pages_per_s));
    json_file_put(object, "ratio", json_file_repeats(&step->ratio));
    json_file_put(object, "rounds", rounds);
    return object;
}

bool report_json_write_speed(const char *path, const struct drive_target *target,
                             const struct speed_run *run, struct failure *failure)
{
    json_t *object = json_object();
    json_t *steps = json_array();

    json_file_put(object, "mode", text("speed"));
    json_file_put(object, "doubt", run->doubt[0] ? text(run->doubt) : json_null());
    for (int i = 0; i < run->step_count; i++)
        (void)json_array_append_new(steps, step_json(&run->steps[i]));
    json_file_put(object, "steps", steps);
    json_file_put(object, "settings", settings(target->options, target->service));
    json_file_put(object, "versions", environment(target->service));
    json_file_put(object, "peak_memory_kib", memory(target->service));
    return json_file_write(path, object, failure);
}
