/*
 * Simulated processes, their threads, and time: one run is one seed. Threads are coroutines of one real thread;
 * wherever a thread could be preempted, the next one is chosen at random, and the clock moves when no thread can
 * go on.
 */
#ifndef LK_SIM_THREADS_H
#define LK_SIM_THREADS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SIM_MS = 1000000, SIM_PROCESSES_MAX = 64, SIM_FD_BASE = 1 << 20 };

/* What the linker's --wrap puts in a function's place (simulate.c). */
#define SIM_CALL(type, name, ...)                                                                  \
    type __real_##name(__VA_ARGS__); /* NOLINT(bugprone-reserved-identifier) */                    \
    type __wrap_##name(__VA_ARGS__); /* NOLINT(bugprone-reserved-identifier) */                    \
    type __wrap_##name(__VA_ARGS__)

#define SIM_NEVER INT64_MAX

/* Reset everything and begin a run, whose random numbers follow the seed. */
void sim_threads_begin(uint64_t seed);
/*
 * Go on until the main thread of process 0 has ended.
 *
 * Returns  false: a deadlock, or the limit of simulated time was reached
 */
bool sim_threads_run(int64_t most_ns);
/* A hash of all switches of threads: the same in two runs of a seed. */
uint64_t sim_threads_trace(void);

/* ---- processes ----------------------------------------------------------------------------------- */

/* A process, numbered from 0 as they start, and its main thread. Its pid is that number and 1000. */
int sim_process_start(void (*main)(void *arg), void *arg);
/* Kill it: its threads never go on. */
void sim_process_kill(int pid);
void sim_process_pause(int pid, bool is_paused);
/* No thread is left; or it was killed. */
bool sim_process_is_over(int pid);
int sim_process_self(void);

/* ---- time and chance ------------------------------------------------------------------------------ */

int64_t sim_now(void);
uint64_t sim_random(void);
/* From 0, below the bound. */
int64_t sim_below(int64_t bound);
/* Call this at a moment, outside all threads; calls of the same moment are made in the order of these requests. */
void sim_at(int64_t at_ns, void (*act)(void *arg), void *arg);

/* ---- waiting --------------------------------------------------------------------------------------- */

/* A possible switch to another thread. */
void sim_yield(void);
/* Sleep until sim_wake() with the same thing, or that moment. thing: NULL: until that moment. */
void sim_sleep(const void *thing, int64_t until_ns);
/* Wake all threads that sleep there, or one at random. */
void sim_wake(const void *thing, bool is_one);

#endif
