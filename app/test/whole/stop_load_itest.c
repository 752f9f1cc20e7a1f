/*
 * A service that is told to stop under load: every request that it has taken gets its answer, a
 * connection ends only behind one, and then nobody is let in any more.
 *
 * STOPS says how often; make test is content with a few.
 */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <unistd.h>

#include "base/clock.h"
#include "test/support/app_support.h"
#include "test/support/testing.h"

enum {
    CLIENTS = 32,
    STOPS = 6,
    OUT_SIZE = 4096,
    ANSWERED_MS = 10000,
    LOAD_MS = 60,
    DRAIN_MS = 100,
    IDLE_MS = 50, /* whose last question is so old may find that the connection has ended */
};

struct load {
    const char *base;
    unsigned index;
    unsigned answers;
    unsigned unanswered;
    int64_t sent_ms;
    char last[OUT_SIZE]; /* what came instead of an answer */
    pthread_t thread;
};

/* One question, the answer's head and as much body as it says. False: there was no whole answer. */
static bool is_answered(struct load *self, int fd, const char *question, bool *out_closes)
{
    const char *length = NULL;
    const char *body = NULL;
    size_t len = 0;

    self->last[0] = '\0';
    *out_closes = true;
    bool is_sent = app_send(fd, question, strlen(question));
    self->sent_ms = clock_mono_ms();
    if (!is_sent) return false;
    len = app_receive(fd, self->last, sizeof self->last, "\r\n\r\n", ANSWERED_MS);
    body = strstr(self->last, "\r\n\r\n");
    length = strstr(self->last, "Content-Length: ");
    if (!body || !length || strncmp(self->last, "HTTP/1.1 ", 9) != 0) return false;
    *out_closes = strstr(self->last, "\r\nConnection: close\r\n") != NULL;
    return len - (size_t)(body + 4 - self->last) == strtoul(length + 16, NULL, 10);
}

static void *ask_until_refused(void *arg)
{
    static const struct {
        const char *head, *rest;
    } questions[] = {
        {"GET /livez HTTP/1.1\r\n", ""},
        {"POST /api/v1/sales/cup/orders HTTP/1.1\r\n", ""},
        {"POST /api/v1/sales/cup/orders HTTP/1.1\r\n",
         "Content-Type: application/json\r\nContent-Length: 9\r\n"},
    };
    struct load *self = arg;
    char question[256];
    int fd = -1;

    while ((fd = app_connect(self->base)) >= 0) {
        bool closes = false;

        self->sent_ms = clock_mono_ms();

        for (unsigned i = self->index; !closes; i++) {
            (void)snprintf(question, sizeof question, "%sHost: h\r\nX-User-Id: u%u\r\n%s\r\n%s",
                           questions[i % 3].head, self->index * 100000 + i, questions[i % 3].rest,
                           i % 3 == 2 ? "{\"qty\":1}" : "");
            int64_t before_ms = self->sent_ms; /* it has been answered at some time since */
            if (is_answered(self, fd, question, &closes))
                self->answers++;
            else
                self->unanswered += self->last[0] != '\0' || self->sent_ms - before_ms <= IDLE_MS;
        }
        (void)close(fd);
        if (self->unanswered > 0) break;
    }
    return NULL;
}

static void stop_under_load(struct app_process *redis, const char *dir, unsigned *answers)
{
    static struct load loads[CLIENTS];
    char drain_ms[8];
    const char *const args[] = {"--redis", redis->redis, "--drain-ms", drain_ms, NULL};
    struct app_process service = {0};

    (void)snprintf(drain_ms, sizeof drain_ms, "%d", DRAIN_MS);

    assert_true(app_start(&service, dir, args));
    (void)app_create_sale(&service, dir, "{\"id\":\"cup\",\"stock\":100000}"); /* once */
    for (unsigned i = 0; i < CLIENTS; i++) {
        loads[i] = (struct load){.base = service.buyers, .index = i};
        assert_int_equal(pthread_create(&loads[i].thread, NULL, ask_until_refused, &loads[i]), 0);
    }
    clock_pause_ms(LOAD_MS + (int64_t)(*answers % 40)); /* at another moment each time */
    assert_int_equal(kill(service.pid, SIGTERM), 0);
    for (unsigned i = 0; i < CLIENTS; i++)
        (void)pthread_join(loads[i].thread, NULL);
    assert_int_equal(app_wait(&service, 15000), 0);
    for (unsigned i = 0; i < CLIENTS; i++) {
        if (loads[i].unanswered > 0)
            fail_msg("client %u, after %u answers, got: %s", i, loads[i].answers, loads[i].last);
        *answers += loads[i].answers;
    }
}

TEST(every_request_is_answered_before_the_end)
{
    const char *wanted = secure_getenv("STOPS");
    long stops = wanted ? strtol(wanted, NULL, 10) : STOPS;
    char dir[APP_PATH_SIZE];
    struct app_process redis = {0};
    unsigned answers = 0;

    app_folder_make(dir);
    assert_true(app_start_redis(&redis, dir));
    for (long i = 0; i < stops; i++)
        stop_under_load(&redis, dir, &answers);
    print_message("# %ld stops among %u answers, 0 unanswered\n", stops, answers);
    (void)app_stop(&redis);
    app_folder_remove(dir);
}
