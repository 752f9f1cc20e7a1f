/*
 * GET /api/v1/sales/{id}/events: one stream of events, on its connection's thread until the client
 * goes, does not read, or the service stops. What is said is in events.c; who says that there is
 * something to say is broadcast.c.
 *
 * A stream is a buyer's connection, but there are threads of its own for it (server.c): --streams of
 * them, so that nobody who only watches takes the place of somebody who buys; acceptor.c has a fair
 * share of them for each client.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "door/inside.h"
#include "events/broadcast.h"
#include "handlers.h"
#include "http/connection.h"
#include "store/store_ledger.h"

enum {
    WRITE_MS = 1000, /* a client that does not read for so long is dropped */
    RELOAD_PAUSE_MS = 1000,
    RESUME_ENTRIES = 10000, /* more than that since Last-Event-ID: a snapshot */
    RESUME_ORDERS = 100000, /* so that nobody makes us read a whole sale again and again */
};

struct stream {
    struct service *service;
    struct http_request *request;
    const struct connection *connection;
    const char *id;
    struct watcher *watcher; /* owned */
    struct events_told told;
    struct events_pace pace;
    bool owes_snapshot;
};

/* ---- what is written --------------------------------------------------------------------------- */

/* A group under construction, and the room for it. */
struct room {
    struct events_group group;
    char bytes[EVENTS_GROUP_MAX];
};

static void empty_room(struct room *room)
{
    room->group = (struct events_group){.text = TEXT_OVER(room->bytes)};
}

static connection_event write_room(struct stream *self, const struct room *room)
{
    const struct text *text = &room->group.text;
    connection_event event = CONNECTION_FINE;

    assert(!text->is_cut);
    event = connection_write(self->connection, text->data, text->len, WRITE_MS);
    if (event != CONNECTION_FINE) return event;
    for (int i = 0; i < EVENT_KIND_COUNT; i++)
        metrics_count_events(self->service->metrics, (event_kind)i, room->group.count[i]);
    events_wrote(&self->pace, clock_mono_ms());
    return event;
}

static bool add_snapshot(struct stream *self, const struct sale_moment *moment, struct room *room)
{
    char *json = json_of_sale(&moment->sale, JSON_FOR_BUYERS);

    if (json) events_add_snapshot(&room->group, moment, json, &self->told);
    free(json);
    return json != NULL;
}

/* The client has lost the thread: tell it all, now or, while the store is away, a little later. */
static void reload(struct stream *self, struct room *room)
{
    struct sale_moment moment;
    struct lk_error err;
    store_status status = store_load_moment(self->service->store, self->id, &moment, &err);

    self->owes_snapshot = status != STORE_OK || !add_snapshot(self, &moment, room);
    if (self->owes_snapshot) self->pace.next_group_ms = clock_mono_ms() + RELOAD_PAUSE_MS;
}

/* ---- coming back with Last-Event-ID ------------------------------------------------------------ */

/* The way from one entry of a ledger to a later moment. */
struct way {
    const struct sale_moment *to;
    struct sale_moment at;
    struct events_news news;
    size_t entries;
    int64_t orders;
    struct ledger_page page;
};

/* Go on through one page; false: it is too much to be told one by one. */
static bool follow_page(struct way *way)
{
    struct events_change change;

    for (size_t i = 0; i < way->page.count; i++) {
        const struct ledger_entry *entry = &way->page.entries[i];

        if (ledger_id_compare(entry->id, way->to->last) > 0) return true;
        way->orders += entry->orders;
        if (++way->entries > RESUME_ENTRIES || way->orders > RESUME_ORDERS) return false;
        if (!events_follow(&way->at, entry, &change)) continue;
        if (way->news.change_count == EVENTS_KEPT) return false;
        way->news.changes[way->news.change_count++] = change;
    }
    return true;
}

static bool follow(struct store *store, struct way *way)
{
    while (ledger_id_compare(way->at.last, way->to->last) < 0) {
        int64_t ignored_ms = 0;

        way->page.sale_id = way->to->sale.id;
        way->page.after = way->at.last;
        if (store_read_ledgers(store, &way->page, 1, &ignored_ms, NULL) != STORE_OK ||
            way->page.count == 0 || !follow_page(way))
            return false;
    }
    return true;
}

/* All that the client has not been told. False: from there no way leads to the present. */
static bool find_way(struct store *store, struct ledger_id from, struct way *way,
                     struct events_told *told)
{
    struct ledger_entry entry;

    if (ledger_id_compare(from, way->to->last) > 0 ||
        store_find_entry(store, way->to->sale.id, from, &entry, NULL) != STORE_OK)
        return false;
    /* What was for sale then nobody has written down. */
    for (size_t i = 0; i < SALE_LOTS_MAX; i++)
        if (way->to->sale.lots[i].sellable_ms > (int64_t)from.ms) return false;
    events_go_back(way->to, &entry, &way->at);
    events_told_all(told, &way->at);
    if (!follow(store, way)) return false;
    told->orders = way->to->orders - way->orders;
    way->news.last = way->to->last;
    way->news.left = way->to->sale.left;
    way->news.orders = way->to->orders;
    way->news.now_ms = way->to->sale.now_ms;
    way->news.state = sale_state_of(&way->to->sale);
    return true;
}

static bool add_missed(struct stream *self, const struct sale_moment *now, struct room *room)
{
    struct ledger_id from;
    struct events_told told;
    struct way *way = NULL;
    bool good = false;

    if (!self->request->last_event_id || !ledger_id_parse(self->request->last_event_id, &from))
        return false;
    way = calloc(1, sizeof *way);
    if (!way) return false;
    way->to = now;
    good = find_way(self->service->store, from, way, &told);
    if (good) {
        events_add_news(&room->group, &way->news, &told);
        self->told = told;
    }
    free(way);
    return good;
}

/* ---- the stream -------------------------------------------------------------------------------- */

/* Its own function: the room is not on the stack while the stream waits. */
static __attribute__((noinline)) connection_event write_beginning(struct stream *self,
                                                                  const struct sale_moment *now)
{
    struct room room;

    empty_room(&room);
    TEXT_ADD(&room.group.text, "retry: 2000\n\n");
    if (!add_missed(self, now, &room) && !add_snapshot(self, now, &room))
        self->owes_snapshot = true; /* no memory: later */
    return write_room(self, &room);
}

/* *is_over: the service stops. */
static __attribute__((noinline)) connection_event write_news(struct stream *self, bool *is_over)
{
    struct room room;
    struct events_news news;

    empty_room(&room);
    *is_over = !broadcast_take(self->service->broadcast, self->watcher, &news);
    if (*is_over) return CONNECTION_FINE;
    if (news.is_gap) self->owes_snapshot = true;
    if (self->owes_snapshot) reload(self, &room);
    if (!self->owes_snapshot || news.is_lost) events_add_news(&room.group, &news, &self->told);
    return room.group.text.len > 0 ? write_room(self, &room) : CONNECTION_FINE;
}

static connection_event write_beat(struct stream *self)
{
    struct room room;

    empty_room(&room);
    events_add_comment(&room.group, "still here");
    return write_room(self, &room);
}

/* Until the client is gone, or too slow, or (FINE) the service stops. */
static connection_event keep_telling(struct stream *self)
{
    connection_event event = CONNECTION_FINE;
    bool has_news = true; /* since the moment that the stream began with */
    bool is_over = false;

    while (!is_over && event != CONNECTION_SLOW && event != CONNECTION_GONE) {
        int64_t now_ms = clock_mono_ms();
        int64_t wait_ms = events_wait_ms(&self->pace, has_news, now_ms);

        if (wait_ms > 0) {
            /* With news at hand only the client can end the wait, not more news. */
            event = connection_wait(self->connection, has_news ? -1 : broadcast_fd(self->watcher),
                                    wait_ms);
            if (event == CONNECTION_WOKEN) has_news = true;
        } else if (has_news && now_ms >= self->pace.next_group_ms) {
            event = write_news(self, &is_over);
            has_news = self->owes_snapshot;
        } else {
            event = write_beat(self);
        }
    }
    return event;
}

static void note_end(struct stream *self, connection_event event)
{
    if (event == CONNECTION_SLOW) metrics_count_drop(self->service->metrics, METRICS_DROP_SLOW);
    if (event == CONNECTION_FINE) metrics_count_drop(self->service->metrics, METRICS_DROP_STOPPING);
}

static void run_stream(struct stream *self, const struct sale_moment *now)
{
    connection_event event = CONNECTION_FINE;

    http_begin_events(self->request);
    connection_begin_stream(self->connection);
    event = write_beginning(self, now);
    if (event == CONNECTION_FINE) event = keep_telling(self);
    note_end(self, event);
    connection_end_stream(self->connection);
}

static void refuse(struct service *service, struct http_request *request)
{
    metrics_count_drop(service->metrics, METRICS_DROP_FULL);
    http_send_problem(request, PROBLEM_OVERLOADED,
                      &(struct http_detail){.detail = "All streams of events are taken. Ask for "
                                                      "the sale now and then instead.",
                                            .headers = "Retry-After: 5\r\n"});
}

static void watch_from(struct service *service, struct http_request *request,
                       const struct sale_moment *now)
{
    struct stream stream = {.service = service,
                            .request = request,
                            .connection = request->connection,
                            .id = now->sale.id};

    stream.watcher = broadcast_watch(service->broadcast, now);
    if (!stream.watcher) {
        refuse(service, request);
        return;
    }
    run_stream(&stream, now);
    broadcast_leave(service->broadcast, stream.watcher);
}

static bool take_place(struct service *service, struct http_request *request)
{
    struct client_address client;

    if (!http_has_socket(request)) return false;
    http_find_client(request, &service->config->trusted_proxies, &client);
    return inside_begin_stream(request->connection->fd, &client);
}

void streams_watch_sale(struct service *service, struct http_request *request, const char *id)
{
    struct sale_moment now;
    struct lk_error err = {0};
    store_status status = STORE_OK;

    if (!request->is_head && !take_place(service, request)) {
        refuse(service, request);
        return;
    }
    request->must_close = true; /* its place has gone to another */
    atomic_fetch_add(&service->streams, 1);
    status = store_load_moment(service->store, id, &now, &err);
    if (status != STORE_OK) {
        handlers_send_store_failure(request, status, &err);
    } else if (request->is_head) {
        http_begin_events(request);
    } else {
        watch_from(service, request, &now);
    }
    atomic_fetch_sub(&service->streams, 1);
}
