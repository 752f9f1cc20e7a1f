/*
 * The page around the sections: head, style, how to read it. Colours are variables, so the pictures
 * follow a dark screen too; they stay apart for eyes that mix up red and green. One thread.
 */
#include "page.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/moment.h"
#include "base/programs.h"
#include "page_section.h"

enum { PATH_ROOM = PAGE_PATH_MAX + 32 };

static const char style[] =
    "body{margin:0 auto;max-width:46rem;padding:1rem;background:var(--paper);color:var(--c1);"
    "font:1rem/1.5 system-ui,sans-serif}\n"
    "h1{font-size:1.6rem;line-height:1.2}h2{font-size:1.25rem;margin:2.5rem 0 .5rem}\n"
    "p,li{max-width:42rem}figure{margin:1.2rem 0 .5rem}\n"
    "figcaption,.note{color:var(--c2);font-size:.9rem}\n"
    "svg{display:block;width:100%;height:auto}svg *{font-family:system-ui,sans-serif}\n"
    ".narrow{display:none}\n"
    "@media(max-width:34rem){.wide{display:none}.narrow{display:block}}\n"
    "details{margin:.3rem 0 1rem}summary{cursor:pointer;color:var(--c4)}\n"
    ".scroll{overflow-x:auto}table{border-collapse:collapse;font-size:.85rem;margin:.5rem 0}\n"
    "th,td{text-align:left;padding:.2rem .8rem .2rem 0;border-bottom:1px solid var(--c3);"
    "vertical-align:top;font-variant-numeric:tabular-nums}th{font-weight:600}\n"
    "details td,th{white-space:nowrap}\n"
    "#ladder th{white-space:normal}#ladder td:nth-child(n+3):nth-child(-n+4){white-space:nowrap}"
    "#ladder .scroll{width:min(94vw,84rem);margin-left:calc(50% - min(47vw,42rem))}\n"
    ".good{color:var(--c5)}.bad{color:var(--c8)}.open{color:var(--c6)}"
    ".good,.bad,.open{font-weight:600;white-space:nowrap}\n"
    ".missing{background:var(--shade);padding:.6rem .8rem}code{font-size:.9em}\n"
    "nav a{color:var(--c4);margin-right:.9rem;white-space:nowrap}\n"
    "@media(max-width:34rem){th,.good,.bad,.open{white-space:normal}"
    "section>.scroll td:last-child{min-width:6.4rem}}\n"
    "@media print{details>*{display:block}}\n";

static const struct section {
    const char *id, *name, *head;
    void (*write)(struct page *page, const json_t *root);
    page_kind kind;  /* of file; PAGE_KIND_COUNT: any */
    bool is_partial; /* it has something to say without, too */
} sections[] = {
    {"verdicts", "Verdicts", "Verdicts: what the auditor found", page_section_verdicts, PAGE_VERIFY,
     false},
    {"guards", "Guards", "Guards under the same load", page_section_guards, PAGE_COMPARE, false},
    {"throughput", "Throughput", "Throughput over time", page_section_course, PAGE_VERIFY, false},
    {"latency", "Latency", "Latency by outcome", page_section_latency, PAGE_VERIFY, false},
    {"connections", "Connections", "Guards × connections", page_section_connections, PAGE_SWEEP,
     false},
    {"batches", "Batches", "Batch size against throughput", page_section_batches, PAGE_SWEEP,
     false},
    {"lock-times-of-guards", "Lock times", "Waiting for locks, and holding them",
     page_section_lock_times, PAGE_SWEEP, true},
    {"locks", "Locks", "The locks by themselves", page_section_locks, PAGE_LOCKS, false},
    {"ways", "Ways", "Every way to a lock, side by side", page_section_ways, PAGE_WAYS, false},
    {"ladder", "Ladder", "The ladder: what each guard sells and promises, on what",
     page_section_ladder, PAGE_BENCH, false},
    {"scaling", "Segments", "One sale over more masters: measured, and simulated",
     page_section_scaling, PAGE_BENCH, false},
    {"figures", "Figures", "Figures of the service", page_section_figures, PAGE_BENCH, true},
    {"machine", "Machine", "Hardware and commit", page_section_machine, PAGE_KIND_COUNT, true},
};
enum { SECTION_COUNT = sizeof sections / sizeof *sections };

static void write_missing(FILE *to, const struct page_kind_text *kind)
{
    (void)fputs("<p class=\"missing\">No data: ", to);
    page_print(to, "%s was not among the files given. To have it, run ", kind->what);
    (void)fputs("<code>", to);
    page_escape(to, kind->command);
    (void)fputs("</code> and give its JSON to <code>report</code>.</p>\n", to);
}

static void write_section(FILE *to, struct page *page, const struct section *section)
{
    bool needs_none = section->kind == PAGE_KIND_COUNT;
    const json_t *root = needs_none ? NULL : page->results->roots[section->kind];
    /* A speed run does instead of a bench. */
    bool is_given = needs_none || root ||
                    (section->write == page_section_figures && page->results->roots[PAGE_SPEED]);

    (void)fprintf(to, "<section id=\"%s\">\n<h2>", section->id);
    page_escape(to, section->head);
    (void)fputs("</h2>\n", to);
    if (!is_given) write_missing(to, &page_kinds[section->kind]);
    if (root || section->is_partial) section->write(page, root);
    (void)fputs("</section>\n\n", to);
}

static void write_head(FILE *to)
{
    char now[40];

    moment_rfc3339(now, sizeof now);
    (void)fputs("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n"
                "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n"
                "<title>seckill: what was measured</title>\n<style>\n",
                to);
    (void)fputs(page_plot_colours, to);
    (void)fputs(style, to);
    (void)fputs("</style>\n</head>\n<body>\n<main>\n<h1>seckill: what was measured</h1>\n"
                "<p class=\"note\">",
                to);
    page_print(to, "Written %s by report %s from result files of loadtest and lockbench.", now,
               SECKILL_VERSION);
    (void)fputs("</p>\n<nav aria-label=\"sections\">", to);
    for (size_t i = 0; i < SECTION_COUNT; i++)
        (void)fprintf(to, "<a href=\"#%s\">%s</a> ", sections[i].id, sections[i].name);
    (void)fputs("</nav>\n", to);
}

static void write_reading(FILE *to)
{
    (void)fputs(
        "<p>How to read the pictures: each <b>dot</b> is one repeat, the <b>bar</b> their median "
        "(its number stands at the end of the row), the thin <b>line</b> goes from the least to "
        "the "
        "most. That range of <i>n</i> independent repeats holds the true median with probability "
        "1 − 2<sup>1−n</sup>: 94 % for 5. Something is called faster or slower only where two "
        "ranges do not overlap and both have at least 4 repeats, which chance alone brings "
        "about once in 35 comparisons; else no difference can be told. The numbers behind each "
        "picture fold out below it.</p>\n\n",
        to);
}

static void write_page(FILE *to, struct page *page)
{
    write_head(to);
    write_reading(to);
    for (size_t i = 0; i < SECTION_COUNT; i++)
        write_section(to, page, &sections[i]);
    (void)fputs("</main>\n</body>\n</html>\n", to);
}

bool page_write(const char *dir, const struct page_results *results, struct failure *failure)
{
    struct page page = {.results = results};
    char path[PATH_ROOM], part[PATH_ROOM + 8];

    if (strlen(dir) >= PAGE_PATH_MAX - 80)
        return failure_set(failure, "--out: the path is too long");
    if (!programs_make_folders("", dir, failure)) return false;
    (void)snprintf(path, sizeof path, "%s/index.html", dir);
    (void)snprintf(part, sizeof part, "%s.part", path);
    page.to = fopen(part, "we");
    if (!page.to) return failure_set(failure, "%s: %s", part, failure_errno_text());
    write_page(page.to, &page);
    bool is_good = !ferror(page.to);
    if (fclose(page.to) != 0 || !is_good)
        is_good = failure_set(failure, "%s: %s", part, failure_errno_text());
    if (is_good && rename(part, path) != 0)
        is_good = failure_set(failure, "%s: %s", path, failure_errno_text());
    if (!is_good) (void)unlink(part);
    return is_good;
}
