/*
 * See app_fixture.h.
 */
#include "app_fixture.h"

#include <jansson.h>

#include "app_promtext.h"
#include "app_texts.h"

void app_fixture_begin(struct app_fixture *fixture)
{
    app_folder_make(fixture->dir);
    (void)snprintf(fixture->token, sizeof fixture->token, "%s/admin.token", fixture->dir);
}

void app_fixture_start(struct app_fixture *fixture, const char *const *args, const char *sale)
{
    char body[64];

    assert_true(app_start(&fixture->service, fixture->dir, args));
    if (!sale) return;
    (void)snprintf(body, sizeof body, "{\"id\":\"%s\",\"stock\":5}", sale);
    assert_true(app_create_sale(&fixture->service, fixture->dir, body));
}

void app_put_up_many(struct app_fixture *fixture, int count)
{
    char body[64];

    for (int i = 0; i < count; i++) {
        (void)snprintf(body, sizeof body, "{\"id\":\"s-%d\",\"stock\":1000000}", i);
        assert_true(app_create_sale(&fixture->service, fixture->dir, body));
    }
}

void app_fixture_start_on_redis(struct app_fixture *fixture, const char *const *args)
{
    const char *all[APP_ARGS_MAX] = {"--redis", fixture->redis.redis};

    assert_true(app_start_redis(&fixture->redis, fixture->dir));
    for (size_t i = 2; *args; i++)
        all[i] = *args++;
    assert_true(app_start(&fixture->service, fixture->dir, all));
}

long app_get(struct app_fixture *fixture, const char *base, const char *path)
{
    return app_http(&(struct app_call){.base = base, .path = path}, &fixture->reply);
}

long app_order(struct app_fixture *fixture, const char *sale, const char *user, const char *key)
{
    return app_buy(fixture->service.buyers, sale, user, key, &fixture->reply);
}

long app_operate(struct app_fixture *fixture, const char *method, const char *path,
                 const char *body)
{
    return app_http(
        &(struct app_call){.method = method,
                           .base = fixture->service.admin,
                           .path = path,
                           .token = app_token(fixture->dir),
                           .body = body,
                           .headers = {"Content-Type: application/json", "Idempotency-Key: k"}},
        &fixture->reply);
}

double app_metric(struct app_fixture *fixture, const char *sample)
{
    assert_int_equal(app_get(fixture, fixture->service.admin, "/metrics"), 200);
    return app_promtext_value(fixture->reply.body, sample);
}

struct serving {
    struct app_fixture *fixture;
    int requests;
};

static bool is_serving(void *arg)
{
    const struct serving *claim = arg;

    return app_metric(claim->fixture, "seckill_http_requests_in_flight") == claim->requests + 1;
}

bool app_serves(struct app_fixture *fixture, int requests)
{
    return app_eventually(is_serving, &(struct serving){fixture, requests}, 10000);
}

void app_assert_answer(const struct app_reply *reply, long status, const char *members)
{
    json_t *wanted = json_loads(texts_at(members, 0), 0, NULL);
    json_t *got = json_loads(reply->body, 0, NULL);
    const char *name = NULL;
    json_t *value = NULL;

    assert_non_null(wanted);
    if (reply->status != status) fail_msg("%ld, not %ld: %s", reply->status, status, reply->body);
    json_object_foreach(wanted, name, value)
    {
        if (!json_equal(json_object_get(got, name), value)) fail_msg("%s: %s", name, reply->body);
    }
    json_decref(wanted);
    json_decref(got);
}

int app_fixture_end(struct app_fixture *fixture)
{
    int status = app_stop(&fixture->service);

    (void)app_stop(&fixture->other);
    (void)app_stop(&fixture->redis);
    app_folder_remove(fixture->dir);
    return status;
}
