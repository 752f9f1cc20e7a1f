/*
 * history_check: the checks of a history file, as a program.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/flags.h"
#include "judge.h"

enum { EXIT_FOUND = 1, EXIT_USAGE = 2, STUCK_MS = 5000 };

struct arguments {
    struct history_check_options options;
    struct flag_texts files;
    const char *svg; /* NULL: none */
    bool is_quiet;
};

#define AT(field) offsetof(struct arguments, field)

static const struct flag flags[] = {
    {"stuck-ms", FLAG_NUMBER, AT(options.stuck_ms), 1, INT64_MAX, "N",
     .help = "a free lock must be taken by a waiter within this time [5000]"},
    {"quiet", FLAG_SWITCH, AT(is_quiet), .help = "the summary only, not each finding"},
    {"svg", FLAG_TEXT, AT(svg), .value = "FILE",
     .help = "a picture of what led to the first finding"},
    {"help", FLAG_HELP, .help = "this text"},
};

static const struct flags command_line = {
    .program = "history_check",
    .head = "usage: history_check [options] FILE...      (\"-\": standard input)\n"
            "\n"
            "Check what lock clients wrote of what they did: one line per step, monotonic "
            "nanoseconds. All\n"
            "files together are one history; lines may come in any order.\n"
            "\n",
    .tail =
        "\n"
        "A line:\n"
        "  NS PID STEP KIND KEY TOKEN STATUS took=NS ends=NS fence=N count=N renewed=0|1\n"
        "  NS PID mark killed|paused|resumed|cut|healed|emptied|restarted   (PID 0: of the "
        "server)\n"
        "  NS PID limit semaphore|permits|latch KEY N\n"
        "  NS PID left-key KEY TYPE TTL\n"
        "  NS PID left-channel NAME SUBSCRIBERS\n"
        "  NS PID look - - - ok took=NS                      (an observer read all keys)\n"
        "  NS PID seen holder|counter KEY TOKEN ok took=NS ends=NS fence=N\n"
        "STEP is acquire, release, renew, lost, queued or run; NS is its end, took= leads to its "
        "begin;\n"
        "ends= is the end of the lease by the holder's clock. \"-\" stands for nothing.\n"
        "\n"
        "Exit status: 0 nothing found; 1 found something; 2 the history cannot be read, or is "
        "empty.\n",
    .list = flags,
    .count = sizeof flags / sizeof flags[0],
    .column = 14,
    .words = &(const struct flag){.kind = FLAG_TEXTS, .name = "FILE", .offset = AT(files)},
};

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
    static struct arguments arguments = {.options = {.stuck_ms = STUCK_MS}};
    struct history history = {0};
    struct history_report report = {0};

    int status = flags_main(&command_line, argc, argv, &arguments);
    if (status >= 0) return status;
    status = EXIT_USAGE;
    if (arguments.files.count == 0) {
        (void)fputs("history_check: no file was named; see --help\n", stderr);
        return EXIT_USAGE;
    }
    if (!arguments.is_quiet) arguments.options.findings = arguments.options.drawing = stdout;
    for (size_t i = 0; i < arguments.files.count; i++) {
        if (!read_one(&history, arguments.files.list[i])) goto out;
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
