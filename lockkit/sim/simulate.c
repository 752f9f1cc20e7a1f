/*
 * simulate: lockkit in a simulated world, seed after seed; see --help. Each seed is a torture on simulated threads,
 * network, server and clock (sim_round.h), and every run of it is the same.
 * link: -Wl,--no-as-needed -llua5.1 -Wl,@lockkit/sim/wraps
 */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/flags.h"
#include "sim_redlock.h"
#include "sim_round.h"
#include "torture/torture_kinds.h"

enum { EXIT_FOUND = 1, EXIT_UNABLE = 4, BATCH = 100, LANES_MAX = 64 };
enum { RUN_MS = 600, QUIET_MS = 20, CALM_MS = 180, SPLIT_MS = 900, LOOK_MS = 12, SEED_S = 20 };

struct arguments {
    const struct torture_kind *kind; /* NULL: all */
    uint64_t seeds, seconds, seed;   /* 0: not given */
    bool is_list;
};

/* The result of a batch, for the process that started it. */
struct outcome {
    struct sim_totals totals;
    unsigned long bad_seed;
    bool is_bad, is_done;
};

/* clock_gettime() is the simulated one. */
static int64_t real_now_ns(void)
{
    struct timespec now = {0};

    (void)timespec_get(&now, TIME_UTC);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* ---- seeds -------------------------------------------------------------------------------------------- */

static size_t sound_kinds(void)
{
    size_t count = 0;

    while (count < torture_kind_count && !torture_kinds[count]->is_flawed)
        count++;
    assert(count > 0);
    return count;
}

/* And those of this world alone. */
static const struct torture_kind *kind_at(size_t place)
{
    return place < sound_kinds() ? torture_kinds[place] : &sim_redlock;
}

static enum torture_verdict run_seed(const struct arguments *arguments, unsigned long seed,
                                     int history_fd, struct sim_totals *totals, uint64_t *out_trace)
{
    uint32_t chance = torture_seed((uint32_t)seed, 7, 7);
    const struct torture_kind *kind =
        arguments->kind ? arguments->kind : kind_at(seed % (sound_kinds() + 1));
    int64_t calm_ms = kind == &sim_redlock ? SPLIT_MS : CALM_MS; /* votes may be split, and again */
    struct sim_round round = {.plan = {.kind = kind,
                                       .seed = (uint32_t)seed,
                                       .run_ms = RUN_MS,
                                       .quiet_ms = chance / 4 % 4 == 0 ? RUN_MS / 2 : QUIET_MS,
                                       .stuck_ms = calm_ms + kind->waiter_ms,
                                       .calm_ms = calm_ms,
                                       .look_ms = LOOK_MS,
                                       .processes = 2 + chance % 2,
                                       .threads = 1 + chance / 2 % 2},
                              .history_fd = history_fd};

    (void)alarm(SEED_S); /* ends a run that hangs */
    return sim_round_run(&round, totals, out_trace);
}

static int new_history(void)
{
    int fd = memfd_create("history", MFD_CLOEXEC);

    if (fd < 0) (void)fprintf(stderr, "simulate: memfd: %s\n", strerrordesc_np(errno));
    return fd;
}

static void hush(void)
{
    if (!freopen("/dev/null", "w", stdout)) _exit(EXIT_UNABLE);
}

/* Run a seed with all output, and once more to check that it is the same. */
static int run_one(const struct arguments *arguments)
{
    struct sim_totals totals = {0};
    uint64_t trace = 0, again = 0;
    int fd = new_history();

    if (fd < 0) return EXIT_UNABLE;
    (void)printf("simulate: seed %lu\n", arguments->seed);
    enum torture_verdict verdict = run_seed(arguments, arguments->seed, fd, &totals, &trace);
    (void)fflush(stdout);
    hush();
    (void)run_seed(arguments, arguments->seed, fd, &totals, &again);
    (void)fprintf(stderr, "simulate: trace %016llx%s\n", (unsigned long long)trace,
                  trace == again ? ""
                                 : ", but another one when run again: a fault of the simulator");
    if (trace != again) return EXIT_UNABLE;
    return verdict >= TORTURE_FOUND ? EXIT_FOUND : EXIT_SUCCESS;
}

/* A batch is a process of its own, so that what its runs leave behind ends with it. */
static void run_batch(const struct arguments *arguments, unsigned long first, unsigned long count,
                      struct outcome *out)
{
    int fd = new_history();
    uint64_t trace = 0;

    hush();
    for (unsigned long i = 0; i < count && fd >= 0 && !out->is_bad; i++) {
        out->bad_seed = first + i; /* also if it ends this process */
        out->is_bad = run_seed(arguments, first + i, fd, &out->totals, &trace) >= TORTURE_FOUND;
    }
    out->is_done = fd >= 0;
    _exit(0);
}

/* ---- all of them ---------------------------------------------------------------------------------------- */

struct fleet {
    const struct arguments *arguments;
    struct outcome *outcomes; /* shared with the batches, by lane */
    pid_t pids[LANES_MAX];
    unsigned lanes;
    unsigned long next;
    struct sim_totals totals;
    unsigned long bad_seed;
    bool is_bad;
    int64_t began_ns;
};

static bool is_enough(const struct fleet *fleet)
{
    const struct arguments *arguments = fleet->arguments;

    if (fleet->is_bad) return true;
    if (arguments->seconds == 0) return fleet->next >= arguments->seed + arguments->seeds;
    return real_now_ns() - fleet->began_ns >= (int64_t)arguments->seconds * 1000000000;
}

static bool start_batch(struct fleet *fleet, unsigned lane)
{
    unsigned long end = fleet->arguments->seed + fleet->arguments->seeds;
    unsigned long count = BATCH;

    if (fleet->arguments->seconds == 0 && end - fleet->next < count) count = end - fleet->next;
    fleet->outcomes[lane] = (struct outcome){0};
    (void)fflush(NULL);
    fleet->pids[lane] = fork();
    if (fleet->pids[lane] == 0)
        run_batch(fleet->arguments, fleet->next, count, &fleet->outcomes[lane]);
    fleet->next += count;
    return fleet->pids[lane] > 0;
}

static void end_batch(struct fleet *fleet, unsigned lane)
{
    const struct outcome *outcome = &fleet->outcomes[lane];
    long *to = (long *)&fleet->totals;
    const long *from = (const long *)&outcome->totals;

    fleet->pids[lane] = 0;
    for (size_t i = 0; i < sizeof fleet->totals / sizeof *to; i++)
        to[i] += from[i];
    if (fleet->is_bad || (outcome->is_done && !outcome->is_bad)) return;
    fleet->is_bad = true;
    fleet->bad_seed = outcome->bad_seed;
}

static void show_progress(const struct fleet *fleet, bool is_end)
{
    double seconds = (double)(real_now_ns() - fleet->began_ns) / 1e9;

    if (!is_end && !isatty(STDERR_FILENO)) return;
    (void)fprintf(is_end ? stdout : stderr,
                  "%s%ld seeds in %.0f s (%.0f/s): %ld taken, %ld faults, %ld leases lost, %ld "
                  "unknown%s",
                  is_end ? "simulate: " : "\r", fleet->totals.seeds, seconds,
                  (double)fleet->totals.seeds / seconds, fleet->totals.taken, fleet->totals.faults,
                  fleet->totals.lost, fleet->totals.unknown, is_end ? "\n" : " ");
}

static int run_all(struct fleet *fleet)
{
    fleet->began_ns = real_now_ns();
    fleet->next = fleet->arguments->seed;
    for (;;) {
        for (unsigned i = 0; i < fleet->lanes && !is_enough(fleet); i++) {
            if (fleet->pids[i] == 0 && !start_batch(fleet, i)) return EXIT_UNABLE;
        }
        pid_t pid = waitpid(-1, NULL, 0);
        if (pid < 0) break; /* none is left */
        for (unsigned i = 0; i < fleet->lanes; i++) {
            if (fleet->pids[i] == pid) end_batch(fleet, i);
        }
        show_progress(fleet, false);
    }
    show_progress(fleet, true);
    return fleet->is_bad ? EXIT_FOUND : EXIT_SUCCESS;
}

/* ---- the command line ------------------------------------------------------------------------------------ */

static bool take_kind(const struct flag *flag, void *to, const char *value, struct failure *failure)
{
    struct arguments *out = to;

    for (size_t i = 0; i < torture_kind_count; i++) {
        if (strcmp(torture_kinds[i]->name, value) == 0) out->kind = torture_kinds[i];
    }
    if (strcmp(sim_redlock.name, value) == 0) out->kind = &sim_redlock;
    return out->kind || strcmp(value, "all") == 0 ||
           failure_set(failure, "--%s: there is no \"%s\"; see --list", flag->name, value);
}

static int print_kinds(void)
{
    for (size_t i = 0; i < torture_kind_count; i++)
        (void)puts(torture_kinds[i]->name);
    return puts(sim_redlock.name) < 0;
}

#define AT(field) offsetof(struct arguments, field)

static const struct flag flags[] = {
    {"seeds", FLAG_NUMBER, AT(seeds), 1, UINT32_MAX, "N", .help = "so many [1000]"},
    {"seconds", FLAG_NUMBER, AT(seconds), 1, UINT32_MAX, "N",
     .help = "so long instead, each seed once"},
    {"seed", FLAG_NUMBER, AT(seed), 1, UINT32_MAX, "N",
     .help = "the first; a run of one seed says all [1; for seconds, by chance]"},
    {"kind", FLAG_TAKEN, .value = "NAME", .take = take_kind,
     .help = "of lock; all: one after the other, as the seed says [all]"},
    {"list", FLAG_SWITCH, AT(is_list), .help = "the kinds (torture's, and redlock-servers)"},
    {"help", FLAG_HELP, .help = "this text"},
};

static const struct flags command_line = {
    .program = "simulate",
    .head = "usage: simulate [options]\n"
            "\n"
            "Run lockkit in a simulated world: threads, network, Redis and clock follow a seed. "
            "Workers take\n"
            "and give back locks, are killed and paused, their connections are cut, held up and "
            "deaf; then\n"
            "all histories are judged as torture's are. A seed that was found is played again, "
            "with words.\n"
            "\n",
    .tail = "\n"
            "Exit status: 0 nothing found; 1 found something; 2 bad usage; 4 could not run.\n",
    .list = flags,
    .count = sizeof flags / sizeof flags[0],
    .column = 13,
};

int main(int argc, char **argv)
{
    struct arguments arguments = {0};
    struct fleet fleet = {.arguments = &arguments};
    long lanes = sysconf(_SC_NPROCESSORS_ONLN);

    int status = flags_main(&command_line, argc, argv, &arguments);
    if (status >= 0) return status;
    if (arguments.is_list) return print_kinds();
    if (arguments.seed && !arguments.seeds && !arguments.seconds) return run_one(&arguments);
    if (!arguments.seeds) arguments.seeds = 1000;
    if (!arguments.seed)
        arguments.seed = arguments.seconds ? 1 + (uint64_t)real_now_ns() % (UINT32_MAX / 2) : 1;
    fleet.lanes = lanes < 1 ? 1 : lanes > LANES_MAX ? LANES_MAX : (unsigned)lanes;
    fleet.outcomes = mmap(NULL, LANES_MAX * sizeof *fleet.outcomes, PROT_READ | PROT_WRITE,
                          MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (fleet.outcomes == MAP_FAILED) return EXIT_UNABLE;
    status = run_all(&fleet);
    if (!fleet.is_bad) return status;
    (void)printf("simulate: FOUND by seed %lu: simulate --seed %lu%s%s\n", fleet.bad_seed,
                 fleet.bad_seed, arguments.kind ? " --kind " : "",
                 arguments.kind ? arguments.kind->name : "");
    (void)fflush(stdout);
    arguments.seed = fleet.bad_seed;
    (void)run_one(&arguments);
    return status;
}
