/*
 * Simulated processes, their threads, and time: one run is one seed. Threads are coroutines of the one
 * real thread; who goes on is drawn by chance wherever a thread could be interrupted, and the clock
 * moves when nobody can go on.
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

/* Forget everything and begin a run, in which chance follows the seed. */
void sim_threads_begin(uint64_t seed);
/*
 * Go on until the main thread of process 0 has ended.
 *
 * Returns  false: nobody could ever go on, or not within so much simulated time
 */
bool sim_threads_run(int64_t most_ns);
/* Who went on when, folded into a number: of two runs of a seed the same. */
uint64_t sim_threads_trace(void);

/* ---- processes ----------------------------------------------------------------------------------- */

/* A process, numbered from 0 as they start, and its main thread. Its pid is that number and 1000. */
int sim_process_start(void (*main)(void *arg), void *arg);
/* Its threads never go on. */
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
/* Have this done at a moment, by nobody's thread; those of one moment in the order they were asked for. */
void sim_at(int64_t at_ns, void (*act)(void *arg), void *arg);

/* ---- waiting --------------------------------------------------------------------------------------- */

/* Let others go on first, perhaps. */
void sim_yield(void);
/* Sleep until sim_wake() of the same thing, or the moment. Without a thing: nobody wakes. */
void sim_sleep(const void *thing, int64_t until_ns);
/* All who sleep there, or one by chance. */
void sim_wake(const void *thing, bool is_one);

#endif
