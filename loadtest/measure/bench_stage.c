/*
 * Opening, closing, and ratios: the two rates of one are measured right after the other, in an order
 * that is shuffled too. One thread.
 */
#include "bench_stage.h"

#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

enum { WARM_UP_S = 1, FEW_CONNECTIONS = 32 };

void bench_stage_print(const struct bench_stage *stage, const char *format, ...)
{
    va_list arguments;

    if (stage->options->is_quiet) return;
    va_start(arguments, format);
    (void)vprintf(format, arguments);
    va_end(arguments);
    (void)fflush(stdout);
}

/* ---- opening and closing ---- */

static bool make_folder(char out[RUN_PATH_MAX], const char *parent, const char *name,
                        struct failure *failure)
{
    (void)snprintf(out, RUN_PATH_MAX, "%.900s/%.100s", parent, name);
    return mkdir(out, 0755) == 0 || failure_set(failure, "%s: %s", out, failure_errno_text());
}

bool bench_stage_open(struct bench_stage *stage, const char *name)
{
    for (int i = 0; i < 2; i++)
        stage->sites[i].options = *stage->options;
    return make_folder(stage->dir, stage->run_dir, name, stage->failure);
}

bool bench_stage_open_site(struct bench_stage *stage, struct bench_site *site, const char *name)
{
    if (!make_folder(site->dir, stage->dir, name, stage->failure)) return false;
    if (!service_start(&site->service, &site->options, stage->connections, site->dir,
                       stage->failure))
        return false;
    site->ledger = ledger_open(site->service.redis_url, stage->failure);
    if (!site->ledger) return false;
    struct bench_machine *machine = &stage->bench->machine;
    if (machine->cores) return true;
    bench_machine_read(machine, &site->service, site->ledger, site->dir);
    if (stage->place) { /* each has its own */
        (void)stpcpy(machine->appendonly, "by place");
        (void)stpcpy(machine->appendfsync, "by place");
    }
    return true;
}

struct guard_list bench_stage_guards(const struct bench_stage *stage)
{
    const struct bench *bench = stage->bench;
    struct guard_list guards = {.count = 0};

    for (int i = 0; i < bench->point_count; i++) {
        const char *name = bench->points[i].guard;
        if (bench->points[i].place == stage->place && !guard_list_find(&guards, name))
            guards.list[guards.count++] = *guard_list_find(&bench->guards, name);
    }
    return guards;
}

bool bench_stage_add_needs(struct bench_stage *stage, const struct guard_list *guards)
{
    struct options *options = &stage->sites[0].options;

    guard_list_collect_needs(guards, options->needs);
    if (options->redlock || !guard_list_needs(guards, "--redlock")) return true;
    options->redlock = stage->urls;
    return bench_servers_add_locks(&stage->servers, stage->dir, BENCH_LOCK_SERVERS, stage->urls,
                                   stage->failure);
}

void bench_stage_close(struct bench_stage *stage)
{
    for (int i = 0; i < 2; i++) {
        struct bench_site *site = &stage->sites[i];

        ledger_close(site->ledger);
        site->ledger = NULL;
        if (!site->dir[0]) continue;
        service_stop(&site->service);
        service_discard_data(site->dir); /* of orders nobody audits: hundreds of megabytes */
    }
    bench_servers_stop(&stage->servers);
    memset(stage->dir, 0, sizeof *stage - offsetof(struct bench_stage, dir));
}

bool bench_stage_ask(struct bench_stage *stage, bench_at at, struct bench_task *task,
                     struct bench_count *out_count)
{
    struct bench_site *site = &stage->sites[stage->has_two_sites ? (int)at : 0];
    struct bench_field field = {stage->options, site->dir, &site->service, site->ledger};

    task->instance = stage->has_two_sites ? 0 : (int)at;
    if (!task->duration_s) task->duration_s = stage->options->duration_s;
    return bench_round_measure(&field, task, out_count, stage->failure);
}

/* ---- what the segments take ---- */

/* Processor time used so far by the instance and the primaries of a site. */
struct bench_used {
    double service_us, redis_us;
};

/* 0 for one that is not there. */
static double used_by(pid_t pid)
{
    struct timespec used = {.tv_sec = 0};
    clockid_t clock = 0;

    if (pid <= 0 || clock_getcpuclockid(pid, &clock) != 0 || clock_gettime(clock, &used) != 0)
        return 0;
    return (double)used.tv_sec * 1e6 + (double)used.tv_nsec / 1e3;
}

static struct bench_used used_at(const struct bench_stage *stage, bench_at at)
{
    struct bench_used used = {used_by(stage->sites[at].service.instances[0].process.pid), 0};

    for (const pid_t *pid = stage->redis[at]; *pid; pid++)
        used.redis_us += used_by(*pid);
    return used;
}

/* What it took by the processor, for the simulation of more masters. */
static void add_take(struct bench_stage *stage, int which, const struct bench_used *before,
                     const struct bench_count *count)
{
    struct bench_take *take = &stage->bench->takes[which];
    struct bench_used after =
        used_at(stage, which == BENCH_TAKE_THREE ? BENCH_AT_SECOND : BENCH_AT_FIRST);
    double orders = (double)count->accepted;

    if (orders <= 0 || count->since.round_trips <= 0) return;
    spread_add(&take->service_us, (after.service_us - before->service_us) / orders);
    spread_add(&take->redis_us, (after.redis_us - before->redis_us) / orders);
    spread_add(&take->batch, orders / count->since.round_trips);
}

static bool measure_side(struct bench_stage *stage, const struct bench_figure *figure, bool is_over,
                         struct bench_task *task, struct bench_count *out_count)
{
    const struct bench_side *side = is_over ? figure->over : figure->under;
    struct bench_used before = used_at(stage, side->at);

    task->kind = side->kind;
    task->guard = side->guard;
    task->segments = side->segments;
    if (!bench_stage_ask(stage, side->at, task, out_count)) return false;
    if (figure == &bench_figures[BENCH_SEGMENTS])
        add_take(stage, is_over ? BENCH_TAKE_THREE : BENCH_TAKE_ONE, &before, out_count);
    return true;
}

/* The same Redis with small batches: what a batch costs it besides its purchases. */
static bool take_few(struct bench_stage *stage, long round)
{
    struct bench_task task = {
        .kind = BENCH_PURCHASE, .guard = "mutex", .connections = FEW_CONNECTIONS};
    struct bench_used before = used_at(stage, BENCH_AT_FIRST);
    struct bench_count count;

    (void)snprintf(task.tag, sizeof task.tag, "few%ld", round);
    if (!bench_stage_ask(stage, BENCH_AT_FIRST, &task, &count)) return false;
    add_take(stage, BENCH_TAKE_FEW, &before, &count);
    return true;
}

void bench_stage_count_in(struct bench_row *row, const struct bench_count *count)
{
    row->accepted += count->accepted;
    row->refused += count->refused;
    bench_set_doubt(row->doubt, "%s", count->doubt);
}

static bool measure_ratio(void *arg, long round, int id)
{
    struct bench_stage *stage = arg;
    struct bench_row *row = &stage->bench->rows[id];
    struct bench_count counts[2];
    uint64_t stream = ((uint64_t)round << 8) + (uint64_t)id + 1;
    int sides[2];

    if (!row->is_wanted || row->figure->stage != stage->kind) return true;
    bench_shuffle(sides, 2, stage->bench->seed, stream);
    for (int turn = 0; turn < 2; turn++) {
        struct bench_task task = {.connections = row->figure->connections,
                                  .sales = row->figure->sales};
        (void)snprintf(task.tag, sizeof task.tag, "r%ld-f%d%c", round, id, "ab"[sides[turn]]);
        if (!measure_side(stage, row->figure, sides[turn] == 0, &task, &counts[sides[turn]]))
            return false;
        bench_stage_count_in(row, &counts[sides[turn]]);
    }
    bench_add_ratio(row, counts[0].per_s, counts[1].per_s);
    const char *doubt = counts[counts[0].doubt[0] ? 0 : 1].doubt;
    char far[PROGRESS_WORDS_MAX];
    bench_stage_print(stage, "  %s  round %ld/%ld  %-20s %8.0f/s ÷ %8.0f/s = %.3f%s%s\n",
                      progress_step(&stage->bench->progress, far), round, stage->options->repeat,
                      row->figure->name, counts[0].per_s, counts[1].per_s,
                      row->repeats.values[row->repeats.count - 1], *doubt ? "  VOID: " : "", doubt);
    return id != BENCH_SEGMENTS || take_few(stage, round);
}

bool bench_stage_warm_up(struct bench_stage *stage, bench_at at, const char *guard,
                         long connections)
{
    struct bench_count ignored;
    struct bench_task task = {.kind = BENCH_PURCHASE,
                              .guard = guard,
                              .connections = connections,
                              .duration_s = WARM_UP_S};

    (void)snprintf(task.tag, sizeof task.tag, "w%d-%ld", (int)at, stage->bench->progress.done);
    return bench_stage_ask(stage, at, &task, &ignored);
}

bool bench_stage_measure(struct bench_stage *stage)
{
    const struct bench_rounds rounds = {stage->options->repeat, BENCH_RATIO_COUNT,
                                        stage->bench->seed, measure_ratio, stage};

    return bench_stage_warm_up(stage, BENCH_AT_FIRST, "mutex", BENCH_COST_CONNECTIONS) &&
           bench_stage_warm_up(stage, BENCH_AT_SECOND, "mutex", BENCH_COST_CONNECTIONS) &&
           bench_run_rounds(&rounds);
}

/* ---- points ---- */

/* A batch size is a setting of an instance: one more, for as long as it takes. */
static bool start_alone(struct bench_stage *stage, const struct bench_point *point)
{
    struct bench_site *site = &stage->sites[0];

    site->options.batch = point->batch;
    return service_add_instance(&site->service, &site->options, stage->connections, site->dir,
                                stage->failure) &&
           bench_stage_warm_up(stage, (bench_at)point->instance, point->guard, point->connections);
}

static bool measure_point(void *arg, long round, int which)
{
    struct bench_stage *stage = arg;
    struct bench_point *point = &stage->bench->points[which];
    struct bench_count count;
    char far[PROGRESS_WORDS_MAX];
    struct bench_task task = {
        .kind = BENCH_PURCHASE,
        .guard = point->guard,
        .connections = point->connections,
        .duration_s = point->duration_s,
        .may_refuse = true,
    };

    if (point->place != stage->place) return true;
    if (point->is_alone && !start_alone(stage, point)) return false;
    (void)snprintf(task.tag, sizeof task.tag, "k%ld-%d", round, which);
    if (!bench_stage_ask(stage, (bench_at)point->instance, &task, &count)) return false;
    if (point->is_alone) service_drop_instance(&stage->sites[0].service);
    bench_round_add_point(point, &count);
    bench_stage_print(
        stage,
        "  %s  round %ld/%ld  %-16s %5ld connections  batch %-4ld %8.0f/s  %8.3f round "
        "trips each%s%s\n",
        progress_step(&stage->bench->progress, far), round, stage->rounds, point->guard,
        point->connections, point->batch, count.per_s,
        count.accepted > 0 ? count.since.round_trips / (double)count.accepted : 0.0,
        count.doubt[0] ? "  VOID: " : "",
        count.doubt[0]        ? count.doubt
        : count.accepted == 0 ? "  nobody got the lock in time: no order in this round"
                              : "");
    return true;
}

bool bench_stage_measure_points(struct bench_stage *stage, long rounds)
{
    struct bench *bench = stage->bench;

    stage->rounds = rounds;
    return bench_run_rounds(&(struct bench_rounds){
        rounds, bench->point_count, bench->seed + (uint64_t)stage->round, measure_point, stage});
}
