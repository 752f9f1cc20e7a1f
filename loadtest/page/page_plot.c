/*
 * Running gnuplot. The scripts stay beside the page, so that a picture can be drawn again by hand.
 * One thread.
 */
#include "page_plot.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/process.h"

enum { DRAW_LIMIT_MS = 60000, PATH_ROOM = PAGE_PATH_MAX + 80, WORDS_MAX = 200 };

static void name_file(char out[PATH_ROOM], const char *dir, const struct page_plot *plot,
                      const char *ending)
{
    (void)snprintf(out, PATH_ROOM, "%.1000s/%.60s%s", dir, plot->name, ending);
}

FILE *page_plot_open(const struct page_plot *plot, const char *dir, struct failure *failure)
{
    char path[PATH_ROOM];

    name_file(path, dir, plot, ".gp");
    FILE *script = fopen(path, "we");
    if (!script) {
        (void)failure_set(failure, "%s: %s", path, failure_errno_text());
        return NULL;
    }
    (void)fprintf(script,
                  "# gnuplot -e 'width=%d; height=%d' %s.gp > %s.svg\n"
                  "set terminal svg size width,height font 'sans-serif,13' noenhanced\n"
                  "set encoding utf8\n"
                  "unset key\n"
                  "set tics nomirror out scale 0.6 textcolor rgb '#010202'\n",
                  PAGE_WIDE, plot->height, plot->name, plot->name);
    return script;
}

/* The whole file; NULL when it cannot be read. */
static char *read_file(const char *path)
{
    FILE *file = fopen(path, "re");
    char *text = NULL;
    size_t size = 0;
    char part[8192];
    size_t length = 0;

    if (!file) return NULL;
    FILE *copy = open_memstream(&text, &size);
    while (copy && (length = fread(part, 1, sizeof part, file)) > 0)
        (void)fwrite(part, 1, length, copy);
    (void)fclose(file); /* read only */
    if (copy && fclose(copy) == 0) return text;
    free(text);
    return NULL;
}

/* What gnuplot said, on one line. */
static bool fail_with_words(const char *log_path, const char *script, const struct process *process,
                            struct failure *failure)
{
    char *said = read_file(log_path);
    char ending[40];

    process_ending(process, ending, sizeof ending);
    for (char *at = said; at && *at; at++)
        if (*at == '\n' || *at == '\t') *at = ' ';
    if (strcmp(ending, "could not be started") == 0)
        (void)failure_set(failure, "gnuplot cannot be started: please install it "
                                   "(Debian's package: gnuplot-nox)");
    else
        (void)failure_set(failure, "gnuplot %s: %s: %.200s", script, ending, said ? said : "");
    free(said);
    return false;
}

static bool run_gnuplot(const char *script, const char *svg, const char *log_path, int width,
                        int height, struct failure *failure)
{
    struct process process;
    char settings[WORDS_MAX];
    const char *const argv[] = {"gnuplot", "-e", settings, script, NULL};

    (void)snprintf(settings, sizeof settings, "width=%d; height=%d", width, height);
    (void)unlink(log_path); /* of the picture before */
    (void)unlink(svg);
    if (!process_start(&process, argv, svg, log_path, failure)) return false;
    bool has_ended = process_wait(&process, DRAW_LIMIT_MS);
    process_stop(&process, 0);
    if (!has_ended) return failure_set(failure, "gnuplot %s: took too long", script);
    return process.wait_status == 0 || fail_with_words(log_path, script, &process, failure);
}

static bool draw_one(FILE *to, const struct page_plot *plot, const char *dir, int width,
                     struct failure *failure)
{
    const char *variant = width == PAGE_WIDE ? "wide" : "narrow";
    char script[PATH_ROOM], svg_path[PATH_ROOM], log_path[PATH_ROOM];

    name_file(script, dir, plot, ".gp");
    name_file(svg_path, dir, plot, width == PAGE_WIDE ? ".svg" : "-narrow.svg");
    name_file(log_path, dir, plot, ".log");
    if (!run_gnuplot(script, svg_path, log_path, width, plot->height, failure)) return false;
    (void)unlink(log_path);
    char *svg = read_file(svg_path);
    bool is_good = svg && page_svg_write(to, svg, plot, variant);
    free(svg);
    return is_good || failure_set(failure, "gnuplot %s: wrote no picture", script);
}

bool page_plot_draw(FILE *to, const struct page_plot *plot, const char *dir,
                    struct failure *failure)
{
    return draw_one(to, plot, dir, PAGE_WIDE, failure) &&
           draw_one(to, plot, dir, PAGE_NARROW, failure);
}
