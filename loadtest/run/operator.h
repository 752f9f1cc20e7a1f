/*
 * What we ask of the service as its operator: to put a sale up, and, where it was running before us, to take it out again.
 */
#ifndef LOADTEST_OPERATOR_H
#define LOADTEST_OPERATOR_H

#include "stats/under_test.h"

/* Put `stock` units on sale under that id, to be paid for within service->window_ms unless that is 0,
 * in service->segments, likewise. With running instances: and see that it is there. */
bool operator_create_sale(const struct service *service, const char *sale, const char *guard,
                          long stock, struct failure *failure);

/* End the sale, write all of it to a file (NULL: it is worth none), take it out of the service. false: it is still
 * there. */
bool operator_remove_sale(const struct service *service, const char *sale, const char *path,
                          struct failure *failure);

#endif
