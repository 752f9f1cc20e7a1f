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
#include "events/broadcast.h"
#include "handlers.h"
#include "http/connection.h"
#include "net/served.h"
#include "store/store_ledger.h"

enum {
    WRITE_MS = 1000, /* a client that does not read for so long is dropped */
    RELOAD_PAUSE_MS = 1000,
};

struct stream {
    struct service *service;
    struct http_request *request;
    const struct connection *connection;
    const char *id;
    struct subscriber *subscriber; /* owned */
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

/* The client may have missed something: tell it all, now or, while the store is away, a little later. */
static void reload(struct stream *self, struct room *room)
{
    struct sale_moment moment;
    struct lk_error err;
    store_status status = store_load_moment(self->service->store, self->id, &moment, &err);

    self->owes_snapshot = status != STORE_OK || !add_snapshot(self, &moment, room);
    if (self->owes_snapshot) self->pace.next_group_ms = clock_mono_ms() + RELOAD_PAUSE_MS;
}

/* ---- the stream -------------------------------------------------------------------------------- */

/* Its own function: the room is not on the stack while the stream waits. */
static __attribute__((noinline)) connection_event write_beginning(struct stream *self,
                                                                  const struct sale_moment *now)
{
    struct room room;

    empty_room(&room);
    TEXT_ADD(&room.group.text, "retry: 2000\n\n");
    if (!add_snapshot(self, now, &room)) self->owes_snapshot = true; /* no memory: later */
    return write_room(self, &room);
}

/* *is_over: the service stops. */
static __attribute__((noinline)) connection_event write_news(struct stream *self, bool *is_over)
{
    struct room room;
    struct events_news news;

    empty_room(&room);
    *is_over = !broadcast_take(self->service->broadcast, self->subscriber, &news);
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
static connection_event send_updates(struct stream *self)
{
    connection_event event = CONNECTION_FINE;
    bool has_news = true; /* since the moment that the stream began with */
    bool is_over = false;

    while (!is_over && event != CONNECTION_SLOW && event != CONNECTION_GONE) {
        int64_t now_ms = clock_mono_ms();
        int64_t wait_ms = events_wait_ms(&self->pace, has_news, now_ms);

        if (wait_ms > 0) {
            /* With news at hand only the client can end the wait, not more news. */
            event = connection_wait(self->connection,
                                    has_news ? -1 : broadcast_fd(self->subscriber), wait_ms);
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
    if (event == CONNECTION_FINE) event = send_updates(self);
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

    stream.subscriber = broadcast_subscribe(service->broadcast, now);
    if (!stream.subscriber) {
        refuse(service, request);
        return;
    }
    run_stream(&stream, now);
    broadcast_unsubscribe(service->broadcast, stream.subscriber);
}

static bool take_place(struct service *service, struct http_request *request)
{
    struct client_address client;

    if (!http_has_socket(request)) return false;
    http_find_client(request, &service->config->trusted_proxies, &client);
    return served_begin_stream(request->connection->fd, &client);
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
