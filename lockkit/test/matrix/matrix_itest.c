/*
 * The fault matrix where it is quick: on a plain Redis server, and on PostgreSQL. matrix_soak.c has it everywhere.
 * link: -Wl,--wrap=lki_redis_exchange -Wl,--wrap=lki_redis_send
 * link: -Wl,--wrap=postgres_conn_ask -Wl,--wrap=postgres_conn_send
 */
#include "test/matrix/cells.h"

struct world worlds[] = {
    {.name = "a plain server", .ops = &world_redis, .options = {.is_plain = true}},
    {.name = "PostgreSQL", .ops = &world_postgres, .lacks = CELLS_OF_REDIS},
};
const size_t worlds_count = sizeof worlds / sizeof worlds[0];

CELLS_OF_WORLDS()
