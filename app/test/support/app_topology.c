/*
 * See app_topology.h.
 */
#include "app_topology.h"

#include "app_promtext.h"

void app_topology_begin(struct app_topology *many)
{
    many->service = (struct app_process){0};
    app_folder_make(many->dir);
}

void app_topology_end(struct app_topology *many)
{
    (void)app_stop(&many->service);
    app_folder_remove(many->dir);
}

void app_topology_start(struct app_topology *many, const char *const *flags)
{
    const char *args[APP_ARGS_MAX] = {"--redis", many->topology->url};
    size_t count = 2;

    for (; *flags && count < 20; flags++)
        args[count++] = *flags;
    if (!app_start(&many->service, many->dir, args)) fail_msg("seckilld does not start");
}

long app_topology_create(struct app_topology *many, const char *sale, int stock, const char *guard)
{
    char body[160];

    (void)snprintf(body, sizeof body, "{\"id\":\"%s\",\"stock\":%d,\"guard\":\"%s\"}", sale, stock,
                   guard);
    return app_http(&(struct app_call){.base = many->service.admin,
                                       .path = "/api/v1/admin/sales",
                                       .token = app_token(many->dir),
                                       .body = body},
                    &many->reply);
}

long app_topology_buy(struct app_topology *many, const char *sale, const char *user,
                      const char *key)
{
    return app_buy(many->service.buyers, sale, user, key, &many->reply);
}

long app_topology_look_up(struct app_topology *many, const char *sale, const char *user)
{
    char path[96];

    (void)snprintf(path, sizeof path, "/api/v1/sales/%s/orders/me", sale);
    return app_http(&(struct app_call){.base = many->service.buyers, .path = path, .user = user},
                    &many->reply);
}

long app_topology_get(struct app_topology *many, const char *path)
{
    return app_http(&(struct app_call){.base = many->service.admin,
                                       .path = path,
                                       .token = app_token(many->dir)},
                    &many->reply);
}

long app_topology_step(struct app_topology *many, const char *sale, const char *step,
                       const char *body)
{
    char path[96];

    (void)snprintf(path, sizeof path, "/api/v1/admin/sales/%s/%s", sale, step);
    return app_http(
        &(struct app_call){.base = many->service.admin,
                           .path = path,
                           .token = app_token(many->dir),
                           .body = body ? body : "{}",
                           .headers = {"Content-Type: application/json", "Idempotency-Key: k"}},
        &many->reply);
}

const char *app_topology_order(const struct app_topology *many)
{
    const char *id = app_member(&many->reply, "id");

    return id[0] ? id : app_member(&many->reply, "orderId");
}

void app_topology_assert_books(struct app_topology *many, const char *sale, int orders, int left)
{
    char path[96];

    (void)snprintf(path, sizeof path, "/api/v1/admin/sales/%s/audit", sale);
    assert_int_equal(app_topology_get(many, path), 200);
    assert_string_equal(app_member(&many->reply, "verdict"), "pass");
    assert_int_equal(app_number(&many->reply, "orders"), orders);
    assert_int_equal(app_number(&many->reply, "remaining"), left);
}

double app_topology_metric(struct app_topology *many, const char *sample)
{
    assert_int_equal(app_topology_get(many, "/metrics"), 200);
    return app_promtext_value(many->reply.body, sample);
}
