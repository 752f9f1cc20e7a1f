/*
 * See crowd.h. Shares are counted as guests move, so that each choice is one walk along a list.
 */
#include "crowd.h"

#include <limits.h>
#include <stdlib.h>

#include "inside.h"

/* ---- groups --------------------------------------------------------------------------------------- */

static struct crowd_group **find_place(struct crowd *self, uint64_t key)
{
    struct crowd_group **at = &self->groups[(key ^ key >> 10) % CROWD_CHAINS];

    while (*at && (*at)->key != key)
        at = &(*at)->next;
    return at;
}

struct crowd_group *crowd_group(struct crowd *self, const struct client_address *address,
                                bool is_proxy)
{
    uint64_t key = client_address_key(address);
    struct crowd_group **at = find_place(self, key);
    struct crowd_group *group = *at;

    if (group) return group;
    group = *at = calloc(1, sizeof *group);
    if (group) *group = (struct crowd_group){.key = key, .is_proxy = is_proxy};
    return group;
}

void crowd_forget(struct crowd *self, struct crowd_group *group)
{
    struct crowd_group **at = find_place(self, group->key);

    if (group->inside + group->outside + group->streams > 0) return;
    *at = group->next;
    free(group);
}

/* What counts when places are given away. */
static unsigned weight(const struct crowd_group *group)
{
    return group->is_proxy ? 0 : group->inside;
}

/* ---- stages --------------------------------------------------------------------------------------- */

static unsigned *share_of(const struct guest *guest)
{
    if (guest->stage == OUTSIDE || guest->stage == READY) return &guest->group->outside;
    return guest->stage == STREAMING ? &guest->group->streams : &guest->group->inside;
}

static void unlink_guest(struct crowd_list *list, struct guest *guest)
{
    *(guest->previous ? &guest->previous->next : &list->first) = guest->next;
    *(guest->next ? &guest->next->previous : &list->last) = guest->previous;
    list->count--;
    if (guest->is_given_up) list->leaving--;
    guest->is_given_up = false;
}

static void link_guest(struct crowd_list *list, struct guest *guest)
{
    guest->next = NULL;
    guest->previous = list->last;
    *(list->last ? &list->last->next : &list->first) = guest;
    list->last = guest;
    list->count++;
}

void crowd_place(struct crowd *self, struct guest *guest, crowd_stage to, struct crowd_group *group)
{
    struct crowd_group *before = guest->group;

    if (guest->stage != NOWHERE) {
        unlink_guest(&self->list[guest->stage], guest);
        --*share_of(guest);
        if (guest->stage == READY) before->ready--;
    }
    guest->stage = to;
    guest->group = to == NOWHERE ? NULL : group;
    if (to != NOWHERE) {
        link_guest(&self->list[to], guest);
        ++*share_of(guest);
        if (to == READY) group->ready++;
    }
    if (before) crowd_forget(self, before);
}

void crowd_note_given_up(struct crowd *self, struct guest *guest)
{
    guest->is_given_up = true;
    self->list[guest->stage].leaving++;
}

/* ---- who is next ---------------------------------------------------------------------------------- */

static bool is_full(const struct crowd *self)
{
    return self->list[HANDED].count + self->list[INSIDE].count >= self->places;
}

/* Whether an address may have one more. */
static bool has_room(const struct crowd *self, const struct crowd_group *group)
{
    return group->is_proxy || self->address_places == 0 || group->inside < self->address_places;
}

struct guest *crowd_next(const struct crowd *self)
{
    struct guest *found = NULL;

    if (is_full(self)) return NULL;
    for (struct guest *each = self->list[READY].first; each; each = each->next) {
        if (!has_room(self, each->group)) continue;
        if (!found || weight(each->group) < weight(found->group)) found = each;
        if (weight(found->group) == 0) break;
    }
    return found;
}

/* Of those that are ready, the least that an address has inside; UINT_MAX: nobody may enter. */
static unsigned least_ready(const struct crowd *self)
{
    unsigned least = UINT_MAX;

    for (struct guest *each = self->list[READY].first; each && least > 0; each = each->next)
        if (has_room(self, each->group) && weight(each->group) < least) least = weight(each->group);
    return least;
}

static bool is_wanted(const struct crowd *self, const struct crowd_group *group, unsigned least)
{
    if (group->ready > 0 && (is_full(self) || !has_room(self, group))) return true;
    return is_full(self) && least < (group->is_proxy ? UINT_MAX : weight(group));
}

bool crowd_wants_place_of(const struct crowd *self, const struct crowd_group *group)
{
    return is_wanted(self, group, least_ready(self));
}

struct guest *crowd_idle(const struct crowd *self, int64_t now_ms, int64_t proxy_ms)
{
    struct guest *found = NULL;
    unsigned least = least_ready(self);

    for (struct guest *each = self->list[INSIDE].first; each; each = each->next) {
        int64_t until_ms = atomic_load_explicit(&each->spared_until_ms, memory_order_relaxed);
        bool is_idle_proxy = each->group->is_proxy && each->turn == INSIDE_CLIENT_IDLE;

        if (until_ms == 0 || each->is_given_up) continue;
        if (now_ms < until_ms + (is_idle_proxy ? proxy_ms : 0)) continue;
        if (!self->is_to_leave && !is_wanted(self, each->group, least)) continue;
        if (!found || weight(each->group) > weight(found->group)) found = each;
    }
    return found;
}

static unsigned weight_outside(const struct guest *guest)
{
    return guest->group->is_proxy ? 0 : guest->group->outside;
}

struct guest *crowd_surplus(const struct crowd *self)
{
    struct guest *found = NULL;

    for (struct guest *each = self->list[OUTSIDE].first; each; each = each->next)
        if (!found || weight_outside(each) > weight_outside(found)) found = each;
    for (struct guest *each = self->list[READY].last; each; each = each->previous)
        if (!found || weight_outside(each) > weight_outside(found)) found = each;
    return found;
}

bool crowd_has_stream(const struct crowd *self, const struct crowd_group *client,
                      struct guest **out_instead)
{
    const struct crowd_list *streams = &self->list[STREAMING];

    *out_instead = NULL;
    if (self->address_streams > 0 && client->streams >= self->address_streams) return false;
    if (streams->count < self->streams + streams->leaving) return true;
    for (struct guest *each = streams->first; each; each = each->next) {
        if (each->is_given_up || each->group->streams <= client->streams + 1) continue;
        if (!*out_instead || each->group->streams > (*out_instead)->group->streams)
            *out_instead = each;
    }
    return *out_instead != NULL;
}
