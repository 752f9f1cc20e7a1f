/*
 * See scaling.h. Nobody has a name: a purchase is a number in a queue. What happens next is looked for among all, since
 * they are few. Pure.
 */
#include "scaling.h"

#include <math.h>
#include <stdlib.h>

#include "base/random.h"

enum { UNITS = 640000, CONNECTIONS = 1024, CHUNK = 32, MOVE_STEPS = 3 };
enum { LANES = SCALING_INSTANCES_MAX * SCALING_MASTERS_MAX };

static const double never = (double)INFINITY;

/* Purchases of an instance for a segment. */
struct lane {
    int waiting, sent; /* sent: in one batch; or they wait for units */
};

struct world {
    struct scaling_times times;
    struct random chance;
    int masters, instances;
    double now_us;
    double instance_at_us[SCALING_INSTANCES_MAX]; /* when its chunk is done */
    int asked[SCALING_INSTANCES_MAX], chunk[SCALING_INSTANCES_MAX];
    struct lane lanes[SCALING_INSTANCES_MAX][SCALING_MASTERS_MAX];
    double master_at_us[SCALING_MASTERS_MAX]; /* when its round is done */
    bool in_queue[SCALING_MASTERS_MAX][SCALING_INSTANCES_MAX];
    bool in_round[SCALING_MASTERS_MAX][SCALING_INSTANCES_MAX];
    int64_t stock[SCALING_MASTERS_MAX];
    int turns[LANES]; /* lanes that wait for units, a ring */
    size_t turn, turn_count;
    double turn_at_us; /* when the first of them has them */
    struct scaling_run run;
    int64_t sold;
};

static void serve_chunk(struct world *world, int i)
{
    if (world->chunk[i] > 0 || world->asked[i] == 0) return;
    world->chunk[i] = world->asked[i] < CHUNK ? world->asked[i] : CHUNK;
    world->asked[i] -= world->chunk[i];
    world->instance_at_us[i] = world->now_us + world->chunk[i] * world->times.purchase_us;
}

/* All batches that wait, unless it is amid others. */
static void serve_round(struct world *world, int m)
{
    double takes_us = 0;

    if (isfinite(world->master_at_us[m])) return;
    for (int i = 0; i < world->instances; i++) {
        world->in_round[m][i] = world->in_queue[m][i];
        world->in_queue[m][i] = false;
        if (world->in_round[m][i])
            takes_us += world->times.batch_us + world->lanes[i][m].sent * world->times.each_us;
    }
    if (takes_us > 0) world->master_at_us[m] = world->now_us + takes_us + world->times.round_us;
}

static void send_batch(struct world *world, int i, int m)
{
    struct lane *lane = &world->lanes[i][m];

    if (lane->sent > 0 || lane->waiting == 0) return;
    lane->sent = lane->waiting < world->times.batch_most ? lane->waiting : world->times.batch_most;
    lane->waiting -= lane->sent;
    world->in_queue[m][i] = true;
    serve_round(world, m);
}

static void end_chunk(struct world *world, int i)
{
    int count = world->chunk[i];

    world->instance_at_us[i] = never;
    world->chunk[i] = 0;
    for (int n = 0; n < count; n++) {
        int home = (int)random_between(&world->chance, 0, world->masters - 1);
        world->lanes[i][home].waiting++;
        send_batch(world, i, home);
    }
    serve_chunk(world, i);
}

static int fullest(const struct world *world)
{
    int most = 0;

    for (int m = 1; m < world->masters; m++)
        if (world->stock[m] > world->stock[most]) most = m;
    return most;
}

/* A look asks all segments one after the other; a move asks two of them three times. */
static void begin_turn(struct world *world)
{
    double look_us = world->times.batch_us + world->times.each_us;
    int home = world->turns[world->turn % LANES] % SCALING_MASTERS_MAX;

    world->turn_at_us = world->now_us + world->masters * look_us;
    if (world->stock[home] == 0)
        world->turn_at_us += MOVE_STEPS * (look_us + world->times.round_us);
}

static void wait_for_turn(struct world *world, int i, int m)
{
    world->turns[(world->turn + world->turn_count++) % LANES] = i * SCALING_MASTERS_MAX + m;
    if (world->turn_count == 1) begin_turn(world);
}

/* It is his until the units were asked for again, or the next one would take them away before. */
static void end_turn(struct world *world)
{
    int i = world->turns[world->turn % LANES] / SCALING_MASTERS_MAX;
    int home = world->turns[world->turn % LANES] % SCALING_MASTERS_MAX;
    struct lane *lane = &world->lanes[i][home];
    int from = fullest(world);

    world->turn_at_us = never;
    if (world->stock[home] == 0) {
        int64_t units = (world->stock[from] + 1) / 2;
        if (units < lane->sent) units = lane->sent;
        if (units > world->stock[from]) units = world->stock[from];
        world->stock[from] -= units;
        world->stock[home] += units;
        world->run.moves++;
    }
    lane->waiting += lane->sent;
    lane->sent = 0;
    send_batch(world, i, home);
}

static void answer(struct world *world, int i, int m)
{
    struct lane *lane = &world->lanes[i][m];
    int sold = lane->sent < world->stock[m] ? lane->sent : (int)world->stock[m];
    bool has_turn =
        world->turn_count > 0 && world->turns[world->turn % LANES] == i * SCALING_MASTERS_MAX + m;

    world->stock[m] -= sold;
    world->sold += sold;
    lane->sent -= sold;
    world->asked[i] += sold;
    serve_chunk(world, i);
    world->turn += has_turn;
    world->turn_count -= has_turn;
    if (has_turn && world->turn_count > 0) begin_turn(world);
    if (lane->sent > 0) wait_for_turn(world, i, m);
    send_batch(world, i, m);
}

static void end_round(struct world *world, int m)
{
    for (int i = 0; i < world->instances; i++)
        if (world->in_round[m][i]) answer(world, i, m);
    world->master_at_us[m] = never; /* not before: what was answered would begin the next one */
    serve_round(world, m);
    if (world->stock[m] == 0 && world->run.early_per_s <= 0)
        world->run.early_per_s = (double)world->sold * 1e6 / world->now_us;
}

static void take_step(struct world *world)
{
    const double *next = &world->turn_at_us;

    for (int i = 0; i < world->instances; i++)
        if (world->instance_at_us[i] < *next) next = &world->instance_at_us[i];
    for (int m = 0; m < world->masters; m++)
        if (world->master_at_us[m] < *next) next = &world->master_at_us[m];
    world->now_us = *next;
    if (next == &world->turn_at_us)
        end_turn(world);
    else if (next >= world->master_at_us && next < world->master_at_us + SCALING_MASTERS_MAX)
        end_round(world, (int)(next - world->master_at_us));
    else
        end_chunk(world, (int)(next - world->instance_at_us));
}

int scaling_instances(const struct scaling_times *times, int masters)
{
    double all_us = times->batch_us + times->each_us * times->batch_most + times->round_us;
    double needed = 1.5 * masters * times->purchase_us * times->batch_most / all_us;

    return needed < SCALING_INSTANCES_MAX ? (int)ceil(needed) : SCALING_INSTANCES_MAX;
}

bool scaling_simulate(const struct scaling_times *times, int masters, uint64_t seed,
                      struct scaling_run *out)
{
    struct world *world = calloc(1, sizeof *world); /* it is large */

    if (!world) return false;
    world->times = *times;
    world->chance = random_stream(seed, (uint64_t)masters);
    world->masters = masters;
    world->instances = scaling_instances(times, masters);
    world->turn_at_us = never;
    for (int m = 0; m < masters; m++) {
        world->master_at_us[m] = never;
        world->stock[m] = UNITS / masters + (m < UNITS % masters);
    }
    for (int i = 0; i < world->instances; i++) {
        world->asked[i] = CONNECTIONS;
        serve_chunk(world, i);
    }
    while (world->sold < UNITS)
        take_step(world);
    world->run.per_s = (double)world->sold * 1e6 / world->now_us;
    *out = world->run;
    free(world);
    return true;
}
