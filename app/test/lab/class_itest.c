/*
 * A class of forty at once: each learner plays, buys in his own sale, and sees nothing of the others.
 */
#include <pthread.h>

#include "base/clock.h"
#include "test/support/app_lab.h"
#include "test/support/testing.h"

#define SEATS "/api/v1/lab/class/seats"
#define JSON  "Content-Type: application/json"

enum { LEARNERS = 40, PLAYS = 6 };

/* A learner's hour, on a thread of its own that says only how far it came. */
struct learner {
    pthread_t thread;
    const struct app_process *service;
    struct app_reply reply;
    char name[16];
    char cookie[128];
    char sale[64];
    const char *went_wrong; /* NULL: nothing */
    int64_t slowest_ms;
};

static struct {
    char dir[APP_PATH_SIZE];
    struct app_process redis, service;
    struct app_reply reply;
} fixture;

BEFORE_EACH()
{
    app_folder_make(fixture.dir);
    assert_true(app_start_redis(&fixture.redis, fixture.dir));
    const char *const args[] = {"--redis", fixture.redis.redis, "--class", "40", NULL};
    assert_true(app_start(&fixture.service, fixture.dir, args));
}

AFTER_EACH()
{
    int status = app_stop(&fixture.service);

    (void)app_stop(&fixture.redis);
    app_folder_remove(fixture.dir);
    assert_int_equal(status, 0);
}

static long call(struct learner *self, const char *method, const char *path, const char *body)
{
    app_http(&(struct app_call){.method = method,
                                .base = self->service->buyers,
                                .path = path,
                                .user = "me",
                                .body = body,
                                .headers = {JSON, self->cookie[0] ? self->cookie : NULL},
                                .limit_ms = APP_LAB_RUN_MS},
             &self->reply);
    return self->reply.status;
}

static bool sits_down(struct learner *self)
{
    char body[64];

    (void)snprintf(body, sizeof body, "{\"name\":\"%s\"}", self->name);
    if (call(self, "POST", SEATS, body) != 201) return false;
    (void)snprintf(self->sale, sizeof self->sale, "%s", app_member(&self->reply, "sale"));
    const char *seat = strstr(self->reply.headers, "seat=");

    return seat && sscanf(seat, "%100[^;]", stpcpy(self->cookie, "Cookie: ")) == 1;
}

static bool plays(struct learner *self, const char *path, const char *body)
{
    int64_t began_ms = clock_mono_ms();
    bool is_good = call(self, "POST", path, body) == 200;
    int64_t took_ms = clock_mono_ms() - began_ms;

    if (took_ms > self->slowest_ms) self->slowest_ms = took_ms;
    return is_good;
}

static bool buys(struct learner *self, const char *sale, long status)
{
    char path[160];

    (void)snprintf(path, sizeof path, "/api/v1/sales/%s/orders", sale);
    return call(self, "POST", path, NULL) == status;
}

static const char *learn(struct learner *self)
{
    static const char schedule[] = "{\"guard\":\"mutex-unchecked\",\"schedule\":\"AAtBBAB\"}";

    if (!sits_down(self)) return "to sit down";
    for (int i = 0; i < PLAYS; i++) {
        if (!plays(self, "/api/v1/lab/plays", schedule)) return "a schedule";
        if (!strstr(self->reply.body, "oversold")) return "what the schedule broke";
    }
    if (!plays(self, "/api/v1/lab/scenarios/lost-update/runs", "{}")) return "a scenario";
    if (call(self, "POST", "/api/v1/lab/class/seat/sale", "{\"guard\":\"redlock\"}") != 403)
        return "a guard without its servers";
    if (!buys(self, self->sale, 201)) return "to buy in the own sale, which is still that";
    if (call(self, "GET", "/api/v1/sales", NULL) != 200 || !strstr(self->reply.body, self->sale))
        return "the list of sales";
    if (strstr(strstr(self->reply.body, "\"id\"") + 1, "\"id\"")) return "a list of one";
    return NULL;
}

static void *attend(void *arg)
{
    struct learner *self = arg;

    self->went_wrong = learn(self);
    return NULL;
}

TEST(forty_at_once_each_for_himself)
{
    struct learner *learners = calloc(LEARNERS, sizeof *learners);
    int64_t slowest_ms = 0;
    int64_t began_ms = clock_mono_ms();

    assert_non_null(learners);
    for (int i = 0; i < LEARNERS; i++) {
        learners[i].service = &fixture.service;
        (void)snprintf(learners[i].name, sizeof learners[i].name, "n%d", i);
        assert_int_equal(pthread_create(&learners[i].thread, NULL, attend, &learners[i]), 0);
    }
    for (int i = 0; i < LEARNERS; i++) {
        assert_int_equal(pthread_join(learners[i].thread, NULL), 0);
        if (learners[i].slowest_ms > slowest_ms) slowest_ms = learners[i].slowest_ms;
    }
    for (int i = 0; i < LEARNERS; i++) {
        if (learners[i].went_wrong)
            fail_msg("%s: %s: %ld %s", learners[i].name, learners[i].went_wrong,
                     learners[i].reply.status, learners[i].reply.body);
        assert_true(
            buys(&learners[i], learners[(i + 1) % LEARNERS].sale, 404)); /* the neighbour's */
        assert_false(sits_down(&learners[i]));
    }
    print_message("# class: %d learners, %d plays in %lld ms; a play took %lld ms at most\n",
                  LEARNERS, LEARNERS * (PLAYS + 1), (long long)(clock_mono_ms() - began_ms),
                  (long long)slowest_ms);
    app_http(&(struct app_call){.base = fixture.service.admin,
                                .path = "/api/v1/admin/class/seats",
                                .token = app_token(fixture.dir)},
             &fixture.reply);
    assert_int_equal(fixture.reply.status, 200);
    assert_non_null(strstr(fixture.reply.body,
                           "\"run\":\"lost-update\",\"schedule\":\"\",\"plays\":7,"
                           "\"broken\":6"));
    free(learners);
}
