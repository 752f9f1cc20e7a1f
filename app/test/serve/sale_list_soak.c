/*
 * What a flood of those who ask for the list of sales, or for /metrics, costs the others: counted in Redis,
 * and in how long buyers wait beside it.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#include "lockkit/lockkit.h"

#include "base/clock.h"
#include "test/support/app_fixture.h"

enum {
    SALES = 1000,
    PAGE = 100,
    OUT_SIZE = 262144,
    FLOODERS = 4,
    FLOOD_PER_S = 1000, /* of all */
    BUYERS = 8,
    BUYS_PER_S = 400, /* of all */
    ROUND_MS = 150,
    ROUNDS = 12,
    TRIES = 8,
    PERCENT = 110,
    PERCENT_BUSY = 150, /* of all tries, on a machine that does other things */
    SAMPLES = 65536,
    SAMPLES_OF_ONE = 4096,
};

#define NS_PER_S 1000000000LL

static struct app_fixture world;
static atomic_int buyers;

BEFORE_ALL()
{
    app_fixture_begin(&world);
    app_fixture_start(&world, (const char *const[]){"--rate", "0", "--public-metrics", NULL}, NULL);
    app_put_up_many(&world, SALES);
}

AFTER_ALL()
{
    assert_int_equal(app_fixture_end(&world), 0);
}

/* ---- clients that keep a pace ---------------------------------------------------------------- */

struct client {
    pthread_t thread;
    const char *path; /* NULL: it buys */
    int64_t interval_ns;
    int64_t until_ns;
    int done; /* answered as it should be */
    int failed;
    int64_t *took_ns; /* borrowed; NULL: not measured */
};

/* Ask, as often as the pace says, and no more often for having been late. */
static void *keep_pace(void *arg)
{
    struct client *self = arg;
    char *answer = malloc(OUT_SIZE);
    char request[256];
    int fd = app_connect(world.service.buyers);
    int64_t at_ns = clock_mono_ns();

    for (; answer && clock_mono_ns() < self->until_ns; at_ns += self->interval_ns) {
        if (self->path)
            (void)snprintf(request, sizeof request, "GET %s HTTP/1.1\r\nHost: x\r\n\r\n",
                           self->path);
        else
            (void)snprintf(request, sizeof request,
                           "POST /api/v1/sales/s-1/orders HTTP/1.1\r\nHost: x\r\n"
                           "X-User-Id: b-%d\r\nContent-Length: 0\r\n\r\n",
                           atomic_fetch_add(&buyers, 1));
        if (at_ns > clock_mono_ns()) app_pause_until(at_ns);
        int64_t began_ns = clock_mono_ns();
        if (!app_send(fd, request, strlen(request)) ||
            app_receive_answer(fd, answer, OUT_SIZE) != (self->path ? 200 : 201)) {
            self->failed++;
            break;
        }
        if (self->took_ns && self->done < SAMPLES_OF_ONE)
            self->took_ns[self->done] = clock_mono_ns() - began_ns;
        self->done++;
    }
    free(answer);
    if (fd >= 0) (void)close(fd);
    return NULL;
}

static int compare_spans(const void *left, const void *right)
{
    const int64_t *a = left;
    const int64_t *b = right;

    return (*a > *b) - (*a < *b);
}

static int64_t median(int64_t *spans, size_t count)
{
    qsort(spans, count, sizeof *spans, compare_spans);
    return spans[count / 2];
}

struct spans {
    int64_t took_ns[SAMPLES];
    size_t count;
};

/* Buyers buy, while this is asked for (NULL: nothing else): add how long each waited; who asked. */
static int buy_beside(const char *path, struct spans *out)
{
    static int64_t spans[BUYERS][SAMPLES_OF_ONE];
    struct client clients[BUYERS + FLOODERS];
    int64_t until_ns = clock_mono_ns() + ROUND_MS * 1000000LL;
    int count = path ? BUYERS + FLOODERS : BUYERS;
    int asked = 0;

    for (int i = 0; i < count; i++) {
        clients[i] = i < BUYERS ? (struct client){.interval_ns = BUYERS * NS_PER_S / BUYS_PER_S,
                                                  .took_ns = spans[i]}
                                : (struct client){.interval_ns = FLOODERS * NS_PER_S / FLOOD_PER_S,
                                                  .path = path};
        clients[i].until_ns = until_ns;
        assert_int_equal(pthread_create(&clients[i].thread, NULL, keep_pace, &clients[i]), 0);
    }
    for (int i = 0; i < count; i++) {
        (void)pthread_join(clients[i].thread, NULL);
        assert_int_equal(clients[i].failed, 0);
        if (i >= BUYERS) asked += clients[i].done;
        for (int n = 0; i < BUYERS && n < clients[i].done && out->count < SAMPLES; n++)
            out->took_ns[out->count++] = spans[i][n];
    }
    return asked;
}

/* "calls" of INFO commandstats. */
static long long calls_of(const char *command)
{
    lk_reply *reply = app_redis_command(world.service.redis, "INFO commandstats");
    char name[64];

    assert_non_null(reply);
    (void)snprintf(name, sizeof name, "cmdstat_%s:calls=", command);
    const char *at = strstr(lk_reply_bytes(reply).data, name);
    long long calls = at ? strtoll(at + strlen(name), NULL, 10) : 0;
    lk_reply_free(reply);
    return calls;
}

/* ---- floods ---------------------------------------------------------------------------------- */

/* How long a purchase takes beside a flood, in percent of alone: medians of short rounds in turn. */
static int64_t compare_waits(const char *path, struct spans *alone, struct spans *beside)
{
    int asked = 0;

    for (int i = 0; i < ROUNDS; i++) {
        (void)buy_beside(NULL, alone);
        asked += buy_beside(path, beside);
    }
    int64_t alone_us = median(alone->took_ns, alone->count) / 1000;
    int64_t beside_us = median(beside->took_ns, beside->count) / 1000;
    int per_s = asked * 1000 / ROUNDS / ROUND_MS;
    print_message("# %s: p50 %lld us, beside %d/s %lld us: %lld %%\n", path, (long long)alone_us,
                  per_s, (long long)beside_us, (long long)(beside_us * 100 / alone_us));
    assert_true(per_s > FLOOD_PER_S / 4);
    return beside_us * 100 / alone_us;
}

/* Other tests use the processors, too: what was measured counts until it is enough. */
static void assert_no_wait_beside(const char *path)
{
    static struct spans alone;
    static struct spans beside;
    int64_t percent = INT64_MAX;

    alone.count = beside.count = 0;
    for (int i = 0; i < TRIES && percent > PERCENT; i++)
        percent = compare_waits(path, &alone, &beside);
    assert_in_range(percent, 0, PERCENT_BUSY);
}

TEST(buyers_do_not_wait_for_those_who_list)
{
    long long before = calls_of("hmget");
    int64_t began_ms = clock_mono_ms();

    assert_no_wait_beside("/api/v1/sales");
    /* A page ten times a second, ten more at first, and the scripts' own. */
    long long bought = atomic_load(&buyers);
    long long pages = (clock_mono_ms() - began_ms) / 100 + 11;
    assert_in_range(calls_of("hmget") - before, ROUNDS, pages * PAGE + 2 * bought);
}

TEST(buyers_do_not_wait_for_those_who_scrape)
{
    assert_no_wait_beside("/metrics");
}
