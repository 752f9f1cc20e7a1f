/*
 * torture: lockkit's kinds of lock among processes that are killed, paused, cut off and cancelled,
 * judged by who met inside and by the history of all that was said.
 */
#include <assert.h>
#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "torture_kinds.h"
#include "torture_round.h"

enum {
    ROUND_LEAST_S = 5,
    ROUND_MOST_S = 20,
    QUIET_MS = 1000,
    STUCK_MS = 2000,
    KINDS_MAX = 32,
    EXIT_USAGE = 2
};

static const char help[] =
    "usage: torture [options]\n"
    "\n"
    "Torture lockkit's locks: processes of several threads take and give back a few keys while "
    "they\n"
    "are killed, paused past their leases, cut from the server and cancelled, and while the "
    "server\n"
    "is paused and forgets its scripts. Whoever holds a lock for certain stands on a board in "
    "shared\n"
    "memory; nobody may meet there who must not. Afterwards the history of all steps is checked "
    "(see\n"
    "history_check). A round in which too little has happened is void, which is a failure.\n"
    "\n"
    "  --kind KIND      one kind, or all [all]; --list names them\n"
    "  --seconds N      how long in all, in rounds of 5 to 20 seconds [120]\n"
    "  --seed N         of the first round; the same seed draws the same turns and faults "
    "[random]\n"
    "  --processes N    1 to 32 [8]\n"
    "  --threads N      of each process, 1 to 32 [8]\n"
    "  --history FILE   keep the history of all rounds [of those with findings, in /tmp]\n"
    "  --redis URL      a server that may be disturbed [a private one]; links are not cut then, "
    "but\n"
    "                   connections killed\n"
    "  --list           name the kinds; the flawed ones are for seeing that torture finds "
    "something\n"
    "  --help           this text\n"
    "\n"
    "Exit status: 0 nothing found; 1 found something; 2 wrong usage; 3 void; 4 could not run;\n"
    "130 interrupted. What was found is printed with the seed that shows it again.\n";

struct arguments {
    const struct torture_kind *kinds[KINDS_MAX]; /* in turn; all the sound ones, or one */
    size_t kind_count;
    long seconds;
    unsigned long seed;
    unsigned long processes;
    unsigned long threads;
    const char *history_path;
    const char *url;
    bool is_help;
    bool is_list;
};

static volatile sig_atomic_t is_interrupted;

static void interrupt(int signal_number)
{
    (void)signal_number;
    is_interrupted = 1;
}

/* ---- arguments -------------------------------------------------------------------------------------- */

static bool read_number(const char *option, unsigned long least, unsigned long most,
                        unsigned long *out)
{
    char *end = NULL;

    errno = 0;
    unsigned long value = strtoul(optarg, &end, 10);
    if (errno == 0 && *optarg != '-' && *end == '\0' && value >= least && value <= most) {
        *out = value;
        return true;
    }
    (void)fprintf(stderr, "torture: --%s: \"%s\" is no number from %lu to %lu\n", option, optarg,
                  least, most);
    return false;
}

static void take_all_kinds(struct arguments *out)
{
    out->kind_count = 0;
    for (size_t i = 0; i < torture_kind_count && out->kind_count < KINDS_MAX; i++) {
        if (!torture_kinds[i]->is_flawed) out->kinds[out->kind_count++] = torture_kinds[i];
    }
}

static bool read_kind(struct arguments *out)
{
    const struct torture_kind *kind = torture_kind_named(optarg);

    take_all_kinds(out);
    if (strcmp(optarg, "all") == 0) return true;
    if (!kind) {
        (void)fprintf(stderr, "torture: --kind: there is no \"%s\"; see --list\n", optarg);
        return false;
    }
    out->kinds[0] = kind;
    out->kind_count = 1;
    return true;
}

static bool read_option(int option, struct arguments *out)
{
    unsigned long seconds = 0;

    switch (option) {
    case 'k':
        return read_kind(out);
    case 't':
        if (!read_number("seconds", ROUND_LEAST_S, INT_MAX, &seconds)) return false;
        out->seconds = (long)seconds;
        return true;
    case 's':
        return read_number("seed", 1, UINT32_MAX, &out->seed);
    case 'p':
        return read_number("processes", 1, TORTURE_PROCESSES_MAX, &out->processes);
    case 'n':
        return read_number("threads", 1, TORTURE_THREADS_MAX, &out->threads);
    case 'f':
        out->history_path = optarg;
        return true;
    case 'r':
        out->url = optarg;
        return true;
    case 'l':
        return out->is_list = true;
    case 'h':
        return out->is_help = true;
    default:
        return false;
    }
}

static bool parse(int argc, char **argv, struct arguments *out)
{
    static const struct option options[] = {
        {"kind", required_argument, NULL, 'k'},    {"seconds", required_argument, NULL, 't'},
        {"seed", required_argument, NULL, 's'},    {"processes", required_argument, NULL, 'p'},
        {"threads", required_argument, NULL, 'n'}, {"history", required_argument, NULL, 'f'},
        {"redis", required_argument, NULL, 'r'},   {"list", no_argument, NULL, 'l'},
        {"help", no_argument, NULL, 'h'},          {0}};
    int option = 0;
    uint32_t drawn = 0;

    if (getrandom(&drawn, sizeof drawn, 0) < 0) drawn = (uint32_t)torture_now_ns();
    *out = (struct arguments){.seconds = 120, .seed = drawn | 1U, .processes = 8, .threads = 8};
    take_all_kinds(out);
    /* NOLINTNEXTLINE(concurrency-mt-unsafe): one thread */
    while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
        if (!read_option(option, out)) return false;
    }
    if (optind == argc) return true;
    (void)fprintf(stderr, "torture: \"%s\" is too much; see --help\n", argv[optind]);
    return false;
}

static void print_kinds(void)
{
    for (size_t i = 0; i < torture_kind_count; i++)
        (void)puts(torture_kinds[i]->name);
}

/* ---- rounds -------------------------------------------------------------------------------------------- */

static enum torture_verdict run_round(const struct arguments *arguments, size_t number,
                                      long seconds)
{
    assert(arguments->kind_count > 0);
    struct torture_round round = {
        .plan = {.kind = arguments->kinds[number % arguments->kind_count],
                 .seed = number == 0 ? (uint32_t)arguments->seed
                                     : torture_seed((uint32_t)arguments->seed, (uint32_t)number, 1),
                 .run_ms = seconds * 1000,
                 .quiet_ms = QUIET_MS,
                 .stuck_ms = STUCK_MS,
                 .look_ms = 1,
                 .processes = (unsigned)arguments->processes,
                 .threads = (unsigned)arguments->threads},
        .url = arguments->url,
        .history_path = arguments->history_path,
        .shows_progress = isatty(STDERR_FILENO) == 1,
        .is_interrupted = &is_interrupted};

    (void)printf("torture: %s, seed %lu, %ld s\n", round.plan.kind->name,
                 (unsigned long)round.plan.seed, seconds);
    return torture_round_run(&round);
}

/* As long as was asked for, in rounds of equal length that are neither too short nor too long. */
static int run_all(const struct arguments *arguments)
{
    static const struct {
        int status;
        const char *words;
    } ends[] = {[TORTURE_CLEAN] = {EXIT_SUCCESS, "nothing found"},
                [TORTURE_VOID] = {3, "void, a failure: too little happened"},
                [TORTURE_FOUND] = {1, "FAILED"},
                [TORTURE_UNABLE] = {4, "could not run"},
                [TORTURE_INTERRUPTED] = {130, "interrupted"}};
    long least = (long)arguments->kind_count;
    long rounds = (arguments->seconds + ROUND_MOST_S - 1) / ROUND_MOST_S;
    enum torture_verdict worst = TORTURE_CLEAN;

    if (rounds < least) rounds = least;
    long seconds = arguments->seconds / rounds;
    if (seconds < ROUND_LEAST_S) seconds = ROUND_LEAST_S;
    for (long i = 0; i < rounds && worst < TORTURE_UNABLE; i++) {
        enum torture_verdict verdict = run_round(arguments, (size_t)i, seconds);

        if (verdict > worst) worst = verdict;
    }
    (void)printf("torture: %s\n", ends[worst].words);
    return ends[worst].status;
}

int main(int argc, char **argv)
{
    struct arguments arguments;
    struct sigaction action = {.sa_handler = interrupt};

    if (!parse(argc, argv, &arguments)) return EXIT_USAGE;
    if (arguments.is_help) return fputs(help, stdout) < 0;
    if (arguments.is_list) {
        print_kinds();
        return EXIT_SUCCESS;
    }
    (void)sigaction(SIGINT, &action, NULL);
    (void)sigaction(SIGTERM, &action, NULL);
    return run_all(&arguments);
}
