/*
 * result.json: written to a file beside it, then moved, so that a reader never sees half of it. One
 * thread.
 */
#include <errno.h>
#include <stdio.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <jansson.h>

#include "moment.h"
#include "promise.h"
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

static void put(json_t *object, const char *name, json_t *value)
{
    (void)json_object_set_new(object, name, value); /* NULL is refused: the member is missing */
}

static json_t *counts_by_answer(const size_t counts[ANSWER_COUNT])
{
    json_t *object = json_object();
    for (int kind = 0; kind < ANSWER_COUNT; kind++)
        if (counts[kind]) put(object, answer_name((answer_kind)kind), count_of(counts[kind]));
    return object;
}

static json_t *latencies(const struct summary *summary)
{
    json_t *object = json_object();
    for (int kind = 0; kind < ANSWER_COUNT; kind++) {
        const struct latency *latency = &summary->latency[kind];
        if (latency->count == 0) continue;
        put(object, answer_name((answer_kind)kind),
            json_pack("{s:I,s:f,s:f}", "count", (json_int_t)latency->count, "p50_ms",
                      latency->p50_ms, "p99_ms", latency->p99_ms));
    }
    return object;
}

static void put_audit(json_t *object, const struct audit_result *audit)
{
    json_t *verdicts = json_object();
    json_t *words = json_object();
    json_t *kept = json_array();

    for (int i = 0; i < AUDIT_CHECK_COUNT; i++) {
        const struct audit_check *check = &audit->checks[i];
        put(verdicts, check->name, text(audit_verdict_name(check->verdict)));
        put(words, check->name, text(check->words));
    }
    for (int i = 0; i < PROMISE_COUNT; i++)
        (void)json_array_append_new(
            kept, json_pack("{s:i,s:s,s:s}", "promise", i + 1, "text", promises[i].text, "verdict",
                            audit_verdict_name(promise_verdict(&promises[i], audit))));
    put(object, "audit", verdicts);
    put(object, "audit_words", words);
    put(object, "promises", kept);
}

static void put_run(json_t *object, const struct verify_run *run)
{
    const struct summary *summary = &run->summary;

    put(object, "sale", text(run->sale));
    put(object, "initial", json_integer(summary->initial));
    put(object, "sold", count_of(summary->sold));
    put(object, "left", json_integer(summary->left));
    put(object, "buyers", count_of(summary->buyers));
    put(object, "requests", count_of(summary->requests));
    put(object, "replies", count_of(summary->replies));
    put(object, "unanswered", count_of(summary->unanswered));
    put(object, "accepted", count_of(summary->accepted));
    put(object, "replayed", count_of(summary->replayed));
    put(object, "refused", counts_by_answer(summary->refused));
    put(object, "uncertain", counts_by_answer(summary->uncertain));
    put(object, "unknown", count_of(run->audit.unknown));
    put(object, "duplicates", count_of(run->audit.duplicate_buyers));
    put(object, "seconds", number(summary->seconds));
    put(object, "purchases_per_s", number(summary->purchases_per_s));
    put(object, "replies_per_s", number(summary->replies_per_s));
    put(object, "latency", latencies(summary));
    put_audit(object, &run->audit);
    if (run->trouble[0]) put(object, "trouble", text(run->trouble));
    put(object, "verdict", text(audit_verdict_name(report_verdict(run))));
}

static json_t *settings(const struct options *options, const struct service *service)
{
    json_t *object = json_object();
    json_t *connections = json_array();

    for (int i = 0; i < options->connection_steps; i++)
        (void)json_array_append_new(connections, json_integer(options->connections[i]));
    put(object, "guard", text(options->guard));
    put(object, "batch", options->batch ? json_integer(options->batch) : json_null());
    put(object, "instances", json_integer(service->count));
    put(object, "connections", connections);
    put(object, "stock", json_integer(options->stock));
    put(object, "repeat", json_integer(options->repeat));
    if (options->against) {
        put(object, "against", text(options->against));
        put(object, "duration_s", json_integer(options->duration_s));
        return object;
    }
    put(object, "buyers", json_integer(options->buyers));
    put(object, "retry_share", number(options->retry_share));
    return object;
}

static json_t *environment(const struct service *service)
{
    struct utsname system = {.sysname = ""};
    char now[40];

    moment_rfc3339(now, sizeof now);
    (void)uname(&system); /* empty names then */
    return json_pack("{s:s,s:s,s:s,s:s,s:s,s:I}", "loadtest", SECKILL_VERSION, "seckilld",
                     service->version, "redis", service->redis_version, "kernel", system.release,
                     "finished_at", now, "cpus", (json_int_t)sysconf(_SC_NPROCESSORS_ONLN));
}

static json_t *memory(const struct service *service)
{
    json_t *object = json_object();
    for (int i = 0; i < service->count; i++) {
        const struct instance *instance = &service->instances[i];
        put(object, instance->name,
            instance->memory_kib >= 0 ? json_integer(instance->memory_kib) : json_null());
    }
    return object;
}

/* Takes `object`. */
static bool write_whole(const char *path, json_t *object, struct failure *failure)
{
    char part[RUN_PATH_MAX + 16];

    (void)snprintf(part, sizeof part, "%.1000s.part", path);
    int failed = json_dump_file(object, part, JSON_INDENT(2) | JSON_REAL_PRECISION(6));
    json_decref(object);
    if (failed || rename(part, path) != 0)
        return failure_set(failure, "%s: %s", path, errno_text());
    return true;
}

bool report_write(const char *path, const struct options *options, const struct service *service,
                  const struct verify_run *runs, int count, struct failure *failure)
{
    json_t *object = json_object();
    json_t *all = json_array();

    put(object, "mode", text("verify"));
    put_run(object, report_worst(runs, count));
    put(object, "settings", settings(options, service));
    put(object, "versions", environment(service));
    put(object, "peak_memory_kib", memory(service));
    for (int i = 0; i < count; i++) {
        json_t *run = json_object();
        put_run(run, &runs[i]);
        (void)json_array_append_new(all, run);
    }
    put(object, "runs", all);
    return write_whole(path, object, failure);
}

static json_t *count_json(const struct speed_count *count)
{
    return json_pack("{s:f,s:I,s:I,s:I,s:I,s:I}", "per_s", count->per_s, "requests",
                     (json_int_t)count->requests, "status_errors", (json_int_t)count->status_errors,
                     "socket_errors", (json_int_t)count->socket_errors, "p50_us",
                     (json_int_t)count->p50_us, "p99_us", (json_int_t)count->p99_us);
}

static json_t *spread_json(const struct spread *spread)
{
    return json_pack("{s:f,s:f,s:f}", "median", spread->median, "least", spread->least, "most",
                     spread->most);
}

static json_t *step_json(const struct speed_step *step)
{
    json_t *object = json_object();
    json_t *rounds = json_array();

    for (int i = 0; i < step->rounds; i++)
        (void)json_array_append_new(rounds, json_pack("{s:o,s:o,s:f}", "purchase",
                                                      count_json(&step->pairs[i].purchase), "page",
                                                      count_json(&step->pairs[i].page), "ratio",
                                                      step->pairs[i].ratio));
    put(object, "connections", json_integer(step->connections));
    put(object, "purchases_per_s", spread_json(&step->purchases_per_s));
    put(object, "pages_per_s", spread_json(&step->pages_per_s));
    put(object, "ratio", spread_json(&step->ratio));
    put(object, "rounds", rounds);
    return object;
}

bool report_write_speed(const char *path, const struct options *options,
                        const struct service *service, const struct speed_run *run,
                        struct failure *failure)
{
    json_t *object = json_object();
    json_t *steps = json_array();

    put(object, "mode", text("speed"));
    for (int i = 0; i < run->step_count; i++)
        (void)json_array_append_new(steps, step_json(&run->steps[i]));
    put(object, "steps", steps);
    put(object, "doubt", run->doubt[0] ? text(run->doubt) : json_null());
    put(object, "settings", settings(options, service));
    put(object, "versions", environment(service));
    put(object, "peak_memory_kib", memory(service));
    return write_whole(path, object, failure);
}
