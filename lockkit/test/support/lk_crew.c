/*
 * See lk_crew.h. The workers store, the test asserts.
 */
#include "lk_crew.h"

#include <pthread.h>
#include <stdatomic.h>

#include "lk_kinds.h"

enum { THREADS_MAX = 64, CLIENTS_MAX = 8, WAIT_MS = 3000, INSIDE_MS = 1, PAUSE_MS = 5 };

struct lks_crew {
    struct lks_crew_options options;
    lk_client *clients[CLIENTS_MAX];
    lk_lock *locks[THREADS_MAX]; /* owned */
    pthread_t threads[THREADS_MAX];
    unsigned count;
    atomic_bool is_over;
    atomic_int inside;
    atomic_long turns, overlaps, lost;
    atomic_long acquires[LK_STATUS_COUNT], releases[LK_STATUS_COUNT];
    _Atomic double last_turn_ms;
    _Atomic double gap_ms;
};

struct worker {
    struct lks_crew *crew;
    lk_lock *lock;
};

static void note_gap(struct lks_crew *crew)
{
    double now_ms = lks_now_ms();
    double gap_ms = now_ms - atomic_exchange(&crew->last_turn_ms, now_ms);
    double longest_ms = atomic_load(&crew->gap_ms);

    while (gap_ms > longest_ms &&
           !atomic_compare_exchange_weak(&crew->gap_ms, &longest_ms, gap_ms)) {}
}

static void take_turn(struct lks_crew *crew, lk_lock *lock)
{
    if (atomic_fetch_add(&crew->inside, 1) > 0) atomic_fetch_add(&crew->overlaps, 1);
    atomic_fetch_add(&crew->turns, 1);
    note_gap(crew);
    lks_nap(INSIDE_MS);
    bool is_held = lk_held(lock);
    atomic_fetch_sub(&crew->inside, 1);
    lk_status status = lk_lock_release(lock, NULL);
    atomic_fetch_add(&crew->releases[status], 1);
    if (!is_held || status == LK_NOT_OWNER) atomic_fetch_add(&crew->lost, 1);
}

static void *work(void *arg)
{
    struct worker *worker = arg;
    struct lks_crew *crew = worker->crew;
    struct lk_lock_options options = {.wait_ms = WAIT_MS, .lease_ms = crew->options.lease_ms};

    while (!atomic_load(&crew->is_over)) {
        lk_status status = lk_lock_acquire(worker->lock, &options, NULL);

        atomic_fetch_add(&crew->acquires[status], 1);
        if (status == LK_OK) {
            take_turn(crew, worker->lock);
        } else {
            lks_nap(PAUSE_MS);
        }
    }
    free(worker);
    return NULL;
}

static void start_worker(struct lks_crew *crew, lk_client *client)
{
    struct worker *worker = calloc(1, sizeof *worker);

    assert_non_null(worker);
    assert_true(crew->count < THREADS_MAX);
    worker->crew = crew;
    worker->lock = lks_lock_of_kind(crew->options.kind, client, crew->options.key);
    crew->locks[crew->count] = worker->lock;
    assert_int_equal(pthread_create(&crew->threads[crew->count], NULL, work, worker), 0);
    crew->count++;
}

struct lks_crew *lks_crew_start(const struct lks_crew_options *options)
{
    struct lks_crew *crew = calloc(1, sizeof *crew);
    struct lk_error err = {0};

    assert_non_null(crew);
    assert_true(options->clients <= CLIENTS_MAX);
    crew->options = *options;
    atomic_store(&crew->last_turn_ms, lks_now_ms());
    for (unsigned i = 0; i < options->clients; i++) {
        crew->clients[i] = lk_client_open(
            &(struct lk_client_options){
                .url = options->url, .command_ms = options->command_ms, .backoff_ms = 100},
            &err);
        if (!crew->clients[i]) fail_msg("%s", err.text);
        for (unsigned k = 0; k < options->threads; k++)
            start_worker(crew, crew->clients[i]);
    }
    return crew;
}

long lks_crew_turns(struct lks_crew *crew)
{
    return atomic_load(&crew->turns);
}

long lks_crew_overlaps(struct lks_crew *crew)
{
    return atomic_load(&crew->overlaps);
}

void lks_crew_go_on(struct lks_crew *crew, long turns, int64_t within_ms)
{
    long goal = lks_crew_turns(crew) + turns;

    LKS_EVENTUALLY(lks_crew_turns(crew) >= goal, (double)within_ms);
}

static void print_counts(const char *what, const long counts[LK_STATUS_COUNT])
{
    char line[512] = "";
    int len = 0;

    for (int i = 0; i < LK_STATUS_COUNT; i++) {
        if (counts[i] > 0)
            len += snprintf(line + len, sizeof line - (size_t)len, " %s %ld",
                            lk_status_name((lk_status)i), counts[i]);
    }
    print_message("#   %s:%s\n", what, line);
}

void lks_crew_stop(struct lks_crew *crew, struct lks_crew_report *out)
{
    atomic_store(&crew->is_over, true);
    for (unsigned i = 0; i < crew->count; i++)
        (void)pthread_join(crew->threads[i], NULL);
    for (unsigned i = 0; i < crew->count; i++)
        lk_lock_free(crew->locks[i]);
    for (unsigned i = 0; i < crew->options.clients; i++)
        lk_client_close(crew->clients[i]);
    *out = (struct lks_crew_report){.turns = atomic_load(&crew->turns),
                                    .overlaps = atomic_load(&crew->overlaps),
                                    .lost = atomic_load(&crew->lost),
                                    .gap_ms = atomic_load(&crew->gap_ms)};
    for (int i = 0; i < LK_STATUS_COUNT; i++) {
        out->acquires[i] = atomic_load(&crew->acquires[i]);
        out->releases[i] = atomic_load(&crew->releases[i]);
    }
    print_message(
        "# %ld turns, %ld overlaps, %ld holds lost, longest time without a turn %.0f ms\n",
        out->turns, out->overlaps, out->lost, out->gap_ms);
    print_counts("acquires", out->acquires);
    print_counts("releases", out->releases);
    free(crew);
}
