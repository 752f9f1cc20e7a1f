/*
 * The ladder: guards on places, what they sell and what they promise there. One thread.
 */
#include <string.h>

#include "count/bench_places.h"
#include "page_section.h"

/* What breaks the first promises, as the guard's "expected" says; NULL: it does not tell. */
static const char *const broken_by[] = {"oversells", NULL, "stuck", NULL};

static bool is_at(const json_t *step, const char *member, const char *name)
{
    return strcmp(page_string(step, member), name) == 0;
}

static void write_promises(struct page *page, const json_t *step)
{
    bool is_sound = is_at(step, "expected", "sound");
    const char *doubt = json_string_value(json_object_get(step, "void"));

    for (size_t i = 0; i < sizeof broken_by / sizeof *broken_by; i++) {
        bool is_broken = broken_by[i] && is_at(step, "expected", broken_by[i]);
        page_verdict_cell(page, is_sound ? "held" : is_broken ? "fail" : "no promise");
    }
    (void)fputs("<td>", page->to);
    page_verdict(page, json_is_true(json_object_get(step, "keeps_orders")) ? "held" : "fail");
    page_print(page->to, ": %s", page_string(step, "crash"));
    (void)fputs("</td>", page->to);
    page_cell(page, "%s%s%s", page_string(step, "flaw"), doubt ? " void: " : "",
              doubt ? doubt : "");
}

static void write_step(struct page *page, const json_t *step, const struct page_sample *first)
{
    const char *needs = page_string(step, "needs");
    struct page_sample rate = {.count = 0}, p99 = {.count = 0};

    (void)page_measured(step, "orders_per_s", &rate);
    (void)page_measured(step, "p99_ms", &p99);
    page_row_begin(page, page_string(step, "guard"));
    page_cell(page, "%s%s%s; %s", page_string(step, "servers"), *needs ? " + " : "",
              needs + strspn(needs, "-"), page_string(step, "stores"));
    page_cell(page, "%s", page_spread(&rate).text);
    page_cell(page, "%s", page_spread(&p99).text);
    page_cell(page, "%s",
              rate.count && first->count ? page_number(rate.median / first->median).text : "–");
    write_promises(page, step);
    page_row_end(page);
}

/* Names the guards that the list has elsewhere alone, of those that can be there. */
static void write_missing(struct page *page, const json_t *list, const struct bench_place *place)
{
    const char *lead = ": ";

    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *step = json_array_get(list, i);
        bool is_known = !is_at(step, "expected", "sound") || !is_at(step, "needs", "");
        for (size_t k = 0; k < json_array_size(list); k++)
            is_known |= is_at(json_array_get(list, k), "guard", page_string(step, "guard")) &&
                        (k < i || is_at(json_array_get(list, k), "place", place->name));
        if (is_known) continue;
        if (*lead == ':')
            page_print(page->to, " Not measured with %s, %s", place->servers, place->stores);
        page_print(page->to, "%s%s", lead, page_string(step, "guard"));
        lead = ", ";
    }
    if (*lead == ',') (void)fputs(".\n", page->to);
}

void page_section_ladder(struct page *page, const json_t *root)
{
    static const char *const heads[] = {"guard",
                                        "servers; what is stored",
                                        "orders/s",
                                        "p99, ms",
                                        "÷ first",
                                        "never oversold",
                                        "one order per buyer",
                                        "its holder killed",
                                        "its holder paused",
                                        "accepted orders, when Redis crashes",
                                        "its flaw; what makes the row void",
                                        NULL};
    const json_t *list = json_object_get(root, "ladder");
    struct page_sample first = {.count = 0};

    if (json_array_size(list) == 0) {
        (void)fputs("<p>No data: <code>loadtest --bench --only ladder</code> climbs it.</p>\n",
                    page->to);
        return;
    }
    (void)page_measured(json_array_get(list, 0), "orders_per_s", &first);
    page_table_open(page, "the ladder", heads);
    for (size_t i = 0; i < json_array_size(list); i++)
        write_step(page, json_array_get(list, i), &first);
    page_table_close(page);
    (void)fputs("<p class=\"note\">One instance with its default batch, all on one machine and by "
                "TCP, places and guards in "
                "shuffled rounds; p99 of all answers. A guard's promises are what the service says "
                "of it, and tests find under that "
                "fault. Flawed guards, and those with servers of their own, are on the first place "
                "alone; of the others <code>loadtest "
                "--bench --only ladder</code> measures all.",
                page->to);
    for (size_t i = 0; i < BENCH_PLACE_COUNT; i++)
        write_missing(page, list, &bench_places[i]);
    (void)fputs("</p>\n", page->to);
}
