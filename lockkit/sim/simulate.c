/*
 * simulate: lockkit in a world of its own, seed after seed; see --help. Each seed is a torture on simulated
 * threads, network, server and clock (sim_round.h), and is the same whenever it is run again.
 * link: -Wl,--no-as-needed -llua5.1 -Wl,@lockkit/sim/wraps
 */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "sim_redlock.h"
#include "sim_round.h"
#include "torture/torture_kinds.h"

enum { EXIT_FOUND = 1, EXIT_USAGE = 2, EXIT_UNABLE = 4, BATCH = 100, LANES_MAX = 64 };
enum { RUN_MS = 600, QUIET_MS = 20, CALM_MS = 180, SPLIT_MS = 900, LOOK_MS = 12, SEED_S = 20 };

static const char help[] =
    "usage: simulate [options]\n"
    "\n"
    "Run lockkit in a simulated world: threads, network, Redis and clock follow a seed. Workers "
    "take\n"
    "and give back locks, are killed and paused, their connections are cut, held up and deaf; "
    "then\n"
    "all histories are judged as torture's are. A seed that was found is played again, with "
    "words.\n"
    "\n"
    "  --seeds N     so many [1000]\n"
    "  --seconds N   so long instead, each seed once\n"
    "  --seed N      the first; a run of one seed says all [1; for seconds, by chance]\n"
    "  --kind NAME   of lock; all: one after the other, as the seed says [all]\n"
    "  --list        the kinds (torture's, and redlock-servers)\n"
    "  --help        this text\n"
    "\n"
    "Exit status: 0 nothing found; 1 found something; 2 bad usage; 4 could not run.\n";

struct arguments {
    const struct torture_kind *kind; /* NULL: all */
    unsigned long seeds, seconds, seed;
    bool is_one;  /* seed */
    bool is_said; /* all there was to do */
};

/* What a batch tells the one who began it. */
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

    (void)alarm(SEED_S); /* who never comes to an end ends so */
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

/* Says all; and that it is the same once more. */
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

/* A process of its own: whatever its runs leave behind ends with it. */
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

static bool read_number(const char *what, unsigned long *out)
{
    char *end = NULL;

    *out = strtoul(optarg, &end, 10);
    if (*end == '\0' && *out > 0 && *out <= UINT32_MAX) return true;
    (void)fprintf(stderr, "simulate: --%s: \"%s\" is no number from 1 to %u\n", what, optarg,
                  UINT32_MAX);
    return false;
}

static bool read_kind(struct arguments *out)
{
    for (size_t i = 0; i < torture_kind_count; i++) {
        if (strcmp(torture_kinds[i]->name, optarg) == 0) out->kind = torture_kinds[i];
    }
    if (strcmp(sim_redlock.name, optarg) == 0) out->kind = &sim_redlock;
    if (out->kind || strcmp(optarg, "all") == 0) return true;
    (void)fprintf(stderr, "simulate: --kind: there is no \"%s\"; see --list\n", optarg);
    return false;
}

static void print_kinds(void)
{
    for (size_t i = 0; i < torture_kind_count; i++)
        (void)puts(torture_kinds[i]->name);
    (void)puts(sim_redlock.name);
}

static bool read_option(int option, struct arguments *out, bool *out_is_counted)
{
    switch (option) {
    case 'n':
        *out_is_counted = true;
        return read_number("seeds", &out->seeds);
    case 't':
        *out_is_counted = true;
        return read_number("seconds", &out->seconds);
    case 's':
        return out->is_one = read_number("seed", &out->seed);
    case 'k':
        return read_kind(out);
    case 'l':
        print_kinds();
        return out->is_said = true;
    case 'h':
        (void)fputs(help, stdout);
        return out->is_said = true;
    default:
        return false;
    }
}

static bool parse(int argc, char **argv, struct arguments *out)
{
    static const struct option options[] = {{"seeds", required_argument, NULL, 'n'},
                                            {"seconds", required_argument, NULL, 't'},
                                            {"seed", required_argument, NULL, 's'},
                                            {"kind", required_argument, NULL, 'k'},
                                            {"list", no_argument, NULL, 'l'},
                                            {"help", no_argument, NULL, 'h'},
                                            {0}};
    bool is_counted = false;
    int option = 0;

    *out = (struct arguments){.seeds = 1000};
    /* NOLINTNEXTLINE(concurrency-mt-unsafe): one thread */
    while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
        if (!read_option(option, out, &is_counted)) return false;
    }
    out->is_one &= !is_counted;
    if (out->seed == 0)
        out->seed = out->seconds > 0 ? 1 + (uint64_t)real_now_ns() % (UINT32_MAX / 2) : 1;
    if (optind == argc) return true;
    (void)fprintf(stderr, "simulate: \"%s\" is too much; see --help\n", argv[optind]);
    return false;
}

int main(int argc, char **argv)
{
    struct arguments arguments;
    struct fleet fleet = {.arguments = &arguments};
    long lanes = sysconf(_SC_NPROCESSORS_ONLN);

    if (!parse(argc, argv, &arguments)) return EXIT_USAGE;
    if (arguments.is_said) return EXIT_SUCCESS;
    if (arguments.is_one) return run_one(&arguments);
    fleet.lanes = lanes < 1 ? 1 : lanes > LANES_MAX ? LANES_MAX : (unsigned)lanes;
    fleet.outcomes = mmap(NULL, LANES_MAX * sizeof *fleet.outcomes, PROT_READ | PROT_WRITE,
                          MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (fleet.outcomes == MAP_FAILED) return EXIT_UNABLE;
    int status = run_all(&fleet);
    if (!fleet.is_bad) return status;
    (void)printf("simulate: FOUND by seed %lu: simulate --seed %lu%s%s\n", fleet.bad_seed,
                 fleet.bad_seed, arguments.kind ? " --kind " : "",
                 arguments.kind ? arguments.kind->name : "");
    (void)fflush(stdout);
    arguments.seed = fleet.bad_seed;
    (void)run_one(&arguments);
    return status;
}
