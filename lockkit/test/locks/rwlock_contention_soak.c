/*
 * Readers and writers of several processes on one lock: readers meet, writers never meet anybody,
 * and who is killed is waited for no longer than its lease. Processes are forked before any client
 * exists, so each test has its own server; what they count lies in shared memory, and this process
 * alone asserts. Numbers in brackets are cases of the Redisson checklist.
 */
#include <sched.h>
#include <signal.h>
#include <unistd.h>

#include "test/support/lk_crowd.h"
#include "test/support/lk_fair.h"
#include "test/support/lk_rw.h"

enum { PROCESSES = 3, THREADS = 8, RUN_MS = 1500, LEAST_TURNS = 100 };
enum { WINDOW_MS = 600, DEAD = 6 };
enum { WAIT_MS = 20000, LEASE_MS = 500, STREAM_MS = 1000, SOON_MS = 2500 };

struct board {
    atomic_int readers, writers; /* who believes to be inside */
    atomic_int overlaps;         /* a writer met somebody */
    atomic_int torn;             /* a reader saw half of a change */
    atomic_int most_readers;     /* at once */
    atomic_long left, right;     /* equal whenever no writer is inside */
    atomic_long reads, writes, downgrades, upgrades;
    atomic_long deadlocks; /* that upgrades were told of */
    atomic_bool is_held;   /* by the child of the kill tests */
    struct lks_blame blame;
};

static void every_key_has_an_end(struct lks_server *server, const char *key)
{
    char pattern[192];

    (void)snprintf(pattern, sizeof pattern, "*%s*", key);
    lk_reply *keys = LKS_ASK(server, "KEYS", pattern);
    for (size_t i = 0; i < lk_reply_count(keys); i++) {
        const char *name = lk_reply_bytes(lk_reply_at(keys, i)).data;

        if (LKS_INTEGER(server, "PTTL", name) == -1) fail_msg("%s would stay for ever", name);
    }
    lk_reply_free(keys);
}

/* ---- contention ------------------------------------------------------------------------------ */

struct member {
    struct board *board;
    lk_client *client;
    const char *key;
    lk_rwlock_order order;
    uint32_t seed;
    double until_ms;
};

static bool take(struct member *member, lk_lock *lock, const char *what)
{
    struct lk_error err = {0};
    struct lk_lock_options options = {.wait_ms = WAIT_MS,
                                      .is_renewed = lks_random(&member->seed) % 2};

    return lks_is_ok(&member->board->blame, what, lk_lock_acquire(lock, &options, &err), &err);
}

static void give_back(struct member *member, lk_lock *lock, const char *what)
{
    struct lk_error err = {0};

    (void)lks_is_ok(&member->board->blame, what, lk_lock_release(lock, &err), &err);
}

static void linger(struct member *member)
{
    for (uint32_t i = lks_random(&member->seed) % 4; i > 0; i--)
        (void)sched_yield();
    if (lks_random(&member->seed) % 8 == 0) lks_nap(1);
}

static void look(struct member *member)
{
    struct board *board = member->board;
    int readers = atomic_fetch_add(&board->readers, 1) + 1;
    int most = atomic_load(&board->most_readers);

    while (readers > most && !atomic_compare_exchange_weak(&board->most_readers, &most, readers)) {}
    if (atomic_load(&board->writers) != 0) atomic_fetch_add(&board->overlaps, 1);
    long left = atomic_load(&board->left);
    linger(member);
    if (atomic_load(&board->right) != left) atomic_fetch_add(&board->torn, 1);
    atomic_fetch_sub(&board->readers, 1);
    atomic_fetch_add(&board->reads, 1);
}

static void change(struct member *member)
{
    struct board *board = member->board;

    if (atomic_fetch_add(&board->writers, 1) + atomic_load(&board->readers) != 0) {
        atomic_fetch_add(&board->overlaps, 1);
    }
    long left = atomic_load(&board->left); /* taken apart on purpose */
    linger(member);
    atomic_store(&board->left, left + 1);
    linger(member);
    atomic_store(&board->right, left + 1);
    atomic_fetch_sub(&board->writers, 1);
    atomic_fetch_add(&board->writes, 1);
}

static void write_turn(struct member *member, lk_rwlock *rw)
{
    lk_lock *write = lk_rwlock_write(rw);
    bool is_downgrade = lks_random(&member->seed) % 4 == 0;

    if (!take(member, write, "write")) return;
    change(member);
    is_downgrade = is_downgrade && take(member, lk_rwlock_read(rw), "nested read");
    give_back(member, write, "write release");
    if (!is_downgrade) return;
    look(member);
    give_back(member, lk_rwlock_read(rw), "nested read release");
    atomic_fetch_add(&member->board->downgrades, 1);
}

/* Nobody has written in between. */
static void write_besides(struct member *member, lk_rwlock *rw)
{
    struct board *board = member->board;
    struct lk_lock_options options = {.wait_ms = WAIT_MS};
    struct lk_error err = {0};
    long left = atomic_load(&board->left);
    lk_status status = lk_rwlock_upgrade(rw, &options, &err);

    if (status == LK_DEADLOCK) {
        atomic_fetch_add(&board->deadlocks, 1);
    } else if (lks_is_ok(&board->blame, "upgrade", status, &err)) {
        if (atomic_load(&board->left) != left) atomic_fetch_add(&board->torn, 1);
        change(member);
        give_back(member, lk_rwlock_write(rw), "upgrade release");
        atomic_fetch_add(&board->upgrades, 1);
    }
}

static void read_turn(struct member *member, lk_rwlock *rw)
{
    if (!take(member, lk_rwlock_read(rw), "read")) return;
    look(member);
    if (lks_random(&member->seed) % 4 == 0) write_besides(member, rw);
    give_back(member, lk_rwlock_read(rw), "read release");
}

static void *member_main(void *arg)
{
    struct member *member = arg;
    struct lk_rwlock_options options = {.order = member->order};
    lk_rwlock *rw = lk_rwlock_new_with(member->client, member->key, &options, NULL);

    while (rw && lks_now_ms() < member->until_ms) {
        if (lks_random(&member->seed) % 2) {
            write_turn(member, rw);
        } else {
            read_turn(member, rw);
        }
    }
    lk_rwlock_free(rw);
    return NULL;
}

/* A process: its own client, its own threads. Does not assert. */
struct crew {
    struct board *board;
    const char *url, *key;
    lk_rwlock_order order;
    uint32_t seed;
};

static int crew_main(unsigned process, void *arg)
{
    const struct crew *crew = arg;
    struct member members[THREADS];
    lk_client *client = lk_client_open(&(struct lk_client_options){.url = crew->url}, NULL);

    if (!client) return 1;
    for (unsigned i = 0; i < THREADS; i++) {
        members[i] = (struct member){.board = crew->board,
                                     .client = client,
                                     .key = crew->key,
                                     .seed = lks_seed_of(crew->seed, process, i),
                                     .until_ms = lks_now_ms() + RUN_MS};
    }
    if (!lks_threads(THREADS, member_main, members, sizeof members[0])) return 1;
    lk_client_close(client);
    return 0;
}

static void compete(lk_rwlock_order order)
{
    struct lks_server *server = lks_server_start(NULL);
    const char *key = lks_key(server, "shared");
    struct board *board = lks_shared(sizeof *board);
    struct crew crew = {board, server->url, key, order, lks_seed()};

    lks_processes(PROCESSES, crew_main, &crew);
    print_message(
        "# order %d: %ld reads (at most %d at once), %ld writes, %ld downgrades, %ld upgrades "
        "(%ld told of a deadlock) in %d ms\n",
        (int)order, atomic_load(&board->reads), atomic_load(&board->most_readers),
        atomic_load(&board->writes), atomic_load(&board->downgrades), atomic_load(&board->upgrades),
        atomic_load(&board->deadlocks), RUN_MS);

    assert_string_equal(board->blame.first, "");
    assert_int_equal(atomic_load(&board->overlaps), 0);
    assert_int_equal(atomic_load(&board->torn), 0);
    assert_int_equal(atomic_load(&board->left), atomic_load(&board->writes)); /* none was lost */
    assert_true(atomic_load(&board->most_readers) >= 2);
    assert_true(atomic_load(&board->reads) >= LEAST_TURNS); /* else nothing was shown */
    assert_true(atomic_load(&board->writes) >= LEAST_TURNS);
    assert_true(atomic_load(&board->downgrades) >= LEAST_TURNS / 10);
    assert_true(atomic_load(&board->upgrades) >= LEAST_TURNS / 10);
    assert_int_equal(lkr_keys(server, key), 0);
    lks_server_stop(server);
}

TEST(writers_are_alone_and_readers_together)
{
    for (int order = LK_RWLOCK_UNORDERED; order <= LK_RWLOCK_FAIR; order++)
        compete((lk_rwlock_order)order);
}

/* ---- death ----------------------------------------------------------------------------------- */

typedef lk_lock *(*side_of)(lk_rwlock *rw);

/* A process that holds one side, renewed, until it is killed. */
static void hold_for_ever(struct board *board, const char *url, const char *key, side_of side)
{
    struct lk_lock_options options = {.lease_ms = LEASE_MS, .is_renewed = true};
    lk_client *client = lk_client_open(&(struct lk_client_options){.url = url}, NULL);
    lk_rwlock *rw = client ? lk_rwlock_new(client, key, NULL) : NULL;

    if (rw && lk_lock_acquire(side(rw), &options, NULL) == LK_OK) {
        atomic_store(&board->is_held, true);
    }
    for (;;)
        (void)pause();
}

static pid_t start_holder(struct board *board, const char *url, const char *key, side_of side)
{
    pid_t pid = lks_fork();

    if (pid == 0) hold_for_ever(board, url, key, side);
    LKS_EVENTUALLY(atomic_load(&board->is_held), 10000);
    return pid;
}

/* Killed on one side, wanted on the other. */
static void kill_one_and_take(side_of killed, side_of wanted)
{
    struct lks_server *server = lks_server_start(NULL);
    const char *key = lks_key(server, "killed");
    struct board *board = lks_shared(sizeof *board);
    pid_t pid = start_holder(board, server->url, key, killed);
    lk_client *client = lks_client(server);
    lk_rwlock *rw = lkr_new(client, key);
    struct lk_lock_options patient = {.wait_ms = 60000};

    lks_nap((int64_t)2 * LEASE_MS); /* it is renewed while it lives */
    assert_int_equal(lkr_take(wanted(rw), 1000), LK_BUSY);
    every_key_has_an_end(server, key);
    double killed_at_ms = lks_now_ms();
    lks_kill(pid);
    assert_int_equal(lk_lock_acquire(wanted(rw), &patient, NULL), LK_OK);
    double took_ms = lks_now_ms() - killed_at_ms;
    print_message("# taken %.0f ms after the death of a holder with a lease of %d ms\n", took_ms,
                  LEASE_MS);

    assert_true(took_ms < LEASE_MS + SOON_MS);
    every_key_has_an_end(server, key);
    assert_int_equal(lk_lock_release(wanted(rw), NULL), LK_OK);
    LKS_EVENTUALLY(lkr_keys(server, key) == 0, SOON_MS);
    lk_rwlock_free(rw);
    lk_client_close(client);
    lks_server_stop(server);
}

TEST(a_killed_writer_is_waited_for_no_longer_than_its_lease)
{
    kill_one_and_take(lk_rwlock_write, lk_rwlock_read);
}

TEST(a_killed_reader_is_waited_for_no_longer_than_its_lease)
{
    kill_one_and_take(lk_rwlock_read, lk_rwlock_write);
}

/* [38] */
TEST(a_killed_reader_keeps_nobody_out_beside_a_living_one)
{
    struct lks_server *server = lks_server_start(NULL);
    const char *key = lks_key(server, "killed-beside");
    struct board *board = lks_shared(sizeof *board);
    pid_t pid = start_holder(board, server->url, key, lk_rwlock_read);
    lk_client *client = lks_client(server);
    lk_rwlock *rw = lkr_new(client, key);
    lk_rwlock *other = lkr_new(client, key);

    assert_int_equal(lkr_take(lk_rwlock_read(rw), 30000), LK_OK);
    assert_int_equal(lkr_keys(server, key), 3); /* the hash and two hold keys */
    lks_kill(pid);
    LKS_EVENTUALLY(lkr_keys(server, key) == 2, LEASE_MS + SOON_MS);
    assert_int_equal(LKS_INTEGER(server, "HLEN", key), 3); /* its field is there still */
    assert_int_equal(lkr_take(lk_rwlock_write(other), 1000), LK_BUSY);
    assert_int_equal(lk_lock_release(lk_rwlock_read(rw), NULL), LK_OK);

    assert_int_equal(lkr_keys(server, key), 0);
    lk_rwlock_free(rw);
    lk_rwlock_free(other);
    lk_client_close(client);
    lks_server_stop(server);
}

/* Waits in a queue until it is killed. */
static void wait_for_ever(const struct board *board, const char *url, const char *key,
                          lk_rwlock_order order)
{
    struct lk_rwlock_options options = {.order = order, .waiter_ms = WINDOW_MS};
    lk_client *client = lk_client_open(&(struct lk_client_options){.url = url}, NULL);
    lk_rwlock *rw = client ? lk_rwlock_new_with(client, key, &options, NULL) : NULL;

    while (!atomic_load(&board->is_held))
        lks_nap(1);
    if (rw && lk_lock_wait(lk_rwlock_write(rw), LK_FOREVER, NULL) == LK_OK) _exit(1);
    for (;;)
        (void)pause();
}

static void read_behind_the_dead(lk_rwlock_order order, long long count)
{
    struct lks_server *server = lks_server_start(NULL);
    struct board *board = lks_shared(sizeof *board);
    struct lk_rwlock_options options = {.order = order};
    struct lkf_keys keys;
    pid_t pids[DEAD];

    lkf_keys_init(&keys, server, "dead-waiters");
    for (long long i = 0; i < count; i++) {
        pids[i] = lks_fork();
        if (pids[i] == 0) wait_for_ever(board, server->url, keys.lock, order);
    }
    lk_client *client = lks_client(server);
    lk_rwlock *holder = lkr_new(client, keys.lock);
    lk_rwlock *rw = lk_rwlock_new_with(client, keys.lock, &options, NULL);
    assert_non_null(rw);
    assert_int_equal(lkr_take(lk_rwlock_read(holder), 30000), LK_OK);
    atomic_store(&board->is_held, true);
    LKS_EVENTUALLY(lkf_length(&keys) == count, 5000);
    lks_nap((int64_t)2 * WINDOW_MS); /* they live, so they keep their places */
    assert_int_equal(lkf_length(&keys), count);
    assert_int_equal(lkr_take(lk_rwlock_read(rw), 30000), LK_BUSY);
    double killed_at_ms = lks_now_ms();
    for (long long i = 0; i < count; i++)
        lks_kill(pids[i]);
    assert_int_equal(lks_acquire(lk_rwlock_read(rw), 30000, 0), LK_OK);
    double took_ms = lks_now_ms() - killed_at_ms;
    print_message("# a reader waited %.0f ms for %lld killed writers with windows of %d ms\n",
                  took_ms, count, WINDOW_MS);

    assert_true(took_ms < WINDOW_MS + 300);
    assert_int_equal(lk_lock_release(lk_rwlock_read(rw), NULL), LK_OK);
    assert_int_equal(lk_lock_release(lk_rwlock_read(holder), NULL), LK_OK);
    assert_int_equal(lkr_keys(server, keys.lock), 0);
    lk_rwlock_free(rw);
    lk_rwlock_free(holder);
    lk_client_close(client);
    lks_server_stop(server);
}

TEST(killed_writers_that_waited_hold_up_readers_for_one_window_however_many)
{
    read_behind_the_dead(LK_RWLOCK_WRITERS_FIRST, 1);
    read_behind_the_dead(LK_RWLOCK_WRITERS_FIRST, DEAD);
    read_behind_the_dead(LK_RWLOCK_FAIR, DEAD);
}

/* ---- starvation ------------------------------------------------------------------------------ */

/* [43] Readers that overlap keep a writer out as long as they come: recorded, as nobody promises
   otherwise. That it gets the lock once they stop is promised. */
TEST(a_stream_of_readers_starves_a_writer_until_it_ends)
{
    struct lks_server *server = lks_server_start(NULL);
    struct lkr_pair *p = lkr_pair_new(server);
    lk_rwlock *relay[2] = {lkr_new(p->clients[0], p->key), lkr_new(p->clients[0], p->key)};
    struct lks_wait writer;
    unsigned reads = 1;

    assert_int_equal(lkr_take(lk_rwlock_read(relay[0]), 30000), LK_OK);
    lkr_wait_start(&writer, server, p->other_write, p->key);
    double begin = lks_now_ms();
    for (; lks_now_ms() - begin < STREAM_MS; reads++) { /* the next comes before the last leaves */
        assert_int_equal(lkr_take(lk_rwlock_read(relay[reads % 2]), 30000), LK_OK);
        assert_int_equal(lk_lock_release(lk_rwlock_read(relay[(reads + 1) % 2]), NULL), LK_OK);
    }
    bool has_starved = !lk_held(p->other_write);
    double ended_at_ms = lks_now_ms();
    assert_int_equal(lk_lock_release(lk_rwlock_read(relay[(reads + 1) % 2]), NULL), LK_OK);
    assert_int_equal(lks_wait_end(&writer), LK_OK);
    print_message(
        "# %u reads, each overlapping the next, in %d ms: the writer %s; %.1f ms after the "
        "last it had the lock\n",
        reads, STREAM_MS, has_starved ? "starved" : "got in between",
        writer.ended_at_ms - ended_at_ms);

    assert_true(writer.ended_at_ms - ended_at_ms < SOON_MS);
    assert_int_equal(lk_lock_release(p->other_write, NULL), LK_OK);
    lk_rwlock_free(relay[0]);
    lk_rwlock_free(relay[1]);
    lkr_pair_free(p);
    lks_server_stop(server);
}
