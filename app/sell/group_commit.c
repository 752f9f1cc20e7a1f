/*
 * Group commit: one leader per batch, one batch per sale at a time.
 *
 * A purchase either joins the last batch that has not begun, or opens a new one, and then its thread
 * leads it: it waits for its turn, closes the batch and runs the guard for all. So one acquire, one
 * script and one release serve everybody who came in the meantime, and the lock is contended only
 * between instances. Followers do not sleep here: done() is called for them, which saves a sleep per
 * purchase. A leader goes on with the next batch for a while, since its thread runs already, and the
 * one it relieves of that calls done() for the batch before.
 *
 * The queue is bounded by time: whoever would wait too long, as far as the last batches tell, is
 * refused at once. So those who are let in are served soon, however many more come. (Without batches
 * there is no queue: everybody waits at the lock, until his deadline.)
 *
 * Once a sale is sold out, sold_out.c answers from memory before anybody queues.
 *
 * A batch lives on its leader's stack, a purchase with its caller. Once done() was called, a purchase
 * may be gone, so its successor is read before.
 *
 * Threads: the HTTP workers, any number. Locks: a lane's mutex guards its queue, the map's mutex the
 * making of lanes; neither is taken while the other is held. A lane's `runs` is held while its guard
 * runs, and nothing else is taken by whoever waits for it.
 */
#include "group_commit.h"

#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "guards/guards.h"
#include "order_node.h"
#include "sale/order_id.h"
#include "sold_out.h"
#include "store/app_scripts.h"

enum {
    BATCH_MAX = 1024,
    LANE_BUCKETS = 256,
    LEAD_MS = 10,          /* of going on: the leader's own client waits for its next request */
    RUN_MIN_MS = 20,       /* with less time than this left, a purchase is not begun */
    QUEUE_BATCHES_MIN = 2, /* one that runs, one that gathers: with less the lock would lie idle */
    RUNS_REMEMBERED = 4,
    NS_PER_MS = 1000000,
};

/* What the thread that opened a batch is to do. */
enum turn {
    TURN_WAIT,
    TURN_LEAD,   /* run the batch */
    TURN_ANSWER, /* whoever led before runs it: answer the one before in exchange */
};

/* Purchases that will be served together; the first one's thread leads. Under the lane's mutex. */
struct batch {
    struct purchase *first;
    struct purchase *last;
    struct batch *next;
    struct purchase *to_answer; /* with TURN_ANSWER */
    unsigned count;
    _Atomic uint32_t turn; /* futex; enum turn */
};

struct lane {
    char sale_id[SALE_ID_MAX + 1];
    pthread_rwlock_t runs; /* shared by runs of the guard; held alone while it is switched */
    _Atomic(const struct guard *) guard;
    _Atomic(struct sold_out_sale *) sold_out; /* borrowed; NULL: memory answers nothing */
    struct lane *next;                        /* in its bucket; set once */
    pthread_mutex_t mutex;                    /* guards the queue below */
    struct batch *head;                       /* waiting batches, oldest first */
    struct batch *tail;
    bool is_running;        /* some batch is being served, or has been given the turn */
    struct purchase **list; /* owned, room for a batch: of whoever has the turn */
    atomic_uint depth;      /* purchases inside */
    _Atomic int64_t ran_ns; /* what a batch takes of late; 0: none has run */
};

struct group_commit {
    struct group_commit_options options;
    lk_script *purchase; /* owned */
    lk_script *resolve;  /* owned */
    lk_script *confirm;  /* owned */
    lk_script *fenced;   /* owned */
    char process[96];    /* the instance's name and when it began: our field in void hashes */
    _Atomic int64_t attempts;
    struct order_ids ids;
    _Atomic(struct lane *) lanes[LANE_BUCKETS]; /* grow only */
    pthread_mutex_t map_mutex;                  /* guards additions to the lanes */
    struct sold_out *sold_out;                  /* owned */
    struct order_node *node;                    /* owned */
};

/* ---- futex ------------------------------------------------------------------------------------- */

/* Sleep while *word is value; may wake early. */
static void futex_wait(_Atomic uint32_t *word, uint32_t value)
{
    (void)syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, NULL, NULL, 0);
}

static void futex_wake(_Atomic uint32_t *word)
{
    (void)syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

/* ---- lanes --------------------------------------------------------------------------------------- */

static _Atomic(struct lane *) *bucket_of(struct group_commit *self, const char *sale_id)
{
    uint32_t hash = 2166136261U; /* FNV-1a */

    for (const char *c = sale_id; *c; c++)
        hash = (hash ^ (uint8_t)*c) * 16777619U;
    return &self->lanes[hash % LANE_BUCKETS];
}

static struct lane *find_lane(struct group_commit *self, const char *sale_id)
{
    struct lane *lane = atomic_load_explicit(bucket_of(self, sale_id), memory_order_acquire);

    while (lane && strcmp(lane->sale_id, sale_id) != 0)
        lane = lane->next;
    return lane;
}

static void lane_free(struct lane *lane)
{
    (void)pthread_rwlock_destroy(&lane->runs);
    (void)pthread_mutex_destroy(&lane->mutex);
    free(lane->list);
    free(lane);
}

static void init_runs(pthread_rwlock_t *runs)
{
    pthread_rwlockattr_t attributes;

    (void)pthread_rwlockattr_init(&attributes); /* else a crowd would keep a switch out for ever */
    (void)pthread_rwlockattr_setkind_np(&attributes, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
    (void)pthread_rwlock_init(runs, &attributes);
    (void)pthread_rwlockattr_destroy(&attributes);
}

static struct lane *lane_new(const char *sale_id, const struct guard *guard, size_t batch)
{
    struct lane *lane = calloc(1, sizeof *lane);

    if (!lane) return NULL;
    (void)snprintf(lane->sale_id, sizeof lane->sale_id, "%s", sale_id);
    (void)pthread_mutex_init(&lane->mutex, NULL);
    init_runs(&lane->runs);
    lane->guard = guard;
    lane->list = calloc(batch, sizeof(struct purchase *));
    if (lane->list) return lane;
    lane_free(lane);
    return NULL;
}

/* The lane of a sale that exists, made now unless another thread was faster. NULL: no memory. */
static struct lane *add_lane(struct group_commit *self, const char *sale_id,
                             const struct guard *guard)
{
    _Atomic(struct lane *) *bucket = bucket_of(self, sale_id);

    (void)pthread_mutex_lock(&self->map_mutex);
    struct lane *lane = find_lane(self, sale_id);
    if (!lane) {
        lane = lane_new(sale_id, guard, self->options.batch);
        if (lane) {
            /* What a flawed guard leaves in Redis is no order book to rely on. */
            if (!guard->flaw) lane->sold_out = sold_out_watch(self->sold_out, sale_id);
            lane->next = atomic_load(bucket);
            atomic_store_explicit(bucket, lane, memory_order_release);
        }
    }
    (void)pthread_mutex_unlock(&self->map_mutex);
    return lane;
}

static bool may_run(const struct group_commit *self, const struct guard *guard)
{
    if (!guard || (guard->flaw && !self->options.lab)) return false;
    return !guard->needs_redlock || self->options.redlock != NULL;
}

/* The lane of a sale; NULL with the outcome that says why not. */
static struct lane *open_lane(struct group_commit *self, const char *sale_id, outcome *out_outcome)
{
    struct sale sale;
    struct lane *lane = find_lane(self, sale_id);

    if (lane) return lane;
    switch (store_load_sale(self->options.store, sale_id, &sale, NULL)) {
    case STORE_OK:
        break;
    case STORE_NOT_FOUND:
        *out_outcome = OUTCOME_NO_SALE;
        return NULL;
    case STORE_EXISTS:
    case STORE_UNAVAILABLE:
    case STORE_UNKNOWN: /* a read: nothing was executed */
    case STORE_FAILED:
        *out_outcome = OUTCOME_STORE_UNAVAILABLE;
        return NULL;
    }
    if (!may_run(self, guards_find(sale.guard))) {
        *out_outcome = OUTCOME_NO_GUARD;
        return NULL;
    }
    lane = add_lane(self, sale.id, guards_find(sale.guard));
    if (!lane) *out_outcome = OUTCOME_STORE_UNAVAILABLE; /* no memory */
    return lane;
}

/* ---- running a guard ------------------------------------------------------------------------------ */

static outcome outcome_of(guard_status status)
{
    switch (status) {
    case GUARD_BUSY:
        return OUTCOME_LOCK_TIMEOUT;
    case GUARD_UNKNOWN:
        return OUTCOME_UNKNOWN;
    case GUARD_UNSYNCED:
        return OUTCOME_UNSYNCED;
    case GUARD_DONE:
    case GUARD_UNAVAILABLE:
        break;
    }
    return OUTCOME_STORE_UNAVAILABLE;
}

/* Purchases that a guard serves together. */
struct run {
    struct purchase **list;
    size_t count;
    int64_t limit_ms;
    int64_t waited_ns; /* the first of them, until now */
};

static void set_all(const struct run *run, outcome same)
{
    for (size_t i = 0; i < run->count; i++)
        run->list[i]->outcome = same;
}

static bool is_any_created(const struct guard_result *result, const struct run *run)
{
    size_t i = 0;

    while (i < run->count && run->list[i]->outcome != OUTCOME_CREATED)
        i++;
    return result->status == GUARD_DONE && i < run->count;
}

static void pause_sell(const struct guard_ctx *ctx)
{
    clock_pause_ms(ctx->pause_ms);
}

/* Serve purchases by the lane's guard: every one has its outcome afterwards. */
static void run_guard_locked(struct group_commit *self, struct lane *lane, const struct run *run)
{
    const struct guard *guard = lane->guard;
    struct guard_ctx ctx = {.guard = guard,
                            .client = self->options.client,
                            .purchase = self->purchase,
                            .resolve = self->resolve,
                            .confirm = self->confirm,
                            .fenced = self->fenced,
                            .deployment = self->options.deployment,
                            .redlock = self->options.redlock,
                            .sale_id = lane->sale_id,
                            .instance = self->options.instance,
                            .process = self->process,
                            .attempt = atomic_fetch_add(&self->attempts, 1) + 1,
                            .lease_ms = self->options.lease_ms,
                            .limit_ms = run->limit_ms,
                            .wait_ms = run->limit_ms,
                            .dir = self->options.dir,
                            .pause_ms = self->options.pause_ms};
    int64_t begin = clock_mono_ns();
    int node = order_node_number(self->node);

    if (node < 0) {
        set_all(run, OUTCOME_STORE_UNAVAILABLE);
        return;
    }
    if (ctx.pause_ms > 0 && ctx.attempt % self->options.pause_every == 0) ctx.pause = pause_sell;
    for (size_t i = 0; i < run->count; i++)
        order_id_next(&self->ids, (unsigned)node, run->list[i]->order_id);
    struct guard_result result = guard->sell(&ctx, run->list, run->count);
    if (result.status != GUARD_DONE) set_all(run, outcome_of(result.status));
    if (is_any_created(&result, run)) sold_out_contradict(lane->sold_out);
    if (result.is_sold_out) sold_out_note(lane->sold_out);
    if (self->options.on_batch) {
        self->options.on_batch(guard->name, run->count, run->waited_ns, clock_mono_ns() - begin,
                               self->options.on_batch_arg);
    }
}

/* The same, and its guard is not switched meanwhile. */
static void run_guard(struct group_commit *self, struct lane *lane, struct run run)
{
    int64_t asked_ns = clock_mono_ns();

    (void)pthread_rwlock_rdlock(&lane->runs);
    run.limit_ms -= (clock_mono_ns() - asked_ns) / NS_PER_MS; /* a switch was waiting for others */
    for (size_t i = 0; i < run.count; i++)
        run.list[i]->guard = lane->guard->name;
    if (run.limit_ms > 0) {
        run_guard_locked(self, lane, &run);
    } else {
        set_all(&run, OUTCOME_LOCK_TIMEOUT);
    }
    (void)pthread_rwlock_unlock(&lane->runs);
}

/* ---- the queue's bound ------------------------------------------------------------------------------ */

/* By whoever has the turn. */
static void note_run(struct lane *lane, int64_t ran_ns)
{
    int64_t before_ns = atomic_load_explicit(&lane->ran_ns, memory_order_relaxed);

    if (before_ns > 0) ran_ns = before_ns + (ran_ns - before_ns) / RUNS_REMEMBERED;
    atomic_store_explicit(&lane->ran_ns, ran_ns, memory_order_relaxed);
}

/* How many may be inside, so that nobody waits too long if batches take what they took of late. */
static unsigned room_in(const struct group_commit *self, const struct lane *lane)
{
    const struct group_commit_options *options = &self->options;
    int64_t ran_ns = atomic_load_explicit(&lane->ran_ns, memory_order_relaxed);

    if (options->queue_ms == 0 || ran_ns <= 0) return options->queue_max;
    int64_t batches = options->queue_ms * NS_PER_MS / ran_ns;
    if (batches < QUEUE_BATCHES_MIN) batches = QUEUE_BATCHES_MIN;
    if (batches > options->queue_max / options->batch) return options->queue_max;
    return (unsigned)batches * options->batch;
}

/* ---- batches ---------------------------------------------------------------------------------------- */

/* Its turn: nobody joins any more. Returns its purchases; the batch itself may be gone soon. */
static struct purchase *close_batch_locked(struct lane *lane, const struct batch *batch)
{
    lane->head = batch->next;
    if (!lane->head) lane->tail = NULL;
    return batch->first;
}

/* List those that were not served yet and have time left; the limit is what the first has left. */
static size_t list_unserved(struct lane *lane, struct purchase *first, int64_t *out_limit_ms)
{
    int64_t now = clock_mono_ns();
    int64_t limit_ns = INT64_MAX;
    size_t count = 0;

    for (struct purchase *purchase = first; purchase; purchase = purchase->next) {
        int64_t left_ns = purchase->deadline_ns - now;

        if (purchase->outcome != OUTCOME_LOCK_TIMEOUT) continue;
        if (left_ns < (int64_t)RUN_MIN_MS * NS_PER_MS) continue;
        if (left_ns < limit_ns) limit_ns = left_ns;
        lane->list[count++] = purchase;
    }
    *out_limit_ms = limit_ns / NS_PER_MS;
    return count;
}

/* Nobody is kept past the own deadline: when the oldest has to go, the others are tried again. */
static void serve(struct group_commit *self, struct lane *lane, struct purchase *first)
{
    int64_t joined_ns = first->deadline_ns - self->options.deadline_ms * NS_PER_MS;
    int64_t limit_ms = 0;
    int64_t begin_ns = 0;
    int64_t ran_ns = 0;
    size_t count = 0;

    for (struct purchase *purchase = first; purchase; purchase = purchase->next) {
        purchase->outcome = OUTCOME_LOCK_TIMEOUT; /* until it is served */
        purchase->guard = lane->guard->name;
    }
    count = list_unserved(lane, first, &limit_ms);
    while (count > 0) {
        begin_ns = clock_mono_ns();
        run_guard(self, lane, (struct run){lane->list, count, limit_ms, begin_ns - joined_ns});
        ran_ns = clock_mono_ns() - begin_ns;
        note_run(lane, ran_ns);
        if (ran_ns < limit_ms * NS_PER_MS) break; /* it was not for time */
        count = list_unserved(lane, first, &limit_ms);
    }
}

static void finish(struct lane *lane, struct purchase *purchase)
{
    atomic_fetch_sub(&lane->depth, 1);
    purchase->done(purchase, purchase->done_arg);
}

static void answer(struct lane *lane, struct purchase *first)
{
    struct purchase *next = NULL;

    for (struct purchase *purchase = first; purchase; purchase = next) {
        next = purchase->next; /* once done, it may be gone */
        finish(lane, purchase);
    }
}

/* After this the batch may be gone: its thread leaves when it has seen its turn. */
static void give_turn(struct batch *batch, enum turn turn)
{
    atomic_store(&batch->turn, (uint32_t)turn);
    futex_wake(&batch->turn); /* at the address of what was the batch: waking nobody is fine */
}

/*
 * The next batch, taken over from its leader, who gets `served` to answer; NULL when there is none, or
 * when this thread has led for long enough, and then `served` is still to be answered here.
 */
static struct purchase *take_over(struct lane *lane, int64_t until_ns, struct purchase *served)
{
    struct purchase *first = NULL;

    (void)pthread_mutex_lock(&lane->mutex);
    struct batch *next = lane->head;
    lane->is_running = next != NULL;
    if (next && clock_mono_ns() < until_ns) {
        first = close_batch_locked(lane, next);
        next->to_answer = served;
    }
    (void)pthread_mutex_unlock(&lane->mutex);
    if (next) give_turn(next, first ? TURN_ANSWER : TURN_LEAD);
    return first;
}

static void lead(struct group_commit *self, struct lane *lane, struct batch *batch)
{
    struct purchase *first = NULL;
    struct purchase *served = NULL;
    int64_t until_ns = 0;

    while (atomic_load(&batch->turn) == TURN_WAIT)
        futex_wait(&batch->turn, TURN_WAIT);
    if (atomic_load(&batch->turn) == TURN_ANSWER) {
        answer(lane, batch->to_answer);
        return;
    }
    (void)pthread_mutex_lock(&lane->mutex);
    first = close_batch_locked(lane, batch);
    (void)pthread_mutex_unlock(&lane->mutex);
    until_ns = clock_mono_ns() + (int64_t)LEAD_MS * NS_PER_MS;
    while (first) {
        serve(self, lane, first);
        served = first;
        first = take_over(lane, until_ns, served);
    }
    answer(lane, served);
}

static void sell_in_batch(struct group_commit *self, struct lane *lane, struct purchase *purchase)
{
    struct batch own = {0};
    struct batch *batch = NULL;

    purchase->next = NULL;
    purchase->deadline_ns = clock_mono_ns() + self->options.deadline_ms * NS_PER_MS;
    (void)pthread_mutex_lock(&lane->mutex);
    batch = lane->tail;
    if (!batch || batch->count >= self->options.batch) {
        *(batch ? &batch->next : &lane->head) = &own;
        batch = lane->tail = &own;
        if (!lane->is_running) own.turn = TURN_LEAD;
        lane->is_running = true;
    }
    *(batch->last ? &batch->last->next : &batch->first) = purchase;
    batch->last = purchase;
    batch->count++;
    (void)pthread_mutex_unlock(&lane->mutex);
    if (batch == &own) lead(self, lane, &own);
}

/* --batch 1: the textbook, where every purchase takes the lock itself. */
static void sell_alone(struct group_commit *self, struct lane *lane, struct purchase *purchase)
{
    run_guard(self, lane, (struct run){&purchase, 1, self->options.deadline_ms, 0});
    finish(lane, purchase);
}

/* ---- public ------------------------------------------------------------------------------------------- */

void group_commit_submit(struct group_commit *self, const char *sale_id, struct purchase *purchase)
{
    struct lane *lane = open_lane(self, sale_id, &purchase->outcome);

    if (!lane) {
        purchase->guard = "";
        purchase->done(purchase, purchase->done_arg);
    } else if (sold_out_answer(lane->sold_out, purchase)) {
        purchase->guard = lane->guard->name;
        purchase->done(purchase, purchase->done_arg);
    } else if (atomic_fetch_add(&lane->depth, 1) >= room_in(self, lane)) {
        purchase->outcome = OUTCOME_OVERLOADED;
        purchase->guard = lane->guard->name;
        finish(lane, purchase);
    } else if (self->options.batch == 1) {
        sell_alone(self, lane, purchase);
    } else {
        sell_in_batch(self, lane, purchase);
    }
}

static void wake_seller(struct purchase *purchase, void *arg)
{
    _Atomic uint32_t *is_done = arg;

    (void)purchase;
    atomic_store(is_done, 1);
    futex_wake(is_done); /* the word may be gone by now: waking nobody harms nobody */
}

const char *group_commit_sell(struct group_commit *self, const char *sale_id,
                              struct purchase *purchase)
{
    _Atomic uint32_t is_done = 0;

    purchase->done = wake_seller;
    /* cppcheck-suppress autoVariables ; this function returns after done() has used it */
    purchase->done_arg = &is_done;
    group_commit_submit(self, sale_id, purchase);
    while (atomic_load(&is_done) == 0)
        futex_wait(&is_done, 0);
    return purchase->guard;
}

const struct guard *group_commit_guard(struct group_commit *self, const char *sale_id)
{
    const struct lane *lane = find_lane(self, sale_id);

    return lane ? lane->guard : NULL;
}

bool group_commit_switch_guard(struct group_commit *self, const char *sale_id,
                               const struct guard *guard)
{
    struct lane *lane = add_lane(self, sale_id, guard);

    if (!lane) return false;
    (void)pthread_rwlock_wrlock(&lane->runs);
    if (guard->flaw) lane->sold_out = NULL; /* for good: what it leaves is no order book */
    lane->guard = guard;
    (void)pthread_rwlock_unlock(&lane->runs);
    return true;
}

unsigned group_commit_depth(const struct group_commit *self)
{
    unsigned depth = 0;

    for (size_t i = 0; i < LANE_BUCKETS; i++) {
        for (struct lane *lane = atomic_load(&self->lanes[i]); lane; lane = lane->next)
            depth += atomic_load(&lane->depth);
    }
    return depth;
}

struct group_commit *group_commit_new(const struct group_commit_options *options)
{
    struct group_commit *self = calloc(1, sizeof *self);

    if (!self) return NULL;
    self->options = *options;
    if (self->options.batch < 1) self->options.batch = 1;
    if (self->options.batch > BATCH_MAX) self->options.batch = BATCH_MAX;
    if (self->options.pause_every < 1) self->options.pause_every = 1;
    if (self->options.queue_ms > self->options.deadline_ms) /* whoever is out of time is refused */
        self->options.queue_ms = self->options.deadline_ms;
    (void)pthread_mutex_init(&self->map_mutex, NULL);
    self->node = order_node_new(options->client, options->deployment);
    self->purchase = lk_script_new(app_scripts_named("purchase"));
    self->resolve = lk_script_new(app_scripts_named("resolve"));
    self->confirm = lk_script_new(app_scripts_named("confirm"));
    self->fenced = app_scripts_join("fence_check", "purchase");
    (void)snprintf(self->process, sizeof self->process, "%.60s.%llx.%x", options->instance,
                   (unsigned long long)clock_unix_ms(), (unsigned)getpid());
    self->sold_out = sold_out_new(options->store, options->deployment);
    if (self->node && self->purchase && self->resolve && self->confirm && self->fenced &&
        self->sold_out)
        return self;
    group_commit_free(self);
    return NULL;
}

void group_commit_free(struct group_commit *self)
{
    if (!self) return;
    order_node_free(self->node);
    for (size_t i = 0; i < LANE_BUCKETS; i++) {
        struct lane *next = NULL;

        for (struct lane *lane = atomic_load(&self->lanes[i]); lane; lane = next) {
            next = lane->next;
            lane_free(lane);
        }
    }
    sold_out_free(self->sold_out);
    lk_script_free(self->fenced);
    lk_script_free(self->confirm);
    lk_script_free(self->resolve);
    lk_script_free(self->purchase);
    (void)pthread_mutex_destroy(&self->map_mutex);
    free(self);
}
