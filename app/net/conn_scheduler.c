/*
 * See conn_scheduler.h. Shares are counted as connections move, so that each choice is one walk along a list.
 */
#include "conn_scheduler.h"

#include <limits.h>
#include <stdlib.h>

#include "served.h"

/* ---- groups --------------------------------------------------------------------------------------- */

static struct conn_scheduler_group **find_place(struct conn_scheduler *self, uint64_t key)
{
    struct conn_scheduler_group **at = &self->groups[(key ^ key >> 10) % CONN_SCHEDULER_CHAINS];

    while (*at && (*at)->key != key)
        at = &(*at)->next;
    return at;
}

struct conn_scheduler_group *conn_scheduler_group(struct conn_scheduler *self,
                                                  const struct client_address *address,
                                                  bool is_proxy)
{
    uint64_t key = client_address_key(address);
    struct conn_scheduler_group **at = find_place(self, key);
    struct conn_scheduler_group *group = *at;

    if (group) return group;
    group = *at = calloc(1, sizeof *group);
    if (group) *group = (struct conn_scheduler_group){.key = key, .is_proxy = is_proxy};
    return group;
}

void conn_scheduler_drop_group(struct conn_scheduler *self, struct conn_scheduler_group *group)
{
    struct conn_scheduler_group **at = find_place(self, group->key);

    if (group->served + group->pending + group->streams > 0) return;
    *at = group->next;
    free(group);
}

/* What counts when places are given away. */
static unsigned weight(const struct conn_scheduler_group *group)
{
    return group->is_proxy ? 0 : group->served;
}

/* ---- stages --------------------------------------------------------------------------------------- */

static unsigned *share_of(const struct client_conn *conn)
{
    if (conn->stage == CONN_PENDING || conn->stage == CONN_READY) return &conn->group->pending;
    return conn->stage == CONN_STREAMING ? &conn->group->streams : &conn->group->served;
}

static void unlink_conn(struct conn_list *list, struct client_conn *conn)
{
    *(conn->previous ? &conn->previous->next : &list->first) = conn->next;
    *(conn->next ? &conn->next->previous : &list->last) = conn->previous;
    list->count--;
    if (conn->is_evicted) list->closing--;
    conn->is_evicted = false;
}

static void link_conn(struct conn_list *list, struct client_conn *conn)
{
    conn->next = NULL;
    conn->previous = list->last;
    *(list->last ? &list->last->next : &list->first) = conn;
    list->last = conn;
    list->count++;
}

void conn_scheduler_move(struct conn_scheduler *self, struct client_conn *conn, conn_stage to,
                         struct conn_scheduler_group *group)
{
    struct conn_scheduler_group *before = conn->group;

    if (conn->stage != CONN_NONE) {
        unlink_conn(&self->list[conn->stage], conn);
        --*share_of(conn);
        if (conn->stage == CONN_READY) before->ready--;
    }
    conn->stage = to;
    conn->group = to == CONN_NONE ? NULL : group;
    if (to != CONN_NONE) {
        link_conn(&self->list[to], conn);
        ++*share_of(conn);
        if (to == CONN_READY) group->ready++;
    }
    if (before) conn_scheduler_drop_group(self, before);
}

void conn_scheduler_note_evicted(struct conn_scheduler *self, struct client_conn *conn)
{
    conn->is_evicted = true;
    self->list[conn->stage].closing++;
}

/* ---- who is next ---------------------------------------------------------------------------------- */

static bool is_full(const struct conn_scheduler *self)
{
    return self->list[CONN_HANDED_OVER].count + self->list[CONN_SERVED].count >= self->places;
}

/* Whether an address may have one more. */
static bool has_room(const struct conn_scheduler *self, const struct conn_scheduler_group *group)
{
    return group->is_proxy || self->address_places == 0 || group->served < self->address_places;
}

struct client_conn *conn_scheduler_next(const struct conn_scheduler *self)
{
    struct client_conn *found = NULL;

    if (is_full(self)) return NULL;
    for (struct client_conn *each = self->list[CONN_READY].first; each; each = each->next) {
        if (!has_room(self, each->group)) continue;
        if (!found || weight(each->group) < weight(found->group)) found = each;
        if (weight(found->group) == 0) break;
    }
    return found;
}

/* Of those that are ready, the least that an address has inside; UINT_MAX: nobody may enter. */
static unsigned least_ready(const struct conn_scheduler *self)
{
    unsigned least = UINT_MAX;

    for (struct client_conn *each = self->list[CONN_READY].first; each && least > 0;
         each = each->next)
        if (has_room(self, each->group) && weight(each->group) < least) least = weight(each->group);
    return least;
}

static bool is_wanted(const struct conn_scheduler *self, const struct conn_scheduler_group *group,
                      unsigned least)
{
    if (group->ready > 0 && (is_full(self) || !has_room(self, group))) return true;
    return is_full(self) && least < (group->is_proxy ? UINT_MAX : weight(group));
}

bool conn_scheduler_wants_place_of(const struct conn_scheduler *self,
                                   const struct conn_scheduler_group *group)
{
    return is_wanted(self, group, least_ready(self));
}

struct client_conn *conn_scheduler_idle(const struct conn_scheduler *self, int64_t now_ms,
                                        int64_t proxy_ms)
{
    struct client_conn *found = NULL;
    unsigned least = least_ready(self);

    for (struct client_conn *each = self->list[CONN_SERVED].first; each; each = each->next) {
        int64_t until_ms = atomic_load_explicit(&each->grace_until_ms, memory_order_relaxed);
        bool is_idle_proxy = each->group->is_proxy && each->turn == CONN_CLIENT_IDLE;

        if (until_ms == 0 || each->is_evicted) continue;
        if (now_ms < until_ms + (is_idle_proxy ? proxy_ms : 0)) continue;
        if (!self->is_draining && !is_wanted(self, each->group, least)) continue;
        if (!found || weight(each->group) > weight(found->group)) found = each;
    }
    return found;
}

static unsigned weight_pending(const struct client_conn *conn)
{
    return conn->group->is_proxy ? 0 : conn->group->pending;
}

struct client_conn *conn_scheduler_surplus(const struct conn_scheduler *self)
{
    struct client_conn *found = NULL;

    for (struct client_conn *each = self->list[CONN_PENDING].first; each; each = each->next)
        if (!found || weight_pending(each) > weight_pending(found)) found = each;
    for (struct client_conn *each = self->list[CONN_READY].last; each; each = each->previous)
        if (!found || weight_pending(each) > weight_pending(found)) found = each;
    return found;
}

bool conn_scheduler_has_stream(const struct conn_scheduler *self,
                               const struct conn_scheduler_group *client,
                               struct client_conn **out_instead)
{
    const struct conn_list *streams = &self->list[CONN_STREAMING];

    *out_instead = NULL;
    if (self->address_streams > 0 && client->streams >= self->address_streams) return false;
    if (streams->count < self->streams + streams->closing) return true;
    for (struct client_conn *each = streams->first; each; each = each->next) {
        if (each->is_evicted || each->group->streams <= client->streams + 1) continue;
        if (!*out_instead || each->group->streams > (*out_instead)->group->streams)
            *out_instead = each;
    }
    return *out_instead != NULL;
}
