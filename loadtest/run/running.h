/*
 * Instances that run already (--url): whether they are what the flags say, before any load, and that our sale leaves
 * them again.
 */
#ifndef LOADTEST_RUNNING_H
#define LOADTEST_RUNNING_H

#include "count/under_test.h"

/*
 * Ask whether it is a seckilld that answers at the admin URL, and what of; into service->version, too.
 *
 * Returns  false   it is not, or does not answer; `failure` names the flag.
 */
bool running_ask(struct service *service, struct failure *failure);

/* Is the sale that was just put up there, at each URL and in that Redis? false: not; `failure` names the flag. */
bool running_check(const struct service *service, const char *sale, struct failure *failure);

/* End the sale, write all of it to a file (NULL: it is worth none), take it out of the service. false: it is still
 * there. */
bool running_remove(const struct service *service, const char *sale, const char *path,
                    struct failure *failure);

#endif
