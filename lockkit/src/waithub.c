/*
 * One thread, one subscriber connection. A message wakes the longest waiter of its channel in this
 * process; every process gets the message, so the woken ones of different processes race for the
 * lock. Messages are hints: they are lost when the connection breaks, so every waiter has a timer
 * too, and all are woken once when it breaks and once when they are subscribed again. A channel without waiters is kept for a moment,
 * because the next waiter of a contended lock is near.
 *
 * A channel's way:  WANTED -> ASKED -> LIVE -> LEAVING -> gone (or WANTED again).
 */
#include "waithub.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "backoff.h"
#include "clock.h"
#include "error.h"

enum {
    BUCKETS = 256,
    LINGER_MS = 1000,  /* an unused subscription is kept this long */
    PING_MS = 5000,    /* a silent connection is asked whether it lives */
    NO_MEMORY_MS = 10, /* before another attempt when memory was short */
    ASK_MAX = 64,      /* subscriptions per pipeline */
};

enum channel_state { CHANNEL_WANTED, CHANNEL_ASKED, CHANNEL_LIVE, CHANNEL_LEAVING };

struct lki_channel {
    char *name;               /* owned */
    struct lki_channel *next; /* in its bucket */
    struct lki_waiter *first; /* longest waiting first */
    struct lki_waiter *last;
    int64_t idle_since; /* meaningful without waiters */
    enum channel_state state;
    bool is_deaf; /* a waiter sleeps that may have missed a message: wake it once LIVE */
};

struct lki_hub {
    struct lki_hub_options options;
    int poke_fd;                /* eventfd: there is something to do */
    struct lki_redis *redis;    /* owned; the hub thread's alone */
    int64_t next_ping;          /* the hub thread's alone */
    bool is_pinged;             /* the hub thread's alone: a PING is not answered yet */
    struct lki_backoff backoff; /* the hub thread's alone; none once a server has answered us */
    int64_t connect_at;         /* the hub thread's alone: no attempt to connect before */
    pthread_mutex_t mutex;      /* guards all below, the channels and the waiters */
    struct lki_channel *buckets[BUCKETS];
    size_t channel_count;
    struct lki_channel silent; /* of those who wait without messages; in no bucket, always LIVE */
    pthread_cond_t confirmed;  /* some channel became LIVE */
    bool is_stopping;
};

/* ---- channels --------------------------------------------------------------------------------- */

static struct lki_channel **bucket_of(struct lki_hub *hub, const char *name, size_t len)
{
    uint32_t hash = 2166136261U; /* FNV-1a */

    for (size_t i = 0; i < len; i++)
        hash = (hash ^ (uint8_t)name[i]) * 16777619U;
    return &hub->buckets[hash % BUCKETS];
}

static struct lki_channel *find_locked(struct lki_hub *hub, struct lk_bytes name)
{
    struct lki_channel *channel = *bucket_of(hub, name.data, name.len);

    while (channel &&
           (strlen(channel->name) != name.len || memcmp(channel->name, name.data, name.len) != 0))
        channel = channel->next;
    return channel;
}

static struct lki_channel *add_locked(struct lki_hub *hub, const char *name)
{
    struct lki_channel *channel = calloc(1, sizeof *channel);
    struct lki_channel **bucket = bucket_of(hub, name, strlen(name));

    if (!channel) return NULL;
    channel->name = strdup(name);
    if (!channel->name) {
        free(channel);
        return NULL;
    }
    channel->next = *bucket;
    *bucket = channel;
    hub->channel_count++;
    return channel;
}

static void channel_free(struct lki_channel *channel)
{
    free(channel->name);
    free(channel);
}

static void remove_locked(struct lki_hub *hub, struct lki_channel *channel)
{
    struct lki_channel **link = bucket_of(hub, channel->name, strlen(channel->name));

    while (*link != channel)
        link = &(*link)->next;
    *link = channel->next;
    hub->channel_count--;
    channel_free(channel);
}

/* Wake those that sleep, the longest waiting first, for so many units; who needs more than are left
   sleeps on. */
static void wake_locked(struct lki_channel *channel, size_t units)
{
    for (struct lki_waiter *waiter = channel->first; waiter && units > 0; waiter = waiter->next) {
        if (waiter->is_woken || waiter->units > units) continue;
        waiter->is_woken = true;
        (void)pthread_cond_signal(&waiter->wake);
        units -= waiter->units;
    }
}

/* For how many units a message wakes, by its text: a decimal number (Redisson's clients insist on one). */
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

/* ---- the waiters' side -------------------------------------------------------------------------- */

static void poke(struct lki_hub *hub)
{
    uint64_t one = 1;
    ssize_t done = write(hub->poke_fd, &one, sizeof one);

    (void)done; /* a full counter is as good as a poke */
}

void lki_waiter_init(struct lki_waiter *waiter, enum lki_wake_rule rule)
{
    *waiter = (struct lki_waiter){.rule = rule, .units = 1};
    (void)pthread_cond_init(&waiter->wake, NULL);
}

void lki_waiter_done(struct lki_waiter *waiter)
{
    (void)pthread_cond_destroy(&waiter->wake);
}

static bool is_cancelled_locked(const struct lki_waiter *waiter)
{
    return waiter->is_cancelled || (waiter->cancelled_by && atomic_load(waiter->cancelled_by));
}

lk_status lki_hub_join(struct lki_hub *hub, struct lki_waiter *waiter, const char *name,
                       int64_t deadline, struct lk_error *err)
{
    (void)pthread_mutex_lock(&hub->mutex);
    struct lki_channel *channel = name ? find_locked(hub, lk_bytes_of(name)) : &hub->silent;
    if (!channel) channel = add_locked(hub, name);
    if (!channel) {
        (void)pthread_mutex_unlock(&hub->mutex);
        return LKI_FAIL(err, LK_NO_MEMORY, "channel %s", name);
    }
    waiter->channel = channel;
    waiter->is_woken = waiter->is_cancelled = false;
    waiter->next = NULL;
    waiter->prev = channel->last;
    *(channel->last ? &channel->last->next : &channel->first) = waiter;
    channel->last = waiter;
    if (channel->state == CHANNEL_WANTED) poke(hub);
    while (channel->state != CHANNEL_LIVE && !is_cancelled_locked(waiter) && !hub->is_stopping &&
           lki_clock_wait(&hub->confirmed, &hub->mutex, deadline)) {}
    if (channel->state != CHANNEL_LIVE) channel->is_deaf = true;
    (void)pthread_mutex_unlock(&hub->mutex);
    return LK_OK;
}

lk_status lki_hub_wait(struct lki_hub *hub, struct lki_waiter *waiter, int64_t until)
{
    lk_status status = LK_OK;

    (void)pthread_mutex_lock(&hub->mutex);
    while (!waiter->is_woken && !is_cancelled_locked(waiter) && !hub->is_stopping &&
           status == LK_OK) {
        if (!lki_clock_wait(&waiter->wake, &hub->mutex, until)) status = LK_BUSY;
    }
    if (is_cancelled_locked(waiter)) {
        status = LK_CANCELLED;
    } else if (hub->is_stopping) {
        status = LK_INVALID;
    } else {
        waiter->is_woken = false;
    }
    (void)pthread_mutex_unlock(&hub->mutex);
    return status;
}

void lki_hub_unwake(struct lki_hub *hub, struct lki_waiter *waiter)
{
    (void)pthread_mutex_lock(&hub->mutex);
    waiter->is_woken = true;
    (void)pthread_mutex_unlock(&hub->mutex);
}

void lki_hub_leave(struct lki_hub *hub, struct lki_waiter *waiter)
{
    (void)pthread_mutex_lock(&hub->mutex);
    struct lki_channel *channel = waiter->channel;
    *(waiter->prev ? &waiter->prev->next : &channel->first) = waiter->next;
    *(waiter->next ? &waiter->next->prev : &channel->last) = waiter->prev;
    waiter->channel = NULL;
    if (waiter->is_woken) wake_locked(channel, waiter->units);
    if (!channel->first) channel->idle_since = waiter->is_alone ? 0 : lki_clock_now();
    (void)pthread_mutex_unlock(&hub->mutex);
}

void lki_hub_cancel(struct lki_hub *hub, struct lki_waiter *waiter)
{
    (void)pthread_mutex_lock(&hub->mutex);
    if (waiter->channel) {
        waiter->is_cancelled = true;
        (void)pthread_cond_signal(&waiter->wake);
        (void)pthread_cond_broadcast(&hub->confirmed);
    }
    (void)pthread_mutex_unlock(&hub->mutex);
}

/* ---- the hub thread's side ----------------------------------------------------------------------- */

/* When the hub thread next looks at a channel; 0: now. Leaving does not poke it, so a channel in
   use is looked at once per LINGER_MS. */
static int64_t due_at_locked(const struct lki_channel *channel, int64_t now)
{
    int64_t linger = LINGER_MS * (int64_t)NS_PER_MS;

    if (channel->state == CHANNEL_WANTED) return 0;
    if (channel->state != CHANNEL_LIVE) return INT64_MAX; /* an answer is on its way */
    return (channel->first ? now : channel->idle_since) + linger;
}

struct asks {
    struct lk_bytes words[ASK_MAX][2];
    struct lk_command commands[ASK_MAX];
    char *names[ASK_MAX]; /* owned: a channel may vanish while its name is being sent */
    size_t count;
    int64_t next_due;
};

/* Move one channel on; adds what is to be sent for it. */
static void step_channel_locked(struct lki_hub *hub, struct lki_channel *channel, struct asks *asks)
{
    bool is_join = channel->first != NULL;

    if (!is_join && channel->state == CHANNEL_WANTED) {
        remove_locked(hub, channel);
        return;
    }
    char *name = strdup(channel->name);
    if (!name) { /* tried again soon */
        asks->next_due = lki_clock_after_ms(NO_MEMORY_MS);
        return;
    }
    asks->names[asks->count] = name;
    asks->words[asks->count][0] = is_join ? LK_BYTES("SUBSCRIBE") : LK_BYTES("UNSUBSCRIBE");
    asks->words[asks->count][1] = lk_bytes_of(name);
    asks->commands[asks->count] = (struct lk_command){asks->words[asks->count], 2};
    asks->count++;
    channel->state = is_join ? CHANNEL_ASKED : CHANNEL_LEAVING;
}

/* Collect what is due now; asks->next_due becomes the moment of the next turn. */
static void collect_locked(struct lki_hub *hub, struct asks *asks)
{
    int64_t now = lki_clock_now();

    asks->next_due = INT64_MAX;
    for (size_t i = 0; i < BUCKETS; i++) {
        struct lki_channel *next = NULL;

        for (struct lki_channel *channel = hub->buckets[i]; channel; channel = next) {
            int64_t due = due_at_locked(channel, now);

            next = channel->next;
            if (due <= now && asks->count < ASK_MAX) {
                step_channel_locked(hub, channel, asks);
            } else if (due < asks->next_due) {
                asks->next_due = due;
            }
        }
    }
}

/* One message from the server: {"message", channel, text}, {"subscribe", channel, n}, ... */
static void take_message(struct lki_hub *hub, const lk_reply *message)
{
    struct lk_bytes kind = lk_reply_bytes(lk_reply_at(message, 0));
    struct lk_bytes name = lk_reply_bytes(lk_reply_at(message, 1));

    hub->is_pinged = false; /* whatever it says, it lives */
    if (!kind.data || !name.data) return;
    hub->backoff = (struct lki_backoff){0};
    hub->connect_at = 0;
    (void)pthread_mutex_lock(&hub->mutex);
    struct lki_channel *channel = find_locked(hub, name);
    if (!channel) {
        /* a late word about a channel that is gone */
    } else if (strcmp(kind.data, "message") == 0) {
        if (channel->first) {
            struct lk_bytes text = lk_reply_bytes(lk_reply_at(message, 2));

            wake_locked(channel, count_of(channel->first->rule, text));
        }
    } else if (strcmp(kind.data, "subscribe") == 0) {
        channel->state = CHANNEL_LIVE;
        if (channel->is_deaf) wake_locked(channel, SIZE_MAX);
        channel->is_deaf = false;
        (void)pthread_cond_broadcast(&hub->confirmed);
    } else if (strcmp(kind.data, "unsubscribe") == 0) {
        channel->state = CHANNEL_WANTED; /* dropped at the next turn, or asked for again */
    }
    (void)pthread_mutex_unlock(&hub->mutex);
}

/* The connection is gone: all subscriptions with it, and perhaps messages. */
static void forget_connection(struct lki_hub *hub)
{
    lki_redis_close(hub->redis);
    hub->redis = NULL;
    (void)pthread_mutex_lock(&hub->mutex);
    for (size_t i = 0; i < BUCKETS; i++) {
        for (struct lki_channel *channel = hub->buckets[i]; channel; channel = channel->next) {
            channel->state = CHANNEL_WANTED;
            channel->is_deaf = true;
            wake_locked(channel, SIZE_MAX);
        }
    }
    (void)pthread_mutex_unlock(&hub->mutex);
}

/* False when the hub is to stop. */
static bool sleep_unless_stopping(struct lki_hub *hub, int fd, int64_t until)
{
    struct pollfd fds[] = {{.fd = hub->poke_fd, .events = POLLIN}, {.fd = fd, .events = POLLIN}};
    uint64_t pokes = 0;

    (void)poll(fds, fd < 0 ? 1 : 2, until == INT64_MAX ? -1 : lki_clock_left_ms(until));
    ssize_t got = read(hub->poke_fd, &pokes, sizeof pokes);
    (void)got; /* empty: it was something else that woke us */
    (void)pthread_mutex_lock(&hub->mutex);
    bool goes_on = !hub->is_stopping;
    (void)pthread_mutex_unlock(&hub->mutex);
    return goes_on;
}

/*
 * One attempt to connect, after the pause that is due. A server that lets us in and throws us out
 * (too many clients) is paused for as well: only its first answer ends the pauses. False when the
 * hub is to stop.
 */
static bool connect_hub(struct lki_hub *hub)
{
    struct lk_error why = {0};

    while (lki_clock_left_ms(hub->connect_at) > 0) {
        if (!sleep_unless_stopping(hub, -1, hub->connect_at)) return false;
    }
    int64_t begin = lki_clock_now();
    hub->redis =
        lki_redis_open(hub->options.endpoint, lki_clock_after_ms(hub->options.connect_ms), &why);
    int64_t end = lki_clock_now();
    hub->options.on_event(&(struct lk_event){.type = LK_EVENT_CONNECT,
                                             .status = hub->redis ? LK_OK : why.code,
                                             .at_ns = end,
                                             .duration_ns = end - begin,
                                             .attempts = 1},
                          hub->options.on_event_arg);
    hub->connect_at = lki_clock_after_ms(lki_backoff_next(&hub->backoff, hub->options.backoff_ms));
    hub->next_ping = lki_clock_after_ms(PING_MS);
    hub->is_pinged = false;
    return true;
}

/* Send what is due; false when the connection broke. */
static bool send_asks(struct lki_hub *hub, struct asks *asks)
{
    lk_status status = LK_OK;

    if (asks->count > 0) {
        status = lki_redis_send(hub->redis, asks->commands, asks->count,
                                lki_clock_after_ms(hub->options.command_ms), NULL);
    }
    for (size_t i = 0; i < asks->count; i++)
        free(asks->names[i]);
    return status == LK_OK;
}

/* False when the connection is of no use: it ended, or what was asked is refused (an ACL without
   our channels, too many clients). An error names no channel, so all are asked for anew. */
static bool read_messages(struct lki_hub *hub)
{
    for (;;) {
        lk_reply *message = NULL;

        if (lki_redis_receive(hub->redis, &message, NULL) != LK_OK) return false;
        if (!message) return true;
        bool is_refused = lk_reply_type_of(message) == LK_REPLY_ERROR;
        if (!is_refused) take_message(hub, message);
        lk_reply_free(message);
        if (is_refused) return false;
    }
}

/* A silent connection is asked; one that does not answer in time is given up. */
static bool check_alive(struct lki_hub *hub)
{
    struct lk_bytes ping = LK_BYTES("PING");

    if (lki_clock_left_ms(hub->next_ping) > 0) return true;
    if (hub->is_pinged) return false;
    hub->is_pinged = true;
    hub->next_ping = lki_clock_after_ms(PING_MS);
    return lki_redis_send(hub->redis, &(struct lk_command){&ping, 1}, 1,
                          lki_clock_after_ms(hub->options.command_ms), NULL) == LK_OK;
}

static bool is_needed(struct lki_hub *hub)
{
    (void)pthread_mutex_lock(&hub->mutex);
    bool has_channels = hub->channel_count > 0;
    (void)pthread_mutex_unlock(&hub->mutex);
    return has_channels;
}

/* One turn with a connection: send what is due, sleep, read. False when the hub is to stop. */
static bool take_turn(struct lki_hub *hub)
{
    struct asks asks = {0};

    (void)pthread_mutex_lock(&hub->mutex);
    collect_locked(hub, &asks);
    (void)pthread_mutex_unlock(&hub->mutex);
    if (!send_asks(hub, &asks) || !check_alive(hub)) {
        forget_connection(hub);
        return true;
    }
    int64_t until = hub->next_ping < asks.next_due ? hub->next_ping : asks.next_due;
    if (!sleep_unless_stopping(hub, lki_redis_fd(hub->redis), until)) return false;
    if (!read_messages(hub)) forget_connection(hub);
    return true;
}

void *lki_hub_main(void *arg)
{
    struct lki_hub *hub = arg;
    bool goes_on = true;

    while (goes_on) {
        if (hub->redis) {
            goes_on = take_turn(hub);
        } else if (is_needed(hub)) {
            goes_on = connect_hub(hub);
        } else {
            goes_on = sleep_unless_stopping(hub, -1, INT64_MAX);
        }
    }
    return NULL;
}

void lki_hub_stop(struct lki_hub *hub)
{
    (void)pthread_mutex_lock(&hub->mutex);
    hub->is_stopping = true;
    wake_locked(&hub->silent, SIZE_MAX);
    for (size_t i = 0; i < BUCKETS; i++) {
        for (struct lki_channel *channel = hub->buckets[i]; channel; channel = channel->next)
            wake_locked(channel, SIZE_MAX);
    }
    (void)pthread_cond_broadcast(&hub->confirmed);
    (void)pthread_mutex_unlock(&hub->mutex);
    poke(hub);
}

struct lki_hub *lki_hub_new(const struct lki_hub_options *options, struct lk_error *err)
{
    struct lki_hub *hub = calloc(1, sizeof *hub);

    if (!hub) {
        (void)LKI_FAIL(err, LK_NO_MEMORY, "the wait hub");
        return NULL;
    }
    hub->options = *options;
    hub->silent.state = CHANNEL_LIVE;
    hub->poke_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (hub->poke_fd < 0) {
        (void)LKI_FAIL_ERRNO(err, LK_NO_MEMORY, "eventfd");
        free(hub);
        return NULL;
    }
    (void)pthread_mutex_init(&hub->mutex, NULL);
    (void)pthread_cond_init(&hub->confirmed, NULL);
    return hub;
}

void lki_hub_free(struct lki_hub *hub)
{
    if (!hub) return;
    for (size_t i = 0; i < BUCKETS; i++) {
        struct lki_channel *next = NULL;

        for (struct lki_channel *channel = hub->buckets[i]; channel; channel = next) {
            next = channel->next;
            channel_free(channel);
        }
    }
    lki_redis_close(hub->redis);
    (void)pthread_cond_destroy(&hub->confirmed);
    (void)pthread_mutex_destroy(&hub->mutex);
    (void)close(hub->poke_fd);
    free(hub);
}
