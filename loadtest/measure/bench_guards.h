/*
 * The guards that this service has, by its own --help, and what each costs in Redis.
 */
#ifndef LOADTEST_BENCH_GUARDS_H
#define LOADTEST_BENCH_GUARDS_H

#include "bench_round.h"
#include "count/guard_list.h"

struct bench_guards {
    char names[GUARDS_MAX][GUARD_NAME_MAX]; /* the sound ones */
    int count;
    long batch; /* the service's default */
};

/* One guard at one batch size: no figure must be reached, so it is only reported. */
struct bench_cost {
    const char *guard; /* borrowed from struct bench_guards */
    long batch;
    bool is_single; /* at the instance with --batch 1 */
    double round_trips[ROUNDS_MAX], commands[ROUNDS_MAX], per_s[ROUNDS_MAX]; /* of an order */
    int count;
    long long orders;  /* accepted, by Redis */
    long long refused; /* by wrk: a guard under contention may say "try again" */
    struct tally sum;
    char doubt[BENCH_DOUBT_MAX];
};

/* Read the text of `seckilld --help`. false: no guards, or no default batch in it. */
bool bench_guards_parse(const char *help, struct bench_guards *out_guards);
/* Ask the program. */
bool bench_guards_ask(const char *run_dir, struct bench_guards *out_guards,
                      struct failure *failure);

void bench_guards_add_cost(struct bench_cost *cost, const struct bench_count *count);

#endif
