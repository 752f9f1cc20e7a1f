/*
 * How a sale in segments would do on more masters than this machine has: a simulation with times that were
 * measured. Pure.
 *
 * Model    Closed: a buyer asks, is answered, and the next one asks. Instances and masters have a processor each. An
 *          instance takes its time for each purchase, and sends those of one segment together, one batch of a segment
 *          at a time. A master serves all batches that wait for it in one round, syncs its file, and answers them.
 *          Each master has one segment; a buyer's home is drawn evenly. When a home has no unit, its instance waits for
 *          the turn, looks at all segments, moves half of the fullest one's units there, and has asked for
 *          them before the next one's turn, as the service does.
 * Without  The network; replicas; what looks and moves cost the masters they look at; answers to who comes too late;
 *          anything else that runs there.
 */
#ifndef LOADTEST_SCALING_H
#define LOADTEST_SCALING_H

#include <stdbool.h>
#include <stdint.h>

enum {
    SCALING_MASTERS_MAX = 64,
    SCALING_INSTANCES_MAX = 256,
    SCALING_STEPS = 7,
    SCALING_SEEDS = 5
};

/* Microseconds. */
struct scaling_times {
    double purchase_us; /* of an instance's processor, for each */
    double batch_us;    /* of a master's, for a batch; and for each purchase in it */
    double each_us;
    double round_us; /* ... for all batches that it serves together, its file's sync among it */
    int batch_most;  /* purchases */
};

struct scaling_run {
    double per_s;       /* until the last unit is sold */
    double early_per_s; /* until the first segment is empty */
    long moves;
};

/* As many that they are not what there is too little of, at most SCALING_INSTANCES_MAX. */
int scaling_instances(const struct scaling_times *times, int masters);

/* Returns false: out of memory. */
bool scaling_simulate(const struct scaling_times *times, int masters, uint64_t seed,
                      struct scaling_run *out);

#endif
