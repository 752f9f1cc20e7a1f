/*
 * See events.h. No I/O, no clock, no threads of its own.
 */
#include "events.h"

#include <string.h>

const char *events_kind_name(event_kind kind)
{
    static const char *const names[] = {EVENT_KIND_LIST(LIST_NAME)};

    return (unsigned)kind < EVENT_KIND_COUNT ? names[kind] : "?";
}

/* ---- following a ledger ---------------------------------------------------------------------- */

/* What an operator's step makes of the stored state; NULL: nothing. */
struct step {
    const char *event;
    const char *stored_state;
};

static const struct step steps[] = {
    {"paused", "paused"}, {"resumed", "open"}, {"ended", "ended"},
    {"restocked", NULL},  {"patched", NULL},
};

static const struct step *find_step(const char *event)
{
    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
        if (strcmp(steps[i].event, event) == 0) return &steps[i];
    }
    return NULL;
}

static void set_stored_state(struct sale *sale, const char *state)
{
    (void)strncpy(sale->stored_state, state, sizeof sale->stored_state - 1);
    sale->stored_state[sizeof sale->stored_state - 1] = '\0';
}

void events_tick(struct sale_moment *moment, int64_t now_ms)
{
    struct sale *sale = &moment->sale;

    if (now_ms <= sale->now_ms) return;
    sale->now_ms = now_ms;
    sale_set_stock(sale, sale->left + sale->cooling);
}

bool events_follow(struct sale_moment *moment, const struct ledger_entry *entry,
                   struct events_change *out)
{
    const struct step *step = find_step(entry->event);
    struct sale *sale = &moment->sale;
    sale_state before = SALE_UPCOMING;

    events_tick(moment, (int64_t)entry->id.ms);
    before = sale_state_of(sale);
    if (entry->sellable_ms > sale->now_ms)
        sale_add_lot(sale, (struct sale_lot){entry->sellable_ms, entry->units});
    if (entry->has_left) sale_set_stock(sale, entry->left);
    if (entry->starts_ms >= 0) sale->starts_ms = entry->starts_ms;
    if (entry->ends_ms >= 0) sale->ends_ms = entry->ends_ms;
    if (step && step->stored_state) set_stored_state(sale, step->stored_state);
    moment->orders += entry->orders;
    moment->last = entry->id;
    if (!step && sale_state_of(sale) == before) return false;
    *out = (struct events_change){.id = entry->id, .state = sale_state_of(sale)};
    memcpy(out->because, entry->event, sizeof out->because);
    return true;
}

/* ---- telling --------------------------------------------------------------------------------- */

void events_add(struct events_group *group, event_kind kind, const char *data, size_t data_len)
{
    struct text *out = &group->text;
    const char *end = data + data_len;

    TEXT_ADD(out, "event: ");
    text_add_string(out, events_kind_name(kind));
    for (;;) { /* CR, LF and CRLF end a line */
        const char *stop = data;

        while (stop < end && *stop != '\n' && *stop != '\r')
            stop++;
        TEXT_ADD(out, "\ndata: ");
        text_add(out, data, (size_t)(stop - data));
        if (stop == end) break;
        data = stop + (end - stop >= 2 && stop[0] == '\r' && stop[1] == '\n' ? 2 : 1);
    }
    TEXT_ADD(out, "\n\n");
    group->count[kind]++;
}

void events_add_comment(struct events_group *group, const char *words)
{
    TEXT_ADD(&group->text, ": ");
    text_add_string(&group->text, words);
    TEXT_ADD(&group->text, "\n\n");
}

static void add_number(struct events_group *group, event_kind kind, const char *name,
                       int64_t number)
{
    char buffer[48];
    struct text data = TEXT_OVER(buffer);

    TEXT_ADD(&data, "{");
    text_add_count(&data, name, number);
    TEXT_ADD(&data, "}");
    events_add(group, kind, data.data, data.len);
}

static void add_state(struct events_group *group, sale_state state, const char *because)
{
    char buffer[160];
    struct text data = TEXT_OVER(buffer);

    TEXT_ADD(&data, "{");
    text_add_member(&data, "state", sale_state_name(state));
    text_add_member(&data, "because", because);
    TEXT_ADD(&data, "}");
    events_add(group, EVENT_STATE, data.data, data.len);
}

void events_add_snapshot(struct events_group *group, const struct sale_moment *moment,
                         const char *json, struct events_told *told)
{
    events_add(group, EVENT_SNAPSHOT, json, strlen(json));
    add_number(group, EVENT_ORDERS, "orders", moment->orders);
    *told = (struct events_told){.last = moment->last,
                                 .left = moment->sale.left,
                                 .orders = moment->orders,
                                 .now_ms = moment->sale.now_ms,
                                 .state = sale_state_of(&moment->sale)};
}

/* Changes that this client has not heard of; how many there are from *out_first on. */
static size_t find_new_changes(const struct events_news *news, const struct events_told *told,
                               size_t *out_first)
{
    size_t first = 0;

    while (first < news->change_count &&
           ledger_id_compare(news->changes[first].id, told->last) <= 0)
        first++;
    *out_first = first;
    return news->change_count - first;
}

static void add_ledger_news(struct events_group *group, const struct events_news *news,
                            struct events_told *told)
{
    size_t first = 0;
    size_t count = find_new_changes(news, told, &first);

    for (size_t i = first; i < first + count; i++) {
        add_state(group, news->changes[i].state, news->changes[i].because);
        told->state = news->changes[i].state;
    }
    if (news->orders != told->orders) add_number(group, EVENT_ORDERS, "orders", news->orders);
    if (news->left != told->left) add_number(group, EVENT_STOCK, "remaining", news->left);
    told->left = news->left;
    told->orders = news->orders;
    told->last = news->last;
}

void events_add_news(struct events_group *group, const struct events_news *news,
                     struct events_told *told)
{
    if (news->is_lost && !told->is_lost) events_add_comment(group, "store unavailable");
    told->is_lost = news->is_lost;
    if (ledger_id_compare(news->last, told->last) < 0) return; /* the client is ahead of us */
    if (ledger_id_compare(news->last, told->last) > 0) add_ledger_news(group, news, told);
    if (news->now_ms < told->now_ms) return;
    told->now_ms = news->now_ms;
    if (news->state != told->state) add_state(group, news->state, "clock");
    if (news->left != told->left) add_number(group, EVENT_STOCK, "remaining", news->left);
    told->state = news->state;
    told->left = news->left;
}

/* ---- when ------------------------------------------------------------------------------------ */

int64_t events_wait_ms(const struct events_pace *pace, bool has_news, int64_t now_ms)
{
    int64_t due_ms = pace->next_beat_ms;

    if (has_news && pace->next_group_ms < due_ms) due_ms = pace->next_group_ms;
    return due_ms > now_ms ? due_ms - now_ms : 0;
}

void events_wrote(struct events_pace *pace, int64_t now_ms)
{
    pace->next_group_ms = now_ms + EVENTS_GAP_MS;
    pace->next_beat_ms = now_ms + EVENTS_BEAT_MS;
}
