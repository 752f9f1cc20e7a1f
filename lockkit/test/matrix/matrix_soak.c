/*
 * The fault matrix on Redis and PostgreSQL, in every topology: 6,000 cells.
 * link: -Wl,--wrap=lki_redis_exchange -Wl,--wrap=lki_redis_send
 * link: -Wl,--wrap=postgres_conn_ask -Wl,--wrap=postgres_conn_send
 */
#include "test/matrix/cells.h"

struct world worlds[] = {
    {.name = "a plain server", .ops = &world_redis, .options = {.is_plain = true}},
    {.name = "a Sentinel set", .ops = &world_redis, .lacks = 1U << CELL_REDLOCK},
    {.name = "a cluster",
     .ops = &world_cluster,
     .lacks = 1U << CELL_REDLOCK,
     .options = {.is_cluster = true}},
    {.name = "PostgreSQL", .ops = &world_postgres, .lacks = CELLS_OF_REDIS},
    {.name = "PostgreSQL behind PgBouncer",
     .ops = &world_pooler,
     .lacks = CELLS_OF_REDIS | 1U << LKS_REENTRANT |
              1U << LKS_NON_REENTRANT}, /* as mutex: two sessions for all */
};
const size_t worlds_count = sizeof worlds / sizeof worlds[0];

CELLS_OF_WORLDS()
