/*
 * See sim_threads.h. The functions of pthreads and clocks that the library and its users call are linked to those
 * at the end (--wrap, simulate.c). The first bytes of a mutex are a pointer to the coroutine that holds it; a
 * condition is identified by its address.
 */
/* With it longjmp() would not go to another stack; and swapcontext() makes two system calls each time. */
#undef _FORTIFY_SOURCE
#include "sim_threads.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/types.h>
#include <time.h>
#include <ucontext.h>

enum {
    STACK_BYTES = 192 * 1024,
    THREADS_MAX = 1024,
    ACTS_MAX = 65536,
    PID_BASE = 1000,
    PREEMPT_EVERY = 4, /* another thread goes on at one of so many possible switches */
    STEP_NS = 200,     /* time that reading the clock takes, so that polling it ends */
    NS_PER_S = 1000000000,
};

enum state { READY, ASLEEP, OVER };

struct thread {
    ucontext_t begin; /* until it has begun */
    jmp_buf context;
    bool has_begun;
    void *stack; /* owned */
    void *(*main)(void *arg);
    void (*process_main)(void *arg);
    void *arg;
    void *result;
    const void *thing; /* it sleeps there */
    int64_t until_ns;
    enum state state;
    int process;
    int saved_errno;
};

struct process {
    unsigned threads; /* number of threads that have not ended */
    bool is_paused;
    bool is_dead;
};

struct act {
    int64_t at_ns;
    uint64_t number;
    void (*act)(void *arg);
    void *arg;
};

static struct {
    struct thread *threads[THREADS_MAX]; /* owned */
    int thread_count;
    struct thread *current; /* NULL: the scheduler */
    struct process processes[SIM_PROCESSES_MAX];
    int process_count;
    struct act acts[ACTS_MAX]; /* a heap: the first is the next */
    int act_count;
    uint64_t act_number;
    void *stacks[THREADS_MAX]; /* owned; to be used again */
    int stack_count;
    jmp_buf scheduler;
    int64_t now_ns;
    uint64_t chance;
    uint64_t trace;
} sim;

/* ---- time and chance ------------------------------------------------------------------------------ */

int64_t sim_now(void)
{
    return sim.now_ns;
}

/* SplitMix64 (Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators, 2014). */
uint64_t sim_random(void)
{
    uint64_t z = sim.chance += 0x9e3779b97f4a7c15U;

    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9U;
    z = (z ^ z >> 27) * 0x94d049bb133111ebU;
    return z ^ z >> 31;
}

int64_t sim_below(int64_t bound)
{
    return (int64_t)(sim_random() % (uint64_t)bound);
}

uint64_t sim_threads_trace(void)
{
    return sim.trace;
}

static bool is_before(const struct act *one, const struct act *other)
{
    return one->at_ns != other->at_ns ? one->at_ns < other->at_ns : one->number < other->number;
}

void sim_at(int64_t at_ns, void (*act)(void *arg), void *arg)
{
    struct act added = {at_ns, sim.act_number++, act, arg};
    int place = sim.act_count++;

    if (sim.act_count > ACTS_MAX) abort(); /* far more than a run has under way */
    for (; place > 0 && is_before(&added, &sim.acts[(place - 1) / 2]); place = (place - 1) / 2)
        sim.acts[place] = sim.acts[(place - 1) / 2];
    sim.acts[place] = added;
}

static struct act take_act(void)
{
    struct act first = sim.acts[0];
    struct act last = sim.acts[--sim.act_count];
    int place = 0;

    for (;;) {
        int child = 2 * place + 1;

        if (child >= sim.act_count) break;
        if (child + 1 < sim.act_count && is_before(&sim.acts[child + 1], &sim.acts[child])) child++;
        if (!is_before(&sim.acts[child], &last)) break;
        sim.acts[place] = sim.acts[child];
        place = child;
    }
    sim.acts[place] = last;
    return first;
}

/* ---- threads ---------------------------------------------------------------------------------------- */

static void *new_stack(void)
{
    if (sim.stack_count > 0) return sim.stacks[--sim.stack_count];
    void *stack = mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK | MAP_NORESERVE, -1, 0);
    if (stack == MAP_FAILED) abort();
    return stack;
}

static void leave(void)
{
    struct thread *self = sim.current;

    self->saved_errno = errno;
    if (_setjmp(self->context) == 0) _longjmp(sim.scheduler, 1);
    errno = self->saved_errno;
}

/* makecontext() passes no pointers: it is the current one. */
static void thread_entry(void)
{
    struct thread *self = sim.current;

    if (self->process_main)
        self->process_main(self->arg);
    else
        self->result = self->main(self->arg);
    self->state = OVER;
    sim.processes[self->process].threads--;
    sim_wake(self, false);
    leave();
}

static struct thread *new_thread(int process)
{
    struct thread *thread = calloc(1, sizeof *thread);

    if (!thread || sim.thread_count == THREADS_MAX) abort();
    sim.threads[sim.thread_count++] = thread;
    thread->process = process;
    thread->stack = new_stack();
    (void)getcontext(&thread->begin);
    thread->begin.uc_stack.ss_sp = thread->stack;
    thread->begin.uc_stack.ss_size = STACK_BYTES;
    makecontext(&thread->begin, thread_entry, 0);
    sim.processes[process].threads++;
    return thread;
}

static void free_thread(struct thread *thread)
{
    sim.stacks[sim.stack_count++] = thread->stack;
    free(thread);
}

/* Drop the first ended threads from the list; a pthread_t stays the thread's address. */
static void go_on(struct thread *thread)
{
    sim.trace = sim.trace * 31 + (uint64_t)sim.now_ns + (uint64_t)thread->process;
    sim.current = thread;
    if (_setjmp(sim.scheduler) == 0) {
        if (thread->has_begun) _longjmp(thread->context, 1);
        thread->has_begun = true;
        (void)setcontext(&thread->begin);
    }
    sim.current = NULL;
}

/* ---- waiting ---------------------------------------------------------------------------------------- */

void sim_sleep(const void *thing, int64_t until_ns)
{
    struct thread *self = sim.current;

    self->thing = thing;
    self->until_ns = until_ns;
    self->state = ASLEEP;
    leave();
}

void sim_yield(void)
{
    if (sim.current && sim_below(PREEMPT_EVERY) == 0) leave();
}

void sim_wake(const void *thing, bool is_one)
{
    struct thread *chosen = NULL;
    int64_t count = 0;

    for (int i = 0; i < sim.thread_count; i++) {
        struct thread *thread = sim.threads[i];

        if (thread->state != ASLEEP || thread->thing != thing || !thing) continue;
        if (!is_one) thread->state = READY;
        if (is_one && sim_below(++count) == 0) chosen = thread;
    }
    if (chosen) chosen->state = READY;
}

/* ---- processes -------------------------------------------------------------------------------------- */

int sim_process_start(void (*main)(void *arg), void *arg)
{
    int number = sim.process_count++;

    if (number >= SIM_PROCESSES_MAX) abort();
    sim.processes[number] = (struct process){0};
    struct thread *thread = new_thread(number);
    thread->process_main = main;
    thread->arg = arg;
    return PID_BASE + number;
}

int sim_process_self(void)
{
    return sim.current ? PID_BASE + sim.current->process : PID_BASE;
}

void sim_process_kill(int pid)
{
    sim.processes[pid - PID_BASE].is_dead = true;
}

void sim_process_pause(int pid, bool is_paused)
{
    sim.processes[pid - PID_BASE].is_paused = is_paused;
}

bool sim_process_is_over(int pid)
{
    const struct process *process = &sim.processes[pid - PID_BASE];

    return process->is_dead || process->threads == 0;
}

/* ---- the run ---------------------------------------------------------------------------------------- */

void sim_threads_begin(uint64_t seed)
{
    for (int i = 0; i < sim.thread_count; i++)
        free_thread(sim.threads[i]);
    sim.thread_count = sim.process_count = sim.act_count = 0;
    sim.current = NULL;
    sim.now_ns = NS_PER_S;
    sim.chance = seed;
    sim.trace = sim.act_number = 0;
}

static bool may_go_on(const struct thread *thread)
{
    const struct process *process = &sim.processes[thread->process];

    return !process->is_dead && !process->is_paused &&
           (thread->state == READY || (thread->state == ASLEEP && thread->until_ns <= sim.now_ns));
}

/* Choose a thread that can go on; NULL: none can now. *out_next: when the clock lets one go on. */
static struct thread *choose(int64_t *out_next)
{
    struct thread *chosen = NULL;
    int64_t count = 0;

    *out_next = SIM_NEVER;
    for (int i = 0; i < sim.thread_count; i++) {
        struct thread *thread = sim.threads[i];
        const struct process *process = &sim.processes[thread->process];

        if (may_go_on(thread)) {
            if (sim_below(++count) == 0) chosen = thread;
        } else if (thread->state == ASLEEP && !process->is_dead && !process->is_paused &&
                   thread->until_ns < *out_next) {
            *out_next = thread->until_ns;
        }
    }
    return chosen;
}

/* Free threads of ended processes, which no thread will join. */
static void bury(void)
{
    int kept = 0;

    for (int i = 0; i < sim.thread_count; i++) {
        struct thread *thread = sim.threads[i];

        if (sim_process_is_over(PID_BASE + thread->process))
            free_thread(thread);
        else
            sim.threads[kept++] = thread;
    }
    sim.thread_count = kept;
}

bool sim_threads_run(int64_t most_ns)
{
    int64_t limit = sim.now_ns + most_ns;

    while (!sim_process_is_over(PID_BASE)) {
        int64_t next = 0;
        struct thread *thread = NULL;

        if (sim.act_count > 0 && sim.acts[0].at_ns <= sim.now_ns) {
            struct act act = take_act();

            act.act(act.arg);
            continue;
        }
        thread = choose(&next);
        if (thread) {
            thread->state = READY;
            go_on(thread);
            if (thread->state == OVER) bury();
            continue;
        }
        if (sim.act_count > 0 && sim.acts[0].at_ns < next) next = sim.acts[0].at_ns;
        if (next > limit) return false;
        sim.now_ns = next;
    }
    return true;
}

/* ---- pthreads --------------------------------------------------------------------------------------- */

SIM_CALL(int, pthread_create, pthread_t *out, const pthread_attr_t *attributes,
         void *(*body)(void *arg), void *arg)
{
    struct thread *thread = new_thread(sim.current->process);

    (void)attributes;
    thread->main = body;
    thread->arg = arg;
    *out = (pthread_t)(uintptr_t)thread;
    sim_yield();
    return 0;
}

SIM_CALL(int, pthread_join, pthread_t thread, void **out_result)
{
    /* NOLINTNEXTLINE(performance-no-int-to-ptr): as it was given out */
    struct thread *other = (struct thread *)(uintptr_t)thread;

    while (other->state != OVER)
        sim_sleep(other, SIM_NEVER);
    if (out_result) *out_result = other->result;
    return 0;
}

SIM_CALL(int, pthread_detach, pthread_t thread)
{
    (void)thread;
    return 0;
}

SIM_CALL(pthread_t, pthread_self, void)
{
    return (pthread_t)(uintptr_t)sim.current;
}

static struct thread **owner_of(pthread_mutex_t *mutex)
{
    return (struct thread **)(void *)mutex;
}

SIM_CALL(int, pthread_mutex_init, pthread_mutex_t *mutex, const pthread_mutexattr_t *attributes)
{
    (void)attributes;
    *owner_of(mutex) = NULL;
    return 0;
}

SIM_CALL(int, pthread_mutex_destroy, pthread_mutex_t *mutex)
{
    if (*owner_of(mutex)) abort(); /* it is locked */
    return 0;
}

SIM_CALL(int, pthread_mutex_lock, pthread_mutex_t *mutex)
{
    sim_yield();
    if (*owner_of(mutex) == sim.current) abort(); /* it would wait for ever */
    while (*owner_of(mutex))
        sim_sleep(mutex, SIM_NEVER);
    *owner_of(mutex) = sim.current;
    return 0;
}

SIM_CALL(int, pthread_mutex_unlock, pthread_mutex_t *mutex)
{
    if (*owner_of(mutex) != sim.current) abort(); /* it is another's */
    *owner_of(mutex) = NULL;
    sim_wake(mutex, true);
    return 0;
}

SIM_CALL(int, pthread_cond_init, pthread_cond_t *cond, const pthread_condattr_t *attributes)
{
    (void)cond, (void)attributes;
    return 0;
}

SIM_CALL(int, pthread_cond_destroy, pthread_cond_t *cond)
{
    (void)cond;
    return 0;
}

SIM_CALL(int, pthread_cond_signal, pthread_cond_t *cond)
{
    sim_wake(cond, true);
    return 0;
}

SIM_CALL(int, pthread_cond_broadcast, pthread_cond_t *cond)
{
    sim_wake(cond, false);
    return 0;
}

static void wait_until(pthread_cond_t *cond, pthread_mutex_t *mutex, int64_t until_ns)
{
    (void)__wrap_pthread_mutex_unlock(mutex);
    sim_sleep(cond, until_ns);
    while (*owner_of(mutex))
        sim_sleep(mutex, SIM_NEVER);
    *owner_of(mutex) = sim.current;
}

SIM_CALL(int, pthread_cond_wait, pthread_cond_t *cond, pthread_mutex_t *mutex)
{
    wait_until(cond, mutex, SIM_NEVER);
    return 0;
}

SIM_CALL(int, pthread_cond_clockwait, pthread_cond_t *cond, pthread_mutex_t *mutex, clockid_t clock,
         const struct timespec *until)
{
    int64_t until_ns = (int64_t)until->tv_sec * NS_PER_S + until->tv_nsec;

    (void)clock;
    wait_until(cond, mutex, until_ns);
    return sim.now_ns >= until_ns ? ETIMEDOUT : 0;
}

/* ---- clocks and the rest ------------------------------------------------------------------------------ */

SIM_CALL(int, sched_yield, void)
{
    leave();
    return 0;
}

SIM_CALL(int, clock_gettime, clockid_t clock, struct timespec *out)
{
    (void)clock;
    sim.now_ns += STEP_NS;
    *out = (struct timespec){.tv_sec = sim.now_ns / NS_PER_S, .tv_nsec = sim.now_ns % NS_PER_S};
    return 0;
}

SIM_CALL(int, nanosleep, const struct timespec *span, struct timespec *out_left)
{
    (void)out_left;
    sim_sleep(NULL, sim.now_ns + (int64_t)span->tv_sec * NS_PER_S + span->tv_nsec);
    return 0;
}

SIM_CALL(ssize_t, getrandom, void *out, size_t len, unsigned flags)
{
    (void)flags;
    for (size_t i = 0; i < len; i++)
        ((uint8_t *)out)[i] = (uint8_t)sim_random();
    return (ssize_t)len;
}

SIM_CALL(pid_t, getpid, void)
{
    return sim_process_self();
}

/* The machine's load would differ from run to run: no thread busy-polls. */
SIM_CALL(int, lki_idle_processors, int ours)
{
    (void)ours;
    return INT_MIN;
}
