/*
 * Names on a resolver that answers when this test says so, and connections to hosts with such names.
 * link: -Wl,--wrap=getaddrinfo -Wl,--wrap=lki_clock_now
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "test/support/testing.h"
#include "wire/dns.h"
#include "wire/redis.h"

enum { PATH_ROOM = 64, SOON_MS = 5000, MANY = 64, SHARERS = 256, NAMED_MAX = 4, HOUR_MS = 3600000 };

/* Guarded by its mutex; other threads look names up. */
static struct resolver {
    pthread_mutex_t mutex;
    pthread_cond_t change;
    bool is_open; /* else nobody is answered */
    int asked;
    int open_from, open_to; /* but these: the number of a question, from 0 on */
    int asked_shared;       /* for the name "shared" */
    int ended;
    const char *addresses[NAMED_MAX + 1]; /* of every name, up to a NULL */
} resolver = {.mutex = PTHREAD_MUTEX_INITIALIZER, .change = PTHREAD_COND_INITIALIZER};

FAKE(int, getaddrinfo, const char *host, const char *port, const struct addrinfo *hints,
     struct addrinfo **out)
{
    static const struct addrinfo numeric = {.ai_flags = AI_NUMERICHOST, .ai_socktype = SOCK_STREAM};

    int failure = 0;
    size_t next = 0;

    if (hints->ai_flags & AI_NUMERICHOST) return __real_getaddrinfo(host, port, hints, out);
    (void)pthread_mutex_lock(&resolver.mutex);
    int number = resolver.asked++;
    resolver.asked_shared += strcmp(host, "shared") == 0;
    while (!resolver.is_open && (number < resolver.open_from || number >= resolver.open_to))
        (void)pthread_cond_wait(&resolver.change, &resolver.mutex);
    *out = NULL;
    for (struct addrinfo **at = out; resolver.addresses[next] && failure == 0; at = &(*at)->ai_next)
        failure = __real_getaddrinfo(resolver.addresses[next++], NULL, &numeric, at);
    resolver.ended++;
    (void)pthread_mutex_unlock(&resolver.mutex);
    return next > 0 ? failure : EAI_NONAME;
}

static _Atomic int64_t stopped_at; /* the clock, but for what waits; 0: it goes */

FAKE(int64_t, lki_clock_now, void)
{
    int64_t moment = atomic_load(&stopped_at);

    return moment ? moment : __real_lki_clock_now();
}

static void pass(int64_t ms)
{
    if (!atomic_load(&stopped_at)) atomic_store(&stopped_at, __real_lki_clock_now());
    atomic_fetch_add(&stopped_at, ms * NS_PER_MS);
}

static void answer(bool is_open)
{
    (void)pthread_mutex_lock(&resolver.mutex);
    resolver.is_open = is_open;
    (void)pthread_cond_broadcast(&resolver.change);
    (void)pthread_mutex_unlock(&resolver.mutex);
}

/* These are answered, whoever else is not: from..to - 1 from now on. */
static void answer_some(int from, int to)
{
    (void)pthread_mutex_lock(&resolver.mutex);
    resolver.open_from = from;
    resolver.open_to = to;
    (void)pthread_cond_broadcast(&resolver.change);
    (void)pthread_mutex_unlock(&resolver.mutex);
}

/* Of every name; NULL: none, or no second one. */
static void has_addresses(const char *first, const char *second)
{
    (void)pthread_mutex_lock(&resolver.mutex);
    resolver.addresses[0] = first;
    resolver.addresses[1] = second;
    (void)pthread_mutex_unlock(&resolver.mutex);
}

static nlink_t count_threads(void)
{
    struct stat tasks = {0};

    assert_int_equal(stat("/proc/self/task", &tasks), 0);
    return tasks.st_nlink;
}

static nlink_t own_threads;

static void *name_task(void *path)
{
    (void)snprintf(path, PATH_ROOM, "/proc/self/task/%d", gettid());
    return NULL;
}

/* A sanitizer starts one of its own behind the first of ours. */
BEFORE_ALL()
{
    pthread_t thread;
    char task[PATH_ROOM] = "";

    assert_int_equal(pthread_create(&thread, NULL, name_task, task), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    while (access(task, F_OK) == 0) /* one that was joined is there for a moment yet */
        (void)poll(NULL, 0, 1);
    own_threads = count_threads();
}

/* Those that looked names up for tests before: they count as ours, and a child of fork() has an allocation of theirs for ever. */
static void await_the_end_of_threads(void)
{
    int64_t deadline = lki_clock_after_ms(SOON_MS);

    answer(true);
    while (count_threads() > own_threads) {
        assert_true(lki_clock_left_ms(deadline) > 0);
        (void)poll(NULL, 0, 1);
    }
    answer(false);
}

BEFORE_EACH()
{
    has_addresses("127.0.0.1", NULL);
    answer_some(0, 0);
    atomic_store(&stopped_at, 0);
    await_the_end_of_threads();
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

static struct lki_dns *begin(const char *name)
{
    struct lki_dns *lookup = lki_dns_begin(name, NULL);

    assert_non_null(lookup);
    return lookup;
}

/* Names differ from test to test: who asks for one that is still being looked up shares that. */
static struct lki_dns *look_up(const char *name)
{
    struct lki_dns *lookup = begin(name);

    answer(true);
    assert_true(is_readable(lookup, SOON_MS));
    return lookup;
}

/* Its addresses as they are to be tried at this port; and that it has ended. */
static const char *addresses_of(struct lki_dns *lookup, int port)
{
    static char text[NAMED_MAX * LKI_ADDRESS_SIZE];
    char address[LKI_ADDRESS_SIZE];
    unsigned tried = 0, left = 0, before = NAMED_MAX + 1;

    text[0] = '\0';
    assert_int_equal(lki_dns_end(lookup, NULL), LK_OK);
    while ((left = lki_dns_next(lookup, port, &tried, address)) > 0) {
        assert_true(left < before);
        before = left;
        (void)snprintf(text + strlen(text), sizeof text - strlen(text), "%s%s", text[0] ? " " : "",
                       address);
    }
    return text;
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
    struct lki_dns *lookup = begin("patient");

    assert_false(is_readable(lookup, 30));
    assert_int_equal(lki_dns_end(lookup, NULL), LK_BUSY);
    answer(true);
    assert_true(is_readable(lookup, SOON_MS));
    assert_string_equal(addresses_of(lookup, 1), "127.0.0.1");
    lki_dns_free(lookup);
}

TEST(all_addresses_are_tried_in_the_resolvers_order)
{
    has_addresses("fd00::7", "127.0.0.1");
    struct lki_dns *lookup = look_up("both");
    assert_string_equal(addresses_of(lookup, 1), "fd00::7 127.0.0.1");
    lki_dns_free(lookup);
    has_addresses("127.0.0.1", "fd00::7");
    lookup = look_up("both, the other way round");
    assert_string_equal(addresses_of(lookup, 1), "127.0.0.1 fd00::7");
    lki_dns_free(lookup);
}

TEST(an_address_that_was_dead_is_tried_last_for_a_while)
{
    has_addresses("fd00::7", "127.0.0.1");
    struct lki_dns *lookup = look_up("half dead");
    lki_dns_note(lookup, 1, "fd00::7", true);
    assert_string_equal(addresses_of(lookup, 1), "127.0.0.1 fd00::7");
    assert_string_equal(addresses_of(lookup, 2), "fd00::7 127.0.0.1"); /* another server */
    lki_dns_note(lookup, 1, "127.0.0.1", true);
    assert_string_equal(addresses_of(lookup, 1),
                        "fd00::7 127.0.0.1"); /* it makes no difference now */
    lki_dns_note(lookup, 1, "127.0.0.1", false);
    assert_string_equal(addresses_of(lookup, 1), "127.0.0.1 fd00::7");
    pass(HOUR_MS);
    assert_string_equal(addresses_of(lookup, 1), "fd00::7 127.0.0.1");
    lki_dns_free(lookup);
}

TEST(so_many_of_the_dead_are_known)
{
    has_addresses("fd00::7", "127.0.0.1");
    struct lki_dns *lookup = look_up("many dead");
    for (int port = 1; port <= MANY; port++)
        lki_dns_note(lookup, port, "fd00::7", true);
    assert_string_equal(addresses_of(lookup, MANY), "127.0.0.1 fd00::7");
    assert_string_equal(addresses_of(lookup, 1), "fd00::7 127.0.0.1"); /* it has made room */
    pass(HOUR_MS);
    lki_dns_free(lookup);
}

TEST(a_name_without_address_is_told_with_the_reason)
{
    struct lk_error err = {0};

    has_addresses(NULL, NULL);
    struct lki_dns *lookup = look_up("nowhere");
    assert_int_equal(lki_dns_end(lookup, &err), LK_UNREACHABLE);
    assert_non_null(strstr(err.text, "nowhere: "));
    assert_non_null(strstr(err.text, gai_strerror(EAI_NONAME)));
    lki_dns_free(lookup);
}

/* And whoever has lost patience leaves nothing behind. */
TEST(only_so_many_names_are_looked_up_at_a_time)
{
    struct lki_dns *lookups[MANY];
    struct lk_error err = {0};
    char name[16];
    int64_t deadline = lki_clock_after_ms(SOON_MS);

    for (int i = 0; i < MANY; i++) {
        (void)snprintf(name, sizeof name, "redis-%d", i);
        lookups[i] = begin(name);
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
    assert_int_equal(lki_dns_end(next, NULL), LK_OK);
    lki_dns_free(next);
}

TEST(who_wants_to_know_the_same_name_shares_the_look_up)
{
    struct lki_dns *lookups[SHARERS];

    pass(0);
    for (size_t i = 0; i < SHARERS; i++)
        lookups[i] = begin("shared");
    lki_dns_free(lookups[0]); /* one is not interested any more */
    answer(true);
    for (size_t i = 1; i < SHARERS; i++) {
        assert_true(is_readable(lookups[i], SOON_MS));
        assert_int_equal(lki_dns_end(lookups[i], NULL), LK_OK);
        lki_dns_free(lookups[i]);
    }
    assert_int_equal(resolver.asked_shared, 1); /* they all have ended */
}

static int asked(void)
{
    (void)pthread_mutex_lock(&resolver.mutex);
    int count = resolver.asked;
    (void)pthread_mutex_unlock(&resolver.mutex);
    return count;
}

static void await_question(int number)
{
    int64_t deadline = lki_clock_after_ms(SOON_MS);

    while (asked() <= number) {
        assert_true(lki_clock_left_ms(deadline) > 0);
        (void)poll(NULL, 0, 1);
    }
}

/* The first question went to a name server that was silent, and comes to nothing for long. */
TEST(a_name_server_that_is_back_answers_who_comes_then_and_who_waits)
{
    int number = asked();

    pass(0);
    struct lki_dns *early = begin("silent");
    await_question(number);
    answer_some(number + 1, number + 2);
    pass(900);
    struct lki_dns *soon = begin("silent"); /* it shares what has hardly begun */
    assert_false(is_readable(soon, 30));
    pass(200);
    struct lki_dns *late = begin("silent");
    assert_true(is_readable(late, SOON_MS));
    assert_string_equal(addresses_of(late, 1), "127.0.0.1");
    assert_true(is_readable(early, SOON_MS));
    assert_string_equal(addresses_of(early, 1), "127.0.0.1");
    assert_true(is_readable(soon, SOON_MS));
    lki_dns_free(soon);
    lki_dns_free(early);
    lki_dns_free(late);
    assert_int_equal(asked(), number + 2);
}

TEST(the_first_question_that_fails_at_last_is_not_the_answer)
{
    int number = asked();

    pass(0);
    struct lki_dns *early = begin("fails");
    await_question(number);
    pass(1100);
    struct lki_dns *late = begin("fails");
    await_question(number + 1);
    has_addresses(NULL, NULL);
    answer_some(number, number + 1);
    assert_false(is_readable(early, 30));
    has_addresses("127.0.0.1", NULL);
    answer_some(number, number + 2);
    assert_true(is_readable(early, SOON_MS));
    assert_string_equal(addresses_of(late, 1), "127.0.0.1");
    lki_dns_free(early);
    lki_dns_free(late);
}

TEST(a_silent_name_leaves_threads_for_others)
{
    struct lki_dns *lookups[MANY];
    int number = asked();
    for (size_t i = 0; i < MANY; i++) {
        pass(1100);
        lookups[i] = begin("greedy");
    }
    struct lki_dns *other = begin("modest");
    await_question(number + MANY / 2);
    assert_int_equal(asked(), number + MANY / 2 + 1);
    for (size_t i = 0; i < MANY; i++)
        lki_dns_free(lookups[i]);
    lki_dns_free(other);
}

#ifndef __SANITIZE_THREAD__ /* which ends a child of a process with threads that starts one */
/* The thread that looks it up is the parent's. */
TEST(a_forked_child_looks_names_up_itself)
{
    int status = 0;

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

/* A port of 127.0.0.1 that listens, or that of 127.0.0.2. */
static int listen_on(in_addr_t address, int port, int backlog, int *out_port)
{
    struct sockaddr_in place = {
        .sin_family = AF_INET, .sin_addr = {htonl(address)}, .sin_port = htons((uint16_t)port)};
    socklen_t len = sizeof place;
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    assert_int_equal(setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &(int){1}, sizeof(int)), 0);
    assert_int_equal(bind(listener, (struct sockaddr *)&place, len), 0);
    assert_int_equal(listen(listener, backlog), 0);
    assert_int_equal(getsockname(listener, (struct sockaddr *)&place, &len), 0);
    *out_port = ntohs(place.sin_port);
    return listener;
}

/* As who waits for many things does: by the descriptor alone. */
static lk_status go_on(struct lki_redis *redis, const struct lki_endpoint *endpoint,
                       struct lk_error *err)
{
    short events = POLLOUT;
    lk_status status = lki_redis_open_go_on(redis, endpoint, &events, err);

    while (status == LK_BUSY) {
        struct pollfd poll_fd = {.fd = lki_redis_fd(redis), .events = events};

        assert_int_equal(poll(&poll_fd, 1, SOON_MS), 1);
        status = lki_redis_open_go_on(redis, endpoint, &events, err);
    }
    return status;
}

/* Which address a connection has come to, of those that the name has. */
static const char *connect_to(const char *name, int port, int64_t within_ms)
{
    static char address[LKI_ADDRESS_SIZE];
    char host[64];
    struct lki_endpoint endpoint = {.host = host, .port = port, .label = "it"};
    struct lk_error err = {0};

    (void)snprintf(host, sizeof host, "%s", name);
    struct lki_redis *redis = lki_redis_open_begin(&endpoint, lki_clock_after_ms(within_ms), NULL);

    answer(true);
    assert_non_null(redis);
    assert_int_equal(go_on(redis, &endpoint, &err), LK_OK);
    assert_int_equal(err.code, LK_OK); /* what was tried in vain is nobody's affair */
    (void)snprintf(address, sizeof address, "%s", lki_redis_address(redis));
    lki_redis_close(redis);
    return address;
}

TEST(a_connection_goes_on_when_its_name_has_an_address)
{
    char host[] = "late";
    struct lki_endpoint endpoint = {.host = host, .label = "late"};
    int listener = listen_on(INADDR_LOOPBACK, 0, 1, &endpoint.port);
    short events = POLLOUT;

    struct lki_redis *redis = lki_redis_open_begin(&endpoint, lki_clock_after_ms(SOON_MS), NULL);
    assert_non_null(redis);
    assert_int_equal(lki_redis_open_go_on(redis, &endpoint, &events, NULL), LK_BUSY);
    assert_int_equal(events, POLLIN);
    answer(true);
    assert_int_equal(go_on(redis, &endpoint, NULL), LK_OK);
    lki_redis_close(redis);
    (void)close(listener);
}

TEST(behind_an_address_that_refuses_the_next_is_tried_and_for_a_while_first)
{
    int port = 0;
    int first = -1, second = listen_on(INADDR_LOOPBACK, 0, 8, &port);

    has_addresses("127.0.0.2", "127.0.0.1");
    pass(0);
    assert_string_equal(connect_to("two", port, SOON_MS), "127.0.0.1");
    first = listen_on(INADDR_LOOPBACK + 1, port, 8, &port);
    assert_string_equal(connect_to("two", port, SOON_MS), "127.0.0.1");
    pass(HOUR_MS);
    assert_string_equal(connect_to("two", port, (int64_t)2 * HOUR_MS), "127.0.0.2");
    (void)close(first);
    (void)close(second);
}

/* A server that is stopped, with as many at its door as it lets stand there. */
TEST(an_address_that_is_silent_has_its_share_of_the_time)
{
    enum { CROWD = 3 };
    int port = 0, crowd[CROWD];
    int second = listen_on(INADDR_LOOPBACK, 0, 8, &port);
    int first = listen_on(INADDR_LOOPBACK + 1, port, 0, &port);
    struct sockaddr_in place = {.sin_family = AF_INET,
                                .sin_addr = {htonl(INADDR_LOOPBACK + 1)},
                                .sin_port = htons((uint16_t)port)};

    for (size_t i = 0; i < CROWD; i++) {
        crowd[i] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        (void)connect(crowd[i], (struct sockaddr *)&place, sizeof place);
    }
    has_addresses("127.0.0.2", "127.0.0.1");
    assert_string_equal(connect_to("silent and not, in haste", port, 100), "127.0.0.1");
    struct lki_dns *lookup = look_up("nobody is called dead in haste");
    assert_string_equal(addresses_of(lookup, port), "127.0.0.2 127.0.0.1");
    lki_dns_free(lookup);
    pass(0); /* it has all of its time, however long it takes */
    assert_string_equal(connect_to("silent and not", port, 600), "127.0.0.1");
    lookup = look_up("it was silent for long enough");
    assert_string_equal(addresses_of(lookup, port), "127.0.0.1 127.0.0.2");
    lki_dns_free(lookup);
    for (size_t i = 0; i < CROWD; i++)
        (void)close(crowd[i]);
    (void)close(first);
    (void)close(second);
}

TEST(a_connection_ends_when_no_address_takes_it)
{
    int port = 0;
    char host[] = "both closed";
    struct lk_error err = {0};

    (void)close(listen_on(INADDR_LOOPBACK, 0, 1, &port));
    struct lki_endpoint endpoint = {.host = host, .port = port, .label = "both"};
    has_addresses("127.0.0.2", "127.0.0.1");
    answer(true);
    assert_null(lki_redis_open(&endpoint, lki_clock_after_ms(SOON_MS), &err));
    assert_int_equal(err.code, LK_UNREACHABLE);
    assert_int_equal(err.sys_errno, ECONNREFUSED);
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
