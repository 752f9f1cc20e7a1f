/*
 * A client that finds its primary by Sentinel, and goes along when that changes: killed, standing
 * still and coming back as a stale one, or switched on purpose.
 */
#include <pthread.h>
#include <stdatomic.h>

#include "test/support/lk_kinds.h"
#include "test/support/lk_topology.h"

enum { SWITCH_MS = 20000, SOON_MS = 8000, LEASE_MS = 60000, POLL_MS = 20000, STALE_TRIES = 200 };

static atomic_int changes; /* LK_EVENT_TOPOLOGY so far */

static void count_changes(const struct lk_event *event, void *arg)
{
    if (event->type == LK_EVENT_TOPOLOGY) atomic_fetch_add(&changes, 1);
}

/* Nothing here comes by the fallback timer. */
static lk_client *open_client(const struct lkt *topology)
{
    return lkt_client_with(topology, (struct lk_client_options){.poll_ms = POLL_MS,
                                                                .backoff_ms = 100,
                                                                .command_ms = 500,
                                                                .on_event = count_changes});
}

static lk_status use(lk_client *client, const char *key)
{
    lk_lock *lock = lks_mutex(client, key);
    lk_status status = lk_lock_acquire(lock, &(struct lk_lock_options){.lease_ms = LEASE_MS}, NULL);

    if (status == LK_OK) status = lk_lock_release(lock, NULL);
    lk_lock_free(lock);
    return status;
}

static void wait_for_switch(struct lkt *topology, const char *from)
{
    LKS_EVENTUALLY(strcmp(lkt_tell(topology, "primary"), from) != 0, SWITCH_MS);
}

/* ---- finding it ---------------------------------------------------------------------------------- */

static void with_name(const struct lkt *topology, const char *name, char out[600])
{
    const char *slash = strrchr(topology->url, '/');

    (void)snprintf(out, 600, "%.*s/%s", (int)(slash - topology->url), topology->url, name);
}

static void try_wrong_names(const struct lkt *topology)
{
    char url[600];
    struct lk_error err = {0};

    with_name(topology, "nobody-is-called-so", url);
    assert_null(lk_client_open(&(struct lk_client_options){.url = url}, &err));
    assert_int_equal(err.code, LK_SERVER);
    assert_non_null(strstr(err.text, "nobody-is-called-so"));
    with_name(topology, "main/1", url); /* a database of it */
    lk_client *client = lk_client_open(&(struct lk_client_options){.url = url}, &err);
    assert_non_null(client);
    assert_int_equal(use(client, "in-database-1"), LK_OK);
    lk_client_close(client);
}

TEST(a_primary_is_found_by_whichever_sentinel_answers)
{
    static const char *const sentinels[] = {"s1", "s2"};
    struct lkt *topology = lkt_start(NULL);
    struct lk_error err = {0};

    try_wrong_names(topology);
    for (size_t i = 0; i <= 2; i++) {
        double begin = lks_now_ms();
        lk_client *client = open_client(topology);
        double took_ms = lks_now_ms() - begin;

        print_message("# opened with %zu Sentinels dead in %.1f ms\n", i, took_ms);
        assert_true(took_ms < SOON_MS);
        assert_int_equal(use(client, "found"), LK_OK);
        lk_client_close(client);
        if (i < 2) (void)lkt_tell(topology, "kill %s", sentinels[i]);
    }
    (void)lkt_tell(topology, "kill s3");
    double begin = lks_now_ms();
    assert_null(lk_client_open(&(struct lk_client_options){.url = topology->url}, &err));
    assert_true(lks_now_ms() - begin < SOON_MS);
    assert_int_equal(err.code, LK_UNREACHABLE);
    lkt_stop(topology);
}

/* ---- the primary is killed ------------------------------------------------------------------------ */

/* It has a copy of all that was written so far, by anybody. */
static void wait_for_replicas(struct lks_server *primary)
{
    LKS_DO(primary, "SET", "marker", "x");
    assert_int_equal(LKS_INTEGER(primary, "WAIT", "2", "10000"), 2);
}

/* One holds it, the other waits for it; the replicas know. */
static void start_wait(struct lks_server *primary, lk_lock *held, struct lks_wait *wait)
{
    struct lk_lock_options options = {.lease_ms = LEASE_MS, .is_renewed = true};

    assert_int_equal(lk_lock_acquire(held, &options, NULL), LK_OK);
    wait->options = (struct lk_lock_options){.wait_ms = LEASE_MS, .lease_ms = LEASE_MS};
    lks_wait_begin(wait);
    LKS_EVENTUALLY(lks_subscribers(primary, "lockkit_wake:{handed-over}") == 1, SOON_MS);
    wait_for_replicas(primary);
}

/* Who waits since before the switch is woken by a release behind it. */
static void hand_over(struct lkt *topology, lk_lock *held, struct lks_wait *wait)
{
    const char *primary = lkt_tell(topology, "primary");
    struct lks_server *server = lkt_server(topology, primary);

    LKS_EVENTUALLY(lks_subscribers(server, "lockkit_wake:{handed-over}") == 1 ||
                       atomic_load(&wait->has_ended),
                   SOON_MS);
    if (atomic_load(&wait->has_ended))
        fail_msg("the switch ended the wait: %s", lk_status_name(wait->status));
    double begin = lks_now_ms();
    assert_int_equal(lk_lock_release(held, NULL), LK_OK);
    assert_int_equal(lks_wait_end(wait), LK_OK);
    print_message("# woken behind the switch in %.1f ms\n", wait->ended_at_ms - begin);
    assert_true(wait->ended_at_ms - begin < SOON_MS);
    assert_int_equal(lk_lock_release(wait->lock, NULL), LK_OK);
}

/* ---- a stale primary ------------------------------------------------------------------------------ */

/* Connections that are neither a Sentinel's nor this question's. */
static int clients_of(struct lks_server *server)
{
    lk_reply *reply = LKS_ASK(server, "CLIENT", "LIST");
    const char *text = lk_reply_bytes(reply).data;
    int count = 0;

    for (const char *line = text; line && *line; line = strchr(line, '\n') + 1) {
        const char *end = strchr(line, '\n');
        const char *sentinel = strstr(line, "name=sentinel");
        const char *own = strstr(line, "cmd=client"); /* |list, since Redis 7 */

        if (!end) break;
        count += !(sentinel && sentinel < end) && !(own && own < end);
    }
    lk_reply_free(reply);
    return count;
}

static bool says_to_be_primary(struct lks_server *server)
{
    lk_reply *reply = LKS_ASK(server, "ROLE");
    const char *role = lk_reply_bytes(lk_reply_at(reply, 0)).data;
    bool is_one = role && strcmp(role, "master") == 0;

    lk_reply_free(reply);
    return is_one;
}

/* It stands while Sentinel makes another one primary, then goes on, and for some seconds nobody has
   told it yet. */
static void make_stale(struct lkt *topology, const char *name)
{
    (void)lkt_tell(topology, "pause %s", name);
    wait_for_switch(topology, name);
    (void)lkt_tell(topology, "resume %s", name);
}

static int acquire_often(lk_client *client, struct lks_server *stale)
{
    lk_lock *lock = lks_mutex(client, "on-the-new-one");
    struct lk_lock_options options = {.lease_ms = LEASE_MS};
    int acquired = 0;

    for (int i = 0; i < STALE_TRIES; i++) {
        if (lk_lock_acquire(lock, &options, NULL) != LK_OK) continue;
        acquired++;
        assert_int_equal(LKS_INTEGER(stale, "EXISTS", "on-the-new-one"), 0);
        assert_int_equal(lk_lock_release(lock, NULL), LK_OK);
    }
    lk_lock_free(lock);
    return acquired;
}

/* Nor does anybody go on listening to it. */
TEST(a_stale_primary_gives_no_lock)
{
    struct lkt *topology = lkt_start(NULL);
    struct lks_server *stale = lkt_server(topology, "n1");
    lk_client *client = lkt_client_with(
        topology, (struct lk_client_options){.backoff_ms = 100, .command_ms = 5000});
    lk_client *other = open_client(topology);
    lk_lock *held = lks_mutex(client, "handed-over");
    struct lks_wait wait = {.lock = lks_mutex(other, "handed-over")};

    start_wait(stale, held, &wait);
    assert_true(clients_of(stale) >= 2); /* so that none, later, means something */
    make_stale(topology, "n1");
    LKS_EVENTUALLY(use(client, "noticed") == LK_OK, SOON_MS);
    LKS_EVENTUALLY(clients_of(stale) == 0, SOON_MS);
    int acquired = acquire_often(client, stale);
    hand_over(topology, held, &wait);
    bool is_stale = says_to_be_primary(stale);
    print_message("# %d of %d acquires while the old primary still answered as one\n", acquired,
                  STALE_TRIES);

    assert_true(is_stale); /* else nothing was tested */
    assert_int_equal(acquired, STALE_TRIES);
    assert_int_equal(clients_of(stale), 0);
    lk_lock_free(held);
    lk_lock_free(wait.lock);
    lk_client_close(client);
    lk_client_close(other);
    lkt_stop(topology);
}

struct call {
    lk_client *client;
    pthread_t thread;
    atomic_bool has_ended;
    lk_status status;
};

static void *call_main(void *arg)
{
    struct call *call = arg;
    const struct lk_bytes words[] = {LK_BYTES("INCR"), LK_BYTES("under-way")};
    lk_reply *reply = NULL;

    call->status =
        lk_client_call(call->client, &(struct lk_command){words, 2}, 1, LEASE_MS, &reply, NULL);
    lk_reply_free(reply);
    atomic_store(&call->has_ended, true);
    return NULL;
}

/* However long it may wait: from there no answer counts any more. */
TEST(what_is_under_way_to_the_old_primary_ends_as_unknown)
{
    struct lkt *topology = lkt_start(NULL);
    struct call call = {.client = open_client(topology)};

    assert_int_equal(use(call.client, "before"), LK_OK);
    (void)lkt_tell(topology, "pause n1");
    assert_int_equal(pthread_create(&call.thread, NULL, call_main, &call), 0);
    wait_for_switch(topology, "n1");
    LKS_EVENTUALLY(atomic_load(&call.has_ended), SOON_MS);
    assert_int_equal(pthread_join(call.thread, NULL), 0);
    assert_int_equal(call.status, LK_UNKNOWN);
    lk_client_close(call.client);
    lkt_stop(topology);
}

/* ---- an answer that the switch swallowed -------------------------------------------------------------- */

/* All clients: one that has not heard of it would still ask the old primary, once it goes on. */
static void wait_until_noticed(struct lkt *topology, int clients)
{
    wait_for_switch(topology, "n1");
    LKS_EVENTUALLY(atomic_load(&changes) >= clients, SOON_MS);
}

TEST(a_release_without_answer_is_told_to_the_new_primary)
{
    struct lkt *topology = lkt_start(NULL);
    lk_client *client = open_client(topology);
    lk_client *other = open_client(topology);
    lk_lock *lock = lks_mutex(client, "released");
    lk_lock *begun = lks_mutex(client, "begun");
    struct lk_lock_options options = {.lease_ms = LEASE_MS};

    assert_int_equal(lk_lock_acquire(lock, &options, NULL), LK_OK);
    wait_for_replicas(lkt_server(topology, "n1"));
    atomic_store(&changes, 0);
    (void)lkt_tell(topology, "pause n1");
    assert_int_equal(lk_lock_release(lock, NULL), LK_UNKNOWN);
    assert_int_equal(lk_lock_acquire(begun, &options, NULL), LK_UNKNOWN);
    wait_until_noticed(topology, 2);
    (void)lkt_tell(topology, "resume n1"); /* both reach it now, and it is not asked any more */

    LKS_EVENTUALLY(lk_lock_release(lock, NULL) == LK_OK, SOON_MS);
    assert_int_equal(use(other, "released"), LK_OK); /* its lease is far from over */
    assert_int_equal(use(other, "begun"), LK_OK);
    assert_int_equal(lk_lock_acquire(begun, &options, NULL), LK_OK);
    assert_int_equal(lk_lock_release(begun, NULL), LK_OK);
    lk_lock_free(lock);
    lk_lock_free(begun);
    lk_client_close(client);
    lk_client_close(other);
    lkt_stop(topology);
}

TEST(permits_given_back_without_answer_count_once)
{
    struct lkt *topology = lkt_start(NULL);
    lk_client *client = open_client(topology);
    lk_semaphore *semaphore = lk_semaphore_new(client, "permits", NULL);
    int64_t available = -1;

    assert_int_equal(lk_semaphore_try_set(semaphore, 3, NULL), LK_OK);
    assert_int_equal(lk_semaphore_acquire(semaphore, 2, 0, NULL), LK_OK);
    wait_for_replicas(lkt_server(topology, "n1"));
    atomic_store(&changes, 0);
    (void)lkt_tell(topology, "pause n1");
    assert_int_equal(lk_semaphore_release(semaphore, 2, NULL), LK_UNKNOWN);
    wait_until_noticed(topology, 1);
    (void)lkt_tell(topology, "resume n1");

    LKS_EVENTUALLY(lk_semaphore_release(semaphore, 2, NULL) == LK_OK, SOON_MS);
    assert_int_equal(lk_semaphore_available(semaphore, &available, NULL), LK_OK);
    assert_int_equal(available, 3);
    lk_semaphore_free(semaphore);
    lk_client_close(client);
    lkt_stop(topology);
}
