/*
 * gnuplot writes whole files: the head goes, ids get a name in front, colours become variables of
 * the style sheet, and its own titles (data file names) make room for ours. One thread.
 */
#include <stdlib.h>
#include <string.h>

#include "page_plot.h"

static bool starts(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

/* "rgb(  1,   2,   8)" is var(--c8); the end of it, or NULL when it is another colour. */
static const char *take_colour(const char *at, FILE *to)
{
    static const char ends[] = ",,)";
    long parts[3];

    at += strlen("rgb(");
    for (int i = 0; i < 3; i++) {
        char *end = NULL;
        parts[i] = strtol(at, &end, 10);
        if (end == at || *end != ends[i]) return NULL;
        at = end + 1;
    }
    if (parts[0] != 1 || parts[1] != 2) return NULL;
    (void)fprintf(to, "var(--c%ld)", parts[2]);
    return at;
}

/* Elements that say nothing here. */
static const char *skip_element(const char *at)
{
    static const char *const names[] = {"title", "desc", "filter"};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char begin[16], end[16];
        (void)snprintf(begin, sizeof begin, "<%s", names[i]);
        (void)snprintf(end, sizeof end, "</%s>", names[i]);
        if (!starts(at, begin)) continue;
        const char *found = strstr(at, end);
        return found ? found + strlen(end) : NULL;
    }
    return NULL;
}

static const char bold[] = "font-family=\"sans-serif:Bold\"";

/* One thing that changes, or a character; what comes behind it. */
static const char *copy_one(const char *at, FILE *to, const char *prefix)
{
    const char *behind = skip_element(at);

    if (behind) return behind;
    if (starts(at, "rgb(")) {
        behind = take_colour(at, to);
        if (behind) return behind;
    }
    if (starts(at, bold)) { /* the style sheet names the font */
        (void)fputs("font-weight=\"600\"", to);
        return at + strlen(bold);
    }
    if (starts(at, "xlink:href='#")) {
        (void)fprintf(to, "href='#%s-", prefix);
        return at + strlen("xlink:href='#");
    }
    if (starts(at, " id=\"") || starts(at, " id='")) {
        (void)fprintf(to, " id=%c%s-", at[4], prefix);
        return at + 5;
    }
    (void)fputc(*at, to);
    return at + 1;
}

bool page_svg_write(FILE *to, const char *svg, const struct page_plot *plot, const char *variant)
{
    const char *at = strstr(svg, "<g id=\"gnuplot_canvas\">");
    const char *box = strstr(svg, "viewBox=\"");
    char prefix[80];

    if (!at || !box || !strstr(at, "</svg>")) return false;
    (void)snprintf(prefix, sizeof prefix, "%s-%s", plot->name, variant);
    (void)fprintf(to,
                  "<svg class=\"%s\" viewBox=\"%.*s\" role=\"img\" aria-labelledby=\"%s-title "
                  "%s-text\">\n",
                  variant, (int)strcspn(box + 9, "\""), box + 9, prefix, prefix);
    (void)fprintf(to, "<title id=\"%s-title\">", prefix);
    page_escape(to, plot->title);
    (void)fprintf(to, "</title>\n<desc id=\"%s-text\">", prefix);
    page_escape(to, plot->text);
    (void)fputs("</desc>\n", to);
    while (*at)
        at = copy_one(at, to, prefix);
    return true;
}
