/*
 * See app_fixture.h.
 */
#include "app_fixture.h"

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

int app_fixture_end(struct app_fixture *fixture)
{
    int status = app_stop(&fixture->service);

    (void)app_stop(&fixture->other);
    (void)app_stop(&fixture->redis);
    app_folder_remove(fixture->dir);
    return status;
}
