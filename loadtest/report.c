/*
 * report: result files of loadtest, lockbench and audit in, one HTML page out. One thread.
 */
#include <stdio.h>

#include "common/flags.h"
#include "common/std_streams.h"
#include "page/page.h"

enum { EXIT_WRITTEN = 0, EXIT_UNUSABLE = 2, EXIT_NOT_WRITTEN = 3 };

struct arguments {
    const char *out;
    struct flag_texts files;
};

static const struct flag files = {
    .name = "files", .kind = FLAG_TEXTS, .offset = offsetof(struct arguments, files)};

static const struct flag flags[] = {
    {"out", FLAG_TEXT, offsetof(struct arguments, out), .value = "DIR",
     .help = "where the page goes (build/report)"},
    {"help", FLAG_HELP, .help = "this text"},
    {"version", FLAG_VERSION, .help = "the version"},
};

static const struct flags command_line = {
    .program = "report",
    .head = "report [--out DIR] FILE.json...\n"
            "\n"
            "Make one HTML page of what loadtest, lockbench and audit found, DIR/index.html: "
            "pictures,\n"
            "tables, verdicts; it loads nothing from anywhere. At most one file of each kind; a "
            "section\n"
            "without its file says how to get it.\n"
            "\n",
    .tail = "\nFiles, by the command that makes them:\n",
    .list = flags,
    .count = sizeof flags / sizeof *flags,
    .column = 14,
    .words = &files,
};

static int print_help(void)
{
    flags_help(&command_line, stdout);
    for (int kind = 0; kind < PAGE_KIND_COUNT; kind++)
        (void)printf("  %-24s %s\n", page_kinds[kind].what, page_kinds[kind].command);
    (void)fputs(
        "\nExit status: 0 the page is written; 2 bad flag, or a file cannot be used; 3 the page\n"
        "cannot be written.\n",
        stdout);
    return fflush(stdout) == 0 ? EXIT_WRITTEN : EXIT_NOT_WRITTEN;
}

static int fail(int status, const struct failure *failure)
{
    (void)fprintf(stderr, "report: %s\n", failure->text);
    return status;
}

int main(int argc, char **argv)
{
    static struct arguments arguments = {.out = "build/report"};
    struct page_results results = {.roots = {NULL}};
    struct failure failure = {.text = ""};

    std_streams_open();
    switch (flags_read(&command_line, argc, argv, &arguments, &failure)) {
    case FLAGS_HELP:
        return print_help();
    case FLAGS_VERSION:
        return printf("report %s\n", SECKILL_VERSION) > 0 && fflush(stdout) == 0 ? EXIT_WRITTEN
                                                                                 : EXIT_NOT_WRITTEN;
    case FLAGS_BAD:
        return fail(EXIT_UNUSABLE, &failure);
    case FLAGS_READ:
        break;
    }
    bool is_usable =
        arguments.files.count > 0 ||
        failure_set(&failure, "no file given (try --help); \"make report\" measures and reports");
    for (size_t i = 0; i < arguments.files.count && is_usable; i++)
        is_usable = page_load(&results, arguments.files.list[i], &failure);
    bool is_written = is_usable && page_write(arguments.out, &results, &failure);
    page_unload(&results);
    if (!is_written) return fail(is_usable ? EXIT_NOT_WRITTEN : EXIT_UNUSABLE, &failure);
    (void)printf("%s/index.html\n", arguments.out);
    return fflush(stdout) == 0 ? EXIT_WRITTEN : EXIT_NOT_WRITTEN;
}
