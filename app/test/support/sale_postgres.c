/*
 * See sale_postgres.h. The main thread.
 */
#include "sale_postgres.h"

struct lkp_server *sale_postgres;

int sale_postgres_open(void **state)
{
    const char *urls[GUARD_NEED_COUNT] = {NULL};
    struct start_error why;

    if (sale_world_open(state) != 0) return -1;
    struct sale_world *world = *state;
    sale_postgres = lkp_server_start();
    urls[NEED_POSTGRES] = sale_postgres->url;
    return guard_servers_open(urls, &(struct lk_client_options){0}, &world->servers, &why) ? 0 : -1;
}

int sale_postgres_close(void **state)
{
    struct sale_world *world = *state;

    sale_instances_close(world);
    guard_servers_close(&world->servers);
    lkp_server_stop(sale_postgres);
    return sale_world_close(state);
}
