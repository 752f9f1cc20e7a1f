/*
 * See torture_worker.h. Besides the threads that take turns there is one that cancels their waits by
 * chance, and notices when this process gets no turn for so long that leases may end by it.
 */
#include "torture_worker.h"

#include <unistd.h>

#include "test/support/lk_support.h"
#include "torture_turn.h"

enum {
    NOISE_MS = 40,
    PULSE_MS = 10,
    CANCEL_PERCENT = 15,
    COMMAND_MS = 400,
    BACKOFF_MS = 100,
    SHORT_EVERY = 3 /* processes */
};

struct worker {
    const struct torture_plan *plan;
    struct torture_board *board;
    struct history_writer writer;
    lk_client *client; /* owned */
    uint32_t seed;
    struct torture_member *members; /* owned */
    atomic_bool is_over;            /* no member is left */
};

/* ---- the pulse ------------------------------------------------------------------------------------- */

void torture_note_noise(const struct history_writer *writer, long pid, int64_t from_ns,
                        int64_t to_ns)
{
    if (to_ns - from_ns < NOISE_MS * 1000000LL) return;
    (void)dprintf(writer->fd, "%lld %ld mark paused\n%lld %ld mark resumed\n", (long long)from_ns,
                  pid, (long long)to_ns, pid);
}

/* In the end all waits are ended; before, one now and then. */
static void cancel_some(struct worker *worker)
{
    unsigned threads = worker->plan->threads;
    bool is_end = atomic_load(&worker->board->phase) != PHASE_RUN;
    bool is_time = torture_chance(&worker->seed, CANCEL_PERCENT);
    unsigned chosen = torture_random(&worker->seed) % threads;

    for (unsigned i = 0; i < threads; i++) {
        if (is_end || (is_time && i == chosen)) torture_member_cancel(&worker->members[i]);
    }
}

static void *pulse_main(void *arg)
{
    struct worker *worker = arg;

    while (!atomic_load(&worker->is_over)) {
        int64_t begin_ns = torture_now_ns();

        lks_nap(PULSE_MS);
        torture_note_noise(&worker->writer, getpid(), begin_ns, torture_now_ns());
        cancel_some(worker);
    }
    return NULL;
}

/* ---- life -------------------------------------------------------------------------------------------- */

static lk_client *open_client(struct worker *worker, unsigned process, bool is_told)
{
    const struct torture_plan *plan = worker->plan;
    unsigned threads = plan->threads;
    bool is_short = threads > 2 && process % SHORT_EVERY == 0; /* of connections */
    char link[128];

    if (plan->links) (void)snprintf(link, sizeof link, "unix://%s/%u", plan->links, process);
    return lk_client_open(&(struct lk_client_options){.url = plan->links ? link : plan->url,
                                                      .pool_size = is_short ? threads / 2 : threads,
                                                      .connect_ms = COMMAND_MS,
                                                      .command_ms = COMMAND_MS,
                                                      .backoff_ms = BACKOFF_MS,
                                                      .on_event = is_told ? history_on_event : NULL,
                                                      .on_event_arg = &worker->writer},
                          NULL);
}

/* What a predecessor of ours that was killed had taken for certain, and no lease gives back. */
static void restore(struct worker *worker, unsigned process)
{
    lk_client *client = open_client(worker, process, false);

    for (unsigned i = 0; client && i < worker->plan->threads; i++) {
        struct torture_place place = {worker->board, process, i, 0};
        const struct torture_entry *entry = &worker->board->entries[process][i];
        unsigned weight = atomic_load(&entry->weight);
        struct torture_seat seat = {.kind = worker->plan->kind,
                                    .plan = worker->plan,
                                    .place = &place,
                                    .client = client,
                                    .key = atomic_load(&entry->keys[0])};

        if (atomic_load(&entry->turn) % 2 == 0) continue;
        torture_leave(&place);
        if (torture_seat_make(&seat, NULL)) seat.kind->restore(&seat, weight);
        torture_seat_done(&seat);
    }
    lk_client_close(client);
}

/* However long the link is cut. */
static bool connect_client(struct worker *worker, unsigned process)
{
    while (!worker->client && atomic_load(&worker->board->phase) == PHASE_RUN) {
        worker->client = open_client(worker, process, true);
        if (!worker->client) lks_nap(PULSE_MS);
    }
    return worker->client != NULL;
}

static bool start_member(struct worker *worker, unsigned process, unsigned thread, uint32_t seed)
{
    struct torture_member *member = &worker->members[thread];

    *member = (struct torture_member){.plan = worker->plan,
                                      .writer = &worker->writer,
                                      .client = worker->client,
                                      .place = {worker->board, process, thread, 0},
                                      .seed = torture_seed(seed, thread + 1, process + 1)};
    (void)pthread_mutex_init(&member->mutex, NULL);
    return pthread_create(&member->thread, NULL, torture_member_main, member) == 0;
}

/* Threads are joined, or the process ends with them. */
static bool work(struct worker *worker, unsigned process)
{
    unsigned threads = worker->plan->threads;
    pthread_t pulse;
    uint32_t seed = worker->seed;

    for (unsigned i = 0; i < threads; i++) {
        if (!start_member(worker, process, i, seed)) return false;
    }
    if (pthread_create(&pulse, NULL, pulse_main, worker) != 0) return false;
    for (unsigned i = 0; i < threads; i++)
        (void)pthread_join(worker->members[i].thread, NULL);
    atomic_store(&worker->is_over, true);
    (void)pthread_join(pulse, NULL);
    return true;
}

int torture_worker_main(const struct torture_plan *plan, struct torture_board *board,
                        unsigned process, unsigned life)
{
    struct worker worker = {
        .plan = plan, .board = board, .seed = torture_seed(plan->seed, process + 1, life + 1)};
    int status = EXIT_FAILURE;

    worker.members = calloc(plan->threads, sizeof *worker.members);
    if (!worker.members || !history_open(&worker.writer, plan->history_path)) return status;
    if (life > 0 && plan->kind->restore) restore(&worker, process);
    if (!connect_client(&worker, process) || work(&worker, process)) status = EXIT_SUCCESS;
    lk_client_close(worker.client);
    history_close(&worker.writer);
    free(worker.members);
    return status;
}
