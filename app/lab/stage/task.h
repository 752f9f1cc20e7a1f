/*
 * What a program of somebody's is to do, and what is judged of it: the exercises. Values.
 */
#ifndef SECKILL_LAB_TASK_H
#define SECKILL_LAB_TASK_H

#include "lockkit/lockkit.h"

#include "lab/run.h"

enum { TASK_RESULTS_MAX = 8 };

/* What a result says of the program's own order. */
enum task_claim { TASK_ANYTHING, TASK_BOOKED, TASK_NOT_BOOKED };

struct task {
    const char *name;
    struct lab_text what;
    const char *kinds;    /* of faults: schedule_choice.fault; NULL: as asked for */
    const char *alone[2]; /* the result of the first actor when it is alone, then of the second */
    const char *roles[2]; /* each actor's, about one order, which is held; NULL: all buy */
    struct {
        const char *text; /* NULL: no more */
        enum task_claim claim;
    } results[TASK_RESULTS_MAX];
    unsigned servers;  /* besides the shop's, for locks alone */
    unsigned promises; /* that are judged, a bit of each */
    bool is_part;     /* of what one and the same program has to do: it is judged with the others */
    bool needs_lock;  /* alone, it takes the lock... */
    bool needs_lease; /* ...with an expiry... */
    bool renews;      /* ...and prolongs it */
    bool sends;       /* a message of each order */
};

/* NULL past the end; by its name, NULL: there is none. The first is judged by every promise. */
const struct task *task_at(size_t index);
const struct task *task_named(const char *name);

/* What its actors share, and has to be there before. False: Redis refuses. */
bool task_put_up(const struct task *self, lk_client *client, long long units);

/* What they have left there; order_count is of orders that stand: bought, or paid. */
bool task_observe(const struct task *self, lk_client *client, struct lab_state *out);

/* Why what it has done alone is not the task at all; NULL: it is. */
const struct lab_text *task_refusal(const struct task *self, const struct lab_run *run);

#endif
