/*
 * The tables are made from lists of kinds: a new kind of lock is one line in one of them. The sums
 * are medians, with what lies around them. One thread.
 */
#include "plan.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    CROWD = 8,       /* owners that contend for one lock */
    HELD = 10000,    /* locks that are renewed */
    READERS = 5000,  /* who stay while others leave */
    PASS_EVERY = 10, /* seconds between two passes: a third of the default lease */
};

/* Kinds that are taken and given back, and who else offers them. */
static const struct {
    const char *name;
    library_id rival; /* LOCKKIT: none */
} kinds[] = {
    {"mutex", REDIS_PY},   {"reentrant", REDISSON}, {"spin", REDISSON},  {"fenced", REDISSON},
    {"fair", REDISSON},    {"read", REDISSON},      {"write", REDISSON}, {"multi", REDISSON},
    {"permits", REDISSON}, {"semaphore", REDISSON},
};
enum { KIND_COUNT = sizeof kinds / sizeof kinds[0], SIMPLE_KINDS = 2 };

static const unsigned crowds[] = {1, 8, 64}; /* waiters in a hand-over */
enum { CROWD_COUNT = sizeof crowds / sizeof crowds[0] };

const char *plan_library_name(library_id library)
{
    static const char *const names[] = {[LOCKKIT] = "lockkit",
                                        [REDISSON] = "redisson",
                                        [REDIS_PY] = "redis-py",
                                        [REDSYNC] = "redsync"};

    return names[library];
}

void plan_task_name(const struct task *task, char *out, size_t size)
{
    static const char *const works[] = {
#define WORK_NAME(value, name) [value] = (name),
        WORK_LIST(WORK_NAME)
#undef WORK_NAME
    };

    (void)snprintf(out, size, "%s %s %s %u%s", works[task->work], plan_library_name(task->library),
                   task->kind, task->size, task->is_tcp ? " tcp" : "");
}

/* ---- building the tables -------------------------------------------------------------------- */

/* The task of this description; made if there is none yet. */
static const struct task *task_of(struct plan *plan, struct task like)
{
    for (size_t i = 0; i < plan->task_count; i++) {
        const struct task *task = &plan->tasks[i];

        if (task->work == like.work && task->library == like.library && task->size == like.size &&
            task->is_tcp == like.is_tcp && strcmp(task->kind, like.kind) == 0)
            return task;
    }
    assert(plan->task_count < TASKS_MAX);
    like.is_wanted = true;
    plan->tasks[plan->task_count] = like;
    return &plan->tasks[plan->task_count++];
}

static struct row *add_row(struct plan *plan, const char *unit, struct quantity over,
                           struct quantity under)
{
    struct row *row = &plan->rows[plan->row_count++];

    assert(plan->row_count <= ROWS_MAX);
    *row = (struct row){.unit = unit, .over = over, .under = under, .is_wanted = true};
    return row;
}

#define NAME(row, ...)   ((void)snprintf((row)->name, sizeof(row)->name, __VA_ARGS__))
#define FIGURE(row, ...) ((void)snprintf((row)->figure, sizeof(row)->figure, __VA_ARGS__))

static const struct quantity one = {0};

static void add_pair(struct plan *plan, const char *kind, bool is_tcp, bool is_promised)
{
    const struct task *task =
        task_of(plan, (struct task){.work = WORK_PAIR, .kind = kind, .size = 1, .is_tcp = is_tcp});
    const struct quantity over = {.task = task};
    const struct quantity under = {.task = task, .value = 1};
    struct row *row = add_row(plan, "", over, under);

    NAME(row, "pair-%s%s", kind, is_tcp ? "-tcp" : "");
    FIGURE(row, "%s acquire + release ÷ two bare round trips%s", kind, is_tcp ? ", TCP" : "");
    if (!is_promised) return;
    row->must = 1.15;
    row->aim = 1.05;
}

static void add_handover(struct plan *plan, const char *kind, unsigned waiters)
{
    static const char *const names[] = {"p50", "p99"};
    const struct task *task =
        task_of(plan, (struct task){.work = WORK_HANDOVER, .kind = kind, .size = waiters});

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        struct row *row = add_row(plan, "us", (struct quantity){.task = task, .value = i}, one);

        NAME(row, "handover-%s-%u-%s", kind, waiters, names[i]);
        FIGURE(row, "%s release to next owner, %u waiting, %s", kind, waiters, names[i]);
        if (i == 0 && waiters == 1 && strcmp(kind, "mutex") == 0) row->must = 1000;
    }
}

/* As the design wants it: compared with two round trips on the same kind of connection, after as long a pause. */
static void add_handover_trips(struct plan *plan)
{
    const struct task *task =
        task_of(plan, (struct task){.work = WORK_HANDOVER, .kind = "mutex", .size = 1});
    const struct quantity over = {.task = task};
    const struct quantity under = {.task = task, .value = 2};
    struct row *row = add_row(plan, "", over, under);

    NAME(row, "handover-mutex-1-trips");
    FIGURE(row, "mutex release to next owner, p50 ÷ two bare trips after a pause");
    row->must = 1;
    row->aim = 0.75;
}

static void add_rate(struct plan *plan, const char *kind)
{
    const struct task *task =
        task_of(plan, (struct task){.work = WORK_RATE, .kind = kind, .size = CROWD});
    struct row *row = add_row(plan, "/s", (struct quantity){.task = task}, one);

    row->is_higher_better = true;
    NAME(row, "rate-%s", kind);
    FIGURE(row, "%s acquisitions by %d owners in 2 processes", kind, CROWD);
}

static void add_renewal(struct plan *plan)
{
    const struct task *task =
        task_of(plan, (struct task){.work = WORK_PASS, .kind = "reentrant", .size = HELD});
    struct row *row = add_row(plan, "s", (struct quantity){.task = task}, one);

    row->must = 1;
    NAME(row, "renewal-pass");
    FIGURE(row, "a pass over %d held locks, all due at once", HELD);
    row = add_row(plan, "%",
                  (struct quantity){.task = task, .value = 1, .factor = 0.1 / PASS_EVERY}, one);
    NAME(row, "renewal-share");
    FIGURE(row, "%d held locks, a pass every %d s: share of a core", HELD, PASS_EVERY);
}

static void add_leave(struct plan *plan)
{
    const struct task *task =
        task_of(plan, (struct task){.work = WORK_LEAVE, .kind = "read", .size = READERS});
    const struct quantity over = {.task = task};
    const struct quantity under = {.task = task, .value = 1};
    struct row *row = add_row(plan, "", over, under);

    row->must = 2;
    row->aim = 1.2;
    NAME(row, "read-leave");
    FIGURE(row, "read lock released beside %d other readers ÷ beside none", READERS);
}

/* Five servers against one, or against five that are well. */
static void add_redlocks(struct plan *plan)
{
    static const struct {
        const char *kind, *name, *figure;
        double must, aim;
    } rows[] = {
        {"far", "redlock-far", "redlock on 5 servers 2 ms away ÷ on one of them", 2, 1.3},
        {"redlock", "redlock-local", "redlock on 5 servers of this machine ÷ on one", 0, 0},
        {"mutex", "redlock-mutex", "redlock on 5 servers of this machine ÷ mutex on one", 0, 0},
        {"dead", "redlock-dead", "redlock on 5 servers, one dead ÷ all well", 1.5, 1},
        {"slow", "redlock-slow", "redlock on 5 servers, one 50 ms slow ÷ all well", 1.5, 1},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct task *task =
            task_of(plan, (struct task){.work = WORK_QUORUM, .kind = rows[i].kind, .size = 5});
        const struct quantity over = {.task = task};
        const struct quantity under = {.task = task, .value = 1};
        struct row *row = add_row(plan, "", over, under);

        NAME(row, "%s", rows[i].name);
        FIGURE(row, "%s", rows[i].figure);
        row->must = rows[i].must;
        row->aim = rows[i].aim;
    }
}

static const char *const rival_names[] = {
    [REDISSON] = "Redisson's", [REDIS_PY] = "redis-py's", [REDSYNC] = "redsync's"};

/* The same work by another library: how much longer it takes, or how much less it does. */
static struct row *add_rival(struct plan *plan, struct task task, library_id rival)
{
    bool is_rate = task.work == WORK_RATE;
    struct quantity ours = {.task = task_of(plan, task)};

    task.library = rival;
    struct quantity theirs = {.task = task_of(plan, task)};
    struct row *row = add_row(plan, "", is_rate ? ours : theirs, is_rate ? theirs : ours);
    row->is_higher_better = true;
    return row;
}

static void add_rival_handover(struct plan *plan, const char *kind, library_id rival,
                               unsigned waiters)
{
    struct row *row =
        add_rival(plan, (struct task){.work = WORK_HANDOVER, .kind = kind, .size = waiters}, rival);

    NAME(row, "%s-handover-%u-p50", plan_library_name(rival), waiters);
    FIGURE(row, "%s hand-over, %u waiting, p50: %s ÷ ours", kind, waiters, rival_names[rival]);
}

static struct row *add_rival_rate(struct plan *plan, const char *kind, library_id rival,
                                  unsigned owners)
{
    struct row *row =
        add_rival(plan, (struct task){.work = WORK_RATE, .kind = kind, .size = owners}, rival);

    if (owners == 1) {
        NAME(row, "%s-pair", plan_library_name(rival));
        FIGURE(row, "%s, uncontended pairs per second: ours ÷ %s", kind, rival_names[rival]);
    } else {
        NAME(row, "%s-rate-%s", plan_library_name(rival), kind);
        FIGURE(row, "%s acquisitions by %d owners: ours ÷ %s", kind, CROWD, rival_names[rival]);
    }
    return row;
}

static void add_rivals(struct plan *plan)
{
    (void)add_rival_rate(plan, "mutex", REDIS_PY, 1);
    add_rival_rate(plan, "mutex", REDSYNC, 1)->must = 1.5;
    add_rival_rate(plan, "reentrant", REDISSON, 1)->must = 3;
    for (size_t i = 0; i < SIMPLE_KINDS; i++)
        for (size_t k = 0; k < CROWD_COUNT; k++)
            add_rival_handover(plan, kinds[i].name, kinds[i].rival, crowds[k]);
    for (size_t i = 0; i < KIND_COUNT; i++)
        (void)add_rival_rate(plan, kinds[i].name, kinds[i].rival, CROWD);
    add_rival_rate(plan, "mutex", REDSYNC, CROWD)->must = 1.5;
    struct row *row = add_rival(
        plan, (struct task){.work = WORK_UPKEEP, .kind = "reentrant", .size = HELD}, REDISSON);
    NAME(row, "redisson-renewal-cpu");
    FIGURE(row, "%d held locks, CPU of a pass: Redisson's ÷ ours", HELD);
}

void plan_make(struct plan *plan)
{
    *plan = (struct plan){.task_count = 0};
    add_pair(plan, "mutex", false, true);
    add_pair(plan, "mutex", true, true);
    for (size_t i = 1; i < KIND_COUNT; i++)
        add_pair(plan, kinds[i].name, false, false);
    for (size_t i = 0; i < SIMPLE_KINDS; i++)
        for (size_t k = 0; k < CROWD_COUNT; k++)
            add_handover(plan, kinds[i].name, crowds[k]);
    add_handover_trips(plan);
    for (size_t i = 0; i < KIND_COUNT; i++)
        add_rate(plan, kinds[i].name);
    add_renewal(plan);
    add_leave(plan);
    add_redlocks(plan);
    add_rivals(plan);
}

/* ---- choosing ------------------------------------------------------------------------------- */

static bool starts_with(const char *text, const char *start)
{
    return strncmp(text, start, strlen(start)) == 0;
}

static void want(struct plan *plan, const struct task *task)
{
    if (task) plan->tasks[task - plan->tasks].is_wanted = true;
}

bool plan_only(struct plan *plan, const char *const *starts, size_t count, const char **out_unknown)
{
    for (size_t i = 0; i < plan->task_count; i++)
        plan->tasks[i].is_wanted = false;
    for (size_t i = 0; i < plan->row_count; i++)
        plan->rows[i].is_wanted = false;
    for (size_t k = 0; k < count; k++) {
        *out_unknown = starts[k];
        for (size_t i = 0; i < plan->row_count; i++) {
            struct row *row = &plan->rows[i];

            if (!starts_with(row->name, starts[k])) continue;
            *out_unknown = NULL;
            row->is_wanted = true;
            want(plan, row->over.task);
            want(plan, row->under.task);
        }
        if (*out_unknown) return false;
    }
    return true;
}

/* splitmix64: a good number from any other. */
static uint64_t mix(uint64_t number)
{
    number += 0x9e3779b97f4a7c15U;
    number = (number ^ (number >> 30)) * 0xbf58476d1ce4e5b9U;
    number = (number ^ (number >> 27)) * 0x94d049bb133111ebU;
    return number ^ (number >> 31);
}

uint64_t plan_chance(uint64_t seed, uint64_t number)
{
    return mix(seed ^ mix(number));
}

void plan_shuffle(size_t *out_order, size_t count, uint64_t seed, uint64_t round)
{
    uint64_t number = plan_chance(seed, round);

    for (size_t i = 0; i < count; i++) { /* Fisher-Yates, inside out */
        number = mix(number);
        size_t at = (size_t)(number % (i + 1));
        out_order[i] = out_order[at];
        out_order[at] = i;
    }
}

/* ---- sums ----------------------------------------------------------------------------------- */

static int by_size(const void *a, const void *b)
{
    double left = *(const double *)a;
    double right = *(const double *)b;

    return (left > right) - (left < right);
}

struct spread plan_spread(double *numbers, size_t count)
{
    qsort(numbers, count, sizeof *numbers, by_size);
    double middle =
        count % 2 ? numbers[count / 2] : (numbers[count / 2 - 1] + numbers[count / 2]) / 2;
    return (struct spread){.median = middle, .least = numbers[0], .most = numbers[count - 1]};
}

double plan_quantile(double *numbers, size_t count, double share)
{
    qsort(numbers, count, sizeof *numbers, by_size);
    size_t at = (size_t)ceil(share * (double)count);
    return numbers[at > 0 ? at - 1 : 0];
}

static double quantity_at(const struct quantity *quantity, size_t round)
{
    if (!quantity->task) return 1;
    double value = quantity->task->values[quantity->value][round];
    return quantity->factor > 0 ? value * quantity->factor : value;
}

static const struct task *in_doubt(const struct row *row)
{
    if (row->over.task->doubt[0]) return row->over.task;
    return row->under.task && row->under.task->doubt[0] ? row->under.task : NULL;
}

static struct spread spread_of_copy(const double *numbers, size_t count)
{
    double sorted[ROUNDS_MAX];

    memcpy(sorted, numbers,
           count * sizeof *sorted); /* the repeats stay in the order of the rounds */
    return plan_spread(sorted, count);
}

void plan_result(const struct row *row, struct result *out)
{
    const struct task *doubtful = in_doubt(row);

    *out = (struct result){.count = row->over.task->rounds};
    if (row->under.task && row->under.task->rounds < out->count)
        out->count = row->under.task->rounds;
    if (doubtful || out->count == 0) {
        out->doubt = doubtful ? doubtful->doubt : "not measured";
        out->is_absent = doubtful && doubtful->is_absent;
        return;
    }
    for (size_t i = 0; i < out->count; i++) {
        out->over[i] = quantity_at(&row->over, i);
        out->under[i] = quantity_at(&row->under, i);
        out->repeats[i] = out->over[i] / out->under[i];
    }
    out->spread = spread_of_copy(out->repeats, out->count);
    out->over_spread = spread_of_copy(out->over, out->count);
    out->under_spread = spread_of_copy(out->under, out->count);
    out->is_ok = isfinite(out->spread.median) && out->spread.median > 0 &&
                 (row->must <= 0 || (row->is_higher_better ? out->spread.median >= row->must
                                                           : out->spread.median <= row->must));
}
