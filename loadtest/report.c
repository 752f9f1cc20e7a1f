/*
 * report: result files of loadtest and lockbench in, one HTML page out. One thread.
 */
#include <stdio.h>
#include <string.h>

#include "common/streams.h"
#include "page/page.h"

enum { EXIT_WRITTEN = 0, EXIT_UNUSABLE = 2, EXIT_NOT_WRITTEN = 3 };

static const char help[] =
    "report [--out DIR] FILE.json...\n"
    "\n"
    "Make one HTML page of what loadtest and lockbench measured, DIR/index.html: pictures, "
    "tables,\n"
    "verdicts; it loads nothing from anywhere. At most one file of each kind; a section without "
    "its\n"
    "file says how to get it.\n"
    "\n"
    "  --out DIR     where the page goes (build/report)\n"
    "  --help        this text\n"
    "  --version     the version\n"
    "\n"
    "Files, by the command that makes them:\n";

static const char help_tail[] =
    "\nExit status: 0 the page is written; 2 bad flag, or a file cannot be used; 3 the page\n"
    "cannot be written.\n";

struct arguments {
    const char *out;
    bool is_help, is_version;
    int file_count;
};

static int print_help(void)
{
    (void)fputs(help, stdout);
    for (int kind = 0; kind < PAGE_KIND_COUNT; kind++)
        (void)printf("  %-24s %s\n", page_kinds[kind].what, page_kinds[kind].command);
    (void)fputs(help_tail, stdout);
    return fflush(stdout) == 0 ? EXIT_WRITTEN : EXIT_NOT_WRITTEN;
}

/* Flags are taken; the files move to the front of `argv`. */
static bool parse(int argc, char **argv, struct arguments *arguments, struct failure *failure)
{
    for (int i = 1; i < argc; i++) {
        const char *word = argv[i];
        if (strcmp(word, "--help") == 0)
            arguments->is_help = true;
        else if (strcmp(word, "--version") == 0)
            arguments->is_version = true;
        else if (strncmp(word, "--out=", 6) == 0)
            arguments->out = word + 6;
        else if (strcmp(word, "--out") == 0 && i + 1 < argc)
            arguments->out = argv[++i];
        else if (strcmp(word, "--out") == 0)
            return failure_set(failure, "--out: the value is missing");
        else if (word[0] == '-' && word[1])
            return failure_set(failure, "no flag \"%s\" (try --help)", word);
        else
            argv[arguments->file_count++] = argv[i];
    }
    if (!arguments->out[0]) return failure_set(failure, "--out: is empty");
    return arguments->file_count > 0 || arguments->is_help || arguments->is_version ||
           failure_set(failure, "no file given (try --help); \"make report\" measures and reports");
}

int main(int argc, char **argv)
{
    struct arguments arguments = {.out = "build/report"};
    struct page_results results = {.roots = {NULL}};
    struct failure failure = {.text = ""};

    streams_open();
    bool is_usable = parse(argc, argv, &arguments, &failure);
    if (is_usable && arguments.is_help) return print_help();
    if (is_usable && arguments.is_version) {
        (void)printf("report %s\n", SECKILL_VERSION);
        return fflush(stdout) == 0 ? EXIT_WRITTEN : EXIT_NOT_WRITTEN;
    }
    for (int i = 0; i < arguments.file_count && is_usable; i++)
        is_usable = page_load(&results, argv[i], &failure);
    bool is_written = is_usable && page_write(arguments.out, &results, &failure);
    page_unload(&results);
    if (!is_written) {
        (void)fprintf(stderr, "report: %s\n", failure.text);
        return is_usable ? EXIT_NOT_WRITTEN : EXIT_UNUSABLE;
    }
    (void)printf("%s/index.html\n", arguments.out);
    return fflush(stdout) == 0 ? EXIT_WRITTEN : EXIT_NOT_WRITTEN;
}
