/*
 * Names on a resolver that answers when this test says so, and connections to hosts with such names.
 * link: -Wl,--wrap=getaddrinfo
 */
#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "test/support/testing.h"
#include "wire/dns.h"
#include "wire/redis.h"

enum { SOON_MS = 5000, MANY = 64, SHARERS = 256 };

/* Guarded by its mutex; other threads look names up. */
static struct resolver {
    pthread_mutex_t mutex;
    pthread_cond_t change;
    bool is_open; /* else nobody is answered */
    int asked;
    int asked_shared; /* of these, for the name "shared" */
    int ended;
    const char *ipv4;
    const char *ipv6;
} resolver = {.mutex = PTHREAD_MUTEX_INITIALIZER, .change = PTHREAD_COND_INITIALIZER};

FAKE(int, getaddrinfo, const char *host, const char *port, const struct addrinfo *hints,
     struct addrinfo **out)
{
    static const struct addrinfo numeric = {.ai_flags = AI_NUMERICHOST, .ai_socktype = SOCK_STREAM};

    if (hints->ai_flags & AI_NUMERICHOST) return __real_getaddrinfo(host, port, hints, out);
    (void)pthread_mutex_lock(&resolver.mutex);
    resolver.asked++;
    resolver.asked_shared += strcmp(host, "shared") == 0;
    while (!resolver.is_open)
        (void)pthread_cond_wait(&resolver.change, &resolver.mutex);
    const char *address = hints->ai_family == AF_INET ? resolver.ipv4 : resolver.ipv6;
    resolver.ended++;
    (void)pthread_mutex_unlock(&resolver.mutex);
    return address ? __real_getaddrinfo(address, NULL, &numeric, out) : EAI_NONAME;
}

static void answer(bool is_open)
{
    (void)pthread_mutex_lock(&resolver.mutex);
    resolver.is_open = is_open;
    (void)pthread_cond_broadcast(&resolver.change);
    (void)pthread_mutex_unlock(&resolver.mutex);
}

/* Of every name; NULL: none. */
static void has_addresses(const char *ipv4, const char *ipv6)
{
    (void)pthread_mutex_lock(&resolver.mutex);
    resolver.ipv4 = ipv4;
    resolver.ipv6 = ipv6;
    (void)pthread_mutex_unlock(&resolver.mutex);
}

BEFORE_EACH()
{
    has_addresses("127.0.0.1", NULL);
    answer(false);
}

/* Until somebody waits for the resolver, or nobody does any more. */
static void await_resolver(bool is_awaited)
{
    int64_t deadline = lki_clock_after_ms(SOON_MS);
    bool is_so = false;

    while (!is_so) {
        assert_true(lki_clock_left_ms(deadline) > 0);
        (void)pthread_mutex_lock(&resolver.mutex);
        is_so = (resolver.asked != resolver.ended) == is_awaited;
        (void)pthread_mutex_unlock(&resolver.mutex);
        (void)poll(NULL, 0, 1);
    }
}

static bool is_readable(const struct lki_dns *lookup, int within_ms)
{
    struct pollfd poll_fd = {.fd = lki_dns_fd(lookup), .events = POLLIN};

    return poll(&poll_fd, 1, within_ms) == 1;
}

/* Names differ from test to test: who asks for one that is still being looked up shares that. */
static lk_status look_up(const char *name, char out_address[LKI_ADDRESS_SIZE], struct lk_error *err)
{
    struct lki_dns *lookup = lki_dns_begin(name, err);

    assert_non_null(lookup);
    answer(true);
    assert_true(is_readable(lookup, SOON_MS));
    lk_status status = lki_dns_end(lookup, out_address, err);
    lki_dns_free(lookup);
    return status;
}

/* ---- names --------------------------------------------------------------------------------------- */

TEST(an_address_needs_none)
{
    assert_false(lki_dns_is_needed("127.0.0.1"));
    assert_false(lki_dns_is_needed("::1"));
    assert_true(lki_dns_is_needed("redis-1"));
    assert_true(lki_dns_is_needed("localhost"));
}

TEST(nobody_waits_for_a_resolver_that_does_not_answer)
{
    struct lki_dns *lookup = lki_dns_begin("patient", NULL);
    char address[LKI_ADDRESS_SIZE];

    assert_non_null(lookup);
    assert_false(is_readable(lookup, 30));
    assert_int_equal(lki_dns_end(lookup, address, NULL), LK_BUSY);
    answer(true);
    assert_true(is_readable(lookup, SOON_MS));
    assert_int_equal(lki_dns_end(lookup, address, NULL), LK_OK);
    assert_string_equal(address, "127.0.0.1");
    lki_dns_free(lookup);
}

TEST(ipv6_is_taken_when_there_is_nothing_else)
{
    char address[LKI_ADDRESS_SIZE];

    has_addresses("127.0.0.1", "fd00::7");
    assert_int_equal(look_up("both", address, NULL), LK_OK);
    assert_string_equal(address, "127.0.0.1");
    has_addresses(NULL, "fd00::7");
    assert_int_equal(look_up("ipv6", address, NULL), LK_OK);
    assert_string_equal(address, "fd00::7");
}

TEST(a_name_without_address_is_told_with_the_reason)
{
    char address[LKI_ADDRESS_SIZE];
    struct lk_error err = {0};

    has_addresses(NULL, NULL);
    assert_int_equal(look_up("nowhere", address, &err), LK_UNREACHABLE);
    assert_non_null(strstr(err.text, "nowhere: "));
    assert_non_null(strstr(err.text, gai_strerror(EAI_NONAME)));
}

/* And whoever has lost patience leaves nothing behind. */
TEST(only_so_many_names_are_looked_up_at_a_time)
{
    struct lki_dns *lookups[MANY];
    struct lk_error err = {0};
    char address[LKI_ADDRESS_SIZE];
    char name[16];
    int64_t deadline = lki_clock_after_ms(SOON_MS);

    for (int i = 0; i < MANY; i++) {
        (void)snprintf(name, sizeof name, "redis-%d", i);
        lookups[i] = lki_dns_begin(name, NULL);
        assert_non_null(lookups[i]);
    }
    assert_null(lki_dns_begin("redis-64", &err));
    assert_int_equal(err.code, LK_UNREACHABLE);
    assert_non_null(strstr(err.text, "redis-64: 64 names"));
    for (size_t i = 0; i < MANY; i++)
        lki_dns_free(lookups[i]);
    answer(true);
    struct lki_dns *next = NULL;
    while (!next && lki_clock_left_ms(deadline) > 0)
        next = lki_dns_begin("redis-64", NULL);
    assert_non_null(next);
    assert_true(is_readable(next, SOON_MS));
    assert_int_equal(lki_dns_end(next, address, NULL), LK_OK);
    lki_dns_free(next);
}

TEST(who_wants_to_know_the_same_name_shares_the_look_up)
{
    struct lki_dns *lookups[SHARERS];
    char address[LKI_ADDRESS_SIZE];

    for (size_t i = 0; i < SHARERS; i++) {
        lookups[i] = lki_dns_begin("shared", NULL);
        assert_non_null(lookups[i]);
    }
    lki_dns_free(lookups[0]); /* one is not interested any more */
    answer(true);
    for (size_t i = 1; i < SHARERS; i++) {
        assert_true(is_readable(lookups[i], SOON_MS));
        assert_int_equal(lki_dns_end(lookups[i], address, NULL), LK_OK);
        lki_dns_free(lookups[i]);
    }
    assert_int_equal(resolver.asked_shared, 1); /* they all have ended */
}

#ifndef __SANITIZE_THREAD__ /* which ends a child of a process with threads that starts one */
/* Whoever looked a name up before has ended: in the middle of an allocation it would, for ever, in the child. */
static void await_the_end_of_threads(void)
{
    int64_t deadline = lki_clock_after_ms(SOON_MS);
    struct stat tasks = {0};

    answer(true);
    while (stat("/proc/self/task", &tasks) != 0 || tasks.st_nlink > 2 + 1) {
        assert_true(lki_clock_left_ms(deadline) > 0);
        (void)poll(NULL, 0, 1);
    }
    answer(false);
}

/* The thread that looks it up is the parent's. */
TEST(a_forked_child_looks_names_up_itself)
{
    int status = 0;

    await_the_end_of_threads();
    struct lki_dns *lookup = lki_dns_begin("forked", NULL);
    assert_non_null(lookup);
    await_resolver(true);
    pid_t child = fork();
    if (child == 0) {
        struct lki_dns *own = lki_dns_begin("forked", NULL);

        answer(true);
        _exit(own && is_readable(own, SOON_MS) ? 0 : 1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    answer(true);
    assert_true(is_readable(lookup, SOON_MS));
    lki_dns_free(lookup);
}
#endif

/* ---- connections --------------------------------------------------------------------------------- */

TEST(a_connection_ends_at_its_deadline)
{
    char host[] = "mute";
    struct lki_endpoint endpoint = {.host = host, .port = 1, .label = "mute:1"};
    struct lk_error err = {0};
    int64_t begin = lki_clock_now();

    assert_null(lki_redis_open(&endpoint, lki_clock_after_ms(50), &err));
    assert_in_range((lki_clock_now() - begin) / NS_PER_MS, 49, SOON_MS);
    assert_int_equal(err.code, LK_UNREACHABLE);
    assert_non_null(strstr(err.text, "mute:1: its name has no address yet"));
    answer(true);
}

TEST(a_connection_goes_on_when_its_name_has_an_address)
{
    struct sockaddr_in place = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t len = sizeof place;
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    char host[] = "late";
    struct lki_endpoint endpoint = {.host = host, .label = "late"};
    short events = POLLOUT;
    lk_status status = LK_BUSY;

    assert_int_equal(bind(listener, (struct sockaddr *)&place, len), 0);
    assert_int_equal(listen(listener, 1), 0);
    assert_int_equal(getsockname(listener, (struct sockaddr *)&place, &len), 0);
    endpoint.port = ntohs(place.sin_port);
    struct lki_redis *redis = lki_redis_open_begin(&endpoint, NULL);
    assert_non_null(redis);
    assert_int_equal(lki_redis_open_go_on(redis, &endpoint, &events, NULL), LK_BUSY);
    assert_int_equal(events, POLLIN);
    answer(true);
    while (status == LK_BUSY) {
        struct pollfd poll_fd = {.fd = lki_redis_fd(redis), .events = events};

        assert_int_equal(poll(&poll_fd, 1, SOON_MS), 1);
        status = lki_redis_open_go_on(redis, &endpoint, &events, NULL);
    }
    assert_int_equal(status, LK_OK);
    lki_redis_close(redis);
    (void)close(listener);
}

TEST(a_name_without_address_ends_the_connection)
{
    char host[] = "absent";
    struct lki_endpoint endpoint = {.host = host, .port = 1, .label = "absent:1"};
    struct lk_error err = {0};

    has_addresses(NULL, NULL);
    answer(true);
    assert_null(lki_redis_open(&endpoint, lki_clock_after_ms(SOON_MS), &err));
    assert_int_equal(err.code, LK_UNREACHABLE);
    assert_non_null(strstr(err.text, gai_strerror(EAI_NONAME)));
}

/* Their threads end after those that began them; memory is looked at then. */
AFTER_ALL()
{
    answer(true);
    await_resolver(false);
    (void)poll(NULL, 0, 50); /* they have an answer, and end */
}
