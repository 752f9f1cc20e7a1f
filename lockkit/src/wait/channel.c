/*
 * See channel.h. Threads: any, with the hub's mutex held.
 */
#include "channel.h"

#include <stdlib.h>
#include <string.h>

static size_t bucket_of(const char *name, size_t len)
{
    uint32_t hash = 2166136261U; /* FNV-1a */

    for (size_t i = 0; i < len; i++)
        hash = (hash ^ (uint8_t)name[i]) * 16777619U;
    return hash % LKI_CHANNEL_BUCKETS;
}

struct lki_channel *lki_channels_find(const struct lki_channels *channels, struct lk_bytes name)
{
    struct lki_channel *channel = channels->buckets[bucket_of(name.data, name.len)];

    while (channel &&
           (strlen(channel->name) != name.len || memcmp(channel->name, name.data, name.len) != 0))
        channel = channel->next;
    return channel;
}

struct lki_channel *lki_channels_add(struct lki_channels *channels, const char *name)
{
    struct lki_channel *channel = calloc(1, sizeof *channel);
    struct lki_channel **bucket = &channels->buckets[bucket_of(name, strlen(name))];

    if (!channel) return NULL;
    channel->name = strdup(name);
    if (!channel->name) {
        free(channel);
        return NULL;
    }
    channel->next = *bucket;
    *bucket = channel;
    channel->older = channels->newest;
    if (channel->older) channel->older->newer = channel;
    channels->newest = channel;
    return channel;
}

static void channel_free(struct lki_channel *channel)
{
    free(channel->name);
    free(channel);
}

void lki_channels_remove(struct lki_channels *channels, struct lki_channel *channel)
{
    struct lki_channel **place =
        &channels->buckets[bucket_of(channel->name, strlen(channel->name))];

    while (*place != channel)
        place = &(*place)->next;
    *place = channel->next;
    *(channel->newer ? &channel->newer->older : &channels->newest) = channel->older;
    if (channel->older) channel->older->newer = channel->newer;
    channel_free(channel);
}

void lki_channels_done(struct lki_channels *channels)
{
    struct lki_channel *older = NULL;

    for (struct lki_channel *channel = channels->newest; channel; channel = older) {
        older = channel->older;
        channel_free(channel);
    }
}

void lki_channel_enter(struct lki_channel *channel, struct lki_waiter *waiter)
{
    waiter->channel = channel;
    waiter->next = NULL;
    waiter->prev = channel->last;
    *(channel->last ? &channel->last->next : &channel->first) = waiter;
    channel->last = waiter;
}

void lki_channel_exit(struct lki_channel *channel, struct lki_waiter *waiter)
{
    *(waiter->prev ? &waiter->prev->next : &channel->first) = waiter->next;
    *(waiter->next ? &waiter->next->prev : &channel->last) = waiter->prev;
    waiter->channel = NULL;
}

void lki_channel_wake(struct lki_channel *channel, size_t units)
{
    for (struct lki_waiter *waiter = channel->first; waiter && units > 0; waiter = waiter->next) {
        if (waiter->is_woken || waiter->units > units) continue;
        waiter->is_woken = true;
        (void)pthread_cond_signal(&waiter->wake);
        units -= waiter->units;
    }
}

/* The number of units that a message stands for; its text is a decimal number, as Redisson's clients require. */
static size_t count_of(enum lki_wake_rule rule, struct lk_bytes text)
{
    long long number = text.data ? strtoll(text.data, NULL, 10) : 0;

    switch (rule) {
    case LKI_WAKE_ONE:
        return 1;
    case LKI_WAKE_RW:
        return number == 1 ? SIZE_MAX : 1;
    case LKI_WAKE_COUNT:
        return number > 0 ? (size_t)number : 0;
    case LKI_WAKE_ALL:
        break;
    }
    return SIZE_MAX;
}

void lki_channel_notify(struct lki_channel *channel, struct lk_bytes text)
{
    if (channel->first) lki_channel_wake(channel, count_of(channel->first->rule, text));
}

void lki_channel_drop(struct lki_channel *channel)
{
    if (channel->state == CHANNEL_LIVE && channel->first) channel->may_have_missed = true;
    channel->state = CHANNEL_WANTED;
}
