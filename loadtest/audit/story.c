/*
 * What the first buyer who was wronged asked, was told, and has: the shortest history of a failed audit.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "verdict.h"

static bool is_after(const struct ask *ask, const struct ask *last)
{
    return !last || ask->invoked_ns > last->invoked_ns ||
           (ask->invoked_ns == last->invoked_ns && ask > last);
}

/* The next one of this buyer's, in the order of asking; NULL: that was all. */
static const struct ask *next_of(const struct facts *facts, const char *buyer,
                                 const struct ask *last)
{
    const struct ask *next = NULL;

    for (size_t i = 0; i < facts->ask_count; i++) {
        const struct ask *ask = &facts->asks[i];

        if (strcmp(ask->buyer, buyer) != 0 || !is_after(ask, last)) continue;
        if (!next || ask->invoked_ns < next->invoked_ns) next = ask;
    }
    return next;
}

/* A clients' ledger may hold anything; the terminal and the picture get none of it. */
__attribute__((format(printf, 3, 4))) static void put(char *out, size_t size, const char *format,
                                                      ...)
{
    va_list args;

    va_start(args, format);
    (void)vsnprintf(out, size, format, args);
    va_end(args);
    for (; *out; out++)
        if (*out < ' ' || *out == 127) *out = '?';
}

static struct audit_event *add(struct audit_story *story, const char *what)
{
    static struct audit_event spare;
    struct audit_event *event =
        story->count < AUDIT_STORY_MAX ? &story->events[story->count++] : &spare;

    *event = (struct audit_event){.from_ms = -1, .to_ms = -1};
    put(event->what, sizeof event->what, "%s", what);
    return event;
}

static void add_rows(struct audit_story *story, const char *where, const struct row *rows,
                     size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (strncmp(rows[i].buyer, story->buyer, sizeof story->buyer - 1) != 0) continue;
        struct audit_event *event = add(story, where);
        put(event->words, sizeof event->words, "order %s, asked for by %s", rows[i].order,
            rows[i].rid);
    }
}

void audit_fill_story(const struct facts *facts, struct audit_result *result)
{
    struct audit_story *story = &result->story;
    const char *buyer = NULL;

    for (int i = 0; i < result->check_count && !buyer; i++) {
        if (result->checks[i].verdict == AUDIT_FAIL) buyer = result->checks[i].buyer;
    }
    if (!buyer) return;
    put(story->buyer, sizeof story->buyer, "%s", buyer);
    const struct ask *first = next_of(facts, buyer, NULL);
    for (const struct ask *ask = first; ask && story->count < AUDIT_STORY_ASKS;
         ask = next_of(facts, buyer, ask)) {
        struct audit_event *event = add(story, ask->rid);

        event->from_ms = (double)(ask->invoked_ns - first->invoked_ns) / 1e6;
        if (ask->answered_ns > 0)
            event->to_ms = (double)(ask->answered_ns - first->invoked_ns) / 1e6;
        put(event->words, sizeof event->words, "%s%s%s",
            ask->answered_ns > 0 ? facts_answer_name(ask->answer) : "never answered",
            ask->order ? ", order " : "", ask->order ? ask->order : "");
    }
    add_rows(story, "ledger", facts->sold, facts->sold_count);
    add_rows(story, "orders", facts->orders, facts->order_count);
}

void audit_story_write(const struct audit_story *story, FILE *to)
{
    if (story->buyer[0])
        (void)fprintf(to, "    what %s asked (ms), was told, and has:\n", story->buyer);
    for (size_t i = 0; i < story->count; i++) {
        const struct audit_event *event = &story->events[i];

        if (event->from_ms < 0)
            (void)fprintf(to, "%13s  ", "");
        else
            (void)fprintf(to, "    %8.1f   ", event->from_ms);
        (void)fprintf(to, "%s: ", event->what);
        if (event->to_ms >= 0) (void)fprintf(to, "at %.1f ", event->to_ms);
        (void)fprintf(to, "%s\n", event->words);
    }
}

static json_t *ms_or_null(double ms)
{
    return ms < 0 ? json_null() : json_real(ms);
}

json_t *audit_story_json(const struct audit_story *story)
{
    json_t *events = json_array();

    for (size_t i = 0; i < story->count; i++) {
        const struct audit_event *event = &story->events[i];

        (void)json_array_append_new(events,
                                    json_pack("{s:s,s:s,s:o,s:o}", "what", event->what, "words",
                                              event->words, "from_ms", ms_or_null(event->from_ms),
                                              "to_ms", ms_or_null(event->to_ms)));
    }
    return json_pack("{s:s,s:o}", "buyer", story->buyer, "events", events);
}
