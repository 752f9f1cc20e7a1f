/*
 * See draw.h. Up to eight holders, a column or a bar for each, and the last steps before the finding.
 */
#include "draw.h"

#include <inttypes.h>
#include <string.h>

#include "holds.h"

enum { HOLDERS_MAX = 8, STEPS_MAX = 24, COLUMN = 22, ROW_PX = 34, LEFT_PX = 190, WIDTH_PX = 900 };

struct drawing {
    const struct checking *checking;
    const struct history_line *at; /* the finding's */
    const struct hold *holders[HOLDERS_MAX];
    size_t holder_count;
    int64_t from_ns, to_ns;
};

static const struct history_line *line_numbered(const struct history *history, unsigned long number)
{
    for (size_t i = 0; i < history->count; i++) {
        if (history->lines[i].number == number) return &history->lines[i];
    }
    return NULL;
}

/* Who may have held then; of those before, the last one alone. */
static void find_holders(struct drawing *self)
{
    const struct checking *checking = self->checking;
    int64_t begins_ns = self->at->at_ns - self->at->took_ns;
    const struct hold *before = NULL;

    for (size_t i = 0; i < checking->hold_count; i++) {
        const struct hold *hold = &checking->holds[i];

        if (hold->key != self->at->key || hold->may_begin > self->at->at_ns) continue;
        if (hold->may_end >= begins_ns) {
            if (self->holder_count < HOLDERS_MAX - 1) self->holders[self->holder_count++] = hold;
        } else if (!before || hold->may_end > before->may_end) {
            before = hold;
        }
    }
    if (before) self->holders[self->holder_count++] = before;
    self->from_ns = begins_ns;
    self->to_ns = self->at->at_ns;
    for (size_t i = 0; i < self->holder_count; i++) {
        const struct history_line *acquire = self->holders[i]->acquire;

        if (acquire->at_ns - acquire->took_ns < self->from_ns)
            self->from_ns = acquire->at_ns - acquire->took_ns;
    }
}

/* The column of a line: a step of that holder, or a mark of its process; holder_count: of the server, -1: of none. */
static int column_of(const struct drawing *self, const struct history_line *line)
{
    bool is_mark = history_is(line, "mark", NULL);

    if (line->at_ns < self->from_ns || line->at_ns > self->to_ns) return -1;
    if (is_mark && line->pid == 0) return (int)self->holder_count;
    for (size_t i = 0; i < self->holder_count; i++) {
        const struct hold *hold = self->holders[i];

        if (is_mark ? line->pid == hold->acquire->pid
                    : line->key == hold->key && line->token == hold->token)
            return (int)i;
    }
    return -1;
}

/* The last steps up to the finding, in order; gives their number. */
static size_t find_steps(const struct drawing *self, const struct history_line **out)
{
    const struct history *history = self->checking->history;
    size_t count = 0;

    for (size_t i = 0; i < history->count; i++) {
        const struct history_line *line = &history->lines[i];
        size_t place = 0;

        if (column_of(self, line) < 0) continue;
        if (count == STEPS_MAX && line->at_ns < out[0]->at_ns) continue;
        if (count == STEPS_MAX) memmove(out, out + 1, --count * sizeof *out);
        for (place = count; place > 0 && out[place - 1]->at_ns > line->at_ns; place--)
            out[place] = out[place - 1];
        out[place] = line;
        count++;
    }
    return count;
}

static double ms_of(const struct drawing *self, int64_t at_ns)
{
    return (double)(at_ns - self->from_ns) / 1e6;
}

/* ---- as text --------------------------------------------------------------------------------------- */

static void write_step(const struct drawing *self, const struct history_line *line, FILE *out)
{
    int column = column_of(self, line);
    int last = column < (int)self->holder_count ? (int)self->holder_count - 1 : column;
    char words[COLUMN];

    (void)snprintf(words, sizeof words, "%s %s",
                   history_is(line, "mark", NULL) ? "was" : line->step,
                   history_is(line, "mark", NULL) ? line->kind : line->status);
    (void)fprintf(out, "  %10.3f  ", ms_of(self, line->at_ns));
    for (int i = 0; i <= last; i++) {
        const struct hold *hold = i < (int)self->holder_count ? self->holders[i] : NULL;
        bool is_held = hold && hold->begins_ns <= line->at_ns && line->at_ns < hold->ends_ns;

        if (i == column && !hold) (void)fputs("(server) ", out);
        (void)fprintf(out, "%-*s", i < last ? COLUMN : 0, i == column ? words : is_held ? "|" : "");
    }
    (void)fputs(line == self->at ? "   <- here\n" : "\n", out);
}

static void write_text(const struct drawing *self, FILE *out)
{
    const struct history_line *steps[STEPS_MAX];
    size_t count = find_steps(self, steps);

    (void)fprintf(out, "  what led to it, on %s; ms, \"|\": surely held\n  %10s  ", self->at->key,
                  "");
    for (size_t i = 0; i < self->holder_count; i++)
        (void)fprintf(out, "%c: %-*.*s", (char)('A' + i), COLUMN - 3, COLUMN - 4,
                      self->holders[i]->token);
    (void)fputc('\n', out);
    for (size_t i = 0; i < count; i++)
        write_step(self, steps[i], out);
}

/* ---- as a picture ---------------------------------------------------------------------------------- */

static double x_of(const struct drawing *self, int64_t at_ns)
{
    int64_t span_ns = self->to_ns - self->from_ns;
    int64_t in_ns = at_ns < self->from_ns ? self->from_ns
                    : at_ns > self->to_ns ? self->to_ns
                                          : at_ns;

    return LEFT_PX + (double)(in_ns - self->from_ns) / (double)(span_ns > 0 ? span_ns : 1) *
                         (WIDTH_PX - LEFT_PX - 20);
}

static void write_bar(FILE *out, double from, double to, size_t row, const char *colour)
{
    (void)fprintf(out, "<rect x=\"%.1f\" y=\"%zu\" width=\"%.1f\" height=\"14\" fill=\"%s\"/>\n",
                  from, 40 + row * ROW_PX, to - from, colour);
}

/* Tokens and keys are printable ASCII (history.h); what XML takes for its own is left out. */
static void write_words(FILE *out, double x, size_t y, const char *words)
{
    (void)fprintf(out, "<text x=\"%.1f\" y=\"%zu\">", x, y);
    for (; *words; words++) {
        if (!strchr("<>&", *words)) (void)fputc(*words, out);
    }
    (void)fputs("</text>\n", out);
}

static void write_picture(const struct drawing *self, FILE *out)
{
    const struct history_line *steps[STEPS_MAX];
    size_t count = find_steps(self, steps);
    size_t height = 70 + (self->holder_count + 1) * ROW_PX;
    char words[64];

    (void)fprintf(out,
                  "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %zu\" "
                  "font-family=\"sans-serif\" font-size=\"11\">\n",
                  WIDTH_PX, height);
    write_words(out, 10, 20, self->at->key);
    for (size_t i = 0; i < self->holder_count; i++) {
        const struct hold *hold = self->holders[i];

        (void)snprintf(words, sizeof words, "%c: %.24s", (char)('A' + i), hold->token);
        write_words(out, 10, 51 + i * ROW_PX, words);
        write_bar(out, x_of(self, hold->may_begin), x_of(self, hold->may_end), i, "#f2c9b8");
        if (hold->ends_ns > hold->begins_ns)
            write_bar(out, x_of(self, hold->begins_ns), x_of(self, hold->ends_ns), i, "#c0392b");
    }
    for (size_t i = 0; i < count; i++) {
        size_t row = (size_t)column_of(self, steps[i]);
        bool is_mark = history_is(steps[i], "mark", NULL);

        (void)snprintf(words, sizeof words, "%s %s", is_mark ? "was" : steps[i]->step,
                       is_mark ? steps[i]->kind : steps[i]->status);
        write_words(out, x_of(self, steps[i]->at_ns), 65 + row * ROW_PX, words);
    }
    (void)snprintf(words, sizeof words, "%.3f ms; dark: surely held, light: perhaps",
                   ms_of(self, self->to_ns));
    write_words(out, LEFT_PX, height - 10, words);
    (void)fputs("</svg>\n", out);
}

void history_draw(const struct checking *checking)
{
    struct drawing self = {.checking = checking};

    if (checking->report->first == 0) return;
    self.at = line_numbered(checking->history, checking->report->first);
    if (!self.at || !self.at->key || !self.at->status) return;
    find_holders(&self);
    if (self.holder_count == 0) return;
    if (checking->options->drawing) write_text(&self, checking->options->drawing);
    if (checking->options->picture) write_picture(&self, checking->options->picture);
}
