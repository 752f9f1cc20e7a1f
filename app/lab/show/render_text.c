/*
 * A run as text: a column per actor, and behind them what the observer saw after each step; with several
 * servers, who has the lock on which of them is in a line below. Any thread.
 */
#include <stdlib.h>
#include <string.h>

#include "aside.h"
#include "columns.h"
#include "decided.h"
#include "lease.h"
#include "render.h"

enum {
    PAGE = 118,  /* columns in all */
    STEP = 4,    /* of these: the step's number */
    OWNER = 10,  /* ...per lock: its owner */
    LEASE = 9,   /* ...and its lease */
    COUNTS = 14, /* ...stock and orders */
    GAP = 2,
};

struct page {
    const struct lab_run *run;
    enum lab_language language;
    FILE *out;
    size_t column; /* width of an actor's */
};

static const char *word(const struct page *page, struct lab_text text)
{
    return lab_text_in(text, page->language);
}

/* ---- cells --------------------------------------------------------------------------------------- */

/* Keys of the sale without what all have in common: "seckill:{lamp}:stock" is ":stock". */
static void print_short(FILE *out, const char *text)
{
    static const char common[] = STAGE_KEY("");
    const char *at = NULL;

    while ((at = strstr(text, common)) != NULL) {
        (void)fprintf(out, "%.*s:", (int)(at - text), text);
        text = at + sizeof common - 1;
    }
    (void)fputs(text, out);
}

/* "redis-1": where there are several servers, each is called by its name. */
static void print_server(const struct page *page, FILE *out, unsigned server, const char *behind)
{
    if (page->run->server_count > 0) (void)fprintf(out, "%s%s", tap_server_name(server), behind);
}

/* "redis-1> SET :lock A#1 NX -> OK" */
static void print_call(const struct page *page, FILE *out, const struct tap_call *call,
                       size_t width)
{
    char *raw = NULL;
    size_t size = 0;
    FILE *line = open_memstream(&raw, &size);

    if (!line) return;
    print_server(page, line, call->server, "> ");
    print_short(line, call->command ? call->command : "?");
    (void)fputs(" -> ", line);
    print_short(line, call->reply ? call->reply : "...");
    if (fclose(line) == 0) columns_wrap(out, raw, "  ", width - 2);
    free(raw);
}

/* "(and: the sale's state, the clock)" */
static void print_asides(const struct page *page, FILE *out, const struct lab_step *step,
                         size_t width)
{
    char *raw = NULL;
    size_t size = 0;
    FILE *line = open_memstream(&raw, &size);
    const char *between = word(page, LAB_TEXT("(and: ", "（另有："));

    if (!line) return;
    for (size_t i = 0; i < step->calls.count; i++) {
        struct lab_text about = aside_of(page->run, step, &step->calls.list[i]);

        if (!about.en) continue;
        (void)fprintf(line, "%s%s", between, word(page, about));
        between = word(page, LAB_TEXT(", ", "、"));
    }
    if (ftell(line) > 0) (void)fputs(word(page, LAB_TEXT(")", "）")), line);
    if (fclose(line) == 0) columns_wrap(out, raw, "  ", width - 2);
    free(raw);
}

static void print_told(const struct page *page, FILE *out, const char *told)
{
    static const struct {
        const char *outcome;
        struct lab_text text;
    } rows[] = {{"created", {"created", "买到了"}},
                {"replayed", {"replayed", "买到了（同一张订单）"}},
                {"lock-timeout", {"lock-timeout", "繁忙，没有买到"}},
                {"sold-out", {"sold-out", "已售罄"}},
                {"already-ordered", {"already-ordered", "已经有一张了"}},
                {"store-unavailable", {"store-unavailable", "没有买到"}},
                {"paid", {"paid", "已付款"}},
                {"late", {"late", "太晚了，没有付成"}},
                {"outcome-unknown", {"outcome-unknown", "结果未知"}}};

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (strcmp(told, rows[i].outcome) == 0) told = word(page, rows[i].text);
    }
    (void)fprintf(out, "%s%s\n", word(page, LAB_TEXT("told: ", "告知买家：")), told);
}

/* What an actor's cell holds in this step, already in lines. NULL: no memory. */
static char *cell_of(const struct page *page, const struct lab_step *step, size_t width)
{
    char *cell = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&cell, &size);

    if (!out) return NULL;
    columns_wrap(out, word(page, step->did), "", width);
    for (size_t i = 0; i < step->calls.count; i++) {
        if (!aside_of(page->run, step, &step->calls.list[i]).en)
            print_call(page, out, &step->calls.list[i], width);
    }
    print_asides(page, out, step, width);
    if (step->told) print_told(page, out, step->told);
    (void)fclose(out);
    return cell;
}

static const char *lease_word(const struct page *page, enum lab_lease lease)
{
    static const struct lab_text words[] = {[LAB_FREE] = {"-", "-"},
                                            [LAB_LEASED] = {"lease", "租约"},
                                            [LAB_FOR_EVER] = {"for ever", "永久"},
                                            [LAB_DOWN] = {"down", "宕机"},
                                            [LAB_SESSION] = {"session", "会话"}};

    return word(page, words[lease]);
}

/* How many locks have columns of their own. */
static size_t lock_columns(const struct lab_run *run)
{
    return run->server_count == 0 ? run->lock_count : 0;
}

/* The lease in ms where a command granted it, and else in a word. */
static const char *lease_text(const struct page *page, size_t number, size_t lock,
                              char out[LABEL_SIZE])
{
    long long ms = lease_ms(page->run, number - 1, lock);

    if (ms == LEASE_UNKNOWN)
        return lease_word(page, page->run->steps[number - 1].state.lock[lock].lease);
    (void)snprintf(out, LABEL_SIZE, "%lld", ms);
    return out;
}

static void print_state(const struct page *page, size_t number)
{
    const struct lab_step *step = &page->run->steps[number - 1];
    char text[LABEL_SIZE];

    for (size_t i = 0; i < lock_columns(page->run); i++) {
        const char *owner = step->state.lock[i].owner;
        const char *lease = lease_text(page, number, i, text);

        columns_print(page->out, *owner ? owner : "-", *owner ? strlen(owner) : 1, OWNER);
        columns_print(page->out, lease, strlen(lease), LEASE);
    }
    (void)fprintf(page->out, "%5lld %7zu", step->state.stock,
                  step->state.order_count - step->state.over_count);
}

/* "redis-1 A#1 lease   redis-2 -   redis-3 down": a line below the step. */
static void print_servers(const struct page *page, size_t number)
{
    const struct lab_run *run = page->run;
    const struct lab_step *step = &run->steps[number - 1];
    char text[LABEL_SIZE];

    if (run->server_count == 0) return;
    (void)fprintf(page->out, "%*s| %s: ", STEP, "", word(page, LAB_TEXT("lock", "锁")));
    for (size_t i = 0; i < run->lock_count; i++) {
        const char *owner = step->state.lock[i].owner;

        print_server(page, page->out, run->lock_servers[i], " ");
        (void)fprintf(page->out, "%s%s%s%s", owner, *owner ? " " : "",
                      lease_text(page, number, i, text), i + 1 < run->lock_count ? "   " : "\n");
    }
}

/* ---- rows ---------------------------------------------------------------------------------------- */

/* "  >  3  if redis.call(...": a line of a script; the one that decided is marked. */
static void print_script_line(const struct page *page, const struct tap_call *call, unsigned line)
{
    const char *text = decided_find_line(call->script, line);

    if (text)
        (void)fprintf(page->out, "%*s| %s %3u  %.*s\n", STEP, "",
                      line == decided_line(call) ? ">" : " ", line, (int)strcspn(text, "\n"), text);
}

/* Whether an earlier step has shown that part of that script. */
static bool was_shown(const struct page *page, size_t number, const struct tap_call *call)
{
    for (size_t i = 0; i + 1 < number; i++) {
        const struct tap_calls *calls = &page->run->steps[i].calls;

        for (size_t k = 0; k < calls->count; k++) {
            if (calls->list[k].script && strcmp(calls->list[k].script, call->script) == 0 &&
                decided_line(&calls->list[k]) == decided_line(call))
                return true;
        }
    }
    return false;
}

/* What is worth reading of a script, or if that was read before, the line that decided. */
static void print_script(const struct page *page, const struct tap_call *call, bool is_known)
{
    unsigned last = 0;

    for (unsigned line = 1; decided_find_line(call->script, line); line++) {
        if (is_known ? line != decided_line(call) : !decided_is_worth(call, line)) continue;
        if (!is_known && line > last + 1) (void)fprintf(page->out, "%*s|   ...\n", STEP, "");
        print_script_line(page, call, line);
        last = line;
    }
}

static void print_scripts(const struct page *page, size_t number)
{
    const struct tap_calls *calls = &page->run->steps[number - 1].calls;

    for (size_t i = 0; i < calls->count; i++) {
        size_t len = 0;
        const char *name = decided_name(&calls->list[i], &len);

        if (!name) continue;
        (void)fprintf(page->out, "%*s| Lua: %.*s\n", STEP, "", (int)len, name);
        print_script(page, &calls->list[i], was_shown(page, number, &calls->list[i]));
    }
}

static void print_breaks_in(const struct page *page, size_t number)
{
    for (size_t i = 0; i < page->run->break_count; i++) {
        if (page->run->breaks[i].step != number) continue;
        (void)fprintf(page->out, "%*s*** %s\n", STEP, "",
                      word(page, lab_promise_text(page->run->breaks[i].promise)));
    }
}

/* An actor's step is in its column; what the lab does is in none, and marked. */
static void print_row(const struct page *page, size_t number)
{
    const struct lab_step *step = &page->run->steps[number - 1];
    bool is_lab = step->actor == LAB_TIME;
    const char *lane = is_lab ? word(page, LAB_TEXT("[lab] ", "[实验室] ")) : "";
    size_t all = page->run->actor_count * (page->column + GAP);
    size_t before =
        is_lab ? columns_of(lane, strlen(lane)) : (size_t)step->actor * (page->column + GAP);
    char *cell = cell_of(page, step, is_lab ? all - GAP - before : page->column);
    size_t len = 0;

    for (const char *line = cell; line && *line; line += len + (line[len] == '\n')) {
        bool is_first = line == cell;

        len = strcspn(line, "\n");
        if (is_first) (void)fprintf(page->out, "%*zu  ", STEP - 2, number);
        if (!is_first) (void)fprintf(page->out, "%*s", STEP, "");
        columns_print(page->out, is_first ? lane : "", is_first ? strlen(lane) : 0, before);
        columns_print(page->out, line, len, is_first ? all - before : 0);
        if (is_first) print_state(page, number);
        (void)fputc('\n', page->out);
    }
    free(cell);
    print_servers(page, number);
    print_scripts(page, number);
    print_breaks_in(page, number);
}

static void print_lesson(const struct page *page)
{
    const struct lab_scenario *scenario = page->run->scenario;

    (void)fprintf(page->out, "%s  %s  %s\n\n", scenario->number, scenario->name,
                  word(page, scenario->title));
    const char *lesson = word(page, scenario->lesson);
    char *before = strndup(lesson, lab_lesson_before(lesson));

    if (before) columns_wrap(page->out, before, "  ", PAGE - 4);
    (void)fputc('\n', page->out);
    free(before);
}

/* What a lock's column is called. */
static const char *heading(const struct page *page, const char *key)
{
    static const struct {
        const char *part;
        struct lab_text text;
    } headings[] = {{"{case}", {"case", "灯罩锁"}},
                    {":permits", {"permits", "许可"}},
                    {":latch", {"latch", "闭锁"}}};

    for (size_t i = 0; i < sizeof headings / sizeof headings[0]; i++) {
        if (strstr(key, headings[i].part)) return word(page, headings[i].text);
    }
    return word(page, LAB_TEXT("lock", "锁"));
}

static void print_head(const struct page *page)
{
    const struct lab_run *run = page->run;
    char name[LABEL_SIZE + 40];

    (void)fprintf(page->out, "  %s\n\n",
                  word(page, LAB_TEXT(":stock stands for seckill:{lamp}:stock, and so on",
                                      ":stock 即 seckill:{lamp}:stock，其余类推")));
    (void)fprintf(page->out, "%*s", STEP, "");
    for (size_t i = 0; i < run->actor_count; i++) {
        const char *kind =
            run->actors[i].is_process ? word(page, LAB_TEXT(", process", "，进程")) : "";

        (void)snprintf(name, sizeof name, "%s (%s%s)", run->actors[i].name,
                       run->actors[i].way[0] ? run->actors[i].way
                                             : word(page, LAB_TEXT("no guard", "无 guard")),
                       kind);
        columns_print(page->out, name, strlen(name), page->column + GAP);
    }
    for (size_t i = 0; i < lock_columns(run); i++) {
        const char *owner = heading(page, run->locks[i]);
        const char *lease = word(page, LAB_TEXT("TTL", "TTL"));

        columns_print(page->out, owner, strlen(owner), OWNER);
        columns_print(page->out, lease, strlen(lease), LEASE);
    }
    (void)fprintf(page->out, "%s\n", word(page, LAB_TEXT("stock  orders", " 库存    订单")));
}

/* "oversold at step 4, ..." */
static void print_breaks(const struct page *page, const struct lab_break *breaks, size_t count)
{
    if (count == 0 || breaks[0].promise == LAB_KEPT)
        (void)fputs(word(page, LAB_TEXT("sound", "所有承诺都守住了")), page->out);
    for (size_t i = 0; i < count && breaks[i].promise != LAB_KEPT; i++) {
        const char *between = i > 0 ? word(page, LAB_TEXT(", ", "，")) : "";

        if (page->language == LAB_CHINESE)
            (void)fprintf(page->out, "%s第 %u 步“%s”", between, breaks[i].step,
                          lab_promise_text(breaks[i].promise).zh);
        else
            (void)fprintf(page->out, "%s%s at step %u", between,
                          lab_promise_name(breaks[i].promise), breaks[i].step);
    }
}

static void print_verdict(const struct page *page)
{
    const struct lab_run *run = page->run;

    (void)fprintf(page->out, "\n%s", word(page, LAB_TEXT("Verdict: ", "结论：")));
    if (run->failure.text[0]) {
        (void)fprintf(page->out, "%s (%s)\n",
                      word(page, LAB_TEXT("it did not come to its end", "没有演到结尾")),
                      run->failure.text);
        return;
    }
    print_breaks(page, run->breaks, run->break_count);
    if (lab_run_is_expected(run)) {
        (void)fprintf(page->out, "%s\n", word(page, LAB_TEXT(", as expected", "，符合预期")));
    } else {
        (void)fputs(word(page, LAB_TEXT("; UNEXPECTED, it should be ", "；不符合预期，应为 ")),
                    page->out);
        print_breaks(page, run->scenario->expected, LAB_BREAKS_MAX);
        (void)fputc('\n', page->out);
    }
    const char *after = lab_lesson_after(word(page, run->scenario->lesson));
    if (after) columns_wrap(page->out, after, "  ", PAGE - 4);
    if (run->scenario->leads_to)
        (void)fprintf(page->out, "%s%s\n", word(page, LAB_TEXT("Next: ", "下一个：")),
                      run->scenario->leads_to);
}

static void print_steps(struct page *page)
{
    const struct lab_run *run = page->run;
    size_t state = lock_columns(run) * (OWNER + LEASE) + COUNTS;

    if (run->actor_count > 0) page->column = (PAGE - STEP - state) / run->actor_count - GAP;
    print_head(page);
    for (size_t i = 1; i <= run->step_count; i++)
        print_row(page, i);
}

void render_text_steps(const struct lab_run *run, enum lab_language language, FILE *out)
{
    print_steps(&(struct page){.run = run, .language = language, .out = out});
}

void render_text(const struct lab_run *run, enum lab_language language, FILE *out)
{
    struct page page = {.run = run, .language = language, .out = out};

    print_lesson(&page);
    print_steps(&page);
    print_verdict(&page);
}
