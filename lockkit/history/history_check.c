/*
 * history_check: the checks of a history file, as a program.
 */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "judge.h"

enum { EXIT_FOUND = 1, EXIT_USAGE = 2, STUCK_MS = 5000 };

static const char help[] =
    "usage: history_check [options] FILE...      (\"-\": standard input)\n"
    "\n"
    "Check what lock clients wrote of what they did: one line per step, monotonic nanoseconds. "
    "All\n"
    "files together are one history; lines may come in any order.\n"
    "\n"
    "  --stuck-ms N   a free lock must be taken by a waiter within this time [5000]\n"
    "  --quiet        the summary only, not each finding\n"
    "  --svg FILE     a picture of what led to the first finding\n"
    "  --help         this text\n"
    "\n"
    "A line:\n"
    "  NS PID STEP KIND KEY TOKEN STATUS took=NS ends=NS fence=N count=N renewed=0|1\n"
    "  NS PID mark killed|paused|resumed|cut|healed|emptied|restarted   (PID 0: of the server)\n"
    "  NS PID limit semaphore|permits|latch KEY N\n"
    "  NS PID left-key KEY TYPE TTL\n"
    "  NS PID left-channel NAME SUBSCRIBERS\n"
    "  NS PID look - - - ok took=NS                      (an observer read all keys)\n"
    "  NS PID seen holder|counter KEY TOKEN ok took=NS ends=NS fence=N\n"
    "STEP is acquire, release, renew, lost, queued or run; NS is its end, took= leads to its "
    "begin;\n"
    "ends= is the end of the lease by the holder's clock. \"-\" stands for nothing.\n"
    "\n"
    "Exit status: 0 nothing found; 1 found something; 2 the history cannot be read, or is empty.\n";

struct arguments {
    struct history_check_options options;
    const char *svg; /* NULL: none */
    bool is_help;
};

static bool parse(int argc, char **argv, struct arguments *out)
{
    static const struct option options[] = {{"stuck-ms", required_argument, NULL, 's'},
                                            {"quiet", no_argument, NULL, 'q'},
                                            {"svg", required_argument, NULL, 'p'},
                                            {"help", no_argument, NULL, 'h'},
                                            {0}};
    char *end = NULL;
    int option = 0;

    *out = (struct arguments){
        .options = {.stuck_ms = STUCK_MS, .findings = stdout, .drawing = stdout}};
    /* NOLINTNEXTLINE(concurrency-mt-unsafe): one thread */
    while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
        switch (option) {
        case 's':
            out->options.stuck_ms = strtoll(optarg, &end, 10);
            if (*end == '\0' && out->options.stuck_ms > 0) break;
            (void)fprintf(stderr, "history_check: --stuck-ms: \"%s\" is no number above 0\n",
                          optarg);
            return false;
        case 'q':
            out->options.findings = out->options.drawing = NULL;
            break;
        case 'p':
            out->svg = optarg;
            break;
        case 'h':
            out->is_help = true;
            break;
        default:
            return false;
        }
    }
    if (optind < argc || out->is_help) return true;
    (void)fputs("history_check: no file was named; see --help\n", stderr);
    return false;
}

static bool read_one(struct history *history, const char *path)
{
    const char *why = NULL;
    bool is_stdin = strcmp(path, "-") == 0;
    FILE *file = is_stdin ? stdin : fopen(path, "r");

    if (!file) {
        (void)fprintf(stderr, "history_check: %s: %s\n", path, strerrordesc_np(errno));
        return false;
    }
    unsigned long line = history_read(history, file, &why);
    if (!is_stdin) (void)fclose(file);
    if (line) (void)fprintf(stderr, "history_check: %s:%lu: %s\n", path, line, why);
    return line == 0;
}

static void print_report(const struct history_report *report)
{
    (void)printf(
        "%zu lines: %zu holds of %zu keys, %zu acquires without an answer, %zu holds lost\n",
        report->lines, report->holds, report->keys, report->unknown, report->lost);
    for (int id = 0; id < CHECK_COUNT; id++) {
        (void)printf("  %-10s %9zu looked at %6zu found   %s\n",
                     history_check_name((enum history_check_id)id), report->examined[id],
                     report->found[id], history_check_claim((enum history_check_id)id));
    }
    (void)printf("  %zu times a holder whose lease had ended believed in it beside the next one\n",
                 report->beliefs);
}

int main(int argc, char **argv)
{
    struct arguments arguments;
    struct history history = {0};
    struct history_report report = {0};
    int status = EXIT_USAGE;

    if (!parse(argc, argv, &arguments)) return EXIT_USAGE;
    if (arguments.is_help) {
        (void)fputs(help, stdout);
        return EXIT_SUCCESS;
    }
    for (int i = optind; i < argc; i++) {
        if (!read_one(&history, argv[i])) goto out;
    }
    if (arguments.svg) arguments.options.picture = fopen(arguments.svg, "we");
    if (arguments.svg && !arguments.options.picture) {
        (void)fprintf(stderr, "history_check: %s: %s\n", arguments.svg, strerrordesc_np(errno));
        goto out;
    }
    if (history.count == 0) {
        (void)fputs("history_check: there is nothing in it\n", stderr);
    } else if (!history_check(&history, &arguments.options, &report)) {
        (void)fputs("history_check: out of memory\n", stderr);
    } else {
        print_report(&report);
        status = history_found(&report) == 0 ? EXIT_SUCCESS : EXIT_FOUND;
    }

out:
    if (arguments.options.picture && fclose(arguments.options.picture) != 0) status = EXIT_USAGE;
    history_done(&history);
    return status;
}
