/*
 * A PostgreSQL beside the Redis of a sale_world: for guards that need one.
 */
#ifndef SECKILL_SALE_POSTGRES_H
#define SECKILL_SALE_POSTGRES_H

#include "sale_instances.h"
#include "test/postgres/lk_postgres.h"

/* As sale_world_open() and sale_world_close(), with it; the shops know it. */
int sale_postgres_open(void **state);
int sale_postgres_close(void **state);

/* The server of those. */
extern struct lkp_server *sale_postgres;

#endif
