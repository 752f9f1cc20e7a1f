/*
 * Words for wrk, and what it answers. wrk runs until its script stops it (verification) or its
 * time is over (speed). One thread.
 */
#include "drive.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <jansson.h>

enum {
    STOP_GRACE_MS = 3000,
    REPLY_LIMIT_S = 30,
    WORD_MAX = RUN_PATH_MAX + 32,
    MORE_WORDS = 12,
};

/* The script of that name: of --wrk-dir, or near the executable. */
static bool find_script(struct drive *drive, const struct options *options, const char *name,
                        struct failure *failure)
{
    static const char *const folders[] = {"../../loadtest/wrk", "../share/seckill/wrk", "wrk",
                                          NULL};
    char dir[RUN_PATH_MAX];

    *drive = (struct drive){.count = 0};
    if (!options->wrk_dir)
        return programs_find(folders, name, drive->script, NULL) ||
               (programs_dir(dir, failure) &&
                failure_set(failure, "no %s near %s: give --wrk-dir", name, dir));
    (void)snprintf(drive->script, sizeof drive->script, "%s/%s", options->wrk_dir, name);
    return access(drive->script, R_OK) == 0 ||
           failure_set(failure, "--wrk-dir: %s: %s", drive->script, failure_errno_text());
}

/* One wrk: what it is told. */
struct wrk_words {
    const char *url;
    long connections;
    long duration_s;
    const char *more[MORE_WORDS + 1]; /* for the script; ends with NULL */
};

static bool start_wrk(struct drive *drive, const struct wrk_words *words, struct failure *failure)
{
    char connections[32];
    char duration[32];
    char timeout[32];
    const char *argv[12 + MORE_WORDS] = {"wrk",   "-t1", connections,   duration,   "--timeout",
                                         timeout, "-s",  drive->script, words->url, "--"};
    size_t count = 10;

    (void)snprintf(connections, sizeof connections, "-c%ld", words->connections);
    (void)snprintf(duration, sizeof duration, "-d%lds", words->duration_s);
    (void)snprintf(timeout, sizeof timeout, "%ds", REPLY_LIMIT_S);
    for (size_t i = 0; words->more[i]; i++)
        argv[count++] = words->more[i];
    const char *report = drive->reports[drive->count];
    return process_start(&drive->wrks[drive->count++], argv, report, report, failure);
}

static long share_of(long total, int part, int parts)
{
    return total / parts + (part < total % parts ? 1 : 0);
}

/* Files of the next wrk. */
static void name_files(struct drive *drive, const char *run_dir, const char *tag)
{
    int next = drive->count;
    (void)snprintf(drive->ledgers[next], RUN_PATH_MAX, "%.900s/clients-%s-%d.jsonl", run_dir, tag,
                   next + 1);
    (void)snprintf(drive->reports[next], RUN_PATH_MAX, "%.900s/wrk-%s-%d.log", run_dir, tag,
                   next + 1);
}

static bool start_buyers(struct drive *drive, const struct drive_target *target, const char *sale,
                         const char *tag, struct failure *failure)
{
    enum { WORDS = 8 };
    const struct options *options = target->options;
    const struct service *service = target->service;
    int me = drive->count;
    char text[WORDS][WORD_MAX];
    char pace[WORD_MAX];
    char tokens[WORD_MAX];
    size_t count = 0;
    struct wrk_words words = {
        .url = service->instances[me].url,
        .connections = share_of(options->connections[0], me, service->count),
        .duration_s = LONGEST_RUN_S,
    };

    name_files(drive, target->run_dir, tag);
    (void)snprintf(text[0], WORD_MAX, "sale=%s", sale);
    (void)snprintf(text[1], WORD_MAX, "ledger=%s", drive->ledgers[me]);
    (void)snprintf(text[2], WORD_MAX, "tag=%s", tag);
    (void)snprintf(text[3], WORD_MAX, "me=%d", me);
    (void)snprintf(text[4], WORD_MAX, "of=%d", service->count);
    (void)snprintf(text[5], WORD_MAX, "buyers=%ld", options->buyers);
    (void)snprintf(text[6], WORD_MAX, "share=%.6f", options->retry_share);
    (void)snprintf(text[7], WORD_MAX, "connections=%ld", words.connections);
    while (count < WORDS) {
        words.more[count] = text[count];
        count++;
    }
    if (options->pace) words.more[count++] = pace;
    (void)snprintf(pace, sizeof pace, "pace=%.6f", (double)options->pace / service->count);
    if (service->tokens) {
        (void)snprintf(tokens, sizeof tokens, "tokens=%s", tokens_path(service->tokens));
        words.more[count] = tokens;
    }
    return start_wrk(drive, &words, failure);
}

bool drive_purchases(struct drive *drive, const struct drive_target *target, const char *sale,
                     const char *tag, struct failure *failure)
{
    bool is_good = find_script(drive, target->options, "purchase.lua", failure);

    while (is_good && drive->count < target->service->count)
        is_good = start_buyers(drive, target, sale, tag, failure);
    if (!is_good) drive_stop(drive);
    return is_good;
}

static bool start_round(struct drive *drive, const struct drive_target *target,
                        const struct speed_round *round, struct failure *failure)
{
    int me = drive->count;
    char path[WORD_MAX];
    char method[32];
    char tag[64];
    char sales[32];
    char key[WORD_MAX];
    char connections[32];
    struct wrk_words words = {
        .url = target->service->instances[me].url,
        .connections = share_of(round->connections, me, target->service->count),
        .duration_s = round->duration_s,
        .more = {path, method, tag, connections,
                 round->sales ? sales
                 : round->key ? key
                              : NULL},
    };

    name_files(drive, target->run_dir, round->tag);
    (void)snprintf(path, sizeof path, "path=%s", round->path);
    (void)snprintf(sales, sizeof sales, "sales=%ld", round->sales);
    (void)snprintf(method, sizeof method, "method=%s", round->method);
    (void)snprintf(key, sizeof key, "key=%s", round->key ? round->key : "");
    (void)snprintf(tag, sizeof tag, "tag=%s-%d", round->tag, me);
    (void)snprintf(connections, sizeof connections, "connections=%ld", words.connections);
    return start_wrk(drive, &words, failure);
}

bool drive_speed(struct drive *drive, const struct drive_target *target,
                 const struct speed_round *round, struct failure *failure)
{
    bool is_good =
        find_script(drive, target->options, round->script ? round->script : "speed.lua", failure);

    while (is_good && drive->count < target->service->count)
        is_good = start_round(drive, target, round, failure);
    if (!is_good) drive_stop(drive);
    return is_good;
}

bool drive_is_running(struct drive *drive)
{
    bool is_running = false;
    for (int i = 0; i < drive->count; i++)
        is_running = process_is_running(&drive->wrks[i]) || is_running;
    return is_running;
}

void drive_stop(struct drive *drive)
{
    for (int i = 0; i < drive->count; i++)
        process_signal(&drive->wrks[i], SIGINT);
    for (int i = 0; i < drive->count; i++)
        if (!process_wait(&drive->wrks[i], STOP_GRACE_MS)) process_stop(&drive->wrks[i], 0);
}

bool drive_went_well(struct drive *drive, struct failure *failure)
{
    char ending[40];

    for (int i = 0; i < drive->count; i++) {
        const struct process *wrk = &drive->wrks[i];
        if (WIFEXITED(wrk->wait_status) && WEXITSTATUS(wrk->wait_status) == 0) continue;
        /* By us: it sat out an instance that is gone. Its ledger has all that it asked. */
        if (WIFSIGNALED(wrk->wait_status) && wrk->is_asked) continue;
        process_ending(wrk, ending, sizeof ending);
        return failure_set(failure, "wrk: %s, see %s", ending, drive->reports[i]);
    }
    return true;
}

/* The line of JSON that its script printed; NULL when it is not there. */
static json_t *read_report(const char *path)
{
    FILE *file = fopen(path, "re");
    char line[1024];
    json_t *report = NULL;

    while (file && !report && fgets(line, sizeof line, file))
        if (line[0] == '{') report = json_loads(line, 0, NULL);
    if (file) (void)fclose(file); /* read only */
    return report;
}

static long long count_in(const json_t *object, const char *name)
{
    return json_integer_value(json_object_get(object, name));
}

static void add_load(const json_t *report, struct load_count *load)
{
    load->asked += count_in(report, "connections");
    load->established += count_in(report, "established");
    load->connect_errors += count_in(report, "connect_errors");
    load->read_errors += count_in(report, "read_errors");
    load->write_errors += count_in(report, "write_errors");
    load->timeouts += count_in(report, "timeouts");
}

bool drive_is_established(const struct load_count *load)
{
    return load->established * 100 >= load->asked * 99;
}

long long drive_load_errors(const struct load_count *load)
{
    return load->connect_errors + load->read_errors + load->write_errors + load->timeouts;
}

struct load_count drive_read_load(const struct drive *drive)
{
    struct load_count load = {.asked = 0};

    for (int i = 0; i < drive->count; i++) {
        json_t *report = read_report(drive->reports[i]);
        if (report) add_load(report, &load);
        json_decref(report);
    }
    return load;
}

static void add_report(const json_t *report, struct speed_count *count)
{
    const json_t *latency = json_object_get(report, "latency_us");
    long long requests = count_in(report, "requests");
    long long duration_us = count_in(report, "duration_us");
    long p50_us = (long)count_in(latency, "p50");
    long p99_us = (long)count_in(latency, "p99");

    count->requests += requests;
    count->status_errors += count_in(report, "status_errors");
    add_load(report, &count->load);
    if (count->seconds <= 0 || (double)duration_us / 1e6 < count->seconds)
        count->seconds = (double)duration_us / 1e6;
    if (duration_us > 0) count->per_s += (double)requests * 1e6 / (double)duration_us;
    if (p50_us > count->p50_us) count->p50_us = p50_us;
    if (p99_us > count->p99_us) count->p99_us = p99_us;
}

bool drive_read_speed(const struct drive *drive, struct speed_count *out_count,
                      struct failure *failure)
{
    *out_count = (struct speed_count){.per_s = 0};
    for (int i = 0; i < drive->count; i++) {
        json_t *report = read_report(drive->reports[i]);
        if (!report)
            return failure_set(failure, "wrk printed no summary, see %s", drive->reports[i]);
        add_report(report, out_count);
        json_decref(report);
    }
    return true;
}
