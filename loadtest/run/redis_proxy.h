/*
 * The proxy between the instances of a run and its Redis, for the faults that need one: a link for each instance.
 */
#ifndef LOADTEST_REDIS_PROXY_H
#define LOADTEST_REDIS_PROXY_H

#include "stats/under_test.h"

/* Start it, for so many instances, on ports that service->proxy_ports then has. service_stop() ends it. */
bool redis_proxy_start(struct service *service, int count, const char *run_dir,
                       struct failure *failure);

/* A verb; "linkN:VERB" for that of the Nth instance alone. */
bool redis_proxy_tell(const struct service *service, const char *verb, struct failure *failure);

#endif
