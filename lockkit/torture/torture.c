/*
 * torture: lockkit's kinds of lock among processes that are killed, paused, cut off and cancelled,
 * judged by who met inside and by the history of all that was said.
 */
#include <assert.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "common/flags.h"
#include "torture_kinds.h"
#include "torture_round.h"

enum { ROUND_LEAST_S = 5, ROUND_MOST_S = 20, QUIET_MS = 1000, STUCK_MS = 2000, KINDS_MAX = 32 };

struct arguments {
    const struct torture_kind *kinds[KINDS_MAX]; /* in turn; all the sound ones, or one */
    size_t kind_count;
    int64_t seconds;
    uint64_t seed, processes, threads;
    const char *history_path;
    const char *url;
    bool is_list;
};

static volatile sig_atomic_t is_interrupted;

static void interrupt(int signal_number)
{
    (void)signal_number;
    is_interrupted = 1;
}

/* ---- arguments -------------------------------------------------------------------------------------- */

static void take_all_kinds(struct arguments *out)
{
    out->kind_count = 0;
    for (size_t i = 0; i < torture_kind_count && out->kind_count < KINDS_MAX; i++) {
        if (!torture_kinds[i]->is_flawed) out->kinds[out->kind_count++] = torture_kinds[i];
    }
}

static bool take_kind(const struct flag *flag, void *to, const char *value, struct failure *failure)
{
    const struct torture_kind *kind = torture_kind_named(value);
    struct arguments *out = to;

    take_all_kinds(out);
    if (strcmp(value, "all") == 0) return true;
    if (!kind)
        return failure_set(failure, "--%s: there is no \"%s\"; see --list", flag->name, value);
    out->kinds[0] = kind;
    out->kind_count = 1;
    return true;
}

#define AT(field) offsetof(struct arguments, field)

static const struct flag flags[] = {
    {"kind", FLAG_TAKEN, .value = "KIND", .take = take_kind,
     .help = "one kind, or all [all]; --list names them"},
    {"seconds", FLAG_NUMBER, AT(seconds), ROUND_LEAST_S, INT_MAX, "N",
     .help = "how long in all, in rounds of 5 to 20 seconds [120]"},
    {"seed", FLAG_NUMBER, AT(seed), 1, UINT32_MAX, "N",
     .help = "of the first round; the same seed draws the same turns and faults [random]"},
    {"processes", FLAG_NUMBER, AT(processes), 1, TORTURE_PROCESSES_MAX, "N", .help = "1 to 32 [8]"},
    {"threads", FLAG_NUMBER, AT(threads), 1, TORTURE_THREADS_MAX, "N",
     .help = "of each process, 1 to 32 [8]"},
    {"history", FLAG_TEXT, AT(history_path), .value = "FILE",
     .help = "keep the history of all rounds [of those with findings, in /tmp]"},
    {"redis", FLAG_TEXT, AT(url), .value = "URL",
     .help = "a server that may be disturbed [a private one]; links are not cut then, but\n"
             "connections killed"},
    {"list", FLAG_SWITCH, AT(is_list),
     .help = "name the kinds; the flawed ones are for seeing that torture finds something"},
    {"help", FLAG_HELP, .help = "this text"},
};

static const struct flags command_line = {
    .program = "torture",
    .head =
        "usage: torture [options]\n"
        "\n"
        "Torture lockkit's locks: processes of several threads take and give back a few keys while "
        "they\n"
        "are killed, paused past their leases, cut from the server and cancelled, and while the "
        "server\n"
        "is paused and forgets its scripts. Whoever holds a lock for certain stands on a board in "
        "shared\n"
        "memory; nobody may meet there who must not. Afterwards the history of all steps is "
        "checked (see\n"
        "history_check). A round in which too little has happened is void, which is a failure.\n"
        "\n",
    .tail =
        "\n"
        "Exit status: 0 nothing found; 1 found something; 2 wrong usage; 3 void; 4 could not run;\n"
        "130 interrupted. What was found is printed with the seed that shows it again.\n",
    .list = flags,
    .count = sizeof flags / sizeof flags[0],
    .column = 16,
};

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
    struct arguments arguments = {.seconds = 120, .processes = 8, .threads = 8};
    struct sigaction action = {.sa_handler = interrupt};
    uint32_t drawn = 0;

    if (getrandom(&drawn, sizeof drawn, 0) < 0) drawn = (uint32_t)torture_now_ns();
    arguments.seed = drawn | 1U;
    take_all_kinds(&arguments);
    int status = flags_main(&command_line, argc, argv, &arguments);
    if (status >= 0) return status;
    if (arguments.is_list) {
        print_kinds();
        return EXIT_SUCCESS;
    }
    (void)sigaction(SIGINT, &action, NULL);
    (void)sigaction(SIGTERM, &action, NULL);
    return run_all(&arguments);
}
