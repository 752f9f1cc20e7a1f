/*
 * The thread and its data, which the threads of the streams share: each sale with subscribers has a channel with the
 * moment up to which its ledger has been read, and the last changes of state.
 *
 * The thread asks Redis with no mutex held. A channel is reference-counted: each subscriber has a reference, and so
 * has the thread while it reads; the last one to drop its reference frees the channel.
 *
 * After a failover the ledger may have lost entries that were sent to clients, although later entries have higher
 * ids. So where that can happen, each channel is compared with the store when the servers have changed, and every
 * second, in case the change is noticed late. In a cluster one server may be away: its channels are then read one by
 * one, so that their failures do not affect the other channels.
 */
#include "broadcast.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "store/store_ledger.h"

enum { TICK_MS = 50, LOST_TICK_MS = 250, COMPARE_EVERY_MS = 1000, SEGMENTS_EVERY_MS = 200 };

struct channel {
    struct channel *next;                      /* owned by the list */
    struct subscriber *subscribers;            /* borrowed */
    unsigned uses;                             /* watchers, and the thread */
    uint64_t round;                            /* in which it was read last */
    struct sale_moment moment;                 /* as far as the ledger has been read */
    struct events_change changes[EVENTS_KEPT]; /* change number n is at n % EVENTS_KEPT */
    uint64_t change_count;
    unsigned snapshots;    /* times that its watchers lost the thread */
    bool is_lost;          /* the store is out of reach */
    unsigned compared;     /* the thread's: changes of the deployment when it was compared */
    int64_t compare_at_ms; /* the thread's: monotonic */
};

struct subscriber {
    struct subscriber *next;
    struct channel *channel; /* a use */
    uint64_t taken;          /* changes */
    unsigned snapshots;      /* as the channel's when it was told */
    int fd;                  /* owned */
};

/* The state of one round trip of the thread. */
struct reading {
    struct channel *channels[LEDGER_PAGES]; /* a use each */
    struct ledger_page pages[LEDGER_PAGES];
    size_t count;
};

struct broadcast {
    struct store *store;                 /* borrowed */
    const struct deployment *deployment; /* borrowed; may be NULL */
    struct reading *reading;             /* owned; the thread's */
    uint64_t round;                      /* the thread's */
    bool was_lost;                       /* the thread's */
    pthread_t thread;
    bool has_thread;
    pthread_cond_t wake;   /* the thread: there is a channel, or it stops */
    pthread_mutex_t mutex; /* guards what follows, channels and watchers */
    struct channel *channels;
    bool is_over; /* for those who watch */
    bool is_stopping;
};

/* ---- channels ---------------------------------------------------------------------------------- */

static void drop_use_locked(struct broadcast *self, struct channel *channel)
{
    struct channel **at = &self->channels;

    assert(channel->uses > 0);
    if (--channel->uses > 0) return;
    while (*at != channel)
        at = &(*at)->next;
    *at = channel->next;
    free(channel);
}

/* The write never blocks: an eventfd whose counter is full is readable already. */
static void wake_subscribers_locked(const struct channel *channel)
{
    for (const struct subscriber *at = channel->subscribers; at; at = at->next)
        (void)eventfd_write(at->fd, 1);
}

static struct channel *find_channel_locked(struct broadcast *self, const struct sale_moment *from)
{
    struct channel *channel = self->channels;

    while (channel && strcmp(channel->moment.sale.id, from->sale.id) != 0)
        channel = channel->next;
    if (channel) return channel;
    channel = calloc(1, sizeof *channel);
    if (!channel) return NULL;
    channel->moment = *from;
    channel->next = self->channels;
    self->channels = channel;
    (void)pthread_cond_signal(&self->wake);
    return channel;
}

/* ---- those who watch --------------------------------------------------------------------------- */

/* The number of the first change after `last`, as far as changes are kept. */
static uint64_t first_change_after_locked(const struct channel *channel, struct ledger_id last)
{
    uint64_t number = channel->change_count;
    uint64_t oldest = number > EVENTS_KEPT ? number - EVENTS_KEPT : 0;

    while (number > oldest &&
           ledger_id_compare(channel->changes[(number - 1) % EVENTS_KEPT].id, last) > 0)
        number--;
    return number;
}

struct subscriber *broadcast_subscribe(struct broadcast *self, const struct sale_moment *from)
{
    struct subscriber *subscriber = calloc(1, sizeof *subscriber);
    struct channel *channel = NULL;

    if (!subscriber) return NULL;
    subscriber->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    (void)pthread_mutex_lock(&self->mutex);
    if (subscriber->fd >= 0 && !self->is_over) channel = find_channel_locked(self, from);
    if (channel) {
        channel->uses++;
        subscriber->channel = channel;
        subscriber->taken = first_change_after_locked(channel, from->last);
        subscriber->snapshots = channel->snapshots;
        subscriber->next = channel->subscribers;
        channel->subscribers = subscriber;
    }
    (void)pthread_mutex_unlock(&self->mutex);
    if (channel) return subscriber;
    if (subscriber->fd >= 0) (void)close(subscriber->fd);
    free(subscriber);
    return NULL;
}

void broadcast_unsubscribe(struct broadcast *self, struct subscriber *subscriber)
{
    struct channel *channel = subscriber->channel;
    struct subscriber **at = &channel->subscribers;

    (void)pthread_mutex_lock(&self->mutex);
    while (*at != subscriber)
        at = &(*at)->next;
    *at = subscriber->next;
    drop_use_locked(self, channel);
    (void)pthread_mutex_unlock(&self->mutex);
    (void)close(subscriber->fd);
    free(subscriber);
}

int broadcast_fd(const struct subscriber *subscriber)
{
    return subscriber->fd;
}

static void copy_news_locked(struct subscriber *subscriber, struct events_news *out)
{
    const struct channel *channel = subscriber->channel;
    const struct sale_moment *moment = &channel->moment;
    uint64_t behind = channel->change_count - subscriber->taken;

    out->last = moment->last;
    out->left = moment->sale.left;
    out->orders = moment->orders;
    out->now_ms = moment->sale.now_ms;
    out->state = sale_state_of(&moment->sale);
    out->is_lost = channel->is_lost;
    out->is_gap = behind > EVENTS_KEPT || subscriber->snapshots != channel->snapshots;
    out->change_count = 0;
    for (uint64_t n = subscriber->taken; n < channel->change_count && !out->is_gap; n++)
        out->changes[out->change_count++] = channel->changes[n % EVENTS_KEPT];
    subscriber->taken = channel->change_count;
    subscriber->snapshots = channel->snapshots;
}

bool broadcast_take(struct broadcast *self, struct subscriber *subscriber, struct events_news *out)
{
    eventfd_t ignored = 0;
    bool goes_on = false;

    (void)eventfd_read(subscriber->fd, &ignored); /* before looking: what comes later wakes again */
    (void)pthread_mutex_lock(&self->mutex);
    goes_on = !self->is_over;
    if (goes_on) copy_news_locked(subscriber, out);
    (void)pthread_mutex_unlock(&self->mutex);
    return goes_on;
}

void broadcast_end(struct broadcast *self)
{
    (void)pthread_mutex_lock(&self->mutex);
    self->is_over = true;
    for (const struct channel *at = self->channels; at; at = at->next)
        wake_subscribers_locked(at);
    (void)pthread_mutex_unlock(&self->mutex);
}

/* ---- the thread -------------------------------------------------------------------------------- */

static bool is_cluster(const struct broadcast *self)
{
    return self->deployment && self->deployment->kind == DEPLOYMENT_CLUSTER;
}

static void collect_one_locked(struct broadcast *self, struct channel *channel)
{
    struct reading *reading = self->reading;
    struct ledger_page *page = &reading->pages[reading->count];

    channel->round = self->round;
    channel->uses++;
    page->sale_id = channel->moment.sale.id; /* only this thread changes moments */
    page->after = channel->moment.last;
    page->count = 0;
    reading->channels[reading->count++] = channel;
}

/* The lost channel whose last attempt is longest ago; NULL: this round has tried them all. */
static struct channel *next_lost_locked(const struct broadcast *self)
{
    struct channel *oldest = NULL;

    for (struct channel *at = self->channels; at; at = at->next) {
        if (at->is_lost && at->round != self->round && (!oldest || at->round < oldest->round))
            oldest = at;
    }
    return oldest;
}

/* Collect the next channels of this round, with a reference to each; false when none are left. */
static bool collect_locked(struct broadcast *self)
{
    struct reading *reading = self->reading;
    struct channel *lost = NULL;

    reading->count = 0;
    for (struct channel *at = self->channels; at && reading->count < LEDGER_PAGES; at = at->next) {
        if (at->round == self->round || (at->is_lost && is_cluster(self))) continue;
        collect_one_locked(self, at);
    }
    if (reading->count == 0 && is_cluster(self)) lost = next_lost_locked(self);
    if (lost) collect_one_locked(self, lost);
    return reading->count > 0;
}

static void release_locked(struct broadcast *self)
{
    for (size_t i = 0; i < self->reading->count; i++)
        drop_use_locked(self, self->reading->channels[i]);
    self->reading->count = 0;
}

static void apply_page_locked(struct channel *channel, const struct ledger_page *page,
                              int64_t now_ms)
{
    const struct sale *sale = &channel->moment.sale;
    sale_state before = sale_state_of(sale);
    int64_t left = sale->left;
    struct events_change change;

    for (size_t i = 0; i < page->count; i++) {
        if (!events_follow(&channel->moment, &page->entries[i], &change)) continue;
        channel->changes[channel->change_count++ % EVENTS_KEPT] = change;
    }
    events_tick(&channel->moment, now_ms);
    if (page->count > 0 || sale_state_of(sale) != before || sale->left != left)
        wake_subscribers_locked(channel);
}

static void set_lost_locked(struct channel *channel, bool is_lost)
{
    if (channel->is_lost == is_lost) return;
    channel->is_lost = is_lost;
    wake_subscribers_locked(channel);
}

/*
 * Redis is reachable again, or another server took over. If it lost entries that clients were sent, every subscriber
 * gets a snapshot. Its last entry may equal ours, read already from the new server, while entries before it were
 * lost: then the number of orders differs.
 */
static void resume_after_failover(struct broadcast *self, struct channel *channel)
{
    const char *id = channel->moment.sale.id;
    struct ledger_entry ignored;
    struct sale_moment moment;
    bool has_forgotten = false;
    unsigned changes = deployment_changes(self->deployment); /* before asking */
    store_status status = store_load_moment(self->store, id, &moment, NULL);

    if (status == STORE_OK && ledger_id_compare(moment.last, channel->moment.last) == 0) {
        has_forgotten = moment.orders != channel->moment.orders;
    } else if (status == STORE_OK) {
        status = store_find_entry(self->store, id, channel->moment.last, &ignored, NULL);
        has_forgotten = status == STORE_NOT_FOUND;
    }
    if (status != STORE_OK && status != STORE_NOT_FOUND) return; /* as before: the next round */
    channel->compared = changes;
    channel->compare_at_ms = clock_mono_ms() + COMPARE_EVERY_MS;
    (void)pthread_mutex_lock(&self->mutex);
    if (has_forgotten) {
        channel->moment = moment;
        channel->snapshots++;
        channel->change_count = 0;
        for (struct subscriber *at = channel->subscribers; at; at = at->next)
            at->taken = 0;
        wake_subscribers_locked(channel);
    }
    set_lost_locked(channel, false);
    (void)pthread_mutex_unlock(&self->mutex);
}

/* A sharded sale has no ledger of its own: its state is read at intervals. */
static void reload_segments(struct broadcast *self, struct channel *channel)
{
    struct sale_moment moment;
    struct sale_moment *known = &channel->moment;

    if (clock_mono_ms() < channel->compare_at_ms) return;
    channel->compare_at_ms = clock_mono_ms() + SEGMENTS_EVERY_MS;
    bool is_lost = store_load_moment(self->store, known->sale.id, &moment, NULL) != STORE_OK;
    (void)pthread_mutex_lock(&self->mutex);
    set_lost_locked(channel, is_lost);
    if (!is_lost) {
        bool is_new = moment.orders != known->orders || moment.sale.left != known->sale.left ||
                      moment.sale.starts_ms != known->sale.starts_ms ||
                      moment.sale.ends_ms != known->sale.ends_ms ||
                      sale_state_of(&moment.sale) != sale_state_of(&known->sale);
        if (moment.last.ms <= known->last.ms)
            moment.last.ms = known->last.ms + 1; /* a clock behind */
        *known = moment;
        if (is_new) wake_subscribers_locked(channel);
    }
    (void)pthread_mutex_unlock(&self->mutex);
}

static void note_failure(struct broadcast *self, const struct lk_error *err)
{
    if (!self->was_lost)
        log_line(LOG_WARN, "events: %s", err->text[0] ? err->text : lk_status_name(err->code));
    self->was_lost = true;
    (void)pthread_mutex_lock(&self->mutex);
    for (struct channel *at = self->channels; at && !is_cluster(self); at = at->next)
        set_lost_locked(at, true);
    for (size_t i = 0; i < self->reading->count; i++)
        set_lost_locked(self->reading->channels[i], true);
    release_locked(self);
    (void)pthread_mutex_unlock(&self->mutex);
}

/* Whether the channel has to be compared with the store before new entries are sent. */
static bool must_compare(const struct broadcast *self, const struct channel *channel)
{
    if (channel->is_lost) return true;
    if (!deployment_may_go_back(self->deployment)) return false;
    return channel->compared != deployment_changes(self->deployment) ||
           clock_mono_ms() >= channel->compare_at_ms;
}

/* Read new entries of the collected channels. *out_has_more: some ledger has more than a page. */
static bool read_on(struct broadcast *self, bool *out_has_more)
{
    struct reading *reading = self->reading;
    struct lk_error err = {0};
    int64_t now_ms = 0;

    if (store_read_ledgers(self->store, reading->pages, reading->count, &now_ms, &err) !=
        STORE_OK) {
        note_failure(self, &err);
        return false;
    }
    self->was_lost = false;
    for (size_t i = 0; i < reading->count; i++) {
        struct channel *channel = reading->channels[i];

        if (channel->moment.sale.segments.count > 0)
            reload_segments(self, channel);
        else if (must_compare(self, channel))
            resume_after_failover(self, channel);
    }
    (void)pthread_mutex_lock(&self->mutex);
    for (size_t i = 0; i < reading->count; i++) {
        struct channel *channel = reading->channels[i];

        if (channel->moment.sale.segments.count > 0 ||
            ledger_id_compare(channel->moment.last, reading->pages[i].after) != 0)
            continue;
        apply_page_locked(channel, &reading->pages[i], now_ms);
        if (reading->pages[i].count == LEDGER_PAGE) *out_has_more = true;
    }
    release_locked(self);
    (void)pthread_mutex_unlock(&self->mutex);
    return true;
}

/* Read new entries of every channel's ledger once; returns how long to pause afterwards. */
static int64_t run_round(struct broadcast *self)
{
    bool has_more = false;
    bool goes_on = true;

    self->round++;
    while (goes_on) {
        (void)pthread_mutex_lock(&self->mutex);
        goes_on = !self->is_stopping && collect_locked(self);
        (void)pthread_mutex_unlock(&self->mutex);
        if (goes_on && !read_on(self, &has_more)) return LOST_TICK_MS;
    }
    return has_more ? 0 : TICK_MS;
}

static struct timespec after_ms(int64_t ms)
{
    int64_t at_ns = clock_mono_ns() + ms * 1000000;

    return (struct timespec){.tv_sec = at_ns / 1000000000, .tv_nsec = at_ns % 1000000000};
}

/* Pause for so long, or until the stop; without channels, until there is one. */
static bool pause_round(struct broadcast *self, int64_t ms)
{
    struct timespec until = after_ms(ms);
    bool goes_on = true;
    int waited = 0;

    (void)pthread_mutex_lock(&self->mutex);
    while (!self->is_stopping && waited != ETIMEDOUT && ms > 0)
        waited = pthread_cond_timedwait(&self->wake, &self->mutex, &until);
    while (!self->is_stopping && !self->channels)
        (void)pthread_cond_wait(&self->wake, &self->mutex);
    goes_on = !self->is_stopping;
    (void)pthread_mutex_unlock(&self->mutex);
    return goes_on;
}

static void *run(void *arg)
{
    struct broadcast *self = arg;

    while (pause_round(self, run_round(self)))
        continue;
    return NULL;
}

static bool start_thread(struct broadcast *self)
{
    sigset_t all;
    sigset_t before;

    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    self->has_thread = pthread_create(&self->thread, NULL, run, self) == 0;
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    return self->has_thread;
}

struct broadcast *broadcast_new(struct store *store, const struct deployment *deployment)
{
    struct broadcast *self = calloc(1, sizeof *self);
    pthread_condattr_t attr;

    if (!self) return NULL;
    self->store = store;
    self->deployment = deployment;
    self->reading = calloc(1, sizeof *self->reading);
    (void)pthread_mutex_init(&self->mutex, NULL);
    (void)pthread_condattr_init(&attr);
    (void)pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    (void)pthread_cond_init(&self->wake, &attr);
    (void)pthread_condattr_destroy(&attr);
    if (self->reading && start_thread(self)) return self;
    broadcast_free(self);
    return NULL;
}

void broadcast_free(struct broadcast *self)
{
    if (!self) return;
    (void)pthread_mutex_lock(&self->mutex);
    self->is_stopping = true;
    (void)pthread_cond_signal(&self->wake);
    (void)pthread_mutex_unlock(&self->mutex);
    if (self->has_thread) (void)pthread_join(self->thread, NULL);
    assert(!self->channels);
    (void)pthread_cond_destroy(&self->wake);
    (void)pthread_mutex_destroy(&self->mutex);
    free(self->reading);
    free(self);
}
