/*
 * Group commit: one leader per batch, one batch per sale at a time.
 *
 * A purchase either joins the last batch that has not begun, or opens a new one, and then its thread
 * leads it: it waits for its turn, closes the batch and runs the guard for all. So one acquire, one
 * script and one release serve all purchases that came in the meantime, and the lock is contended only
 * between instances. Followers do not sleep here: done() is called for them, which saves a sleep per
 * purchase. A leader goes on to lead the next batch for a while, because its thread is running already; the
 * thread that would have led it calls done() for the batch before instead.
 *
 * The queue is bounded by time: a purchase that would wait too long, by the time that recent batches took, is
 * refused at once. So admitted purchases are served soon, however many more come. (Without batches
 * there is no queue: each purchase waits for the lock until its deadline.)
 *
 * Once a sale is sold out, sold_out.c answers from memory before a purchase is queued.
 *
 * A sharded sale has a lane for each segment, and one of its own, whose guard all of them use. When its home segment
 * has no unit, a purchase waits with its batch, which keeps the turn, until units were fetched or no segment has any.
 *
 * A batch lives on its leader's stack, a purchase with its caller. Once done() was called, a purchase
 * may be gone, so its successor is read before.
 *
 * Threads: the HTTP workers, any number. Locks: a lane's mutex guards its queue; nothing else
 * is taken while it is held. A lane's `runs` is held while its guard runs; a thread that waits for `runs` holds no
 * other lock.
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
#include "book/book.h"
#include "expirer.h"
#include "guards/guards.h"
#include "lanes.h"
#include "order_node.h"
#include "sale/order_id.h"
#include "store/app_scripts.h"

enum {
    BATCH_MAX = 1024,
    LEAD_MS = 10,          /* of going on: the leader's own client waits for its next request */
    RUN_MIN_MS = 20,       /* with less time than this left, a purchase is not begun */
    QUEUE_BATCHES_MIN = 2, /* one that runs, one that gathers: with less the lock would lie idle */
    RUNS_REMEMBERED = 4,
    NS_PER_MS = 1000000,
};

/* What the thread that opened a batch does next. */
enum turn {
    TURN_WAIT,
    TURN_LEAD,   /* run the batch */
    TURN_ANSWER, /* the previous leader runs it: answer the previous batch in exchange */
};

/* Purchases that will be served together; the thread of the first one leads. Guarded by the lane's mutex. */
struct batch {
    struct purchase *first;
    struct purchase *last;
    struct batch *next;
    struct purchase *to_answer; /* with TURN_ANSWER */
    unsigned count;
    _Atomic uint32_t turn; /* futex; enum turn */
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
    struct lanes lanes;
    struct order_node *node; /* owned */
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

/* The purchases of one run of a guard. */
struct run {
    struct purchase **list;
    size_t count;
    int64_t limit_ms;
    int64_t waited_ns; /* the first of them, until now */
    int node;          /* of their ids; set by run_guard() */
};

static void set_all(const struct run *run, outcome same)
{
    for (size_t i = 0; i < run->count; i++)
        run->list[i]->outcome = same;
}

static void note_failure(struct group_commit *self, const struct run *run, guard_status status)
{
    set_all(run, outcome_of(status));
    if (status == GUARD_UNAVAILABLE) book_wake(self->options.book); /* perhaps UNCHECKED */
}

static bool is_any(const struct run *run, outcome which)
{
    size_t i = 0;

    while (i < run->count && run->list[i]->outcome != which)
        i++;
    return i < run->count;
}

/* The next purchase loads the sale again: a segment, or the unsharded form, can be gone while the sale still exists. */
static void note_gone(struct group_commit *self, struct lane *lane, const struct run *run)
{
    struct sale sale;

    if (lane->whole->segments == lane->segments) lane->whole->is_gone = true;
    if (lane->whole != lane ||
        (store_load_sale(self->options.store, lane->base.id, &sale, NULL) == STORE_OK &&
         sale.segments.count > 0))
        set_all(run, OUTCOME_LOCK_TIMEOUT);
}

/* Whether a purchase was refused although an unpaid order is due to expire. */
static bool is_any_due(const struct run *run)
{
    size_t i = 0;

    while (i < run->count &&
           (run->list[i]->outcome != OUTCOME_SOLD_OUT || run->list[i]->retry_ms != 1))
        i++;
    return i < run->count;
}

static void pause_sell(const struct guard_ctx *ctx)
{
    clock_pause_ms(ctx->pause_ms);
}

/* Serve purchases by the lane's guard: every one has its outcome afterwards. */
static void run_guard_locked(struct group_commit *self, struct lane *lane, const struct run *run)
{
    const struct guard *guard = lane->whole->guard;
    struct guard_ctx ctx = {.guard = guard,
                            .client = self->options.client,
                            .purchase = self->purchase,
                            .resolve = self->resolve,
                            .confirm = self->confirm,
                            .fenced = self->fenced,
                            .deployment = self->options.deployment,
                            .servers = self->options.servers,
                            .sale_id = lane->base.id,
                            .instance = self->options.instance,
                            .process = self->process,
                            .attempt = atomic_fetch_add(&self->attempts, 1) + 1,
                            .lease_ms = self->options.lease_ms,
                            .limit_ms = run->limit_ms,
                            .wait_ms = run->limit_ms,
                            .dir = self->options.dir,
                            .pause_ms = self->options.pause_ms};
    int64_t begin = clock_mono_ns();

    if (ctx.pause_ms > 0 && ctx.attempt % self->options.pause_every == 0) ctx.pause = pause_sell;
    for (size_t i = 0; i < run->count; i++)
        order_id_next(&self->ids, (unsigned)run->node, run->list[i]->order_id);
    struct guard_result result = guard->sell(&ctx, run->list, run->count);
    if (result.status != GUARD_DONE) note_failure(self, run, result.status);
    if (is_any(run, OUTCOME_NO_SALE)) note_gone(self, lane, run);
    if (result.status == GUARD_DONE && is_any(run, OUTCOME_CREATED))
        sold_out_invalidate(lane->sold_out);
    if (result.is_sold_out) sold_out_mark(lane->sold_out);
    if (is_any_due(run)) expirer_wake(self->options.expirer, lane->base.id);
    if (self->options.on_batch) {
        self->options.on_batch(guard->name, run->count, run->waited_ns, clock_mono_ns() - begin,
                               self->options.on_batch_arg);
    }
}

/* The same, while the guard cannot be switched. */
static void run_guard(struct group_commit *self, struct lane *lane, struct run run)
{
    int64_t asked_ns = clock_mono_ns();

    (void)pthread_rwlock_rdlock(&lane->whole->runs);
    run.node = order_node_number(self->node);
    /* Time has passed in waiting for a switch of the guard, or for the node number. */
    run.limit_ms -= (clock_mono_ns() - asked_ns) / NS_PER_MS;
    for (size_t i = 0; i < run.count; i++)
        run.list[i]->guard = lane->whole->guard->name;
    if (run.node < 0) {
        set_all(&run, OUTCOME_STORE_UNAVAILABLE);
    } else if (run.limit_ms > 0) {
        run_guard_locked(self, lane, &run);
    } else {
        set_all(&run, OUTCOME_LOCK_TIMEOUT);
    }
    (void)pthread_rwlock_unlock(&lane->whole->runs);
}

/* ---- the queue's bound ------------------------------------------------------------------------------ */

/* Called by the thread that has the turn. */
static void note_run(struct lane *lane, int64_t ran_ns)
{
    int64_t before_ns = atomic_load_explicit(&lane->ran_ns, memory_order_relaxed);

    if (before_ns > 0) ran_ns = before_ns + (ran_ns - before_ns) / RUNS_REMEMBERED;
    atomic_store_explicit(&lane->ran_ns, ran_ns, memory_order_relaxed);
}

/* How many purchases may wait, so that none waits too long if batches take as long as the recent ones. */
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

/* Close a batch when it has the turn: no purchase joins any more. Returns its purchases; the batch may be freed. */
static struct purchase *close_batch_locked(struct lane *lane, const struct batch *batch)
{
    lane->head = batch->next;
    if (!lane->head) lane->tail = NULL;
    return batch->first;
}

/* List the purchases that have no outcome yet and have time left; the limit is the time that the first has left. */
static size_t list_unserved(struct purchase **list, struct purchase *first, int64_t *out_limit_ms)
{
    int64_t now = clock_mono_ns();
    int64_t limit_ns = INT64_MAX;
    size_t count = 0;

    for (struct purchase *purchase = first; purchase; purchase = purchase->next) {
        int64_t left_ns = purchase->deadline_ns - now;

        if (purchase->outcome != OUTCOME_LOCK_TIMEOUT) continue;
        if (left_ns < (int64_t)RUN_MIN_MS * NS_PER_MS) continue;
        if (left_ns < limit_ns) limit_ns = left_ns;
        list[count++] = purchase;
    }
    *out_limit_ms = limit_ns / NS_PER_MS;
    return count;
}

/* Clear the outcome of refused purchases, so that they are tried again; whether there are any. */
static bool reopen_refused(struct purchase *first)
{
    bool is_any_refused = false;

    for (struct purchase *purchase = first; purchase; purchase = purchase->next) {
        if (purchase->outcome != OUTCOME_SOLD_OUT) continue;
        purchase->outcome = OUTCOME_LOCK_TIMEOUT;
        is_any_refused = true;
    }
    return is_any_refused;
}

static struct segments_proof proof_of(const struct lane *lane)
{
    struct segments *segments = lane->segments;

    return segments ? segments_proof(segments) : (struct segments_proof){0};
}

/* Fetch units once, and sell again; false: do not repeat. */
static bool fetch_and_sell(struct group_commit *self, struct lane *lane, struct fetch *fetch,
                           struct run run)
{
    int64_t begin_ns = clock_mono_ns();
    fetch_state state = segments_fetch(fetch, run.count);

    run.limit_ms -= (clock_mono_ns() - begin_ns) / NS_PER_MS;
    if (state == FETCH_AWAY) return false;
    run_guard(self, lane, run);
    return !is_any(&run, OUTCOME_SOLD_OUT) || state != FETCH_NONE || !segments_is_certain(fetch);
}

/* For a segment's lane: sell units fetched from other segments to the purchases that the segment has refused, until all
   are served or no segment has units. The caller read the proof before the segment refused them. */
static void serve_refused(struct group_commit *self, struct lane *lane, struct purchase **list,
                          struct purchase *first, struct segments_proof proof)
{
    struct segments *segments = lane->segments;
    bool is_any_left = segments && !segments_counts(segments, proof) && reopen_refused(first);
    fetch_state state = FETCH_BUSY;
    struct fetch fetch = {.turn = NULL};
    struct run run = {.list = list};

    while (is_any_left && state != FETCH_AWAY &&
           (run.count = list_unserved(list, first, &run.limit_ms)) > 0) {
        if (state == FETCH_BUSY) {
            state = segments_begin_fetch(&fetch, segments, lane->number, run.limit_ms);
            continue; /* some may have to go by now */
        }
        proof = segments_proof(segments); /* set by the thread that had the turn before */
        bool has_proof = segments_counts(segments, proof);
        if (has_proof) run_guard(self, lane, run);
        is_any_left =
            has_proof ? !segments_counts(segments, proof) : fetch_and_sell(self, lane, &fetch, run);
        is_any_left = is_any_left && reopen_refused(first);
    }
    segments_end_fetch(&fetch);
}

/* No purchase is kept past its deadline: when the oldest one times out, the others are tried again. */
static void serve(struct group_commit *self, struct lane *lane, struct purchase *first)
{
    int64_t joined_ns = first->deadline_ns - self->options.deadline_ms * NS_PER_MS;
    int64_t limit_ms = 0;
    int64_t begin_ns = clock_mono_ns();
    int64_t ran_ns = 0;
    size_t count = 0;
    struct segments_proof proof = proof_of(lane);

    for (struct purchase *purchase = first; purchase; purchase = purchase->next) {
        purchase->outcome = OUTCOME_LOCK_TIMEOUT; /* until it is served */
        purchase->guard = lane->whole->guard->name;
    }
    count = list_unserved(lane->list, first, &limit_ms);
    while (count > 0) {
        begin_ns = clock_mono_ns();
        run_guard(self, lane, (struct run){lane->list, count, limit_ms, begin_ns - joined_ns, 0});
        ran_ns = clock_mono_ns() - begin_ns;
        note_run(lane, ran_ns);
        if (ran_ns < limit_ms * NS_PER_MS) break; /* it was not for time */
        count = list_unserved(lane->list, first, &limit_ms);
    }
    if (!lane->segments) return;
    serve_refused(self, lane, lane->list, first, proof);
    note_run(lane, clock_mono_ns() - begin_ns);
}

static void finish(struct lane *lane, struct purchase *purchase)
{
    atomic_fetch_sub(&lane->depth, 1);
    purchase->done(purchase, purchase->done_arg);
}

/* Wait for the turn, while other batches run. */
static void answer(struct group_commit *self, struct lane *lane, struct purchase *first)
{
    struct purchase *next = NULL;

    book_confirm(self->options.book, lane->base.id, first);
    for (struct purchase *purchase = first; purchase; purchase = next) {
        next = purchase->next; /* once done, it may be gone */
        finish(lane, purchase);
    }
}

/* After this the batch may be freed: its thread returns when it has seen its turn. */
static void give_turn(struct batch *batch, enum turn turn)
{
    atomic_store(&batch->turn, (uint32_t)turn);
    futex_wake(&batch->turn); /* at the address of what was the batch: waking nobody is fine */
}

/*
 * Close the next batch in place of its own leader, which answers `served` in return; NULL when there is none, or
 * when this thread has led for long enough: then the caller still has to answer `served`.
 */
static struct purchase *next_batch(struct lane *lane, int64_t until_ns, struct purchase *served)
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
        answer(self, lane, batch->to_answer);
        return;
    }
    (void)pthread_mutex_lock(&lane->mutex);
    first = close_batch_locked(lane, batch);
    (void)pthread_mutex_unlock(&lane->mutex);
    until_ns = clock_mono_ns() + (int64_t)LEAD_MS * NS_PER_MS;
    while (first) {
        serve(self, lane, first);
        served = first;
        first = next_batch(lane, until_ns, served);
    }
    answer(self, lane, served);
}

static void sell_in_batch(struct group_commit *self, struct lane *lane, struct purchase *purchase)
{
    struct batch own = {0};
    struct batch *batch = NULL;

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
    struct purchase *one = purchase;
    struct segments_proof proof = proof_of(lane);
    int64_t limit_ms = (purchase->deadline_ns - clock_mono_ns()) / NS_PER_MS;

    run_guard(self, lane, (struct run){&one, 1, limit_ms, 0, 0});
    serve_refused(self, lane, &one, purchase, proof);
    answer(self, lane, purchase);
}

/* ---- public ------------------------------------------------------------------------------------------- */

void group_commit_submit(struct group_commit *self, const char *sale_id, struct purchase *purchase)
{
    struct lane *lane = NULL;

    purchase->next = NULL;
    purchase->deadline_ns = clock_mono_ns() + self->options.deadline_ms * NS_PER_MS;
    lane = lanes_open(&self->lanes, sale_id, &purchase->outcome);
    if (lane) {
        purchase->outcome = OUTCOME_STORE_UNAVAILABLE; /* no memory */
        lane = lanes_open_home(&self->lanes, lane, purchase->buyer);
    }
    if (!lane) {
        purchase->guard = "";
        purchase->done(purchase, purchase->done_arg);
    } else if (sold_out_answer(lane->sold_out, purchase)) {
        book_confirm(self->options.book, sale_id, purchase);
        purchase->guard = lane->whole->guard->name;
        purchase->done(purchase, purchase->done_arg);
    } else if (atomic_fetch_add(&lane->depth, 1) >= room_in(self, lane) ||
               book_holds_up(self->options.book, lane->base.id)) {
        purchase->outcome = OUTCOME_OVERLOADED;
        purchase->guard = lane->whole->guard->name;
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
    const struct lane *lane = known_find(&self->lanes.all, sale_id);

    return lane ? lane->guard : NULL;
}

bool group_commit_switch_guard(struct group_commit *self, const char *sale_id,
                               const struct guard *guard)
{
    struct lane *lane = lanes_add(&self->lanes, sale_id, guard, NULL);

    if (!lane) return false;
    (void)pthread_rwlock_wrlock(&lane->runs);
    (void)pthread_mutex_lock(&self->lanes.mutex); /* no thread sets its own guard meanwhile */
    if (guard->flaw) lane->sold_out = NULL;       /* for good: what it leaves is no order book */
    lane->guard = guard;
    lane->is_switched = true;
    (void)pthread_mutex_unlock(&self->lanes.mutex);
    (void)pthread_rwlock_unlock(&lane->runs);
    return true;
}

unsigned group_commit_depth(const struct group_commit *self)
{
    unsigned depth = 0;

    KNOWN_EACH(lane, lane, &self->lanes.all)
    {
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
    if (self->options.queue_ms > self->options.deadline_ms) /* a purchase out of time is refused */
        self->options.queue_ms = self->options.deadline_ms;
    bool has_lanes = lanes_init(&self->lanes, &self->options);
    self->node = order_node_new(options->client, options->deployment, &self->ids);
    self->purchase = options->book ? APP_SCRIPTS_JOIN("fork_check", "purchase")
                                   : lk_script_new(app_scripts_named("purchase"));
    self->resolve = lk_script_new(app_scripts_named("resolve"));
    self->confirm = lk_script_new(app_scripts_named("confirm"));
    self->fenced = options->book ? APP_SCRIPTS_JOIN("fork_check", "fence_check", "purchase")
                                 : APP_SCRIPTS_JOIN("fence_check", "purchase");
    (void)snprintf(self->process, sizeof self->process, "%.60s.%llx.%x", options->instance,
                   (unsigned long long)clock_unix_ms(), (unsigned)getpid());
    if (self->node && self->purchase && self->resolve && self->confirm && self->fenced && has_lanes)
        return self;
    group_commit_free(self);
    return NULL;
}

void group_commit_free(struct group_commit *self)
{
    if (!self) return;
    order_node_free(self->node);
    lanes_free(&self->lanes);
    lk_script_free(self->fenced);
    lk_script_free(self->confirm);
    lk_script_free(self->resolve);
    lk_script_free(self->purchase);
    free(self);
}
