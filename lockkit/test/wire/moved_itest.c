/*
 * One address, or one name, and behind it another server: what a client of a plain redis:// URL does
 * when the server it knows was made a replica, or when the name leads elsewhere.
 * link: -Wl,--wrap=getaddrinfo
 */
#include <netdb.h>
#include <pthread.h>
#include <stdatomic.h>

#include "test/support/lk_support.h"
#include "test/support/lk_vip.h"

enum { CONNECT_MS = 1000, BACKOFF_MS = 300, BUSY_MS = 5000, SOON_MS = CONNECT_MS + BACKOFF_MS };

static struct lks_server *old, *new;
static struct lks_vip *vip;
static const char *_Atomic address_of_name;
static const char *_Atomic address_before; /* of the same name; NULL: none */
static atomic_int changes;                 /* LK_EVENT_TOPOLOGY so far */

FAKE(int, getaddrinfo, const char *host, const char *port, const struct addrinfo *hints,
     struct addrinfo **out)
{
    static const struct addrinfo numeric = {.ai_flags = AI_NUMERICHOST, .ai_socktype = SOCK_STREAM};

    if (strcmp(host, "moving.test") != 0 || (hints->ai_flags & AI_NUMERICHOST))
        return __real_getaddrinfo(host, port, hints, out);
    const char *before = atomic_load(&address_before);
    if (before && __real_getaddrinfo(before, NULL, &numeric, out) != 0) return EAI_FAIL;
    return __real_getaddrinfo(atomic_load(&address_of_name), NULL, &numeric,
                              before ? &(*out)->ai_next : out);
}

static void hear(const struct lk_event *event, void *arg)
{
    if (event->type == LK_EVENT_TOPOLOGY) atomic_fetch_add(&changes, 1);
}

static lk_client *client_of(const char *url)
{
    return lks_client_with(old, (struct lk_client_options){.url = url,
                                                           .connect_ms = CONNECT_MS,
                                                           .backoff_ms = BACKOFF_MS,
                                                           .poll_ms = 60000,
                                                           .on_event = hear});
}

static lk_status use(lk_client *client, const char *key, struct lk_error *err)
{
    lk_lock *lock = lks_mutex(client, key);
    lk_status status = lk_lock_acquire(lock, NULL, err);

    if (status == LK_OK) status = lk_lock_release(lock, err);
    lk_lock_free(lock);
    return status;
}

/* A replica of a server that is not there: it hears no more of what others write or publish. */
static void demote(struct lks_server *server)
{
    LKS_DO(server, "REPLICAOF", "127.0.0.1", "1");
    assert_string_equal(LKS_TEXT(server, "SET", "x", "y"),
                        "READONLY You can't write against a read only replica.");
}

static void fail_over(void)
{
    lks_vip_move(vip, new->port);
    demote(old);
}

TEST(the_next_acquire_but_few_is_served_by_the_new_server)
{
    lk_client *client = client_of(lks_vip_url(vip));
    struct lk_error err = {0};
    int refused = 0;

    assert_int_equal(use(client, "next", NULL), LK_OK);
    fail_over();
    double begin = lks_now_ms();
    while (use(client, "next", &err) != LK_OK) {
        assert_int_equal(err.code, LK_UNREACHABLE);
        assert_true(lks_now_ms() - begin < SOON_MS + BUSY_MS);
        refused++;
    }
    print_message("# after %d refusals, %.1f ms\n", refused, lks_now_ms() - begin);
    assert_true(refused >= 1);
    assert_int_equal(atomic_load(&changes), 1);
    lk_client_close(client);
}

TEST(who_may_wait_is_not_refused)
{
    lk_client *client = client_of(lks_vip_url(vip));
    lk_lock *lock = lks_mutex(client, "waits");

    assert_int_equal(lk_lock_acquire(lock, NULL, NULL), LK_OK);
    assert_int_equal(lk_lock_release(lock, NULL), LK_OK);
    demote(old); /* and only a while after that the address leads elsewhere */
    struct lk_error err = {0};
    assert_int_equal(use(client, "waits", &err), LK_UNREACHABLE);
    lks_vip_move(vip, new->port);
    double begin = lks_now_ms();
    assert_int_equal(lk_lock_acquire(lock, &(struct lk_lock_options){.wait_ms = 10000}, NULL),
                     LK_OK);
    print_message("# after %.1f ms\n", lks_now_ms() - begin);
    assert_true(lks_now_ms() - begin < SOON_MS + BUSY_MS);
    assert_int_equal(LKS_INTEGER(new, "EXISTS", "waits"), 1);
    assert_int_equal(lk_lock_release(lock, NULL), LK_OK);
    lk_lock_free(lock);
    lk_client_close(client);
}

static void replicate(void)
{
    char port[16];

    (void)snprintf(port, sizeof port, "%d", old->port);
    LKS_DO(new, "REPLICAOF", "127.0.0.1", port);
    LKS_EVENTUALLY(strstr(LKS_TEXT(new, "INFO", "replication"), "master_link_status:up"), 10000);
}

/* Waits until the replica has what the primary has. */
static void promote(void)
{
    LKS_DO(old, "SET", "last", "1"); /* WAIT is for what its own connection has written */
    assert_int_equal(LKS_INTEGER(old, "WAIT", "1", "10000"), 1);
    LKS_DO(new, "REPLICAOF", "NO", "ONE");
}

/* One hold that the new server has heard of, and one that it has not. */
TEST(renewed_holds_go_on_or_are_lost_honestly)
{
    enum { LEASE_MS = 3000 };
    const struct lk_lock_options renewed = {.lease_ms = LEASE_MS, .is_renewed = true};
    lk_client *client = client_of(lks_vip_url(vip));
    lk_lock *kept = lks_mutex(client, "kept");
    lk_lock *forgotten = lks_mutex(client, "forgotten");

    replicate();
    assert_int_equal(lk_lock_acquire(kept, &renewed, NULL), LK_OK);
    lks_nap(LEASE_MS / 2); /* it was renewed: the watchdog has its connection */
    promote();
    assert_int_equal(lk_lock_acquire(forgotten, &renewed, NULL), LK_OK);
    fail_over();
    LKS_EVENTUALLY(!lk_held(forgotten), LEASE_MS + BUSY_MS);
    assert_int_equal(lk_lock_release(forgotten, NULL), LK_NOT_OWNER);
    lks_nap(LEASE_MS);
    assert_true(lk_held(kept));
    assert_int_equal(LKS_INTEGER(new, "EXISTS", "kept"), 1);
    assert_int_equal(lk_lock_release(kept, NULL), LK_OK);
    lk_lock_free(kept);
    lk_lock_free(forgotten);
    lk_client_close(client);
}

struct wait {
    lk_client *client;
    lk_status status;
    pthread_t thread;
};

static void *wait_main(void *arg)
{
    struct wait *wait = arg;
    lk_lock *lock = lks_mutex(wait->client, "awaited");

    wait->status = lk_lock_acquire(lock, &(struct lk_lock_options){.wait_ms = 30000}, NULL);
    if (wait->status == LK_OK) wait->status = lk_lock_release(lock, NULL);
    lk_lock_free(lock);
    return NULL;
}

/* By its own timer the waiter would look again after a minute. */
TEST(who_sleeps_hears_the_new_server)
{
    struct wait wait = {.client = client_of(lks_vip_url(vip))};
    lk_client *other = lks_client(new);
    lk_lock *lock = lks_mutex(other, "awaited");

    LKS_DO(old, "SET", "awaited", "somebody");
    assert_int_equal(lk_lock_acquire(lock, NULL, NULL), LK_OK);
    assert_int_equal(pthread_create(&wait.thread, NULL, wait_main, &wait), 0);
    LKS_EVENTUALLY(lks_info(old, "stats", "pubsub_channels") == 1, 5000);
    lks_nap(100);
    fail_over();
    assert_int_equal(use(wait.client, "another", NULL), LK_UNREACHABLE); /* now it is known */
    LKS_EVENTUALLY(lks_info(new, "stats", "pubsub_channels") == 1, SOON_MS + BUSY_MS);
    lks_nap(100); /* whoever was woken by that has tried, and sleeps again */
    double begin = lks_now_ms();
    assert_int_equal(lk_lock_release(lock, NULL), LK_OK);
    assert_int_equal(pthread_join(wait.thread, NULL), 0);
    assert_true(lks_now_ms() - begin < BUSY_MS);
    assert_int_equal(wait.status, LK_OK);
    lk_lock_free(lock);
    lk_client_close(wait.client);
    lk_client_close(other);
}

TEST(sessions_redlocks_and_scripts_go_along)
{
    struct lk_bytes set[] = {LK_BYTES("SET"), LK_BYTES("by-session"), LK_BYTES("1")};
    lk_client *client = client_of(lks_vip_url(vip));
    lk_lock *lock = lk_redlock_new(&client, 1, "by-redlock", NULL, NULL);
    lk_reply *reply = NULL;

    assert_non_null(lock);
    assert_int_equal(lk_lock_acquire(lock, NULL, NULL), LK_OK);
    assert_int_equal(lk_lock_release(lock, NULL), LK_OK);
    lk_session *session = lk_session_open(client, NULL, 0, NULL);
    assert_non_null(session);
    fail_over();
    assert_int_equal(lk_session_call(session, &(struct lk_command){set, 3}, 1, 0, &reply, NULL),
                     LK_OK);
    assert_memory_equal(lk_reply_bytes(reply).data, "READONLY ", 9);
    lk_reply_free(reply);
    lk_session_close(session);
    session = lk_session_open(client, NULL, 0, NULL);
    assert_int_equal(lk_session_call(session, &(struct lk_command){set, 3}, 1, 0, &reply, NULL),
                     LK_OK);
    assert_string_equal(lks_text_of(reply), "OK");
    lk_session_close(session);
    assert_int_equal(lk_lock_acquire(lock, NULL, NULL), LK_OK);
    assert_int_equal(lk_lock_release(lock, NULL), LK_OK);

    lks_nap(BACKOFF_MS);
    LKS_DO(old, "REPLICAOF", "NO", "ONE");
    lks_vip_move(vip, old->port);
    demote(new);
    assert_int_equal(lk_lock_acquire(lock, NULL, NULL), LK_UNREACHABLE); /* it cannot vote... */
    assert_int_equal(lk_lock_acquire(lock, NULL, NULL), LK_OK);          /* ...once */
    assert_int_equal(lk_lock_release(lock, NULL), LK_OK);
    lk_lock_free(lock);
    lk_client_close(client);
}

TEST(a_replica_that_stays_one_is_told_and_not_pestered)
{
    enum { FOR_MS = 1500 };
    lk_client *client = client_of(lks_vip_url(vip));
    struct lk_error err = {0};
    int refused = 0;

    demote(old);
    double begin = lks_now_ms();
    for (; lks_now_ms() - begin < FOR_MS || refused < 50; refused++)
        assert_int_equal(use(client, "replica", &err), LK_UNREACHABLE);
    double took_ms = lks_now_ms() - begin;
    assert_non_null(strstr(err.text, "READONLY"));
    print_message("# %d refusals, %zu connections\n", refused, lks_vip_taken(vip));
    assert_true(lks_vip_taken(vip) <= 2 + 2 * (took_ms / BACKOFF_MS)); /* its own, the hub's */
    lk_client_close(client);
}

/* ---- by name ------------------------------------------------------------------------------------- */

struct named {
    struct lks_vip *first, *second; /* two addresses, one port */
    lk_client *client;
};

static struct named named_open(void)
{
    struct named named = {.first = lks_vip_open("127.0.0.2", 0, old->port)};
    char url[64];

    named.second = lks_vip_open("127.0.0.3", lks_vip_port(named.first), new->port);
    atomic_store(&address_of_name, "127.0.0.2");
    (void)snprintf(url, sizeof url, "redis://moving.test:%d", lks_vip_port(named.first));
    named.client = client_of(url);
    assert_int_equal(use(named.client, "named", NULL), LK_OK);
    return named;
}

static void named_close(struct named *named)
{
    lk_client_close(named->client);
    lks_vip_close(named->first);
    lks_vip_close(named->second);
}

TEST(a_refusal_has_the_name_looked_up_again)
{
    struct named named = named_open();

    atomic_store(&address_of_name, "127.0.0.3");
    demote(old);
    assert_int_equal(use(named.client, "named", NULL), LK_UNREACHABLE);
    assert_int_equal(use(named.client, "named", NULL), LK_OK);
    assert_int_equal(lks_vip_taken(named.first), 1);
    named_close(&named);
}

/* The old server goes on as if nothing had happened. */
TEST(who_finds_another_address_ends_what_is_left_of_the_old_one)
{
    enum { MORE = 3 };
    struct named named = named_open();
    lk_session *sessions[MORE];

    for (size_t i = 0; i < MORE - 1; i++)
        sessions[i] = lk_session_open(named.client, NULL, 0, NULL);
    lk_session_close(sessions[1]); /* idle */
    atomic_store(&address_of_name, "127.0.0.3");
    assert_int_equal(use(named.client, "stays", NULL), LK_OK); /* on what there is */
    assert_int_equal(lks_vip_taken(named.second), 0);
    sessions[1] = lk_session_open(named.client, NULL, 0, NULL);
    sessions[2] = lk_session_open(named.client, NULL, 0, NULL); /* this one is made */
    for (size_t i = 0; i < MORE; i++)
        lk_session_close(sessions[i]);
    assert_int_equal(atomic_load(&changes), 1);

    lk_lock *lock = lks_mutex(named.client, "goes");
    for (size_t i = 0; i < MORE; i++) { /* none of the old ones is left to be lent */
        sessions[i] = lk_session_open(named.client, NULL, 0, NULL);
        assert_non_null(sessions[i]);
    }
    assert_int_equal(lk_lock_acquire(lock, NULL, NULL), LK_OK);
    assert_int_equal(LKS_INTEGER(new, "EXISTS", "goes"), 1);
    for (size_t i = 0; i < MORE; i++)
        lk_session_close(sessions[i]);
    assert_int_equal(lk_lock_release(lock, NULL), LK_OK);
    assert_int_equal(lks_vip_taken(named.first), 2);
    lk_lock_free(lock);
    named_close(&named);
}

/* Behind the first nobody listens: the second serves calls, waiters, renewals and redlocks. */
TEST(every_address_of_a_name_is_tried)
{
    enum { LEASE_MS = 9000, CUT_MS = 6000 };
    struct lks_vip *second = lks_vip_open("127.0.0.3", 0, old->port);
    char url[64];

    atomic_store(&address_before, "127.0.0.2");
    atomic_store(&address_of_name, "127.0.0.3");
    (void)snprintf(url, sizeof url, "redis://moving.test:%d", lks_vip_port(second));
    struct wait wait = {.client = client_of(url)};
    lk_lock *awaited = lks_mutex(wait.client, "awaited"),
            *renewed = lks_mutex(wait.client, "renewed");
    lk_lock *redlock = lk_redlock_new(&wait.client, 1, "by-redlock", NULL, NULL);

    assert_int_equal(lk_lock_acquire(redlock, NULL, NULL), LK_OK);
    assert_int_equal(lk_lock_acquire(awaited, NULL, NULL), LK_OK);
    assert_int_equal(
        lk_lock_acquire(renewed,
                        &(struct lk_lock_options){.lease_ms = LEASE_MS, .is_renewed = true}, NULL),
        LK_OK);
    LKS_DO(old, "PEXPIRE", "renewed", "6000");
    LKS_EVENTUALLY(LKS_INTEGER(old, "PTTL", "renewed") > CUT_MS, 2 * LEASE_MS);
    assert_int_equal(pthread_create(&wait.thread, NULL, wait_main, &wait), 0);
    LKS_EVENTUALLY(lks_info(old, "stats", "pubsub_channels") == 1, BUSY_MS);
    assert_int_equal(lk_lock_release(awaited, NULL), LK_OK);
    assert_int_equal(pthread_join(wait.thread, NULL), 0);
    assert_int_equal(wait.status, LK_OK);
    assert_int_equal(lk_lock_release(renewed, NULL), LK_OK);
    assert_int_equal(lk_lock_release(redlock, NULL), LK_OK);
    lk_lock_free(awaited);
    lk_lock_free(renewed);
    lk_lock_free(redlock);
    lk_client_close(wait.client);
    lks_vip_close(second);
}

/* ---- the world ------------------------------------------------------------------------------------- */

BEFORE_ALL()
{
    old = lks_server_start(&(struct lks_server_options){.is_tcp = true});
    new = lks_server_start(&(struct lks_server_options){.is_tcp = true});
}

AFTER_ALL()
{
    lks_server_stop(old);
    lks_server_stop(new);
}

BEFORE_EACH()
{
    LKS_DO(old, "REPLICAOF", "NO", "ONE");
    LKS_DO(new, "REPLICAOF", "NO", "ONE");
    LKS_DO(old, "FLUSHALL");
    LKS_DO(new, "FLUSHALL");
    vip = lks_vip_open(NULL, 0, old->port);
    atomic_store(&address_before, NULL);
    atomic_store(&changes, 0);
}

AFTER_EACH()
{
    lks_vip_close(vip);
}
